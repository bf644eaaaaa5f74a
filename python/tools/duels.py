"""Every TCP against Reno and against itself, over a short and a long path: the tables in docs/duels.md.

`python python/tools/duels.py` prints them; with `--renew` they are written into the page.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import blocks
import polars as pl

import skyhop
from skyhop import _core

PAGE = Path(__file__).resolve().parents[2] / "docs" / "duels.md"
BEGIN = "<!-- duels: written by `.venv/bin/python python/tools/duels.py --renew` -->"
END = "<!-- end of duels -->"

#: Reno's window with RFC 6675's recovery: what a loss costs is the same on both sides.
RENO = "sack"
RATE_BPS = 10_000_000
PACKET_BYTES = 1500
SEEDS = (1, 2)
#: By RTT: the end, and what counts for nothing before. Reno needs 200 s from one loss to the next on the long path.
TIMES_S = {0.020: (900, 300), 0.560: (900, 300)}

#: Over the long path, for TCPs that need more than three of their cycles.
LONG_RTT_S, LONG_TIMES_S = 0.560, (4500, 1500)
SLOW = ("westwood+", "veno", "illinois", "tibet", "yam")

#: TCPs that need a table in a scenario, because the format has no name for them.
TABLES = {"sack, paced": {"name": "sack", "pacing": "always"}}


@dataclass(frozen=True)
class Duel:
    """Two flows on one bottleneck."""

    first: str
    second: str
    rtt_s: float
    seed: int
    is_long: bool = False

    @property
    def times_s(self) -> tuple[int, int]:
        """Its end, and what counts for nothing before."""
        return LONG_TIMES_S if self.is_long else TIMES_S[self.rtt_s]


@dataclass(frozen=True)
class Outcome:
    """Behind the warm-up: the first one's share of the goodput, Jain's index, and how full the link was."""

    share: float
    jain: float
    filled: float


def queue_packets(rtt_s: float) -> int:
    """One bandwidth-delay product."""
    return round(RATE_BPS * rtt_s / 8 / PACKET_BYTES)


def scenario(duel: Duel) -> dict[str, Any]:
    """Access links of 1 ms at both ends; both start at a random moment of the first second."""
    dice = random.Random(f"{duel.seed} {duel.rtt_s}")
    flows = [
        {
            "name": name,
            "from": "left",
            "to": "right",
            "tcp": {**TABLES.get(tcp, {"name": tcp}), "window": 100_000},
            "access": {"rate": "1 Gbit/s", "delay": "1 ms"},
            "start": f"{dice.random():.6f} s",
            # One packet's time at the bottleneck breaks the lock-step of equal periods.
            "jitter": f"{PACKET_BYTES * 8 / RATE_BPS} s",
        }
        for name, tcp in (("first", duel.first), ("second", duel.second))
    ]
    link = {
        "between": ["left", "right"],
        "rate": f"{RATE_BPS} bit/s",
        "delay": f"{duel.rtt_s / 2 - 0.002:.6f} s",
        "queue": {"drop_tail": {"packets": queue_packets(duel.rtt_s)}},
    }
    records = {"grid": "10 s"}
    return {
        "duration": f"{duel.times_s[0]} s", "profile": "rfc", "links": [link], "flows": flows, "records": records,
    }  # fmt: skip


def fight(duel: Duel) -> Outcome:
    """One run."""
    run = skyhop.run(scenario(duel), seed=duel.seed)
    late = run.flow_series.filter(pl.col("time_s") > duel.times_s[1])
    first, second = (late.filter(pl.col("flow") == name)["goodput_bps"].mean() for name in ("first", "second"))
    assert isinstance(first, float) and isinstance(second, float)
    total = first + second
    jain = total**2 / (2 * (first**2 + second**2)) if total else 1.0
    return Outcome(first / total if total else 0.5, jain, total / (RATE_BPS * 1460 / PACKET_BYTES))


def names() -> list[str]:
    """Every transport that a scenario can name."""
    return list(json.loads(_core.json_schema())["$defs"]["TcpName"]["enum"])


def cell(outcomes: list[Outcome]) -> str:
    """Mean share with the extremes."""
    shares = [100 * outcome.share for outcome in outcomes]
    return f"{statistics.mean(shares):.0f} ({min(shares):.0f}–{max(shares):.0f})"


def percent(values: list[float]) -> str:
    """Their mean."""
    return f"{100 * statistics.mean(values):.0f}"


def fought(duels: list[Duel]) -> dict[Duel, Outcome]:
    """All of them, on all cores."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(duels, pool.map(fight, duels), strict=True))


def long_table(chosen: list[str]) -> str:
    """A row per TCP that needs longer runs."""
    rows = [name for name in SLOW if name in chosen]
    outcomes = fought(
        [Duel(name, other, LONG_RTT_S, seed, is_long=True) for name in rows for other in (RENO, name) for seed in SEEDS]
    )
    lines = [f"| {LONG_TIMES_S[0]} s without the first {LONG_TIMES_S[1]} s | share % | Jain |", "|---|---:|---:|"]
    for name in rows:
        against, itself = (
            [outcomes[Duel(name, other, LONG_RTT_S, seed, is_long=True)] for seed in SEEDS] for other in (RENO, name)
        )
        lines.append(f"| `{name}` | {cell(against)} | {statistics.mean(one.jain for one in itself):.2f} |")
    return "\n".join(lines)


def tables(chosen: list[str]) -> str:
    """One table, a row per transport."""
    heads = [f"{head}, {rtt * 1e3:.0f} ms" for rtt in TIMES_S for head in ("share %", "link %", "Jain", "link %")]
    duels = [
        Duel(name, other, rtt, seed) for name in chosen for rtt in TIMES_S for other in (RENO, name) for seed in SEEDS
    ]
    outcomes = fought(duels)
    lines = [
        f"| | {' | '.join(heads)} |",
        "|---|" + "---:|" * len(heads),
    ]
    for name in chosen:
        row = [f"`{name}`"]
        for rtt in TIMES_S:
            against, itself = ([outcomes[Duel(name, other, rtt, seed)] for seed in SEEDS] for other in (RENO, name))
            row += [cell(against), percent([one.filled for one in against])]
            row += [f"{statistics.mean(one.jain for one in itself):.2f}", percent([one.filled for one in itself])]
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


def main() -> int:
    """Prints or writes the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--renew", action="store_true", help=f"write them into {PAGE.name}")
    parser.add_argument("names", nargs="*", help="only these; all without any")
    options = parser.parse_args()
    chosen = options.names or [*names(), *TABLES]
    text = f"{tables(chosen)}\n\n{long_table(chosen)}"
    if not options.renew:
        print(text)
        return 0
    try:
        written = blocks.renewed(PAGE.read_text(encoding="utf-8"), BEGIN, END, text)
    except ValueError as error:
        print(f"{PAGE}: {error}", file=sys.stderr)
        return 1
    PAGE.write_text(written, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
