"""Round trips that the profile `starlink` would give at the times of a recording, to learn what an estimator makes of it.

The draws are those of the engine (`crates/sim/src/slots.rs`): step and spread of a slot, jitter of each 20 ms, a pause
after the edge, all in one direction, and packets in order. Serialisation and losses are left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from skyhop.starlink.measuring import EDGE_S, SLOT_S, Slotted
from skyhop.starlink.recordings import Floats

Ints = npt.NDArray[np.intp]

#: The profile's jitter holds for so long, s.
JITTER_S = 0.02

#: Round trips in this time after the edge tell the pause, s; one in each so many seconds, because those that wait for
#: the end of one pause leave together and have one jitter.
PAUSE_SEEN_S = 0.4
PAUSE_APART_S = 0.05

#: Between slots of different recordings, s: they share no queue.
_APART_S = 1000.0

_POINTS = np.linspace(-6, 6, 4801)
_SHARES = np.array([0.5 * math.erfc(-x / math.sqrt(2)) for x in _POINTS])


@dataclass(frozen=True)
class Model:
    """Evenly spaced quantiles: what a slot adds and the jitter, both from 0 on, and the pause, in ms; the spread."""

    step: Floats
    jitter: Floats
    spread: Floats
    pause: Floats
    correlation: float


@dataclass(frozen=True)
class Design:
    """When the round trips of some slots left, in the order of time."""

    numbers: Floats
    """Of each slot: those of neighbours differ by 1."""
    sent_s: Floats
    edge_s: Floats
    """Of each round trip: the beginning of its slot."""
    slot: Ints
    """Of each round trip: the place of its slot in `numbers`."""
    calm: Ints
    """A row for each slot: round trips away from the edges; filled up with the number of all round trips."""
    counts: Ints
    """Round trips in each row of `calm`."""
    early: Ints
    """Round trips that tell the pause."""

    @staticmethod
    def of(slots: Sequence[Slotted], numbers: Floats) -> Design:
        """The design of slots in the order of time."""
        sizes = [one.phase_s.size for one in slots]
        slot = np.repeat(np.arange(len(slots)), sizes)
        phase = np.concatenate([one.phase_s for one in slots])
        gaps = np.diff(numbers)
        edges = np.concatenate([[0.0], np.cumsum(np.where(gaps < 1000, SLOT_S * gaps, _APART_S))])
        inside = (phase >= 2 * EDGE_S) & (phase < SLOT_S - EDGE_S)
        counts = np.bincount(slot[inside], minlength=len(slots))
        calm = np.full((len(slots), int(counts.max())), slot.size)
        calm[np.arange(calm.shape[1])[None, :] < counts[:, None]] = np.nonzero(inside)[0]
        sent = edges[slot] + phase
        early: list[int] = []
        last_s = -math.inf
        for n in np.nonzero(phase < PAUSE_SEEN_S)[0]:
            if sent[n] >= last_s + PAUSE_APART_S:
                early.append(int(n))
                last_s = sent[n]
        return Design(numbers, sent, edges[slot], slot, calm, counts, np.array(early, dtype=np.intp))


def share(scores: Floats) -> Floats:
    """Shares of the standard normal distribution below some scores."""
    return np.asarray(np.interp(scores, _POINTS, _SHARES))


def scores(shares: Floats) -> Floats:
    """Scores of the standard normal distribution; the reverse of `share`."""
    return np.asarray(np.interp(shares, _SHARES, _POINTS))


def chain(numbers: Floats, correlation: Floats | float, copies: int, generator: np.random.Generator) -> Floats:
    """Standard normal scores of slots, a row for each copy: autoregressive of the first order between neighbours.

    `correlation` has a value for all copies or one for each.
    """
    drawn = generator.standard_normal((copies, numbers.size))
    rho = np.broadcast_to(np.asarray(correlation, dtype=float), copies)
    if np.any(rho != 0):
        for n, gap in enumerate(np.diff(numbers), start=1):
            if gap < 1000:
                held = rho**gap
                drawn[:, n] = held * drawn[:, n - 1] + np.sqrt(1 - held**2) * drawn[:, n]
    return drawn


def from_quantiles(quantiles: Floats, shares: Floats) -> Floats:
    """Draws from evenly spaced quantiles, as the engine takes them: evenly between two of them."""
    return np.asarray(np.interp(shares, np.linspace(0, 1, quantiles.size), quantiles))


def round_trips(
    design: Design, model: Model, copies: int, generator: np.random.Generator, correlation: Floats | None = None
) -> tuple[Floats, Floats]:
    """Copies of the recording over the model, less its base, and the steps that they drew; in ms, a row for each copy.

    `correlation` may have a value for each copy in place of the model's.
    """
    rho = model.correlation if correlation is None else correlation
    steps = from_quantiles(model.step, share(chain(design.numbers, rho, copies, generator)))
    spreads = from_quantiles(model.spread, share(chain(design.numbers, rho, copies, generator)))
    pauses = from_quantiles(model.pause, generator.uniform(size=steps.shape))
    departs = np.maximum(design.sent_s, design.edge_s + 1e-3 * pauses[:, design.slot])
    begins = np.floor(departs / JITTER_S)
    place = np.zeros(departs.shape, dtype=np.intp)
    place[:, 1:] = np.cumsum(np.diff(begins, axis=1) != 0, axis=1)
    drawn = from_quantiles(model.jitter, generator.uniform(size=departs.shape))
    jitter = np.take_along_axis(drawn, place, axis=1)
    arrivals = departs + 1e-3 * (steps[:, design.slot] + spreads[:, design.slot] * jitter)
    return 1e3 * (np.maximum.accumulate(arrivals, axis=1) - design.sent_s), steps
