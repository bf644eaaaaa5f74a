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

#: Runs of each upload with each factor: slots of one upload are few, so their steps and spreads scatter.
SEEDS = range(1, 17)

#: The distribution is another one where no factor brings it nearer than this. Our choice: chance alone makes uploads of
#: five minutes differ by 0.05 to 0.1.
_FARTHEST = 0.25

#: What a reader of a factor must know (`benches/sky/starlink_sessions.py --known-delays 60`).
TOO_LOW = (
    "The factor on the delays tends to be too low: known factors of 1 and 2 are told 13 to 15 % too low, 0.4 by a "
    "quarter and 0.2 by a third; below a quarter, factors look alike."
)

#: The keys whose quantiles are multiplied.
_KEYS = ("step", "jitter")


@dataclass(frozen=True)
class DelaysTold:
    """What one upload tells of the delays of its session: how far simulated uploads with each factor are from it."""

    name: str
    distances: Floats
    """Distance (Kolmogorov and Smirnov) of each of the factors that are tried."""
    runs: list[list[Floats]]
    """Simulated round trips less their median, of each factor and seed."""

    def distances_of_run(self, number: int, power: float) -> Floats:
        """The distances of one of the simulated uploads with about this factor, as if it were the recorded one."""
        alike = self.runs[int(np.argmin(np.abs(_POWERS - power)))]
        return _distances(alike[number], self.runs)


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
    """What an upload tells. `simulated` runs it with a factor on the delays, once for each seed.

    Raises ValueError for an upload without smoothed round trips.
    """
    if one.rtt_ms is None:
        raise ValueError(f"{one.name}: has no smoothed round trips")
    ends_s = one.sent_begins_s + one.sent_lengths_s
    runs = [[_centred(run.srtt_at(ends_s)) for run in simulated(2.0**power)] for power in _POWERS]
    return DelaysTold(one.name, _distances(_centred(one.rtt_ms), runs), runs)


def factor_of(told: Sequence[DelaysTold]) -> tuple[float, float]:
    """The factor at which the mean distance of uploads is least: its logarithm, and its standard deviation by chance.

    Chance is what simulated uploads with this factor tell in place of the recorded ones. A factor of 1/16 is the least
    that is tried: smaller ones look alike. Raises ValueError where the greatest factor is the nearest, or all are far.
    """
    mean = np.mean([one.distances for one in told], axis=0)
    power = _nearest(mean)
    named = told[0].name if len(told) == 1 else f"{told[0].name} to {told[-1].name}"
    if power >= _POWERS[-1]:
        raise ValueError(
            f"{named}: smoothed round trips scatter more than those of the set do with {2**power:g} times its delays"
        )
    if mean.min() > _FARTHEST:
        raise ValueError(
            f"{named}: smoothed round trips have another distribution than those of the set: the least distance "
            f"(Kolmogorov and Smirnov) with any factor on its delays is {mean.min():.2g}, and the most that is taken "
            f"{_FARTHEST:g}"
        )
    numbers = range(len(told[0].runs[0]))
    by_chance = [_nearest(np.mean([one.distances_of_run(n, power) for one in told], axis=0)) for n in numbers]
    # The simulated uploads scatter as recorded ones do, so their mean is known to that over the root of their number.
    deviation = float(np.std(by_chance, ddof=1)) * math.sqrt(1 + 1 / len(by_chance))
    if len(told) > 1:
        # Uploads may differ by more than chance: the jackknife takes what the others tell without each of them.
        without = [_nearest(np.mean([one.distances for one in told if one is not left], axis=0)) for left in told]
        deviation = max(deviation, math.sqrt((len(told) - 1) * float(np.var(without))))
    return power * math.log(2), deviation * math.log(2)


def _distances(rtt_ms: Floats, runs: Sequence[Sequence[Floats]]) -> Floats:
    return np.array([kolmogorov_smirnov(rtt_ms, np.concatenate(some)) for some in runs])


def _nearest(distances: Floats) -> float:
    """The power with the least distance, by a parabola through three powers."""
    place = int(np.argmin(distances))
    if place in (0, distances.size - 1):
        return float(_POWERS[place])
    before, least, after = distances[place - 1 : place + 2]
    bend = before - 2 * least + after
    step = _POWERS[1] - _POWERS[0]
    return float(_POWERS[place] + (0.5 * (before - after) / bend * step if bend > 0 else 0.0))


def _centred(rtt_ms: Floats) -> Floats:
    """Round trips less their median, without those before the first."""
    known = rtt_ms[~np.isnan(rtt_ms)]
    return np.asarray(known - np.median(known))


def _times(delays: Any, factor: float) -> Any:
    found = [f"{1e3 * factor * durations.seconds(one):.4g} ms" for one in np.atleast_1d(delays).tolist()]
    return found[0] if isinstance(delays, str) else found
