"""Makes the runs of a sweep: all of them, one shard of them, or so many that an interval is small enough.

Several processes and machines may work at one sweep over one folder of kept runs, without a daemon: each run is kept
under its hash and appears whole or not at all. Seeds are paired: every cell has the same ones.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skyhop import _core, api, precision, sweeps
from skyhop.kept import Keep, KeptRun
from skyhop.precision import Look, Until
from skyhop.studies import MOST_RUNS
from skyhop.sweeps import Job, Measured, OnProgress, Sweep, SweepResult
from skyhop.verdict import DefinitionError
from skyhop.warned import Warned

#: What a job gave: takes the kept run, or the reason why there is none.
Measure = Callable[[Job, "KeptRun | str"], Measured]
#: Makes runs, here or elsewhere, and measures them; the answers are in the order of the jobs.
Make = Callable[[Sequence[Job], Keep, Measure, "OnProgress | None"], list[Measured]]


@dataclass(frozen=True)
class Shard:
    """One of `count` parts of a sweep's runs, from 1."""

    number: int
    count: int

    @classmethod
    def read(cls, text: str) -> Shard:
        """A shard from "3/16"; raises DefinitionError."""
        parts = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
        if parts is None or not 1 <= int(parts[1]) <= int(parts[2]):
            raise DefinitionError(f'--shard {text}: is the number of a part and how many there are, as in "3/16"')
        return cls(int(parts[1]), int(parts[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def of(self, todo: Sequence[Job]) -> list[Job]:
        """The jobs of this part. Cells that are the same scenario share their runs, so no run is in two parts."""
        return [one for index, one in enumerate(distinct(todo)) if index % self.count == self.number - 1]


@dataclass
class Tally:
    """What became of the runs that were asked for."""

    found: list[Job] = field(default_factory=list)
    made: list[Job] = field(default_factory=list)
    failed: list[tuple[Job, str]] = field(default_factory=list)

    @property
    def kept(self) -> int:
        """Runs that are in the folder now."""
        return len(self.found) + len(self.made)


@dataclass(frozen=True)
class State:
    """Whether a run is there."""

    job: Job
    #: "kept", "failed" (when it was last tried) or "missing".
    state: str
    #: Why it failed.
    error: str | None
    #: Where the run is or will be.
    folder: Path

    def row(self) -> dict[str, Any]:
        """For a table."""
        of_run = {"seed": self.job.seed, "state": self.state, "error": self.error, "run": str(self.folder)}
        return dict(self.job.cell.point) | of_run


def key_of(job: Job) -> tuple[str, int]:
    """What the run is: two cells may be the same scenario."""
    return job.scenario.hash, job.seed


def distinct(todo: Sequence[Job]) -> list[Job]:
    """The jobs without those that are the same run as an earlier one."""
    return list({key_of(one): one for one in reversed(todo)}.values())[::-1]


def attempt(shelf: Keep, job: Job, progress: _core.Progress, tally: Tally) -> KeptRun | str:
    """The run, kept or made now, or why it failed. What the file system refuses is raised, as it concerns all runs."""
    if (found := shelf.find(job.scenario, job.seed)) is not None:
        tally.found.append(job)
        return found
    try:
        run = api.run(job.scenario, seed=job.seed, progress=progress)
    except (_core.Cancelled, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        # A panic of the engine is no Exception.
        why = str(error) or type(error).__name__
        shelf.note_failure(job.scenario, job.seed, why)
        tally.failed.append((job, why))
        return why
    kept = shelf.add(run)
    tally.made.append(job)
    return kept


def on_threads(tally: Tally, threads: int | None = None) -> Make:
    """Makes runs on this machine."""

    def make(todo: Sequence[Job], shelf: Keep, measure: Measure, on_progress: OnProgress | None) -> list[Measured]:
        def work(job: Job, progress: _core.Progress) -> Measured:
            return measure(job, attempt(shelf, job, progress, tally))

        return sweeps.spread(todo, work, on_progress=on_progress, threads=threads)

    return make


def run(
    sweep: Sweep,
    *,
    keep: Path,
    on_progress: OnProgress | None = None,
    threads: int | None = None,
    until: Until | None = None,
    most_seeds: int = precision.MOST_SEEDS,
    make: Make | None = None,
    tally: Tally | None = None,
) -> SweepResult:
    """Makes every run that `keep` does not hold yet, and measures them all. A run that fails is a row with its reason.

    With `until` it adds seeds, the same at every cell, until the interval is small enough or there are `most_seeds`.

    Raises DefinitionError, ScenarioError before the first run; OSError where runs cannot be kept.
    """
    shelf = Keep(keep)
    tally = Tally() if tally is None else tally
    make = make or on_threads(tally, threads)
    cells = sweeps.scenarios(sweep)
    if until is not None:
        sweep = _first_look(sweep, len(cells), most_seeds)
    shelf.prepare()

    def measure(job: Job, kept: KeptRun | str) -> Measured:
        if isinstance(kept, str):
            return sweeps.failed(sweep, job, kept)
        one = sweeps.measured(sweep, job, kept)
        return dataclasses.replace(one, row={**one.row, "run": str(shelf.place(job.scenario, job.seed))})

    done: dict[tuple[str, int], Measured] = {}
    looks: list[Look] = []
    while True:
        todo = [Job(cell, seed, scenario) for cell, scenario in cells for seed in sweep.seeds]
        new = [one for one in distinct(todo) if key_of(one) not in done]
        for job, measured in zip(new, make(new, shelf, measure, on_progress) if new else [], strict=True):
            done[key_of(job)] = measured
        result = sweeps.result_of(sweep, [_as(job, done[key_of(job)]) for job in todo])
        if until is None:
            return result
        looks.append(precision.look(until, result.table, sweep.axes, len(sweep.seeds)))
        if not looks[-1].wide or len(sweep.seeds) >= most_seeds:
            return dataclasses.replace(result, until=until, looks=looks)
        count = precision.next_seeds(looks[-1], most=most_seeds)
        sweep = dataclasses.replace(sweep, seeds=precision.more_seeds(sweep.seeds, count))


def _first_look(sweep: Sweep, cells: int, most_seeds: int) -> Sweep:
    least = max(precision.FIRST_LOOK, len(sweep.seeds))
    if most_seeds < least:
        raise DefinitionError(
            f"--most-seeds {most_seeds}: is at least {least}, the number of seeds before the first look at an interval"
        )
    if cells * most_seeds > MOST_RUNS:
        raise DefinitionError(
            f"--most-seeds {most_seeds}: makes {cells * most_seeds:,} runs, and at most {MOST_RUNS:,} are made"
        )
    return dataclasses.replace(sweep, seeds=precision.more_seeds(sweep.seeds, least))


def _as(job: Job, measured: Measured) -> Measured:
    """What a run gave, as the row of a cell: several may be the same scenario."""
    return Measured({**measured.row, **dict(job.cell.point)}, Warned(job.label, measured.warned.warnings))


def make_shard(
    sweep: Sweep, shard: Shard, *, keep: Path, tally: Tally, on_progress: OnProgress | None, threads: int | None
) -> None:
    """Makes the runs of one shard that `keep` does not hold yet. Nothing is measured: the others are not there."""
    shelf = Keep(keep)
    todo = shard.of(sweeps.jobs(sweep))
    shelf.prepare(shared=True)

    def work(job: Job, progress: _core.Progress) -> None:
        attempt(shelf, job, progress, tally)

    if todo:
        sweeps.spread(todo, work, on_progress=on_progress, threads=threads)


def states(sweep: Sweep, *, keep: Path, shard: Shard | None = None) -> list[State]:
    """Every run of the sweep, or of a shard, and whether it is there. Nothing is run."""
    shelf = Keep(keep)
    todo = sweeps.jobs(sweep)
    return [_state(shelf, job) for job in (distinct(todo) if shard is None else shard.of(todo))]


def _state(shelf: Keep, job: Job) -> State:
    place = shelf.place(job.scenario, job.seed)
    if shelf.find(job.scenario, job.seed) is not None:
        return State(job, "kept", None, place)
    why = shelf.failure(job.scenario, job.seed)
    return State(job, "missing" if why is None else "failed", why, place)
