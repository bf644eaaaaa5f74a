"""How often an edge, or a change of the path, loses what is under way, by which of those round trips were lost."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from skyhop.starlink.changes import BINS
from skyhop.starlink.measuring import FIRST_S, SLOT_S, by_the_clock
from skyhop.starlink.recordings import Floats, Recording

#: A loss in flight is claimed where it raises the logarithm of the likelihood by this: by chance one value
#: does so in one of a hundred recordings (Wilks, Annals of Mathematical Statistics 9, 1938).
CLAIMED = 3.3

#: Shares that are looked at; the first is 0.
SHARES = np.linspace(0, 0.95, 96)

#: Part of the round trips under way that are answered although the others are lost: clocks are not exact.
_ANSWERED = 0.05

#: The least share of round trips that is lost otherwise.
_LEAST = 1e-4


def likelihoods(recording: Recording, numbers: Floats, each_change: Floats) -> Floats:
    """By slot of a recording, for each of `SHARES`: the logarithm of the likelihood of what was lost and answered.

    `numbers` are those of the slots, and `each_change` has a row of `Changes.each` for each. Slots in which losses come
    by a clock tell nothing.
    """
    since = recording.sent_s - FIRST_S
    slot = np.floor(since / SLOT_S)
    phase = since - slot * SLOT_S
    lost = np.isnan(recording.rtt_ms)
    regular = by_the_clock(recording)
    otherwise = max(float(np.mean(lost[~regular])) if not regular.all() else 0.0, _LEAST)
    ends = (np.arange(BINS) + 0.5) * SLOT_S / BINS
    found = np.zeros((numbers.size, SHARES.size))
    for row, number, each in zip(found, numbers, each_change, strict=True):
        inside = slot == number
        if regular[inside].any() or np.isnan(recording.rtt_ms[inside]).all():
            continue
        times, gone = phase[inside], lost[inside]
        usual_ms = float(np.nanmedian(recording.rtt_ms[inside]))
        until = times + 1e-3 * np.where(gone, usual_ms, recording.rtt_ms[inside])
        at_edge = (times < SLOT_S) & (until > SLOT_S)
        total = (1 - each.sum()) * _of_edge(at_edge, gone, otherwise)
        for share, end in zip(each, ends, strict=True):
            if share > 1e-3:
                total = total + share * _of_both(at_edge, (times < end) & (until > end), gone, otherwise)
        row[:] = np.log(total)
    return found


def most_likely(sums: Floats, *, claimed: float = CLAIMED) -> float:
    """The share of the highest sum; 0 where it gains less than `claimed` over none."""
    best = int(np.argmax(sums))
    return float(SHARES[best]) if sums[best] - sums[0] >= claimed else 0.0


def _likely(under_way: npt.NDArray[np.bool_], lost: npt.NDArray[np.bool_], otherwise: float) -> float:
    """How likely losses and answers are where all under way are lost; others are lost by chance."""
    each = np.where(lost, np.where(under_way, 1.0, otherwise), np.where(under_way, _ANSWERED, 1.0))
    return float(each.prod())


def _of_edge(at_edge: npt.NDArray[np.bool_], lost: npt.NDArray[np.bool_], otherwise: float) -> Floats:
    none = _likely(np.zeros_like(at_edge), lost, otherwise)
    return np.asarray((1 - SHARES) * none + SHARES * _likely(at_edge, lost, otherwise))


def _of_both(
    at_edge: npt.NDArray[np.bool_],
    at_change: npt.NDArray[np.bool_],
    lost: npt.NDArray[np.bool_],
    otherwise: float,
) -> Floats:
    """Edge and change lose by themselves."""
    with_change = _likely(at_change, lost, otherwise), _likely(at_edge | at_change, lost, otherwise)
    of_change = (1 - SHARES) * with_change[0] + SHARES * with_change[1]
    return np.asarray((1 - SHARES) * _of_edge(at_edge, lost, otherwise) + SHARES * of_change)
