"""Checks of scenarios, in processes of their own: a text that takes too much memory or time harms nobody else.

As a program (`python -m skyhop.server.checks BYTES CATALOGUES`) it reads a JSON text per line from stdin and writes the
verdict on it as a JSON object per line to stdout.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skyhop import _core
from skyhop.server import limits, process

#: A verdict holds at most a hundred problems; each may quote a name.
_LONGEST_ANSWER = 16_000_000


@dataclass(frozen=True)
class CheckLimits:
    """What checks may use."""

    at_once: int = 2
    seconds: float = 20.0
    memory: int = 10**9


def check(text: str, catalogues: str | None = None) -> dict[str, Any]:
    """The problems of a scenario, or its duration and hash. It may name no file but the catalogues."""
    try:
        scenario = read(text, catalogues)
    except _core.ScenarioError as error:
        return {"ok": False, "diagnostics": [dict(one) for one in error.diagnostics]}
    return {"ok": True, "diagnostics": [], "duration_s": scenario.duration_s, "hash": scenario.hash}


def read(text: str, catalogues: str | None = None) -> _core.Scenario:
    """The scenario of a text from the page. Raises ScenarioError.

    It may name the files of the folder `catalogues`, without the folder, and no others. The process moves there.
    Where the server was started with `--python-controls`, it may also name classes in the Python files of that folder,
    and with `--plugin-controls` the libraries of that one.
    """
    files: list[str | Path] = []
    for variable, patterns in ((PYTHON_CONTROLS, ("*.py",)), (PLUGIN_CONTROLS, ("*.so", "*.dylib"))):
        if folder := os.environ.get(variable):
            files += sorted(file for pattern in patterns for file in Path(folder).glob(pattern))
    if catalogues is not None and os.path.isdir(catalogues):
        os.chdir(catalogues)
        files.append(catalogues)
    return _core.Scenario.from_toml(text, origin="scenario", files=files)


#: The folder of controls in Python that scenarios from the page may run; without it they run no code. An environment
#: variable, because the processes that check and run scenarios are others than the server's.
PYTHON_CONTROLS = "SKYHOP_PYTHON_CONTROLS"
#: The same for controls from shared libraries.
PLUGIN_CONTROLS = "SKYHOP_PLUGIN_CONTROLS"


class Checks:
    """Processes that check, as many as there are checks at once; each is kept for the next check."""

    def __init__(self, given: CheckLimits | None = None, catalogues: Path | None = None) -> None:
        self._catalogues = str(catalogues) if catalogues is not None else ""
        self._limits = given or CheckLimits()
        self._slots = asyncio.Semaphore(self._limits.at_once)
        self._idle: list[asyncio.subprocess.Process] = []

    async def check(self, text: str) -> dict[str, Any]:
        """What `check` says, or that the check itself took too much."""
        async with self._slots:
            worker = await self._worker()
            verdict = None
            try:
                verdict = await asyncio.wait_for(self._ask(worker, text), self._limits.seconds)
                return verdict if verdict is not None else await self._why_none(worker)
            except asyncio.TimeoutError:
                return _nowhere(f"checking the scenario took longer than {self._limits.seconds:g} s and was ended")
            finally:
                if verdict is not None:
                    self._idle.append(worker)
                else:
                    await process.ended(worker)

    async def close(self) -> None:
        """Ends all processes."""
        while self._idle:
            await process.ended(self._idle.pop())

    async def _worker(self) -> asyncio.subprocess.Process:
        while self._idle:
            worker = self._idle.pop()
            if worker.returncode is None:
                return worker
            await process.ended(worker)
        asked = (str(self._limits.memory), self._catalogues)
        return await process.start("skyhop.server.checks", *asked, longest_line=_LONGEST_ANSWER)

    async def _ask(self, worker: asyncio.subprocess.Process, text: str) -> dict[str, Any] | None:
        """The verdict; nothing when the process ended instead."""
        assert worker.stdin and worker.stdout
        with suppress(ConnectionError):
            worker.stdin.write((json.dumps(text) + "\n").encode())
            await worker.stdin.drain()
        answer = await worker.stdout.readline()
        verdict: dict[str, Any] | None = json.loads(answer) if answer.endswith(b"\n") else None
        return verdict

    async def _why_none(self, worker: asyncio.subprocess.Process) -> dict[str, Any]:
        assert worker.stderr
        errors = await process.tail(worker.stderr)
        if limits.lacked_memory(errors):
            return _nowhere(f"checking the scenario needs more than {limits.gigabytes(self._limits.memory)} of memory")
        return _nowhere(limits.what_happened(await worker.wait(), errors, self._limits.memory))


def _nowhere(message: str) -> dict[str, Any]:
    """The verdict of a check that came to none."""
    problem = {"file": "scenario", "line": None, "column": None, "path": "", "message": message, "help": None}
    return {"ok": False, "diagnostics": [problem]}


def main() -> None:
    """Checks what stdin says until it ends."""
    limits.limit_memory(int(sys.argv[1]))
    catalogues = sys.argv[2] or None
    for line in sys.stdin:
        sys.stdout.write(json.dumps(check(json.loads(line), catalogues)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
