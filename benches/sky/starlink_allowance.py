"""How often `skyhop fit starlink --loaded` claims a token bucket of one flood of datagrams, where there is none and
where there is one.

Usage: `python benches/sky/starlink_allowance.py [--floods 300]`.

Floods of 5 minutes begin at any time of a slot, and their reports tell the start in whole seconds. The rates of slots
correlate as given, and those of seconds scatter around them: by 3 %, or by 7 % with a correlation of 0.6 between
seconds and a scatter that differs between slots. "Clock off" has the edges 2.5 or 6 s elsewhere than the clock of the
recorder says. Each cell has the claims, and the gain of the likelihood's logarithm that one flood of 100 exceeds.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
from functools import cache

import numpy as np
from starlink_coverage import Load, at, chained, limited, loads

from skyhop.starlink import allowance
from skyhop.starlink.recordings import Floats
from skyhop.starlink.transfers import Transfer

#: Quantiles of the rates of slots, Mbit/s. "Levels" has most slots near a low rate, as a dish of 2026 seems to have.
RATES = {
    "10 to 70": (10.0, 17.0, 27.0, 48.0, 70.0),
    "18 to 25": (18.0, 25.0),
    "levels": (14.0, 22.0, 22.5, 22.7, 22.8, 23.0, 23.5, 25.0, 50.0, 60.0, 85.0),
}

#: With a bucket.
FAST = (50.0, 87.0)
BUCKET = (24.0, 430.0)

MINUTES, OFFERED = 5, 100.0

#: An edge.
START_S = 1_700_000_052


def scattered(seconds: int, slot: Floats, *, wander: bool, generator: np.random.Generator) -> Floats:
    """Factors of the rates of seconds."""
    noise = generator.standard_normal(seconds)
    if not wander:
        return np.asarray(1 + 0.03 * noise)
    for n in range(1, seconds):
        noise[n] = 0.6 * noise[n - 1] + 0.8 * noise[n]
    width = 0.07 * np.exp(0.5 * generator.standard_normal(int(slot.max()) + 1))
    return np.maximum(1 + width[slot.astype(int)] * noise, 0.05)


def of_slots(
    rates: tuple[float, ...], correlation: float, seconds: int, *, wander: bool, generator: np.random.Generator
) -> tuple[float, Floats]:
    """When a flood begins in its first slot, s, and the rate of the link in each of its seconds, Mbit/s."""
    begin_s = float(generator.uniform(0, 15))
    slots = chained(seconds // 15 + 3, correlation, generator)
    slot = np.floor((np.arange(seconds) + begin_s) / 15)
    before, after = (at(np.array(rates), slots)[(slot + n).astype(int)] for n in (0, 1))
    # A second may hold an edge.
    part = np.clip((np.arange(seconds) + begin_s + 1) - 15 * (slot + 1), 0, 1)
    factors = scattered(seconds, slot, wander=wander, generator=generator)
    return begin_s, np.asarray((before * (1 - part) + after * part) * factors)


@cache
def report() -> Transfer:
    """A report that lacks the rates only."""
    return loads(Load(minutes=MINUTES, offered=OFFERED), 1)[0]


def flood(
    rates: tuple[float, ...], correlation: float, seed: int, *, wander: bool, bucket: tuple[float, float], off_s: float
) -> Transfer:
    """What iperf3 would tell of one flood: a row for each second."""
    generator = np.random.Generator(np.random.PCG64(seed))
    begin_s, mbps = of_slots(rates, correlation, 60 * MINUTES, wander=wander, generator=generator)
    carried = limited(np.minimum(mbps, OFFERED), bucket)
    template = report()
    return dataclasses.replace(
        template,
        start_s=math.floor(START_S + begin_s + off_s),
        rate_bps=1e6 * carried / template.wire_factor,
    )


def gains(floods: int, rates: tuple[float, ...], correlation: float, **keys: object) -> Floats:
    """The gain of each flood; minus infinity where none falls."""
    wander, off_s = bool(keys.get("wander")), float(keys.get("off_s", 0.0))  # type: ignore[arg-type]
    bucket = BUCKET if keys.get("with_bucket") else (math.nan, math.nan)
    found = []
    for seed in range(floods):
        one = flood(rates, correlation, seed, wander=wander, bucket=bucket, off_s=off_s)
        fall = allowance.fall_of(one)
        found.append(-math.inf if fall is None else fall.gain)
    return np.array(found)


def cell(gain: Floats, claims: int | None = None) -> str:
    """Claims, by default all gains that are enough for one, and the gain that one of 100 exceeds."""
    claims = int(np.count_nonzero(gain >= allowance.CLAIMED)) if claims is None else claims
    most = np.sort(gain)[-max(math.ceil(gain.size / 100), 1)]
    return f"{claims} ({most:.1f})" if math.isfinite(most) else f"{claims} (–)"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--floods", type=int, default=300)
    floods = parser.parse_args().floods
    print("| rates, Mbit/s | correlation | scatter 3 % | scatter 7 %, wandering | clock 2.5 s off | clock 6 s off |")
    print("|---|---:|---:|---:|---:|---:|")
    kinds: list[dict[str, object]] = [{}, {"wander": True}, {"off_s": 2.5}, {"off_s": 6.0}]
    for name, rates in RATES.items():
        for correlation in (0.0, 0.4, 0.8, 0.95):
            cells = [cell(gains(floods, rates, correlation, **keys)) for keys in kinds]
            print(f"| {name} | {correlation:g} | {' | '.join(cells)} |", flush=True)
    for correlation in (0.0, 0.8):
        cells = [cell(gains(floods, FAST, correlation, with_bucket=True, **keys)) for keys in kinds]
        print(f"| 50 to 87, bucket | {correlation:g} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
