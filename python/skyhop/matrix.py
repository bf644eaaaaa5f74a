"""Runs a study's matrix, computes its metrics and holds them against what others published."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from skyhop import _core, api, sweep
from skyhop.kept import Keep, KeptRun
from skyhop.results import Run
from skyhop.study import Cell, Metric, Study
from skyhop.sweep import OnProgress, measure, measure_all
from skyhop.verdict import Claim, Expected

__all__ = ["Comparison", "OnProgress", "Outcome", "Result", "Sample", "measure", "run_study"]


@dataclass(frozen=True)
class Sample:
    """One run of the matrix."""

    cell: Cell
    seed: int
    run: Run | KeptRun
    #: What was measured, by the name of the metric.
    values: Mapping[str, float]

    @property
    def cpu_s(self) -> float:
        """CPU time of the simulation alone."""
        return float(self.run.manifest["cpu_time_s"] or 0.0)


@dataclass(frozen=True)
class Comparison:
    """One expected value beside ours."""

    expected: Expected
    verdict: str

    def difference(self, ours: float) -> float:
        """Ours minus theirs, in the metric's unit."""
        return ours - self.expected.value


@dataclass(frozen=True)
class Result:
    """One metric at one cell: the mean over the seeds, and who else has a number for it."""

    cell: Cell
    metric: Metric
    ours: float
    #: Half the width of the 95 % interval of the mean (Student's t); None with one seed.
    interval: float | None
    comparisons: Mapping[str, Comparison]


@dataclass(frozen=True)
class ClaimResult:
    """One sentence of the publication, judged by our numbers."""

    claim: Claim
    verdict: str
    values: Mapping[str, float]


class Outcome:
    """Everything that running a study gave."""

    def __init__(self, study: Study, samples: list[Sample], *, wall_s: float) -> None:
        self.study = study
        self.samples = samples
        self.wall_s = wall_s

    @property
    def cpu_s(self) -> float:
        """CPU time of all simulations together."""
        return sum(sample.cpu_s for sample in self.samples)

    @property
    def first_of_each_cell(self) -> list[Sample]:
        """One run per cell: that of the first seed."""
        return [sample for sample in self.samples if sample.seed == self.study.part(sample.cell).seeds[0]]

    @cached_property
    def results(self) -> list[Result]:
        """Every metric at every cell, metric by metric."""
        expected = {(one.cell, one.metric): one.sources for one in self.study.expectations}
        return [
            self._result(cell, metric, expected.get((cell, metric.name), {}))
            for metric in self.study.metrics.values()
            for cell in self.study.cells
            if metric.name in self.study.part(cell).metrics
        ]

    @cached_property
    def _by_cell(self) -> dict[Cell, list[Sample]]:
        by_cell: dict[Cell, list[Sample]] = {}
        for sample in self.samples:
            by_cell.setdefault(sample.cell, []).append(sample)
        return by_cell

    def _result(self, cell: Cell, metric: Metric, expected: Mapping[str, Expected]) -> Result:
        values = [sample.values[metric.name] for sample in self._by_cell[cell]]
        ours, half = sweep.mean_and_interval(values)
        bounds = self.study.bounds_of(metric.name, cell)
        return Result(
            cell=cell,
            metric=metric,
            ours=ours,
            interval=half if math.isfinite(half) else None,
            comparisons={name: Comparison(one, one.judge(ours, bounds)) for name, one in expected.items()},
        )

    @cached_property
    def claims(self) -> list[ClaimResult]:
        """Every claim in words, judged."""
        judged = []
        for claim in self.study.claims:
            values = {one.cell.label: one.ours for one in self.results if one.metric.name == claim.metric}
            qualified = {f"{one.cell.label}@{one.metric.name}": one.ours for one in self.results}
            values = {name: (values | qualified)[name] for name in claim.names & (values | qualified).keys()}
            # A claim about a long part is judged when that has been run.
            if values.keys() == claim.names:
                judged.append(ClaimResult(claim, claim.judge(values), values))
        return judged

    @cached_property
    def problems(self) -> list[str]:
        """Why the study fails: verdicts that the numbers do not bear out, and numbers that cannot be. Empty if none."""
        found = []
        for one in self.results:
            what = f"{one.metric.label}, {one.cell.label}"
            if not math.isfinite(one.ours):
                found.append(f"{what}: not measured")
                continue
            for bound in self.study.bounds_of(one.metric.name, one.cell):
                if bound.broken_by(one.ours):
                    found.append(f"{what}: ours is {one.ours:g} {one.metric.unit}, which cannot be: {bound.why}")
            for source, comparison in one.comparisons.items():
                declared = comparison.expected.verdict
                if comparison.verdict != declared:
                    found.append(
                        f"{what}: beside {self.study.sources[source].label} "
                        f"({comparison.expected.value:g} {one.metric.unit}) ours is {one.ours:.6g}: "
                        f'"{comparison.verdict}", but expect.toml says "{declared}"'
                    )
        for claim in self.claims:
            if claim.verdict != claim.claim.verdict:
                numbers = ", ".join(f"{name} {value:.6g}" for name, value in claim.values.items())
                found.append(
                    f'claim "{claim.claim.text}" ({claim.claim.order}; {numbers}): "{claim.verdict}", '
                    f'but expect.toml says "{claim.claim.verdict}"'
                )
        return found

    def table(self, name: str) -> pl.DataFrame:
        """A table of all runs under each other, with a column for each axis and one for the seed."""
        parts = []
        for sample in self.samples:
            if name not in sample.run.table_names:
                continue
            axes = [pl.lit(value).alias(axis) for axis, value in sample.cell.point]
            parts.append(sample.run.table(name).with_columns(*axes, pl.lit(sample.seed).alias("seed")))
        return pl.concat(parts)

    @cached_property
    def results_table(self) -> pl.DataFrame:
        """The results as a table: axes, metric, unit, ours, and value, difference and verdict of each source."""
        rows = []
        for one in self.results:
            row: dict[str, Any] = dict(one.cell.point)
            row |= {"metric": one.metric.name, "unit": one.metric.unit, "ours": one.ours, "interval": one.interval}
            for name in self.study.sources:
                comparison = one.comparisons.get(name)
                row[name] = comparison.expected.value if comparison else None
                row[f"{name}_difference"] = comparison.difference(one.ours) if comparison else None
                row[f"{name}_verdict"] = comparison.verdict if comparison else None
            rows.append(row)
        return pl.DataFrame(rows, infer_schema_length=None)


def run_study(study: Study, *, keep: Path | None = None, on_progress: OnProgress | None = None) -> Outcome:
    """Runs every cell with every seed, spread over threads; stops them all when interrupted or when one fails.

    With `keep` a finished run is kept there, and found again.
    """
    begin = time.perf_counter()
    todo = [
        sweep.Job(cell, seed, scenario)
        for cell in study.cells
        for scenario in [api.scenario(study.part(cell).scenario, overrides=study.overrides(cell))]
        for seed in study.part(cell).seeds
    ]

    def work(job: sweep.Job, progress: _core.Progress) -> Sample:
        run: Run | KeptRun
        if keep is not None:
            run = Keep(keep).run(job.scenario, job.seed, progress)
        else:
            run = api.run(job.scenario, seed=job.seed, progress=progress)
        wanted = study.part(job.cell).metrics
        values = measure_all(run, {name: metric for name, metric in study.metrics.items() if name in wanted})
        return Sample(job.cell, job.seed, run, values)

    samples = sweep.spread(todo, work, on_progress=on_progress)
    return Outcome(study, samples, wall_s=time.perf_counter() - begin)
