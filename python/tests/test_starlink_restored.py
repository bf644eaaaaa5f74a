"""Transfers behind an allowance that is restored as a whole: when it was last restored decides what each one finds."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_starlink_buckets import ALLOWANCE, HEADER, VALUES, report, sent

from skyhop.validate import starlink_buckets, starlink_links


def profile(**allowance: Any) -> dict[str, Any]:
    """A wire whose uplink has the allowance and restorations of it."""
    return dict(starlink_links.sides({**VALUES, "allowance": {**ALLOWANCE, **allowance}}))


PROFILE = profile()


def allowance(begin: starlink_buckets.LinkAtStart, seed: int) -> dict[str, Any]:
    """That of the uplink in the run with a seed."""
    return dict(begin.of(seed)["forward"]["profile"]["starlink"]["allowance"])


def test_a_restoration_after_the_earlier_transfers_leaves_the_bucket_full() -> None:
    one, other = sent(200, 8), sent(60, 20)
    # The transfer at 60 s empties the bucket in 12 s, and 80 s behind its end bring 192 of 216 Mbit. Times count from
    # its start.
    for restored_at, share in [("10 s", 192 / 216), ("61 s", 1.0), ("300 s", 192 / 216)]:
        keys = profile(restored="900 s", restored_at=restored_at)
        begin = starlink_buckets.link_at_start(one, [other], keys, down=False, seeds=range(1, 4))
        found = [allowance(begin, seed)["filled"] for seed in (1, 2, 3)]
        assert found == [pytest.approx(share)] * 3, restored_at
        assert "counted from the start of the first transfer" in begin.note
    # In the middle of it, what arrived later counts: 30 s at 2.4 Mbit/s beyond the rate.
    begin = starlink_buckets.link_at_start(
        sent(120, 8), [sent(60, 4.8)], profile(restored="1 h", restored_at="30 s"), down=False
    )
    assert allowance(begin, 1)["filled"] == pytest.approx(1 - 30 * 2.4 / 216)
    # 60 s at 4.8 Mbit/s take 144 Mbit without it.
    begin = starlink_buckets.link_at_start(sent(120, 8), [sent(60, 4.8)], PROFILE, down=False)
    assert allowance(begin, 1)["filled"] == pytest.approx(1 - 144 / 216)


def test_the_next_restoration_lies_in_the_transfer_or_is_left_out() -> None:
    keys = profile(restored=["100 s", "100 s"], restored_at="130 s")
    # From the start of the first transfer at 60 s on: at 190, 290, 390 s.
    begin = starlink_buckets.link_at_start(sent(280, 8), [sent(60, 20)], keys, down=False)
    assert allowance(begin, 1)["restored_at"] == "10.000000 s" and allowance(begin, 1)["restored"] == "100.000000 s"
    begin = starlink_buckets.link_at_start(sent(300, 8), [sent(60, 20)], keys, down=False)
    assert "restored" not in allowance(begin, 1), "the next one comes after its 60 s"
    assert begin.begin_s == 0.0


def test_each_seed_draws_restorations_that_all_transfers_share() -> None:
    keys = profile(restored=["14 min", "17 min"])
    bucket = starlink_buckets.bucket_of(starlink_buckets.resolved(keys).up, down=False)
    assert bucket is not None and bucket.restored_s == (840.0, 1020.0) and math.isnan(bucket.restored_at_s)
    firsts, gaps = [], []
    for seed in range(400):
        # However far a transfer lies from the first one, the restorations are the same.
        times: set[float] = set()
        for at_s in np.arange(0.0, 5000.0, 100.0):
            before, after = starlink_buckets._restorations(bucket, at_s, seed)
            assert before <= 0 < after
            times |= {round(at_s + one, 6) for one in (before, after) if math.isfinite(one)}
        apart = np.diff(sorted(times))
        assert np.all(apart >= 840 - 1e-6) and np.all(apart <= 1020 + 1e-6)
        firsts.append(min(times))
        gaps.append(float(apart.mean()))
    # Half of 933 s and 930 s; four standard errors of 400 draws: 4 · 270 / 20 and 4 · 26 / 20.
    assert np.mean(firsts) == pytest.approx(466, abs=54) and np.mean(gaps) == pytest.approx(930, abs=6)
    begin = starlink_buckets.link_at_start(
        sent(900, 8), [sent(60, 20, seconds=600)], keys, down=False, seeds=range(1, 41)
    )
    found = [allowance(begin, seed)["filled"] for seed in range(1, 41)]
    # 240 s fill the bucket. So only transfers closer by are told apart.
    assert found == [1.0] * 40
    begin = starlink_buckets.link_at_start(
        sent(660, 8), [sent(60, 20, seconds=600)], keys, down=False, seeds=range(1, 41)
    )
    found = [allowance(begin, seed)["filled"] for seed in range(1, 41)]
    assert min(found) == 0 and "mean of 40 runs" in begin.note and "drawn" in begin.note


def test_a_folder_is_judged_with_restorations(tmp_path: Path) -> None:
    """The second transfer begins behind an empty bucket, which is restored 5 s into it."""
    (tmp_path / "first.json").write_text(json.dumps(report(-10, 6.0, 60)), encoding="utf-8")
    (tmp_path / "second.json").write_text(json.dumps(report(50, 2.4, 30)), encoding="utf-8")
    lines = [f"{name}.json,iperf3,0,0,bent-pipe,up,,1,,\n" for name in ("first", "second")]
    (tmp_path / "cases.csv").write_text(HEADER + "".join(lines), encoding="utf-8")
    values = {**VALUES, "allowance": {**ALLOWANCE, "restored": "1 h", "restored_at": "65 s"}}
    rows = {row.case: row for row in starlink_links.starlink(tmp_path, values=values) if row.measure == "goodput"}
    # 5 s at 2.4 Mbit/s and 25 s at the 6 Mbit/s that are offered, with datagrams of 1448 B in 1476 B. Besides, the
    # queue of 500 packets that has waited leaves.
    expected = (5 * 2.4 * 1448 / 1476 + 25 * 6 + 500 * 8 * 1448 / 1e6) / 30 * 1e6
    assert rows["second.json"].simulated == pytest.approx(expected, rel=0.03)
