#!/usr/bin/env python3
"""Runs the same workloads in Skyhop, ns-2 and ns-3, in turn, and prints one table.

The peers come from Debian's packages, ns-3 from its source package, and are installed when they are missing. Only CPU
time counts, user and system, never wall time: from a simulated instant at which the network stands and every flow has
begun (`mark`) to the end. A first run of each counts packet-hops and the queue; it checks that the same work was done
and is not timed. docs/performance.md describes the measurements.
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

import simulators
from simulators import Measured
from workloads import WORKLOADS, Workload, peer_arguments

BENCHES = Path(__file__).resolve().parent.parent
GOODPUT_TOLERANCE = 0.03
QUEUE_TOLERANCE = 0.10
SAME_QUEUE_PACKETS = 1.0
"""Queues that are as close as that are the same, however short they are."""

AS_INSTALLED = "ns-2 as installed"
IDEAL = "ideal loop"
"""Packet-hops without a transport (`src/bin/ideal.rs`): the limit, not a peer."""

PUBLISHED_S_PER_S = 18.6
"""Hypatia on ns-3: Telesat's 351 satellites, 100 TCP flows, links of 10 Mbit/s, 120 s; seconds of real time per
simulated second, unnamed processor (report of the fork dinhquanglam/SatComHypatia-frog)."""

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
    ideal: Path | None = None

    def peers(self) -> list[str]:
        """The names of those that are there, the ideal loop last."""
        tools = (("ns-2", self.ns2), (AS_INSTALLED, self.ns2), ("ns-3", self.ns3), (IDEAL, self.ideal))
        return [name for name, program in tools if program]


@dataclass(frozen=True)
class Series:
    """Runs of one tool: those that counted, and the timed ones."""

    tool: str
    duration_s: float
    counted: list[Measured]
    """One for each seed."""
    timed: list[Measured]
    """The seeds in turn."""

    def cpu_s(self) -> float:
        """From the mark on, median."""
        return statistics.median(run.cpu_s for run in self.timed)

    def set_up_s(self) -> float:
        """CPU time before the mark and after the end, median."""
        return statistics.median(run.process_cpu_s - run.cpu_s for run in self.timed)

    def hops(self) -> list[int]:
        """Packet-hops of each timed run: those of its seed. Without timed runs, of each seed."""
        seeds = len(self.counted)
        return [self.counted[turn % seeds].packet_hops or 0 for turn in range(len(self.timed) or seeds)]

    def rates(self) -> list[float]:
        """Packet-hops per CPU second of each run."""
        return [hops / run.cpu_s for hops, run in zip(self.hops(), self.timed, strict=True)]

    def whole_rates(self) -> list[float]:
        """The same with everything that the process did, set-up included."""
        return [hops / run.process_cpu_s for hops, run in zip(self.hops(), self.timed, strict=True)]


def skyhop_command(programs: Programs, workload: Workload, duration_s: float, *options: str) -> list[str]:
    """What runs a workload in Skyhop."""
    sets = [f"duration={duration_s} s", *workload.overrides]
    overrides = [word for text in sets for word in ("--set", text)]
    return [str(programs.skyhop), *options, *overrides, str(BENCHES / workload.file)]


@dataclass(frozen=True)
class Turn:
    """One run of a workload."""

    workload: Workload
    duration_s: float
    count: int
    seed: int = 1


def start(programs: Programs, tool: str, turn: Turn) -> Measured:
    """Runs a workload in one of the simulators."""
    return simulators.run(command(programs, tool, turn))


def command(programs: Programs, tool: str, turn: Turn) -> list[str]:
    """What runs a workload in one of the simulators."""
    workload, duration_s = turn.workload, turn.duration_s
    if tool == "Skyhop":
        options = ["--json", "--mark", f"{workload.mark_s} s", "--seed", f"{turn.seed}"]
        if turn.count and workload.queue_from_s:
            options += ["--queue-from", f"{workload.queue_from_s} s"]
        return skyhop_command(programs, workload, duration_s, *options)
    described = subprocess.run(
        skyhop_command(programs, workload, duration_s, "--describe"), check=True, capture_output=True, text=True
    ).stdout
    told = {
        **peer_arguments(json.loads(described)),
        "duration": f"{duration_s:g}",
        "mark": f"{workload.mark_s:g}",
        "queue_from": f"{workload.queue_from_s:g}",
        "seed": f"{turn.seed}",
        "count": f"{turn.count}",
    }
    arguments = [f"{key}={value}" for key, value in told.items()]
    if tool in ("ns-2", AS_INSTALLED):
        headers = "headers=all" if tool == AS_INSTALLED else "headers=used"
        return [str(programs.ns2), str(simulators.HERE / "chain.tcl"), *arguments, headers]
    return [str(programs.ideal if tool == IDEAL else programs.ns3), *arguments]


def void_reason(ours: Sequence[Measured], theirs: Sequence[Measured]) -> str | None:
    """Why two sets of runs did not do the same work, in the mean over the seeds."""
    checks = [("goodput", GOODPUT_TOLERANCE, 0.0, goodputs(ours), goodputs(theirs))]
    if all(run.queue_mean_packets is not None for run in (*ours, *theirs)):
        checks.append(("mean queue", QUEUE_TOLERANCE, SAME_QUEUE_PACKETS, queues(ours), queues(theirs)))
    for what, share, least, a, b in checks:
        mean, other = statistics.mean(a), statistics.mean(b)
        if abs(mean - other) > max(share * other, least):
            return f"void: {what} {mean / other - 1:+.1%}" if other else f"void: {what} {mean:g} and 0"
    return None


def goodputs(runs: Sequence[Measured]) -> list[float]:
    """Goodput of each run, bit/s."""
    return [run.goodput_bps for run in runs]


def queues(runs: Sequence[Measured]) -> list[float]:
    """Mean queue of each run that measured it, packets."""
    return [run.queue_mean_packets for run in runs if run.queue_mean_packets is not None]


def spread(ratios: Sequence[float]) -> str:
    """Median, smallest and largest."""
    return f"{statistics.median(ratios):.3g} ({min(ratios):.3g}-{max(ratios):.3g})"


def compare(programs: Programs, workload: Workload, runs: int) -> list[list[str]]:
    """The rows of one workload."""
    names = ["Skyhop", *programs.peers()]
    durations = {name: workload.duration_of(name) for name in names}
    seeds = range(1, workload.seeds + 1)

    def counted(name: str, duration_s: float) -> list[Measured]:
        return [start(programs, name, Turn(workload, duration_s, count=1, seed=seed)) for seed in seeds]

    series = {name: Series(name, durations[name], counted(name, durations[name]), []) for name in names}
    for turn in range(runs):
        for name in names:
            seed = seeds[turn % len(seeds)]
            series[name].timed.append(start(programs, name, Turn(workload, durations[name], count=0, seed=seed)))
    ours, rows = series["Skyhop"], []
    for name, one in series.items():
        verdict = ["", ""]
        if name != "Skyhop":
            # The check compares equal times; where the peer ran shorter, Skyhop runs as short once more.
            same = ours.counted if one.duration_s == ours.duration_s else counted("Skyhop", one.duration_s)
            # Without a transport the loop does other work by design: its rate is a limit.
            verdict = verdict_on(ours, one, None if name == IDEAL else void_reason(same, one.counted))
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
    """A row without the name of the workload and without the ratios."""
    goodput, queue = statistics.mean(goodputs(one.counted)), statistics.mean(queues(one.counted))
    work, results = f"{round(statistics.mean(one.hops()))}", [f"{goodput / 1e6:.2f}", f"{queue:.1f}"]
    if not one.timed:
        return [one.tool, f"{one.duration_s:g} s", "", "", work, "", "", *results]
    rate = f"{statistics.median(one.rates()) / 1e6:.3g}"
    memory = f"{max(run.peak_rss_kib for run in one.timed) / 1024:.1f}"
    times = [f"{one.set_up_s():.3f}", f"{one.cpu_s():.3f}"]
    return [one.tool, f"{one.duration_s:g} s", *times, work, rate, memory, *results]


def iridium(programs: Programs, runs: int) -> list[list[str]]:
    """CPU seconds per simulated second between a short and a long run: ns-3 has no such constellation."""
    workload = Workload("Iridium, 3 flows", "iridium.toml")

    def once(tool: str, duration_s: float) -> Measured:
        if tool == "Skyhop":
            return simulators.run(skyhop_command(programs, workload, duration_s, "--json"))
        options = f"duration={duration_s:g} flows=3 mss=1448 window=30000 start={IRIDIUM_START_S:g}"
        return simulators.run([str(programs.ns2), str(simulators.HERE / "iridium.tcl"), *options.split()])

    names = ["Skyhop", "ns-2"]
    last: dict[str, Measured] = {}
    short: dict[str, list[float]] = {name: [] for name in names}
    marginal: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(max(runs, 1)):
        for name in names:
            brief, last[name] = once(name, IRIDIUM_SHORT_S), once(name, IRIDIUM_LONG_S)
            short[name].append(brief.process_cpu_s)
            per_second = (last[name].process_cpu_s - brief.process_cpu_s) / (IRIDIUM_LONG_S - IRIDIUM_SHORT_S)
            marginal[name].append(per_second)
    void = void_reason([last["Skyhop"]], [last["ns-2"]])
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


def telesat(programs: Programs, runs: int) -> list[list[str]]:
    """The load of Hypatia in size: the whole process, building and routes included, beside the published figure."""
    workload = Workload("Telesat load, 100 flows", "hypatia.toml", duration_s=120.0)
    command = skyhop_command(programs, workload, workload.duration_s, "--json")
    done = [simulators.run(command) for _ in range(max(runs, 1))]
    last, cpu_s = done[-1], statistics.median(run.process_cpu_s for run in done)
    hops, memory = last.packet_hops or 0, max(run.peak_rss_kib for run in done) / 1024
    simulated, results = (
        f"{workload.duration_s:g} s",
        [f"{last.goodput_bps / 1e6:.2f}", f"{last.queue_mean_packets:.1f}"],
    )
    published_s = PUBLISHED_S_PER_S * workload.duration_s
    factors = spread([published_s / run.process_cpu_s for run in done])
    work = [f"{cpu_s:.3f}", f"{hops}", f"{hops / cpu_s / 1e6:.3g}", f"{memory:.1f}"]
    return [
        [workload.name, "Skyhop", simulated, "", *work, *results, "", ""],
        ["", "Hypatia, published", simulated, "", f"{published_s:.0f} (real)", *[""] * 6, f"{factors}, other machine"],
    ]


def recording(programs: Programs, runs: int) -> str:
    """What recording on a grid of 10 ms costs, from runs in turn."""
    plain = next(workload for workload in WORKLOADS if workload.name == "dumbbell, 10 flows")
    kept = Workload("", plain.file, ('records.grid="10 ms"',))
    ratios = []
    for _ in range(max(runs, 1)):
        off, on = (start(programs, "Skyhop", Turn(one, one.duration_s, count=0)) for one in (plain, kept))
        ratios.append(100 * (on.cpu_s / off.cpu_s - 1))
    return f"{statistics.median(ratios):+.1f} % CPU time ({min(ratios):+.1f} to {max(ratios):+.1f})"


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """Prints a table that is Markdown and can be read as it stands."""
    widths = [max(len(row[column]) for row in [COLUMNS, *rows]) for column in range(len(COLUMNS))]
    right = range(2, 10)
    for index, row in enumerate([COLUMNS, *rows]):
        texts = (f"{text:>{width}}" if i in right else f"{text:<{width}}"
                 for i, (text, width) in enumerate(zip(row, widths, strict=True)))  # fmt: skip
        print("| " + " | ".join(texts) + " |")
        if index == 0:
            rules = ("-" * (width + 1) + (":" if i in right else "-") for i, width in enumerate(widths))
            print("|" + "|".join(rules) + "|")


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="timed runs of each tool (0: only the check)")
    parser.add_argument("--only", default="", help="workloads whose name contains this text")
    parser.add_argument(
        "--without", choices=list(simulators.PACKAGES), action="append", default=[], help="leave a peer out"
    )
    parser.add_argument("--skyhop", type=Path, help="the benchmark's program; without it, it is built")
    return parser.parse_args()


def main() -> int:
    """Runs the comparison; 1 when the peers cannot be had."""
    options = parse()
    peers = set(simulators.PACKAGES) - set(options.without)
    try:
        simulators.install_peers(peers)
    except simulators.Unavailable as problem:
        print(problem, file=sys.stderr)
        return 1
    skyhop = options.skyhop or simulators.build_skyhop()
    ns3 = simulators.build_ns3_program(simulators.ROOT / "target" / "peers") if "ns-3" in peers else None
    ideal = skyhop.with_name("ideal")
    programs = Programs(
        skyhop=skyhop, ns2="ns" if "ns-2" in peers else None, ns3=ns3, ideal=ideal if ideal.exists() else None
    )
    rows = []
    for workload in WORKLOADS:
        if options.only in workload.name:
            print(f"{workload.name} ...", file=sys.stderr, flush=True)
            rows += compare(programs, workload, options.runs)
    if options.only in "Iridium, 3 flows" and programs.ns2:
        rows += iridium(programs, options.runs)
    if options.only in "Telesat load, 100 flows":
        rows += telesat(programs, options.runs)
    busy = os.getloadavg()[0]
    print(f"CPU: {simulators.cpu_model()}; load {busy:.1f}" + (" (busy: figures are noisy)" if busy > 1.5 else ""))
    if programs.ns2:
        print(f"ns-2: Debian's ns2 {simulators.package_version('ns2')}.")
        print("ns-2 as installed carries the headers of every protocol in each packet; ns-2 only those in use.")
    if programs.ideal:
        print("The ideal loop moves the same packets without a transport: a limit, so Skyhop is slower.")
    if programs.ns3:
        print(f"ns-3: {simulators.ns3_build(programs.ns3)}.")
    print(f"Medians of {options.runs} runs in turn; in brackets the smallest and the largest.\n")
    print_table(rows)
    if options.only in "recording":
        print(f"\nRecording at 10 ms on, dumbbell with 10 flows: {recording(programs, options.runs)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
