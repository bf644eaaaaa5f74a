"""Comparison with QUIC stacks in real time: the same stacks in virtual time, case by case."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass

from skyhop import _core
from skyhop.markdown import line


@dataclass(frozen=True)
class QuicFigure:
    """One figure of a QUIC case: the median over our seeds beside the range of the reference's repeats.

    `allowed` is that range widened by the bound; None: no bound. `ours` is None when no run has the figure.
    """

    name: str
    ours: float | None
    seen: tuple[float, float]
    allowed: tuple[float, float] | None
    ok: bool

    def __str__(self) -> str:
        ours = "none" if self.ours is None else f"{self.ours:.6g}"
        allowed = "any" if self.allowed is None else _range(self.allowed)
        return f"{self.name} {ours}, seen {_range(self.seen)}, allowed {allowed}"


@dataclass(frozen=True)
class QuicCase:
    """One case of a QUIC stack in virtual time beside the same stack in real time.

    `skipped` says why a case was not compared: this build does not have the stack. `problem` says why a case could
    not be run.
    """

    case: str
    mechanism: str
    stack: str
    figures: list[QuicFigure]
    runs: int
    deaths: int
    died: bool
    survival_right: bool
    skipped: str | None
    problem: str | None
    ok: bool

    def __str__(self) -> str:
        if self.skipped is not None:
            return f"{self.case}: skipped, {self.skipped}"
        if self.problem is not None:
            return f"{self.case}: {self.problem}"
        if self.ok:
            return f"{self.case}: within all bounds ({len(self.figures)} figures, {self.runs} runs)"
        return f"{self.case}: " + "; ".join(str(figure) for figure in self.figures if not figure.ok)


#: Share of the compared QUIC cases that should lie within all bounds.
QUIC_AIM = 0.9


def quic(folder: str | os.PathLike[str], *, cases: list[str] | None = None, seeds: int | None = None) -> list[QuicCase]:
    """Runs the cases of a folder of QUIC stacks (its `cases.csv`) in virtual time, in its order. None takes all cases.

    `seeds`: runs for each case; None: ten where the congestion control draws random numbers, five elsewhere. Cases of
    stacks that this build does not have are skipped. Raises ValueError for a folder that cannot be read and for a case
    that it does not have.
    """
    found = []
    for row in json.loads(_core.validate_quic(folder, cases=cases or [], seeds=seeds)):
        row["figures"] = [
            QuicFigure(**{**one, "seen": tuple(one["seen"]), "allowed": one["allowed"] and tuple(one["allowed"])})
            for one in row["figures"]
        ]
        found.append(QuicCase(**row))
    return found


def quic_met(found: list[QuicCase]) -> bool:
    """Whether the aim is met: 90 % of the compared cases within all bounds, and survival right in each.

    Survival is right if the connection survives or dies as in real time. The aim is not met if no case was compared.
    """
    compared = [one for one in found if one.skipped is None]
    within = sum(one.ok for one in compared)
    return bool(compared) and within >= QUIC_AIM * len(compared) and all(one.survival_right for one in compared)


def quic_summary(found: list[QuicCase]) -> str:
    """One sentence: how many cases are within their bounds, survive or die as in real time, and were skipped."""
    compared = [one for one in found if one.skipped is None]
    skipped = len(found) - len(compared)
    sums = (
        f"{sum(one.ok for one in compared)} of {len(compared)} cases are within all bounds; the connection "
        f"survives or dies as in real time in {sum(one.survival_right for one in compared)}; "
        f"{skipped} cases of stacks that this build does not have are skipped."
    )
    if compared:
        return sums
    stacks = ", ".join(_core.quic_stacks()) or "none"
    return f"{sums} QUIC stacks of this build: {stacks}. `make build` builds all of them."


def quic_markdown(found: list[QuicCase]) -> str:
    """The compared cases as a Markdown table, after the summary: ours, then what the reference saw; ✗ marks a miss."""
    names = ["completion", "goodput", "packets", "tail drops", "mean RTT"]
    heads = ["completion (s)", "goodput (bit/s)", "packets sent", "tail drops", "mean RTT (ms)"]
    titles = ["case", *heads, "connection", "all bounds"]
    lines = [quic_summary(found), "", line(titles), "|---" * len(titles) + "|"]
    for one in found:
        if one.skipped is not None:
            continue
        cells = [next((figure for figure in one.figures if figure.name.startswith(name)), None) for name in names]
        ended = ("dies" if one.died else "lives") if one.survival_right else f"{one.deaths} of {one.runs} die ✗"
        end = one.problem or ("yes" if one.ok else "no")
        lines.append(line([f"`{one.case}`", *map(_figure, cells), ended, end]))
    return "\n".join(lines) + "\n"


def _figure(figure: QuicFigure | None) -> str:
    if figure is None:
        return "–"
    ours = "none" if figure.ours is None else f"{figure.ours:.5g}"
    return f"{ours} / {_range(figure.seen)}" + ("" if figure.ok else " ✗")


def _range(ends: tuple[float, float]) -> str:
    low, high = ends
    return f"{low:.5g}" if low == high else f"{low:.5g} to {high:.5g}"
