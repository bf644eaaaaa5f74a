"""Reads a study's expect.toml: what others measured, bounds, and claims in words.

An entry may stand for many cells or claims: a list of an axis' values (or of metrics) makes a table, whose fields are
then one for all, a list, or lists of lists, in the order in which the entry names its lists.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skyhop.definition import Table
from skyhop.verdict import (
    CLAIM_VERDICTS,
    PLAIN,
    VERDICTS,
    Bound,
    Claim,
    DefinitionError,
    Expected,
    Guard,
    Tolerance,
    number_of,
)

if TYPE_CHECKING:
    from skyhop.metrics import Metric
    from skyhop.studies import Axis, Cell, Part, Source

#: Stands in a list of values for a cell about which nobody says anything.
NOTHING = "-"
#: The name of a claim's only cell, where its axes are all fixed.
HERE = "here"


@dataclass(frozen=True)
class Expectation:
    """What others say about one metric at one cell, by the name of the source."""

    cell: Cell
    metric: str
    sources: Mapping[str, Expected]


def guards(entry: Table, metrics: Mapping[str, Metric], key: str = "guard") -> tuple[Guard, ...]:
    """The guards of an entry: one table, or a list of them."""
    given = entry.take(key, object, [])
    found = []
    for number, one in enumerate(given if isinstance(given, list) else [given]):
        if not isinstance(one, Mapping):
            raise entry.error(key, 'is a table such as { metric = "utilisation", least = 0.9 }, or a list of them')
        table = Table(entry.file, one, f"{key}[{number}]")
        guard = Guard(_metric(table, metrics), table.number("least", -math.inf), table.number("most", math.inf))
        if math.isinf(guard.least) and math.isinf(guard.most):
            raise entry.error(key, "needs least or most: without either it guards nothing")
        table.finish()
        found.append(guard)
    return tuple(found)


def bound(entry: Table, axes: tuple[Axis, ...], metrics: Mapping[str, Metric]) -> list[Bound]:
    """What no measurement of one or several metrics can pass."""
    where = {}
    for axis in axes:
        if axis.name in entry.keys:
            where[axis.name] = frozenset(_values(entry, axis))
    named = _metrics(entry, metrics)
    least, most = entry.number("least", -math.inf), entry.number("most", math.inf)
    bounds = [Bound(metric, entry.text("why"), least, most, where) for metric in named]
    entry.finish()
    return bounds


def _values(entry: Table, axis: Axis) -> list[str]:
    values = entry.texts(axis.name)
    if unknown := [value for value in values if value not in axis.values]:
        raise entry.error(axis.name, f"is one of {', '.join(axis.values)}, not {unknown[0]!r}")
    return values


def _metrics(entry: Table, metrics: Mapping[str, Metric]) -> list[str]:
    named = entry.texts("metric")
    if unknown := [name for name in named if name not in metrics]:
        raise entry.error("metric", f"is one of {', '.join(metrics)}, not {unknown[0]!r}")
    return named


def _metric(entry: Table, metrics: Mapping[str, Metric]) -> str:
    named = _metrics(entry, metrics)
    if len(named) != 1:
        raise entry.error("metric", "is one metric")
    return named[0]


class _Grid:
    """The combinations of an entry's lists, in the order in which the entry names them."""

    def __init__(self, entry: Table, lists: Mapping[str, list[str]]) -> None:
        self._entry = entry
        self._lists = {key: lists[key] for key in entry.keys if key in lists}
        is_list = {key: isinstance(entry.take(key, object), list) for key in self._lists}
        self._shape = [len(values) for key, values in self._lists.items() if is_list[key]]
        self._is_list = is_list

    def __iter__(self) -> Iterator[tuple[list[int], dict[str, str]]]:
        """Each combination with its place in the lists."""
        for places in itertools.product(*(range(len(values)) for values in self._lists.values())):
            point = {key: values[place] for (key, values), place in zip(self._lists.items(), places, strict=True)}
            yield [place for key, place in zip(self._lists, places, strict=True) if self._is_list[key]], point

    def pick(self, entry: Table, key: str, value: Any, place: Sequence[int], *, pair: bool = False) -> Any:
        """What a field says at that place; a `pair` is itself a list of two."""
        for depth, number in enumerate(place):
            if not isinstance(value, list) or (pair and not (value and isinstance(value[0], list))):
                return value
            if len(value) != self._shape[depth]:
                raise entry.error(key, f"has {len(value)} values where the entry's list has {self._shape[depth]}")
            value = value[number]
        return value


def expectations(
    entry: Table, axes: tuple[Axis, ...], metrics: Mapping[str, Metric], sources: Mapping[str, Source]
) -> list[Expectation]:
    """The cells of one entry."""
    from skyhop.studies import Cell

    lists = {axis.name: _values(entry, axis) for axis in axes} | {"metric": _metrics(entry, metrics)}
    grid = _Grid(entry, lists)
    tables = {name: table for name in sources if (table := entry.table(name)) is not None}
    found = []
    for place, point in grid:
        cell = Cell(tuple((axis.name, point[axis.name]) for axis in axes))
        expected = {}
        for name, table in tables.items():
            one = _expected(table, grid, place, metrics[point["metric"]], metrics)
            if one is not None:
                expected[name] = one
        found.append(Expectation(cell, point["metric"], expected))
    for table in tables.values():
        table.finish()
    entry.finish()
    return found


def _expected(
    entry: Table, grid: _Grid, place: Sequence[int], metric: Metric, metrics: Mapping[str, Metric]
) -> Expected | None:
    def field(key: str, kind: type | tuple[type, ...], what: str, default: Any = None) -> Any:
        given = entry.take(key, object) if default is None else entry.take(key, object, default)
        value = grid.pick(entry, key, given, place, pair=key == "tolerance")
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise entry.error(key, f"is {what}, not {value!r}")
        return value

    value = field("value", (int, float, str), "a number")
    sides = field("tolerance", list, "a list")
    printed, verdict = field("printed", str, "a text"), field("verdict", str, "a text")
    why, counts = field("why", str, "a text", ""), entry.take("counts", bool, None) if "counts" in entry.keys else None
    own = guards(entry, metrics)
    if value == NOTHING:
        return None
    if isinstance(value, str) or not math.isfinite(value):
        raise entry.error("value", f"is a number, or {NOTHING!r} in a list, not {value!r}")
    if len(sides) != 2:
        raise entry.error("tolerance", "has two sides: [below, above]")
    try:
        tolerance = Tolerance.parse(sides[0], sides[1], value=value)
    except ValueError as error:
        raise entry.error("tolerance", str(error)) from None
    if verdict not in VERDICTS:
        raise entry.error("verdict", f"is one of {', '.join(VERDICTS)}, not {verdict!r}")
    if verdict not in PLAIN and not why:
        raise entry.error("why", f"is missing: the verdict {verdict} has a reason")
    return Expected(float(value), printed, tolerance, verdict, why, (*metric.guards, *own), counts)


def claims(
    entry: Table, axes: tuple[Axis, ...], parts: Mapping[str, Part], metrics: Mapping[str, Metric]
) -> list[Claim]:
    """The claims of one entry: one for each value of the axes of which it has a list.

    `parts` has the part of each cell by the cell's label.
    """
    fixed = {axis.name: _values(entry, axis) for axis in axes if axis.name in entry.keys}
    every_table = entry.table("every")
    every = {axis.name: _values(every_table, axis) for axis in axes
             if every_table is not None and axis.name in every_table.keys}  # fmt: skip
    if every_table is not None:
        every_table.finish()
    if both := sorted(fixed.keys() & every.keys()):
        raise entry.error(both[0], "is fixed and stands in `every`, too")
    grid = _Grid(entry, fixed)
    metric = _metric(entry, metrics)
    own = guards(entry, metrics)
    counts = entry.take("counts", bool, None) if "counts" in entry.keys else None
    names = _Names(entry, axes, parts, metrics)
    found = []
    for place, point in grid:

        def field(key: str, place: Sequence[int] = place, **default: str) -> str:
            value = grid.pick(entry, key, entry.take(key, object, **default), place)
            if not isinstance(value, str):
                raise entry.error(key, f"is a text, not {value!r}")
            return value

        order, verdict, why = field("order"), field("verdict"), field("why", default="")
        spelled = ", ".join(
            names.spell(order, point | dict(zip(every, combination, strict=True)))
            for combination in itertools.product(*every.values())
        )
        text = field("text")
        for axis, value in point.items():
            text = text.replace("{" + axis + "}", value)
        if verdict not in CLAIM_VERDICTS:
            raise entry.error("verdict", f"is one of {', '.join(CLAIM_VERDICTS)}, not {verdict!r}")
        if verdict not in PLAIN and not why:
            raise entry.error("why", f'is missing: the verdict "{verdict}" has a reason')
        claim = Claim(text, field("printed"), metric, order, verdict, why, own, counts, spelled)
        names.check_length(claim)
        found.append(claim)
    entry.finish()
    return found


class _Names:
    """What the names in an order mean: the values of the axes that the claim leaves open."""

    def __init__(
        self, entry: Table, axes: tuple[Axis, ...], parts: Mapping[str, Part], metrics: Mapping[str, Metric]
    ) -> None:
        self._entry, self._axes, self._parts, self._metrics = entry, axes, parts, metrics

    def spell(self, order: str, point: Mapping[str, str]) -> str:
        """The order with every name as the label of its cell."""
        chains = [[[self._full(name.strip(), point) for name in link.split(" & ")] for link in chain.split("<")]
                  for chain in order.split(",")]  # fmt: skip
        if any(len(chain) < 2 for chain in chains):
            raise self._entry.error("order", f'compares at least two, such as "a < b", not {order!r}')
        return ", ".join(" < ".join(" & ".join(link) for link in chain) for chain in chains)

    def _full(self, name: str, point: Mapping[str, str]) -> str:
        if number_of(name) is not None:
            return name
        cell, _, metric = name.partition("@")
        given = iter([] if cell == HERE else cell.split(" / "))
        label = " / ".join(point[axis.name] if axis.name in point else next(given, "?") for axis in self._axes)
        rest = list(given)
        if label not in self._parts or rest or (metric and metric not in self._metrics):
            open_axes = [axis.name for axis in self._axes if axis.name not in point]
            known = sorted(self._parts) if not point else [f"values of {' / '.join(open_axes)}" if open_axes else HERE]
            raise self._entry.error("order", f"compares {', '.join(known)}, not {name}")
        return f"{label}@{metric}" if metric else label

    def check_length(self, claim: Claim) -> None:
        """A shortened run decides no order: its whole length does."""
        for name in sorted(claim.names):
            part = self._parts[name.partition("@")[0]]
            if part.whole and claim.counts is not False:
                raise self._entry.error(
                    "order", f"compares {name} of the shortened part {part.name}: an order is judged by the whole "
                    f"length, part {part.whole}, or the claim says counts = false",
                )  # fmt: skip


def once(
    expectations: Sequence[Expectation],
    counted: Mapping[tuple[Cell, str, str], bool],
    reading_axes: set[str],
    file: Path,
) -> None:
    """Raises where one printed value is counted twice: for two metrics of one point."""
    seen: dict[tuple[Any, ...], str] = {}
    for one in expectations:
        point = tuple(item for item in one.cell.point if item[0] not in reading_axes)
        for source, expected in one.sources.items():
            if not counted[one.cell, one.metric, source]:
                continue
            key = (point, source, expected.printed, expected.value)
            before = seen.setdefault(key, f"{one.metric} of {one.cell.label}")
            if before != f"{one.metric} of {one.cell.label}":
                raise DefinitionError(
                    f'{file}: {expected.value:g} of "{expected.printed}" is counted for {before} and for {one.metric} '
                    f"of {one.cell.label}. A printed value counts once: say {source}.counts = false for all but one, "
                    "or, where it is printed twice, in `printed` where"
                )
