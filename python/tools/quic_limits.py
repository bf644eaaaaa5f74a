"""Where large windows end QUIC connections in slow start: the table in docs/models/quic.md.

`python python/tools/quic_limits.py` prints it; with `--renew` it is written into the page. It needs a build with every
stack of the table (`make build FEATURES=noq`).
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import Any

import skyhop
from skyhop import _core

PAGE = Path(__file__).resolve().parents[2] / "docs" / "models" / "quic.md"
BEGIN = "<!-- limits: written by `.venv/bin/python python/tools/quic_limits.py --renew` -->"
END = "<!-- end of limits -->"

WINDOWS = ("1.25 MB", "2 MB", "3 MB", "4 MB", "6 MB", "8 MB", "16 MB")
CASES = (
    ("quinn", "cubic"),
    ("quinn", "newreno"),
    ("quinn", "bbr"),
    ("noq", "cubic"),
    ("noq", "newreno"),
    ("noq", "bbr3"),
)
#: Bytes of the download; None has no end.
SIZES = ("10 MB", None)
RUNTIMES = ("tokio", "exact")
_ENDED = re.compile(r"ended after ([\d.]+) s: .*too many gaps in stream buffer")


def death(stack: str, control: str, window: str, size: str | None, runtime: str) -> str:
    """When the connection died, or that it lived."""
    link = {
        "between": ["hub", "terminal"],
        "delay": "300 ms",
        "forward": {"rate": "20 Mbit/s"},
        "backward": {"rate": "2 Mbit/s"},
        "queue": {"drop_tail": {"packets": 1221, "counts": "waiting"}},
    }
    quic = {"stack": stack, "control": control, "stream_window": window, "send_window": "64 MB", "runtime": runtime}
    flow: dict[str, Any] = {"name": "download", "from": "hub", "to": "terminal", "quic": quic}
    if size is not None:
        flow["application"] = {"ftp": {"bytes": size}}
    run = skyhop.run({"duration": "30 s", "links": [link], "flows": [flow]})
    if any("ended after" in warning and _ENDED.search(warning) is None for warning in run.warnings):
        raise RuntimeError(f"{stack} {control} {window}: ended in another way: {run.warnings}")
    found = [match[1] for match in map(_ENDED.search, run.warnings) if match]
    return f"{float(found[0]):.1f} s" if found else "lives"


def table() -> str:
    """In Markdown: a row for each stack, control, runtime and size."""
    lines = [
        "| stack | control | runtime | download | " + " | ".join(WINDOWS) + " |",
        "|---" * 4 + "|---:" * len(WINDOWS) + "|",
    ]
    for stack, control in CASES:
        for runtime in RUNTIMES:
            for size in SIZES:
                cells = [death(stack, control, window, size, runtime) for window in WINDOWS]
                lines.append(f"| {stack} | `{control}` | {runtime} | {size or 'no end'} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Prints the table, or renews the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--renew", action="store_true", help="write the table into the page")
    wanted = parser.parse_args()
    if missing := sorted({stack for stack, _ in CASES} - set(_core.quic_stacks())):
        sys.exit(f"this build has no {', '.join(missing)}: make build FEATURES={','.join(missing)}")
    found = table()
    if not wanted.renew:
        print(found)
        return
    text = PAGE.read_text(encoding="utf-8")
    place = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    if not place.search(text):
        sys.exit(f"{PAGE}: has no place for the table: {BEGIN}")
    PAGE.write_text(place.sub(lambda _: f"{BEGIN}\n\n{found}\n\n{END}", text), encoding="utf-8")


if __name__ == "__main__":
    main()
