"""Cuts the sample of this folder out of the full reference: `python cut.py ../../../../shared/reference/linux-queues`.

A cut case ends at a second of its own. The sample leaves out later packets; an earlier packet whose outcome came after
that second has none yet (verdict 9). Means over seeds describe whole cases and are left out.
"""

from __future__ import annotations

import csv
import gzip
import io
import sys
from pathlib import Path

HERE = Path(__file__).parent

# Seconds to keep; None keeps all. Each mechanism of the README's list happens in one of these.
CASES = {
    "codel_ties": None,
    "codel_reentry": None,
    "codel_cethresh": 1.0,
    "codel_outage": 5.0,
    "fqcodel_q300": 0.5,
    "fqcodel_outage": 7.5,
    "fqcodel_slow": None,
    "pie_ecn": 4.0,
    "pie_1m": 30.0,
    "dualpi2_mix": 3.0,
    "dualpi2_overflow": 4.0,
    "dualpi2_steppkt": 3.0,
    "dualpi2_early": 2.0,
    "red_ecn": 3.0,
    "red_adaptive": 4.0,
    "red_idle": None,
    "red_nodrop": 3.0,
    "tbf_peak": 4.0,
    "tbf_slow": 20.0,
    "sfq_40flows": 0.6,
    "sfq_headdrop": 3.0,
    "sfq_collide": 2.0,
    "drr_weights": 1.5,
    "prio_steps": 3.0,
    "fq_basic": 3.0,
    "fq_maxrate": 3.0,
    "fqpie_ecn": 3.0,
    "cake_besteffort": 4.0,
    "cake_memory": None,
    "cake_unlimited": 3.0,
}
# Columns of cases.csv that the comparison reads.
COLUMNS = ["case", "discipline", "note", "link_schedule", "end_ns", "parameters", "kernel_units", "random"]
NOT_YET = "9"


def main(full: Path) -> None:
    """Writes the sample beside this file."""
    with (full / "cases.csv").open(newline="") as file:
        rows = {row["case"]: row for row in csv.DictReader(file)}
    cut = {name: cut_case(full, rows[name], seconds) for name, seconds in CASES.items()}
    write(HERE / "cases.csv", COLUMNS, [[cut[name][column] for column in COLUMNS] for name in CASES])
    with (full / "red_tables.csv").open(newline="") as file:
        header, *tables = csv.reader(file)
    write(HERE / "red_tables.csv", header, [row for row in tables if row[0] in CASES])


def cut_case(full: Path, row: dict[str, str], seconds: float | None) -> dict[str, str]:
    """Writes the tables of one case up to its end and returns its row."""
    end = int(row["end_ns"]) if seconds is None else round(seconds * 1e9)
    arrivals, packets = [], []
    now = 0
    for arrival, packet in zip(read(full / row["arrivals_file"]), read(full / row["packets_file"]), strict=True):
        now += int(arrival["dt_ns"])
        if now > end:
            break
        arrivals.append(list(arrival.values()))
        came_true = packet["verdict"] != NOT_YET and now + int(packet["after_ns"]) <= end
        packets.append([packet["verdict"], packet["ce"], packet["after_ns"]] if came_true else [NOT_YET, 0, 0])
    write(HERE / f"{row['case']}.arrivals.csv.gz", ["dt_ns", "flow", "bytes", "ecn", "dscp"], arrivals)
    write(HERE / f"{row['case']}.packets.csv.gz", ["verdict", "ce", "after_ns"], packets)
    return {**row, "end_ns": str(end)}


def read(path: Path) -> csv.DictReader[str]:
    """The rows of a gzipped table."""
    return csv.DictReader(io.StringIO(gzip.decompress(path.read_bytes()).decode()))


def write(path: Path, header: list[str], rows: list[list[str]]) -> None:
    """A table, gzipped the same way every time."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    data = text.getvalue().encode()
    path.write_bytes(gzip.compress(data, compresslevel=9, mtime=0) if path.suffix == ".gz" else data)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
