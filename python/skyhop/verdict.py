"""Verdicts: whether a number of ours, one published elsewhere and the tolerance between them agree.

A verdict is computed from the numbers. A study also declares it, with its reason, and the two must be the same, so
that neither a result that has moved nor a verdict that was wished for goes unnoticed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

REPRODUCED = "reproduced"
DIFFERS = "differs"
IMPOSSIBLE = "impossible"
HOLDS = "holds"
FAILS = "does not hold"

VERDICTS = (REPRODUCED, DIFFERS, IMPOSSIBLE)


class DefinitionError(ValueError):
    """A study says something that cannot be meant; the message names the file and the place."""


@dataclass(frozen=True)
class Tolerance:
    """How far ours may lie below and above the expected value, in the value's unit."""

    below: float
    above: float

    @classmethod
    def parse(cls, below: str | float, above: str | float, *, value: float) -> Tolerance:
        """Each side as a number in the value's unit or as "3 %" of the value."""
        return cls(_side(below, value), _side(above, value))


def _side(text: str | float, value: float) -> float:
    if isinstance(text, str):
        number, percent, rest = text.partition("%")
        if not percent or rest.strip():
            raise DefinitionError(f'a tolerance is a number or a percentage such as "3 %", not {text!r}')
        if value == 0:
            raise DefinitionError("a percentage of 0 allows nothing: give the tolerance of a 0 as a number")
        side = abs(value) * float(number) / 100
    else:
        side = float(text)
    if not math.isfinite(side) or side < 0:
        raise DefinitionError(f"a tolerance is zero or more, not {text!r}")
    return side


@dataclass(frozen=True)
class Bound:
    """What no measurement of a metric can pass, and why. `where` limits it to some values of some axes."""

    metric: str
    why: str
    least: float = -math.inf
    most: float = math.inf
    where: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def applies(self, metric: str, point: Mapping[str, str]) -> bool:
        """Whether it is about this metric at this point of the matrix."""
        return metric == self.metric and all(point[axis] in values for axis, values in self.where.items())

    def broken_by(self, value: float) -> bool:
        """Whether the value cannot be."""
        return not self.least <= value <= self.most


@dataclass(frozen=True)
class Expected:
    """One number that somebody else has for a cell, and what the study says about it."""

    value: float
    printed: str
    tolerance: Tolerance
    verdict: str
    why: str = ""

    def judge(self, ours: float, bounds: Iterable[Bound] = ()) -> str:
        """Impossible when the expected value breaks a bound; else whether ours is within the tolerance."""
        if any(bound.broken_by(self.value) for bound in bounds):
            return IMPOSSIBLE
        difference = ours - self.value
        # The slack forgives the last binary digit of a sum such as 0.1 + 0.2, not a difference.
        slack = 1e-9 * max(abs(ours), abs(self.value))
        inside = -self.tolerance.below - slack <= difference <= self.tolerance.above + slack
        return REPRODUCED if inside else DIFFERS


@dataclass(frozen=True)
class Claim:
    """A sentence of the publication that says which is smaller: `order` is "vegas < bic < reno".

    A name may say which metric it means where that is another: "reno@early < reno@late". A number in
    brackets is itself: "[0.95] < reno".
    """

    text: str
    printed: str
    metric: str
    order: str
    verdict: str
    why: str = ""

    @property
    def names(self) -> set[str]:
        """The names that the order compares."""
        return {name for chain in self._chains() for name in chain if _number(name) is None}

    def judge(self, values: Mapping[str, float]) -> str:
        """Whether every `<` of the order is true of our values."""

        def value(name: str) -> float:
            number = _number(name)
            return values[name] if number is None else number

        pairs = [pair for chain in self._chains() for pair in itertools.pairwise(chain)]
        return HOLDS if all(value(low) < value(high) for low, high in pairs) else FAILS

    def _chains(self) -> list[list[str]]:
        return [[name.strip() for name in chain.split("<")] for chain in self.order.split(",")]


def _number(text: str) -> float | None:
    """The number of "[0.95]"; None for the name of a cell."""
    if not (text.startswith("[") and text.endswith("]")):
        return None
    try:
        return float(text[1:-1])
    except ValueError:
        return None
