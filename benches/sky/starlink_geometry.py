"""What geometry alone does to round trips of other places: a table of `docs/models/starlink-recordings.md`.

`python benches/sky/starlink_geometry.py RECORDING` computes the path from a terminal over a satellite that is drawn at
each slot to a gateway, every 15 s for 80 minutes, with gateways at several distances, over the shell `starlink-1`. Then
it adds the differences from the median of that path, drawn for each slot, to the recording, and prints how far that
moves its distribution. So a geometry that is as wide as Seattle's own counts twice, and the distance is an upper bound
for a place whose path varies so much more than that of the recording.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

from skyhop import api
from skyhop.starlink import recordings
from skyhop.starlink.measuring import kolmogorov_smirnov, slotted
from skyhop.starlink.recordings import Floats

SLOT_S, SLOTS = 15, 320
LATITUDES_DEG = (0.0, 35.0, 47.6)
#: Degrees of latitude towards the equator (of longitude at the equator): 110 km each.
GATEWAYS_DEG = (1.0, 4.0, 8.0)
DRAWS = 20


def main() -> None:
    """Prints the table."""
    trips = slotted(recordings.read_round_trips(sys.argv[1]))
    numbers, place = np.unique(trips.slot, return_inverse=True)
    generator = np.random.Generator(np.random.PCG64(1))
    print("| terminal at | gateway, km away | RTT of the path, ms: median | 10 to 90 % | slots without | KS, at most |")
    print("|---:|---:|---:|---:|---:|---:|")
    for latitude in LATITUDES_DEG:
        for away in GATEWAYS_DEG:
            rtt = path_rtt_ms(latitude, away)
            known = rtt[~np.isnan(rtt)]
            low, middle, high = np.percentile(known, [10, 50, 90])
            found = []
            for _ in range(DRAWS):
                moved = trips.rtt_ms + generator.choice(known - middle, numbers.size)[place]
                found.append(kolmogorov_smirnov(trips.rtt_ms - np.median(trips.rtt_ms), moved - np.median(moved)))
            missing = rtt.size - known.size
            print(
                f"| {latitude:g}° | {111 * away:.0f} | {middle:.1f} | {high - low:.1f} | {missing} of {rtt.size} | "
                f"{np.mean(found):.3f} |",
                flush=True,
            )


def path_rtt_ms(latitude_deg: float, away_deg: float) -> Floats:
    """The round trip over the satellite of each slot; NaN without one."""
    towards = {"latitude": f"{latitude_deg - away_deg} deg", "longitude": "-122 deg"}
    if latitude_deg == 0:
        towards = {"latitude": "0 deg", "longitude": f"{-122 + away_deg} deg"}
    scenario = api.scenario(
        duration=f"{SLOT_S * SLOTS} s",
        constellation={
            "preset": "starlink-1",
            "gsl": {
                "rate": "100 Mbit/s",
                "elevation_mask": "25 deg",
                "gateways": "bent-pipe",
                "handover": {"policy": "random", "every": f"{SLOT_S} s", "gateways": "highest-elevation"},
            },
        },
        stations={
            "terminal": {"latitude": f"{latitude_deg} deg", "longitude": "-122 deg"},
            "gateway": {**towards, "antennas": 64},
        },
        links=[{"between": ["gateway", "pop"], "rate": "10 Gbit/s", "delay": "0 ms"}],
        flows=[{"name": "f", "from": "terminal", "to": "pop", "tcp": "reno", "application": "ftp"}],
    )
    (path,) = json.loads(scenario.paths_json(SLOT_S))
    delays: list[Any] = path["delays_ns"]
    return np.array([np.nan if one is None else 2e-6 * one for one in delays])


if __name__ == "__main__":
    main()
