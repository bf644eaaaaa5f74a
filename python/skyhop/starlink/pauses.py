"""The pause after an edge: lognormal, by the likelihood of the delays that the first round trips of slots have."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from skyhop.starlink import synthetic
from skyhop.starlink.recordings import Floats
from skyhop.starlink.synthetic import Design

#: Medians, in ms, and standard deviations of the logarithm among which the pause is looked for, beside no pause.
MEDIANS_MS = np.geomspace(15, 300, 41)
DEVIATIONS = np.concatenate([[0.02, 0.05], np.arange(0.1, 1.21, 0.1)])

#: The lengths of pauses, whose distribution has no end, are cut at these shares.
ENDS = (0.005, 0.995)

#: Pauses of the mixtures, ms.
_PAUSES_MS = np.concatenate([[0.0], np.geomspace(4, 2000, 160)])

#: A pause is claimed where it raises the logarithm of the likelihood by this (BIC would say the logarithm of the number
#: of slots): by chance that happens in 1 of 100 recordings without one.
CLAIMED = 4.6

#: Part of the delays that neither jitter nor pause explains.
_OUTLIERS = 0.01

#: Half of the 90 % quantile of the chi-square distribution with one degree of freedom.
_WITHIN = 1.353


@dataclass(frozen=True)
class Pause:
    """Median in ms, 0 for none, and standard deviation of the logarithm."""

    median_ms: float
    deviation: float

    @property
    def quantiles_ms(self) -> Floats:
        """What a scenario takes."""
        if self.median_ms == 0:
            return np.zeros(21)
        return np.asarray(self.median_ms * np.exp(self.deviation * synthetic.scores(np.linspace(*ENDS, 21))))


def _weights() -> Floats:
    """The share of each pause in the mixture of each median and deviation: pauses, medians × deviations."""
    edges = np.concatenate([[1e-3], np.sqrt(_PAUSES_MS[1:-1] * _PAUSES_MS[2:])])
    edges[0] = 2.0
    logs = np.log(edges)[:, None, None]
    below = synthetic.share((logs - np.log(MEDIANS_MS)[None, :, None]) / DEVIATIONS[None, None, :])
    ends = np.zeros((1, *below.shape[1:]))
    return np.diff(np.concatenate([ends, below, ends + 1]), axis=0).reshape(_PAUSES_MS.size, -1)


_WEIGHTS = _weights()


def likelihoods(design: Design, rtt_ms: Floats, middles: Floats, spreads: Floats, rests: tuple[Floats, Floats]) -> Floats:
    """Logarithms of the likelihood of each slot: for no pause, and for each median and deviation. Axes: copies, slots.

    `rests` has the edges of bins of the standardised rests of round trips and the share in each.
    """
    edges, shares = rests
    density = shares / np.diff(edges)
    width = edges[-1] - edges[0]
    slot = design.slot[design.early]
    phase_ms = 1e3 * (design.sent_s - design.edge_s)[design.early]
    waits = np.maximum(_PAUSES_MS[None, :] - phase_ms[:, None], 0.0)
    found = np.empty((len(rtt_ms), design.numbers.size, 1 + _WEIGHTS.shape[1]))
    for copy, (trips, middle, spread) in enumerate(zip(rtt_ms, middles, spreads, strict=True)):
        rest = (trips[design.early] - middle[slot])[:, None] - waits
        place = np.searchsorted(edges, rest / spread[slot][:, None], side="right") - 1
        inside = (place >= 0) & (place < density.size)
        of_each = np.where(inside, density[np.clip(place, 0, density.size - 1)], 0.0)
        logs = np.log((1 - _OUTLIERS) * of_each + _OUTLIERS / (width + 500))
        of_slot = np.zeros((design.numbers.size, _PAUSES_MS.size))
        np.add.at(of_slot, slot, logs)
        most = of_slot.max(axis=1, keepdims=True)
        found[copy, :, 0] = of_slot[:, 0]
        found[copy, :, 1:] = most + np.log(np.maximum(np.exp(of_slot - most) @ _WEIGHTS, 1e-300))
    return found


def nearest(sums: Floats) -> tuple[Floats, Floats, Floats]:
    """Median in ms and deviation of the highest likelihood for each row of sums, and by how much it exceeds no pause."""
    grid = sums[..., 1:].reshape(*sums.shape[:-1], MEDIANS_MS.size, DEVIATIONS.size)
    rows = grid.reshape(-1, MEDIANS_MS.size, DEVIATIONS.size)
    medians, deviations, gains = (np.empty(len(rows)) for _ in range(3))
    logs = np.log(MEDIANS_MS)
    for n, row in enumerate(rows):
        i, j = np.unravel_index(int(np.argmax(row)), row.shape)
        medians[n] = math.exp(_peak(logs, row[:, j], int(i)))
        deviations[n] = _peak(DEVIATIONS, row[i], int(j))
        gains[n] = row[i, j]
    shape = sums.shape[:-1]
    return medians.reshape(shape), deviations.reshape(shape), gains.reshape(shape) - sums[..., 0]


def _peak(places: Floats, heights: Floats, at: int) -> float:
    """The highest point of the parabola through the highest value and its neighbours."""
    if not 0 < at < places.size - 1:
        return float(places[at])
    (a, b, c), (x, y, z) = places[at - 1 : at + 2], heights[at - 1 : at + 2]
    first, second = (y - x) / (b - a), (z - y) / (c - b)
    curve = (second - first) / (c - a)
    if curve >= 0:
        return float(b)
    return float(np.clip((a + b) / 2 - first / (2 * curve), a, c))


def longest_ms(sums: Floats) -> float:
    """The longest median that a recording in which no pause shows does not exclude; 0 where it excludes all."""
    grid = sums[1:].reshape(MEDIANS_MS.size, DEVIATIONS.size).max(axis=1)
    held = MEDIANS_MS[grid >= max(float(sums[0]), float(grid.max())) - _WITHIN]
    return float(held.max()) if held.size else 0.0
