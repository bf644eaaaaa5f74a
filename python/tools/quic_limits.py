"""Where large windows end QUIC connections in slow start: the table in docs/models/quic.md.

`python python/tools/quic_limits.py` prints it; with `--renew` it is written into the page. It needs a build with every
stack of the table (`make build`).
"""

from __future__ import annotations

import re
from typing import Any

import quic_tables

import skyhop

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
        raise RuntimeError(f"{stack} {control} {window}: ended for another reason: {run.warnings}")
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


if __name__ == "__main__":
    quic_tables.main(__doc__, BEGIN, END, {stack for stack, _ in CASES}, table)
