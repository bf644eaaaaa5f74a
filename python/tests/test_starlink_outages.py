"""Long outages in round trips: claimed where they are, not where chance or a limit on answers loses as much."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest
from test_starlink_changes import START_S, made, times_of

from skyhop import starlink
from skyhop.starlink import outages, sets, simulating
from skyhop.starlink.recordings import Recording

#: Slots of the recordings, and of these: how many have an outage.
SLOTS, OUT = 160, 8


@functools.cache
def without_outages(slots: int, lost: float, seed: int, cut: float) -> Recording:
    """As `made`. Several tests put outages into the same hundred."""
    return made(slots, lost=lost, seed=seed, cut=cut)


def with_outages(
    slots: int = SLOTS,
    out: int = OUT,
    *,
    waits: bool = False,
    lost: float = 0.003,
    seed: int = 1,
    cut: float = 0.0,
    between_s: tuple[float, float] = (8, 14),
    anywhere: bool = False,
) -> Recording:
    """As `made`, with outages in so many slots, the first slot never: they begin with an edge, or anywhere in the slot.

    All of an outage lies within its slot.
    """
    base = without_outages(slots, lost, seed, cut)
    generator = np.random.Generator(np.random.PCG64(seed + 1000))
    phase = (base.sent_s - START_S) % 15
    slot = np.floor((base.sent_s - START_S) / 15).astype(int)
    length = np.zeros(slots + 1)
    length[generator.choice(np.arange(1, slots), out, replace=False)] = generator.uniform(*between_s, out)
    begin = anywhere * generator.uniform(0, 1, slots + 1) * (15 - length)
    rtt = base.rtt_ms.copy()
    rtt[(phase >= begin[slot]) & (phase < begin[slot] + length[slot])] = np.nan
    kept = simulating._sent(base.sent_s, np.isnan(rtt), 5.0 if waits else 0.0)
    return Recording("made", base.sent_s[kept], rtt[kept])


@pytest.mark.parametrize("waits", [False, True])
def test_outages_are_claimed_with_their_share_and_length(waits: bool) -> None:
    found = starlink.fit([with_outages(waits=waits)], draws=1)
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
    assert "Their lengths have the range that the answers around them allow" in text
    at_edges = waits or 'obstructed_at = "edge"' in text
    assert at_edges and found.outages_at_edges == ("obstructed_at" in text)


@pytest.mark.parametrize(
    ("out", "between_s", "waits", "lost", "told"),
    [
        (8, (8, 14), False, 0.003, 95),
        (8, (2, 6), False, 0.003, 95),
        (5, (8, 12), False, 0.02, 95),
        (8, (8, 14), True, 0.003, 40),
        # One outage cannot tell, nor can those that fill their slots.
        (1, (8, 14), False, 0.003, 0),
        (8, (14.5, 15), False, 0.003, 0),
    ],
)
def test_outages_that_begin_with_edges_are_told_from_those_that_begin_anywhere(
    out: int, between_s: tuple[float, float], waits: bool, lost: float, told: int
) -> None:
    claims = {True: 0, False: 0}
    for seed in range(100):
        for anywhere in claims:
            one = with_outages(out=out, between_s=between_s, waits=waits, lost=lost, seed=seed, anywhere=anywhere)
            claims[anywhere] += outages.outages([one]).at_edges
    assert claims[True] <= 1 and claims[False] >= told, claims
    assert told or claims[False] == 0


def test_the_ratio_of_edges_to_anywhere_has_known_values() -> None:
    def of(count: int, begin_s: tuple[float, float], most_s: float = 10.0) -> outages.Outages:
        clock_s = (outages.FIRST_S + begin_s[0], outages.FIRST_S + begin_s[1])
        row = outages.Row(5, 40, most_s - 0.4, most_s, -100.0, clock_s)
        return outages.Outages(((row,) * count,), ((),), 100)

    # An outage of 10 s begins within the first 5 s of its slot; 0.5 s are a tenth of these. So each that holds an edge
    # is 0.95 / 0.1 times as likely with edges, and two have a ratio of 90, three one of 857.
    assert [of(count, (14.7, 15.2)).at_edges for count in (1, 2, 3)] == [False, False, True]
    # Whoever begins elsewhere is 18 times less likely with edges.
    assert not of(8, (15.2, 15.7)).at_edges and not of(8, (14.4, 14.9)).at_edges
    # What lasts as long as its slot begins with an edge in any case.
    assert not of(8, (14.7, 15.2), 15.0).at_edges and not of(8, (14.7, 15.2), 14.5).at_edges


@pytest.mark.parametrize(
    ("lengths_s", "slots", "zeros"), [((2, 4, 10), 3, 0), ((4, 4), 3, 1), ((3, 12), 4, 1), ((8, 12), 40, 27)]
)
def test_quantiles_keep_the_mean_time_of_frequent_outages(lengths_s: tuple[float, ...], slots: int, zeros: int) -> None:
    rows = tuple(outages.Row(5, 40, length, length, -100.0) for length in lengths_s)
    quantiles = np.array(outages.Outages((rows,), ((),), slots).quantiles_s())
    assert quantiles.tolist() == [0.0] * zeros + [min(lengths_s), max(lengths_s)]
    mean_s = float(np.mean(quantiles[1:] + quantiles[:-1])) / 2
    assert mean_s == pytest.approx(sum(lengths_s) / slots, rel=0.25)


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
            kept = simulating._sent(recording.sent_s, np.isnan(recording.rtt_ms), 5.0 if lost < 0.1 else 0.0)
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
    recording = simulating.round_trips(Recording("pings", times, np.zeros(times.size)), profile, 3)
    found = starlink.fit([recording], draws=1)
    told = {one.name: one for one in found.parameters}["outage, share of slots"]
    assert told.low < 0.1 < told.high
    known_s = 0.05 * (10 / 2 + 23 / 2)
    quantiles = np.array(found.obstructed_s)
    assert float(np.mean(quantiles[1:] + quantiles[:-1])) / 2 == pytest.approx(known_s, rel=0.4)
    both = sets.sides({"values": "loaded", "direction": "up", "obstructed": ["0 s", "12 s"], "stay": 0.2})
    for side in both.values():
        assert side["profile"]["starlink"]["obstructed"] == ["0 s", "12 s"]


@pytest.mark.parametrize("begin", ["edge", "anywhere"])
def test_a_fit_finds_where_outages_of_a_simulated_link_begin(begin: str) -> None:
    off: dict[str, Any] = {"rates": ["1 Gbit/s", "1 Gbit/s"], "jitter": "0 ms", "step": "0 ms", "pause": "0 s"}
    off |= {"spike": ["0 ms", "0 ms"], "before": "0 s", "loss": 0.001, "edge_loss": [0, 0]}
    off |= {"obstructed": [*["0 s"] * 19, "6 s", "9 s"], "obstructed_at": begin}
    up = {**off, "step": ["20 ms", "120 ms"], "jitter": "10 ms"}
    profile = {"forward": {"profile": {"starlink": up}}, "backward": {"profile": {"starlink": off}}}
    times = START_S + times_of(200)
    recording = simulating.round_trips(Recording("pings", times, np.zeros(times.size)), profile, 3)
    found = starlink.fit([recording], draws=0)
    assert found.outages > 8 and found.outages_at_edges == (begin == "edge")
    assert ('obstructed_at = "edge"' in starlink.table(found)) == (begin == "edge")


def test_both_directions_have_outages_at_the_same_place() -> None:
    both = sets.sides({"direction": "up", "obstructed": ["0 s", "12 s"], "obstructed_at": "edge"})
    assert [side["profile"]["starlink"]["obstructed_at"] for side in both.values()] == ["edge", "edge"]
