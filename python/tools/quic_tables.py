"""The common part of the tools that write tables of docs/models/quic.md."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import blocks

from skyhop import _core

PAGE = Path(__file__).resolve().parents[2] / "docs" / "models" / "quic.md"


def main(doc: str | None, begin: str, end: str, stacks: Iterable[str], table: Callable[[], str]) -> None:
    """Prints a table, or with `--renew` writes it into the page between `begin` and `end`.

    `doc` is the help. Ends with a message where the build lacks one of `stacks`, or the page the block.
    """
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--renew", action="store_true", help="write the table into the page")
    wanted = parser.parse_args()
    if missing := sorted(set(stacks) - set(_core.quic_stacks())):
        sys.exit(f"this build has no {', '.join(missing)}: make build FEATURES={','.join(missing)}")
    found = table()
    if not wanted.renew:
        print(found)
        return
    try:
        text = blocks.renewed(PAGE.read_text(encoding="utf-8"), begin, end, found)
    except ValueError as error:
        sys.exit(f"{PAGE}: {error}")
    PAGE.write_text(text, encoding="utf-8")
