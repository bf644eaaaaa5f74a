"""Captures for tcpdump, Wireshark and what reads their files: pcapng and pcap, with times in nanoseconds."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from skyhop.export.wire import Interface

#: Packets begin with the IPv4 header (LINKTYPE_RAW, https://www.tcpdump.org/linktypes.html).
_RAW = 101

#: No packet is longer than the length field of IPv4 says, and none is cut off.
_SNAP = 65535

#: Blocks of pcapng (draft-ietf-opsawg-pcapng, section 4).
_SECTION, _INTERFACE, _NAMES, _PACKET = 0x0A0D0D0A, 1, 4, 6
_BYTE_ORDER = 0x1A2B3C4D
_END, _COMMENT, _APPLICATION = 0, 1, 4
_IF_NAME, _IF_RESOLUTION = 2, 9
#: Rates of the two directions: one `if_speed` would be wrong where they differ.
_IF_SENDS, _IF_RECEIVES = 16, 17
_RECORD_IPV4 = 1

#: pcap with times in nanoseconds (https://www.tcpdump.org/manpages/pcap-savefile.5.html).
_PCAP_NANOSECONDS = 0xA1B23C4D


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)


def _block(kind: int, body: bytes) -> bytes:
    length = 12 + len(body)
    return struct.pack("<II", kind, length) + body + struct.pack("<I", length)


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + _padded(value)


def _text(code: int, text: str) -> bytes:
    # The length of an option is a field of 16 bits.
    return _option(code, text.encode("utf-8")[:_SNAP])


def pcapng(
    interfaces: Iterable[Interface],
    names: dict[str, bytes],
    packets: Iterable[tuple[int, int, bytes]],
    *,
    application: str,
    comment: str,
) -> Iterator[bytes]:
    """The blocks of a pcapng file. `packets` have the rank of their interface, the time in ns and their bytes."""
    options = _text(_COMMENT, comment) + _text(_APPLICATION, application) + _option(_END, b"")
    # The length of the section is unknown before its end, which is written as -1.
    yield _block(_SECTION, struct.pack("<IHHq", _BYTE_ORDER, 1, 0, -1) + options)
    for interface in interfaces:
        options = _text(_IF_NAME, interface.name) + _option(_IF_RESOLUTION, b"\x09")
        for code, rate_bps in [(_IF_SENDS, interface.sends_bps), (_IF_RECEIVES, interface.receives_bps)]:
            if rate_bps:
                options += _option(code, struct.pack("<Q", round(rate_bps)))
        yield _block(_INTERFACE, struct.pack("<HHI", _RAW, 0, _SNAP) + options + _option(_END, b""))
    records = b"".join(
        _option(_RECORD_IPV4, address + name.encode("utf-8") + b"\0") for name, address in sorted(names.items())
    )
    yield _block(_NAMES, records + _option(_END, b""))
    for interface_rank, time_ns, data in packets:
        head = struct.pack("<IIIII", interface_rank, time_ns >> 32, time_ns & 0xFFFFFFFF, len(data), len(data))
        yield _block(_PACKET, head + _padded(data))


def pcap(packets: Iterable[tuple[int, int, bytes]]) -> Iterator[bytes]:
    """The records of a pcap file, which knows neither interfaces nor names nor comments."""
    yield struct.pack("<IHHiIII", _PCAP_NANOSECONDS, 2, 4, 0, 0, _SNAP, _RAW)
    for _, time_ns, data in packets:
        seconds, rest = divmod(time_ns, 10**9)
        yield struct.pack("<IIII", seconds, rest, len(data), len(data)) + data
