"""Figures: pure functions from a table to a figure. A study's `plots.py` builds on these as well."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl
from matplotlib.axes import Axes
from matplotlib.ticker import FormatStrFormatter

from skyhop import figure as style
from skyhop.figure import Figure

if TYPE_CHECKING:
    from skyhop.results import RunTables


@dataclass(frozen=True)
class Measure:
    """A column as an axis shows it: what it is, the unit shown, and the factor from the column's unit to that one."""

    label: str
    unit: str
    scale: float = 1.0

    @property
    def axis(self) -> str:
        """The axis label."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


#: The measures that have a name of their own; definitions in docs/models/measures.md.
MEASURES = {
    "cwnd": Measure("Congestion window", "segments"),
    "ssthresh": Measure("Slow-start threshold", "segments"),
    "in_flight": Measure("Packets in flight", "segments"),
    "rtt_s": Measure("Round-trip time", "ms", 1e3),
    "srtt_s": Measure("Smoothed round-trip time", "ms", 1e3),
    "rto_s": Measure("Retransmission timeout", "ms", 1e3),
    "pacing_bps": Measure("Pacing rate", "kbit/s", 1e-3),
    "delay_mean_s": Measure("One-way delay", "ms", 1e3),
    "jitter_mean_s": Measure("Jitter", "ms", 1e3),
    "interarrival_mean_s": Measure("Packet interarrival time", "ms", 1e3),
    "goodput_bps": Measure("Goodput", "kbit/s", 1e-3),
    "throughput_bps": Measure("Throughput", "kbit/s", 1e-3),
    "dropped": Measure("Dropped packets", "packets"),
    "queue_packets": Measure("Queue", "packets"),
    "utilisation": Measure("Utilisation", ""),
}


def first_seed(series: pl.DataFrame) -> pl.DataFrame:
    """Only the lowest seed: runs of several would be drawn, or summed, as if they were one."""
    return series.filter(pl.col("seed") == pl.col("seed").min()) if "seed" in series.columns else series


@style.in_house_style
def over_time(
    series: pl.DataFrame,
    column: str,
    *,
    by: str = "flow",
    measure: Measure | None = None,
    order: list[str] | None = None,
    cumulative: bool = False,
    step_s: float = 0.0,
    log: bool = False,
) -> Figure:
    """A measure over time, one line per value of `by`.

    Where a value of `by` has several flows, the line is their median and the band reaches from the lowest to the
    highest of them. `cumulative` sums the flows of a `by` and adds up over time. `step_s` averages each flow over
    steps of that length, weighted by the packets received, for measures that change from packet to packet. Only the
    first seed is drawn. Steps without a value are gaps; a value between two of them is a dot.
    """
    shown = measure or MEASURES[column]
    figure, (panel,) = style.blank()
    series = first_seed(series)
    names = order or _names(series, by)
    # Steps without a value stay: a line across them would show what nobody measured.
    rows = series.with_columns(value=pl.col(column) * shown.scale)
    if step_s > 0:
        step = ((pl.col("time_s") / step_s - 1e-9).ceil() * step_s).alias("time_s")
        weight = pl.col("received").filter(pl.col("value").is_not_null())
        # A step without packets has no mean: 0 / 0 becomes a gap, like a missing value.
        mean = ((pl.col("value") * pl.col("received")).sum() / weight.sum()).fill_nan(None)
        rows = rows.group_by(by, *({"flow"} - {by}), step, maintain_order=True).agg(value=mean)
    for number, name in enumerate(names):
        stroke = style.STROKES[number % len(style.STROKES)]
        group = rows.filter(pl.col(by) == name).group_by("time_s")
        if cumulative:
            line = group.agg(middle=pl.col("value").sum()).sort("time_s").with_columns(pl.col("middle").cum_sum())
        else:
            value = pl.col("value")
            # polars' median would be the mean of the two in the middle; tables of runs and the page take the lower.
            middle = value.quantile(0.5, interpolation="lower")
            line = group.agg(middle=middle, low=value.min(), high=value.max()).sort("time_s")
            panel.fill_between(
                line["time_s"].to_numpy(), line["low"].to_numpy(), line["high"].to_numpy(),
                color=stroke.colour, alpha=0.16, linewidth=0,
            )  # fmt: skip
        panel.plot(
            line["time_s"].to_numpy(), line["middle"].to_numpy(), color=stroke.colour, linestyle=stroke.dash,
            marker=stroke.marker, markerfacecolor=style.PAPER, markevery=_marks(number, line.height), label=name,
        )  # fmt: skip
        _dots_between_gaps(panel, line["time_s"], line["middle"], stroke.colour)
    _time_axis(panel, series)
    panel.set_ylabel(shown.axis)
    if log:
        panel.set_yscale("log")
        panel.yaxis.set_major_formatter(FormatStrFormatter("%g"))
    else:
        panel.set_ylim(bottom=0)
    # Four long names in a row would push the panel aside.
    style.legend_above(panel, columns=min(len(names), 4 if sum(map(len, names)) < 34 else 2))
    return figure


@style.in_house_style
def each_flow_over_time(
    series: pl.DataFrame, column: str, *, by: str, order: list[str] | None = None, measure: Measure | None = None
) -> Figure:
    """A measure over time for every flow by itself: one panel per value of `by`, one line per flow.

    Steps without a value are gaps; a value between two of them is a dot.
    """
    shown = measure or MEASURES[column]
    series = first_seed(series)
    names = order or _names(series, by)
    figure, panels = style.blank(height=0.9 + 1.2 * len(names), rows=len(names), share_x=True)
    for panel, name in zip(panels, names, strict=True):
        rows = series.filter(pl.col(by) == name)
        for number, flow in enumerate(_names(rows, "flow")):
            line = rows.filter(pl.col("flow") == flow).sort("time_s")
            stroke = style.STROKES[number % len(style.STROKES)]
            values = line[column] * shown.scale
            panel.plot(
                line["time_s"].to_numpy(), values.cast(pl.Float64).to_numpy(),
                color=stroke.colour, linestyle=stroke.dash, linewidth=1.1, label=flow,
            )  # fmt: skip
            _dots_between_gaps(panel, line["time_s"], values, stroke.colour)
        panel.set_title(name)
        panel.set_ylim(bottom=0)
    figure.supylabel(shown.axis, fontsize=9.5)
    _time_axis(panels[-1], series)
    style.legend_above(panels[0], columns=4, right=True)
    return figure


@style.in_house_style
def beside_reference(
    series: pl.DataFrame, theirs: tuple[list[float], list[float]], *, title: str, source: str
) -> Figure:
    """The window of one flow over that of `source`: times in s, and the window in segments from each on."""
    figure, (panel,) = style.blank(width=7.2, height=3.2)
    ours, reference = style.STROKES[:2]
    panel.step(*theirs, where="post", color=reference.colour, linewidth=3.0, alpha=0.5, label=source)
    panel.plot(series["time_s"].to_numpy(), series["cwnd"].to_numpy(), color=ours.colour, linewidth=0.9, label="Skyhop")
    panel.set_ylabel(MEASURES["cwnd"].axis)
    panel.set_title(title)
    panel.set_ylim(bottom=0)
    _time_axis(panel, series)
    style.legend_above(panel, columns=2, right=True)
    return figure


@style.in_house_style
def over_each_other(
    ours: dict[str, list[list[float]]],
    theirs: dict[str, list[list[float]]],
    *,
    title: str,
    names: tuple[str, str],
) -> Figure:
    """Two time-sequence diagrams in one: ours in front of a reference.

    Each side has `data` (time in s, first byte, bytes, whether it was sent before) and `acks` (time in s, number).
    Segments are upright bars, repeated ones have a cross, ACKs are steps.
    """
    figure, (panel,) = style.blank(width=7.2, height=4.2)
    looks = ((theirs, names[1], style.STROKES[1], 3.2, 0.45), (ours, names[0], style.STROKES[0], 1.1, 1.0))
    for side, name, stroke, width, alpha in looks:
        data, acks = side["data"], side["acks"]
        times = [row[0] for row in data]
        ends = [(row[1] + row[2]) / 1e3 for row in data]
        panel.vlines(
            times, [row[1] / 1e3 for row in data], ends, color=stroke.colour, linewidth=width, alpha=alpha, label=name
        )
        again = [(row[0], (row[1] + row[2] / 2) / 1e3) for row in data if row[3]]
        if again:
            panel.plot(
                *zip(*again, strict=True), linestyle="none", marker="x", markersize=4 + width, color=stroke.colour,
                alpha=alpha, label=f"{name}, sent again",
            )  # fmt: skip
        if acks:
            panel.step(
                [row[0] for row in acks], [row[1] / 1e3 for row in acks], where="post", color=stroke.colour,
                linewidth=0.6 * width, alpha=0.7 * alpha,
            )  # fmt: skip
    panel.set_xlabel("Time (s)")
    panel.set_ylabel("Sequence number (kB)")
    panel.set_title(title)
    panel.set_xlim(left=0)
    panel.set_ylim(bottom=0)
    style.legend_above(panel, columns=2, right=True)
    return figure


@style.in_house_style
def bars(
    names: list[str],
    values: list[float],
    *,
    measure: Measure,
    marks: dict[str, list[float | None]] | None = None,
    limit: tuple[float, str] | None = None,
    digits: int = 1,
    bottom: float = 0.0,
) -> Figure:
    """One bar per name with its value on top.

    `marks` are other people's values of the same bars (source → one value per bar), drawn as symbols; `limit` is a
    line that no value can pass, and what it is.
    """
    figure, (panel,) = style.blank()
    for number, value in enumerate(values):
        stroke = style.STROKES[number % len(style.STROKES)]
        panel.bar(
            number, value - bottom, bottom=bottom, width=0.52, color=stroke.colour, hatch=stroke.hatch,
            edgecolor=style.PAPER, linewidth=0,
        )  # fmt: skip
        panel.annotate(
            f"{value:.{digits}f}", (number - 0.26, max(value, bottom)), xytext=(0, 3), textcoords="offset points",
            fontsize=9, bbox={"facecolor": style.PAPER, "edgecolor": "none", "pad": 0.6},
        )  # fmt: skip
    for symbol, (source, points) in zip("Dx*+", (marks or {}).items(), strict=False):
        placed = [(number + 0.36, point) for number, point in enumerate(points) if point is not None]
        if placed:
            panel.plot(
                *zip(*placed, strict=True), symbol, markersize=6, markerfacecolor=style.PAPER,
                markeredgecolor=style.INK, markeredgewidth=1.2, clip_on=False, label=source,
            )  # fmt: skip
    if limit is not None:
        panel.axhline(limit[0], color=style.INK, linestyle=(0, (5, 3)), linewidth=0.9, label=limit[1])
    panel.set_xticks(range(len(names)), names)
    panel.set_xlim(-0.6, len(names) - 0.4)
    panel.set_ylabel(measure.axis)
    panel.grid(visible=False, axis="x")
    panel.margins(y=0.12)
    panel.set_ylim(bottom=bottom)
    if marks or limit:
        style.legend_above(panel, columns=3)
    return figure


@style.in_house_style
def over_axis(
    results: pl.DataFrame,
    metric: str,
    *,
    x: str,
    values: list[str],
    by: str,
    order: list[str],
    measure: Measure,
    label: str,
    mark: tuple[str, str] | None = None,
    bottom: float | None = 0.0,
) -> Figure:
    """A metric of a study along one of its axes, one line per value of another, with the 95 % interval of the mean.

    `values` are those of the axis `x` from left to right, `label` what it is. `mark` is a source and its name: other
    people's values, as crosses in the line's colour.
    """
    figure, (panel,) = style.blank()
    place = {value: float(number) for number, value in enumerate(values)}
    rows = results.filter((pl.col("metric") == metric) & pl.col(x).is_in(values))
    for number, name in enumerate(order):
        stroke = style.STROKES[number % len(style.STROKES)]
        line = sorted((place[row[x]], row) for row in rows.filter(pl.col(by) == name).to_dicts())
        ours = [(at, row["ours"], row["interval"] or 0.0) for at, row in line]
        if not ours:
            continue
        ats, means, halves = (list(column) for column in zip(*ours, strict=True))
        panel.errorbar(
            ats, means, yerr=halves, color=stroke.colour, linestyle=stroke.dash, marker=stroke.marker,
            markerfacecolor=style.PAPER, elinewidth=0.8, capsize=2.0, label=name,
        )  # fmt: skip
        theirs = [(at, row[mark[0]]) for at, row in line if mark and row[mark[0]] is not None]
        if theirs:
            panel.plot(*zip(*theirs, strict=True), "x", color=stroke.colour, markersize=6, markeredgewidth=1.4)
    if mark:
        panel.plot([], [], "x", color=style.INK, markersize=6, markeredgewidth=1.4, label=mark[1])
    panel.set_xticks(list(place.values()), values)
    panel.set_xlabel(label)
    panel.set_ylabel(measure.axis)
    panel.margins(y=0.08)
    if bottom is not None:
        panel.set_ylim(bottom=bottom)
    style.legend_above(panel, columns=3)
    return figure


@style.in_house_style
def dots(
    names: list[str],
    series: dict[str, list[tuple[float, float | None]]],
    *,
    measure: Measure,
    marks: dict[str, list[float | None]] | None = None,
    limits: tuple[float, float] | None = None,
) -> Figure:
    """One row per name with a dot for each series, and the 95 % interval of its mean where there is one.

    `series` has (value, half of the interval) for every name; `marks` are other people's values.
    """
    figure, (panel,) = style.blank(height=1.0 + 0.27 * len(names))
    rows = [float(-number) for number in range(len(names))]
    step = 0.5 / max(len(series), 1)
    for number, (label, points) in enumerate(series.items()):
        stroke = style.STROKES[number % len(style.STROKES)]
        shift = step * ((len(series) - 1) / 2 - number)
        panel.errorbar(
            [value for value, _ in points], [row + shift for row in rows], xerr=[half or 0.0 for _, half in points],
            color=stroke.colour, linestyle="none", marker=stroke.marker, markerfacecolor=stroke.colour,
            elinewidth=0.9, capsize=2.0, label=label,
        )  # fmt: skip
    for symbol, (label, values) in zip("x+*", (marks or {}).items(), strict=False):
        placed = [(value, row) for value, row in zip(values, rows, strict=True) if value is not None]
        if placed:
            panel.plot(
                *zip(*placed, strict=True), symbol, color=style.INK, markersize=6, markeredgewidth=1.2, label=label,
                clip_on=False,
            )  # fmt: skip
    panel.set_yticks(rows, names)
    panel.set_ylim(-len(names) + 0.4, 0.6)
    panel.set_xlabel(measure.axis)
    if limits is not None:
        panel.set_xlim(*limits)
    shown, labels = panel.get_legend_handles_labels()
    ours_first = sorted(range(len(labels)), key=lambda number: labels[number] not in series)
    columns = 4 if sum(map(len, labels)) < 34 else 2
    panel.legend(
        [shown[number] for number in ours_first], [labels[number] for number in ours_first],
        loc="lower left", bbox_to_anchor=(0.0, 1.02), ncols=columns, columnspacing=1.2, handlelength=1.4,
    )  # fmt: skip
    return figure


def dots_by(
    results: pl.DataFrame,
    metric: str,
    *,
    names: str,
    by: str,
    series: dict[str, str],
    measure: Measure,
    limits: tuple[float, float] | None = None,
) -> Figure:
    """A metric of a study as dots: a row per value of the axis `names`, a series per value of the axis `by`.

    `series` are the values of `by` that are shown, and what they are called.
    """
    rows = results.filter(pl.col("metric") == metric)
    shown = [str(name) for name in rows[names].unique(maintain_order=True)]
    points = {}
    for value, label in series.items():
        here = {row[names]: row for row in rows.filter(pl.col(by) == value).to_dicts()}
        points[label] = [(here[name]["ours"], here[name]["interval"]) for name in shown]
    return dots(shown, points, measure=measure, limits=limits)


def _time_axis(panel: Axes, series: pl.DataFrame) -> None:
    last = series["time_s"].max() if series.height else None
    panel.set_xlabel("Time (s)")
    panel.set_xlim(0, float(str(last)) if last is not None else 1.0)


def _dots_between_gaps(panel: Axes, times: pl.Series, values: pl.Series, colour: str) -> None:
    """Values without a neighbour as dots: a line has no length there, and would not show them."""
    there = values.is_not_null()
    alone = there & ~there.shift(1, fill_value=False) & ~there.shift(-1, fill_value=False)
    if alone.any():
        panel.plot(
            times.filter(alone).to_numpy(), values.filter(alone).to_numpy(), color=colour, linestyle="none", marker=".",
            markersize=3,
        )  # fmt: skip


def _marks(number: int, points: int) -> tuple[int, int]:
    """About eight markers along a line, those of neighbouring lines at different places."""
    every = max(points // 8, 1)
    return (number * every // 3, every)


def _names(table: pl.DataFrame, column: str) -> list[str]:
    """The values of a column in the order in which they first appear."""
    return [str(name) for name in table[column].unique(maintain_order=True)]


class RunPlots:
    """The figures of one run. Each returns a figure; `figure.savefig("x.svg")` writes it."""

    def __init__(self, run: RunTables, /) -> None:
        self._run = run

    def cwnd(self) -> Figure:
        """Congestion window over time, one line per flow."""
        return over_time(self._series("flow_series"), "cwnd")

    def rtt(self) -> Figure:
        """Newest round-trip time over time, one line per flow."""
        return over_time(self._series("flow_series"), "rtt_s")

    def delay(self) -> Figure:
        """One-way delay over time (mean of each step of the grid), one line per flow."""
        return over_time(self._series("flow_series"), "delay_mean_s")

    def interarrival(self) -> Figure:
        """Time between packets at the receiver over time, one line per flow."""
        return over_time(self._series("flow_series"), "interarrival_mean_s")

    def jitter(self) -> Figure:
        """Difference of the delays of consecutive packets over time, one line per flow."""
        return over_time(self._series("flow_series"), "jitter_mean_s")

    def goodput(self) -> Figure:
        """Goodput of each step of the grid, one line per flow."""
        return over_time(self._series("flow_series"), "goodput_bps")

    def drops(self) -> Figure:
        """Dropped packets so far, one line per flow."""
        return over_time(self._series("flow_series"), "dropped", cumulative=True)

    def queue(self, *, links: list[str] | None = None) -> Figure:
        """Waiting packets over time on the named links; by default the four fullest.

        Raises ValueError for a link that the run does not have.
        """
        fullest = self._run.links.sort("queue_mean_packets", descending=True)["link"].to_list()
        chosen = links or fullest[:4]
        if unknown := [name for name in chosen if name not in fullest]:
            some = ", ".join(fullest[:12]) + (", …" if len(fullest) > 12 else "")
            raise ValueError(f"no link is called {unknown[0]!r}; there are: {some}")
        series = self._series("link_series").filter(pl.col("link").is_in(chosen))
        return over_time(series, "queue_packets", by="link", order=chosen)

    def world_map(self, *, at_s: float = 0.0) -> Figure:
        """Satellites, ISLs and the flows' paths at `at_s` seconds of the run; ValueError for a time outside the run."""
        from skyhop.sky import stations_in
        from skyhop.worldmap import world_map

        run = self._run
        self._check_moment(at_s)
        # Stations on a track have moved.
        stations = stations_in(json.loads(run.scenario.sky_json(at_s)))
        positions = self._series("positions")
        return world_map(positions, run.links, run.link_changes, run.paths, at_s=at_s, stations=stations)

    def coverage(self, *, mask_deg: float, at_s: float = 0.0) -> Figure:
        """How many satellites stand above the elevation mask everywhere on Earth; a mask below 0° counts as 0°.

        Raises ValueError for a time outside the run.
        """
        from skyhop.worldmap import coverage

        self._check_moment(at_s)
        return coverage(self._series("positions"), mask_deg=mask_deg, at_s=at_s)

    def _check_moment(self, at_s: float) -> None:
        # The nearest recorded moment, the start or the end of the run, would pass for the one that was meant.
        end_s = self._run.scenario.duration_s
        if not 0 <= at_s <= end_s:
            raise ValueError(f"at_s is {at_s:g}: the run lasts from 0 to {end_s:g} s")

    def _series(self, name: str) -> pl.DataFrame:
        table = self._run.table(name)
        if table.is_empty():
            key = "positions" if name == "positions" else "grid"
            raise ValueError(f'the run recorded no {name}: give the scenario records.{key}, for example "100 ms"')
        return table
