"""Finds the token bucket that limits an upload or download: the key `allowance` of the profile `starlink`.

A bucket lets a flood have the rate of the link until its volume is used up, and its own rate from then on. The rates of
slots may do the same by chance, and hold for minutes, but they change at edges. So only a fall within a slot speaks for
a bucket: the likelihood lets the rate of every slot vary freely, before the fall and without a bucket, and a level that
stays the same earns nothing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from skyhop.starlink.fitting import Parameter, interval
from skyhop.starlink.measuring import FIRST_S, SLOT_S
from skyhop.starlink.recordings import Floats, Places
from skyhop.starlink.transfers import CARRIED, Transfer

Bools = npt.NDArray[np.bool_]

#: Intervals nearer to an edge tell no fall, s: iperf3 tells the start of a transfer in whole seconds.
NEAR_S = 1.0

#: So much of a slot must lie on either side of a fall, s, beyond `NEAR_S`. A clock that is off moves the edges.
ASIDE_S = 2.0

#: Longer report intervals do not tell where in its slot a rate falls, s.
LONGEST_S = 2.0

#: So long a transfer must stay at the level, s, near edges not counted: two slots.
LEVEL_S = 2 * SLOT_S

#: Standard deviation of the level of a slot around the rate of the bucket, as a share. Our choice.
SCATTER = 0.1

#: Volumes and rates that differ from the mean of all transfers by more, as a share, are not those of one bucket. Our
#: choice.
AGREE = 0.15

#: A fall must raise the logarithm of the likelihood by so much more than changes in other slots would.
CLAIMED = 10.0

#: Reports are not more exact than this share of the rate.
EXACT = 0.01

#: Said where nothing tells losses.
WITHOUT_LOSSES = (
    "No transfer tells losses, so the allowance is that of what arrived: where the path loses 0.2 % it is "
    "that much more."
)

#: Datagrams that tell a loss.
LEAST_PACKETS = 1000

#: Begins are in whole seconds, s, so a transfer may seem to begin before the one that it follows has ended.
_WHOLE_S = 2.0

#: A bucket that lacks so little of its volume has tokens left for a moment only.
_NEARLY = 0.02

#: Shares by which the level of a slot may differ from the rate of the bucket.
OFF = SCATTER * np.linspace(-2, 2, 9)

#: How often volume and what transfers leave of it are found in turn.
_TURNS = 10

#: Falls of which the likelihood is computed, and what each must gain in its own slot.
_FALLS, LEAST_GAIN = 40, 3.0


@dataclass(frozen=True)
class Allowance:
    """A token bucket that transfers show, and what it explains. Without a claim `rate_mbps` is NaN."""

    rate_mbps: float
    """Rate at which tokens come, in Mbit/s of IP packets."""
    volume_mb: float
    """Tokens that are kept at most, in 10⁶ bytes of IP packets."""
    parameters: tuple[Parameter, ...]
    free: tuple[Bools, ...]
    """Of each transfer, the intervals before its fall, or with tokens: there the link has its own rate."""
    falls_s: tuple[float, ...]
    """Of each transfer, when it falls, in s from the end of its warm-up; NaN where it does not."""
    notes: tuple[str, ...] = ()
    restored_s: tuple[float, ...] = ()
    """The time between restorations of the whole volume, or its quantiles; empty where none is claimed."""
    restored_at_s: float = math.nan
    """The first restoration, from the start of the first transfer that shows some."""

    @property
    def is_claimed(self) -> bool:
        """Whether the transfers tell a bucket."""
        return not math.isnan(self.rate_mbps)


@dataclass(frozen=True)
class Series:
    """A transfer in intervals of a second or so, and the slots whose inside it covers."""

    name: str
    begin_s: float
    """Unix time of the start, before the warm-up."""
    ends_s: Floats
    """From the end of the warm-up."""
    lengths_s: Floats
    mbps: Floats
    """On the wire: with the headers of IP."""
    of: Places
    """The interval here that holds each interval of the report."""
    warm_up_s: float
    offered_mbps: float
    """On the wire; infinite for as fast as possible."""
    slots: tuple[Places, ...]
    """Intervals inside of each slot, away from its edges."""

    @property
    def end_s(self) -> float:
        """Unix time of the end."""
        return self.begin_s + self.warm_up_s + float(self.ends_s[-1])


@dataclass(frozen=True)
class Fall:
    """A fall to a level in one transfer."""

    place: int
    """The last interval that is more than the level."""
    rate: float
    volume: float
    """Megabits beyond `rate` until then."""
    gain: float
    """By how much it raises the logarithm of the likelihood, beyond what changes in other slots would."""


def find(transfers: Sequence[Transfer], *, draws: int = 200, seed: int = 1) -> Allowance:
    """Finds the bucket behind transfers of one direction that fill the link, or refuses to.

    Only floods of UDP claim one: the control of a TCP lowers its rate by itself. Tokens that a transfer took are
    missing at the next one, and come at the rate of the bucket in between. The bucket is taken for full at the first.
    """
    every = [series_of(one) for one in transfers]
    free = tuple(np.ones(one.begins_s.size, dtype=bool) for one in transfers)
    none = tuple(math.nan for _ in transfers)
    is_flood = [one.is_udp and is_told(each) for one, each in zip(transfers, every, strict=True)]
    notes = [
        f"{one.name}: reports of {float(np.median(each.lengths_s)):.0f} s do not tell whether its rate falls within a "
        "slot, as a token bucket makes it: record with -i 1."
        for one, each in zip(transfers, every, strict=True)
        if one.is_udp and float(np.median(each.lengths_s)) > LONGEST_S
    ]
    falls = [fall_in(each) if flood else None for each, flood in zip(every, is_flood, strict=True)]
    claims = [place for place, fall in enumerate(falls) if fall is not None and fall.gain >= CLAIMED]
    if claims:
        bucket = _Bucket(every, {place: fall for place in claims if (fall := falls[place]) is not None})
        if not (against := bucket.against()):
            return bucket.allowance(notes, losses_of_streams(transfers, every), draws, seed)
        notes.append(f"{against} No allowance is claimed, and the levels count as rates of slots.")
    else:
        notes += [
            said for one, each in zip(transfers, every, strict=True) if (said := _unclaimed(each, is_udp=one.is_udp))
        ]
    return Allowance(math.nan, math.nan, (), free, none, tuple(notes))


def fall_of(transfer: Transfer) -> Fall | None:
    """The most likely fall of one transfer from the rates of slots to a level; None where no slot falls."""
    series = series_of(transfer)
    return fall_in(series) if is_told(series) else None


class _Bucket:
    """One bucket behind transfers of which some fall, and how much of it each of them finds used up."""

    def __init__(self, every: Sequence[Series], falls: Mapping[int, Fall]) -> None:
        self.every = every
        self.claims = tuple(falls)
        self.falls = {place: fall.place for place, fall in falls.items()}
        self.order = sorted(range(len(every)), key=lambda place: every[place].begin_s)
        blocks = [_limited(every[place], fall) for place, fall in falls.items()]
        self.rates = [mean_rate(one) for one in blocks]
        self.blocks = np.concatenate(blocks)
        self.rate = mean_rate(self.blocks)
        self.part_full: int | None = None
        # Alone, the transfer that fell last had most of the bucket.
        self.volume = max(self._volumes(np.array([self.rate]), 0.0).values(), default=np.zeros(1))[0]
        self.volumes: dict[int, float] = {}
        #: Megabits after which other transfers fall to the level.
        self.odd: dict[int, float] = {}
        self._settle()
        self._take_companions()

    def _settle(self) -> None:
        """Finds volumes. What one transfer leaves depends on the volume, which follows from the next ones."""
        for _ in range(_TURNS):
            before = self.volumes, self.volume, self.part_full
            self.volumes = {n: float(one[0]) for n, one in self._volumes(np.array([self.rate]), self.volume).items()}
            self.volume = self._mean_volume()
            if (self.volumes, self.volume, self.part_full) == before:
                # The next turn would find the same again.
                break

    def _take_companions(self) -> None:
        """Adds the falls of transfers that do not tell a bucket alone, but fall after the volume of the one claimed.

        Their levels would count as rates of slots otherwise, and the volume would be that of the claims only. Those
        whose volumes do not agree with the mean are left out again, the farthest first, and stand in `odd`.
        """
        begins = self._begins(np.array([self.rate]), self.volume)
        for place, one in enumerate(self.every):
            if place in self.falls or (last := _last_before_fall(one, self.rate)) is None:
                continue
            missing = tokens_missing(one, np.array([self.rate]), np.array([np.inf]), begins[place])[0, last + 1]
            if abs(missing - self.volume) <= 2 * AGREE * self.volume:
                self.falls[place] = last
            else:
                self.odd[place] = float(missing)
        while len(self.falls) > len(self.claims):
            self._settle()
            of_full = {place: value for place, value in self.volumes.items() if place != self.part_full}
            mean = float(np.mean(list(of_full.values())))
            far = {place: abs(of_full[place] - mean) for place in of_full if place not in self.claims}
            if not far or max(far.values()) <= AGREE * mean:
                return
            farthest = max(far, key=lambda place: far[place])
            self.odd[farthest] = of_full[farthest]
            del self.falls[farthest]
        self._settle()

    def _volumes(self, rate: Floats, volume: float) -> dict[int, Floats]:
        """Megabits beyond each `rate` that a transfer with a fall, and those before it, have taken until then."""
        begins = self._begins(rate, volume)
        found = {}
        for place, fall in self.falls.items():
            # The first one tells what was there when it began.
            begin = np.zeros(rate.size) if place == self.part_full else begins[place]
            missing = tokens_missing(self.every[place], rate, np.full(rate.size, np.inf), begin)
            found[place] = missing[:, fall + 1]
        return found

    def _mean_volume(self) -> float:
        """The mean of all; without the first transfer where it took less because the bucket was not full."""
        first, others = self.order[0], [value for place, value in self.volumes.items() if place != self.order[0]]
        self.part_full = None
        if others and first in self.volumes and self.volumes[first] < (1 - AGREE) * float(np.mean(others)):
            self.part_full = first
            return float(np.mean(others))
        return float(np.mean(list(self.volumes.values())))

    def _begins(self, rate: Floats, volume: float) -> dict[int, Floats]:
        """Megabits that are missing at the start of each transfer, for each `rate`."""
        begins: dict[int, Floats] = {}
        most = np.full(rate.size, volume)
        missing, since_s = np.zeros(rate.size), -math.inf
        for place in self.order:
            one = self.every[place]
            missing = np.maximum(missing - rate * (one.begin_s - since_s), 0.0)
            if place == self.part_full:
                missing = np.full(rate.size, max(volume - self.volumes[place], 0.0))
            # The report leaves the warm-up out.
            missing = np.clip(missing + (float(one.mbps[0]) - rate) * one.warm_up_s, 0.0, most)
            begins[place] = missing
            missing, since_s = tokens_missing(one, rate, most, missing)[:, -1], one.end_s
        return begins

    def against(self) -> str:
        """What contradicts one bucket; empty where nothing does."""
        for first, second in itertools.pairwise(self.order):
            if is_together(self.every[first], self.every[second]):
                return (
                    f"{self.every[first].name} and {self.every[second].name} were recorded at the same time, so "
                    "neither tells a token bucket alone: record one at a time."
                )
        rates = dict(zip(self.claims, self.rates, strict=True))
        if differ(self.rates):
            return (
                f"The transfers do not fall to the rate of one token bucket: {self._each(rates)} Mbit/s. Leave out "
                "those whose level something else lowers."
            )
        of_claims = {place: value for place, value in self.volumes.items() if place in self.claims}
        if differ([value for place, value in of_claims.items() if place != self.part_full]):
            sizes = self._each({place: value / 8 for place, value in of_claims.items()})
            return (
                f"The transfers do not fall after the volume of one token bucket: {sizes} MB beyond {self.rate:.3g} "
                "Mbit/s. Other traffic used it, or there is more than one: record floods ten minutes apart."
            )
        begins = self._begins(np.array([self.rate]), self.volume)
        for place, one in enumerate(self.every):
            if place in self.falls or not one.slots:
                continue
            volume = self.volume * np.linspace(1 - AGREE, 1 + AGREE, 61)
            rate, begin = np.full(volume.size, self.rate), np.full(volume.size, begins[place][0])
            if float(slot_gains(one, rate, volume, begin).gain.sum(axis=1).max()) <= -CLAIMED:
                return (
                    f"{self._names()} within a slot after {self.volume / 8:.3g} MB beyond {self.rate:.3g} Mbit/s, but "
                    f"{one.name} carried more without falling: no token bucket explains both."
                )
        return ""

    def _each(self, values: Mapping[int, float]) -> str:
        """Values of transfers with their names."""
        return ", ".join(f"{value:.3g} ({self.every[place].name})" for place, value in values.items())

    def _names(self) -> str:
        names = " and ".join(self.every[place].name for place in self.claims)
        return f"{names} {'fall' if len(self.claims) > 1 else 'falls'}"

    def allowance(self, notes: Sequence[str], losses: Floats, draws: int, seed: int) -> Allowance:
        """The claim, with 90 % intervals over draws of the slots after the falls, of the falls, and of `losses`.

        Packets that the path loses have taken tokens, too. `losses` has a share for each slot of streams.
        """
        generator = np.random.Generator(np.random.PCG64(seed))
        counted = [place for place in self.falls if place != self.part_full]
        drawn = generator.integers(0, len(self.blocks), (draws, len(self.blocks)))
        of_rate = np.array([mean_rate(self.blocks[one]) for one in drawn])
        volumes = self._volumes(of_rate, self.volume)
        of_transfer = np.array([volumes[place] for place in counted]).reshape(len(counted), draws)
        which = generator.integers(0, len(counted), (draws, len(counted)))
        of_volume = of_transfer[which, np.arange(draws)[:, None]].mean(axis=1) / 8
        before = sum(self.every[place].ends_s[self.falls[place]] for place in counted) / SLOT_S
        rate, volume_mb = self.rate, self.volume / 8
        if losses.size:
            factor = 1 / (1 - float(losses.mean()))
            rate, volume_mb = factor * rate, factor * volume_mb
            of_rate = of_rate / (1 - drawn_means(losses, len(self.blocks), draws, generator))
            of_volume = of_volume / (1 - drawn_means(losses, before, draws, generator))
        parameters = (
            Parameter("allowance, rate, Mbit/s", rate, *interval(of_rate.tolist(), len(self.blocks))),
            Parameter("allowance, volume, MB", volume_mb, *interval(of_volume.tolist(), len(self.blocks))),
        )
        falls_s, free = self._limits()
        every_note = [*notes, *self._notes(falls_s)]
        if not losses.size:
            every_note.append(WITHOUT_LOSSES)
        return Allowance(rate, volume_mb, parameters, free, falls_s, tuple(every_note))

    def _limits(self) -> tuple[tuple[float, ...], tuple[Bools, ...]]:
        """`falls_s` and `free` of the claim."""
        falls_s, free = [], []
        begins = self._begins(np.array([self.rate]), self.volume)
        for place, one in enumerate(self.every):
            volume = np.array([self.volumes.get(place, self.volume)])
            begin = np.zeros(1) if place == self.part_full else begins[place]
            missing = tokens_missing(one, np.array([self.rate]), volume, begin)[0, 1:]
            # From its first fall on, also where only a later one lies within a slot.
            empty = np.nonzero(missing >= (1 - _NEARLY) * volume)[0]
            first = int(empty[0]) if empty.size else None
            falls_s.append(math.nan if first is None else float(one.ends_s[first]))
            free.append(one.of < (one.mbps.size if first is None else first))
        return tuple(falls_s), tuple(free)

    def _notes(self, falls_s: Sequence[float]) -> list[str]:
        """What a reader must know of the claim."""
        notes = []
        for place in self.order:
            if not math.isnan(falls_s[place]):
                notes.append(
                    f"{self.every[place].name}: an allowance limits it from {falls_s[place]:.0f} s on. Later slots are "
                    "neither in the rates nor in the losses."
                )
        first = self.every[self.order[0]].name
        if self.part_full is not None:
            share = self.volumes[self.part_full] / self.volume
            notes.append(f"{first}: the allowance had {share:.0%} of its volume at the start, as the others tell.")
        else:
            notes.append(f"The allowance is taken for full at the start of {first}: else its volume is larger.")
        notes += [
            f"{self.every[place].name}: falls to the rate of the allowance after {value / 8:.3g} MB beyond it, which "
            "is not its volume, so the level counts as rates of slots."
            for place, value in sorted(self.odd.items())
        ]
        if len(self.claims) < len(self.falls):
            others = len(self.falls) - len(self.claims)
            notes.append(
                f"{self._names()} clearly within a slot: this tells that there is an allowance, and its rate. "
                f"{others} more {'fall' if others > 1 else 'falls'} after about the same volume, maybe at an edge. The "
                "volume is the mean of all."
            )
        elif len(self.claims) == 1 and sum(not math.isnan(fall_s) for fall_s in falls_s) > 1:
            notes.append(
                f"Only {self._names()} clearly within a slot, and tells the allowance. The others do not contradict it."
            )
        elif len(self.claims) == 1:
            notes.append(
                "Only one transfer tells the allowance. One more at another offered rate, ten minutes apart, would "
                "show whether the volume is the same."
            )
        return notes


def differ(values: Sequence[float]) -> bool:
    """Whether one is too far from the mean of all."""
    mean = float(np.mean(values))
    return any(abs(value - mean) > AGREE * mean for value in values)


def series_of(one: Transfer) -> Series:
    """Intervals that are shorter than a second are put together."""
    ends = one.begins_s + one.lengths_s
    second = np.floor((one.begins_s + one.lengths_s / 2) / max(1.0, float(np.median(one.lengths_s))) + 1e-9)
    _, of = np.unique(second, return_inverse=True)
    lengths: Floats = np.bincount(of, weights=one.lengths_s).astype(float)
    mbps = np.bincount(of, weights=one.rate_bps * one.lengths_s) / lengths / 1e6 * one.wire_factor
    last: Floats = np.full(lengths.size, -math.inf)
    np.maximum.at(last, of, ends)
    begins = one.start_s + one.omitted_s + last - lengths - FIRST_S
    middles = begins + lengths / 2
    edge = np.round(middles / SLOT_S) * SLOT_S
    inside = ~((begins + lengths > edge - NEAR_S) & (begins < edge + NEAR_S))
    slot = np.floor(middles / SLOT_S)
    slots = tuple(np.nonzero(inside & (slot == number))[0] for number in np.unique(slot[inside]))
    slots = tuple(places for places in slots if lengths[places].sum() >= SLOT_S / 3 and mbps[places].any())
    offered = one.offered_bps / 1e6 * one.wire_factor if one.offered_bps > 0 else math.inf
    return Series(
        name=one.name, begin_s=one.start_s, ends_s=last, lengths_s=lengths, mbps=np.asarray(mbps),
        of=np.asarray(of, dtype=np.intp), warm_up_s=one.omitted_s, offered_mbps=offered, slots=slots,
    )  # fmt: skip


def losses_of_streams(transfers: Sequence[Transfer], every: Sequence[Series]) -> Floats:
    """Share of the datagrams that each slot of streams loses, edges counted; empty where no stream tells it."""
    found: list[Floats] = []
    packets = 0.0
    for one, series in zip(transfers, every, strict=True):
        least = CARRIED * series.offered_mbps
        if one.lost_each is None or one.packets_each is None or not series.slots:
            continue
        if any(series.mbps[places].mean() < least for places in series.slots):
            continue
        middles = one.start_s + one.omitted_s + one.begins_s + one.lengths_s / 2 - FIRST_S
        _, of = np.unique(np.floor(middles / SLOT_S), return_inverse=True)
        lost, sent = (np.bincount(of, weights=weights) for weights in (one.lost_each, one.packets_each))
        packets += float(sent.sum())
        # Each slot counts as much as another, though the first and the last are shorter.
        found.append((lost / np.maximum(sent, 1.0))[sent > sent.max() / 3])
    return np.concatenate(found) if packets >= LEAST_PACKETS else np.zeros(0)


def drawn_means(losses: Floats, slots: float, draws: int, generator: np.random.Generator) -> Floats:
    """Means that other streams, and transfers of so many slots, would have lost."""
    of = max(round(1 / (1 / losses.size + 1 / max(slots, 1.0))), 1)
    return np.asarray(losses[generator.integers(0, losses.size, (draws, of))].mean(axis=1))


def is_together(first: Series, second: Series) -> bool:
    """Whether the second one begins before the first one ends."""
    return second.begin_s < first.end_s - _WHOLE_S


def is_told(series: Series) -> bool:
    """Whether reports are short enough, and slots enough, to tell falls."""
    return float(np.median(series.lengths_s)) <= LONGEST_S and len(series.slots) > 3


def tokens_missing(series: Series, rate: Floats, volume: Floats, at_begin: Floats) -> Floats:
    """Tokens that are missing in the bucket at the start and after each interval, in Mbit: a row for each bucket."""
    more = (series.mbps[:, None] - rate) * series.lengths_s[:, None]
    missing = np.empty((series.mbps.size + 1, rate.size))
    missing[0] = np.clip(at_begin, 0.0, volume)
    if rate.size == 1:
        # Numbers of Python take an eighth of the time of arrays with one value.
        one, most, course = float(missing[0, 0]), float(volume[0]), missing[:, 0]
        course[1:] = [one := min(max(one + change, 0.0), most) for change in more[:, 0].tolist()]
        return np.ascontiguousarray(missing.T)
    for before, after, change in zip(missing, missing[1:], more, strict=False):
        np.add(before, change, out=after)
        # `np.clip` would take three times as long as these two.
        np.maximum(after, 0.0, out=after)
        np.minimum(after, volume, out=after)
    return np.ascontiguousarray(missing.T)


class _Gains(NamedTuple):
    """What buckets explain of each slot: a row for each bucket."""

    gain: Floats
    """By which it raises the logarithm of the likelihood."""
    other: Floats
    """What a change at the best place of the slot, up or down, would gain besides."""
    limited_s: Floats
    """How long the slot is at its rate, s, within twice `SCATTER`, with hardly a token left."""


def slot_gains(series: Series, rate: Floats, volume: Floats, at_begin: Floats) -> _Gains:
    """By how much buckets raise the logarithm of the likelihood of each slot.

    Without one a slot has the mean of its intervals, and a variance of its own. With one each interval has the rate of
    the slot, or less: what tokens come and are left. A slot gains only if it falls at least `ASIDE_S` from either end.
    """
    missing = tokens_missing(series, rate, volume, at_begin)
    left = (volume[:, None] - missing[:, :-1]) / series.lengths_s
    gains, others, limited_s = np.zeros((3, rate.size, len(series.slots)))
    for number, places in enumerate(series.slots):
        y, seconds = series.mbps[places], series.lengths_s[places]
        exact = exactness(y)
        alone = float(np.sum((y - y.mean()) ** 2)) + exact
        # The first intervals tell the rate of the slot, as many as there are before the tokens are used up.
        of_slot = np.append(np.cumsum(y) / np.arange(1, y.size + 1), np.inf)
        limit = rate[:, None, None] * (1 + OFF[:, None]) + left[:, None, places]
        # Axes: bucket, rate of the slot, level, interval.
        expected = np.minimum(of_slot[None, :, None, None], limit[:, None])
        squares = np.sum((y - expected) ** 2, axis=-1) + exact
        gain = y.size / 2 * np.log(alone / squares) - (OFF / SCATTER) ** 2 / 2
        best = np.argmax(gain.reshape(rate.size, -1), axis=1)
        of_rate, of_level = np.unravel_index(best, gain.shape[1:])
        every = np.arange(rate.size)
        gains[:, number] = gain[every, of_rate, of_level]
        is_limited = limit[every, of_level] < of_slot[of_rate][:, None]
        is_level = (missing[:, places] >= (1 - SCATTER) * volume[:, None]) & (
            np.abs(y / rate[:, None] - 1) <= 2 * SCATTER
        )
        limited_s[:, number] = is_level @ seconds
        aside = np.minimum(is_limited @ seconds, ~is_limited @ seconds) >= ASIDE_S - 1e-6
        # A queue of a slow slot leaves in the next one, faster than what is offered, until it is empty.
        aside &= is_limited @ y < CARRIED * series.offered_mbps * np.maximum(is_limited.sum(axis=1), 1)
        gains[:, number] = np.where(aside, gains[:, number], np.minimum(gains[:, number], 0.0))
        split = float(splits(y, seconds)[1].min(initial=math.inf)) + exact
        others[:, number] = np.maximum(y.size / 2 * np.log(squares[every, of_rate, of_level] / split), 0.0)
    return _Gains(gains, others, limited_s)


def exactness(y: Floats) -> float:
    """Squares that intervals of a slot have at least, because reports are rounded."""
    return y.size * (EXACT * float(y.mean())) ** 2


def unexplained(others: Floats) -> Floats:
    """What changes of slots (last axis) that a bucket does not explain would gain.

    The largest may be chance, and many have another cause, such as a clock that is off.
    """
    most = np.maximum(others.max(axis=-1, initial=0.0), np.maximum(others - LEAST_GAIN, 0.0).sum(axis=-1))
    return np.asarray(most)


def explained(y: Floats) -> Floats:
    """The squares around the mean that two levels explain, with a change after each value but the last."""
    # Around the mean, so that no digits are lost, and the sum of all is 0.
    sums, count = np.cumsum(y - y.mean())[:-1], np.arange(1, y.size)
    return np.asarray(sums**2 / count + sums**2 / (y.size - count))


def splits(y: Floats, seconds: Floats) -> tuple[Places, Floats]:
    """Places at which a slot may change, far enough from both ends, and the squares around the means on both sides."""
    before = np.cumsum(seconds)[:-1]
    far = np.minimum(before, float(seconds.sum()) - before) >= ASIDE_S - 1e-6
    places = np.nonzero(far)[0] + 1
    return places, np.maximum(float(np.sum((y - y.mean()) ** 2)) - explained(y)[places - 1], 0.0)


def slot_rows(series: Series, kept: slice) -> Floats:
    """The slots of some intervals: a row each with its length in s and its mean rate, edges counted."""
    middles = series.begin_s + series.warm_up_s + series.ends_s - series.lengths_s / 2 - FIRST_S
    _, of = np.unique(np.floor(middles / SLOT_S)[kept], return_inverse=True)
    length = np.bincount(of, weights=series.lengths_s[kept])
    return np.stack([length, np.bincount(of, weights=(series.lengths_s * series.mbps)[kept]) / length], axis=1)


def _after(series: Series, place: int) -> Floats:
    """Slots after an interval, without slow ones at the end: nothing uses the tokens that these leave."""
    rows = slot_rows(series, slice(place + 1, None))
    level = mean_rate(rows)
    while len(rows) > 1 and rows[-1, 1] < (1 - 2 * SCATTER) * level:
        rows = rows[:-1]
    return rows


def _last_before_fall(series: Series, rate: float) -> int | None:
    """The last interval before a fall to about `rate`, or less, that stays; None where the transfer has none.

    Two levels fit its intervals best with the fall there (least squares). It may lie at an edge.
    """
    y, length_s = series.mbps, series.lengths_s
    if not series.slots or y.size < 4:
        return None
    last = int(np.argmax(explained(y)))
    before, after = (
        float(np.average(y[part], weights=length_s[part])) for part in (slice(last + 1), slice(last + 1, None))
    )
    stays = series.ends_s[-1] - series.ends_s[last] >= LEVEL_S
    return last if stays and after <= (1 + AGREE) * rate and before > (1 + 2 * AGREE) * rate else None


def _limited(series: Series, fall: Fall) -> Floats:
    """Slots between two moments at which the bucket is empty: there as much arrives as tokens come."""
    missing = tokens_missing(series, np.array([fall.rate]), np.array([fall.volume]), np.zeros(1))[0, 1:]
    empty = np.nonzero(missing >= fall.volume - 1e-9)[0]
    if not empty.size or series.ends_s[empty[-1]] - series.ends_s[empty[0]] < LEVEL_S:
        return _after(series, fall.place)
    return slot_rows(series, slice(int(empty[0]) + 1, int(empty[-1]) + 1))


def mean_rate(blocks: Floats) -> float:
    """The mean of rows of a length and a rate."""
    return float(np.average(blocks[:, 1], weights=blocks[:, 0]))


def fall_in(series: Series) -> Fall | None:
    """The most likely fall to a level; None where no slot falls."""
    found: list[tuple[float, int, float]] = []
    for places in series.slots:
        y = series.mbps[places]
        exact = exactness(y)
        alone = float(np.sum((y - y.mean()) ** 2)) + exact
        for m, squares in zip(*splits(y, series.lengths_s[places]), strict=True):
            gain = y.size / 2 * math.log(alone / (float(squares) + exact))
            if gain < LEAST_GAIN or y[:m].mean() <= y[m:].mean():
                continue
            # The fall may lie within the first interval that is lower.
            for place in (int(places[m - 1]), int(places[m])):
                if series.ends_s[-1] - series.ends_s[place] >= LEVEL_S:
                    # Tokens that slow slots leave make the mean of all that follows less sure than the end of the slot.
                    rates = mean_rate(_after(series, place)), float(y[(m + y.size) // 2 :].mean())
                    found += [(gain, place, rate) for rate in rates]
    if not found:
        return None
    kept = sorted(found, reverse=True)[: 2 * _FALLS]
    places_of, rate = np.array([one[1] for one in kept]), np.array([one[2] for one in kept])
    start = np.zeros(rate.size)
    all_missing = tokens_missing(series, rate, np.full(rate.size, np.inf), start)
    volume = all_missing[np.arange(rate.size), places_of + 1]
    found_of = slot_gains(series, rate, volume, start)
    gain = found_of.gain.sum(axis=1) - unexplained(found_of.other)
    gain[(volume <= 0) | (found_of.limited_s.sum(axis=1) < LEVEL_S)] = -math.inf
    best = int(np.argmax(gain))
    return Fall(int(places_of[best]), float(rate[best]), float(volume[best]), float(gain[best]))


def _unclaimed(series: Series, *, is_udp: bool) -> str:
    """A sentence on a transfer that falls to a level without telling a bucket; empty where it does not."""
    means = np.array([series.mbps[places].mean() for places in series.slots])
    for first in range(1, means.size - 2):
        before, after = means[:first], means[first:]
        level = float(after.mean())
        if before.min() > (1 + 2 * AGREE) * after.max() and float(np.ptp(after)) <= 4 * SCATTER * level:
            why = (
                "the fall is not clearly within a slot, and at edges rates change by themselves"
                if is_udp
                else "a TCP lowers its rate by itself"
            )
            return (
                f"{series.name}: falls from {before.mean():.3g} to {level:.3g} Mbit/s and stays there, as behind a "
                f"token bucket. But {why}: no allowance is claimed, and the level counts as rates of slots. Record "
                f"{'another flood of UDP at another offered rate (-b)' if is_udp else 'a flood of UDP'}, ten minutes "
                "apart."
            )
    return ""
