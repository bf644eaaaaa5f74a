#!/usr/bin/env python3
"""Instructions and cache misses per packet-hop under callgrind, against the bounds in instructions.json.

Instructions repeat exactly where seconds do not. Two runs that differ only in their length are subtracted, so that
neither the building of the network nor the start of the flows counts. Without options the first row is measured, which
takes some seconds; `--all` takes minutes. `--misses` simulates the caches of the machine for which the bounds were
written, not those of this one. Ends with status 1 where a row is above its bound, and with 0 and a message where
valgrind is missing. `--renew` writes what was measured as the new bounds.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "peers"))

import simulators  # noqa: E402

BOUNDS = HERE / "instructions.json"

# Size in bytes, ways, bytes of a line: 48 KiB of data at the first level, 2 MiB at the second.
CACHES = ["--cache-sim=yes", "--D1=49152,12,64", "--LL=2097152,16,64"]

INSTRUCTIONS = "instructions_per_packet_hop"
FIRST, LAST = "first_level_misses_per_packet_hop", "second_level_misses_per_packet_hop"

TITLES = {INSTRUCTIONS: "instructions", FIRST: "misses of the first level", LAST: "misses of the second level"}


def measure(program: Path, row: dict, duration_s: float, with_misses: bool) -> tuple[dict[str, int], int]:
    """Events of the whole process by the names of their bounds, and its packet-hops."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *(CACHES if with_misses else [])]
        command += [str(program), "--json", "--set", f"duration={duration_s} s"]
        for assignment in row.get("set", []):
            command += ["--set", assignment]
        done = subprocess.run([*command, str(HERE / row["workload"])], capture_output=True, text=True, check=True)
    events = re.search(r"Events\s*: (.+)", done.stderr)
    collected = re.search(r"Collected : (.+)", done.stderr)
    if not events or not collected:
        raise RuntimeError(f"callgrind counted nothing:\n{done.stderr}")
    counts = dict(zip(events[1].split(), map(int, collected[1].split()), strict=True))
    found = {INSTRUCTIONS: counts["Ir"]}
    if with_misses:
        # Reads and writes of data; instructions are fetched from a cache of their own.
        found |= {FIRST: counts["D1mr"] + counts["D1mw"], LAST: counts["DLmr"] + counts["DLmw"]}
    return found, json.loads(done.stdout)["packet_hops"]


def per_hop(program: Path, row: dict, with_misses: bool) -> dict[str, float]:
    """What a packet-hop takes in steady state."""
    (short, hops_short), (long, hops_long) = (
        measure(program, row, row[key], with_misses) for key in ("from_s", "to_s")
    )
    return {name: (long[name] - short[name]) / (hops_long - hops_short) for name in long}


def judge(row: dict, found: dict[str, float], tolerance: float) -> bool:
    """Prints a row beside its bounds; whether it keeps them."""
    keeps = True
    for name, value in found.items():
        known = row.get(name)
        said = f"{row['name']}: {value:.1f} {TITLES[name]} per packet-hop"
        if known is None:
            print(f"{said}; no bound is known")
            continue
        # The file has the values with one digit, so 0.0 stands for up to 0.05.
        allowed = known * (1 + tolerance) + 0.05
        print(f"{said}; {known} are known, {allowed:.1f} are allowed")
        if value > allowed:
            print("More than allowed. Where they go: callgrind_annotate; a slower engine needs a reason and --renew.")
            keeps = False
        elif value < known * (1 - tolerance):
            print("Fewer than known: --renew keeps the gain.")
    return keeps


def table(rows: list[dict]) -> str:
    """The bounds as Markdown."""
    lines = ["| workload | " + " | ".join(TITLES.values()) + " |", "|---" + "|---:" * len(TITLES) + "|"]
    for row in rows:
        lines.append(f"| {row['name']} | " + " | ".join(str(row.get(name, "")) for name in TITLES) + " |")
    return "\n".join(lines)


def main() -> int:
    """Measures and compares with the bounds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="every row, not the first alone")
    parser.add_argument("--misses", action="store_true", help="simulate caches, too; takes some three times as long")
    parser.add_argument("--renew", action="store_true", help="write what was measured as the new bounds")
    parser.add_argument("--table", action="store_true", help="print the known values and measure nothing")
    parser.add_argument("--skyhop", type=Path, help="the benchmark's program; without it, it is built")
    options = parser.parse_args()
    bounds = json.loads(BOUNDS.read_text(encoding="utf-8"))
    if options.table:
        print(table(bounds["rows"]))
        return 0
    if not shutil.which("valgrind"):
        print("skipped: instructions are counted by valgrind, which is not installed")
        return 0
    program = options.skyhop or simulators.build_skyhop()
    keeps = True
    for row in bounds["rows"] if options.all else bounds["rows"][:1]:
        found = per_hop(program, row, options.misses)
        if options.renew:
            row |= {name: round(value, 1) for name, value in found.items()}
            print(f"{row['name']}: {found[INSTRUCTIONS]:.1f} instructions per packet-hop: the new bound")
        else:
            keeps &= judge(row, found, bounds["tolerance"])
    if options.renew:
        BOUNDS.write_text(json.dumps(bounds, indent=2) + "\n", encoding="utf-8")
    return 0 if keeps else 1


if __name__ == "__main__":
    sys.exit(main())
