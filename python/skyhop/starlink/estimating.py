"""The estimator behind `skyhop fit starlink`: what slots show, corrected by what it finds in copies of known values.

Medians and widths of slots are uncertain, because each rests on a few round trips. Quantiles of what is left when both
are taken away are therefore those of the jitter, blurred. The estimator has constants that undo this. They are found by
indirect inference (Gouriéroux, Monfort and Renault, J. Applied Econometrics 8, 1993): with them the estimator gives, in
the mean over copies of the recording that the model made, the values from which the copies were made.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from skyhop.starlink import synthetic
from skyhop.starlink.recordings import Floats
from skyhop.starlink.synthetic import Design, Ints, Model

#: Evenly spaced quantiles of each distribution: 5 % apart.
QUANTILES = 21
SHARES = np.linspace(0, 1, QUANTILES)

#: Round trips of all copies of which the constants are found, and how often they are corrected.
TRIPS = 400_000
ROUNDS = 6

#: Groups of the gaps between quantiles that have a factor each.
GROUPS = [slice(a, b) for a, b in itertools.pairwise((0, 2, 18, 20))]

_EVENLY = (np.arange(2000) + 0.5) / 2000

#: So many numbers are in memory at a time.
_AT_ONCE = 2_000_000

#: Bins of the jitter, each with as many of the recorded values.
_BINS = 400


@dataclass(frozen=True)
class Slots:
    """What round trips show of their slots, in ms: a row for each copy, a column for each slot."""

    medians: Floats
    widths: Floats
    """Logarithms of the distances of 10 and 90 %, less their median over the slots."""
    middles: Floats
    """Means of five quantiles, less uncertain than the median where the jitter has short tails."""
    rests: Floats
    """Round trips less the middle of their slot, in the order of size, not a number where a slot has fewer."""


def seen(design: Design, rtt_ms: Floats) -> Slots:
    """What round trips show of their slots; a row for each copy."""
    filled = np.concatenate([rtt_ms, np.full((len(rtt_ms), 1), np.inf)], axis=1)
    trips = np.sort(filled[:, design.calm], axis=2)

    def of(share: float) -> Floats:
        place = share * (design.counts - 1)
        low = np.floor(place).astype(int)
        high = np.minimum(low + 1, design.counts - 1)
        every = np.arange(design.counts.size)
        return np.asarray(trips[:, every, low] + (place - low) * (trips[:, every, high] - trips[:, every, low]))

    low, lower, median, higher, high = (of(share) for share in (0.1, 0.25, 0.5, 0.75, 0.9))
    middle = (low + lower + median + higher + high) / 5
    widths = np.log(np.maximum(high - low, 0.1))
    widths -= np.median(widths, axis=1, keepdims=True)
    trips[~np.isfinite(trips)] = np.nan
    return Slots(median, widths, middle, trips - middle[:, :, None])


@dataclass(frozen=True)
class Constants:
    """What undoes the uncertainty of slots."""

    part: float
    """Of what the logarithm of a slot's width differs from the median's, the part that is the slot's and not chance."""
    middle: float
    """Median of the jitter, in ms: so much less times its spread a slot's median lies above what the slot adds."""
    width_chance: float
    """Variance of the logarithms of the widths by chance."""
    median_chance: float
    """What chance and jitter add to the square of the mean distance of the medians of two slots, in ms²."""
    floor_chance: float
    """Standard deviation of what slots seem to add around what they add, in ms."""
    step_ends: tuple[float, float]
    """How far the ends of the steps seem to lie outside beyond what `blurred_end` says, in ms."""
    jitter_gaps: Floats
    """Factors of the gaps between the quantiles of the jitter."""


@dataclass(frozen=True)
class Found:
    """Statistics of copies: the last axis has quantiles, those before are those of the copies."""

    steps: Floats
    widths: Floats
    jitter: Floats
    width_variance: Floats
    distance: Floats
    """Mean distance of the medians of two slots."""
    floor_distance: Floats
    """Mean distance of what two slots seem to add."""


def floors(slots: Slots, constants: Constants) -> Floats:
    """What slots seem to add, less the base."""
    return np.asarray(slots.middles - np.exp(constants.part * slots.widths) * constants.middle)


def counted(slots: Slots, constants: Constants, edges: Floats) -> Floats:
    """Standardised rests of each slot, counted in bins."""
    standard = slots.rests / np.exp(constants.part * slots.widths)[:, :, None]
    known = ~np.isnan(standard)
    place = np.clip(np.searchsorted(edges, standard[known], side="right") - 1, 0, edges.size - 2)
    row = np.broadcast_to(np.arange(standard[:, :, 0].size).reshape(standard.shape[:2] + (1,)), standard.shape)[known]
    bins = edges.size - 1
    counts = np.bincount(row * bins + place, minlength=standard[:, :, 0].size * bins)
    return np.asarray(counts.reshape(*standard.shape[:2], bins).astype(np.float32))


def bins(slots: Slots, constants: Constants) -> Floats:
    """Edges of bins with equal numbers of the standardised rests, and some beyond both ends."""
    standard = (slots.rests / np.exp(constants.part * slots.widths)[:, :, None]).ravel()
    inner = np.unique(np.quantile(standard[~np.isnan(standard)], np.linspace(0, 1, _BINS + 1)))
    beyond = 0.1 * max(float(inner[-1] - inner[0]), 1e-3) * np.arange(1, 11) / 10
    return np.concatenate([inner[0] - beyond[::-1], inner, inner[-1] + beyond])


def _mean_ends(found: Floats, values: Floats) -> Floats:
    """Quantiles whose ends stand where the outermost gaps have the means of the values there, drawn evenly."""
    many = int(np.floor((values.shape[-1] - 1) / (QUANTILES - 1))) + 1
    found[..., 0] = np.minimum(2 * np.mean(values[..., :many], axis=-1) - found[..., 1], found[..., 1])
    found[..., -1] = np.maximum(2 * np.mean(values[..., -many:], axis=-1) - found[..., -2], found[..., -2])
    return found


def _of_values(values: Floats) -> Floats:
    """Quantiles along the last axis."""
    ordered = np.sort(values, axis=-1)
    place = SHARES * (ordered.shape[-1] - 1)
    low = np.floor(place).astype(int)
    high = np.minimum(low + 1, ordered.shape[-1] - 1)
    found = ordered[..., low] + (place - low) * (ordered[..., high] - ordered[..., low])
    return _mean_ends(found, ordered)


def _of_counts(counts: Floats, edges: Floats) -> Floats:
    """Quantiles of counts in bins, along the last axis; values lie evenly in their bin."""
    below = np.concatenate([np.zeros((*counts.shape[:-1], 1)), np.cumsum(counts, axis=-1, dtype=float)], axis=-1)
    below /= below[..., -1:]
    rows = below.reshape(-1, edges.size)
    found = np.array([np.interp(SHARES, row, edges) for row in rows])
    # The mean of the lowest values lies below their highest by the area under the distribution up to it.
    width = np.diff(edges)
    under = np.concatenate([np.zeros((len(rows), 1)), np.cumsum((rows[:, 1:] + rows[:, :-1]) / 2 * width, axis=1)], 1)
    step = 1 / (QUANTILES - 1)

    def area(row: Floats, of_row: Floats, at: float) -> float:
        n = min(max(int(np.searchsorted(edges, at, side="right")) - 1, 0), edges.size - 2)
        into = at - edges[n]
        slope = (row[n + 1] - row[n]) / width[n]
        return float(of_row[n] + into * (row[n] + slope * into / 2))

    for one, row, of_row in zip(found, rows, under, strict=True):
        one[0] = one[1] - 2 / step * area(row, of_row, float(one[1]))
        above = (edges[-1] - one[-2]) - (of_row[-1] - area(row, of_row, float(one[-2])))
        one[-1] = one[-2] + 2 / step * above
    return np.asarray(found.reshape(*counts.shape[:-1], QUANTILES))


def _distance(values: Floats) -> Floats:
    """Mean distance of two of the values along the last axis."""
    n = values.shape[-1]
    weights = 2 * np.arange(1, n + 1) - n - 1
    return np.asarray(2 * (np.sort(values, axis=-1) @ weights) / (n * (n - 1)))


def statistics(slots: Slots, constants: Constants, counts: Floats, edges: Floats) -> Found:
    """Statistics of each copy."""
    return Found(
        steps=_of_values(floors(slots, constants)), widths=_of_values(slots.widths),
        jitter=_of_counts(counts.sum(axis=1), edges), width_variance=np.var(slots.widths, axis=-1, ddof=1),
        distance=_distance(slots.medians), floor_distance=_distance(floors(slots, constants)),
    )  # fmt: skip


def resampled(slots: Slots, constants: Constants, counts: Floats, edges: Floats, places: Ints) -> Found:
    """Statistics of draws of slots: `places` has a row of slots for each draw. Axes: copies, draws."""
    weights = np.zeros((len(places), slots.medians.shape[1]), dtype=np.float32)
    np.add.at(weights, (np.arange(len(places))[:, None], places), 1)
    return Found(
        steps=_of_values(floors(slots, constants)[:, places]), widths=_of_values(slots.widths[:, places]),
        jitter=_of_counts(weights @ counts, edges), width_variance=np.var(slots.widths[:, places], axis=-1, ddof=1),
        distance=_distance(slots.medians[:, places]),
        floor_distance=_distance(floors(slots, constants)[:, places]),
    )  # fmt: skip


@dataclass(frozen=True)
class Estimate:
    """Quantiles of step and jitter from 0 on, in ms; variance of the logarithms of the spread, below zero by chance."""

    step: Floats
    jitter: Floats
    spread_variance: Floats


def estimate(found: Found, constants: Constants) -> Estimate:
    """The values for some statistics."""
    return Estimate(
        _steps(found, constants), _from_gaps(np.diff(found.jitter) * constants.jitter_gaps),
        found.width_variance - constants.width_chance,
    )  # fmt: skip


def _steps(found: Found, constants: Constants) -> Floats:
    """Steps as far apart as the medians of slots without what chance and jitter add, less what chance does to the ends.

    A quantile function of many slots would be blurred deconvolved; of few, that would answer to their chance. So there
    is one scale, and the ends.
    """
    apart = np.sqrt(np.maximum(found.distance**2 - constants.median_chance, 0.0))
    scale = apart / np.where(found.floor_distance > 0, found.floor_distance, 1.0)
    gaps = np.diff(found.steps) * scale[..., None]
    for end, near, more in ((0, slice(0, 3), constants.step_ends[0]), (-1, slice(-3, None), constants.step_ends[1])):
        width = np.maximum(gaps[..., end], np.mean(gaps[..., near], axis=-1))
        beyond = blurred_end(width, constants.floor_chance)
        gaps[..., end] = np.maximum(gaps[..., end] - beyond - more, 0.0)
    return _from_gaps(gaps)


def blurred_end(gap: Floats, chance: float) -> Floats:
    """How far the end of a distribution seems to lie outside, where its gaps are so wide and its values uncertain."""
    return chance * np.interp(chance / np.maximum(gap, 1e-9), *_ENDS)


def _blurred_ends() -> tuple[Floats, Floats]:
    """`blurred_end` over the uncertainty, by the latter in gaps, for values that lie evenly."""
    inside = np.linspace(0, 12, 2401)[1:] - 0.0025
    chances = synthetic.scores((np.arange(101) + 0.5) / 101)
    ratios = np.concatenate([[0.0], np.geomspace(0.02, 3, 30)])
    found = []
    for ratio in ratios:
        values = np.sort((inside[:, None] + ratio * chances[None, :]).ravel())
        # A gap is a twelfth of these.
        many = values.size // 12
        found.append(values[many] - 2 * float(np.mean(values[:many])))
    return ratios, np.array([0.0, *(np.array(found[1:]) / ratios[1:])])


_ENDS = _blurred_ends()


def _from_gaps(gaps: Floats) -> Floats:
    """Quantiles from 0 on."""
    return np.concatenate([np.zeros((*gaps.shape[:-1], 1)), np.cumsum(gaps, axis=-1)], axis=-1)


def distance_of(quantiles: Floats) -> Floats:
    """Mean distance of two draws from quantiles with straight lines between them: 2 ∫ F (1 - F) dx."""
    p = SHARES
    area = p[:-1] - p[:-1] ** 2 + (1 - 2 * p[:-1]) * np.diff(p) / 2 - np.diff(p) ** 2 / 3
    return np.asarray(2 * (np.diff(quantiles) @ area))


def spread_of(widths: Floats, variance: float) -> Floats:
    """Quantiles of the spread: those of the widths, drawn together so that their logarithms have the variance."""
    shape = widths - widths[QUANTILES // 2]
    own = variance_of_log(np.exp(shape))
    return np.asarray(np.exp(shape * np.sqrt(max(variance, 0.0) / own))) if own > 0 else np.ones(QUANTILES)


def middle_of(jitter: Floats) -> float:
    """The mean of the five quantiles that `Slots` takes for a middle."""
    return float(np.mean(jitter[[2, 5, 10, 15, 18]]))


def variance_of_log(spread: Floats) -> float:
    """Variance of the logarithm of draws from quantiles with straight lines between them."""
    return float(np.var(np.log(synthetic.from_quantiles(spread, _EVENLY))))


@dataclass(frozen=True)
class Calibrated:
    """The constants, and the values to which they belong."""

    constants: Constants
    edges: Floats
    slots: Slots
    counts: Floats
    found: Found
    model: Model
    spread_variance: float
    """Variance of the logarithm of the spread, below zero by chance."""
    reliability: float
    """Square of the correlation of what slots add with what they seem to add, of normal scores."""

    @property
    def floors(self) -> Floats:
        """What slots seem to add."""
        return np.asarray(floors(self.slots, self.constants)[0])

    @property
    def base_ms(self) -> float:
        """Least round trip, less what was taken from all."""
        return float(np.mean(self.floors) - np.mean(synthetic.from_quantiles(self.model.step, _EVENLY)))


def calibrated(
    design: Design, rtt_ms: Floats, pause: Floats, generator: np.random.Generator, *, variance: float | None = None
) -> Calibrated:
    """Finds the constants for a recording: a fixed point, after some rounds.

    `variance` is that of the logarithms of the spread, where the recording is not to tell it.
    """
    slots = seen(design, rtt_ms[None, :])
    copies = int(np.clip(TRIPS // rtt_ms.size, 1, max(40, 8000 // design.numbers.size)))
    states = generator.bit_generator.state
    seen_variance = float(np.var(slots.widths, ddof=1))
    constants = Constants(1.0 if seen_variance > 0 else 0.0, 0.0, 0.0, 0.0, 0.0, (0.0, 0.0), np.ones(QUANTILES - 1))
    edges = bins(slots, constants)
    first = _of_counts(counted(slots, constants, edges).sum(axis=1), edges)[0]
    constants = replace(constants, middle=middle_of(first - first[0]))
    reliability = 1.0
    for n in range(ROUNDS):
        edges = bins(slots, constants)
        counts = counted(slots, constants, edges)
        found = statistics(slots, constants, counts, edges)
        model = _model(found, constants, pause)
        # The same numbers each time: a fixed point without them would wander.
        generator.bit_generator.state = states
        constants, reliability = _corrected(design, model, constants, edges, copies, generator, seen_variance, n == ROUNDS - 1)
        if variance is not None and seen_variance > 0:
            constants = replace(
                constants, part=min(variance / seen_variance, 1.0), width_chance=seen_variance - variance
            )
    edges = bins(slots, constants)
    counts = counted(slots, constants, edges)
    found = statistics(slots, constants, counts, edges)
    return Calibrated(constants, edges, slots, counts, found, _model(found, constants, pause),
                      float(estimate(found, constants).spread_variance[0]), reliability)  # fmt: skip


def _model(found: Found, constants: Constants, pause: Floats) -> Model:
    one = estimate(found, constants)
    return Model(one.step[0], one.jitter[0], spread_of(found.widths[0], float(one.spread_variance[0])), pause, 0.0)


def _corrected(
    design: Design, model: Model, constants: Constants, edges: Floats, copies: int, generator: np.random.Generator,
    seen_variance: float, last: bool,
) -> tuple[Constants, float]:  # fmt: skip
    """The constants with which copies of the model have its values in the mean, and the reliability of their steps."""
    every: list[Found] = []
    related: list[float] = []
    chances: list[Floats] = []
    for many in at_once(copies, design):
        trips, steps = synthetic.round_trips(design, model, many, generator)
        slots = seen(design, trips)
        every.append(statistics(slots, constants, counted(slots, constants, edges), edges))
        of_slots = floors(slots, constants)
        related += [related_of(a, b) for a, b in zip(steps, of_slots, strict=True)]
        chances.append(np.std(of_slots - steps, axis=1))

    def mean(name: str) -> Floats:
        return np.asarray(np.mean(np.concatenate([getattr(one, name) for one in every]), axis=0))

    jitter_gaps = _factors(np.diff(model.jitter), np.diff(mean("jitter")))
    width_chance = float(mean("width_variance")) - variance_of_log(model.spread)
    of_slots = max(seen_variance - width_chance, 0.0) / seen_variance if seen_variance > 0 else 0.0
    every_distance = np.concatenate([one.distance for one in every])
    return Constants(
        part=of_slots, middle=middle_of(model.jitter), width_chance=width_chance,
        median_chance=float(np.mean(every_distance**2) - distance_of(model.step) ** 2),
        floor_chance=float(np.mean(np.concatenate(chances))),
        step_ends=_ends(every, model, constants) if last else (0.0, 0.0), jitter_gaps=np.clip(jitter_gaps, 0.02, 50),
    ), float(np.mean(related)) ** 2  # fmt: skip


def _ends(copies: Sequence[Found], model: Model, constants: Constants) -> tuple[float, float]:
    """How far the ends of the steps lie outside in copies of the model, from the quartiles."""
    steps = np.concatenate([_steps(one, constants) for one in copies])
    low, high = (np.mean(steps[:, b] - steps[:, a]) - (model.step[b] - model.step[a]) for a, b in ((0, 5), (15, 20)))
    return float(low), float(high)


def _factors(known: Floats, seen_gaps: Floats) -> Floats:
    """Factors of gaps, the same within a group: finer ones would answer to chance in the recording."""
    factors = np.ones(known.size)
    for group in GROUPS:
        factors[group] = known[group].sum() / max(float(seen_gaps[group].sum()), 1e-9)
    return factors


def at_once(copies: int, design: Design) -> list[int]:
    """Copies in groups that fit into memory."""
    bins_too = design.sent_s.size + design.numbers.size * (design.calm.shape[1] + _BINS)
    most = max(1, _AT_ONCE // bins_too)
    return [min(most, copies - begin) for begin in range(0, copies, most)]


def related_of(a: Floats, b: Floats) -> float:
    """Correlation of the normal scores; 0 where all are the same."""
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return 0.0
    ranks = [synthetic.scores((np.argsort(np.argsort(one)) + 0.5) / one.size) for one in (a, b)]
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])
