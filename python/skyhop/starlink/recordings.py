"""Readers of recordings: round trips of ping (text and CSV) and irtt, transfers of iperf3; also gzip."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from skyhop.texts import text_of

Floats = npt.NDArray[np.float64]

#: A ping that waits this long for its answer counts as lost, s: the default of ping's -W without answers is 10 s, the
#: recorders of the recordings in use have 5 s. Only the instant of a lost ping hangs on it.
_TIMEOUT_S = 5.0

_PING = re.compile(r"^\[(\d+\.\d+)\].*icmp_seq=(\d+)(?:.*time=([\d.]+) ms)?")


@dataclass(frozen=True)
class Recording:
    """Round trips: when each left (Unix time, s), how long it took (ms; NaN: lost)."""

    name: str
    sent_s: Floats
    rtt_ms: Floats

    def part(self, begin: float, end: float) -> Recording:
        """From the share `begin` to the share `end` of its round trips, in time."""
        n = self.sent_s.size
        kept = slice(round(begin * n), round(end * n))
        return Recording(self.name, self.sent_s[kept], self.rtt_ms[kept])


@dataclass(frozen=True)
class Transfer:
    """Goodput of an iperf3 run: per interval in bit/s, over all streams, and retransmissions where it tells them."""

    name: str
    start_s: float
    seconds: Floats
    """Begin of each interval from the start, s."""
    goodput_bps: Floats
    retransmits: Floats | None
    streams: int
    least_rtt_ms: float | None
    """As the sender's TCP saw it; None where the file does not tell."""


def read_round_trips(path: str | os.PathLike[str]) -> Recording:
    """Reads `ping -D` text, CSV with `unix_time_s` and `rtt_ms` (below zero or empty: lost), or irtt's JSON.

    ping and the CSV have the time at which the answer came (or was given up, 5 s after it left); irtt has the time at
    which the packet left. Raises ValueError for anything else and for fewer than 100 round trips.
    """
    text = text_of(path)
    name = Path(path).name
    head = text.lstrip()[:1]
    if head == "{":
        rows = _irtt(text, name)
    elif "unix_time_s" in text.split("\n", 1)[0]:
        rows = _csv(text, name)
    else:
        rows = _ping(text)
    if len(rows) < 100:
        raise ValueError(
            f"{name}: {len(rows)} round trips can be read, 100 are needed; use `ping -D`, a CSV with unix_time_s and "
            "rtt_ms, or irtt's JSON"
        )
    rows.sort()
    found = np.array(rows)
    return Recording(name, found[:, 0], found[:, 1])


def _csv(text: str, name: str) -> list[tuple[float, float]]:
    rows = []
    for number, row in enumerate(csv.DictReader(io.StringIO(text)), start=2):
        try:
            time_s, rtt = float(row["unix_time_s"]), row["rtt_ms"]
            lost = rtt == "" or float(rtt) < 0
            rows.append((time_s - _TIMEOUT_S, np.nan) if lost else (time_s - float(rtt) / 1e3, float(rtt)))
        except (KeyError, TypeError, ValueError):
            raise ValueError(f"{name}, line {number}: needs numbers in unix_time_s and rtt_ms") from None
    return rows


def _ping(text: str) -> list[tuple[float, float]]:
    """Lines of `ping -D`; sequence numbers without a line are lost, and left between their neighbours."""
    rows: list[tuple[float, float]] = []
    before: tuple[int, float] | None = None
    for line in text.splitlines():
        match = _PING.match(line)
        if match is None or match[3] is None:
            continue
        rtt = float(match[3])
        sent, number = float(match[1]) - rtt / 1e3, int(match[2])
        if before is not None and 1 < (missing := number - before[0]) < 1000:
            rows += [(before[1] + (sent - before[1]) * n / missing, np.nan) for n in range(1, missing)]
        rows.append((sent, rtt))
        before = (number, sent)
    return rows


def _irtt(text: str, name: str) -> list[tuple[float, float]]:
    document = _json(text, name)
    rows = []
    for trip in document.get("round_trips", []):
        try:
            sent_s = trip["timestamps"]["client"]["send"]["wall"] / 1e9
            is_lost = trip.get("lost") in (True, "true", "true_down", "true_up")
            rows.append((sent_s, np.nan if is_lost else trip["delay"]["rtt"] / 1e6))
        except (KeyError, TypeError):
            raise ValueError(f"{name}: round trip {len(rows)} has no send time or no delay") from None
    return rows


def _json(text: str, name: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{name}: not JSON: {error}") from None
    if not isinstance(document, dict):
        raise ValueError(f"{name}: an object is needed")
    return document


def read_transfer(path: str | os.PathLike[str]) -> Transfer:
    """Reads iperf3's JSON (`iperf3 -J`). Raises ValueError for anything else."""
    name = Path(path).name
    document = _json(text_of(path), name)
    try:
        sums = [entry["sum"] for entry in document["intervals"]]
        seconds = np.array([one["start"] for one in sums], dtype=float)
        goodput = np.array([one["bits_per_second"] for one in sums], dtype=float)
        start = float(document["start"]["timestamp"]["timesecs"])
        streams = len(document["start"].get("connected", [])) or int(document["start"]["test_start"]["num_streams"])
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"{name}: not what `iperf3 -J` writes: needs start.timestamp and intervals[].sum") from None
    if seconds.size < 2:
        raise ValueError(f"{name}: {seconds.size} intervals, two are needed")
    senders = [one.get("sender", {}) for one in document.get("end", {}).get("streams", [])]
    rtts_us = [float(one["min_rtt"]) for one in senders if one.get("min_rtt")]
    told = all("retransmits" in one for one in sums)
    retransmits = np.array([one["retransmits"] for one in sums], dtype=float) if told else None
    return Transfer(name, start, seconds, goodput, retransmits, streams, min(rtts_us) / 1e3 if rtts_us else None)
