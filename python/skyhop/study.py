"""A study: one question in one folder. This module reads the folder; `matrix` runs it.

scenario.toml  the base case, complete
study.toml     title, axes, seeds, metrics, sources; parts, where not every combination of the axes is meant
expect.toml    what others measured, cell by cell, with tolerance and verdict; the claims in words
plots.py       functions from tables to figures
README.md      the question; its result table is generated
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]

from skyhop.verdict import FAILS, HOLDS, VERDICTS, Bound, Claim, DefinitionError, Expected, Tolerance

REDUCTIONS = ("sum", "mean", "weighted-mean", "ratio", "range", "sum-of-means", "jain", "share-within")


@dataclass(frozen=True)
class Axis:
    """One thing that varies: its values by the name shown, each as the overrides that set it."""

    name: str
    label: str
    values: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Metric:
    """How one number of a cell comes from a table of its run."""

    name: str
    label: str
    unit: str
    table: str
    column: str
    reduce: str
    #: Turns the column's unit into `unit`.
    scale: float = 1.0
    digits: int = 1
    #: Column by which `weighted-mean` weighs.
    weight: str = ""
    #: Column by whose sum `ratio` divides that of `column`.
    over: str = ""
    #: Rows until this moment are left out (tables with a time only).
    from_s: float = 0.0
    #: Rows after this moment are left out; 0 means none.
    until_s: float = 0.0
    #: The same two as shares of the run's length, so that a longer run of the same kind has the same phases.
    from_share: float = 0.0
    until_share: float = 0.0
    #: The bound of `share-within`, in the column's unit.
    within: float = 0.0
    #: Regular expression: only the flows, or links, whose name it finds.
    only: str = ""
    #: What the number means, in words for the reader.
    meaning: str = ""


@dataclass(frozen=True)
class Cell:
    """One point of the matrix: a value name for each axis."""

    point: tuple[tuple[str, str], ...]

    @property
    def label(self) -> str:
        """As a reader sees it: `vegas`, or with several axes `vegas / 1 %`."""
        return " / ".join(value for _, value in self.point)

    @property
    def folder(self) -> str:
        """As a folder is named: `tcp=vegas`."""
        return ",".join(f"{axis}={value}" for axis, value in self.point)


@dataclass(frozen=True)
class Part:
    """Some cells of the matrix, with what they have in common."""

    name: str
    cells: tuple[Cell, ...]
    scenario: Path
    #: Overrides besides those of the axes.
    overrides: tuple[str, ...]
    seeds: tuple[int, ...]
    #: Names of the metrics that mean something here.
    metrics: frozenset[str]
    #: Whether it is too long for every day, and runs only when the whole study is asked for.
    long: bool


@dataclass(frozen=True)
class Source:
    """Somebody whose numbers stand beside ours."""

    name: str
    label: str
    citation: str


@dataclass(frozen=True)
class Expectation:
    """What others say about one metric at one cell, by the name of the source."""

    cell: Cell
    metric: str
    sources: Mapping[str, Expected]


@dataclass(frozen=True)
class Study:
    """A study as its folder defines it."""

    folder: Path
    title: str
    question: str
    paper: str
    axes: tuple[Axis, ...]
    seeds: tuple[int, ...]
    parts: tuple[Part, ...]
    metrics: Mapping[str, Metric]
    sources: Mapping[str, Source]
    expectations: tuple[Expectation, ...]
    claims: tuple[Claim, ...]
    bounds: tuple[Bound, ...] = ()
    #: Material that is not part of the project, from the study's folder.
    needs: tuple[Path, ...] = ()
    #: Whether the long parts belong to it now.
    full: bool = False

    @property
    def missing(self) -> list[Path]:
        """What the study needs and is not there; without it the study is skipped."""
        return [path for path in self.needs if not (self.folder / path).exists()]

    def bounds_of(self, metric: str, cell: Cell) -> list[Bound]:
        """The bounds of a metric at a cell."""
        return [bound for bound in self.bounds if bound.applies(metric, dict(cell.point))]

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.name

    @property
    def scenario(self) -> Path:
        """The base case."""
        return self.folder / "scenario.toml"

    @cached_property
    def _part_of(self) -> dict[Cell, Part]:
        return {cell: part for part in self.parts for cell in part.cells if self.full or not part.long}

    @property
    def cells(self) -> list[Cell]:
        """The cells that are run, the last axis fastest."""
        return [cell for cell in cells_of(self.axes) if cell in self._part_of]

    def part(self, cell: Cell) -> Part:
        """The part to which a cell belongs."""
        return self._part_of[cell]

    def overrides(self, cell: Cell) -> list[str]:
        """What turns the scenario of a cell's part into that of the cell."""
        return [*self.part(cell).overrides, *overrides_of(self.axes, cell)]

    def plots(self) -> ModuleType | None:
        """The study's own figures, if it has any."""
        path = self.folder / "plots.py"
        if not path.exists():
            return None
        spec = importlib.util.spec_from_file_location(f"skyhop_study_{self.name.replace('-', '_')}", path)
        if spec is None or spec.loader is None:
            raise DefinitionError(f"{path}: is no Python file")
        module = importlib.util.module_from_spec(spec)
        # Dataclasses look their module up by name.
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module


def folder_of_studies(start: Path | None = None) -> Path:
    """The nearest `studies` folder at or above `start` (the current folder), else the one of the source tree."""
    here = (start or Path.cwd()).resolve()
    source_tree = Path(__file__).resolve().parents[2]
    for parent in (here, *here.parents, source_tree):
        folder = parent / "studies"
        if next(folder.glob("*/study.toml"), None) is not None:
            return folder
    raise DefinitionError(f"no folder studies/ with a study in it at {here} or above")


def names(folder: Path) -> list[str]:
    """The studies in a folder of studies."""
    return sorted(path.parent.name for path in folder.glob("*/study.toml"))


def find(name: str, folder: Path) -> Study:
    """The study of that name."""
    known = names(folder)
    if name not in known:
        raise DefinitionError(f"no study named {name!r} in {folder}; there are: {', '.join(known)}")
    return load(folder / name)


def load(folder: Path) -> Study:
    """Reads a study; raises DefinitionError with file and place for the first thing that cannot be meant."""
    table = Table(folder / "study.toml", read_toml(folder / "study.toml"))
    axes = tuple(_axis(name, entry) for name, entry in table.tables("axes"))
    metrics = {name: read_metric(name, entry) for name, entry in table.tables("metrics")}
    sources = {name: _source(name, entry) for name, entry in table.tables("sources")}
    seeds = _seeds(table)
    parts = tuple(_part(folder, name, entry, axes, metrics, seeds) for name, entry in table.tables("parts"))
    if not parts:
        whole = Part("", tuple(cells_of(axes)), folder / "scenario.toml", (), seeds, frozenset(metrics), long=False)
        parts = (whole,)
    _disjoint(table, parts)
    expected = Table(folder / "expect.toml", read_toml(folder / "expect.toml"))
    study = Study(
        folder=folder,
        title=table.text("title"),
        question=table.text("question"),
        paper=table.text("paper"),
        axes=axes,
        seeds=seeds,
        parts=parts,
        metrics=metrics,
        sources=sources,
        expectations=tuple(_expectation(entry, axes, metrics, sources) for entry in expected.items("cells")),
        claims=tuple(_claim(entry, parts, metrics) for entry in expected.items("claims")),
        bounds=tuple(_bound(entry, axes, metrics) for entry in expected.items("bounds")),
        needs=tuple(Path(str(one)) for one in table.take("needs", list, [])),
    )
    table.finish()
    expected.finish()
    everywhere = {cell for part in parts for cell in part.cells}
    for one in study.expectations:
        if one.cell not in everywhere:
            raise DefinitionError(f"{expected.file}: {one.cell.label} belongs to no part of the study")
    seen = [(expectation.cell, expectation.metric) for expectation in study.expectations]
    for key in seen:
        if seen.count(key) > 1:
            raise DefinitionError(f"{expected.file}: {key[1]} of {key[0].label} stands there twice")
    return study


def _seeds(table: Table) -> tuple[int, ...]:
    seeds = table.take("seeds", list)
    if not seeds or not all(isinstance(seed, int) and seed >= 0 for seed in seeds):
        raise table.error("seeds", "is a list of whole numbers, at least one")
    return tuple(seeds)


def _part(
    folder: Path,
    name: str,
    entry: Table,
    axes: tuple[Axis, ...],
    metrics: Mapping[str, Metric],
    seeds: tuple[int, ...],
) -> Part:
    chosen = []
    for axis in axes:
        values = entry.take(axis.name, list, list(axis.values))
        if unknown := [value for value in values if value not in axis.values]:
            raise entry.error(axis.name, f"is among {', '.join(axis.values)}, not {unknown[0]!r}")
        chosen.append(Axis(axis.name, axis.label, {value: axis.values[value] for value in values}))
    measured = entry.take("metrics", list, list(metrics))
    if unknown := [one for one in measured if one not in metrics]:
        raise entry.error("metrics", f"is among {', '.join(metrics)}, not {unknown[0]!r}")
    overrides = entry.take("set", list, [])
    if not all(isinstance(one, str) and "=" in one for one in overrides):
        raise entry.error("set", 'is a list of "key=value"')
    part = Part(
        name=name,
        cells=tuple(cells_of(tuple(chosen))),
        scenario=folder / entry.text("scenario", "scenario.toml"),
        overrides=tuple(overrides),
        seeds=_seeds(entry) if entry.take("seeds", list, None) is not None else seeds,
        metrics=frozenset(measured),
        long=entry.take("long", bool, False),
    )
    entry.finish()
    return part


def _disjoint(table: Table, parts: tuple[Part, ...]) -> None:
    owner: dict[Cell, str] = {}
    for part in parts:
        for cell in part.cells:
            if owner.setdefault(cell, part.name) != part.name:
                raise table.error(f"parts.{part.name}", f"holds {cell.label}, as does parts.{owner[cell]}")


def _axis(name: str, entry: Table) -> Axis:
    axis = Axis(name, entry.text("label"), values_of(entry, entry.take("values", list), entry.text("key", "")))
    entry.finish()
    return axis


def values_of(entry: Table, values: list[Any], key: str) -> dict[str, tuple[str, ...]]:
    """The values of an axis: texts, numbers, `{ name, set }`, or without a key `{ name, set = ["key=value", ...] }`."""
    named: dict[str, tuple[str, ...]] = {}
    for value in values:
        name, given = (value.get("name"), value.get("set")) if isinstance(value, Mapping) else (value, value)
        if isinstance(given, list) and not key and all(isinstance(one, str) and "=" in one for one in given):
            named[str(name)] = tuple(given)
        elif key and name is not None and given is not None:
            named[str(name)] = (f"{key}={as_toml(given)}",)
        else:
            help = '{ name = "...", set = "..." }, without a key of the axis { name = "...", set = ["key=value", ...] }'
            raise entry.error("values", f"holds values or {help}; not {value!r}")
    if not named:
        raise entry.error("values", "is empty")
    return named


def as_toml(value: Any) -> str:
    """A value as an override has it: text as it stands, everything else as TOML."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ", ".join(json.dumps(one) if isinstance(one, str) else as_toml(one) for one in value) + "]"
    if isinstance(value, Mapping):
        items = ((key, json.dumps(one) if isinstance(one, str) else as_toml(one)) for key, one in value.items())
        return "{ " + ", ".join(f"{json.dumps(key)} = {one}" for key, one in items) + " }"
    return repr(value)


def overrides_of(axes: Sequence[Axis], cell: Cell) -> list[str]:
    """What turns the base case into a cell's scenario."""
    by_name = {axis.name: axis for axis in axes}
    return [one for name, value in cell.point for one in by_name[name].values[value]]


def read_metric(name: str, entry: Table) -> Metric:
    """A metric from its table in the file."""
    reduce = entry.text("reduce")
    if reduce not in REDUCTIONS:
        raise entry.error("reduce", f"is one of {', '.join(REDUCTIONS)}, not {reduce!r}")
    metric = Metric(
        name=name,
        label=entry.text("label"),
        unit=entry.text("unit"),
        table=entry.text("table"),
        column=entry.text("column"),
        reduce=reduce,
        scale=entry.number("scale", 1.0),
        digits=entry.take("digits", int, 1),
        weight=entry.text("weight", ""),
        over=entry.text("over", ""),
        from_s=entry.number("from_s", 0.0),
        until_s=entry.number("until_s", 0.0),
        from_share=entry.number("from_share", 0.0),
        until_share=entry.number("until_share", 0.0),
        within=entry.number("within", 0.0),
        only=entry.text("only", ""),
        meaning=entry.text("meaning", ""),
    )
    if (reduce == "weighted-mean") != bool(metric.weight):
        raise entry.error("weight", "belongs to weighted-mean, and it to it")
    if (reduce == "ratio") != bool(metric.over):
        raise entry.error("over", "belongs to ratio, and it to it")
    if (reduce == "share-within") != (metric.within > 0):
        raise entry.error("within", "is the bound of share-within, above 0")
    entry.finish()
    return metric


def _source(name: str, entry: Table) -> Source:
    source = Source(name, entry.text("label"), entry.text("citation"))
    entry.finish()
    return source


def _bound(entry: Table, axes: tuple[Axis, ...], metrics: Mapping[str, Metric]) -> Bound:
    where = {}
    for axis in axes:
        if values := entry.take(axis.name, list, []):
            if unknown := [value for value in values if value not in axis.values]:
                raise entry.error(axis.name, f"is among {', '.join(axis.values)}, not {unknown[0]!r}")
            where[axis.name] = frozenset(values)
    metric = _known(entry, metrics)
    least, most = (entry.take(side, object, default) for side, default in (("least", -math.inf), ("most", math.inf)))
    bound = Bound(metric, entry.text("why"), float(least), float(most), where)
    entry.finish()
    return bound


def _known(entry: Table, metrics: Mapping[str, Metric]) -> str:
    metric = entry.text("metric")
    if metric not in metrics:
        raise entry.error("metric", f"is one of {', '.join(metrics)}, not {metric!r}")
    return metric


def _expectation(
    entry: Table, axes: tuple[Axis, ...], metrics: Mapping[str, Metric], sources: Mapping[str, Source]
) -> Expectation:
    point = []
    for axis in axes:
        value = entry.text(axis.name)
        if value not in axis.values:
            raise entry.error(axis.name, f"is one of {', '.join(axis.values)}, not {value!r}")
        point.append((axis.name, value))
    metric = _known(entry, metrics)
    expected = {}
    for name in sources:
        if (table := entry.table(name)) is not None:
            expected[name] = _expected(table)
    entry.finish()
    return Expectation(Cell(tuple(point)), metric, expected)


def _expected(entry: Table) -> Expected:
    value = entry.number("value")
    sides = entry.take("tolerance", list)
    if len(sides) != 2:
        raise entry.error("tolerance", "has two sides: [below, above]")
    try:
        tolerance = Tolerance.parse(sides[0], sides[1], value=value)
    except ValueError as error:
        raise entry.error("tolerance", str(error)) from None
    expected = Expected(value, entry.text("printed"), tolerance, entry.text("verdict"), entry.text("why", ""))
    if expected.verdict not in VERDICTS:
        raise entry.error("verdict", f"is one of {', '.join(VERDICTS)}, not {expected.verdict!r}")
    if expected.verdict == "differs" and not expected.why:
        raise entry.error("why", "is missing: a verdict other than reproduced has a reason")
    entry.finish()
    return expected


def _claim(entry: Table, parts: tuple[Part, ...], metrics: Mapping[str, Metric]) -> Claim:
    claim = Claim(
        text=entry.text("text"),
        printed=entry.text("printed"),
        metric=_known(entry, metrics),
        order=entry.text("order"),
        verdict=entry.text("verdict"),
        why=entry.text("why", ""),
    )
    cells = {cell.label for part in parts for cell in part.cells}
    labels = cells | {f"{cell}@{metric}" for cell in cells for metric in metrics}
    if unknown := sorted(claim.names - labels):
        raise entry.error("order", f"compares {', '.join(sorted(cells))}, not {', '.join(unknown)}")
    if claim.verdict not in (HOLDS, FAILS):
        raise entry.error("verdict", f'is "{HOLDS}" or "{FAILS}", not {claim.verdict!r}')
    if claim.verdict == FAILS and not claim.why:
        raise entry.error("why", "is missing: a claim that does not hold has a reason")
    entry.finish()
    return claim


def cells_of(axes: tuple[Axis, ...]) -> list[Cell]:
    """Every combination of the axes' values, the last axis fastest."""
    points = itertools.product(*([(axis.name, value) for value in axis.values] for axis in axes))
    return [Cell(tuple(point)) for point in points]


def read_toml(path: Path) -> dict[str, Any]:
    """The file as nested dicts."""
    try:
        data: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        return data
    except FileNotFoundError:
        raise DefinitionError(f"{path}: is missing") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DefinitionError(f"{path}: {error}") from None


_REQUIRED: Any = object()


class Table:
    """A TOML table that knows where it stands and which of its keys nobody asked for."""

    def __init__(self, file: Path, data: Mapping[str, Any], place: str = "") -> None:
        self.file = file
        self._data = data
        self._place = place
        self._asked: set[str] = set()

    def error(self, key: str, what: str) -> DefinitionError:
        """What is wrong with a key, to be raised."""
        return DefinitionError(f"{self.file}: {self._path(key)}: {what}")

    def take(self, key: str, kind: type, default: Any = _REQUIRED) -> Any:
        """The value of a key, which is of that kind."""
        self._asked.add(key)
        if key not in self._data:
            if default is _REQUIRED:
                raise self.error(key, "is missing")
            return default
        value = self._data[key]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.error(key, f"is a {kind.__name__}, not {value!r}")
        return value

    def text(self, key: str, default: Any = _REQUIRED) -> str:
        """The text of a key."""
        return str(self.take(key, str, default))

    def number(self, key: str, default: Any = _REQUIRED) -> float:
        """The number of a key."""
        value = self.take(key, object, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise self.error(key, f"is a number, not {value!r}")
        return float(value)

    def table(self, key: str) -> Table | None:
        """The table of a key, if it is there."""
        data = self.take(key, Mapping, None)
        return None if data is None else Table(self.file, data, self._path(key))

    def tables(self, key: str) -> list[tuple[str, Table]]:
        """The named tables below a key."""
        data = self.take(key, Mapping, {})
        for name, entry in data.items():
            if not isinstance(entry, Mapping):
                raise self.error(f"{key}.{name}", "is a table")
        return [(name, Table(self.file, entry, self._path(f"{key}.{name}"))) for name, entry in data.items()]

    def items(self, key: str) -> list[Table]:
        """The list of tables below a key."""
        data = self.take(key, list, [])
        return [Table(self.file, entry, self._path(f"{key}[{number}]")) for number, entry in enumerate(data)]

    def finish(self) -> None:
        """Raises for a key that has no meaning here."""
        if unknown := sorted(set(self._data) - self._asked):
            known = ", ".join(sorted(self._asked))
            raise self.error(unknown[0], f"has no meaning here; known are {known}")

    def _path(self, key: str) -> str:
        return f"{self._place}.{key}" if self._place else key
