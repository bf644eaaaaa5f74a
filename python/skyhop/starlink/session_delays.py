"""How wide the delays of a session are, by the smoothed round trips of uploads: a factor on the delays of a set.

Dishes differ in how far their round trips scatter, and less in the shape of the distribution. iperf3 writes the
smoothed round trip of a sender at the end of each interval. The factor on `step` and `jitter` of the set is the one at
which the distribution of simulated uploads is nearest to the recorded one, by the distance of Kolmogorov and Smirnov
with the medians at one place. So a few round trips far from the others, or a path beyond the dish that changes for a
minute, decide nothing. The sets have all their delays in the uplink, so uploads tell them.
`docs/models/starlink-losses.md` says how well such a fit predicts other uploads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skyhop import durations
from skyhop.starlink import buckets, sets, simulating
from skyhop.starlink.measuring import kolmogorov_smirnov
from skyhop.starlink.recordings import Floats
from skyhop.starlink.transfers import Transfer

#: An upload tells its delays by so many round trips or more; one a second is usual.
_LEAST_ROUND_TRIPS = 60

#: Powers of two that are tried as factors.
_POWERS = np.arange(-4.0, 2.01, 0.5)

#: The keys whose quantiles are multiplied.
_KEYS = ("step", "jitter")


@dataclass(frozen=True)
class DelaysTold:
    """What one upload tells of the delays of its session."""

    log_factor: float
    deviation: float
    """Standard deviation of `log_factor` by chance: how much those of simulated uploads differ."""


def scaled(values: str, factor: float) -> dict[str, Any]:
    """The keys of the delays of a set in its uplink, times a factor; none for a factor of 1."""
    if factor == 1:
        return {}
    own = buckets.resolved(sets.sides({"values": values})).up
    return {key: _times(own[key], factor) for key in _KEYS}


def tells(one: Transfer) -> bool:
    """Whether a transfer is an upload with smoothed round trips, of a minute or more, that differ."""
    if one.reverse or one.rtt_ms is None or one.rtt_ms.size < _LEAST_ROUND_TRIPS:
        return False
    return bool(np.ptp(one.rtt_ms) > 0)


def told_by(one: Transfer, simulated: Callable[[float], Sequence[simulating.Simulated]]) -> DelaysTold:
    """The factor at which simulated uploads are nearest to the recorded one. `simulated` runs them with a factor.

    Raises ValueError where the nearest is the least or the greatest factor that is tried.
    """
    if one.rtt_ms is None:
        raise ValueError(f"{one.name}: has no smoothed round trips")
    ends_s = one.sent_begins_s + one.sent_lengths_s
    runs = [[_centred(run.srtt_at(ends_s)) for run in simulated(2.0**power)] for power in _POWERS]
    pooled = [np.concatenate(some) for some in runs]
    power = _nearest(_centred(one.rtt_ms), pooled)
    if not _POWERS[0] < power < _POWERS[-1]:
        raise ValueError(
            f"{one.name}: its smoothed round trips scatter {'more' if power > 0 else 'less'} than those of the set do "
            f"with {2**power:g} times its delays"
        )
    # What the runs with about this factor tell, each by itself.
    alike = runs[int(np.argmin(np.abs(_POWERS - power)))]
    return DelaysTold(
        power * math.log(2), float(np.std([_nearest(run, pooled) for run in alike], ddof=1)) * math.log(2)
    )


def _nearest(rtt_ms: Floats, pooled: Sequence[Floats]) -> float:
    """The power at which the distance to simulated round trips is least, by a parabola through three powers."""
    distances = [kolmogorov_smirnov(rtt_ms, other) for other in pooled]
    place = int(np.argmin(distances))
    if place in (0, len(distances) - 1):
        return float(_POWERS[place])
    before, least, after = distances[place - 1 : place + 2]
    bend = before - 2 * least + after
    return (
        float(_POWERS[place] + 0.5 * (before - after) / bend * (_POWERS[1] - _POWERS[0]))
        if bend > 0
        else float(_POWERS[place])
    )


def _centred(rtt_ms: Floats) -> Floats:
    """Round trips less their median, without those before the first."""
    known = rtt_ms[~np.isnan(rtt_ms)]
    return np.asarray(known - np.median(known))


def _times(delays: Any, factor: float) -> Any:
    found = [f"{1e3 * factor * durations.seconds(one):.4g} ms" for one in np.atleast_1d(delays).tolist()]
    return found[0] if isinstance(delays, str) else found
