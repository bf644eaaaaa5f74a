"""Losses near the edges of slots and successive round trips of recordings, for `docs/models/starlink-recordings.md`.

`python benches/sky/starlink_edges.py RECORDING…`, what `skyhop validate starlink` reads as round trips. Stretches in
which losses come by a clock are left out. Beside each recording stands the set "loaded" with pings at the same times.
"""

from __future__ import annotations

import sys

import numpy as np

from skyhop.starlink import simulating
from skyhop.starlink.measuring import FIRST_S, SLOT_S, by_the_clock
from skyhop.starlink.recordings import Recording, read_round_trips

SEEDS = (1, 2, 3)
NEAR_S = (0.25, 1.0)
LOADED = {"profile": {"starlink": {"values": "loaded"}}}


def near(recording: Recording, within_s: float) -> tuple[int, int, int, int]:
    """Round trips that count and those near edges; losses and those near edges."""
    counts = ~by_the_clock(recording)
    phase = (recording.sent_s[counts] - FIRST_S) % SLOT_S
    is_near = np.minimum(phase, SLOT_S - phase) < within_s
    lost = np.isnan(recording.rtt_ms[counts])
    return is_near.size, int(is_near.sum()), int(lost.sum()), int((lost & is_near).sum())


def successive(recording: Recording) -> tuple[float, float, float]:
    """Of answered round trips: 10 to 90 % and mean distance of successive ones in ms, autocorrelation."""
    trips = recording.rtt_ms[~np.isnan(recording.rtt_ms)]
    low, high = np.percentile(trips, [10, 90])
    return high - low, float(np.abs(np.diff(trips)).mean()), float(np.corrcoef(trips[:-1], trips[1:])[0, 1])


def main() -> None:
    """Print both for each recording."""
    for name in sys.argv[1:]:
        recording = read_round_trips(name)
        print(recording.name)
        for within_s in NEAR_S:
            every, close, lost, lost_close = near(recording, within_s)
            print(
                f"  within {within_s} s of an edge: {close / every:.1%} of {every} trips, {lost_close} of {lost} losses"
            )
        forward_and_back = {"forward": LOADED, "backward": LOADED}
        runs = [simulating.round_trips(recording, forward_and_back, seed) for seed in SEEDS]
        for what, (width, change, correlation) in (
            ("recorded", successive(recording)),
            ('"loaded"', np.mean([successive(run) for run in runs], axis=0)),
        ):
            print(
                f"  {what}: 10 to 90 % {width:.1f} ms, successive {change:.1f} ms apart, correlation {correlation:.2f}"
            )


if __name__ == "__main__":
    main()
