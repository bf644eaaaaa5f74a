"""Finished runs on disk, found again by what they are: scenario, seed and engine."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skyhop import _core, api
from skyhop.results import Run

if TYPE_CHECKING:
    import polars as pl


#: Marks a folder as one whose content can be made again (https://bford.info/cachedir/): backup programs and the page's
#: list of runs pass it over.
TAG = "CACHEDIR.TAG"
_TAG_TEXT = """\
Signature: 8a477f597d28d172789f06886806bc55
# Finished runs of Skyhop, found again by their hash. The folder can be deleted: what is missing is simulated anew.
"""


@cache
def engine() -> str:
    """Fingerprint of the engine: a run of another build is another run."""
    return hashlib.sha256(Path(str(_core.__file__)).read_bytes()).hexdigest()


class KeptRun:
    """A run read back from disk, table by table when it is asked for."""

    def __init__(self, folder: Path, /, *, scenario: _core.Scenario, seed: int) -> None:
        self._folder = folder
        self.scenario = scenario
        self.seed = seed

    @property
    def table_names(self) -> list[str]:
        """Names that `table` knows."""
        return _core.table_names()

    def table(self, name: str, /) -> pl.DataFrame:
        """The table of that name. Tables without rows have no file."""
        import polars as pl

        path = self._folder / f"{name}.parquet"
        return pl.read_parquet(path) if path.exists() else pl.DataFrame(_core.empty_table(name))

    @property
    def handovers(self) -> pl.DataFrame:
        """One row per change of satellite."""
        return self.table("handovers")

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
        """Copies the run into a folder, with its tables as CSV too: the same files that `Run.write` makes."""
        # With the time of now, not that of the run: a study's folders stand in the study's order.
        target = Path(shutil.copytree(self._folder, folder, dirs_exist_ok=True, copy_function=shutil.copyfile))
        for parquet in self._folder.glob("*.parquet"):
            self.table(parquet.stem).write_csv(target / f"{parquet.stem}.csv")
        return target


class Keep:
    """A folder of finished runs. Each appears whole or not at all, so a killed program leaves nothing half done."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def place(self, scenario: _core.Scenario, seed: int) -> Path:
        """Where the run is or will be."""
        name = hashlib.sha256(f"{engine()} {scenario.hash} {seed}".encode()).hexdigest()
        return self.folder / name[:2] / name

    def find(self, scenario: _core.Scenario, seed: int) -> KeptRun | None:
        """The run, if it has been finished before."""
        place = self.place(scenario, seed)
        return KeptRun(place, scenario=scenario, seed=seed) if (place / "manifest.json").exists() else None

    def add(self, run: Run) -> KeptRun:
        """Keeps a finished run."""
        self.folder.mkdir(parents=True, exist_ok=True)
        tag = self.folder / TAG
        if not tag.exists():
            tag.write_text(_TAG_TEXT, encoding="utf-8")
        place = self.place(run.scenario, run.seed)
        run.keep(place)
        return KeptRun(place, scenario=run.scenario, seed=run.seed)

    def run(self, scenario: _core.Scenario, seed: int, progress: _core.Progress) -> KeptRun:
        """The run from the folder, or simulated now and put there."""
        return self.find(scenario, seed) or self.add(api.run(scenario, seed=seed, progress=progress))
