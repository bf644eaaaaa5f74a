"""What each TCP gets over each sky, how soon it is back after a handover, and what it leaves to CUBIC."""

import polars as pl

from skyhop import plots
from skyhop.figure import Figure
from skyhop.plots import Measure
from skyhop.report import study_figure

LOSSES = {"none": "no random loss", "1 %": "1 % random loss"}
TCPS = ["cubic", "bbr", "bbr3", "leocc", "satcp", "hybla"]
GOODPUT = Measure("Goodput", "Mbit/s")


@study_figure(
    section="Goodput", title="Goodput over a geostationary satellite",
    caption="End to end at 20 Mbit/s. Mean of six seeds with its 95 % interval.",
)  # fmt: skip
def goodput_geo(results: pl.DataFrame) -> Figure:
    return by_loss(results, "GEO", "goodput", GOODPUT)


@study_figure(section="Goodput", title="Goodput over Iridium", caption="The same at 1.5 Mbit/s.")
def goodput_iridium(results: pl.DataFrame) -> Figure:
    return by_loss(results, "Iridium", "goodput", GOODPUT, limits=(0, 1.5))


@study_figure(section="Goodput", title="Goodput over Starlink", caption="The same at 40 Mbit/s.")
def goodput_starlink(results: pl.DataFrame) -> Figure:
    return by_loss(results, "Starlink", "goodput", GOODPUT)


@study_figure(
    section="Delay", title="Delay over Starlink", caption="One way, 95th percentile; 45 ms are wire and space."
)
def delay_starlink(results: pl.DataFrame) -> Figure:
    return by_loss(results, "Starlink", "delay", Measure("Delay", "ms"))


@study_figure(
    section="Handovers", title="Recovery after a handover",
    caption="Seconds until the goodput is back at 80 %, without random loss; at most 10 s count.",
)  # fmt: skip
def recovery(results: pl.DataFrame) -> Figure:
    here = results.filter((pl.col("setting") == "end to end") & (pl.col("loss") == "none") & pl.col("tcp").is_in(TCPS))
    skies = {"Iridium": "Iridium", "Starlink": "Starlink"}
    return plots.dots_by(here, "recovery", names="tcp", by="sky", series=skies, measure=Measure("Recovery", "s"))


@study_figure(
    section="A proxy", title="With and without a proxy at the gateway, Starlink with 1 % loss",
    caption="A proxy shortens the round trip over which losses are repaired.",
)  # fmt: skip
def split_starlink(results: pl.DataFrame) -> Figure:
    here = results.filter((pl.col("sky") == "Starlink") & (pl.col("loss") == "1 %") & pl.col("tcp").is_in(TCPS))
    paths = {"end to end": "end to end", "split": "split at the gateway"}
    return plots.dots_by(here, "goodput", names="tcp", by="setting", series=paths, measure=GOODPUT)


@study_figure(
    section="Beside CUBIC", title="Share of the goodput beside a flow with CUBIC",
    caption="What the download has of the goodput of both; a half would be fair.",
)  # fmt: skip
def beside(results: pl.DataFrame) -> Figure:
    here = results.filter(pl.col("setting") == "beside CUBIC")
    found: dict[str, list[tuple[float, float]]] = {}
    for sky in ("GEO", "Iridium", "Starlink"):
        rows = {(row["tcp"], row["metric"]): row for row in here.filter(pl.col("sky") == sky).to_dicts()}
        found[sky] = []
        for tcp in TCPS:
            own, other = rows[tcp, "goodput"], rows[tcp, "rival"]
            both = own["ours"] + other["ours"]
            # To first order; what one gains the other loses, so that both parts add up.
            # Equal values have no interval: the other's says how far the share may be off, as far as anybody knows.
            halves = [row["interval"] or 0.0 for row in (own, other)]
            spread = (other["ours"] * halves[0] + own["ours"] * halves[1]) / both**2
            found[sky].append((100 * own["ours"] / both, 100 * spread))
    return plots.dots(TCPS, found, measure=Measure("Share", "%"), limits=(0, 100))


def by_loss(
    results: pl.DataFrame, sky: str, metric: str, measure: Measure, limits: tuple[float, float] | None = None
) -> Figure:
    here = results.filter((pl.col("sky") == sky) & (pl.col("setting") == "end to end") & pl.col("tcp").is_in(TCPS))
    return plots.dots_by(here, metric, names="tcp", by="loss", series=LOSSES, measure=measure, limits=limits)
