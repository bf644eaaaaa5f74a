"""What a download beside them does to calls and pages, by queue discipline."""

import polars as pl

from skyhop import plots
from skyhop.figure import Figure
from skyhop.plots import Measure
from skyhop.report import study_figure

TCPS = {"cubic": "CUBIC", "bbr": "BBR", "prague": "Prague"}


@study_figure(
    section="The call", title="Delay of the call, Starlink-like",
    caption="From mouth to ear, beside a download with each TCP. Mean of six seeds with its 95 % interval.",
)  # fmt: skip
def call_starlink(results: pl.DataFrame) -> Figure:
    return by_queue(results, "starlink", "call_delay", Measure("Delay", "ms"))


@study_figure(
    section="The call", title="Delay of the call, geostationary",
    caption="The same behind a geostationary satellite; 300 ms are path and voice.",
)  # fmt: skip
def call_geo(results: pl.DataFrame) -> Figure:
    return by_queue(results, "geo", "call_delay", Measure("Delay", "ms"))


@study_figure(
    section="The pages", title="Page load, Starlink-like",
    caption="Median of the pages of a run; mean of six seeds with its 95 % interval.",
)  # fmt: skip
def load_starlink(results: pl.DataFrame) -> Figure:
    return by_queue(results, "starlink", "load", Measure("Page load", "s"))


@study_figure(
    section="The pages", title="Page load, geostationary",
    caption="The same behind a geostationary satellite.",
)  # fmt: skip
def load_geo(results: pl.DataFrame) -> Figure:
    return by_queue(results, "geo", "load", Measure("Page load", "s"))


@study_figure(
    section="The download", title="Goodput of the download, geostationary",
    caption="What the download has of 20 Mbit/s beside the call and the pages.",
)  # fmt: skip
def goodput_geo(results: pl.DataFrame) -> Figure:
    return by_queue(results, "geo", "goodput", Measure("Goodput", "Mbit/s"))


def by_queue(results: pl.DataFrame, place: str, metric: str, measure: Measure) -> Figure:
    of_place = results.filter(pl.col("place") == place)
    return plots.dots_by(of_place, metric, names="queue", by="tcp", series=TCPS, measure=measure)
