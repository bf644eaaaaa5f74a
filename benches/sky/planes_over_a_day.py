"""Writes the tables of `docs/models/topology.md` about links between planes that drift: the links of the start and
those that follow beside those that the same elements give later, and London to New York over all three.

    python benches/sky/planes_over_a_day.py CATALOGUE...
"""

from __future__ import annotations

import json
import statistics
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from skyhop import Scenario, api
from skyhop.planes import planes_scenario

BEGIN = "2025-10-07T12:00:00Z"
HOURS = (1, 3, 6, 12, 24)
#: Keys of the grid.
KINDS: dict[str, dict[str, str]] = {"of the start": {"pair_every": "0 s"}, "follow": {}}
#: Paths are compared every minute for so long.
LOOK_S, STEP_S = 1800, 60


def main() -> None:
    """Prints the tables."""
    rows = []
    told: list[str] = []
    after = ", ".join(map(str, HOURS))
    print(f"| catalogue, shell | links | between planes | not among the recomputed links after {after} h, % |")
    print("|---|---|---:|---:|")
    for name in sys.argv[1:]:
        shell = json.loads(planes_scenario(name, BEGIN).planes_json())["shells"][0]
        plane_of = {node: plane["plane"] for plane in shell["planes"] for node in plane["satellites"]}
        rows.append((name, shell["name"]))
        recomputed = {hours: between(scenario(name, shell["name"], hours, 60), 0.0, plane_of) for hours in HOURS}
        for n, (label, keys) in enumerate(KINDS.items()):
            whole = scenario(name, shell["name"], 0, 25 * 3600, **keys)
            now = {hours: between(whole, 3600.0 * hours, plane_of) for hours in HOURS}
            shares = ", ".join(f"{100 * len(now[hours] - recomputed[hours]) / len(now[hours]):.1f}" for hours in HOURS)
            counts = [len(links) for links in now.values()]
            first = f"`{Path(name).name}`, {shell['name']}" if n == 0 else ""
            print(f"| {first} | {label} | {min(counts)} to {max(counts)} | {shares} |", flush=True)
        begun, again = changes(scenario(name, shell["name"], 0, 25 * 3600), plane_of)
        told.append(
            f"{Path(name).name}: {begun} links begin in 24 h, seen every hour; {again} of them had ended before."
        )
    print("\n| London to New York | links | hops | RTT, ms | without a path |\n|---|---|---:|---:|---:|")
    for name, shell_name in rows:
        by_kind = {
            label: over(scenario(name, shell_name, 0, 24 * 3600 + LOOK_S, **keys), STEP_S)
            for label, keys in KINDS.items()
        }
        for hours in (0, *HOURS):
            first_step = hours * 3600 // STEP_S
            cell = f"`{Path(name).name}`, after {hours} h"
            for label, steps in by_kind.items():
                row(cell, label, steps[first_step : first_step + LOOK_S // STEP_S])
                cell = ""
            if hours:
                steps = over(scenario(name, shell_name, hours, LOOK_S), STEP_S)
                row("", "recomputed", steps[: LOOK_S // STEP_S])
    print("", *told, sep="\n")


def scenario(name: str, shell: str, hours: int, duration_s: int, **keys: str) -> Scenario:
    """+Grid over one shell, found `hours` after the start; `keys` are others of the grid."""
    begin = datetime.fromisoformat(BEGIN.replace("Z", "+00:00")) + timedelta(hours=hours)
    return api.scenario(
        duration=f"{duration_s} s",
        constellation={
            "elements": name,
            "epoch": begin.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "isl": {"rate": "1 Gbit/s", "layout": {"grid": {"shells": [shell], **keys}}, "every": f"{STEP_S} s"},
            "gsl": {"rate": "1 Gbit/s", "elevation_mask": "25 deg"},
        },
        stations={"a": {"city": "London", "antennas": 40}, "b": {"city": "New York City", "antennas": 40}},
        flows=[{"name": "f", "from": "a", "to": "b", "tcp": "reno", "application": "ftp"}],
    )


def between(of: Scenario, at_s: float, plane_of: dict[str, int]) -> set[tuple[str, str]]:
    """Pairs of satellites of different planes that are linked at an instant."""
    sky: dict[str, Any] = json.loads(of.sky_json(at_s))
    pairs = {(min(a, b), max(a, b)) for a, b in sky["isls"]}
    return {(a, b) for a, b in pairs if a in plane_of and b in plane_of and plane_of[a] != plane_of[b]}


def changes(of: Scenario, plane_of: dict[str, int]) -> tuple[int, int]:
    """How many links begin within a day, and how many of them had ended before; seen every hour."""
    begun = again = 0
    last, ended = between(of, 0.0, plane_of), set[tuple[str, str]]()
    for hour in range(1, 25):
        now = between(of, 3600.0 * hour, plane_of)
        begun, again = begun + len(now - last), again + len((now - last) & ended)
        last, ended = now, ended | (last - now)
    return begun, again


def over(of: Scenario, step_s: int) -> list[tuple[int, float] | None]:
    """Hops and round trip in ms at each step; None without a path."""
    (path,) = json.loads(of.paths_json(step_s))
    changes: dict[int, list[str]] = dict(path["paths"])
    found: list[tuple[int, float] | None] = []
    nodes: list[str] = []
    for n, delay in enumerate(path["delays_ns"]):
        nodes = changes.get(n, nodes)
        found.append(None if delay is None else (len(nodes) - 1, 2e-6 * delay))
    return found


def row(label: str, links: str, steps: list[tuple[int, float] | None]) -> None:
    """Prints a line of the second table."""
    hops, rtts = zip(*[step for step in steps if step], strict=True)
    without = f"{steps.count(None)} of {len(steps)}"
    print(
        f"| {label} | {links} | {min(hops)} to {max(hops)}, median {statistics.median(hops):g} | "
        f"{min(rtts):.1f} to {max(rtts):.1f}, median {statistics.median(rtts):.1f} | {without} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
