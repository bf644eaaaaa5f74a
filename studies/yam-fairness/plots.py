"""One picture per claim of the paper."""

from typing import Any

import polars as pl

from skyhop import plots
from skyhop.figure import Figure
from skyhop.plots import Measure
from skyhop.report import study_figure

ORDER = ["yam", "yam by changes", "reno", "vegas", "fast"]
#: The TCPs of Table 1.
PUBLISHED = ["yam", "yam by changes", "fast", "reno"]
READINGS = ["yam", "yam by changes"]
STATIC = [str(number) for number in range(1, 11)]
ALONE = "One and two flows"
MANY = "One to ten flows"
GOES = "Flows that come and go"
GOODPUT = Measure("Goodput", "kbit/s", 1e-3)
RATE = Measure("Goodput", "Mbit/s", 1e-6)
JAIN = Measure("Jain's index", "")
#: The paper's 7200 s are 360 s here, so its 50 s are 2.5 s and its 20 s are 1 s.
STEP_S, SHORT_STEP_S = 2.5, 1.0


def drop_tail(table: pl.DataFrame, network: str) -> pl.DataFrame:
    return table.filter((pl.col("queue") == "drop-tail") & (pl.col("flows") == network))


def so_far(series: pl.DataFrame) -> pl.DataFrame:
    """The mean goodput of each flow until each moment, every 0.1 s of the first 30 s."""
    mean = pl.col("goodput_bps").cum_sum() / pl.int_range(1, pl.len() + 1)
    rows = series.sort("time_s").with_columns(mean.over("tcp", "flow").alias("goodput_bps"))
    tenth = (pl.col("time_s") * 10 - (pl.col("time_s") * 10).round()).abs() < 1e-6
    return rows.filter((pl.col("time_s") <= 30) & tenth)


@study_figure(
    section=ALONE, title="A single flow: congestion window", answers="Fig 7",
    caption="Every 0.01 s of the first 10 s. Both readings of Yam lose segments in the first second; then equal RTTs "
    "decide.",
)  # fmt: skip
def single_cwnd(flow_series: pl.DataFrame) -> Figure:
    rows = drop_tail(flow_series, "1").filter(pl.col("time_s") <= 10)
    return plots.over_time(rows, "cwnd", by="tcp", order=[*READINGS, "reno"])


@study_figure(
    section=ALONE, title="A single flow: average throughput so far", answers="Fig 8",
    caption="Yam keeps the link full when equal RTTs have no effect, and sinks to half of it when they count as risen.",
)  # fmt: skip
def single_goodput(flow_series: pl.DataFrame) -> Figure:
    return plots.over_time(so_far(drop_tail(flow_series, "1")), "goodput_bps", by="tcp", order=[*READINGS, "reno"])


@study_figure(
    section=ALONE, title="Two flows: average throughput so far", answers="Figs 10, 11", caption="Each flow by itself.",
)  # fmt: skip
def two_goodput(flow_series: pl.DataFrame) -> Figure:
    return plots.each_flow_over_time(so_far(drop_tail(flow_series, "2")), "goodput_bps", by="tcp", order=ORDER)


@study_figure(
    section=ALONE, title="Congestion windows beside a flow of Yam", answers="Figs 10, 12, 14, 21",
    caption="The first flow is Yam as its list has it; beside it the flow that the panel names, in the first panel"
    " a third one after it. A sender uses at most 24 segments of its window.",
)  # fmt: skip
def windows(flow_series: pl.DataFrame) -> Figure:
    panels = {
        "come and go": "Yam, in turns",
        "2": "Yam for all time",
        "against reno": "Reno",
        "against vegas": "Vegas",
    }
    flows = {"flow-0": "first", "flow-1": "second", "yam": "first", "other": "second"}
    yam = flow_series.filter(
        (pl.col("queue") == "drop-tail") & (pl.col("tcp") == "yam") & pl.col("flows").is_in(list(panels))
    )
    rows = yam.filter(pl.col("time_s") <= 20).with_columns(
        pl.col("flows").replace(panels).alias("beside"), pl.col("flow").replace(flows)
    )
    return plots.each_flow_over_time(rows.sort("flow"), "cwnd", by="beside", order=list(panels.values()))


@study_figure(
    section=ALONE, title="Yam beside another TCP", answers="Figs 12, 13, 14, 15",
    caption="In the paper Yam has much more than Reno and than Vegas. Only beside Vegas, under drop-tail and with equal"
    " RTTs ignored, has it more.",
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
    caption="Vegas, in lock-step, is the unfair one. The paper has a dip of Yam at three to five flows.",
)  # fmt: skip
def jain_by_flows(results: pl.DataFrame) -> Figure:
    return static(results, "jain", JAIN, bottom=0.6)


def static(results: pl.DataFrame, metric: str, measure: Measure, *, bottom: float) -> Figure:
    return plots.over_axis(
        results.filter(pl.col("queue") == "drop-tail"), metric, x="flows", values=STATIC, by="tcp", order=ORDER,
        measure=measure, label="Flows", mark=("ns2", "ns-2"), bottom=bottom,
    )  # fmt: skip


@study_figure(
    section=MANY, title="Throughput of one to ten flows, RED", answers="Fig 17",
    caption="Mean of ten seeds with its 95 % interval.",
)  # fmt: skip
def goodput_by_flows_red(results: pl.DataFrame) -> Figure:
    return plots.over_axis(
        results.filter(pl.col("queue") == "red"), "goodput", x="flows", values=STATIC, by="tcp", order=ORDER,
        measure=Measure("Goodput", "kbit/s"), label="Flows", bottom=400.0,
    )  # fmt: skip


@study_figure(
    section=GOES, title="Three flows that come and go, 1 Mbit/s", answers="Figs 19, 20, 21, 22",
    caption="The first runs from 0 to 11 s, the second from 5 to 15 s, the third from 15 s. Means of 0.5 s.",
)  # fmt: skip
def come_and_go(flow_series: pl.DataFrame) -> Figure:
    rows = stepped(drop_tail(flow_series, "come and go"), 0.5)
    return plots.each_flow_over_time(rows, "goodput_bps", by="tcp", order=ORDER)


@study_figure(
    section=GOES, title="Three flows that come and go, 400 Mbit/s", answers="Figs 23, 24, 25",
    caption="Times over 20: means of 2.5 s stand for the paper's 50 s.",
)  # fmt: skip
def fast_network(flow_series: pl.DataFrame) -> Figure:
    return fast_network_in_steps(flow_series, STEP_S)


@study_figure(
    section=GOES, title="Three flows that come and go, 400 Mbit/s, shorter steps", answers="section 4.3, per 20 s",
    caption="Means of 1 s stand for the paper's 20 s; of its wave a ripple of the second flow is left.",
)  # fmt: skip
def fast_network_short(flow_series: pl.DataFrame) -> Figure:
    return fast_network_in_steps(flow_series, SHORT_STEP_S)


def fast_network_in_steps(flow_series: pl.DataFrame, step_s: float) -> Figure:
    rows = stepped(drop_tail(flow_series, "400M"), step_s)
    return plots.each_flow_over_time(rows, "goodput_bps", by="tcp", order=ORDER, measure=RATE)


@study_figure(
    section=GOES, title="Fairness of three flows that come and go, 400 Mbit/s", answers="Table 1",
    caption="Two flows, three, two. In the last quarter the third or the second flow is left. FAST comes out as "
    "published where the second stays; Yam and Reno do not.",
)  # fmt: skip
def table_1(results: pl.DataFrame) -> Figure:
    phases = (("jain_2", "2 flows"), ("jain_3", "3 flows"), ("jain_4", "2 flows again"))
    names = [f"{tcp}, {phase}" for tcp in PUBLISHED for _, phase in phases]
    third = [row_of(results, "400M", tcp, metric) for tcp in PUBLISHED for metric, _ in phases]
    second = [
        row_of(results, "400M 3 leaves", tcp, "jain_4_two" if metric == "jain_4" else metric)
        for tcp in PUBLISHED
        for metric, _ in phases
    ]
    series = {
        "third flow stays": [(row["ours"], row["interval"]) for row in third],
        "second flow stays": [(row["ours"], row["interval"]) for row in second],
    }
    return plots.dots(names, series, measure=JAIN, marks={"paper": [row["paper"] for row in third]}, limits=(0.3, 1.02))


def row_of(results: pl.DataFrame, network: str, tcp: str, metric: str) -> dict[str, Any]:
    here = drop_tail(results, network).filter((pl.col("tcp") == tcp) & (pl.col("metric") == metric))
    return here.row(0, named=True)


def stepped(series: pl.DataFrame, step_s: float) -> pl.DataFrame:
    """Means over steps of that length, at the end of each."""
    step = ((pl.col("time_s") / step_s - 1e-9).ceil() * step_s).alias("time_s")
    return series.group_by("tcp", "flow", step, maintain_order=True).agg(pl.col("goodput_bps").mean())
