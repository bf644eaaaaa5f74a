"""The estimators behind `skyhop fit starlink`: no bias, intervals that hold known values, odd recordings."""

from __future__ import annotations

import math

import numpy as np
import pytest
from test_starlink_fit import made

from skyhop import starlink
from skyhop.starlink import chains, pauses
from skyhop.starlink.estimating import QUANTILES, Slots, weighted_quantiles
from skyhop.starlink.recordings import Floats, Recording


def drawn_slots(
    count: int, trips: int, seed: int, *, jitter: tuple[float, ...] = (0, 10), deviation: float = 0.0
) -> list[Floats]:
    """Slots that add 30 ms and 0 to 20 ms evenly, jitter from quantiles, a lognormal spread."""
    generator = np.random.Generator(np.random.PCG64(seed))
    found = []
    for _ in range(count):
        shares = generator.uniform(size=trips)
        own = np.interp(shares, np.linspace(0, 1, len(jitter)), jitter)
        spread = math.exp(deviation * generator.standard_normal())
        found.append(np.asarray(30 + generator.uniform(0, 20) + spread * own))
    return found


@pytest.mark.parametrize("trips", [13, 70])
def test_few_round_trips_of_a_slot_bias_no_value(trips: int) -> None:
    every = [Slots(drawn_slots(80, trips, seed, deviation=0.3)).estimate() for seed in range(5)]
    # The median of 80 spreads differs from 1 by 4 %, that of five such sets by 2 %.
    assert np.mean([one.jitter[10] for one in every]) == pytest.approx(5, rel=0.06)
    assert np.mean([one.jitter[18] - one.jitter[2] for one in every]) == pytest.approx(8, rel=0.06)
    assert np.mean([one.deviation for one in every]) == pytest.approx(0.3, rel=0.1)
    assert np.mean([one.base_ms for one in every]) == pytest.approx(30, abs=0.5)
    assert np.mean([one.step[18] for one in every]) == pytest.approx(18, rel=0.05)


def test_a_jitter_with_a_long_tail_keeps_its_shape() -> None:
    found = Slots(drawn_slots(160, 70, 3, jitter=(0, 4, 6, 8, 12, 40))).estimate()
    assert found.jitter[[4, 8, 12, 16]] == pytest.approx([4, 6, 8, 12], rel=0.08)
    assert found.jitter[-1] == pytest.approx(40, rel=0.1)


def test_intervals_hold_the_values_behind_most_recordings() -> None:
    known = {"step, mean": 10, "step, 90 %": 18, "jitter, median": 5, "jitter, 10 to 90 %": 8}
    known |= {"spread, standard deviation of its logarithm": 0, "correlation of neighbouring slots": 0}
    held = []
    for seed in range(5, 9):
        # Sixteen draws or forty: intervals half as wide would hold ten of 24 either way.
        found = starlink.fit([made(80, seed=seed)], draws=16)
        by_name = {one.name: one for one in found.parameters}
        held += [by_name[name].low <= value <= by_name[name].high for name, value in known.items()]
    # Of 24 intervals that hold a value with 90 % each, at least 18 do in 99 of 100 cases.
    assert sum(held) >= 18


def test_round_trips_in_whole_milliseconds_are_not_slots_that_differ() -> None:
    # `ping` writes three digits.
    whole = [np.round(100 + one) for one in drawn_slots(60, 70, 1)]
    flat = [one - one.min() + 130 for one in whole]
    found = Slots(flat).estimate()
    assert found.step[-1] < 0.8 and found.jitter[10] == pytest.approx(5.5, abs=0.3)


def test_a_recording_without_any_jitter_or_with_round_trips_far_away_is_fitted() -> None:
    one = made(60)
    for rtt_ms in (np.full(one.sent_s.size, 30.0), np.where(np.arange(one.sent_s.size) % 500 == 9, 9e4, one.rtt_ms)):
        found = starlink.fit([Recording("odd", one.sent_s, rtt_ms)], draws=2)
        every = [*found.step_ms, *found.jitter_ms, *found.spread, found.base_ms]
        assert all(math.isfinite(value) for value in every)
        assert all(np.diff(found.step_ms) >= 0) and all(np.diff(found.jitter_ms) >= 0)
    # The others are not lost in the bins of those far away.
    assert found.jitter_ms[10] == pytest.approx(5, abs=0.5)


def test_quantiles_of_weighted_values_are_those_of_repeated_ones() -> None:
    generator = np.random.Generator(np.random.PCG64(1))
    values = generator.uniform(0, 10, 4000)
    times = generator.integers(1, 4, values.size)
    plain = weighted_quantiles(np.repeat(values, times), np.ones(int(times.sum())))
    assert weighted_quantiles(values, times.astype(float)) == pytest.approx(plain, abs=0.02)
    assert plain == pytest.approx(np.linspace(0, 10, QUANTILES), abs=0.25)
    # The outermost gap has the mean of the values there, not the outermost value.
    tail = np.concatenate([values, [1e6]])
    assert weighted_quantiles(tail, np.ones(tail.size))[:-1] == pytest.approx(plain[:-1], abs=0.2)


@pytest.mark.parametrize("correlation", [0.0, 0.8])
def test_a_correlation_of_neighbours_is_told_with_its_interval(correlation: float) -> None:
    numbers = np.delete(np.arange(120.0), [40, 41, 90])
    generator = np.random.Generator(np.random.PCG64(2))
    told = chains.Chains(numbers)
    held, middles = 0, []
    for _ in range(40):
        values = generator.standard_normal(120)
        for n in range(1, 120):
            values[n] = correlation * values[n - 1] + math.sqrt(1 - correlation**2) * values[n]
        shown, pairs = chains.neighbours(numbers, np.delete(values, [40, 41, 90]))
        assert pairs == 114
        middle, low, high = told.told(shown)
        held += low <= correlation <= high
        middles.append(middle)
    # Fisher's interval holds 0.8 in some 24 of 40.
    assert 32 <= held <= 40 and np.mean(middles) == pytest.approx(correlation, abs=0.04)


def test_what_slots_do_not_tell_has_no_correlation() -> None:
    assert all(math.isnan(one) for one in chains.Chains(np.arange(40.0), reliability=0.05).told(0.3))


@pytest.mark.parametrize(("median_ms", "deviation"), [(60.0, 0.4), (180.0, 0.2)])
def test_pauses_are_found_by_their_likelihood(median_ms: float, deviation: float) -> None:
    generator = np.random.Generator(np.random.PCG64(4))
    calm = made(160)
    slot = np.floor((calm.sent_s - 12.0) / 15)
    phase_ms = 1e3 * (calm.sent_s - 12.0 - 15 * slot)
    own = median_ms * np.exp(deviation * generator.standard_normal(170))[(slot - slot[0]).astype(int)]
    found = starlink.fit([Recording("paused", calm.sent_s, calm.rtt_ms + np.maximum(own - phase_ms, 0.0))], draws=6)
    median, spread = (one for one in found.parameters if one.name.startswith("pause"))
    assert median.value == pytest.approx(median_ms, rel=0.1) and spread.value == pytest.approx(deviation, abs=0.12)
    assert median.low <= median.value <= median.high
    assert found.pause_ms[10] == pytest.approx(median.value, abs=0.1)
    assert pauses.Pause(0.0, 0.0).quantiles_ms.tolist() == [0.0] * QUANTILES
