"""Finds the token bucket behind floods that see its volume come back as a whole: `restored` of the key `allowance`.

A long flood falls to the level of its bucket, rises to the rates of the slots when the volume is restored, and falls
again after about the volume. Rates of slots that hold for minutes rise and fall, too, but at edges. So a restoration
counts as seen only if its rise, or the fall after it, lies within a slot, and if about the same volume was carried each
time. Where fewer than two are seen in one flood, nothing here is claimed, and `allowance` looks for a plain bucket.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np

from skyhop.inference import t_quantile
from skyhop.starlink import allowance
from skyhop.starlink.allowance import (
    AGREE,
    SCATTER,
    WITHOUT_LOSSES,
    Allowance,
    Series,
    differ,
    drawn_means,
    is_together,
    is_told,
    losses_of_streams,
    mean_rate,
    series_of,
)
from skyhop.starlink.estimating import evenly_spaced
from skyhop.starlink.fitting import Parameter, interval
from skyhop.starlink.measuring import SLOT_S
from skyhop.starlink.recordings import Floats
from skyhop.starlink.restoration_course import (
    LEAST_SEEN,
    Course,
    Path,
    Restoration,
    Stretch,
    course_of,
    gaps_of,
    levels_of,
    limited_rows,
    states,
)
from skyhop.starlink.transfers import Transfer

#: Times between restorations for quantiles; for fewer a pair is written, between which all times are as probable.
_FOR_QUANTILES = 8

#: A report begins in whole seconds and its intervals are a second long, s: a moment is known no better.
_MOMENT_S = 1.0


def find(transfers: Sequence[Transfer], *, draws: int = 200, seed: int = 1) -> Allowance:
    """Finds the bucket behind transfers of one direction, with its restorations if a flood shows two or more.

    Without such a flood the answer is that of `allowance.find`. Then a sentence may tell why none is claimed.
    """
    every = [series_of(one) for one in transfers]
    courses = [
        course_of(each) if one.is_udp and is_told(each) else None for one, each in zip(transfers, every, strict=True)
    ]
    claims = {place: one for place, one in enumerate(courses) if one is not None and one.is_claimed}
    if not claims:
        found = allowance.find(transfers, draws=draws, seed=seed)
        notes = [
            _unclaimed(every[place], one) for place, one in enumerate(courses) if one is not None and one.is_likely
        ]
        return dataclasses.replace(found, notes=(*found.notes, *notes)) if notes else found
    bucket = _Restored(every, claims, [one.offered_mbps for one in every])
    if against := bucket.against():
        found = allowance.find(transfers, draws=draws, seed=seed)
        return dataclasses.replace(found, notes=(f"{against} No restorations are claimed.", *found.notes))
    return bucket.allowance(transfers, draws, seed)


def _unclaimed(series: Series, course: Course) -> str:
    """A sentence on a flood whose volume seems to be restored, but not clearly often enough."""
    times = ", ".join(f"{series.warm_up_s + one.moment_s:.0f}" for one in course.restorations)
    return (
        f"{series.name}: rises from {course.rate:.3g} Mbit/s at {times} s after the start and falls again, as behind a "
        f"token bucket whose volume is restored. Fewer than {LEAST_SEEN} of these times are clearly within a slot, so "
        "none is claimed: record a flood of an hour or more."
    )


def constant(floods: Sequence[Sequence[Restoration]]) -> tuple[float, float] | None:
    """The least and the greatest time between restorations that suits all if it is always the same; None where none.

    In each flood the moments are as far apart, within what is known of each.
    """
    least, most = 0.0, math.inf
    for every in floods:
        runs: list[list[Restoration]] = []
        for one in every:
            if one.is_after_others or not runs:
                runs.append([])
            runs[-1].append(one)
        for run in runs:
            for (n, before), (m, after) in itertools.combinations(enumerate(run), 2):
                least = max(least, (after.low_s - before.high_s - _MOMENT_S) / (m - n))
                most = min(most, (after.high_s - before.low_s + _MOMENT_S) / (m - n))
    return (least, most) if least <= most else None


def times_of(floods: Sequence[Sequence[Restoration]]) -> tuple[tuple[float, ...], Parameter]:
    """The value of `restored` in s, one or quantiles, and the mean time between two restorations with its interval.

    One value is written where all moments of a flood are as far apart, within what is known of them. Then its interval
    holds all values that suit them. Otherwise the times are taken for independent draws (Student's t). One time alone
    has no interval.
    """
    gaps = np.array([gap for one in floods for gap in gaps_of(one)])
    name = "allowance, restored after, mean, s"
    if between := constant(floods):
        value = sum(between) / 2
        return (max(value, 1.0),), Parameter(name, value, *(between if gaps.size > 1 else (math.nan, math.nan)))
    mean, deviation = float(gaps.mean()), float(gaps.std(ddof=1))
    off = t_quantile(gaps.size - 1, level=0.9) * deviation / math.sqrt(gaps.size)
    parameter = Parameter(name, mean, max(mean - off, 0.0), mean + off)
    if gaps.size >= _FOR_QUANTILES:
        return tuple(np.maximum(evenly_spaced(gaps, gaps.size), 1.0).tolist()), parameter
    # Evenly spread between two values, with this mean and this deviation.
    wide = min(math.sqrt(3) * deviation, mean - 1.0)
    return (mean - wide, mean + wide), parameter


class _Restored:
    """One bucket behind transfers of which some show that it is restored."""

    def __init__(self, every: Sequence[Series], claims: Mapping[int, Course], offered_mbps: Sequence[float]) -> None:
        self.every, self.claims = every, claims
        self.order = sorted(range(len(every)), key=lambda place: every[place].begin_s)
        rows = {place: limited_rows(every[place], one.limited) for place, one in claims.items()}
        self.rates = {place: mean_rate(one) for place, one in rows.items()}
        self.rows = np.concatenate(list(rows.values()))
        self.rate = mean_rate(self.rows)
        self.carried = [each for one in claims.values() for each in one.carried]
        self.volume = float(np.mean([one.mbit for one in self.carried] or [one.volume for one in claims.values()]))
        self.restored_s, self.restored = times_of([one.restorations for one in claims.values()])
        self.limited: dict[int, Sequence[Stretch]] = {place: one.limited for place, one in claims.items()}
        self.hidden: dict[int, Sequence[Stretch]] = {place: one.hidden for place, one in claims.items()}
        #: Transfers that carried too much without a level.
        self.odd: list[int] = []
        for place, series in enumerate(every):
            # A stream at a rate that the bucket lets pass has a level, too.
            if place in claims or min(offered_mbps[place], series.mbps.max()) <= (1 + 2 * SCATTER) * self.rate:
                continue
            levels = levels_of(series, self.rate)
            path = Path(series, self.rate, self.volume)
            if levels:
                path.follow(levels)
            self.limited[place], self.hidden[place] = path.limited, path.hidden
            most = self._most(series)
            beyond = path.beyond
            bounds = [0, *(bound for one in path.limited for bound in one), series.mbps.size]
            if any(beyond[end] - beyond[begin] > most for begin, end in zip(bounds[::2], bounds[1::2], strict=True)):
                self.odd.append(place)

    def _most(self, series: Series) -> float:
        """What a transfer may carry beyond the rate without a level, Mbit."""
        return (1 + AGREE) * self.volume * (2 + float(series.lengths_s.sum()) / self.restored.value)

    def against(self) -> str:
        """What contradicts one bucket; empty where nothing does."""
        for first, second in itertools.pairwise(self.order):
            if is_together(self.every[first], self.every[second]):
                return (
                    f"{self.every[first].name} and {self.every[second].name} were recorded at the same time, so "
                    "neither tells restorations alone: record one at a time."
                )
        for values, unit, each in (
            (self.rates, "Mbit/s", 1.0),
            ({place: one.volume for place, one in self.claims.items()}, "MB", 8.0),
        ):
            if differ(list(values.values())):
                named = ", ".join(f"{one / each:.3g} ({self.every[n].name})" for n, one in values.items())
                return f"The transfers do not show one token bucket that is restored: {named} {unit}."
        if self.odd:
            return (
                f"{self._names()} a volume of {self.volume / 8:.3g} MB beyond {self.rate:.3g} Mbit/s that is restored, "
                f"but {self.every[self.odd[0]].name} carried more without a level: no token bucket explains both."
            )
        return ""

    def _names(self) -> str:
        names = " and ".join(self.every[place].name for place in self.claims)
        return f"{names} {'show' if len(self.claims) > 1 else 'shows'}"

    def allowance(self, transfers: Sequence[Transfer], draws: int, seed: int) -> Allowance:
        """The claim, with 90 % intervals over draws of limited slots, of what was carried, and of losses."""
        generator = np.random.Generator(np.random.PCG64(seed))
        losses = losses_of_streams(transfers, self.every)
        drawn = generator.integers(0, len(self.rows), (draws, len(self.rows)))
        of_rate = np.array([mean_rate(self.rows[one]) for one in drawn])
        rate, volume_mb = self.rate, self.volume / 8
        of_volume: Floats = np.zeros(0)
        if self.carried:
            mbit, seconds = np.array(self.carried).T
            which = generator.integers(0, mbit.size, (draws, mbit.size))
            of_volume = (mbit[which] - (of_rate[:, None] - rate) * seconds[which]).mean(axis=1) / 8
        if losses.size:
            factor = 1 / (1 - float(losses.mean()))
            rate, volume_mb = factor * rate, factor * volume_mb
            of_rate = of_rate / (1 - drawn_means(losses, len(self.rows), draws, generator))
            slots = sum(one.seconds for one in self.carried) / SLOT_S
            if of_volume.size:
                of_volume = of_volume / (1 - drawn_means(losses, slots, draws, generator))
        parameters = (
            Parameter("allowance, rate, Mbit/s", rate, *interval(of_rate.tolist(), len(self.rows))),
            Parameter("allowance, volume, MB", volume_mb, *interval(of_volume.tolist(), len(self.carried))),
            self.restored if draws else dataclasses.replace(self.restored, low=math.nan, high=math.nan),
        )
        free, falls_s = [], []
        for place, series in enumerate(self.every):
            stretches = self.limited.get(place, ())
            is_limited, is_part, _ = states(series, self.rate, self.volume, stretches)
            for one in self.hidden.get(place, ()):
                is_part[one.first : one.end] = True
            # The interval in which tokens run out or come back tells no rate.
            free.append(~(is_limited | is_part)[series.of])
            falls_s.append(float(series.ends_s[stretches[0].first]) if stretches else math.nan)
        notes = self._notes(falls_s)
        if not losses.size:
            notes.append(WITHOUT_LOSSES)
        first = next(place for place in self.order if place in self.claims)
        return Allowance(
            rate, volume_mb, parameters, tuple(free), tuple(falls_s), tuple(notes), self.restored_s,
            self._from_start(first)[0],
        )  # fmt: skip

    def _from_start(self, place: int) -> list[float]:
        """Restorations of a claim, in s from its start, with its warm-up."""
        return [self.every[place].warm_up_s + one.moment_s for one in self.claims[place].restorations]

    def _notes(self, falls_s: Sequence[float]) -> list[str]:
        """What a reader must know of the claim."""
        notes = []
        for place in self.order:
            name = self.every[place].name
            if place in self.claims:
                course = self.claims[place]
                times = ", ".join(f"{one:.0f}" for one in self._from_start(place))
                notes.append(
                    f"{name}: an allowance limits it from {falls_s[place]:.0f} s on, and its volume is restored at "
                    f"{times} s after the start ({course.seen} of {len(course.restorations)} seen within a slot). "
                    "Slots without tokens are neither in the rates nor in the losses."
                )
            elif not math.isnan(falls_s[place]):
                notes.append(
                    f"{name}: an allowance limits it from {falls_s[place]:.0f} s on. Slots without tokens are neither "
                    "in the rates nor in the losses. How much of the volume it found is not known."
                )
        gaps = sum(len(gaps_of(one.restorations)) for one in self.claims.values())
        first = next(place for place in self.order if place in self.claims)
        if gaps == 1:
            notes.append(
                "Only one time between two restorations is known, so it has no interval, and whether all are the same "
                "is not known: record a longer flood."
            )
        elif len(self.restored_s) == 1:
            notes.append(f"All {gaps} times between restorations suit one value.")
        elif len(self.restored_s) == 2:
            notes.append(
                f"The {gaps} times between restorations differ, and are too few for their distribution: the pair has "
                "their mean and their standard deviation."
            )
        notes.append(
            f"Another run has its first restoration at another time. One that begins as {self.every[first].name} has "
            f'restored_at = "{self._from_start(first)[0]:.0f} s".'
        )
        return notes
