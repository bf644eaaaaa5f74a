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

#: Shares of chains that show less than a recording, for the correlation that is told and the ends of its interval.
_TOLD = (0.5, 0.95, 0.05)

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
        self._gaps = np.diff(ordered)
        self._scores = np.array([_score((n + 0.5) / ordered.size) for n in range(ordered.size)])
        chains = int(np.clip(_NUMBERS // ordered.size, 50, _CHAINS))
        # The same draws for each correlation, so that what they show grows with it.
        generator = np.random.Generator(np.random.PCG64(seed))
        self._steps = np.ascontiguousarray(generator.standard_normal((chains, ordered.size)).T)
        self._chance = math.sqrt(1 - reliability) * generator.standard_normal((chains, ordered.size))
        self._quantiles: list[Floats] = []
        """Quantiles at `_TOLD` of what chains of `_KNOWN` show, in its order, as far as they were needed."""

    def told(self, shown: float) -> tuple[float, float, float]:
        """The correlation that shows as much too high as too low as often, and its 90 % interval."""
        if math.isnan(shown) or self._reliability < _LEAST_RELIABILITY:
            return math.nan, math.nan, math.nan
        # Values beyond the first greater one do not change the result, and making chains takes most of the time.
        of_share = np.full((0, len(_TOLD)), math.nan)
        while len(of_share) < _KNOWN.size and not (of_share > shown).any(axis=0).all():
            if len(self._quantiles) == len(of_share):
                self._quantiles.append(self._of_chains(float(_KNOWN[len(of_share)])))
            of_share = np.array(self._quantiles[: len(of_share) + 1])
        of_share = np.maximum.accumulate(of_share)
        middle, low, high = (float(np.interp(shown, one, _KNOWN[: one.size])) for one in of_share.T)
        return middle, low, high

    def _of_chains(self, known: float) -> Floats:
        """Quantiles at `_TOLD` of what chains of a correlation show."""
        drawn = math.sqrt(self._reliability) * _chains(self._gaps, known, self._steps.copy()).T + self._chance
        of_rank = np.empty_like(self._chance)
        np.put_along_axis(of_rank, np.argsort(drawn, axis=1), np.broadcast_to(self._scores, drawn.shape), axis=1)
        return np.quantile(_correlation(of_rank, self._gaps == 1), _TOLD)


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
