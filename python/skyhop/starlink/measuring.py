"""Measures of round trips: distribution, edges of slots, steps between them, spread within them, losses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from skyhop.starlink.recordings import Floats, Recording

Bools = npt.NDArray[np.bool_]

#: Slots of 15 s begin at :12, :27, :42 and :57 of each minute (Tanveer et al., CoNEXT Companion 2023).
SLOT_S = 15.0
FIRST_S = 12.0

#: Round trips that leave within so much after an edge belong to it, s: in the recording of Seattle the median delay is
#: back where it was after 0.3 s.
EDGE_S = 0.3

#: Losses closer than this, in round trips, are a burst and not regular.
REGULAR_FROM = 5

#: Fewer round trips say little of a loss of a fraction of a percent.
LEAST_FOR_LOSS = 1000

#: Slots with fewer round trips away from the edges are left out. A ping every second has 13 there.
LEAST = 10


@dataclass(frozen=True)
class Slotted:
    """Round trips with their slots; only answered ones."""

    slot: Floats
    phase_s: Floats
    rtt_ms: Floats

    @property
    def inside(self) -> Bools:
        """Which left away from the edges."""
        return (self.phase_s >= 2 * EDGE_S) & (self.phase_s < SLOT_S - EDGE_S)


def slotted(recording: Recording) -> Slotted:
    """Numbers of slots and times since their edges, by the wall clock."""
    answered = ~np.isnan(recording.rtt_ms)
    since = recording.sent_s[answered] - FIRST_S
    slot = np.floor(since / SLOT_S)
    return Slotted(slot, since - slot * SLOT_S, recording.rtt_ms[answered])


def calm(trips: Slotted) -> tuple[Floats, Floats, Floats]:
    """Of each slot with enough round trips away from its edges: number, median and spread (10 to 90 %), in ms."""
    inside = trips.inside
    rtts, every = trips.rtt_ms[inside], trips.slot[inside]
    order = np.lexsort((rtts, every))
    rtts = rtts[order]
    numbers, begins, sizes = np.unique(every[order], return_index=True, return_counts=True)
    enough = sizes >= LEAST
    numbers, begins, sizes = numbers[enough], begins[enough], sizes[enough]
    # As `np.percentile` has them, which takes longer for one slot than this for many.
    low, middle, high = (
        between(rtts, begins, np.asarray(share * (sizes - 1), dtype=float)) for share in (0.1, 0.5, 0.9)
    )
    return numbers, middle, high - low


def between(values: Floats, begins: npt.NDArray[np.intp], places: Floats) -> Floats:
    """Values so many places behind where each group begins, with straight lines between them.

    `values` rise within each group.
    """
    whole = np.floor(places)
    first, part = begins + whole.astype(np.intp), places - whole
    # The last value has no part of a next one.
    low, high = values[first], values[first + (part > 0)]
    return np.where(part < 0.5, low + (high - low) * part, high - (high - low) * (1 - part))


def measures(recording: Recording) -> dict[str, float]:
    """The measures of one recording, in ms if nothing else is said. NaN where it has too little for one.

    - `edge contrast`: mean change of the mean RTT from the second before to the second that begins with an edge.
    - `calm contrast`: the same at all other full seconds.
    - `step`: mean distance of the medians of neighbouring slots; `step p90` its 90 % quantile.
    - `slot autocorrelation`: of the medians of slots, one slot apart (no unit).
    - `trip autocorrelation`: of successive round trips less their slot's median (no unit).
    - `spread`: median over slots of the distance from the 10 % to the 90 % quantile.
    - `loss`: share of round trips lost; `burst`: mean number lost in a row. Only where `by_the_clock` says nothing.
    """
    trips = slotted(recording)
    numbers, medians, spreads = calm(trips)
    found: dict[str, float] = {}
    second = np.floor(trips.slot * SLOT_S + trips.phase_s)
    seconds, place = np.unique(second, return_inverse=True)
    means = np.bincount(place, weights=trips.rtt_ms) / np.bincount(place)
    beside = np.nonzero(np.diff(seconds) == 1)[0]
    change = np.abs(means[beside + 1] - means[beside])
    at_edge = seconds[beside + 1] % SLOT_S == 0
    found["edge contrast"] = _mean(change[at_edge])
    found["calm contrast"] = _mean(change[~at_edge])
    neighbours = np.diff(numbers) == 1
    steps = np.abs(np.diff(medians))[neighbours]
    found["step"] = _mean(steps)
    found["step p90"] = float(np.percentile(steps, 90)) if steps.size else float("nan")
    found["slot autocorrelation"] = _correlation(medians[:-1][neighbours], medians[1:][neighbours])
    median_of = np.full(trips.rtt_ms.size, np.nan)
    where = np.searchsorted(numbers, trips.slot)
    known = where < numbers.size
    known[known] = numbers[where[known]] == trips.slot[known]
    median_of[known] = medians[where[known]]
    rest = trips.rtt_ms - median_of
    both = known[1:] & known[:-1] & (trips.slot[1:] == trips.slot[:-1]) & (trips.phase_s[:-1] > 2 * EDGE_S)
    found["trip autocorrelation"] = _correlation(rest[:-1][both], rest[1:][both])
    found["spread"] = float(np.median(spreads)) if spreads.size else float("nan")
    counts = ~by_the_clock(recording)
    if np.count_nonzero(counts) < LEAST_FOR_LOSS:
        return {**found, "loss": float("nan"), "burst": float("nan")}
    lost = np.isnan(recording.rtt_ms[counts])
    bursts = int(np.count_nonzero(lost[1:] & ~lost[:-1]) + (1 if lost.size and lost[0] else 0))
    found["loss"] = float(np.mean(lost))
    found["burst"] = float(lost.sum()) / bursts if bursts else float("nan")
    return found


def by_the_clock(recording: Recording) -> Bools:
    """Which round trips lie where losses come at equal distances, as a limit on answers makes it and no radio link.

    Independent losses have at most 7 % of their distances within a tenth of any one. Where a quarter of at least 20
    lies within a tenth of one distance, losses that have such a distance before or behind them are by the clock; and so
    is everything from the first of at least five such losses to the last, unless ten distances pass without one.
    """
    lost = np.isnan(recording.rtt_ms)
    found = np.zeros(lost.size, dtype=bool)
    at = np.nonzero(lost)[0]
    gaps = np.diff(at)
    if gaps.size < 20:
        return found
    ordered = np.sort(gaps[gaps >= REGULAR_FROM])
    within = np.searchsorted(ordered, 1.1 * ordered, "right") - np.searchsorted(ordered, 0.9 * ordered)
    if not within.size or within.max() < 0.25 * gaps.size:
        return found
    middle = ordered[np.argmax(within)]
    regular = np.abs(gaps - middle) <= 0.15 * middle
    marked = np.unique(np.concatenate([at[1:][regular], at[:-1][regular]]))
    for group in np.split(marked, np.nonzero(np.diff(marked) > 10 * middle)[0] + 1):
        # A few such distances come about by chance.
        if group.size >= 5:
            found[group[0] : group[-1] + 1] = True
    return found


def kolmogorov_smirnov(a: Floats, b: Floats) -> float:
    """Largest distance of two empirical distributions."""
    every = np.sort(np.concatenate([a, b]))
    of_a = np.searchsorted(np.sort(a), every, side="right") / a.size
    of_b = np.searchsorted(np.sort(b), every, side="right") / b.size
    return float(np.max(np.abs(of_a - of_b)))


def _mean(values: Floats) -> float:
    return float(np.mean(values)) if values.size else float("nan")


def _correlation(a: Floats, b: Floats) -> float:
    if a.size < 3 or np.std(a) == 0 or np.std(b) == 0:
        return float("nan")
    return float(np.corrcoef(a, b)[0, 1])
