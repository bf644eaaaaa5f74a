"""Makes the runs of a sweep on the workers of a Dask cluster: `skyhop sweep --scheduler tcp://…`.

A worker gets scenarios as text and gives back the files of each finished run, so that workers need no folder in common
with this machine. The run is the same on each: it is a function of scenario, seed and engine, and a worker with another
build is refused. Each answer is kept here at once; a run whose worker dies is given to another worker by Dask.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from skyhop import _core, api, kept
from skyhop.kept import Keep
from skyhop.spreading import Make, Measure, Tally
from skyhop.studies import Cell, overrides_of
from skyhop.sweeps import GRID, Job, Measured, OnProgress, Sweep, warnings_of
from skyhop.verdict import DefinitionError

#: Simulated seconds that one task makes about; a task of its own for each short run would cost more than the run.
TASK_SIMULATED_S = 600.0
#: Runs of one task at most, so that a worker that dies loses little.
MOST_OF_TASK = 32
#: Seconds until a scheduler that does not answer counts as absent.
_TIMEOUT_S = 10

#: A scenario for a worker: "toml", "json" or "canonical", the text, its name in messages, and overrides.
Source = tuple[str, str, str, tuple[str, ...]]
#: What a worker gives back for a run: the files of its folder, or why there is none.
Answer = tuple[dict[str, bytes] | None, str]


@contextmanager
def on_cluster(address: str, sweep: Sweep, tally: Tally) -> Iterator[Make]:
    """Makes runs on the cluster whose scheduler is at `address`.

    Raises DefinitionError where dask.distributed is missing, no scheduler answers, or a worker has another build.
    """
    try:
        import distributed
    except ModuleNotFoundError:
        raise DefinitionError(
            "--scheduler needs the package distributed, which is not installed: pip install 'skyhop[dask]'"
        ) from None
    try:
        client = distributed.Client(address, timeout=_TIMEOUT_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise DefinitionError(f"--scheduler {address}: no scheduler answers there: {error}") from None
    with client:

        def make(todo: Sequence[Job], shelf: Keep, measure: Measure, on_progress: OnProgress | None) -> list[Measured]:
            sources = {cell: source_of(sweep, job) for cell, job in first_of_cells(todo).items()}
            return _make(client, sources, todo, shelf, measure, on_progress, tally)

        yield make


def first_of_cells(todo: Sequence[Job]) -> dict[Cell, Job]:
    """The first job of each cell: its other seeds have the same scenario."""
    return {job.cell: job for job in reversed(todo)}


def source_of(sweep: Sweep, job: Job) -> Source:
    """What a worker reads the scenario of a job from.

    That is what the user wrote, where it names no files: the engine warns of keys that somebody wrote without effect,
    and the canonical form has every key in it.
    """
    given = sweep.scenario
    if isinstance(given, Mapping):
        kind, text, name = "json", json.dumps(given, default=str), ""
    elif isinstance(given, str) and "\n" in given:
        kind, text, name = "toml", given, "<text>"
    elif isinstance(given, _core.Scenario):
        kind, text, name = "canonical", given.canonical_json(), ""
    else:
        kind, text, name = "toml", Path(given).read_text(encoding="utf-8"), os.fspath(given)
    overrides = tuple(overrides_of(sweep.axes, job.cell))
    for more in ((), (f"records.grid={GRID}",)):
        source = (kind, text, name, (*overrides, *more))
        try:
            if read(source).hash == job.scenario.hash:
                return source
        except _core.ScenarioError:
            # It names files, which a worker need not have.
            continue
    return "canonical", job.scenario.canonical_json(), "", ()


def read(source: Source) -> _core.Scenario:
    """The scenario, without any file."""
    kind, text, name, overrides = source
    if kind != "toml":
        return _core.Scenario.from_json(text, overrides=overrides, files=[], written=kind == "json")
    return _core.Scenario.from_toml(text, origin=name, overrides=overrides, files=[])


def _make(
    client: Any,
    sources: Mapping[Cell, Source],
    todo: Sequence[Job],
    shelf: Keep,
    measure: Measure,
    on_progress: OnProgress | None,
    tally: Tally,
) -> list[Measured]:
    import distributed

    answers: dict[int, Measured] = {}
    wanted = []
    for number, job in enumerate(todo):
        if (found := shelf.find(job.scenario, job.seed)) is not None:
            tally.found.append(job)
            answers[number] = measure(job, found)
        else:
            wanted.append(number)
    limit = _core.memory_limit() if "SKYHOP_MEMORY" in os.environ else None
    tasks: dict[Any, list[int]] = {}
    # Whatever else a worker reads is what somebody wrote, with its warnings.
    simulated = {cell: read(source).warnings for cell, source in sources.items() if source[0] == "canonical"}

    def submit(batch: list[int]) -> Any:
        runs = [(sources[todo[number].cell], todo[number].seed) for number in batch]
        # Dask must not take two batches for one, nor keep what an earlier sweep gave.
        future = client.submit(simulate, runs, kept.engine(), limit, pure=False)
        tasks[future] = batch
        return future

    coming = distributed.as_completed([submit(batch) for batch in batches(todo, wanted)], loop=client.loop)
    try:
        for future in coming:
            batch = tasks.pop(future)
            try:
                given: list[Answer] = future.result()
            except distributed.scheduler.KilledWorker:
                if len(batch) > 1:
                    # One of them may be to blame: each gets a task of its own.
                    coming.update([submit([number]) for number in batch])
                    continue
                given = [(None, "each worker that made this run died, perhaps for want of memory")]
            except OtherBuild as error:
                raise DefinitionError(str(error)) from None
            for number, (files, why) in zip(batch, given, strict=True):
                job = todo[number]
                said = _said(files, job, simulated[job.cell]) if job.cell in simulated else files
                answers[number] = measure(job, _taken(shelf, job, said, why, tally))
            if on_progress is not None:
                on_progress(len(answers) / len(todo))
    except BaseException:
        client.cancel(list(tasks), force=True)
        raise
    return [answers[number] for number in range(len(todo))]


def _said(files: dict[str, bytes] | None, job: Job, simulated: Sequence[str]) -> dict[str, bytes] | None:
    """The files of a run with the warnings that it would have here. `simulated`: those of what the worker read."""
    if files is None:
        return None
    manifest = json.loads(files["manifest.json"])
    manifest["warnings"] = warnings_of(job.scenario.warnings, simulated, manifest["warnings"])
    return {**files, "manifest.json": (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode()}


def batches(todo: Sequence[Job], wanted: Sequence[int]) -> list[list[int]]:
    """The jobs of `wanted` in tasks: short runs share one, in their order."""
    made: list[list[int]] = []
    length_s = 0.0
    for number in wanted:
        simulated_s = todo[number].scenario.duration_s
        if not made or length_s + simulated_s > TASK_SIMULATED_S or len(made[-1]) == MOST_OF_TASK:
            made.append([])
            length_s = 0.0
        made[-1].append(number)
        length_s += simulated_s
    return made


def _taken(shelf: Keep, job: Job, files: dict[str, bytes] | None, why: str, tally: Tally) -> kept.KeptRun | str:
    if files is None:
        shelf.note_failure(job.scenario, job.seed, why)
        tally.failed.append((job, why))
        return why
    found = shelf.take(job.scenario, job.seed, files)
    if found.manifest["scenario_hash"] != job.scenario.hash or found.manifest["seed"] != job.seed:
        raise RuntimeError(f"{found.folder}: a worker gave another run than {job.label}")
    tally.made.append(job)
    return found


class OtherBuild(Exception):
    """A worker has another build of Skyhop, whose runs may be others."""


def simulate(runs: Sequence[tuple[Source, int]], engine: str, memory_bytes: int | None) -> list[Answer]:
    """Makes runs on a worker; a run that fails gives its reason. Raises OtherBuild."""
    if kept.engine() != engine:
        raise OtherBuild(
            f"a worker has another build of Skyhop ({_core.version()}, {kept.engine()[:12]}) than this machine "
            f"({engine[:12]}): install the same wheel on all machines"
        )
    answers: list[Answer] = []
    for source, seed in runs:
        try:
            run = api.run(read(source), seed=seed, memory_bytes=memory_bytes)
        except (KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as error:
            # A panic of the engine is no Exception.
            answers.append((None, str(error) or type(error).__name__))
            continue
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "run"
            run.keep(place)
            answers.append(({file.name: file.read_bytes() for file in sorted(place.iterdir())}, ""))
    return answers
