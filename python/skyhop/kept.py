"""Finished runs on disk, found again by what they are: scenario, seed and engine."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skyhop import _core, api, folders
from skyhop.results import Run, RunTables

if TYPE_CHECKING:
    import polars as pl


#: The file that lists the others of a folder (`crates/skyhop/src/staging.rs`).
LIST = ".skyhop.json"

#: Marks a folder as one whose content can be made again (https://bford.info/cachedir/): backup programs and the page's
#: list of runs pass it over.
TAG = "CACHEDIR.TAG"
_TAG_TEXT = """\
Signature: 8a477f597d28d172789f06886806bc55
# Finished runs of Skyhop, found again by their hash. You may delete the folder: missing runs are simulated again.
"""

#: The folder of notes about runs that failed, within a folder of kept runs.
FAILURES = "failed"


@cache
def engine() -> str:
    """Fingerprint of the engine: a run of another build is another run."""
    return hashlib.sha256(Path(str(_core.__file__)).read_bytes()).hexdigest()


class KeptRun(RunTables):
    """A run read back from disk, table by table when it is asked for.

    Raises OSError when a file that belongs to it is gone.
    """

    def __init__(self, folder: Path, /, *, scenario: _core.Scenario, seed: int) -> None:
        self._folder = folder
        self.scenario = scenario
        self.seed = seed
        listed = json.loads((folder / LIST).read_text(encoding="utf-8"))
        self._files = sorted(listed["files"])

    @property
    def folder(self) -> Path:
        """Where it lies."""
        return self._folder

    def _repr_html_(self) -> str:
        from skyhop.notebook import of_run

        return of_run(self)

    @property
    def files(self) -> list[str]:
        """Names of the files that belong to it."""
        return list(self._files)

    @property
    def table_names(self) -> list[str]:
        """Names that `table` knows."""
        return _core.table_names()

    def table(self, name: str, /) -> pl.DataFrame:
        """The table of that name."""
        return self.scan(name).collect()

    def scan(self, name: str, /) -> pl.LazyFrame:
        """The table of that name as a polars LazyFrame, which reads what a query needs of its file.

        Tables without rows have no file.
        """
        import polars as pl

        file = f"{name}.parquet"
        # Whether there is a file is asked of the list: one that somebody deletes now is not a table without rows.
        if file in self._files:
            return pl.scan_parquet(self._folder / file)
        return pl.DataFrame(_core.empty_table(name)).lazy()

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """What `manifest.json` holds."""
        return self._json("manifest")

    @property
    def warnings(self) -> list[str]:
        """What a reader of the results should know, a sentence each."""
        warnings: list[str] = self.manifest["warnings"]
        return warnings

    @property
    def summary(self) -> dict[str, Any]:
        """What `summary.json` holds."""
        return self._json("summary")

    def _json(self, name: str) -> dict[str, Any]:
        value: dict[str, Any] = json.loads((self._folder / f"{name}.json").read_text(encoding="utf-8"))
        return value

    def write(self, folder: str | os.PathLike[str], /) -> Path:
        """Copies the run into a run folder, with all tables as CSV, however long: as `Run.write(…, csv=True)`."""
        with folders.staged(folder, "run") as staging:
            self.write_into(staging)
        return Path(folder)

    def write_into(self, folder: Path, /) -> None:
        """Writes the files of a run folder into a folder that is there and holds none of them."""
        for name in self._files:
            # With the time of now, not that of the run: a study's folders stand in the study's order.
            (folder / name).write_bytes((self._folder / name).read_bytes())
            if name.endswith(".parquet"):
                self.scan(name.removesuffix(".parquet")).sink_csv((folder / name).with_suffix(".csv"))


class Keep:
    """A folder of finished runs. Each appears whole or not at all; one that was damaged since is made again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        #: Where the runs lie that somebody found or added by way of this object.
        self.used: set[Path] = set()

    def place(self, scenario: _core.Scenario, seed: int) -> Path:
        """Where the run is or will be."""
        name = hashlib.sha256(f"{engine()} {scenario.hash} {seed}".encode()).hexdigest()
        return self.folder / name[:2] / name

    def prepare(self, *, shared: bool = False) -> None:
        """Makes the folder, so that an obstacle is known before the first run.

        Clears what dead processes left in it, unless it is `shared` with other machines: where a network file system
        keeps locks on each machine, what another machine is writing looks as if its process were dead.

        Raises OSError if it cannot be written.
        """
        self._tag()
        if not os.access(self.folder, os.W_OK):
            raise PermissionError(f"{self.folder}: no run can be kept there, as the folder may not be written")
        if shared:
            return
        for child in self.folder.iterdir():
            if child.is_dir():
                _core.sweep(child)

    def _tag(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        tag = self.folder / TAG
        if not tag.exists():
            folders.write(tag, _TAG_TEXT)

    def find(self, scenario: _core.Scenario, seed: int) -> KeptRun | None:
        """The run, if it has been finished before and is still whole."""
        place = self.place(scenario, seed)
        if not _core.is_whole(place):
            return None
        self.used.add(place)
        return KeptRun(place, scenario=scenario, seed=seed)

    def add(self, run: Run) -> KeptRun:
        """Keeps a finished run."""
        self._tag()
        place = self.place(run.scenario, run.seed)
        run.keep(place)
        self.used.add(place)
        self._failure(run.scenario, run.seed).unlink(missing_ok=True)
        return KeptRun(place, scenario=run.scenario, seed=run.seed)

    def take(self, scenario: _core.Scenario, seed: int, files: Mapping[str, bytes]) -> KeptRun:
        """Keeps a run that another machine made, from the files of its folder."""
        self._tag()
        if (found := self.find(scenario, seed)) is not None:
            return found
        place = self.place(scenario, seed)
        place.parent.mkdir(exist_ok=True)
        staging = _core.Staging(place, "kept")
        try:
            for name, content in files.items():
                # The list is written when the folder is published.
                if name != LIST:
                    (staging.folder / name).write_bytes(content)
            staging.publish()
        finally:
            staging.discard()
        self.used.add(place)
        self._failure(scenario, seed).unlink(missing_ok=True)
        return KeptRun(place, scenario=scenario, seed=seed)

    def run(self, scenario: _core.Scenario, seed: int, progress: _core.Progress) -> KeptRun:
        """The run from the folder, or simulated now and put there."""
        return self.find(scenario, seed) or self.add(api.run(scenario, seed=seed, progress=progress))

    def note_failure(self, scenario: _core.Scenario, seed: int, why: str) -> None:
        """Writes down why a run gave nothing, for whoever lists the runs; it is tried again when it is asked for."""
        self._tag()
        path = self._failure(scenario, seed)
        path.parent.mkdir(exist_ok=True)
        folders.write(path, json.dumps({"error": why}) + "\n")

    def failure(self, scenario: _core.Scenario, seed: int) -> str | None:
        """Why the run failed when it was last tried, if it did."""
        try:
            why: str = json.loads(self._failure(scenario, seed).read_text(encoding="utf-8"))["error"]
        except FileNotFoundError:
            return None
        return why

    def _failure(self, scenario: _core.Scenario, seed: int) -> Path:
        return self.folder / FAILURES / f"{self.place(scenario, seed).name}.json"
