"""Changes of the path within a slot: how often and when, by the likelihood of the round trips of whole slots.

A slot has one path, or two, of which the second draws a floor of its own. The likelihood of its round trips is summed
over both floors, its spread and the place of the change, and the share of slots with a change and its times are found
by expectation and maximisation. A second kind of change does not stand for another path: floors that differ by less
than half of the jitter's width, as waiting makes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skyhop.starlink.estimating import QUANTILES, SHARES, Estimate, densities
from skyhop.starlink.measuring import EDGE_S, SLOT_S, Slotted
from skyhop.starlink.recordings import Floats

#: A change is claimed where it raises the logarithm of the likelihood by this: as for a pause.
CLAIMED = 4.6

#: Into so many parts of a slot the times of changes are sorted.
BINS = 60

#: Distance of neighbouring floors as a part of the jitter's width, and how many there are at least and at most.
_FINE, _LEAST, _MOST = 0.05, 50, 800

#: Spreads at which the likelihood of a slot is taken, as shares of those of all slots.
_SPREADS = (0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95)

#: Part of the round trips that nothing here explains, and over how many ms beyond jitter and steps they lie.
_OUTLIERS, _OUTLIERS_MS = 0.01, 500.0

#: Rounds of expectation and maximisation.
_ROUNDS = 60

#: Part of the changes that may come at any time: else the few that were seen would exclude all others.
_ANY = 0.1

#: Two steps of which fewer are farther apart than the jitter hides tell no changes.
_LEAST_FAR = 0.02


@dataclass(frozen=True)
class Changes:
    """How often a slot has a change, and when; by slot, what its round trips say of it."""

    share: float
    """The part of the slots; 0 where none is claimed."""
    times_s: Floats
    """Quantiles of the time from the start of a slot to its change; evenly in the slot where none is claimed."""
    each: Floats
    """By slot: the probability of a change in each part of the slot; without a claim 0."""

    def longer(self, slots: Sequence[Slotted]) -> list[Slotted]:
        """Of each slot that has a change more likely than not the longer part, of others all."""
        found = []
        for slot, each in zip(slots, self.each, strict=True):
            if each.sum() > 0.5:
                at_s = (float(np.argmax(each)) + 0.5) * SLOT_S / BINS
                ahead = slot.phase_s < at_s
                kept = ahead if np.count_nonzero(ahead & slot.inside) * 2 >= np.count_nonzero(slot.inside) else ~ahead
                slot = Slotted(slot.slot[kept], slot.phase_s[kept], slot.rtt_ms[kept])
            found.append(slot)
        return found


def most_likely(likelihoods: Floats, far: float, weights: Floats | None = None, *, claimed: float = CLAIMED) -> Changes:
    """The most likely changes where each slot counts so many times, none where they gain less than `claimed`.

    `likelihoods` and `far` are what `likelihoods` found.
    """
    times = np.ones(len(likelihoods)) if weights is None else weights
    shares, when, each, gain = _maximised(likelihoods, times)
    without = likelihoods.copy()
    without[:, 0] = 0
    if far < _LEAST_FAR or gain - _maximised(without, times)[3] < claimed:
        return Changes(0.0, np.linspace(0, SLOT_S, QUANTILES), np.zeros_like(likelihoods[:, 0]))
    # A part of the changes is to a floor so near that they do not show.
    return Changes(min(float(shares[0]) / far, 1.0), _quantiles(when[0] * shares[0] * times.sum()), each[:, 0])


def likelihoods(slots: Sequence[Slotted], of: Estimate, less_ms: Sequence[float]) -> tuple[Floats, float]:
    """By slot, over the likelihood without a change, for each part of the slot: with a change there, and a near one.

    Second, how many of two steps are farther apart than half of the jitter's width. The round trips of each slot are
    given less so many ms, as those behind `of` were.
    """
    width = max(float(of.jitter[18] - of.jitter[2]), 0.1)
    most = max(float(of.step[-1]), 1e-3)
    count = int(min(max(most / (_FINE * width), _LEAST), _MOST))
    below = np.interp(np.linspace(0, most, count + 1), of.step + 1e-9 * np.arange(QUANTILES), SHARES)
    weights = np.diff(below) / (below[-1] - below[0])
    floors = of.base_ms + (np.arange(count) + 0.5) * most / count
    near = max(1, round(width / 2 / (most / count)))
    is_far = max(float(weights @ (1 - _around(weights, near))), 0.0)
    spreads = np.interp(_SPREADS, SHARES, of.spread)
    spare = _OUTLIERS / (float(of.jitter[-1]) + most + _OUTLIERS_MS)
    edges = np.linspace(0, SLOT_S, BINS + 1)
    dense = [np.log((1 - _OUTLIERS) * densities(of.jitter) / one + spare) for one in spreads]
    found = np.zeros((len(slots), 2, BINS))
    for row, slot, less in zip(found, slots, less_ms, strict=True):
        # What a pause delays, and what waits for an edge, says nothing of the path.
        kept = (slot.phase_s >= 2 * EDGE_S) & (slot.phase_s + 1e-3 * (slot.rtt_ms + less) < SLOT_S)
        rests = slot.rtt_ms[kept, None] - floors
        none, far_off, near_by = (np.empty((spreads.size, size)) for size in (1, len(rests) + 1, len(rests) + 1))
        # One spread after the other: the arrays of all would not stay in the processor's cache.
        for n, (one, logs) in enumerate(zip(spreads, dense, strict=True)):
            # Cuts, floors: the likelihood of the round trips ahead of each cut, and of those behind it.
            ahead = np.zeros((len(rests) + 1, count))
            np.cumsum(logs[np.searchsorted(of.jitter, rests / one, side="right")], axis=0, out=ahead[1:])
            behind = ahead[-1:] - ahead
            of_first, of_second = _scale(ahead), _scale(behind)
            weighted = behind @ weights
            # Nothing lies ahead of the first cut.
            none[n] = (np.log(weighted) + of_second)[:1]
            beside = _around(behind, near)
            beside /= 2 * near + 1
            behind *= weights
            beyond = np.subtract(weighted[:, None], _around(behind, near), out=behind)
            for after, of_all, told in ((beyond, max(is_far, 1e-9), far_off), (beside, 1.0, near_by)):
                np.maximum(after, 0.0, out=after)
                after *= ahead
                told[n] = np.log(np.maximum(after @ weights / of_all, 1e-300)) + (of_first + of_second)
        times = np.concatenate([[0.0], slot.phase_s[kept], [SLOT_S]])
        overlap = np.clip(np.minimum(times[1:, None], edges[1:]) - np.maximum(times[:-1, None], edges[:-1]), 0, None)
        for n, told in enumerate((far_off, near_by)):
            row[n] = np.exp(np.clip(_mean(told) - _mean(none), -600, 600)) @ overlap / (SLOT_S / BINS)
    return found, is_far


def _maximised(likelihoods: Floats, weights: Floats) -> tuple[Floats, Floats, Floats, float]:
    """Shares of far and near changes, their distributions over the slot, their probabilities by slot, and the gain."""
    shares, when = np.array([0.1, 0.1]), np.full((2, BINS), 1 / BINS)
    for _ in range(_ROUNDS):
        each = likelihoods * when * shares[:, None]
        total = 1 - shares.sum() + each.sum(axis=(1, 2))
        each /= total[:, None, None]
        summed = np.tensordot(weights, each, 1)
        shares = np.minimum(summed.sum(axis=1) / weights.sum(), 0.499)
        when = (1 - _ANY) * summed / np.maximum(summed.sum(axis=1, keepdims=True), 1e-12) + _ANY / BINS
    return shares, when, each, float(weights @ np.log(total))


def _quantiles(counts: Floats) -> Floats:
    """Quantiles of the times of changes, of which each part of a slot has so many."""
    edges = np.linspace(0, SLOT_S, BINS + 1)
    below = np.concatenate([[0.0], np.cumsum(counts)]) / counts.sum()
    return np.asarray(np.interp(SHARES, below + 1e-12 * np.arange(BINS + 1), edges))


def _around(values: Floats, near: int) -> Floats:
    """Sums over so many neighbours to either side, along the last axis."""
    *others, count = values.shape
    summed = np.zeros((*others, count + 2 * near + 1))
    np.cumsum(values, axis=-1, out=summed[..., near + 1 : near + 1 + count])
    summed[..., near + 1 + count :] = summed[..., near + count, None]
    return np.asarray(summed[..., 2 * near + 1 :] - summed[..., : -2 * near - 1])


def _scale(logs: Floats) -> Floats:
    """Writes likelihoods over the greatest of the last axis into `logs`; returns the logarithm of the greatest."""
    most: Floats = logs.max(axis=-1)
    logs -= most[..., None]
    np.exp(logs, out=logs)
    return most


def _mean(logs: Floats) -> Floats:
    """The logarithm of the mean over the first axis."""
    most = logs.max(axis=0)
    return np.asarray(most + np.log(np.exp(logs - most).mean(axis=0)))
