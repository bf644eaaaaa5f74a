"""How small the interval of a sweep's measure has to be, and how many seeds that takes.

The rule is the usual sequential procedure (A. M. Law, Simulation Modeling and Analysis, 5th ed., section 9.4.1): begin
with ten runs, look at the interval, add runs, look again. Whoever looks often stops by chance a little too early, so
the intervals cover slightly less than 95 %. That is why the number of looks is said beside the result.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from skyhop.inference import LEAST_EQUAL, equal_seeds
from skyhop.studies import Axis
from skyhop.sweeps import Sweep
from skyhop.verdict import DefinitionError

#: Seeds before the first look, as the source above recommends: fewer say too little about their own scatter.
FIRST_LOOK = 10
#: Seeds at which adding ends unless the user says otherwise.
MOST_SEEDS = 100

_FORM = re.compile(r"\s*(?P<metric>.+?)\s*(?:±|\+/-|\+-)\s*(?P<half>[0-9.]+(?:e[-+]?[0-9]+)?)\s*(?P<unit>.*?)\s*")


@dataclass(frozen=True)
class Until:
    """Half the width that the 95 % interval of a metric may have at every cell."""

    metric: str
    #: In the metric's unit, or with `relative` as a share of the mean.
    half: float
    relative: bool

    def __str__(self) -> str:
        return f"{self.metric} ± {self.half * 100:g} %" if self.relative else f"{self.metric} ± {self.half:g}"

    def target(self, mean: float) -> float:
        """Half the width that is small enough around that mean."""
        return abs(mean) * self.half if self.relative else self.half


@dataclass(frozen=True)
class Look:
    """What the intervals were after so many seeds."""

    seeds: int
    #: Cells whose interval is still too wide, with the share of the width that is wanted: 2 is twice as wide.
    wide: tuple[tuple[str, float], ...]
    #: Cells that more seeds cannot help: nothing was measured there, or the mean is 0 and the bound a share of it.
    hopeless: tuple[str, ...]
    #: Cells where all seeds gave the same value, though their runs differ: they have no interval, and count as narrow.
    equal: tuple[str, ...] = ()


def read(text: str, sweep: Sweep) -> Until:
    """The bound from its text: "goodput ± 2 %", "delay +- 3 ms". Raises DefinitionError."""
    example = '"goodput ± 2 %" or "delay +- 3 ms"'
    parts = _FORM.fullmatch(text)
    try:
        half = float(parts["half"]) if parts else math.nan
    except ValueError:
        half = math.nan
    if parts is None or not 0 < half < math.inf:
        raise DefinitionError(f"--until {text}: give a measure and half the width of its interval, as in {example}")
    metrics = {metric.name: metric for metric in sweep.metrics}
    metric = metrics.get(parts["metric"])
    if metric is None:
        raise DefinitionError(
            f"--until {text}: no measure is called {parts['metric']!r}; there are {', '.join(metrics)}"
        )
    if parts["unit"] not in ("%", "", metric.unit):
        allowed = f"% or {metric.unit}" if metric.unit else "%"
        raise DefinitionError(f"--until {text}: {metric.name} takes {allowed}, not {parts['unit']!r}")
    if parts["unit"] == "" and metric.unit:
        raise DefinitionError(f"--until {text}: say whether {half:g} is in % or in {metric.unit}")
    relative = parts["unit"] == "%"
    return Until(metric.name, half / 100 if relative else half, relative)


def look(until: Until, table: pl.DataFrame, axes: Sequence[Axis], seeds: int) -> Look:
    """Which cells of a sweep's table have an interval that is too wide."""
    wide: list[tuple[str, float]] = []
    equal: list[str] = []
    hopeless: list[str] = []
    for row in table.filter(pl.col("metric") == until.metric).iter_rows(named=True):
        cell = " / ".join(row[axis.name] for axis in axes) or "the scenario"
        target = until.target(row["mean"])
        half = row["high"] - row["mean"]
        if row["runs"] > 1 and row["distinct_runs"] == 1:
            # Chance has no part in this cell: one run says all.
            continue
        if seeds_alike := equal_seeds(row):
            # Fewer than ten may be left where runs failed.
            (equal if seeds_alike >= LEAST_EQUAL else hopeless).append(cell)
        elif math.isnan(half) or (half > 0 and target == 0):
            hopeless.append(cell)
        elif half > target:
            wide.append((cell, half / target))
    return Look(seeds, tuple(wide), tuple(hopeless), tuple(equal))


def next_seeds(last: Look, *, most: int) -> int:
    """How many seeds to have at the next look: as many as the widest interval needs, but at most twice as many."""
    worst = max(ratio for _, ratio in last.wide)
    # The width falls with the square root of the number of runs.
    wanted = math.ceil(last.seeds * worst**2)
    return min(max(wanted, last.seeds + 1), 2 * last.seeds, most)


def more_seeds(seeds: Sequence[int], count: int) -> tuple[int, ...]:
    """The seeds with further ones, so that there are `count`: whole numbers from 1 that are not there yet."""
    chosen = list(seeds)
    taken = set(seeds)
    candidate = 1
    while len(chosen) < count:
        if candidate not in taken:
            chosen.append(candidate)
        candidate += 1
    return tuple(chosen)


def said(until: Until, looks: Sequence[Look]) -> list[str]:
    """What to know about how the number of seeds came about, in sentences."""
    counts = ", ".join(str(one.seeds) for one in looks)
    last = looks[-1]
    times = "once" if len(looks) == 1 else f"{len(looks)} times"
    often = "" if len(looks) == 1 else ", so that they cover slightly less than 95 %"
    sentences = [f"{until}: looked at the intervals {times} (after {counts} seeds){often}."]
    if last.wide:
        cells = ", ".join(f"{cell} ({ratio:.2g} times as wide)" for cell, ratio in last.wide[:6])
        more = f" and {len(last.wide) - 6} more" if len(last.wide) > 6 else ""
        sentences.append(f"{until} was not reached with {last.seeds} seeds: {cells}{more}.")
    if last.equal:
        sentences.append(f"{until} has no interval to look at where all seeds gave the same value: {_few(last.equal)}.")
    if last.hopeless:
        cells = _few(last.hopeless)
        sentences.append(f"{until} cannot be judged, because too little was measured or the mean is 0: {cells}.")
    return sentences


def _few(cells: Sequence[str]) -> str:
    return ", ".join(cells[:6]) + (f" and {len(cells) - 6} more" if len(cells) > 6 else "")
