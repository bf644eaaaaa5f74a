"""How often `skyhop fit starlink --loaded` claims that the volume of a token bucket is restored, of one flood of
datagrams, where it is not and where it is; and how often the intervals hold the known values.

Usage: `python benches/sky/starlink_restored.py [--floods 100] [--kind NAME]… [--correlation R]… [--draws 40]`.

Floods are those of `starlink_allowance.py`, longer, and behind a bucket of 24 Mbit/s and 430 MB where there is one. The
first table has floods of an hour without restorations: without a bucket, or with one that begins full or with 40 % of
its volume. Each cell has the claims, and the gain that one flood of 100 exceeds, of those that seem to show two
restorations: that of the likelihood's logarithm over a bucket without restorations. The second table has floods with
restorations: the claims, how many of them write one value, the means of what they find, in brackets the known values,
and how many intervals hold them.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from starlink_allowance import FAST, OFFERED, RATES, START_S, cell, of_slots, report

from skyhop.starlink import restoration_course, restorations
from skyhop.starlink.allowance import Allowance, series_of
from skyhop.starlink.recordings import Floats
from skyhop.starlink.transfers import Transfer

RATE, VOLUME_MB = 24.0, 430.0

#: Steps of a second in which tokens are counted.
STEPS = 10

#: Rates behind a bucket.
BEHIND = {"50 to 87, bucket": FAST, "10 to 70, bucket": RATES["10 to 70"], "10 to 70, 40 % full": RATES["10 to 70"]}

#: Scatter of seconds, and the clock.
KINDS: dict[str, dict[str, Any]] = {
    "scatter 3 %": {},
    "scatter 7 %, wandering": {"wander": 1},
    "clock 6 s off": {"off_s": 6.0},
}

#: Minutes between restorations: one value, or uniform between two; and the length of the flood.
RESTORED: dict[str, tuple[tuple[float, float], int]] = {
    "10 min, 1 h": ((10, 10), 60),
    "10 min 5 s, 1 h": ((10 + 1 / 12, 10 + 1 / 12), 60),
    "5 to 10 min, 1 h": ((5, 10), 60),
    "14 to 17 min, 1 h": ((14, 17), 60),
    "14 to 17 min, 2 h": ((14, 17), 120),
}


def limited(mbps: Floats, restored_s: Sequence[float], filled: float) -> Floats:
    """What a link with such rates of seconds carries behind a bucket that is restored at some times."""
    most = 8 * VOLUME_MB
    tokens, carried = filled * most, np.zeros(mbps.size)
    moments = [*sorted(restored_s, reverse=True)]
    for n, of_link in enumerate(mbps):
        for step in range(STEPS):
            while moments and moments[-1] <= n + step / STEPS:
                tokens = most
                moments.pop()
            passes = min(of_link / STEPS, tokens + RATE / STEPS)
            tokens = min(tokens + RATE / STEPS - passes, most)
            carried[n] += passes
    return carried


def moments(apart: tuple[float, float], minutes: float, generator: np.random.Generator) -> list[float]:
    """Times of restorations, s. The first one lies anywhere in a time between two that is drawn by its length."""
    low, high = (60.0 * one for one in apart)
    drawn = math.sqrt(low**2 + generator.uniform() * (high**2 - low**2))
    found = [drawn * generator.uniform()]
    while found[-1] < 60 * minutes:
        found.append(found[-1] + generator.uniform(low, high))
    return found


def flood(
    rates: tuple[float, ...], correlation: float, seed: int, *, minutes: int = 60, wander: float = 0, off_s: float = 0,
    bucket: bool = False, filled: float = 1.0, apart: tuple[float, float] | None = None,
) -> Transfer:  # fmt: skip
    """What iperf3 would tell of one flood: a row for each second."""
    generator = np.random.Generator(np.random.PCG64(seed))
    seconds = 60 * minutes
    begin_s, mbps = of_slots(rates, correlation, seconds, wander=wander > 0, generator=generator)
    carried = np.minimum(mbps, OFFERED)
    if bucket:
        carried = limited(carried, moments(apart, minutes, generator) if apart else [], filled)
    template = report()
    each = np.full(seconds, OFFERED * 1e6 / template.wire_factor)
    return dataclasses.replace(
        template,
        name=f"flood {seed}",
        start_s=math.floor(START_S + begin_s + off_s),
        begins_s=np.arange(float(seconds)),
        lengths_s=np.ones(seconds),
        sent_begins_s=np.arange(float(seconds)),
        sent_lengths_s=np.ones(seconds),
        rate_bps=1e6 * carried / template.wire_factor,
        packets_each=each,
        lost_each=each - 1e6 * carried / template.wire_factor,
    )


def null_cell(floods: Sequence[Transfer]) -> str:
    """Claims, and the gain that one of 100 exceeds."""
    courses = [restoration_course.course_of(series_of(one)) for one in floods]
    claims = sum(one is not None and one.is_claimed for one in courses)
    gains = [
        -math.inf if one is None or one.seen < restoration_course.LEAST_SEEN else one.gain - one.plain
        for one in courses
    ]
    return cell(np.array(gains), claims)


def held(fits: Sequence[Allowance], name: str, known: float) -> str:
    """The mean found, the known value, and how many intervals hold it."""
    of = [one for fit in fits for one in fit.parameters if one.name.startswith(name)]
    told = [one for one in of if not math.isnan(one.low)]
    # Arrivals behind a bucket hardly vary, and values are written with some digits only.
    inside = sum(one.low - 1e-4 * known <= known <= one.high + 1e-4 * known for one in told)
    return f"{np.mean([one.value for one in of]):.4g} ({known:g}): {inside} of {len(told)}" if of else "–"


def main() -> None:
    """Prints both tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--floods", type=int, default=100)
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("--kind", action="append", help="Rates of the first table, or a row of the second one.")
    parser.add_argument("--correlation", type=float, action="append", help="Rows of the first table.")
    given = parser.parse_args()
    begin_s, seeds = time.monotonic(), range(given.floods)
    print(f"| without restorations | correlation | {' | '.join(KINDS)} |\n|---|---:|{'---:|' * len(KINDS)}")
    for name, rates in [*RATES.items(), *BEHIND.items()]:
        if given.kind and name not in given.kind:
            continue
        filled = 0.4 if "full" in name else 1.0
        for correlation in given.correlation or (0.0, 0.4, 0.8, 0.95):
            cells = [
                null_cell([flood(rates, correlation, n, bucket=name in BEHIND, filled=filled, **keys) for n in seeds])
                for keys in KINDS.values()
            ]
            print(f"| {name} | {correlation:g} | {' | '.join(cells)} |", flush=True)
    print("\n| restored after | scatter | claims | one value | mean, s | rate, Mbit/s | volume, MB |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for name, (apart, minutes) in RESTORED.items():
        if given.kind and name not in given.kind:
            continue
        for kind, keys in list(KINDS.items())[:2]:
            fits = []
            for seed in seeds:
                one = flood(FAST, 0.0, seed, minutes=minutes, bucket=True, apart=apart, **keys)
                fits.append(restorations.find([one], draws=given.draws))
            claimed = [fit for fit in fits if fit.restored_s]
            values = (("restored", 30.0 * sum(apart)), ("rate, Mbit/s", RATE), ("volume", VOLUME_MB))
            cells = [held(claimed, f"allowance, {value}", known) for value, known in values]
            single = sum(len(fit.restored_s) == 1 for fit in claimed)
            print(f"| {name} | {kind} | {len(claimed)} | {single} | {' | '.join(cells)} |", flush=True)
    print(f"\n{time.monotonic() - begin_s:.0f} s")


if __name__ == "__main__":
    main()
