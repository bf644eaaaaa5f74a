"""Runs every check and says at the end how many passed, failed and were skipped.

All of them run even when one fails. `--static` leaves out the tests proper, and takes a build for granted. In
continuous integration (CI is set) published advisories are looked up, too. Lanes run side by side, because each leaves
one of two cores idle most of the time: `make build` with the tests in Python, those of fits, those in Rust with their
build, and everything else. Rust's tests are built first, because they can run while the module is built; that leaves
one core idle for more than a minute at its end. The output of a step appears when it ends. The variable FEATURES
("noq,picoquic") names QUIC stacks beside quinn. Without it: as `make build` has it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import picoquic
import pyo3

ROOT = Path(__file__).resolve().parents[2]
PYTHON = sys.executable


class Count(NamedTuple):
    """What a step came to."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def cargo_count(output: str, code: int) -> Count:
    """Sums the summary lines of all test binaries; a build that fails is one failure.

    Rust's tests cannot say that they were skipped. One that lacks what it needs passes, and says so on a line that
    begins with `skipped: `: it is counted as skipped.
    """
    found = re.findall(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", output, re.MULTILINE)
    passed, failed, ignored = (sum(int(one[place]) for one in found) for place in range(3))
    early = len(re.findall(r"^skipped: ", output, re.MULTILINE))
    return Count(passed - early, failed or int(code != 0), ignored + early)


def pytest_count(output: str, code: int) -> Count:
    """Reads the last line: "3 failed, 40 passed, 2 skipped, 1 error in 5.0s"."""
    last = output.strip().splitlines()[-1] if output.strip() else ""
    number = {word: int(count) for count, word in re.findall(r"(\d+) (passed|failed|errors?|skipped|xfailed)", last)}
    failed = number.get("failed", 0) + number.get("error", 0) + number.get("errors", 0)
    skipped = number.get("skipped", 0) + number.get("xfailed", 0)
    return Count(number.get("passed", 0), failed or int(code != 0), skipped)


def node_count(output: str, code: int) -> Count:
    """Reads the summary of node's test runner: "# pass 20", "# fail 1", "# cancelled 2", "# skipped 5".

    Tests are cancelled when what they need could not be made.
    """
    words = "pass|fail|cancelled|skipped"
    number = {word: int(count) for word, count in re.findall(rf"^# ({words}) (\d+)$", output, re.MULTILINE)}
    failed = number.get("fail", 0) + number.get("cancelled", 0)
    return Count(number.get("pass", 0), failed or int(code != 0), number.get("skipped", 0))


def own_count(output: str, code: int) -> Count:
    """Reads the last line of a tool of ours: "3 passed, 0 failed, 1 skipped"."""
    found = re.search(r"(\d+) passed, (\d+) failed, (\d+) skipped\s*\Z", output)
    if found is None:
        return Count(failed=1)
    passed, failed, skipped = (int(one) for one in found.groups())
    return Count(passed, failed or int(code != 0), skipped)


def made(_output: str, code: int) -> Count:
    """A step that only makes what others need does not count as a check."""
    return Count(failed=int(code != 0))


def one_check(_output: str, code: int) -> Count:
    """A tool that is content or not."""
    return Count(passed=1) if code == 0 else Count(failed=1)


def compiled_count(output: str, code: int) -> Count:
    """Counts tests that were compiled with clippy and, if they were, its verdict as one more: no warning at all."""
    tests = cargo_count(output, code)
    if not tests.passed:
        return tests
    if not HAS_CLIPPY:
        return tests._replace(skipped=tests.skipped + 1)
    warned = re.search(r"^warning(\[|:)", output, re.MULTILINE) is not None
    return tests._replace(passed=tests.passed + (not warned), failed=tests.failed + warned)


Step = tuple[str, list[str], Callable[[str, int], Count]]


class Stage:
    """What a step makes and steps of other lanes need."""

    def __init__(self, step: Step) -> None:
        self.step = step
        self._ended = threading.Event()
        self._is_made = False

    def make(self) -> Count:
        """Runs the step."""
        try:
            count = run(*self.step, live=False)
            self._is_made = count.failed == 0
            return count
        finally:
            self._ended.set()

    def is_made(self) -> bool:
        """Waits for the end of the step."""
        self._ended.wait()
        return self._is_made


class After(NamedTuple):
    """Steps that need a stage, which the same lane makes before them or another lane makes."""

    stage: Stage
    steps: list[Step]


def features() -> list[str]:
    """Arguments of cargo for the optional parts that FEATURES names."""
    names = picoquic.features(os.environ.get("FEATURES", "default"))
    return ["--features", ",".join(f"skyhop-python/{name}" for name in names)] if names else []


DEPENDENCIES = [PYTHON, "python/tools/dependencies.py"]
STATIC: list[Step] = [
    ("format (Rust)", ["cargo", "fmt", "--all", "--check"], one_check),
    ("format (Python)", [PYTHON, "-m", "ruff", "format", "--check", "python", "studies"], one_check),
    ("lint (Python)", [PYTHON, "-m", "ruff", "check", "python", "studies"], one_check),
    ("types (Python)", [PYTHON, "-m", "mypy", "python/skyhop", "python/tools"], one_check),
    # `make page` checks types, too, but only when it builds.
    ("types (page)", ["npm", "--prefix", "web", "run", "--silent", "check"], one_check),
    ("prose", [PYTHON, "python/tools/prose.py"], own_count),
    ("dependencies: used", [*DEPENDENCIES, "unused"], own_count),
    ("dependencies: locked", [*DEPENDENCIES, "lock"], own_count),
    ("dependencies: licences", [*DEPENDENCIES, "licences"], own_count),
]
#: Needs the module.
STUBS: list[Step] = [("stubs", [PYTHON, "python/tools/stubs.py"], one_check)]
#: All crates, with the profile whose dependencies are those of the module (Cargo.toml): each is compiled once.
CRATES = ["--profile", "bench", "--workspace", "--locked", *features()]
#: For those who want no tests. It compiles all dependencies as far as their types, which takes some three minutes.
COMPILER: list[Step] = [
    (
        "lint (Rust)",
        ["cargo", "clippy", "--quiet", "--all-targets", *CRATES, "--", "-D", "warnings"],
        one_check,
    ),
    (
        "documents (Rust)",
        # The dependencies are those of the lint, which are compiled by now.
        ["cargo", "doc", "--quiet", "--no-deps", *CRATES, "--config", 'build.rustdocflags = ["-D", "warnings"]'],
        one_check,
    ),
]
ADVISORIES: list[Step] = [("dependencies: advisories", [*DEPENDENCIES, "advisories"], own_count)]


def has_clippy() -> bool:
    """Whether clippy can compile. rustup has a program of that name even where the component is not installed."""
    if shutil.which("clippy-driver") is None:
        return False
    return subprocess.run(["clippy-driver", "--version"], capture_output=True, check=False).returncode == 0


HAS_CLIPPY = has_clippy()
#: Clippy compiles the crates for the tests, and looks at them meanwhile: that takes a fifth of the time of `cargo
#: clippy`, which compiles the dependencies for it. documents.py does the same for rustdoc.
COMPILERS = {
    "RUSTDOC": str(ROOT / "python/tools/documents.py"),
    **({"RUSTC_WORKSPACE_WRAPPER": "clippy-driver"} if HAS_CLIPPY else {}),
}
RUST: list[Step] = [
    ("tests, lint, documents (Rust)", ["cargo", "test", "--no-fail-fast", *CRATES], compiled_count),
]
#: These wait for servers, disks and other processes most of the time, so they have a lane of their own.
WAITING = [f"python/tests/{name}" for name in ("test_serve*.py", "test_folders.py", "test_spreading.py")]
#: These run a program that the build of Rust's tests makes, so they come after it. Beside it they would wait minutes
#: for cargo's lock.
ORACLE = ["python/tests/test_sky_oracle.py"]
#: More than half of the processor's time of all tests in Python. In a lane of their own they do not leave a core idle
#: when all others have ended.
FITS = ["python/tests/test_starlink*.py"]
PYTEST = [PYTHON, "-m", "pytest", "--quiet", "--durations=10"]
PYTHON_TESTS: list[Step] = [
    (
        "tests (Python)",
        [*PYTEST, *(f"--ignore-glob={ROOT / files}" for files in [*WAITING, *ORACLE, *FITS])],
        pytest_count,
    )
]
ORACLE_TESTS: list[Step] = [("tests (Python: positions and routes in Rust)", [*PYTEST, *ORACLE], pytest_count)]


def files_of(patterns: list[str]) -> list[str]:
    """Files of the project that match."""
    return [str(file) for pattern in patterns for file in sorted(ROOT.glob(pattern))]


#: Steps that compile crates for tests. With other compilers cargo would compile them again.
COMPILING = {name for name, *_ in [*RUST, *ORACLE_TESTS]}
PROCESSES: list[Step] = [("tests (Python: server, folders, processes)", [*PYTEST, *files_of(WAITING)], pytest_count)]
FIT_TESTS: list[Step] = [("tests (Python: fits of Starlink)", [*PYTEST, *files_of(FITS)], pytest_count)]
PAGE: list[Step] = [("tests (page)", ["node", "--test", "--test-reporter=tap", "tests/page"], node_count)]
MAKE = ["make", "--no-print-directory"]


def run(name: str, command: list[str], count: Callable[[str, int], Count], *, live: bool = True) -> Count:
    """Runs one command and counts; shows what it writes as it comes, or all of it at the end."""
    title = f"\n== {name}: {' '.join(command)}"
    if live:
        print(title, flush=True)
    if shutil.which(command[0]) is None:
        print(f"skipped: there is no {command[0]} here", flush=True)
        return Count(skipped=1)
    begin = time.monotonic()
    lines = []
    # The page's tests start a server with this Python.
    environment = {**os.environ, "SKYHOP_PYTHON": PYTHON, **(COMPILERS if name in COMPILING else {})}
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if live:
                print(line, end="", flush=True)
            lines.append(line)
    output = "".join(lines)
    found = count(output, process.returncode)
    before = "" if live else f"{title}\n{output}"
    print(f"{before}== {name}: {found}, {time.monotonic() - begin:.0f} s", flush=True)
    return found


def in_turn(lane: list[Step | Stage | After]) -> list[Count]:
    """Runs the steps of a lane; those whose stage failed are left out, which is said."""
    counts = []
    for one in lane:
        if isinstance(one, Stage):
            counts.append(one.make())
        elif not isinstance(one, After):
            counts.append(run(*one, live=False))
        elif one.stage.is_made():
            counts += [run(*step, live=False) for step in one.steps]
        else:
            names = ", ".join(name for name, *_ in one.steps)
            print(f"\n== not run without {one.stage.step[0]}: {names}", flush=True)
            counts.append(Count(failed=len(one.steps)))
    return counts


def side_by_side(*lanes: list[Step | Stage | After]) -> list[Count]:
    """Runs lanes at the same time, the steps of each one after the other."""
    with ThreadPoolExecutor(len(lanes)) as pool:
        return [count for lane in pool.map(in_turn, lanes) for count in lane]


def main() -> int:
    """Exit code 1 when anything failed."""
    # The module that the tests of Rust compile has the pyo3 of the module that `make build` makes.
    os.environ.update(pyo3.variables())
    # Hundreds of tests start the program. Without kept bytecode each of them compiles the package.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    steps = [*STATIC, *(ADVISORIES if os.environ.get("CI") else [])]
    if "--static" in sys.argv[1:]:
        counts = [run(*step) for step in [*steps, *STUBS, *COMPILER]]
    else:
        if not HAS_CLIPPY:
            print("skipped: the lint of Rust: there is no clippy here (rustup component add clippy)", flush=True)
        packages = Stage(("packages", [*MAKE, "packages"], made))
        build = Stage(("build", [*MAKE, "build"], made))
        counts = side_by_side(
            [*RUST, After(build, ORACLE_TESTS)],
            [packages, build, After(build, PYTHON_TESTS)],
            [After(packages, steps), After(build, [*STUBS, *PAGE, *PROCESSES])],
            [After(build, FIT_TESTS)],
        )
    total = Count(*(sum(one) for one in zip(*counts, strict=True)))
    print(f"\n{total}")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
