"""Makes the folder of runs that the page's tests look at, as a user does: by running the Iridium study, with one seed.

Usage: python make_runs.py FOLDER
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from pathlib import Path

from skyhop import cli

NAME = "iridium-vegas-reno-bic"
SEEDS = re.compile(r"^seeds = \[1,[ \d,]*\]$", re.MULTILINE)


def main(folder: Path) -> None:
    """Runs the study with its report, its run folders and its shelf of finished runs below the folder."""
    source = Path(__file__).resolve().parents[2] / "studies" / NAME
    with tempfile.TemporaryDirectory() as studies:
        copy = shutil.copytree(source, Path(studies) / NAME)
        definition = copy / "study.toml"
        text = definition.read_text(encoding="utf-8")
        # The page shows the runs of the first seed; the others are there for the intervals.
        text, count = SEEDS.subn("seeds = [1]", text)
        assert count > 0, f"{definition} has no line {SEEDS.pattern}"
        definition.write_text(text, encoding="utf-8")
        # Half of the time would go into figures that the page does not show.
        (copy / "plots.py").unlink()
        arguments = ["study", "run", NAME, "--studies", studies]
        try:
            cli.app([*arguments, "--out", str(folder / NAME), "--keep", str(folder / "kept")])
        except SystemExit:
            # Whether the study's texts say what it gives is judged by its own tests. The page needs runs and results.
            if not (folder / NAME / "results.csv").is_file():
                raise
            raise SystemExit(0) from None


if __name__ == "__main__":
    main(Path(sys.argv[1]))
