"""How often `skyhop fit starlink --loaded` claims that slots differ in their losses.

Usage: `python benches/sky/starlink_losses.py [--recordings 300]`.

Each recording is a stream of 5 Mbit/s in reports of 1 s that begins at any time of a slot. Losses without slots are
independent, come in clumps (9 lost at a time, or 90), come in bursts of some seconds, or have a probability that
wanders within minutes. Those of slots have a gamma distribution whose standard deviation is 30, 50 or 100 % of the
mean, with clumps of 3; "clock off" has the edges 5 s elsewhere than the clock of the recorder says. Each cell has the
claims, and in brackets how many recordings pass the test of edges, without which the likelihood does not count.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import numpy as np

from skyhop.starlink import losses
from skyhop.starlink.recordings import Floats

#: Datagrams in a second, and the mean probability of a loss.
PACKETS = 533
MEANS = (0.0005, 0.002, 0.01)

SLOT_S, NEAR_S = 15, 1

Random = np.random.Generator


def clumped(expected: Floats, size: float, random: Random) -> Floats:
    """Losses with these means that come so many at a time."""
    return size * random.poisson(expected / size)


def bursts(seconds: int, mean: float, random: Random) -> Floats:
    """Ten times the usual probability in bursts of 3 s on average, which take a tenth of the time."""
    bad = np.zeros(seconds, dtype=bool)
    for n in range(1, seconds):
        bad[n] = random.random() < ((1 - 1 / 3) if bad[n - 1] else 1 / 27)
    return random.poisson(PACKETS * mean / 1.9 * np.where(bad, 10.0, 1.0)).astype(float)


def wandering(seconds: int, mean: float, random: Random) -> Floats:
    """A probability whose logarithm wanders: standard deviation 0.5, correlation 1/e after 60 s."""
    held = math.exp(-1 / 60)
    log = np.zeros(seconds)
    log[0] = random.standard_normal()
    for n in range(1, seconds):
        log[n] = held * log[n - 1] + math.sqrt(1 - held**2) * random.standard_normal()
    return random.poisson(PACKETS * mean * np.exp(0.5 * log - 0.125)).astype(float)


def of_slots(slot: Floats, mean: float, deviation: float, random: Random) -> Floats:
    """Each slot has its own probability."""
    number = (slot - slot.min()).astype(int)
    each = random.gamma(deviation**-2, mean * deviation**2, number.max() + 1)
    return clumped(PACKETS * each[number], 3, random)


KINDS: dict[str, Callable[[Floats, float, Random], Floats]] = {
    "independent": lambda slot, mean, random: random.poisson(np.full(slot.size, PACKETS * mean)).astype(float),
    "9 at a time": lambda slot, mean, random: clumped(np.full(slot.size, PACKETS * mean), 9, random),
    "90 at a time": lambda slot, mean, random: clumped(np.full(slot.size, PACKETS * mean), 90, random),
    "bursts of 3 s": lambda slot, mean, random: bursts(slot.size, mean, random),
    "wandering in minutes": lambda slot, mean, random: wandering(slot.size, mean, random),
    "slots, 30 %": lambda slot, mean, random: of_slots(slot, mean, 0.3, random),
    "slots, 50 %": lambda slot, mean, random: of_slots(slot, mean, 0.5, random),
    "slots, 100 %": lambda slot, mean, random: of_slots(slot, mean, 1.0, random),
    "slots, 100 %, clock off": lambda slot, mean, random: of_slots(np.floor(slot + 1 / 3), mean, 1.0, random),
}


def recording(kind: str, minutes: int, mean: float, random: Random) -> tuple[Floats, Floats, Floats]:
    """Of each second away from edges: the slot as a fraction, datagrams lost and sent."""
    place = (np.arange(60.0 * minutes) + random.integers(0, SLOT_S) + 0.5) / SLOT_S
    whole = place if "clock off" in kind else np.floor(place)
    lost = KINDS[kind](whole, mean, random)
    into = SLOT_S * (place % 1)
    away = (into > NEAR_S) & (into < SLOT_S - NEAR_S)
    return place[away], np.minimum(lost, PACKETS)[away], np.full(int(away.sum()), float(PACKETS))


def claimed(kind: str, minutes: int, mean: float, random: Random) -> tuple[bool, bool]:
    """Whether the losses of a recording change at edges, and whether the fit claims that slots differ."""
    place, lost, packets = recording(kind, minutes, mean, random)
    if lost.sum() <= 0 or not losses.change_at_edges(place, np.ones(place.size), lost, packets):
        return False, False
    return True, losses.of_slots(np.floor(place), lost, packets).is_claimed


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--recordings", type=int, default=300)
    parser.add_argument("--kind", action="append", choices=sorted(KINDS))
    given = parser.parse_args()
    columns = [(minutes, mean) for minutes in (5, 15) for mean in MEANS]
    print("| losses | " + " | ".join(f"{minutes} min, {100 * mean:g} %" for minutes, mean in columns) + " |")
    print("|---|" + "---:|" * len(columns))
    for kind in given.kind or KINDS:
        cells = []
        for minutes, mean in columns:
            random = np.random.Generator(np.random.PCG64(1))
            found = [claimed(kind, minutes, mean, random) for _ in range(given.recordings)]
            change, differ = np.sum(found, axis=0)
            cells.append(f"{differ} ({change})")
        print(f"| {kind} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
