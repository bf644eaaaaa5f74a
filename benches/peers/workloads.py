"""The workloads of the comparison, and what each peer is told to simulate: read from Skyhop's own scenario."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

UNITS = {
    "": 1.0, "B": 1.0,
    "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0,
    "bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9,
}  # fmt: skip
# Everything in bits per second, seconds and bytes.

UNLIMITED = 100_000_000
"""Packets: a queue that never fills."""


@dataclass(frozen=True)
class Workload:
    """One network with its traffic. A peer that would take minutes simulates a shorter time."""

    name: str
    file: str
    overrides: tuple[str, ...] = ()
    duration_s: float = 60.0
    peer_duration_s: dict[str, float] = field(default_factory=dict)
    mark_s: float = 0.1
    """Simulated second from which work counts: by then every flow has begun and the peers have made their routes."""

    queue_from_s: float = 0.0
    """Simulated second from which the queue is averaged: where it is empty but for the start, when that is over."""

    seeds: int = 1
    """Where losses are random, one run says little: results are compared in the mean over so many."""

    def duration_of(self, tool: str) -> float:
        """Simulated seconds in this tool."""
        return self.peer_duration_s.get(tool, self.duration_s)


DUMBBELL = "dumbbell.toml"
WORKLOADS = (
    Workload("dumbbell, 1 flow", DUMBBELL, ("flows.flow.count=1",)),
    Workload("dumbbell, 10 flows", DUMBBELL),
    Workload("dumbbell, 100 flows", DUMBBELL, ("flows.flow.count=100",), peer_duration_s={"ns-3": 20.0}),
    Workload("dumbbell, 1000 flows", DUMBBELL, ("flows.flow.count=1000",), peer_duration_s={"ns-3": 6.0}),
    Workload("1 Gbit/s, 10 flows", "gigabit.toml", peer_duration_s={"ns-3": 4.0}),
    Workload("GEO, 1e-3 loss, 10 flows", "geo.toml", duration_s=600.0, queue_from_s=60.0, seeds=5),
    Workload("chain of 8 hops, 3 flows", "chain.toml", duration_s=2000.0, peer_duration_s={"ns-3": 1000.0}),
)


def quantity(text: str) -> float:
    """A quantity as the canonical form writes it ("100 Mbit/s"), in the base unit of its kind."""
    found = re.fullmatch(r"([0-9.eE+-]+) ?([A-Za-z/]*)", text)
    if not found or found[2] not in UNITS:
        raise ValueError(f"{text!r} is not a known quantity")
    return float(found[1]) * UNITS[found[2]]


def peer_arguments(scenario: dict[str, Any]) -> dict[str, str]:
    """What chain.tcl and chain.cc are told, from a scenario in canonical form: a chain with one kind of flow."""
    (flow,) = scenario["flows"]
    hops = [hop(link) for link in in_order(scenario["links"], flow["from"], flow["to"])]
    tcp = flow["tcp"]
    if (tcp["recovery"], tcp["ns2"]["growth"], tcp["sack"], tcp["rtt_timing"]) != (
        "sack",
        "per-ack",
        "on",
        "one-segment",
    ):
        raise ValueError("the peers know only SACK, growth per ACK and one timed segment per round trip")
    start = quantity(flow["start"])
    return {
        "hops": "/".join(",".join(f"{number:.12g}" for number in numbers) for numbers in hops),
        "access": access(flow),
        "bottleneck": str(min(range(len(hops)), key=lambda index: hops[index][0])),
        "flows": str(flow.get("count", 1)),
        "starts": f"{start:g},{start:g}",
        "mss": f"{quantity(tcp['mss']):.0f}",
        "header": f"{quantity(tcp['header']):.0f}",
        "window": str(tcp["window"]),
        "initial_window": str(tcp["initial_window"]),
        "min_rto": f"{quantity(tcp['min_rto']):g}",
        "initial_rto": f"{quantity(tcp['initial_rto']):g}",
        "ack_every": str(tcp["ack_every"]),
        "ack_delay": f"{quantity(tcp['ack_delay']):g}",
    }


def in_order(links: list[dict[str, Any]], start: str, end: str) -> list[dict[str, Any]]:
    """The links of a chain from one end to the other."""
    rest, chain, node = list(links), [], start
    while node != end:
        link = next(link for link in rest if node in link["between"])
        rest.remove(link)
        chain.append(link)
        node = next(name for name in link["between"] if name != node)
    return chain


def hop(link: dict[str, Any]) -> tuple[float, float, float, float]:
    """Rate in bit/s, delay in s, room of the queue in packets that wait, loss probability."""
    one = link["forward"]
    if one != link["backward"]:
        raise ValueError("the peers know only links whose directions are alike")
    queue = one["queue"]
    room = UNLIMITED if queue == "unlimited" else queue["drop_tail"]["packets"]
    loss = sum(error["packet"] for error in one["errors"])
    return quantity(one["rate"]), quantity(one["delay"]), room, loss


def access(flow: dict[str, Any]) -> str:
    """The access links of a flow as the peers are told of them."""
    if "access" not in flow:
        return "none"
    if flow["access"]["queue"] != "unlimited":
        raise ValueError("the peers know only access links with unlimited queues")
    return f"{quantity(flow['access']['rate']):.12g},{quantity(flow['access']['delay']):g}"
