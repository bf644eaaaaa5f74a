"""How often the 90 % intervals of `skyhop fit starlink` hold known values.

Usage: `python benches/sky/starlink_coverage.py [RECORDINGS [DRAWS]]`, 40 and 40 without arguments. Each recording has
80 slots that add 0 to 20 ms evenly, jitter of 0 to 10 ms evenly at each round trip and a pause of 120 ms, and five
round trips a second.
"""

from __future__ import annotations

import sys

import numpy as np

from skyhop import starlink
from skyhop.starlink.recordings import Recording

SLOTS = 80
#: An edge.
START_S = 1_700_000_052.0
#: Of uniform distributions: means, and 80 % of a width.
KNOWN = {
    "step, mean": 10.0,
    "step, 90 %": 18.0,
    "jitter, median": 5.0,
    "jitter, 10 to 90 %": 8.0,
    "pause, median": 120.0,
    "correlation of neighbouring slots": 0.0,
}


def made(seed: int) -> Recording:
    """A recording of the known values."""
    generator = np.random.Generator(np.random.PCG64(seed))
    since_s = np.arange(0.0, 15.0 * SLOTS, 0.2) + generator.uniform(0, 0.1, 75 * SLOTS)
    slot = np.floor(since_s / 15).astype(int)
    step_ms = generator.uniform(0, 20, SLOTS)[slot]
    pause_ms = np.maximum(120 - 1e3 * (since_s - 15 * slot), 0.0)
    return Recording(f"{seed}", START_S + since_s, 30 + step_ms + generator.uniform(0, 10, since_s.size) + pause_ms)


def main(recordings: int = 40, draws: int = 40) -> None:
    """Prints a row for each value."""
    held = dict.fromkeys(KNOWN, 0)
    found: dict[str, list[float]] = {name: [] for name in KNOWN}
    for seed in range(recordings):
        for one in starlink.fit([made(seed)], draws=draws).parameters:
            if one.name in KNOWN:
                # The medians of pauses lie on a grid, so an end of an interval may be the known value but for rounding.
                held[one.name] += one.low - 1e-6 <= KNOWN[one.name] <= one.high + 1e-6
                found[one.name].append(one.value)
    print("| value | known | found, mean | standard deviation | intervals that hold it |\n|---|---:|---:|---:|---:|")
    for name, known in KNOWN.items():
        mean, deviation = np.mean(found[name]), np.std(found[name])
        print(f"| {name} | {known:g} | {mean:.3g} | {deviation:.2g} | {held[name]} of {recordings} |")


if __name__ == "__main__":
    main(*(int(one) for one in sys.argv[1:]))
