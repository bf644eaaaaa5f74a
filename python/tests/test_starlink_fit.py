"""`skyhop fit starlink` and `skyhop validate starlink`: readers, measures, a fit of known values, verdicts."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from skyhop import cli, starlink
from skyhop.starlink import measuring
from skyhop.starlink.recordings import Recording
from skyhop.validate import registry, starlink_links

#: A full minute.
START_S = 1_700_000_040.0


def made(slots: int, *, seed: int = 1, pause_ms: float = 0.0, lost: float = 0.0) -> Recording:
    """Slots that add 0 to 20 ms evenly, jitter of 0 to 10 ms evenly, a constant pause at the edge; 5 trips a second."""
    generator = np.random.Generator(np.random.PCG64(seed))
    sent = START_S + np.arange(0.0, 15.0 * slots, 0.2) + generator.uniform(0, 0.1, 75 * slots)
    since = sent - measuring.FIRST_S
    slot = np.floor(since / 15).astype(int)
    steps = generator.uniform(0, 20, slots + 2)
    phase_ms = 1e3 * (since - 15 * slot)
    wait = np.maximum(pause_ms - phase_ms, 0.0)
    rtt = 30 + steps[slot - slot[0]] + generator.uniform(0, 10, sent.size) + wait
    rtt[generator.uniform(size=sent.size) < lost] = np.nan
    return Recording("made", sent, rtt)


def test_measures_are_those_of_the_distribution_that_was_drawn() -> None:
    found = starlink.measures(made(400, lost=0.02))
    # Two uniform numbers from 20 ms are a third of it apart in the mean; 80 % of 10 ms lie from 10 % to 90 %.
    assert found["step"] == pytest.approx(20 / 3, rel=0.1)
    assert found["step p90"] == pytest.approx(20 * (1 - math.sqrt(0.1)), rel=0.1)
    assert found["spread"] == pytest.approx(8, rel=0.05)
    assert abs(found["slot autocorrelation"]) < 0.15 and abs(found["trip autocorrelation"]) < 0.05
    assert found["loss"] == pytest.approx(0.02, rel=0.2) and found["burst"] == pytest.approx(1 / 0.98, rel=0.05)
    assert found["edge contrast"] / found["calm contrast"] > 3


def test_the_distance_of_distributions_is_kolmogorovs() -> None:
    one = np.arange(1000) / 1000
    assert measuring.kolmogorov_smirnov(one, one) == 0
    assert measuring.kolmogorov_smirnov(one, one + 0.25) == pytest.approx(0.25, abs=2e-3)
    assert measuring.kolmogorov_smirnov(one, one * 2) == pytest.approx(0.5, abs=2e-3)


def test_a_fit_finds_what_was_drawn() -> None:
    found = starlink.fit([made(160, pause_ms=120)], draws=2)
    assert found.slots > 155 and found.base_ms == pytest.approx(30, abs=1.2)
    middle = len(found.step_ms) // 2
    assert found.step_ms[-1] == pytest.approx(20, abs=1.5) and found.step_ms[middle] == pytest.approx(10, abs=1.5)
    assert found.jitter_ms[middle] == pytest.approx(5, abs=0.8)
    # Widths of slots from some seventy round trips each stretch both ends of the distribution.
    assert 9.5 < found.jitter_ms[-1] < 11.5
    # One spread for all slots: what the factors show beyond that is noise, and taken out.
    assert 0.85 < found.spread[0] <= 1 <= found.spread[-1] < 1.15
    by_name = {one.name: one for one in found.parameters}
    assert by_name["pause, median"].value == pytest.approx(120, abs=10)
    assert all(one.low <= one.high for one in found.parameters)
    # 80 % of 10 ms.
    assert by_name["jitter, 10 to 90 %"].value == pytest.approx(8, rel=0.05)


def test_the_readers_agree(tmp_path: Path) -> None:
    recording = made(30, lost=0.05)
    lines, rows, trips = [], ["unix_time_s,icmp_seq,rtt_ms"], []
    for n, (sent, rtt) in enumerate(zip(recording.sent_s.tolist(), recording.rtt_ms.tolist(), strict=True), start=1):
        if math.isnan(rtt):
            rows.append(f"{sent + 5},{n},-1")
            trips.append({"lost": "true", "timestamps": {"client": {"send": {"wall": sent * 1e9}}}})
            continue
        at = sent + rtt / 1e3
        lines.append(f"[{at:.6f}] 64 bytes from 100.64.0.1: icmp_seq={n} ttl=63 time={rtt:.3f} ms")
        rows.append(f"{at!r},{n},{rtt!r}")
        client = {"send": {"wall": sent * 1e9}}
        trips.append({"lost": "false", "delay": {"rtt": rtt * 1e6}, "timestamps": {"client": client}})
    files = {"ping.txt": "\n".join(["PING 100.64.0.1", *lines]), "ping.csv": "\n".join(rows),
             "irtt.json": json.dumps({"round_trips": trips})}  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).write_bytes(gzip.compress(text.encode()) if name == "ping.csv" else text.encode())
        read = starlink.read_round_trips(tmp_path / name)
        if name != "ping.txt":
            # ping prints neither the last losses nor when a lost one left.
            assert np.isnan(read.rtt_ms).sum() == np.isnan(recording.rtt_ms).sum()
        answered, theirs = ~np.isnan(read.rtt_ms), ~np.isnan(recording.rtt_ms)
        assert np.allclose(read.rtt_ms[answered], recording.rtt_ms[theirs], atol=1e-3)
        assert np.allclose(read.sent_s[answered], recording.sent_s[theirs], atol=2e-6 if name == "ping.txt" else 1e-6)


def iperf3(flows: int, bps: float, seconds: int) -> str:
    sums = [{"start": float(n), "bits_per_second": bps, "retransmits": 1} for n in range(seconds)]
    return json.dumps({
        "start": {"timestamp": {"timesecs": START_S}, "connected": [{}] * flows, "test_start": {"num_streams": flows}},
        "intervals": [{"sum": one} for one in sums],
        "end": {"streams": [{"sender": {"min_rtt": 30_000}}]},
    })  # fmt: skip


HEADER = "recording,kind,latitude_deg,longitude_deg,path,direction,control,flows,start_unix_s,note\n"


def folder(root: Path, recording: Recording) -> Path:
    rows = ["unix_time_s,icmp_seq,rtt_ms"]
    for n, (sent, rtt) in enumerate(zip(recording.sent_s.tolist(), recording.rtt_ms.tolist(), strict=True)):
        rows.append(f"{sent + 5},{n},-1" if math.isnan(rtt) else f"{sent + rtt / 1e3!r},{n},{rtt!r}")
    (root / "a.csv").write_text("\n".join(rows))
    (root / "cases.csv").write_text(f"{HEADER}a.csv,ping-csv,0,0,bent-pipe,both,,,{START_S},\n")
    return root


def test_a_recording_of_the_fitted_profile_keeps_the_bounds_and_another_does_not(tmp_path: Path) -> None:
    template = made(80)
    own = {"starlink": {"values": "fitted"}}
    ours = starlink_links._simulated(template, {"forward": {"profile": own}, "backward": {"profile": own}}, 99)
    place = Recording("elsewhere", ours.sent_s, ours.rtt_ms + 25)
    rows = {row.measure: row for row in starlink_links.starlink(folder(tmp_path, place))}
    assert rows["RTT, Kolmogorov-Smirnov"].ok and rows["spread"].ok
    rows = {row.measure: row for row in starlink_links.starlink(folder(tmp_path, template))}
    assert not rows["RTT, Kolmogorov-Smirnov"].ok and not rows["spread"].ok
    answer = CliRunner().invoke(cli.app, ["validate", "starlink", "--reference", str(tmp_path), "--json"])
    assert answer.exit_code == 1 and len(json.loads(answer.output)) == len(rows)
    assert [one.name for one in registry.COMPARISONS if one.recognises(tmp_path)] == ["starlink"]


def test_transfers_have_goodput_ratio_and_losses(tmp_path: Path) -> None:
    cases = HEADER
    for flows in (1, 4):
        (tmp_path / f"up-{flows}.json").write_text(iperf3(flows, 20e6 * flows, 30))
        cases += f"up-{flows}.json,iperf3,0,0,bent-pipe,up,cubic,{flows},{START_S},\n"
    (tmp_path / "cases.csv").write_text(cases)
    rows = starlink_links.starlink(tmp_path)
    ratio = [row for row in rows if row.measure == "ratio of flows"]
    assert len(ratio) == 1 and ratio[0].recorded == pytest.approx(4) and 1 < ratio[0].simulated < 8
    assert [row.recorded for row in rows if row.measure == "goodput"] == pytest.approx([20e6, 80e6])
    near = [row.recorded for row in rows if row.measure == "retransmissions near edges"]
    # One in each of 30 s, of which those at :12 and :13, :27 and :28 begin within 1.5 s after an edge.
    assert near == pytest.approx([4 / 30, 4 / 30])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nothing\n", "0 round trips can be read, 100 are needed"),
        ("unix_time_s,rtt_ms\n1,x\n", "line 2: needs numbers in unix_time_s and rtt_ms"),
        ('{"round_trips": [{"lost": "false"}]}', "round trip 0 has no send time or no delay"),
        ("{", "not JSON"),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "x").write_text(text)
    answer = CliRunner().invoke(cli.app, ["fit", "starlink", str(tmp_path / "x")])
    assert answer.exit_code == 2 and said in " ".join(answer.output.split())


def test_too_little_is_no_fit(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="are not enough for a fit"):
        starlink.fit([made(10)])
    for part in ("1-0", "x", "0-2"):
        answer = CliRunner().invoke(cli.app, ["fit", "starlink", str(tmp_path), "--part", part])
        assert answer.exit_code == 2 and "give two shares from 0 to 1" in " ".join(answer.output.split())


def test_the_table_is_read_back(tmp_path: Path) -> None:
    found = starlink.fit([made(60)], draws=0)
    (tmp_path / "fit.toml").write_text(starlink.table(found))
    values = starlink_links.values_of(tmp_path / "fit.toml")
    assert values["step"][-1] == f"{found.step_ms[-1]:g} ms" and values["spread"] == list(found.spread)
    rows = starlink_links.starlink(folder(tmp_path, made(60, seed=2)), values=values)
    assert next(row for row in rows if row.measure == "RTT, Kolmogorov-Smirnov").ok
    ping = [f"[{at + rtt / 1e3:.6f}] 64 bytes from 100.64.0.1: icmp_seq={n} ttl=63 time={rtt:.3f} ms"
            for n, (at, rtt) in enumerate(zip(made(60).sent_s, made(60).rtt_ms, strict=True), start=1)]  # fmt: skip
    (tmp_path / "ping.txt").write_text("\n".join(["PING 100.64.0.1", *ping]))
    answer = CliRunner().invoke(cli.app, ["fit", "starlink", str(tmp_path / "ping.txt"), "--draws", "0", "--json"])
    assert answer.exit_code == 0, answer.output
    printed = json.loads(answer.stdout)
    assert "NaN" not in answer.stdout and "Infinity" not in answer.stdout
    assert printed["slots"] == found.slots and printed["step_ms"] == pytest.approx(found.step_ms, abs=0.2)
    assert [one["name"] for one in printed["parameters"]] == [one.name for one in found.parameters]
    (tmp_path / "fit.toml").write_text("a = 1")
    with pytest.raises(ValueError, match=r"has no table \[starlink\]"):
        starlink_links.values_of(tmp_path / "fit.toml")
