"""A sweep: one scenario over a grid of its keys, with several seeds, as one table.

    scenario = "dumbbell.toml"
    seeds = 10                       # so many from 1, or a list
    warm_up = "10 s"                 # left out of every measure that has a time

    [axes]
    "flows[*].tcp.name" = ["reno", "vegas"]
    queue = { key = "links[0].queue.drop_tail.packets", values = [20, 100] }

    [metrics.goodput]                # as in a study; without any: goodput, throughput, losses, delay, fairness
    ...

`spreading` makes the runs. A finished run is kept by its hash: a killed sweep goes on where it was, a repeated
one costs nothing.
"""

from __future__ import annotations

import dataclasses
import io
import json
import math
import os
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import polars as pl

from skyhop import _core, api, cautions, durations, folders
from skyhop.definition import Table, read_toml
from skyhop.inference import distinct_values, equal_seeds, mean_and_interval
from skyhop.metrics import Metric, has_time, measure_all, on_grid, read_metric
from skyhop.studies import (
    MOST_RUNS,
    RESERVED,
    Axis,
    Cell,
    cells_of,
    check_axes,
    overrides_of,
    seeds_of,
    values_of,
)
from skyhop.verdict import DefinitionError
from skyhop.warned import Warned

if TYPE_CHECKING:
    from skyhop.kept import KeptRun
    from skyhop.precision import Look, Until
    from skyhop.results import Run

    AnyRun: TypeAlias = "Run | KeptRun"

#: Called with the share of all runs that is done, 0 to 1.
OnProgress = Callable[[float], None]
Answer = TypeVar("Answer")

#: Step of the time series that measures behind a warm-up need, where the scenario has none.
GRID = "100 ms"


def _default(name: str, label: str, unit: str, column: str, reduce: str, scale: float, **more: Any) -> Metric:
    return Metric(name=name, label=label, unit=unit, column=column, reduce=reduce, scale=scale, **more)


#: The measures where the file names none, over the whole run.
WHOLE = (
    _default("goodput", "Goodput", "kbit/s", "goodput_bps", "total-rate", 1e-3, table="flows"),
    _default("throughput", "Throughput", "kbit/s", "throughput_bps", "total-rate", 1e-3, table="flows"),
    _default("dropped", "Dropped", "packets", "dropped", "sum", 1.0, table="flows"),
    _default("delay", "Delay", "ms", "delay_mean_s", "weighted-mean", 1e3, table="flows", weight="packets_received"),
    _default("jain", "Jain's index", "", "goodput_bps", "jain", 1.0, table="flows"),
)

#: The same from the time series, so that a warm-up can be cut.
BEHIND_WARM_UP = (
    _default("goodput", "Goodput", "kbit/s", "goodput_bps", "total-rate", 1e-3, table="flow_series"),
    _default("throughput", "Throughput", "kbit/s", "throughput_bps", "total-rate", 1e-3, table="flow_series"),
    _default("dropped", "Dropped", "packets", "dropped", "sum", 1.0, table="flow_series"),
    _default("delay", "Delay", "ms", "delay_mean_s", "weighted-mean", 1e3, table="flow_series", weight="received"),
    _default("jain", "Jain's index", "", "goodput_bps", "jain", 1.0, table="flow_series"),
)


@dataclass(frozen=True)
class Sweep:
    """A sweep as its file defines it."""

    file: Path
    scenario: api.Source
    axes: tuple[Axis, ...]
    seeds: tuple[int, ...]
    metrics: tuple[Metric, ...]
    warm_up_s: float

    @property
    def cells(self) -> list[Cell]:
        """Every combination of the axes' values, the last axis fastest."""
        return cells_of(self.axes)


@dataclass(frozen=True)
class Job:
    """One run to be made: a cell's scenario with a seed."""

    cell: Cell
    seed: int
    scenario: _core.Scenario

    @property
    def label(self) -> str:
        """As a reader sees it: `vegas / 1 %, seed 3`."""
        return f"{self.cell.label}, seed {self.seed}" if self.cell.point else f"seed {self.seed}"


@dataclass(frozen=True)
class Measured:
    """What one run gave: its row of the results, and what it warned of."""

    row: Mapping[str, Any]
    warned: Warned


def load(file: Path) -> Sweep:
    """Reads a sweep file; raises DefinitionError with the place of the first thing that cannot be meant."""
    table = Table(file, read_toml(file))
    return _read(table, file.parent / table.text("scenario"))


def of(scenario: api.Source, data: Mapping[str, Any]) -> Sweep:
    """A sweep of a scenario; `data` is what its file would say besides. Raises DefinitionError."""
    if isinstance(scenario, _core.Scenario):
        # In its canonical form each direction of a link has keys of its own: axes would name keys that decide nothing.
        raise TypeError("axes change what is read; this scenario is already validated: give its file, text or mapping")
    return _read(Table(Path("<sweep>"), data), scenario)


def _read(table: Table, scenario: api.Source) -> Sweep:
    seeds = table.take("seeds", object, 1)
    if isinstance(seeds, int) and not isinstance(seeds, bool):
        if not 0 < seeds <= MOST_RUNS:
            raise table.error("seeds", f"is a number of seeds from 1 to {MOST_RUNS:,}, or a list of them, not {seeds}")
        seeds = list(range(1, seeds + 1))
    warm_up_s = _seconds(table, "warm_up")
    axes = tuple(_axis(table, name, value) for name, value in table.take("axes", Mapping, {}).items())
    metrics = tuple(read_metric(name, entry) for name, entry in table.tables("metrics"))
    if clash := RESERVED & {metric.name for metric in metrics}:
        raise table.error(f"metrics.{min(clash)}", "is the name of a column of the results; call the metric otherwise")
    if not metrics:
        metrics = BEHIND_WARM_UP if warm_up_s > 0 else WHOLE
    check_axes(table, axes, [metric.name for metric in metrics])
    sweep = Sweep(
        file=table.file,
        scenario=scenario,
        axes=axes,
        seeds=seeds_of(table, seeds),
        metrics=tuple(_behind(metric, warm_up_s) for metric in metrics),
        warm_up_s=warm_up_s,
    )
    table.finish()
    runs = math.prod(len(axis.values) for axis in axes) * len(sweep.seeds)
    if runs > MOST_RUNS:
        raise table.error("axes", f"and seeds make {runs:,} runs, and at most {MOST_RUNS:,} are made")
    return sweep


def _behind(metric: Metric, warm_up_s: float) -> Metric:
    """The metric without the warm-up, if its table has a time."""
    return dataclasses.replace(metric, from_s=max(metric.from_s, warm_up_s)) if has_time(metric.table) else metric


def _axis(table: Table, name: str, value: Any) -> Axis:
    entry = Table(table.file, value if isinstance(value, Mapping) else {"key": name, "values": value}, f"axes.{name}")
    axis = Axis(name=name, label=name, values=values_of(entry, entry.take("values", list), entry.text("key", "")))
    entry.finish()
    return axis


def _seconds(table: Table, key: str) -> float:
    text = table.text(key, "0 s")
    seconds = durations.seconds(text)
    if math.isnan(seconds):
        raise table.error(key, f'is a time such as "10 s", not {text!r}')
    return seconds


def scenarios(sweep: Sweep) -> list[tuple[Cell, _core.Scenario]]:
    """The scenario of every cell; raises ScenarioError where a cell is not a valid one."""
    needs_series = any(metric.table.endswith("series") for metric in sweep.metrics)
    made = []
    for cell in sweep.cells:
        overrides = overrides_of(sweep.axes, cell)
        scenario = api.scenario(sweep.scenario, overrides=overrides)
        if 0 < scenario.duration_s <= sweep.warm_up_s:
            what = f"is {sweep.warm_up_s:g} s, and the scenario ends at {scenario.duration_s:g} s: nothing is left"
            raise DefinitionError(f"{sweep.file}: warm_up: {what}")
        for metric in sweep.metrics:
            if has_time(metric.table) and 0 < (end_s := _end_s(metric, scenario.duration_s)) <= metric.from_s:
                what = f"of {metric.name} ends at {end_s:g} s, and {metric.from_s:g} s are left out: nothing is left"
                raise DefinitionError(f"{sweep.file}: the time {what}")
        grid = json.loads(scenario.canonical_json())["records"].get("grid")
        if needs_series and grid is None:
            scenario = api.scenario(sweep.scenario, overrides=[*overrides, f"records.grid={GRID}"])
        if needs_series and not on_grid(sweep.warm_up_s, durations.seconds(grid or GRID)):
            what = f"{sweep.warm_up_s:g} s lies within a step of the time series, which are {grid or GRID} long"
            raise DefinitionError(f"{sweep.file}: warm_up: {what}: take a multiple of them, or set records.grid")
        made.append((cell, scenario))
    return made


def _end_s(metric: Metric, length_s: float) -> float:
    """When the time that the metric states ends; 0 if it states none."""
    return metric.until_s or metric.until_share * length_s


def jobs(sweep: Sweep) -> list[Job]:
    """Every run of the sweep; raises ScenarioError where a cell is not a valid scenario."""
    return [Job(cell, seed, scenario) for cell, scenario in scenarios(sweep) for seed in sweep.seeds]


def cores() -> int:
    """Cores that this process may use: a batch system gives a job fewer than the machine has."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        # macOS has no affinity.
        return os.cpu_count() or 1


def warnings_of(written: Sequence[str], simulated: Sequence[str], run: Sequence[str]) -> list[str]:
    """A run's warnings: those of the scenario as it is written, and what the run says beside the simulated form of it.

    `simulated` are the warnings of that form, with which those of a run begin.
    """
    return [*written, *(one for one in run if one not in simulated)]


def spread(
    todo: Sequence[Job],
    work: Callable[[Job, _core.Progress], Answer],
    *,
    on_progress: OnProgress | None = None,
    threads: int | None = None,
) -> list[Answer]:
    """Does the work of every job, spread over threads; stops them all when interrupted or when one fails.

    By default there is a thread more than this process has cores: while runs are measured, they wait for each other.
    """
    progress = [_core.Progress() for _ in todo]
    finished = [0.0] * len(todo)
    waiting = deque(range(len(todo)))
    # No locks of Python's own between the threads: an interrupt can come while this one takes such a lock, which then
    # stays taken, and the runs would wait for it for ever.
    ended: SimpleQueue[tuple[int, Answer | None, BaseException | None]] = SimpleQueue()

    def runner() -> None:
        while True:
            try:
                number = waiting.popleft()
            except IndexError:
                return
            try:
                answer = work(todo[number], progress[number])
            except BaseException as error:
                ended.put((number, None, error))
            else:
                finished[number] = 1.0
                ended.put((number, answer, None))

    count = max(1, min(len(todo), threads or cores() + 1))
    runners = [Thread(target=runner, daemon=True) for _ in range(count)]
    answers: dict[int, Any] = {}
    try:
        for thread in runners:
            thread.start()
        told_s = time.monotonic()
        while len(answers) < len(todo):
            with suppress(Empty):
                number, answer, error = ended.get(timeout=0.05)
                if error is not None:
                    raise error
                answers[number] = answer
            if on_progress is not None and time.monotonic() - told_s >= 0.05:
                share = (max(a, b.fraction) for a, b in zip(finished, progress, strict=True))
                on_progress(sum(share) / len(todo))
                told_s = time.monotonic()
        if on_progress is not None and todo:
            on_progress(1.0)
    except BaseException:
        waiting.clear()
        for running in progress:
            running.cancel()
        raise
    finally:
        # Runs that have begun stop at their next step, and none is left behind half-written.
        for thread in runners:
            if thread.ident is not None:
                thread.join()
    return [answers[number] for number in range(len(todo))]


@dataclass(frozen=True)
class SweepResult:
    """What a sweep gave: one row per run, and one per cell and measure."""

    #: A run that failed has nulls for its measures and the reason in `error`.
    runs: pl.DataFrame
    #: Means over the runs that finished; `failed` counts the others.
    table: pl.DataFrame
    #: What each run warned of.
    warned: Sequence[Warned] = ()
    #: The sweep as it was made: with every seed that was added.
    sweep: Sweep | None = None
    #: How small the intervals were to be, and what they were each time that somebody looked.
    until: Until | None = None
    looks: Sequence[Look] = ()

    def write(self, folder: Path) -> Path:
        """Writes both as CSV and Parquet, in place of an older sweep's; returns the path of the table."""
        with folders.staged(folder, "sweep") as staging:
            self.write_into(staging)
        return folder / "table.csv"

    def write_into(self, folder: Path) -> None:
        """Writes both as CSV and Parquet into a folder that is there."""
        for name, frame in (("runs", self.runs), ("table", self.table)):
            (folder / f"{name}.csv").write_text(frame.write_csv(), encoding="utf-8", newline="")
            # By way of memory: what the disk refuses is an OSError, not one of polars' own.
            content = io.BytesIO()
            frame.write_parquet(content)
            (folder / f"{name}.parquet").write_bytes(content.getvalue())


def measured(sweep: Sweep, job: Job, done: AnyRun) -> Measured:
    """What one run gave."""
    values = measure_all(done, {metric.name: metric for metric in sweep.metrics})
    hashes = {"scenario_hash": job.scenario.hash, "records_hash": done.manifest["records_hash"]}
    warned = Warned(job.label, [*done.warnings, *cautions.of(done, sweep.metrics)])
    return Measured(_row(job) | hashes | values | {"error": None, "run": None}, warned)


def failed(sweep: Sweep, job: Job, why: str) -> Measured:
    """The row of a run that gave nothing, with the reason."""
    nothing = {metric.name: None for metric in sweep.metrics}
    hashes = {"scenario_hash": job.scenario.hash, "records_hash": None}
    return Measured(_row(job) | hashes | nothing | {"error": why, "run": None}, Warned(job.label, []))


def _row(job: Job) -> dict[str, Any]:
    return dict(job.cell.point) | {"seed": job.seed}


def result_of(sweep: Sweep, done: Sequence[Measured]) -> SweepResult:
    """What all runs together gave."""
    rows = [one.row for one in done]
    kinds: dict[str, type[pl.DataType]] = {metric.name: pl.Float64 for metric in sweep.metrics}
    kinds |= {name: pl.String for name in ("records_hash", "error", "run")}
    frame = pl.DataFrame(rows, infer_schema_length=None, schema_overrides=kinds)
    return SweepResult(frame, _table(sweep, rows), [one.warned for one in done], sweep)


def no_chance(cells: Sequence[Cell], *, of: int) -> str:
    """What to say of cells whose seeds all gave the same records."""
    which = "the scenario" if of == 1 else f"all {of} cells" if len(cells) == of else f"{len(cells)} of {of} cells"
    named = "" if len(cells) == of or len(cells) > 6 else f" ({', '.join(cell.label for cell in cells)})"
    return f"No random element in {which}{named}: every seed gave the same records, and one seed says as much as all."


def notes(sweep: Sweep, result: SweepResult) -> list[str]:
    """What to know about a sweep beside its numbers, in sentences."""
    said = []
    if sweep.warm_up_s > 0:
        whole = [metric.label for metric in sweep.metrics if not has_time(metric.table)]
        but = f", but not out of the totals of whole runs: {', '.join(whole)}" if whole else ""
        said.append(f"The first {sweep.warm_up_s:g} s are left out{but}.")
    cells: dict[str, list[str]] = {}
    same = []
    for cell in sweep.cells:
        here = result.runs.filter(**dict(cell.point)) if cell.point else result.runs
        cells.setdefault(here["scenario_hash"][0], []).append(cell.label)
        records = here["records_hash"].drop_nulls()
        if records.len() > 1 and records.n_unique() == 1:
            same.append(cell)
    if same:
        said.append(no_chance(same, of=len(sweep.cells)))
    said += _unmeasured(sweep, result)
    if any(equal_seeds(row) for row in result.table.iter_rows(named=True)):
        said.append(
            "Where all values are equal there is no interval. The runs differ, so another seed may give another value."
        )
    said += [
        f"The same scenario, and so the same numbers: {', '.join(alike)}." for alike in cells.values() if alike[1:]
    ]
    return said


def _unmeasured(sweep: Sweep, result: SweepResult) -> list[str]:
    """Which cells have no mean because a run had nothing to measure: one such run takes the mean of all."""
    finished = result.runs.filter(pl.col("error").is_null())
    said = []
    for metric in sweep.metrics:
        cells = []
        for cell in sweep.cells:
            here = finished.filter(**dict(cell.point)) if cell.point else finished
            if none := int(here[metric.name].is_nan().sum()):
                cells.append(f"{cell.label or 'the scenario'} ({none} of {here.height} runs)")
        if cells:
            more = f" and {len(cells) - 6} more" if len(cells) > 6 else ""
            said.append(f"{metric.label} has no mean, as runs had nothing to measure: {', '.join(cells[:6])}{more}.")
    return said


def _table(sweep: Sweep, rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    table = []
    for cell in sweep.cells:
        point = dict(cell.point)
        wanted = [row for row in rows if all(row[axis] == value for axis, value in point.items())]
        here = [row for row in wanted if row["error"] is None]
        distinct = len({row["records_hash"] for row in here})
        counts = {"runs": len(here), "distinct_runs": distinct, "failed": len(wanted) - len(here)}
        for metric in sweep.metrics:
            values = [float(row[metric.name]) for row in here]
            mean, half = mean_and_interval(values, distinct=distinct) if values else (math.nan, math.nan)
            table.append(
                point
                | {"metric": metric.name, "unit": metric.unit}
                | counts
                | {"distinct_values": distinct_values(values), "warm_up_s": metric.from_s}
                | {"mean": mean, "low": mean - half, "high": mean + half}
            )
    return pl.DataFrame(table, infer_schema_length=None)
