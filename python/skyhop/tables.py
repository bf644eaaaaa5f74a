"""A study's results as rows of text, for the terminal, the report and the README."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from skyhop import score
from skyhop.inference import LEVEL
from skyhop.markdown import line
from skyhop.matrix import ClaimResult, Comparison, Outcome, Result
from skyhop.speak import difference, filled, number, with_interval
from skyhop.studies import Study
from skyhop.verdict import IMPOSSIBLE

ABSENT = "–"

#: How a verdict comes about, for the reader.
RULE = (
    "A verdict is computed from the numbers and their 95 % intervals over the seeds: reproduced when the whole "
    "interval lies within the tolerance that the study states for the value, differs when all of it lies outside, "
    "undecided when it straddles the edge; given when the inputs set the value, so that meeting it proves nothing; "
    "impossible when the published value passes a bound of the scenario itself. Each printed value is counted once, "
    "under one reading."
)
CLAIM_RULE = (
    "A claim's comparisons are tested together (paired t tests over equal seeds, else Welch's; tests of signs where "
    f"values or gaps are equal at all seeds; Holm's procedure, {LEVEL:.0%} for the whole claim): it holds when all are "
    "decided and true, does not hold when one is decided and false, else it is undecided."
)


@dataclass(frozen=True)
class Row:
    """One line of the comparison; `cells` match `header`. `verdicts` are those among them, for colouring."""

    measure: str
    cells: tuple[str, ...]
    first_of_measure: bool


def header(outcome: Outcome) -> list[str]:
    """measure | axes | each source | ours | for each source: difference and verdict."""
    study = outcome.study
    sources = [source.label for source in study.sources.values()]
    judged = [column for label in sources for column in (f"to {label}", "verdict")]
    return ["measure", *(axis.label for axis in study.axes), *sources, "ours", *judged]


def rows(outcome: Outcome) -> list[Row]:
    """One row per metric and cell."""
    found = []
    previous = ""
    for one in outcome.results:
        name = f"{one.metric.label} ({one.metric.unit})" if one.metric.unit else one.metric.label
        published = [_value(one, one.comparisons.get(source)) for source in outcome.study.sources]
        judged = [text for source in outcome.study.sources for text in _judged(one, one.comparisons.get(source))]
        cells = (
            name if name != previous else "", *(value for _, value in one.cell.point), *published, ours(one), *judged,
        )  # fmt: skip
        found.append(Row(name, cells, first_of_measure=name != previous))
        previous = name
    return found


def ours(one: Result) -> str:
    """Our mean with its interval; of one run whether it says all, of equal values at how many seeds they came."""
    text = with_interval(one.estimate, one.metric.digits)
    return text if len(one.estimate.by_seed) > 1 or one.estimate.deterministic else f"{text} (one run)"


def notes(outcome: Outcome) -> list[str]:
    """What a reader has to know about single runs and equal values."""
    single = [part for part in map(outcome.study.part, outcome.study.cells) if len(part.seeds) == 1]
    said = []
    if any(part.deterministic for part in single):
        said.append(
            "Without an interval: deterministic, one run. Another seed, or one flow a microsecond later, changes no "
            "digit shown."
        )
    if any(not part.deterministic for part in single):
        said.append("“(one run)”: one seed of a run that others would change. Nothing is decided by it.")
    if any(one.estimate.equal_seeds for one in outcome.results):
        said.append(
            "“(at all … seeds)”: runs that differ gave the same value, so that there is no scatter to compute an "
            "interval from. Six such values or more decide (test of signs), fewer do not."
        )
    return said


def reasons(outcome: Outcome) -> list[tuple[str, str]]:
    """Why a verdict is what it is, where the study says so: (what, why), equal reasons under one heading."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for one in outcome.results:
        for source, comparison in one.comparisons.items():
            why = comparison.expected.why
            if comparison.verdict == IMPOSSIBLE:
                bounds = outcome.study.bounds_of(one.metric.name, one.cell)
                why = " ".join(bound.why for bound in bounds if bound.broken_by(comparison.expected.value))
            if why := filled(why, outcome):
                label = f"{one.metric.label}, {outcome.study.sources[source].label}: {comparison.verdict}"
                grouped.setdefault((label, why), []).append(one.cell.label)
    return [(f"{label} ({', '.join(cells)})", why) for (label, why), cells in grouped.items()]


def baselines(outcome: Outcome) -> list[tuple[str, ...]]:
    """What trivial predictors reach beside the study; the first row is the header. Empty without any."""
    found = [one for source in outcome.study.sources for one in score.scores(outcome, source)]
    if not found:
        return []
    lines: list[tuple[str, ...]] = [
        ("beside", "measure", "values", "ours reproduces", "RMS error", "trivial predictor", "hits", "RMS error")
    ]
    for one in found:
        errors = [f"{100 * error:.1f} %" if error == error else ABSENT for error in (one.error, one.baseline_error)]
        lines.append((
            outcome.study.sources[one.source].label, outcome.study.metrics[one.metric].label, str(one.values),
            str(one.reproduced), errors[0], one.baseline, str(one.hit), errors[1],
        ))  # fmt: skip
    return lines


def claims(outcome: Outcome) -> list[tuple[str, str, str, str, str]]:
    """(text, printed, what it means, verdict, reason) of each claim; those of long parts are `not run` without them."""
    done = {id(one.claim): one for one in outcome.claims}
    found = []
    for claim in outcome.study.claims:
        one: ClaimResult | None = done.get(id(claim))
        text = claim.text if one is None or one.counts else f"{claim.text} (another reading: not counted)"
        means = f"{outcome.study.metrics[claim.metric].label}: {claim.order}"
        guards = [*claim.guards, *outcome.study.metrics[claim.metric].guards]
        if guards:
            means += f"; with {', '.join(map(str, guards))}"
        found.append(
            (filled(text, outcome), claim.printed, means, one.verdict if one else "not run", filled(claim.why, outcome))
        )
    return found


def markdown(outcome: Outcome) -> str:
    """The comparison, the reasons and the claims as Markdown."""
    titles = header(outcome)
    axes = len(outcome.study.axes)
    sides = ["---:" if number > axes and title != "verdict" else "---" for number, title in enumerate(titles)]
    lines = [score.headline(outcome), "", line(titles), line(sides)]
    lines += [line([row.measure if row.first_of_measure else "", *row.cells[1:]]) for row in rows(outcome)]
    for note in notes(outcome):
        lines += ["", note]
    if compared := baselines(outcome):
        lines += ["", "A trivial predictor beside ours (RMS errors as shares of the mean of the published values):", ""]
        lines += [line(compared[0]), line(["---", "---", "---:", "---:", "---:", "---", "---:", "---:"])]
        lines += [line(row) for row in compared[1:]]
    if explained := reasons(outcome):
        lines += ["", *(f"- **{what}.** {why}" for what, why in explained)]
    if outcome.study.claims:
        lines += ["", line(["claim", "printed", "means", "verdict"]), line(["---"] * 4)]
        for text, printed, means, verdict, why in claims(outcome):
            lines.append(line([text, printed, means, f"{verdict}: {why}" if why else verdict]))
    return "\n".join(lines) + "\n"


def as_defined(study: Study) -> dict[str, Any]:
    """A study before it is run, for JSON: question, matrix, and the numbers and claims that it expects."""
    return {
        "name": study.name,
        "title": study.title,
        "question": study.question,
        "paper": study.paper,
        "axes": [{"name": axis.name, "label": axis.label, "values": list(axis.values)} for axis in study.axes],
        "parts": [
            {"name": part.name, "cells": len(part.cells), "seeds": part.seeds, "long": part.long}
            for part in study.parts
        ],
        "expected": [
            dict(one.cell.point)
            | {"metric": one.metric, "unit": study.metrics[one.metric].unit, "source": study.sources[source].label}
            | {"value": expected.value, "printed": expected.printed, "verdict": expected.verdict}
            for one in study.expectations
            for source, expected in one.sources.items()
        ],
        "claims": [{"text": one.text, "printed": one.printed, "verdict": one.verdict} for one in study.claims],
    }


def as_found(outcome: Outcome) -> dict[str, Any]:
    """What a study gave, for JSON: a row for each metric and cell as in `results.csv`, and the claims."""
    keys = ("text", "printed", "means", "verdict", "why")
    return {
        "name": outcome.study.name,
        "title": outcome.study.title,
        "results": outcome.results_table.to_dicts(),
        "claims": [dict(zip(keys, row, strict=True)) for row in claims(outcome)],
        "headline": score.headline(outcome),
        "notes": notes(outcome),
        "warnings": outcome.warnings,
    }


def _value(one: Result, comparison: Comparison | None) -> str:
    return ABSENT if comparison is None else number(comparison.expected.value, one.metric.digits)


def _judged(one: Result, comparison: Comparison | None) -> tuple[str, str]:
    if comparison is None:
        return ABSENT, ABSENT
    verdict = comparison.verdict if comparison.counts else f"({comparison.verdict})"
    return difference(one.ours, comparison.expected.value, one.metric.digits), verdict
