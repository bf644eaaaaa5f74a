"""One look for every figure, and SVG that is the same byte for byte each time.

Figures are drawn for a column of 12.7 cm (5 in), so that they stay legible on a phone and at a paper's column width.
Lines differ by dash and marker and bars by hatching as well as by colour: they survive grey print.
"""

from __future__ import annotations

import contextlib
import functools
import html
import io
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ParamSpec

import matplotlib
import matplotlib.figure
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG

# Colours have roles, because a dark page replaces them: see `for_page`.
INK = "#1b1b1b"
MUTED = "#6a6a6a"
GRID = "#dddddd"
PAPER = "#ffffff"
LAND = "#e3dfd6"
COAST = "#a9a394"
LINK = "#8d97a3"

WIDTH = 5.0
HEIGHT = 2.9


@dataclass(frozen=True)
class Stroke:
    """How one series is drawn; lightness, dash and marker all differ between neighbours."""

    colour: str
    dash: Any
    marker: str
    hatch: str


#: Okabe and Ito's colours that everybody can tell apart (jfly.uni-koeln.de/color), ordered by contrast in grey.
STROKES = (
    Stroke("#0072b2", "-", "o", ""),
    Stroke("#d55e00", (0, (4, 1.5)), "s", "////"),
    Stroke("#009e73", (0, (1, 1)), "^", "\\\\\\\\"),
    Stroke("#cc79a7", (0, (6, 1.5, 1, 1.5)), "D", "xxxx"),
    Stroke("#e69f00", (0, (3, 1, 1, 1, 1, 1)), "v", "----"),
    Stroke("#56b4e9", (0, (8, 2)), "P", "++++"),
)

_PAGE_VARIABLES = {
    INK: "--ink",
    MUTED: "--muted",
    GRID: "--rule",
    PAPER: "--paper",
    LAND: "--land",
    COAST: "--coast",
    LINK: "--link",
    **{stroke.colour: f"--series-{number}" for number, stroke in enumerate(STROKES)},
}

# Any: matplotlib's own type for the keys names each of them, and differs between its versions.
_STYLE: Any = {
    "axes.axisbelow": True,
    "axes.edgecolor": MUTED,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.labelsize": 9.5,
    "axes.linewidth": 0.7,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "figure.facecolor": "none",
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "hatch.color": PAPER,
    "hatch.linewidth": 1.0,
    "legend.borderaxespad": 0.0,
    "legend.fontsize": 9.5,
    "legend.frameon": False,
    "legend.handlelength": 2.8,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "path.simplify": True,
    "svg.fonttype": "path",
    "svg.hashsalt": "skyhop",
    "text.color": INK,
    "xtick.color": MUTED,
    "xtick.labelcolor": INK,
    "xtick.labelsize": 9,
    "ytick.color": MUTED,
    "ytick.labelcolor": INK,
    "ytick.labelsize": 9,
}


class Figure(matplotlib.figure.Figure):
    """A matplotlib figure that shows itself in a notebook."""

    def _repr_svg_(self) -> str:
        return svg(self)


Arguments = ParamSpec("Arguments")


def in_house_style(draw: Callable[Arguments, Figure]) -> Callable[Arguments, Figure]:
    """Draws in the house style, whatever the caller has set for figures of their own, and leaves that as it is."""

    @functools.wraps(draw)
    def styled(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Figure:
        with matplotlib.rc_context(_STYLE):
            return draw(*args, **kwargs)

    return styled


def blank(
    *, width: float = WIDTH, height: float = HEIGHT, rows: int = 1, share_x: bool = False
) -> tuple[Figure, list[Axes]]:
    """An empty figure with `rows` panels below each other; sizes in inches."""
    figure = Figure(figsize=(width, height), layout="constrained")
    figure.set_canvas(FigureCanvasSVG(figure))
    panels = figure.subplots(rows, 1, sharex=share_x, squeeze=False)
    return figure, list(panels[:, 0])


def legend_above(panel: Axes, *, columns: int, right: bool = False) -> None:
    """Puts the legend over the panel, where it hides no data."""
    side: Any = "lower right" if right else "lower left"
    corner = 1.0 if right else 0.0
    panel.legend(loc=side, bbox_to_anchor=(corner, 1.02), ncols=columns, columnspacing=1.6)


def note_below(figure: Figure, text: str) -> None:
    """Writes what a reader must know of the numbers under the figure, which grows by these lines."""
    lines = textwrap.wrap(text, width=round(17 * figure.get_figwidth()), break_on_hyphens=False)
    figure.set_figheight(figure.get_figheight() + 0.16 * len(lines))
    figure.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=7.5, color=MUTED)


@contextlib.contextmanager
def _laid_out(figure: matplotlib.figure.Figure) -> Iterator[None]:
    """Places everything. Left to `savefig`, matplotlib draws the whole figure once more for that."""
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        figure.set_layout_engine(None)
    try:
        yield
    finally:
        if engine is not None:
            figure.set_layout_engine(engine)


def svg(figure: matplotlib.figure.Figure) -> str:
    """The figure as SVG text without date or random names."""
    buffer = io.StringIO()
    with matplotlib.rc_context(_STYLE), _laid_out(figure):
        figure.savefig(buffer, format="svg", facecolor=PAPER, metadata={"Date": None, "Creator": "Skyhop"})
    return buffer.getvalue()


def for_page(text: str, *, name: str, title: str) -> str:
    """The SVG made ready to stand inside a page: its own ids, colours that follow the page, a text alternative."""
    body = text[text.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r'\bid="', f'id="{name}-', body)
    body = re.sub(r"url\(#", f"url(#{name}-", body)
    body = re.sub(r'href="#', f'href="#{name}-', body)
    for colour, variable in _PAGE_VARIABLES.items():
        body = re.sub(colour, f"var({variable})", body, flags=re.IGNORECASE)
    opening = re.compile(r'<svg[^>]*?viewBox="([^"]+)"[^>]*>')
    label = html.escape(title)
    head = (
        r'<svg viewBox="\1" role="img" aria-label="' + label.replace("\\", "") + '" xmlns="http://www.w3.org/2000/svg"'
    )
    return opening.sub(head + ' xmlns:xlink="http://www.w3.org/1999/xlink">', body, count=1)
