"""`skyhop fit starlink` and `skyhop validate starlink`: readers, measures, a fit of known values, verdicts."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import skyhop
from skyhop import cli, starlink
from skyhop.starlink import measuring, sets, simulating
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
    assert found.slots > 155 and found.base_ms == pytest.approx(30, abs=0.5)
    middle = len(found.step_ms) // 2
    assert found.step_ms[-1] == pytest.approx(20, abs=1.5) and found.step_ms[middle] == pytest.approx(10, abs=1.5)
    # Base, step and jitter add up to what was recorded: 30, 10 and 5 ms in the mean.
    means = [np.mean(np.interp(np.linspace(0, 1, 999), np.linspace(0, 1, 21), one))
             for one in (found.step_ms, found.jitter_ms)]  # fmt: skip
    assert found.base_ms + sum(means) == pytest.approx(45, abs=0.5)
    # Neither the medians of slots nor their widths, from some seventy round trips each, stretch the distribution.
    assert found.jitter_ms[middle] == pytest.approx(5, abs=0.2) and found.jitter_ms[-1] == pytest.approx(10, abs=0.2)
    # One spread for all slots: what they show beyond that is chance.
    assert 0.96 < found.spread[0] <= 1 <= found.spread[-1] < 1.04
    by_name = {one.name: one for one in found.parameters}
    assert by_name["pause, median"].value == pytest.approx(120, abs=10)
    assert all(one.low <= one.high for one in found.parameters)
    # 80 % of 10 ms.
    assert by_name["jitter, 10 to 90 %"].value == pytest.approx(8, rel=0.02)


def test_a_fit_says_where_its_halves_differ() -> None:
    calm = made(80)
    steady = starlink.fit([calm], draws=0)
    assert not steady.changes and "mean step" not in starlink.table(steady)
    # In the second half what a slot adds is three times as much.
    middle = calm.sent_s[calm.sent_s.size // 2]
    slot = np.floor((calm.sent_s - measuring.FIRST_S) / 15).astype(int)
    more = np.random.Generator(np.random.PCG64(5)).uniform(0, 40, slot.max() - slot.min() + 1)[slot - slot.min()]
    changing = Recording("changing", calm.sent_s, calm.rtt_ms + np.where(calm.sent_s > middle, more, 0.0))
    found = starlink.fit([changing], draws=0)
    assert found.changes and found.steps_ms[1] > 1.5 * found.steps_ms[0]
    assert f"{found.steps_ms[1]:.3g} ms in the second" in starlink.table(found)


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


def iperf3(flows: int, bps: float, seconds: int, **test: Any) -> dict[str, Any]:
    """What iperf 3.12 writes, as far as it is read: retransmissions and windows only of what the client sends."""
    sends = not test.get("reverse") and test.get("protocol") != "UDP"
    intervals = []
    for n in range(seconds):
        one: dict[str, Any] = {"start": float(n), "end": n + 1.0, "seconds": 1.0, "bits_per_second": bps}
        one |= {"omitted": False, "sender": not test.get("reverse")}
        stream = {**one, "bits_per_second": bps / flows}
        if sends:
            one["retransmits"] = 1
            stream |= {"snd_cwnd": 40 * 1448, "rtt": 40_000 + 1000 * n}
        intervals.append({"streams": [stream] * flows, "sum": one})
    told = {"sum_sent": {"bits_per_second": bps}, "sum_received": {"bits_per_second": 0.99 * bps}}
    ends = [{"sender": {"min_rtt": 30_000 if sends else 0}, "receiver": {}}] * flows
    return {
        "start": {
            "timestamp": {"timesecs": START_S},
            "connected": [{"socket": 5 + n} for n in range(flows)],
            "test_start": {"protocol": "TCP", "num_streams": flows, "omit": 0, "reverse": 0, **test},
        },
        "intervals": intervals,
        "end": {"streams": ends, **told, "sender_tcp_congestion": "cubic"},
    }


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
    own = {"starlink": {"values": sets.VALUES}}
    ours = simulating.round_trips(template, {"forward": {"profile": own}, "backward": {"profile": own}}, 99)
    place = Recording("elsewhere", ours.sent_s, ours.rtt_ms + 25)
    rows = {row.measure: row for row in starlink_links.starlink(folder(tmp_path, place))}
    assert rows["RTT, Kolmogorov-Smirnov"].ok and rows["spread"].ok
    answer = CliRunner().invoke(
        cli.app, ["validate", "starlink", "--reference", str(folder(tmp_path, template)), "--json"]
    )
    told = json.loads(answer.output)
    found = {row["measure"]: row["ok"] for row in told}
    assert not found["RTT, Kolmogorov-Smirnov"] and not found["spread"]
    assert answer.exit_code == 1 and len(told) == len(found)
    # The other recording has no losses, so nothing is said of loss bursts.
    assert set(found) == set(rows) - {"loss burst"}
    assert [one.name for one in registry.COMPARISONS if one.recognises(tmp_path)] == ["starlink"]


def test_transfers_have_goodput_ratio_and_losses(tmp_path: Path) -> None:
    cases = HEADER
    for flows in (1, 4):
        (tmp_path / f"up-{flows}.json").write_text(json.dumps(iperf3(flows, 20e6 * flows, 30)))
        cases += f"up-{flows}.json,iperf3,0,0,bent-pipe,up,cubic,{flows},{START_S},\n"
    (tmp_path / "cases.csv").write_text(cases)
    rows = starlink_links.starlink(tmp_path)
    ratio = [row for row in rows if row.measure == "ratio of flows"]
    assert len(ratio) == 1 and ratio[0].recorded == pytest.approx(4) and 1 < ratio[0].simulated < 8
    # What arrived, not what the sender wrote into its socket.
    assert [row.recorded for row in rows if row.measure == "goodput"] == pytest.approx([19.8e6, 79.2e6])
    near = [row.recorded for row in rows if row.measure == "repeated near edges"]
    # One in each of 30 s, taken at its middle: those of :12 and :27 lie within 1.5 s after an edge.
    assert near == pytest.approx([2 / 30, 2 / 30])
    assert [row.recorded for row in rows if row.measure == "window"] == [40 * 1448] * 2
    trips = [row for row in rows if row.measure == "smoothed round trip, mean"]
    assert [row.recorded for row in trips] == pytest.approx([54.5, 54.5])
    # The least is 30 ms, and the profile adds some tens of ms at most to flows that losses limit.
    assert all(30 < row.simulated < 90 for row in trips)
    # The least round trip was found in a trial, so that of the wire is less than the profile's jitter below it.
    assert all("by the least round trip in this file" in row.note for row in rows if row.measure == "goodput")


def test_smoothed_round_trips_of_the_fitted_profile_keep_the_bounds_and_wider_ones_do_not(tmp_path: Path) -> None:
    report = iperf3(1, 3e6, 900)
    report["start"]["timestamp"]["timemillisecs"] = 1000 * START_S + 400
    path = tmp_path / "up.json"
    path.write_text(json.dumps(report))
    transfer = starlink.read_transfer(path)
    assert transfer.start_s == START_S + 0.4 and transfer.is_start_exact
    assert transfer.rtt_ms is not None and transfer.rtt_ms[:2].tolist() == [40, 41]
    profile = sets.sides({"values": sets.VALUES})
    run = simulating.transfer_run(transfer, False, "cubic", 20, profile, seed=77)
    srtt_ms = run.srtt_at(transfer.sent_begins_s + transfer.sent_lengths_s)
    assert srtt_ms.size == 900 and srtt_ms.min() > 40
    cases = HEADER + f"up.json,iperf3,0,0,bent-pipe,up,cubic,1,{START_S},\n"
    (tmp_path / "cases.csv").write_text(cases)

    def rows(factor: float, *, exact: bool) -> dict[str, starlink_links.Row]:
        for n, one in enumerate(report["intervals"]):
            stream = one["streams"][0]
            stream["rtt"] = round(1e3 * (srtt_ms.min() + factor * (srtt_ms[n] - srtt_ms.min())))
        report["end"]["streams"][0]["sender"]["min_rtt"] = round(1e3 * srtt_ms.min())
        if not exact:
            del report["start"]["timestamp"]["timemillisecs"]
        path.write_text(json.dumps(report))
        return {row.measure: row for row in starlink_links.starlink(tmp_path)}

    same = rows(1, exact=True)
    assert same["smoothed round trip, Kolmogorov-Smirnov"].ok and same["smoothed round trip, spread"].ok
    assert "smoothed round trip, contrast of edges" in same and "smoothed round trip, loss" not in same
    wider = rows(3, exact=False)
    assert not wider["smoothed round trip, Kolmogorov-Smirnov"].ok and not wider["smoothed round trip, spread"].ok
    # Half a second decides in which second an edge lies.
    assert "smoothed round trip, contrast of edges" not in wider
    assert "whole seconds" in wider["smoothed round trip, Kolmogorov-Smirnov"].note


@pytest.mark.parametrize(("room", "delay_ms", "rate"), [(400, 250, 2), (40, 250, 2), (40, 30, 10)])
def test_simulated_segments_are_sent_again_when_their_sender_knows_of_the_loss(
    room: int, delay_ms: int, rate: int
) -> None:
    # The path loses what arrives in 20 ms, four times; the queue what does not fit.
    lost = {"errors": [{"trace": {"during": [[f"{at} s", f"{at + 0.02} s"] for at in (8, 14, 20, 26)]}}]}
    run = skyhop.run(
        {
            "duration": "30 s",
            "links": [{"between": ["a", "b"], "rate": f"{rate} Mbit/s", "delay": f"{delay_ms} ms",
                       "queue": {"drop_tail": {"packets": room}}, "forward": lost}],
            "flows": [{"name": "f", "from": "a", "to": "b", "tcp": "cubic"}],
            "records": {"grid": "100 ms", "packets": ["a->b"]},
        }
    )  # fmt: skip
    found = simulating._resends_s(run, "a->b", delay_ms / 1e3)
    packets = run.table("packets").filter(pl.col("retransmission") & (pl.col("event") == "enq"))
    seen = packets["time_s"].to_numpy()
    assert found.size == seen.size == run.flows["retransmissions"][0] > 10
    assert max(float(np.abs(seen - one).min()) for one in found) < 0.1


def test_repeated_segments_are_counted_and_placed_as_a_report_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The warm-up ends in the next minute: of seconds 1 to 30 of it, those of :12 and :27 lie near edges.
    report = iperf3(1, 20e6, 30, omit=12)
    report["start"]["timestamp"]["timesecs"] = START_S + 50 - START_S % 60
    (tmp_path / "up.json").write_text(json.dumps(report))
    (tmp_path / "cases.csv").write_text(HEADER + f"up.json,iperf3,0,0,bent-pipe,up,cubic,1,{START_S},\n")

    def simulated(resends_s: list[float]) -> dict[str, float]:
        rates = np.full(30, 20e6)
        run = simulating.Simulated(20e6, rates, np.array(resends_s), 0.25, 0.5, 1e5, 30.0)
        monkeypatch.setattr(simulating, "transfer_run", lambda *_, **__: run)
        rows = starlink_links.starlink(tmp_path)
        return {row.measure: row.simulated for row in rows}

    # Seconds 62 to 92 of the run count. 73.4 is 1.4 s after an edge, but its second has its middle later.
    found = simulated([61.5, 72.9, 72.95, 73.4, 95.0])
    assert found["repeated near edges"] == pytest.approx(2 / 3)
    assert found["repeated in a row"] == pytest.approx(3 / 2)
    # A share of what was delivered, not of what was lost.
    assert found["repeated"] == 0.25


def test_a_warm_up_that_is_omitted_counts_in_no_share(tmp_path: Path) -> None:
    lost = {"errors": [{"trace": {"during": [[f"{START_S % 60 + 1} s", f"{START_S % 60 + 1.3} s"]]}}]}
    for omitted, found in ((0, True), (3, False)):
        (tmp_path / "up.json").write_text(json.dumps(iperf3(1, 20e6, 10, omit=omitted)))
        transfer = starlink.read_transfer(tmp_path / "up.json")
        link = {"rate": "10 Mbit/s", "queue": {"drop_tail": {"packets": 1000}}, "forward": lost}
        run = simulating.transfer_run(transfer, False, "cubic", 20, link, seed=1)
        assert (run.lost > 0, run.resent > 0, run.resends_s.size > 0) == (found, found, found)


def test_a_fit_is_judged_in_its_direction(tmp_path: Path) -> None:
    (tmp_path / "up.json").write_text(json.dumps(iperf3(4, 20e6, 30)))
    (tmp_path / "cases.csv").write_text(HEADER + f"up.json,iperf3,0,0,bent-pipe,up,cubic,4,{START_S},\n")

    def goodput(values: dict[str, Any] | None) -> float:
        rows = starlink_links.starlink(tmp_path, values=values)
        return next(row.simulated for row in rows if row.measure == "goodput")

    slow = {"values": sets.VALUES, "rates": ["1 Mbit/s", "1 Mbit/s"]}
    # ACKs of four flows fit into 1 Mbit/s.
    assert goodput(slow) < 1e6 < goodput({**slow, "direction": "down"})
    (tmp_path / "fit.toml").write_text('[starlink]\ndirection = "sideways"\n')
    with pytest.raises(ValueError, match='"up" or "down"'):
        starlink_links.values_of(tmp_path / "fit.toml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nothing\n", "0 round trips can be read, 100 are needed"),
        ("unix_time_s,rtt_ms\n1,x\n", "line 2: needs numbers in unix_time_s and rtt_ms"),
        ("time,rtt_ms\n1,2\n", "has no column unix_time_s; its columns are time, rtt_ms"),
        ("64 bytes from 1.1.1.1: icmp_seq=1 ttl=63 time=30 ms\n" * 2, "the lines have no time"),
        ('{"stats": {}}', "has no list round_trips, which irtt writes with `-o`"),
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


def ping(lines: list[str], *tail: str) -> str:
    return "\n".join(["PING 100.64.0.1 (100.64.0.1) 56(84) bytes of data.", *lines, *tail]) + "\n"


def answer(n: int, at_s: float, rtt_ms: float, after: str = "") -> str:
    return f"[{at_s:.6f}] 64 bytes from 100.64.0.1: icmp_seq={n % 65536} ttl=63 time={rtt_ms:.1f} ms{after}"


def test_text_of_ping_has_duplicates_late_answers_and_wrapped_numbers(tmp_path: Path) -> None:
    # From 65,500 on, so that the numbers wrap; 65,510 is lost, 65,520 comes after 65,521, 65,530 comes twice.
    lines = []
    for n in range(65_500, 65_700):
        at_s = START_S + 0.2 * (n - 65_500)
        if n == 65_510:
            lines.append(f"[{at_s + 1:.6f}] no answer yet for icmp_seq={n}")
        elif n != 65_520:
            lines.append(answer(n, at_s + 0.03, 30.0))
        if n == 65_521:
            lines.append(answer(65_520, at_s + 0.04, 240.0))
        if n == 65_530:
            lines.append(answer(n, at_s + 0.05, 50.0, " (DUP!)"))
    (tmp_path / "ping.txt").write_text(ping(lines, "", "--- 100.64.0.1 ping statistics ---"))
    read = starlink.read_round_trips(tmp_path / "ping.txt")
    assert read.sent_s.size == 200 and np.isnan(read.rtt_ms).nonzero()[0].tolist() == [10]
    assert np.allclose(np.diff(read.sent_s), 0.2, atol=1e-5) and read.rtt_ms[20] == 240 and read.rtt_ms[30] == 30


def test_a_second_run_of_ping_in_one_file_loses_nothing_between(tmp_path: Path) -> None:
    first = [answer(n, START_S + 0.2 * n, 30) for n in range(1, 20_001)]
    second = [answer(n, START_S + 5000 + 0.2 * n, 30) for n in range(1, 201)]
    (tmp_path / "ping.txt").write_text(ping([*first, *second]))
    read = starlink.read_round_trips(tmp_path / "ping.txt")
    assert read.sent_s.size == 20_200 and not np.isnan(read.rtt_ms).any()
    # An outage of 300 s within one run is lost, though, however many it is.
    after = [answer(n, START_S + 0.2 * n, 30) for n in range(21_501, 21_701)]
    (tmp_path / "ping.txt").write_text(ping([*first, *after]))
    read = starlink.read_round_trips(tmp_path / "ping.txt")
    assert read.sent_s.size == 21_700 and np.isnan(read.rtt_ms).sum() == 1500


def test_text_without_times_needs_a_start_and_the_length(tmp_path: Path) -> None:
    lines = [answer(n, 0.0, 30)[11:].lstrip("] ") for n in range(1, 301)]
    assert lines[0].startswith("64 bytes")
    file = tmp_path / "ping.txt"
    file.write_text(ping(lines, "", "300 packets transmitted, 300 received, 0% packet loss, time 149500ms"))
    with pytest.raises(ValueError, match="the lines have no time; record with `ping -D`, or give start_unix_s"):
        starlink.read_round_trips(file)
    read = starlink.read_round_trips(file, start_unix_s=START_S)
    assert read.sent_s[0] == START_S and np.allclose(np.diff(read.sent_s), 0.5)
    file.write_text(ping(lines))
    with pytest.raises(ValueError, match="keep ping's last lines"):
        starlink.read_round_trips(file, start_unix_s=START_S)


def test_csv_may_have_other_orders_units_and_missing_numbers(tmp_path: Path) -> None:
    rows = [f"{0.03},host,{n},{START_S + 0.2 * n + 0.03}" for n in range(300) if n % 50 != 7]
    (tmp_path / "a.csv").write_text("\n".join(["rtt_s, host ,icmp_seq, unix_time_s", *rows]))
    read = starlink.read_round_trips(tmp_path / "a.csv")
    assert read.sent_s.size == 300 and np.isnan(read.rtt_ms).nonzero()[0].tolist() == [7, 57, 107, 157, 207, 257]
    assert np.allclose(np.diff(read.sent_s), 0.2, atol=1e-5) and np.nanmax(read.rtt_ms) == pytest.approx(30)


def test_losses_by_a_clock_are_told_from_others() -> None:
    generator = np.random.Generator(np.random.PCG64(3))
    sent = START_S + 0.2 * np.arange(20_000)
    rtt = np.full(sent.size, 30.0)
    rtt[generator.uniform(size=sent.size) < 0.02] = np.nan
    random = Recording("random", sent, rtt)
    assert not measuring.by_the_clock(random).any()
    assert starlink.measures(random)["loss"] == pytest.approx(0.02, rel=0.2)
    # A limit on answers in the second half: every 30th to 33rd.
    limited = np.cumsum(generator.integers(30, 34, 312)) + 10_000
    rtt = np.full(sent.size, 30.0)
    rtt[generator.uniform(size=sent.size) < 0.002] = np.nan
    rtt[limited[limited < rtt.size]] = np.nan
    both = Recording("limited", sent, rtt)
    assert not measuring.by_the_clock(both)[:9_600].any() and measuring.by_the_clock(both)[10_100:19_700].all()
    assert starlink.measures(both)["loss"] == pytest.approx(0.002, rel=0.5)


def test_a_ping_every_second_is_enough_for_the_measures() -> None:
    every_second = made(60).sent_s[::5]
    trips = Recording("slow", every_second, made(60).rtt_ms[::5])
    assert starlink.measures(trips)["step"] == pytest.approx(20 / 3, rel=0.3)
    # One every two seconds has too few in a slot, and says so.
    assert math.isnan(starlink.measures(Recording("slower", every_second[::2], trips.rtt_ms[::2]))["step"])


def test_a_transfer_with_a_rate_is_simulated_with_it_and_no_loss_is_judged_by_its_count(tmp_path: Path) -> None:
    limited = iperf3(1, 2e6, 60, target_bitrate=2_000_000)
    for interval in limited["intervals"]:
        interval["sum"]["retransmits"] = 0
    (tmp_path / "limited.json").write_text(json.dumps(limited))
    none = iperf3(1, 4e6, 120, protocol="UDP", target_bitrate=4_000_000)
    none["end"] = {"sum": {"lost_percent": 0, "packets": 40_000}}
    few = {**none, "end": {"sum": {"lost_percent": 0, "packets": 400}}}
    (tmp_path / "none.json").write_text(json.dumps(none))
    (tmp_path / "few.json").write_text(json.dumps(few))
    lines = [f"{name}.json,iperf3-json,0,0,bent-pipe,up,,1,," for name in ("limited", "none", "few")]
    (tmp_path / "cases.csv").write_text(HEADER + "\n".join(lines))
    rows = {(row.case, row.measure): row for row in starlink_links.starlink(tmp_path)}
    goodput = rows["limited.json", "goodput"]
    # Without the limit CUBIC has 5 Mbit/s.
    assert goodput.simulated == pytest.approx(2e6, rel=0.03)
    # None of 40,000 excludes the profile's 0.2 %, of which 80 would be lost; 400 datagrams say nothing.
    loss = rows["none.json", "loss"]
    assert loss.recorded == 0 and not loss.ok and 20 < loss.off < 40 and "none in 40000" in loss.note
    assert ("few.json", "loss") not in rows and "400 datagrams are too few" in rows["few.json", "goodput"].note
    # 10,000 segments without a retransmission: the profile would send 20 of them again.
    again = rows["limited.json", "repeated"]
    assert again.recorded == 0 and not again.ok and math.isfinite(again.off)


def test_one_recording_that_cannot_be_read_does_not_hide_the_others(tmp_path: Path) -> None:
    (tmp_path / "up.json").write_text(json.dumps(iperf3(1, 6e6, 20)))
    (tmp_path / "bidir.json").write_text(json.dumps({"intervals": [{"sum_bidir_reverse": {}}]}))
    lines = ["up.json,iperf3-json,0,0,isl,upload,CUBIC,1,,", "bidir.json,iperf3-json,,,,,,,,", "gone,ping,,,,,,,,"]
    lines += ["up.json,iperf3-json,0,0,isl,up,bbr,4,,"]
    (tmp_path / "cases.csv").write_text(HEADER + "\n".join(lines))
    rows = starlink_links.starlink(tmp_path)
    unread = [row.note for row in rows if row.measure == "can be read"]
    for note, said in zip(unread, ["--bidir", "No such file"], strict=True):
        assert said in note
    # Where the file and cases.csv disagree, the file counts, and a note says so.
    other = [row for row in rows if row.measure == "goodput"][1]
    assert "cases.csv says 4 flows, the file 1, which counts; cases.csv says bbr, the file cubic" in other.note
    assert any(row.measure == "goodput" and row.recorded == pytest.approx(5.94e6) for row in rows)
    answer = CliRunner().invoke(cli.app, ["validate", "starlink", "--reference", str(tmp_path)])
    assert answer.exit_code == 1 and "2 recordings cannot be read." in " ".join(answer.output.split())
    for line, said in [
        ("up.json,tcpdump,,,,,,,,", "line 2: the kind 'tcpdump' is not known; these are: ping"),
        ("up.json,iperf3,,,,sideways,,,,", "the direction 'sideways' is not known; write up, down or both"),
        ("up.json,iperf3,,,,up,,one,,", "flows is 'one', which is not a number"),
        ("up.json,iperf3,,,,up,,nan,,", "flows is 'nan', which is not a number"),
    ]:
        (tmp_path / "cases.csv").write_text(HEADER + line)
        with pytest.raises(ValueError, match=said):
            starlink_links.starlink(tmp_path)


def test_a_path_that_is_not_known_is_told(tmp_path: Path) -> None:
    # Notes do not depend on the length, which the time of the simulations does.
    folder(tmp_path, made(12))
    for path, is_told in (("via Frankfurt", True), ("bent pipe", False), ("", False), ("inter-satellite", False)):
        (tmp_path / "cases.csv").write_text(f"{HEADER}a.csv,ping-csv,0,0,{path},both,,,,\n")
        note = starlink_links.starlink(tmp_path)[0].note
        assert ("is not known and counts as a bent pipe" in note) == is_told
        assert ("lagos-2023" in note) == (path == "inter-satellite")


@pytest.mark.parametrize("start", [str(1000 * int(START_S)), "-5", "12"])
def test_a_start_that_is_not_a_unix_time_is_refused(tmp_path: Path, start: str) -> None:
    (tmp_path / "cases.csv").write_text(f"{HEADER}a.txt,ping,0,0,,both,,,{start},\n")
    with pytest.raises(ValueError, match="is not a Unix time in seconds"):
        starlink_links.starlink(tmp_path)


def test_round_trips_in_another_unit_are_refused(tmp_path: Path) -> None:
    rows = [f"{START_S + n},{0.04 + 0.001 * (n % 7)}" for n in range(200)]
    (tmp_path / "a.csv").write_text("\n".join(["unix_time_s,rtt_ms", *rows]))
    with pytest.raises(ValueError, match="too short for a path over a satellite"):
        starlink.read_round_trips(tmp_path / "a.csv")


def test_numbers_of_a_csv_wrap_and_begin_anew(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"

    def lost(numbers: list[tuple[int, float]], header: str = "unix_time_s,icmp_seq,rtt_ms") -> int:
        rows = [f"{START_S + at_s + 0.03},{number},30" for number, at_s in numbers]
        file.write_text("\n".join([header, *rows]))
        read = starlink.read_round_trips(file)
        return int(np.isnan(read.rtt_ms).sum())

    # Two hundred numbers are missing before the wrap, which has all of the same numbers after it.
    wrapping = [(n % 65_536, 0.2 * n) for n in range(131_072) if not 1000 <= n % 65_536 < 1200 or n > 65_536]
    assert lost(wrapping) == 200
    assert lost(wrapping[::-1]) == 200
    second = [(n, 0.2 * n) for n in range(300) if n % 50 != 7] + [(n, 9000 + 0.2 * n) for n in range(300)]
    assert lost(second) == 6


@pytest.mark.parametrize(
    ("time", "trip", "said"),
    [
        ("{:.3f}", "30", "is not a Unix time"),
        ("nan", "30", "is not a Unix time"),
        ("17{:011.0f}", "30", "unix_time_ms"),
        ("17{:08.0f}", "inf", "is not a round trip"),
    ],
)
def test_times_that_slots_cannot_be_told_from_are_refused(tmp_path: Path, time: str, trip: str, said: str) -> None:
    rows = [f"{time.format(n / 5)},{trip}" for n in range(3000)]
    (tmp_path / "a.csv").write_text("\n".join(["unix_time_s,rtt_ms", *rows]))
    with pytest.raises(ValueError, match=said):
        starlink.read_round_trips(tmp_path / "a.csv")


def test_round_trips_of_ping_and_irtt_need_unix_times_and_lengths_that_can_be(tmp_path: Path) -> None:
    """`ts -s` writes the time since the start in the same brackets, and irtt may have a monotonic clock."""
    file = tmp_path / "x"

    def ping(begin_s: float) -> str:
        lines = [f"[{begin_s + n / 5:.3f}] 64 bytes from 1.1.1.1: icmp_seq={n} ttl=63 time=30 ms" for n in range(200)]
        return "\n".join(lines)

    def irtt(begin_s: float, rtt_ns: float = 3e7) -> str:
        walls = [1e9 * (begin_s + n / 5) for n in range(200)]
        trips = [{"timestamps": {"client": {"send": {"wall": wall}}}, "delay": {"rtt": 3e7}} for wall in walls]
        return json.dumps({"round_trips": [*trips[:7], {**trips[7], "delay": {"rtt": rtt_ns}}, *trips[8:]]})

    for text in (ping(START_S), irtt(START_S)):
        file.write_text(text)
        assert starlink.read_round_trips(file).rtt_ms.tolist() == pytest.approx([30] * 200)
    for text in (ping(0), irtt(0), irtt(START_S * 1000)):
        file.write_text(text)
        with pytest.raises(ValueError, match=r"x: the times from .* are not Unix times, which the slots need"):
            starlink.read_round_trips(file)
    for rtt_ns in (-3e7, 0, math.inf, math.nan):
        file.write_text(irtt(START_S, rtt_ns))
        with pytest.raises(ValueError, match=r"round trip 7 takes .* ms, which cannot be"):
            starlink.read_round_trips(file)


def test_a_part_has_round_trips_enough_or_is_refused(tmp_path: Path) -> None:
    lines = [f"{START_S + n / 5},{30 if n < 300 else -1}" for n in range(500)]
    (tmp_path / "a.csv").write_text("\n".join(["unix_time_s,rtt_ms", *lines]))
    (tmp_path / "cases.csv").write_text(f"{HEADER}a.csv,ping-csv,0,0,bent-pipe,,,,,\n")
    whole = starlink.read_round_trips(tmp_path / "a.csv")
    assert whole.part(0.3, 0.5).sent_s.size == 100
    for part, said in (((0.1, 0.2), "50 round trips, 50 of them"), ((0.75, 1.0), "125 round trips, 0 of them")):
        with pytest.raises(ValueError, match=rf"a.csv: the part from .* has {said} answered; 100 are needed"):
            whole.part(*part)
        (row,) = starlink_links.starlink(tmp_path, part=part)
        assert row.measure == "can be read" and said in row.note
    # Transfers are compared whole.
    (tmp_path / "a.json").write_text(json.dumps(iperf3(1, 20e6, 5)))
    (tmp_path / "cases.csv").write_text(f"{HEADER}a.json,iperf3,0,0,bent-pipe,up,cubic,,,\n")
    with pytest.raises(ValueError, match=r"cases.csv: the part from 0.5 to 1 would have no effect"):
        starlink_links.starlink(tmp_path, part=(0.5, 1.0))


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress("".join(f"{n * n}\n" for n in range(5000)).encode()))
    packed[200] ^= 0xFF
    (tmp_path / "broken.gz").write_bytes(packed)
    (tmp_path / "deep.json").write_text('{"a":' + "[" * 100_000)
    for name, said in (("broken.gz", "damaged"), ("deep.json", "nests too deep")):
        for option in ([], ["--loaded"], ["--hours"]):
            answer = CliRunner().invoke(cli.app, ["fit", "starlink", *option, str(tmp_path / name)])
            assert answer.exit_code == 2 and said in " ".join(answer.output.split()), (name, option, answer.output)
    said_by_check = {"broken.gz": "damaged", "deep.json": "not JSON"}
    for name in said_by_check:
        answer = CliRunner().invoke(cli.app, ["check", str(tmp_path / name)])
        assert answer.exit_code == 2 and said_by_check[name] in answer.output, answer.output
        assert isinstance(answer.exception, SystemExit)


def test_round_trips_that_never_change_have_no_contrast(tmp_path: Path) -> None:
    every = made(4)
    rows = starlink_links.starlink(folder(tmp_path, Recording("same", every.sent_s, np.full(every.sent_s.size, 20.0))))
    assert "contrast of edges" not in [row.measure for row in rows]
    assert not next(row for row in rows if row.measure == "RTT, Kolmogorov-Smirnov").ok


def test_recordings_since_2025_have_the_set_of_their_dishes(tmp_path: Path) -> None:
    for name, start_s, reverse in (("old", START_S, 0), ("new", 1_735_689_600, 0), ("down", 1_775_000_000, 1)):
        document = iperf3(1, 9e6, 30, reverse=reverse)
        document["start"]["timestamp"]["timesecs"] = start_s
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    lines = [f"{name}.json,iperf3,0,0,{path},,cubic,1,," for name, path in (("old", ""), ("new", ""), ("new", "isl"))]
    lines += ["down.json,iperf3,0,0,bent-pipe,,cubic,1,,"]
    (tmp_path / "cases.csv").write_text(HEADER + "\n".join(lines))

    def goodput(values: dict[str, Any] | None) -> list[starlink_links.Row]:
        return [row for row in starlink_links.starlink(tmp_path, values=values) if row.measure == "goodput"]

    rows = goodput(None)
    sets = ["seattle-2023", "seoul-2026-fades", "lagos-2023", "seoul-2026-fades"]
    for row, name in zip(rows, sets, strict=True):
        assert f'simulated with values = "{name}"' in row.note
    assert "the set of dishes since 2025: by its own clock this one began in 2025" in rows[1].note
    assert "mean of 5 runs is known to" in rows[0].note
    assert "no download with TCP is behind this set" in rows[3].note and "no download" not in rows[1].note
    # Fewer losses and shorter round trips.
    assert rows[1].simulated > 1.3 * rows[0].simulated
    held = goodput({"values": "loaded", "rate_correlation": 0.9})
    # A fit takes the place of all sets.
    assert all("simulated with the fit" in row.note for row in held)
    # Rates that hold for minutes take more runs.
    assert ["mean of 20 runs" in row.note for row in held] == [True, True, True, False]
    trips = made(20)
    late = Recording("late", trips.sent_s - trips.sent_s[0] + 1_767_225_600, trips.rtt_ms)
    note = starlink_links.starlink(folder(tmp_path, late))[0].note
    assert 'values = "seoul-2026-fades", the set of dishes since 2025: by its own clock this one began in 2026' in note
    assert "its delays come from uploads, not from pings" in note
    early = Recording("early", trips.sent_s - trips.sent_s[0] + 1_735_689_600 - 3600, trips.rtt_ms)
    note = starlink_links.starlink(folder(tmp_path, early))[0].note
    assert 'values = "seattle-2023"' in note and "since 2025" not in note


def test_rows_of_a_csv_that_repeat_count_once(tmp_path: Path) -> None:
    trips = made(20)
    answered = ~np.isnan(trips.rtt_ms)
    rows = [f"{at!r},{rtt!r}" for at, rtt in zip(trips.sent_s[answered].tolist(), trips.rtt_ms[answered].tolist(),
                                                 strict=True)]  # fmt: skip
    lost = [f"{float(trips.sent_s[0]) - 9!r},", f"{float(trips.sent_s[0]) - 8!r},"]

    def read(lines: list[str]) -> Recording:
        (tmp_path / "a.csv").write_text("\n".join(["unix_time_s,rtt_ms", *lines]))
        return starlink.read_round_trips(tmp_path / "a.csv")

    once = read([*lost, *rows])
    for twice in ([*lost, *rows, *lost, *rows], [one for row in [*lost, *rows] for one in (row, row)]):
        found = read(twice)
        assert found.rtt_ms.size == once.rtt_ms.size and np.isnan(found.rtt_ms).sum() == 2
        assert np.array_equal(np.sort(found.sent_s), np.sort(once.sent_s))
    # By a clock of whole seconds equal rows may be different answers.
    coarse = [f"{START_S + n // 5:.0f},{40 + n % 3}" for n in range(500)]
    assert read(coarse).rtt_ms.size == 500


def test_too_few_round_trips_for_a_loss_are_told(tmp_path: Path) -> None:
    def rows(minutes: int) -> list[starlink_links.Row]:
        return starlink_links.starlink(folder(tmp_path, made(minutes)))

    few, enough = rows(3), rows(20)
    of = few[0].note
    assert not any(row.measure == "loss" for row in few) and any(row.measure == "loss" for row in enough)
    assert "round trips are too few to tell a loss, 1000 are needed" in of and "too few" not in enough[0].note


def test_whole_seconds_tell_no_edges(tmp_path: Path) -> None:
    """A ping that came at 12.3 s has the time 12 s, so it would seem to have left before 12 s, in another slot."""
    trips = made(12, pause_ms=300)
    came = list(zip((trips.sent_s + trips.rtt_ms / 1e3).tolist(), trips.rtt_ms.tolist(), strict=True))
    forms = {
        "s.csv": ["unix_time_s,rtt_ms", *(f"{int(at)},{rtt}" for at, rtt in came)],
        "ms.csv": ["unix_time_ms,rtt_ms", *(f"{int(at)}000,{rtt}" for at, rtt in came)],
        "ping.txt": [
            f"[{int(at)}] 64 bytes from 192.0.2.1: icmp_seq={n + 1} ttl=60 time={rtt:.2f} ms"
            for n, (at, rtt) in enumerate(came)
        ],
        "tenths.csv": ["unix_time_s,rtt_ms", *(f"{at:.1f},{rtt}" for at, rtt in came)],
    }
    for name, lines in forms.items():
        (tmp_path / name).write_text("\n".join(lines))
    found = {name: starlink.read_round_trips(tmp_path / name) for name in forms}
    assert [one.whole_seconds for one in found.values()] == [True, True, True, False]
    assert found["s.csv"].part(0, 0.5).whole_seconds
    with pytest.raises(ValueError, match=r"s\.csv: all its times are whole seconds, so pauses and losses at the edges"):
        starlink.fit([found["tenths.csv"], found["s.csv"]], draws=0)

    (tmp_path / "cases.csv").write_text(HEADER + "s.csv,ping-csv,0,0,,,,,,\ntenths.csv,ping-csv,0,0,,,,,,\n")
    rows = starlink_links.starlink(tmp_path)
    contrasts = [row.case for row in rows if row.measure == "contrast of edges"]
    assert contrasts == ["tenths.csv"]
    notes = {row.case: row.note for row in rows if row.measure == "RTT, Kolmogorov-Smirnov"}
    assert "the contrast of edges is not compared" in notes["s.csv"] and "seconds" not in notes["tenths.csv"]
    # Slots of 15 s are told all the same.
    step = {row.case: row.recorded for row in rows if row.measure == "step, mean"}
    assert step["s.csv"] == pytest.approx(step["tenths.csv"], rel=0.1)
