#!/usr/bin/env python3
"""Instructions per packet-hop of workload 1 under callgrind, against the bound in instructions.json.

Instructions repeat exactly where seconds do not. Two runs that differ only in their length are subtracted, so that
neither the building of the network nor the start of the flows counts. Ends with status 1 above the bound, and with 0
and a message where valgrind is missing. `--renew` writes what was measured as the new bound.
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

BOUND = HERE / "instructions.json"


def measure(program: Path, workload: Path, duration_s: float) -> tuple[int, int]:
    """Instructions of the whole process, and its packet-hops."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", str(program), "--json"]
        command += ["--set", f"duration={duration_s} s", str(workload)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if not collected:
        raise RuntimeError(f"callgrind counted nothing:\n{done.stderr}")
    return int(collected[1]), json.loads(done.stdout)["packet_hops"]


def main() -> int:
    """Measures and compares with the bound."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--renew", action="store_true", help="write what was measured as the new bound")
    parser.add_argument("--skyhop", type=Path, help="the benchmark's program; without it, it is built")
    options = parser.parse_args()
    if not shutil.which("valgrind"):
        print("skipped: instructions are counted by valgrind, which is not installed")
        return 0
    program = options.skyhop or simulators.build_skyhop()
    bound = json.loads(BOUND.read_text())
    workload = HERE / bound["workload"]
    (short, hops_short), (long, hops_long) = (measure(program, workload, bound[key]) for key in ("from_s", "to_s"))
    found = (long - short) / (hops_long - hops_short)
    known, tolerance = bound["instructions_per_packet_hop"], bound["tolerance"]
    if options.renew:
        bound["instructions_per_packet_hop"] = round(found, 1)
        BOUND.write_text(json.dumps(bound, indent=2) + "\n")
        print(f"{found:.1f} instructions per packet-hop: the new bound")
        return 0
    print(f"{found:.1f} instructions per packet-hop; {known} are known, {known * (1 + tolerance):.1f} are allowed")
    if found > known * (1 + tolerance):
        print("More than allowed. Where they go: callgrind_annotate; a slower engine needs a reason and --renew.")
        return 1
    if found < known * (1 - tolerance):
        print("Fewer than known: --renew keeps the gain.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
