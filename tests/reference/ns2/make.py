#!/usr/bin/env python3
"""Makes a reference folder like ../../../../shared/reference/ns2 with ns-2 itself: see README.md beside this file."""

from __future__ import annotations

import argparse
import csv
import gzip
import random
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

CLASSIC = ["tahoe", "reno", "newreno", "sack1", "fack", "vegas"]
CONTROLS = [
    "reno",
    "naive_reno",
    "highspeed",
    "bic",
    "htcp",
    "scalable",
    "cubic",
    "westwood",
    "vegas",
    "illinois",
    "yeah",
    "veno",
]
LINUX = [f"linux-{name}" for name in CONTROLS]
NS2 = dict(zip(CLASSIC, ["TCP", "TCP/Reno", "TCP/Newreno", "TCP/Sack1", "TCP/Fack", "TCP/Vegas"], strict=True))
HEADER_BYTES = 40
ROWS_PER_SERIES = 2000


@dataclass
class Case:
    """A dumbbell, as a row of cases.csv says it."""

    rate_mbps: float = 2.0
    delay_s: float = 0.05
    limit: int = 60
    duration_s: float = 60.0
    window: int = 10000
    starts_s: list[float] = field(default_factory=lambda: [0.0])
    delayed_ack_s: float | None = None
    packets: int | None = None
    loss: float | None = None
    lost: list[int] = field(default_factory=list)
    lost_acks: list[int] = field(default_factory=list)
    seeds: int = 1
    agents: list[str] | None = None


def scattered(rate: float, name: str) -> list[int]:
    """Numbers of packets lost with this probability."""
    generator = random.Random(name)
    return [number for number in range(1, 40000) if generator.random() < rate]


def stagger(flows: int) -> list[float]:
    return [round(1.1 * i + 0.07 * i * i, 2) for i in range(flows)]


PAIRS = ["reno+vegas", "reno+newreno", "sack1+vegas", "fack+reno", "tahoe+sack1", "newreno+linux-cubic"]
CASES = {
    "long": Case(delay_s=0.25, limit=100),
    "long_window": Case(delay_s=0.27, limit=100, window=300),
    "slow": Case(rate_mbps=0.5, delay_s=0.02, limit=12),
    "fast": Case(rate_mbps=8.0, delay_s=0.03, limit=200, duration_s=30),
    "loss1": Case(delay_s=0.03, limit=1000, window=60, lost=scattered(0.01, "loss1")),
    "loss3": Case(delay_s=0.03, limit=1000, window=60, lost=scattered(0.03, "loss3")),
    "loss02": Case(delay_s=0.1, limit=100, window=200, lost=scattered(0.002, "loss02")),
    "loss1_geo": Case(delay_s=0.27, limit=100, window=100, duration_s=100, lost=scattered(0.01, "loss1_geo")),
    "delack": Case(delayed_ack_s=0.1),
    "delack_long": Case(delay_s=0.25, limit=100, delayed_ack_s=0.1),
    "delack_loss": Case(delay_s=0.03, limit=1000, window=60, delayed_ack_s=0.1, lost=scattered(0.01, "delack_loss")),
    "flows3": Case(starts_s=stagger(3)),
    "flows3_long": Case(rate_mbps=1.5, delay_s=0.25, starts_s=stagger(3)),
    "flows3_together": Case(rate_mbps=1.5, delay_s=0.09, limit=50, starts_s=[0.0] * 3),
    "flows10": Case(limit=100, starts_s=stagger(10)),
    "random1": Case(delay_s=0.03, limit=1000, window=60, loss=0.01, seeds=3),
    "random3": Case(delay_s=0.1, limit=100, window=100, loss=0.03, seeds=3),
    "random1_flows3": Case(starts_s=stagger(3), loss=0.01),
    "pairs": Case(starts_s=[0.0, 0.0], agents=PAIRS),
    "pairs_staggered": Case(delay_s=0.1, starts_s=[0.0, 1.3], agents=PAIRS),
    "pairs4": Case(limit=80, starts_s=stagger(4), agents=PAIRS),
    "transfer": Case(packets=500, duration_s=20),
    **{
        f"f_{name}": Case(limit=1000, window=20, duration_s=20, lost=lost, lost_acks=acks)
        for name, lost, acks in [
            ("burst8", list(range(100, 108)), []),
            ("burst20", list(range(100, 120)), []),
            ("every2", list(range(100, 112, 2)), []),
            ("again", [100, 120], []),
            ("again2", [100, 101, 119, 120, 121], []),
            ("twice", [100, 160, 220], []),
            ("early", [2, 3, 4], []),
            ("second", [2], []),
            ("synagain", [0, 1], []),
            ("blackout", list(range(100, 124)), []),
            ("acks", [], list(range(100, 130))),
            ("acks1", [], [100, 103, 200]),
            ("both", [100, 104], list(range(97, 107))),
        ]
    },
}


def ns2_name(agent: str) -> str:
    return f"Linux:{agent.removeprefix('linux-')}" if agent.startswith("linux-") else NS2[agent]


@dataclass
class Flow:
    left: dict[int, list[float]] = field(default_factory=dict)
    arrived: set[int] = field(default_factory=set)
    delays: list[float] = field(default_factory=list)
    sent: int = 0
    received: int = 0
    drops: int = 0
    losses: int = 0
    goodput_bytes: int = 0
    highest: int = -1
    rtts: list[float] = field(default_factory=list)


@dataclass
class Outcome:
    flows: list[Flow]
    counters: list[list[str]]
    events: list[tuple[str, str, int, int]]
    windows: list[tuple[float, float, float]]


def run(case: Case, agent: str, seed: int) -> Outcome:
    """One run of ns-2."""
    with tempfile.TemporaryDirectory() as folder:
        files = {name: f"{folder}/{name}" for name in ("trace", "windows", "counters")}
        settings = {
            "agents": " ".join(ns2_name(part) for part in agent.split("+")),
            "starts": " ".join(map(str, case.starts_s)),
            "rate": f"{case.rate_mbps}Mb",
            "delay": f"{case.delay_s}s",
            "limit": case.limit,
            "access_rate": "10Mb",
            "access_delay": "1ms",
            "window": case.window,
            "size": 1000,
            "packets": case.packets or 0,
            "delack": case.delayed_ack_s or "",
            "lose": " ".join(map(str, case.lost)),
            "lose_acks": " ".join(map(str, case.lost_acks)),
            "loss": case.loss or 0,
            "seed": seed,
            "until": case.duration_s,
            **files,
        }
        script = Path(__file__).with_name("dumbbell.tcl")
        subprocess.run(["ns", script, *(f"{key}={value}" for key, value in settings.items())], check=True)
        flows, events = read_packets(files["trace"], len(case.starts_s))
        counters = [line.split() for line in Path(files["counters"]).read_text().splitlines()]
        return Outcome(flows, counters, events, read_windows(files["windows"]))


def read_packets(path: str, count: int) -> tuple[list[Flow], list[tuple[str, str, int, int]]]:
    flows = [Flow() for _ in range(count)]
    events: list[tuple[str, str, int, int]] = []
    last = ("", 0, 0)
    with open(path) as lines:
        for line in lines:
            event, time, source, target, kind, size, _, flow_id, _, _, seq_text, _ = line.split()
            flow, seq, at = flows[int(flow_id)], int(seq_text), float(time)
            if kind == "ack":
                if event == "r" and source == "0":
                    events.append((time, "ack", int(flow_id), seq))
                    acknowledge(flow, seq, at)
                continue
            if source == "0" and target == "1":
                name = {"+": "enq", "-": "deq", "d": "drop", "r": "rcv"}[event]
                if event == "d" and last != (time, int(flow_id), seq):
                    name = "loss"
                last = (time, int(flow_id), seq) if event == "+" else last
                flow.drops += name == "drop"
                flow.losses += name == "loss"
                events.append((time, name, int(flow_id), seq))
            elif event == "+" and target == "0":
                flow.sent += 1
                flow.left.setdefault(seq, []).append(at)
            elif event == "r" and source == "1":
                flow.received += 1
                if seq not in flow.arrived:
                    flow.arrived.add(seq)
                    flow.goodput_bytes += 0 if int(size) <= HEADER_BYTES else min(int(size), 1000)
    return flows, events


def acknowledge(flow: Flow, seq: int, at: float) -> None:
    if seq > flow.highest:
        flow.highest = seq
        left = flow.left.get(seq, [])
        if len(left) == 1:
            flow.rtts.append(at - left[0])


def read_windows(path: str) -> list[tuple[float, float, float]]:
    """Time, cwnd, ssthresh, thinned as in the reference: every reduction is kept."""
    rows: list[tuple[float, float, float]] = []
    cwnd = ssthresh = 0.0
    with open(path) as lines:
        for line in lines:
            time, *_, name, value = line.split()
            if name == "cwnd_":
                cwnd = float(value)
            elif name == "ssthresh_":
                ssthresh = float(value)
            rows.append((float(time), cwnd, ssthresh))
    step = max(1, len(rows) // ROWS_PER_SERIES)
    return [
        row
        for i, row in enumerate(rows)
        if i % step == 0 or row[1] < rows[i - 1][1] or (i + 1 < len(rows) and rows[i + 1][1] < row[1])
    ]


SUMMARY = [
    "case",
    "agent",
    "seed",
    "flow",
    "type",
    "sent",
    "recv",
    "uniq",
    "queue_drops",
    "link_losses",
    "goodput_kbps",
    "rtt_n",
    "rtt_mean_ms",
    "mix",
    "ndatapack",
    "nrexmitpack",
    "timeouts",
    "cwndcuts",
]


def summaries(name: str, case: Case, agent: str, seed: int, outcome: Outcome) -> list[list[object]]:
    rows: list[list[object]] = []
    for i, (flow, counters) in enumerate(zip(outcome.flows, outcome.counters, strict=True)):
        mean = 1000 * sum(flow.rtts) / len(flow.rtts) if flow.rtts else ""
        rows.append(
            [
                name,
                agent,
                seed,
                i,
                "tcp",
                flow.sent,
                flow.received,
                len(flow.arrived),
                flow.drops,
                flow.losses,
                flow.goodput_bytes * 8 / case.duration_s / 1000,
                len(flow.rtts),
                mean,
                "",
                *list(counters),
            ]
        )
    return rows


def make(folder: Path, names: list[str], agents: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    table = []
    for name in names:
        case = CASES[name]
        of_case = case.agents or agents
        lost = bool(case.lost or case.loss or case.lost_acks)
        kinds = "enq|drop|ack" + ("|loss" if lost else "|deq|rcv")
        write_case(folder, name, case, of_case)
        table.append(
            [name, "|".join(of_case), round(case.rate_mbps * 1e6), case.delay_s, case.limit, 10_000_000, 0.001]
            + [case.duration_s, case.window, 1000, len(case.starts_s), ";".join(map(str, case.starts_s))]
            + ["" if v is None else v for v in (case.delayed_ack_s, case.packets, case.loss)]
            + [";".join(map(str, case.lost)), case.seeds, 1, "|".join(of_case), case.duration_s, kinds]
            + [";".join(map(str, case.lost_acks))]
        )
    with open(folder / "cases.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            [
                "case",
                "agents",
                "bottleneck_rate_bps",
                "bottleneck_delay_s",
                "limit_packets",
                "access_rate_bps",
                "access_delay_s",
                "duration_s",
                "window_packets",
                "packet_size_bytes",
                "flows",
                "start_s",
                "delayed_ack_s",
                "transfer_packets",
                "random_loss",
                "lost_packets",
                "seeds",
                "cwnd_table",
                "events_agents",
                "events_until_s",
                "events_kinds",
                "lost_acks",
            ]
        )
        writer.writerows(table)


def write_case(folder: Path, name: str, case: Case, agents: list[str]) -> None:
    jobs = [(agent, seed) for agent in agents for seed in range(1, case.seeds + 1)]
    summary: list[list[object]] = []
    windows: list[list[object]] = []
    with ThreadPoolExecutor(2) as pool:
        for (agent, seed), outcome in zip(jobs, pool.map(lambda job: run(case, *job), jobs), strict=True):
            summary += summaries(name, case, agent, seed, outcome)
            if seed == 1:
                windows += [[agent, 1, 0, f"{t:.5f}", f"{c:g}", f"{s:g}"] for t, c, s in outcome.windows]
                with gzip.open(folder / f"events_{name}_{agent}.csv.gz", "wt", compresslevel=4) as file:
                    file.write("time,event,flow,seq\n")
                    file.writelines(f"{float(t):.6f},{event},{flow},{seq}\n" for t, event, flow, seq in outcome.events)
    with open(folder / f"summary_{name}.csv", "w", newline="") as file:
        csv.writer(file).writerows([SUMMARY, *summary])
    with gzip.open(folder / f"cwnd_{name}.csv.gz", "wt", newline="") as file:
        csv.writer(file).writerows([["agent", "seed", "flow", "time", "cwnd", "ssthresh"], *windows])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cases", default="all", help="names, with commas; default: all")
    parser.add_argument("--agents", default="classic", help="classic, linux, or names with commas")
    options = parser.parse_args()
    names = list(CASES) if options.cases == "all" else options.cases.split(",")
    sets = {"classic": CLASSIC, "linux": LINUX}
    agents = sets.get(options.agents) or options.agents.split(",")
    if options.agents != "classic":
        names = [name for name in names if not CASES[name].agents]
    make(options.folder, names, agents)
    return 0


if __name__ == "__main__":
    sys.exit(main())
