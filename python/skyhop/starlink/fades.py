"""Whether a stream has fades, how long they are and what they lose: the key `fades`.

Two things are asked for. First, losses of neighbouring intervals must be alike, and more so than those of intervals
that are a few times as far apart. A permutation of the intervals of each slot has the same losses, the same clumps and
the same differences between slots, but nothing that lasts; so permutations say what chance does. Second, fades of one
length must raise the likelihood (`fade_likelihood.py`), and the likelihood must bound this length on both sides.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from skyhop.starlink import fade_likelihood as model
from skyhop.starlink.estimating import evenly_spaced
from skyhop.starlink.fade_likelihood import Rows
from skyhop.starlink.fitting import Parameter, drawn_places, interval
from skyhop.starlink.losses import LEAST_SLOTS, distinct
from skyhop.starlink.measuring import SLOT_S, Bools
from skyhop.starlink.recordings import Floats, Places

#: Fades must raise the logarithm of the likelihood by so much. Three values that have no effect do so in one of 100
#: recordings (Wilks' theorem).
CLAIMED = 5.7

#: Losses that come several at a time must raise it by so much, as the other claims of the fit.
CLUMPED = 3.3

#: Permutations of the intervals of slots, and how many of them may be as far from chance as the recording: 0.5 %, with
#: the recording itself counted among them.
_PERMUTED, _AS_FAR = 399, 1

#: Intervals are compared with neighbours that are up to so far away, s.
_NEAR_S = 1.0

#: Intervals whose lengths differ by less than this share count as equally long.
_UNEVEN = 0.25

#: Intervals shorter than this, s, are added up. iperf3 has none.
_LEAST_WIDTH_S = 0.1

#: The longest fade that is claimed, s. Bursts of seconds cannot be told from losses that wander within a slot.
LONGEST_S = 2.0

#: A fade must last for so much of an interval to be claimed. Our choice: a shorter one shows in two intervals only if
#: it lies across their border, and its losses say nothing of its length.
LEAST_SHARE = 0.5

#: Lengths that are tried: the shortest as a share of an interval, the longest in s, and how many at first.
_SHORTEST, _LONGEST_S, _COARSE = 0.05, 4.0, 14

#: First and least distance of the logarithms of lengths that are tried, and how far the likelihood is followed down.
_WIDE, _NARROW, _DOWN = 0.25, 0.01, 3.0

#: A length is known if the ends of its 90 % interval differ by no more than this factor. Our choice.
_KNOWN = 3.0

#: By how much the logarithm of the likelihood falls from its maximum to the ends of a 90 % interval.
_FALL = 1.353

#: Standard deviations of the logarithm of the loss of a fade that are tried, and the gain that one above 0 needs.
_DEVIATIONS, _DEVIATES = (0.0, 0.4, 0.8), 2.0

#: Quantiles of the loss of a fade.
_QUANTILES = 5

#: Slots whose losses beside fades differ by a smaller standard deviation of the logarithm count as alike.
_ALIKE = 0.1

#: Steps at a length beside others, at a new one, and at the last one.
_FEW_STEPS, _STEPS, _LAST_STEPS = 2, 4, 10


@dataclass(frozen=True)
class Placed:
    """Rows, and the intervals that were given for them."""

    rows: Rows
    slots: Floats
    """Number of the slot of each row."""
    of: tuple[Places, ...]
    """For each row the places of the intervals that were given, a row for each interval of `rows`."""


@dataclass(frozen=True)
class Fitted:
    """The most likely fades of one length."""

    length_s: float
    deviation: float
    logs: Floats
    """Logarithms: fades in a second, loss in a fade, loss beside, clumps."""
    each: Floats
    """Logarithm of the likelihood of each row."""

    @property
    def likelihood(self) -> float:
        """Sum over all rows."""
        return float(self.each.sum())


@dataclass(frozen=True)
class Found:
    """What the likelihood says of fades."""

    best: Fitted
    gain: float
    """By how much fades raise the logarithm of the likelihood."""
    profile: tuple[Fitted, ...]
    """The most likely values at each length that was tried, in rising order."""
    between_s: tuple[float, float]
    """Lengths that the data allow: 90 %. At an end of those that were tried there may be more."""
    memoryless: float
    """By how much lengths with an exponential distribution are more likely than one length."""
    factor: tuple[Floats, ...]
    """The loss beside fades of each row over that of all, for each group of rows."""
    width_s: float
    """The shortest interval."""
    near_s: float
    """The length by which intervals were divided."""

    groups: tuple[Rows, ...]

    def each(self, logs: Floats, length_s: float) -> Floats:
        """Logarithm of the likelihood of each row (columns) for each model (rows)."""
        search = _Search(self.groups)
        search.factor, search.near_s = self.factor, self.near_s
        return search.each(logs, length_s, self.best.deviation)

    def beside(self, placed: Sequence[Placed], lost: Floats, packets: Floats) -> Floats:
        """For each interval that was given, the losses that are expected beside fades."""
        search, best = _Search(self.groups), self.best
        values = model.bounded(best.logs[None], search.share, best.length_s)
        alone = float(values.beside[0])
        rest = np.minimum(lost, alone * packets)
        for one, factor in zip(placed, self.factor, strict=True):
            apart = model.untouched(one.rows, factor, values, best.length_s, best.deviation)
            for row, of in enumerate(one.of):
                share = apart[row, : len(of), None]
                usual = np.minimum(lost[of], alone * factor[row] * packets[of])
                rest[of] = share * lost[of] + (1 - share) * usual
        return rest

    @property
    def is_known(self) -> bool:
        """Whether the likelihood bounds the length on both sides, within what intervals show."""
        low, high = self.between_s
        if self.memoryless > 0 and low > self.width_s:
            return False
        return low >= LEAST_SHARE * self.width_s and high <= LONGEST_S and high <= _KNOWN * low


@dataclass(frozen=True)
class Told:
    """What a fit says of fades: nothing where chance, clumps and slots explain the losses."""

    every_s: float = math.nan
    """Mean time from the begin of a fade to the begin of the next; NaN without a claim."""
    length_s: float = math.nan
    loss: tuple[float, ...] = ()
    """Evenly spaced quantiles of the loss in a fade, or the one loss of all."""
    beside: float = math.nan
    """Loss beside fades, a mean over the intervals."""
    rest: Floats | None = None
    """Losses of each interval that was given, without those that fades are expected to have."""
    parameters: tuple[Parameter, ...] = ()
    note: str = ""

    @property
    def is_claimed(self) -> bool:
        """Whether fades are claimed."""
        return bool(self.loss)


def rows(place: Floats, lengths_s: Floats, lost: Floats, packets: Floats) -> list[Placed]:
    """Intervals in rows, in groups of equal length. `place` is the middle of each interval in slots."""
    slot = np.floor(place)
    pieces: dict[float, list[tuple[float, Places]]] = {}
    order = np.lexsort((place, slot))
    numbers, begins = np.unique(slot[order], return_index=True)
    for number, of in zip(numbers, np.split(order, begins[1:]), strict=False):
        width = float(np.median(lengths_s[of]))
        together = max(1, math.ceil(_LEAST_WIDTH_S / width - 0.01))
        alike = np.abs(lengths_s[of] / width - 1) < _UNEVEN
        follow = SLOT_S * np.diff(place[of]) < (1 + _UNEVEN) * width
        for piece in np.split(np.arange(of.size), np.nonzero(~(follow & alike[1:] & alike[:-1]))[0] + 1):
            count = piece.size // together
            if count >= 2 and alike[piece].all():
                indices = of[piece[: count * together]].reshape(count, together)
                pieces.setdefault(round(width * together, 2), []).append((float(number), indices))
    found = []
    for width, each in sorted(pieces.items()):
        # All pieces that add up as many intervals at once: one by one they would take most of the time.
        same = itertools.groupby((of for _, of in each), key=lambda of: of.shape[1])
        several = [np.concatenate(list(some)) for _, some in same]
        sums = [np.stack([values[of].sum(axis=1) for values in (lost, packets)], axis=1) for of in several]
        pairs, pair = distinct(np.concatenate(sums))
        counts = np.array([len(of) for _, of in each])
        table = np.full((len(each), counts.max()), len(pairs))
        table[np.arange(table.shape[1]) < counts[:, None]] = pair
        slots = np.array([number for number, _ in each])
        found.append(Placed(Rows(width, pairs, table), slots, tuple(of for _, of in each)))
    return found


def lasting(group: Rows, generator: np.random.Generator, *, among: int = 1) -> bool:
    """Whether losses of neighbouring intervals are more alike than chance, clumps and differences of slots make them.

    For each distance the products of losses of intervals that are up to so far apart are compared with those of
    intervals that are farther apart, on a straight line to the near ones: what changes slowly within a slot gives 0.
    """
    packets = group.packets
    with np.errstate(divide="ignore", invalid="ignore"):
        # Roots, so that one clump does not outweigh all others.
        values = np.where(packets > 0, np.sqrt(group.lost / packets), math.nan)
    used = ~np.isnan(values)
    mean = np.nansum(values, axis=1) / np.maximum(used.sum(axis=1), 1)
    values = np.where(used, values - mean[:, None], 0.0)
    weights = _contrasts(used, group.width_s)
    if not weights.size or not values.any():
        return False
    own = _farthest(values, weights)
    as_far = 0
    order = np.where(used, 0.0, 2.0)
    for _ in range(_PERMUTED * among):
        # Places behind the end of a row stay there.
        drawn = np.argsort(order + generator.random(values.shape), axis=1)
        as_far += _farthest(np.take_along_axis(values, drawn, axis=1), weights) >= own
        if as_far > _AS_FAR:
            return False
    return own > 0


def _contrasts(used: Bools, width_s: float) -> Floats:
    """Weights of distances (columns, from one interval on) in each contrast (rows)."""
    most = used.shape[1] - 2
    pairs = np.array([np.count_nonzero(used[:, lag:] & used[:, :-lag]) for lag in range(1, max(most, 0) + 1)])
    near = sorted({max(1, round(_NEAR_S * share / width_s)) for share in (0.1, 0.2, 0.4, 0.7, 1.0)})
    found = []
    for one in near:
        if 5 * one > most or pairs[5 * one - 1] == 0:
            break
        lag = np.arange(1, most + 1)
        means = [((lag > low * one) & (lag <= high * one)).astype(float) for low, high in ((0, 1), (1, 3), (3, 5))]
        means = [each / each.sum() for each in means]
        places = [float(lag @ each) for each in means]
        slope = (places[1] - places[0]) / (places[2] - places[1])
        weight = (means[0] - (1 + slope) * means[1] + slope * means[2]) / np.maximum(pairs, 1)
        found.append(weight / math.sqrt(float(weight**2 @ pairs)))
    return np.array(found)


def _farthest(values: Floats, weights: Floats) -> float:
    """The greatest contrast."""
    most = int(np.max(np.nonzero(np.any(weights != 0, axis=0))[0])) + 1
    products = np.array([float(np.vdot(values[:, lag:], values[:, :-lag])) for lag in range(1, most + 1)])
    return float((weights[:, :most] @ products).max())


class _Search:
    """Finds the most likely fades in groups of rows."""

    def __init__(self, groups: Sequence[Rows]):
        self.groups = groups
        self.factor: tuple[Floats, ...] = tuple(np.ones(one.pair.shape[0]) for one in groups)
        lost, sent = np.sum([np.nansum([one.lost, one.packets], axis=(1, 2)) for one in groups], axis=0)
        self.share = float(lost / sent)
        self.width_s = min(one.width_s for one in groups)
        self.shortest_s = _SHORTEST * self.width_s
        self.near_s = 0.0

    def each(self, logs: Floats, length_s: float, deviation: float) -> Floats:
        """Logarithm of the likelihood of each row of all groups (columns) for each model (rows)."""
        values = model.bounded(logs, self.share, length_s)
        found = [
            model.with_fades(one, factor, values, length_s, deviation, self.near_s)
            for one, factor in zip(self.groups, self.factor, strict=True)
        ]
        return np.concatenate(found, axis=1)

    def without(self, beside: Floats, clump: Floats) -> Floats:
        """Logarithm of the likelihood of all rows for each model that has no fades."""
        found = [
            model.without_fades(one, factor, beside, clump)
            for one, factor in zip(self.groups, self.factor, strict=True)
        ]
        return np.asarray(np.concatenate(found, axis=1).sum(axis=1))

    def set_factors(self, logs: Floats) -> None:
        """Takes over the logarithm of the factor of each row. It is rounded to quarters: few levels cost less time."""
        rounded = np.round(np.clip(logs, -2.0, 2.0) * 4) / 4
        sizes = np.cumsum([one.pair.shape[0] for one in self.groups])[:-1]
        self.factor = tuple(np.split(np.exp(rounded), sizes))

    def none(self) -> tuple[float, Floats]:
        """The likelihood without fades, and the clumps (a logarithm) that make it greatest, with the loss beside."""
        beside, clump = np.meshgrid(self.share * np.exp(np.linspace(-0.6, 0.6, 41)), np.geomspace(1e-2, 300, 41))
        found = self.without(beside.ravel(), clump.ravel())
        best = int(np.argmax(found))
        return float(found[best]), np.log([beside.ravel()[best], clump.ravel()[best]])

    def begin(self) -> Fitted:
        """The most likely of a coarse grid of lengths and values, and steps uphill from there."""
        found = []
        for length_s in np.geomspace(self.shortest_s, _LONGEST_S, _COARSE):
            tried = [
                (part * self.share / (length_s * loss), loss, (1 - part) * self.share, 0.3)
                for part in (0.2, 0.6, 0.97)
                for loss in np.geomspace(min(4 * self.share, 0.5), 0.99, 7)
                if part * self.share < 0.5 * loss
            ]
            grid = np.log(tried)
            each = self.each(grid, length_s, 0.0)
            best = int(np.argmax(each.sum(axis=1)))
            found.append(Fitted(length_s, 0.0, grid[best], each[best]))
        found.sort(key=lambda one: -one.likelihood)
        return _most_likely([self.climb(one.logs, one.length_s, 0.0, _STEPS) for one in found[:3]])

    def climb(self, logs: Floats, length_s: float, deviation: float, steps: int) -> Fitted:
        """Steps uphill from `logs` on."""
        best: Fitted | None = None
        for _ in range(steps):
            here = logs if best is None else best.logs
            found = self.each(here + model.forward(4), length_s, deviation)
            best = best or Fitted(length_s, deviation, logs, found[0])
            tried = here + model.uphill(found)
            each = self.each(tried, length_s, deviation)
            place = int(np.argmax(each.sum(axis=1)))
            gain = float(each[place].sum()) - best.likelihood
            if gain > 0:
                best = replace(best, logs=tried[place], each=each[place])
            if gain < 0.02:
                break
        assert best is not None
        return best

    def memoryless(self, at: Fitted) -> float:
        """The likelihood of fades that end at any time, whose lengths so have an exponential distribution."""
        logs, best = np.append(at.logs, math.log(at.length_s)), -math.inf

        def each(logs: Floats) -> Floats:
            lengths = np.exp(np.clip(logs[:, 4], math.log(self.shortest_s), math.log(4 * _LONGEST_S)))
            values = model.bounded(logs, self.share, float(lengths.max()))
            found = [model.memoryless(one, factor, values, lengths)
                     for one, factor in zip(self.groups, self.factor, strict=True)]  # fmt: skip
            return np.concatenate(found, axis=1)

        for _ in range(2 * _LAST_STEPS):
            tried = logs + model.uphill(each(logs + model.forward(5)))
            likelihood = each(tried).sum(axis=1)
            place = int(np.argmax(likelihood))
            if likelihood[place] < best + 0.02:
                break
            logs, best = tried[place], float(likelihood[place])
        return best

    def beside(self, at: Fitted, length_s: float, before: Fitted | None = None) -> Fitted:
        """The most likely values at another length, from those of `at`, and on a straight line from `before`."""
        moved, off = at.logs.copy(), math.log(length_s / at.length_s)
        if before is not None and before is not at:
            moved += (at.logs - before.logs) * (off / math.log(at.length_s / before.length_s))
        else:
            # A fade loses about as much in all.
            moved[1] -= off
        moved[1] = min(moved[1], math.log(0.99))
        return self.climb(moved, length_s, at.deviation, _STEPS if before is None else _FEW_STEPS)

    def top(self, at: Fitted) -> list[Fitted]:
        """Three lengths around the most likely one, or at an end of those that are tried."""
        low, high = math.log(self.shortest_s), math.log(_LONGEST_S)
        known = {math.log(at.length_s): at}
        wide = _WIDE
        while wide > _NARROW:
            best = max(known, key=lambda one: known[one].likelihood)
            beside = [min(max(best + off, low), high) for off in (-wide, wide)]
            for log in beside:
                if min(abs(log - one) for one in known) > 1e-9:
                    known[log] = self.beside(known[best], math.exp(log), known[best])
            if known[best].likelihood < max(one.likelihood for one in known.values()):
                continue
            falls = [known[best].likelihood - known[one].likelihood for one in beside if one in known]
            # Near the top the likelihood is a parabola.
            if max(falls, default=0.0) < 2 * _FALL:
                break
            wide /= 3
        return [known[one] for one in sorted(known)]

    def profile(self, at: Fitted) -> list[Fitted]:
        """The most likely values at lengths around the most likely one, until the likelihood falls off."""
        found = self.top(at)
        best = _most_likely(found)
        # Distances at which the likelihood falls by a part of what ends an interval.
        falls = [(best.likelihood - one.likelihood) / math.log(one.length_s / best.length_s) ** 2
                 for one in found if one is not best]  # fmt: skip
        usual = math.sqrt(0.4 * _FALL / max(max(falls, default=0.0), 1e-3))
        best = self.climb(best.logs, best.length_s, best.deviation, _STEPS)
        around = [best]
        for sign, end_s in ((-1, self.shortest_s), (1, _LONGEST_S)):
            wide, last, before = min(max(usual, _NARROW / 2), 0.4), best, best
            while (last.length_s / end_s) ** sign < 0.999 and last.likelihood > best.likelihood - _DOWN:
                log = math.log(last.length_s) + sign * wide
                length_s = math.exp(min(log, math.log(end_s)) if sign > 0 else max(log, math.log(end_s)))
                before, last = last, self.beside(last, length_s, before)
                around.append(last)
                wide = min(1.3 * wide, 0.4)
        return sorted(around, key=lambda one: one.length_s)

    def level(self, at: Fitted) -> bool:
        """Finds how rows differ in their losses beside fades; returns whether they do.

        Each row has a factor whose logarithm is normal, with the most likely variance (Laplace's approximation).
        """
        step = np.array([0.0, 0.0, 0.1, 0.0])
        down, here, up = self.each(at.logs + np.outer([-1.0, 0.0, 1.0], step), at.length_s, at.deviation)
        own = np.log(np.concatenate(self.factor))
        slope = (up - down) / 0.2
        curvature = np.maximum((2 * here - up - down) / 0.01, 1e-3 * np.abs(slope) + 1e-3)
        variance = 0.1
        for _ in range(50):
            mean = (slope + curvature * own) / (curvature + 1 / variance)
            variance = max(float(np.mean(mean**2 + 1 / (curvature + 1 / variance))), 1e-4)
        if variance < _ALIKE**2:
            mean = np.zeros(own.size)
        self.set_factors(mean)
        return bool(np.any(np.log(np.concatenate(self.factor)) != own))


def tell(
    place: Floats, lengths_s: Floats, lost: Floats, packets: Floats, *, draws: int, generator: np.random.Generator
) -> Told:
    """The fades of streams from intervals away from edges, where chance, clumps and slots do not explain the losses.

    `place` is the middle of each interval in slots: its whole part is the number of the slot.
    """
    lost = np.clip(lost, 0.0, packets)
    placed = rows(place, lengths_s, lost, packets)
    slots = np.unique(np.concatenate([one.slots for one in placed])) if placed else np.zeros(0)
    groups = [one.rows for one in placed]
    if slots.size < LEAST_SLOTS or not lost.any():
        return Told()
    # Several groups have several chances.
    shown = [lasting(one, generator, among=len(groups)) for one in groups]
    if not any(shown) and not clumped(groups):
        return Told()
    found = find(groups)
    if found.gain < CLAIMED:
        return Told()
    if not any(shown) or not found.is_known:
        return Told(note=_note(found, any(shown)))
    return _claim(found, placed, lost, packets, draws, generator)


def _claim(
    found: Found, placed: Sequence[Placed], lost: Floats, packets: Floats, draws: int, generator: np.random.Generator
) -> Told:
    """The values of fades that are claimed, with their intervals over draws of slots."""
    best = found.best
    rest = found.beside(placed, lost, packets)
    slots, of_row = np.unique(np.concatenate([one.slots for one in placed]), return_inverse=True)
    of_row = of_row.ravel()

    def by_slot(values: Floats) -> Floats:
        sums = np.zeros((slots.size, *values.shape[1:]))
        np.add.at(sums, of_row, values)
        return sums

    # At the most likely length: slopes of each slot, and the curvature.
    likelihoods = found.each(best.logs + model.differences(4), best.length_s)
    slope, curvature = model.slope_and_curvature(likelihoods, 4)
    slopes = by_slot(slope.T)
    profile = by_slot(np.array([one.each for one in found.profile]).T)
    moves = _moves(found)
    inverse = np.linalg.pinv(-curvature)
    drawn = []
    for _ in range(draws):
        times = np.bincount(drawn_places(slots.size, 1, generator), minlength=slots.size).astype(float)
        log_length = math.log(_highest(found.profile, times @ profile))
        logs = best.logs + inverse @ ((times - 1) @ slopes) + moves * (log_length - math.log(best.length_s))
        drawn.append((math.exp(log_length), *_values(logs, best)))
    values = (best.length_s, *_values(best.logs, best))
    names = ("fade, length, ms", "fade, from begin to begin, s", "fade, mean loss")
    factors = (1e3, 1.0, 1.0)
    parameters = tuple(
        Parameter(name, factor * value, *interval([factor * one[n] for one in drawn], slots.size))
        for n, (name, factor, value) in enumerate(zip(names, factors, values, strict=True))
    )
    shares = np.clip(math.exp(best.logs[1]) * _lognormal(best.deviation), 0.0, 1.0)
    losses = evenly_spaced(shares, _QUANTILES) if best.deviation else shares[:1]
    rounded = tuple(float(f"{min(one, 1.0):.3g}") for one in losses)
    alone = float(rest.sum() / packets.sum())
    return Told(values[1], best.length_s, rounded, alone, rest, parameters)


def _values(logs: Floats, best: Fitted) -> tuple[float, float]:
    """Mean time between the begins of fades, not less than their length, and the mean loss in one."""
    loss = np.minimum(math.exp(logs[1]) * model.nodes(best.deviation), 1.0)
    return max(math.exp(-logs[0]), best.length_s), float(loss.mean())


def _lognormal(deviation: float) -> Floats:
    """Factors of the loss of a fade, evenly spaced, between the means of the outermost nodes' parts."""
    factors = model.nodes(deviation)
    return factors if factors.size == 1 else np.interp(np.linspace(0, 3, 301), np.arange(4), factors)


def _moves(found: Found) -> Floats:
    """How the most likely logarithms change with that of the length."""
    near = [one for one in found.profile if one.likelihood > found.best.likelihood - _DOWN]
    if len(near) < 2:
        return np.zeros(4)
    log = np.log([one.length_s for one in near])
    off = log - log.mean()
    return np.asarray(off @ np.array([one.logs for one in near]) / (off @ off))


def _note(found: Found, shown: bool) -> str:
    """What the table says of losses that may be those of fades."""
    low, high = (f"{float(f'{1e3 * one:.2g}'):g} ms" for one in found.between_s)
    if found.between_s[1] > LONGEST_S and found.between_s[0] > LONGEST_S / 4:
        return (
            f"Losses come in bursts that last for {low} or longer. No fades are written for them, because bursts of "
            "seconds cannot be told from losses that wander within a slot."
        )
    if found.memoryless > 0 and found.between_s[0] > found.width_s:
        return (
            "Losses come in bursts whose lengths differ as those of bursts that end at any time. No fades are written "
            f"for them, and `loss` contains what they lose. With one length they would last for {low} to {high}."
        )
    if found.between_s[0] <= 1.001 * _SHORTEST * found.width_s:
        low = "0 ms"
    begin = "Losses come in short times" if shown else "Losses come several at a time, as in fades"
    said = (
        f"{begin}, but intervals of {found.width_s:g} s do not tell how long these last: {low} to {high} are possible. "
        "So no `fades` are written, and `loss` contains what they lose."
    )
    if found.width_s > 1.5 * _LEAST_WIDTH_S:
        said += " Record the stream with `-i 0.1 --get-server-output`, and the server with `iperf3 -s -J -i 0.1`."
    return said


def clumped(groups: Sequence[Rows]) -> bool:
    """Whether losses come several at a time by more than chance."""
    search = _Search(groups)
    beside = np.full(41, search.share)
    clump = np.geomspace(1e-2, 300, 41)
    found = search.without(beside, clump)
    return float(found.max() - found[0]) >= CLUMPED


def find(groups: Sequence[Rows]) -> Found:
    """The most likely fades."""
    search = _Search(groups)
    best = search.begin()
    if search.level(best):
        best = search.climb(best.logs, best.length_s, 0.0, _STEPS)
        search.level(best)
        best = search.climb(best.logs, best.length_s, 0.0, _STEPS)
    best = _most_likely(search.top(best))
    for deviation in _DEVIATIONS[1:]:
        other = search.climb(best.logs, best.length_s, deviation, _STEPS)
        if other.likelihood <= best.likelihood + (_DEVIATES if best.deviation == 0 else 0):
            break
        best = other
    search.near_s = best.length_s
    profile = search.profile(best)
    length_s = _highest(profile)
    best = search.climb(_most_likely(profile).logs, length_s, best.deviation, _LAST_STEPS)
    factor = search.factor
    memoryless = search.memoryless(best) - best.likelihood
    gain, between_s = best.likelihood - _none(groups), _between(profile)
    return Found(
        best, gain, tuple(profile), between_s, memoryless, factor, search.width_s, search.near_s, tuple(groups)
    )


def _most_likely(every: Sequence[Fitted]) -> Fitted:
    return max(every, key=lambda one: one.likelihood)


def _none(groups: Sequence[Rows]) -> float:
    """The greatest likelihood without fades, with slots that are alike or differ."""
    search = _Search(groups)
    same, logs = search.none()
    lost = np.concatenate([np.nansum(one.lost, axis=1) for one in groups])
    sent = np.concatenate([np.nansum(one.packets, axis=1) for one in groups])
    beside, clump = np.exp(logs)
    # The mean of what a row loses, drawn to that of all as far as its chance goes.
    chance = (1 + clump) / np.maximum(beside * sent, 1e-9)
    log = np.log((lost + 0.5) / (sent * beside + 0.5))
    variance = max(float(np.mean(log**2) - np.mean(np.minimum(chance, 1.0))), 1e-4)
    search.set_factors(log * variance / (variance + chance))
    return max(same, search.none()[0])


def _highest(profile: Sequence[Fitted], likelihood: Floats | None = None) -> float:
    """The length at which the likelihood is greatest: the top of a parabola through the three highest."""
    if likelihood is None:
        likelihood = np.array([one.likelihood for one in profile])
    log = np.log([one.length_s for one in profile])
    best = int(np.argmax(likelihood))
    if log.size < 3 or best in (0, log.size - 1):
        return profile[best].length_s
    near = slice(best - 1, best + 2)
    bend, slope, _ = np.polyfit(log[near] - log[best], likelihood[near] - likelihood[best], 2)
    off = -slope / (2 * bend) if bend < 0 else 0.0
    return float(np.exp(np.clip(log[best] + off, log[best - 1], log[best + 1])))


def _between(profile: Sequence[Fitted]) -> tuple[float, float]:
    """Lengths whose likelihood is near the greatest: the outermost ones, with straight lines between those tried."""
    log = np.log([one.length_s for one in profile])
    likelihood = np.array([one.likelihood for one in profile])
    fine = np.linspace(log[0], log[-1], 2001)
    near = fine[np.interp(fine, log, likelihood) >= likelihood.max() - _FALL]
    return float(np.exp(near[0])), float(np.exp(near[-1]))
