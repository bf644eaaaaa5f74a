"""Runs a study's matrix, computes its metrics and holds them against what others published."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from skyhop import _core, api, cautions, starts, sweeps
from skyhop.inference import Estimate
from skyhop.kept import Keep, KeptRun
from skyhop.metrics import Metric, measure, measure_all
from skyhop.results import Run
from skyhop.studies import Cell, Part, Study
from skyhop.sweeps import OnProgress
from skyhop.verdict import Claim, Expected, Guard
from skyhop.warned import Warned, sentences

__all__ = ["Comparison", "OnProgress", "Outcome", "Result", "Sample", "measure", "run_study"]


@dataclass(frozen=True)
class Sample:
    """One run of the matrix."""

    cell: Cell
    seed: int
    run: Run | KeptRun
    #: Measured values by the name of the metric.
    values: Mapping[str, float]
    #: What the run warned of, about what the study wrote.
    warnings: Sequence[str] = ()

    @property
    def cpu_s(self) -> float:
        """CPU time of the simulation alone."""
        return float(self.run.manifest["cpu_time_s"] or 0.0)


@dataclass(frozen=True)
class Comparison:
    """One expected value beside ours."""

    expected: Expected
    verdict: str
    #: Whether the headline counts it.
    counts: bool = True

    def difference(self, ours: float) -> float:
        """Ours minus theirs, in the metric's unit."""
        return ours - self.expected.value


@dataclass(frozen=True)
class Result:
    """One metric at one cell: the mean over the seeds, and who else has a number for it."""

    cell: Cell
    metric: Metric
    estimate: Estimate
    comparisons: Mapping[str, Comparison]

    @property
    def ours(self) -> float:
        """The mean over the seeds."""
        return self.estimate.mean

    @property
    def interval(self) -> float | None:
        """Half the width of the 95 % interval of the mean (Student's t); None with one run, and of equal values."""
        one = self.estimate
        return one.half if len(one.by_seed) > 1 and not one.equal_seeds and math.isfinite(one.half) else None


@dataclass(frozen=True)
class ClaimResult:
    """One sentence of the publication, judged by our numbers."""

    claim: Claim
    verdict: str
    values: Mapping[str, Estimate]
    #: Whether the headline counts it.
    counts: bool = True


class Outcome:
    """Everything that running a study gave."""

    def __init__(
        self,
        study: Study,
        samples: list[Sample],
        *,
        wall_s: float,
        probes: list[Sample] | None = None,
        sweeps: Mapping[str, tuple[sweeps.Sweep, sweeps.SweepResult]] | None = None,
    ) -> None:
        self.study = study
        self.samples = samples
        self.wall_s = wall_s
        #: For each cell of a deterministic part, the same run with another seed and one flow a microsecond later.
        self.probes = probes or []
        #: The sweeps that belong to the study, by name.
        self.sweeps = sweeps or {}

    @property
    def cpu_s(self) -> float:
        """CPU time of all simulations together."""
        return sum(sample.cpu_s for sample in self.samples)

    @property
    def first_of_each_cell(self) -> list[Sample]:
        """One run per cell: that of the first seed."""
        return [sample for sample in self.samples if sample.seed == self.study.part(sample.cell).seeds[0]]

    @cached_property
    def warnings(self) -> list[str]:
        """What the runs of the matrix and of the study's sweeps warned of, each sentence once."""
        of_matrix = [Warned(f"{one.cell.label}, seed {one.seed}", one.warnings) for one in self.samples]
        of_sweeps = [
            Warned(f"sweep {name}: {one.run}", one.warnings)
            for name, (_, result) in self.sweeps.items()
            for one in result.warned
        ]
        return sentences([*of_matrix, *of_sweeps])

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
    def without_chance(self) -> list[Cell]:
        """Cells whose scenario has no random element: all their seeds gave the same records."""
        return [
            cell
            for cell, samples in self._by_cell.items()
            if len(samples) > 1 and len({sample.run.manifest["records_hash"] for sample in samples}) == 1
        ]

    @cached_property
    def _by_cell(self) -> dict[Cell, list[Sample]]:
        by_cell: dict[Cell, list[Sample]] = {}
        for sample in self.samples:
            by_cell.setdefault(sample.cell, []).append(sample)
        return by_cell

    @cached_property
    def estimates(self) -> dict[tuple[Cell, str], Estimate]:
        """What the seeds gave, by cell and name of the metric."""
        found = {}
        for cell, samples in self._by_cell.items():
            part = self.study.part(cell)
            for name in part.metrics:
                # Runs that are all the same are one run: an interval of no width would say that it was measured.
                apart = samples[:1] if cell in self.without_chance else samples
                by_seed = {sample.seed: sample.values[name] for sample in apart}
                found[cell, name] = Estimate(by_seed, deterministic=part.deterministic)
        return found

    def _result(self, cell: Cell, metric: Metric, expected: Mapping[str, Expected]) -> Result:
        ours = self.estimates[cell, metric.name]
        bounds = self.study.bounds_of(metric.name, cell)
        comparisons = {}
        for name, one in expected.items():
            guards = {guard.metric: self.estimates[cell, guard.metric] for guard in one.guards}
            verdict = one.judge(ours, bounds, guards)
            comparisons[name] = Comparison(one, verdict, self.study.counts(cell, one.counts))
        return Result(cell, metric, ours, comparisons)

    @cached_property
    def claims(self) -> list[ClaimResult]:
        """Every claim whose cells have been run, judged."""
        judged = []
        for claim in self.study.claims:
            values = self._values(claim)
            if values.keys() == claim.names:
                verdict = claim.judge(values, self._guards(claim))
                judged.append(ClaimResult(claim, verdict, values, self.study.counts_claim(claim)))
        return judged

    @cached_property
    def claims_not_run(self) -> dict[str, int]:
        """How many claims were not judged, by the reason: parts of a QUIC stack that the build lacks, or long parts."""
        absent = {name: stack for stack, names in self.study.left_out.items() for name in names}
        lacking = {
            cell.label: absent[part.name] for part in self.study.parts if part.name in absent for cell in part.cells
        }
        found: dict[str, int] = {}
        for claim in self.study.claims:
            if self._values(claim).keys() != claim.names:
                labels = {name.partition("@")[0] for name in claim.names}
                stacks = sorted({lacking[label] for label in labels & lacking.keys()})
                why = f"without {' and '.join(stacks)}" if stacks else "--full"
                found[why] = found.get(why, 0) + 1
        return found

    @cached_property
    def _by_label(self) -> dict[str, Cell]:
        return {cell.label: cell for cell in self._by_cell}

    def _values(self, claim: Claim) -> dict[str, Estimate]:
        found = {}
        for name in claim.names:
            label, _, metric = name.partition("@")
            cell = self._by_label.get(label)
            if cell is not None and (estimate := self.estimates.get((cell, metric or claim.metric))) is not None:
                found[name] = estimate
        return found

    def _guards(self, claim: Claim) -> list[tuple[Guard, Estimate]]:
        """Those of the claim and of the metrics that it compares, at each of its cells."""
        found = []
        for name in sorted(claim.names):
            label, _, metric = name.partition("@")
            for guard in (*claim.guards, *self.study.metrics[metric or claim.metric].guards):
                found.append((guard, self.estimates[self._by_label[label], guard.metric]))
        return found

    @cached_property
    def problems(self) -> list[str]:
        """Why the study fails: verdicts that the numbers contradict, and impossible numbers. Empty if none."""
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
                        f"({comparison.expected.value:g} {one.metric.unit}) ours is {_shown(one.estimate)}: "
                        f'"{comparison.verdict}", but expect.toml says "{declared}"'
                    )
        found += self._moved()
        for claim in self.claims:
            if claim.verdict != claim.claim.verdict:
                numbers = ", ".join(f"{name} {_shown(value)}" for name, value in claim.values.items())
                found.append(
                    f'claim "{claim.claim.text}" ({claim.claim.order}; {numbers}): "{claim.verdict}", '
                    f'but expect.toml says "{claim.claim.verdict}"'
                )
        return found

    def _moved(self) -> list[str]:
        """What a microsecond, or another seed, changes where a part says that it is deterministic."""
        found = []
        for probe in self.probes:
            for name, value in probe.values.items():
                metric, ours = self.study.metrics[name], self.estimates[probe.cell, name].mean
                # A unit of the last digit that is shown.
                if abs(value - ours) > 1.0001 * 10.0**-metric.digits:
                    found.append(
                        f"{metric.label}, {probe.cell.label}: {ours:.6g} is called deterministic, but with another "
                        f"seed and one flow a microsecond later it is {value:.6g}: give the part several seeds and "
                        "start_within"
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
        """The results as a table: axes, metric, unit, ours, and value, difference and verdict of each source.

        `interval` is null where there is none; with `distinct_values` of 1 all `runs` gave the same value.
        """
        rows = []
        for one in self.results:
            row: dict[str, Any] = dict(one.cell.point)
            row |= {"metric": one.metric.name, "unit": one.metric.unit, "ours": one.ours, "interval": one.interval}
            row |= {"runs": len(one.estimate.by_seed), "distinct_values": one.estimate.distinct_values}
            for name in self.study.sources:
                comparison = one.comparisons.get(name)
                row[name] = comparison.expected.value if comparison else None
                row[f"{name}_difference"] = comparison.difference(one.ours) if comparison else None
                row[f"{name}_verdict"] = comparison.verdict if comparison else None
                row[f"{name}_counts"] = comparison.counts if comparison else None
            rows.append(row)
        return pl.DataFrame(rows, infer_schema_length=None)


def _shown(estimate: Estimate) -> str:
    if equal := estimate.equal_seeds:
        return f"{estimate.mean:.6g} (at all {equal} seeds)"
    if len(estimate.by_seed) > 1:
        return f"{estimate.mean:.6g} ± {estimate.half:.2g}"
    return f"{estimate.mean:.6g}" + (" (deterministic)" if estimate.deterministic else " (one run: no interval)")


def run_study(study: Study, *, keep: Path | Keep | None = None, on_progress: OnProgress | None = None) -> Outcome:
    """Runs every cell with every seed, spread over threads; stops them all when interrupted or when one fails.

    With `keep` a finished run is kept there, and found again.
    """
    begin = time.perf_counter()
    todo: list[sweeps.Job] = []
    probes: list[sweeps.Job] = []
    # A scenario with drawn starts no longer says this of itself: it is made of the canonical form.
    written: dict[Cell, list[str]] = {}
    for cell in study.cells:
        part = study.part(cell)
        scenario = api.scenario(part.scenario, overrides=study.overrides(cell))
        jobs = [sweeps.Job(cell, seed, _started(scenario, seed, part)) for seed in part.seeds]
        written[cell] = scenario.warnings
        todo += jobs
        if part.deterministic:
            probes.append(sweeps.Job(cell, part.seeds[0] + 1, starts.one_later(scenario)))
    belonging = {one.name: sweeps.load(one.file) for one in study.sweeps if study.full or not one.long}
    of_sweeps = {name: sweeps.jobs(one) for name, one in belonging.items()}

    shelf = Keep(keep) if isinstance(keep, Path) else keep
    if shelf is not None:
        shelf.prepare()

    def work(job: sweeps.Job, progress: _core.Progress) -> Sample | sweeps.Measured:
        run: Run | KeptRun
        if shelf is not None:
            run = shelf.run(job.scenario, job.seed, progress)
        else:
            run = api.run(job.scenario, seed=job.seed, progress=progress)
        owner = owners.get(id(job))
        if owner is not None:
            return sweeps.measured(owner, job, run)
        wanted = study.part(job.cell).metrics
        metrics = {name: metric for name, metric in study.metrics.items() if name in wanted}
        values = measure_all(run, metrics)
        warnings = sweeps.warnings_of(written[job.cell], job.scenario.warnings, run.warnings)
        warnings += cautions.of(run, metrics.values())
        return Sample(job.cell, job.seed, run, values, warnings)

    owners = {id(job): belonging[name] for name, jobs in of_sweeps.items() for job in jobs}
    done: list[Any] = sweeps.spread(
        [*todo, *probes, *(job for jobs in of_sweeps.values() for job in jobs)], work, on_progress=on_progress
    )
    samples, rest = done[: len(todo)], done[len(todo) :]
    probed, rest = rest[: len(probes)], rest[len(probes) :]
    swept = {}
    for name, jobs in of_sweeps.items():
        rows, rest = rest[: len(jobs)], rest[len(jobs) :]
        swept[name] = (belonging[name], sweeps.result_of(belonging[name], rows))
    return Outcome(study, samples, wall_s=time.perf_counter() - begin, probes=probed, sweeps=swept)


def _started(scenario: _core.Scenario, seed: int, part: Part) -> _core.Scenario:
    return starts.spread(scenario, seed=seed, within_s=part.start_within_s) if part.start_within_s > 0 else scenario
