"""What a process may use of this machine, and in words why one ended."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

from skyhop import _core

#: What this crate's engine and Python say on stderr when memory is refused, just before they end.
_WANT_OF_MEMORY = ("memory allocation of", "MemoryError", "Cannot allocate memory", "failed to spawn thread")

_OTHERS: dict[int, str] = {
    signal.SIGTERM: "something on this machine asked it to end",
    signal.SIGINT: "Ctrl-C ended it",
    signal.SIGHUP: "its terminal was closed",
    signal.SIGKILL: "something on this machine ended it, most likely the system for want of memory",
    signal.SIGXCPU: "it used all the time on processors that the system allows",
    signal.SIGXFSZ: "it wrote a file larger than the system allows",
}


def default_memory() -> int:
    """Bytes that one run may use: what SKYHOP_MEMORY says, else 4 GB, or a third of what there is where that is less.

    Two run at once, and something has to be left. Raises ValueError where SKYHOP_MEMORY is not a size.
    """
    limit = _core.memory_limit()
    return limit if "SKYHOP_MEMORY" in os.environ else min(4 * 10**9, 2 * limit // 3)


def limit_memory(more: int) -> None:
    """Lets this process use `more` bytes beyond what it has. Where the system knows no such limit, there is none."""
    try:
        import resource
    except ImportError:
        return
    limit = _address_space() + more
    if limit >= 2**62:
        # "none".
        return
    with suppress(ValueError, OSError):
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (limit if hard < 0 else min(limit, hard), hard))
    with suppress(ValueError, OSError):
        # A process that breaks off leaves no file of its memory.
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def allow_files(wanted: int) -> None:
    """Lets this process have so many files and connections open, as far as the system does: macOS begins with 256."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if 0 <= soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted if hard < 0 else min(wanted, hard), hard))


def _address_space() -> int:
    """Bytes of addresses that this process has; libraries reserve more than they use."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def gigabytes(size: int) -> str:
    """A size as people write it."""
    return f"{size / 1e9:.3g} GB" if size >= 10**9 else f"{size / 1e6:.3g} MB"


def needs_more(size: int) -> str:
    """What a run is told that reached its limit."""
    return (
        f"The run needed more than {gigabytes(size)} of memory, the limit for a run from the page, and was ended. "
        "Fewer flows, a shorter run or a coarser [records] need less; `skyhop serve --memory SIZE` sets the limit."
    )


def lacked_memory(errors: str) -> bool:
    """Whether the last words of a process say that it was refused memory."""
    return any(words in errors for words in _WANT_OF_MEMORY)


def what_happened(code: int, errors: str, memory: int) -> str:
    """Why a process ended that said nothing about it: from its exit code and the end of its stderr."""
    if lacked_memory(errors):
        return needs_more(memory)
    lines = errors.strip().splitlines()
    last = lines[-1].strip() if lines else ""
    if code >= 0:
        return f"The run broke off: {last or f'its process ended with code {code} and gave no reason'}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    if -code in _OTHERS:
        return f"The run's process did not end by itself: {_OTHERS[-code]} ({name})."
    said = f": {last}" if last else ""
    return f"The engine broke off ({name}){said}. That is a mistake of Skyhop, not of the scenario."
