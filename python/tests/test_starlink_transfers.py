"""Reports of iperf3 that `skyhop fit starlink` and `skyhop validate starlink` read: what each form of them tells."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_starlink_fit import HEADER, iperf3

from skyhop import starlink
from skyhop.validate import starlink_links


def test_transfers_of_every_kind_are_read(tmp_path: Path) -> None:
    def read(document: dict[str, Any]) -> starlink.Transfer:
        (tmp_path / "x.json").write_text(json.dumps(document))
        return starlink.read_transfer(tmp_path / "x.json")

    up = read(iperf3(4, 20e6, 30))
    assert (up.streams, up.least_rtt_ms, up.control, up.reverse, up.duration_s) == (4, 30.0, "cubic", False, 30.0)
    assert up.retransmits is not None and up.retransmits.sum() == 30 and up.resent == 30
    # Without a mean in the end of the report, that of its intervals.
    assert up.mean_rtt_ms == pytest.approx(54.5)
    ended = iperf3(2, 20e6, 30)
    ended["end"]["streams"] = [{"sender": {"min_rtt": 30_000, "mean_rtt": mean_us}} for mean_us in (50_000, 60_000)]
    assert (read(ended).least_rtt_ms, read(ended).mean_rtt_ms) == (30.0, 55.0)
    assert not up.is_udp and up.offered_bps == 0
    # -b limits TCP, too, each stream.
    assert read(iperf3(4, 20e6, 30, target_bitrate=2_000_000)).offered_bps == 8e6
    down = read(iperf3(1, 20e6, 30, reverse=1))
    assert down.reverse and down.retransmits is None and down.cwnd_bytes is None and down.least_rtt_ms is None
    assert down.mean_rtt_ms is None
    # How much the server sent again stands at the end; its windows come with --get-server-output, in its own intervals.
    back = iperf3(1, 20e6, 30, reverse=1)
    back["end"]["sum_sent"] = {"retransmits": 12}
    assert read(back).resent == 12
    server = iperf3(1, 21e6, 15)["intervals"]
    told = read({**back, "server_output_json": {"intervals": server}})
    assert told.retransmits is not None and told.cwnd_bytes is not None and told.least_rtt_ms is not None
    assert (told.sent_begins_s.size, told.begins_s.size, told.resent) == (15, 30, told.retransmits.sum())
    assert told.rate_bps.tolist() == down.rate_bps.tolist()
    # The server says what arrived of an upload.
    arrived = read({**iperf3(1, 20e6, 30), "server_output_json": {"intervals": iperf3(1, 5e6, 30)["intervals"]}})
    assert arrived.rate_bps.mean() == pytest.approx(5e6) and arrived.retransmits is not None
    datagrams = iperf3(2, 10e6, 30, protocol="UDP", target_bitrate=5_000_000)
    datagrams["end"] = {"sum": {"lost_percent": 10}}
    udp = read(datagrams)
    # Two streams of the target each; of what was sent, 90 % came.
    assert (udp.offered_bps, udp.lost, udp.mean_bps) == (10e6, 0.1, 9e6)
    # The report of the server itself: its intervals count arrivals, and losses do not count twice.
    for interval in datagrams["intervals"]:
        interval["sum"]["sender"] = False
    own = read(datagrams)
    assert own.as_received and not udp.as_received
    assert (own.mean_bps, own.lost) == (10e6, 0.1)
    document = iperf3(1, 20e6, 30, omit=3)
    for interval in document["intervals"][:3]:
        interval["sum"]["omitted"] = True
    warm = read(document)
    assert warm.omitted_s == 3 and warm.begins_s.size == 27
    events = [{"event": "start", "data": document["start"]}]
    events += [{"event": "interval", "data": one} for one in document["intervals"]]
    events.append({"event": "end", "data": document["end"]})
    (tmp_path / "stream.json").write_text("\n".join(json.dumps(one) for one in events))
    streamed = starlink.read_transfer(tmp_path / "stream.json")
    assert streamed.mean_bps == warm.mean_bps and streamed.begins_s.tolist() == warm.begins_s.tolist()
    for change, said in [
        ({"intervals": [], "error": "unable to connect"}, "iperf3 says: unable to connect"),
        ({"intervals": [{"sum": {}, "sum_bidir_reverse": {}}] * 3}, "--bidir sends both ways at once"),
        ({"start": {}}, "needs start.timestamp, start.test_start and intervals"),
        ({"intervals": document["intervals"][:4]}, "1 intervals that count, two are needed"),
    ]:
        with pytest.raises(ValueError, match=said):
            read({**document, **change})
    (tmp_path / "two.json").write_text(2 * json.dumps(document))
    with pytest.raises(ValueError, match="holds several JSON texts"):
        starlink.read_transfer(tmp_path / "two.json")


def test_tenths_of_seconds_become_seconds(tmp_path: Path) -> None:
    document = iperf3(1, 8e6, 3)
    tenths = []
    for n in range(35):
        one = {"start": n / 10, "seconds": 0.1, "bits_per_second": 1e6 * (n // 10 + 1), "omitted": False}
        tenths.append({"streams": [], "sum": one})
    (tmp_path / "x.json").write_text(json.dumps({**document, "intervals": tenths}))
    # The half second at the end does not count.
    assert starlink.read_transfer(tmp_path / "x.json").per_second().tolist() == pytest.approx([1e6, 2e6, 3e6])


def test_transfers_that_iperf3_or_a_flow_did_not_finish_are_told(tmp_path: Path) -> None:
    cases = HEADER
    for name, flows in (("one", 1), ("four", 4), ("cut", 1)):
        document = iperf3(flows, 20e6 * flows, 30)
        for n, entry in enumerate(document["intervals"]):
            # The second of four flows ends after 10 s.
            entry["streams"] = [
                {**one, "socket": 5 + k, "bytes": 0 if flows > 1 and k == 1 and n >= 10 else 2_500_000}
                for k, one in enumerate(entry["streams"])
            ]
        if name == "cut":
            document |= {"error": "control socket has closed unexpectedly", "end": {}}
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
        cases += f"{name}.json,iperf3,0,0,bent-pipe,up,cubic,{flows},,\n"
    (tmp_path / "cases.csv").write_text(cases)
    rows = starlink_links.starlink(tmp_path)
    notes = {row.case: row.note for row in rows if row.measure == "goodput"}
    assert "a flow ended 10 s after the start" in notes["four.json"]
    assert "iperf3 ended early after 30 s, which count: control socket has closed" in notes["cut.json"]
    assert "ended" not in notes["one.json"]
    assert not [row for row in rows if row.measure == "ratio of flows"]


def test_values_of_another_kind_in_a_report_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.json"

    def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        keys = value if isinstance(value, dict) else range(1) if isinstance(value, list) else ()
        return [found for key in keys for found in ((*path, key), *paths(value[key], (*path, key)))]

    whole = iperf3(2, 20e6, 3)
    for path in paths(whole):
        for odd in ("x", [1], {"a": 1}, math.inf, math.nan, -5):
            report = json.loads(json.dumps(whole))
            at = report
            for key in path[:-1]:
                at = at[key]
            at[path[-1]] = odd
            file.write_text(json.dumps(report))
            try:
                read = starlink.read_transfer(file)
            except ValueError as error:
                assert "a.json" in str(error), (path, odd)
            else:
                assert math.isfinite(read.mean_bps) and read.mean_bps >= 0, (path, odd)


def printed(flows: int, seconds: int, *, tail: Callable[[int], str], omitted: int = 0) -> str:
    """What the server of iperf 3.9 prints of so many streams."""
    lines = ["Accepted connection from 192.0.2.1, port 50764"]
    lines += [
        f"[{5 + 2 * n:3d}] local 192.0.2.2 port 5201 connected to 192.0.2.1 port {42051 + n}" for n in range(flows)
    ]
    lines.append("[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams")
    for n in range(-omitted, seconds):
        at = n if n >= 0 else n + omitted
        begins = f"{at:6.2f}-{at + 1:.2f}".ljust(14)
        ends = "  (omitted)" if n < 0 else ""
        lines += [f"[{5 + 2 * k:3d}] {begins}sec  2.38 MBytes  20.0 Mbits/sec{tail(1)}{ends}" for k in range(flows)]
        if flows > 1:
            said = f"{begins}sec  9.54 MBytes  {20 * flows:.1f} Mbits/sec"
            lines += [f"[SUM] {said}{tail(flows)}{ends}", "- - - - - - - - - - - - - - - - - - - - - - - - -"]
    whole = f"  0.00-{seconds}.05 sec   715 MBytes  20.0 Mbits/sec"
    lines += [
        "- - - - - - - - - - - - - - - - - - - - - - - - -",
        "[SUM]  0.0-30.1 sec  4 datagrams received out-of-order",
    ]
    lines += [f"[{5 + 2 * k:3d}] {whole}{tail(30)}  receiver" for k in range(flows)]
    return "\n".join(lines) + "\n"


def test_what_a_server_printed_is_read(tmp_path: Path) -> None:
    def read(document: dict[str, Any]) -> starlink.Transfer:
        (tmp_path / "x.json").write_text(json.dumps(document))
        return starlink.read_transfer(tmp_path / "x.json")

    def lost(times: int) -> str:
        return f"  0.299 ms  {40 * times}/{2000 * times} (2%)  "

    up = iperf3(1, 24e6, 30, protocol="UDP", target_bitrate=24_000_000, blksize=1448, omit=2)
    told = read({**up, "server_output_text": printed(1, 30, tail=lost, omitted=2)})
    assert told.as_received and told.begins_s.size == 30
    assert told.packets_each is not None and told.lost_each is not None
    assert set(told.packets_each) == {2000} and set(told.lost_each) == {40}
    # 1,960 datagrams arrived, which three digits of a rate would not say.
    assert told.rate_bps == pytest.approx(np.full(30, 1960 * 1448 * 8))
    # Datagrams that arrive after an interval which counts them as lost are subtracted there, not here.
    text = printed(1, 30, tail=lost).split("40/2000")
    text = "40/2000".join(text[:8]) + "-60/2000" + "40/2000".join(text[8:])
    late = read({**up, "server_output_text": text})
    assert late.lost_each is not None and late.lost_each.tolist() == [40] * 5 + [20, 0, 0] + [40] * 22
    assert late.rate_bps[7] == pytest.approx(2060 * 1448 * 8)
    with pytest.raises(ValueError, match="finite numbers"):
        read({**up, "server_output_text": text.replace(" 40/2000", " 0/2000")})
    four = read(
        {
            **iperf3(4, 96e6, 30, protocol="UDP", target_bitrate=24_000_000, blksize=1448),
            "server_output_text": printed(4, 30, tail=lost),
        }
    )
    assert four.lost_each is not None and set(four.lost_each) == {160} and four.streams == 4
    # TCP up: what arrived; TCP down: what was sent again, and the windows.
    arrived = read({**iperf3(4, 90e6, 30), "server_output_text": printed(4, 30, tail=lambda _: "  ")})
    assert arrived.as_received and arrived.rate_bps == pytest.approx(np.full(30, 80e6))
    assert arrived.retransmits is not None and arrived.retransmits.sum() == 30
    back = iperf3(4, 80e6, 30, reverse=1)
    sent = read(
        {**back, "server_output_text": printed(4, 30, tail=lambda n: f"  {3 * n:3d}" + "    130 KBytes" * (n == 1))}
    )
    assert sent.retransmits is not None and sent.retransmits.tolist() == [12] * 30
    assert sent.cwnd_bytes is not None and sent.cwnd_bytes.tolist() == [130 * 1024] * 30
    for text in ("iperf3: interrupt", printed(1, 30, tail=lambda _: "  12")):
        with pytest.raises(ValueError, match="run the server with `iperf3 -s -J`"):
            read({**up, "server_output_text": text})
    # The client itself tells what arrived of a download.
    assert read({**back, "server_output_text": "interrupt"}).retransmits is None


def test_names_of_kernel_modules_are_those_of_controls(tmp_path: Path) -> None:
    """Hosts with several versions of BBR call version 1 `bbr1`, and iperf3 reports the name of the module."""
    cases = HEADER
    for name, module, said in (("one", "bbr1", "bbr"), ("two", "bbr", "bbr1"), ("three", "BBR1", "cubic")):
        document = iperf3(1, 20e6, 20)
        document["end"]["sender_tcp_congestion"] = module
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
        cases += f"{name}.json,iperf3,0,0,bent-pipe,up,{said},1,,\n"
    (tmp_path / "cases.csv").write_text(cases)
    rows = [row for row in starlink_links.starlink(tmp_path) if row.measure in ("goodput", "can be read")]
    assert [row.measure for row in rows] == ["goodput"] * 3, [row.note for row in rows]
    assert len({row.simulated for row in rows}) == 1
    assert "the file says bbr1, which is bbr here" in rows[0].note and "cases.csv says" not in rows[0].note
    assert "which is bbr here" not in rows[1].note and "cases.csv says" not in rows[1].note
    assert "cases.csv says cubic, the file bbr, which counts" in rows[2].note


def test_events_of_eight_flows_are_judged_beside_one(tmp_path: Path) -> None:
    """`--json-stream`, one event a line, with intervals of a tenth; writes are so large that streams miss intervals."""
    cases = HEADER
    for flows in (1, 8):
        document = iperf3(flows, 9e6 * flows, 20)
        tenths = []
        for n in range(200):
            one = {"start": n / 10, "end": (n + 1) / 10, "seconds": 0.1, "bits_per_second": 9e6 * flows}
            one |= {"retransmits": int(n % 50 == 0), "omitted": False, "sender": True}
            streams = []
            for k in range(flows):
                sent = 131_072 if (n + k) % 12 == 0 else 0
                streams.append({**one, "socket": 5 + 2 * k, "bytes": sent, "bits_per_second": 80 * sent,
                                "snd_cwnd": 90_000, "rtt": 70_000})  # fmt: skip
            tenths.append({"streams": streams, "sum": one})
        events = [{"event": "start", "data": document["start"]}]
        events += [{"event": "interval", "data": one} for one in tenths]
        events += [{"event": "end", "data": document["end"]}]
        text = "\n".join(json.dumps(one, separators=(",", ":")) for one in events)
        (tmp_path / f"{flows}.json").write_text(text + "\n")
        cases += f"{flows}.json,iperf3-json,0,0,bent-pipe,up,cubic,{flows},,\n"
    (tmp_path / "cases.csv").write_text(cases)
    rows = starlink_links.starlink(tmp_path)
    assert not any(row.measure == "can be read" for row in rows)
    (ratio,) = [row for row in rows if row.measure == "ratio of flows"]
    assert ratio.case.endswith("8 flows over 1") and ratio.recorded == pytest.approx(8) and ratio.simulated > 2
    assert [row.recorded for row in rows if row.measure == "window"] == [90_000] * 2
    assert not any("ended" in row.note for row in rows)
    # With --json-stream-full-output the whole report follows; a run that was killed leaves half a line.
    whole = json.dumps({**document, "intervals": tenths}, indent=1)
    (tmp_path / "full.json").write_text(f"{text}\n{whole}\n")
    full, streamed = (starlink.read_transfer(tmp_path / name) for name in ("full.json", "8.json"))
    assert np.array_equal(full.rate_bps, streamed.rate_bps) and full.mean_bps == streamed.mean_bps
    (tmp_path / "cut.json").write_text(text[:-200])
    with pytest.raises(ValueError, match=r"line 202: not an event of `iperf3 --json-stream`.*cut off"):
        starlink.read_transfer(tmp_path / "cut.json")


@pytest.mark.parametrize("began_s", [100, 1.8e12, 1e18])
def test_a_transfer_without_a_unix_time_is_refused_and_the_others_are_judged(tmp_path: Path, began_s: float) -> None:
    """Such a clock puts the slots anywhere, and took the whole folder with it where it had no year."""
    (tmp_path / "sound.json").write_text(json.dumps(iperf3(1, 20e6, 5)))
    document = iperf3(1, 20e6, 5)
    document["start"]["timestamp"]["timesecs"] = began_s
    (tmp_path / "odd.json").write_text(json.dumps(document))
    lines = [f"{name}.json,iperf3,{n},0,bent-pipe,up,cubic,,,\n" for n, name in enumerate(("sound", "odd"))]
    (tmp_path / "cases.csv").write_text(HEADER + "".join(lines))
    rows = starlink_links.starlink(tmp_path)
    (note,) = [row.note for row in rows if row.case == "odd.json"]
    assert f"start.timestamp.timesecs is {began_s:.10g}, which is not the Unix time" in note
    assert any(row.case == "sound.json" and row.measure == "goodput" for row in rows)


@pytest.mark.parametrize(("place", "begin_s"), [(0, -5), (3, -5), (3, 2), (3, 1e12), (3, 1e300)])
def test_intervals_that_do_not_follow_one_another_are_refused(tmp_path: Path, place: int, begin_s: float) -> None:
    document = iperf3(1, 20e6, 5)
    document["intervals"][place]["sum"]["start"] = begin_s
    (tmp_path / "x.json").write_text(json.dumps(document))
    with pytest.raises(ValueError, match=rf"the interval {place + 1} of 5 begins at .* follow one another from 0 s on"):
        starlink.read_transfer(tmp_path / "x.json")


def test_the_delay_of_a_transfer_with_a_long_warm_up_is_found_after_it(tmp_path: Path) -> None:
    """`-O 35`: the trial of 30 s ended within the warm-up, and the delay was NaN."""
    document = iperf3(1, 20e6, 38, omit=35)
    for n, interval in enumerate(document["intervals"]):
        interval["sum"] |= {"omitted": n < 35, "start": float(n if n < 35 else n - 35)}
    (tmp_path / "x.json").write_text(json.dumps(document))
    (tmp_path / "cases.csv").write_text(f"{HEADER}x.json,iperf3,0,0,bent-pipe,up,cubic,,,\n")
    (row,) = [row for row in starlink_links.starlink(tmp_path) if row.measure == "goodput"]
    assert "ms by the least round trip in this file" in row.note and row.simulated > 0
