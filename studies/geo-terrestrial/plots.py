"""One picture per claim of the paper."""

import polars as pl

from skyhop import plots
from skyhop.figure import Figure
from skyhop.plots import Measure
from skyhop.report import study_figure

ALIKE = ["tahoe", "reno", "newreno", "sack", "vegas", "westwood", "tibet"]
TCPS = [*ALIKE, "tibet against reno"]
LOW = "tibet against reno at low load"
SENDERS = ["in step", "out of step"]
DEFAULT = "50 + 20"
ROOMS = [DEFAULT, "200 + 20", "100 + 100", "1000 + 1000"]
LATER = ["+0.5", "+1", "+1.5", "+2", "+2.5", "+3", "+3.5", "+4"]
SHARES = "Who has the bottleneck"
ROOM = "With more room, and half a millisecond later"
TIME = "Over time"
SHARE = Measure("Share of the 2 Mbit/s", "%")


def shares(results: pl.DataFrame, metric: str) -> Figure:
    rows = results.filter((pl.col("metric") == metric) & (pl.col("room") == DEFAULT))
    series, theirs = {}, {}
    for senders in SENDERS:
        here = {row["tcp"]: row for row in rows.filter(pl.col("senders") == senders).to_dicts()}
        series[senders] = [(here[tcp]["ours"], here[tcp]["interval"]) for tcp in TCPS]
        theirs[f"ns-2, {senders}"] = [here[tcp]["ns2"] for tcp in TCPS]
    return plots.dots(TCPS, series, measure=SHARE, marks=theirs)


@study_figure(
    section=SHARES, title="Satellite connections beside terrestrial ones", answers="Figs 2 to 8, 2000–4000 s",
    caption="Queue of 50, window of 20. In step they starve under every TCP; out of step every TCP leaves them nearly "
    "the same.",
)  # fmt: skip
def satellite_2(results: pl.DataFrame) -> Figure:
    return shares(results, "sat_2")


@study_figure(
    section=SHARES, title="The same after a UDP flow has come", answers="Figs 2 to 8, 4000–6000 s",
    caption="The UDP flow helps them where they starved, and takes from them where they did not.",
)  # fmt: skip
def satellite_3(results: pl.DataFrame) -> Figure:
    return shares(results, "sat_3")


@study_figure(
    section=SHARES, title="The terrestrial connections after the UDP flow has come", answers="Figs 7, 8, 4000–6000 s",
    caption="Under Westwood and TIBET the paper has them blocked.",
)  # fmt: skip
def terrestrial_3(results: pl.DataFrame) -> Figure:
    return shares(results, "terr_3")


def over_rooms(results: pl.DataFrame, metric: str, senders: str) -> Figure:
    # There are six kinds of lines; NewReno's lies on Reno's.
    order = [tcp for tcp in ALIKE if tcp != "newreno"]
    return plots.over_axis(
        results.filter(pl.col("senders") == senders), metric, x="room", values=ROOMS, by="tcp", order=order,
        measure=SHARE, label="Queue + largest window (packets)", mark=("ns2", "ns-2"),
    )  # fmt: skip


@study_figure(
    section=ROOM, title="Satellite connections beside terrestrial ones, senders in step",
    caption="2000–4000 s. They starve with a queue of 50 and a window of 20, under Westwood with 100 of both, too.",
)  # fmt: skip
def room_in_step(results: pl.DataFrame) -> Figure:
    return over_rooms(results, "sat_2", "in step")


@study_figure(section=ROOM, title="The same, senders out of step", caption="2000–4000 s.")
def room_out_of_step(results: pl.DataFrame) -> Figure:
    return over_rooms(results, "sat_2", "out of step")


@study_figure(
    section=ROOM, title="After a UDP flow has come, senders in step", caption="4000–6000 s.",
)  # fmt: skip
def room_in_step_3(results: pl.DataFrame) -> Figure:
    return over_rooms(results, "sat_3", "in step")


@study_figure(
    section=ROOM, title="Satellite connections in step, the wire to Palermo longer by half a millisecond each",
    caption="2000–4000 s, queue of 50, window of 20. The bottleneck needs 4.16 ms for a packet: which moment of it the "
    "packets of a sender meet again and again hangs on the delay.",
)  # fmt: skip
def delay(results: pl.DataFrame) -> Figure:
    names = {"in step": "0"} | {f"in step {later} ms": later for later in LATER}
    rows = results.filter((pl.col("room") == DEFAULT) & pl.col("senders").is_in(list(names)))
    return plots.over_axis(
        rows.with_columns(pl.col("senders").replace(names)), "sat_2", x="senders", values=["0", *LATER], by="tcp",
        order=["reno", "tibet"], measure=SHARE, label="Longer by (ms)", mark=("ns2", "ns-2"),
    )  # fmt: skip


def groups(flow_series: pl.DataFrame, senders: str, tcps: list[str]) -> pl.DataFrame:
    """The goodput of each group of flows, first seed."""
    here = (pl.col("senders") == senders) & (pl.col("room") == DEFAULT) & (pl.col("seed") == 1)
    rows = flow_series.filter(here & pl.col("tcp").is_in(tcps))
    group = pl.col("flow").str.extract(r"^(\w+)").replace({"sat": "satellite", "terr": "terrestrial", "udp": "UDP"})
    step = ((pl.col("time_s") / 100 - 1e-9).ceil() * 100).alias("time_s")
    one = rows.group_by("tcp", "flow", step, maintain_order=True).agg(pl.col("goodput_bps").mean())
    return one.group_by("tcp", group.alias("flow"), "time_s", maintain_order=True).agg(pl.col("goodput_bps").sum())


def full_load(flow_series: pl.DataFrame, senders: str) -> Figure:
    return plots.each_flow_over_time(
        groups(flow_series, senders, ALIKE), "goodput_bps", by="tcp", order=ALIKE,
        measure=Measure("Goodput", "Mbit/s", 1e-6),
    )  # fmt: skip


@study_figure(
    section=TIME, title="Both groups and UDP, senders in step", answers="Figs 2 to 8",
    caption="Queue of 50, window of 20. Means of 100 s; first seed. Beside Vegas the seed decides what the UDP flow "
    "gets.",
)  # fmt: skip
def over_time_in_step(flow_series: pl.DataFrame) -> Figure:
    return full_load(flow_series, "in step")


@study_figure(
    section=TIME, title="Both groups and UDP, senders out of step", answers="Figs 2 to 8",
    caption="Queue of 50, window of 20. Means of 100 s, first seed.",
)  # fmt: skip
def over_time_out_of_step(flow_series: pl.DataFrame) -> Figure:
    return full_load(flow_series, "out of step")


@study_figure(
    section=TIME, title="TIBET against Reno in low load", answers="Figs 9, 11",
    caption="Each group offers 40 % of the link. Means of 100 s; first seed.",
)  # fmt: skip
def low_load(flow_series: pl.DataFrame) -> Figure:
    both = [groups(flow_series, senders, [LOW]).with_columns(pl.lit(senders).alias("senders")) for senders in SENDERS]
    return plots.each_flow_over_time(
        pl.concat(both), "goodput_bps", by="senders", order=SENDERS, measure=Measure("Goodput", "Mbit/s", 1e-6)
    )


@study_figure(
    section=TIME, title="Congestion windows in low load", answers="Fig 10",
    caption="Satellite connections with TIBET, terrestrial ones with Reno; line: median of 15, band: all of them. "
    "Senders limited by the application keep windows that they do not use.",
)  # fmt: skip
def low_load_cwnd(flow_series: pl.DataFrame) -> Figure:
    rows = flow_series.filter(
        (pl.col("tcp") == LOW)
        & (pl.col("senders") == "in step")
        & (pl.col("seed") == 1)
        & ~pl.col("flow").str.starts_with("udp")
    )
    started = rows.filter(pl.col("flow").str.starts_with("sat") | (pl.col("time_s") > 2000))
    group = pl.when(pl.col("flow").str.starts_with("sat")).then(pl.lit("satellite")).otherwise(pl.lit("terrestrial"))
    return plots.over_time(started.with_columns(group.alias("group")), "cwnd", by="group")
