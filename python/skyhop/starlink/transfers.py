"""Reader of recorded transfers: JSON of iperf3, TCP and UDP, up and down, one stream or several."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from skyhop.starlink import server_text
from skyhop.starlink.recordings import UNIX_TIMES_S, Floats, object_of
from skyhop.texts import text_of

#: What arrived of an offered rate where the link was not full: with less, the queue may have lost the rest.
CARRIED = 0.95


@dataclass(frozen=True)
class Transfer:
    """What a run of iperf3 says, over all streams. Intervals of its warm-up (`-O`) are left out."""

    name: str
    start_s: float
    """Unix time at which the transfer began, before the warm-up; see `is_start_exact`."""
    omitted_s: float
    """Length of the warm-up."""
    begins_s: Floats
    """Begin of each interval, from the end of the warm-up."""
    lengths_s: Floats
    rate_bps: Floats
    """Rate of each interval: as received (of an upload with `--get-server-output`), else as the sender wrote it."""
    as_received: bool
    """Whether `rate_bps` is what was received."""
    mean_bps: float
    """Rate at which user data arrived over the whole transfer, if the file tells it; else the mean of the intervals."""
    sent_begins_s: Floats
    """Begin of each interval of the sender; the same as `begins_s` where the file has one side only."""
    sent_lengths_s: Floats
    retransmits: Floats | None
    """Of each interval of the sender; None where the file does not tell, as for `-R` without `--get-server-output`."""
    resent: float | None
    """Retransmissions of the whole transfer, which `-R` tells, too; None where the file does not tell."""
    cwnd_bytes: Floats | None
    """Of each interval of the sender, the mean over the streams; None where the file does not tell."""
    streams: int
    least_rtt_ms: float | None
    """The least smoothed round trip of the sender's TCP; None where the file does not tell."""
    control: str | None
    """Congestion control of the sender; None where the file does not tell."""
    reverse: bool
    """Whether the server sent (`-R`)."""
    is_udp: bool
    offered_bps: float
    """The rate of all streams that was asked for (`-b`), also of TCP; 0 is as fast as possible."""
    lost: float | None
    """UDP: the share of packets lost. TCP: None."""
    packets: int
    """UDP: packets sent. TCP: 0."""
    packets_each: Floats | None = None
    """UDP: packets of each interval of `begins_s`, lost ones included; None for TCP and where the file does not tell
    what the receiver lost."""
    lost_each: Floats | None = None
    """UDP: packets lost of them; None likewise."""
    wire_factor: float = 1.0
    """Bytes of IP packets over bytes of user data."""
    error: str | None = None
    """What iperf3 says of a run that it did not finish."""
    mean_rtt_ms: float | None = None
    """The mean smoothed round trip of the sender's TCP, over its streams; None where the file does not tell."""
    rtt_ms: Floats | None = None
    """Smoothed round trip at the end of each interval of the sender, the mean over the streams; None where the file
    does not tell."""
    is_start_exact: bool = False
    """Whether the file tells the start in milliseconds, as iperf3 does from 3.19 on; else in whole seconds."""
    all_until_s: float = math.inf
    """When the first of the streams ended, from the end of the warm-up, if others went on; else infinite."""

    @property
    def duration_s(self) -> float:
        """Length without the warm-up."""
        return float(self.begins_s[-1] + self.lengths_s[-1])

    def per_second(self) -> Floats:
        """Rate of each full second, bit/s."""
        return in_seconds(self.begins_s, self.lengths_s, self.rate_bps)


def in_seconds(begins_s: Floats, lengths_s: Floats, rate_bps: Floats) -> Floats:
    """Mean rate of each full second from rates of intervals, which count in the second that holds their middle."""
    second = np.floor(begins_s + lengths_s / 2).astype(int)
    bits = np.bincount(second, weights=rate_bps * lengths_s)
    time_s = np.bincount(second, weights=lengths_s)
    # A second that the recording covers by less than 90 % would look slow or fast by chance.
    return np.asarray(bits[time_s > 0.9] / time_s[time_s > 0.9])


class _Refused(ValueError):
    """A report that is JSON of iperf3, but does not tell what is needed."""


def read_transfer(path: str | os.PathLike[str]) -> Transfer:
    """Reads what `iperf3 -J` or `iperf3 --json-stream` writes. Raises ValueError for anything else."""
    name = Path(path).name
    document = _document(text_of(path), name)
    try:
        found = _transfer(document, name)
        _check(found)
    except _Refused:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise ValueError(
            f"{name}: not what `iperf3 -J` writes: needs start.timestamp, start.test_start and intervals[].sum, with "
            "finite numbers"
        ) from None
    return found


def _check(found: Transfer) -> None:
    """Raises ValueError where a number is not finite or below zero, or where times are not those of a transfer."""
    single = (found.start_s, found.omitted_s, found.mean_bps, found.offered_bps, found.resent or 0.0, found.lost or 0.0,
              found.least_rtt_ms or 0.0, found.mean_rtt_ms or 0.0, found.packets)  # fmt: skip
    series = (found.lengths_s, found.rate_bps, found.sent_lengths_s, found.retransmits, found.cwnd_bytes,
              found.packets_each, found.lost_each, found.rtt_ms)  # fmt: skip
    for values in (np.array(single), *(one for one in series if one is not None)):
        if not np.all(np.isfinite(values)) or np.any(values < 0):
            raise ValueError
    if not np.all(np.isfinite(np.concatenate([found.begins_s, found.sent_begins_s]))) or (found.lost or 0.0) > 1:
        raise ValueError
    if found.control is not None and not isinstance(found.control, str):
        raise TypeError
    if not UNIX_TIMES_S[0] <= found.start_s <= UNIX_TIMES_S[1]:
        key, told = ("timemillisecs", 1e3 * found.start_s) if found.is_start_exact else ("timesecs", found.start_s)
        raise _Refused(
            f"{found.name}: start.timestamp.{key} is {told:.10g}, which is not the Unix time that the slots need: was "
            "the clock of the recorder set?"
        )
    for begins_s, lengths_s in ((found.begins_s, found.lengths_s), (found.sent_begins_s, found.sent_lengths_s)):
        is_odd = (np.diff(begins_s, prepend=-_EXACT_S) <= 0) | (begins_s + lengths_s > _LONGEST_S)
        if np.any(is_odd):
            place = int(np.argmax(is_odd))
            raise _Refused(
                f"{found.name}: the interval {place + 1} of {begins_s.size} begins at {begins_s[place]:g} s; intervals "
                "follow one another from 0 s on, for 30 days at most"
            )


def _transfer(document: dict[str, Any], name: str) -> Transfer:
    intervals = document.get("intervals") or []
    if document.get("error") and len(intervals) < 2:
        raise _Refused(f"{name}: iperf3 says: {document['error']}")
    if any("sum_bidir_reverse" in one for one in intervals):
        raise _Refused(f"{name}: --bidir sends both ways at once; record one direction in a file")
    start = document["start"]
    test = start["test_start"]
    exact_ms = start["timestamp"].get("timemillisecs")
    start_s = float(start["timestamp"]["timesecs"]) if exact_ms is None else float(exact_ms) / 1e3
    streams = len(start.get("connected") or []) or int(test["num_streams"])
    is_udp = str(test["protocol"]).upper() == "UDP"
    reverse = bool(test.get("reverse"))
    offered = float(test.get("target_bitrate", start.get("target_bitrate", 0)) or 0) * streams
    own = _counted(intervals)
    other = _counted(_of_server(document, is_udp, name))
    # Reports of a client and of a server look alike. Versions that do not say who sent are taken for the client's.
    writer_sent = bool(own[0]["sum"].get("sender", not reverse)) if own else not reverse
    # The other side's report comes with --get-server-output.
    received, sent = (other or own, own) if writer_sent else (own, other or own)
    begins, lengths, rates = (np.array([one["sum"][key] for one in received], dtype=float) for key in _SERIES)
    sent_begins, sent_lengths = (np.array([one["sum"][key] for one in sent], dtype=float) for key in _SERIES[:2])
    of_receiver = [[one["sum"].get(key) for one in received] for key in ("packets", "lost_packets")]
    told = is_udp and not any(None in each for each in of_receiver)
    packets_each, lost_each = np.array(of_receiver, dtype=float) if told else (None, None)
    lost_each = None if lost_each is None else _without_late(lost_each)
    wire_factor = _wire_factor(start, is_udp)
    if begins.size < 2 or lengths.min() <= 0:
        raise _Refused(f"{name}: {begins.size} intervals that count, two are needed")
    end = document.get("end") or {}
    arrived = end.get("sum_received") or {}
    loss = (end.get("sum") or {}).get("lost_percent")
    mean = float(arrived.get("bits_per_second") or 0.0) or float(np.average(rates, weights=lengths))
    if not arrived and loss is not None and writer_sent and not other:
        # Older versions tell only what the sender of datagrams sent, and how many of them came.
        mean *= 1 - float(loss) / 100
    senders = [one.get("sender", {}) for one in end.get("streams", [])]
    rtts = [[float(one["rtt"]) for one in entry.get("streams", []) if one.get("rtt")] for entry in sent]
    every_us = [rtt_us for of_interval in rtts for rtt_us in of_interval]
    rtts_us = [float(one["min_rtt"]) for one in senders if one.get("min_rtt")] or every_us
    means_us = [float(one["mean_rtt"]) for one in senders if one.get("mean_rtt")] or every_us
    each = [one["sum"].get("retransmits") for one in sent]
    retransmits = None if None in each else np.array(each, dtype=float)
    if retransmits is not None and retransmits.min() < 0:
        retransmits = None
    total = (end.get("sum_sent") or {}).get("retransmits") if retransmits is None else retransmits.sum()
    # Where the sender's system does not count them, the report has -1.
    total = None if total is None or float(total) < 0 else float(total)
    windows = [[float(one["snd_cwnd"]) for one in entry.get("streams", []) if "snd_cwnd" in one] for entry in sent]
    packets = int((end.get("sum") or {}).get("packets") or sum(one["sum"].get("packets", 0) for one in sent))
    return Transfer(
        name=name,
        start_s=start_s,
        omitted_s=float(test.get("omit", 0) or 0),
        begins_s=begins,
        lengths_s=lengths,
        rate_bps=rates,
        as_received=not writer_sent or bool(other),
        mean_bps=mean,
        sent_begins_s=sent_begins,
        sent_lengths_s=sent_lengths,
        retransmits=retransmits,
        resent=None if is_udp else total,
        cwnd_bytes=np.array([np.mean(one) for one in windows]) if all(windows) else None,
        streams=streams,
        least_rtt_ms=min(rtts_us) / 1e3 if rtts_us else None,
        control=end.get("sender_tcp_congestion"),
        reverse=reverse,
        is_udp=is_udp,
        offered_bps=offered,
        lost=float(loss) / 100 if is_udp and loss is not None else None,
        packets=packets if is_udp else 0,
        packets_each=packets_each,
        lost_each=lost_each,
        wire_factor=wire_factor,
        error=str(document["error"]) if document.get("error") else None,
        mean_rtt_ms=None if is_udp or not means_us else float(np.mean(means_us)) / 1e3,
        rtt_ms=None if is_udp or not all(rtts) else np.array([np.mean(one) for one in rtts]) / 1e3,
        is_start_exact=exact_ms is not None,
        all_until_s=_all_until_s(received, streams),
    )


def _without_late(lost_each: Floats) -> Floats:
    """Losses of each interval without datagrams that arrived in a later one.

    iperf3 subtracts such a datagram from the losses of the interval in which it arrives, which may become negative.
    Here it is subtracted from the intervals before. A rest that no interval before has stays negative.
    """
    late = 0.0
    found: Floats = lost_each.copy()
    for place in range(found.size - 1, -1, -1):
        late += min(found[place], 0.0)
        found[place] = max(found[place], 0.0)
        arrived = min(found[place], -late)
        found[place] -= arrived
        late += arrived
    found[:1] += late
    return found


def _of_server(document: dict[str, Any], is_udp: bool, name: str) -> list[dict[str, Any]]:
    """Intervals of the other side's report, which comes with `--get-server-output`: as JSON or as it was printed."""
    if told := (document.get("server_output_json") or {}).get("intervals"):
        return list(told)
    if not (text := document.get("server_output_text")):
        return []
    test = document["start"]["test_start"]
    found = server_text.intervals(text, is_udp=is_udp, datagram_b=float(test.get("blksize") or 0))
    # The client itself tells what arrived of a download.
    if not test.get("reverse") and (len(found) < 2 or (is_udp and any("packets" not in one["sum"] for one in found))):
        raise _Refused(
            f"{name}: server_output_text has no intervals that can be read: run the server with `iperf3 -s -J`, or "
            "leave --get-server-output out"
        )
    return found


def _all_until_s(intervals: list[dict[str, Any]], streams: int) -> float:
    """When the first of so many streams carried its last data, if that is long before the others did; else infinite.

    A stream may stand still for a while, as in an outage, so the time counts from a tenth of the transfer and 5 s on.
    """
    ends: dict[Any, float] = {}
    last_s = 0.0
    for one in intervals:
        end_s = float(one["sum"]["start"]) + float(one["sum"]["seconds"])
        for n, stream in enumerate(one.get("streams") or []):
            ends.setdefault(stream.get("socket", n), 0.0)
            if stream.get("bytes"):
                ends[stream.get("socket", n)] = last_s = end_s
    if len(ends) != streams or last_s - min(ends.values()) < max(_STILL_S, 0.1 * last_s):
        return math.inf
    return min(ends.values())


def _wire_factor(start: dict[str, Any], is_udp: bool) -> float:
    """IPv4 and UDP add 28 bytes to each datagram; IPv4, TCP and its timestamps 52 to each segment."""
    size = start["test_start"].get("blksize") if is_udp else start.get("tcp_mss") or start.get("tcp_mss_default")
    header = 28 if is_udp else 52
    if not size:
        return 1.0
    if not 0 < (bytes_of_data := float(size)) < 65536:
        raise ValueError(size)
    return 1 + header / bytes_of_data


#: The first interval may begin so much before the end of the warm-up, s: the report rounds.
_EXACT_S = 1e-3

#: No transfer goes on for longer, s.
_LONGEST_S = 30 * 86_400.0

#: A stream without data for so long at the end has ended, s.
_STILL_S = 5.0

#: What intervals say of themselves and of all streams.
_SERIES = ("start", "seconds", "bits_per_second")


def _counted(intervals: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Intervals without those of the warm-up."""
    return [one for one in intervals if not one["sum"].get("omitted")]


def _document(text: str, name: str) -> dict[str, Any]:
    """One object, or the events of `--json-stream`, one a line, put together as one."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not (len(lines) > 1 and lines[0].lstrip().startswith('{"event"')):
        return object_of(text, name)
    if "{" in lines:
        # `--json-stream-full-output`: behind the events stands what `-J` writes.
        return object_of("\n".join(lines[lines.index("{") :]), name)
    found: dict[str, Any] = {"intervals": []}
    for number, line in enumerate(lines, start=1):
        try:
            event = json.loads(line)
            if event["event"] == "interval":
                found["intervals"].append(event["data"])
            else:
                found[event["event"]] = event["data"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise ValueError(
                f"{name}, line {number}: not an event of `iperf3 --json-stream`, which writes one JSON object a line; "
                "leave other lines out, such as one that was cut off"
            ) from None
    return found
