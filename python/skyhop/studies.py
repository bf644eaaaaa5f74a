"""A study: one question in one folder. This module reads the folder; `matrix` runs it.

scenario.toml  the base case, complete
study.toml     title, axes, seeds, metrics, sources; parts, where not every combination of the axes is meant
expect.toml    what others measured, cell by cell, with tolerance and verdict; the claims in words
plots.py       functions from tables to figures
README.md      the question; its result table is generated
"""

from __future__ import annotations

import dataclasses
import importlib.util
import itertools
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from skyhop import _core, expect, formula
from skyhop.definition import Table, read_toml
from skyhop.expect import Expectation
from skyhop.metrics import Metric, columns_of, read_metric
from skyhop.verdict import Bound, Claim, DefinitionError

#: A seed has 64 bits.
MOST_SEED = 2**64 - 1
#: More runs than this are a slip of the pen: at a thousandth of a second each they take a quarter of an hour.
MOST_RUNS = 1_000_000

#: Columns that tables of sweeps and studies have beside those of their axes and measures.
RESERVED = frozenset({
    "seed", "scenario_hash", "records_hash", "metric", "unit", "runs", "distinct_runs", "distinct_values",
    "warm_up_s", "mean", "low", "high", "ours", "interval", "error", "failed", "run",
})  # fmt: skip


@dataclass(frozen=True)
class Axis:
    """One thing that varies: its values by the name shown, each as the overrides that set it."""

    name: str
    label: str
    values: Mapping[str, tuple[str, ...]]
    #: Where the values are readings of one text: those under which the study counts. Empty: the axis has no readings.
    readings: frozenset[str] = frozenset()


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
        return ",".join(f"{axis}={value}" for axis, value in self.point).replace("/", "-")


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
    #: The QUIC stack without which it does not run: a build may lack it.
    stack: str = ""
    #: The long part that runs the same over the whole length, where this one is shortened.
    whole: str = ""
    #: Whether nothing random is in it, so that one run says all.
    deterministic: bool = False
    #: Each flow starts later by a time between 0 and this, drawn by the seed.
    start_within_s: float = 0.0


@dataclass(frozen=True)
class Source:
    """Somebody whose numbers stand beside ours."""

    name: str
    label: str
    citation: str


@dataclass(frozen=True)
class Baseline:
    """A trivial predictor of published values: what a table is worth shows in how much better the study does."""

    name: str
    label: str
    source: str
    metrics: tuple[str, ...]
    #: A number, or a formula over the axes: an axis stands for the first number in the name of its value.
    formula: str

    def value(self, cell: Cell) -> float:
        """What it predicts for a cell."""
        numbers = {axis: found for axis, value in cell.point if (found := first_number(value)) is not None}
        return formula.evaluate(self.formula, numbers)


@dataclass(frozen=True)
class PartSweep:
    """A sweep that belongs to a study: its README shows numbers of it."""

    name: str
    file: Path
    long: bool


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
    baselines: tuple[Baseline, ...] = ()
    sweeps: tuple[PartSweep, ...] = ()
    #: Material that is not part of the project, from the study's folder.
    needs: tuple[Path, ...] = ()
    #: Whether the long parts belong to it now.
    full: bool = False

    @property
    def takes_long(self) -> bool:
        """Whether something of it runs only when the whole study is asked for."""
        return any(part.long for part in self.parts) or any(sweep.long for sweep in self.sweeps)

    @property
    def missing(self) -> list[Path]:
        """What the study needs and is not there; without it the study is skipped."""
        return [path for path in self.needs if not (self.folder / path).exists()]

    def bounds_of(self, metric: str, cell: Cell) -> list[Bound]:
        """The bounds of a metric at a cell."""
        return [bound for bound in self.bounds if bound.applies(metric, dict(cell.point))]

    def counts(self, cell: Cell, said: bool | None) -> bool:
        """Whether a statement about a cell is counted: under the declared readings, over the whole length."""
        if said is not None:
            return said
        declared = all(not axis.readings or dict(cell.point)[axis.name] in axis.readings for axis in self.axes)
        part = next(part for part in self.parts if cell in part.cells)
        return declared and not part.whole

    def counts_claim(self, claim: Claim) -> bool:
        """Whether a claim is counted: all its cells are."""
        by_label = {cell.label: cell for part in self.parts for cell in part.cells}
        return all(self.counts(by_label[name.partition("@")[0]], claim.counts) for name in claim.names)

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.name

    @property
    def scenario(self) -> Path:
        """The base case."""
        return self.folder / "scenario.toml"

    @property
    def left_out(self) -> dict[str, list[str]]:
        """Names of the parts whose QUIC stack this build lacks, by the stack."""
        found: dict[str, list[str]] = {}
        for part in self.parts:
            if part.stack and part.stack not in _core.quic_stacks():
                found.setdefault(part.stack, []).append(part.name)
        return found

    @cached_property
    def _part_of(self) -> dict[Cell, Part]:
        absent = {name for names in self.left_out.values() for name in names}
        here = [part for part in self.parts if part.name not in absent and (self.full or not part.long)]
        return {cell: part for part in here for cell in part.cells}

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
    metrics = _read_metrics(table)
    sources = {name: _source(name, entry) for name, entry in table.tables("sources")}
    check_axes(table, axes, [f"{name}{end}" for name in sources for end in ("", "_difference", "_verdict")])
    seeds = _seeds(table)
    defaults = Table(table.file, {key: table.take(key, object) for key in _OF_PARTS if key in table.keys})
    entries = table.tables("parts") or [("", Table(table.file, {}))]
    parts = tuple(_part(folder, name, entry, axes, metrics, seeds, defaults) for name, entry in entries)
    _disjoint(table, parts)
    _whole_lengths(table, parts)
    _guarded(table, parts, metrics)
    by_label = {cell.label: part for part in parts for cell in part.cells}
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
        expectations=_each(expect.expectations(entry, axes, metrics, sources) for entry in expected.items("cells")),
        claims=_each(expect.claims(entry, axes, by_label, metrics) for entry in expected.items("claims")),
        bounds=_each(expect.bound(entry, axes, metrics) for entry in expected.items("bounds")),
        baselines=tuple(_baseline(name, entry, metrics, sources) for name, entry in table.tables("baselines")),
        sweeps=tuple(_sweep(folder, name, entry) for name, entry in table.tables("sweeps")),
        needs=tuple(Path(str(one)) for one in table.take("needs", list, [])),
    )
    table.finish()
    expected.finish()
    everywhere = {cell for part in parts for cell in part.cells}
    for one in study.expectations:
        if one.cell not in everywhere:
            raise DefinitionError(f"{expected.file}: {one.cell.label} belongs to no part of the study")
    seen = Counter((expectation.cell, expectation.metric) for expectation in study.expectations)
    for key, count in seen.items():
        if count > 1:
            raise DefinitionError(f"{expected.file}: {key[1]} of {key[0].label} stands there twice")
    counted = {
        (one.cell, one.metric, name): study.counts(one.cell, said.counts)
        for one in study.expectations
        for name, said in one.sources.items()
    }
    expect.once(study.expectations, counted, {axis.name for axis in axes if axis.readings}, expected.file)
    return study


Item = TypeVar("Item")


def _each(lists: Iterable[list[Item]]) -> tuple[Item, ...]:
    return tuple(itertools.chain.from_iterable(lists))


def _seeds(table: Table) -> tuple[int, ...]:
    return seeds_of(table, table.take("seeds", list))


def seeds_of(table: Table, seeds: Any) -> tuple[int, ...]:
    """The seeds of a list. Each stands there once: the same run twice is one sample, not two."""
    if not isinstance(seeds, list) or not seeds:
        raise table.error("seeds", f"is a list of whole numbers, at least one, not {seeds!r}")
    for seed in seeds:
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= MOST_SEED:
            raise table.error("seeds", f"holds whole numbers from 0 to 2^64 - 1, not {seed!r}")
    if len(set(seeds)) < len(seeds):
        twice = next(seed for seed in seeds if seeds.count(seed) > 1)
        raise table.error("seeds", f"holds {twice} more than once, which would count one run as several")
    return tuple(seeds)


def check_axes(table: Table, axes: Iterable[Axis], taken: Iterable[str]) -> None:
    """Raises for an axis that would hide a column of the tables that it is to be added to."""
    columns = {column for name in _core.table_names() for column in columns_of(name)}
    for axis in axes:
        if axis.name in RESERVED | columns:
            raise table.error(f"axes.{axis.name}", "is the name of a column of the results; call the axis otherwise")
        if axis.name in taken:
            raise table.error(f"axes.{axis.name}", "has the name of a metric or a source; call one of them otherwise")


def _part(
    folder: Path,
    name: str,
    entry: Table,
    axes: tuple[Axis, ...],
    metrics: Mapping[str, Metric],
    seeds: tuple[int, ...],
    defaults: Table,
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
        stack=_stack(entry),
        whole=entry.text("whole", ""),
        deterministic=entry.take("deterministic", bool, defaults.take("deterministic", bool, False)),
        start_within_s=_seconds(entry, _seconds(defaults, 0.0)),
    )
    if part.deterministic and (len(part.seeds) > 1 or part.start_within_s > 0):
        raise entry.error("deterministic", "belongs to one seed and fixed start times: several would be equal")
    entry.finish()
    return part


def _stack(entry: Table) -> str:
    stack = entry.text("stack", "")
    if stack and stack not in _STACKS:
        raise entry.error("stack", f"is among {', '.join(_STACKS)}, not {stack!r}")
    return stack


#: QUIC stacks that a build may have (crates/quic/src/config.rs).
_STACKS = ("quinn", "noq", "picoquic")

#: Keys of a part that the study may set for all of them.
_OF_PARTS = ("deterministic", "start_within")


def _seconds(entry: Table, default: float) -> float:
    text = entry.text("start_within", "")
    if not text:
        return default
    parts = re.fullmatch(r"([0-9.]+) ?(us|ms|s)", text)
    if parts is None:
        raise entry.error("start_within", f'is a time such as "10 ms", not {text!r}')
    return float(parts[1]) * {"us": 1e-6, "ms": 1e-3, "s": 1.0}[parts[2]]


def _whole_lengths(table: Table, parts: tuple[Part, ...]) -> None:
    long = {part.name for part in parts if part.long}
    for part in parts:
        if part.whole and part.whole not in long:
            raise table.error(f"parts.{part.name}.whole", f"names a part with long = true, not {part.whole!r}")


def _guarded(table: Table, parts: tuple[Part, ...], metrics: Mapping[str, Metric]) -> None:
    """Flows that get nothing share it fairly: an index of fairness alone says nothing."""
    for metric in metrics.values():
        if metric.reduce == "jain" and not metric.guards:
            raise table.error(
                f"metrics.{metric.name}.guard", "is missing: an index of fairness is judged together with what the "
                'flows get, such as guard = { metric = "utilisation", least = 0.9 }',
            )  # fmt: skip
        for guard in metric.guards:
            for part in parts:
                if metric.name in part.metrics and guard.metric not in part.metrics:
                    where = f"parts.{part.name}.metrics"
                    raise table.error(where, f"has {metric.name} without its guard {guard.metric}")


def _disjoint(table: Table, parts: tuple[Part, ...]) -> None:
    owner: dict[Cell, str] = {}
    for part in parts:
        for cell in part.cells:
            if owner.setdefault(cell, part.name) != part.name:
                raise table.error(f"parts.{part.name}", f"holds {cell.label}, as does parts.{owner[cell]}")


def _axis(name: str, entry: Table) -> Axis:
    values = values_of(entry, entry.take("values", list), entry.text("key", ""))
    if odd := [name for name in values if set(name) & set("\\,<&@[]") or " / " in name]:
        raise entry.error(
            "values", f"are names of folders and in orders: {odd[0]!r} has one of \\ , < & @ [ ] or ' / '"
        )
    readings = entry.texts("reading") if "reading" in entry.keys else []
    if unknown := [one for one in readings if one not in values]:
        raise entry.error("reading", f"is among {', '.join(values)}, not {unknown[0]!r}")
    axis = Axis(name, entry.text("label"), values, frozenset(readings))
    entry.finish()
    return axis


def first_number(text: str) -> float | None:
    """The first number in a text: 200 of "200 + 2", 0.001 of "1e-3 per byte"."""
    found = re.search(r"[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?", text)
    return float(found[0]) if found else None


def _baseline(name: str, entry: Table, metrics: Mapping[str, Metric], sources: Mapping[str, Source]) -> Baseline:
    source = entry.text("source")
    if source not in sources:
        raise entry.error("source", f"is one of {', '.join(sources)}, not {source!r}")
    named = tuple(entry.texts("metric"))
    if unknown := [one for one in named if one not in metrics]:
        raise entry.error("metric", f"is among {', '.join(metrics)}, not {unknown[0]!r}")
    text = entry.texts("value")
    if len(text) != 1:
        raise entry.error("value", "is a number, or a formula over the axes")
    baseline = Baseline(name, entry.text("label"), source, named, text[0])
    entry.finish()
    return baseline


def _sweep(folder: Path, name: str, entry: Table) -> PartSweep:
    sweep = PartSweep(name, folder / entry.text("file", f"{name}.toml"), entry.take("long", bool, False))
    entry.finish()
    return sweep


def values_of(entry: Table, values: list[Any], key: str) -> dict[str, tuple[str, ...]]:
    """The values of an axis: texts, numbers, `{ name, set }`, or without a key `{ name, set = ["key=value", ...] }`."""
    named: dict[str, tuple[str, ...]] = {}
    for value in values:
        name, given = (value.get("name"), value.get("set")) if isinstance(value, Mapping) else (value, value)
        if isinstance(given, list) and not key and all(isinstance(one, str) and "=" in one for one in given):
            overrides = tuple(given)
        elif key and name is not None and given is not None:
            overrides = (f"{key}={as_toml(given)}",)
        else:
            help = '{ name = "...", set = "..." }, without a key of the axis { name = "...", set = ["key=value", ...] }'
            raise entry.error("values", f"holds values or {help}; not {value!r}")
        if str(name) in named:
            raise entry.error("values", f"holds {str(name)!r} more than once")
        named[str(name)] = overrides
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


def _read_metrics(table: Table) -> dict[str, Metric]:
    """All metrics; guards name others, so they come last."""
    entries = table.tables("metrics")
    metrics = {name: read_metric(name, entry, guard=True) for name, entry in entries}
    return {name: dataclasses.replace(metrics[name], guards=expect.guards(entry, metrics)) for name, entry in entries}


def _source(name: str, entry: Table) -> Source:
    source = Source(name, entry.text("label"), entry.text("citation"))
    entry.finish()
    return source


def cells_of(axes: tuple[Axis, ...]) -> list[Cell]:
    """Every combination of the axes' values, the last axis fastest."""
    points = itertools.product(*([(axis.name, value) for value in axis.values] for axis in axes))
    return [Cell(tuple(point)) for point in points]
