"""The program `skyhop`: its beginning and its end, around whatever a command does.

Nothing heavy is imported before Ctrl-C is looked after. What a command does not answer itself becomes a message and an
exit code here: no traceback for a full disk, a folder in place of a file, a reader that went away.
"""

from __future__ import annotations

import os
import signal
import sys

# The code below must import almost nothing: until `main` has run a Ctrl-C shows where the interpreter was.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Exit codes beside 0.
FAILED = 1
USAGE = 2
INTERRUPTED = 130

#: The input names something that is not what it has to be; every other error of the file system is a failure.
_INPUT = (FileExistsError, FileNotFoundError, IsADirectoryError, NotADirectoryError)


def main() -> None:
    """Runs the command that the arguments name."""
    # While the commands are imported nothing is begun, so nothing has to be ended.
    signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    _open_streams()
    from skyhop import cli

    signal.signal(signal.SIGINT, signal.default_int_handler)
    code = _guarded(cli.app)
    if code == INTERRUPTED:
        # Python ends by the signal itself, whatever the code, if it came while Python evaluated a text (of an
        # annotation, of a dataclass).
        os._exit(code)
    sys.exit(code)


def _guarded(app: Any) -> int:
    """The exit code of the command."""
    import re

    code = 0
    for argument in sys.argv[1:]:
        if argument == "" or re.fullmatch("--[a-z0-9-]+=", argument):
            # As a path it would mean the current folder; most likely a variable of the shell is not set.
            return _say(f"{argument or 'an argument'} is empty: give a value or leave it out", USAGE)
    try:
        try:
            app()
        except SystemExit as end:
            # Whoever gives a text instead of a code wants it said.
            code = end.code if isinstance(end.code, int) else FAILED if end.code else 0
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        code = FAILED
    except UnicodeEncodeError as error:
        code = _say(f"not UTF-8, and not the name of a file: {error.object!a}", USAGE)
    except _control_error() as error:
        import traceback

        # The user's own lines are what helps; those of Skyhop are not.
        if error.__cause__ is not None:
            traceback.print_exception(error.__cause__, file=sys.stderr)
        code = _say(str(error), FAILED)
    except MemoryError as error:
        code = _say(str(error) or "there is not enough memory", FAILED)
    except OSError as error:
        from skyhop.folders import said

        where = "the output cannot be written: " if error.filename is None and error.strerror is not None else ""
        code = _say(f"{where}{said(error)}", USAGE if isinstance(error, _INPUT) else FAILED)
    _silence(sys.stdout, 1)
    _silence(sys.stderr, 2)
    return code


def _control_error() -> type[Exception]:
    """The exception of a control in Python. Asked for when something was raised: the import takes time."""
    from skyhop._core import ControlError

    return ControlError


def _say(message: str, code: int) -> int:
    from contextlib import suppress

    with suppress(OSError):
        print(message, file=sys.stderr, flush=True)
    return code


def _open_streams() -> None:
    """Standard streams that are closed would become the first files that are opened; names may be no text."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        # A file name that is not UTF-8, a terminal that is not, are shown with escapes.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _silence(stream: Any, number: int) -> None:
    """What could not be written is not tried again when the interpreter ends."""
    try:
        stream.flush()
    except (OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), number)
