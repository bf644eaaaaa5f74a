"""Ranges of round-trip times beside those that were printed."""

import polars as pl

from skyhop import plots
from skyhop.figure import Figure
from skyhop.plots import Measure
from skyhop.report import study_figure

RESULT = "Round trips over 200 s"


@study_figure(
    section=RESULT, title="Least and largest RTT",
    caption="Twice the least and the largest delay of probes that leave every 100 ms.",
)  # fmt: skip
def ranges(results: pl.DataFrame) -> Figure:
    kinds = {"least": "least", "most": "largest"}
    both = [results.filter(pl.col("metric") == name).with_columns(kind=pl.lit(name)) for name in kinds]
    long = pl.concat(both).with_columns(metric=pl.lit("rtt"))
    return plots.dots_by(
        long, "rtt", names="pair", by="kind", series=kinds, measure=Measure("RTT", "ms"), limits=(0, 150)
    )
