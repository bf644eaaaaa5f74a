"""A sweep: one scenario over a grid of its keys, with several seeds, as one table.

    scenario = "dumbbell.toml"
    seeds = 10                       # so many from 1, or a list
    warm_up = "10 s"                 # left out of every measure that has a time

    [axes]
    "flows[*].tcp.name" = ["reno", "vegas"]
    queue = { key = "links[0].queue.drop_tail.packets", values = [20, 100] }

    [metrics.goodput]                # as in a study; without any: goodput, throughput, losses, delay, fairness
    ...

A finished run is kept by its hash: a killed sweep goes on where it was, a repeated one costs nothing.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from skyhop import _core, api
from skyhop.definition import Table, read_toml
from skyhop.inference import mean_and_interval
from skyhop.kept import Keep, KeptRun
from skyhop.results import Run
from skyhop.study import Axis, Cell, Metric, cells_of, overrides_of, read_metric, values_of

if TYPE_CHECKING:
    AnyRun = Run | KeptRun

#: Called with the share of all runs that is done, 0 to 1.
OnProgress = Callable[[float], None]
Answer = TypeVar("Answer")

#: Step of the time series that measures behind a warm-up need, where the scenario has none.
GRID = "100 ms"


def _default(name: str, label: str, unit: str, column: str, reduce: str, scale: float, **more: Any) -> Metric:
    return Metric(name=name, label=label, unit=unit, column=column, reduce=reduce, scale=scale, **more)


#: What is measured where the file says nothing, over the whole run.
WHOLE = (
    _default("goodput", "Goodput", "kbit/s", "goodput_bps", "sum", 1e-3, table="flows"),
    _default("throughput", "Throughput", "kbit/s", "throughput_bps", "sum", 1e-3, table="flows"),
    _default("dropped", "Dropped", "packets", "dropped", "sum", 1.0, table="flows"),
    _default("delay", "Delay", "ms", "delay_mean_s", "weighted-mean", 1e3, table="flows", weight="packets_received"),
    _default("jain", "Jain's index", "", "goodput_bps", "jain", 1.0, table="flows"),
)

#: The same from the time series, so that a warm-up can be cut.
BEHIND_WARM_UP = (
    _default("goodput", "Goodput", "kbit/s", "goodput_bps", "sum-of-means", 1e-3, table="flow_series"),
    _default("throughput", "Throughput", "kbit/s", "throughput_bps", "sum-of-means", 1e-3, table="flow_series"),
    _default("dropped", "Dropped", "packets", "dropped", "sum", 1.0, table="flow_series"),
    _default("delay", "Delay", "ms", "delay_mean_s", "weighted-mean", 1e3, table="flow_series", weight="received"),
    _default("jain", "Jain's index", "", "goodput_bps", "jain", 1.0, table="flow_series"),
)


@dataclass(frozen=True)
class Sweep:
    """A sweep as its file defines it."""

    file: Path
    scenario: Path
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


def load(file: Path) -> Sweep:
    """Reads a sweep file; raises DefinitionError with the place of the first thing that cannot be meant."""
    table = Table(file, read_toml(file))
    seeds = table.take("seeds", object, 1)
    if isinstance(seeds, int) and not isinstance(seeds, bool) and seeds > 0:
        seeds = list(range(1, seeds + 1))
    is_list = isinstance(seeds, list) and bool(seeds)
    if not is_list or not all(isinstance(seed, int) and not isinstance(seed, bool) and seed >= 0 for seed in seeds):
        raise table.error("seeds", f"is a number of seeds or a list of them, not {seeds!r}")
    warm_up_s = _seconds(table, "warm_up")
    axes = tuple(_axis(table, name, value) for name, value in table.take("axes", Mapping, {}).items())
    metrics = tuple(read_metric(name, entry) for name, entry in table.tables("metrics"))
    if not metrics:
        metrics = BEHIND_WARM_UP if warm_up_s > 0 else WHOLE
    cut = [dataclasses.replace(metric, from_s=max(metric.from_s, warm_up_s)) for metric in metrics]
    sweep = Sweep(
        file=file,
        scenario=file.parent / table.text("scenario"),
        axes=axes,
        seeds=tuple(seeds),
        metrics=tuple(
            cut_one if metric.table.endswith("series") else metric for metric, cut_one in zip(metrics, cut, strict=True)
        ),
        warm_up_s=warm_up_s,
    )
    table.finish()
    return sweep


def _axis(table: Table, name: str, value: Any) -> Axis:
    entry = Table(table.file, value if isinstance(value, Mapping) else {"key": name, "values": value}, f"axes.{name}")
    axis = Axis(name=name, label=name, values=values_of(entry, entry.take("values", list), entry.text("key", "")))
    entry.finish()
    return axis


_UNITS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}


def _seconds(table: Table, key: str) -> float:
    text = table.text(key, "0 s")
    parts = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-z]+)\s*", text)
    if parts is None or parts[2] not in _UNITS:
        raise table.error(key, f'is a time such as "10 s", not {text!r}')
    return float(parts[1]) * _UNITS[parts[2]]


def jobs(sweep: Sweep) -> list[Job]:
    """Every run of the sweep; raises ScenarioError where a cell is no right scenario."""
    needs_series = any(metric.table.endswith("series") for metric in sweep.metrics)
    made = []
    for cell in sweep.cells:
        overrides = overrides_of(sweep.axes, cell)
        scenario = api.scenario(sweep.scenario, overrides=overrides)
        if needs_series and "grid" not in json.loads(scenario.canonical_json())["records"]:
            scenario = api.scenario(sweep.scenario, overrides=[*overrides, f"records.grid={GRID}"])
        made += [Job(cell, seed, scenario) for seed in sweep.seeds]
    return made


def spread(
    todo: Sequence[Job],
    work: Callable[[Job, _core.Progress], Answer],
    *,
    on_progress: OnProgress | None = None,
    threads: int | None = None,
) -> list[Answer]:
    """Does the work of every job, spread over threads; stops them all when interrupted or when one fails.

    By default there is a thread more than there are cores: while runs are measured, they wait for each other.
    """
    threads = threads or (os.cpu_count() or 1) + 1
    progress = [_core.Progress() for _ in todo]
    finished = [0.0] * len(todo)

    def one(number: int) -> Answer:
        answer = work(todo[number], progress[number])
        finished[number] = 1.0
        return answer

    with ThreadPoolExecutor(max_workers=max(1, min(len(todo), threads))) as pool:
        futures = [pool.submit(one, number) for number in range(len(todo))]
        pending = set(futures)
        try:
            while pending:
                done, pending = wait(pending, timeout=0.05, return_when=FIRST_EXCEPTION)
                for future in done:
                    future.result()
                if on_progress is not None:
                    share = (max(a, b.fraction) for a, b in zip(finished, progress, strict=True))
                    on_progress(sum(share) / len(todo))
        except BaseException:
            for future, running in zip(futures, progress, strict=True):
                future.cancel()
                running.cancel()
            raise
        return [future.result() for future in futures]


@dataclass(frozen=True)
class SweepResult:
    """What a sweep gave: one row per run, and one per cell and measure."""

    runs: pl.DataFrame
    table: pl.DataFrame

    def write(self, folder: Path) -> Path:
        """Writes both as CSV and Parquet; returns the path of the table."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, frame in (("runs", self.runs), ("table", self.table)):
            frame.write_csv(folder / f"{name}.csv")
            frame.write_parquet(folder / f"{name}.parquet")
        return folder / "table.csv"


def run(sweep: Sweep, *, keep: Path, on_progress: OnProgress | None = None, threads: int | None = None) -> SweepResult:
    """Makes every run that `keep` does not hold yet, and measures them all."""
    shelf = Keep(keep)

    def work(job: Job, progress: _core.Progress) -> dict[str, Any]:
        return row_of(sweep, job, shelf.run(job.scenario, job.seed, progress))

    return result_of(sweep, spread(jobs(sweep), work, on_progress=on_progress, threads=threads))


def row_of(sweep: Sweep, job: Job, done: AnyRun) -> dict[str, Any]:
    """What one run gave."""
    values = measure_all(done, {metric.name: metric for metric in sweep.metrics})
    return dict(job.cell.point) | {"seed": job.seed, "scenario_hash": job.scenario.hash} | values


def result_of(sweep: Sweep, rows: Sequence[Mapping[str, Any]]) -> SweepResult:
    """What all runs together gave."""
    return SweepResult(pl.DataFrame(rows, infer_schema_length=None), _table(sweep, rows))


def _table(sweep: Sweep, rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    table = []
    for cell in sweep.cells:
        point = dict(cell.point)
        here = [row for row in rows if all(row[axis] == value for axis, value in point.items())]
        for metric in sweep.metrics:
            values = [float(row[metric.name]) for row in here]
            mean, half = mean_and_interval(values)
            table.append(
                point
                | {"metric": metric.name, "unit": metric.unit, "runs": len(values), "warm_up_s": metric.from_s}
                | {"mean": mean, "low": mean - half, "high": mean + half}
            )
    return pl.DataFrame(table, infer_schema_length=None)


def measure_all(done: AnyRun, metrics: Mapping[str, Metric]) -> dict[str, float]:
    """Metrics of one run by name; each table that they need is read once. NaN where there is nothing to measure."""
    tables = {name: done.table(name) for name in dict.fromkeys(metric.table for metric in metrics.values())}
    # In one go: of small tables each query costs more than what it does.
    rows = pl.collect_all(_rows(done, tables[metric.table], metric) for metric in metrics.values())
    return {
        # In one chunk, as sums of several depend on how many threads there are.
        metric.name: _reduced(of_metric.rechunk(), metric) * metric.scale if of_metric.height > 0 else math.nan
        for metric, of_metric in zip(metrics.values(), rows, strict=True)
    }


def measure(done: AnyRun, metric: Metric) -> float:
    """One metric of one run; NaN when its table has nothing to measure."""
    return measure_all(done, {metric.name: metric})[metric.name]


def _rows(done: AnyRun, table: pl.DataFrame, metric: Metric) -> pl.LazyFrame:
    """What the metric is taken from: rows of the table, or one row for each flow."""
    length_s = done.scenario.duration_s
    rows = table.lazy()
    if (from_s := max(metric.from_s, metric.from_share * length_s)) > 0:
        # A row of a time series stands at the end of its step.
        rows = rows.filter(pl.col("time_s") > from_s + 1e-9)
    if (until_s := metric.until_s or metric.until_share * length_s) > 0:
        rows = rows.filter(pl.col("time_s") <= until_s + 1e-9)
    if metric.only:
        named = "flow" if "flow" in table.columns else "link"
        rows = rows.filter(pl.col(named).str.contains(metric.only))
    if metric.reduce == "share-within":
        # What was begun too late to be judged before the end of the run does not count.
        begun = pl.col("begin_s") <= length_s - metric.within
        return (rows.filter(begun) if "begin_s" in table.columns else rows).select(metric.column)
    column = pl.col(metric.column)
    rows = rows.filter(column.is_not_null())
    match metric.reduce:
        case "sum-of-means" | "jain":
            return rows.group_by("flow", maintain_order=True).agg(column.mean())
        case "range":
            return rows.group_by("flow", maintain_order=True).agg(column.max() - column.min())
        case _:
            return rows.select({metric.column, metric.weight, metric.over} - {""})


def _reduced(rows: pl.DataFrame, metric: Metric) -> float:
    column: Any = rows[metric.column]
    value: Any
    match metric.reduce:
        case "sum" | "sum-of-means":
            value = column.sum()
        case "mean" | "range":
            value = column.mean()
        case "weighted-mean":
            weight: Any = rows[metric.weight]
            value = (column * weight).sum() / weight.sum()
        case "ratio":
            total: Any = rows[metric.over].sum()
            value = column.sum() / total if total else None
        case "share-within":
            value = (column <= metric.within).sum() / rows.height
        case "jain":
            means = column.to_list()
            squares = sum(x * x for x in means)
            value = 1.0 if squares == 0 else sum(means) ** 2 / (len(means) * squares)
        case _:
            raise ValueError(f"no reduction is called {metric.reduce!r}")
    return math.nan if value is None else float(value)
