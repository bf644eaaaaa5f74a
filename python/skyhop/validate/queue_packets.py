"""Comparison with the queue disciplines of Linux: what became of every packet."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass

from skyhop import _core
from skyhop.markdown import line


@dataclass(frozen=True)
class Outcome:
    """What became of a packet: verdict as in the reference, whether this discipline set CE, time since its arrival.

    Verdicts: 0 delivered, 1 dropped on its arrival, 2 dropped inside dequeue, 3 dropped while another came, 9 waits.
    """

    verdict: int
    ce: bool
    after_ns: int | None

    def __str__(self) -> str:
        words = {0: "sent", 1: "dropped on arrival", 2: "dropped at dequeue", 3: "dropped for another", 9: "waits"}
        after = "" if self.after_ns is None else f" after {self.after_ns / 1e6:.6f} ms"
        return words.get(self.verdict, str(self.verdict)) + after + (", CE" if self.ce else "")


@dataclass(frozen=True)
class Totals:
    """Counts of packets (marks: delivered with a mark), and sojourns of those that were delivered, in ns."""

    delivered: int
    drops: int
    marks: int
    p50_ns: int
    p95_ns: int


@dataclass(frozen=True)
class Mean:
    """A measure averaged over seeds with our own random numbers, and how far it may be from the reference's mean."""

    metric: str
    reference: float
    ours: float
    bound: float
    ok: bool


@dataclass(frozen=True)
class QueueCase:
    """One case of a queue discipline beside the kernel: how many packets are equal, and the first that is not.

    `draws` are the random numbers used, the reference's and ours; `ignored` the case's parameters that we do not have.
    """

    case: str
    discipline: str
    note: str
    packets: int
    equal: int
    totals: tuple[Totals, Totals] | None
    first: tuple[int, int, Outcome, Outcome] | None
    """Packet, its arrival in ns, what the kernel did, what ours did."""
    draws: tuple[int | None, int] | None
    means: list[Mean]
    ignored: list[str]
    problem: str | None
    ok: bool

    def __str__(self) -> str:
        parts = [f"{self.case}: "]
        if self.equal == self.packets:
            parts.append(f"equal, {self.packets} packets")
        elif self.problem is None:
            parts.append(f"{self.equal} of {self.packets} packets equal ({100 * self.equal / self.packets:.2f} %)")
        if self.first is not None:
            packet, arrival, theirs, ours = self.first
            parts.append(f"; packet {packet}, which came at {arrival / 1e6:.6f} ms: kernel {theirs}; ours {ours}")
        if self.means:
            missed = [mean for mean in self.means if not mean.ok]
            parts.append(f"; {len(self.means) - len(missed)} of {len(self.means)} means over seeds within bounds")
            parts += [f"; {m.metric} {m.ours:.6g} for {m.reference:.6g} ± {m.bound:.3g}" for m in missed]
        if self.ignored:
            parts.append(f"; without {' '.join(self.ignored)}")
        if self.problem is not None:
            parts.append(f"; {self.problem}")
        return "".join(parts).replace(": ; ", ": ")


def queues(
    folder: str | os.PathLike[str], *, cases: list[str] | None = None, variant: str = "linux"
) -> list[QueueCase]:
    """Runs the cases of a folder of kernel queue disciplines (its `cases.csv`), in its order. None takes all cases.

    The variant "rfc" runs the disciplines that have a published text by the text. Raises ValueError for a folder that
    cannot be read, for a case that it does not have and for an unknown variant.
    """
    found = []
    for row in json.loads(_core.validate_queues(folder, cases=cases or [], variant=variant)):
        if (totals := row["totals"]) is not None:
            row["totals"] = (Totals(**totals[0]), Totals(**totals[1]))
        if (first := row["first"]) is not None:
            sides = (Outcome(**first["reference"]), Outcome(**first["ours"]))
            row["first"] = (first["packet"], first["arrival_ns"], *sides)
        if row["draws"] is not None:
            row["draws"] = tuple(row["draws"])
        row["means"] = [Mean(**{**mean, "ours": _number(mean["ours"])}) for mean in row["means"]]
        found.append(QueueCase(**row))
    return found


def _number(value: float | None) -> float:
    """JSON has no NaN: a measure that could not be taken."""
    return float("nan") if value is None else value


def queues_summary(found: list[QueueCase]) -> str:
    """One sentence: how many cases, packets and means agree."""
    packets, equal = sum(one.packets for one in found), sum(one.equal for one in found)
    means = [mean for one in found for mean in one.means]
    seeds = (
        f"; {sum(mean.ok for mean in means)} of {len(means)} means over seeds are within their bounds" if means else ""
    )
    return f"{sum(one.ok for one in found)} of {len(found)} cases agree; {equal} of {packets} packets are equal{seeds}."


def queues_markdown(found: list[QueueCase]) -> str:
    """All cases as a Markdown table, after the summary."""
    lines = [
        queues_summary(found),
        "",
        line(["case", "discipline", "packets equal", "draws equal", "means over seeds", "first that differs"]),
        "|---|---|---:|---|---:|---|",
    ]
    for one in found:
        draws = "–" if one.draws is None or one.draws[0] is None else ("yes" if one.draws[0] == one.draws[1] else "no")
        means = f"{sum(mean.ok for mean in one.means)} of {len(one.means)}" if one.means else "–"
        first = "" if one.first is None else f"packet {one.first[0]}: kernel {one.first[2]}; ours {one.first[3]}"
        equal = f"{one.equal} of {one.packets}"
        lines.append(line([one.case, one.discipline, equal, draws, means, one.problem or first]))
    return "\n".join(lines) + "\n"


def queues_texts(found: list[QueueCase]) -> str:
    """What came out by the kernel and by the published text, a Markdown table: cases of `queues(variant="rfc")`."""
    kinds = ["drops", "marks", "median sojourn, ms", "95 % sojourn, ms"]
    titles = [title for kind in kinds for title in (f"{kind}: kernel", "text")]
    lines = [line(["case", *titles]), "|---" + "|---:" * len(titles) + "|"]
    for one in found:
        if one.totals is None:
            lines.append(line([one.case, one.problem, *[""] * (len(titles) - 1)]))
            continue
        kernel, text = (_cells(totals) for totals in one.totals)
        lines.append(line([one.case, *(value for pair in zip(kernel, text, strict=True) for value in pair)]))
    return "\n".join(lines) + "\n"


def _cells(totals: Totals) -> list[str]:
    return [str(totals.drops), str(totals.marks), f"{totals.p50_ns / 1e6:.2f}", f"{totals.p95_ns / 1e6:.2f}"]
