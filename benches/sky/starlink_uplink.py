"""Uploads over the profile `starlink` beside recorded ones of Seoul, 2026.

The table is in `docs/models/starlink-recordings.md`.

`python benches/sky/starlink_uplink.py`. The recorded rows are what iperf3 says at its end in files of
github.com/dlawogud000/starlink-TCP (`logs/`, April 2026: Linux 6.8, 300 s; six uploads of one CUBIC flow, two of one
BBR flow, one each of ten). The others change the set "loaded" key by key: means of three seeds of 300 s with their 95 %
intervals, with the delay of the wire at which the least smoothed round trip is the recorded one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from cells import spread

from skyhop import api
from skyhop.inference import mean_and_interval

DELAY = "27.5 ms"
BEGIN_S, LENGTH_S = 49, 300
SEEDS = (1, 2, 3)
CELLS = ((1, "cubic"), (10, "cubic"), (1, "bbr"), (10, "bbr"))

#: Mbit/s received, segments sent again in %, mean smoothed round trip in ms.
RECORDED = {
    (1, "cubic"): (9.1, 0.12, 80),
    (10, "cubic"): (26.2, 0.99, 82),
    (1, "bbr"): (34.9, 3.1, 110),
    (10, "bbr"): (36.7, 9.9, 108),
}

#: Losses between the bursts of one recorded upload: 53 of 96,282 segments.
LOSS = 0.00055
OUTAGE = ["0 ms", "0 ms", "50 ms"]
VARIANTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    '`"loaded"`': ({}, {}),
    "with `loss = 0.00055`": ({"loss": LOSS}, {}),
    "and `outage`": ({"loss": LOSS, "edge_loss": [0, 0], "outage": OUTAGE}, {}),
    'and `queue = "codel"`': ({"loss": LOSS, "edge_loss": [0, 0], "outage": OUTAGE}, {"queue": "codel"}),
}


def cell(flows: int, control: str, keys: dict[str, Any], link: dict[str, Any], seed: int) -> tuple[float, float, float]:
    """Goodput of all flows in Mbit/s, share of packets sent again in %, mean smoothed round trip in ms."""
    up = {"profile": {"starlink": {"values": "loaded", **keys}}, **link}
    down = {"profile": {"starlink": {"values": "loaded"}}}
    flow = {"from": "terminal", "to": "server", "tcp": {"name": control, "send_buffer": "16 MB"}}
    run = api.run(
        {
            "duration": f"{BEGIN_S + LENGTH_S} s",
            "profile": "linux",
            "links": [{"between": ["terminal", "server"], "delay": DELAY, "forward": up, "backward": down}],
            "flows": [{"name": f"f{n}", **flow, "start": f"{BEGIN_S} s"} for n in range(flows)],
            "records": {"grid": "1 s"},
        },
        seed=seed,
    )
    sums = run.flows.select("goodput_bps", "retransmissions", "packets_sent").sum().row(0)
    return sums[0] / 1e6, 100 * sums[1] / sums[2], 1e3 * float(run.flow_series["srtt_s"].drop_nulls().to_numpy().mean())


def words(mbps: float, resent: float, rtt_ms: float) -> str:
    """One cell of the row of recorded values, which have no interval."""
    return f"{mbps:.1f}, {resent:.2g} %, {rtt_ms:.0f} ms"


def simulated(found: list[tuple[float, float, float]]) -> str:
    """One cell of the other rows, with a tuple for each seed: means with their 95 % intervals."""
    mbps, resent, rtt_ms = (list(values) for values in zip(*found, strict=True))
    # Shares below 1 % have two digits that count.
    resent_digits = 2 if np.mean(resent) < 1 else 1
    shown = [
        spread(values, mean_and_interval(values)[1], digits)
        for values, digits in ((mbps, 1), (resent, resent_digits), (rtt_ms, 0))
    ]
    return "{}, {} %, {} ms".format(*shown)


def main() -> None:
    """Print the table as Markdown."""
    print("| | " + " | ".join(f"{flows} {control.upper()}" for flows, control in CELLS) + " |")
    print("|---" * (len(CELLS) + 1) + "|")
    print("| recorded | " + " | ".join(words(*RECORDED[key]) for key in CELLS) + " |")
    for name, (keys, link) in VARIANTS.items():
        found = [simulated([cell(*key, keys, link, seed) for seed in SEEDS]) for key in CELLS]
        print(f"| {name} | " + " | ".join(found) + " |", flush=True)


if __name__ == "__main__":
    main()
