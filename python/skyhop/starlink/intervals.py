"""90 % intervals of a fit: bootstrap-t (Efron 1981; Hall, Annals of Statistics 16, 1988).

The standard error of a value comes from draws of the recorded slots, so that it has whatever makes slots differ. Draws
of slots alone would neither tell the bias that remains nor how uncertain a standard error of few slots is. So copies of
the recording over the fitted model say how many standard errors lie between what is found and what is known.
"""

from __future__ import annotations

import numpy as np

from skyhop.starlink import pauses, synthetic
from skyhop.starlink.estimating import (
    SHARES,
    Calibrated,
    Estimate,
    Slots,
    at_once,
    calibrated,
    counted,
    estimate,
    resampled,
    seen,
    statistics,
)
from skyhop.starlink.recordings import Floats
from skyhop.starlink.synthetic import Design, Ints

#: Draws of slots for each standard error.
DRAWS = 50

#: Bins of the distribution by which pauses are told: so many of those of the jitter in each.
_COARSE = 10


NAMES = (
    "step, mean",
    "step, 90 %",
    "jitter, median",
    "jitter, 10 to 90 %",
    "spread, standard deviation of its logarithm",
    "pause, median",
    "pause, standard deviation of its logarithm",
)


def mean_of(quantiles: Floats) -> Floats:
    """Mean of draws from quantiles with straight lines between them."""
    return np.asarray((quantiles[..., 1:] + quantiles[..., :-1]) @ np.diff(SHARES) / 2)


def numbers(found: Estimate, pause: tuple[Floats, Floats]) -> Floats:
    """The values on scales on which their scatter hardly depends on them: logarithms, and the spread's variance."""
    median_ms, deviation = pause
    jitter = np.log(np.maximum(np.stack([found.jitter[..., 10], found.jitter[..., 18] - found.jitter[..., 2]]), 1e-3))
    return np.stack(
        [mean_of(found.step), found.step[..., 18], *jitter, found.spread_variance, median_ms, deviation], axis=-1
    )


def numbers_of(fitted: Calibrated, pause: pauses.Pause) -> Floats:
    """The values of a fit, as `numbers`."""
    found = Estimate(fitted.model.step, fitted.model.jitter, np.asarray(fitted.spread_variance))
    return numbers(found, (np.asarray(pause.median_ms), np.asarray(pause.deviation)))


def shown(values: Floats) -> Floats:
    """The values themselves."""
    found = values.copy()
    found[..., :2] = np.maximum(found[..., :2], 0.0)
    found[..., 2:4] = np.exp(found[..., 2:4])
    found[..., 4] = np.sqrt(np.maximum(found[..., 4], 0.0))
    found[..., 5] = np.maximum(found[..., 5], 0.0)
    found[..., 6] = np.maximum(found[..., 6], 0.0)
    return found


def rests_of(fitted: Calibrated) -> tuple[Floats, Floats]:
    """Bins of the standardised rests, coarse ones, and the share in each."""
    counts = fitted.counts[0].sum(axis=0)
    kept = np.arange(0, counts.size, _COARSE)
    edges = fitted.edges[np.append(kept, counts.size)]
    return edges, np.add.reduceat(counts, kept).astype(float) / float(counts.sum())


def pause_likelihoods(design: Design, rtt_ms: Floats, slots: Slots, fitted: Calibrated) -> Floats:
    """`pauses.likelihoods` of copies of a recording."""
    spreads = np.exp(fitted.constants.part * slots.widths)
    return pauses.likelihoods(design, rtt_ms, slots.middles, spreads, rests_of(fitted))


def intervals(
    design: Design, rtt_ms: Floats, fitted: Calibrated, run: int, correlations: Floats, has_pause: bool,
    generator: np.random.Generator,
) -> tuple[Floats, Floats]:  # fmt: skip
    """The ends of the intervals of `NAMES`.

    Draws take runs of so many slots. `correlations` has that of the steps of neighbouring slots for each copy.
    """
    places = draws_of(design.numbers.size, run, generator)
    own = rtt_ms[None, :]
    _, error = _of_copies(design, own, fitted.slots, fitted, places, has_pause)
    slopes = _slopes(design, rtt_ms, fitted, float(error[0, 4]))
    value, error = _of_copies(design, own, fitted.slots, fitted, places, has_pause, slopes)
    known = numbers(
        Estimate(fitted.model.step, fitted.model.jitter, np.asarray(max(fitted.spread_variance, 0.0))),
        (value[0, 5], value[0, 6]),
    )
    off: list[Floats] = []
    begin = 0
    for many in at_once(correlations.size, design):
        trips, _ = synthetic.round_trips(
            design, fitted.model, many, generator, correlations[begin : begin + many]
        )  # fmt: skip
        begin += many
        found, errors = _of_copies(design, trips, seen(design, trips), fitted, places, has_pause, slopes)
        off.append((found - known) / np.maximum(errors, 1e-9))
    low, high = np.percentile(np.concatenate(off), [5, 95], axis=0)
    return shown(value[0] - high * error[0]), shown(value[0] - low * error[0])


def draws_of(count: int, run: int, generator: np.random.Generator) -> Ints:
    """Draws of runs of slots: a row of places for each draw."""
    begins = generator.integers(0, count, (DRAWS, -(-count // run)))
    return np.asarray((begins[:, :, None] + np.arange(run)).reshape(DRAWS, -1)[:, :count] % count)


def _of_copies(
    design: Design, rtt_ms: Floats, slots: Slots, fitted: Calibrated, places: Ints, has_pause: bool,
    slopes: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Values and their standard errors, a row for each copy."""
    constants, edges = fitted.constants, fitted.edges
    counts = counted(slots, constants, edges)
    none = np.ones(len(rtt_ms)), np.zeros(len(rtt_ms))
    drawn = np.ones((len(rtt_ms), len(places))), np.zeros((len(rtt_ms), len(places)))
    if has_pause:
        of_slots = pause_likelihoods(design, rtt_ms, slots, fitted)
        none = pauses.nearest(of_slots.sum(axis=1))[:2]
        weights = np.zeros((len(places), design.numbers.size))
        np.add.at(weights, (np.arange(len(places))[:, None], places), 1)
        drawn = pauses.nearest(weights @ of_slots)[:2]
    values = numbers(estimate(statistics(slots, constants, counts, edges), constants), none)
    every = numbers(estimate(resampled(slots, constants, counts, edges, places), constants), drawn)
    if slopes is not None:
        middle = max(fitted.spread_variance, 0.0)
        values[..., :4] += (np.maximum(values[..., 4:5], 0.0) - middle) * slopes
        every[..., :4] += (np.maximum(every[..., 4:5], 0.0) - middle) * slopes
    return values, np.std(every, axis=1)


def _slopes(design: Design, rtt_ms: Floats, fitted: Calibrated, error: float) -> Floats:
    """How steps and jitter change with the variance of the spread, of which a recording of few trips tells little."""
    middle = max(fitted.spread_variance, 0.0)
    low, high = max(middle - error, 0.0), middle + error
    ends = []
    for variance in (low, high):
        generator = np.random.Generator(np.random.PCG64(1))
        one = calibrated(design, rtt_ms, fitted.model.pause, generator, variance=variance)
        ends.append(numbers_of(one, pauses.Pause(1.0, 0.0))[:4])
    return np.asarray((ends[1] - ends[0]) / max(high - low, 1e-9))
