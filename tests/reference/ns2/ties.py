#!/usr/bin/env python3
"""Says of runs that part from ns-2 whether two events of ns-2's own trace are simultaneous there: see README.md."""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from make import CASES, RULES, Case, simulate

LEFT, RIGHT = 0, 1
ACCESS = (Fraction(10_000_000), Fraction(1, 1000))
# What the trace's rounding to microseconds leaves open.
RESOLUTION = Fraction(1, 1_000_000)
# A tick of the clock that timers are multiples of: TCP/Linux, the others.
TICKS = (Fraction(1, 1000), Fraction(1, 100))
# "loss10 vegas at 12.345678 s: …", what ns2_events reports.
PARTING = re.compile(r"^(\S+) (\S+) at ([0-9.]+) s: ")


@dataclass
class Packet:
    """Where a packet is, in exact time."""

    size: int
    flow: int
    is_ack: bool
    # When it came to the link that it is on, and when it reaches the end of that.
    came: Fraction = Fraction(0)
    arrives: Fraction = Fraction(0)


@dataclass
class Place:
    """A queue or an endpoint: what happened there last, by instant."""

    seen: dict[Fraction, str] = field(default_factory=dict)
    # When the transmitter is free.
    free: Fraction = Fraction(0)
    history: list[Fraction] = field(default_factory=list)


@dataclass
class Tie:
    at: Fraction
    what: str


class Exact:
    """Follows a trace of ns-2 and gives each event its time in rational numbers, from the event that caused it."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.bottleneck = (Fraction(str(case.rate_mbps)) * 1_000_000, Fraction(str(case.delay_s)))
        self.packets: dict[int, Packet] = {}
        self.places: dict[object, Place] = {}
        self.ties: list[Tie] = []
        self.unexplained = 0

    def place(self, key: object) -> Place:
        return self.places.setdefault(key, Place())

    def note(self, key: object, at: Fraction, what: str) -> None:
        place = self.place(key)
        before = place.seen.get(at)
        if before is not None and before != what:
            self.ties.append(Tie(at, f"{before}, and {what}"))
        if len(place.seen) > 64:
            place.seen = dict(sorted(place.seen.items())[32:])
        place.seen[at] = what
        place.history.append(at)

    def follow(self, lines: Iterable[str]) -> None:
        for line in lines:
            event, time, source, target, kind, size, _, flow, *_, uid = line.split()
            link = (int(source), int(target))
            printed = Fraction(time)
            if event == "+":
                self.enters(int(uid), link, printed, Packet(int(size), int(flow), kind == "ack"))
            elif event == "-":
                self.leaves(int(uid), link)
            elif event == "r":
                self.arrives(int(uid), link)

    def enters(self, uid: int, link: tuple[int, int], printed: Fraction, new: Packet) -> None:
        packet = self.packets.setdefault(uid, new)
        at_endpoint = link[0] > RIGHT
        packet.came = self.cause(link[0], packet, printed) if at_endpoint else packet.arrives
        if not at_endpoint and link in ((LEFT, RIGHT), (RIGHT, LEFT)):
            self.note(link, packet.came, f"a packet of flow {packet.flow} comes to the queue {link[0]}->{link[1]}")

    def cause(self, node: int, packet: Packet, printed: Fraction) -> Fraction:
        """When an endpoint sends: with the packet that it gets at this moment, else by a timer."""
        history = self.place(node).history
        if history and abs(history[-1] - printed) <= RESOLUTION:
            return history[-1]
        for at in self.timers(node, packet, history, printed):
            if abs(at - printed) <= RESOLUTION:
                name = "delayed ACK" if packet.is_ack else "retransmission"
                self.note(node, at, f"the timer of flow {packet.flow}'s {name} expires")
                return at
        self.unexplained += 1
        return printed

    def timers(self, node: int, packet: Packet, history: list[Fraction], printed: Fraction) -> Iterator[Fraction]:
        if packet.is_ack:
            delay = Fraction(str(self.case.delayed_ack_s or 0))
            yield from (at + delay for at in reversed(history[-4:]))
            return
        yield from (Fraction(str(start)) for start in self.case.starts_s)
        for at in reversed(history[-2000:]):
            for tick in TICKS:
                yield at + round((printed - at) / tick) * tick

    def leaves(self, uid: int, link: tuple[int, int]) -> None:
        packet, place = self.packets[uid], self.place(link)
        rate, delay = self.bottleneck if link in ((LEFT, RIGHT), (RIGHT, LEFT)) else ACCESS
        start = max(packet.came, place.free)
        place.free = start + 8 * packet.size / rate
        packet.arrives = place.free + delay
        if link in ((LEFT, RIGHT), (RIGHT, LEFT)):
            self.note(link, place.free, f"a packet of flow {packet.flow} leaves the queue's transmitter")

    def arrives(self, uid: int, link: tuple[int, int]) -> None:
        packet = self.packets[uid]
        if link[1] > RIGHT:
            what = "an ACK" if packet.is_ack else "a segment"
            self.note(link[1], packet.arrives, f"{what} of flow {packet.flow} arrives")


def last_tie(case: Case, agent: str, until: Fraction) -> tuple[Tie | None, int]:
    """The last two events of one place, up to `until`, that are simultaneous in exact arithmetic.

    Also returns how many packets left an endpoint for a reason that was not found.
    """
    with tempfile.TemporaryDirectory() as folder:
        files = {name: f"{folder}/{name}" for name in ("trace", "windows", "counters")}
        simulate(case, agent, 1, {**files, "acks": "1"})
        exact = Exact(case)
        with open(files["trace"]) as lines:
            exact.follow(line for line in lines if Fraction(line.split(None, 2)[1]) <= until + RESOLUTION)
    ties = [tie for tie in exact.ties if tie.at <= until + RESOLUTION]
    return max(ties, key=lambda tie: tie.at, default=None), exact.unexplained


def main() -> int:
    cases = {**CASES, **RULES}
    found = 0
    for line in sys.stdin:
        if parting := PARTING.match(line):
            name, agent, at = parting.groups()
            tie, unexplained = last_tie(cases[name], agent, Fraction(at))
            note = f" ({unexplained} packets without a cause)" if unexplained else ""
            if tie:
                before = float(Fraction(at) - tie.at)
                print(f"{name} {agent} at {at} s: {before:.6f} s before, {tie.what}{note}", flush=True)
                found += 1
            else:
                print(f"{name} {agent} at {at} s: nothing simultaneous{note}", flush=True)
    print(f"{found} ties")
    return 0


if __name__ == "__main__":
    sys.exit(main())
