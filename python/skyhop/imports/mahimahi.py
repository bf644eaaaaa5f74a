"""Traces of mahimahi: an opportunity to deliver a packet of 1,504 bytes on each line, in ms since the start.

The format is that of mm-link(1) (R. Netravali et al., *Mahimahi*, USENIX ATC 2015); the engine follows it as it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from skyhop.imports.draft import Draft, ImportProblem, Wanted, link, one_or_two, text_of


def read(sources: Sequence[Path], wanted: Wanted) -> Draft:
    """A link with the traces."""
    one_or_two(sources, "mahimahi")
    files, traces, last_ms = {}, [], 0
    for path, name in zip(sources, ("up.trace", "down.trace"), strict=False):
        text = text_of(path)
        times = []
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip() and not line.lstrip().startswith("#"):
                if not line.strip().isdigit():
                    raise ImportProblem(f"{path}, line {number}: {line.strip()[:40]!r} is not a whole number of ms")
                times.append(int(line))
        if not times or times[-1] == 0:
            raise ImportProblem(f"{path}: no opportunity after 0 ms, so the trace has no length")
        files[name] = text
        traces.append({"opportunities": name, "period": f"{times[-1]} ms"})
        last_ms = max(last_ms, times[-1])
    notes = ("mm-link's queue has no end unless told otherwise; this link has the default queue of the scenario.",)
    return link(traces, wanted, needs={"delay"}, files=files, duration_s=last_ms / 1e3, notes=notes)
