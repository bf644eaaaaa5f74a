"""CSV of a link over time: a column of time, and any of rate, delay and loss, each with its unit in its name."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from skyhop.imports.draft import Draft, ImportProblem, Wanted, link, one_or_two, seconds, text_of

#: Column of the engine's table → (other names, unit in the name → factor to the engine's unit). Half of a round trip
#: is taken as the one-way delay.
_COLUMNS: dict[str, tuple[str, dict[str, float]]] = {
    "time_s": (r"time|t|timestamp|unix_time", {"s": 1.0, "sec": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}),
    "rate_bps": (
        r"rate|bandwidth|throughput|capacity|goodput|bw",
        {"bps": 1.0, "kbps": 1e3, "mbps": 1e6, "gbps": 1e9, "bit_s": 1.0, "kbit_s": 1e3, "mbit_s": 1e6, "gbit_s": 1e9},
    ),
    "delay_s": (r"delay|latency|owd|one_way_delay", {"s": 1.0, "sec": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}),
    "rtt_s": (r"rtt|round_trip_time|ping", {"s": 1.0, "sec": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}),
    "loss": (r"loss|loss_rate|packet_loss", {"": 1.0, "percent": 1e-2, "pct": 1e-2, "ratio": 1.0}),
}


def column(title: str) -> tuple[str, float] | None:
    """The engine's column for a title, with the factor to its unit; None for a title that says something else.

    Raises ImportProblem for a quantity without a unit, and for one in bytes per second, which is eight times as much.
    """
    name = _plain(title)
    for wanted, (names, units) in _COLUMNS.items():
        match = re.fullmatch(rf"(?:{names})(?:_(.+))?", name)
        if match is None:
            continue
        unit = match[1] or ""
        # Only the case of the letter tells them apart; a title in capitals says nothing about it.
        if wanted == "rate_bps" and (found := re.search(r"[kKMG]?Bps\b", title)):
            bits = f"{found[0][:-3].lower()}bps"
            raise ImportProblem(
                f"column {title!r} says {found[0]}, which is bytes per second: multiply its values by 8 and call it "
                f"{match[0].removesuffix('_' + unit)}_{bits}, or only do the latter if they are bits"
            )
        if unit in units:
            return wanted, units[unit]
        if not unit:
            known = ", ".join(f"{name}_{one}" for one in units if one)
            raise ImportProblem(f"column {title!r} has no unit: rename it to one of {known}")
    return None


def _plain(title: str) -> str:
    """A title in small letters and underscores."""
    return re.sub(r"[^a-z0-9%]+", "_", title.strip().lower().replace("/s", "_s").replace("%", "percent")).strip("_")


def read(sources: Sequence[Path], wanted: Wanted) -> Draft:
    """A link with the recordings as tables."""
    one_or_two(sources, "csv")
    tables = [_table(path) for path in sources]
    if len({frozenset(one.columns) for one in tables}) > 1:
        raise ImportProblem(f"{sources[0]} and {sources[1]} have different columns: give both the same")
    # Both directions have one clock: what was recorded at a time happens at one time.
    start_s, end_s = min(one.times_s[0] for one in tables), max(one.end_s for one in tables)
    if max(one.times_s[0] for one in tables) >= min(one.end_s for one in tables):
        raise ImportProblem(
            f"{sources[0]} and {sources[1]} have no time in common: {' and '.join(one.span for one in tables)}; count "
            "the times of both from the same moment"
        )
    files, traces, notes = {}, [], [note for one in tables for note in one.notes]
    if start_s != 0:
        notes.append(f"{start_s:.9g} s of the recording is t = 0 of the scenario.")
    for path, one, name in zip(sources, tables, ("up.csv", "down.csv"), strict=False):
        files[name] = one.text(start_s)
        traces.append({"table": name, "period": seconds(end_s - start_s)})
        if one.times_s[0] > start_s:
            later_s = one.times_s[0] - start_s
            notes.append(f"{path.name} begins {later_s:.6g} s later: its first row holds from t = 0 on.")
        if one.end_s < end_s - 1e-9:
            notes.append(f"{path.name} ends {end_s - one.end_s:.6g} s earlier: its last row holds until then.")
    needs = {key for key, one in (("rate", "rate_bps"), ("delay", "delay_s")) if one not in tables[0].columns}
    unique = list(dict.fromkeys(notes))
    return link(traces, wanted, needs=needs, files=files, duration_s=end_s - start_s, notes=unique)


@dataclass(frozen=True)
class _Table:
    """A recording in the engine's units, with the times of its file."""

    columns: list[str]
    """Without the time."""
    times_s: list[float]
    values: list[list[float]]
    """The values of each row in the order of `columns`."""
    notes: list[str]

    @property
    def end_s(self) -> float:
        """The last row holds as long as the one before it."""
        return 2 * self.times_s[-1] - self.times_s[-2]

    @property
    def span(self) -> str:
        """From when to when it is, as text."""
        return f"{self.times_s[0]:.9g} to {self.end_s:.9g} s"

    def text(self, start_s: float) -> str:
        """The engine's table, with times from `start_s` on; it begins at 0."""
        times = [0.0, *(at - start_s for at in self.times_s[1:])]
        lines = [
            ",".join([f"{at:.9f}", *(f"{one:.12g}" for one in row)]) for at, row in zip(times, self.values, strict=True)
        ]
        return "\n".join([",".join(["time_s", *self.columns]), *lines]) + "\n"


def _table(path: Path) -> _Table:
    rows = list(csv.reader(io.StringIO(text_of(path))))
    rows = [row for row in rows if any(cell.strip() for cell in row) and not row[0].lstrip().startswith("#")]
    if len(rows) < 3:
        raise ImportProblem(f"{path}: a header and two rows at least are needed")
    try:
        found = [column(title) for title in rows[0]]
    except ImportProblem as error:
        raise ImportProblem(f"{path}: {error}") from None
    names = [one[0] for one in found if one]
    for name in names:
        if names.count(name) > 1:
            raise ImportProblem(f"{path}: two columns say {name}: leave one of them out")
    if "time_s" not in names:
        raise ImportProblem(f"{path}: no column of time, such as time_s or timestamp_ms")
    if len(names) < 2:
        raise ImportProblem(f"{path}: no column of rate, delay, rtt or loss with its unit, such as rate_mbps or rtt_ms")
    if {"delay_s", "rtt_s"} <= set(names):
        raise ImportProblem(f"{path}: it has a delay and a round-trip time: leave one of them out")
    notes = [
        f"{path.name}: column {title!r} is not used." for title, one in zip(rows[0], found, strict=True) if not one
    ]
    notes += [
        f"{path.name}: column {title!r} is a share (0.02 is 2 %); call it loss_percent if it is not."
        for title in rows[0]
        if re.fullmatch(_COLUMNS["loss"][0], _plain(title))
    ]
    if "rtt_s" in names:
        notes.append("Half of a recorded round-trip time is taken as the one-way delay.")
    values: list[dict[str, float]] = []
    for number, row in enumerate(rows[1:], 2):
        try:
            cells = zip(found, row, strict=True)
            values.append({one[0]: float(cell) * one[1] for one, cell in cells if one is not None})
        except ValueError:
            raise ImportProblem(
                f"{path}, row {number}: {','.join(row)[:60]!r} has not a number in each column"
            ) from None
        if not all(map(math.isfinite, values[-1].values())):
            raise ImportProblem(f"{path}, row {number}: {','.join(row)[:60]!r} has not a number in each column")
    columns = [("delay_s" if name == "rtt_s" else name) for name in names if name != "time_s"]
    times = [row_of["time_s"] for row_of in values]
    for at, before, number in zip(times[1:], times, range(3, len(rows) + 1), strict=False):
        if at <= before:
            raise ImportProblem(f"{path}, row {number}: its time is not later than that of the row above")
    for row_of in values:
        if "rtt_s" in row_of:
            row_of["delay_s"] = row_of["rtt_s"] / 2
    return _Table(columns, times, [[row_of[name] for name in columns] for row_of in values], notes)
