#!/usr/bin/env python3
"""CPU time per packet-hop by recovery and window, as a Markdown table: whether a sender is linear in its window.

A single flow fills 260 ms of 20 Mbit/s to 1 Gbit/s and two thirds more in the queue: windows of some 1,000 to 50,000
segments. A shorter run at a higher rate has the same work: each simulates the same number of packets.

Each cell is measured `--runs` times, in turn with the others, so that other work on the machine meets all of them. It
shows the median, with the smallest and the largest in brackets.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "peers"))

import simulators  # noqa: E402

RECOVERIES = ("newreno", "sack", "fack")

# Mbit/s, and the largest window: 260 ms of them and the queue, in segments of 1040 B.
RATES = {20: 1_025, 100: 5_125, 1000: 51_250}

MEGABITS = 240_000


def cost_ns(program: Path, recovery: str, rate: int) -> float:
    """Nanoseconds of CPU for each packet-hop."""
    overrides = [
        f"duration={MEGABITS // rate} s",
        f"links[0].rate={rate} Mbit/s",
        f"links[0].queue={{ drop_tail = {{ packets = {20 * rate} }} }}",
        f"flows[0].tcp.recovery={recovery}",
    ]
    arguments = [argument for override in overrides for argument in ("--set", override)]
    command = [str(program), "--json", *arguments, str(HERE / "window.toml")]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return found["cpu_s"] / found["packet_hops"] * 1e9


def words(costs_ns: Sequence[float]) -> str:
    """Median, smallest and largest."""
    return f"{statistics.median(costs_ns):.0f} ns ({min(costs_ns):.0f} to {max(costs_ns):.0f})"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="How often each cell is measured.")
    runs = parser.parse_args().runs
    if runs < 1:
        parser.error(f"--runs {runs}: at least one")
    program = simulators.build_skyhop()
    cells = [(recovery, rate) for recovery in RECOVERIES for rate in RATES]
    found: dict[tuple[str, int], list[float]] = {cell: [] for cell in cells}
    for _ in range(runs):
        for cell in cells:
            found[cell].append(cost_ns(program, *cell))
    print("| recovery |", " | ".join(f"{window:,} segments" for window in RATES.values()), "|")
    print("|---|", "|".join("---:" for _ in RATES), "|", sep="")
    for recovery in RECOVERIES:
        print(f"| {recovery} |", " | ".join(words(found[recovery, rate]) for rate in RATES), "|")


if __name__ == "__main__":
    main()
