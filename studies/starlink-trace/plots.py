"""What a TCP gets out of the recorded link, and what it makes its packets wait."""

import polars as pl

from skyhop import plots
from skyhop.figure import Figure
from skyhop.plots import Measure
from skyhop.report import study_figure

RESULT = "With and without random loss"


@study_figure(
    section=RESULT, title="Goodput",
    caption="Mean of five seeds with its 95 % interval. The recording delivers 48.9 Mbit/s.",
)  # fmt: skip
def goodput(results: pl.DataFrame) -> Figure:
    return by_tcp(results, "goodput", Measure("Goodput", "Mbit/s"), most=50)


@study_figure(
    section=RESULT, title="One-way delay",
    caption="Mean over the packets, of five seeds, with its 95 % interval. "
    "The recording's own mean is 10.7 ms; the rest is the queue.",
)  # fmt: skip
def delay(results: pl.DataFrame) -> Figure:
    return by_tcp(results, "delay", Measure("Delay", "ms"), most=120)


def by_tcp(results: pl.DataFrame, metric: str, measure: Measure, *, most: float) -> Figure:
    losses = {"none": "no random loss", "0.002": "0.2 % lost at random"}
    return plots.dots_by(results, metric, names="tcp", by="loss", series=losses, measure=measure, limits=(0, most))
