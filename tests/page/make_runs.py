"""Makes the folder of runs that the page's tests look at, as a user does: by running the Iridium study.

Usage: python make_runs.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

from skyhop import cli

NAME = "iridium-vegas-reno-bic"


def main(folder: Path) -> None:
    """Runs the study with its report, its run folders and its shelf of finished runs below the folder."""
    studies = Path(__file__).resolve().parents[2] / "studies"
    arguments = ["study", "run", NAME, "--studies", str(studies)]
    try:
        cli.app([*arguments, "--out", str(folder / NAME), "--keep", str(folder / "kept")])
    except SystemExit:
        # Whether the study's texts say what it gives is judged by its own tests. The page needs runs and results.
        if not (folder / NAME / "results.csv").is_file():
            raise
        raise SystemExit(0) from None


if __name__ == "__main__":
    main(Path(sys.argv[1]))
