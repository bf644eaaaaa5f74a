"""How often `skyhop fit starlink --loaded` claims `fades`, and how often its 90 % intervals hold known values.

Usage: `python benches/sky/starlink_fades_fit.py [--recordings 100] [--fades 10] [--kind NAME]… [--length NAME]…`.

The first table has streams of 5 Mbit/s for 15 minutes without fades of the key, in reports of 0.1 and 1 s, with the
losses of `starlink_losses.py` and with outages at edges. Each cell has the claims, and in brackets how many recordings
pass the test of neighbouring intervals, without which nothing is claimed. The second table has streams with fades of
one length: the claims, and of the claims the mean value found, the known value in brackets, and how many intervals hold
it. The rows "9 in a row" and "90 in a row" lose so many packets one after the other, which are fades of 17 and 169 ms
that lose everything.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from starlink_losses import bursts, clumped, of_slots, wandering

from skyhop.starlink import fades
from skyhop.starlink.recordings import Floats

#: Datagrams in a second, and the mean probabilities of a loss.
PER_S = 533.0
MEANS = (0.0005, 0.002, 0.01)

SLOT_S, NEAR_S, MINUTES = 15, 1, 15

Random = np.random.Generator


@dataclass(frozen=True)
class Stream:
    """A stream in intervals of `width_s`: the middle of each in slots, and its datagrams."""

    width_s: float
    place: Floats
    packets: Floats

    @property
    def whole(self) -> Floats:
        """The number of the slot of each interval."""
        return np.floor(self.place)

    def cut(self, seconds: Floats, random: Random) -> Floats:
        """Losses of seconds as those of intervals: each falls into any interval of its second."""
        per = round(1 / self.width_s)
        return random.multinomial(seconds.astype(int), np.full(per, 1 / per)).ravel().astype(float)


def stream(width_s: float, random: Random, per_s: float = PER_S, minutes: int = MINUTES) -> Stream:
    """Begins at any second of a slot."""
    number = np.arange(round(60 * minutes / width_s))
    place = ((number + 0.5) * width_s + random.integers(0, SLOT_S)) / SLOT_S
    sent = np.floor((number + 1) * per_s * width_s + 1e-6) - np.floor(number * per_s * width_s + 1e-6)
    return Stream(width_s, place, sent)


def away(given: Stream, lost: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Intervals away from edges, as the fit takes them."""
    into = SLOT_S * (given.place % 1)
    kept = np.abs(into - SLOT_S / 2) <= SLOT_S / 2 - NEAR_S - given.width_s / 2 + 1e-6
    lengths = np.full(int(kept.sum()), given.width_s)
    return given.place[kept], lengths, np.minimum(lost, given.packets)[kept], given.packets[kept]


def in_fades(given: Stream, times: Floats, length_s: float, losses: Floats, random: Random) -> Floats:
    """What fades that begin at these times, s from the begin of the stream, lose."""
    lost, width = np.zeros(given.place.size), given.width_s
    for begin, loss in zip(times, losses, strict=True):
        for n in range(int(begin / width), min(int((begin + length_s) / width) + 1, lost.size)):
            share = (min(begin + length_s, (n + 1) * width) - max(begin, n * width)) / width
            lost[n] += random.binomial(round(share * given.packets[n]), loss)
    return lost


def begins(given: Stream, every_s: float, random: Random) -> Floats:
    """Times as in a Poisson process."""
    all_s = given.place.size * given.width_s
    return random.uniform(0, all_s, random.poisson(all_s / every_s))


def in_a_row(given: Stream, mean: float, count: int, random: Random) -> Floats:
    """So many packets are lost one after the other, at any time."""
    times = begins(given, count / mean / PER_S, random)
    return in_fades(given, times, count / PER_S, np.ones(times.size), random)


def at_edges(given: Stream, mean: float, off_s: float, random: Random) -> Floats:
    """Outages of 0 to 50 ms before edges, which are `off_s` later than the clock says, and independent losses."""
    first = (np.ceil(given.place[0]) - given.place[0]) * SLOT_S + given.width_s / 2 + off_s
    lengths = random.uniform(0, 0.05, 60 * MINUTES // SLOT_S - 2)
    found = random.poisson(mean * given.packets).astype(float)
    for n, length_s in enumerate(lengths):
        found += in_fades(given, np.array([first + SLOT_S * n - length_s]), length_s, np.ones(1), random)
    return found


Kind = Callable[[Stream, float, Random], Floats]

KINDS: dict[str, Kind] = {
    "independent": lambda one, mean, random: random.poisson(mean * one.packets).astype(float),
    "9 at a time": lambda one, mean, random: clumped(mean * one.packets, 9, random),
    "bursts of 3 s": lambda one, mean, random: one.cut(bursts(60 * MINUTES, mean, random), random),
    "wandering in minutes": lambda one, mean, random: one.cut(wandering(60 * MINUTES, mean, random), random),
    "slots, 30 %": lambda one, mean, random: slots(one, mean, 0.3, 0.0, random),
    "slots, 100 %": lambda one, mean, random: slots(one, mean, 1.0, 0.0, random),
    "slots, 100 %, clock off": lambda one, mean, random: slots(one, mean, 1.0, 1 / 3, random),
    "edges": lambda one, mean, random: at_edges(one, mean, 0.0, random),
    "edges, clock off": lambda one, mean, random: at_edges(one, mean, 5.0, random),
    "9 in a row": lambda one, mean, random: in_a_row(one, mean, 9, random),
    "90 in a row": lambda one, mean, random: in_a_row(one, mean, 90, random),
}

#: Kinds that pass the test of neighbouring intervals, so that each needs the whole fit: a tenth of the recordings.
LASTING = ("bursts of 3 s", "9 in a row", "90 in a row")


def slots(given: Stream, mean: float, deviation: float, off: float, random: Random) -> Floats:
    """Each slot has its own probability; three are lost at a time."""
    return of_slots(np.floor(given.place + off), mean * given.width_s, deviation, random)


def claimed(kind: str, width_s: float, mean: float, random: Random) -> tuple[bool, bool]:
    """Whether losses of a recording last, and whether the fit claims fades."""
    given = stream(width_s, random)
    intervals = away(given, KINDS[kind](given, mean, random))
    (group,) = fades.rows(*intervals)
    if not fades.lasting(group.rows, random):
        return False, False
    return True, fades.tell(*intervals, draws=0, generator=random).is_claimed


@dataclass(frozen=True)
class Fades:
    """Known values, and the stream that shows them."""

    every_s: float = 5.0
    length_s: float = 0.15
    loss: float = 0.3
    beside: float = 0.001
    width_s: float = 0.1
    minutes: int = MINUTES
    per_s: float = PER_S
    clump: float = 1.0
    deviation: float = 0.0
    """Standard deviation of the logarithm of the loss of a fade."""
    slots: float = 0.0
    """Standard deviation of the loss of slots beside fades, as a share."""

    def made(self, random: Random) -> tuple[Floats, Floats, Floats, Floats]:
        """Intervals away from edges."""
        given = stream(self.width_s, random, self.per_s, self.minutes)
        usual = self.beside * given.packets
        if self.slots:
            number = (given.whole - given.whole[0]).astype(int)
            usual *= random.gamma(self.slots**-2, self.slots**2, number[-1] + 1)[number]
        times = begins(given, self.every_s, random)
        losses = self.loss * np.exp(self.deviation * random.standard_normal(times.size))
        faded = in_fades(given, times, self.length_s, np.minimum(losses, 1.0), random)
        return away(given, clumped(usual, self.clump, random) + faded)

    @property
    def known(self) -> dict[str, float]:
        """The values by the names of the fit."""
        return {
            "fade, length, ms": 1e3 * self.length_s,
            "fade, from begin to begin, s": self.every_s,
            "fade, mean loss": self.loss * math.exp(self.deviation**2 / 2),
        }


SET = Fades(every_s=5.35, loss=0.028, beside=0.00028)

LENGTHS = {
    "150 ms": Fades(),
    "150 ms, 5 min": Fades(minutes=5),
    "150 ms, 1 s": Fades(width_s=1.0),
    "500 ms": Fades(every_s=10, length_s=0.5, loss=0.05),
    "1 s": Fades(every_s=20, length_s=1.0, loss=0.03),
    "1.5 s, 1 s": Fades(every_s=15, length_s=1.5, loss=0.03, width_s=1.0),
    "clumps of 3": Fades(clump=3),
    "slots, 100 %": Fades(slots=1.0),
    "losses differ": Fades(deviation=0.5),
    "the set, 5 Mbit/s": SET,
    "the set, 30 Mbit/s": replace(SET, per_s=2589.0),
}


def row(name: str, case: Fades, recordings: int, draws: int) -> str:
    """A line of the second table."""
    random = np.random.Generator(np.random.PCG64(1))
    every = [fades.tell(*case.made(random), draws=draws, generator=random) for _ in range(recordings)]
    of = [one.parameters for one in every if one.is_claimed]
    cells = [f"{len(of)} of {recordings}"]
    for n, (value, known) in enumerate(case.known.items()):
        assert all(one[n].name == value for one in of)
        held = sum(one[n].low <= known <= one[n].high for one in of)
        cells.append(f"{np.mean([one[n].value for one in of]):.3g} ({known:.3g}): {held}" if of else "–")
    beside = [one.beside for one in every if one.is_claimed]
    cells.append(f"{1e3 * np.mean(beside):.3g} ({1e3 * case.beside:.3g})" if of else "–")
    return f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--recordings", type=int, default=100)
    parser.add_argument("--fades", type=int, default=10, help="Recordings of each row of the second table.")
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--kind", action="append", choices=[*KINDS, "none"])
    parser.add_argument("--length", action="append", choices=[*LENGTHS, "none"])
    given = parser.parse_args()
    columns = [(width_s, mean) for width_s in (0.1, 1.0) for mean in MEANS]
    print("| losses | " + " | ".join(f"{width_s:g} s, {100 * mean:g} %" for width_s, mean in columns) + " |")
    print("|---|" + "---:|" * len(columns))
    for kind in KINDS:
        if given.kind and kind not in given.kind:
            continue
        count = math.ceil(given.recordings / 10) if kind in LASTING else given.recordings
        cells = []
        for width_s, mean in columns:
            random = np.random.Generator(np.random.PCG64(1))
            shown, claims = np.sum([claimed(kind, width_s, mean, random) for _ in range(count)], axis=0)
            cells.append(f"{claims} ({shown})" + (f" of {count}" if kind in LASTING else ""))
        print(f"| {kind} | " + " | ".join(cells) + " |", flush=True)
    print("\n| fades | claimed | length, ms | every, s | mean loss | loss beside, per mille |")
    print("|---|" + "---:|" * 5)
    for name, case in LENGTHS.items():
        if not given.length or name in given.length:
            print(row(name, case, given.fades, given.draws), flush=True)


if __name__ == "__main__":
    main()
