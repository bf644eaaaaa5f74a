"""What a short expression says about a study's numbers: the language of markers in prose and in expect.toml."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from skyhop import formula, score
from skyhop.inference import Estimate
from skyhop.matrix import Outcome
from skyhop.metrics import Metric
from skyhop.studies import Cell
from skyhop.verdict import VERDICTS, DefinitionError


def number(value: float, digits: int) -> str:
    """With the minus sign of text. A value that rounds to zero has none."""
    shown = f"{value:.{digits}f}"
    return shown.lstrip("-") if float(shown) == 0 else shown.replace("-", "−")


def signed(value: float, digits: int) -> str:
    """With its sign, also in front of a positive value. A value that rounds to zero has none."""
    shown = number(value, digits)
    return f"+{shown}" if float(f"{value:.{digits}f}") > 0 else shown


def difference(ours: float, theirs: float, digits: int) -> str:
    """Ours minus theirs as a share of theirs, in per cent; in the metric's unit where theirs is 0."""
    off = ours - theirs
    return signed(100 * off / abs(theirs), 1) + " %" if theirs else signed(off, digits)


def digits_of(half: float, digits: int) -> int:
    """So many digits behind the point, or more where half of an interval would be rounded to zero: an interval of no
    width would say that all seeds gave the same."""
    # A narrower interval than 1e-12 is rounding of sums.
    while half > 0 and digits < 12 and float(f"{half:.{digits}f}") == 0:
        digits += 1
    return digits


def mean_and_half(mean: float, half: float, digits: int) -> str:
    """A mean with half of its interval, both with the digits of `digits_of`."""
    digits = digits_of(half, digits)
    return f"{number(mean, digits)} ± {number(half, digits)}"


def with_interval(estimate: Estimate, digits: int) -> str:
    """The mean with half of its interval; of equal values, which have none, at how many seeds they came."""
    text = number(estimate.mean, digits)
    if equal := estimate.equal_seeds:
        return f"{text} (at all {equal} seeds)"
    if len(estimate.by_seed) < 2:
        return text
    return mean_and_half(estimate.mean, estimate.half, digits)


class NotRunError(Exception):
    """The number belongs to a part that was not asked for; its text stays as it is."""


@dataclass
class Speaker:
    """Says what a marker means."""

    outcome: Outcome
    place: str

    def say(self, what: str) -> str:
        """`headline`, `count …`, a value or a formula of values in brackets, with a format after a semicolon."""
        text, _, shape = (one.strip() for one in what.partition(";"))
        if text == "headline":
            return score.headline(self.outcome)
        if text.startswith("count "):
            return str(self._count(text.removeprefix("count ").strip()))
        if "[" not in text:
            estimate, digits = self._estimate(text)
            return self._shaped(estimate, digits, shape)
        names: dict[str, float] = {}

        def name(found: re.Match[str]) -> str:
            names[f"value{len(names)}"] = self._estimate(found[1])[0].mean
            return f"value{len(names) - 1}"

        result = formula.evaluate(re.sub(r"\[(.*?)\]", name, text), names)
        return self._shaped(Estimate.exactly(result), 1, shape)

    def _shaped(self, estimate: Estimate, digits: int, shape: str) -> str:
        found = re.fullmatch(r"(±?)(?:\.([0-9])f)?", shape)
        if found is None:
            raise DefinitionError(f'{self.place}: a format is "±", ".2f" or "±.2f", not {shape!r}')
        places = int(found[2]) if found[2] else digits
        return with_interval(estimate, places) if found[1] else number(estimate.mean, places)

    def _estimate(self, what: str) -> tuple[Estimate, int]:
        """`metric@cell`; `…#source`: as printed; `…!3`: seed 3; `least` or `most metric@pattern`; `sweep NAME: …`."""
        for word, choose in (("least ", min), ("most ", max)):
            if what.startswith(word):
                found = self._matching(what.removeprefix(word))
                return choose(found, key=lambda one: one[0].mean)
        sweep_name, colon, rest = what.partition(":")
        metric, at, label = (rest if colon else what).strip().partition("@")
        if not at:
            raise DefinitionError(f"{self.place}: a value is metric@cell, not {what!r}")
        label, _, source = label.partition("#")
        label, _, seed = label.partition("!")
        known = self._known(sweep_name.removeprefix("sweep ").strip() if colon else "", metric.strip())
        if label.strip() not in known:
            raise DefinitionError(f"{self.place}: no cell {label.strip()!r} has {metric!r}")
        estimate, digits = known[label.strip()]
        if estimate is None:
            raise NotRunError
        if source:
            return self._published(metric, label.strip(), source.strip()), digits
        if seed:
            if int(seed) not in estimate.by_seed:
                raise DefinitionError(f"{self.place}: there is no seed {seed}")
            return Estimate.exactly(estimate.by_seed[int(seed)]), digits
        return estimate, digits

    def _matching(self, what: str) -> list[tuple[Estimate, int]]:
        sweep_name, colon, rest = what.partition(":")
        metric, _, pattern = (rest if colon else what).partition("@")
        known = self._known(sweep_name.removeprefix("sweep ").strip() if colon else "", metric.strip())
        found = [one for label, one in known.items() if _matches(label, pattern.strip())]
        if not found:
            raise DefinitionError(f"{self.place}: no cell matches {pattern!r}")
        if any(estimate is None for estimate, _ in found):
            raise NotRunError
        return [(estimate, digits) for estimate, digits in found if estimate is not None]

    def _known(self, sweep_name: str, metric: str) -> Mapping[str, tuple[Estimate | None, int]]:
        """All cells of a metric by label; None for those that were not run."""
        if sweep_name:
            swept = of_sweep(self.outcome, sweep_name, self.place)
            return {cell.label: (one, wanted.digits) for cell, wanted, one in swept if wanted.name == metric}
        study = self.outcome.study
        if metric not in study.metrics:
            raise DefinitionError(f"{self.place}: no metric {metric!r}; there are {', '.join(study.metrics)}")
        return {
            cell.label: (self.outcome.estimates.get((cell, metric)), study.metrics[metric].digits)
            for part in study.parts
            for cell in part.cells
            if metric in part.metrics
        }

    def _published(self, metric: str, label: str, source: str) -> Estimate:
        for one in self.outcome.study.expectations:
            if one.metric == metric and one.cell.label == label and source in one.sources:
                return Estimate.exactly(one.sources[source].value)
        raise DefinitionError(f"{self.place}: {source!r} says nothing about {metric} of {label}")

    def _count(self, what: str) -> int:
        """`paper` (values that are judged), `paper.reproduced`, `claims`, `claims.holds`, `runs`."""
        name, _, verdict = what.partition(".")
        if name == "runs":
            return len(self.outcome.samples)
        if name == "claims":
            verdicts = [one.verdict for one in self.outcome.claims if one.counts]
            return sum(one.startswith(verdict) for one in verdicts) if verdict else len(verdicts)
        if name not in self.outcome.study.sources or (verdict and verdict not in VERDICTS):
            raise DefinitionError(f"{self.place}: counts are runs, claims, claims.holds, SOURCE and SOURCE.VERDICT")
        tally = score.tally(self.outcome, name)
        return tally[verdict] if verdict else sum(n for one, n in tally.items() if one != "given")


def _matches(label: str, pattern: str) -> bool:
    """Axis by axis: `*` and the like, or `{a,b}` for one of some values. A pattern without a slash is for all of it."""
    values, wanted = label.split(" / "), pattern.split(" / ")
    if len(values) != len(wanted):
        return fnmatch.fnmatchcase(label, pattern)
    return all(
        value in one[1:-1].split(",") if one.startswith("{") else fnmatch.fnmatchcase(value, one)
        for value, one in zip(values, wanted, strict=True)
    )


def of_sweep(outcome: Outcome, name: str, place: str) -> Iterator[tuple[Cell, Metric, Estimate]]:
    """Every cell and metric of one of the study's sweeps."""
    known = {one.name for one in outcome.study.sweeps}
    if name not in known:
        raise DefinitionError(f"{place}: the study has no sweep {name!r}; it has {', '.join(sorted(known)) or 'none'}")
    if name not in outcome.sweeps:
        raise NotRunError
    sweep, result = outcome.sweeps[name]
    rows = result.runs.to_dicts()
    for cell in sweep.cells:
        here = [row for row in rows if all(row[axis] == value for axis, value in cell.point)]
        # As in the matrix: runs that are all the same are one run.
        here = here[:1] if len({row["records_hash"] for row in here}) == 1 else here
        for metric in sweep.metrics:
            yield cell, metric, Estimate({row["seed"]: float(row[metric.name]) for row in here})


def filled(text: str, outcome: Outcome) -> str:
    """A reason of expect.toml with its numbers: what stands in {= …} is said by the study."""

    def said(found: re.Match[str]) -> str:
        try:
            return Speaker(outcome, f"expect.toml: {found[0]!r}").say(found[1])
        except NotRunError:
            return "(not run)"

    # A pattern has braces of its own: {= least delay@{reno,sack} / * }.
    return re.sub(r"\{= ((?:[^{}]|\{[^{}]*\})*)\}", said, text)
