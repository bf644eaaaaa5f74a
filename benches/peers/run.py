#!/usr/bin/env python3
"""Runs the same workloads in Skyhop, ns-2 and ns-3, in turn, and prints one table.

The peers come from Debian's packages and are installed when they are missing. Only CPU time counts, user and system,
never wall time: from a simulated instant at which the network stands and every flow has begun (`mark`) to the end. A
first run of each counts packet-hops and the queue; it is the check that the same work was done and is not timed. What
was measured and how: docs/performance.md.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tools
from tools import Measured
from workloads import WORKLOADS, Workload, peer_arguments

BENCHES = Path(__file__).resolve().parent.parent
GOODPUT_TOLERANCE = 0.03
QUEUE_TOLERANCE = 0.10
IRIDIUM_SHORT_S, IRIDIUM_LONG_S, IRIDIUM_START_S = 100.0, 2000.0, 1.0
COLUMNS = (
    "workload", "tool", "simulated", "set-up s", "CPU s", "packet-hops", "M hops/s", "MiB", "Mbit/s", "queue",
    "Skyhop is faster by", "whole process",
)  # fmt: skip


@dataclass(frozen=True)
class Programs:
    """Where the programs are; a peer that is not there is left out."""

    skyhop: Path
    ns3: Path | None
    ns2: str | None

    def peers(self) -> list[str]:
        return [name for name, program in (("ns-2", self.ns2), ("ns-3", self.ns3)) if program]


@dataclass(frozen=True)
class Series:
    """Runs of one tool: the one that counted, and the timed ones."""

    tool: str
    duration_s: float
    counted: Measured
    timed: list[Measured]

    def cpu_s(self) -> float:
        return statistics.median(run.cpu_s for run in self.timed)

    def set_up_s(self) -> float:
        return statistics.median(run.process_cpu_s - run.cpu_s for run in self.timed)

    def hops(self) -> int:
        assert self.counted.packet_hops is not None
        return self.counted.packet_hops

    def rates(self) -> list[float]:
        """Packet-hops per CPU second of each run."""
        return [self.hops() / run.cpu_s for run in self.timed]

    def whole_rates(self) -> list[float]:
        """The same with everything that the process did, set-up included."""
        return [self.hops() / run.process_cpu_s for run in self.timed]


def skyhop_command(programs: Programs, workload: Workload, duration_s: float, *options: str) -> list[str]:
    sets = [f"duration={duration_s} s", *workload.overrides]
    overrides = [word for text in sets for word in ("--set", text)]
    return [str(programs.skyhop), *options, *overrides, str(BENCHES / workload.file)]


def command(programs: Programs, tool: str, workload: Workload, duration_s: float, count: int) -> list[str]:
    """What runs a workload in one of the tools."""
    if tool == "Skyhop":
        return skyhop_command(programs, workload, duration_s, "--json", "--mark", f"{workload.mark_s} s")
    described = subprocess.run(
        skyhop_command(programs, workload, duration_s, "--describe"), check=True, capture_output=True, text=True
    ).stdout
    told = {
        **peer_arguments(json.loads(described)),
        "duration": f"{duration_s:g}",
        "mark": f"{workload.mark_s:g}",
        "count": str(count),
    }
    arguments = [f"{key}={value}" for key, value in told.items()]
    if tool == "ns-2":
        return [str(programs.ns2), str(tools.HERE / "chain.tcl"), *arguments]
    return [str(programs.ns3), *arguments]


def void_reason(ours: Measured, theirs: Measured) -> str | None:
    """Why two runs did not do the same work."""
    checks = [("goodput", ours.goodput_bps, theirs.goodput_bps, GOODPUT_TOLERANCE)]
    if ours.queue_mean_packets is not None and theirs.queue_mean_packets is not None:
        checks.append(("mean queue", ours.queue_mean_packets, theirs.queue_mean_packets, QUEUE_TOLERANCE))
    for what, a, b, tolerance in checks:
        if abs(a - b) > tolerance * b:
            return f"void: {what} {a / b - 1:+.1%}" if b else f"void: {what} {a:g} and 0"
    return None


def spread(ratios: Sequence[float]) -> str:
    """Median, smallest and largest."""
    return f"{statistics.median(ratios):.3g} ({min(ratios):.3g}-{max(ratios):.3g})"


def compare(programs: Programs, workload: Workload, runs: int) -> list[list[str]]:
    """The rows of one workload."""
    names = ["Skyhop", *programs.peers()]
    durations = {name: workload.duration_of(name) for name in names}
    counted = {name: tools.run(command(programs, name, workload, durations[name], count=1)) for name in names}
    timed: dict[str, list[Measured]] = {name: [] for name in names}
    for _ in range(runs):
        for name in names:
            timed[name].append(tools.run(command(programs, name, workload, durations[name], count=0)))
    series = {name: Series(name, durations[name], counted[name], timed[name]) for name in names}
    rows = []
    for name, one in series.items():
        verdict = ["", ""]
        if name != "Skyhop":
            # The check compares equal times; where the peer ran shorter, Skyhop runs as short once more.
            ours = counted["Skyhop"]
            if one.duration_s != workload.duration_s:
                ours = tools.run(command(programs, "Skyhop", workload, one.duration_s, count=1))
            verdict = verdict_on(series["Skyhop"], one, void_reason(ours, one.counted))
        rows.append([workload.name if name == "Skyhop" else "", *cells(one), *verdict])
    return rows


def verdict_on(ours: Series, theirs: Series, void: str | None) -> list[str]:
    """Ratio of the rates of each turn: of the engine, and of whole processes."""
    if void:
        return [void, "void"]
    if not ours.timed:
        return ["same work", ""]
    engine = [a / b for a, b in zip(ours.rates(), theirs.rates(), strict=True)]
    # Set-up is paid once, so a whole process that simulates a shorter time says nothing about a longer one.
    if ours.duration_s != theirs.duration_s:
        return [spread(engine), "-"]
    return [spread(engine), spread([a / b for a, b in zip(ours.whole_rates(), theirs.whole_rates(), strict=True)])]


def cells(one: Series) -> list[str]:
    counted = one.counted
    fixed = [f"{counted.goodput_bps / 1e6:.2f}", f"{counted.queue_mean_packets:.1f}"]
    simulated = f"{one.duration_s:g} s"
    if not one.timed:
        return [one.tool, simulated, "", "", f"{one.hops()}", "", f"{counted.peak_rss_kib / 1024:.1f}", *fixed]
    return [
        one.tool,
        simulated,
        f"{one.set_up_s():.3f}",
        f"{one.cpu_s():.3f}",
        f"{one.hops()}",
        f"{statistics.median(one.rates()) / 1e6:.3g}",
        f"{max(run.peak_rss_kib for run in one.timed) / 1024:.1f}",
        *fixed,
    ]


def iridium(programs: Programs, runs: int) -> list[list[str]]:
    """CPU seconds per simulated second between a short and a long run: ns-3 has no such constellation."""
    workload = Workload("Iridium, 3 flows", "iridium.toml")

    def start(tool: str, duration_s: float) -> Measured:
        if tool == "Skyhop":
            return tools.run(skyhop_command(programs, workload, duration_s, "--json"))
        options = f"duration={duration_s:g} flows=3 mss=1448 window=30000 start={IRIDIUM_START_S:g}"
        return tools.run([str(programs.ns2), str(tools.HERE / "iridium.tcl"), *options.split()])

    names = ["Skyhop", "ns-2"]
    last: dict[str, Measured] = {}
    short: dict[str, list[float]] = {name: [] for name in names}
    marginal: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(max(runs, 1)):
        for name in names:
            brief, last[name] = start(name, IRIDIUM_SHORT_S), start(name, IRIDIUM_LONG_S)
            short[name].append(brief.process_cpu_s)
            per_second = (last[name].process_cpu_s - brief.process_cpu_s) / (IRIDIUM_LONG_S - IRIDIUM_SHORT_S)
            marginal[name].append(per_second)
    void = void_reason(last["Skyhop"], last["ns-2"])
    ratios = [theirs / ours for ours, theirs in zip(marginal["Skyhop"], marginal["ns-2"], strict=True)]
    rows = []
    for name in names:
        simulated = f"{IRIDIUM_SHORT_S:g} to {IRIDIUM_LONG_S:g} s"
        cost = f"{statistics.median(marginal[name]) * 1e6:.1f} us/s"
        memory, goodput = f"{last[name].peak_rss_kib / 1024:.1f}", f"{last[name].goodput_bps / 1e6:.3f}"
        verdict = "" if name == "Skyhop" else void or spread(ratios)
        title = workload.name if name == "Skyhop" else ""
        rows.append([title, name, simulated, f"{statistics.median(short[name]):.3f}", cost, "", "", memory, goodput])
        rows[-1] += ["", verdict, ""]
    return rows


def recording(programs: Programs, runs: int) -> str:
    """What recording on a grid of 10 ms costs, from runs in turn."""
    plain = next(workload for workload in WORKLOADS if workload.name == "dumbbell, 10 flows")
    kept = Workload("", plain.file, ('records.grid="10 ms"',))
    ratios = []
    for _ in range(max(runs, 1)):
        off, on = (tools.run(command(programs, "Skyhop", one, one.duration_s, count=0)) for one in (plain, kept))
        ratios.append(100 * (on.cpu_s / off.cpu_s - 1))
    return f"{statistics.median(ratios):+.1f} % CPU time ({min(ratios):+.1f} to {max(ratios):+.1f})"


def print_table(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[column]) for row in [COLUMNS, *rows]) for column in range(len(COLUMNS))]
    right = range(2, 10)
    for index, row in enumerate([COLUMNS, *rows]):
        texts = (f"{text:>{width}}" if i in right else f"{text:<{width}}"
                 for i, (text, width) in enumerate(zip(row, widths, strict=True)))  # fmt: skip
        print("| " + " | ".join(texts) + " |")
        if index == 0:
            print("|" + "|".join("-" * (width + 1) + (":" if i in right else "-") for i, width in enumerate(widths)) + "|")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="timed runs of each tool (0: only the check)")
    parser.add_argument("--only", default="", help="workloads whose name contains this text")
    parser.add_argument("--without", choices=["ns-2", "ns-3"], action="append", default=[], help="leave a peer out")
    parser.add_argument("--skyhop", type=Path, help="the benchmark's program; without it, it is built")
    return parser.parse_args()


def main() -> int:
    options = parse()
    try:
        tools.install_peers()
    except tools.Unavailable as problem:
        print(problem, file=sys.stderr)
        return 1
    skyhop = options.skyhop or tools.build_skyhop()
    ns3 = tools.build_ns3_program(tools.ROOT / "target" / "peers")
    programs = Programs(
        skyhop=skyhop,
        ns2=None if "ns-2" in options.without else "ns",
        ns3=None if "ns-3" in options.without else ns3,
    )
    rows = []
    for workload in WORKLOADS:
        if options.only in workload.name:
            print(f"{workload.name} ...", file=sys.stderr, flush=True)
            rows += compare(programs, workload, options.runs)
    if options.only in "Iridium, 3 flows" and programs.ns2:
        rows += iridium(programs, options.runs)
    busy = os.getloadavg()[0]
    print(f"CPU: {tools.cpu_model()}; load {busy:.1f}" + (" (busy: figures are noisy)" if busy > 1.5 else ""))
    print(f"ns-2: Debian's ns2 {tools.package_version('ns2')}. ns-3: {tools.ns3_build(ns3)}.")
    print(f"Medians of {options.runs} runs in turn; in brackets the smallest and the largest.\n")
    print_table(rows)
    if options.only in "recording":
        print(f"\nRecording at 10 ms on, dumbbell with 10 flows: {recording(programs, options.runs)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
