"""What UDP, CUBIC and BBR get at a dish that stands and at one that drives, in the mean and second by second."""

import polars as pl

from skyhop import plots
from skyhop.figure import Figure
from skyhop.plots import Measure
from skyhop.report import study_figure

GOODPUT = Measure("Goodput", "Mbit/s")
TCPS = {"CUBIC": "CUBIC", "BBR": "BBR"}
DISHES = {"stands": "stands", "drives": "drives"}


@study_figure(
    section="Goodput", title="Goodput over a dish that stands and one that drives",
    caption="All flows of a cell together, with 95 % intervals over the seeds.",
)  # fmt: skip
def mean(results: pl.DataFrame) -> Figure:
    return plots.dots_by(results, "mean", names="traffic", by="dish", series=DISHES, measure=GOODPUT, limits=(0, 180))


@study_figure(
    section="Goodput", title="The median second, by what the road takes at once",
    caption="Published on drives: 15 Mbit/s with TCP. From the third row on 0.89 % of packets or time are lost.",
)  # fmt: skip
def median(results: pl.DataFrame) -> Figure:
    here = results.filter(pl.col("traffic").is_in(list(TCPS)))
    return plots.dots_by(here, "median", names="dish", by="traffic", series=TCPS, measure=GOODPUT, limits=(0, 180))


@study_figure(
    section="Over time", title="A dish that drives, second by second",
    caption="One seed: all see the same slots and the same obstructed times. Where UDP has nothing, the sky is hidden.",
)  # fmt: skip
def seconds(flow_series: pl.DataFrame) -> Figure:
    here = flow_series.filter((pl.col("dish") == "drives") & pl.col("traffic").is_in(["UDP", "CUBIC", "BBR"]))
    rate = Measure("Goodput", "Mbit/s", scale=1e-6)
    return plots.over_time(plots.first_seed(here), "goodput_bps", by="traffic", measure=rate)
