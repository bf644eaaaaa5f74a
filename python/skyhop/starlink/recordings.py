"""Readers of recorded round trips: text of ping, CSV, JSON of irtt; also compressed by gzip."""

from __future__ import annotations

import csv
import io
import itertools
import json
import os
import re
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from skyhop.texts import text_of

Floats = npt.NDArray[np.float64]

#: A recorder of CSV that waits for each answer gives up after so long, s. A lost ping's row then has the time at which
#: it was given up.
_TIMEOUT_S = 5.0

#: Round trips that a recording needs.
LEAST = 100

#: Numbers of ICMP echo requests have 16 bits.
_NUMBERS = 65_536

#: A jump of the numbers by more than this is looked at: it may be the begin of another run of ping.
_JUMP = 100

_ANSWER = re.compile(r"^(?:\[(\d+(?:\.\d+)?)\])?.*\bicmp_seq[= ](\d+)\b.*\btime[=<]\s*([\d.]+)\s*ms(.*)$")
_SUMMARY = re.compile(r"^(\d+) packets transmitted\b.*\btime (\d+)\s*ms")

#: Columns of CSV that hold the Unix time of the answer, and the round trip; with what makes s and ms of them.
_TIMES = {"unix_time_s": 1.0, "unix_time_ms": 1e-3, "unix_time_ns": 1e-9}
_TRIPS = {"rtt_ms": 1.0, "rtt_s": 1e3, "rtt_us": 1e-3}


@dataclass(frozen=True)
class Recording:
    """Round trips: when each left (Unix time, s), how long it took (ms; NaN: lost)."""

    name: str
    sent_s: Floats
    rtt_ms: Floats

    def part(self, begin: float, end: float) -> Recording:
        """From the share `begin` to the share `end` of its round trips, in the order of time."""
        n = self.sent_s.size
        kept = slice(round(begin * n), round(end * n))
        return Recording(self.name, self.sent_s[kept], self.rtt_ms[kept])


@dataclass(frozen=True)
class _Answer:
    number: int
    sent_s: float
    rtt_ms: float


def read_round_trips(path: str | os.PathLike[str], *, start_unix_s: float | None = None) -> Recording:
    """Reads text of `ping -D`, CSV with `unix_time_s` and `rtt_ms` (below zero or empty: lost), or JSON of irtt.

    ping and the CSV have the time at which the answer came; irtt has the time at which the packet left. Numbers that
    are missing between others are lost; answers that come twice count once. Text of ping without times needs
    `start_unix_s`, the Unix time of its first packet, and ping's last lines, which tell how long it ran. Raises
    ValueError for anything else and for fewer than 100 round trips.
    """
    text = text_of(path)
    name = Path(path).name
    first = text.lstrip().split("\n", 1)[0]
    if first.startswith("{"):
        rows = _irtt(text, name)
    elif "," in first and not first.startswith(("PING", "[")) and "icmp_seq=" not in first:
        rows = _csv(text, name)
    else:
        rows = _ping(text, name, start_unix_s)
    if len(rows) < LEAST:
        raise ValueError(
            f"{name}: {len(rows)} round trips can be read, {LEAST} are needed; use `ping -D`, a CSV with unix_time_s "
            "and rtt_ms, or irtt's JSON"
        )
    rows.sort()
    found = np.array(rows)
    if np.all(np.isnan(found[:, 1])):
        raise ValueError(f"{name}: none of {len(rows)} round trips was answered")
    return Recording(name, found[:, 0], found[:, 1])


def _csv(text: str, name: str) -> list[tuple[float, float]]:
    reader = csv.DictReader(io.StringIO(text), skipinitialspace=True)
    columns = [column.strip() for column in reader.fieldnames or ()]
    reader.fieldnames = columns
    time, trip = _column(columns, _TIMES, name), _column(columns, _TRIPS, name)
    answers: list[_Answer] = []
    lost: list[tuple[int, float]] = []
    for order, row in enumerate(reader):
        line = reader.line_num
        try:
            at_s, rtt = float(row[time]) * _TIMES[time], (row[trip] or "").strip()
            number = int(row["icmp_seq"]) if "icmp_seq" in columns else order
            rtt_ms = float(rtt) * _TRIPS[trip] if rtt else np.nan
        except (KeyError, TypeError, ValueError):
            raise ValueError(f"{name}, line {line}: needs numbers in {time} and {trip}") from None
        if not rtt_ms >= 0:
            lost.append((number, at_s))
        else:
            answers.append(_Answer(number, at_s - rtt_ms / 1e3, rtt_ms))
    return _filled([answers], lost)


def _column(columns: list[str], known: dict[str, float], name: str) -> str:
    for column in known:
        if column in columns:
            return column
    wanted = next(iter(known))
    raise ValueError(f"{name}: has no column {wanted}; its columns are {', '.join(columns)}")


def _ping(text: str, name: str, start_unix_s: float | None) -> list[tuple[float, float]]:
    """Lines of ping. Answers marked (DUP!) are left out, like all other lines."""
    runs: list[list[_Answer]] = [[]]
    seen: set[int] = set()
    timed = untimed = 0
    highest, gap_s = 0, 0.0
    sent: list[tuple[float, float]] = []
    for line in text.splitlines():
        if summary := _SUMMARY.match(line):
            sent.append((float(summary[1]), float(summary[2])))
        match = _ANSWER.match(line)
        if match is None or "DUP!" in match[4]:
            continue
        timed, untimed = timed + bool(match[1]), untimed + (not match[1])
        rtt_ms = float(match[3])
        sent_s = float(match[1]) - rtt_ms / 1e3 if match[1] else 0.0
        run = runs[-1]
        # The number nearest to the highest so far among those with these 16 bits.
        step = (int(match[2]) - highest + _NUMBERS // 2) % _NUMBERS - _NUMBERS // 2 if run else 0
        if abs(step) > _JUMP and not 0 < step <= 100 + 2 * (sent_s - run[-1].sent_s) / max(gap_s, 1e-3):
            runs.append(run := [])
            seen.clear()
        number = highest + step if run else int(match[2])
        if number in seen:
            continue
        if run and number > highest:
            gap_s = (sent_s - run[0].sent_s) / (number - run[0].number)
        highest = max(highest, number) if run else number
        seen.add(number)
        run.append(_Answer(number, sent_s, rtt_ms))
    if untimed and timed:
        raise ValueError(f"{name}: {untimed} lines have no time before them; record all of it with `ping -D`")
    if untimed:
        if start_unix_s is None or len(sent) != 1 or sent[0][0] < 2 or len(runs) != 1:
            raise ValueError(
                f"{name}: the lines have no time; record with `ping -D`, or give start_unix_s in cases.csv and keep "
                "ping's last lines, which say how many packets it sent in which time"
            )
        between_s = sent[0][1] / 1e3 / (sent[0][0] - 1)
        runs = [[_Answer(one.number, start_unix_s + (one.number - 1) * between_s, one.rtt_ms) for one in runs[0]]]
    return _filled(runs, [])


def _filled(runs: list[list[_Answer]], lost: list[tuple[int, float]]) -> list[tuple[float, float]]:
    """All round trips, with those whose numbers are missing as lost, evenly between their neighbours.

    `lost` are numbers, with the time at which something was written of them: when they left or when they were given up.
    """
    rows: list[tuple[float, float]] = []
    given_up = dict(lost)
    for run in runs:
        ordered = sorted(run, key=lambda one: one.number)
        gaps = [b.sent_s - a.sent_s for a, b in itertools.pairwise(ordered) if b.number - a.number == 1]
        gap_s = statistics.median(gaps) if gaps else 0.0
        before: _Answer | None = None
        for one in ordered:
            missing = one.number - before.number if before else 1
            at_s = before.sent_s if before else 0.0
            for n in range(1, missing):
                number = one.number - missing + n
                even_s = before.sent_s + (one.sent_s - before.sent_s) * n / missing if before else 0.0
                written_s = given_up.pop(number, None)
                # One that was given up left as much after its neighbour as others, or a timeout before.
                at_s = even_s if written_s is None else max(at_s + gap_s, written_s - _TIMEOUT_S)
                rows.append((min(at_s, one.sent_s), np.nan))
            rows.append((one.sent_s, one.rtt_ms))
            before = one
    # Before the first answer and after the last one.
    rows += [(written_s - _TIMEOUT_S, np.nan) for written_s in given_up.values()]
    return rows


def _irtt(text: str, name: str) -> list[tuple[float, float]]:
    document = object_of(text, name)
    trips = document.get("round_trips")
    if not isinstance(trips, list):
        raise ValueError(f"{name}: has no list round_trips, which irtt writes with `-o`")
    rows = []
    for trip in trips:
        try:
            sent_s = trip["timestamps"]["client"]["send"]["wall"] / 1e9
            is_lost = str(trip.get("lost")).lower() in ("true", "true_down", "true_up")
            rows.append((sent_s, np.nan if is_lost else trip["delay"]["rtt"] / 1e6))
        except (KeyError, TypeError):
            raise ValueError(
                f"{name}: round trip {len(rows)} has no send time or no delay; irtt writes times with --clock=both"
            ) from None
    return rows


def object_of(text: str, name: str) -> dict[str, Any]:
    """The object that a text of JSON holds. Raises ValueError for anything else."""
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and text.lstrip().startswith("{"):
            raise ValueError(
                f"{name}: holds several JSON texts, as `iperf3 -s -J` writes of several runs; give each a file"
            ) from None
        raise ValueError(f"{name}: not JSON: {error}") from None
    if not isinstance(document, dict):
        raise ValueError(f"{name}: an object is needed")
    return document
