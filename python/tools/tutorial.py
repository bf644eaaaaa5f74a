"""Executes docs/first-hour.md: saves its files, runs its commands, and compares what they print with the page.

`--renew` writes what they print into the page. A line `$ …` is a command; the lines up to the next one are its output.
"""

from __future__ import annotations

import difflib
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs/first-hour.md"

_BLOCK = re.compile(
    r"^```(?P<kind>toml|python|console)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE
)

#: Columns of the terminal that the page shows.
_COLUMNS = 108


def renewed(text: str, folder: Path) -> str:
    """The page with what its commands print now; its files are written to the folder, which is where they run."""

    def carried_out(found: re.Match[str]) -> str:
        if found["title"]:
            (folder / found["title"]).write_text(found["body"], encoding="utf-8")
        if found["kind"] != "console":
            return found[0]
        commands = re.findall(r"^\$ (.*)$", found["body"], re.MULTILINE)
        shown = "".join(f"$ {command}\n{printed(command, folder)}" for command in commands)
        return f"```console\n{shown}```"

    return _BLOCK.sub(carried_out, text)


def printed(command: str, folder: Path) -> str:
    """What a command writes to a terminal without colours, blank lines at both ends left out."""
    paths = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = {**os.environ, "PATH": paths, "TERM": "dumb", "NO_COLOR": "1", "COLUMNS": str(_COLUMNS)}
    end, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, _COLUMNS, 0, 0))
    with subprocess.Popen(
        command, shell=True, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal
    ) as process:
        os.close(terminal)
        written = b""
        while True:
            try:
                piece = os.read(end, 65536)
            except OSError:
                break
            if not piece:
                break
            written += piece
        process.wait()
    os.close(end)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written.decode().replace("\r\n", "\n"))
    lines = [line.rpartition("\r")[2].rstrip() for line in text.splitlines()]
    text = "\n".join(lines).strip("\n")
    return text + "\n" if text else ""


def main() -> int:
    """Exit code 1 when the page shows something else than its commands print."""
    now = PAGE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        new = renewed(now, Path(folder))
    if "--renew" in sys.argv[1:]:
        PAGE.write_text(new, encoding="utf-8")
        return 0
    sys.stdout.writelines(difflib.unified_diff(now.splitlines(True), new.splitlines(True), "page", "now"))
    return int(now != new)


if __name__ == "__main__":
    sys.exit(main())
