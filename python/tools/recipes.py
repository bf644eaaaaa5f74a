"""Runs the recipes of docs/recipes.md and prints differences from their lines *Result*; `--renew` writes the lines."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl

import skyhop
from skyhop import Run

PAGE = Path(__file__).resolve().parents[2] / "docs/recipes.md"

#: Flows of which a result shows the numbers.
_SHOWN = 3


class Recipe(NamedTuple):
    """A recipe: its title, its scenario, and the result that the page shows ("" for none)."""

    title: str
    scenario: str
    result: str


def recipes(text: str) -> Iterator[Recipe]:
    """The recipes of a page: a heading of the third level with a block of TOML."""
    for section in re.split(r"^### ", text, flags=re.MULTILINE)[1:]:
        title = section.partition("\n")[0]
        found = _BLOCK.search(section)
        if found is None:
            raise ValueError(f'the recipe "{title}" has no block of TOML')
        yield Recipe(title, found["scenario"], (found["result"] or "").strip())


_BLOCK = re.compile(
    r"^```toml\n(?P<scenario>.*?)^```\n(?:\n(?P<result>\*Result\*: .*?)\n(?=\n|\Z))?", re.DOTALL | re.MULTILINE
)


def result_of(run: Run) -> str:
    """What a run came to, in lines of 120 columns.

    Goodput, median RTT or delay, and retransmissions or losses of the first flows.
    """
    told = []
    for flow in run.flows.head(_SHOWN).iter_rows(named=True):
        lost = flow["packets_sent"] - flow["packets_received"]
        if (written := flow["messages_written"]) is not None:
            missing = written - flow["messages_received"]
            rest = f"delay {_time(flow['delay_median_s'])}, {_count(missing, 'message')} of {written} not received"
        elif flow["rtt_median_s"] is not None:
            rest = f"RTT {_time(flow['rtt_median_s'])}, {_count(flow['retransmissions'], 'retransmission')}"
        elif flow["delay_median_s"] is not None:
            rest = f"delay {_time(flow['delay_median_s'])}, {_count(lost, 'packet')} not delivered"
        else:
            rest = "nothing arrived"
        told.append(f"`{flow['flow']}` {flow['goodput_bps'] / 1e6:.3g} Mbit/s, {rest}")
    for row in run.table("messages").iter_rows(named=True):
        told.append(f"`{row['flow']}` {_count(row['late'], 'message')} late, {row['lost']} lost")
    for row in run.table("workloads").filter(pl.col("class") == "all").iter_rows(named=True):
        times = ", ".join(
            f"{name} {'unknown' if (time := row[f'completion_{name}_s']) is None else _time(time)}"
            for name in ("p50", "p99")
        )
        told.append(
            f"`{row['workload']}` {_count(row['transfers'], 'transfer')}, {row['unfinished']} unfinished, {times}"
        )
    pages = run.table("pages")
    for name in pages["workload"].unique(maintain_order=True):
        loads: list[float | None] = pages.filter(pl.col("workload") == name)["load_s"].to_list()
        known = [load for load in loads if load is not None]
        times = f"loaded in {_time(min(known))} to {_time(max(known))}" if known else "none loaded"
        told.append(f"`{name}` {_count(len(loads), 'page')}, {len(loads) - len(known)} unfinished, {times}")
    more = run.flows.height - _SHOWN
    line = "*Result*: " + "; ".join([*told, *([f"and {more} more flows"] if more > 0 else [])]) + "."
    return "\n".join(textwrap.wrap(line, 120, break_long_words=False, break_on_hyphens=False))


def _time(seconds: float) -> str:
    return f"{seconds * 1000:.3g} ms" if seconds < 0.9995 else f"{seconds:.3g} s"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")


def renewed(text: str) -> str:
    """The page with the results that its recipes have now."""

    def with_result(found: re.Match[str]) -> str:
        result = result_of(skyhop.run(skyhop.scenario(found["scenario"])))
        return f"```toml\n{found['scenario']}```\n\n{result}\n"

    return _BLOCK.sub(with_result, text)


def main() -> int:
    """Exit code 1 when a result on the page is not that of today."""
    now = PAGE.read_text(encoding="utf-8")
    new = renewed(now)
    if "--renew" in sys.argv[1:]:
        PAGE.write_text(new, encoding="utf-8")
        return 0
    for old, fresh in zip(recipes(now), recipes(new), strict=True):
        if old.result != fresh.result:
            print(f"{old.title}:\n  page: {old.result}\n  run:  {fresh.result}")
    return int(now != new)


if __name__ == "__main__":
    sys.exit(main())
