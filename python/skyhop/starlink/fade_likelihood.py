"""The likelihood of losses in short intervals under fades: the model behind `fades.py`.

Fades begin as in a Poisson process and last for one length. A fade that begins while another lasts prolongs it. Packets
of a fade are lost independently of one another, with a probability that is the same for all fades or is drawn for each
from a lognormal distribution. Beside fades there are losses in clumps: without a fade the number of losses among n
packets has a beta-binomial distribution, whose variance is c times that of independent losses.

The time that a fade has lasted at the begin of an interval is the hidden state, so the likelihood is that of a hidden
Markov model (L. R. Rabiner, Proceedings of the IEEE 77, 1989) with known lengths of stay. This time is known to a part
of an interval, and the share of an interval that a fade covers is the mean over such a part.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from skyhop.starlink.losses import log_gamma
from skyhop.starlink.recordings import Floats, Places

#: Losses that a fade draws: as many nodes of equal weight.
NODES = 4

#: A fade loses no more than this share, so that logarithms stay finite.
_MOST_LOSS = 0.999

#: Variance of the losses beside fades over that of independent ones, less 1: least and greatest.
_CLUMPS = (1e-2, 100.0)

#: Steps of the differences of the logarithms of the values: for the curvature, and for slopes.
_STEP, _SMALL = 0.03, 1e-3

#: Steps are tried with these additions to the curvature, as shares of it.
_DAMPED = np.array([0.0, 0.3, 10.0])


@dataclass(frozen=True)
class Rows:
    """Intervals of equal length that follow one another, a row for each slot or part of one."""

    width_s: float
    pairs: Floats
    """Different pairs of packets lost and packets sent."""
    pair: Places
    """Which pair each interval (columns) of each row has; the number of pairs behind the end of a row."""

    @property
    def lost(self) -> Floats:
        """Packets lost in each interval; NaN behind the end of a row."""
        return np.append(self.pairs[:, 0], math.nan)[self.pair]

    @property
    def packets(self) -> Floats:
        """Packets sent, likewise."""
        return np.append(self.pairs[:, 1], math.nan)[self.pair]


@dataclass(frozen=True)
class Values:
    """Of several models that are computed together, in arrays: the length of a fade is the same in all."""

    per_s: Floats
    """Fades that begin in a second."""
    loss: Floats
    """Median probability of a loss in a fade."""
    beside: Floats
    """Probability of a loss beside fades, in a row with the factor 1."""
    clump: Floats
    """Variance of the losses beside fades over that of independent ones, less 1."""


def nodes(deviation: float) -> Floats:
    """Factors of the loss of a fade, of equal weight: of a lognormal distribution with this standard deviation."""
    if deviation == 0:
        return np.ones(1)
    shares = (np.arange(NODES) + 0.5) / NODES
    return np.asarray(np.exp(deviation * np.array([NormalDist().inv_cdf(share) for share in shares])))


def emissions(pairs: Floats, covered: Floats, beside: Floats, loss: Floats, clump: Floats) -> Floats:
    """Logarithm of the probability of each pair, without the binomial coefficient.

    `beside`, `loss` and `clump` have the same shape. The result has it first, then pairs, then parts of an interval
    that a fade covers.
    """
    least = beside[..., None, None]
    chance = np.minimum(least + covered * (loss * (1 - beside))[..., None, None], _MOST_LOSS)
    # Losses of fades come in no clumps.
    extra = clump[..., None, None] * least / chance
    lost, packets = pairs[:, 0][:, None], pairs[:, 1][:, None]
    # Most of it depends on the packets sent alone, and most intervals of a stream have the same.
    kinds, of = np.unique(pairs[:, 1], return_inverse=True)
    alike = np.clip(extra / np.maximum(kinds[:, None] - 1, 1.0), 1e-6, 0.999)
    both = (1 - alike) / alike
    first, second = chance * both, (1 - chance) * both

    def by_pair(values: Floats) -> Floats:
        return values.take(of.ravel(), axis=-2)

    found: Floats = log_gamma(lost + by_pair(first)) - by_pair(log_gamma(first))
    found += log_gamma(packets - lost + by_pair(second)) - by_pair(log_gamma(second))
    return found + by_pair(log_gamma(both)) - by_pair(log_gamma(kinds[:, None] + both))


def without_fades(rows: Rows, factor: Floats, beside: Floats, clump: Floats) -> Floats:
    """Logarithm of the likelihood of each row (columns) for each model (rows) that has no fades."""
    level, of = np.unique(factor, return_inverse=True)
    # Models, levels, pairs.
    each = emissions(
        rows.pairs, np.zeros(1), beside[:, None] * level, np.zeros((beside.size, level.size)),
        np.broadcast_to(clump[:, None], (beside.size, level.size)),
    )[..., 0]  # fmt: skip
    each = np.concatenate([each, np.zeros((*each.shape[:2], 1))], axis=2)
    return np.stack([each[:, place, pair].sum(axis=1) for place, pair in zip(of.ravel(), rows.pair, strict=True)], 1)


def parts(length_s: float, width_s: float, near_s: float) -> int:
    """In how many parts of an interval a fade may begin: the more, the shorter it is.

    Lengths that are compared have the same number, that of `near_s`; 0 stands for a search, which needs fewer.
    """
    of = (near_s or length_s) / width_s
    if near_s:
        usual, least = 5 if of < 2 else 4 if of < 6 else 3 if of < 15 else 2, 2.5
    else:
        usual, least = 4 if of < 2 else 3 if of < 6 else 2, 1.5
    return max(usual, math.ceil(least * width_s / length_s))


def with_fades(rows: Rows, factor: Floats, values: Values, length_s: float, deviation: float, near_s: float) -> Floats:
    """Logarithm of the likelihood of each row (columns) for each model (rows).

    `factor` is the loss of each row beside fades over that of `values`.
    """
    return traced(rows, factor, values, length_s, deviation, near_s)[0]


def traced(
    rows: Rows, factor: Floats, values: Values, length_s: float, deviation: float, near_s: float
) -> tuple[Floats, list[Floats]]:
    """The same, and of each border between intervals the logarithm of a joint probability (rows, models).

    It is that of all intervals before the border and of no fade across the border.
    """
    width, among = rows.width_s, parts(length_s, rows.width_s, near_s)
    step = width / among
    # States: which part of the time a fade has lasted for, and the share of that part in which it still lasts.
    count = math.ceil(length_s / step - 1e-9)
    number = np.arange(count)
    lasts = np.minimum(length_s / step - number, 1.0)
    later = np.append(lasts, np.zeros(among))[among:][:count]
    stays = later / lasts
    # Shares of an interval that a fade covers: one that ends in it, one that begins in it, one that does both, and one
    # that ends while another begins.
    ends = np.clip((length_s - (number + (later + lasts) / 2) * step) / width, 0.0, 1.0)
    begins = (number + lasts / 2)[:among] * step / width
    most = min(length_s / width, 1.0)
    both = stays + (1 - stays) * np.minimum(1.0, ends + (begins.mean() if most == 1.0 else most))
    shares = np.concatenate([[0.0, 1.0, most], ends, begins, both])
    covered, column = np.unique(np.round(shares, 9), return_inverse=True)
    of_one, of_end, of_begin, of_both = np.split(column.ravel(), [3, 3 + count, 3 + count + begins.size])

    level, of_row = np.unique(factor, return_inverse=True)
    of_row = of_row.ravel()
    factors = nodes(deviation)
    shape = (level.size, values.per_s.size, factors.size)
    beside = np.broadcast_to(level[:, None, None] * values.beside[:, None], shape)
    loss = np.broadcast_to(np.minimum(values.loss[:, None] * factors, _MOST_LOSS), shape)
    clump = np.broadcast_to(values.clump[:, None], shape)
    each = np.moveaxis(emissions(rows.pairs, covered, beside, loss, clump), 3, 1)
    top = each.max(axis=(3, 4), keepdims=True)
    table = np.concatenate([np.exp(each - top), np.ones((level.size, 1, *each.shape[2:]))], axis=1)
    offsets = np.concatenate([top[..., 0, 0], np.zeros((level.size, 1, values.per_s.size))], axis=1)
    # Shares, nodes, levels and pairs, models; behind the end of a row everything is certain. The loop over intervals
    # takes most of the time: rows and models, of which there are many, stand last, and what an interval does not change
    # is multiplied in here.
    seen = np.moveaxis(table, (4, 3), (0, 1)).reshape(covered.size, factors.size, -1, values.per_s.size)
    offsets = offsets.reshape(-1, values.per_s.size)
    of_time = (of_row[:, None] * table.shape[1] + rows.pair).T

    none_begins = np.exp(-values.per_s * width)
    # The last one that begins in an interval does so in this part, counted from the end, and still lasts at the end.
    often = values.per_s[:, None] * step
    begun_here = (np.exp(-often * number[:among]) * -np.expm1(-often) * lasts[:among]).T[:, None, None, :]
    inside = np.maximum(1 - none_begins - begun_here.sum(axis=(0, 1, 2)), 0.0)
    past = np.exp(-often * number) * -np.expm1(-often) * lasts
    size = (rows.pair.shape[0], values.per_s.size)
    seen_end, seen_both = seen[of_end] * (1 - stays)[:, None, None, None], seen[of_both]
    seen_begin = seen[of_begin] / factors.size * begun_here
    seen_none, seen_whole = seen[of_one[0], 0] * none_begins, seen[of_one[1]] * none_begins
    seen_most = seen[of_one[2]] / factors.size * inside
    stays = stays[:, None, None, None]
    none_begins, inside = np.broadcast_to(none_begins, size).copy(), np.broadcast_to(inside, size).copy()
    begun_here = np.broadcast_to(begun_here, (begun_here.shape[0], 1, *size)).copy()
    free = np.broadcast_to(1 - past.sum(axis=1), size)
    # States, nodes, rows, models.
    fading = np.broadcast_to(past.T[:, None, None, :] / factors.size, (count, factors.size, *size)).copy()
    after = np.empty_like(fading)
    frees, totals = np.empty((2, len(of_time) + 1, *size))
    frees[0], totals[0] = free, 1.0
    for time, now in enumerate(of_time, start=1):
        ending = seen_end.take(now, axis=2)
        ending *= fading
        anew = seen_both.take(now, axis=2)
        anew *= fading
        anew = anew.sum(axis=0)
        begun = seen_begin.take(now, axis=2)
        begun *= free
        begun += anew * begun_here
        after[:among] = begun
        if count > among:
            goes_on = np.multiply(fading[:-among], stays[:-among], out=after[among:])
            goes_on *= seen_whole.take(now, axis=1)
        within = (free * seen_most.take(now, axis=1)).sum(axis=0) + anew.sum(axis=0) * inside
        free = free * seen_none.take(now, axis=0) + ending.sum(axis=(0, 1)) * none_begins + within
        total = free + after.sum(axis=(0, 1))
        free /= total
        after /= total
        fading, after = after, fading
        frees[time], totals[time] = free, total
    logs = np.log(totals)
    logs[1:] += offsets[of_time]
    found = np.cumsum(logs, axis=0)
    return found[-1].T, list(found + np.log(frees))


def untouched(rows: Rows, factor: Floats, values: Values, length_s: float, deviation: float) -> Floats:
    """Probability that an interval (columns) of a row has no part of a fade, given all losses of the row; one model.

    Fades have the same distribution in reversed time, and given that none crosses a border, those before are
    independent of those after. So the likelihood of both sides of an interval is found from either end.
    """
    total, before = traced(rows, factor, values, length_s, deviation, length_s)
    # Behind the end of a row is nothing, so it may as well stand before its begin.
    _, after = traced(replace(rows, pair=rows.pair[:, ::-1]), factor, values, length_s, deviation, length_s)
    alone = emissions(rows.pairs, np.zeros(1), values.beside * factor[:, None], np.zeros((factor.size, 1)),
                      np.broadcast_to(values.clump, (factor.size, 1)))[:, 0, :, 0]  # fmt: skip
    alone = np.take_along_axis(np.concatenate([alone, np.zeros((factor.size, 1))], axis=1), rows.pair, axis=1)
    left, right = np.array(before)[:-1, :, 0].T, np.array(after[::-1])[1:, :, 0].T
    # Both sides have the probability that no fade crosses a border.
    log = left + right + alone - values.per_s * rows.width_s - before[0] - total.T
    return np.asarray(np.exp(np.minimum(log, 0.0)))


def memoryless(rows: Rows, factor: Floats, values: Values, length_s: Floats) -> Floats:
    """Logarithm of the likelihood of each row (columns) for each model (rows) whose fades end at any time.

    Their lengths have an exponential distribution with these means. A fade that ends in an interval counts there with
    the mean time that it covers.
    """
    width = rows.width_s
    # Time from the begin of a fade to the end of its interval, and a whole interval.
    left_s = width * np.array([5 / 6, 3 / 6, 1 / 6, 1.0])
    lasts = np.exp(-left_s / length_s[:, None])
    cut = np.clip(length_s[:, None] - left_s * lasts / -np.expm1(-left_s / length_s[:, None]), 0.0, left_s)
    begins = np.exp(-values.per_s[:, None] * (width - left_s)) * -np.expm1(-values.per_s * width / 3)[:, None]
    none = np.exp(-values.per_s * width)
    begins[:, :3] *= ((1 - none) / begins[:, :3].sum(axis=1))[:, None]
    level, of_row = np.unique(factor, return_inverse=True)
    of_row = of_row.ravel()
    # Shares of an interval: none, from the begin to the end of it, all of it; then the same for fades that end in it.
    shares = np.concatenate([np.zeros((length_s.size, 1)), np.broadcast_to(left_s, cut.shape), cut], axis=1) / width
    each = np.stack(
        [
            emissions(rows.pairs, shares[n], level * values.beside[n], np.full(level.size, values.loss[n]),
                      np.full(level.size, values.clump[n]))
            for n in range(length_s.size)
        ], axis=2,
    )  # fmt: skip
    top = each.max(axis=3, keepdims=True)
    table = np.concatenate([np.exp(each - top), np.ones((level.size, 1, *each.shape[2:]))], axis=1)
    offsets = np.concatenate([top[..., 0], np.zeros((level.size, 1, length_s.size))], axis=1)
    often = values.per_s * length_s
    free = np.broadcast_to(1 / (1 + often), (rows.pair.shape[0], length_s.size))
    fading, found = 1 - free, np.zeros(free.shape)
    for time in range(rows.pair.shape[1]):
        pair = rows.pair[:, time]
        seen = table[of_row, pair]
        goes_on = (
            free * (seen[..., 1:4] * begins[:, :3] * lasts[:, :3]).sum(axis=2) + fading * seen[..., 4] * lasts[:, 3]
        )
        ends = free * (seen[..., 5:8] * begins[:, :3] * (1 - lasts[:, :3])).sum(axis=2)
        ends += fading * seen[..., 8] * (1 - lasts[:, 3]) + free * seen[..., 0] * none
        total = goes_on + ends
        free, fading = ends / total, goes_on / total
        found += np.log(total) + offsets[of_row, pair]
    return np.asarray(found.T)


def bounded(logs: Floats, share: float, length_s: float) -> Values:
    """Models from rows of logarithms: fades per s, loss in a fade, loss beside, clumps.

    No fade is longer than the mean time between two, and at least a thousandth of the losses lies beside fades.
    """
    return Values(
        per_s=np.exp(np.clip(logs[:, 0], math.log(1e-5), math.log(1 / length_s))),
        loss=np.exp(np.clip(logs[:, 1], math.log(share / 10), math.log(_MOST_LOSS))),
        beside=np.exp(np.clip(logs[:, 2], math.log(1e-3 * share), math.log(min(3 * share, 0.9)))),
        clump=np.exp(np.clip(logs[:, 3], math.log(_CLUMPS[0]), math.log(_CLUMPS[1]))),
    )


def differences(size: int) -> Floats:
    """Where a function is needed for its slope and curvature: the place itself, one up, one down, two of them up."""
    steps = np.eye(size)
    pairs = [steps[i] + steps[j] for i in range(size) for j in range(i + 1, size)]
    return np.asarray(_STEP * np.concatenate([np.zeros((1, size)), steps, -steps, np.array(pairs)]))


def slope_and_curvature(found: Floats, size: int) -> tuple[Floats, Floats]:
    """From the function at `differences`: slopes (first index as `found` has behind its first), and the curvature."""
    up, down = found[1 : size + 1], found[size + 1 : 2 * size + 1]
    slope = (up - down) / (2 * _STEP)
    sums = found.reshape(found.shape[0], -1).sum(axis=1)
    curvature = np.diag(sums[1 : size + 1] + sums[size + 1 : 2 * size + 1] - 2 * sums[0])
    pairs = [(i, j) for i in range(size) for j in range(i + 1, size)]
    for (i, j), both in zip(pairs, sums[2 * size + 1 :], strict=True):
        curvature[i, j] = curvature[j, i] = both - sums[1 + i] - sums[1 + j] + sums[0]
    return slope, curvature / _STEP**2


def uphill(found: Floats) -> Floats:
    """Steps uphill from the likelihoods of rows at `forward`, of several sizes.

    The curvature is that of the products of the slopes of rows (E. K. Berndt et al., Annals of Economic and Social
    Measurement 3, 1974). No step changes a value by more than a factor e.
    """
    slopes = (found[1:] - found[0]) / _SMALL
    curvature = slopes @ slopes.T
    scale = np.sqrt(np.diag(curvature) + 1e-3)
    values, vectors = np.linalg.eigh(curvature / np.outer(scale, scale))
    turned = vectors.T @ (slopes.sum(axis=1) / scale)
    steps = [vectors @ (turned / np.maximum(values + extra, 1e-3)) / scale for extra in _DAMPED]
    return np.asarray(np.clip(np.array([2 * steps[0], *steps, steps[0] / 2]), -1.0, 1.0))


def forward(size: int) -> Floats:
    """Where the slope is found: the place itself and one up for each value."""
    return np.asarray(_SMALL * np.concatenate([np.zeros((1, size)), np.eye(size)]))
