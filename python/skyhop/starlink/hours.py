"""Fits load by the hour to recorded transfers that span a day: the key `hours` of the profile `starlink`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skyhop.starlink.capacity import fills, once
from skyhop.starlink.recordings import Floats
from skyhop.starlink.transfers import CARRIED, Transfer

#: Hours of the day with a transfer that a fit needs, and the most hours in a row without one.
LEAST_HOURS = 8
WIDEST_GAP = 4

#: Draws of fewer transfers of an hour would show an interval narrower than what is known.
LEAST_TRANSFERS = 3


@dataclass(frozen=True)
class HoursFit:
    """Factors of the rate for the hours of a day in UTC; their mean is 1."""

    factors: tuple[float, ...]
    low: tuple[float, ...]
    """5 % over draws of whole transfers; NaN without draws and where an hour has fewer than 3 transfers."""
    high: tuple[float, ...]
    """95 %, likewise."""
    filled: tuple[int, ...]
    """Hours without a transfer: on the straight line between their neighbours."""
    transfers: int
    direction: str
    """`up` or `down`."""
    single: tuple[int, ...] = ()
    """Hours with so few transfers that draws of them tell no interval."""
    limited: int = 0
    """Transfers of UDP that got what they offered: the link may have been faster."""


def fit_hours(transfers: Sequence[Transfer], *, draws: int = 200, seed: int = 1) -> HoursFit:
    """Fits the median of each hour's mean rates. A transfer counts in the hour of its middle.

    Only transfers that fill the link tell its rate: BBR, UDP at a high rate, or several flows. Raises ValueError for
    transfers with a given rate, one flow that losses hold back, both directions at once, a transfer that is given
    twice or of which nothing arrived, and where fewer than 8 hours have one or more than 4 in a row have none.
    """
    once(transfers)
    for one in transfers:
        if one.mean_bps <= 0:
            raise ValueError(f"{one.name}: nothing arrived, which tells an outage and no rate: leave it out")
        if not one.is_udp:
            fills(one)
    carried = [one for one in transfers if one.is_udp and 0 < CARRIED * one.offered_bps <= one.mean_bps]
    if transfers and len(carried) == len(transfers):
        raise ValueError(f"{carried[0].name} and all others got what they offered: offer more than the link carries")
    if len({one.reverse for one in transfers}) > 1:
        raise ValueError("uploads and downloads have hours of their own: fit them apart")
    middles = [one.start_s + one.omitted_s + one.duration_s / 2 for one in transfers]
    at = np.array([int(middle // 3600) % 24 for middle in middles], dtype=int)
    rates = np.array([one.mean_bps for one in transfers])
    covered = np.unique(at)
    if covered.size < LEAST_HOURS:
        raise ValueError(f"transfers in {covered.size} hours of the day are not enough: {LEAST_HOURS} are needed")
    gap = int(np.max(np.diff(np.r_[covered, covered[0] + 24]))) - 1
    if gap > WIDEST_GAP:
        raise ValueError(f"{gap} hours in a row have no transfer: {WIDEST_GAP} at most can be filled in")
    factors = _factors([rates[at == hour] for hour in range(24)])
    generator = np.random.Generator(np.random.PCG64(seed))
    drawn = []
    for _ in range(draws):
        of_hour = [rates[at == hour] for hour in range(24)]
        drawn.append(_factors([generator.choice(one, one.size) if one.size else one for one in of_hour]))
    low, high = np.percentile(drawn, [5, 95], axis=0) if drawn else np.full((2, 24), math.nan)
    filled = tuple(hour for hour in range(24) if hour not in covered)
    few = [hour for hour in range(24) if np.count_nonzero(at == hour) < LEAST_TRANSFERS]
    low[few], high[few] = math.nan, math.nan
    single = tuple(hour for hour in few if hour not in filled)
    return HoursFit(
        _rounded(factors), _rounded(low), _rounded(high), filled, len(transfers),
        direction="down" if transfers[0].reverse else "up", single=single, limited=len(carried),
    )  # fmt: skip


def hours_table(found: HoursFit) -> str:
    """The fit as the key `hours` of a profile's table, with the intervals in comments."""
    of = f"{found.transfers} transfers ({found.direction})"
    lines = [f"# Load by the hour (UTC) fitted to {of}; 90 % intervals over draws of transfers:"]
    for hour, (value, low, high) in enumerate(zip(found.factors, found.low, found.high, strict=True)):
        interval = f" ({low:.3g} to {high:.3g})" if low == low else ""
        said = " between its neighbours: no transfer" if hour in found.filled else ""
        if hour in found.single:
            said = f" fewer than {LEAST_TRANSFERS} transfers: no interval"
        lines.append(f"# {hour:02d} h: {value:.3g}{interval}{said}")
    if found.limited:
        lines.append(
            f"# {found.limited} transfers got the rate that they offered. Their hours may be faster: more was not "
            "offered."
        )
    lines += ["[starlink]", 'values = "loaded"', f'direction = "{found.direction}"']
    lines += [f"hours = [{', '.join(f'{value:g}' for value in found.factors)}]"]
    return "\n".join(lines) + "\n"


def _factors(of_hour: Sequence[Floats]) -> Floats:
    known = np.array([hour for hour, rates in enumerate(of_hour) if rates.size])
    medians = np.array([np.median(of_hour[hour]) for hour in known])
    every = np.interp(np.arange(24), np.r_[known - 24, known, known + 24], np.tile(medians, 3))
    return np.asarray(every / every.mean())


def _rounded(values: Floats) -> tuple[float, ...]:
    return tuple(round(float(value), 3) for value in values)
