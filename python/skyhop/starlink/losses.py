"""Whether slots differ in their losses, and the distribution of the losses of slots: the key `loss` as a list.

Each slot has a probability of its own. It is drawn from a gamma distribution, which a few steps of expectation and
maximisation bring nearer to what is known of each slot (N. M. Laird and T. A. Louis, "Smoothing the non-parametric
estimate of a prior distribution by roughening", Computational Statistics and Data Analysis 12, 1991). Given that,
losses come in clumps: the number of losses among n packets has a negative binomial distribution with the mean n p and a
variance that is c times as large, whatever n is. The null has the same clumps and one probability for all slots, so
losses that come several at a time are not taken for slots that differ. The null estimates a c of its own. Losses may
also come in bursts, or change over minutes. So slots must also be more alike within than over edges.

The number of packets may depend on the losses before, as that of a TCP does: the likelihood is the same then.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

import numpy as np

from skyhop.starlink.allowance import NEAR_S
from skyhop.starlink.estimating import QUANTILES, evenly_spaced
from skyhop.starlink.fitting import Parameter, drawn_places, interval
from skyhop.starlink.measuring import SLOT_S
from skyhop.starlink.recordings import Floats, Places

#: Slots that tell a distribution.
LEAST_SLOTS = 8

#: Slots that differ must raise the logarithm of the likelihood by so much, as the other claims of the fit.
CLAIMED = 3.3

#: Points of the distribution of a slot's loss, as logarithms beside the mean of all.
_POINTS = np.linspace(-14.0, 4.0, 260)

#: Means that are tried, as logarithms beside the mean of all, and shapes of the gamma distribution. A shape of 100 is a
#: standard deviation of 10 % of the mean. The clumps are found with fewer of both.
_MEANS = np.linspace(-1.5, 1.5, 151)
_SHAPES = np.geomspace(0.1, 100.0, 40)
_COARSE_MEANS, _COARSE_SHAPES = _MEANS[::5], _SHAPES[::3]

#: Steps of expectation and maximisation from the gamma distribution on. One leaves the losses that one slot of ten
#: exceeds 6 % too low where the distribution is another; from 30 on they scatter by a tenth more. Our choice.
_STEPS = 10

#: Slots of which nothing depends on edges pass the test of edges in so many recordings.
_FALSELY = 0.005

#: Variance of the count over that of independent losses, less 1: least and greatest.
_CLUMPS = (1e-3, 1e3)


@dataclass(frozen=True)
class SlotLosses:
    """How the losses of slots differ."""

    gain: float
    """By how much slots that differ raise the logarithm of the likelihood."""
    mean: float
    """Mean probability of a loss over slots, each of which counts once."""
    shape: float
    """Parameter of the gamma distribution, whose standard deviation is the mean over the root of it."""
    clump: float
    """Variance of the number of losses in an interval of a slot over that of independent ones."""
    each: Floats
    """Logarithm of the likelihood of each slot (rows) for all gamma distributions that were tried (columns)."""
    grid: Floats
    """Probabilities of a loss, in rising order."""
    given: Floats
    """Likelihood of each slot (rows) for each of `grid`, over the greatest of the slot."""
    weights: Floats
    """Weights of `grid` (columns) under each gamma distribution (rows)."""

    @property
    def is_claimed(self) -> bool:
        """Whether slots differ by more than chance."""
        return self.gain >= CLAIMED

    @property
    def slots(self) -> int:
        """How many there are."""
        return int(self.given.shape[0])

    def points(self, slots: Floats, count: int = 2000) -> Floats:
        """Evenly spaced points of the distribution of the losses of slots, each of which counts so often.

        It is the mean of what is known of each slot, which begins with the most likely gamma distribution and is
        repeated a few times. Slots of many losses therefore have the distribution of their shares, and slots of few
        nearly that gamma distribution.
        """
        weight = self.weights[int(np.argmax(slots @ self.each))]
        for _ in range(_STEPS):
            known = self.given * weight
            weight = slots @ (known / known.sum(axis=1, keepdims=True)) / slots.sum()
        below = np.cumsum(weight) - weight / 2
        found = np.interp((np.arange(count) + 0.5) / count, below, np.log(self.grid))
        return np.asarray(np.exp(found))


def of_slots(slot: Floats, lost: Floats, packets: Floats) -> SlotLosses:
    """The distribution of the losses of slots from intervals: the slot of each, packets lost and packets sent.

    Raises ValueError for fewer than two slots, for no loss, and for more packets lost than sent.
    """
    used = packets > 0
    slot, lost, packets = slot[used], lost[used], packets[used]
    number, row = np.unique(slot, return_inverse=True)
    if number.size < 2 or lost.sum() <= 0 or np.any(lost < 0) or np.any(lost > packets):
        raise ValueError("needs two slots or more, a loss, and no interval with more packets lost than sent")
    share = float(lost.sum() / packets.sum())
    # Most intervals of a stream have the same numbers.
    pairs, place = distinct(np.stack([lost, packets], axis=1))
    count = np.zeros((number.size, pairs.shape[0]))
    np.add.at(count, (row, place), 1.0)
    # Where losses are few, many slots have the same ones.
    kinds, kind, often = np.unique(count, axis=0, return_inverse=True, return_counts=True)
    grid = np.minimum(share * np.exp(_POINTS), 1.0)
    coarse = _weights(grid, share, is_coarse=True)

    def of_kinds(clump: float, weight: Floats) -> Floats:
        given = kinds @ _likelihood(pairs, grid, clump)
        most = given.max(axis=1, keepdims=True)
        found: Floats = np.exp(given - most) @ weight.T
        # In place: a new array of some MB for each operation takes longer than the operation.
        found += 1e-300
        np.log(found, out=found)
        found += most
        return found

    def same(clump: float) -> float:
        near = share * np.exp(np.linspace(-0.5, 0.5, 101))
        return float((count.sum(axis=0) @ _likelihood(pairs, near, clump)).max())

    clump, _ = _best(lambda clump: float((often @ of_kinds(clump, coarse)).max()))
    _, without = _best(same)
    weight = _weights(grid, share)
    each = of_kinds(clump, weight)
    summed = often @ each
    best = int(np.argmax(summed))
    given = count @ _likelihood(pairs, grid, clump)
    return SlotLosses(
        gain=float(summed[best]) - without, mean=share * math.exp(_MEANS[best % _MEANS.size]),
        shape=float(_SHAPES[best // _MEANS.size]), clump=1 + clump, each=each[kind.ravel()], grid=grid,
        given=np.exp(given - given.max(axis=1, keepdims=True)), weights=weight,
    )  # fmt: skip


def distinct(pairs: Floats) -> tuple[Floats, Places]:
    """Different rows of two values in rising order, and for each row that was given its place among them.

    `np.unique` compares whole rows, which takes ten times as long.
    """
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    ordered = pairs[order]
    is_first = np.append(True, np.any(ordered[1:] != ordered[:-1], axis=1))
    place = np.empty(order.size, dtype=np.intp)
    place[order] = np.cumsum(is_first) - 1
    return ordered[is_first], place


def _weights(grid: Floats, share: float, *, is_coarse: bool = False) -> Floats:
    """The weights of the points of the grid (columns) under each gamma distribution (rows): by shapes, then means."""
    if grid[-1] < 1:
        return _weights_beside(is_coarse)
    return _gammas(grid, share, is_coarse)


@cache
def _weights_beside(is_coarse: bool) -> Floats:
    """The weights where no point is cut at 1: these do not depend on the share of all."""
    found = _gammas(np.exp(_POINTS), 1.0, is_coarse)
    found.flags.writeable = False
    return found


def _gammas(grid: Floats, share: float, is_coarse: bool) -> Floats:
    means, shapes = (_COARSE_MEANS, _COARSE_SHAPES) if is_coarse else (_MEANS, _SHAPES)
    shape, mean = (one.reshape(-1, 1) for one in np.meshgrid(shapes, share * np.exp(means), indexing="ij"))
    weight = np.log(grid) * shape - shape * grid / mean
    weight = np.exp(weight - weight.max(axis=1, keepdims=True))
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class Told:
    """What a fit says of the losses of slots: nothing where all may have the same."""

    quantiles: tuple[float, ...] = ()
    """Evenly spaced, of the probability that a slot draws."""
    parameters: tuple[Parameter, ...] = ()
    note: str = ""


def tell(
    place: Floats, lengths_s: Floats, lost: Floats, packets: Floats, *, draws: int, generator: np.random.Generator
) -> Told:
    """The losses of slots where they differ by more than chance, from intervals away from edges.

    `place` is the middle of each interval in slots: its whole part is the number of the slot. There must be a gain of
    the likelihood, and slots must change at their edges: losses that come in bursts, or change over minutes, make slots
    differ, too.
    """
    lost, slot = np.clip(lost, 0.0, packets), np.floor(place)
    if np.unique(slot[packets > 0]).size < LEAST_SLOTS or lost.sum() <= 0:
        return Told()
    found = of_slots(slot, lost, packets)
    if not found.is_claimed:
        return Told()
    if not change_at_edges(place, lengths_s, lost, packets):
        return Told(
            note="Slots differ in their losses, but it does not show that these change at edges, so one probability is "
            "written for all. A longer recording may tell."
        )
    drawn = []
    for _ in range(draws):
        counts = np.bincount(drawn_places(found.slots, 1, generator), minlength=found.slots)
        drawn.append(float(np.quantile(found.points(counts.astype(float)), 0.9)))
    points = found.points(np.ones(found.slots))
    parameter = Parameter("loss of slots, 90 %", float(np.quantile(points, 0.9)), *interval(drawn, found.slots))
    rounded = tuple(float(f"{value:.3g}") for value in evenly_spaced(points, QUANTILES))
    return Told(rounded, (parameter,))


def change_at_edges(place: Floats, lengths_s: Floats, lost: Floats, packets: Floats) -> bool:
    """Whether the halves of one slot are more alike in their losses than halves with an edge between them.

    The second half of each slot is compared with the first half of the same slot and with that of the next one; both
    are as far away. If losses have nothing to do with slots, the difference is 0 on average, whatever else they do. The
    test is Student's of the mean difference of products of normal scores, with the correlation of neighbours, at 0.5 %.
    """
    into_s = SLOT_S * (place % 1)
    used = np.abs(into_s - SLOT_S / 2) >= NEAR_S + lengths_s / 2 - 1e-6
    number, slot = np.unique(np.floor(place), return_inverse=True)
    half = (2 * slot.ravel() + (into_s > SLOT_S / 2))[used]
    count, sent = (np.bincount(half, values[used], 2 * number.size) for values in (lost, packets))
    if not sent.any():
        return False
    # A half at an end of the recording has few packets, and its share scatters.
    whole = sent >= np.median(sent[sent > 0]) / 2
    scores = np.full(sent.size, math.nan)
    scores[whole] = _scores(count[whole] / sent[whole])
    first, second = scores[::2], scores[1::2]
    found = np.where(np.diff(number) == 1, second[:-1] * (first[:-1] - first[1:]), math.nan)
    found = found[~np.isnan(found)]
    if found.size < LEAST_SLOTS - 1:
        return False
    off = found - found.mean()
    variance = float(off @ off) / found.size
    variance = max(variance + float(off[1:] @ off[:-1]) / found.size, variance / 2)
    freedom = found.size - 1
    z = NormalDist().inv_cdf(1 - _FALSELY)
    # Abramowitz and Stegun 26.7.5.
    t = z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    return variance > 0 and float(found.mean()) > t * math.sqrt(variance / freedom)


def _scores(values: Floats) -> Floats:
    """Normal scores; equal values have the same."""
    _, group, size = np.unique(values, return_inverse=True, return_counts=True)
    below = np.cumsum(size) - size
    shares = (below + size / 2) / values.size
    return np.array([NormalDist().inv_cdf(share) for share in shares])[group.ravel()]


def _likelihood(pairs: Floats, probabilities: Floats, clump: float) -> Floats:
    """Logarithm of the likelihood of each pair of losses and packets, for each probability (columns).

    Without what does not depend on the probability or on `clump`, the variance over the mean less 1.
    """
    lost = pairs[:, :1]
    places = pairs[:, 1:] * probabilities / clump
    found: Floats = log_gamma(lost + places) - log_gamma(places)
    return found - places * math.log1p(clump) + lost * math.log(clump / (1 + clump))


def log_gamma(x: Floats) -> Floats:
    """Stirling's series behind a shift by 8; the error is below 1e-10."""
    # In place: a new array for each of the some twenty operations takes longer than they do.
    used = x + 1
    product = x * used
    for step in range(2, 8):
        np.add(x, step, out=used)
        product *= used
    shifted = np.add(x, 8, out=used)
    inverse = 1 / shifted
    found: Floats = np.log(shifted)
    found *= shifted - 0.5
    found -= shifted
    found += 0.5 * math.log(2 * math.pi)
    found -= np.log(product, out=product)
    square = np.multiply(inverse, inverse, out=used)
    series = square / 1260
    np.subtract(1 / 360, series, out=series)
    series *= square
    np.subtract(1 / 12, series, out=series)
    series *= inverse
    found += series
    return found


def _best(value: Callable[[float], float]) -> tuple[float, float]:
    """The clump at which a value is greatest, and that value: by sections of the logarithm, which has one maximum."""
    ratio = (math.sqrt(5) - 1) / 2
    low, high = (math.log(one) for one in _CLUMPS)
    inner = [high - ratio * (high - low), low + ratio * (high - low)]
    values = [value(math.exp(one)) for one in inner]
    while high - low > 0.02:
        if values[0] >= values[1]:
            high = inner[1]
            inner = [high - ratio * (high - low), inner[0]]
            values = [value(math.exp(inner[0])), values[0]]
        else:
            low = inner[0]
            inner = [inner[1], low + ratio * (high - low)]
            values = [values[1], value(math.exp(inner[1]))]
    best = int(values[1] > values[0])
    return math.exp(inner[best]), values[best]
