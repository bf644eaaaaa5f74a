"""Packets as they stand on a wire: IPv4 with TCP or UDP headers, made from the table of packets.

What the engine does not simulate is filled in as follows: payloads are zeros, a node has the address 10.x.y.z of its
rank by name, the TTL is 64 at every hop, ports tell flows apart, and the sequence numbers of both sides begin at 0.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

#: IPv4 (RFC 791, section 3.1), TCP (RFC 9293, section 3.1) and UDP (RFC 768) without options, in bytes.
IP_BYTES, TCP_BYTES, UDP_BYTES = 20, 20, 8

#: The most options that a TCP header holds, in bytes (RFC 9293, section 3.1).
MOST_OPTIONS = 40

#: Numbers of protocols in IPv4; what stands for no protocol has one for experiments (RFC 3692).
_PROTOCOLS = {"tcp": 6, "udp": 17, "other": 253}

_FLAGS = {"FIN": 1, "SYN": 2, "PSH": 8, "ACK": 16, "ECE": 64, "CWR": 128, "AE": 256}

#: The two bits of the IP header (RFC 3168, section 5).
_CODEPOINTS = {"not-ect": 0, "ect1": 1, "ect0": 2, "ce": 3}

#: The dynamic ports, for which no dissector is registered (RFC 6335, section 6).
_FIRST_PORT, _PORTS = 49152, 16384

_TTL = 64
_DONT_FRAGMENT = 0x4000

#: The largest shift of a window (RFC 7323, section 2.3), and the largest window without one.
_MOST_SHIFT, _WINDOW = 14, 65535


@dataclass
class Fitting:
    """How well the headers of the run fit those of real protocols."""

    packets: int = 0
    #: Packets that are longer or shorter here than in the run, and the largest difference in bytes.
    longer: int = 0
    shorter: int = 0
    most: int = 0

    def note(self, difference: int) -> None:
        """Counts a packet that has so many bytes more here."""
        self.packets += 1
        self.longer += difference > 0
        self.shorter += difference < 0
        self.most = max(self.most, abs(difference))

    def words(self) -> str | None:
        """A sentence about packets whose length differs from that in the run; none where there are none."""
        if not (self.longer or self.shorter):
            return None
        return (
            f"{self.longer} of {self.packets} packets are longer here than in the run and {self.shorter} are shorter, "
            f"by up to {self.most} bytes: the run's headers have a fixed size, which options such as SACK blocks "
            "exceed, or which no TCP header has."
        )


@dataclass(frozen=True)
class Side:
    """One end of a flow."""

    address: bytes
    port: int
    #: Shift of the receive windows that it says.
    shift: int
    says_windows: bool


@dataclass(frozen=True)
class FlowEnds:
    """What the headers of a flow need beside its packets."""

    source: Side
    destination: Side
    #: User bytes of a full segment; 0 where nothing says it.
    full_payload: int
    uses_sack: bool


@dataclass
class Wire:
    """Makes the bytes of packets; one for all interfaces of a run."""

    flows: dict[str, FlowEnds]
    fitting: Fitting = field(default_factory=Fitting)

    def packet(self, row: dict[str, Any]) -> bytes:
        """The IPv4 packet of a row of the table of packets."""
        ends = self.flows[row["flow"]]
        sender, receiver = (ends.destination, ends.source) if row["is_ack"] else (ends.source, ends.destination)
        payload = bytes(row["payload_bytes"])
        if row["protocol"] == "tcp":
            body = _tcp(row, ends, sender, receiver) + payload
        elif row["protocol"] == "udp":
            length = max(row["size_bytes"] - IP_BYTES, UDP_BYTES + len(payload))
            body = _udp(length, sender, receiver)
        else:
            body = bytes(max(row["size_bytes"] - IP_BYTES, 0))
        made = _ipv4(row, sender, receiver, body)
        self.fitting.note(len(made) - row["size_bytes"])
        return made


def addresses(nodes: Iterable[str]) -> dict[str, bytes]:
    """An address of the network 10.0.0.0/8 for each node, by rank of name."""
    return {name: struct.pack("!I", (10 << 24) + rank) for rank, name in enumerate(sorted(set(nodes)), start=1)}


def wire_of(
    packets: pl.DataFrame, ends: Mapping[str, tuple[str, str]], payloads: Mapping[str, int]
) -> tuple[Wire, dict[str, bytes]]:
    """What makes the bytes of these packets, and the address of each node.

    `ends` has the two nodes of each flow, `payloads` the user bytes of its full segments, which a SYN announces. The
    largest recorded packet would be an ACK where only ACKs are recorded.
    """
    import polars as pl

    of_flow = {name: ends.get(name, (f"source of {name}", f"destination of {name}")) for name in _names(packets)}
    address = addresses(node for pair in of_flow.values() for node in pair)
    flows = {}
    facts = packets.group_by("flow").agg(
        (pl.col("tcp_sack") != "").any().alias("sack"),
        pl.col("tcp_window_bytes").filter(~pl.col("is_ack")).max().alias("source"),
        pl.col("tcp_window_bytes").filter(pl.col("is_ack")).max().alias("destination"),
    )
    of = {row["flow"]: row for row in facts.iter_rows(named=True)}
    for rank, (name, (source, destination)) in enumerate(of_flow.items()):
        ports = (_FIRST_PORT + rank % _PORTS, _FIRST_PORT + rank // _PORTS % _PORTS)
        sides = [
            Side(address[node], port, _shift(of[name][which]), of[name][which] is not None)
            for node, port, which in zip((source, destination), ports, ("source", "destination"), strict=True)
        ]
        flows[name] = FlowEnds(sides[0], sides[1], payloads.get(name, 0), bool(of[name]["sack"]))
    return Wire(flows), address


def _names(packets: pl.DataFrame) -> list[str]:
    return sorted(packets["flow"].drop_nulls().unique().to_list())


def _shift(window: int | None) -> int:
    """The least shift with which the largest window fits the field of 16 bits (RFC 7323, section 2.2)."""
    shift = 0
    while window is not None and window >> shift > _WINDOW and shift < _MOST_SHIFT:
        shift += 1
    return shift


def _checksum(*parts: bytes) -> int:
    """The Internet checksum (RFC 1071). Zeros add nothing, so payloads cost no time."""
    total = 0
    for part in parts:
        padded = part + b"\0" * (len(part) % 2)
        total += sum(struct.unpack(f"!{len(padded) // 2}H", padded))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def _ipv4(row: dict[str, Any], sender: Side, receiver: Side, body: bytes) -> bytes:
    length = IP_BYTES + len(body)

    def header(checksum: int) -> bytes:
        return struct.pack(
            "!BBHHHBBH4s4s", 0x45, _CODEPOINTS[row["ecn"]], length, row["packet"] & 0xFFFF, _DONT_FRAGMENT, _TTL,
            _PROTOCOLS[row["protocol"]], checksum, sender.address, receiver.address,
        )  # fmt: skip

    return header(_checksum(header(0))) + body


def _pseudo(sender: Side, receiver: Side, protocol: str, length: int) -> bytes:
    return sender.address + receiver.address + struct.pack("!HH", _PROTOCOLS[protocol], length)


def _udp(length: int, sender: Side, receiver: Side) -> bytes:
    head = struct.pack("!HHH", sender.port, receiver.port, length)
    # A checksum of 0 would say that there is none (RFC 768).
    checksum = _checksum(_pseudo(sender, receiver, "udp", length), head) or 0xFFFF
    return head + struct.pack("!H", checksum) + bytes(length - UDP_BYTES)


def _tcp(row: dict[str, Any], ends: FlowEnds, sender: Side, receiver: Side) -> bytes:
    flags = sum(_FLAGS[name] for name in row["tcp_flags"].split())
    is_syn = bool(flags & _FLAGS["SYN"])
    room = min(max(row["size_bytes"] - row["payload_bytes"] - IP_BYTES - TCP_BYTES, 0), MOST_OPTIONS)
    options = _options(row, ends, sender, is_syn=is_syn, room=room)
    if row["tcp_window_bytes"] is None:
        window = _WINDOW
    else:
        window = min(row["tcp_window_bytes"] >> (0 if is_syn else sender.shift), _WINDOW)
    offset = (TCP_BYTES + len(options)) // 4

    def header(checksum: int) -> bytes:
        return struct.pack(
            "!HHIIHHHH", sender.port, receiver.port, (row["tcp_seq"] or 0) % 2**32, (row["tcp_ack"] or 0) % 2**32,
            offset << 12 | flags, window, checksum, 0,
        ) + options  # fmt: skip

    plain = header(0)
    length = len(plain) + row["payload_bytes"]
    return header(_checksum(_pseudo(sender, receiver, "tcp", length), plain))


def _options(row: dict[str, Any], ends: FlowEnds, sender: Side, *, is_syn: bool, room: int) -> bytes:
    """The options of a segment, in words of four bytes, padded to `room` bytes where they take less.

    A SYN without room says no more than whether SACK is permitted: the connection could not use it otherwise.
    """
    nop = b"\x01"
    made = b""
    if is_syn and room >= 4 and ends.full_payload:
        # The MSS counts data and options of a full segment (RFC 6691).
        stamps = 12 if row["tcp_ts_value"] is not None else 0
        made += struct.pack("!BBH", 2, 4, min(ends.full_payload + stamps, 0xFFFF))
    if is_syn and ends.uses_sack:
        stamped = row["tcp_ts_value"] is not None
        made += b"\x04\x02" if stamped else nop * 2 + b"\x04\x02"
        made += _timestamps(row) if stamped else b""
    elif row["tcp_ts_value"] is not None:
        made += nop * 2 + _timestamps(row)
    if is_syn and sender.says_windows:
        made += nop + struct.pack("!BBB", 3, 3, sender.shift)
    blocks = [tuple(map(int, block.split("-"))) for block in row["tcp_sack"].split()]
    # Three blocks fit beside timestamps (RFC 2018, section 3).
    blocks = blocks[: (MOST_OPTIONS - len(made) - 4) // 8]
    if blocks:
        made += nop * 2 + struct.pack("!BB", 5, 2 + 8 * len(blocks))
        made += b"".join(struct.pack("!II", begin % 2**32, end % 2**32) for begin, end in blocks)
    least = len(made) + -len(made) % 4
    return made.ljust(max(least, room // 4 * 4), nop)


def _timestamps(row: dict[str, Any]) -> bytes:
    return struct.pack("!BBII", 8, 10, row["tcp_ts_value"], row["tcp_ts_echo"] or 0)


@dataclass(frozen=True)
class Interface:
    """One end of a link: what leaves there, and what arrives there."""

    name: str
    node: str | None
    #: Rates of the links that begin here and end here; none where they are not recorded.
    sends_bps: float | None
    receives_bps: float | None


@dataclass(frozen=True)
class Capture:
    """The packets that pass the interfaces of a run, in order of time."""

    interfaces: list[Interface]
    #: Columns of the table of packets, and `interface`: a rank in `interfaces`.
    rows: pl.DataFrame

    def each(self, wire: Wire, *, only: int | None = None) -> Iterator[tuple[int, int, bytes]]:
        """The interface, the time in nanoseconds of the run and the bytes of each packet."""
        import polars as pl

        rows = self.rows if only is None else self.rows.filter(pl.col("interface") == only)
        for row in rows.iter_rows(named=True):
            yield row["interface"], round(row["time_s"] * 1e9), wire.packet(row)


def capture(packets: pl.DataFrame, links: pl.DataFrame, *, nodes: Iterable[str] = ()) -> Capture:
    """The packets at the ends of the recorded links: when their transmission began, and when they had arrived.

    With `nodes` only those at interfaces of these nodes.
    """
    import polars as pl

    known = {row["link"]: row for row in links.iter_rows(named=True)}
    wanted = set(nodes)
    labels: list[tuple[str, str | None]] = []
    #: Rates by rank and event.
    rates: dict[tuple[int, str], float | None] = {}
    ranks: dict[tuple[str, str], int] = {}
    at: dict[tuple[str, str], int] = {}
    for name in sorted(packets["link"].unique().to_list()):
        link = known[name]
        ends = {"deq": (link["from"], link["to"]), "rcv": (link["to"], link["from"])}
        for event, (node, peer) in ends.items():
            if wanted and node not in wanted:
                continue
            if link["to"] is None:
                label = f"{name} ({'sent' if event == 'deq' else 'received'})"
            else:
                label = f"{node} to {peer}"
            key = (label, node or "")
            if key not in ranks:
                ranks[key] = len(labels)
                labels.append((label, node))
            at[name, event] = ranks[key]
            rates.setdefault((ranks[key], event), link["rate_bps"])
    place = pl.DataFrame(
        [{"link": link, "event": event, "interface": rank} for (link, event), rank in at.items()],
        schema={"link": pl.String, "event": pl.String, "interface": pl.Int64},
    )
    rows = packets.join(place, on=["link", "event"], how="inner", maintain_order="left").sort(
        "time_s", maintain_order=True
    )
    interfaces = [
        Interface(label, node, rates.get((rank, "deq")), rates.get((rank, "rcv")))
        for rank, (label, node) in enumerate(labels)
    ]
    return Capture(interfaces, rows)
