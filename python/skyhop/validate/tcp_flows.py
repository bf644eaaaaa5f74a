"""Comparison with whole flows of Linux: each measure against its bound, widened to the spread of the recorded runs."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass

from skyhop import _core
from skyhop.markdown import line


@dataclass(frozen=True)
class FlowMeasure:
    """One measure of a run, in the unit that its name says.

    `reference` is the least and the largest value of the recorded runs, `difference` the distance of ours from that
    range; both are infinite or not a number where ours could not be taken.
    """

    measure: str
    reference: tuple[float, float]
    ours: float
    difference: float
    bound: float
    ok: bool

    def __str__(self) -> str:
        least, most = self.reference
        recorded = f"{least:.5g}" if least == most else f"{least:.5g} to {most:.5g}"
        return f"{self.measure} {self.ours:.5g} for {recorded} ± {self.bound:.3g}"


@dataclass(frozen=True)
class Flow:
    """A run beside its recording. A run that could not be built has a `problem` and keeps no bound.

    `missing` names files of the recording that are not there; the measures that need them are not taken. Where several
    flows share the path, a measure's name begins with its flow.
    """

    run: str
    line: int
    measures: list[FlowMeasure]
    missing: list[str]
    problem: str | None
    ok: bool

    def __str__(self) -> str:
        title = self.run or f"line {self.line}"
        if self.problem is not None:
            return f"{title}: not built: {self.problem}"
        missed = [measure for measure in self.measures if not measure.ok]
        words = f"{title}: {len(self.measures) - len(missed)} of {len(self.measures)} measures within their bounds"
        absent = [f"without {', '.join(self.missing)}"] if self.missing else []
        return "; ".join([words, *map(str, missed), *absent])


def flows(folder: str | os.PathLike[str], *, runs: Sequence[str] = ()) -> list[Flow]:
    """Runs the rows of a folder's `cases.csv`, or those named.

    Raises ValueError for a folder that cannot be read and for a run that it does not have.
    """
    found = []
    for row in json.loads(_core.validate_flows(folder, runs=list(runs))):
        measures = []
        for one in row.pop("measures"):
            # JSON has no infinity and no NaN.
            ours = float("nan") if one["ours"] is None else one["ours"]
            difference = float("inf") if one["difference"] is None else one["difference"]
            reference = (one["reference"][0], one["reference"][1])
            measures.append(FlowMeasure(one["measure"], reference, ours, difference, one["bound"], one["ok"]))
        found.append(Flow(measures=measures, **row))
    return found


def flows_summary(found: Sequence[Flow]) -> str:
    """One sentence: how many runs and measures are within their bounds."""
    measures = [measure for one in found for measure in one.measures]
    unbuilt = sum(one.problem is not None for one in found)
    tail = f"; {unbuilt} runs could not be built and keep no bound" if unbuilt else ""
    return (
        f"{sum(one.ok for one in found)} of {len(found)} runs keep all bounds; "
        f"{sum(measure.ok for measure in measures)} of {len(measures)} measures are within their bounds{tail}."
    )


def flows_markdown(found: Sequence[Flow]) -> str:
    """A row per run with what misses its bound, after the summary."""
    lines = [flows_summary(found), "", "| run | measures within bounds | missed |", "|---|---:|---|"]
    for one in found:
        if one.problem is not None:
            lines.append(line([one.run, "–", one.problem]))
            continue
        missed = "; ".join(str(measure) for measure in one.measures if not measure.ok)
        if one.missing:
            missed += f"{'; ' if missed else ''}without {', '.join(one.missing)}"
        lines.append(line([one.run, f"{sum(m.ok for m in one.measures)} of {len(one.measures)}", missed]))
    return "\n".join(lines) + "\n"
