"""The pause after an edge: lognormal, by the likelihood of the delays that the first round trips of slots have."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from skyhop.starlink.estimating import QUANTILES, Estimate, densities
from skyhop.starlink.measuring import Slotted
from skyhop.starlink.recordings import Floats

#: Round trips in this time after the edge tell the pause, s; one in each so many seconds, because those that wait for
#: the end of one pause leave together and have one jitter.
SEEN_S = 0.4
_APART_S = 0.05

#: Medians, in ms, and standard deviations of the logarithm among which the pause is looked for, beside no pause.
MEDIANS_MS = np.geomspace(15, 300, 41)
DEVIATIONS = np.concatenate([[0.02, 0.05], np.arange(0.1, 1.21, 0.1)])

#: The lengths of pauses, whose distribution has no end, are cut at these shares.
_ENDS = (0.005, 0.995)

#: Pauses of the mixtures, ms.
_PAUSES_MS = np.concatenate([[0.0], np.geomspace(4, 2000, 640)])

#: A pause is claimed where it raises the logarithm of the likelihood by this. By chance the two values of a pause raise
#: it so much in one of a hundred recordings (Wilks, Annals of Mathematical Statistics 9, 1938).
CLAIMED = 4.6

#: Part of the delays that neither jitter nor pause explains, and over how many ms beyond the jitter they lie.
_OUTLIERS, _OUTLIERS_MS = 0.01, 500.0

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
            return np.zeros(QUANTILES)
        scores = [NormalDist().inv_cdf(share) for share in np.linspace(*_ENDS, QUANTILES)]
        return np.asarray(self.median_ms * np.exp(self.deviation * np.array(scores)))


def _below(scores: Floats) -> Floats:
    """The standard normal distribution function."""
    # Farther out it is 0 or 1 in doubles. Most scores lie there, and each call costs time.
    found = np.where(scores > 0, 1.0, 0.0)
    near = np.abs(scores) < 8.5
    found[near] = [0.5 * (1 + math.erf(one)) for one in (scores[near] / math.sqrt(2)).tolist()]
    return found


@functools.cache
def _weights() -> Floats:
    """The share of each pause in the mixture of each median and deviation: pauses, by medians and deviations."""
    ends = np.log(np.concatenate([[2.0], np.sqrt(_PAUSES_MS[1:-1] * _PAUSES_MS[2:])]))[:, None, None]
    below = _below((ends - np.log(MEDIANS_MS)[:, None]) / DEVIATIONS)
    none = np.zeros((1, *below.shape[1:]))
    return np.diff(np.concatenate([none, below, none + 1]), axis=0).reshape(_PAUSES_MS.size, -1)


def early(slots: Sequence[Slotted]) -> list[Slotted]:
    """The round trips of each slot that tell the pause."""
    found = []
    for one in slots:
        kept: list[int] = []
        for n in np.nonzero(one.phase_s < SEEN_S)[0]:
            if not kept or one.phase_s[n] >= one.phase_s[kept[-1]] + _APART_S:
                kept.append(int(n))
        found.append(Slotted(one.slot[kept], one.phase_s[kept], one.rtt_ms[kept]))
    return found


def likelihoods(slots: Sequence[Slotted], of: Estimate) -> Floats:
    """Logarithms of the likelihood of early round trips: a row for each slot, for no pause and for each mixture."""
    weights = _weights()
    spare = _OUTLIERS / (float(of.jitter[-1]) + _OUTLIERS_MS)
    dense = densities(of.jitter)
    found = np.zeros((len(slots), 1 + weights.shape[1]))
    for row, one, floor, spread in zip(found, slots, of.floors, of.spreads, strict=True):
        waits = np.maximum(_PAUSES_MS - 1e3 * one.phase_s[:, None], 0.0)
        rests = (one.rtt_ms[:, None] - floor - waits) / spread
        logs = np.log((1 - _OUTLIERS) * dense / spread + spare)
        each = logs[np.searchsorted(of.jitter, rests, side="right")].sum(axis=0)
        most = float(each.max())
        row[0] = each[0]
        row[1:] = most + np.log(np.maximum(np.exp(each - most) @ weights, 1e-300))
    return found


def most_likely(sums: Floats) -> tuple[Pause, float]:
    """The pause of the highest sum of logarithms, and by how much it exceeds that of no pause."""
    grid = sums[1:].reshape(MEDIANS_MS.size, DEVIATIONS.size)
    i, j = (int(one) for one in np.unravel_index(int(np.argmax(grid)), grid.shape))
    median_ms = math.exp(_peak(np.log(MEDIANS_MS), grid[:, j], i))
    return Pause(median_ms, _peak(DEVIATIONS, grid[i], j)), float(grid[i, j] - sums[0])


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
