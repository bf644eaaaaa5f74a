"""How far the measures of other recordings of the same length would lie, of a link that does not change."""

from __future__ import annotations

import math

import numpy as np

from skyhop.starlink.fitting import interval
from skyhop.starlink.measuring import FIRST_S, SLOT_S, kolmogorov_smirnov, measures
from skyhop.starlink.recordings import Recording

#: Slots that are drawn together: two minutes, so that neighbours stay neighbours.
_TOGETHER = 8

#: Draws at most and at least, and how many round trips all of them have in between.
_MOST, _FEWEST, _ALL = 60, 15, 3_000_000

#: A draw with fewer answers tells nothing: a recording may have long gaps.
_ANSWERED = 100

#: Slots that a recording needs.
_LEAST = 40


def intervals(recording: Recording, *, seed: int = 1) -> dict[str, tuple[float, float]]:
    """The 90 % interval of each measure over draws of runs of slots; empty for less than ten minutes.

    Besides those of `measures` these are the `contrast` of edges and the `distance` (Kolmogorov and Smirnov) from the
    recording, both with their medians at one place. A run is two minutes. Losses have none: their counts are few, and
    whether they come by a clock needs their order.
    """
    slot = np.floor((recording.sent_s - FIRST_S) / SLOT_S)
    slot -= slot.min()
    count = int(slot.max()) + 1
    if count < _LEAST:
        return {}
    order = np.argsort(recording.sent_s, kind="stable")
    sent, rtt, slot = recording.sent_s[order], recording.rtt_ms[order], slot[order]
    begins = np.searchsorted(slot, np.arange(count + 1))
    generator = np.random.Generator(np.random.PCG64(seed))
    found: dict[str, list[float]] = {}
    for _ in range(min(max(_ALL // sent.size, _FEWEST), _MOST)):
        times, trips = [], []
        for place, first in enumerate(generator.integers(0, count - _TOGETHER + 1, math.ceil(count / _TOGETHER))):
            kept = slice(begins[first], begins[first + _TOGETHER])
            # A slot lies between two runs, so that the last of one is not beside the first of the next.
            times.append(sent[kept] + SLOT_S * (place * (_TOGETHER + 1) - first))
            trips.append(rtt[kept])
        answered, own = (trip[~np.isnan(trip)] for trip in (np.concatenate(trips), rtt))
        if answered.size < _ANSWERED:
            continue
        drawn = measures(Recording(recording.name, np.concatenate(times), np.concatenate(trips)))
        drawn["contrast"] = drawn["edge contrast"] / drawn["calm contrast"] if drawn["calm contrast"] else math.nan
        drawn["distance"] = kolmogorov_smirnov(own - np.median(own), answered - np.median(answered))
        for name, value in drawn.items():
            if name in ("loss", "burst"):
                continue
            found.setdefault(name, []).append(value)
    runs = count / _TOGETHER
    return {
        name: interval(values, runs)
        for name, values in found.items()
        if len(values) >= _FEWEST and not any(map(math.isnan, values))
    }
