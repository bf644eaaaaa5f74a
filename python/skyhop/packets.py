"""The packets of one flow of a finished run.

A run is a function of its scenario and its seed. It is made again with every packet recorded at the links that leave
the flow's source, and its other tables show that it is the same run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skyhop import _core
from skyhop.results import pieces

if TYPE_CHECKING:
    import polars as pl

#: The page holds a table in memory, about 100 bytes a row.
MOST_ROWS = 5_000_000


class NotTheRun(ValueError):
    """The packets cannot be those of the run; the message says why."""


def record(
    folder: Path,
    flow: str,
    *,
    begin_s: float | None = None,
    end_s: float | None = None,
    progress: _core.Progress | None = None,
    memory_bytes: int | None = None,
    files: list[Path] | None = None,
) -> pl.DataFrame:
    """Simulates a run of `folder` again; the rows of the table `packets` of one flow from `begin_s` to `end_s`.

    Two rows before `begin_s` tell where the flow stood then: the highest segment that was sent, and the highest that
    was acknowledged. `files` are those that the scenario may name, as for `Scenario`.

    Raises NotTheRun when the folder holds no run, no such flow, no such time, or a run that this version computes
    differently; ScenarioError, Cancelled and MemoryError as `run` does; OSError when a file cannot be read.
    """
    # Its `random` computes tables when it is imported, which most commands need not wait for.
    import tempfile

    import polars as pl

    scenario, seed, links = _recorded(folder, flow, files)
    first, last = (0.0 if begin_s is None else begin_s), (scenario.duration_s if end_s is None else end_s)
    if not (first <= last and first <= scenario.duration_s and last >= 0):
        raise NotTheRun(f"no time of the run lies from {first:g} to {last:g} s: it ends at {scenario.duration_s:g} s")
    # In a folder: long series would take gigabytes of memory.
    with tempfile.TemporaryDirectory(prefix="skyhop-packets-") as made:
        again = Path(made)
        _core.run_into(scenario, again, shown=again, seed=seed, progress=progress, memory_bytes=memory_bytes)
        for name in _core.table_names():
            if name != "packets":
                _compare(folder, again, name)
        packets = _file(again, "packets")
        if packets is None:
            return pl.DataFrame(_core.empty_table("packets"))
        told = pl.scan_parquet(packets).filter(pl.col("flow") == flow, pl.col("link").is_in(links))
        rows = _within(told, begin_s, end_s)
    if rows.height > MOST_ROWS:
        raise NotTheRun(f"{flow} has {rows.height} events of packets in that time, more than {MOST_ROWS}: choose less")
    return rows


def key(records_hash: str, flow: str, begin_s: float | None, end_s: float | None) -> str:
    """The name under which the packets of a flow of a run are kept: equal for equal runs, wherever they lie."""
    return hashlib.sha256(json.dumps([records_hash, flow, begin_s, end_s]).encode()).hexdigest()[:32]


def as_parquet(rows: pl.DataFrame) -> bytes:
    """The rows as a Parquet file that the page can read."""
    import io

    file = io.BytesIO()
    rows.write_parquet(file, compression="snappy")
    return file.getvalue()


def _recorded(folder: Path, flow: str, files: list[Path] | None) -> tuple[_core.Scenario, int, list[str]]:
    """The scenario with the packets of the flow's first links, the seed, and those links."""
    scenario = _json(folder / "scenario.json")
    seed = int(_json(folder / "manifest.json")["seed"])
    flows = _table(folder, "flows")
    found = [] if flows is None else flows.filter(flows["flow"] == flow)["from"].to_list()
    if not found:
        raise NotTheRun(f"{folder} has no flow {flow!r}")
    links = _table(folder, "links")
    if links is None:
        raise NotTheRun(f"{folder} has no links.parquet")
    leaving = links.filter((links["from"] == found[0]) & (links["packets"] > 0))["link"].to_list()
    if not leaving:
        raise NotTheRun(f"{flow} sent no packet over a link")
    records = scenario.setdefault("records", {})
    # A link with a name stands in the tables with it in front; the scenario takes the name.
    asked = [link.split(" ", 1)[0] if " " in link else link for link in leaving]
    records["packets"] = sorted({*records.get("packets", []), *asked})
    return _core.Scenario.from_json(json.dumps(scenario), files=files, written=False), seed, leaving


def _json(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise NotTheRun(f"{path} is not JSON: {error}") from None
    return found


def _file(folder: Path, name: str) -> Path | None:
    """The file of a table of the run folder; None where it has none, as of a table without rows."""
    path = folder / f"{name}.parquet"
    # A folder that somebody sent may hold links to elsewhere.
    return path if path.is_file() and not path.is_symlink() else None


def _table(folder: Path, name: str) -> pl.DataFrame | None:
    """A table of the run folder; None where it has none."""
    import polars as pl

    file = _file(folder, name)
    return None if file is None else pl.read_parquet(file)


def _compare(folder: Path, again: Path, name: str) -> None:
    """Raises NotTheRun unless a table has the same content in both; columns that `folder` lacks are not compared."""
    theirs, ours = _file(folder, name), _file(again, name)
    both_absent = theirs is None and ours is None
    if not both_absent and (theirs is None or ours is None or not _is_same(theirs, ours)):
        raise NotTheRun(
            f"this version of Skyhop computes another run (table {name!r} differs): make the run again first"
        )


def _is_same(theirs: Path, ours: Path) -> bool:
    import filecmp

    import polars as pl

    # The same version writes the same bytes.
    if filecmp.cmp(theirs, ours, shallow=False):
        return True
    known, found = pl.scan_parquet(theirs), pl.scan_parquet(ours)
    columns = known.collect_schema().names()
    if not set(columns) <= set(found.collect_schema().names()):
        return False
    pairs = zip_longest(pieces(known), pieces(found.select(columns)))
    return all(one is not None and other is not None and one.equals(other) for one, other in pairs)


def _within(packets: pl.LazyFrame, begin_s: float | None, end_s: float | None) -> pl.DataFrame:
    import polars as pl

    time = pl.col("time_s")
    rows = packets if end_s is None else packets.filter(time <= end_s)
    if begin_s is None:
        return rows.collect()
    before = rows.filter(time < begin_s, pl.col("seq").is_not_null())
    stood = [_highest(before, event) for event in ("enq", "ack")]
    return pl.concat([*_in_order(stood), rows.filter(time >= begin_s).collect()])


def _highest(rows: pl.LazyFrame, event: str) -> pl.DataFrame:
    import polars as pl

    return rows.filter(pl.col("event") == event).filter(pl.col("seq") == pl.col("seq").max()).head(1).collect()


def _in_order(rows: Iterable[pl.DataFrame]) -> list[pl.DataFrame]:
    return sorted((one for one in rows if one.height > 0), key=lambda one: float(one["time_s"][0]))
