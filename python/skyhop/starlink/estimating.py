"""The most likely step, jitter and spread of the profile `starlink` for the round trips of some slots.

A round trip of slot j is f_j + s_j * jitter: f_j is the base and the slot's step, s_j its spread. The distributions of
step and jitter are quantiles with straight lines between them, as the profile draws them; the logarithm of the spread
is normal. No slot tells its f and s exactly, so their likelihoods are summed over both, and the distributions are found
by expectation and maximisation (Dempster, Laird and Rubin, J. Royal Statistical Society B 39, 1977; without a shape
given in advance: Laird, J. American Statistical Association 73, 1978). Each slot has a grid of its own around its most
likely f and s (adaptive quadrature: Pinheiro and Bates, J. Computational and Graphical Statistics 4, 1995).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skyhop.starlink.measuring import between
from skyhop.starlink.recordings import Floats, Places

#: Evenly spaced quantiles of each distribution: 5 % apart.
QUANTILES = 21
SHARES = np.linspace(0, 1, QUANTILES)

#: Points of the grid of a slot: places of its jitter in ms and logarithms of its spread, over so many standard
#: deviations to either side.
_PLACES, _PLACES_TO = 25, 4.5
_SCALES, _SCALES_TO = 11, 4.0

#: Bins of the round trips of a slot: 4/5 of them between 2 and 98 % of all.
_BINS = 400

#: Part of the round trips that nothing here explains; else one round trip could decide about a slot.
_OUTLIERS = 1e-3

#: How often quantiles are smoothed before a slot's likelihood is taken. Recorded jitter has the frames of grants in it:
#: slots lock onto one or the next of them, and the result then depended on where the search began (least round trips of
#: Seattle from 11.4 to 17.6 ms; with 2, 6 or 20 times 17.0 to 17.4).
_SMOOTHED = 4

#: Rounds between new grids, how often there are new ones, and rounds after that at most, for the recording and a draw.
_ROUNDS, _GRIDS, _LAST_ROUNDS, _DRAW_ROUNDS = 8, 4, 80, 30

#: A round that changes no quantile of the jitter by more, as a part of its width, is the last.
_CLOSE = 3e-4

#: Places into which `weighted_quantiles` sorts values.
_FINE = 4000


@dataclass(frozen=True)
class Estimate:
    """Quantiles from 0 on in ms, and the spread; the other arrays have a value for each slot."""

    step: Floats
    jitter: Floats
    spread: Floats
    """Quantiles of a factor, in the median 1."""
    deviation: float
    """Standard deviation of the logarithm of the spread."""
    least_deviation: bool
    """Whether a deviation of 0 shows as much more often than in one of twenty recordings."""
    base_ms: float
    """What all slots have: the least delay."""
    floors: Floats
    """Base and step."""
    spreads: Floats
    chance: float
    """Variance of the floors that comes from the few round trips of a slot, in ms²."""


class Slots:
    """Round trips of slots away from edges, in ms, and the most likely distributions behind them."""

    def __init__(self, rtt_ms: Sequence[Floats]) -> None:
        resolution = _resolution(np.concatenate(list(rtt_ms)))
        generator = np.random.Generator(np.random.PCG64(5))
        self._trips = [np.sort(one + resolution * generator.uniform(-0.5, 0.5, one.size)) for one in rtt_ms]
        self._middles = np.array([np.median(one) for one in self._trips])
        """Round trip of each slot with the jitter `_pivot`; the middle of the grid."""
        sizes = np.array([one.size for one in self._trips])
        every, begins = np.concatenate(self._trips), np.cumsum(sizes) - sizes
        low, high = (between(every, begins, np.asarray(share * (sizes - 1), dtype=float)) for share in (0.1, 0.9))
        widths = np.maximum(high - low, 0.1)
        width, trips = float(np.median(widths)), float(np.median(sizes))
        logs = np.log(widths / width)
        self._deviation = max(float(np.std(logs)), 0.02)
        # Nearer to each other than they look, because part of the difference is chance.
        self._logs = 0.7 * logs
        """Logarithm of the spread of each slot; the middle of the grid."""
        rests = np.concatenate([(one - middle) * math.exp(-log) for one, middle, log in self._each()])
        found = weighted_quantiles(rests, np.ones(rests.size))
        self._jitter, self._pivot = found - found[0], -found[0]
        self._floors: Floats | None = None
        """Quantiles of base and step; none before the first round."""
        # Some standard deviations of a median and of the logarithm of a width: only the first grid needs them.
        self._place_error, self._log_error = 0.65 * width / math.sqrt(trips), 1.2 / math.sqrt(trips)
        self._count()
        for _ in range(_GRIDS):
            self._run(_ROUNDS)
            self._middles = self._middles + np.exp(self._logs) * self._place_means
            self._logs = self._logs + self._log_means
            self._place_error = max(math.sqrt(float(np.quantile(self._place_variances, 0.8))), 1e-4 * width)
            self._log_error = max(math.sqrt(float(np.quantile(self._log_variances, 0.8))), 1e-3)
            self._count()
        self._run(_LAST_ROUNDS)

    def drawn(self, times: Floats) -> Estimate:
        """The estimate where each slot counts so many times."""
        other = copy.copy(self)
        other._run(_DRAW_ROUNDS, times)
        return other.estimate(times)

    def estimate(self, times: Floats | None = None) -> Estimate:
        """The values found; the spread is 1 in the median of the slots, each of which counts so many times."""
        weights = np.ones(len(self._trips)) if times is None else times
        logs = self._logs + self._log_means
        shape = weighted_quantiles(logs, weights)
        middle = float(shape[QUANTILES // 2])
        shape = shape - middle
        own = float(np.std(np.interp(np.linspace(0, 1, 2001), SHARES, shape)))
        scale = self._deviation / own if own > 0 else 0.0
        # Quantiles of n values that lie evenly in an interval reach over n / (n + 1) of it in the mean.
        found = np.asarray(self._floors)
        floors = found + (found - found[QUANTILES // 2]) / float(weights.sum())
        # The log of the spread is known to so much from one slot alone.
        chance = 1 / max(1 / float(np.mean(self._log_variances)) - 1 / self._deviation**2, 1e-9)
        parts, places = self._cells
        means = (parts * places).sum(axis=(1, 2))
        variances = (parts * (places - means[:, None, None]) ** 2).sum(axis=(1, 2))
        by_chance = 1.645 * math.sqrt(2 / len(self._trips)) * (self._deviation**2 + chance)
        return Estimate(
            step=floors - floors[0], jitter=self._jitter * math.exp(middle), spread=np.exp(shape * scale),
            deviation=self._deviation, least_deviation=self._deviation**2 < by_chance, base_ms=float(floors[0]),
            floors=means, spreads=np.exp(logs), chance=float(np.mean(variances)),
        )  # fmt: skip

    def _each(self) -> zip[tuple[Floats, float, float]]:
        return zip(self._trips, self._middles, self._logs, strict=True)

    def _count(self) -> None:
        """Counts the round trips of each slot in bins, which lie at its middle and are as wide as its spread."""
        every = np.concatenate([(one - middle) * math.exp(-log) for one, middle, log in self._each()])
        low, inner_low, inner_high, high = np.quantile(every, [0, 0.02, 0.98, 1])
        inner_high = max(inner_high, inner_low + 1e-3)
        width = (inner_high - inner_low) / (0.8 * _BINS)

        def tail(length: float) -> Floats:
            """Ends of bins that are wider the farther they lie outside."""
            bins = int(np.clip(math.ceil(length / width), 1, _BINS // 10))
            power = 2.0 if length > bins * width else 1.0
            return np.asarray(max(length, width) * (np.arange(1, bins + 1) / bins) ** power)

        below, above = tail(inner_low - low + width), tail(high - inner_high + width)
        inner = np.linspace(inner_low, inner_high, int(0.8 * _BINS) + 1)
        self._edges = np.concatenate([(inner_low - below)[::-1], inner, inner_high + above])
        # All lie within the outermost ends. A histogram of each slot by itself takes many times as long.
        slots, bins = len(self._trips), self._edges.size - 1
        slot = np.repeat(np.arange(slots), [one.size for one in self._trips])
        place = np.searchsorted(self._edges, every, side="right") - 1 + bins * slot
        self._counts = np.bincount(place, minlength=bins * slots).reshape(slots, bins).astype(float)
        self._places = np.linspace(-_PLACES_TO, _PLACES_TO, _PLACES) * self._place_error
        self._scales = np.linspace(-_SCALES_TO, _SCALES_TO, _SCALES) * self._log_error

    def _run(self, rounds: int, times: Floats | None = None) -> None:
        weights = np.ones(len(self._trips)) if times is None else times
        drawn = np.flatnonzero(weights)
        # Each run has its own, because `estimate` reads the cells of the last round.
        room = _Room(len(self._trips), drawn.size, self._edges.size - 1)
        before = self
        for _ in range(rounds):
            # A round replaces what it changes, so this remains what the last round began with.
            before = copy.copy(self)
            if self._round(weights, drawn, room) < _CLOSE:
                break
        parts, floors = room.parts, room.floors
        if drawn.size < weights.size:
            # A draw leaves out a third of the slots. They change nothing in a round, but `estimate` reads them all.
            parts, floors = np.empty((2, weights.size, _SCALES, _PLACES))
            before._expect(np.arange(weights.size), room.likely, parts, floors)
        self._cells = parts, floors
        self._place_means, self._place_variances = _moments(parts.sum(axis=1), before._places)
        self._log_means, self._log_variances = _moments(parts.sum(axis=2), self._scales)

    def _round(self, weights: Floats, drawn: Places, room: _Room) -> float:
        """Expectation and maximisation; returns how far the jitter's quantiles moved, as a part of their width.

        `drawn` are the slots with a weight. What others show counts 0 times and is not computed, except in products of
        matrices: with fewer rows these may sum in another order.
        """
        self._set_shares(room)
        np.matmul(self._counts, room.shares.reshape(_SCALES * _PLACES, -1).T, out=room.likely)
        ends = self._expect(drawn, room.likely, room.parts, room.floors)
        np.multiply(room.parts, weights[drawn, None, None], out=room.weighted)
        room.every[drawn] = room.weighted.reshape(drawn.size, -1)
        np.matmul(room.every.T, self._counts, out=room.counted)
        jitter = weighted_quantiles(room.middles, room.counted, room.scratch)
        of_floors = weighted_quantiles(room.floors, room.weighted, room.scratch, ends)
        shares = np.zeros((weights.size, _SCALES))
        shares[drawn] = room.parts.sum(axis=2)
        self._log_means, self._log_variances = _moments(shares, self._scales)
        # Spreads count from 1 in the mean of their logarithms, the jitter from 0.
        means = self._logs + self._log_means
        middle = float(np.average(means, weights=weights))
        variance = np.average(self._log_variances + (means - middle) ** 2, weights=weights)
        factor, least = math.exp(middle), float(jitter[0])
        jitter = (jitter - least) * factor
        moved = float(np.max(np.abs(jitter - self._jitter))) / max(float(jitter[-3] - jitter[2]), 1e-6)
        self._jitter = jitter
        self._pivot = (self._pivot - least) * factor
        self._edges, self._places = self._edges * factor, self._places * factor
        self._logs = self._logs - middle
        self._deviation = max(math.sqrt(float(variance)), 1e-3)
        self._floors = of_floors + least
        return moved

    def _expect(self, of: Places, likely: Floats, parts: Floats, floors: Floats) -> tuple[float, float]:
        """Writes how probable each cell of some slots is, and its floor; returns the ends of the floors of all slots.

        `likely` is the logarithm of the likelihood of the round trips of each slot in each cell.
        """
        np.take(likely, of, axis=0, out=parts.reshape(of.size, -1), mode="clip")
        own, grid = np.exp(self._logs), self._places - self._pivot * np.exp(self._scales)[:, None]
        np.multiply(own[of, None, None], grid, out=floors)
        floors += self._middles[of, None, None]
        if self._floors is not None:
            span = float(np.ptp(self._middles) + self._jitter[-1])
            ends = _smoothed(self._floors)
            dense = np.log((1 - _OUTLIERS) * densities(ends) + _OUTLIERS / max(span, 1e-3))
            parts += dense.take(np.searchsorted(ends, floors, side="right"))
        logs = self._logs[of, None] + self._scales
        parts -= 0.5 * ((logs / self._deviation) ** 2)[:, :, None]
        parts -= parts.max(axis=(1, 2), keepdims=True)
        np.exp(parts, out=parts)
        parts /= parts.sum(axis=(1, 2), keepdims=True)
        # A floor rises with its place in the grid, also as rounded.
        return float((own * grid.min() + self._middles).min()), float((own * grid.max() + self._middles).max())

    def _set_shares(self, room: _Room) -> None:
        """Writes logarithms of the shares of the bins, and the jitter at their middles, of each scale and place."""
        quantiles, scales = _smoothed(self._jitter), np.exp(self._scales)
        off = self._edges - self._places[:, None]
        spare = _OUTLIERS * (np.diff(self._edges) / (self._edges[-1] - self._edges[0]))
        at = np.empty_like(off)
        # One scale after the other, because its arrays stay in the processor's cache.
        for scale, shares, middles in zip(scales, room.shares, room.middles, strict=True):
            # The jitter at the ends of the bins: places, ends.
            np.divide(off, scale, out=at)
            at += self._pivot
            np.add(at[:, 1:], at[:, :-1], out=middles)
            middles /= 2
            below = _below(quantiles, at)
            np.subtract(below[:, 1:], below[:, :-1], out=shares)
            shares *= 1 - _OUTLIERS
            shares += spare
            np.log(shares, out=shares)


class _Room:
    """Arrays that the rounds of a run use in turn: of cells and bins, and of slots and cells.

    A cell is a scale and a place. New arrays for each operation would not stay in the processor's cache, and the system
    would have to clear their memory again and again.
    """

    def __init__(self, slots: int, drawn: int, bins: int) -> None:
        self.shares, self.middles, counted = np.empty((3, _SCALES, _PLACES, bins))
        self.counted = counted.reshape(_SCALES * _PLACES, bins)
        self.parts, self.floors, self.weighted = np.empty((3, drawn, _SCALES, _PLACES))
        self.likely = np.empty((slots, _SCALES * _PLACES))
        # Slots that are not drawn keep 0.
        self.every = np.zeros((slots, _SCALES * _PLACES))
        most = _SCALES * _PLACES * max(slots, bins)
        self.scratch = np.empty(most), np.empty(most, dtype=np.intp)


def _resolution(values: Floats) -> float:
    """The step between neighbouring values; 0 for finer than 0.05 ms.

    `ping` writes three digits, so whole milliseconds from 100 ms on. Slots whose trips all stand on a grid would look
    as if they differed by parts of it.
    """
    gaps = np.diff(np.unique(values))
    least = float(gaps.min()) if gaps.size else 0.0
    return least if least >= 0.05 else 0.0


def weighted_quantiles(
    values: Floats,
    weights: Floats,
    scratch: tuple[Floats, Places] | None = None,
    ends: tuple[float, float] | None = None,
) -> Floats:
    """Evenly spaced quantiles, of which the outermost gaps have the means of the values there.

    The profile draws evenly between two quantiles: ends at the outermost values would stretch the distribution. Callers
    with many values again and again may give arrays of at least their size, which are overwritten. `ends` are the least
    and the greatest value, if values that count 0 times are left out.
    """
    values, weights = np.ravel(values), np.ravel(weights)
    used, place = scratch or (np.empty(values.size), np.empty(values.size, dtype=np.intp))
    used, place = used[: values.size], place[: values.size]
    low, high = ends or (float(values.min()), float(values.max()))
    while True:
        if high - low < 1e-9:
            return np.full(QUANTILES, (low + high) / 2)
        np.subtract(values, low, out=used)
        used *= _FINE / (high - low)
        # Values outside count at the ends, with the means that they have.
        np.clip(used, 0, _FINE - 1, out=used)
        np.copyto(place, used, casting="unsafe")
        each = np.bincount(place, weights, _FINE)
        share = np.cumsum(each) / each.sum()
        first, last = (int(one) for one in np.searchsorted(share, [0.02, 0.98]))
        if last - first > _FINE // 10 or high - low < 1e-6:
            break
        # A few values far away leave too few places for the others.
        width = (high - low) / _FINE
        low, high = low + first * width, low + (last + 1) * width
    sums = np.bincount(place, np.multiply(weights, values, out=used), _FINE)
    some = each > 0
    each = each[some]
    means, until = sums[some] / each, np.cumsum(each)
    found = np.interp(SHARES, (until - each / 2) / until[-1], means)
    lower, upper = means <= found[1], means >= found[-2]
    found[0] = min(2 * float(np.average(means[lower], weights=each[lower])) - found[1], found[1])
    found[-1] = max(2 * float(np.average(means[upper], weights=each[upper])) - found[-2], found[-2])
    return np.asarray(found)


def evenly_spaced(values: Floats, known: int) -> Floats:
    """Evenly spaced quantiles, as many as a profile has or as values are `known`, three at least.

    The profile draws evenly between two of them. So the ends stand where the outermost gaps have the means of the
    values there; at the outermost values themselves they would stretch the distribution.
    """
    found = np.quantile(values, np.linspace(0, 1, min(QUANTILES, known)))
    low, high = values[values <= found[1]], values[values >= found[-2]]
    found[0] = min(max(2 * float(np.mean(low)) - found[1], found[0]), found[1])
    found[-1] = max(min(2 * float(np.mean(high)) - found[-2], found[-1]), found[-2])
    return np.asarray(found)


def _smoothed(quantiles: Floats) -> Floats:
    """Quantiles whose gaps are means over their neighbours; the first one stays."""
    gaps = np.diff(quantiles)
    for _ in range(_SMOOTHED):
        beside = np.concatenate([gaps[:1], gaps, gaps[-1:]])
        gaps = (beside[:-2] + 2 * gaps + beside[2:]) / 4
    return np.asarray(quantiles[0] + np.concatenate([[0.0], np.cumsum(gaps)]))


def _below(quantiles: Floats, values: Floats) -> Floats:
    """The distribution function."""
    rising = quantiles + np.arange(QUANTILES) * 1e-9 * max(float(quantiles[-1] - quantiles[0]), 1e-3)
    return np.asarray(np.interp(values, rising, SHARES))


def densities(quantiles: Floats) -> Floats:
    """How dense draws from quantiles lie, 1/ms: below all, between each two, and above all, where none lie.

    `np.searchsorted(quantiles, values, side="right")` says which of them values have. What depends on nothing but the
    density can so be taken of few numbers instead of all values.
    """
    least = 1e-4 * max(float(quantiles[-1] - quantiles[0]), 1e-3)
    between = 1 / (QUANTILES - 1) / np.maximum(np.diff(quantiles), least)
    return np.concatenate([[0.0], between, [0.0]])


def _moments(shares: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Means and variances, a row of shares each."""
    means = shares @ values
    return means, np.asarray((shares * (values - means[:, None]) ** 2).sum(axis=1))
