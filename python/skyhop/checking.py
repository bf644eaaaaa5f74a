"""The problems of a file that Skyhop reads or wrote, whatever its kind: `skyhop check`.

The kind follows from the name and the first lines. The engine itself reads what a scenario may name: `check` puts the
file where the scenario would have it.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skyhop import _core, api
from skyhop.definition import read_toml
from skyhop.texts import DAMAGED
from skyhop.verdict import DefinitionError

#: As much as the engine reads of a file that a scenario names (`crates/scenario/src/resolve/content.rs`).
_LARGEST = 64 << 20

#: Reads a file of its kind; that of scenarios takes overrides, too.
Reader = Callable[..., "Checked"]

_TLE_LINE = re.compile(r"^[12] [ 0-9A-Z]{5}", re.MULTILINE)
_EVENTS = frozenset({"enq", "deq", "rcv", "drop", "ack"})


@dataclass(frozen=True)
class Checked:
    """A file without a problem: what it is, what it holds, and what to know about it."""

    kind: str
    holds: str
    warnings: tuple[str, ...] = ()


def check(path: Path, overrides: Sequence[str] = ()) -> Checked:
    """Reads a file or folder by its kind; `overrides` change a scenario.

    Raises ScenarioError, DefinitionError or ValueError with the problems, OSError if it cannot be read.
    """
    if path.is_dir():
        found = _folder(path)
    elif path.suffix == ".toml" or not path.is_file():
        # A missing file gets the words that every command has for a scenario.
        found = _toml(path)
    elif path.suffix == ".parquet":
        found = _parquet
    else:
        found = _text(path)
    if overrides and found is not _scenario:
        raise ValueError(f"--set changes a scenario; {path} is something else")
    return _scenario(path, overrides) if found is _scenario else found(path)


def _folder(path: Path) -> Reader:
    if (path / "study.toml").is_file():
        return _study
    if (path / "manifest.json").is_file():
        return _run
    raise ValueError(f"{path} is a folder, but neither of a study (study.toml) nor of a run (manifest.json)")


def _toml(path: Path) -> Reader:
    if path.name in ("study.toml", "expect.toml"):
        return lambda file: _study(file.parent)
    try:
        data = read_toml(path)
    except (DefinitionError, OSError):
        # The engine says where the first mistake stands.
        return _scenario
    # The key names another file, which a scenario never does.
    return _sweep if isinstance(data.get("scenario"), str) else _scenario


def _scenario(path: Path, overrides: Sequence[str] = ()) -> Checked:
    if path.suffix == ".json":
        scenario = _core.Scenario.from_json(path.read_text(encoding="utf-8"), overrides=list(overrides))
    else:
        scenario = _core.Scenario.from_file(str(path), overrides=list(overrides))
    needs = f"at least {scenario.memory_bytes_in_folder / 1e6:.3g} MB of memory"
    return Checked("scenario", f"{scenario.duration_s:g} s, {needs}, {scenario.hash[:12]}", tuple(scenario.warnings))


def _sweep(path: Path) -> Checked:
    from skyhop import sweeps

    sweep = sweeps.load(path)
    scenarios = [scenario for _, scenario in sweeps.scenarios(sweep)]
    warnings = dict.fromkeys(warning for scenario in scenarios for warning in scenario.warnings)
    runs = len({scenario.hash for scenario in scenarios}) * len(sweep.seeds)
    return Checked("sweep", f"{len(scenarios)} cells, {len(sweep.seeds)} seeds, {runs} runs", tuple(warnings))


def _study(path: Path) -> Checked:
    import dataclasses

    from skyhop import studies

    study = dataclasses.replace(studies.load(path), full=True)
    if study.missing:
        needs = ", ".join(map(str, study.missing))
        return Checked("study", f"needs {needs}, which is not there: its scenarios were not read")
    warnings: dict[str, None] = {}
    for cell in study.cells:
        scenario = api.scenario(study.part(cell).scenario, overrides=study.overrides(cell))
        warnings |= dict.fromkeys(scenario.warnings)
    for one in study.sweeps:
        warnings |= dict.fromkeys(_sweep(one.file).warnings)
    runs = sum(len(study.part(cell).seeds) for cell in study.cells)
    return Checked("study", f"{len(study.cells)} cells, {runs} runs with --full", tuple(warnings))


def _run(path: Path) -> Checked:
    from skyhop.loading import load_run

    if not _core.is_whole(path):
        raise ValueError(f"{path}: not a whole run folder: a file of it is missing, or has another size than it had")
    run = load_run(path)
    scenario = run.scenario
    if scenario.hash != run.manifest["scenario_hash"]:
        raise ValueError(f"{path}: scenario.json is another scenario than that of the run")
    rows = sum(_parquet(path / name, run=True).rows for name in run.files if name.endswith(".parquet"))
    return Checked("run folder", f"seed {run.seed}, {rows} rows in its tables", tuple(run.warnings))


@dataclass(frozen=True)
class _Rows(Checked):
    rows: int = 0


def _parquet(path: Path, *, run: bool = False) -> _Rows:
    import polars as pl

    try:
        table = pl.read_parquet(path)
    except pl.exceptions.PolarsError as error:
        raise ValueError(f"{path}: not Parquet: {error}") from None
    columns = set(table.columns)
    for name in _core.table_names():
        if columns == set(_core.empty_table(name).column_names) and (not run or path.stem == name):
            if name == "packets":
                _packets(path, table)
            return _Rows(f"table {name} of a run", f"{table.height} rows", rows=table.height)
    raise ValueError(f"{path}: has the columns of no table of this version: {', '.join(table.columns[:8])}, …")


def _packets(path: Path, table: Any) -> None:
    """Raises ValueError for events that cannot have happened."""
    import polars as pl

    if unknown := set(table["event"].unique()) - _EVENTS:
        raise ValueError(f"{path}: {min(unknown)!r} is not an event; there are: {', '.join(sorted(_EVENTS))}")
    time = table["time_s"]
    if time.null_count() or not time.is_finite().all() or (time < 0).any():
        raise ValueError(f"{path}: time_s holds what is not a time")
    if not time.is_sorted():
        raise ValueError(f"{path}: the events are not in the order of time")
    # Where a recording begins in the middle, a packet may leave without having entered; none leaves twice for one
    # entry.
    counts = [(pl.col("event") == event).sum().alias(event) for event in ("enq", "deq", "rcv")]
    passages = table.drop_nulls("packet").group_by("link", "flow", "is_ack", "packet").agg(*counts)
    entered = pl.max_horizontal("enq", 1)
    odd = passages.filter((pl.col("deq") > entered) | (pl.col("rcv") > entered)).sort("link", "flow", "packet")
    for row in odd.head(1).iter_rows(named=True):
        raise ValueError(
            f"{path}: packet {row['packet']} of {row['flow']} entered {row['link']} {row['enq']} times, "
            f"left its queue {row['deq']} times and arrived {row['rcv']} times"
        )


def _content(path: Path) -> str:
    content = path.read_bytes()[: _LARGEST + 1]
    try:
        if content[:2] == b"\x1f\x8b":
            with gzip.open(io.BytesIO(content)) as packed:
                content = packed.read(_LARGEST + 1)
    except DAMAGED as error:
        raise ValueError(f"{path}: damaged: {error}") from None
    return content.decode("utf-8", errors="replace")


def _text(path: Path) -> Reader:
    """The reader of a file that is not TOML, from what it begins with."""
    text = _content(path)
    head = text.lstrip("\ufeff \t\r\n")
    lines = [line.strip() for line in head.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if not lines:
        raise ValueError(f"{path}: is empty")
    if head[0] in "{[":
        return _json(path, head)
    if head[0] == "<" or "CCSDS_OMM_VERS" in head or _TLE_LINE.search(head):
        return _elements
    if lines[0].startswith("PING ") or re.match(r"\[\d+\.\d+\]", lines[0]):
        return _round_trips
    if re.fullmatch(r"[0-9]+", lines[0]) or re.fullmatch(r"[0-9]*\.?[0-9]+(e-?[0-9]+)?", lines[0]):
        numbers = [int(line) for line in lines if re.fullmatch(r"[0-9]{1,10}", line)]
        whole = len(numbers) == len(lines) and numbers == sorted(numbers)
        return _trace("opportunities" if whole else "delays")
    return _columns(path, [name.strip().strip('"') for name in next(csv.reader(lines))])


def _json(path: Path, head: str) -> Reader:
    try:
        data = json.loads(head)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not JSON: {error}") from None
    if isinstance(data, list):
        return _elements
    if "round_trips" in data:
        return _round_trips
    if data.get("type") in ("FeatureCollection", "Feature"):
        return _stations
    return _scenario


def _columns(path: Path, columns: list[str]) -> Reader:
    if "OBJECT_NAME" in columns or "MEAN_MOTION" in columns:
        return _elements
    if "unix_time_s" in columns:
        return _round_trips
    if {"latitude_deg", "longitude_deg"} & set(columns) and "event" not in columns:
        return _stations
    if set(columns) == set(_core.empty_table("packets").column_names):
        return _packets_csv
    if "time_s" in columns and {"rate_bps", "delay_s", "loss"} & set(columns):
        return _trace("table")
    if columns[0] == "time_s":
        return _workload("arrivals")
    if columns[0] == "bytes":
        return _workload("sizes")
    raise ValueError(
        f"{path}: nothing that Skyhop reads begins like this: scenario, sweep and study (.toml), elements (TLE, OMM), "
        "traces of links (mahimahi, delays, CSV with time_s and rate_bps, delay_s or loss), stations, arrivals and "
        "sizes (CSV), recorded round trips, tables of runs (.parquet) and packets (.csv)"
    )


def _packets_csv(path: Path) -> Checked:
    import polars as pl

    schema = pl.DataFrame(_core.empty_table("packets")).schema
    try:
        table = pl.read_csv(path, schema_overrides=dict(schema))
    except pl.exceptions.PolarsError as error:
        raise ValueError(f"{path}: not a table of packets: {error}") from None
    _packets(path, table)
    return Checked("packets", f"{table.height} events")


def _round_trips(path: Path) -> Checked:
    from skyhop.starlink import read_round_trips

    found = read_round_trips(path)
    return Checked("recorded round trips", f"{found.rtt_ms.size} round trips")


def _elements(path: Path) -> Checked:
    sky = {"elements": str(path.resolve()), "gsl": {"rate": "1 Mbit/s"}}
    scenario = _within(path, "constellation.elements", duration="1 s", constellation=sky, stations=_SOMEWHERE)
    found = json.loads(scenario.sky_json(0.0))
    return Checked("elements", f"{len(found['satellites'])} satellites at {found['utc']}", tuple(scenario.warnings))


_SOMEWHERE: Mapping[str, Any] = {"somewhere": {"latitude": "0 deg", "longitude": "0 deg"}}


def _stations(path: Path) -> Checked:
    sky = {"preset": "iridium", "gsl": {"rate": "1 Mbit/s"}}
    scenario = _within(path, "stations_file", duration="1 s", constellation=sky, stations_file=str(path.resolve()))
    return Checked("stations", f"{len(json.loads(scenario.sky_json(0.0))['stations'])} stations")


def _trace(kind: str) -> Reader:
    def read(path: Path) -> Checked:
        link = {
            "between": ["a", "b"], "rate": "1 Mbit/s", "delay": "1 ms", "trace": {kind: {"text": _content(path)}},
        }  # fmt: skip
        scenario = _within(path, f"links[0].trace.{kind}", duration="1 ns", links=[link])
        (made,) = json.loads(scenario.canonical_json())["links"]
        trace = made.get("trace") or made["forward"]["trace"]
        kinds = {"opportunities": "mahimahi trace", "delays": "trace of delays", "table": "trace of a link"}
        return Checked(kinds[kind], f"{trace['period']} long")

    return read


def _workload(kind: str) -> Reader:
    def read(path: Path) -> Checked:
        text = {"text": _content(path)}
        workload: dict[str, Any] = {"name": "w", "from": "a", "to": "b", "tcp": "cubic"}
        if kind == "sizes":
            workload |= {"arrivals": {"at": {"text": "time_s\n0\n"}}, "sizes": {"empirical": text}}
        else:
            workload |= {"arrivals": {"at": text}}
            if "bytes" not in text["text"].split("\n", 1)[0]:
                workload["sizes"] = {"constant": "1 kB"}
        link = {"between": ["a", "b"], "rate": "1 Mbit/s", "delay": "1 ms"}
        key = "workloads[0].arrivals.at" if kind == "arrivals" else "workloads[0].sizes.empirical"
        _within(path, key, duration="52 d", links=[link], workloads=[workload])
        rows = sum(1 for line in text["text"].splitlines() if line.strip() and not line.startswith("#")) - 1
        return Checked("instants of arrivals" if kind == "arrivals" else "sizes of transfers", f"{rows} rows")

    return read


def _within(path: Path, key: str, **sections: Any) -> _core.Scenario:
    """The scenario in which only the file can be wrong; its problems name the file alone."""
    try:
        return api.scenario(**sections)
    except _core.ScenarioError as error:
        lines = []
        for line in str(error).splitlines():
            line = re.sub(rf"^scenario: {re.escape(key)}[a-z_.\[\]0-9]*: ", "", line)
            line = line.replace(f'the file "{path.resolve()}"', "the file").replace(str(path.resolve()), str(path))
            line = line.removeprefix("the text, ")
            lines.append(line if line.startswith((" ", str(path))) else f"{path}: {line}")
        raise ValueError("\n".join(lines)) from None
