"""Cuts the sample of this folder out of the full reference: `python cut.py FOLDER`.

FOLDER is `../../../../shared/reference/linux-reactions` from here.

Cases are taken whole. Each mechanism of the reference's README happens in one of them.
"""

from __future__ import annotations

import csv
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent

CASES = (
    "ackloss-sat-cubic", "applim-3x50-reno", "backoff-sat-reno", "backoff-acks-cubic", "delack-tail-cubic",
    "delack-loss-cubic", "delack-one-reno", "delack-noread-cubic", "dup-one-cubic", "ecn-iw-cubic",
    "ecn-lossfirst-reno", "finite-11-cubic", "finite-bbr-bbr", "frto-step-cubic", "frto-realts0-reno",
    "handover-sat-cubic", "hystart-20x10-cubic", "idle-sat-reno", "loss1-mid-cubic", "loss1-mid-reno",
    "lossn-headtail-cubic", "lossn-alt-reno", "lostrtx-short-reno", "lostrtx-twice-cubic", "nagle-1000-reno",
    "nagle-nodelay700-cubic", "nosack-five-reno", "nosack-reord-reno", "prr-applim-cubic", "queue-q12-cubic",
    "reord-by10-reno", "reord-block-cubic", "rtt-20-600-reno", "rwnd-stock-reno", "rwnd-w16loss-cubic",
    "rwnd-w64loss-cubic", "rwnd-zero-cubic", "rwnd-zeroloss-cubic", "small-3of2-reno", "small-limtx-cubic",
    "syn-syn2-cubic", "tail-last1-reno", "tail-probe2-cubic", "undo-dsackrtt-cubic", "undo-none-cubic",
)  # fmt: skip
FILES = ("packets", "cwnd")


def main(full: Path) -> None:
    """Writes the sample beside this file."""
    with (full / "cases.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    wanted = {row[0]: row for row in rows}
    with (HERE / "cases.csv").open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *(wanted[name] for name in CASES)])
    for name in CASES:
        for part in FILES:
            shutil.copyfile(full / f"{name}.{part}.csv.gz", HERE / f"{name}.{part}.csv.gz")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
