"""The correlation of neighbouring slots: an estimate and an interval from chains of known correlation."""

from __future__ import annotations

import math

import numpy as np

from skyhop.starlink import synthetic
from skyhop.starlink.recordings import Floats

#: Pairs of neighbouring slots that are needed.
LEAST_PAIRS = 20

#: Correlations of which chains are made, closer together where their statistic is sharper, and chains of each.
_KNOWN = np.concatenate([-np.tanh(np.linspace(2.0, 0.3, 6)), np.tanh(np.linspace(0.0, 3.0, 16))])
_CHAINS = 1000

#: So many numbers at most are drawn for all chains.
_NUMBERS = 6_000_000

#: Slots of which less can be told have no correlation.
_LEAST_RELIABILITY = 0.1


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
    return float(_statistic(ranks[None, :], beside)[0]), pairs


def _statistic(ranks: Floats, beside: Floats) -> Floats:
    scores = synthetic.scores((ranks + 0.5) / ranks.shape[1])
    products = np.mean((scores[:, :-1] * scores[:, 1:])[:, beside], axis=1)
    return np.asarray(products / np.var(scores, axis=1))


class Chains:
    """What chains of known correlations show in `neighbours` at the numbers of some slots.

    Scores of few slots that follow one another look less correlated than they are, and scatter more than pairs that
    share no slot do. `reliability` is the part of their variance that does not come from the recording's chance.
    """

    def __init__(self, numbers: Floats, *, reliability: float = 1.0, seed: int = 1) -> None:
        ordered = np.sort(numbers)
        self.reliability = reliability
        many = int(np.clip(_NUMBERS // (_KNOWN.size * ordered.size), 50, _CHAINS))
        rows = []
        for known in _KNOWN:
            # The same draws for each correlation, so that what they show grows with it.
            generator = np.random.Generator(np.random.PCG64(seed))
            chains = synthetic.chain(ordered, float(known), many, generator)
            chance = generator.standard_normal(chains.shape)
            chains = math.sqrt(reliability) * chains + math.sqrt(1 - reliability) * chance
            ranks = np.argsort(np.argsort(chains, axis=1), axis=1)
            rows.append(np.sort(_statistic(ranks, np.diff(ordered) == 1)))
        self._shown = np.array(rows)

    def known(self, shown: float, share: float) -> float:
        """The correlation of which such a share of chains shows less than `shown`."""
        of_share = np.maximum.accumulate(np.quantile(self._shown, share, axis=1))
        return float(np.interp(shown, of_share, _KNOWN))

    def told(self, shown: float) -> tuple[float, float, float]:
        """The correlation that is too high as often as too low, and its 90 % interval."""
        if math.isnan(shown) or self.reliability < _LEAST_RELIABILITY:
            return math.nan, math.nan, math.nan
        return self.known(shown, 0.5), self.known(shown, 0.95), self.known(shown, 0.05)

    def likely(self, shown: float, count: int) -> Floats:
        """So many correlations, spread as the intervals are."""
        return np.array([self.known(shown, 1 - (n + 0.5) / count) for n in range(count)])
