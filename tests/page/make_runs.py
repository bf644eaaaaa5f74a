"""Makes the folder of runs that the page's tests look at: the Iridium study's, without its figures.

Usage: python make_runs.py FOLDER
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from skyhop import matrix, study

NAME = "iridium-vegas-reno-bic"


def main(folder: Path) -> None:
    """Runs the study and writes what its page needs."""
    root = Path(__file__).resolve().parents[2]
    outcome = matrix.run_study(study.load(root / "studies" / NAME))
    target = folder / NAME
    for sample in outcome.samples:
        sample.run.write(target / "runs" / f"{sample.cell.folder},seed={sample.seed}")
    with (target / "results.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(outcome.results_table.columns)
        writer.writerows(outcome.results_table.iter_rows())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
