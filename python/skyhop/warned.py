"""What many runs warned of, each sentence once, with the number of runs that it concerns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True)
class Warned:
    """What one run said besides its numbers."""

    #: Which run: its cell and seed, as a reader sees them.
    run: str
    warnings: Sequence[str]


def sentences(runs: Iterable[Warned]) -> list[str]:
    """Each warning once, in the order in which they were first said, with how many runs say it and which is the first.

    Warnings that differ in their numbers only (a share, the number in a flow's name) are one: the first is shown, and
    that the others have other numbers.
    """
    runs = list(runs)
    alike: dict[str, list[tuple[Warned, str]]] = {}
    for one in runs:
        for warning in one.warnings:
            alike.setdefault(_NUMBER.sub("#", warning), []).append((one, warning))
    said = []
    for found in alike.values():
        first, text = found[0]
        # A run says the like of several of its flows: the runs count.
        count = len({id(one) for one, _ in found})
        where = f"all {count} runs" if count == len(runs) else f"{count} of {len(runs)} runs"
        where = f"{where}, first" if len(runs) > 1 else "the only run,"
        others = len({warning for _, warning in found}) - 1
        more = f"; {others} more with other numbers" if others else ""
        said.append(f"{text} (in {where} {first.run}{more})")
    return said
