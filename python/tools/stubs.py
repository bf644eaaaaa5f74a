"""Holds the stub of the compiled module to what the module has: `python python/tools/stubs.py`.

mypy's stubtest reads the package around a stub, too, and so Polars, Matplotlib and NumPy: four fifths of its time. The
stub imports none of these, so it is looked at in a package that has nothing else.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

STUB = Path(__file__).resolve().parents[1] / "skyhop/_core.pyi"


def main() -> int:
    """The exit code of stubtest."""
    with tempfile.TemporaryDirectory() as folder:
        alone = Path(folder) / "skyhop"
        alone.mkdir()
        (alone / "__init__.pyi").touch()
        shutil.copy(STUB, alone)
        command = [sys.executable, "-m", "mypy.stubtest", "skyhop._core"]
        return subprocess.run(command, env={**os.environ, "MYPYPATH": folder}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
