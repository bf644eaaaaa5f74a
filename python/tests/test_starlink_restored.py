"""Token buckets whose volume comes back as a whole: found where floods show it, refused where slots do the same."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from test_starlink_allowance import FAST, flood
from test_starlink_uplink import transfer

from skyhop import api, starlink
from skyhop.starlink import allowance, restoration_course, restorations
from skyhop.starlink.allowance import series_of
from skyhop.starlink.recordings import Floats
from skyhop.starlink.restoration_course import Restoration
from skyhop.starlink.transfers import Transfer

#: Mbit/s and Mbit.
RATE, VOLUME = 24.0, 1600.0

SLOW: dict[str, Any] = {"rates": ["2.2 Mbit/s", "3.6 Mbit/s"]}
BUCKET = {"rate": "1 Mbit/s", "volume": "12 MB"}


def made(
    restored_s: list[float], *, minutes: int = 40, seed: int = 1, rates: tuple[float, float] = (50, 87),
    volume: float = VOLUME, filled: float = 1.0, hour: float = 0.0,
) -> Transfer:  # fmt: skip
    """A flood of 100 Mbit/s behind a bucket, in seconds; rates of slots lie evenly between two."""
    generator = np.random.Generator(np.random.PCG64(seed))
    seconds = 60 * minutes
    # The reports begin 3 s before an edge.
    slot = (np.arange(seconds) + 12) // 15
    mbps = generator.uniform(*rates, slot.max() + 1)[slot] * (1 + 0.02 * generator.standard_normal(seconds))
    tokens, found = filled * volume, np.zeros(seconds)
    for n, of_link in enumerate(mbps):
        if any(n <= one < n + 1 for one in restored_s):
            tokens = volume
        found[n] = min(of_link, RATE + tokens)
        tokens = min(tokens + RATE - found[n], volume)
    return shown(found, seed=seed, hour=hour)


def shown(mbps: Floats, *, seed: int = 1, hour: float = 0.0) -> Transfer:
    ones = np.ones(mbps.size)
    return transfer(
        hour, 1e8, name=f"flood-{hour:g}-{seed}", start_s=1_700_000_049.0 + 3600 * hour,
        begins_s=np.arange(float(mbps.size)), lengths_s=ones, rate_bps=1e6 * mbps, reverse=False, is_udp=True,
        streams=1, offered_bps=1e8,
    )  # fmt: skip


def test_a_simulated_flood_tells_after_what_time_its_volume_is_restored() -> None:
    bucket = {**BUCKET, "restored": "10 min", "restored_at": "503 s"}
    one = flood(0, rate="4 Mbit/s", slots=240, bucket=bucket, **SLOW)
    found = starlink.fit_capacity([one], draws=60)
    told = {each.name: each for each in found.parameters}
    # 0.05 % of the packets and 9 ms at each edge are lost.
    for name, truth in (("allowance, rate, Mbit/s", 1), ("allowance, volume, MB", 12)):
        assert told[name].value == pytest.approx(truth, rel=0.01), name
    restored = told["allowance, restored after, mean, s"]
    assert restored.low <= 600 <= restored.high and restored.high - restored.low < 4
    assert len(found.allowance_restored_s) == 1 and found.allowance_restored_s[0] == pytest.approx(600, abs=1)
    assert found.allowance_restored_at_s == pytest.approx(503, abs=1.5)
    # Rates are those of slots with tokens, in all stretches: a plain fall would tell some four.
    assert found.slots > 15 and found.rates_mbps[0] > 2 and found.rates_mbps[-1] < 3.8
    text = starlink.capacity_table(found)
    assert 'volume = "1' in text and 'MB", restored = "' in text
    profile = text.replace("[starlink]", "[links.forward.profile.starlink]")
    wire = "[[links]]\nbetween = ['a', 'b']\ndelay = '1 ms'\nbackward.rate = '1 Mbit/s'"
    assert api.scenario(f"duration = '1 s'\n{wire}\n{profile}").hash
    # The one that the plain fit would have: none, because the level does not stay.
    assert not allowance.find([one], draws=0).is_claimed


def fitted(*floods: Transfer, draws: int = 20) -> starlink.CapacityFit:
    return starlink.fit_capacity(floods, draws=draws)


def test_times_that_differ_are_a_pair_and_many_are_quantiles() -> None:
    few = fitted(made([400.2, 900.7, 1700.4, 2300.1], minutes=50))
    low, high = few.allowance_restored_s
    times = np.diff([400.2, 900.7, 1700.4, 2300.1])
    assert (low + high) / 2 == pytest.approx(times.mean(), abs=1)
    assert (high - low) / math.sqrt(12) == pytest.approx(times.std(ddof=1), abs=1.5)
    mean = next(one for one in few.parameters if "restored" in one.name)
    assert mean.low < times.mean() < mean.high and mean.high - mean.low > 300
    assert "The 3 times between restorations differ" in " ".join(few.notes)
    moments = np.cumsum(np.random.Generator(np.random.PCG64(5)).uniform(150, 400, 11))
    many = fitted(made(moments.tolist(), minutes=60))
    assert len(many.allowance_restored_s) == 10
    assert np.mean(many.allowance_restored_s) == pytest.approx(np.diff(moments).mean(), rel=0.05)
    assert 'restored = ["' in starlink.capacity_table(many)


def test_one_time_between_restorations_has_no_interval_and_says_so() -> None:
    found = fitted(made([507.2, 1210.7], minutes=30))
    assert found.allowance_restored_s == pytest.approx((703.5,), abs=1)
    told = next(one for one in found.parameters if "restored" in one.name)
    assert math.isnan(told.low) and "Only one time between two restorations is known" in " ".join(found.notes)


def test_one_restoration_is_not_claimed_but_named() -> None:
    found = fitted(made([507.2], minutes=15))
    assert found.allowance_restored_s == () and math.isnan(found.allowance_mbps)
    said = " ".join(found.notes)
    assert "rises from 24 Mbit/s at 507 s after the start" in said and "record a flood of an hour or more" in said


def test_a_restoration_while_tokens_are_left_shows_in_what_is_carried() -> None:
    # The volume lasts some 37 s: at 527 s about half of it is left.
    moments = [507.2, 527.4, 1107.6, 1508.2]
    course = restoration_course.course_of(series_of(made(moments)))
    assert course is not None and course.is_claimed
    found = [one.moment_s for one in course.restorations]
    assert found == pytest.approx(moments, abs=4)
    # Three that follow one another at once: nobody can tell when the second one was.
    several = restoration_course.course_of(series_of(made([507.2, 532.4, 562.6, 1107.6, 1508.2])))
    assert several is not None and several.restorations[1].is_after_others
    assert len(restoration_course.gaps_of(several.restorations)) == 2
    # A level of seconds between two is not among the rates.
    rates = fitted(made([507.2, 550.0, 1107.6, 1508.2])).rates_mbps
    assert rates[0] > 48


def test_other_transfers_count_as_floods_with_an_unknown_part_of_the_volume() -> None:
    clear = made([507.2, 1107.2, 1707.2])
    short = made([], minutes=5, seed=3, volume=900, hour=2)
    found = fitted(clear, short)
    assert found.allowance_mbps == pytest.approx(RATE, rel=1e-3)
    assert found.allowance_mb == pytest.approx(VOLUME / 8, rel=2e-3)
    assert found.allowance_restored_s == pytest.approx((600,), abs=1)
    said = " ".join(found.notes)
    assert "flood-2-3: an allowance limits it from" in said and "How much of the volume it found is not known" in said
    assert found.slots > fitted(clear).slots and found.rates_mbps[0] > 48
    assert "All 2 times between restorations suit one value" in said
    # A second flood tells times, too, but no time between the floods counts.
    both = fitted(clear, made([308.4, 908.0, 1508.8], seed=8, hour=4))
    assert both.allowance_restored_s == pytest.approx((600,), abs=2)


def test_transfers_that_contradict_restorations_claim_none() -> None:
    clear = made([507.2, 1107.2, 1707.2])
    free = made([], minutes=20, seed=2, volume=1e9, hour=2)
    found = fitted(clear, free)
    assert found.allowance_restored_s == () and math.isnan(found.allowance_restored_at_s)
    assert "carried more without a level" in found.notes[0] and "No restorations are claimed" in found.notes[0]
    larger = made([507.2, 1107.2, 1707.2], volume=2 * VOLUME, hour=2)
    found = fitted(clear, larger)
    assert (
        found.allowance_restored_s == () and "one token bucket that is restored: 200 (flood-0-1), 400" in found.notes[0]
    )
    found = fitted(clear, dataclasses.replace(larger, start_s=clear.start_s + 60))
    assert found.allowance_restored_s == () and "were recorded at the same time" in found.notes[0]


@pytest.mark.parametrize("seed", range(4))
def test_a_plain_bucket_is_not_restored(seed: int) -> None:
    plain = made([], seed=seed)
    course = restoration_course.course_of(series_of(plain))
    assert course is None or not course.is_claimed
    assert fitted(plain, draws=0).allowance_restored_s == ()
    # Slots slower than its rate leave tokens, which the next ones use: that is its refill and not a restoration.
    slow = made([], seed=seed, rates=(5, 60))
    course = restoration_course.course_of(series_of(slow))
    assert course is None or not course.is_claimed


def test_a_bucket_that_begins_part_full_and_refills_in_slow_slots_is_not_restored() -> None:
    """A slow half hour fills the bucket, so the flood carries more than at first, and falls within a slot again."""
    generator = np.random.Generator(np.random.PCG64(2))
    slot = (np.arange(3600) + 12) // 15
    mbps = np.where((slot > 20) & (slot < 80) | (slot > 100) & (slot < 180), 12.0, 70.0)
    mbps = mbps * (1 + 0.02 * generator.standard_normal(3600))
    tokens, found = 0.4 * VOLUME, np.zeros(3600)
    for n, of_link in enumerate(mbps):
        found[n] = min(of_link, RATE + tokens)
        tokens = min(tokens + RATE - found[n], VOLUME)
    course = restoration_course.course_of(series_of(shown(found)))
    assert course is None or not course.is_claimed


def test_a_flood_that_carries_the_volume_six_times_has_no_volume_of_twice_as_much() -> None:
    # Some of these moments are near edges. A volume that is twice as large would need half as many restorations.
    for first in (202.2, 204.2, 214.2):
        course = restoration_course.course_of(series_of(made([first + 300 * n for n in range(7)], filled=0.2)))
        if course is not None and course.is_claimed:
            assert course.volume == pytest.approx(VOLUME, rel=0.01) and len(course.restorations) == 7


def test_rates_that_rise_and_fall_at_edges_are_no_restorations() -> None:
    """Each ten minutes the slots are fast for the same time, and in between they hold a rate: what a clock would do."""
    generator = np.random.Generator(np.random.PCG64(1))
    fast = (np.arange(3600) + 12) // 15 % 40 < 4
    mbps = np.where(fast, 70.0, 24.0) * (1 + 0.01 * generator.standard_normal(3600))
    course = restoration_course.course_of(series_of(shown(mbps)))
    assert course is None or not course.is_claimed
    # Seven seconds later they are in slots.
    course = restoration_course.course_of(series_of(shown(np.roll(mbps, 7))))
    assert course is not None and course.is_claimed


@pytest.mark.parametrize("correlation", [0.06, 0.95])
def test_simulated_rates_that_hold_are_no_restorations(correlation: float) -> None:
    rates = [f"{one} Mbit/s" for one in [0.6, 0.9, 1.0, 1.0, 1.0, 1.0, 1.05, 2.2, 3.0, 3.6]]
    one = flood(0, rate="4 Mbit/s", slots=240, rates=rates, rate_correlation=correlation)
    found = fitted(one, draws=0)
    assert found.allowance_restored_s == () and math.isnan(found.allowance_mbps)


def test_reports_of_a_plain_flood_are_fitted_as_before() -> None:
    one = flood(0, rate="5 Mbit/s", bucket={"rate": "2.4 Mbit/s", "volume": "27 MB"}, **FAST)
    plain, found = allowance.find([one], draws=20), restorations.find([one], draws=20)
    assert found.parameters == plain.parameters and found.notes == plain.notes and found.restored_s == ()


def test_one_value_is_told_only_where_all_moments_suit_it() -> None:
    def at(*moments: float) -> list[Restoration]:
        return [Restoration(one - 1, one + 1, int(one)) for one in moments]

    assert restorations.constant([at(100, 700, 1301)]) == pytest.approx((599, 602), abs=1)
    assert restorations.constant([at(100, 700, 1340)]) is None
    assert restorations.constant([at(100, 700), at(50, 690)]) is None
    # Others may lie before the last one, so it tells nothing of the one before.
    last = dataclasses.replace(at(900)[0], is_after_others=True)
    assert restoration_course.gaps_of([*at(100, 700), last]) == [600]
    between = restorations.constant([[*at(100, 700), last]])
    assert between is not None and between[0] < 600 < between[1]
    (value,), told = restorations.times_of([at(100, 700, 1300)])
    assert value == pytest.approx(600) and told.low < 600 < told.high
