"""Round-trip times over satellites beside those of light in fibre."""

import polars as pl

from skyhop import plots
from skyhop.figure import Figure
from skyhop.plots import Measure
from skyhop.report import study_figure


@study_figure(
    section="Satellites and fibre", title="RTT by pair of cities",
    caption="Links between satellites; pairs from the nearest to the furthest. Fibre: light along the great circle.",
)  # fmt: skip
def pairs(results: pl.DataFrame) -> Figure:
    kinds = {"satellites": "satellites", "fibre": "fibre"}
    found = results.filter(pl.col("over") == "links")
    both = [found.filter(pl.col("metric") == name).with_columns(kind=pl.lit(name)) for name in kinds]
    long = pl.concat(both).with_columns(metric=pl.lit("rtt"))
    return plots.dots_by(
        long, "rtt", names="pair", by="kind", series=kinds, measure=Measure("RTT", "ms"), limits=(0, 120)
    )
