"""Totals and time series of a run as other tools print theirs: iperf3, FlowMonitor of ns-3, trace lines of ns-2.

What a run does not record is left out: a field that is missing says so, and one that is guessed would not.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from skyhop.legs import earlier_legs

if TYPE_CHECKING:
    import polars as pl

#: Unix time of t = 0 in a report of a run without an epoch: 2020-01-01 00:00 UTC, a full minute, as t = 0 is for slots.
NO_EPOCH_S = 1_577_836_800

#: Events of the table of packets as ns-2 writes them (The ns Manual, chapter "Trace and Monitoring Support").
_NS2_EVENTS = {"enq": "+", "deq": "-", "rcv": "r", "drop": "d", "loss": "d"}


def iperf3(
    flows: list[dict[str, Any]],
    series: Iterable[pl.DataFrame],
    total: dict[str, Any],
    *,
    simulated_s: float,
    scenario: dict[str, Any],
) -> Iterator[str]:
    """Parts of the JSON of `iperf3 --json`, a stream for each flow; rates are goodput, times in seconds, RTTs in µs.

    `series` are pieces of the table, in order of time. Intervals are the steps of the recording, a line each. Their
    sums count the last leg of a split connection, as the total does: the other legs hand on what it delivers.
    Retransmissions and windows of an interval are not recorded by step. `scenario` is the canonical one: it has the
    epoch, the protocol of the flows and their congestion control, where these are the same for all. Without an epoch
    t = 0 is `NO_EPOCH_S`.
    """
    ids = {flow["name"]: rank for rank, flow in enumerate(flows, start=1)}
    connected = [
        {"socket": ids[flow["name"]], "local_host": flow["from"], "remote_host": flow["to"], "name": flow["name"]}
        for flow in flows
    ]
    protocol = _protocol(scenario)
    epoch_ms = _epoch_ms(scenario)
    test = {"num_streams": len(flows), "omit": 0, "duration": simulated_s, "reverse": 0}
    start = {
        "connected": connected,
        "version": "skyhop",
        "timestamp": {"timesecs": epoch_ms // 1000, "timemillisecs": epoch_ms},
        "test_start": {"protocol": protocol, **test} if protocol else test,
    }
    yield f'{{"start": {_json(start)},\n"intervals": ['
    smoothed: dict[int, _Rtts] = {}
    for rank, interval in enumerate(_intervals(series, ids)):
        for stream in interval["streams"]:
            if "rtt" in stream:
                smoothed.setdefault(stream["socket"], _Rtts()).add(stream["rtt"])
        yield f"{',' if rank else ''}\n{json.dumps(interval)}"
    ends = []
    for flow in flows:
        # iperf3 looks at the smoothed round trip at the end of each interval.
        rtts = smoothed[ids[flow["name"]]].told() if ids[flow["name"]] in smoothed else {}
        times = {"start": flow["start_s"], "end": flow["stop_s"], "seconds": flow["stop_s"] - flow["start_s"]}
        received = {"bytes": flow["bytes_delivered"], "bits_per_second": flow["goodput_bps"]}
        ends.append({
            "sender": {"socket": ids[flow["name"]], **times, "retransmits": flow["retransmissions"], **rtts},
            "receiver": {"socket": ids[flow["name"]], **times, **received},
        })  # fmt: skip
    whole = {"start": 0.0, "end": simulated_s, "seconds": simulated_s}
    end: dict[str, Any] = {
        "streams": ends,
        "sum_sent": {**whole, "retransmits": sum(flow["retransmissions"] or 0 for flow in flows)},
        "sum_received": {**whole, "bytes": total["bytes_delivered"], "bits_per_second": total["goodput_bps"]},
    }
    if protocol == "UDP":
        sent = sum(flow["packets_sent"] for flow in flows)
        lost = sum(sum(flow["drops"].values()) for flow in flows)
        share = 100 * lost / sent if sent else 0.0
        end["sum"] = {**whole, "packets": sent, "lost_packets": lost, "lost_percent": share}
        del end["sum_sent"]
    elif (control := _control(scenario)) is not None:
        end["sender_tcp_congestion"] = control
    yield f'\n],\n"end": {_json(end)}}}\n'


@dataclass
class _Rtts:
    """Round trips of a stream in µs."""

    least: int = 0
    most: int = 0
    total: int = 0
    count: int = 0

    def add(self, rtt: int) -> None:
        self.least = min(self.least, rtt) if self.count else rtt
        self.most = max(self.most, rtt)
        self.total += rtt
        self.count += 1

    def told(self) -> dict[str, int]:
        return {"max_rtt": self.most, "min_rtt": self.least, "mean_rtt": round(self.total / self.count)}


def _intervals(series: Iterable[pl.DataFrame], ids: dict[str, int]) -> Iterator[dict[str, Any]]:
    earlier = earlier_legs(ids)
    step_s = 0.0
    rows = (row for piece in series for row in piece.iter_rows(named=True))
    for time_s, of_step in groupby(rows, key=itemgetter("time_s")):
        # The first point of the grid lies one step after the start.
        step_s = step_s or time_s
        streams, goodput = [], 0.0
        for row in of_step:
            streams.append(_stream(row, ids[row["flow"]], time_s - step_s))
            goodput += 0.0 if row["flow"] in earlier else row["goodput_bps"]
        # The data that arrive, as the receiver's side of a report has them.
        of_all = {**_span(time_s - step_s, time_s, goodput), "omitted": False, "sender": False}
        yield {"streams": streams, "sum": of_all}


def has_epoch(scenario: dict[str, Any]) -> bool:
    """Whether a scenario says at what time it begins."""
    return bool((scenario.get("constellation") or {}).get("epoch"))


def _epoch_ms(scenario: dict[str, Any]) -> int:
    """Unix time of t = 0 in milliseconds, as iperf3 writes it from version 3.19 on."""
    if not has_epoch(scenario):
        return 1000 * NO_EPOCH_S
    return round(1000 * datetime.fromisoformat(scenario["constellation"]["epoch"].replace("Z", "+00:00")).timestamp())


def kinds(scenario: dict[str, Any]) -> set[str]:
    """The protocols of the flows."""
    return {kind for one in scenario.get("flows", []) for kind in ("tcp", "udp", "quic") if kind in one}


def _protocol(scenario: dict[str, Any]) -> str:
    """The protocol of all flows, if they have the same one and iperf3 knows it; else empty."""
    found = kinds(scenario)
    return found.pop().upper() if found in ({"tcp"}, {"udp"}) else ""


def _control(scenario: dict[str, Any]) -> str | None:
    """The congestion control of all flows, if they have the same one."""
    controls = set()
    for one in scenario.get("flows", []):
        control = (one.get("tcp") or {}).get("control")
        controls.add(next(iter(control), None) if isinstance(control, dict) else control)
    return controls.pop() if len(controls) == 1 else None


def _stream(row: dict[str, Any], socket: int, start_s: float) -> dict[str, Any]:
    found = {"socket": socket, **_span(start_s, row["time_s"], row["goodput_bps"]), "omitted": False, "sender": False}
    if row["srtt_s"] is not None:
        found["rtt"] = round(row["srtt_s"] * 1e6)
    return found


def _span(start_s: float, end_s: float, rate_bps: float) -> dict[str, Any]:
    seconds = end_s - start_s
    return {
        "start": start_s, "end": end_s, "seconds": seconds, "bytes": round(rate_bps * seconds / 8),
        "bits_per_second": rate_bps,
    }  # fmt: skip


def _json(value: Any) -> str:
    return json.dumps(value, indent=1)


def flow_monitor(flows: list[dict[str, Any]], addresses: dict[str, str]) -> str:
    """The XML that FlowMonitor of ns-3 serialises, as far as the run has its values; one flow for each flow's data.

    Bytes count headers, as FlowMonitor counts them; those received are counted until the flow's own time ends.
    """
    root = ElementTree.Element("FlowMonitor")
    stats = ElementTree.SubElement(root, "FlowStats")
    classifier = ElementTree.SubElement(root, "Ipv4FlowClassifier")
    for number, flow in enumerate(flows, start=1):
        received = flow["packets_received"]
        own_s = flow["stop_s"] - flow["start_s"]
        values: dict[str, Any] = {
            "flowId": number,
            "rxBytes": round(flow["throughput_bps"] * own_s / 8),
            "txPackets": flow["packets_sent"],
            "rxPackets": received,
            "lostPackets": sum(flow["drops"].values()),
        }
        # A flow of messages has the delay of each message, from the application's write on, and none of its packets.
        is_of_packets = flow.get("messages_received") is None
        if flow["delay_mean_s"] is not None and is_of_packets:
            values |= {
                "delaySum": _nanoseconds(flow["delay_mean_s"] * received),
                "maxDelay": _nanoseconds(flow["delay_max_s"]),
                "minDelay": _nanoseconds(flow["delay_min_s"]),
            }
        if flow["jitter_mean_s"] is not None and is_of_packets:
            values["jitterSum"] = _nanoseconds(flow["jitter_mean_s"] * (received - 1))
        element = ElementTree.SubElement(stats, "Flow", {key: str(value) for key, value in values.items()})
        for reason, count in flow["drops"].items():
            if count:
                ElementTree.SubElement(element, "packetsDropped", {"reason": reason, "number": str(count)})
        ElementTree.SubElement(classifier, "Flow", {
            "flowId": str(number), "sourceAddress": addresses[flow["from"]],
            "destinationAddress": addresses[flow["to"]], "name": flow["name"],
        })  # fmt: skip
    ElementTree.indent(root)
    return '<?xml version="1.0" ?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _nanoseconds(seconds: float) -> str:
    return f"+{seconds * 1e9:.0f}ns"


def ns2_lines(
    packets: pl.DataFrame, links: pl.DataFrame, ends: dict[str, tuple[str, str]]
) -> tuple[Iterator[str], dict[str, int]]:
    """The lines of an ns-2 trace of the recorded links, and the number of each node.

    An ACK has the number of the segment that it acknowledges, as in ns-2; of the TCP of Linux and of QUIC `seq` is the
    number that their packets have.
    """
    peers = {
        row["link"]: (row["from"], row["to"] or row["link"].split("->")[-1]) for row in links.iter_rows(named=True)
    }
    used = {name for link in packets["link"].unique().to_list() for name in peers[link]}
    used |= {name for pair in ends.values() for name in pair}
    number = {name: rank for rank, name in enumerate(sorted(used))}
    flows = {name: rank for rank, name in enumerate(sorted(packets["flow"].unique().to_list()))}

    def lines() -> Iterator[str]:
        ids: dict[tuple[str, bool, int], int] = {}
        for row in packets.iter_rows(named=True):
            event = _NS2_EVENTS.get(row["event"])
            if event is None:
                continue
            flow = row["flow"]
            source, sink = (number.get(name, -1) for name in ends.get(flow, ("", "")))
            begin, end = (sink, source) if row["is_ack"] else (source, sink)
            packet = ids.setdefault((flow, row["is_ack"], row["packet"]), len(ids))
            kind = "ack" if row["is_ack"] else "tcp" if row["protocol"] == "tcp" else "udp"
            flags = "".join((
                "C" if "ECE" in row["tcp_flags"] else "-", "--", "A" if "CWR" in row["tcp_flags"] else "-",
                "E" if row["ecn"] == "ce" else "-", "-", "-" if row["ecn"] == "not-ect" else "N",
            ))  # fmt: skip
            here, there = (number[name] for name in peers[row["link"]])
            seq = -1 if row["seq"] is None else row["seq"]
            yield (
                f"{event} {row['time_s']:.9f} {here} {there} {kind} {row['size_bytes']} {flags} {flows[flow]} "
                f"{begin}.{flows[flow]} {end}.{flows[flow]} {seq} {packet}\n"
            )

    return lines(), number
