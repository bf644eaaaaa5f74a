"""Verdicts are computed from numbers, tolerance and bounds."""

from __future__ import annotations

import pytest

from skyhop.verdict import (
    DIFFERS,
    FAILS,
    HOLDS,
    IMPOSSIBLE,
    REPRODUCED,
    Bound,
    Claim,
    DefinitionError,
    Expected,
    Tolerance,
)


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
    assert expected(104, "10 %", "5 %").judge(ours) == verdict


def test_tolerance_in_the_unit_of_the_value() -> None:
    none_dropped = expected(0, 0, 2)
    assert [none_dropped.judge(ours) for ours in (-0.1, 0.0, 2.0, 2.1)] == [DIFFERS, REPRODUCED, REPRODUCED, DIFFERS]


def test_edges_survive_binary_fractions() -> None:
    assert expected(0.3, 0, 0).judge(0.1 + 0.2) == REPRODUCED


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
    assert above.judge(1470) == REPRODUCED
    assert above.judge(1470, [uplink]) == IMPOSSIBLE
    assert expected(1500, "1 %", "1 %").judge(1400, [uplink]) == DIFFERS


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
    ],
)
def test_claims_of_order(order: str, verdict: str) -> None:
    claim = Claim("", "", "delay", order, HOLDS)
    assert claim.judge({"vegas": 142, "reno": 371, "bic": 456, "same": 142}) == verdict


def test_a_number_in_brackets_is_itself() -> None:
    claim = Claim("t", "p", "m", "[0.5] < 5, 5 < [0.9]", HOLDS)
    assert claim.names == {"5"}
    assert claim.judge({"5": 0.7}) == HOLDS and claim.judge({"5": 0.95}) == FAILS
