"""One picture per question."""

import polars as pl

from skyhop import plots
from skyhop.figure import Figure
from skyhop.plots import Measure
from skyhop.report import study_figure

CHANNELS = ["256 kbit/s", "128 kbit/s", "64 kbit/s"]
RESULT = "Data that reach the shore"
SKY = "The pass"
BEGIN_S, END_S = 2500.0, 3100.0


@study_figure(
    section=RESULT, title="Delivered while the satellite passes", answers="the title",
    caption="User data that came ashore, of 100 kB per float. Mean of ten seeds with its 95 % interval.",
)  # fmt: skip
def delivered(results: pl.DataFrame) -> Figure:
    return by_tcp(results, "delivered", Measure("Delivered", "%"), limits=(0, 102))


@study_figure(
    section=RESULT, title="Floats that got everything through", answers="the title",
    caption="The rest of a float's data waits for the next pass, ten days of drifting later or hours if it stays up.",
)  # fmt: skip
def complete(results: pl.DataFrame) -> Figure:
    return by_tcp(results, "complete", Measure("Floats", "%"), limits=(-2, 102))


@study_figure(
    section=RESULT, title="Fairness among the floats", answers="the conclusion",
    caption="Jain's index over the bytes that each float got through.",
)  # fmt: skip
def jain(results: pl.DataFrame) -> Figure:
    return by_tcp(results, "jain", Measure("Jain's index", ""), limits=(0.5, 1.01))


@study_figure(
    section=SKY, title="The channel during the pass, 128 kbit/s", answers="section 1",
    caption="All floats together, means of 20 s, first seed; from 2500 s on. "
    "The data centre sees the satellite from 44 to 581 s.",
)  # fmt: skip
def over_the_pass(flow_series: pl.DataFrame) -> Figure:
    rows = flow_series.filter(
        (pl.col("channel") == "128 kbit/s") & (pl.col("seed") == 1) & pl.col("time_s").is_between(BEGIN_S, END_S)
    )
    together = rows.group_by("tcp", "time_s", maintain_order=True).agg(pl.col("goodput_bps").sum())
    shown = together.with_columns(pl.col("time_s") - BEGIN_S)
    return plots.over_time(shown, "goodput_bps", by="tcp", order=["yam", "reno", "sack", "vegas", "fast"])


def by_tcp(results: pl.DataFrame, metric: str, measure: Measure, *, limits: tuple[float, float]) -> Figure:
    channels = {channel: channel for channel in CHANNELS}
    return plots.dots_by(results, metric, names="tcp", by="channel", series=channels, measure=measure, limits=limits)
