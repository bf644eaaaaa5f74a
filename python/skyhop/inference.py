"""What a few runs say about a mean: intervals by Student's t, and tests of whether one mean is below another.

The tests are two-sided t tests: paired where both means come from the same seeds, by Welch's formula where they do not
(B. L. Welch, "The generalization of 'Student's' problem", Biometrika 34, 1947). Several at once keep one error rate
together by Holm's procedure (S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal
of Statistics 6, 1979).

Equal values of different runs have no scatter that Student's t could use, and two zeros do not prove that a third run
gives 0. The signs are tested instead: n values on one side of a number have a two-sided p of 2^(1-n) (W. J. Conover,
Practical Nonparametric Statistics, 3rd ed., section 3.4). So six equal values are the fewest that decide at 5 %.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

#: The chance, for a claim as a whole, that noise alone decides it.
LEVEL = 0.05

#: The fewest equal values that decide alone, by the test of signs.
LEAST_EQUAL = 1 + math.ceil(math.log2(1 / LEVEL))

#: Differences of values up to this share of them are rounding of a sum.
_ROUNDING = 1e-12


def all_equal(values: Sequence[float]) -> bool:
    """Whether two values or more are all the same, but for rounding."""
    if len(values) < 2 or not all(map(math.isfinite, values)):
        return False
    return max(values) - min(values) <= _ROUNDING * max(map(abs, values))


def distinct_values(values: Sequence[float]) -> int:
    """How many different values there are; those that are equal but for rounding count as one, as do all NaN."""
    return 1 if all_equal(values) else len({None if math.isnan(one) else one for one in values})


def equal_seeds(row: Mapping[str, Any]) -> int:
    """How many different runs gave the one value of a row of the table; 0 where values differ, or runs do not.

    Tables of older versions do not know it, and have intervals of no width there.
    """
    runs: int = row["runs"]
    return runs if row.get("distinct_values") == 1 and runs > 1 and row["distinct_runs"] > 1 else 0


@dataclass(frozen=True)
class Estimate:
    """The mean of a metric at a cell, from one value per seed.

    One value says nothing about its own scatter: its interval is unknown, unless the run is known to be deterministic.
    Nor do a few equal values.
    """

    by_seed: Mapping[int, float]
    deterministic: bool = False

    @classmethod
    def exactly(cls, value: float) -> Estimate:
        """A number without scatter."""
        return cls({0: value}, deterministic=True)

    @property
    def values(self) -> list[float]:
        """One per seed."""
        return list(self.by_seed.values())

    @property
    def mean(self) -> float:
        """Mean over all seeds."""
        return statistics.fmean(self.by_seed.values())

    @property
    def equal_seeds(self) -> int:
        """How many seeds gave the one value that all of them gave; 0 where values differ, or there is one seed."""
        return len(self.by_seed) if all_equal(self.values) else 0

    @property
    def distinct_values(self) -> int:
        """How many different values the seeds gave."""
        return distinct_values(self.values)

    @property
    def half(self) -> float:
        """Half the width of the 95 % interval, in the metric's unit; infinite where it is unknown.

        It is 0 of a deterministic run, and of as many equal values as the test of signs needs.
        """
        if len(self.by_seed) < 2:
            return 0.0 if self.deterministic else math.inf
        if equal := self.equal_seeds:
            return 0.0 if equal >= LEAST_EQUAL else math.inf
        return mean_and_interval(self.values)[1]

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.mean - self.half

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.mean + self.half


class Order(Enum):
    """What the runs say about `a < b`."""

    BELOW = "below"
    ABOVE = "above"
    EQUAL = "equal"
    UNKNOWN = "unknown"


def order(pairs: Sequence[tuple[Estimate, Estimate]], *, level: float = LEVEL) -> list[Order]:
    """What the runs say about each pair, with at most `level` as the chance of one wrong answer among them all (Holm).

    A pair of deterministic numbers is decided by them; it takes no part in the division of the level.
    """
    found = [Order.UNKNOWN] * len(pairs)
    tested = []
    for number, (a, b) in enumerate(pairs):
        difference, p = compare(a, b)
        if difference == 0.0:
            p = _p_of_equal_values(a, b)
        if math.isnan(difference) or math.isnan(p):
            continue
        if p == 0.0:
            found[number] = _sign(difference)
        else:
            tested.append((p, number, difference))
    tested.sort()
    for rank, (p, number, difference) in enumerate(tested):
        if p > level / (len(tested) - rank):
            break
        found[number] = _sign(difference)
    return found


def _sign(difference: float) -> Order:
    if difference == 0.0:
        return Order.EQUAL
    return Order.BELOW if difference < 0 else Order.ABOVE


def compare(a: Estimate, b: Estimate) -> tuple[float, float]:
    """The difference of the means a - b, and the two-sided p value of "they are equal"; NaN where nothing is known.

    Equal seeds pair the runs: random numbers are keyed by seed and component, so that both see the same draws.
    """
    difference = a.mean - b.mean
    if not math.isfinite(difference) or any(len(one.by_seed) < 2 and not one.deterministic for one in (a, b)):
        return difference, math.nan
    # Scatter below the last digits of a sum is rounding.
    rounding = _ROUNDING * max(abs(a.mean), abs(b.mean))
    paired = len(a.by_seed) > 1 and a.by_seed.keys() == b.by_seed.keys()
    if paired:
        gaps = [a.by_seed[seed] - b.by_seed[seed] for seed in a.by_seed]
        error, freedom = statistics.stdev(gaps) / math.sqrt(len(gaps)), float(len(gaps) - 1)
    else:
        parts = [(statistics.variance(one.values) / len(one.values), len(one.values) - 1)
                 for one in (a, b) if len(one.values) > 1]  # fmt: skip
        error = math.sqrt(sum(part for part, _ in parts))
        # Welch and Satterthwaite; a number without scatter adds nothing.
        freedom = sum(part for part, _ in parts) ** 2 / sum(part**2 / n for part, n in parts) if error > 0 else 1.0
    if error <= rounding and abs(difference) <= rounding:
        return 0.0, 1.0
    if paired and error <= rounding:
        # Gaps of counts are equal by chance, and two seeds with equal gaps say no more than two with unequal ones.
        return difference, _p_of_signs(len(a.by_seed))
    p = two_sided_p(difference / error, freedom) if error > rounding else 0.0
    # Two samples that are not paired may each be off by chance, of which Welch's formula sees none in equal values.
    return difference, p if paired else min(p + sum(_p_of_signs(one.equal_seeds) for one in (a, b)), 1.0)


def _p_of_equal_values(a: Estimate, b: Estimate) -> float:
    """The chance of as many equal values on both sides where the two differ; NaN where values scatter."""
    scatters = any(len(one.by_seed) > 1 and not one.equal_seeds for one in (a, b))
    if scatters or any(len(one.by_seed) < 2 and not one.deterministic for one in (a, b)):
        return math.nan
    if a.by_seed.keys() == b.by_seed.keys():
        return _p_of_signs(a.equal_seeds)
    return min(sum(_p_of_signs(one.equal_seeds) for one in (a, b)), 1.0)


def _p_of_signs(seeds: int) -> float:
    """The two-sided p value of as many values, or gaps, on one side of a number; 0 of no value that could be off."""
    return 2.0 ** (1 - seeds) if seeds else 0.0


def two_sided_p(t: float, freedom: float) -> float:
    """The chance of a |t| at least as large: the incomplete beta function (Abramowitz and Stegun 26.7.1, 26.5.27)."""
    return _beta(freedom / 2, 0.5, freedom / (freedom + t * t))


def _beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b) by its continued fraction (Abramowitz and Stegun 26.5.8)."""
    if x <= 0.0 or x >= 1.0:
        return min(max(x, 0.0), 1.0)
    if x > (a + 1) / (a + b + 2):
        return 1.0 - _beta(b, a, 1.0 - x)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    # Lentz's method.
    c, d = 1.0, 1.0 / (1.0 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 500):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d, c = 1.0 / (1.0 + even * d), 1.0 + even / c
        value *= c * d
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d, c = 1.0 / (1.0 + odd * d), 1.0 + odd / c
        value *= c * d
        if abs(c * d - 1.0) < 1e-14:
            break
    return math.exp(log_front) * value / a


def mean_and_interval(values: Sequence[float], *, distinct: int | None = None) -> tuple[float, float]:
    """The mean and half the width of its 95 % interval by Student's t.

    NaN for the width of a single value; of values from runs that are all the same (`distinct` is how many different
    ones there are), in which chance had no part; and of equal values, whose scatter nobody has seen yet. An interval of
    no width would say that it was measured.
    """
    mean = statistics.fmean(values)
    if len(values) < 2 or distinct == 1 or not math.isfinite(mean) or all_equal(values):
        return mean, math.nan
    return mean, t_quantile(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))


#: Student's t of a two-sided interval for 1 to 30 degrees of freedom (any table, e.g. Abramowitz and Stegun, table
#: 26.10), and the quantile of the normal distribution, by the level of the interval.
_T = {
    0.95: ((
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
        2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
    ), 1.959964),
    0.9: ((
        6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812, 1.796, 1.782, 1.771, 1.761, 1.753,
        1.746, 1.740, 1.734, 1.729, 1.725, 1.721, 1.717, 1.714, 1.711, 1.708, 1.706, 1.703, 1.701, 1.699, 1.697,
    ), 1.644854),
}  # fmt: skip


def t_quantile(freedom: int, *, level: float = 0.95) -> float:
    """Student's t of a two-sided interval of this level, 0.95 or 0.9."""
    table, z = _T[level]
    if freedom <= len(table):
        return table[freedom - 1]
    # Abramowitz and Stegun 26.7.5: two terms are within 1e-4 from 30 on.
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
