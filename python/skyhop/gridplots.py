"""Figures of grids: means with intervals by axis, and heat maps."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.image import AxesImage

from skyhop import figure as style
from skyhop.figure import Figure
from skyhop.frames import lacking, shown
from skyhop.inference import equal_seeds

if TYPE_CHECKING:
    from skyhop.frames import Grid

#: More maps than these cannot be read on a page.
MOST_MAPS = 9

#: Cells that a note names one by one.
_MOST_NAMED = 6

#: Cells beyond which a map has no numbers in it.
_MOST_NUMBERS = 60

_NUMBER = re.compile(r"\s*([+-]?[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?)\s*(\S*)\s*", re.IGNORECASE)


def of_grid(grid: Grid, measure: str) -> Figure:
    """The figure of a measure: of one axis means with their intervals, of more axes heat maps of the last two.

    Raises ValueError for a grid without axes, and for more maps than can be read.
    """
    if not grid.axes:
        raise ValueError("the grid has no axes, so there is nothing to draw a measure over")
    drawn = _by_axis(grid, measure) if len(grid.axes) == 1 else _maps(grid, measure)
    return _noted(drawn, " ".join(_said(grid, measure)))


@style.in_house_style
def _noted(drawn: Figure, text: str) -> Figure:
    style.note_below(drawn, text)
    return drawn


def _rows(grid: Grid, measure: str) -> pl.DataFrame:
    return grid.table.filter(pl.col("metric") == measure)


def _said(grid: Grid, measure: str) -> list[str]:
    """Of how many runs the means are, and which cells have fewer, no mean or no interval."""
    rows = list(_rows(grid, measure).iter_rows(named=True))
    # Tables of studies have no runs that failed.
    wanted = {row["runs"] + row.get("failed", 0) for row in rows}
    runs = str(max(wanted)) if len(wanted) == 1 else f"{min(wanted)} to {max(wanted)}"
    intervals = any(row["high"] - row["mean"] > 0 for row in rows)
    said = [f"Means of {runs} runs with 95 % intervals." if intervals else f"Means of {runs} runs."]

    def cells(chosen: list[str]) -> str:
        more = f" and {len(chosen) - _MOST_NAMED} more" if len(chosen) > _MOST_NAMED else ""
        return ", ".join(chosen[:_MOST_NAMED]) + more

    def label(row: dict[str, Any]) -> str:
        return " / ".join(row[axis] for axis in grid.axes)

    if lost := sum(row.get("failed", 0) for row in rows):
        total = sum(row["runs"] + row.get("failed", 0) for row in rows)
        fewer = [
            f"{label(row)} ({row['runs']} of {row['runs'] + row['failed']})" for row in rows if row.get("failed", 0)
        ]
        said.append(f"{lost} of {total} runs failed, and means are of the others: {cells(fewer)}.")
    if unmeasured := [label(row) for row in rows if row["runs"] and not math.isfinite(row["mean"])]:
        said.append(f"No mean where a run had nothing to measure: {cells(unmeasured)}.")
    if equal := [label(row) for row in rows if equal_seeds(row)]:
        said.append(f"No interval where runs that differ gave the same value: {cells(equal)}.")
    return said


def numbers(values: tuple[str, ...]) -> tuple[list[float], str] | None:
    """The values as numbers with their common unit; None where they are not numbers of one unit."""
    parts = [_NUMBER.fullmatch(value) for value in values]
    units = {part[2] for part in parts if part}
    if not all(parts) or len(units) != 1:
        return None
    found = [float(part[1]) for part in parts if part]
    return (found, units.pop()) if len(set(found)) == len(found) else None


@style.in_house_style
def _by_axis(grid: Grid, measure: str) -> Figure:
    """Numbers of one unit stand where they are on the axis; other values stand beside each other."""
    ((axis, values),) = grid.axes.items()
    figure, (panel,) = style.blank()
    rows = {row[axis]: row for row in _rows(grid, measure).iter_rows(named=True)}
    values = tuple(value for value in values if value in rows)
    scaled = numbers(values)
    ats = scaled[0] if scaled else [float(number) for number in range(len(values))]
    line = sorted(zip(ats, (rows[value] for value in values), strict=True), key=lambda one: one[0])
    halves = [row["high"] - row["mean"] for _, row in line]
    stroke = style.STROKES[0]
    panel.errorbar(
        [at for at, _ in line], [row["mean"] for _, row in line],
        yerr=[half if math.isfinite(half) else 0.0 for half in halves],
        color=stroke.colour, linestyle=stroke.dash if scaled else "none", marker=stroke.marker,
        markerfacecolor=style.PAPER, elinewidth=0.9, capsize=2.5,
    )  # fmt: skip
    label = grid.labels.get(axis, axis)
    if scaled:
        panel.set_xlabel(f"{label} ({scaled[1]})" if scaled[1] else label)
    else:
        panel.set_xticks(ats, values)
        panel.set_xlabel(label)
        panel.set_xlim(-0.5, len(values) - 0.5)
    panel.set_ylabel(grid.measures[measure].axis)
    panel.margins(y=0.12)
    panel.set_ylim(bottom=min(0.0, panel.get_ylim()[0]))
    return figure


@style.in_house_style
def _maps(grid: Grid, measure: str) -> Figure:
    *others, vertical, horizontal = grid.axes
    table = _rows(grid, measure)
    parts = [(("",), table)] if not others else list(table.group_by(others, maintain_order=True))
    if len(parts) > MOST_MAPS:
        raise ValueError(
            f"{len(parts)} heat maps of {vertical} and {horizontal} would be needed, at most {MOST_MAPS} are drawn: "
            "choose values of the other axes with grid.at(...)"
        )
    rows = len(grid.axes[vertical])
    figure, panels = style.blank(height=(0.9 + 0.32 * rows) * len(parts) + 0.3, rows=len(parts), share_x=True)
    finite = [mean for mean in table["mean"] if mean is not None and math.isfinite(mean)]
    limits = (min(finite), max(finite)) if finite else (0.0, 1.0)
    for panel, (name, part) in zip(panels, parts, strict=True):
        image = _map(grid, panel, part, vertical, horizontal, limits)
        if others:
            panel.set_title(", ".join(f"{axis} {value}" for axis, value in zip(others, name, strict=True)))
    panels[-1].set_xlabel(grid.labels.get(horizontal, horizontal))
    figure.colorbar(image, ax=panels, label=grid.measures[measure].axis)
    return figure


def _map(
    grid: Grid, panel: Axes, part: pl.DataFrame, vertical: str, horizontal: str, limits: tuple[float, float]
) -> AxesImage:
    columns, lines = grid.axes[horizontal], grid.axes[vertical]
    by_place = {(row[vertical], row[horizontal]): row for row in part.iter_rows(named=True)}
    means = [[by_place.get((y, x), {}).get("mean", math.nan) for x in columns] for y in lines]
    # Cividis keeps its order in grey and for readers who confuse red and green (Nuñez et al., PLOS ONE 13, 2018).
    image = panel.imshow(means, cmap="cividis", vmin=limits[0], vmax=limits[1], aspect="auto")
    middle = sum(limits) / 2
    if len(columns) * len(lines) <= _MOST_NUMBERS:
        for (y, x), row in by_place.items():
            mean = row["mean"]
            if mean == mean:
                text = f"{shown(row)} {lacking(row)}".rstrip().replace(" ±", "\n±").replace(" (", "\n(")
                panel.text(
                    columns.index(x), lines.index(y), text, ha="center", va="center", fontsize=7,
                    color=style.INK if mean > middle else style.PAPER,
                )  # fmt: skip
    panel.set_xticks(range(len(columns)), columns)
    panel.set_yticks(range(len(lines)), lines)
    panel.set_ylabel(grid.labels.get(vertical, vertical))
    panel.grid(visible=False)
    return image
