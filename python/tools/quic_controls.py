"""Skyhop's controls under TCP and inside QUIC stacks, over one path: the table in docs/models/quic.md.

`python python/tools/quic_controls.py` prints it; with `--renew` it is written into the page. It needs a build with
every stack of the table (`make build`).
"""

from __future__ import annotations

from typing import Any

import polars as pl
import quic_tables

import skyhop

BEGIN = "<!-- controls: written by `.venv/bin/python python/tools/quic_controls.py --renew` -->"
END = "<!-- end of controls -->"

CONTROLS = (
    "reno", "cubic", "bic", "highspeed", "htcp", "westwood+", "westwood", "compound", "scalable", "hybla", "lp", "fast",
    "veno", "yeah", "tibet", "illinois", "vegas",
)  # fmt: skip
STACKS = ("quinn", "noq")
#: 1228 B on the wire, as QUIC's full datagrams, and RFC 9002's first window.
TCP = {"profile": "rfc", "recovery": "sack", "mss": "1188 B", "initial_window": 10, "window": 4000}
QUIC = {"stream_window": "8 MB", "runtime": "exact"}
#: The same packets are lost under every transport: the 400th, then every 2000th.
LOST: list[dict[str, Any]] = [{"packets": 400}, {"packets": [2000, 60_000], "every": 2000}]


def run_of(key: str, transport: dict[str, Any], lost: list[dict[str, Any]]) -> skyhop.Run:
    """A minute of a flow with data without end, which loses these packets."""
    errors = {"errors": [{"list": {"data": lost}}]} if lost else {}
    link = {
        "between": ["left", "right"],
        "delay": "50 ms",
        "forward": {"rate": "20 Mbit/s"} | errors,
        "backward": {"rate": "2 Mbit/s"},
        "queue": {"drop_tail": {"packets": 1221, "counts": "waiting"}},
    }
    flow = {"name": "a", "from": "left", "to": "right", key: transport}
    records = {"grid": "50 ms"}
    return skyhop.run({"duration": "60 s", "profile": "rfc", "links": [link], "flows": [flow], "records": records})


def measured(key: str, transport: dict[str, Any], lost: list[dict[str, Any]] = LOST) -> tuple[float, float]:
    """Mean window in full packets, and goodput in Mbit/s."""
    row = run_of(key, transport, lost).table("flows").row(0, named=True)
    return row["cwnd_mean"], row["goodput_bps"] / 1e6


def of_vegas() -> str:
    """What holds the window of Vegas, without losses, in Markdown."""
    tcp: dict[str, Any] = TCP | {"control": "vegas"}
    each, paced = {"ack_every": 1}, {"pacing": "always"}
    rows: list[tuple[str, str, dict[str, Any]]] = [
        ("TCP", "tcp", tcp),
        ('TCP, `ack_delay = "25 ms"`', "tcp", tcp | {"ack_delay": "25 ms"}),
        ('TCP, `pacing = "always"`', "tcp", tcp | paced),
        ("TCP, `ack_every = 1`", "tcp", tcp | each),
        ("TCP, both", "tcp", tcp | paced | each),
    ]
    for stack in STACKS:
        quic = QUIC | {"stack": stack, "control": {"ours": "vegas"}}
        rows += [(stack, "quic", quic), (f"{stack}, `ack_every = 1`", "quic", quic | each)]
    lines = ["| `vegas` in | leaves slow start at | mean window | goodput (Mbit/s) |", "|---|---:|---:|---:|"]
    for name, key, transport in rows:
        run = run_of(key, transport, [])
        row = run.table("flows").row(0, named=True)
        left = run.table("flow_series").filter(pl.col("ssthresh").is_not_null())["cwnd"][0]
        lines.append(f"| {name} | {left:.0f} | {row['cwnd_mean']:.0f} | {row['goodput_bps'] / 1e6:.1f} |")
    return "\n".join(lines)


def under(name: str, every: int) -> list[tuple[float, float]]:
    """Under TCP, then inside each stack. `every`: packets per acknowledgement."""
    # quinn takes no rate from a control.
    control: Any = {"hybla": {"spacing": "off"}} if name == "hybla" else name
    tcp: dict[str, Any] = TCP | {"control": control}
    quic: dict[str, Any] = QUIC | {"control": {"ours": control}}
    if every != 2:
        tcp["ack_every"] = quic["ack_every"] = every
    return [measured("tcp", tcp), *(measured("quic", {"stack": stack} | quic) for stack in STACKS)]


def table() -> str:
    """In Markdown."""
    heads = ["TCP", *STACKS]
    columns = [f"{head}, {what}" for what in ("every 2nd packet acknowledged", "each") for head in heads]
    lines = ["| control | " + " | ".join(columns) + " |", "|---|" + "---:|" * len(columns)]
    for name in CONTROLS:
        cells = [f"{cwnd:.0f} / {goodput:.1f}" for every in (2, 1) for cwnd, goodput in under(name, every)]
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def tables() -> str:
    """All of them, in Markdown."""
    return f"{table()}\n\nWithout losses:\n\n{of_vegas()}"


if __name__ == "__main__":
    quic_tables.main(__doc__, BEGIN, END, STACKS, tables)
