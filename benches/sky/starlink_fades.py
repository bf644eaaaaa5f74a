"""The losses of the set "seoul-2026-fades" of the profile `starlink`: how they follow from a stream of datagrams.

`python benches/sky/starlink_fades.py` prints them, and with `--lengths` what fades of other lengths would do to the
uploads with CUBIC that "seoul-2026" was fitted to (`docs/models/starlink-sets.md`, "Fades"). A stream at a constant
rate whose losses are counted each second does not show how long a fade is, only how much it loses.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from starlink_seoul import FITTED
from starlink_unseen import group_means

from skyhop.inference import mean_and_interval
from skyhop.starlink.recordings import Floats

#: Datagrams lost of a stream of 30 Mbit/s up (7 April 2026, `server_iperf.json` of `20260407_152940_udp_uplink_auto` in
#: starlink-TCP-Server) in the seconds of 20 slots, without the first and the last second of each.
SLOTS = """
2 1 0 0 0 0 12 0 0 0 0 0 0
2 13 1 0 2 9 683 2 4 4 24 15 0
11 0 11 0 0 0 1 0 1 0 0 0 16
13 19 12 24 14 25 13 20 13 21 15 21 9
17 12 23 9 9 13 5 11 14 15 14 7 10
1 2 5 1 1 0 0 7 0 9 0 2 2
13 13 23 27 7 11 33 6 10 7 12 6 18
6 6 6 17 8 8 3 27 2 5 6 19 6
2 0 2 0 14 0 11 0 9 0 17 0 2
11 8 14 7 8 14 14 9 10 7 17 6 6
42 52 79 78 96 84 82 39 33 83 75 55 69
5 4 6 9 3 3 2 2 5 13 6 24 0
13 1 2 2 26 3 5 3 0 62 3 4 7
7 8 6 18 6 7 13 9 10 15 9 6 3
0 0 0 0 2 0 0 0 0 0 0 0 0
10 22 10 9 4 8 71 14 7 3 7 5 5
0 1 12 0 21 0 12 1 12 4 0 2 2
2 5 2 9 0 3 0 1 4 4 1 14 11
1 2 10 3 3 6 0 3 6 1 1 0 2
22 30 20 33 20 31 18 20 22 30 30 33
"""

#: Datagrams of the stream in a second.
PER_S = 776_879 / 300.07

#: A slot is quiet if its median second loses at most so many, and a second holds a dropout from so many on.
QUIET, DROPOUT = 2, 6


def slots() -> list[Floats]:
    """Datagrams lost in the seconds of each slot."""
    return [np.array(line.split(), dtype=float) for line in SLOTS.strip().splitlines()]


def quiet_seconds() -> tuple[Floats, Floats]:
    """Datagrams lost in the seconds of quiet slots: in those with a dropout, and in the others."""
    lost = np.concatenate([one for one in slots() if np.median(one) <= QUIET])
    return lost[lost >= DROPOUT], lost[lost < DROPOUT]


def of_stream() -> tuple[float, float, float, list[float]]:
    """Of the stream: s from dropout to dropout, their mean length in ms, the loss of quiet slots besides, that of all.

    The last is a list of eleven quantiles over slots, without seconds that stand out.
    """
    dropouts, others = quiet_seconds()
    usual = [lost[lost <= max(DROPOUT - 1, 2 * np.median(lost) + 3)].mean() / PER_S for lost in slots()]
    quantiles = [float(f"{one:.3g}") for one in np.quantile(usual, np.linspace(0, 1, 11))]
    return (
        (dropouts.size + others.size) / dropouts.size,
        1e3 * float(dropouts.mean()) / PER_S,
        float(others.mean()) / PER_S,
        quantiles,
    )


#: Length of a fade in the set, ms.
LENGTH_MS = 150


def fade_losses(length_ms: float) -> list[float]:
    """Quantiles of the loss in a fade of this length, 0, 25, 50, 75 and 100 %."""
    lost, _ = quiet_seconds()
    return [float(f"{one:.3g}") for one in np.percentile(lost, (0, 25, 50, 75, 100)) / (PER_S * length_ms / 1e3)]


def keys(length_ms: float) -> dict[str, Any]:
    """The keys of the uplink over "seoul-2026" with fades of this length."""
    every_s, _, quiet, _ = of_stream()
    return {
        "values": "seoul-2026",
        "own": {
            "outage": ["0 ms", "0 ms"],
            "loss": float(f"{quiet:.2g}"),
            "fades": {"every": f"{every_s:.2f} s", "length": f"{length_ms:g} ms", "loss": fade_losses(length_ms)},
        },
    }


def main() -> None:
    """Prints the losses, or what other lengths would do."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--lengths", action="store_true", help="Uploads with fades of other lengths.")
    given = parser.parse_args()
    every_s, dropout_ms, quiet, _ = of_stream()
    print(f"{every_s:.2f} s from fade to fade, which loses as much as {dropout_ms:.2f} ms of the stream")
    print(f"in fades of {LENGTH_MS} ms: {fade_losses(LENGTH_MS)}; besides {100 * quiet:.3f} %")
    if not given.lengths:
        return
    group = [one for one in FITTED if one.control == "cubic"]
    recorded = [one.mbps for one in group]
    mean, half = mean_and_interval(recorded)
    print(f"recorded: {mean:.1f} ± {half:.1f} Mbit/s (95 %), {np.mean([one.resent_percent for one in group]):.2f} %")
    for length_ms in (20, 50, 100, 150, 200, 300, 500, 1000):
        runs = np.array([group_means(group, keys(length_ms), seed) for seed in range(1, 1 + given.seeds)])
        ours, around = mean_and_interval(list(runs[:, 0]))
        print(f"{length_ms} ms: {ours:.1f} ± {around:.1f} Mbit/s, {runs[:, 1].mean():.2f} %", flush=True)


if __name__ == "__main__":
    main()
