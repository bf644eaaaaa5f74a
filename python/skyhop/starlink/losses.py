"""Whether slots differ in their losses, and the distribution of the losses of slots: the key `loss` as a list.

Each slot has a probability of its own, drawn from a gamma distribution, which is our choice of the shape. Given that,
losses come in clumps: the number of losses among n packets has a negative binomial distribution with the mean n p and a
variance that is c times as large, whatever n is. The null has the same clumps and one probability for all slots, so
losses that come several at a time are not taken for slots that differ. The null estimates a c of its own.

The number of packets may depend on the losses before, as that of a TCP does: the likelihood is the same then.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from skyhop.starlink.estimating import QUANTILES, evenly_spaced
from skyhop.starlink.recordings import Floats

#: Slots that tell a distribution.
LEAST_SLOTS = 8

#: Slots that differ must raise the logarithm of the likelihood by so much, as the other claims of the fit.
CLAIMED = 3.3

#: Points of the distribution of a slot's loss, over so many factors of e below and above the mean of all.
_GRID, _BELOW, _ABOVE = 260, 14.0, 4.0

#: Means that are tried, as logarithms beside the mean of all, and shapes of the gamma distribution. A shape of 100 is a
#: standard deviation of 10 % of the mean.
_MEANS = np.linspace(-1.5, 1.5, 151)
_SHAPES = np.geomspace(0.1, 100.0, 40)

#: Points of the gamma distribution behind its quantiles.
_POINTS = 2000

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
    """Logarithm of the likelihood of each slot (rows) for all means and shapes that were tried, for draws of slots."""
    tried: Floats
    """Mean and shape of each column of `each`."""

    @property
    def is_claimed(self) -> bool:
        """Whether slots differ by more than chance."""
        return self.gain >= CLAIMED

    def drawn(self, slots: Floats) -> tuple[float, float]:
        """Mean and shape of a draw of slots: so often each of them counts."""
        mean, shape = self.tried[int(np.argmax(slots @ self.each))]
        return float(mean), float(shape)


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
    pairs, place = np.unique(np.stack([lost, packets], axis=1), axis=0, return_inverse=True)
    place = place.ravel()
    count = np.zeros((number.size, pairs.shape[0]))
    np.add.at(count, (row, place), 1.0)
    grid = np.minimum(share * np.exp(np.linspace(-_BELOW, _ABOVE, _GRID)), 1.0)
    tried = np.array([(share * math.exp(mean), shape) for shape in _SHAPES for mean in _MEANS])
    weight = np.log(grid) * tried[:, 1:] - tried[:, 1:] * grid / tried[:, :1]
    weight = np.exp(weight - weight.max(axis=1, keepdims=True))
    weight /= weight.sum(axis=1, keepdims=True)

    def each(clump: float) -> Floats:
        given = count @ _likelihood(pairs, grid, clump)
        most = given.max(axis=1, keepdims=True)
        found: Floats = most + np.log(np.exp(given - most) @ weight.T + 1e-300)
        return found

    def same(clump: float) -> float:
        near = share * np.exp(np.linspace(-0.5, 0.5, 101))
        return float((count.sum(axis=0) @ _likelihood(pairs, near, clump)).max())

    clump, best = _best(lambda clump: float(each(clump).sum(axis=0).max()))
    _, without = _best(same)
    found = each(clump)
    mean, shape = tried[int(np.argmax(found.sum(axis=0)))]
    return SlotLosses(best - without, float(mean), float(shape), 1 + clump, found, tried)


def points(mean: float, shape: float, count: int) -> Floats:
    """Evenly spaced points of the gamma distribution, in rising order, none above 1, with its mean unless 1 is near."""
    grid = mean * np.exp(np.linspace(-_BELOW - 10 / min(shape, 1), math.log(40 / min(shape, 1)), 40_000))
    density = shape * np.log(grid) - shape * grid / mean
    cumulative = np.cumsum(np.exp(density - density.max()))
    found = np.interp((np.arange(count) + 0.5) / count, cumulative / cumulative[-1], grid)
    return np.minimum(found * mean / float(found.mean()), 1.0)


def quantiles(mean: float, shape: float) -> Floats:
    """Evenly spaced quantiles of the gamma distribution, as many as a profile has, whose draws have the mean."""
    found = evenly_spaced(points(mean, shape, _POINTS), QUANTILES)
    drawn = float(np.mean((found[1:] + found[:-1]) / 2))
    return np.minimum(found * mean / drawn, 1.0)


def _likelihood(pairs: Floats, probabilities: Floats, clump: float) -> Floats:
    """Logarithm of the likelihood of each pair of losses and packets, for each probability (columns).

    Without what does not depend on the probability or on `clump`, the variance over the mean less 1.
    """
    lost = pairs[:, :1]
    places = pairs[:, 1:] * probabilities / clump
    found: Floats = _log_gamma(lost + places) - _log_gamma(places)
    return found - places * math.log1p(clump) + lost * math.log(clump / (1 + clump))


def _log_gamma(x: Floats) -> Floats:
    """Stirling's series behind a shift by 8; the error is below 1e-10."""
    shifted = x + 8
    product = np.ones_like(x)
    for step in range(8):
        product *= x + step
    series = 1 / (12 * shifted) - 1 / (360 * shifted**3) + 1 / (1260 * shifted**5)
    found: Floats = (shifted - 0.5) * np.log(shifted) - shifted + 0.5 * math.log(2 * math.pi) + series - np.log(product)
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
