"""Goodput of CUBIC and BBR over the profile `starlink` without a recording: a table of `docs/models/starlink-sets.md`.

`python benches/sky/starlink_goodput.py [VALUES]`; VALUES is a set of values of the profile, by default "loaded". Each
cell has four seeds, 120 s from t = 0 and 15 ms of wire, with the TCP of Linux.
"""

from __future__ import annotations

import sys

import numpy as np
from cells import spread

from skyhop import api

DELAY = "15 ms"
SEEDS = (1, 2, 3, 4)
CELLS = ((1, "cubic"), (4, "cubic"), (8, "cubic"), (1, "bbr"))


def cell(direction: str, flows: int, control: str, values: str, seed: int) -> tuple[float, float, float]:
    """Goodput of all flows in Mbit/s, share of packets sent again in %, median smoothed round trip in ms."""
    profile = {"profile": {"starlink": {"values": values}}}
    ends = {"from": "terminal", "to": "server"}
    if direction == "down":
        ends = {"from": "server", "to": "terminal"}
    run = api.run(
        {
            "duration": "120 s",
            "profile": "linux",
            "links": [{"between": ["terminal", "server"], "delay": DELAY, "forward": profile, "backward": profile}],
            "flows": [
                {"name": f"f{n}", **ends, "tcp": {"name": control, "send_buffer": "16 MB"}} for n in range(flows)
            ],
            "records": {"grid": "100 ms"},
        },
        seed=seed,
    )
    sums = run.flows.select("goodput_bps", "retransmissions", "packets_sent").sum().row(0)
    trips = run.flow_series["srtt_s"].drop_nulls().to_numpy()
    return sums[0] / 1e6, 100 * sums[1] / sums[2], 1e3 * float(np.median(trips))


def main() -> None:
    """Print the table as Markdown."""
    values = sys.argv[1] if len(sys.argv) > 1 else "loaded"
    print("| | flows | Mbit/s | over one CUBIC | retransmitted, % | smoothed round trip, ms |")
    print("|---|---|---:|---:|---:|---:|")
    for direction in ("up", "down"):
        single = 0.0
        for flows, control in CELLS:
            found = np.array([cell(direction, flows, control, values, seed) for seed in SEEDS])
            mean, scatter = found.mean(axis=0), found[:, 0].std(ddof=1)
            single = single or mean[0]
            row = f"{flows} {control.upper()} | {spread(found[:, 0], scatter, 1)} | {mean[0] / single:.1f}"
            print(f"| {direction} | {row} | {mean[1]:.2f} | {mean[2]:.0f} |", flush=True)


if __name__ == "__main__":
    main()
