"""How wide the delays of a session are, by the smoothed round trips of uploads: a factor on the delays of a set.

Dishes differ in how far their round trips scatter, and less in the shape of the distribution. iperf3 writes the
smoothed round trip of a sender at the end of each interval. The factor on `step` and `jitter` of the set is the one at
which those of simulated uploads have the recorded width: the distance from the 10 to the 90 % quantile of a minute, the
median over minutes. A minute has four slots, so steps between them count; a path beyond the dish that changes for
minutes does not. The sets have all their delays in the uplink, so uploads tell them. `docs/models/starlink-losses.md`
says how well such a fit predicts other uploads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skyhop import durations
from skyhop.starlink import buckets, sets, simulating
from skyhop.starlink.recordings import Floats
from skyhop.starlink.transfers import Transfer

#: Widths are those of so much time, s, with so many round trips or more.
_MINUTE_S, _LEAST_ROUND_TRIPS = 60.0, 30

#: Powers of two that are tried as factors, from one end to the other, and their distance.
_LEAST, _MOST, _STEP = -5.0, 3.0, 0.5

#: The keys whose quantiles are multiplied.
_KEYS = ("step", "jitter")


@dataclass(frozen=True)
class DelaysTold:
    """What one upload tells of the delays of its session."""

    log_factor: float
    deviation: float
    """Standard deviation of `log_factor` by chance: by how much the widths of simulated runs differ."""


def scaled(values: str, factor: float) -> dict[str, Any]:
    """The keys of the delays of a set in its uplink, times a factor; none for a factor of 1."""
    if factor == 1:
        return {}
    own = buckets.resolved(sets.sides({"values": values})).up
    return {key: _times(own[key], factor) for key in _KEYS}


def tells(one: Transfer) -> bool:
    """Whether a transfer is an upload with smoothed round trips of a minute or more."""
    return not one.reverse and one.rtt_ms is not None and width_ms(_ends_s(one), one.rtt_ms) > 0


def width_ms(times_s: Floats, rtt_ms: Floats) -> float:
    """The median over minutes of the distance from the 10 to the 90 % quantile; NaN without enough round trips."""
    minute = np.floor(times_s / _MINUTE_S)
    parts = [rtt_ms[(minute == n) & ~np.isnan(rtt_ms)] for n in np.unique(minute)]
    widths = [np.subtract(*np.quantile(one, [0.9, 0.1])) for one in parts if one.size >= _LEAST_ROUND_TRIPS]
    return float(np.median(widths)) if widths else math.nan


def _ends_s(one: Transfer) -> Floats:
    return one.sent_begins_s + one.sent_lengths_s


def told_by(one: Transfer, simulated: Callable[[float], Sequence[simulating.Simulated]]) -> DelaysTold:
    """The factor at which simulated uploads have the recorded width. `simulated` runs them with a factor.

    Raises ValueError where no factor gives it.
    """
    if one.rtt_ms is None:
        raise ValueError(f"{one.name}: has no smoothed round trips")
    ends_s = _ends_s(one)
    theirs = width_ms(ends_s, one.rtt_ms)
    known: dict[float, Floats] = {}

    def at(power: float) -> float:
        """The logarithm of the recorded width over the mean simulated one."""
        if power not in known:
            known[power] = np.array([width_ms(ends_s, run.srtt_at(ends_s)) for run in simulated(2.0**power)])
        return math.log(theirs / float(known[power].mean()))

    power = crossing(at, round(at(0.0) / math.log(2) / _STEP) * _STEP, _LEAST, _MOST, _STEP)
    if at(power) <= 0 or at(power + _STEP) > 0:
        raise ValueError(
            f"{one.name}: its smoothed round trips spread by {theirs:.3g} ms in a minute (10 to 90 %), and those of "
            f"the set do not with {2**_LEAST:g} to {2**_MOST:g} times its delays"
        )
    above, below = at(power), at(power + _STEP)
    share = above / (above - below)
    slope = (below - above) / (_STEP * math.log(2))
    scatter = float(np.std(np.log(known[power + _STEP if share > 0.5 else power]), ddof=1))
    return DelaysTold((power + share * _STEP) * math.log(2), scatter / abs(slope))


def crossing(at: Callable[[float], float], guess: float, least: float, most: float, step: float) -> float:
    """The power from which on, within a step, a falling function passes 0; an end where it does not."""
    power = min(max(guess, least), most)
    while at(power) > 0 and power < most:
        power += step
    while at(power) <= 0 and power > least:
        power -= step
    return power


def _times(delays: Any, factor: float) -> Any:
    found = [f"{1e3 * factor * durations.seconds(one):.4g} ms" for one in np.atleast_1d(delays).tolist()]
    return found[0] if isinstance(delays, str) else found
