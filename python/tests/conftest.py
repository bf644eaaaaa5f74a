"""Scenarios that several tests share."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

# Tests run side by side. Several threads for small matrices then wait for each other: seven times as long.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# glibc gives the memory of an array of some 100 kB back to the system when it is freed, and fetches it again for the
# next one: 3 to 9 % of the time of a round of a fit, which uses most of its arrays again. -3 is M_MMAP_THRESHOLD and -1
# M_TRIM_THRESHOLD; other C libraries have no mallopt.
if hasattr(ctypes.CDLL(None), "mallopt"):
    for option in (-3, -1):
        ctypes.CDLL(None).mallopt(option, 32 << 20)

ROOT = Path(__file__).resolve().parents[2]
STUDY = ROOT / "studies" / "iridium-vegas-reno-bic"


@functools.cache
def program_group() -> Any:
    """All commands; `cli.app` builds them anew in each call, which takes longer than most calls in tests."""
    import typer

    from skyhop import cli

    return typer.main.get_command(cli.app)


def in_process(*arguments: str) -> tuple[int, str, str]:
    """Exit code, output and errors of the program in this process: what it does not answer itself is raised."""
    from skyhop import program

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["skyhop", *arguments])
        code = program._guarded(program_group())
    return code, out.getvalue(), err.getvalue()


#: A study of one metric over one axis, without sources.
TWO_QUEUES = """\
title = "Two queues"
question = "Does a longer queue delay packets?"
paper = "Nobody"
seeds = [1]
[axes.queue]
label = "queue"
key = "links[0].queue.drop_tail.packets"
values = ["5", "40"]
[metrics.delay]
label = "Delay"
unit = "ms"
table = "flows"
column = "delay_mean_s"
reduce = "mean"
scale = 1e3
"""

DUMBBELL = """\
duration = "20 s"
profile = "rfc"

[records]
grid = "500 ms"

[[links]]
between = ["left", "right"]
rate = "2 Mbit/s"
delay = "50 ms"
queue = { drop_tail = { packets = 20 } }

[[flows]]
name = "a"
from = "left"
to = "right"
access = { rate = "10 Mbit/s", delay = "1 ms" }
tcp = "newreno"
application = "ftp"

[[flows]]
name = "b"
from = "left"
to = "right"
access = { rate = "10 Mbit/s", delay = "2 ms" }
tcp = "reno"
application = "ftp"
start = "1 s"
"""


@pytest.fixture
def dumbbell(tmp_path: Path) -> Path:
    """A scenario file with two TCP flows over one bottleneck."""
    path = tmp_path / "dumbbell.toml"
    path.write_text(DUMBBELL, encoding="utf-8")
    return path


class Skyhop:
    """The program, run in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-W", "error", "-m", "skyhop", *map(str, arguments)],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=120,
            env=os.environ | {"COLUMNS": "120"},
            check=False,
        )

    def here(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """The same in this process: a new one takes half a second for its imports, longer than most commands."""
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(self.folder)
            patch.setenv("COLUMNS", "120")
            return subprocess.CompletedProcess(arguments, *in_process(*map(str, arguments)))

    def written(self) -> list[str]:
        """Everything below the folder, the fixture's own files left out."""
        return sorted(
            str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.suffix not in (".toml",)
        )


@pytest.fixture
def skyhop_program(tmp_path: Path) -> Skyhop:
    """Runs the command line in a temporary folder."""
    return Skyhop(tmp_path)
