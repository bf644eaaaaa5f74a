"""What the bound of the distribution of round trips lets pass: the tables of `docs/models/starlink-recordings.md`.

`python benches/sky/starlink_bound.py RECORDING` shifts medians onto each other, as `skyhop validate starlink` does, and
prints the Kolmogorov-Smirnov distance of the recording from itself made wider or narrower, from itself with a second
path in some of the slots, and of its parts from the whole.
"""

from __future__ import annotations

import sys

import numpy as np

from skyhop.starlink import recordings
from skyhop.starlink.measuring import kolmogorov_smirnov, slotted
from skyhop.starlink.recordings import Floats

BOUND = 0.15
WIDTHS = (0.5, 0.6, 0.65, 0.7, 0.8, 1.25, 1.4, 1.5, 1.6, 2.0)
FARTHER_MS = (10.0, 20.0, 40.0)
SHARES = (0.1, 0.3, 0.5)
#: Lengths of parts, slots.
PARTS = (4, 8, 20, 40, 80)


def main() -> None:
    """Prints the tables."""
    trips = slotted(recordings.read_round_trips(sys.argv[1]))
    rtt, slot = trips.rtt_ms, trips.slot
    print("| width | " + " | ".join(map(str, WIDTHS)) + " |\n|---|" + "---:|" * len(WIDTHS))
    print("| KS | " + " | ".join(f"{distance(rtt, rtt * width):.2f}" for width in WIDTHS) + " |")
    print("\n| farther by | " + " | ".join(f"in {share:.0%} of slots" for share in SHARES) + " |")
    print("|---|" + "---:|" * len(SHARES))
    numbers, place = np.unique(slot, return_inverse=True)
    order = np.random.default_rng(1).permutation(numbers.size)
    for farther in FARTHER_MS:
        found = [distance(rtt, rtt + farther * (order < share * numbers.size)[place]) for share in SHARES]
        print(f"| {farther:g} ms | " + " | ".join(f"{one:.2f}" for one in found) + " |")
    print("\n| part of | median KS | 90 % | above the bound |\n|---|---:|---:|---:|")
    for length in PARTS:
        begins = numbers[: -length + 1 or None : max(length // 2, 1)]
        parts = [rtt[(slot >= begin) & (slot < begin + length)] for begin in begins]
        of_parts = np.array([distance(rtt, part) for part in parts if part.size >= recordings.LEAST])
        median, high = np.percentile(of_parts, [50, 90])
        print(f"| {length / 4:g} min | {median:.3f} | {high:.3f} | {np.mean(of_parts > BOUND):.0%} |")


def distance(a: Floats, b: Floats) -> float:
    """Kolmogorov-Smirnov distance after both medians are zero."""
    return kolmogorov_smirnov(a - np.median(a), b - np.median(b))


if __name__ == "__main__":
    main()
