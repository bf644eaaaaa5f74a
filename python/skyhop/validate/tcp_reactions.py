"""Comparison with the TCP of Linux, packet by packet: cases in which listed packets were lost, marked or delayed."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from skyhop import _core
from skyhop.markdown import line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Shares of the cases that have to be equal: the sender alone, the receiver alone, both together.
AIMS = {"sender": 0.95, "receiver": 0.95, "both": 0.90}

HALVES = tuple(AIMS)


@dataclass(frozen=True)
class Reaction:
    """A case as one half of the connection ("sender", "receiver"), or "both", did it.

    `differences` are the respects in which ours and the kernel differ with the first place of each, the earliest in
    time first; `states` is the sender's state there, ours and the kernel's. A case that could not be built has a
    `problem` and is not equal. `worst_s` is the largest difference of times up to the first packet that differs.
    """

    case: str
    mechanism: str
    line: int
    half: str
    packets: int
    equal: bool
    late_timers: int
    worst_s: float
    differences: list[tuple[str, str]]
    states: tuple[str | None, str | None]
    problem: str | None

    def __str__(self) -> str:
        if self.problem is not None:
            return f"not built: {self.problem}"
        if self.equal:
            late = f", {self.late_timers} timers a jiffy late" if self.late_timers else ""
            return f"equal, {self.packets} packets, times within {self.worst_s * 1e3:.2f} ms{late}"
        what, words = self.differences[0]
        others = ", ".join(name for name, _ in self.differences[1:])
        ours, kernel = self.states
        parts = [f"{what} differ: {words}"]
        if ours is not None:
            parts.append(f"our state: {ours}")
        if kernel is not None:
            parts.append(f"the kernel's: {kernel}")
        if others:
            parts.append(f"also {others}")
        return "; ".join(parts)


def reactions(
    folder: str | os.PathLike[str], *, cases: Sequence[str] = (), halves: Sequence[str] = HALVES
) -> list[Reaction]:
    """Runs the cases of a folder (its `cases.csv`), or those named, each as every half of `halves`.

    Raises ValueError for a folder that cannot be read, a case that it does not have and an unknown half.
    """
    text = _core.validate_reactions(folder, cases=list(cases), halves=list(halves))
    found = []
    for row in json.loads(text):
        differences = [(what, words) for what, words in row.pop("differences")]
        found.append(Reaction(differences=differences, states=tuple(row.pop("states")), **row))
    return found


def by_half(found: Sequence[Reaction]) -> dict[str, list[Reaction]]:
    """The cases of each half, in the order of `HALVES`."""
    return {half: mine for half in HALVES if (mine := [one for one in found if one.half == half])}


def reached(found: Sequence[Reaction]) -> bool:
    """Whether every half reaches its aim."""
    return all(sum(one.equal for one in mine) >= AIMS[half] * len(mine) for half, mine in by_half(found).items())


def lines(found: Sequence[Reaction]) -> list[str]:
    """One line per case: equal, or the first packet that differs."""
    text = []
    for name in dict.fromkeys((one.case, one.line) for one in found):
        mine = [one for one in found if (one.case, one.line) == name]
        title = name[0] or f"line {name[1]}"
        problem = next((one.problem for one in mine if one.problem is not None), None)
        if problem is not None:
            text.append(f"{title}: not equal, {problem}")
        elif all(one.equal for one in mine):
            packets = max(one.packets for one in mine)
            late = sum(one.late_timers for one in mine)
            words = f"{title}: equal, {packets} packets, times within {max(one.worst_s for one in mine) * 1e3:.2f} ms"
            text.append(words + (f", {late} timers a jiffy late" if late else ""))
        else:
            parts = [f"{one.half} equal" if one.equal else f"{one.half}: {one}" for one in mine]
            text.append(f"{title}: " + "; ".join(parts))
    return text


def reactions_summary(found: Sequence[Reaction]) -> str:
    """One sentence: how many cases are equal, against the aims."""
    parts = []
    for half, mine in by_half(found).items():
        equal = sum(one.equal for one in mine)
        share = 100 * equal / len(mine)
        aim = AIMS[half]
        verdict = "reached" if equal >= aim * len(mine) else "missed"
        parts.append(f"{half} {equal} of {len(mine)} ({share:.1f} %, aim {100 * aim:.0f} %: {verdict})")
    unbuilt = len({one.line for one in found if one.problem is not None})
    tail = f"; {unbuilt} cases could not be built and count as not equal" if unbuilt else ""
    return "Equal: " + ", ".join(parts) + tail + "."


def reactions_markdown(found: Sequence[Reaction]) -> str:
    """The sums per mechanism, and every case that differs."""
    halves = by_half(found)
    text = [reactions_summary(found), ""]
    text.append(line(["mechanism", "cases", *halves]))
    text.append("|---|---:|" + "---:|" * len(halves))
    for mechanism in [*dict.fromkeys(one.mechanism for one in found), None]:
        sums, cases = [], 0
        for mine in halves.values():
            chosen = [one for one in mine if mechanism is None or one.mechanism == mechanism]
            cases = len(chosen)
            sums.append(str(sum(one.equal for one in chosen)))
        text.append(line(["all" if mechanism is None else mechanism, cases, *sums]))
    differing = [one for one in found if not one.equal]
    if differing:
        text += ["", "| case | half | first difference |", "|---|---|---|"]
        text += [line([one.case, one.half, _brief(one)]) for one in differing]
    return "\n".join(text) + "\n"


def _brief(one: Reaction) -> str:
    """The respects that differ, and where the earliest is."""
    if one.problem is not None:
        return one.problem
    names = ", ".join(name for name, _ in one.differences)
    place = one.differences[0][1].split(":")[0]
    return f"{names}; {one.differences[0][0]} from {place}"


def figure(folder: str | os.PathLike[str], case: str, *, half: str = "both") -> Figure:
    """The time-sequence diagrams of a case, ours over the kernel's."""
    from skyhop.plots import over_each_other

    ours, kernel = json.loads(_core.reaction_packets(folder, case, half=half))
    return over_each_other(ours, kernel, title=f"{case}: {half}", names=("Skyhop", "Linux 6.18"))


def draw(folder: str | os.PathLike[str], case: str, target: Path, *, half: str = "both") -> Path:
    """Draws `figure` into a file (SVG); returns it."""
    from skyhop import folders
    from skyhop.figure import svg

    folders.write(target, svg(figure(folder, case, half=half)))
    return target
