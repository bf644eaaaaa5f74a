"""Processes of this package: how they are started, followed and ended."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from pathlib import Path

import skyhop

#: `python -m` looks for modules in the current folder first, where anybody's `json.py` may lie. This folder is on the
#: path of the modules anyway.
_FOLDER = Path(skyhop.__file__).resolve().parents[1]


async def start(module: str, *arguments: str, longest_line: int) -> asyncio.subprocess.Process:
    """Starts a module of this package with pipes to it."""
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, *arguments, cwd=_FOLDER, limit=longest_line,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip


def kill(process: asyncio.subprocess.Process) -> None:
    """Ends a process that runs."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()


async def ended(process: asyncio.subprocess.Process) -> None:
    """Ends a process that did not end by itself, and waits until it is gone with all its pipes."""
    kill(process)
    if process.stdin is not None:
        process.stdin.close()
    await process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            with suppress(ValueError):
                while await stream.read(65536):
                    pass


async def tail(stream: asyncio.StreamReader) -> str:
    """The end of what a process says; the rest is read and forgotten, so that it never waits for us."""
    text = b""
    while chunk := await stream.read(65536):
        text = (text + chunk)[-4000:]
    return text.decode("utf-8", errors="replace")
