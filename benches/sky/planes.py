"""Writes the tables of `docs/models/topology.md` about planes in catalogues: what is found in each, and how many hops
London to New York takes over the largest shell beside a Walker shell and nearest neighbours.

    python benches/sky/planes.py CATALOGUE...
"""

from __future__ import annotations

import json
import statistics
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from skyhop import api
from skyhop.planes import planes_scenario

BEGIN = "2025-10-07T12:00:00Z"
DURATION_S, STEP_S = 5400, 60
GSL = {"rate": "1 Gbit/s", "elevation_mask": "25 deg"}


def main() -> None:
    """Prints both tables."""
    print(
        "| catalogue | satellites | shells | planes | in planes | off altitude | too few with the same node | other |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    largest = {}
    for name in sys.argv[1:]:
        found = json.loads(planes_scenario(name, BEGIN).planes_json())
        planes = [len(plane["satellites"]) for shell in found["shells"] for plane in shell["planes"]]
        why = Counter("off" if "altitude" in one["reason"] else "few" if "few" in one["reason"] else "other"
                      for one in found["left_out"])  # fmt: skip
        total = sum(planes) + len(found["left_out"])
        print(
            f"| `{Path(name).name}` | {total} | {len(found['shells'])} | {len(planes)} | {sum(planes)} | "
            f"{why['off']} | {why['few']} | {why['other']} |"
        )
        if "starlink" in Path(name).name:
            largest[name] = found["shells"][0]["name"]
    print("\n| London to New York over | hops | RTT, ms | without a path |\n|---|---:|---:|---:|")
    for name, shell in largest.items():
        elements: dict[str, Any] = {"elements": name, "epoch": BEGIN}
        row(f"`{Path(name).name}`, shell {shell}", {**elements, "isl": isl({"grid": {"shells": [shell]}})})
        nearest = {**isl({"nearest": {"links": 4}}), "longest": "3000 km"}
        row(f"`{Path(name).name}`, four nearest neighbours", {**elements, "isl": nearest})
    row("`starlink-2` (72 planes of 22)", {"preset": "starlink-2", "isl": isl("grid")})


def isl(layout: Any) -> dict[str, Any]:
    """Links between satellites, checked every minute."""
    return {"rate": "1 Gbit/s", "layout": layout, "every": "60 s"}


def row(label: str, constellation: dict[str, Any]) -> None:
    """Prints a line about the paths from London to New York."""
    scenario = api.scenario(
        duration=f"{DURATION_S} s",
        constellation={**constellation, "gsl": GSL},
        stations={"a": {"city": "London", "antennas": 40}, "b": {"city": "New York City", "antennas": 40}},
        flows=[{"name": "f", "from": "a", "to": "b", "tcp": "reno", "application": "ftp"}],
    )
    (path,) = json.loads(scenario.paths_json(STEP_S))
    changes, rtts = dict(path["paths"]), [2e-6 * delay for delay in path["delays_ns"] if delay is not None]
    hops, nodes = [], []
    for n, delay in enumerate(path["delays_ns"]):
        nodes = changes.get(n, nodes)
        hops += [len(nodes) - 1] if delay is not None else []
    print(
        f"| {label} | {min(hops)} to {max(hops)}, median {statistics.median(hops):g} | "
        f"{min(rtts):.1f} to {max(rtts):.1f}, median {statistics.median(rtts):.1f} | "
        f"{len(path['delays_ns']) - len(rtts)} of {len(path['delays_ns'])} |"
    )


if __name__ == "__main__":
    main()
