"""Reader of the text that an iperf3 server prints, which the client's report holds if the server runs without `-J`."""

from __future__ import annotations

import re
from typing import Any

#: An interval of one stream or of the sum. Prefixes of bytes are binary and those of bits decimal in iperf3.
_INTERVAL = re.compile(
    r"^\[ *(?P<id>\d+|SUM)\] +(?P<start>\d+\.\d+)-(?P<end>\d+\.\d+) +sec +[\d.]+ [KMGT]?Bytes +"
    r"(?P<rate>[\d.]+) (?P<prefix>[KMGT]?)bits/sec(?P<rest>.*)$"
)

#: The rate is followed by the numbers of lost and of all datagrams, or by retransmissions and the window. The number of
#: lost datagrams is negative where those that an interval before counted as lost arrive late.
_DATAGRAMS = re.compile(r"^ +[\d.]+ ms +(?P<lost>-?\d+)/(?P<all>\d+) \(")
_SEGMENTS = re.compile(r"^ +(?P<again>\d+)(?: +(?P<cwnd>[\d.]+) (?P<prefix>[KMGT]?)Bytes)?\s*$")

_POWER = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


def intervals(text: str, *, is_udp: bool, datagram_b: float) -> list[dict[str, Any]]:
    """The intervals in the form of `iperf3 -J`, with the keys that `transfers.py` reads; empty without any interval.

    Rates in the text have three digits. For datagrams, of `datagram_b` bytes each, the rate in bit/s is computed from
    the number that arrived.
    """
    found: list[dict[str, Any]] = []
    streams: list[dict[str, Any]] = []
    matches = [match for match in map(_INTERVAL.match, text.splitlines()) if match is not None]
    # A sum follows the streams of an interval if there are several.
    is_alone = not any(match["id"] == "SUM" for match in matches)
    for match in matches:
        # The last lines are of the whole transfer.
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
