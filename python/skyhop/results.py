"""What a run gives back: its tables, its summary, its figures."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skyhop import _core

if TYPE_CHECKING:
    import polars as pl

    from skyhop.plots import RunPlots


#: Rows of a long table that are in memory at a time.
PIECE = 1 << 17


def pieces(table: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """The rows of a long table, piece by piece."""
    begin = 0
    while not (piece := table.slice(begin, PIECE).collect()).is_empty():
        yield piece
        begin += piece.height


class RunTables:
    """The tables and figures of a run, whether it was simulated just now or read back from its folder.

    Columns and units: `docs/models/measures.md`.
    """

    scenario: _core.Scenario

    def table(self, name: str, /) -> pl.DataFrame:
        """The table of that name."""
        raise NotImplementedError

    def scan(self, name: str, /) -> pl.LazyFrame:
        """The table of that name as a polars LazyFrame, which reads what a query needs of a long table on disk."""
        return self.table(name).lazy()

    def pandas(self, name: str, /) -> Any:
        """The table of that name as a pandas DataFrame; needs the extra `pandas`."""
        from skyhop.frames import to_pandas

        return to_pandas(self.table(name))

    @cached_property
    def flows(self) -> pl.DataFrame:
        """One row per flow: rates, packets by outcome, RTT, delay, jitter."""
        return self.table("flows")

    @cached_property
    def links(self) -> pl.DataFrame:
        """One row per link and direction: utilisation, queue, drops."""
        return self.table("links")

    @cached_property
    def drops(self) -> pl.DataFrame:
        """One row per dropped packet: when, where, why."""
        return self.table("drops")

    @cached_property
    def flow_series(self) -> pl.DataFrame:
        """Every flow on the recording grid: cwnd, RTT, delay, jitter, rates."""
        return self.table("flow_series")

    @cached_property
    def link_series(self) -> pl.DataFrame:
        """Every link on the recording grid: queue and utilisation."""
        return self.table("link_series")

    @cached_property
    def flow_events(self) -> pl.DataFrame:
        """Starts, recoveries, timeouts, ends."""
        return self.table("flow_events")

    @cached_property
    def handovers(self) -> pl.DataFrame:
        """One row per change of satellite: terminal, from, to, elevation, slant range, why."""
        return self.table("handovers")

    @cached_property
    def link_changes(self) -> pl.DataFrame:
        """Links that went up or down."""
        return self.table("link_changes")

    @cached_property
    def paths(self) -> pl.DataFrame:
        """Each change of a flow's path through the network, with its propagation delay."""
        return self.table("paths")

    @cached_property
    def positions(self) -> pl.DataFrame:
        """Where the satellites were."""
        return self.table("positions")

    @cached_property
    def plot(self) -> RunPlots:
        """Figures of this run: `run.plot.cwnd()`, `.rtt()`, `.delay()`, `.world_map()`, …"""
        from skyhop.plots import RunPlots

        return RunPlots(self)


class Run(RunTables):
    """One scenario simulated with one seed. Tables are polars DataFrames over the engine's own memory.

    Columns and units: `docs/models/measures.md`.
    """

    def __init__(self, core: _core.Run, /, *, scenario: _core.Scenario, seed: int) -> None:
        self._core = core
        self.scenario = scenario
        self.seed = seed

    def __repr__(self) -> str:
        return f"<skyhop.Run {self.scenario.hash[:12]} seed {self.seed}: {', '.join(self.table_names)}>"

    @property
    def table_names(self) -> list[str]:
        """Names that `table` knows."""
        return self._core.table_names()

    def table(self, name: str, /) -> pl.DataFrame:
        """The table of that name, without copying it."""
        import polars as pl

        if name not in self.table_names:
            raise KeyError(f"no table named {name!r}; there are: {', '.join(self.table_names)}")
        return pl.DataFrame(self._core.table(name))

    def _repr_html_(self) -> str:
        from skyhop.notebook import of_run

        return of_run(self)

    @property
    def warnings(self) -> list[str]:
        """What a reader of the results should know, a sentence each.

        Unusual properties of the scenario, flows that delivered nothing and why, rows that were left out of a table.
        """
        return self._core.warnings

    @cached_property
    def summary(self) -> dict[str, Any]:
        """What `summary.json` holds."""
        summary: dict[str, Any] = json.loads(self._core.summary_json())
        return summary

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """What `manifest.json` holds: version, hashes, seed, packets by outcome."""
        manifest: dict[str, Any] = json.loads(self._core.manifest_json())
        return manifest

    def keep(self, folder: str | os.PathLike[str], /) -> None:
        """Writes what is needed to take the run up again; the folder appears whole or not at all."""
        self._core.keep(folder)

    def write(self, folder: str | os.PathLike[str], /, *, csv: bool = False) -> Path:
        """Writes the run folder (manifest, summary, tables as Parquet and CSV) and returns its path.

        The folder appears whole or not at all, in place of an older run folder. Tables of more than 100,000 rows are
        written as Parquet alone, unless `csv`; `tables_without_csv` of `manifest.json` names them.

        Raises FileExistsError if `folder` holds anything that is not part of a run folder, OSError if it cannot be
        written.
        """
        self._core.write(folder, csv=csv)
        return Path(folder)

    def write_into(self, folder: Path, /, *, csv: bool = False) -> list[str]:
        """Writes the files of a run folder into a folder that is there and holds none of them.

        Returns the tables of more than 100,000 rows, which have no CSV file unless `csv`.
        """
        return self._core.write_into(folder, csv=csv)
