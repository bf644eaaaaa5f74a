"""Exports of runs, held to what other tools read in them."""

from __future__ import annotations

import json
import random
import shutil
import struct
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest
from conftest import ROOT, Skyhop

import skyhop
from skyhop import _core, results
from skyhop.export import FORMATS, ExportError, qlog, summaries, write
from skyhop.starlink import read_transfer

needs_tshark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")

#: A lossy link with a short queue, and both of Skyhop's TCPs over it.
#: What the export of iperf3 says of a run without an epoch.
NO_EPOCH = "the run has no epoch: the timestamp is 2020-01-01 00:00 UTC, a full minute"

LOSSY = {
    "duration": "15 s", "profile": "rfc",
    "links": [
        {"between": ["left", "right"], "rate": "4 Mbit/s", "delay": "40 ms", "errors": [{"packet": 0.005}],
         "queue": {"drop_tail": {"packets": 60}}},
    ],
    "flows": [
        {"name": "linux", "from": "left", "to": "right", "tcp": {"profile": "linux", "name": "cubic"},
         "application": {"ftp": {"bytes": "1 MB"}}},
        {"name": "own", "from": "left", "to": "right", "tcp": {"name": "sack", "handshake": "syn"},
         "application": {"ftp": {"bytes": "1 MB"}}},
    ],
    "records": {"packets": ["left->right", "right->left"]},
}  # fmt: skip

#: A fast link before the bottleneck, and nothing is lost: every acknowledged segment is a sample of the RTT.
CLEAN = {
    "duration": "15 s", "profile": "rfc",
    "links": [
        {"between": ["left", "mid"], "rate": "1 Gbit/s", "delay": "1 ms"},
        {"between": ["mid", "right"], "rate": "4 Mbit/s", "delay": "40 ms", "queue": "unlimited"},
    ],
    "flows": [
        {"name": name, "from": "left", "to": "right", "tcp": tcp, "application": {"ftp": {"bytes": "500 kB"}},
         "start": start}
        for name, tcp, start in [("linux", {"profile": "linux", "name": "cubic"}, "0 s"), ("own", "newreno", "7 s")]
    ],
    "records": {"packets": ["left->mid", "mid->left"]},
}  # fmt: skip


@pytest.fixture(scope="module")
def lossy() -> skyhop.Run:
    return skyhop.run(LOSSY, seed=2)


def tshark(file: Path, shown: str, *fields: str) -> pl.DataFrame:
    """The given fields of the packets that a filter shows, with all checksums checked."""
    checks = [f"-o{layer}.check_checksum:TRUE" for layer in ("ip", "tcp", "udp")]
    command = ["tshark", "-r", str(file), *checks, "-Y", shown, "-T", "fields", "-E", "separator=,"]
    command += [argument for field in fields for argument in ("-e", field)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [line.split(",") for line in said.splitlines()]
    return pl.DataFrame(rows, schema=list(fields), orient="row")


def packets(file: Path) -> list[tuple[int, int, bytes]]:
    """Interface, time in ns and bytes of each packet of a pcapng file; also checks that the blocks are whole."""
    data, at, found = file.read_bytes(), 0, []
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        assert length % 4 == 0 and struct.unpack_from("<I", data, at + length - 4) == (length,)
        if kind == 6:
            interface, high, low, captured, original = struct.unpack_from("<IIIII", data, at + 8)
            assert captured == original
            found.append((interface, high << 32 | low, data[at + 28 : at + 28 + captured]))
        at += length
    assert at == len(data)
    return found


def ones(data: bytes) -> int:
    """The Internet checksum over data that contain theirs: 0 where it is right."""
    total = sum(int.from_bytes(data[i : i + 2].ljust(2, b"\0"), "big") for i in range(0, len(data), 2))
    return 0xFFFF - (total % 0xFFFF or 0xFFFF)


def test_a_capture_has_every_packet_at_its_time_with_right_checksums(lossy: skyhop.Run, tmp_path: Path) -> None:
    file = tmp_path / "left.pcapng"
    write(lossy, "pcapng", file, nodes=["left"])
    rows = lossy.table("packets").filter(
        ((pl.col("link") == "left->right") & (pl.col("event") == "deq"))
        | ((pl.col("link") == "right->left") & (pl.col("event") == "rcv"))
    )
    found = packets(file)
    assert len(found) == rows.height > 1000
    for (_, time, data), row in zip(found, rows.iter_rows(named=True), strict=True):
        assert time == round(row["time_s"] * 1e9)
        assert struct.unpack_from("!H", data, 2) == (len(data),)
        pseudo = data[12:20] + struct.pack("!HH", data[9], len(data) - 20)
        assert (ones(data[:20]), ones(pseudo + data[20:])) == (0, 0)
        if row["flow"] == "linux":
            assert len(data) == row["size_bytes"], "the options of Linux take the bytes that the run counts"


def test_flags_and_ecn_stand_in_the_headers(tmp_path: Path) -> None:
    red = {"red": {"packets": 60, "min": 5, "max": 20, "ecn": True}}
    link = {"between": ["left", "right"], "rate": "2 Mbit/s", "delay": "20 ms", "queue": red}
    flow = {"name": "f", "from": "left", "to": "right", "tcp": {"name": "newreno", "ecn": "on"}, "application": "ftp"}
    records = {"packets": ["left->right", "right->left"]}
    run = skyhop.run({"duration": "10 s", "profile": "rfc", "links": [link], "flows": [flow], "records": records})
    table = run.table("packets")
    write(run, "pcapng", tmp_path / "right.pcapng", nodes=["right"])
    found = packets(tmp_path / "right.pcapng")
    arrived = table.filter((pl.col("event") == "rcv") & ~pl.col("is_ack"))
    assert sum(data[1] & 3 == 3 for _, _, data in found) == (arrived["ecn"] == "ce").sum() > 0
    echoes = table.filter((pl.col("event") == "deq") & pl.col("is_ack") & pl.col("tcp_flags").str.contains("ECE"))
    assert sum(data[33] & 64 != 0 for _, _, data in found) == echoes.height > 0


@needs_tshark
def test_tshark_finds_the_retransmissions_of_the_run_and_nothing_wrong(lossy: skyhop.Run, tmp_path: Path) -> None:
    file = tmp_path / "left.pcapng"
    write(lossy, "pcapng", file, nodes=["left"])
    bad = "_ws.malformed || ip.checksum.status == 0 || tcp.checksum.status == 0 || tcp.analysis.ack_lost_segment"
    # An ACK of data that were dropped in the sender's own queue cannot come: each that tshark misses is a fault of
    # ours.
    assert tshark(file, bad, "frame.number").is_empty()
    assert tshark(file, "tcp.checksum.status == 1", "frame.number").height == len(packets(file))
    again = "tcp.analysis.retransmission || tcp.analysis.out_of_order"
    found = tshark(file, again, "frame.time_epoch", "tcp.seq")["frame.time_epoch"].cast(pl.Float64)
    sent = lossy.table("packets").filter(
        (pl.col("link") == "left->right") & (pl.col("event") == "deq") & pl.col("retransmission")
    )
    assert found.to_list() == pytest.approx(sent["time_s"].to_list(), abs=1e-9)
    flows = lossy.flows
    dropped = lossy.table("packets").filter((pl.col("event") == "drop") & pl.col("retransmission")).height
    assert len(found) == flows["retransmissions"].sum() - dropped > 20


@needs_tshark
def test_the_rtts_of_tshark_are_those_of_the_run(tmp_path: Path) -> None:
    run = skyhop.run(CLEAN)
    assert run.flows["retransmissions"].sum() == 0
    file = tmp_path / "left.pcapng"
    write(run, "pcapng", file, nodes=["left"])
    seen = tshark(
        file, "tcp.analysis.ack_rtt && ip.src == 10.0.0.2 && tcp.flags.syn == 0", "tcp.dstport", "tcp.analysis.ack_rtt"
    )
    by_port = seen.with_columns(pl.col("tcp.analysis.ack_rtt").cast(pl.Float64)).group_by("tcp.dstport").mean()
    means = by_port.sort("tcp.dstport")["tcp.analysis.ack_rtt"].to_list()
    assert means == pytest.approx(run.flows["rtt_mean_s"].to_list(), rel=0.01)


def interfaces(file: Path) -> dict[str, dict[int, bytes]]:
    """The options of each interface of a pcapng file, by its name."""
    data, at, found = file.read_bytes(), 0, {}
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 1:
            options: dict[int, bytes] = {}
            option = at + 16
            while (code := struct.unpack_from("<H", data, option)[0]) != 0:
                size = struct.unpack_from("<H", data, option + 2)[0]
                options[code] = data[option + 4 : option + 4 + size]
                option += 4 + size + -size % 4
            found[options[2].decode()] = options
        at += length
    return found


def test_an_interface_has_the_rates_of_its_two_directions(tmp_path: Path) -> None:
    link = {"between": ["left", "right"], "rate": "8 Mbit/s", "backward": {"rate": "1 Mbit/s"}, "delay": "10 ms"}
    flow = {"name": "f", "from": "left", "to": "right", "tcp": "cubic", "application": {"ftp": {"bytes": "50 kB"}}}
    records = {"packets": ["left->right", "right->left"]}
    run = skyhop.run({"duration": "3 s", "links": [link], "flows": [flow], "records": records})
    write(run, "pcapng", tmp_path / "out.pcapng")
    rates = {
        name: [int.from_bytes(options[code], "little") for code in (16, 17)]
        for name, options in interfaces(tmp_path / "out.pcapng").items()
    }
    assert rates == {"left to right": [8_000_000, 1_000_000], "right to left": [1_000_000, 8_000_000]}


def test_windows_and_mss_do_not_depend_on_which_packets_were_recorded(tmp_path: Path) -> None:
    """The largest recorded packet was a full segment: of ACKs alone a window of 113 segments had 113 bytes."""
    link = {"between": ["left", "right"], "rate": "8 Mbit/s", "delay": "40 ms"}
    flows = [
        {"name": "linux", "from": "left", "to": "right", "tcp": "cubic"},
        {"name": "own", "from": "left", "to": "right", "tcp": {"profile": "rfc", "name": "newreno", "mss": "900 B"}},
        {"name": "small", "from": "left", "to": "right", "tcp": "cubic", "application": {"ftp": {"bytes": "100 B"}}},
    ]
    found = []
    for recorded in (["left->right", "right->left"], ["right->left"]):
        records = {"grid": "1 s", "packets": recorded}
        run = skyhop.run({"duration": "5 s", "links": [link], "flows": flows, "records": records})
        write(run, "qlog", tmp_path / "out.qlog")
        traces = json.loads((tmp_path / "out.qlog").read_text())["traces"]
        windows = {}
        for trace in traces:
            updates = [event["data"] for event in trace["events"] if event["name"] == "recovery:metrics_updated"]
            windows[trace["title"]] = [data["congestion_window"] for data in updates]
        write(run, "pcapng", tmp_path / "out.pcapng")
        # The SYN of Linux that the receiver sends: options begin with the MSS.
        segments = [
            data for _, _, data in packets(tmp_path / "out.pcapng") if data[33] == 0x12 and data[40:41] == b"\x02"
        ]
        found.append((windows, {struct.unpack_from("!H", data, 42)[0] for data in segments}))
        for name, bytes_of_segment in [("linux", 1448), ("own", 900), ("small", 1448)]:
            cwnd = run.flow_series.filter(pl.col("flow") == name)["cwnd"]
            assert windows[name] == [round(value * bytes_of_segment) for value in cwnd]
    assert found[0] == found[1]
    assert found[0][1] == {1460}


def test_a_capture_at_a_station_says_what_no_interface_of_it_sees(iridium: skyhop.Run, tmp_path: Path) -> None:
    notes = write(iridium, "pcapng", tmp_path / "out.pcapng", nodes=["berkeley"]).notes
    assert any("is not in the capture: these links end at no node of a name" in note for note in notes)
    assert not any("is not in the capture" in note for note in write(iridium, "pcapng", tmp_path / "all.pcapng").notes)


@pytest.mark.parametrize("flow", ["linux", "own", "quic"])
def test_qlog_has_the_acks_that_come_down_from_a_satellite(iridium: skyhop.Run, tmp_path: Path, flow: str) -> None:
    """They come over a downlink, which ends at no node of a name, and were left out without a word."""
    if flow not in set(iridium.flows["flow"]):
        pytest.skip("this build has no quinn")
    write(iridium, "qlog", tmp_path / "out.qlog")
    traces = json.loads((tmp_path / "out.qlog").read_text())["traces"]
    (events,) = (trace["events"] for trace in traces if trace["title"] == flow)
    arrived = iridium.table("packets").filter((pl.col("flow") == flow) & (pl.col("event") == "ack"))["time_s"]
    times = [event["time"] for event in events if event["name"] == "transport:packet_received"]
    assert len(times) > 30
    assert times == pytest.approx([time_s * 1e3 for time_s in arrived])


@pytest.fixture(scope="module")
def iridium() -> skyhop.Run:
    quic = [{"name": "quic", "quic": {"stack": "quinn"}}] if "quinn" in _core.quic_stacks() else []
    flows = [
        {"name": "linux", "tcp": "cubic"}, {"name": "own", "tcp": {"profile": "rfc", "name": "newreno"}}, *quic,
    ]  # fmt: skip
    way = {"from": "berkeley", "to": "chennai", "application": {"ftp": {"bytes": "200 kB"}}}
    return skyhop.run({
        "duration": "20 s",
        "constellation": {"preset": "iridium"},
        "stations": {
            "berkeley": {"latitude": "37.9 deg", "longitude": "-122.3 deg"},
            "chennai": {"latitude": "13.04 deg", "longitude": "80.17 deg"},
        },
        "flows": [flow | way for flow in flows],
        "records": {
            "grid": "1 s",
            "packets": ["berkeley->sky", *(f"iridium-{i}-{j}->ground" for i in range(6) for j in range(11))],
        },
    })  # fmt: skip


def test_a_pcap_is_one_file_for_each_interface(lossy: skyhop.Run, tmp_path: Path) -> None:
    write(lossy, "pcap", tmp_path / "out")
    names = sorted(path.name for path in (tmp_path / "out").glob("*.pcap"))
    assert names == ["left-to-right.pcap", "right-to-left.pcap"]
    magic = (tmp_path / "out" / names[0]).read_bytes()[:4]
    assert struct.unpack("<I", magic) == (0xA1B23C4D,), "times in nanoseconds"


@pytest.mark.parametrize("to", ["csv", "parquet"])
def test_tables_come_back(lossy: skyhop.Run, tmp_path: Path, to: str) -> None:
    write(lossy, to, tmp_path / "out")
    read = pl.read_csv if to == "csv" else pl.read_parquet
    for name in ("flows", "packets"):
        back = read(tmp_path / "out" / f"{name}.{to}")
        assert back.columns == lossy.table(name).columns
        assert back.height == lossy.table(name).height


def test_iperf3_adds_up_to_the_totals_of_the_run(tmp_path: Path) -> None:
    run = skyhop.run(LOSSY | {"records": {"grid": "500 ms"}}, seed=2)
    assert write(run, "iperf3", tmp_path / "out.json").notes == [NO_EPOCH]
    found = json.loads((tmp_path / "out.json").read_text())
    assert [step["sum"]["start"] for step in found["intervals"][:3]] == pytest.approx([0.0, 0.5, 1.0])
    delivered = sum(step["sum"]["bytes"] for step in found["intervals"])
    assert delivered == found["end"]["sum_received"]["bytes"] == run.flows["bytes_delivered"].sum()
    retransmits = [stream["sender"]["retransmits"] for stream in found["end"]["streams"]]
    assert retransmits == run.flows["retransmissions"].to_list()


def test_fits_and_comparisons_read_what_iperf3_has_of_a_run(tmp_path: Path) -> None:
    wire = {"between": ["a", "b"], "rate": "5 Mbit/s", "delay": "20 ms", "errors": [{"packet": 0.002}]}
    ends = {"from": "a", "to": "b"}
    rate = {"constant_rate": {"rate": "1 Mbit/s", "payload": "1000 B"}}
    tcp = {"name": "t", **ends, "tcp": "cubic"}
    udp = {"name": "u", **ends, "udp": {}, "application": rate}
    base = {"duration": "20 s", "profile": "linux", "links": [wire], "records": {"grid": "1 s"}}

    def exported(*flows: dict[str, Any]) -> tuple[skyhop.Run, Path, list[str]]:
        run = skyhop.run({**base, "flows": list(flows)}, seed=3)
        return run, tmp_path / "out.json", write(run, "iperf3", tmp_path / "out.json").notes

    run, file, notes = exported(tcp)
    found = read_transfer(file)
    row = run.flows.row(0, named=True)
    assert notes == [NO_EPOCH]
    assert (found.control, found.is_udp, found.streams, found.start_s) == ("cubic", False, 1, summaries.NO_EPOCH_S)
    assert found.mean_bps == pytest.approx(row["goodput_bps"]) and found.as_received
    assert found.resent == row["retransmissions"] > 0
    smoothed_s = run.flow_series["srtt_s"].drop_nulls()
    assert found.is_start_exact and found.rtt_ms is not None
    assert found.rtt_ms == pytest.approx(1e3 * smoothed_s.to_numpy(), abs=1e-3)
    # The least smoothed round trip, as iperf3 has it, and not the least of all.
    assert found.least_rtt_ms == pytest.approx(1e3 * smoothed_s.min(), abs=1e-3)
    assert found.least_rtt_ms > 1e3 * row["rtt_min_s"]
    run, file, notes = exported(udp)
    found = read_transfer(file)
    row = run.flows.row(0, named=True)
    assert notes == [NO_EPOCH] and found.is_udp and found.packets == row["packets_sent"]
    assert found.lost == pytest.approx(row["dropped"] / row["packets_sent"])
    run, file, notes = exported(tcp, udp)
    assert notes == [NO_EPOCH, "iperf3 has one protocol for all streams, the flows have tcp, udp: it has none"]
    test = json.loads(file.read_text())
    assert "protocol" not in test["start"]["test_start"] and "sender_tcp_congestion" not in test["end"]


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 59, 60, 61])
def test_pieces_of_a_series_do_not_show_in_intervals(
    rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = skyhop.run(LOSSY | {"records": {"grid": "500 ms"}}, seed=2)
    write(run, "iperf3", tmp_path / "whole.json")
    monkeypatch.setattr(results, "PIECE", rows)
    write(run, "iperf3", tmp_path / "pieces.json")
    assert run.flow_series.height == 60
    assert (tmp_path / "pieces.json").read_bytes() == (tmp_path / "whole.json").read_bytes()


def test_sums_of_iperf3_count_a_split_connection_once_and_notes_say_what_differs(tmp_path: Path) -> None:
    links = [
        {"between": ["a", "p"], "rate": "10 Mbit/s", "delay": "10 ms"},
        {"between": ["p", "b"], "rate": "5 Mbit/s", "delay": "100 ms"},
    ]
    web = {"name": "web", "from": "a", "to": "b", "tcp": "cubic", "sizes": {"constant": "10 kB"},
           "arrivals": {"at": {"text": "time_s\n0\n1\n"}}}  # fmt: skip
    run = skyhop.run({
        "duration": "12.3 s", "profile": "rfc", "links": links, "agents": [{"at": "p", "pep": {}}], "workloads": [web],
        "flows": [
            {"name": "split", "from": "a", "to": "b", "via": ["p"], "tcp": "cubic"},
            {"name": "whole", "from": "a", "to": "b", "tcp": "cubic", "stop": "7.7 s"},
        ],
        "records": {"grid": "1 s"},
    })  # fmt: skip
    notes = write(run, "iperf3", tmp_path / "out.json").notes
    found = json.loads((tmp_path / "out.json").read_text())
    series = run.flow_series.filter(pl.col("flow") != "split.to-p").group_by("time_s").agg(pl.col("goodput_bps").sum())
    sums = [step["sum"]["bits_per_second"] for step in found["intervals"]]
    assert sums == pytest.approx(series.sort("time_s")["goodput_bps"].to_list())
    assert any(sum(stream["bytes"] for stream in step["streams"]) > step["sum"]["bytes"] for step in found["intervals"])
    assert notes == [
        "the intervals end at 12 s with the last whole step, the run at 12.3 s",
        "bits_per_second counts until a flow's own end, bytes until the run's end: they differ in whole",
        NO_EPOCH,
        "sums leave out legs that hand on what the last leg delivers: split.to-p",
        "sum_received has the transfers of workloads, too; they have no streams and no intervals",
    ]
    assert any("workloads are left out" in note for note in write(run, "flowmon", tmp_path / "out.xml").notes)


def test_flow_monitor_has_the_sums_of_the_run(lossy: skyhop.Run, tmp_path: Path) -> None:
    write(lossy, "flowmon", tmp_path / "out.xml")
    flows = ElementTree.parse(tmp_path / "out.xml").getroot().findall("FlowStats/Flow")
    for element, row in zip(flows, lossy.flows.iter_rows(named=True), strict=True):
        assert int(element.attrib["rxPackets"]) == row["packets_received"]
        assert int(element.attrib["lostPackets"]) == row["dropped"]
        assert sum(int(one.attrib["number"]) for one in element) == row["dropped"]
        seconds = float(element.attrib["delaySum"].strip("+ns")) / 1e9
        assert seconds / row["packets_received"] == pytest.approx(row["delay_mean_s"], rel=1e-9)


@pytest.mark.skipif("quinn" not in _core.quic_stacks(), reason="this build has no quinn")
def test_flow_monitor_takes_no_delays_of_messages_for_delays_of_packets(tmp_path: Path) -> None:
    messages = {"messages": {"payload": "100 B", "every": "5 ms", "deadline": "200 ms"}}
    run = skyhop.run({
        "duration": "3 s",
        "links": [{"between": ["left", "right"], "rate": "100 kbit/s", "delay": "20 ms", "queue": "unlimited"}],
        "flows": [{"name": "m", "from": "left", "to": "right", "quic": {"stack": "quinn", "datagrams": True},
                   "application": messages}],
    })  # fmt: skip
    notes = write(run, "flowmon", tmp_path / "out.xml").notes
    assert "delays are recorded of messages, not of packets, and left out of m" in notes
    (flow,) = ElementTree.parse(tmp_path / "out.xml").getroot().findall("FlowStats/Flow")
    (row,) = run.flows.iter_rows(named=True)
    assert row["messages_received"] > row["packets_received"] > 0, "several to a packet"
    assert row["delay_mean_s"] > 0 and not any("delay" in key.lower() or "jitter" in key for key in flow.attrib)


def test_ns2_traces_conserve_packets(lossy: skyhop.Run, tmp_path: Path) -> None:
    write(lossy, "ns2", tmp_path / "out.tr")
    lines = [line.split() for line in (tmp_path / "out.tr").read_text().splitlines()]
    assert all(len(line) == 12 for line in lines)
    times = [float(line[1]) for line in lines]
    assert times == sorted(times)
    # The run is over: what entered a queue was received or dropped, under one id.
    events = {event: [line[11] for line in lines if line[0] == event] for event in "+-rd"}
    assert sorted(events["+"]) == sorted(events["r"] + events["d"])
    assert set(events["r"]) <= set(events["-"]) and len(set(events["+"])) == len(events["+"])
    first = [line for line in lines if line[0] == "-" and line[4] == "tcp" and line[7] == "1"]
    assert {int(line[10]) for line in first} >= set(range(1, 680)), "segment numbers, as ns-2 has them"


def test_qlog_acknowledges_each_packet_once_and_has_the_windows(tmp_path: Path) -> None:
    records = {"grid": "100 ms", "packets": ["left->right", "right->left"]}
    run = skyhop.run(LOSSY | {"records": records}, seed=2, overrides=["flows[0].tcp.pacing=always"])
    write(run, "qlog", tmp_path / "out.qlog")
    found = json.loads((tmp_path / "out.qlog").read_text())
    assert [trace["title"] for trace in found["traces"]] == ["linux", "own"]
    for trace in found["traces"]:
        times = [event["time"] for event in trace["events"]]
        assert times == sorted(times)
        sent = {
            event["data"]["header"]["packet_number"]: sum(frame["length"] for frame in event["data"]["frames"])
            for event in trace["events"]
            if event["name"] == "transport:packet_sent"
        }
        ranges = [
            one
            for event in trace["events"]
            if event["name"] == "transport:packet_received"
            for frame in event["data"]["frames"]
            for one in frame["acked_ranges"]
        ]
        acked = [number for first, last in ranges for number in range(first, last + 1)]
        assert len(acked) == len(set(acked)) and set(acked) <= set(sent)
        # All has arrived: every packet with data is acknowledged, the lost ones by their repetition.
        assert set(acked) == {number for number, length in sent.items() if length}
        windows = [event for event in trace["events"] if event["name"] == "recovery:metrics_updated"]
        rates = run.flow_series.filter(pl.col("flow") == trace["title"])["pacing_bps"].to_list()
        assert [event["data"].get("pacing_rate") for event in windows] == [rate and round(rate) for rate in rates]
        assert any(rates) == (trace["title"] == "linux"), "the other sends as its window allows"


def test_an_ack_acknowledges_the_packets_whose_bytes_it_covers() -> None:
    draw = random.Random(5)
    waiting, plain, sent = qlog._Waiting(), dict[int, tuple[int, int]](), 1
    found = 0
    for number in range(4000):
        # Often bytes that come next, else some that were sent before, which may reach beyond all of them.
        begin = sent if draw.random() < 0.8 else max(1, sent - draw.randrange(1, 900))
        end = begin + draw.randrange(1, 300)
        waiting.add(number, begin, end)
        plain[number] = (begin, end)
        sent = max(sent, end)
        next_byte = max(1, sent - draw.randrange(0, 3000))
        blocks = [
            (low, low + draw.randrange(1, 600))
            for low in draw.sample(range(next_byte, sent + 10), draw.choice([0, 0, 1, 2]))
        ]
        covered = [
            n for n, (low, high) in plain.items()
            if high <= next_byte or any(first <= low and high <= last for first, last in blocks)
        ]  # fmt: skip
        told = waiting.acknowledged(next_byte, blocks)
        assert [n for first, last in told for n in range(first, last + 1)] == covered
        assert all(after[0] > before[1] + 1 for before, after in pairwise(told))
        found += len(covered)
        for n in covered:
            del plain[n]
    assert found > 3000 and len(plain) < 100


@pytest.mark.parametrize("stack", _core.quic_stacks())
def test_qlog_of_quic_has_what_the_stack_sent_lost_and_heard_of(stack: str, tmp_path: Path) -> None:
    quic = {"stack": stack, "stream_window": "8 MB"}
    link = {"between": ["left", "right"], "delay": "50 ms", "rate": "20 Mbit/s"}
    run = skyhop.run({
        "duration": "15 s", "profile": "rfc",
        "links": [link | {"forward": {"errors": [{"packet": 0.01}]}, "queue": {"drop_tail": {"packets": 100}}}],
        "flows": [{"name": "a", "from": "left", "to": "right", "quic": quic,
                   "application": {"ftp": {"bytes": "1 MB"}}}],
        "records": {"grid": "100 ms", "packets": ["left->right", "right->left"]},
    }, seed=2)  # fmt: skip
    write(run, "qlog", tmp_path / "out.qlog")
    (trace,) = json.loads((tmp_path / "out.qlog").read_text())["traces"]
    events = trace["events"]
    named = lambda name: [event for event in events if event["name"] == name]  # noqa: E731
    times = [event["time"] for event in events]
    assert times == sorted(times)

    def numbers(name: str) -> list[int]:
        headers = [event["data"]["header"] for event in named(name)]
        return [header["packet_number"] for header in headers if header["packet_type"] == "1RTT"]

    sent, lost = numbers("transport:packet_sent"), numbers("recovery:packet_lost")
    acked = {
        number
        for event in named("transport:packet_received")
        for frame in event["data"]["frames"]
        if frame["frame_type"] == "ack"
        for first, last in frame["acked_ranges"]
        for number in range(first, last + 1)
    }
    # The path's own table says which packets did not arrive.
    gone = run.table("drops").filter(~pl.col("is_ack"))["seq"].to_list()
    assert len(sent) == len(set(sent)) and len(lost) == len(set(lost)) > 5
    # picoquic closes at once, so it never misses a packet without data that is lost then.
    unnoticed = set(gone) - set(lost) if stack == "picoquic" else set()
    assert set(lost) == set(gone) - unnoticed and not set(lost) & acked and acked <= set(sent)
    # Nothing is under way any more: what is left needed no acknowledgement.
    bare = set(sent) - acked - set(lost)
    carried = {
        event["data"]["header"]["packet_number"]: sum(
            frame["length"] for frame in event["data"]["frames"] if frame["frame_type"] == "stream"
        )
        for event in named("transport:packet_sent")
        if event["data"]["header"]["packet_type"] == "1RTT"
    }
    assert all(carried[number] == 0 for number in bare)
    assert unnoticed <= bare
    payloads = run.table("packets").filter((pl.col("event") == "deq") & ~pl.col("is_ack"))["payload_bytes"].sum()
    assert sum(carried.values()) == payloads
    # A period of recovery for each reduction of the window that lies outside of another.
    cuts = run.table("flow_events").filter(pl.col("event").is_in(["loss", "persistent congestion"]))
    states = [event["data"]["new"] for event in named("recovery:congestion_state_updated")]
    assert 0 < states.count("recovery") <= len(cuts)
    windows = [event["data"]["congestion_window"] for event in named("recovery:metrics_updated")]
    assert windows == [round(cwnd * 1200) for cwnd in run.flow_series["cwnd"].to_list()]
    assert not named("connectivity:connection_closed")


@pytest.mark.parametrize("stack", _core.quic_stacks())
def test_qlog_of_messages_has_their_datagram_frames(stack: str, tmp_path: Path) -> None:
    link = {"between": ["left", "right"], "delay": "50 ms", "rate": "20 Mbit/s"}
    flow = {"name": "a", "from": "left", "to": "right", "quic": {"stack": stack, "datagrams": True},
            "application": {"constant_rate": {"rate": "80 kbit/s", "payload": "500 B"}}}  # fmt: skip
    records = {"packets": ["left->right", "right->left"]}
    run = skyhop.run({"duration": "5 s", "links": [link], "flows": [flow], "records": records})
    write(run, "qlog", tmp_path / "out.qlog")
    (trace,) = json.loads((tmp_path / "out.qlog").read_text())["traces"]
    sent = [event["data"]["frames"] for event in trace["events"] if event["name"] == "transport:packet_sent"]
    lengths = [frame["length"] for frames in sent for frame in frames if frame["frame_type"] == "datagram"]
    # 20 a second from 0.1 s on; the first ones may share a packet.
    assert run.flows["messages_written"].to_list() == [sum(lengths) // 500] == [98]
    assert set(lengths) <= {500, 1000}
    assert not any(frame["frame_type"] == "stream" for frames in sent for frame in frames)


@pytest.mark.skipif("quinn" not in _core.quic_stacks(), reason="this build has no quinn")
def test_qlog_has_the_end_of_a_connection_in_the_words_of_the_stack(tmp_path: Path) -> None:
    errors = [{"list": {"data": [{"packets": [100, 100_000], "every": 1}]}}]
    link = {"between": ["left", "right"], "delay": "50 ms", "rate": "20 Mbit/s", "forward": {"errors": errors}}
    quic = {"stack": "quinn", "idle_timeout": "2 s"}
    flow = {"name": "a", "from": "left", "to": "right", "quic": quic}
    records = {"grid": "100 ms", "packets": ["left->right", "right->left"]}
    run = skyhop.run({"duration": "9 s", "profile": "rfc", "links": [link], "flows": [flow], "records": records})
    write(run, "qlog", tmp_path / "out.qlog")
    (trace,) = json.loads((tmp_path / "out.qlog").read_text())["traces"]
    (closed,) = (event for event in trace["events"] if event["name"] == "connectivity:connection_closed")
    (told,) = run.table("flow_events").filter(pl.col("event") == "connection lost")["time_s"].to_list()
    assert closed["data"] == {"owner": "local", "reason": "TimedOut"}
    assert closed["time"] == pytest.approx(told * 1e3)
    assert any("TimedOut" in warning for warning in run.warnings)


def test_qlog_says_that_connections_of_workloads_have_no_trace(tmp_path: Path) -> None:
    web = {"name": "web", "from": "left", "to": "right", "tcp": "cubic", "sizes": {"constant": "10 kB"},
           "arrivals": {"at": {"text": "time_s\n0\n1\n"}}}  # fmt: skip
    link = {"between": ["left", "right"], "delay": "5 ms", "rate": "20 Mbit/s"}
    records = {"packets": ["left->right", "right->left"]}
    run = skyhop.run({"duration": "3 s", "profile": "rfc", "links": [link], "workloads": [web], "records": records})
    written = write(run, "qlog", tmp_path / "out.qlog")
    assert "connections of workloads have no trace, and 2 of them have packets here" in written.notes
    assert json.loads((tmp_path / "out.qlog").read_text())["traces"] == []


def test_the_sky_is_exported_where_there_is_one(lossy: skyhop.Run, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="there is no sky to write"):
        write(lossy, "czml", tmp_path / "out.czml")
    run = skyhop.run(ROOT / "examples" / "iridium.toml", overrides=["duration=2 s"])
    write(run, "czml", tmp_path / "out.czml")
    write(run, "geojson", tmp_path / "out.geojson")
    names = [packet["id"] for packet in json.loads((tmp_path / "out.czml").read_text())]
    assert names[0] == "document" and len(names) > 66
    assert json.loads((tmp_path / "out.geojson").read_text())["type"] == "FeatureCollection"


def test_the_program_exports_a_run_folder_and_says_what_is_missing(tmp_path: Path, lossy: skyhop.Run) -> None:
    program = Skyhop(tmp_path)
    lossy.write(tmp_path / "run")
    done = program("export", "run", "--to", "pcapng")
    assert (done.returncode, done.stdout) == (0, "run.pcapng\n"), done.stderr
    assert "--at NODE" in done.stderr, "who reads all interfaces at once sees each packet twice"
    assert {interface for interface, _, _ in packets(tmp_path / "run.pcapng")} == {0, 1}
    for arguments, said in [
        (["run", "--to", "pcapng", "--at", "nowhere"], "no recorded link ends at 'nowhere'; there are: left, right"),
        (["run", "--to", "pdf"], "no format is called so; there are: " + ", ".join(FORMATS)),
        (["run", "--to", "csv", "--at", "left"], "csv has no interfaces"),
        (["nothing", "--to", "csv"], "is not a run folder"),
        (["run"], "give either --html DIR or --to FORMAT"),
    ]:
        refused = program("export", *arguments)
        assert refused.returncode != 0 and said in refused.stderr, (arguments, refused.stderr)
        assert "Traceback" not in refused.stderr


@pytest.mark.parametrize("to", ["pcapng", "iperf3", "flowmon", "qlog", "ns2"])
def test_folders_are_made_for_a_file(lossy: skyhop.Run, tmp_path: Path, to: str) -> None:
    file = tmp_path / "a" / "new" / f"out.{FORMATS[to].ending}"
    write(lossy, to, file)
    assert list(file.parent.iterdir()) == [file] and file.stat().st_size > 0
    with pytest.raises(OSError, match=r"out") as found:
        write(lossy, to, file / f"out.{FORMATS[to].ending}")
    assert ".part" not in str(found.value)


def test_a_run_without_packets_says_what_to_record(dumbbell: Path, tmp_path: Path) -> None:
    run = skyhop.run(dumbbell)
    with pytest.raises(ExportError, match=r"\[records\]\n  packets = \["):
        write(run, "pcapng", tmp_path / "out.pcapng")
    assert not (tmp_path / "out.pcapng").exists()


def test_a_run_folder_read_back_is_the_run(lossy: skyhop.Run, tmp_path: Path) -> None:
    lossy.write(tmp_path / "run")
    back = skyhop.load(tmp_path / "run")
    assert back.seed == 2 and back.scenario.hash == lossy.scenario.hash
    assert back.table("packets").equals(lossy.table("packets"))


def test_a_scan_is_the_table(lossy: skyhop.Run, tmp_path: Path) -> None:
    lossy.write(tmp_path / "run")
    for name in ("packets", "flows", "handovers"):
        whole = lossy.table(name)
        assert lossy.scan(name).collect().equals(whole)
        # `handovers` has no rows, and so no file.
        assert skyhop.load(tmp_path / "run").scan(name).collect().equals(whole)
