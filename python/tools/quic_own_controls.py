"""The stacks' own NewReno and CUBIC beside Skyhop's, over the path of `quic_controls.py`.

`python python/tools/quic_own_controls.py` prints the table of docs/models/quic.md; with `--renew` it is written into
the page. It needs a build with every stack of the table (`make build`).
"""

from __future__ import annotations

from typing import Any

import quic_tables
from quic_controls import LOST, QUIC, measured

BEGIN = "<!-- own controls: written by `.venv/bin/python python/tools/quic_own_controls.py --renew` -->"
END = "<!-- end of own controls -->"

STACKS = ("quinn", "noq", "picoquic")
#: Each lost packet takes the next three with it: enough for picoquic's filter of losses.
IN_A_ROW: list[dict[str, Any]] = [
    {"packets": [400, 403]},
    *({"packets": [first, 60_000], "every": 2000} for first in range(2000, 2004)),
]
#: picoquic's CUBIC cuts to 7/8 of the window (`PICOQUIC_CUBIC_BETA_ECN` in its cubic.c), and RFC 9438 to 7/10.
GENTLE = {"cubic": {"beta": 0.875, "ecn_beta": 0.875}}

#: picoquic's receiver acknowledges about every seventh packet here, by picoquic's own rule.
RARE_ACKS: dict[str, Any] = {"ack_every": 8}

#: The stack, its control, the stack that ours runs in with its options, ours with its options, and what is lost.
Row = tuple[str, str, tuple[str, dict[str, Any]], Any, str]
ROWS: tuple[Row, ...] = (
    ("quinn", "newreno", ("quinn", {}), "reno", "one"),
    ("quinn", "cubic", ("quinn", {}), "cubic", "one"),
    ("noq", "newreno", ("noq", {}), "reno", "one"),
    ("noq", "cubic", ("noq", {}), "cubic", "one"),
    # No control of ours runs in picoquic.
    ("picoquic", "newreno", ("quinn", {}), "reno", "one"),
    ("picoquic", "newreno", ("quinn", RARE_ACKS), "reno", "one"),
    ("picoquic", "cubic", ("quinn", {}), "cubic", "one"),
    ("picoquic", "cubic", ("quinn", RARE_ACKS), "cubic", "four"),
    ("picoquic", "cubic", ("quinn", RARE_ACKS), GENTLE, "four"),
)


def table() -> str:
    """In Markdown."""
    lines = [
        "| stack | its own | ours | lost in a row | window of ours | its window | goodput of ours | its goodput |",
        "|---|---|---|---|---:|---:|---:|---:|",
    ]
    for stack, control, (host, options), of_ours, how_many in ROWS:
        lost = LOST if how_many == "one" else IN_A_ROW
        its = measured("quic", QUIC | {"stack": stack, "control": control}, lost)
        ours = measured("quic", QUIC | options | {"stack": host, "control": {"ours": of_ours}}, lost)
        label = f"`{of_ours}`" if isinstance(of_ours, str) else "`cubic` with `beta = 0.875`"
        apart = [f"{100 * (one / other - 1):+.0f} %" for one, other in zip(its, ours, strict=True)]
        cells = [f"{ours[0]:.0f}", f"{its[0]:.0f} ({apart[0]})", f"{ours[1]:.1f}", f"{its[1]:.1f} ({apart[1]})"]
        place = f"{host}, `ack_every = {options['ack_every']}`" if options else host
        lines.append(f"| {stack} | `{control}` | {label}, in {place} | {how_many} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    quic_tables.main(__doc__, BEGIN, END, STACKS, table)
