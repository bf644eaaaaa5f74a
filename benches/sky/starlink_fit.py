"""The profile fitted to the first half of a recording, beside the second half: `docs/models/starlink-fit.svg`.

`python benches/sky/starlink_fit.py RECORDING FIT`, where `skyhop fit starlink RECORDING --part 0-0.5 --out FIT` wrote
the latter.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
import numpy as np

from skyhop.starlink import measures, read_round_trips, sets, simulating
from skyhop.starlink.measuring import calm, slotted
from skyhop.validate import starlink_links

ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    """Simulate and draw."""
    plt.rcParams |= {"svg.hashsalt": "skyhop", "font.size": 9}
    recording = read_round_trips(sys.argv[1]).part(0.5, 1.0)
    links = {"recorded": recording}
    published = {"profile": "starlink"}
    profiles = {
        "fitted": sets.sides(starlink_links.values_of(sys.argv[2])),
        "published": {"forward": published, "backward": published},
    }
    for name, profile in profiles.items():
        links[name] = simulating.round_trips(recording, profile, 1)
    middle = {name: np.nanmedian(one.rtt_ms) for name, one in links.items()}
    figure, (whole, edge, steps) = plt.subplots(1, 3, figsize=(9.6, 2.8))
    for (name, one), colour in zip(links.items(), ("black", "#d62728", "#1f77b4"), strict=True):
        trips = slotted(one)
        shifted = trips.rtt_ms - middle[name] + middle["recorded"]
        whole.plot(np.sort(shifted), np.arange(shifted.size) / shifted.size, color=colour, label=name, linewidth=1.3)
        bins = np.arange(-0.5, 1.5, 0.1)
        phase = np.where(trips.phase_s > 7.5, trips.phase_s - 15, trips.phase_s)
        place = np.digitize(phase, bins) - 1
        profile = [np.median(shifted[place == n]) for n in range(bins.size - 1)]
        edge.step(bins[:-1], profile, where="post", color=colour, linewidth=1.3)
        numbers, medians, _ = calm(trips)
        change = np.sort(np.abs(np.diff(medians))[np.diff(numbers) == 1])
        steps.plot(change, np.arange(change.size) / change.size, color=colour, linewidth=1.3)
        print(name, {key: round(value, 3) for key, value in measures(one).items()})
    whole.set(xlabel="RTT (ms)", ylabel="share of round trips", xlim=(10, 120))
    edge.set(xlabel="time since the edge (s)", ylabel="median RTT (ms)")
    steps.set(xlabel="step between slots (ms)", ylabel="share of steps", xlim=(0, 50))
    whole.legend(frameon=False, fontsize=8)
    for panel in (whole, edge, steps):
        panel.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(ROOT / "docs" / "models" / "starlink-fit.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
