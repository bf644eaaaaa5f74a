"""Three models of the losses of an uplink beside uploads with CUBIC to servers farther away, which none of them saw.

`python benches/sky/starlink_farther.py [--seeds 5]` prints the table of `docs/models/starlink-unseen.md`, "Servers
farther away", and `--model` what the models take from a stream of datagrams over a dish in Seoul (`SLOTS`). The files
judged are those of `starlink_unseen.py`'s repository; their names decided which, before they were read.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlink_seoul import Upload, simulated
from starlink_unseen import mean_and_range, verdict

Floats = NDArray[np.float64]

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


def of_stream() -> tuple[float, float, float, list[float]]:
    """Of the stream: s from dropout to dropout, their mean length in ms, the loss of quiet slots besides, that of all.

    The last is a list of eleven quantiles over slots, without seconds that stand out.
    """
    quiet = np.concatenate([lost for lost in slots() if np.median(lost) <= QUIET])
    dropouts = quiet[quiet >= DROPOUT]
    usual = [lost[lost <= max(DROPOUT - 1, 2 * np.median(lost) + 3)].mean() / PER_S for lost in slots()]
    quantiles = [float(f"{one:.3g}") for one in np.quantile(usual, np.linspace(0, 1, 11))]
    return (
        quiet.size / dropouts.size,
        1e3 * float(dropouts.mean()) / PER_S,
        float(quiet[quiet < DROPOUT].mean()) / PER_S,
        quantiles,
    )


def models() -> dict[str, dict[str, Any]]:
    """The keys of each model of the uplink, over `"seoul-2026"`."""
    every_s, length_ms, quiet, all_slots = of_stream()
    no_outage = {"outage": ["0 ms", "0 ms"]}
    dropouts = {"errors": [{"shadowing": {"good": f"{every_s:.2f} s", "bad": f"{length_ms:.2f} ms"}}]}
    return {
        "set": {"values": "seoul-2026"},
        "quiet": {"values": "seoul-2026", "own": {"loss": float(f"{quiet:.3g}"), **no_outage}, "forward": dropouts},
        "slots": {"values": "seoul-2026", "own": {"loss": all_slots, **no_outage}, "forward": dropouts},
    }


#: Uploads with CUBIC to each city: filled in after the models were committed.
JUDGING: dict[str, list[Upload]] = {}


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--model", action="store_true", help="Only what the models take from the stream.")
    given = parser.parse_args()
    every_s, length_ms, quiet, all_slots = of_stream()
    print(f"dropouts every {every_s:.2f} s, {length_ms:.2f} ms; loss of quiet slots {100 * quiet:.3f} %")
    print(f"loss of all slots {all_slots}, mean {100 * float(np.mean(all_slots)):.2f} %\n")
    if given.model:
        return
    seeds = range(1, 1 + given.seeds)
    print("| uploads to | losses | goodput, Mbit/s | range of 95 % | off | sent again, % | range of 95 % | off |")
    print("|---|---|---|---|---|---|---|---|")
    for city, group in JUDGING.items():
        recorded = np.mean([(one.mbps, one.resent_percent) for one in group], axis=0)
        for name, keys in models().items():
            runs = np.array([np.mean([simulated(one, keys, seed)[:2] for one in group], axis=0) for seed in seeds])
            cells = []
            for measure, digits, value, column in zip(("goodput", "repeated"), (1, 2), recorded, runs.T, strict=True):
                mean, low, high = mean_and_range(column)
                inside = "" if low <= value <= high else ", outside"
                cells += [
                    f"{value:.{digits}f}: {mean:.{digits}f}",
                    f"{low:.{digits}f} to {high:.{digits}f}{inside}",
                    verdict(measure, mean, value),
                ]
            print(f"| {city} | {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
