"""A study's results as rows of text, for the terminal, the report and the README."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from skyhop.matrix import Comparison, Outcome, Result
from skyhop.verdict import DIFFERS, HOLDS, IMPOSSIBLE, REPRODUCED, DefinitionError

ABSENT = "–"


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
        ours = _number(one.ours, one.metric.digits)
        if one.interval is not None:
            ours += f" ± {_number(one.interval, one.metric.digits)}"
        cells = (name if name != previous else "", *(value for _, value in one.cell.point), *published, ours, *judged)
        found.append(Row(name, cells, first_of_measure=name != previous))
        previous = name
    return found


def reasons(outcome: Outcome) -> list[tuple[str, str]]:
    """Why a verdict is what it is, where the study says so: (what, why), equal reasons under one heading."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for one in outcome.results:
        for source, comparison in one.comparisons.items():
            why = comparison.expected.why
            if comparison.verdict == IMPOSSIBLE:
                bounds = outcome.study.bounds_of(one.metric.name, one.cell)
                why = " ".join(bound.why for bound in bounds if bound.broken_by(comparison.expected.value))
            if why:
                label = f"{one.metric.label}, {outcome.study.sources[source].label}: {comparison.verdict}"
                grouped.setdefault((label, why), []).append(one.cell.label)
    return [(f"{label} ({', '.join(cells)})", why) for (label, why), cells in grouped.items()]


def conclusion(outcome: Outcome) -> str:
    """The verdicts counted, in one sentence."""
    parts = []
    for name, source in outcome.study.sources.items():
        verdicts = [one.comparisons[name].verdict for one in outcome.results if name in one.comparisons]
        others = ((DIFFERS, "differ"), (IMPOSSIBLE, "impossible"))
        rest = [f"{verdicts.count(verdict)} {word}" for verdict, word in others
                if verdict in verdicts]  # fmt: skip
        counted = ", ".join([f"{verdicts.count(REPRODUCED)} of {len(verdicts)} values reproduced", *rest])
        parts.append(f"{source.label}: {counted}")
    if outcome.claims:
        held = sum(claim.verdict == HOLDS for claim in outcome.claims)
        parts.append(f"{held} of {len(outcome.claims)} claims hold")
    if not parts:
        return "No published number stands beside ours."
    text = "; ".join(parts)
    return text[:1].upper() + text[1:] + "."


def markdown(outcome: Outcome) -> str:
    """The comparison, the reasons and the claims as Markdown."""
    titles = header(outcome)
    axes = len(outcome.study.axes)
    sides = ["---:" if number > axes and title != "verdict" else "---" for number, title in enumerate(titles)]
    lines = [conclusion(outcome), "", _line(titles), _line(sides)]
    lines += [_line([row.measure if row.first_of_measure else "", *row.cells[1:]]) for row in rows(outcome)]
    if explained := reasons(outcome):
        lines += ["", *(f"- **{what}.** {why}" for what, why in explained)]
    if outcome.claims:
        lines += ["", _line(["claim", "printed", "means", "verdict"]), _line(["---"] * 4)]
        for one in outcome.claims:
            verdict = one.verdict + (f": {one.claim.why}" if one.claim.why else "")
            metric = outcome.study.metrics[one.claim.metric].label
            lines.append(_line([one.claim.text, one.claim.printed, f"{metric}: {one.claim.order}", verdict]))
    return "\n".join(lines) + "\n"


_GENERATED = re.compile(r"(<!-- results:[^>]*-->\n)(.*?)(<!-- end of results -->)", re.DOTALL)


def readme_part(readme: Path) -> str:
    """The generated part of a study's README as it stands there."""
    found = _GENERATED.search(readme.read_text(encoding="utf-8"))
    if found is None:
        raise DefinitionError(f"{readme}: has no place for the results (<!-- results: … --> <!-- end of results -->)")
    return found[2]


def renew_readme(readme: Path, outcome: Outcome) -> None:
    """Puts the results into the generated part of a study's README."""
    readme_part(readme)
    text = readme.read_text(encoding="utf-8")
    readme.write_text(_GENERATED.sub(lambda part: part[1] + markdown(outcome) + part[3], text), encoding="utf-8")


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _value(one: Result, comparison: Comparison | None) -> str:
    return ABSENT if comparison is None else _number(comparison.expected.value, one.metric.digits)


def _judged(one: Result, comparison: Comparison | None) -> tuple[str, str]:
    if comparison is None:
        return ABSENT, ABSENT
    difference = comparison.difference(one.ours)
    if comparison.expected.value == 0:
        return _signed(difference, one.metric.digits), comparison.verdict
    return _signed(100 * difference / comparison.expected.value, 1) + " %", comparison.verdict


def _signed(value: float, digits: int) -> str:
    """With its sign; what rounds to zero has none."""
    shown = f"{value:+.{digits}f}"
    return shown[1:] if float(shown) == 0 else shown.replace("-", "−")


def _number(value: float, digits: int) -> str:
    return f"{value:.{digits}f}".replace("-", "−")
