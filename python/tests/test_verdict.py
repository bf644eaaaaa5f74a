"""Verdicts are computed from numbers, their intervals, tolerance and bounds."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from skyhop.inference import Estimate, Order, compare, mean_and_interval, order, t_quantile, two_sided_p
from skyhop.verdict import (
    DIFFERS,
    FAILS,
    GIVEN,
    HOLDS,
    IMPOSSIBLE,
    REPRODUCED,
    UNDECIDED,
    Bound,
    Claim,
    DefinitionError,
    Expected,
    Guard,
    Tolerance,
)

exactly = Estimate.exactly


def sample(*values: float) -> Estimate:
    """One value per seed."""
    return Estimate(dict(enumerate(values, start=1)))


def expected(value: float, below: float | str, above: float | str) -> Expected:
    return Expected(value, "Table 4", Tolerance.parse(below, above, value=value), REPRODUCED)


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [
        (104.0, REPRODUCED),
        (93.6, REPRODUCED),  # 10 % below, the edge itself
        (93.59, DIFFERS),
        (109.2, REPRODUCED),  # 5 % above, the edge itself
        (109.21, DIFFERS),
        (0.0, DIFFERS),
    ],
)
def test_tolerance_has_two_sides_of_their_own(ours: float, verdict: str) -> None:
    assert expected(104, "10 %", "5 %").judge(exactly(ours)) == verdict


def test_tolerance_in_the_unit_of_the_value() -> None:
    none_dropped = expected(0, 0, 2)
    assert [none_dropped.judge(exactly(ours)) for ours in (-0.1, 0.0, 2.0, 2.1)] == [
        DIFFERS,
        REPRODUCED,
        REPRODUCED,
        DIFFERS,
    ]


def test_edges_survive_binary_fractions() -> None:
    assert expected(0.3, 0, 0).judge(exactly(0.1 + 0.2)) == REPRODUCED


@pytest.mark.parametrize("side", ["3", "three %", -1.0, "-3 %", "3 % or so", float("nan")])
def test_what_is_no_tolerance(side: float | str) -> None:
    with pytest.raises(ValueError):
        Tolerance.parse(side, 0, value=100)


def test_a_percentage_of_zero_is_refused() -> None:
    with pytest.raises(DefinitionError, match="percentage of 0"):
        Tolerance.parse("3 %", "3 %", value=0)


def test_a_value_beyond_a_bound_is_impossible_even_if_ours_were_close() -> None:
    uplink = Bound("throughput", "the uplink carries 1500 kbit/s", most=1500)
    above = expected(1756.26, "20 %", "20 %")
    assert above.judge(exactly(1470)) == REPRODUCED
    assert above.judge(exactly(1470), [uplink]) == IMPOSSIBLE
    assert expected(1500, "1 %", "1 %").judge(exactly(1400), [uplink]) == DIFFERS


def test_bounds_hold_below_as_well_and_for_their_axis_values_only() -> None:
    slot = Bound("interarrival", "three flows share the uplink", least=23.168, where={"tcp": frozenset({"vegas"})})
    assert slot.broken_by(20.32) and not slot.broken_by(23.2)
    assert slot.applies("interarrival", {"tcp": "vegas"})
    assert not slot.applies("interarrival", {"tcp": "reno"})
    assert not slot.applies("delay", {"tcp": "vegas"})


@pytest.mark.parametrize(
    ("order", "verdict"),
    [
        ("vegas < reno", HOLDS),
        ("vegas < reno < bic", HOLDS),
        ("reno < vegas", FAILS),
        ("vegas < bic < reno", FAILS),
        ("vegas < reno, vegas < bic", HOLDS),
        ("vegas < reno, bic < reno", FAILS),
        ("vegas < same", FAILS),
        ("vegas & same < reno & bic", HOLDS),
        ("vegas & reno < same", FAILS),
    ],
)
def test_claims_of_order(order: str, verdict: str) -> None:
    claim = Claim("", "", "delay", order, HOLDS)
    ours = {"vegas": 142, "reno": 371, "bic": 456, "same": 142}
    assert claim.judge({name: exactly(value) for name, value in ours.items()}) == verdict


def test_a_number_in_brackets_is_itself() -> None:
    claim = Claim("t", "p", "m", "[0.5] < 5, 5 < [0.9]", HOLDS)
    assert claim.names == {"5"}
    assert claim.judge({"5": exactly(0.7)}) == HOLDS and claim.judge({"5": exactly(0.95)}) == FAILS


@pytest.mark.parametrize("freedom", range(1, 31))
def test_p_values_are_those_of_the_tables(freedom: int) -> None:
    """Abramowitz and Stegun, table 26.10: the 97.5 % quantile has a two-sided p of 5 %."""
    assert two_sided_p(t_quantile(freedom), freedom) == pytest.approx(0.05, abs=1e-4)


def test_p_values_of_one_degree_of_freedom_have_a_closed_form() -> None:
    assert two_sided_p(1.0, 1) == pytest.approx(0.5)  # Cauchy: 1 - 2 atan(1) / pi
    assert two_sided_p(0.0, 7) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ((100, 101, 99, 100), REPRODUCED),
        ((114, 115, 116, 115), DIFFERS),
        ((109, 111, 110, 112), UNDECIDED),  # 110.5 ± 2.1 straddles 110
        ((60, 100, 140), UNDECIDED),  # in the middle, but wider than the tolerance on both sides
        ((100,), UNDECIDED),  # one run says nothing about its scatter
        ((200,), UNDECIDED),
    ],
)
def test_a_value_is_judged_with_its_interval(values: tuple[float, ...], verdict: str) -> None:
    assert expected(100, "10 %", "10 %").judge(sample(*values)) == verdict


def test_one_run_decides_only_where_it_is_deterministic() -> None:
    claim = Claim("", "", "delay", "a < b", HOLDS)
    assert claim.judge({"a": sample(1.0), "b": sample(2.0)}) == UNDECIDED
    assert claim.judge({"a": exactly(1.0), "b": exactly(2.0)}) == HOLDS
    assert claim.judge({"a": exactly(1.0), "b": sample(2.0)}) == UNDECIDED


def test_noise_does_not_decide_a_claim() -> None:
    """Of 400 claims about the order of five means of one distribution, at most 5 % may be decided (here: 4 sigma)."""
    draw = random.Random(7)
    decided = 0
    for _ in range(400):
        cells = {name: sample(*(draw.gauss(100, 10) for _ in range(10))) for name in "abcde"}
        decided += Claim("", "", "m", "a < b < c < d < e", HOLDS).judge(cells) != UNDECIDED
    assert decided <= 400 * 0.05 + 4 * (400 * 0.05 * 0.95) ** 0.5


def test_bare_means_in_the_claimed_order_are_not_enough() -> None:
    cells = {"a": sample(9, 11, 10, 9), "b": sample(10, 12, 9, 10), "c": sample(10, 11, 10, 12)}
    assert cells["a"].mean < cells["b"].mean < cells["c"].mean
    assert Claim("", "", "m", "a < b < c", HOLDS).judge(cells) == UNDECIDED


def test_an_order_is_decided_as_a_whole() -> None:
    """The difference alone is significant at 5 %, and not beside three others (Holm)."""
    a, b = sample(10, 11, 12, 10), sample(12, 12.5, 12.4, 12.2)
    _, p = compare(a, b)
    assert 0.0125 < p < 0.05
    assert order([(a, b)]) == [Order.BELOW]
    noise = (sample(1, 2, 3, 2), sample(2, 1, 2, 3.1))
    assert order([(a, b), noise, noise, noise]) == [Order.UNKNOWN] * 4


def test_one_clear_reversal_refutes_an_order_whatever_else_is_open() -> None:
    cells = {"a": sample(1, 1.1, 0.9), "b": sample(1, 0.9, 1.2), "c": sample(0.1, 0.2, 0.1)}
    assert Claim("", "", "m", "a < b < c", HOLDS).judge(cells) == FAILS


def test_equal_seeds_are_paired() -> None:
    """What the seed does to both alike is taken out; without pairs the same numbers decide nothing."""
    a, b = sample(10, 20, 30, 40), sample(11, 21.1, 31, 40.9)
    assert order([(a, b)]) == [Order.BELOW]
    other_seeds = Estimate({seed + 10: value for seed, value in b.by_seed.items()})
    assert order([(a, other_seeds)]) == [Order.UNKNOWN]


def test_gaps_that_are_equal_by_chance_decide_nothing() -> None:
    """Counts have equal gaps often: two seeds that differ by 1 each prove nothing."""
    assert order([(sample(5, 9), sample(6, 10))]) == [Order.UNKNOWN]
    assert order([(sample(5, 9, 1), sample(6, 10, 2))]) == [Order.UNKNOWN]
    six = sample(5, 9, 1, 7, 3, 8)
    assert order([(six, sample(6, 10, 2, 8, 4, 9))]) == [Order.BELOW]


def test_equal_values_at_a_few_seeds_decide_nothing() -> None:
    """No loss in two runs, and one in each of two others, says as little as any other two pairs."""
    zeros, ones = sample(0, 0), sample(1, 1)
    assert zeros.half == float("inf") and expected(0, 0, 0).judge(zeros) == UNDECIDED
    assert order([(zeros, ones)]) == [Order.UNKNOWN] and order([(zeros, sample(0, 0))]) == [Order.UNKNOWN]
    assert order([(zeros, exactly(1))]) == [Order.UNKNOWN] == order([(sample(96.7, 96.7), sample(99, 99 + 1e-14))])
    assert compare(zeros, ones) == (-1.0, 0.5) and compare(zeros, exactly(1)) == (-1.0, 0.5)
    guard = Guard("utilisation", least=0.9)
    assert guard.met(sample(0.95, 0.95)) is None and guard.met(sample(*[0.95] * 6)) is True


def test_as_many_equal_values_as_the_test_of_signs_needs_decide() -> None:
    """Six have a p of 2^-5 = 3.1 %, five one of 6.3 %; two comparisons need seven (Holm)."""
    five, six, seven = (sample(*[0.0] * count) for count in (5, 6, 7))
    assert [expected(0, 0, 0).judge(one) for one in (five, six)] == [UNDECIDED, REPRODUCED]
    assert [expected(5, 1, 1).judge(one) for one in (five, six)] == [UNDECIDED, DIFFERS]
    one = exactly(1)
    assert [order([(ours, one)]) for ours in (five, six)] == [[Order.UNKNOWN], [Order.BELOW]]
    assert order([(six, one), (six, one)]) == [Order.UNKNOWN] * 2
    assert order([(seven, one), (seven, one)]) == [Order.BELOW] * 2
    assert order([(six, sample(*[0.0] * 6))]) == [Order.EQUAL] == order([(six, exactly(0))])
    # Numbers without chance are what they are.
    assert order([(exactly(0), one), (one, exactly(1))]) == [Order.BELOW, Order.EQUAL]


def test_two_samples_of_other_seeds_may_each_be_off() -> None:
    """Welch's formula sees no scatter at all in equal values."""
    a = sample(0, 0, 0)
    b = Estimate({seed: 5.0 + 0.1 * seed for seed in range(11, 21)})
    assert compare(a, b)[1] == pytest.approx(0.25, abs=1e-3) and order([(a, b)]) == [Order.UNKNOWN]
    assert compare(a, Estimate({11: 1.0, 12: 1.0, 13: 1.0}))[1] == 0.5


def test_an_interval_of_no_width_is_none() -> None:
    assert all(math.isnan(mean_and_interval(values)[1]) for values in ([0.0, 0.0], [3.0] * 10, [7.0]))
    assert mean_and_interval([0.0, 1.0])[1] == pytest.approx(12.706 / 2)
    assert [sample(*values).equal_seeds for values in ((0, 0), (0, 0, 1), (3,), (0.1 + 0.2, 0.3))] == [2, 0, 0, 2]


def test_noise_in_counts_does_not_decide_a_claim() -> None:
    """Of 2000 pairs of counts that a seed moves together, at most 5 % are told apart (here: 4 sigma)."""
    draw = random.Random(11)
    told = 0
    for _ in range(2000):
        bases = [draw.randrange(100), 200 + draw.randrange(100)]
        a, b = ([float(base + draw.randrange(2)) for base in bases] for _ in "ab")
        told += order([(sample(*a), sample(*b))]) != [Order.UNKNOWN]
    assert told <= 2000 * 0.05 + 4 * (2000 * 0.05 * 0.95) ** 0.5


def test_welch_agrees_with_a_worked_example() -> None:
    """Welch's t and degrees of freedom by hand: t = -2 / sqrt(1/3 + 4/3), freedom = (5/3)^2 / (1/18 + 16/18)."""
    a = Estimate({1: 9.0, 2: 10.0, 3: 11.0})
    b = Estimate({11: 10.0, 12: 12.0, 13: 14.0})
    difference, p = compare(a, b)
    assert difference == -2
    assert p == pytest.approx(two_sided_p(2 / (5 / 3) ** 0.5, (25 / 9) / (17 / 18)))


def test_a_wished_given_is_not_better_than_the_numbers() -> None:
    given = Expected(100, "Table 4", Tolerance(5, 5), GIVEN, "An input.")
    assert given.judge(exactly(101)) == GIVEN
    assert given.judge(exactly(120)) == DIFFERS
    assert given.judge(sample(104, 106, 105)) == UNDECIDED


def test_a_fair_share_of_nothing_is_not_reproduced() -> None:
    """Jain's index of 0.952 beside 0.95 does not count where the flows use a thousandth of the link."""
    guard = Guard("utilisation", least=0.9)
    jain = Expected(0.95, "Figure 18", Tolerance(0.02, 0.02), REPRODUCED, guards=(guard,))
    assert jain.judge(exactly(0.952), guards={"utilisation": exactly(0.97)}) == REPRODUCED
    assert jain.judge(exactly(0.952), guards={"utilisation": exactly(0.001)}) == DIFFERS
    assert jain.judge(exactly(0.952), guards={"utilisation": sample(0.85, 0.95, 0.9)}) == UNDECIDED
    claim = Claim("", "", "jain", "[0.95] < yam", HOLDS)
    assert claim.judge({"yam": exactly(0.99)}, [(guard, exactly(0.001))]) == FAILS
    assert claim.judge({"yam": exactly(0.99)}, [(guard, exactly(0.99))]) == HOLDS


def test_not_a_number_decides_nothing() -> None:
    nan = float("nan")
    cells = {"a": sample(nan, 1.0), "b": sample(1.0, 2.0)}
    assert all(
        Claim("", "", "m", f"{x} < {y}", HOLDS).judge(cells) == UNDECIDED for x, y in itertools.permutations("ab")
    )
    assert expected(1, 0.5, 0.5).judge(sample(nan, 1.0)) == DIFFERS
