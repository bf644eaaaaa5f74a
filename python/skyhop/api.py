"""Scenarios from whatever the caller has at hand, and runs of them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from skyhop import _core, folders
from skyhop.results import Run

if TYPE_CHECKING:
    from skyhop.kept import KeptRun

#: A scenario, the path of a scenario file, TOML text (anything with a line break), or the same as nested dicts.
Source: TypeAlias = "_core.Scenario | str | os.PathLike[str] | Mapping[str, Any]"


def scenario(source: Source | None = None, /, *, overrides: Sequence[str] = (), **sections: Any) -> _core.Scenario:
    """Reads and validates a scenario.

    Either `source`, or the sections of a scenario file as keyword arguments:

        skyhop.scenario(duration="60 s", links=[{...}], flows=[{...}])

    `overrides` are `key=value` as on the command line: `["constellation.gsl.rate=3 Mbit/s"]`.

    Raises ScenarioError with every problem found. The messages are the same for every kind of source.
    """
    if source is None:
        return _from_mapping(sections, overrides)
    if sections:
        raise TypeError("give either a source or the sections of a scenario, not both; overrides= changes single keys")
    if isinstance(source, _core.Scenario):
        if overrides:
            raise TypeError("overrides change what is read; this scenario is already validated")
        return source
    if isinstance(source, Mapping):
        return _from_mapping(source, overrides)
    if isinstance(source, str) and "\n" in source:
        return _core.Scenario.from_toml(source, origin="<text>", overrides=list(overrides))
    return _core.Scenario.from_file(os.fspath(source), overrides=list(overrides))


def run(
    source: Source,
    /,
    *,
    seed: int = 1,
    overrides: Sequence[str] = (),
    progress: _core.Progress | None = None,
    memory_bytes: int | None = None,
    threads: int = 1,
) -> Run:
    """Simulates a scenario once. Other Python threads continue during the run.

    The same scenario and seed give the same records on any machine. `progress` can be read, and cancelled, from
    another thread. `memory_bytes` limits the memory of the run; the default is SKYHOP_MEMORY, or half of the
    machine's memory.

    `threads` share the run: the network is cut at links with a long delay, and each thread handles a part. Records are
    the same for any number. A network that cannot be cut, or would not gain from it, runs on one thread, and all share
    the renewals of its routes where these take long (`manifest["route_threads"]`);
    `manifest["one_thread_because"]` says why it was not cut. Several runs at once use several cores better.

    Raises ScenarioError for a scenario that is wrong, MemoryError when the run needs more memory than it may take,
    ValueError for no `threads`.
    """
    validated = scenario(source, overrides=overrides)
    core = _core.run(validated, seed=seed, progress=progress, memory_bytes=memory_bytes, threads=threads)
    return Run(core, scenario=validated, seed=seed)


def run_into(
    source: Source,
    folder: str | os.PathLike[str],
    /,
    *,
    seed: int = 1,
    overrides: Sequence[str] = (),
    progress: _core.Progress | None = None,
    memory_bytes: int | None = None,
    threads: int = 1,
    csv: bool = False,
) -> KeptRun:
    """Simulates a scenario once and writes its run folder while the run goes on; the run reads its tables from there.

    The records are those of `run(…).write(folder)`, and long tables take no memory: use it for runs of hours with a
    fine grid. The folder appears whole or not at all, in place of an older run folder. Tables of more than 100,000 rows
    are written as Parquet alone, unless `csv`. The other arguments are those of `run`.

    Raises what `run` raises, FileExistsError if `folder` holds anything that is not part of a run folder, and OSError
    if it cannot be written.
    """
    validated = scenario(source, overrides=overrides)
    place = Path(folder)
    with folders.staged(place, "run") as staging:
        _core.run_into(
            validated, staging, shown=place, seed=seed, progress=progress, memory_bytes=memory_bytes,
            threads=threads, csv=csv,
        )  # fmt: skip
    # What reads kept runs makes runs itself.
    from skyhop.kept import KeptRun

    return KeptRun(place, scenario=validated, seed=seed)


def _html(scenario: _core.Scenario) -> str:
    from skyhop.notebook import of_scenario

    return of_scenario(scenario)


# The class is the engine's, which has no HTML.
_core.Scenario._repr_html_ = _html  # type: ignore[attr-defined]


def _from_mapping(sections: Mapping[str, Any], overrides: Sequence[str]) -> _core.Scenario:
    """JSON is the road for data that has no lines; paths such as `elements = Path(...)` are written as text."""
    text = json.dumps(sections, default=_plain, ensure_ascii=False)
    return _core.Scenario.from_json(text, overrides=list(overrides))


def _plain(value: object) -> object:
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a scenario holds text, numbers, lists and tables, not {type(value).__name__}: {value!r}")
