"""Readers of recorded round trips: text of ping, CSV, JSON of irtt; also compressed by gzip."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
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
Places = npt.NDArray[np.intp]

#: A recorder of CSV that waits for each answer gives up after so long, s. A lost ping's row then has the time at which
#: it was given up.
_TIMEOUT_S = 5.0

#: Round trips that a recording needs.
LEAST = 100

#: Numbers of ICMP echo requests have 16 bits.
_NUMBERS = 65_536

#: Where more of the rows of a CSV share their time with others, its clock is too coarse to tell answers apart.
_COARSE = 0.01

#: A jump of the numbers by more than this is looked at: it may be the start of another run of ping.
_JUMP = 100

_ANSWER = re.compile(r"^(?:\[(\d+(?:\.\d+)?)\])?.*\bicmp_seq[= ](\d+)\b.*\btime[=<]\s*([\d.]+)\s*ms(.*)$")
_SUMMARY = re.compile(r"^(\d+) packets transmitted\b.*\btime (\d+)\s*ms")

#: Unix times lie between these, s: 2001-09-09 and 2096-10-02. Others count from somewhere else or in another unit.
UNIX_TIMES_S = (1e9, 4e9)

#: A satellite at 300 km and a station below it: up and down, there and back take 4 ms. Other orbits may be lower.
_SHORTEST_MS = 1.0

#: Columns of CSV that hold the Unix time of the answer, and the round trip; with what makes s and ms of them.
_TIMES = {"unix_time_s": 1.0, "unix_time_ms": 1e-3, "unix_time_ns": 1e-9}
_TRIPS = {"rtt_ms": 1.0, "rtt_s": 1e3, "rtt_us": 1e-3}

#: A time this near to a full second counts as one, s. A Unix time as a float has an error of 2e-7 s.
_EVEN_S = 1e-5


@dataclass(frozen=True)
class Recording:
    """Round trips: when each left (Unix time, s), how long it took (ms; NaN: lost)."""

    name: str
    sent_s: Floats
    rtt_ms: Floats
    whole_seconds: bool = False
    """Whether its recorder cut all times to whole seconds. `sent_s` may then be wrong by a second either way, so slots
    can be told, and what a pause of less than a second does at their edges cannot."""

    def part(self, begin: float, end: float) -> Recording:
        """From the share `begin` to the share `end` of its round trips, in the order of time.

        Raises ValueError for a part of fewer than 100 round trips, or without an answer.
        """
        n = self.sent_s.size
        kept = slice(round(begin * n), round(end * n))
        found = Recording(self.name, self.sent_s[kept], self.rtt_ms[kept], self.whole_seconds)
        if found.sent_s.size < LEAST or np.all(np.isnan(found.rtt_ms)):
            answered = np.count_nonzero(~np.isnan(found.rtt_ms))
            raise ValueError(
                f"{self.name}: the part from {begin:g} to {end:g} has {found.sent_s.size} round trips, {answered} of "
                f"them answered; {LEAST} are needed, with an answer"
            )
        return found


@dataclass(frozen=True)
class _Answer:
    number: int
    sent_s: float
    rtt_ms: float


def read_round_trips(path: str | os.PathLike[str], *, start_unix_s: float | None = None) -> Recording:
    """Reads text of `ping -D`, CSV with `unix_time_s` and `rtt_ms` (below zero or empty: lost), or JSON of irtt.

    ping and the CSV have the time at which the answer came; irtt has the time at which the packet left. Numbers that
    are missing between others are lost; answers that come twice count once, as do rows of a CSV without numbers that
    repeat a time and its round trip. Text of ping without times needs `start_unix_s`, the Unix time of its first
    packet, and ping's last lines, which tell how long it ran. If all times of answers are whole seconds, the recording
    says so. Raises ValueError for anything else and for fewer than 100 round trips.
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
    if not np.all((found[:, 0] >= UNIX_TIMES_S[0]) & (found[:, 0] <= UNIX_TIMES_S[1])):
        raise ValueError(
            f"{name}: the times from {found[0, 0]:.6g} to {found[-1, 0]:.6g} s are not Unix times, which the slots "
            "need; ping writes them with -D, irtt with --clock=both"
        )
    if np.all(np.isnan(found[:, 1])):
        raise ValueError(f"{name}: none of {len(rows)} round trips was answered")
    if (median_ms := float(np.nanmedian(found[:, 1]))) < _SHORTEST_MS:
        raise ValueError(
            f"{name}: the median round trip is {median_ms:.3g} ms, which is too short for a path over a satellite: is "
            "it in another unit?"
        )
    came_s = found[:, 0] + found[:, 1] / 1e3
    came_s = came_s[~np.isnan(came_s)]
    return Recording(name, found[:, 0], found[:, 1], bool(np.all(np.abs(came_s - np.round(came_s)) < _EVEN_S)))


def _csv(text: str, name: str) -> list[tuple[float, float]]:
    # Not a DictReader: a dictionary for each row takes as long as all that is done with it.
    reader = csv.reader(io.StringIO(text), skipinitialspace=True)
    columns = [column.strip() for column in next(reader, [])]
    place = {column: n for n, column in enumerate(columns)}
    time, trip = _column(columns, _TIMES, name), _column(columns, _TRIPS, name)
    rows: list[tuple[float, int, float]] = []
    numbered = "icmp_seq" in columns
    when, what, which = place[time], place[trip], place.get("icmp_seq", 0)
    for order, row in enumerate(filter(None, reader)):
        line = reader.line_num
        try:
            # The row of a lost one may end before its round trip.
            at_s, rtt = float(row[when]) * _TIMES[time], row[what].strip() if what < len(row) else ""
            number = int(row[which]) if numbered else order
            rtt_ms = float(rtt) * _TRIPS[trip] if rtt else math.nan
        except (IndexError, ValueError):
            raise ValueError(f"{name}, line {line}: needs numbers in {time} and {trip}") from None
        if not UNIX_TIMES_S[0] <= at_s <= UNIX_TIMES_S[1]:
            raise ValueError(
                f"{name}, line {line}: {row[when]} in {time} is not a Unix time, which the slots need; columns may be "
                f"{', '.join(_TIMES)}"
            )
        if rtt_ms == math.inf:
            raise ValueError(f"{name}, line {line}: {row[what]} in {trip} is not a round trip; leave lost ones empty")
        rows.append((at_s, number, rtt_ms if rtt_ms >= 0 else math.nan))
    if not numbered:
        rows = _once(rows)
    times = np.array([row[0] for row in rows])
    if np.count_nonzero(np.diff(times) < 0) > times.size / 10:
        # Rows in another order than that of the answers: numbers that wrap can be told by their times only.
        rows.sort()
    runs = _Runs()
    for at_s, number, rtt_ms in rows:
        if math.isnan(rtt_ms):
            runs.lose(number, at_s)
        else:
            runs.add(number, at_s - rtt_ms / 1e3, rtt_ms)
    return _filled(runs)


def _once(rows: list[tuple[float, int, float]]) -> list[tuple[float, int, float]]:
    """Rows without numbers, without those that repeat another's time and round trip.

    Of a clock so coarse that different answers share their times, equal rows may be different answers, too: all stay.
    """
    first: dict[tuple[float, float | None], tuple[float, int, float]] = {}
    for at_s, number, rtt_ms in rows:
        first.setdefault((at_s, None if math.isnan(rtt_ms) else rtt_ms), (at_s, number, rtt_ms))
    if len(first) - len({at_s for at_s, _ in first}) > _COARSE * len(first):
        return rows
    # Their order stands for the numbers, so they have to be those of rows that follow one another.
    return [(at_s, number, rtt_ms) for number, (at_s, _, rtt_ms) in enumerate(first.values())]


def _column(columns: list[str], known: dict[str, float], name: str) -> str:
    for column in known:
        if column in columns:
            return column
    wanted = next(iter(known))
    raise ValueError(f"{name}: has no column {wanted}; its columns are {', '.join(columns)}")


def _ping(text: str, name: str, start_unix_s: float | None) -> list[tuple[float, float]]:
    """Lines of ping. Answers marked (DUP!) are left out, like all other lines."""
    runs = _Runs()
    timed = untimed = 0
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
        runs.add(int(match[2]), sent_s, rtt_ms)
    if untimed and timed:
        raise ValueError(f"{name}: {untimed} lines have no time before them; record all of it with `ping -D`")
    if untimed:
        if start_unix_s is None or len(sent) != 1 or sent[0][0] < 2 or len(runs.answers) != 1:
            raise ValueError(
                f"{name}: the lines have no time; record with `ping -D`, or give start_unix_s in cases.csv and keep "
                "ping's last lines, which say how many packets it sent in which time"
            )
        between_s = sent[0][1] / 1e3 / (sent[0][0] - 1)
        only = runs.answers[0]
        runs.answers[0] = [_Answer(one.number, start_unix_s + (one.number - 1) * between_s, one.rtt_ms) for one in only]
    return _filled(runs)


class _Runs:
    """Answers of one or more runs of ping in the order of the recording, with numbers that do not wrap."""

    def __init__(self) -> None:
        self.answers: list[list[_Answer]] = [[]]
        self.lost: dict[tuple[int, int], float] = {}
        """Run and number of what was lost, with the time at which something was written of it: when it left or when it
        was given up."""
        self._seen: set[int] = set()
        self._highest = 0
        self._gap_s = 0.0

    def add(self, number: int, sent_s: float, rtt_ms: float) -> None:
        """An answer. One that comes twice counts once."""
        number = self._whole(number, sent_s)
        if number in self._seen:
            return
        run = self.answers[-1]
        if run and number > self._highest:
            self._gap_s = (sent_s - run[0].sent_s) / (number - run[0].number)
        self._highest = max(self._highest, number) if run else number
        self._seen.add(number)
        run.append(_Answer(number, sent_s, rtt_ms))

    def lose(self, number: int, at_s: float) -> None:
        """A line that says that a number was lost."""
        number = self._whole(number, at_s)
        self.lost[len(self.answers) - 1, number] = at_s

    def _whole(self, number: int, at_s: float) -> int:
        """The number nearest to the highest so far among those with these 16 bits; begins a run where none is near."""
        run = self.answers[-1]
        if not run:
            return number
        step = (number - self._highest + _NUMBERS // 2) % _NUMBERS - _NUMBERS // 2
        if abs(step) > _JUMP and not 0 < step <= 100 + 2 * (at_s - run[-1].sent_s) / max(self._gap_s, 1e-3):
            self.answers.append([])
            self._seen.clear()
            return number
        return self._highest + step


def _filled(runs: _Runs) -> list[tuple[float, float]]:
    """All round trips, with those whose numbers are missing as lost, evenly between their neighbours."""
    rows: list[tuple[float, float]] = []
    given_up = dict(runs.lost)
    for place, run in enumerate(runs.answers):
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
                written_s = given_up.pop((place, number), None)
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
    rows: list[tuple[float, float]] = []
    for trip in trips:
        try:
            sent_s = trip["timestamps"]["client"]["send"]["wall"] / 1e9
            is_lost = str(trip.get("lost")).lower() in ("true", "true_down", "true_up")
            rtt_ms = np.nan if is_lost else trip["delay"]["rtt"] / 1e6
            if not is_lost and not 0 < rtt_ms < np.inf:
                raise ValueError(f"{name}: round trip {len(rows)} takes {rtt_ms:g} ms, which cannot be")
            rows.append((sent_s, rtt_ms))
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
    except (RecursionError, ValueError):
        raise ValueError(f"{name}: not JSON that a tool writes: it nests too deep, or has too long a number") from None
    if not isinstance(document, dict):
        raise ValueError(f"{name}: an object is needed")
    return document
