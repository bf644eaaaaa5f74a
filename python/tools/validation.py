"""The tables of comparisons in docs/validation.md and README.md.

    .venv/bin/python python/tools/validation.py --renew [--reference ../shared/reference]

It runs every comparison whose folders lie below the reference folder (some minutes) and writes the blocks between the
marks. Without `--renew` it prints the tables.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import blocks

from skyhop.validate import registry

ROOT = Path(__file__).resolve().parents[2]
COMMAND = "`.venv/bin/python python/tools/validation.py --renew`"
BEGIN = f"<!-- comparisons: written by {COMMAND} -->"
END = "<!-- end of comparisons -->"

#: Comparisons that need no folder of references: against what, what is compared, the command.
WITHOUT_FOLDER = (
    ("RFC and draft worked examples", "`tests/vectors`: controls, recovery, orbits",
     "cargo test -p skyhop-transport -p skyhop-cc --test all vectors::"),
    ("Formulas of Mathis and Padhye", "sending rate over loss, below",
     "cargo test -p skyhop-transport --test all formulas::"),
    ("RFC 1122, 2018, 2883, 3168, 7323", "what a receiver answers",
     "cargo test -p skyhop-tcp --test all receiver_rules::"),
    ("skyfield, sgp4, networkx", "positions, passes, shortest paths",
     "python -m pytest python/tests/test_sky_oracle.py"),
    ("ns-2's traces, a sample", "`tests/reference/ns2`", "skyhop validate ns2"),
    ("Linux's queue disciplines, a sample", "`tests/reference/linux-queues`",
     "skyhop validate queues --reference tests/reference/linux-queues"),
    ("Papers and formulas of queue disciplines", "waits and rates of one and of fifty flows",
     "cargo test -p skyhop-scenario --test all queue_papers::"),
    ("ns-3's queue disciplines with TCP", "`tests/reference/ns3-queues`",
     "cargo test -p skyhop-tests --test reference closed_loops::"),
    ("Linux's TCP, a sample", "`tests/reference/linux-reactions`",
     "skyhop validate reactions --reference tests/reference/linux-reactions"),
    ("Whole flows of Linux, five recordings of our own", "`tests/reference/linux`",
     "skyhop validate linux --reference tests/reference/linux"),
    ("QUIC in real time, a sample", "`crates/quic/tests/reference`",
     "skyhop validate quic --reference crates/quic/tests/reference"),
)  # fmt: skip


def page(found: Sequence[registry.Found]) -> str:
    """The block of docs/validation.md."""
    lines = [registry.everything_markdown(found).rstrip(), "", "These need no folder of references:", ""]
    lines += ["| against | what | command |", "|---|---|---|"]
    lines += [f"| {against} | {what} | `{command}` |" for against, what, command in WITHOUT_FOLDER]
    return "\n".join(lines)


def sums(found: Sequence[registry.Found]) -> str:
    """The block of README.md."""
    lines = ["| against | cases | equal | within bounds |", "|---|---:|---:|---:|"]
    for one in found:
        if one.report is None or one.comparison is None:
            continue
        report = one.report
        equal = "–" if report.equal is None else str(report.equal)
        skipped = f" ({report.skipped} skipped)" if report.skipped else ""
        lines.append(f"| {one.comparison.against} | {report.cases}{skipped} | {equal} | {report.within} |")
    return "\n".join(lines)


def renewed(text: str, block: str) -> str:
    """The text with its block replaced. Raises ValueError where it has none."""
    return blocks.renewed(text, BEGIN, END, block)


def main() -> None:
    """Prints or writes the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reference", type=Path, default=ROOT.parent / "shared" / "reference")
    parser.add_argument("--renew", action="store_true")
    options = parser.parse_args()
    try:
        found = registry.everything(options.reference)
    except ValueError as error:
        sys.exit(str(error))
    for name, block in (("docs/validation.md", page(found)), ("README.md", sums(found))):
        if options.renew:
            path = ROOT / name
            path.write_text(renewed(path.read_text(encoding="utf-8"), block), encoding="utf-8")
        else:
            print(f"{name}:\n\n{block}\n")


if __name__ == "__main__":
    main()
