"""Run folders read back."""

from __future__ import annotations

import json
import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from skyhop import _core
from skyhop.kept import LIST, KeptRun

if TYPE_CHECKING:
    from skyhop.frames import Grid


class FolderRun(KeptRun):
    """A run read back from its folder alone; its scenario is read when it is asked for."""

    def __init__(self, folder: Path, /) -> None:
        self._folder = folder
        self._files = sorted(json.loads((folder / LIST).read_text(encoding="utf-8"))["files"])

    def __repr__(self) -> str:
        return f"<skyhop run {self._folder}: scenario {self.manifest['scenario_hash'][:12]}, seed {self.seed}>"

    @cached_property
    def scenario(self) -> _core.Scenario:  # type: ignore[override]
        """The scenario with everything filled in. What files said stands in it."""
        return _core.Scenario.from_json((self._folder / "scenario.json").read_text(encoding="utf-8"), written=False)

    @cached_property
    def seed(self) -> int:  # type: ignore[override]
        """The seed of the random streams."""
        return int(self.manifest["seed"])


def load(folder: str | os.PathLike[str], /) -> FolderRun | Grid:
    """Reads a folder back: that of a run (`skyhop run`, `Run.write`) or of a sweep (`skyhop sweep`).

    The folder of a sweep has no warnings of its runs; each run has its own in its folder.

    Raises FileNotFoundError if `folder` is neither.
    """
    path = Path(folder)
    if (path / "table.parquet").is_file() and (path / "runs.parquet").is_file():
        from skyhop.frames import of_folder

        return of_folder(path)
    return load_run(path)


def load_run(path: Path) -> FolderRun:
    """Reads a run folder back. Raises FileNotFoundError if it is not one."""
    if not (path / LIST).is_file() or not (path / "manifest.json").is_file():
        raise FileNotFoundError(
            f"{path} is not a run folder: it holds no {LIST} and manifest.json, as `skyhop run` writes"
        )
    return FolderRun(path)
