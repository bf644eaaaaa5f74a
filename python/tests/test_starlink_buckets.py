"""Transfers beside recordings behind a token bucket: each begins with what earlier ones of its folder have left."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_starlink_fit import HEADER
from test_starlink_uplink import transfer

import skyhop
from skyhop.starlink import buckets, sets, simulating
from skyhop.starlink.transfers import Transfer
from skyhop.validate import starlink_links

#: A full minute, UTC, in 2026.
MINUTE_S = 1_776_000_000

#: Volume 216 Mbit, which 90 s fill.
ALLOWANCE = {"rate": "2.4 Mbit/s", "volume": "27 MB"}

VALUES: dict[str, Any] = {
    "values": "loaded", "rates": ["8 Mbit/s", "8 Mbit/s"], "ripple": [1, 1], "loss": 0, "edge_loss": [0, 0],
    "pause": "0 s", "allowance": ALLOWANCE,
}  # fmt: skip

PROFILE = sets.sides(VALUES)


def sent(begin_s: float, mbps: float, seconds: int = 60, **values: Any) -> Transfer:
    """An upload of which so much arrived, with the headers of IP."""
    own = {
        "name": f"up-{begin_s:g}", "start_s": MINUTE_S + begin_s, "begins_s": np.arange(float(seconds)),
        "lengths_s": np.ones(seconds), "rate_bps": np.full(seconds, 1e6 * mbps), "reverse": False,
    }  # fmt: skip
    return transfer(0, 1e6 * mbps, **{**own, **values})


def filled(one: Transfer, *others: Transfer, profile: dict[str, Any] | None = None, down: bool = False) -> float:
    """How full the bucket is at the start of a transfer."""
    link = buckets.link_at_start(one, others, profile or PROFILE, down=down)
    side = link.profile["backward" if down else "forward"]["profile"]["starlink"]
    return float(side["allowance"].get("filled", 1.0))


def test_the_values_behind_a_set_are_the_engines() -> None:
    wire = {side: {"profile": {"starlink": {"values": "loaded"}}} for side in ("forward", "backward")}
    up, down = buckets.resolved(wire)
    assert up["rates"][-1] == "70 Mbit/s" and down["rates"][-1] == "370 Mbit/s"
    assert up["rate_correlation"] == 0.06
    assert buckets.resolved({"rate": "1 Mbit/s"}) == ({}, {})
    values = buckets.resolved(PROFILE)
    bucket = buckets.bucket_of(values.up, down=False)
    assert bucket == buckets.Bucket(rate_bps=2.4e6, bits=216e6, filled=1.0, loss=0.0, down=False)
    assert buckets.bucket_of(values.down, down=True) is None


def test_packets_that_fades_lose_take_tokens_too() -> None:
    own = sets.sides({**VALUES, "loss": 0.1, "fades": {"every": "2 s", "length": "0.5 s", "loss": [0.1, 0.3]}})
    bucket = buckets.bucket_of(buckets.resolved(own).up, down=False)
    # A quarter of the time 20 % of those that the other losses leave.
    assert bucket is not None and bucket.loss == pytest.approx(0.1 + 0.9 * 0.05)


def test_fades_lose_their_share_of_a_stream_in_their_direction() -> None:
    fades = {"every": "4 s", "length": "0.4 s", "loss": 0.3}
    profile = sets.sides({**VALUES, "allowance": "none", "fades": fades})
    flow = {
        "name": "f", "from": "terminal", "to": "server", "udp": {"header": "28 B"},
        "application": {"constant_rate": {"rate": "128 kbit/s", "payload": "1000 B"}},
    }  # fmt: skip
    scenario = {
        "duration": "1000 s", "flows": [flow],
        "links": [{"between": ["terminal", "server"], "delay": "5 ms", **profile}],
    }  # fmt: skip
    found = [
        skyhop.run(scenario, seed=seed).flows.select("packets_sent", "dropped_error").row(0) for seed in range(1, 6)
    ]
    sent, lost = np.sum(found, axis=0)
    # 1,250 fades in all seeds: the standard deviation of their number is 2.8 % of it.
    assert lost / sent == pytest.approx(0.03, rel=0.12)
    back = {**scenario, "flows": [{**flow, "from": "server", "to": "terminal"}]}
    sent, lost = skyhop.run(back, seed=1).flows.select("packets_sent", "dropped_error").row(0)
    assert lost / sent < 0.001


def test_the_correlation_of_rates_is_that_of_the_data() -> None:
    own = sets.sides({"values": "loaded", "direction": "down", "rate_correlation": 0.5})
    down, up = (buckets.link_at_start(sent(0, 8), [], own, down=down) for down in (True, False))
    assert (down.rate_correlation, up.rate_correlation) == (0.5, 0.06)
    full, emptied = (buckets.link_at_start(sent(60, 8), others, PROFILE, down=False) for others in ([], [sent(0, 9)]))
    assert full.rate_correlation == emptied.rate_correlation == 0.06


def test_a_scenario_is_filled_in_once_for_a_transfer(monkeypatch: pytest.MonkeyPatch) -> None:
    resolved, filled_in = buckets.resolved, []
    monkeypatch.setattr(buckets, "resolved", lambda wire: filled_in.append(wire) or resolved(wire))
    assert buckets.link_at_start(sent(60, 8), [sent(0, 8)], PROFILE, down=False).begin_s == 0.0
    assert len(filled_in) == 1


def test_arrivals_take_tokens_and_time_brings_them() -> None:
    one = sent(120, 8)
    # 60 s at 4.8 Mbit/s take 144 Mbit, the 60 s after bring 144; 30 s bring half of them.
    assert filled(one, sent(0, 4.8)) == 1
    assert filled(one, sent(30, 4.8)) == pytest.approx(1 - 72 / 216)
    # No transfer leaves less than an empty bucket, and none that comes later counts.
    assert filled(one, sent(60, 20)) == 0 and filled(one, sent(60, 4.8), sent(121, 20)) == pytest.approx(1 - 144 / 216)
    # The second of two empties it again, and 10 s bring 24 Mbit. The order in the folder does not matter.
    assert filled(sent(200, 8), sent(130, 4.8), sent(60, 6)) == pytest.approx(24 / 216)
    # Lost packets have taken tokens; warm-ups have the rate that follows; half of an interval counts.
    lossy = sets.sides({**VALUES, "loss": 0.1})
    assert filled(one, sent(60, 3.6), profile=lossy) == pytest.approx(1 - 60 * (4.0 - 2.4) / 216)
    # Slots that draw 0 to 0.1 and 0.1 to 0.3 equally often lose 0.125 on average.
    drawn = sets.sides({**VALUES, "loss": [0, 0.1, 0.3]})
    assert filled(one, sent(60, 3.5), profile=drawn) == pytest.approx(1 - 60 * (4.0 - 2.4) / 216)
    warm = sent(50, 3.6, seconds=60, omitted_s=10.0)
    assert filled(one, warm) == pytest.approx(1 - 70 * 1.2 / 216)
    tens = {"begins_s": np.array([0.0]), "lengths_s": np.array([20.0]), "rate_bps": np.array([3.6e6])}
    assert filled(one, sent(110, 3.6, **tens)) == pytest.approx(1 - 10 * 1.2 / 216)


def test_tokens_that_come_to_a_full_bucket_are_not_kept_for_a_long_interval() -> None:
    whole = {"begins_s": np.array([0.0]), "lengths_s": np.array([60.0]), "rate_bps": np.array([4.8e6])}
    # Hours after another transfer the bucket is full; 60 s at 4.8 Mbit/s take 144 Mbit, the 15 s after bring 36.
    assert filled(sent(175, 8), sent(-5000, 1.0), sent(100, 4.8, **whole)) == pytest.approx(1 - 108 / 216)


def test_two_transfers_at_once_take_the_tokens_once() -> None:
    # 2.4 Mbit/s come once, not for each of both.
    assert filled(sent(60, 8), sent(0, 2.0), sent(0.5, 2.0, seconds=59)) == pytest.approx(
        1 - (60 * 2.0 + 59 * 2.0 - 60 * 2.4) / 216, abs=0.01
    )


def test_the_note_says_how_full_the_bucket_is_and_why() -> None:
    one = sent(120, 8)
    alone = buckets.link_at_start(one, [], PROFILE, down=False)
    assert alone.profile is PROFILE and alone.begin_s is None
    assert alone.note.startswith("the allowance of 27 MB beyond 2.4 Mbit/s begins full, which is assumed: no transfer")
    later = buckets.link_at_start(one, [sent(30, 4.8)], PROFILE, down=False)
    assert "begins 67% full" in later.note and "the last, up-30, ended 30 s before" in later.note
    assert later.begin_s == 0.0
    again = buckets.link_at_start(one, [sent(0, 4.8)], PROFILE, down=False)
    assert "begins full, by what arrived" in again.note and again.begin_s is None
    at_once = buckets.link_at_start(one, [sent(100, 4.8)], PROFILE, down=False)
    assert "the last, up-100, had not ended" in at_once.note
    assert buckets.link_at_start(one, [sent(30, 4.8)], PROFILE, down=True).note == ""
    # A fit may say that the bucket was not full before the first of them.
    half = sets.sides({**VALUES, "allowance": {**ALLOWANCE, "filled": 0.5}})
    link = buckets.link_at_start(one, [], half, down=False)
    assert "begins 50% full, which is assumed" in link.note and link.begin_s == 0.0
    assert filled(one, sent(-3600, 1), profile=half) == 1


def test_slots_move_with_the_begin_and_both_directions_keep_them() -> None:
    link = buckets.link_at_start(sent(110, 8), [sent(30, 8)], PROFILE, down=False)
    # 110 s after a full minute is second 50; the next edge is at second 57.
    sides = [link.profile[side]["profile"]["starlink"] for side in ("forward", "backward")]
    assert [one["at"] for one in sides] == ["7.000000 s", "7.000000 s"]
    assert "allowance" not in sides[1]
    down = {"values": "loaded", "direction": "down", "allowance": ALLOWANCE}
    link = buckets.link_at_start(sent(110, 8), [sent(30, 8)], sets.sides(down), down=True)
    assert link.profile["backward"]["profile"]["starlink"]["allowance"]["filled"] < 1
    # Segments sent again are placed in the minute of the recording, whenever the simulated flow starts.
    tcp = sent(110, 6, seconds=20, streams=1, control="cubic")
    lost = {"errors": [{"trace": {"during": [["3 s", "3.2 s"]]}}]}
    link = {"rate": "6 Mbit/s", "queue": {"drop_tail": {"packets": 1000}}, "forward": lost}
    run = simulating.transfer_run(tcp, False, "cubic", 20, link, seed=1, begin_s=0.0)
    assert 53 < run.resends_s.min() < 54


def report(begin_s: int, mbps: float, seconds: int) -> dict[str, Any]:
    """What iperf3 says of UDP at 6 Mbit/s of which so much arrived in every second."""
    interval = {"seconds": 1.0, "bits_per_second": 1e6 * mbps, "packets": 510, "lost_packets": 510 - round(85 * mbps)}
    intervals = [{"sum": {"start": float(n), **interval}} for n in range(seconds)]
    test = {"protocol": "UDP", "num_streams": 1, "blksize": 1472, "target_bitrate": 6_000_000}
    start = {"timestamp": {"timesecs": MINUTE_S + begin_s}, "test_start": test}
    return {"start": start, "intervals": intervals, "server_output_json": {"intervals": intervals}}


@pytest.mark.parametrize("order", [("first", "second"), ("second", "first")])
def test_a_transfer_right_after_another_gets_what_is_left(tmp_path: Path, order: tuple[str, str]) -> None:
    """Full, the bucket lasts 60 s at 6 Mbit/s. The second transfer begins at second 50, just behind the first."""
    (tmp_path / "first.json").write_text(json.dumps(report(-10, 6.0, 60)), encoding="utf-8")
    (tmp_path / "second.json").write_text(json.dumps(report(50, 2.4, 30)), encoding="utf-8")
    lines = [f"{name}.json,iperf3,0,0,bent-pipe,up,,1,,\n" for name in order]
    (tmp_path / "cases.csv").write_text(HEADER + "".join(lines), encoding="utf-8")
    rows = {row.case: row for row in starlink_links.starlink(tmp_path, values=VALUES) if row.measure == "goodput"}
    # A datagram of 1476 B has 1448 of user data.
    assert rows["first.json"].simulated == pytest.approx(6e6, rel=0.03)
    assert "begins full, which is assumed" in rows["first.json"].note
    assert rows["second.json"].simulated == pytest.approx(2.4e6 * 1448 / 1476, rel=0.03)
    assert "begins 0% full" in rows["second.json"].note and "first.json, ended 0 s before" in rows["second.json"].note
    # Behind a transfer of another place or of the other direction it begins full.
    for where, way in (("1,1", "up"), ("0,0", "down")):
        other = f"first.json,iperf3,{where},bent-pipe,{way},,1,,\nsecond.json,iperf3,0,0,bent-pipe,up,,1,,\n"
        (tmp_path / "cases.csv").write_text(HEADER + other, encoding="utf-8")
        rows = {row.case: row for row in starlink_links.starlink(tmp_path, values=VALUES) if row.measure == "goodput"}
        assert rows["second.json"].simulated == pytest.approx(6e6, rel=0.03)
