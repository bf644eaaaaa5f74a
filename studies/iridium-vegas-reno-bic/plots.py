"""The figures of the study, each beside one of the publication's."""

from typing import Any

import polars as pl

from skyhop import plots, worldmap
from skyhop.figure import Figure
from skyhop.plots import Measure
from skyhop.report import study_figure

ORDER = ["vegas", "reno", "bic"]
TIME = "Over time"
AVERAGE = "Averages"
SKY = "The constellation"
ORBIT = "When it starts, and which BIC"
BAND = "Line: median of the three flows; band: from the lowest to the highest of them. First seed."
STEPS = f"{BAND} Means of 2 s."
UPLINK_KBPS = 1500.0
MAP_AT_S = 38.0
START = "1 s"
STARTS = ["1 s", "901 s", "1801 s", "2701 s", "3601 s", "4501 s", "4801 s", "5401 s"]
BICS = ["bic", "bic over Reno", "bic over NewReno", "bic over SACK", "bic over FACK"]


def at_start(series: pl.DataFrame) -> pl.DataFrame:
    """The three TCPs of the publication, started with the constellation."""
    return series.filter((pl.col("start") == START) & pl.col("tcp").is_in(ORDER))


@study_figure(section=TIME, title="Congestion window", answers="Fig 4", caption=BAND)
def cwnd(flow_series: pl.DataFrame) -> Figure:
    return plots.over_time(at_start(flow_series), "cwnd", by="tcp", order=ORDER)


@study_figure(
    section=TIME, title="Congestion window, flow by flow", answers="Fig 4", caption="Each flow by itself. First seed."
)
def cwnd_by_flow(flow_series: pl.DataFrame) -> Figure:
    return plots.each_flow_over_time(at_start(flow_series), "cwnd", by="tcp", order=ORDER)


@study_figure(section=TIME, title="Round-trip time", answers="Fig 5", caption=BAND)
def rtt(flow_series: pl.DataFrame) -> Figure:
    return plots.over_time(at_start(flow_series), "rtt_s", by="tcp", order=ORDER)


@study_figure(section=TIME, title="End-to-end delay", answers="Fig 6", caption=BAND)
def delay(flow_series: pl.DataFrame) -> Figure:
    return plots.over_time(at_start(flow_series), "delay_mean_s", by="tcp", order=ORDER)


@study_figure(
    section=TIME,
    title="Packet delay (time between packets at the sink)",
    answers="Fig 7",
    caption=STEPS,
)
def packet_delay(flow_series: pl.DataFrame) -> Figure:
    return plots.over_time(at_start(flow_series), "interarrival_mean_s", by="tcp", order=ORDER, step_s=2.0)


@study_figure(section=TIME, title="Jitter", answers="Fig 9", caption=f"{STEPS} The axis is logarithmic.")
def jitter(flow_series: pl.DataFrame) -> Figure:
    return plots.over_time(at_start(flow_series), "jitter_mean_s", by="tcp", order=ORDER, step_s=2.0, log=True)


@study_figure(
    section=TIME, title="Dropped packets so far", answers="Fig 13", caption="All three flows together. First seed."
)
def drops_over_time(flow_series: pl.DataFrame) -> Figure:
    return plots.over_time(at_start(flow_series), "dropped", by="tcp", order=ORDER, cumulative=True)


@study_figure(section=AVERAGE, title="Average end-to-end delay", answers="Fig 8", caption="Bars: ours.")
def average_delay(results: pl.DataFrame) -> Figure:
    return _bars(results, "delay", Measure("One-way delay", "ms"))


@study_figure(
    section=AVERAGE,
    title="“Average delay” (time between packets of a flow at the sink)",
    answers="Table 4",
    caption="Bars: ours. The dashed line is the least that three flows of 1448 B can reach over the uplink.",
)
def average_interarrival(results: pl.DataFrame) -> Figure:
    least_ms = 3 * 1448 * 8 / UPLINK_KBPS
    return _bars(results, "interarrival", Measure("Interarrival time", "ms"), digits=2, limit=(least_ms, "least"))


@study_figure(
    section=AVERAGE, title="Average jitter", answers="Fig 10, whose values are not printed", caption="Bars: ours."
)
def average_jitter(results: pl.DataFrame) -> Figure:
    return _bars(results, "jitter", Measure("Jitter", "ms"), digits=2)


@study_figure(
    section=AVERAGE, title="Packet delivery fraction", answers="Fig 11, whose values are not printed",
    caption="Bars: ours. The axis starts at 95 %.",
)  # fmt: skip
def delivery_fraction(results: pl.DataFrame) -> Figure:
    return _bars(results, "delivery", Measure("Delivery fraction", "%"), digits=2, bottom=95.0)


@study_figure(
    section=AVERAGE, title="Throughput, payload", answers="Fig 12",
    caption="Bars: ours. The published values lie above what the uplink can carry.",
)  # fmt: skip
def throughput(results: pl.DataFrame) -> Figure:
    return _bars(results, "goodput", Measure("Throughput", "kbit/s"), limit=(UPLINK_KBPS, "uplink"))


@study_figure(section=AVERAGE, title="Dropped packets", answers="Fig 13", caption="Bars: ours.")
def dropped(results: pl.DataFrame) -> Figure:
    return _bars(results, "dropped", Measure("Dropped packets", "packets"), digits=0)


def _over_starts(results: pl.DataFrame, metric: str, measure: Measure) -> Figure:
    return plots.over_axis(
        results, metric, x="start", values=STARTS, by="tcp", order=ORDER, measure=measure, label="Start of the flows",
        mark=("paper", "paper"),
    )  # fmt: skip


@study_figure(
    section=ORBIT, title="End-to-end delay over an orbit", answers="Table 4",
    caption="The publication does not say when its transfers start. Means of ten seeds.",
)  # fmt: skip
def delay_over_starts(results: pl.DataFrame) -> Figure:
    return _over_starts(results, "delay", Measure("One-way delay", "ms"))


@study_figure(
    section=ORBIT, title="Dropped packets over an orbit", answers="Table 4",
    caption="At 4501 s and 4801 s a handover costs all three packets, Vegas too.",
)  # fmt: skip
def drops_over_starts(results: pl.DataFrame) -> Figure:
    return _over_starts(results, "dropped", Measure("Dropped packets", "packets"))


@study_figure(
    section=ORBIT, title="Dropped packets of BIC over five recoveries", answers="Table 4",
    caption="Bars: ours; “bic” is that of ns-2's TCP/Linux. Dashed: what the publication's BIC loses.",
)  # fmt: skip
def drops_of_bics(results: pl.DataFrame) -> Figure:
    here = results.filter((pl.col("metric") == "dropped") & (pl.col("start") == START))
    rows = {row["tcp"]: row["ours"] for row in here.to_dicts()}
    names = [name.removeprefix("bic ") for name in BICS]
    return plots.bars(
        names, [rows[name] for name in BICS], measure=Measure("Dropped packets", "packets"), limit=(96.0, "paper: 96"),
        digits=0,
    )  # fmt: skip


@study_figure(
    section=SKY, title=f"Satellites, inter-satellite links and the path at {MAP_AT_S:g} s", answers="Figs 2, 3, 14",
    caption="Links between planes are off above 60° of latitude and across the seam.",
)  # fmt: skip
def path_on_map(
    positions: pl.DataFrame,
    links: pl.DataFrame,
    link_changes: pl.DataFrame,
    paths: pl.DataFrame,
    scenario: dict[str, Any],
) -> Figure:
    here = (pl.col("tcp") == ORDER[0]) & (pl.col("start") == START)
    first = [plots.first_seed(table.filter(here)) for table in (positions, links, link_changes, paths)]
    return worldmap.world_map(*first, at_s=MAP_AT_S, stations=worldmap.stations_of(scenario))


@study_figure(
    section=SKY, title="Coverage at the start", answers="Figs 1, 15",
    caption="Footprints at the elevation mask of 8.2°, which every place on Earth is inside.",
)  # fmt: skip
def coverage(positions: pl.DataFrame) -> Figure:
    here = (pl.col("tcp") == ORDER[0]) & (pl.col("start") == START)
    return worldmap.coverage(plots.first_seed(positions.filter(here)), mask_deg=8.2)


def _bars(
    results: pl.DataFrame,
    metric: str,
    measure: Measure,
    *,
    digits: int = 1,
    bottom: float = 0.0,
    limit: tuple[float, str] | None = None,
) -> Figure:
    """One bar per TCP; a diamond for the publication's value, a cross for ns-2's."""
    here = (pl.col("metric") == metric) & (pl.col("start") == START)
    rows = {row["tcp"]: row for row in results.filter(here).to_dicts()}
    marks = {label: [rows[tcp][source] for tcp in ORDER] for label, source in (("paper", "paper"), ("ns-2", "ns2"))}
    ours = [rows[tcp]["ours"] for tcp in ORDER]
    return plots.bars(ORDER, ours, measure=measure, marks=marks, limit=limit, digits=digits, bottom=bottom)
