"""Writes the tables of `docs/models/topology.md` about second links between planes with different numbers of
satellites: how many satellites lack a partner, how long the links are, paths over them, and other rules.

    python benches/sky/planes_ragged.py CATALOGUE...
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import networkx

from skyhop import Scenario, api
from skyhop.planes import planes_scenario

BEGIN = "2025-10-07T12:00:00Z"
#: Shells with so many satellites are shown.
LEAST_IN_SHELL = 1250
#: Keys of the grid.
KINDS: dict[str, dict[str, Any]] = {
    "open": {},
    "nearest, 4 terminals": {"unpaired": "nearest"},
    "nearest, 5 terminals": {"unpaired": "nearest", "terminals": 5},
    "nearest, 6 terminals": {"unpaired": "nearest", "terminals": 6},
}
PAIRS = (("London", "New York City"), ("Frankfurt am Main", "Singapore"), ("Sydney", "Tokyo"))
#: Paths are compared every minute for so long; lengths of links ten times in an orbit.
LOOK_S, STEP_S, ORBIT_S = 5400, 60, 5700


def main() -> None:
    """Prints both tables."""
    print("| shell | unpaired | links between planes | without a partner | longest, km | begin in a day |")
    print("|---|---|---:|---:|---:|---:|")
    shells: list[tuple[str, str]] = []
    for name in sys.argv[1:]:
        found = json.loads(planes_scenario(name, BEGIN).planes_json())["shells"]
        large = [shell["name"] for shell in found if sum(one["count"] for one in shell["planes"]) >= LEAST_IN_SHELL]
        shells += [(name, shell) for shell in large or [found[0]["name"]]]
    for name, shell in shells:
        cell = f"`{Path(name).name}`, {shell}"
        for label, keys in KINDS.items():
            one = scenario(name, shell, 60, **keys)
            (planes,) = json.loads(one.planes_json())["shells"]
            plane_of = {node: plane["plane"] for plane in planes["planes"] for node in plane["satellites"]}
            links = sum(plane["next"]["links"] for plane in planes["planes"] if plane["next"])
            alone = sum(side["count"] for side in planes["unpaired"].values())
            longest = max(lengths(scenario(name, shell, ORBIT_S, **keys), plane_of))
            begun = begins(scenario(name, shell, 25 * 3600, **keys), plane_of)
            print(f"| {cell} | {label} | {links} | {alone} | {longest:.0f} | {begun} |", flush=True)
            cell = ""
    print("\n| from, to, over | unpaired | hops | RTT, ms | without a path |\n|---|---|---:|---:|---:|")
    # The largest shell of each catalogue.
    largest: dict[str, str] = {}
    for name, shell in shells:
        largest.setdefault(name, shell)
    for name, shell in largest.items():
        for ends in PAIRS:
            cell = f"{ends[0]} to {ends[1]}, {shell}"
            for label, keys in KINDS.items():
                row(cell, label, scenario(name, shell, LOOK_S, ends, **keys))
                cell = ""
    print("\n| shell | rule, 5 terminals | without a partner | begin in a day |\n|---|---|---:|---:|")
    for name, shell in shells:
        others(name, shell, 5)


def others(name: str, shell: str, terminals: int) -> None:
    """Prints who would be linked by other rules, which keep no link and save a terminal for each side of a satellite.

    Either the most satellites are served, at the least squares of the differences of phase, or the nearest come first.
    """
    at = [found(name, shell, 2 * n) for n in range(13)]
    planes = at[0]["planes"]
    free = terminals - 4
    asks: list[tuple[str, list[str], float]] = []
    for side in ("next", "previous"):
        alone = set(at[0]["unpaired"][side]["satellites"])
        for plane in (one for one in planes if one[side]):
            there = planes[plane[side]["plane"]]["satellites"]
            reach = 360 / min(plane["count"], len(there))
            asks += [(one, there, reach) for one in plane["satellites"] if one in alone]
    begun, last, counts = Counter[str](), dict[str, set[tuple[str, str]]](), dict[str, int]()
    for now in at:
        phase = {a: b for one in now["planes"] for a, b in zip(one["satellites"], one["phases_deg"], strict=True)}
        candidates = [
            (apart, n, other)
            for n, (one, there, reach) in enumerate(asks)
            for other in there
            if other in phase
            and one in phase
            and (apart := abs((phase[one] - phase[other] + 180) % 360 - 180)) <= reach
        ]
        links = {"most served": most(candidates, free), "nearest, recomputed": nearest(candidates, free)}
        chosen = {label: {(asks[n][0], other) for n, other in pairs} for label, pairs in links.items()}
        for label, pairs in chosen.items():
            begun[label] += len(pairs - last.get(label, pairs))
        last = chosen
        counts = counts or {label: len(asks) - len(pairs) for label, pairs in links.items()}
    for label, count in counts.items():
        print(f"| {shell} | {label} | {count} | {begun[label]} |", flush=True)


def found(name: str, shell: str, hours: int) -> dict[str, Any]:
    """The planes of a shell some hours after the start."""
    begin = datetime.fromisoformat(BEGIN.replace("Z", "+00:00")) + timedelta(hours=hours)
    shells = json.loads(planes_scenario(name, begin.strftime("%Y-%m-%dT%H:%M:%SZ")).planes_json())["shells"]
    return next(one for one in shells if one["name"] == shell)


def most(candidates: list[tuple[float, int, str]], free: int) -> set[tuple[int, str]]:
    """As many satellites as possible, at the least sum of squares: a flow of the least cost."""
    graph = networkx.DiGraph()
    for apart, n, other in candidates:
        graph.add_edge("from", n, capacity=1, weight=0)
        graph.add_edge(n, other, capacity=1, weight=round(1000 * apart**2))
        graph.add_edge(other, "to", capacity=free, weight=0)
    flow = networkx.max_flow_min_cost(graph, "from", "to")
    return {(n, other) for _, n, other in candidates if flow[n][other]}


def nearest(candidates: list[tuple[float, int, str]], free: int) -> set[tuple[int, str]]:
    """The nearest first."""
    taken, chosen = Counter[str](), dict[int, str]()
    for _, n, other in sorted(candidates):
        if n not in chosen and taken[other] < free:
            chosen[n] = other
            taken[other] += 1
    return set(chosen.items())


def scenario(name: str, shell: str, duration_s: int, ends: tuple[str, str] = PAIRS[0], **keys: Any) -> Scenario:
    """+Grid over one shell; `keys` are others of the grid."""
    return api.scenario(
        duration=f"{duration_s} s",
        constellation={
            "elements": name,
            "epoch": BEGIN,
            "isl": {"rate": "1 Gbit/s", "layout": {"grid": {"shells": [shell], **keys}}, "every": f"{STEP_S} s"},
            "gsl": {"rate": "1 Gbit/s", "elevation_mask": "25 deg"},
        },
        stations={end: {"city": city, "antennas": 40} for end, city in zip("ab", ends, strict=True)},
        flows=[{"name": "f", "from": "a", "to": "b", "tcp": "reno", "application": "ftp"}],
    )


def between(sky: dict[str, Any], plane_of: dict[str, int]) -> set[tuple[str, str]]:
    """Pairs of satellites of different planes that are linked at an instant."""
    return {(min(a, b), max(a, b)) for a, b in sky["isls"] if plane_of[a] != plane_of[b]}


def lengths(of: Scenario, plane_of: dict[str, int]) -> list[float]:
    """The lengths of all links between planes that are up, in km, ten times in an orbit."""
    found = []
    for n in range(10):
        sky = json.loads(of.sky_json(ORBIT_S * n / 10))
        place = {one["name"]: position(one) for one in sky["satellites"]}
        found += [math.dist(place[a], place[b]) for a, b in between(sky, plane_of)]
    return found


def position(one: dict[str, Any]) -> tuple[float, float, float]:
    """In km from the centre of the Earth, on a sphere: to some 20 km, which cancel between neighbours."""
    latitude, longitude = math.radians(one["latitude_deg"]), math.radians(one["longitude_deg"])
    radius = 6371.0 + one["altitude_km"]
    flat = radius * math.cos(latitude)
    return flat * math.cos(longitude), flat * math.sin(longitude), radius * math.sin(latitude)


def begins(of: Scenario, plane_of: dict[str, int]) -> int:
    """How many pairs are linked within a day, seen every six hours, that were not at the start."""
    first = last = between(json.loads(of.sky_json(0.0)), plane_of)
    begun = 0
    for hour in range(6, 25, 6):
        now = between(json.loads(of.sky_json(3600.0 * hour)), plane_of)
        begun, last = begun + len(now - last - first), now
    return begun


def row(cell: str, label: str, of: Scenario) -> None:
    """Prints a line of the second table."""
    (path,) = json.loads(of.paths_json(STEP_S))
    changes, rtts = dict(path["paths"]), [2e-6 * delay for delay in path["delays_ns"] if delay is not None]
    hops, nodes = [], []
    for n, delay in enumerate(path["delays_ns"]):
        nodes = changes.get(n, nodes)
        hops += [len(nodes) - 1] if delay is not None else []
    total = len(path["delays_ns"])
    if not rtts:
        print(f"| {cell} | {label} | – | – | {total} of {total} |", flush=True)
        return
    print(
        f"| {cell} | {label} | {min(hops)} to {max(hops)}, median {statistics.median(hops):g} | "
        f"{min(rtts):.1f} to {max(rtts):.1f}, median {statistics.median(rtts):.1f}, mean {statistics.mean(rtts):.2f} | "
        f"{total - len(rtts)} of {total} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
