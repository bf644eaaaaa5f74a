"""One picture per claim of the paper."""

from typing import Any

import polars as pl

from skyhop import plots
from skyhop.figure import Figure
from skyhop.plots import Measure
from skyhop.report import study_figure

READINGS = ["yam", "yam by changes", "yam by rounds"]
ORDER = [*READINGS, "reno", "vegas", "fast"]
#: The TCPs of Table 1.
PUBLISHED = [*READINGS, "fast", "reno"]
STATIC = [str(number) for number in range(1, 11)]
ALONE = "One and two flows"
MANY = "One to ten flows"
GOES = "Flows that come and go"
GOODPUT = Measure("Goodput", "kbit/s", 1e-3)
RATE = Measure("Goodput", "Mbit/s", 1e-6)
JAIN = Measure("Jain's index", "")
#: The networks of Table 1, and what 50 s and 20 s of the paper are there.
WHOLE, SHORT, OTHER = "400M whole 3 leaves", "400M 3 leaves", "400M"
STEPS_S = {WHOLE: (50.0, 20.0), SHORT: (2.5, 1.0)}


def drop_tail(table: pl.DataFrame, network: str) -> pl.DataFrame:
    """Rows of one network under drop-tail; in a table of runs only those with the first seed."""
    return plots.first_seed(table).filter((pl.col("queue") == "drop-tail") & (pl.col("flows") == network))


def so_far(series: pl.DataFrame) -> pl.DataFrame:
    """The mean goodput of each flow until each moment of the first 30 s."""
    mean = pl.col("goodput_bps").cum_sum() / pl.int_range(1, pl.len() + 1)
    rows = series.sort("time_s").with_columns(mean.over("tcp", "flow").alias("goodput_bps"))
    return rows.filter(pl.col("time_s") <= 30)


@study_figure(
    section=ALONE, title="A single flow: congestion window", answers="Fig 7",
    caption="The first 10 s, seed 1. All readings of Yam lose segments in the first second; then equal RTTs decide.",
)  # fmt: skip
def single_cwnd(flow_series: pl.DataFrame) -> Figure:
    rows = drop_tail(flow_series, "1").filter(pl.col("time_s") <= 10)
    return plots.over_time(rows, "cwnd", by="tcp", order=[*READINGS, "reno"])


@study_figure(
    section=ALONE, title="A single flow: average throughput so far", answers="Fig 8",
    caption="Yam keeps the link full when equal RTTs have no effect, and sinks when they count as risen with each ACK. "
    "Once per round trip it sinks, too, but after these 30 s.",
)  # fmt: skip
def single_goodput(flow_series: pl.DataFrame) -> Figure:
    return plots.over_time(so_far(drop_tail(flow_series, "1")), "goodput_bps", by="tcp", order=[*READINGS, "reno"])


@study_figure(
    section=ALONE, title="Two flows: average throughput so far", answers="Fig 11",
    caption="Each flow by itself, seed 1.",
)  # fmt: skip
def two_goodput(flow_series: pl.DataFrame) -> Figure:
    return plots.each_flow_over_time(so_far(drop_tail(flow_series, "2")), "goodput_bps", by="tcp", order=ORDER)


@study_figure(
    section=ALONE, title="Two flows of Yam: congestion windows", answers="Fig 10",
    caption="Seed 1. A sender uses at most 24 segments of its window.",
)  # fmt: skip
def two_windows(flow_series: pl.DataFrame) -> Figure:
    rows = drop_tail(flow_series, "2").filter(pl.col("time_s") <= 20)
    return plots.each_flow_over_time(rows, "cwnd", by="tcp", order=READINGS)


@study_figure(
    section=ALONE, title="Yam beside Reno and Vegas: congestion windows", answers="Figs 12, 14", caption="Seed 1.",
)  # fmt: skip
def windows(flow_series: pl.DataFrame) -> Figure:
    rows, order = beside(flow_series)
    return plots.each_flow_over_time(rows, "cwnd", by="beside", order=order)


@study_figure(
    section=ALONE, title="Yam beside Reno and Vegas: throughput", answers="Figs 13, 15",
    caption="Means of 0.5 s, seed 1. In the paper Yam has much more than either; here it has more beside Vegas only, "
    "where equal RTTs have no effect.",
)  # fmt: skip
def throughput_beside(flow_series: pl.DataFrame) -> Figure:
    rows, order = beside(flow_series)
    return plots.each_flow_over_time(stepped(rows, 0.5, "beside"), "goodput_bps", by="beside", order=order)


def beside(flow_series: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """The first 20 s of a flow of Yam and one of another TCP; `beside` names both."""
    networks = {"against reno": "Reno", "against vegas": "Vegas"}
    order = [f"{tcp}, {other}" for other in networks.values() for tcp in READINGS]
    rows = pl.concat(drop_tail(flow_series, network) for network in networks).filter(pl.col("time_s") <= 20)
    names = pl.concat_str("tcp", pl.lit(", "), pl.col("flows").replace(networks))
    return rows.with_columns(names.alias("beside")).sort("flow", descending=True), order


@study_figure(
    section=ALONE, title="Yam beside another TCP", answers="Figs 12 to 15",
    caption="Over 100 s, means of ten seeds with their 95 % intervals.",
)  # fmt: skip
def against(results: pl.DataFrame) -> Figure:
    names, series = [], {"Yam": [], "the other": []}
    for other in ("reno", "vegas"):
        for queue in ("drop-tail", "red"):
            for tcp in READINGS:
                here = results.filter(
                    (pl.col("flows") == f"against {other}") & (pl.col("queue") == queue) & (pl.col("tcp") == tcp)
                )
                names.append(f"{tcp}, {other}, {queue}")
                for label, metric in (("Yam", "goodput_yam"), ("the other", "goodput_other")):
                    row = here.filter(pl.col("metric") == metric).row(0, named=True)
                    series[label].append((row["ours"], row["interval"]))
    return plots.dots(names, series, measure=Measure("Goodput", "kbit/s"), limits=(0, 1000))


@study_figure(
    section=MANY, title="Throughput of one to ten flows, drop-tail", answers="Figs 16, 17",
    caption="All flows together. FAST stands below the others, as in the paper.",
)  # fmt: skip
def goodput_by_flows(results: pl.DataFrame) -> Figure:
    return static(results, "goodput", Measure("Goodput", "kbit/s"), bottom=400.0)


@study_figure(
    section=MANY, title="Fairness of one to ten flows, drop-tail", answers="Fig 18",
    caption="Means with 95 % intervals. The paper has a dip of Yam at three to five flows; once per round trip it has "
    "one here, and a deeper one at two.",
)  # fmt: skip
def jain_by_flows(results: pl.DataFrame) -> Figure:
    return static(results, "jain", JAIN, bottom=0.5)


def static(results: pl.DataFrame, metric: str, measure: Measure, *, bottom: float) -> Figure:
    return plots.over_axis(
        results.filter(pl.col("queue") == "drop-tail"), metric, x="flows", values=STATIC, by="tcp", order=ORDER,
        measure=measure, label="Flows", mark=("ns2", "ns-2"), bottom=bottom,
    )  # fmt: skip


@study_figure(
    section=MANY, title="Throughput of one to ten flows, RED", answers="Fig 17",
    caption="Means of ten seeds with their 95 % intervals.",
)  # fmt: skip
def goodput_by_flows_red(results: pl.DataFrame) -> Figure:
    return plots.over_axis(
        results.filter(pl.col("queue") == "red"), "goodput", x="flows", values=STATIC, by="tcp", order=ORDER,
        measure=Measure("Goodput", "kbit/s"), label="Flows", bottom=400.0,
    )  # fmt: skip


@study_figure(
    section=GOES, title="Three flows that come and go, 1 Mbit/s: throughput", answers="Figs 19, 20, 22",
    caption="The first runs from 0 to 11 s, the second from 5 to 15 s, the third from 15 s. Means of 0.5 s, seed 1.",
)  # fmt: skip
def come_and_go(flow_series: pl.DataFrame) -> Figure:
    rows = stepped(drop_tail(flow_series, "come and go"), 0.5)
    return plots.each_flow_over_time(rows, "goodput_bps", by="tcp", order=ORDER)


@study_figure(
    section=GOES, title="Three flows of Yam that come and go, 1 Mbit/s: congestion windows", answers="Fig 21",
    caption="Seed 1. What a sender uses of its window, at most 24 segments: the first grows in slow start till a loss.",
)  # fmt: skip
def come_and_go_windows(flow_series: pl.DataFrame) -> Figure:
    rows = drop_tail(flow_series, "come and go").with_columns(pl.min_horizontal("cwnd", pl.lit(24.0)).alias("cwnd"))
    return plots.each_flow_over_time(rows, "cwnd", by="tcp", order=READINGS)


@study_figure(
    section=GOES, title="Three flows that come and go, 400 Mbit/s", answers="Figs 23, 24, 25",
    caption="Seed 1. Means of 50 s with --full; otherwise times over 20, and means of 2.5 s stand for them.",
)  # fmt: skip
def fast_network(flow_series: pl.DataFrame) -> Figure:
    return fast_network_in_steps(flow_series, 0)


@study_figure(
    section=GOES, title="Three flows that come and go, 400 Mbit/s, shorter steps", answers="section 4.3, per 20 s",
    caption="Means of 20 s with --full; otherwise times over 20, and means of 1 s stand for them.",
)  # fmt: skip
def fast_network_short(flow_series: pl.DataFrame) -> Figure:
    return fast_network_in_steps(flow_series, 1)


def fast_network_in_steps(flow_series: pl.DataFrame, which: int) -> Figure:
    network = WHOLE if WHOLE in flow_series["flows"] else SHORT
    rows = stepped(drop_tail(flow_series, network), STEPS_S[network][which])
    return plots.each_flow_over_time(rows, "goodput_bps", by="tcp", order=ORDER, measure=RATE)


@study_figure(
    section=GOES, title="Fairness of three flows that come and go, 400 Mbit/s", answers="Table 1",
    caption="Two flows, three, two (the third leaves, or stays); times over 20, and with --full the whole length. An "
    "index is read with what the flows carry, in the next figure.",
)  # fmt: skip
def table_1(results: pl.DataFrame) -> Figure:
    marks = {"paper": [row["paper"] for row in of_table_1(results, SHORT, "jain")]}
    return by_phase(results, "jain", JAIN, marks=marks, limits=(0.3, 1.02))


@study_figure(
    section=GOES, title="What they carry together", answers="not in the paper",
    caption="Goodput of all flows in each phase.",
)  # fmt: skip
def totals(results: pl.DataFrame) -> Figure:
    return by_phase(results, "total", Measure("Goodput", "Mbit/s"), marks=None, limits=(0, 400))


PHASES = {"2": "2 flows", "3": "3 flows", "4": "2 again"}


def by_phase(
    results: pl.DataFrame,
    metric: str,
    measure: Measure,
    *,
    marks: dict[str, list[float | None]] | None,
    limits: tuple[float, float],
) -> Figure:
    names = [f"{tcp}, {phase}" for tcp in PUBLISHED for phase in PHASES.values()]
    networks = {WHOLE: "whole", SHORT: "3 leaves", OTHER: "3 stays"}
    series = {
        label: [(row["ours"], row["interval"]) for row in of_table_1(results, network, metric)]
        for network, label in networks.items()
        if network in results["flows"]
    }
    return plots.dots(names, series, measure=measure, marks=marks, limits=limits)


def of_table_1(results: pl.DataFrame, network: str, metric: str) -> list[dict[str, Any]]:
    rows = drop_tail(results, network)
    last = "jain_4" if network == OTHER else "jain_4_two"
    wanted = [last if (metric, phase) == ("jain", "4") else f"{metric}_{phase}" for phase in PHASES]
    return [
        rows.filter((pl.col("tcp") == tcp) & (pl.col("metric") == one)).row(0, named=True)
        for tcp in PUBLISHED
        for one in wanted
    ]


def stepped(series: pl.DataFrame, step_s: float, by: str = "tcp") -> pl.DataFrame:
    """Means over steps of that length, at the end of each."""
    step = ((pl.col("time_s") / step_s - 1e-9).ceil() * step_s).alias("time_s")
    return series.group_by(by, "flow", step, maintain_order=True).agg(pl.col("goodput_bps").mean())
