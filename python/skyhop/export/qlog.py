"""qlog: events of a flow at its source, for qvis and other tools of QUIC.

The format is qlog 0.3 in JSON (draft-ietf-quic-qlog-main-schema-03, draft-ietf-quic-qlog-quic-events-02). A trace is
of one flow. Its packets are those of the table of packets; a packet's number counts what the source has sent. An ACK of
TCP acknowledges numbers of packets here: those whose bytes it covers, cumulatively or by SACK. The records do not say
what ACKs of QUIC acknowledge, so those have no frames.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

#: States of qlog by the phases of the records (recovery:congestion_state_updated).
_STATES = {
    "slow-start": "slow_start", "congestion-avoidance": "congestion_avoidance",
    "recovery": "recovery", "loss": "recovery",
}  # fmt: skip


def document(
    packets: pl.DataFrame, series: pl.DataFrame, ends: dict[str, tuple[str, str]], links: pl.DataFrame, *, title: str
) -> str:
    """The JSON text of all flows that have recorded packets."""
    import polars as pl

    place = {row["link"]: (row["from"], row["to"]) for row in links.iter_rows(named=True)}
    traces = []
    for flow in sorted(packets["flow"].unique().to_list()):
        if flow not in ends:
            continue
        source = ends[flow][0]
        own = packets.filter(pl.col("flow") == flow)
        full = int(own["payload_bytes"].max() or 1)  # type: ignore[arg-type]
        events = [*_packets(own, source, place), *_metrics(series.filter(pl.col("flow") == flow), full)]
        events.sort(key=lambda event: event["time"])
        traces.append({
            "title": flow,
            "vantage_point": {"name": source, "type": "client"},
            "common_fields": {"time_format": "relative", "reference_time": 0, "protocol_type": ["QUIC"]},
            "events": events,
        })  # fmt: skip
    return json.dumps({"qlog_version": "0.3", "qlog_format": "JSON", "title": title, "traces": traces}) + "\n"


def _packets(rows: pl.DataFrame, source: str, place: dict[str, tuple[str, str | None]]) -> Iterator[dict[str, Any]]:
    #: First byte and the byte after the last of each packet that is not acknowledged, by number.
    waiting: dict[int, tuple[int, int]] = {}
    for row in rows.iter_rows(named=True):
        begin, end = place[row["link"]]
        time_ms = row["time_s"] * 1e3
        raw = {"length": row["size_bytes"], "payload_length": row["payload_bytes"]}
        if row["event"] == "deq" and not row["is_ack"] and begin == source:
            frames = []
            if row["payload_bytes"]:
                frame = {"frame_type": "stream", "stream_id": 0, "length": row["payload_bytes"]}
                if row["tcp_seq"] is not None:
                    waiting[row["packet"]] = (row["tcp_seq"], row["tcp_seq"] + row["payload_bytes"])
                    # The byte 1 of TCP is the first of the stream.
                    frame["offset"] = row["tcp_seq"] - 1
                frames.append(frame)
            header = {"packet_type": "1RTT", "packet_number": row["packet"]}
            data = {"header": header, "raw": raw, "frames": frames}
            yield {"time": time_ms, "name": "transport:packet_sent", "data": data}
        elif row["event"] == "rcv" and row["is_ack"] and end == source:
            frames = []
            if ranges := _acknowledged(row, waiting):
                frames.append({"frame_type": "ack", "acked_ranges": ranges})
            header = {"packet_type": "1RTT", "packet_number": row["packet"]}
            data = {"header": header, "raw": raw, "frames": frames}
            yield {"time": time_ms, "name": "transport:packet_received", "data": data}


def _acknowledged(row: dict[str, Any], waiting: dict[int, tuple[int, int]]) -> list[list[int]]:
    """The numbers of packets that an ACK covers for the first time, as ranges that include both ends."""
    blocks = [tuple(map(int, block.split("-"))) for block in row["tcp_sack"].split()]
    next_byte = row["tcp_ack"] or 0
    found = [
        number
        for number, (begin, end) in waiting.items()
        if end <= next_byte or any(first <= begin and end <= last for first, last in blocks)
    ]
    ranges: list[list[int]] = []
    for number in found:
        del waiting[number]
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ranges


def _metrics(series: pl.DataFrame, full: int) -> Iterator[dict[str, Any]]:
    """Windows and times at the steps of the recording; windows in bytes of full packets."""
    before = None
    for row in series.iter_rows(named=True):
        time_ms = row["time_s"] * 1e3
        values = {
            "congestion_window": None if row["cwnd"] is None else round(row["cwnd"] * full),
            "bytes_in_flight": row["in_flight"] * full,
            "ssthresh": None if row["ssthresh"] is None else round(row["ssthresh"] * full),
            "smoothed_rtt": None if row["srtt_s"] is None else row["srtt_s"] * 1e3,
            # A run folder of an earlier version lacks the column.
            "pacing_rate": None if row.get("pacing_bps") is None else round(row["pacing_bps"]),
            "latest_rtt": None if row["rtt_s"] is None else row["rtt_s"] * 1e3,
        }
        data = {key: value for key, value in values.items() if value is not None}
        yield {"time": time_ms, "name": "recovery:metrics_updated", "data": data}
        state = _STATES.get(row["phase"])
        if state is not None and state != before:
            yield {"time": time_ms, "name": "recovery:congestion_state_updated", "data": {"new": state}}
            before = state
