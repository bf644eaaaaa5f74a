"""How well a study does, counted so that nobody is flattered: each printed value once, beside a trivial predictor."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from skyhop.matrix import Comparison, Outcome, Result
from skyhop.studies import Baseline
from skyhop.verdict import DIFFERS, GIVEN, HOLDS, IMPOSSIBLE, REPRODUCED, UNDECIDED

#: A constant fits one or two values by itself.
LEAST_FOR_A_BASELINE = 3


@dataclass(frozen=True)
class Score:
    """A trivial predictor beside the study, on the published values of one metric that are counted."""

    source: str
    metric: str
    baseline: str
    #: What the source printed.
    values: int
    #: How many of them the study reproduces, and how many the predictor hits within the same tolerances.
    reproduced: int
    hit: int
    #: Root mean square of the errors, as a share of the mean of the published values.
    error: float
    baseline_error: float


def judged(outcome: Outcome, source: str) -> list[tuple[Result, Comparison]]:
    """The comparisons with a source."""
    return [(one, one.comparisons[source]) for one in outcome.results if source in one.comparisons]


def tally(outcome: Outcome, source: str) -> dict[str, int]:
    """The counted verdicts of a source, by verdict."""
    verdicts = [comparison.verdict for _, comparison in judged(outcome, source) if comparison.counts]
    return {verdict: verdicts.count(verdict) for verdict in (REPRODUCED, DIFFERS, UNDECIDED, IMPOSSIBLE, GIVEN)}


def scores(outcome: Outcome, source: str) -> list[Score]:
    """Every predictor of every metric with enough values: a constant, the mean of what is printed, unless declared."""
    found = []
    for metric in outcome.study.metrics.values():
        rows = [
            (one, comparison)
            for one, comparison in judged(outcome, source)
            if one.metric.name == metric.name and comparison.counts
            and comparison.verdict not in (GIVEN, IMPOSSIBLE) and math.isfinite(one.ours)
        ]  # fmt: skip
        if len(rows) < LEAST_FOR_A_BASELINE:
            continue
        published = [comparison.expected.value for _, comparison in rows]
        mean = statistics.fmean(published)
        label = f"a constant {mean:.{metric.digits}f} {metric.unit}".rstrip()
        constant = Baseline("constant", label, source, (metric.name,), repr(mean))
        declared = [one for one in outcome.study.baselines if one.source == source and metric.name in one.metrics]
        for baseline in declared or [constant]:
            predicted = [baseline.value(one.cell) for one, _ in rows]
            hits = [comparison.expected.near(value) for (_, comparison), value in zip(rows, predicted, strict=True)]
            found.append(Score(
                source=source, metric=metric.name, baseline=baseline.label, values=len(rows),
                reproduced=sum(comparison.verdict == REPRODUCED for _, comparison in rows), hit=sum(hits),
                error=_error([one.ours for one, _ in rows], published),
                baseline_error=_error(predicted, published),
            ))  # fmt: skip
    return found


def _error(ours: Sequence[float], published: Sequence[float]) -> float:
    scale = statistics.fmean(map(abs, published))
    square = statistics.fmean((a - b) ** 2 for a, b in zip(ours, published, strict=True))
    return math.sqrt(square) / scale if scale > 0 else math.nan


def headline(outcome: Outcome) -> str:
    """The verdicts counted, in a few sentences."""
    parts = [_of_source(outcome, name) for name in outcome.study.sources]
    parts = [part for part in parts if part]
    if outcome.claims or outcome.claims_not_run:
        parts.append(_of_claims(outcome))
    return " ".join(parts) or "No published number stands beside ours."


def _of_source(outcome: Outcome, source: str) -> str:
    verdicts = tally(outcome, source)
    given = verdicts.pop(GIVEN)
    total = sum(verdicts.values())
    label = outcome.study.sources[source].label
    # "Paper", but not "Ns-2".
    label = label.capitalize() if label.isalpha() and label.islower() else label
    words = {DIFFERS: "differ", UNDECIDED: "undecided", IMPOSSIBLE: "impossible"}
    rest = [f"{verdicts[verdict]} {word}" for verdict, word in words.items() if verdicts[verdict]]
    said = [", ".join([f"{label}: {verdicts[REPRODUCED]} of {total} values reproduced", *rest])] if total else []
    if given:
        apart = f"{given} given by the inputs and not counted"
        said.append(apart if said else f"{label}: {apart}")
    others = [comparison for _, comparison in judged(outcome, source) if not comparison.counts]
    if others:
        near = sum(comparison.verdict in (REPRODUCED, GIVEN) for comparison in others)
        apart = f"{near} of {len(others)} under other readings, not counted"
        said.append(apart if said else f"{label}: {apart}")
    if not said:
        return ""
    return "; ".join(said) + "." + _beside_baselines(outcome, source)


def _beside_baselines(outcome: Outcome, source: str) -> str:
    best: dict[str, Score] = {}
    for one in scores(outcome, source):
        if one.metric not in best or one.hit > best[one.metric].hit:
            best[one.metric] = one
    if not best:
        return ""
    chosen = list(best.values())
    values = sum(one.values for one in chosen)
    ours, theirs = (
        math.sqrt(sum(error**2 * one.values for error, one in zip(errors, chosen, strict=True)) / values)
        for errors in ([one.error for one in chosen], [one.baseline_error for one in chosen])
    )
    what = chosen[0].baseline[:1].upper() + chosen[0].baseline[1:] if len(chosen) == 1 else "A constant per measure"
    declared = {metric for baseline in outcome.study.baselines for metric in baseline.metrics}
    if len(chosen) > 1 and declared & best.keys():
        what = "A trivial predictor per measure"
    hit, reproduced = sum(one.hit for one in chosen), sum(one.reproduced for one in chosen)
    text = f" {what} hits {hit} of {values}, the study {reproduced}"
    if math.isfinite(ours) and math.isfinite(theirs):
        text += f"; RMS error {100 * theirs:.1f} % against {100 * ours:.1f} % of the mean"
    return text + "."


def _of_claims(outcome: Outcome) -> str:
    counted = [one.verdict for one in outcome.claims if one.counts]
    total = len(counted)
    said = []
    if total:
        undecided = f", {counted.count(UNDECIDED)} undecided" if UNDECIDED in counted else ""
        said.append(f"{counted.count(HOLDS)} of {total} claims hold{undecided}")
    if others := [one.verdict for one in outcome.claims if not one.counts]:
        said.append(f"{others.count(HOLDS)} of {len(others)} hold under other readings, not counted")
    said = said or ["No claim is judged"]
    said += [f"{later} not run ({why})" for why, later in outcome.claims_not_run.items()]
    return "; ".join(said) + "."
