"""Reader of what an iperf3 server prints: the client's report has it where the server runs without `-J`."""

from __future__ import annotations

import re
from typing import Any

#: An interval of a stream, or of all of them. iperf3 counts bytes with binary prefixes and bits with decimal ones.
_INTERVAL = re.compile(
    r"^\[ *(?P<id>\d+|SUM)\] +(?P<start>\d+\.\d+)-(?P<end>\d+\.\d+) +sec +[\d.]+ [KMGT]?Bytes +"
    r"(?P<rate>[\d.]+) (?P<prefix>[KMGT]?)bits/sec(?P<rest>.*)$"
)

#: Behind the rate stand datagrams lost and all of them; or segments that were sent again, and the window.
_DATAGRAMS = re.compile(r"^ +[\d.]+ ms +(?P<lost>\d+)/(?P<all>\d+) \(")
_SEGMENTS = re.compile(r"^ +(?P<again>\d+)(?: +(?P<cwnd>[\d.]+) (?P<prefix>[KMGT]?)Bytes)?\s*$")

_POWER = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


def intervals(text: str, *, is_udp: bool, datagram_b: float) -> list[dict[str, Any]]:
    """The intervals as `iperf3 -J` has them, as far as they are read; none where the text has no line of an interval.

    A rate has three digits. That of datagrams, of `datagram_b` bytes each, follows from how many arrived.
    """
    found: list[dict[str, Any]] = []
    streams: list[dict[str, Any]] = []
    matches = [match for match in map(_INTERVAL.match, text.splitlines()) if match is not None]
    # With one stream there is no sum; the sum of several stands behind them.
    is_alone = not any(match["id"] == "SUM" for match in matches)
    for match in matches:
        # Behind the intervals stands the whole transfer.
        if match["rest"].rstrip().endswith(("sender", "receiver")):
            continue
        one = _one(match, is_udp, datagram_b)
        if one["seconds"] <= 0:
            continue
        if match["id"] != "SUM":
            streams.append({**one, "socket": int(match["id"])})
        if is_alone or match["id"] == "SUM":
            found.append({"streams": streams, "sum": one})
            streams = []
    return found


def _one(found: re.Match[str], is_udp: bool, datagram_b: float) -> dict[str, Any]:
    start, end = float(found["start"]), float(found["end"])
    one: dict[str, Any] = {
        "start": start,
        "end": end,
        "seconds": end - start,
        "bits_per_second": float(found["rate"]) * 1000 ** _POWER[found["prefix"]],
        "omitted": "(omitted)" in found["rest"],
    }
    rest = found["rest"].replace("(omitted)", "")
    if is_udp and (datagrams := _DATAGRAMS.match(rest)):
        lost, of = int(datagrams["lost"]), int(datagrams["all"])
        one |= {"lost_packets": lost, "packets": of}
        if one["seconds"] > 0 and datagram_b > 0:
            one["bits_per_second"] = 8 * datagram_b * (of - lost) / one["seconds"]
    elif not is_udp and (segments := _SEGMENTS.match(rest)):
        one["retransmits"] = int(segments["again"])
        if segments["cwnd"]:
            one["snd_cwnd"] = float(segments["cwnd"]) * 1024 ** _POWER[segments["prefix"]]
    one["bytes"] = one["bits_per_second"] * one["seconds"] / 8
    return one
