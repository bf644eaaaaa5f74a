"""Tables in a study's README that name the best value of an axis, case by case, as far as the runs can tell."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from skyhop import tables
from skyhop.inference import Estimate, Order, order
from skyhop.markdown import line
from skyhop.matrix import Outcome
from skyhop.metrics import Metric
from skyhop.speak import NotRunError, number
from skyhop.verdict import DefinitionError

_KEYS = {"best", "rows", "at", "most", "least", "pick"}


def table(spec: Mapping[str, Any], outcome: Outcome, place: str) -> str:
    """`best` is an axis, `rows` are the others, `at` fixes some; `most` and `least` are metrics; `pick` chooses."""
    if unknown := sorted(spec.keys() - _KEYS):
        raise DefinitionError(f"{place}: {unknown[0]} has no meaning beside `best`")
    labels = {axis.name: axis.label for axis in outcome.study.axes}
    at = {axis: [str(one) for one in (value if isinstance(value, list) else [value])]
          for axis, value in spec.get("at", {}).items()}  # fmt: skip
    rows = list(spec["rows"])
    for axis in (spec["best"], *rows, *at):
        if axis not in labels:
            raise DefinitionError(f"{place}: no axis {axis!r}; there are {', '.join(labels)}")
    if loose := sorted(labels.keys() - {spec["best"], *rows, *at}):
        raise DefinitionError(f"{place}: `at` fixes no value of {loose[0]}")
    wanted = [
        (_metric(outcome, name, place), word == "most") for word in ("most", "least") for name in spec.get(word, [])
    ]
    cases = _cases(outcome, spec["best"], rows, at)
    titles = [labels[axis] for axis in rows]
    titles += [f"{'most' if largest else 'least'} {_labelled(metric)}" for metric, largest in wanted]
    pick = spec.get("pick")
    if pick is not None:
        least, most = (_metric(outcome, pick[word], place) for word in ("least", "most"))
        titles.append(
            f"least {_labelled(least)} of those with {100 * pick['share']:g} % of the most {most.label.lower()}"
        )
    lines = [line(titles), line(["---"] * len(titles))]
    for point, values in cases.items():
        cells = list(point)
        for metric, largest in wanted:
            cells.append(_named(values.get(metric.name, {}), metric, largest=largest))
        if pick is not None:
            cells.append(_picked(values, pick, outcome, place))
        lines.append(line(cells))
    return "\n".join(lines) + "\n"


def _cases(
    outcome: Outcome, best: str, rows: Sequence[str], at: Mapping[str, Sequence[str]]
) -> dict[tuple[str, ...], dict[str, dict[str, Estimate]]]:
    """For each row of the table, by metric and value of the axis, what we have."""
    found: dict[tuple[str, ...], dict[str, dict[str, Estimate]]] = {}
    for part in outcome.study.parts:
        for cell in part.cells:
            point = dict(cell.point)
            if any(point[axis] not in values for axis, values in at.items()):
                continue
            for name in part.metrics:
                if (estimate := outcome.estimates.get((cell, name))) is None:
                    raise NotRunError
                case = found.setdefault(tuple(point[axis] for axis in rows), {})
                case.setdefault(name, {})[point[best]] = estimate
    return found


def _metric(outcome: Outcome, name: str, place: str) -> Metric:
    if name not in outcome.study.metrics:
        raise DefinitionError(f"{place}: no metric {name!r}; there are {', '.join(outcome.study.metrics)}")
    return outcome.study.metrics[name]


def _labelled(metric: Metric) -> str:
    label = metric.label.lower()
    return f"{label} ({metric.unit})" if metric.unit else label


def _named(values: Mapping[str, Estimate], metric: Metric, *, largest: bool) -> str:
    """The best with its mean, and those that the runs do not tell apart from it, best first."""
    names = first_and_equals(values, largest=largest)
    if not names:
        return tables.ABSENT
    shown = f"{names[0]} {number(values[names[0]].mean, metric.digits)}"
    return f"{shown} ({', '.join(names[1:])})" if len(names) > 1 else shown


def _picked(values: Mapping[str, Mapping[str, Estimate]], pick: Mapping[str, Any], outcome: Outcome, place: str) -> str:
    """The best by the second metric of those that come near the largest mean of the first.

    Behind it those that would be better and of which the runs do not say whether they come near enough.
    """
    first = values.get(pick["most"], {})
    second = _metric(outcome, pick["least"], place)
    near, open_ones = near_the_most(first, share=pick["share"])
    wanted = values.get(second.name, {})
    named = _named({name: one for name, one in wanted.items() if name in near}, second, largest=False)
    least = min((wanted[name].mean for name in near if name in wanted), default=math.inf)
    perhaps = sorted((one.mean, name) for name, one in wanted.items() if name in open_ones and one.mean < least)
    return "; ".join([named, *(f"perhaps {name} {number(mean, second.digits)}" for mean, name in perhaps)])


def near_the_most(values: Mapping[str, Estimate], *, share: float) -> tuple[set[str], set[str]]:
    """The names whose mean is at least a share of the largest, and those that are below it by no more than noise.

    The tests are those of a claim, of all others against that share of the largest: 5 % for all of them (Holm).
    """
    if not values:
        return set(), set()
    largest = values[max(values, key=lambda name: values[name].mean)]
    bar = Estimate({seed: share * one for seed, one in largest.by_seed.items()}, deterministic=largest.deterministic)
    near = {name for name, one in values.items() if one.mean >= bar.mean}
    below = [name for name in values if name not in near]
    told = order([(values[name], bar) for name in below])
    return near, {name for name, one in zip(below, told, strict=True) if one is Order.UNKNOWN}


def first_and_equals(values: Mapping[str, Estimate], *, largest: bool) -> list[str]:
    """The name with the best mean, then those of which no test says that they are worse, by their means.

    The tests are those of a claim: paired over equal seeds, at 5 % for all comparisons with the best (Holm).
    """
    ranked = sorted(values, key=lambda name: values[name].mean, reverse=largest)
    if not ranked:
        return []
    best = values[ranked[0]]
    told = order([(values[name], best) if largest else (best, values[name]) for name in ranked[1:]])
    return [ranked[0], *(name for name, one in zip(ranked[1:], told, strict=True) if one is not Order.BELOW)]
