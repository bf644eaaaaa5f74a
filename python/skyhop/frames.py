"""Results in Python that know their axes and intervals, from `skyhop.sweep`, `skyhop.study` and `skyhop.load`."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from skyhop.inference import equal_seeds

if TYPE_CHECKING:
    from skyhop.figure import Figure
    from skyhop.kept import KeptRun
    from skyhop.matrix import Outcome
    from skyhop.sweeps import SweepResult

#: Rows of a table that a notebook shows.
MOST_SHOWN = 40


@dataclass(frozen=True)
class MeasureName:
    """How a measure is shown."""

    label: str
    unit: str

    @property
    def axis(self) -> str:
        """The label of an axis."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


@dataclass(frozen=True)
class Grid:
    """Runs over the values of some axes, with several seeds: means with their 95 % intervals, and every run.

    `grid["goodput"]` is a measure as a polars table, `grid.at(queue="20")` a part of the grid, `grid.run(...)` one of
    the runs, `grid.figure("goodput")` a figure.
    """

    #: Each axis with the names of its values, in the order of the definition.
    axes: Mapping[str, tuple[str, ...]]
    #: Each measure with label and unit.
    measures: Mapping[str, MeasureName]
    #: A row for each cell and measure: axes, metric, unit, runs, distinct_runs, distinct_values, mean, low, high; of a
    #: sweep also failed, the runs that the mean leaves out, and warm_up_s, the time that it leaves out.
    table: pl.DataFrame
    #: A row for each run: axes, seed, the measures, error (why it failed) and run (its folder).
    runs: pl.DataFrame
    #: What to know beside the numbers, in sentences.
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    #: Labels of the axes in figures, where they are not their names.
    labels: Mapping[str, str] = field(default_factory=dict)
    #: The verdicts of a study, and everything else that running it gave.
    outcome: Outcome | None = None

    def __repr__(self) -> str:
        axes = " × ".join(f"{name}[{len(values)}]" for name, values in self.axes.items())
        return f"<skyhop grid {axes or '1 cell'}, {self.runs.height} runs: {', '.join(self.measures)}>"

    def __getitem__(self, measure: str) -> pl.DataFrame:
        """Axes, mean, low, high and runs of a measure; low and high are NaN where no interval could be computed.

        That is with one run, and where all runs gave the same value (`distinct_values` in `table`). The mean is of the
        `runs` that finished; of a sweep `failed` counts the others.
        """
        self._known(measure)
        columns = [*self.axes, "mean", "low", "high", "runs", *({"failed"} & set(self.table.columns))]
        return self.table.filter(pl.col("metric") == measure).select(columns)

    def _known(self, measure: str) -> None:
        if measure not in self.measures:
            raise KeyError(f"no measure is called {measure!r}; there are: {', '.join(self.measures)}")

    def at(self, **point: str) -> Grid:
        """The part of the grid where axes have these values; they are axes no more."""
        chosen = {}
        for name, value in point.items():
            axis = self._axis(name)
            if value not in self.axes[axis]:
                raise KeyError(f"{axis} has no value {value!r}; there are: {', '.join(self.axes[axis])}")
            chosen[axis] = value
        where = [pl.col(axis) == value for axis, value in chosen.items()]
        return replace(
            self,
            axes={name: values for name, values in self.axes.items() if name not in chosen},
            table=self.table.filter(*where),
            runs=self.runs.filter(*where),
        )

    def _axis(self, name: str) -> str:
        if name not in self.axes:
            raise KeyError(f"no axis is called {name!r}; there are: {', '.join(self.axes) or 'none'}")
        return name

    def run(self, row: int | Mapping[str, Any] | None = None, /, **point: Any) -> KeptRun:
        """One of the runs, read back from its folder: by its number in `runs`, by a row of it, or by axes and seed.

        Raises LookupError when there is none or more than one such run, and for a run that failed.
        """
        if isinstance(row, int):
            found = self.runs[row]
        else:
            wanted = {**(row or {}), **point}
            keys = [key for key in (*self.axes, "seed") if key in wanted]
            if unknown := set(point) - set(keys):
                raise KeyError(f"{min(unknown)!r} is neither an axis nor the seed; axes are: {', '.join(self.axes)}")
            found = self.runs.filter(*(pl.col(key) == wanted[key] for key in keys))
        if found.height != 1:
            raise LookupError(f"{found.height} runs are like that: give each of {', '.join((*self.axes, 'seed'))}")
        one = found.row(0, named=True)
        if one["run"] is None:
            raise LookupError(f"the run has no folder: {one['error'] or 'it was not kept'}")
        from skyhop.loading import load_run

        return load_run(Path(one["run"]))

    def pandas(self, measure: str | None = None, /) -> Any:
        """The runs, or a measure, as a pandas DataFrame; the axes are its index."""
        frame = to_pandas(self.runs if measure is None else self[measure])
        index = [*self.axes, "seed"] if measure is None else [*self.axes]
        return frame.set_index(index) if index else frame

    def figure(self, measure: str, /) -> Figure:
        """The mean with its interval by axis; of two axes and more a heat map of the last two, for each of the others.

        Raises KeyError for an unknown measure, ValueError for a grid without axes or with too many maps.
        """
        from skyhop import gridplots

        self._known(measure)
        return gridplots.of_grid(self, measure)

    def _repr_html_(self) -> str:
        rows = [
            [*(row[axis] for axis in self.axes), *(_cell(self, row, name) for name in self.measures)]
            for row in self._cells()[:MOST_SHOWN]
        ]
        count = len(self._cells())
        more = f"<p>{count - MOST_SHOWN} cells more</p>" if count > MOST_SHOWN else ""
        said = "".join(f"<p>{html.escape(note)}</p>" for note in (*self._failures(), *self.notes, *self.warnings))
        return html_table([*self.axes, *(one.axis for one in self.measures.values())], rows) + more + said

    def _failures(self) -> list[str]:
        """That means leave runs out, where some failed."""
        failed = self.runs["error"].count() if "error" in self.runs.columns else 0
        if not failed:
            return []
        return [f"{failed} of {self.runs.height} runs failed: means are of the others; grid.runs has the reasons."]

    def _cells(self) -> list[dict[str, Any]]:
        cells: dict[tuple[str, ...], dict[str, Any]] = {}
        for row in self.table.iter_rows(named=True):
            key = tuple(row[axis] for axis in self.axes)
            cells.setdefault(key, {axis: row[axis] for axis in self.axes})[f"\0{row['metric']}"] = row
        return list(cells.values())


def _cell(grid: Grid, cell: Mapping[str, Any], measure: str) -> str:
    row = cell.get(f"\0{measure}")
    return "–" if row is None else f"{shown(row)} {lacking(row)}".rstrip()


def lacking(row: Mapping[str, Any]) -> str:
    """Of how many runs a mean is, where others failed; empty where none did. Tables of studies have none that did."""
    failed = row.get("failed", 0)
    return f"({row['runs']} of {row['runs'] + failed} runs)" if failed else ""


def shown(row: Mapping[str, Any]) -> str:
    """The mean of a row of a grid's table to four digits, with half of its interval; equal values have none."""
    mean, half = row["mean"], row["high"] - row["mean"]
    if mean is None or mean != mean:
        return "–"
    if seeds := equal_seeds(row):
        return f"{_digits(mean, 4)} (at all {seeds} seeds)"
    # Tables of older versions have intervals of no width.
    return f"{_digits(mean, 4)} ± {_digits(half, 2)}" if half > 0 else _digits(mean, 4)


def _digits(value: float, digits: int) -> str:
    """The number to so many digits; large ones without an exponent."""
    return f"{value:.0f}" if 10**digits <= abs(value) < 1e15 else f"{value:.{digits}g}"


def html_table(titles: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table for a notebook."""
    head = "".join(f"<th>{html.escape(title)}</th>" for title in titles)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def to_pandas(frame: pl.DataFrame) -> Any:
    """A polars table as a pandas DataFrame.

    Raises ImportError with the name of the extra where pandas or pyarrow is missing.
    """
    for name in ("pandas", "pyarrow"):
        try:
            __import__(name)
        except ModuleNotFoundError:
            raise ImportError(
                f"{name} is not installed, which tables in pandas need: pip install 'skyhop[pandas]'"
            ) from None
    return frame.to_pandas()


def of_sweep(result: SweepResult) -> Grid:
    """What a sweep gave."""
    from skyhop import precision, sweeps, warned

    sweep = result.sweep
    assert sweep is not None
    notes = sweeps.notes(sweep, result)
    if result.until is not None:
        notes += precision.said(result.until, result.looks)
    return Grid(
        axes={axis.name: tuple(axis.values) for axis in sweep.axes},
        measures={metric.name: MeasureName(metric.label, metric.unit or "") for metric in sweep.metrics},
        table=result.table,
        runs=result.runs,
        notes=tuple(notes),
        warnings=tuple(warned.sentences(result.warned)),
    )


def of_study(outcome: Outcome) -> Grid:
    """What a study gave. Where chance has no part the interval is NaN."""
    from skyhop import tables

    study = outcome.study
    axes = {axis.name: tuple(axis.values) for axis in study.axes}
    rows: list[dict[str, Any]] = []
    records: dict[Any, set[str]] = {}
    for sample in outcome.samples:
        records.setdefault(sample.cell, set()).add(sample.run.manifest["records_hash"])
    for one in outcome.results:
        half = float("nan") if one.interval is None else one.interval
        runs: dict[str, Any] = {"runs": len(study.part(one.cell).seeds), "distinct_runs": len(records[one.cell])}
        runs |= {"distinct_values": one.estimate.distinct_values, "mean": one.ours, "low": one.ours - half}
        rows.append(
            dict(one.cell.point)
            | {"metric": one.metric.name, "unit": one.metric.unit, **runs, "high": one.ours + half}
        )  # fmt: skip
    runs_of = [
        dict(sample.cell.point)
        | {"seed": sample.seed, **{name: sample.values.get(name) for name in study.metrics}}
        | {"error": None, "run": _folder_of(sample.run)}
        for sample in outcome.samples
    ]
    return Grid(
        axes=axes,
        measures={name: MeasureName(metric.label, metric.unit or "") for name, metric in study.metrics.items()},
        table=pl.DataFrame(rows, infer_schema_length=None),
        runs=pl.DataFrame(runs_of, infer_schema_length=None, schema_overrides={"error": pl.String, "run": pl.String}),
        notes=(*tables.notes(outcome), *outcome.problems),
        warnings=tuple(outcome.warnings),
        labels={axis.name: axis.label for axis in study.axes},
        outcome=outcome,
    )


def _folder_of(run: Any) -> str | None:
    folder = getattr(run, "folder", None)
    return None if folder is None else str(folder)


def of_folder(folder: Path) -> Grid:
    """A sweep's folder read back; labels of its own measures are their names. The folder has no warnings of runs."""
    from skyhop import sweeps

    table, runs = pl.read_parquet(folder / "table.parquet"), pl.read_parquet(folder / "runs.parquet")
    axes = table.columns[: table.columns.index("metric")]
    known = {metric.name: metric.label for metric in sweeps.WHOLE}
    units: dict[str, str | None] = dict(table.select("metric", "unit").unique(maintain_order=True).iter_rows())
    return Grid(
        axes={axis: tuple(table[axis].unique(maintain_order=True)) for axis in axes},
        measures={name: MeasureName(known.get(name, name), unit or "") for name, unit in units.items()},
        table=table,
        runs=runs,
        notes=_warm_ups(table),
    )


def _warm_ups(table: pl.DataFrame) -> tuple[str, ...]:
    """Which time the means of a sweep leave out, in a sentence for each."""
    if "warm_up_s" not in table.columns:
        return ()
    cut = table.filter(pl.col("warm_up_s") > 0).group_by("warm_up_s", maintain_order=True)
    found = [(warm_up_s, rows["metric"].unique(maintain_order=True).to_list()) for (warm_up_s,), rows in cut]
    return tuple(f"The first {warm_up_s:g} s are left out of {', '.join(names)}." for warm_up_s, names in found)


def sweep(
    source: Any,
    /,
    axes: Mapping[str, Any] | None = None,
    *,
    seeds: int | Sequence[int] | None = None,
    metrics: Mapping[str, Mapping[str, Any]] | None = None,
    warm_up: str | None = None,
    until: str | None = None,
    keep: str | os.PathLike[str] = "runs/kept",
    threads: int | None = None,
    scheduler: str | None = None,
) -> Grid:
    """Runs a grid with seeds, on all cores, and returns its means with their 95 % intervals.

        skyhop.sweep("grid.toml")
        skyhop.sweep("scenario.toml", {"flows[*].tcp": ["reno", "cubic"]}, seeds=10)

    With `axes` (as in a sweep file) the source is a scenario's file, text or mapping; without them it is a sweep file,
    which says seeds, metrics and warm-up itself. `seeds` is a list of them, or how many from 1 on; without it there is
    one, and means have no interval. `metrics` are tables as in a sweep file, without them goodput, delay and others;
    `warm_up` ("10 s") leaves out the beginning of what has a time. A finished run stays in the folder `keep` and is not
    made again. `until` adds seeds: "goodput ± 2 %". `scheduler` names a Dask cluster whose workers make the runs. A run
    that fails is a row of `runs` with its reason in `error`.

    Raises DefinitionError and ScenarioError before the first run, OSError where runs cannot be kept.
    """
    from skyhop import precision, spreading, sweeps

    if axes is None:
        if seeds is not None or metrics is not None or warm_up is not None:
            raise TypeError("a sweep file says seeds, metrics and warm_up itself; with axes the source is a scenario")
        read = sweeps.load(Path(source))
    else:
        given = {"axes": axes, "seeds": seeds, "metrics": metrics, "warm_up": warm_up}
        read = sweeps.of(source, {key: value for key, value in given.items() if value is not None})
    bound = None if until is None else precision.read(until, read)
    if scheduler is None:
        return of_sweep(spreading.run(read, keep=Path(keep), threads=threads, until=bound))
    if threads is not None:
        raise TypeError("the workers of the cluster make the runs, so threads has no effect beside scheduler")
    from skyhop.dask_runs import on_cluster

    tally = spreading.Tally()
    with on_cluster(scheduler, read, tally) as make:
        return of_sweep(spreading.run(read, keep=Path(keep), until=bound, make=make, tally=tally))


def study(name: str | os.PathLike[str], /, *, full: bool = False, keep: str | os.PathLike[str] = "runs/kept") -> Grid:
    """Runs a study, by its name in the nearest folder `studies` or by its folder, and returns what it gave.

    `grid.outcome` has the verdicts and claims. With `full` the parts that take long run, too. A finished run stays in
    the folder `keep` and is not made again.

    Raises DefinitionError for a study that is wrong or not there, FileNotFoundError for one that needs material which
    is not there.
    """
    from skyhop import matrix, studies

    folder = Path(name)
    is_folder = (folder / "study.toml").is_file()
    read = studies.load(folder) if is_folder else studies.find(str(name), studies.folder_of_studies())
    if read.missing:
        raise FileNotFoundError(f"{read.name} needs {', '.join(map(str, read.missing))}, which is not there")
    return of_study(matrix.run_study(replace(read, full=full), keep=Path(keep)))
