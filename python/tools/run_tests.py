"""Runs every check one after the other and says at the end how many passed and how many failed.

All of them run even when one fails. `--static` leaves out the tests proper.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = sys.executable

Count = tuple[int, int]


def cargo_count(output: str, code: int) -> Count:
    """Sums the summary lines of all test binaries; a build that fails is one failure."""
    found = re.findall(r"^test result: \w+\. (\d+) passed; (\d+) failed", output, re.MULTILINE)
    passed, failed = sum(int(one) for one, _ in found), sum(int(one) for _, one in found)
    return passed, failed or int(code != 0)


def pytest_count(output: str, code: int) -> Count:
    """Reads the last line: "3 failed, 40 passed, 1 error in 5.0s"."""
    last = output.strip().splitlines()[-1] if output.strip() else ""
    number = {word: int(count) for count, word in re.findall(r"(\d+) (passed|failed|errors?)", last)}
    failed = number.get("failed", 0) + number.get("error", 0) + number.get("errors", 0)
    return number.get("passed", 0), failed or int(code != 0)


def one_check(_output: str, code: int) -> Count:
    """A tool that is content or not."""
    return (1, 0) if code == 0 else (0, 1)


STATIC: list[tuple[str, list[str], Callable[[str, int], Count]]] = [
    ("format (Rust)", ["cargo", "fmt", "--all", "--check"], one_check),
    ("format (Python)", [PYTHON, "-m", "ruff", "format", "--check", "python", "studies"], one_check),
    ("lint (Python)", [PYTHON, "-m", "ruff", "check", "python", "studies"], one_check),
    ("types (Python)", [PYTHON, "-m", "mypy", "python/skyhop", "python/tools"], one_check),
    ("stubs", [PYTHON, "-m", "mypy.stubtest", "skyhop._core"], one_check),
]
TESTS: list[tuple[str, list[str], Callable[[str, int], Count]]] = [
    ("tests (Rust)", ["cargo", "test", "--workspace", "--locked", "--no-fail-fast"], cargo_count),
    ("tests (Python)", [PYTHON, "-m", "pytest", "--quiet"], pytest_count),
]


def run(name: str, command: list[str], count: Callable[[str, int], Count]) -> Count:
    """Runs one command, shows what it writes as it comes, and counts."""
    print(f"\n== {name}: {' '.join(command)}", flush=True)
    begin = time.monotonic()
    lines = []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    passed, failed = count("".join(lines), process.returncode)
    print(f"== {name}: {passed} passed, {failed} failed, {time.monotonic() - begin:.0f} s", flush=True)
    return passed, failed


def main() -> int:
    """Exit code 1 when anything failed."""
    steps = STATIC if "--static" in sys.argv[1:] else [*STATIC, *TESTS]
    counts = [run(*step) for step in steps]
    passed, failed = sum(one for one, _ in counts), sum(one for _, one in counts)
    print(f"\n{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
