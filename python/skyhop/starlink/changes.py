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
from skyhop.starlink.recordings import Floats, Places

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

#: So many likelihoods of spreads, cuts and floors are computed together, if those of one spread are not more.
_TOGETHER = 65536

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
    around = _around(weights, near, np.zeros(count + 2 * near + 1), np.empty(count))
    is_far = max(float(weights @ (1 - around)), 0.0)
    spreads = np.interp(_SPREADS, SHARES, of.spread)
    spare = _OUTLIERS / (float(of.jitter[-1]) + most + _OUTLIERS_MS)
    edges = np.linspace(0, SLOT_S, BINS + 1)
    dense = np.array([np.log((1 - _OUTLIERS) * densities(of.jitter) / one + spare) for one in spreads])
    found = np.zeros((len(slots), 2, BINS))
    room = _Room(max(one.rtt_ms.size for one in slots) + 1, count, near)
    for row, slot, less in zip(found, slots, less_ms, strict=True):
        # What a pause delays, and what waits for an edge, says nothing of the path.
        kept = (slot.phase_s >= 2 * EDGE_S) & (slot.phase_s + 1e-3 * (slot.rtt_ms + less) < SLOT_S)
        trips = slot.rtt_ms[kept]
        none, far_off, near_by = (np.empty((spreads.size, size)) for size in (1, trips.size + 1, trips.size + 1))
        # Not all spreads at once: the arrays of many floors would not stay in the processor's cache.
        together = max(1, _TOGETHER // ((trips.size + 1) * count))
        for some in (slice(first, first + together) for first in range(0, spreads.size, together)):
            # Spreads, cuts, floors: the likelihood of the round trips ahead of each cut, and of those behind it.
            ahead, behind, scale = room.likelihoods(_ends(trips, floors, spreads[some], of.jitter), dense[some])
            weighted = behind @ weights
            # Nothing lies ahead of the first cut.
            none[some] = np.log(weighted[:, :1]) + scale[1][:, :1]
            after = room.around(behind)
            after /= 2 * near + 1
            near_by[some] = _told(after, ahead, weights, 1.0) + (scale[0] + scale[1])
            behind *= weights
            after = room.around(behind)
            np.subtract(weighted[..., None], after, out=after)
            far_off[some] = _told(after, ahead, weights, max(is_far, 1e-9)) + (scale[0] + scale[1])
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


def _ends(trips: Floats, floors: Floats, spreads: Floats, quantiles: Floats) -> Places:
    """For each spread and round trip: how many floors leave a rest of at least each quantile, from the highest down.

    0 and the number of all floors stand around these. A rest is a round trip less the floor, over the spread. It falls
    from one floor to the next, so these few numbers say between which quantiles the rests of all floors are.
    """
    trips, bounds, one = trips[:, None], quantiles[::-1], spreads[:, None, None]
    bordered = np.concatenate([[-np.inf], floors, [np.inf]])
    found = np.zeros((spreads.size, trips.size, bounds.size + 2), dtype=np.intp)
    found[..., -1] = floors.size
    near = (trips - one * bounds - floors[0]) / (floors[1] - floors[0]) + 1
    inner = np.clip(near, 0, floors.size).astype(np.intp)
    while True:
        # A rest that equals a quantile but for rounding counts as the comparison of both says.
        more = (trips - bordered.take(inner + 1)) / one >= bounds
        less = (trips - bordered.take(inner)) / one < bounds
        if not (more.any() or less.any()):
            break
        inner += more
        inner -= less
    # Quantiles that are the same but for rounding may fall.
    np.maximum.accumulate(inner, axis=-1, out=found[..., 1:-1])
    return found


class _Room:
    """Arrays of spreads, cuts and floors that all slots use in turn.

    New ones for each operation would not stay in the processor's cache, and the system would have to clear their memory
    again and again. What a method returns is overwritten by the next call.
    """

    def __init__(self, cuts: int, floors: int, near: int) -> None:
        self._floors, self._near = floors, near
        rows = max(_TOGETHER // floors, cuts)
        self._ahead, self._behind, self._around = np.empty((3, rows, floors))
        # Sums before the first floor stay 0.
        self._sums = np.zeros((rows, floors + 2 * near + 1))

    def likelihoods(self, ends: Places, logs: Floats) -> tuple[Floats, Floats, Floats]:
        """Of the round trips ahead of each cut and behind it, over the greatest; then the logarithms of the greatest.

        `ends` is what `_ends` gives; `logs` has, for each spread, the density below, between and above the quantiles.
        """
        shape = (ends.shape[0], ends.shape[1] + 1, self._floors)
        # Floors at which no round trip lies within the jitter have the same likelihood: one of them is enough.
        first = int(ends[..., 1].min(initial=self._floors))
        last = max(int(ends[..., -2].max(initial=0)), first)
        low, high = max(first - 1, 0), last if first else min(last + 1, self._floors)
        within: Places = np.clip(ends, low, high)
        counts = within[..., 1:] - within[..., :-1]
        of_counts = np.broadcast_to(logs[:, None, ::-1], counts.shape)
        each = np.repeat(of_counts.ravel(), counts.ravel()).reshape(*ends.shape[:2], high - low)
        inner = np.zeros((2, *shape[:2], high - low))
        np.cumsum(each, axis=1, out=inner[0, :, 1:])
        np.subtract(inner[0, :, -1:], inner[0], out=inner[1])
        greatest = inner.max(axis=-1)
        inner -= greatest[..., None]
        np.exp(inner, out=inner)
        ahead, behind = (of[: shape[0] * shape[1]].reshape(shape) for of in (self._ahead, self._behind))
        for whole, part in zip((ahead, behind), inner, strict=True):
            whole[..., low:high] = part
            whole[..., :low] = part[..., :1]
            whole[..., high:] = part[..., :1] if first else part[..., -1:]
        return ahead, behind, greatest

    def around(self, values: Floats) -> Floats:
        """As `_around`."""
        rows = values.shape[0] * values.shape[1]
        sums = self._sums[:rows].reshape(*values.shape[:2], -1)
        return _around(values, self._near, sums, self._around[:rows].reshape(values.shape))


def _around(values: Floats, near: int, sums: Floats, out: Floats) -> Floats:
    """Writes sums over so many neighbours to either side, along the last axis, into `out`.

    `sums` has `2 * near + 1` more places than `values`, and 0 in the first `near + 1`.
    """
    count = values.shape[-1]
    np.cumsum(values, axis=-1, out=sums[..., near + 1 : near + 1 + count])
    sums[..., near + 1 + count :] = sums[..., near + count, None]
    return np.subtract(sums[..., 2 * near + 1 :], sums[..., : -2 * near - 1], out=out)


def _told(after: Floats, ahead: Floats, weights: Floats, of_all: float) -> Floats:
    """Logarithm of the likelihood of each cut; overwrites `after`, that of each first floor behind it."""
    np.maximum(after, 0.0, out=after)
    after *= ahead
    return np.log(np.maximum(after @ weights / of_all, 1e-300))


def _mean(logs: Floats) -> Floats:
    """The logarithm of the mean over the first axis."""
    most = logs.max(axis=0)
    return np.asarray(most + np.log(np.exp(logs - most).mean(axis=0)))
