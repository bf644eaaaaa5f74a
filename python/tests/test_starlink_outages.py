"""Long outages in round trips: claimed where they are, not where chance or a limit on answers loses as much."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from test_starlink_changes import START_S, made, times_of

from skyhop import starlink
from skyhop.starlink import outages
from skyhop.starlink.recordings import Recording
from skyhop.validate import starlink_links, starlink_runs

#: Slots of the recordings, and of these: how many have an outage.
SLOTS, OUT = 160, 8


def with_outages(
    slots: int = SLOTS, out: int = OUT, *, waits: bool = False, lost: float = 0.003, seed: int = 1, cut: float = 0.0
) -> Recording:
    """As `made`, with outages of 8 to 14 s that begin with an edge in so many slots, the first slot never."""
    base = made(slots, lost=lost, seed=seed, cut=cut)
    generator = np.random.Generator(np.random.PCG64(seed + 1000))
    phase = (base.sent_s - START_S) % 15
    slot = np.floor((base.sent_s - START_S) / 15).astype(int)
    length = np.zeros(slots + 1)
    length[generator.choice(np.arange(1, slots), out, replace=False)] = generator.uniform(8, 14, out)
    rtt = base.rtt_ms.copy()
    rtt[phase < length[slot]] = np.nan
    kept = starlink_runs._sent(base.sent_s, np.isnan(rtt), 5.0 if waits else 0.0)
    return Recording("made", base.sent_s[kept], rtt[kept])


@pytest.mark.parametrize("waits", [False, True])
def test_outages_are_claimed_with_their_share_and_length(waits: bool) -> None:
    found = starlink.fit([with_outages(waits=waits)], draws=8)
    # A recorder that waits sees an outage of 8 s as one loss or two.
    assert OUT - 3 * waits <= found.outages <= OUT and found.away == 0
    by_name = {one.name: one for one in found.parameters}
    told = by_name["outage, share of slots"]
    assert told.low < OUT / SLOTS < told.high
    told = by_name["outage, median in s"]
    assert told.low < 11 < told.high and told.value == pytest.approx(11, abs=2.5)
    # The mean time per slot is kept.
    quantiles = np.array(found.obstructed_s)
    mean_s = float(np.mean(quantiles[1:] + quantiles[:-1])) / 2
    assert mean_s == pytest.approx(found.outages / SLOTS * told.value, rel=0.15)
    text = starlink.table(found)
    assert 'obstructed = ["0 s", ' in text and "An outage takes both directions" in text


def test_outages_count_neither_as_losses_in_flight_nor_near_edges() -> None:
    found = starlink.fit([with_outages(out=30, lost=0.01)], draws=0)
    # 30 outages that begin with an edge lose the ping under way at every fifth edge.
    assert found.outages == 30 and found.in_flight_loss == 0
    assert found.loss_near_edges < 2
    both = starlink.fit([with_outages(slots=200, cut=0.4)], draws=0)
    assert both.outages == OUT and both.in_flight_loss == pytest.approx(0.4, abs=0.17)


def test_chance_losses_are_no_outages() -> None:
    claims = 0
    for seed in range(50):
        for lost in (0.003, 0.02, 0.1):
            recording = made(80, lost=lost, cut=0.4, seed=seed)
            kept = starlink_runs._sent(recording.sent_s, np.isnan(recording.rtt_ms), 5.0 if lost < 0.1 else 0.0)
            shown = Recording("made", recording.sent_s[kept], recording.rtt_ms[kept])
            claims += outages.outages([shown]).share > 0
    # One in a hundred.
    assert claims <= 4


def test_a_limit_on_answers_is_no_outage() -> None:
    base = made(160, lost=0.003)
    limited = base.rtt_ms.copy()
    limited[::30] = np.nan
    # A limit that leaves 12 pings in a row unanswered, over 3 s, every 90.
    bucket = base.rtt_ms.copy()
    bucket[np.arange(bucket.size) % 90 < 12] = np.nan
    for rtt in (limited, bucket):
        found = starlink.fit([Recording("made", base.sent_s, rtt)], draws=0)
        assert (found.outages, found.obstructed_s, found.outage_note) == (0, (), "")
        assert "obstructed" not in starlink.table(found)
    # An outage beside the limit is claimed.
    rtt = limited.copy()
    rtt[1000:1040] = np.nan
    beside = outages.outages([Recording("made", base.sent_s, rtt)])
    assert [row.count for row in beside.rows[0]] == [pytest.approx(41, abs=1)]


def test_a_far_end_that_is_away_is_left_out() -> None:
    base = made(160, lost=0.003)
    rtt = base.rtt_ms.copy()
    rtt[1000:1500] = np.nan
    found = starlink.fit([Recording("made", base.sent_s, rtt)], draws=0)
    assert (found.outages, found.away) == (0, 1)
    assert "Left out: 1 row of losses over more than 30 s" in starlink.table(found)


def test_outages_too_rare_for_a_list_are_told() -> None:
    rows = (outages.Row(5, 40, 12.0, 12.4, -100.0),)
    few = outages.Outages((rows,), ((),), 5_000)
    assert few.quantiles_s() == () and few.share == 1 / 5_000
    low, high = few.interval()
    # Garwood's 90 % interval of a count of 1: 0.0513 to 4.744.
    assert low * 5_000 == pytest.approx(0.0513, abs=1e-3) and high * 5_000 == pytest.approx(4.744, abs=1e-2)
    assert math.isclose(few.lengths_s[0], 12.2)


def test_a_fit_finds_the_outages_of_a_simulated_link_and_gives_them_to_both_directions() -> None:
    off: dict[str, Any] = {"rates": ["1 Gbit/s", "1 Gbit/s"], "jitter": "0 ms", "step": "0 ms", "pause": "0 s"}
    off |= {"spike": ["0 ms", "0 ms"], "before": "0 s", "loss": 0.001, "edge_loss": [0, 0]}
    # Every tenth slot: 10 to 13 s in a twentieth, and a rise to these in another.
    off["obstructed"] = [*["0 s"] * 19, "10 s", "13 s"]
    up = {**off, "step": ["20 ms", "120 ms"], "jitter": "10 ms"}
    profile = {"forward": {"profile": {"starlink": up}}, "backward": {"profile": {"starlink": off}}}
    times = START_S + times_of(300)
    recording = starlink_runs.round_trips(Recording("pings", times, np.zeros(times.size)), profile, 3)
    found = starlink.fit([recording], draws=8)
    told = {one.name: one for one in found.parameters}["outage, share of slots"]
    assert told.low < 0.1 < told.high
    known_s = 0.05 * (10 / 2 + 23 / 2)
    quantiles = np.array(found.obstructed_s)
    assert float(np.mean(quantiles[1:] + quantiles[:-1])) / 2 == pytest.approx(known_s, rel=0.4)
    both = starlink_links.sides({"values": "loaded", "direction": "up", "obstructed": ["0 s", "12 s"], "stay": 0.2})
    for side in both.values():
        assert side["profile"]["starlink"]["obstructed"] == ["0 s", "12 s"]
