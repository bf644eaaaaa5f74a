"""What each stack makes of each sky: completion over the geostationary path, goodput and recovery elsewhere."""

import polars as pl

from skyhop import plots
from skyhop.figure import Figure
from skyhop.plots import Measure
from skyhop.report import study_figure

LOSSES = {"none": "no random loss", "1 %": "1 % random loss"}
TRANSPORTS = [
    "quinn cubic", "quinn bbr", "noq cubic", "noq bbr3", "picoquic cubic", "picoquic bbr", "tcp cubic", "tcp bbr",
]  # fmt: skip


def _dots(results: pl.DataFrame, sky: str, metric: str, measure: Measure) -> Figure:
    # A build without a stack has no rows of it, and a transfer that does not complete has no time.
    here = results.filter((pl.col("sky") == sky) & (pl.col("metric") == metric) & pl.col("transport").is_in(TRANSPORTS))
    known = {loss: set(here.filter(pl.col("loss") == loss)["transport"]) for loss in LOSSES}
    both = [name for name in TRANSPORTS if all(name in names for names in known.values())]
    of_both = results.filter((pl.col("sky") == sky) & pl.col("transport").is_in(both))
    return plots.dots_by(of_both, metric, names="transport", by="loss", series=LOSSES, measure=measure)


@study_figure(
    section="GEO", title="Completion of 10 MiB over the geostationary path",
    caption="20/2 Mbit/s and 600 ms. noq's BBRv3 is left out: with 1 % loss some of its transfers do not complete.",
)  # fmt: skip
def completion(results: pl.DataFrame) -> Figure:
    return _dots(results, "GEO", "completion", Measure("Completion", "s"))


@study_figure(section="Starlink", title="Goodput over Starlink", caption="40 Mbit/s, slots of 15 s.")
def goodput_starlink(results: pl.DataFrame) -> Figure:
    return _dots(results, "Starlink", "goodput", Measure("Goodput", "Mbit/s"))


@study_figure(section="Starlink", title="Recovery after a handover of Starlink", caption="At most 10 s count.")
def recovery_starlink(results: pl.DataFrame) -> Figure:
    return _dots(results, "Starlink", "recovery", Measure("Recovery", "s"))


@study_figure(section="Iridium", title="Goodput over Iridium", caption="1.5 Mbit/s.")
def goodput_iridium(results: pl.DataFrame) -> Figure:
    return _dots(results, "Iridium", "goodput", Measure("Goodput", "Mbit/s"))
