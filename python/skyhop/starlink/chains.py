"""The correlation of neighbouring slots: an estimate and an interval from chains of known correlation."""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from skyhop.starlink.recordings import Floats

#: Pairs of neighbouring slots that are needed.
LEAST_PAIRS = 20

#: Correlations of which chains are made, closer together where their statistic is sharper, and chains of each.
_KNOWN = np.concatenate([-np.tanh(np.linspace(2.0, 0.3, 6)), np.tanh(np.linspace(0.0, 3.0, 16))])
_CHAINS = 1000

#: So many numbers at most are drawn for all chains of one correlation.
_NUMBERS = 400_000

#: Slots of which less can be told have no correlation.
_LEAST_RELIABILITY = 0.1

#: Slots that are farther apart have nothing in common.
_FAR = 1000


def neighbours(numbers: Floats, values: Floats) -> tuple[float, int]:
    """Correlation of the normal scores of neighbours, and the number of pairs.

    NaN for fewer than 20 pairs, and where all values are the same.
    """
    order = np.argsort(numbers)
    _, place, counts = np.unique(values[order], return_inverse=True, return_counts=True)
    # Equal values share a rank: in their order in time they would look correlated.
    ranks = (np.cumsum(counts) - (counts + 1) / 2)[place]
    beside = np.diff(numbers[order]) == 1
    pairs = int(np.count_nonzero(beside))
    if pairs < LEAST_PAIRS or counts.size < 2:
        return math.nan, pairs
    scores = np.array([_score((float(rank) + 0.5) / ranks.size) for rank in ranks])
    return float(_correlation(scores, beside)), pairs


class Chains:
    """What chains of known correlations show in `neighbours` at the numbers of some slots.

    Scores of few slots that follow one another look less correlated than they are, and scatter more than pairs that
    share no slot do: Fisher's interval of a correlation holds 0.8 in 58 % of chains of 80 slots instead of 90 %.
    `reliability` is the part of the variance of scores that does not come from the recording's chance.
    """

    def __init__(self, numbers: Floats, *, reliability: float = 1.0, seed: int = 1) -> None:
        ordered = np.sort(numbers)
        self._reliability = reliability
        gaps = np.diff(ordered)
        scores = np.array([_score((n + 0.5) / ordered.size) for n in range(ordered.size)])
        chains = int(np.clip(_NUMBERS // ordered.size, 50, _CHAINS))
        shown = []
        # The same draws for each correlation, so that what they show grows with it.
        generator = np.random.Generator(np.random.PCG64(seed))
        steps = np.ascontiguousarray(generator.standard_normal((chains, ordered.size)).T)
        chance = math.sqrt(1 - reliability) * generator.standard_normal((chains, ordered.size))
        of_rank = np.empty_like(chance)
        for known in _KNOWN:
            drawn = math.sqrt(reliability) * _chains(gaps, float(known), steps.copy()).T + chance
            np.put_along_axis(of_rank, np.argsort(drawn, axis=1), np.broadcast_to(scores, drawn.shape), axis=1)
            shown.append(_correlation(of_rank, gaps == 1))
        self._shown = np.array(shown)

    def told(self, shown: float) -> tuple[float, float, float]:
        """The correlation that shows as much too high as too low as often, and its 90 % interval."""
        if math.isnan(shown) or self._reliability < _LEAST_RELIABILITY:
            return math.nan, math.nan, math.nan
        middle, low, high = (self._known(shown, share) for share in (0.5, 0.95, 0.05))
        return middle, low, high

    def _known(self, shown: float, share: float) -> float:
        """The correlation of which such a share of chains shows less than `shown`."""
        of_share = np.maximum.accumulate(np.quantile(self._shown, share, axis=1))
        return float(np.interp(shown, of_share, _KNOWN))


def _chains(gaps: Floats, correlation: float, drawn: Floats) -> Floats:
    """Autoregressive processes of the first order, a column each."""
    for n, gap in enumerate(gaps, start=1):
        if gap < _FAR:
            held = correlation**gap
            drawn[n] = held * drawn[n - 1] + math.sqrt(1 - held**2) * drawn[n]
    return drawn


def _correlation(scores: Floats, beside: npt.NDArray[np.bool_]) -> Floats:
    """Of neighbours, along the last axis."""
    products = np.mean((scores[..., :-1] * scores[..., 1:])[..., beside], axis=-1)
    return np.asarray(products / np.var(scores, axis=-1))


@cache
def _score(share: float) -> float:
    """The quantile of the standard normal distribution."""
    return NormalDist().inv_cdf(share)
