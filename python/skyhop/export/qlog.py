"""qlog: events of a flow at its source, for qvis and other tools of QUIC.

The format is qlog 0.3 in JSON (draft-ietf-quic-qlog-main-schema-03, draft-ietf-quic-qlog-quic-events-02). A trace is
of one flow. Its packets are those of the table of packets.

A packet of QUIC has its own number and type, and the ACK and STREAM frames in it; the records leave out all other
frames. Packets that the stack took for lost, the reductions of its window, and the end of its connection in its own
words are events of their own. A packet of TCP is numbered by what the source has sent. An ACK of TCP acknowledges
numbers of packets here: those whose bytes it covers, cumulatively or by SACK.
"""

from __future__ import annotations

import heapq
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, takewhile
from operator import itemgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

#: States of qlog by the phases of the records (recovery:congestion_state_updated).
_STATES = {
    "slow-start": "slow_start", "congestion-avoidance": "congestion_avoidance",
    "recovery": "recovery", "loss": "recovery",
}  # fmt: skip

#: Types of packets of qlog by those of the records.
_TYPES = {"initial": "initial", "handshake": "handshake", "0rtt": "0RTT", "retry": "retry", "1rtt": "1RTT"}

#: Reductions of the window of QUIC, and what qlog calls their trigger.
_REDUCTIONS = {"loss": None, "mark": "ecn", "persistent congestion": "persistent_congestion"}

#: The end of a connection of QUIC, and whose it was.
_ENDINGS = {"connection lost": "local", "closed by receiver": "remote"}

#: Events of the table of packets that become events here, and what is read of them besides columns of QUIC.
_PACKET_EVENTS = ("deq", "ack", "taken-for-lost")
_PACKET_COLUMNS = (
    "time_s", "link", "flow", "event", "packet", "is_ack", "seq", "size_bytes", "payload_bytes", "tcp_seq", "tcp_ack",
    "tcp_sack",
)  # fmt: skip

#: Headers of IPv4 and UDP around a datagram, in bytes.
_AROUND_QUIC = 28

#: How the run's warnings tell why (crates/sim/src/warnings.rs).
_ENDED = re.compile(r'the connection of flow "(?P<flow>.*)" ended after [\d.e-]+ s: (?P<words>.*)', re.DOTALL)


def document(
    packets: pl.LazyFrame,
    series: pl.LazyFrame,
    flow_events: pl.LazyFrame,
    ends: dict[str, tuple[str, str]],
    links: pl.DataFrame,
    *,
    title: str,
    warnings: Sequence[str] = (),
    payloads: Mapping[str, int],
) -> Iterator[str]:
    """Parts of the JSON text of all flows that have recorded packets.

    `warnings` are those of the run. `payloads` has the user bytes of a full segment, or the bytes of a full datagram of
    QUIC, in which the records count windows. The largest recorded packet does not tell them: picoquic sends some that
    are larger, and the records may hold no full segment. A flow that is not there has no windows in bytes.
    """
    import polars as pl

    place = {row["link"]: (row["from"], row["to"]) for row in links.iter_rows(named=True)}
    reasons = {found["flow"]: found["words"] for found in map(_ENDED.fullmatch, warnings) if found}
    yield f'{{"qlog_version": "0.3", "qlog_format": "JSON", "title": {json.dumps(title)}, "traces": ['
    told_packets = packets.filter(pl.col("event").is_in(_PACKET_EVENTS)).select(pl.col(*_PACKET_COLUMNS, "^quic_.*$"))
    recorded = packets.select("flow").unique().collect()["flow"].to_list()
    flows = [flow for flow in sorted(recorded) if flow in ends]
    for rank, flow in enumerate(flows):
        source = ends[flow][0]
        own, steps = (_in_order(table, flow) for table in (told_packets, series))
        full = payloads.get(flow)
        # A run folder of an earlier version lacks the column.
        if "quic_type" in own.columns and (own["quic_type"] != "").any():
            told = _in_order(flow_events, flow)
            kinds = [_quic_packets(own, source, place), _metrics(steps, full, with_states=False)]
            kinds += [_quic_states(own, steps, told, source, place), _quic_ends(told, reasons.get(flow))]
        else:
            kinds = [_packets(own, source, place), _metrics(steps, full)]
        trace = {
            "title": flow,
            "vantage_point": {"name": source, "type": "client"},
            "common_fields": {"time_format": "relative", "reference_time": 0, "protocol_type": ["QUIC"]},
        }
        yield f'{", " if rank else ""}{json.dumps(trace)[:-1]}, "events": ['
        # Events of one time are in the order of the kinds.
        for number, event in enumerate(heapq.merge(*kinds, key=itemgetter("time"))):
            yield f"{', ' if number else ''}{json.dumps(event)}"
        yield "]}"
    yield "]}\n"


def _in_order(table: pl.LazyFrame, flow: str) -> pl.DataFrame:
    """The rows of a flow, in order of time."""
    import polars as pl

    return table.filter(pl.col("flow") == flow).sort("time_s", maintain_order=True).collect()


def _ranges(text: str) -> list[list[int]]:
    """The ends of the ranges in `12-15 3-9`."""
    return [[int(end) for end in one.split("-")] for one in text.split()]


def _quic_packets(
    rows: pl.DataFrame, source: str, place: dict[str, tuple[str, str | None]]
) -> Iterator[dict[str, Any]]:
    for row in rows.iter_rows(named=True):
        if row["event"] == "taken-for-lost":
            name, number = "recovery:packet_lost", row["seq"]
        elif row["event"] == "deq" and not row["is_ack"] and place[row["link"]][0] == source:
            name, number = "transport:packet_sent", row["seq"]
        elif row["event"] == "ack":
            # In the direction of ACKs the records count from -1, which is null.
            name, number = "transport:packet_received", 0 if row["seq"] is None else row["seq"] + 1
        else:
            continue
        frames: list[dict[str, Any]] = []
        if ranges := _ranges(row["quic_ack"]):
            frames.append({"frame_type": "ack", "acked_ranges": ranges})
        rest = row["payload_bytes"] or 0
        for piece in row["quic_streams"].split():
            stream, _, span = piece.partition(":")
            first, last = map(int, span.split("-"))
            rest -= last - first
            frames.append({
                "frame_type": "stream", "stream_id": int(stream), "offset": first, "length": last - first,
            })  # fmt: skip
        if rest > 0:
            # User data that belong to no stream: messages, of which a packet may have several.
            frames.append({"frame_type": "datagram", "length": rest})
        data: dict[str, Any] = {"header": {"packet_type": _TYPES[row["quic_type"]], "packet_number": number}}
        # The entity is the packet of QUIC, without the headers of IP and UDP around it.
        data["raw"] = {"length": row["size_bytes"] - _AROUND_QUIC}
        if name != "recovery:packet_lost":
            data["frames"] = frames
        yield {"time": row["time_s"] * 1e3, "name": name, "data": data}


def _quic_states(
    rows: pl.DataFrame,
    steps: pl.DataFrame,
    flow_events: pl.DataFrame,
    source: str,
    place: dict[str, tuple[str, str | None]],
) -> Iterator[dict[str, Any]]:
    """The phases at the steps, and a period of recovery from each reduction of the window until a packet that was sent
    afterwards is acknowledged (RFC 9002, section 7.3.2)."""
    sent: dict[int, float] = {}
    #: Time, state, trigger, and whether it is the phase at a step.
    changes: list[tuple[float, str, str | None, bool]] = []
    cuts = [row for row in flow_events.iter_rows(named=True) if row["event"] in _REDUCTIONS]
    since, next_cut = None, 0
    for row in rows.iter_rows(named=True):
        while next_cut < len(cuts) and cuts[next_cut]["time_s"] <= row["time_s"]:
            cut = cuts[next_cut]
            since, next_cut = cut["time_s"], next_cut + 1
            changes.append((since, "recovery", _REDUCTIONS[cut["event"]], False))
        is_sent = row["event"] == "deq" and not row["is_ack"] and place[row["link"]][0] == source
        if is_sent and row["quic_type"] == "1rtt":
            sent[row["seq"]] = row["time_s"]
        elif since is not None and row["event"] == "ack":
            ranges = _ranges(row["quic_ack"])
            if ranges and sent.get(max(last for _, last in ranges), since) > since:
                changes.append((row["time_s"], "congestion_avoidance", None, False))
                since = None
    changes += [(cut["time_s"], "recovery", _REDUCTIONS[cut["event"]], False) for cut in cuts[next_cut:]]
    for row in steps.iter_rows(named=True):
        state = _STATES.get(row["phase"])
        if state is not None:
            changes.append((row["time_s"], state, None, True))
    changes.sort(key=lambda change: change[0])
    before = None
    for time_s, state, trigger, is_step in changes:
        if is_step and before == "recovery":
            # Phases say nothing of recovery.
            continue
        if state != before or trigger is not None:
            data = {"new": state} if before is None else {"old": before, "new": state}
            if trigger is not None:
                data["trigger"] = trigger
            yield {"time": time_s * 1e3, "name": "recovery:congestion_state_updated", "data": data}
            before = state


def _quic_ends(flow_events: pl.DataFrame, words: str | None) -> Iterator[dict[str, Any]]:
    for row in flow_events.iter_rows(named=True):
        if row["event"] in _ENDINGS:
            data = {"owner": _ENDINGS[row["event"]]}
            if words is not None:
                data["reason"] = words
            yield {"time": row["time_s"] * 1e3, "name": "connectivity:connection_closed", "data": data}


def _packets(rows: pl.DataFrame, source: str, place: dict[str, tuple[str, str | None]]) -> Iterator[dict[str, Any]]:
    waiting = _Waiting()
    for row in rows.iter_rows(named=True):
        time_ms = row["time_s"] * 1e3
        raw = {"length": row["size_bytes"], "payload_length": row["payload_bytes"]}
        if row["event"] == "deq" and not row["is_ack"] and place[row["link"]][0] == source:
            frames = []
            if row["payload_bytes"]:
                frame = {"frame_type": "stream", "stream_id": 0, "length": row["payload_bytes"]}
                if row["tcp_seq"] is not None:
                    waiting.add(row["packet"], row["tcp_seq"], row["tcp_seq"] + row["payload_bytes"])
                    # The byte 1 of TCP is the first of the stream.
                    frame["offset"] = row["tcp_seq"] - 1
                frames.append(frame)
            header = {"packet_type": "1RTT", "packet_number": row["packet"]}
            data = {"header": header, "raw": raw, "frames": frames}
            yield {"time": time_ms, "name": "transport:packet_sent", "data": data}
        elif row["event"] == "ack":
            frames = []
            blocks = [(first, last) for first, last in _ranges(row["tcp_sack"])]
            if ranges := waiting.acknowledged(row["tcp_ack"] or 0, blocks):
                frames.append({"frame_type": "ack", "acked_ranges": ranges})
            header = {"packet_type": "1RTT", "packet_number": row["packet"]}
            data = {"header": header, "raw": raw, "frames": frames}
            yield {"time": time_ms, "name": "transport:packet_received", "data": data}


class _Waiting:
    """Packets that are not acknowledged: the first byte of each and the byte after its last, by number."""

    def __init__(self) -> None:
        #: Packets whose bytes come after those of all before them, …
        self._new: dict[int, tuple[int, int]] = {}
        #: … and the others: bytes that were sent again.
        self._again: dict[int, tuple[int, int]] = {}
        self._next_byte = 0

    def add(self, number: int, begin: int, end: int) -> None:
        """A packet that has been sent with these bytes."""
        (self._new if begin >= self._next_byte else self._again)[number] = (begin, end)
        self._next_byte = max(self._next_byte, end)

    def acknowledged(self, next_byte: int, blocks: list[tuple[int, int]]) -> list[list[int]]:
        """The numbers of packets that an ACK covers for the first time, as ranges that include both ends."""
        top = max([next_byte, *(last for _, last in blocks)])
        # No ACK covers what lies beyond its last byte: most packets are not looked at.
        near = chain(takewhile(lambda item: item[1][0] < top, self._new.items()), self._again.items())
        found = sorted(
            number
            for number, (begin, end) in near
            if end <= next_byte or any(first <= begin and end <= last for first, last in blocks)
        )
        ranges: list[list[int]] = []
        for number in found:
            (self._new if number in self._new else self._again).pop(number)
            if ranges and ranges[-1][1] == number - 1:
                ranges[-1][1] = number
            else:
                ranges.append([number, number])
        return ranges


def _metrics(series: pl.DataFrame, full: int | None, *, with_states: bool = True) -> Iterator[dict[str, Any]]:
    """Windows and times at the steps of the recording; windows in bytes of full packets."""

    def in_bytes(segments: float | None) -> int | None:
        return None if segments is None or full is None else round(segments * full)

    before = None
    for row in series.iter_rows(named=True):
        time_ms = row["time_s"] * 1e3
        values = {
            "congestion_window": in_bytes(row["cwnd"]),
            "bytes_in_flight": in_bytes(row["in_flight"]),
            "ssthresh": in_bytes(row["ssthresh"]),
            "smoothed_rtt": None if row["srtt_s"] is None else row["srtt_s"] * 1e3,
            # A run folder of an earlier version lacks the column.
            "pacing_rate": None if row.get("pacing_bps") is None else round(row["pacing_bps"]),
            "latest_rtt": None if row["rtt_s"] is None else row["rtt_s"] * 1e3,
        }
        data = {key: value for key, value in values.items() if value is not None}
        yield {"time": time_ms, "name": "recovery:metrics_updated", "data": data}
        state = _STATES.get(row["phase"])
        if with_states and state is not None and state != before:
            yield {"time": time_ms, "name": "recovery:congestion_state_updated", "data": {"new": state}}
            before = state
