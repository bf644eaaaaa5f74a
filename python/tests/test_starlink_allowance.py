"""Token buckets in recorded floods: found where Skyhop simulates one, refused where rates of slots do the same."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from test_starlink_uplink import loaded, transfer

from skyhop import api, starlink
from skyhop.starlink import allowance
from skyhop.starlink.capacity import CapacityFit
from skyhop.starlink.transfers import Transfer

#: What a recorded uplink does within its slots and at their edges.
LIVELY: dict[str, Any] = {
    "ripple": [0.33, 0.6, 0.8, 0.9, 1.0, 1.1, 1.2, 1.4, 1.59],
    "pause": ["100 ms", "155 ms", "220 ms"],
    "loss": 0.0005,
    "outage": ["0 ms", "0 ms", "36 ms"],
}

FAST = {"rates": ["5 Mbit/s", "9 Mbit/s"], "rate_correlation": 0.06}

#: 216 Mbit: 9 Mbit/s use them up in 33 s, 5 Mbit/s in 83 s.
BUCKET = {"rate": "2.4 Mbit/s", "volume": "27 MB"}


def flood(
    hour: float, *, seed: int = 1, rate: str = "12 Mbit/s", bucket: dict[str, Any] | None = None, slots: int = 20,
    **keys: Any,
) -> Transfer:  # fmt: skip
    """A flood over fast slots, with a bucket or without; its start is a full minute."""
    profile = {**LIVELY, **FAST, **({"allowance": bucket} if bucket else {}), **keys}
    found = loaded(profile, slots=slots, rate=rate, payload="1172 B", seed=seed)
    return dataclasses.replace(found, name=f"flood-{hour:g}", start_s=transfer(hour, 1.0).start_s)


def fitted(*floods: Transfer, draws: int = 0) -> CapacityFit:
    return starlink.fit_capacity(floods, draws=draws)


def is_none(found: CapacityFit) -> bool:
    return math.isnan(found.allowance_mbps) and math.isnan(found.allowance_mb)


def test_floods_tell_the_bucket_that_limits_them_and_the_rates_before_it_does() -> None:
    every = [flood(0, seed=1, bucket=BUCKET), flood(1, seed=4, rate="8 Mbit/s", bucket=BUCKET)]
    every += [flood(2 + n, seed=10 + n, bucket=BUCKET) for n in range(3)]
    found = fitted(*every, draws=60)
    # 0.05 % of the packets are lost and 9 ms at each edge: what arrives is a thousandth less than the link counts.
    assert found.allowance_mbps == pytest.approx(2.4, rel=0.004)
    assert found.allowance_mb == pytest.approx(27, rel=0.004)
    told = {one.name: one for one in found.parameters}
    for name, truth in (("allowance, rate, Mbit/s", 2.4), ("allowance, volume, MB", 27)):
        assert told[name].low <= told[name].value <= told[name].high, name
        assert told[name].high - told[name].low < 0.05 * truth, name
    # The level is the rate of no slot: with it half of the rates would be 2.4.
    assert found.rates_mbps[0] > 4.7 and found.rates_mbps[-1] < 9.3
    text = starlink.capacity_table(found)
    assert "allowance = { rate = " in text and "flood-0: an allowance limits it from" in text
    assert "taken for full at the start of flood-0" in text
    profile = text.replace("[starlink]", "[links.forward.profile.starlink]")
    wire = "[[links]]\nbetween = ['a', 'b']\ndelay = '1 ms'\nbackward.rate = '1 Mbit/s'"
    scenario = f"duration = '1 s'\n{wire}\n{profile}"
    assert api.scenario(scenario).hash


def test_one_flood_tells_a_bucket_and_says_what_it_takes_for_granted() -> None:
    found = fitted(flood(0, rate="5 Mbit/s", bucket=BUCKET))
    assert found.allowance_mb == pytest.approx(27, rel=0.004)
    # All slots before the fall carried what was offered, so none tells its rate, and losses are the bucket's.
    assert found.rates_mbps == () and math.isnan(found.loss)
    said = " ".join(found.notes)
    assert "Only one transfer tells the allowance" in said and "too few for rates" in said
    assert "No transfer tells losses" in said


def test_packets_that_the_path_loses_have_taken_tokens() -> None:
    keys = {"loss": 0.02, "outage": ["0 ms", "0 ms"]}
    stream = dataclasses.replace(
        loaded({**FAST, **keys}, slots=40, rate="0.8 Mbit/s", payload="172 B"), start_s=transfer(1, 1.0).start_s
    )
    alone = fitted(flood(0, rate="5 Mbit/s", bucket=BUCKET, **keys))
    both = fitted(flood(0, rate="5 Mbit/s", bucket=BUCKET, **keys), stream)
    assert alone.allowance_mbps == pytest.approx(0.98 * 2.4, rel=0.002)
    assert both.allowance_mbps == pytest.approx(2.4, rel=0.002) and both.allowance_mb == pytest.approx(27, rel=0.004)
    assert not any("No transfer tells losses" in note for note in both.notes)


@pytest.mark.parametrize("correlation", [0.06, 0.8])
@pytest.mark.parametrize("rate", ["3 Mbit/s", "12 Mbit/s"])
def test_rates_that_hold_and_queues_that_empty_are_not_taken_for_a_bucket(correlation: float, rate: str) -> None:
    """Half of the slots lie near 2.3 Mbit/s, like the level of a bucket. Streams of 3 Mbit/s leave queues behind."""
    low = [1.4, 1.9, 2.2, 2.23, 2.25, 2.26, 2.27, 2.28, 2.28, 2.28, 2.28, 2.3, 2.35, 2.5]
    rates = [f"{one} Mbit/s" for one in [*low, 4.5, 5.2, 5.5, 6.0, 7.0, 7.8, 8.5]]
    keys = {"rates": rates, "rate_correlation": correlation}
    found = [allowance.find([flood(0, seed=seed, rate=rate, **keys)], draws=0) for seed in range(12)]
    assert sum(one.is_claimed for one in found) == 0


def test_a_fall_near_an_edge_is_told_from_no_slot_and_says_so() -> None:
    # 202 Mbit at 2.7 Mbit/s: the bucket is empty two seconds after the edge at 72 s.
    near = flood(0, rate="5 Mbit/s", bucket={"rate": "2.4 Mbit/s", "volume": "25.3 MB"})
    found = fitted(near, flood(1, seed=2, rate="12 Mbit/s"))
    assert is_none(found)
    said = " ".join(found.notes)
    assert "flood-0: falls from 5.1" in said and "Record another flood of UDP" in said
    # A second flood that falls within a slot tells the bucket, and the first one agrees.
    both = fitted(near, flood(1, seed=1, rate="8 Mbit/s", bucket={"rate": "2.4 Mbit/s", "volume": "25.3 MB"}))
    assert both.allowance_mb == pytest.approx(25.3, rel=0.005)
    assert sum("an allowance limits it from" in note for note in both.notes) == 2
    said = " ".join(both.notes)
    assert "flood-1 falls clearly within a slot" in said and "1 more falls after about the same volume" in said


def test_once_a_bucket_is_claimed_falls_at_edges_count_and_their_levels_are_no_rates() -> None:
    bucket = {"rate": "2.4 Mbit/s", "volume": "25.3 MB"}
    clear = flood(0, seed=1, rate="8 Mbit/s", bucket=bucket)
    # 4.93 Mbit/s on the wire: each falls a second or two after the edge at 72 s, after 91 and 60 % of the volume.
    alike = flood(1, rate="4.82 Mbit/s", bucket={"rate": "2 Mbit/s", "volume": "26.8 MB"})
    assert not allowance.find([alike], draws=0).is_claimed
    found = fitted(clear, alike)
    assert found.allowance_mbps == pytest.approx(2.4, rel=0.005)
    assert found.allowance_mb == pytest.approx((25.3 + 23.1) / 2, rel=0.01)
    said = " ".join(found.notes)
    assert "1 more falls after about the same volume" in said and said.count("an allowance limits it from") == 2
    other = flood(1, rate="4 Mbit/s", bucket={"rate": "2.4 Mbit/s", "volume": "15.4 MB"})
    assert not allowance.find([other], draws=0).is_claimed
    found = fitted(clear, other)
    assert found.allowance_mb == pytest.approx(25.3, rel=0.01)
    said = " ".join(found.notes)
    assert "after 15.4 MB beyond it, which is not its volume, so the level counts as rates" in said
    assert said.count("an allowance limits it from") == 1


def test_a_flood_finds_what_the_one_before_left() -> None:
    # The first ends at 300 s with an empty bucket; 60 s later 144 of 216 Mbit have come.
    first = flood(0, rate="5 Mbit/s", bucket=BUCKET)
    second = flood(360 / 3600, seed=3, rate="6 Mbit/s", bucket={**BUCKET, "filled": 144 / 216})
    found = fitted(first, second)
    assert found.allowance_mb == pytest.approx(27, rel=0.01)
    assert sum("an allowance limits it from" in note for note in found.notes) == 2


def test_the_first_flood_begins_part_full_only_if_the_others_say_so() -> None:
    first = flood(0, rate="6 Mbit/s", bucket={**BUCKET, "filled": 0.6})
    alone = fitted(first)
    assert alone.allowance_mb == pytest.approx(16.2, rel=0.01)
    assert "taken for full at the start of flood-0: else its volume is larger" in " ".join(alone.notes)
    found = fitted(first, flood(1, seed=3, rate="5 Mbit/s", bucket=BUCKET))
    assert found.allowance_mb == pytest.approx(27, rel=0.01)
    assert "flood-0: the allowance had 60% of its volume at the start" in " ".join(found.notes)
    # Two hours fill the bucket before a later flood, so two volumes contradict one bucket.
    later = fitted(
        flood(0, seed=3, rate="5 Mbit/s", bucket=BUCKET), dataclasses.replace(first, start_s=first.start_s + 7200)
    )
    assert is_none(later) and "token bucket: 27 (flood-0), 16.2 (flood-0) MB" in " ".join(later.notes)


def test_what_contradicts_one_bucket_is_said_and_claims_none() -> None:
    falls = flood(0, rate="5 Mbit/s", bucket=BUCKET)
    found = fitted(falls, flood(1, seed=2))
    assert is_none(found) and "flood-0 falls within a slot after 27 MB" in " ".join(found.notes)
    assert "but flood-1 carried more without falling" in found.notes[0] and "levels count as rates" in found.notes[0]
    other = flood(1, seed=2, rate="5 Mbit/s", bucket={"rate": "3.4 Mbit/s", "volume": "16.6 MB"})
    found = fitted(falls, other)
    assert is_none(found) and "token bucket: 2.4 (flood-0), 3.4 (flood-1) Mbit/s." in " ".join(found.notes)
    found = fitted(falls, flood(100 / 3600, seed=2, bucket=BUCKET))
    assert is_none(found) and "were recorded at the same time" in " ".join(found.notes)


def test_only_floods_of_datagrams_in_short_reports_claim_a_bucket() -> None:
    one = flood(0, rate="5 Mbit/s", bucket=BUCKET)
    tcp = dataclasses.replace(one, is_udp=False, control="bbr", offered_bps=0.0, packets_each=None, lost_each=None)
    found = allowance.find([tcp], draws=0)
    assert not found.is_claimed and "a TCP lowers its rate by itself" in " ".join(found.notes)
    # `-b 0` is as fast as possible.
    assert allowance.find([dataclasses.replace(one, offered_bps=0.0)], draws=0).is_claimed
    tens = {
        "begins_s": one.begins_s[::10], "lengths_s": np.full(30, 10.0),
        "rate_bps": one.rate_bps.reshape(30, 10).mean(axis=1), "packets_each": None, "lost_each": None,
    }  # fmt: skip
    found = allowance.find([dataclasses.replace(one, **tens)], draws=0)
    assert not found.is_claimed and "record with -i 1" in " ".join(found.notes)
    # Tenths of a second tell it as seconds do.
    tenths = {
        "begins_s": np.repeat(one.begins_s, 10) + np.tile(np.arange(10) / 10, 300), "lengths_s": np.full(3000, 0.1),
        "rate_bps": np.repeat(one.rate_bps, 10), "packets_each": None, "lost_each": None,
    }  # fmt: skip
    assert fitted(dataclasses.replace(one, **tenths)).allowance_mb == pytest.approx(27, rel=0.004)


def test_slots_slower_than_the_bucket_leave_tokens_for_later() -> None:
    """Slots of 1 to 9 Mbit/s around a rate of 2.4: the level is not that of all slots after the fall."""
    bucket = {"rate": "2.4 Mbit/s", "volume": "30 MB"}
    for seed, slots in ((4, 24), (10, 24), (11, 60)):
        found = fitted(flood(0, seed=seed, bucket=bucket, rates=["1 Mbit/s", "9 Mbit/s"], slots=slots))
        assert found.allowance_mbps == pytest.approx(2.4, rel=0.004)
        assert found.allowance_mb == pytest.approx(30, rel=0.01)


def test_a_change_in_another_slot_counts_against_the_fall() -> None:
    """A clock that is off puts edges into slots: then all of them change within, and a fall tells nothing."""
    one = flood(0, rate="5 Mbit/s", bucket=BUCKET)
    before = allowance.fall_of(one)
    assert before is not None and before.gain > 30
    rates = one.rate_bps.copy()
    rates[33:42] *= 0.5
    after = allowance.fall_of(dataclasses.replace(one, rate_bps=rates))
    assert after is None or after.gain < allowance.CLAIMED


def test_a_rate_that_no_slot_keeps_is_not_a_level() -> None:
    """A fall from 74 to 24 Mbit/s near the end of its slot has a second of 60 within."""
    rates = np.full(300, 74.3e6)
    rates[70], rates[71:] = 60e6, 24e6
    one = transfer(
        0, 1e8, name="flood", begins_s=np.arange(300.0), lengths_s=np.ones(300), rate_bps=rates, reverse=False,
        is_udp=True, streams=1, offered_bps=1e8,
    )  # fmt: skip
    found = allowance.find([one], draws=0)
    assert not found.is_claimed
    # Two seconds earlier it lies within its slot.
    rates[68], rates[69:] = 47.1e6, 24e6
    found = allowance.find([one], draws=0)
    assert found.rate_mbps == pytest.approx(24) and found.volume_mb == pytest.approx((68 * 50.3 + 23.1) / 8)
