"""One picture per claim of the paper."""

import polars as pl

from skyhop import plots
from skyhop.figure import Figure
from skyhop.plots import Measure
from skyhop.report import study_figure

ALIKE = ["tahoe", "reno", "newreno", "sack", "vegas", "westwood", "tibet"]
TCPS = [*ALIKE, "tibet against reno"]
LOW = "tibet against reno at low load"
SENDERS = ["synchronous", "jitter"]
SHARES = "Who has the bottleneck"
TIME = "Over time"
SHARE = Measure("Share of the 2 Mbit/s", "%")


def shares(results: pl.DataFrame, metric: str) -> Figure:
    rows = results.filter(pl.col("metric") == metric)
    series, theirs = {}, {}
    for senders in SENDERS:
        here = {row["tcp"]: row for row in rows.filter(pl.col("senders") == senders).to_dicts()}
        series[senders] = [(here[tcp]["ours"], here[tcp]["interval"]) for tcp in TCPS]
        theirs[f"ns-2, {senders}"] = [here[tcp]["ns2"] for tcp in TCPS]
    return plots.dots(TCPS, series, measure=SHARE, marks=theirs)


@study_figure(
    section=SHARES, title="Satellite connections beside terrestrial ones", answers="Figs 2 to 8, 2000–4000 s",
    caption="In lock-step they starve under every TCP; out of step every TCP leaves them nearly the same.",
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


def groups(flow_series: pl.DataFrame, senders: str, tcps: list[str]) -> pl.DataFrame:
    """The goodput of each group of flows, first seed."""
    rows = flow_series.filter((pl.col("senders") == senders) & (pl.col("seed") == 1) & pl.col("tcp").is_in(tcps))
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
    section=TIME, title="Both groups and UDP, synchronous senders", answers="Figs 2 to 8",
    caption="Means of 100 s; first seed, one of the few in which the UDP flow is served beside Vegas.",
)  # fmt: skip
def over_time_synchronous(flow_series: pl.DataFrame) -> Figure:
    return full_load(flow_series, "synchronous")


@study_figure(
    section=TIME, title="Both groups and UDP, randomised senders", answers="Figs 2 to 8",
    caption="Means of 100 s, first seed.",
)  # fmt: skip
def over_time_jitter(flow_series: pl.DataFrame) -> Figure:
    return full_load(flow_series, "jitter")


@study_figure(
    section=TIME, title="TIBET against Reno in low load", answers="Figs 9, 11",
    caption="Each group offers 40 % of the link. Means of 100 s; first seed.",
)  # fmt: skip
def low_load(flow_series: pl.DataFrame) -> Figure:
    both = [
        groups(flow_series, senders, [LOW]).with_columns(pl.lit(name).alias("senders"))
        for senders, name in (("synchronous", "in step"), ("jitter", "out of step"))
    ]
    return plots.each_flow_over_time(
        pl.concat(both),
        "goodput_bps",
        by="senders",
        order=["in step", "out of step"],
        measure=Measure("Goodput", "Mbit/s", 1e-6),
    )


@study_figure(
    section=TIME, title="Congestion windows in low load", answers="Fig 10",
    caption="Satellite connections with TIBET, terrestrial ones with Reno; line: median of 15, band: all of them. "
    "Senders limited by the application keep windows that they do not use.",
)  # fmt: skip
def low_load_cwnd(flow_series: pl.DataFrame) -> Figure:
    rows = flow_series.filter(
        (pl.col("tcp") == LOW) & (pl.col("senders") == "synchronous") & ~pl.col("flow").str.starts_with("udp")
    )
    started = rows.filter(pl.col("flow").str.starts_with("sat") | (pl.col("time_s") > 2000))
    group = pl.when(pl.col("flow").str.starts_with("sat")).then(pl.lit("satellite")).otherwise(pl.lit("terrestrial"))
    return plots.over_time(started.with_columns(group.alias("group")), "cwnd", by="group")
