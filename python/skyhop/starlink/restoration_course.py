"""Follows the tokens of a bucket whose volume comes back as a whole through one flood.

A bucket has a rate and a volume. Both are tried as the flood shows them: levels that return, and what is carried before
each. A course says where no tokens are left, when the volume was restored, and by how much all of this raises the
likelihood of the flood. `restorations` decides with it what a fit claims.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from skyhop.starlink.allowance import (
    AGREE,
    ASIDE_S,
    CLAIMED,
    EXACT,
    LEAST_GAIN,
    LEVEL_S,
    OFF,
    SCATTER,
    Bools,
    Series,
    exactness,
    mean_rate,
    slot_gains,
    slot_rows,
    splits,
    unexplained,
)
from skyhop.starlink.measuring import SLOT_S
from skyhop.starlink.recordings import Floats, Places
from skyhop.starlink.transfers import CARRIED

#: Restorations that one flood must show.
LEAST_SEEN = 2

#: Intervals over which a level is smoothed, so that one that stands out does not end it.
_SMOOTHED = 5

#: So many intervals of a level beside a rise or a fall may belong to it in part.
_PARTS = 2

#: Standard deviation of what is carried between a rise and a fall around the volume, as a share. Our choice.
_SPREAD = AGREE / 3

#: Levels that are tried, and so far apart, as a share.
_LEVELS, _APART = 12, 0.04


@dataclass(frozen=True)
class Restoration:
    """A moment at which the whole volume is there again."""

    low_s: float
    """It lies after this, in s from the end of the warm-up, and before `high_s`."""
    high_s: float
    place: int
    """The interval that holds it, or the first one in which tokens show."""
    is_after_others: bool = False
    """Whether others lie between the one before and this one, at times that nothing tells."""
    gain: float = 0.0
    """The greatest gain of the likelihood's logarithm in a slot of its rise or of the fall after it."""

    @property
    def moment_s(self) -> float:
        """The middle."""
        return (self.low_s + self.high_s) / 2


class Stretch(NamedTuple):
    """Intervals from `first` on, before `end`."""

    first: int
    end: int


class Carried(NamedTuple):
    """Arrivals beyond the rate of a bucket until its volume is used up."""

    mbit: float
    seconds: float


@dataclass(frozen=True)
class Course:
    """What a bucket that is restored explains of one flood."""

    rate: float
    """Of its tokens, Mbit/s."""
    volume: float
    """Mbit."""
    limited: tuple[Stretch, ...]
    """Where no tokens are left, or only those of slow slots."""
    restorations: tuple[Restoration, ...]
    carried: tuple[Carried, ...]
    """Between a restoration at which no tokens were left and the next fall."""
    hidden: tuple[Stretch, ...]
    """Where tokens may be gone between two restorations, for too short a time to tell a level."""
    gain: float
    """By how much it raises the logarithm of the likelihood, beyond what changes in other slots would."""
    plain: float = 0.0
    """By how much a bucket without restorations raises it; 0 where none does. Known where `gain` is enough."""

    @property
    def seen(self) -> int:
        """Restorations that a change within a slot shows."""
        return sum(one.gain >= LEAST_GAIN for one in self.restorations)

    @property
    def is_likely(self) -> bool:
        """Whether it explains the flood better than slots do, and than a bucket without restorations."""
        return self.gain - self.plain >= CLAIMED

    @property
    def is_claimed(self) -> bool:
        """Whether the flood tells restorations."""
        return self.is_likely and self.seen >= LEAST_SEEN and len(gaps_of(self.restorations)) > 0


def course_of(series: Series) -> Course | None:
    """The most likely bucket with restorations behind one flood; None where no level returns."""
    best: Course | None = None
    own = _Own(series)
    for rate in _levels(series, own.changes):
        levels = levels_of(series, rate)
        if len(levels) < 2:
            continue
        for volume in _volumes(_carried(series, rate, levels)):
            course = _course(series, own, rate, volume, levels)
            if course is not None and (best is None or course.gain > best.gain):
                best = course
    if best is None:
        return None
    # The level and the volume as all of the flood tells them.
    rate = mean_rate(limited_rows(series, best.limited))
    volume = float(np.mean([one.mbit for one in best.carried])) if best.carried else best.volume
    levels = levels_of(series, rate)
    refined = _course(series, own, rate, volume, levels) if len(levels) > 1 else None
    best = best if refined is None or refined.gain < best.gain else refined
    if not best.is_likely:
        return best
    return dataclasses.replace(best, plain=max(_plain(series, best.rate), 0.0))


def _plain(series: Series, rate: float) -> float:
    """The most that a bucket without restorations gains: slow slots leave tokens that it lets pass at once, too.

    It may begin with any share of its volume. Later it has all of it at most, and falls where that is used up.
    """
    beyond = np.concatenate([[0.0], np.cumsum((series.mbps - rate) * series.lengths_s)])
    falls = [one.first for one in levels_of(series, rate)]
    # A fall may lie within its first interval.
    volumes = sorted(
        float(beyond[fall + part] - beyond[before : fall + 1].min())
        for before, fall in zip([0, *falls], falls, strict=False)
        for part in (0, 1)
    )[-2 * _LEVELS :]
    volumes = [one for n, one in enumerate(volumes) if one > 1.002 * max(volumes[n - 1] if n else 0.0, 0.0)]
    begins = [math.inf, *(float(beyond[fall]) for fall in falls[:3])]
    pairs = np.array([(one, max(one - begin, 0.0)) for one in volumes for begin in begins])
    if not pairs.size:
        return 0.0
    volume, missing = pairs.T
    found = slot_gains(series, np.full(volume.size, rate), volume, missing)
    return float((found.gain.sum(axis=1) - unexplained(found.other)).max())


def levels_of(series: Series, rate: float) -> tuple[Stretch, ...]:
    """Stretches of two slots or more without intervals clearly above a rate, at which they are for a slot or more."""
    below, at_level = (
        _mostly(one)
        for one in (
            series.mbps <= (1 + 2 * SCATTER) * rate,
            np.abs(series.mbps - rate) <= 2 * SCATTER * rate,
        )
    )
    bounds = np.flatnonzero(np.diff(np.concatenate([[0], below.astype(int), [0]])))
    found = []
    for first, end in zip(bounds[::2].tolist(), bounds[1::2].tolist(), strict=True):
        # A slot that is slower neither begins nor ends it, because tokens may be there.
        level = np.flatnonzero(at_level[first:end])
        if not level.size:
            continue
        one = Stretch(first + int(level[0]), first + int(level[-1]) + 1)
        lengths = series.lengths_s[one.first : one.end]
        if lengths.sum() >= LEVEL_S and lengths[at_level[one.first : one.end]].sum() >= SLOT_S:
            found.append(one)
    return tuple(found)


def _mostly(values: Bools) -> Bools:
    """Whether it is so in most intervals around each one."""
    half = _SMOOTHED // 2
    sums = np.cumsum(np.concatenate([[0], np.repeat(values[0], half), values, np.repeat(values[-1], half)]))
    return np.asarray(sums[_SMOOTHED:] - sums[:-_SMOOTHED] > half)


class _Own:
    """What slots are without a bucket: the mean of their intervals, a variance, and a change within."""

    def __init__(self, series: Series) -> None:
        self.gains = np.zeros(len(series.slots))
        #: What the best change of a slot gains, and the rate on its lower side.
        self.changes: list[tuple[float, float]] = []
        #: The slot of each interval, also near edges; the number of slots where the slot is too short.
        self.slot = np.full(series.mbps.size, len(series.slots))
        #: Whether the interval counts in it.
        self.counts = np.zeros(series.mbps.size, dtype=bool)
        for number, places in enumerate(series.slots):
            self.slot[places[0] : places[-1] + 1] = number
            self.counts[places] = True
        sizes = np.array([places.size for places in series.slots])
        # Slots with as many intervals at once, because an hour has hundreds.
        for size in np.unique(sizes[sizes > 1]).tolist():
            self._add(series, np.flatnonzero(sizes == size))
        self.changes.sort(reverse=True)

    def _add(self, series: Series, numbers: Places) -> None:
        places = np.stack([series.slots[number] for number in numbers])
        y, seconds = series.mbps[places], series.lengths_s[places]
        mean = y.mean(axis=1, keepdims=True)
        exact = places.shape[1] * (EXACT * mean[:, 0]) ** 2
        alone = np.sum((y - mean) ** 2, axis=1)
        # As `splits`: two means with a change after each interval but the last.
        count = np.arange(1, places.shape[1])
        sums = np.cumsum(y - mean, axis=1)[:, :-1]
        squares = np.maximum(alone[:, None] - sums**2 / count - sums**2 / (places.shape[1] - count), 0.0)
        before = np.cumsum(seconds, axis=1)[:, :-1]
        far = np.minimum(before, seconds.sum(axis=1, keepdims=True) - before) >= ASIDE_S - 1e-6
        squares[~far] = np.inf
        best = np.argmin(squares, axis=1)
        least = np.minimum(squares[np.arange(numbers.size), best], alone)
        gains = places.shape[1] / 2 * np.log((alone + exact) / (least + exact))
        self.gains[numbers] = np.maximum(gains, 0.0)
        for n in np.flatnonzero(gains >= LEAST_GAIN).tolist():
            # The median, because the change may lie within an interval.
            lower = min((y[n, : best[n] + 1], y[n, best[n] + 1 :]), key=lambda side: float(side.mean()))
            if lower.mean() > 0:
                self.changes.append((float(gains[n]), float(np.median(lower))))

    def share(self, is_limited: Bools) -> Floats:
        """The share of the intervals of each slot at which something is so."""
        count = self.gains.size + 1
        every = np.bincount(self.slot[self.counts], minlength=count)
        such = np.bincount(self.slot[self.counts & is_limited], minlength=count)
        return np.asarray((such / np.maximum(every, 1))[:-1])


def _levels(series: Series, changes: Sequence[tuple[float, float]]) -> list[float]:
    """Rates that may be that of a bucket: the lower side of a change within a slot, then what stays near it."""
    found: list[float] = []
    for _, rate in changes:
        if len(found) == _LEVELS:
            break
        near = series.mbps[np.abs(series.mbps / rate - 1) <= SCATTER]
        if near.size:
            rate = float(np.median(near))
        if all(abs(rate / other - 1) > _APART for other in found):
            found.append(rate)
    return found


def _carried(series: Series, rate: float, limited: Sequence[Stretch]) -> list[float]:
    """Mbit beyond a rate before each limited stretch, from the start or the end of the one before on."""
    excess = np.concatenate([[0.0], np.cumsum((series.mbps - rate) * series.lengths_s)])
    begins = [0, *(one.end for one in limited[:-1])]
    return [float(excess[one.first] - excess[begin]) for begin, one in zip(begins, limited, strict=True)]


def _volumes(carried: Sequence[float]) -> list[float]:
    """Volumes that may be that of the bucket: means of those that agree, of which one is after a first fall."""
    found: list[float] = []
    most = max(carried)
    for one in carried:
        if one <= AGREE * most:
            continue
        volume = float(np.mean([other for other in carried if abs(other / one - 1) <= AGREE]))
        if all(abs(volume / other - 1) > _APART for other in found):
            found.append(volume)
    return found


def _course(series: Series, own: _Own, rate: float, volume: float, levels: Sequence[Stretch]) -> Course | None:
    """Follows the tokens of one bucket; None where it needs no restoration."""
    path = Path(series, rate, volume)
    path.follow(levels)
    if not path.restorations:
        return None
    spread = sum(((one.mbit / volume - 1) / _SPREAD) ** 2 / 2 for one in path.carried)
    # A level that slots have by chance counts as much as a restoration for each two slots. Our choice.
    least = spread + LEAST_GAIN * (len(path.restorations) + path.by_chance_s / LEVEL_S)
    gains, other = _gains(series, own, rate, volume, path.limited, least)
    if math.isinf(other):
        return None
    at_changes = _at_changes(series, own, rate, volume, gains, path.limited, path.restorations)
    restorations = tuple(
        dataclasses.replace(one, gain=gain) for one, gain in zip(path.restorations, at_changes, strict=True)
    )
    return Course(
        rate=rate, volume=volume, limited=tuple(path.limited), restorations=restorations, carried=tuple(path.carried),
        hidden=tuple(path.hidden), gain=float(gains.sum()) - other - least,
    )  # fmt: skip


class Path:
    """Tokens that are missing over a flood, and the restorations that it needs."""

    def __init__(self, series: Series, rate: float, volume: float) -> None:
        self.series, self.rate, self.volume = series, rate, volume
        self.beyond = np.concatenate([[0.0], np.cumsum((series.mbps - rate) * series.lengths_s)])
        self.restorations: list[Restoration] = []
        self.carried: list[Carried] = []
        self.limited: list[Stretch] = []
        self.hidden: list[Stretch] = []
        #: How long slots are at the level while tokens are left.
        self.by_chance_s = 0.0
        #: As long as this is less than the volume, tokens are left.
        self.missing = volume

    def follow(self, levels: Sequence[Stretch]) -> None:
        """From the start to the end of the flood, over stretches at the level."""
        first = float(self.beyond[levels[0].first])
        if first > (1 + AGREE) * self.volume:
            # More than the bucket can have held: it was restored while it had tokens.
            self._last(0, levels[0].first, first)
        for before, after in itertools.zip_longest(levels, levels[1:]):
            self._go_on(before, self.series.mbps.size if after is None else after.first, is_end=after is None)

    def _span(self, low: int, high: int) -> tuple[float, float]:
        """The begin of one interval, and the end of another."""
        ends, lengths = self.series.ends_s, self.series.lengths_s
        return float(ends[low] - lengths[low]), float(ends[high])

    def _beyond(self, begin: int, end: int) -> float:
        """Mbit beyond the rate, with what intervals at the ends carry that are at the level for a part."""
        return float(self.beyond[min(end + _PARTS, self.beyond.size - 1)] - self.beyond[max(begin - _PARTS, 0)])

    def _last(self, begin: int, end: int, carried: float) -> None:
        """The last restoration of a stretch that carried more than the volume: the volume lies behind it."""
        beyond = self.beyond[begin : end + 1]
        low, at, high = (
            min(begin + int(np.argmax(beyond >= beyond[-1] - share * self.volume)), end - 1)
            for share in (1 + _SPREAD, 1, 1 - _SPREAD)
        )
        several = carried > (2 + AGREE) * self.volume
        self._hide(begin, high + _PARTS, 0.0)
        self.restorations.append(Restoration(*self._span(max(low - 1, begin), high), at, is_after_others=several))

    def _hide(self, begin: int, end: int, missing: float) -> None:
        """Hides intervals from about the time on at which the volume may be used up."""
        used = np.flatnonzero(self.beyond[begin : end + 1] - self.beyond[begin] + missing >= (1 - AGREE) * self.volume)
        if used.size:
            self.hidden.append(Stretch(begin + int(used[0]), end))

    def _go_on(self, before: Stretch, end: int, *, is_end: bool) -> None:
        """From the begin of a stretch at the level to that of the next one, or to the end of the flood."""
        rise: int | None = None
        if self.missing >= self.volume:
            saved = float(_saved(self.series, self.rate, self.volume, before)[-1])
            carried = self._beyond(before.end, end)
            above = np.flatnonzero(self.series.mbps[before.end : end] > (1 + 2 * SCATTER) * self.rate)
            if carried - saved <= AGREE * self.volume or not above.size:
                # Tokens that slow slots leave explain it; where more are left, the next level is that of slots.
                left = (saved - carried) / self.volume
                self.limited.append(Stretch(before.first, end if left < AGREE else before.end))
                self.missing = self.volume if left < AGREE else max((1 - left) * self.volume, 0.0)
                return
            if saved <= AGREE * self.volume:
                rise = before.end + int(above[0])
                self.limited.append(Stretch(before.first, rise))
                self.restorations.append(Restoration(*self._span(before.end - 1, rise), rise))
                total = carried
            else:
                # It was restored when it had tokens already.
                self.limited.append(before)
                total = self.volume - saved + carried
        else:
            # Tokens are left, so the level was that of slots.
            self.by_chance_s += float(self.series.lengths_s[before.first : before.end].sum())
            total = self.missing + self._beyond(before.first, end)
        self.missing = self.volume
        if total < (1 - AGREE) * self.volume:
            self.missing = max(total, 0.0)
        elif is_end:
            # What it would have carried is not known, nor whether a level of less than two slots follows.
            self._hide(before.end, end, max(total - self._beyond(before.end, end), 0.0))
        elif total <= (1 + AGREE) * self.volume:
            from_rise = slice(before.first if rise is None else rise, end)
            self.carried.append(Carried(total, float(self.series.lengths_s[from_rise].sum())))
        else:
            self._last(before.first if rise is None else rise, end, total)


def _gains(
    series: Series, own: _Own, rate: float, volume: float, limited: Sequence[Stretch], least: float
) -> tuple[Floats, float]:
    """By how much the bucket raises the logarithm of the likelihood of each slot, and what other changes would.

    The latter is infinite where the former cannot be more than both together, `least` included.
    """
    is_limited, is_part, left = states(series, rate, volume, limited)
    gains, others = np.zeros(len(series.slots)), own.gains.copy()
    share = own.share(is_limited)
    # Those that change within may gain, and all others lose.
    for numbers in (np.flatnonzero((share > 0) & (share < 1)), np.flatnonzero(share == 1)):
        for number in numbers:
            places = series.slots[number]
            kept = places[~is_part[places]]
            gains[number], others[number] = _gain(series, rate, kept, is_limited[kept], left[kept])
        if gains.sum() <= unexplained(others[share < 1]) + least:
            return gains, math.inf
    return gains, float(unexplained(others))


def _gain(series: Series, rate: float, kept: Places, low: Bools, left: Floats) -> tuple[float, float]:
    """What the bucket gains in one slot, and what a change would gain besides."""
    y, seconds = series.mbps[kept], series.lengths_s[kept]
    if not y.size:
        return 0.0, 0.0
    exact = exactness(y)
    alone = float(np.sum((y - y.mean()) ** 2)) + exact
    of_slot = np.array([y[~low].mean() if not low.all() else y.mean(), math.inf])
    limit = rate * (1 + OFF[:, None]) + left
    # Axes: rate of the slot, level, interval.
    expected = np.where(low, np.minimum(of_slot[:, None, None], limit), of_slot[0])
    squares = np.sum((y - expected) ** 2, axis=-1) + exact
    gain = y.size / 2 * np.log(alone / squares) - (OFF / SCATTER) ** 2 / 2
    best = np.unravel_index(int(np.argmax(gain)), gain.shape)
    aside = min(float(seconds[low].sum()), float(seconds[~low].sum())) >= ASIDE_S - 1e-6
    # A queue of a slow slot leaves in the next one, faster than what is offered, until it is empty.
    aside = aside and bool(low.any()) and float(y[low].mean()) < CARRIED * series.offered_mbps
    return (
        float(gain[best]) if aside else min(float(gain[best]), 0.0),
        max(y.size / 2 * math.log(float(squares[best]) / (_split(y, seconds) + exact)), 0.0),
    )


def _split(y: Floats, seconds: Floats) -> float:
    """The squares around the means on both sides of the best change; around one mean where none fits."""
    return float(splits(y, seconds)[1].min(initial=float(np.sum((y - y.mean()) ** 2))))


def states(series: Series, rate: float, volume: float, limited: Sequence[Stretch]) -> tuple[Bools, Bools, Floats]:
    """Of each interval, whether tokens limit it, whether a part of it may, and the rate that saved tokens add."""
    is_limited, is_part = np.zeros((2, series.mbps.size), dtype=bool)
    left = np.zeros(series.mbps.size)
    for one in limited:
        is_limited[one.first : one.end] = True
        saved = _saved(series, rate, volume, one)
        left[one.first : one.end] = saved[:-1] / series.lengths_s[one.first : one.end]
    bounds = np.flatnonzero(np.diff(is_limited.astype(int))) + 1
    is_part[bounds] = is_part[bounds - 1] = True
    return is_limited, is_part, left


def _saved(series: Series, rate: float, volume: float, stretch: Stretch) -> Floats:
    """Tokens at the start and after each interval of a stretch that begins without any, Mbit: slow slots leave some."""
    within = slice(stretch.first, stretch.end)
    came = np.concatenate([[0.0], np.cumsum((rate - series.mbps[within]) * series.lengths_s[within])])
    return np.asarray(np.minimum(came - np.minimum.accumulate(came), volume))


def _at_changes(
    series: Series,
    own: _Own,
    rate: float,
    volume: float,
    gains: Floats,
    limited: Sequence[Stretch],
    restorations: Sequence[Restoration],
) -> list[float]:
    """The greatest gain in the slots of the rise of each restoration and of the fall after it."""
    # Behind a bucket without restorations slow slots let a flood rise, too, but at edges: then falls show nothing.
    slow = _mostly(series.mbps < (1 - 2 * SCATTER) * rate)
    saved = float(((rate - series.mbps) * series.lengths_s)[slow].sum())
    ends = {stretch.end for stretch in limited}
    found = []
    for one, after in itertools.zip_longest(restorations, restorations[1:]):
        gain = 0.0
        number = int(own.slot[one.place])
        if one.place in ends and number < gains.size:
            places = series.slots[number]
            if min(np.count_nonzero(places < one.place), np.count_nonzero(places > one.place)) >= ASIDE_S:
                gain = float(gains[number])
        fall = next((stretch.first for stretch in limited if stretch.first > one.place), None)
        # A fall shows the last restoration before it.
        if saved <= AGREE * volume and fall is not None and (after is None or after.place >= fall):
            number = int(own.slot[fall])
            gain = max(gain, float(gains[number]) if number < gains.size else 0.0)
        found.append(gain)
    return found


def gaps_of(restorations: Sequence[Restoration]) -> list[float]:
    """Times between restorations that follow one another, s."""
    return [
        after.moment_s - before.moment_s
        for before, after in itertools.pairwise(restorations)
        if not after.is_after_others
    ]


def limited_rows(series: Series, limited: Sequence[Stretch]) -> Floats:
    """Slots of limited stretches, without the intervals in which the tokens run out or come back."""
    return np.concatenate([slot_rows(series, slice(one.first + 1, max(one.end - 1, one.first + 2))) for one in limited])
