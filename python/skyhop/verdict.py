"""Verdicts: whether our numbers, published ones and the tolerance between them agree, as far as our runs can tell.

A verdict is computed from the numbers and their intervals over the seeds. A study also declares it, with its reason,
and the two must be the same, so that neither a result that has moved nor a verdict that was wished for goes unnoticed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from skyhop.inference import Estimate, Order, order

REPRODUCED = "reproduced"
DIFFERS = "differs"
UNDECIDED = "undecided"
GIVEN = "given"
IMPOSSIBLE = "impossible"
HOLDS = "holds"
FAILS = "does not hold"

#: Verdicts on a value.
VERDICTS = (REPRODUCED, DIFFERS, UNDECIDED, GIVEN, IMPOSSIBLE)
#: Verdicts on a claim.
CLAIM_VERDICTS = (HOLDS, FAILS, UNDECIDED)
#: The verdicts that need no reason.
PLAIN = (REPRODUCED, HOLDS, IMPOSSIBLE)


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
class Guard:
    """What another metric of the same cell must reach before a number there means anything.

    Two flows that get nothing share it fairly: Jain's index is read together with the utilisation.
    """

    metric: str
    least: float = -math.inf
    most: float = math.inf

    def met(self, ours: Estimate) -> bool | None:
        """Whether the whole interval is within the limits; None where it straddles one."""
        return _inside(ours, self.least, self.most)

    def __str__(self) -> str:
        sides = [f"{word} {limit:g}" for word, limit in (("at least", self.least), ("at most", self.most))
                 if math.isfinite(limit)]  # fmt: skip
        return f"{self.metric} {' and '.join(sides)}"


def _inside(ours: Estimate, least: float, most: float) -> bool | None:
    """Whether the interval lies inside the limits (True), outside (False) or across one of them (None)."""
    if math.isnan(ours.mean):
        return False
    # The slack forgives the last binary digit of a sum such as 0.1 + 0.2, not a difference.
    slack = 1e-9 * max([abs(ours.mean), *(abs(limit) for limit in (least, most) if math.isfinite(limit))])
    if ours.low >= least - slack and ours.high <= most + slack:
        return True
    if ours.high < least - slack or ours.low > most + slack:
        return False
    return None


@dataclass(frozen=True)
class Expected:
    """One number that somebody else has for a cell, and what the study says about it."""

    value: float
    printed: str
    tolerance: Tolerance
    verdict: str
    why: str = ""
    guards: tuple[Guard, ...] = ()
    #: Whether the headline counts it; None leaves that to the cell's reading.
    counts: bool | None = None

    def near(self, value: float) -> bool:
        """Whether a number lies within the tolerance."""
        return _inside(Estimate.exactly(value), *self._limits) is True

    @property
    def _limits(self) -> tuple[float, float]:
        return self.value - self.tolerance.below, self.value + self.tolerance.above

    def judge(self, ours: Estimate, bounds: Iterable[Bound] = (), guards: Mapping[str, Estimate] | None = None) -> str:
        """Impossible when the expected value breaks a bound; else by where our whole interval lies.

        `guards` are the guards' metrics at the same cell. A guard that is not met makes a value differ, whatever it
        is. `given` is never better than it is declared: only what would be reproduced can be given.
        """
        if any(bound.broken_by(self.value) for bound in bounds):
            return IMPOSSIBLE
        met = [guard.met((guards or {})[guard.metric]) for guard in self.guards]
        inside = _all([_inside(ours, *self._limits), *met])
        if inside is None:
            return UNDECIDED
        if not inside:
            return DIFFERS
        return GIVEN if self.verdict == GIVEN else REPRODUCED


def _all(answers: Sequence[bool | None]) -> bool | None:
    """False if one is false, else None if one is unknown."""
    if any(answer is False for answer in answers):
        return False
    return None if any(answer is None for answer in answers) else True


@dataclass(frozen=True)
class Claim:
    """A sentence of the publication that says which is smaller: `order` is "vegas < bic < reno".

    "a & b < c" means that each of a and b is smaller than c. A name may say which metric it means where that is
    another: "reno@early < reno@late". A number in brackets is itself: "[0.95] < reno".
    """

    text: str
    printed: str
    metric: str
    order: str
    verdict: str
    why: str = ""
    guards: tuple[Guard, ...] = ()
    counts: bool | None = None
    #: `order` with the names that it has in the study's matrix, where it says less than them.
    spelled: str = ""

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Pairs of names, the smaller first."""
        found = []
        for chain in (self.spelled or self.order).split(","):
            links = [[name.strip() for name in link.split(" & ")] for link in chain.split("<")]
            for low, high in itertools.pairwise(links):
                found += [(a, b) for a in low for b in high]
        return found

    @property
    def names(self) -> set[str]:
        """The names that the order compares."""
        return {name for pair in self.pairs for name in pair if number_of(name) is None}

    def judge(self, values: Mapping[str, Estimate], guards: Iterable[tuple[Guard, Estimate]] = ()) -> str:
        """Holds when every `<` is decided and true, does not hold when one is decided and false, else undecided.

        All its `<` are tested together: the chance that noise decides any of them is 5 % (Holm).
        """

        def value(name: str) -> Estimate:
            number = number_of(name)
            return values[name] if number is None else Estimate.exactly(number)

        found = order([(value(low), value(high)) for low, high in self.pairs])
        known = {Order.BELOW: True, Order.ABOVE: False, Order.EQUAL: False, Order.UNKNOWN: None}
        answer = _all([*(known[one] for one in found), *(guard.met(ours) for guard, ours in guards)])
        return UNDECIDED if answer is None else HOLDS if answer else FAILS


def number_of(text: str) -> float | None:
    """The number of "[0.95]"; None for the name of a cell."""
    if not (text.startswith("[") and text.endswith("]")):
        return None
    try:
        return float(text[1:-1])
    except ValueError:
        return None
