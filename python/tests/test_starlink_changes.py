"""Changes of the path within a slot, losses of what is under way, sets by path, intervals of measures."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from skyhop import api, durations, starlink
from skyhop.starlink import chance, changes, simulating, stays
from skyhop.starlink.recordings import Floats, Recording
from skyhop.validate import starlink_cases, starlink_links

#: An edge.
START_S = 1_700_000_052.0


def times_of(slots: int, every_s: float = 0.27) -> Floats:
    """When pings leave, s after an edge: at any time before the next one."""
    times = np.arange(0.0, 15.0 * slots, every_s)
    return np.asarray(times + np.random.Generator(np.random.PCG64(2)).uniform(0, 0.1, times.size))


def made(
    slots: int,
    *,
    share: float = 0.0,
    stay: float = 0.0,
    cut: float = 0.0,
    lost: float = 0.0,
    shift_ms: float = 0.0,
    seed: int = 1,
) -> Recording:
    """Steps of 0 to 100 ms, jitter of 0 to 10 ms over 60 ms, evenly.

    A share of the slots changes its step, half of these 14.1 s after the edge and half at any time; a share stays on
    the path of the slot before; a share of edges and changes loses what is under way; others are lost by chance. All
    slots shift by up to `shift_ms` after 5 s.
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    since = times_of(slots)
    slot = np.floor(since / 15).astype(int)
    phase = since - 15 * slot
    count = slot.max() + 2
    first, second = generator.uniform(0, 100, (2, count))
    at = np.where(generator.uniform(size=count) < 0.5, 14.1, generator.uniform(0, 15, count))
    at[generator.uniform(size=count) >= share] = math.inf
    for n in range(1, count):
        if generator.uniform() < stay:
            first[n] = first[n - 1] if math.isinf(at[n - 1]) else second[n - 1]
    shift = generator.uniform(0, shift_ms, count)[slot] * (phase > 5)
    step = np.where(phase < at[slot], first[slot], second[slot])
    rtt = 60 + step + shift + generator.uniform(0, 10, since.size)
    until = phase + rtt / 1e3
    edges, paths = generator.uniform(size=(2, count)) < cut
    gone = ((until > 15) & edges[slot + 1]) | ((phase < at[slot]) & (until > at[slot]) & paths[slot])
    rtt[gone | (generator.uniform(size=since.size) < lost)] = np.nan
    return Recording("made", START_S + since, rtt)


def test_changes_of_the_path_are_found_with_their_times() -> None:
    found = starlink.fit([made(160, share=0.3)], draws=4)
    # Three standard deviations of 160 draws.
    assert found.reroute == pytest.approx(0.3, abs=0.12)
    times = np.interp(np.linspace(0, 1, 1001), np.linspace(0, 1, 21), found.reroute_at_s)
    assert 0.3 < np.mean((times > 13.9) & (times < 14.4)) < 0.7
    # Slots that change neither widen the jitter nor lose their steps.
    by_name = {one.name: one for one in found.parameters}
    assert by_name["jitter, 10 to 90 %"].value == pytest.approx(8, rel=0.05)
    assert by_name["step, mean"].value == pytest.approx(50, rel=0.15)
    told = by_name["reroute, share of slots"]
    assert told.low < told.value < told.high and told.high - told.low < 0.25
    assert "reroute = " in starlink.table(found) and "reroute_at = [" in starlink.table(found)


def test_what_the_jitter_hides_is_no_change_of_the_path() -> None:
    for recording in (made(160), made(160, shift_ms=4.0, lost=0.01)):
        found = starlink.fit([recording], draws=0)
        assert (found.reroute, found.reroute_at_s, found.stay, found.in_flight_loss) == (0.0, (), 0.0, 0.0)
        assert "reroute" not in starlink.table(found) and "edge_loss" not in starlink.table(found)


def test_paths_that_stay_are_told_from_steps_that_correlate() -> None:
    found = starlink.fit([made(200, share=0.2, stay=0.4)], draws=4)
    # Four standard deviations of some 120 pairs.
    assert found.stay == pytest.approx(0.4, abs=0.18) and found.correlation < 0.25
    by_name = {one.name: one for one in found.parameters}
    told = by_name["stay, share of neighbouring slots"]
    assert told.low < told.value < told.high and f"stay = {found.stay:g}" in starlink.table(found)
    assert by_name["correlation of neighbouring slots"].value == pytest.approx(0.4, abs=0.25)
    assert stays.between_others(0.4, 0.4) == 0 and stays.between_others(0.5, 0.0) == 0.5
    # Chains of neighbours that stay or follow with what is left correlate as they should.
    left = stays.between_others(0.6, 0.3)
    assert 0.3 + sum(0.7**2 * 0.3**k * left ** (k + 1) for k in range(60)) == pytest.approx(0.6)


def test_losses_of_what_is_under_way_are_told_from_others() -> None:
    found = starlink.fit([made(200, share=0.3, cut=0.4, lost=0.002)], draws=4)
    # A ping is under way at some 100 edges and 25 changes; four standard deviations.
    assert found.in_flight_loss == pytest.approx(0.4, abs=0.17)
    by_name = {one.name: one for one in found.parameters}
    told = by_name["loss in flight, share of edges"]
    assert told.low <= told.value <= told.high and told.high - told.low < 0.3
    text = starlink.table(found)
    assert f"in_flight_loss = {found.in_flight_loss:g}" in text and "edge_loss = [0, 0]" in text


def test_a_fit_finds_the_changes_of_a_simulated_link() -> None:
    off: dict[str, Any] = {"rates": ["1 Gbit/s", "1 Gbit/s"], "jitter": "0 ms", "step": "0 ms", "pause": "0 s"}
    off |= {"spike": ["0 ms", "0 ms"], "before": "0 s", "loss": 0, "edge_loss": [0, 0]}
    shared = {"reroute": 0.3, "reroute_at": ["0 s", "14 s", "14.2 s"], "stay": 0.3, "in_flight_loss": 0.4}
    up = {**off, **shared, "step": ["20 ms", "120 ms"], "jitter": "10 ms", "pause": "60 ms"}
    profile = {"forward": {"profile": {"starlink": up}}, "backward": {"profile": {"starlink": {**off, **shared}}}}
    times = START_S + times_of(240)
    recording = simulating.round_trips(Recording("pings", times, np.zeros(times.size)), profile, 3)
    found = starlink.fit([recording], draws=0)
    assert found.reroute == pytest.approx(0.3, abs=0.12) and found.in_flight_loss == pytest.approx(0.4, abs=0.2)
    assert found.pause_ms[10] == pytest.approx(60, abs=10) and found.stay == pytest.approx(0.3, abs=0.18)


def test_a_simulated_recorder_waits_as_the_recorded_one_did() -> None:
    times = START_S + times_of(40)
    lost = np.zeros(times.size, dtype=bool)
    lost[[100, 300, 500, 700, 900, 1100]] = True
    trips = np.where(lost, np.nan, 40.0)
    assert simulating.waits_s(Recording("goes on", times, trips)) == 0
    late = times + 5 * np.cumsum(np.concatenate([[False], lost[:-1]]))
    waiting = Recording("waits", late, trips)
    assert simulating.waits_s(waiting) == pytest.approx(5.2, abs=0.2)
    off = {"profile": {"starlink": {"loss": 0.1, "edge_loss": [0, 0]}}}
    profile = {"forward": off, "backward": off}
    runs = [simulating.round_trips(one, profile, 1) for one in (waiting, Recording("goes on", times, trips))]
    # Most of 2,200 pings were never sent by a recorder that waits 5 s after each tenth one.
    assert runs[0].sent_s.size < 1100 and runs[1].sent_s.size == times.size
    after = np.diff(runs[0].sent_s)[np.isnan(runs[0].rtt_ms[:-1])]
    assert after.min() > 4.9


@pytest.mark.parametrize(
    ("path", "over_isls"),
    [("isl", True), ("ISL", True), ("ISLs", True), ("over isls", True), ("", False), ("bent-pipe", False),
     ("inter-satellite links", True), ("Laser links", True), ("crosslinks", True), ("no inter-satellite", False),
     ("no-isl", False), ("without ISLs", False), ("disliked", False)],
)  # fmt: skip
def test_the_path_of_a_case_chooses_its_set(tmp_path: Path, path: str, over_isls: bool) -> None:
    (tmp_path / "cases.csv").write_text(f"recording,kind,path\na.csv,ping-csv,{path}\n")
    assert [one.is_over_isls for one in starlink_cases.cases(tmp_path)] == [over_isls]


def test_the_report_names_the_set_of_each_case(tmp_path: Path) -> None:
    recording = made(45)
    rows = [f"{sent + rtt / 1e3!r},{n},{rtt!r}" for n, (sent, rtt) in
            enumerate(zip(recording.sent_s.tolist(), recording.rtt_ms.tolist(), strict=True))]  # fmt: skip
    (tmp_path / "a.csv").write_text("\n".join(["unix_time_s,icmp_seq,rtt_ms", *rows]))
    (tmp_path / "b.csv").write_text("\n".join(["unix_time_s,icmp_seq,rtt_ms", *rows]))
    (tmp_path / "cases.csv").write_text("recording,kind,path\na.csv,ping-csv,ISL\nb.csv,ping-csv,\n")
    found = starlink_links.starlink(tmp_path)
    text = starlink_links.starlink_markdown(found)
    for case, name in (("a.csv", "lagos-2023"), ("b.csv", "seattle-2023")):
        assert f'{case}, RTT, Kolmogorov-Smirnov: simulated with values = "{name}"' in text
    steps = {row.case: row for row in found if row.measure == "step, mean"}
    assert steps["a.csv"].simulated > 2 * steps["b.csv"].simulated
    # Both recordings are the same, so they have the same interval; it holds what was recorded.
    assert steps["a.csv"].low < steps["a.csv"].recorded < steps["a.csv"].high
    assert f"({steps['a.csv'].low:.3g} to {steps['a.csv'].high:.3g})" in text
    (tmp_path / "cases.csv").write_text("recording,kind,path\na.csv,ping-csv,ISL\n")
    own = {"values": "lagos-2023"}
    assert "simulated with the fit that was given" in starlink_links.starlink(tmp_path, values=own)[0].note


def test_intervals_hold_the_measures_of_other_recordings_of_the_same_length() -> None:
    held = 0
    for seed in range(1, 11):
        between = chance.intervals(made(80, seed=seed))
        # Two uniform numbers from 100 ms are a third of it apart in the mean.
        held += between["step"][0] <= 100 / 3 <= between["step"][1]
        assert 0 < between["distance"][0] < between["distance"][1] < 0.5 and "loss" not in between
    # Each interval holds the mean with a chance of 90 %. Seven or more of ten do so in 99 of 100 tests.
    assert held >= 7
    assert chance.intervals(made(30)) == {}


def test_no_steps_and_no_slots_tell_no_changes() -> None:
    none = np.ones((40, 2, changes.BINS))
    assert changes.most_likely(none, 0.0).share == 0
    assert changes.most_likely(none, 0.9).share == 0


def test_the_set_of_seattle_is_what_the_fit_finds() -> None:
    file = Path(__file__).parents[3] / "shared" / "data" / "starlink-ping" / "seattle-bent-pipe-first-half.csv.gz"
    if not file.exists():
        pytest.skip("../shared is not here")
    found = starlink.fit([starlink.read_round_trips(file)], draws=0)
    wire = {"between": ["a", "b"], "delay": "1 ms", "profile": {"starlink": {"values": "seattle-2023"}}}
    (link,) = json.loads(api.scenario(duration="1 s", links=[wire]).canonical_json())["links"]
    written = link["forward"]["profile"]["starlink"]
    assert found.in_flight_loss == 0 and "in_flight_loss" not in written
    assert written.get("correlation", 0.0) == pytest.approx(found.correlation, abs=0.02)
    assert written.get("stay", 0.0) == pytest.approx(found.stay, abs=0.02)
    assert written["reroute"] == pytest.approx(found.reroute, abs=0.01)
    assert written["spread"] == pytest.approx(list(found.spread), abs=0.01)
    # The last digit, and another machine's sums.
    for key, values in (("step", found.step_ms), ("jitter", found.jitter_ms), ("pause", found.pause_ms)):
        assert [1e3 * durations.seconds(one) for one in written[key]] == pytest.approx(list(values), abs=0.2), key
    times = [durations.seconds(one) for one in written["reroute_at"]]
    assert times == pytest.approx(list(found.reroute_at_s), abs=0.1)
