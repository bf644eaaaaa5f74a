"""Runs ns-3's queue disciplines before a link with TCP flows and writes `runs.csv`: `python make.py`.

Needs Debian's libns3-dev and g++. `cases.csv` says what is run and beside which queue of ours the result stands.
"""

from __future__ import annotations

import csv
import json
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
MODULES = ("applications", "internet", "network", "point-to-point", "traffic-control", "core")
COMMON = {"rate_bps": 10_000_000, "delay_s": 0.05, "mss": 1460, "duration": 100}
SEEDS = range(1, 4)
SPREAD_S, SPREAD_STEP_S = 5.0, 0.13
"""The flows of seed s start over 5 s and 0.13 s more for each seed: most disciplines draw no random numbers."""
COLUMNS = [
    "case",
    "seed",
    "spread_s",
    "sent",
    "dropped",
    "dropped_later",
    "median_ms",
    "p95_ms",
    "sparse_p95_ms",
    "goodput_bps",
]


def main() -> None:
    """Compiles `queues.cc` and runs every case with every seed."""
    with (HERE / "cases.csv").open(newline="", encoding="utf-8") as file:
        cases = list(csv.DictReader(file))
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "queues"
        libraries = [f"-lns3-{module}" for module in MODULES]
        subprocess.run(["g++", "-std=c++17", "-O2", "-o", program, HERE / "queues.cc", *libraries], check=True)
        rows = [run(program, case, seed) for case in cases for seed in SEEDS]
    with (HERE / "runs.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def run(program: Path, case: dict[str, str], seed: int) -> dict[str, object]:
    """One run of one case."""
    spread = round(SPREAD_S + SPREAD_STEP_S * (seed - 1), 2)
    told = {
        "disc": case["disc"],
        "set": case["set"],
        "tcp": case["tcp"],
        "flows": case["flows"],
        "sparse": case["sparse"],
        **COMMON,
        "spread": spread,
        "seed": seed,
    }
    command = [str(program), *(f"{key}={value}" for key, value in told.items())]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return {"case": case["case"], "seed": seed, "spread_s": spread, **found}


if __name__ == "__main__":
    main()
