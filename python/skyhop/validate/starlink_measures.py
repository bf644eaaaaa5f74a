"""Measures of round trips, recorded beside simulated: of pings, and of the smoothed round trips of a transfer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skyhop.starlink.chance import intervals
from skyhop.starlink.measuring import kolmogorov_smirnov, measures
from skyhop.starlink.recordings import LEAST, Recording
from skyhop.starlink.simulating import Simulated
from skyhop.starlink.transfers import Transfer

DISTANCE, CONTRAST = "RTT, Kolmogorov-Smirnov", "contrast of edges"

#: The names of further measures, in their order.
_NAMES = {
    "step": "step, mean", "step p90": "step, 90 %", "slot autocorrelation": "slot autocorrelation",
    "trip autocorrelation": "trip autocorrelation", "spread": "spread", "loss": "loss", "burst": "loss burst",
}  # fmt: skip

#: Before the measures of smoothed round trips.
SMOOTHED = "smoothed round trip, "


@dataclass(frozen=True)
class Compared:
    """One measure. `recorded` is NaN for the distance of two distributions."""

    measure: str
    recorded: float
    simulated: float
    between: tuple[float, float] | None
    """The 90 % interval of what other recordings of this length would have, of a link that does not change."""


def compared(recording: Recording, runs: Sequence[Recording], *, edges: bool = True) -> list[Compared]:
    """The measures of a recording and their means over simulated ones, without those that it has too little for.

    Without `edges` the times are not known well enough to tell what happens at edges.
    """
    theirs, between = measures(recording), intervals(recording)
    ours = [measures(run) for run in runs]
    mean = {
        key: float(np.nanmean([one[key] for one in ours])) if any(not math.isnan(one[key]) for one in ours)
        else math.nan for key in theirs
    }  # fmt: skip
    answered = recording.rtt_ms[~np.isnan(recording.rtt_ms)]
    pooled = np.concatenate([run.rtt_ms[~np.isnan(run.rtt_ms)] for run in runs])
    # Base delays differ by place, and one run and all of them differ by chance.
    offset = float(np.median(answered)) - float(np.median(pooled))
    distance = kolmogorov_smirnov(answered, pooled + offset)
    found = [Compared(DISTANCE, math.nan, distance, between.get("distance"))]
    # Round trips that never change have no contrast.
    if edges and not math.isnan(theirs["edge contrast"]) and theirs["calm contrast"] != 0:
        recorded, simulated = (
            one["edge contrast"] / one["calm contrast"] if one["calm contrast"] else math.nan for one in (theirs, mean)
        )
        found.append(Compared(CONTRAST, recorded, simulated, between.get("contrast")))
    found += [
        Compared(name, theirs[key], mean[key], between.get(key))
        for key, name in _NAMES.items()
        if not math.isnan(theirs[key])
    ]
    return found


def smoothed(transfer: Transfer, runs: Sequence[Simulated]) -> list[Compared]:
    """The measures of the sender's smoothed round trips, one at the end of each interval.

    Empty where the report has none, or fewer than 100. What happens at edges needs a start in milliseconds, because
    half a second decides in which second an edge lies.
    """
    ends_s = transfer.sent_begins_s + transfer.sent_lengths_s
    if transfer.rtt_ms is None or transfer.rtt_ms.size < LEAST or not all(run.srtt_ms.size for run in runs):
        return []
    at_s = transfer.start_s + transfer.omitted_s + ends_s
    ours = [Recording(transfer.name, at_s, run.srtt_at(ends_s)) for run in runs]
    recording = Recording(transfer.name, at_s, transfer.rtt_ms)
    return [
        Compared(smoothed_name(one.measure), one.recorded, one.simulated, one.between)
        for one in compared(recording, ours, edges=transfer.is_start_exact)
        if one.measure not in ("loss", "loss burst")
    ]


def smoothed_name(measure: str) -> str:
    """What a measure of pings is called for smoothed round trips."""
    return SMOOTHED + measure.removeprefix("RTT, ")
