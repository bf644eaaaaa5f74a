"""Fits what transfers show of a loaded link: `rates`, `rate_correlation`, `allowance`, `loss`, `fades` and `outage`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from skyhop.starlink import fades, losses, restorations
from skyhop.starlink.allowance import LEAST_PACKETS, NEAR_S, Bools
from skyhop.starlink.chains import Chains, neighbours
from skyhop.starlink.estimating import evenly_spaced
from skyhop.starlink.fitting import (
    LEAST_SLOTS,
    MOST_CORRELATION,
    Parameter,
    comments,
    drawn_places,
    interval,
    run_of,
)
from skyhop.starlink.measuring import FIRST_S, SLOT_S
from skyhop.starlink.recordings import Floats
from skyhop.starlink.transfers import CARRIED, Transfer

#: Slots whose rate is known, for the quantiles.
LEAST_RATES = 8

#: Edges, for outages.
LEAST_EDGES = 8

#: Points of the distribution of rates.
POINTS = 2000


@dataclass(frozen=True)
class CapacityFit:
    """What the transfers of one direction tell. Empty and NaN where they do not tell it."""

    direction: str
    """`up` or `down`."""
    rates_mbps: tuple[float, ...]
    """Evenly spaced quantiles of the rate of a slot, in Mbit/s of IP packets."""
    rate_correlation: float
    """Of the normal scores of neighbouring slots' rates, from 0 to 0.95."""
    unknown: float
    """Share of the rates, the highest, of which only this is known: more than was offered."""
    slots: int
    """Slots that tell rates."""
    loss: float
    """Share of datagrams lost between edges, where the link was not full; with `fades_loss` beside fades."""
    outage_ms: tuple[float, ...]
    """Evenly spaced quantiles of the time whose datagrams an edge loses beyond `loss` and fades, in ms."""
    edges: int
    notes: tuple[str, ...]
    """What a reader must know of transfers that tell less than they seem to."""
    parameters: tuple[Parameter, ...]
    allowance_mbps: float = math.nan
    """Rate of the token bucket in Mbit/s of IP packets; NaN where none is claimed."""
    allowance_mb: float = math.nan
    """Its volume in 10⁶ bytes, likewise."""
    allowance_restored_s: tuple[float, ...] = ()
    """The time after which the whole volume is there again, or its quantiles; empty where none is claimed."""
    allowance_restored_at_s: float = math.nan
    """The first restoration, from the start of the first transfer that shows some; NaN likewise."""
    loss_quantiles: tuple[float, ...] = ()
    """Evenly spaced quantiles of the loss of a slot; empty where chance explains how slots differ."""
    fades_every_s: float = math.nan
    """Mean time from the begin of a fade to that of the next; NaN where none are claimed."""
    fades_length_ms: float = math.nan
    fades_loss: tuple[float, ...] = ()
    """Evenly spaced quantiles of the loss in a fade, or the one loss of all; empty where none are claimed."""


@dataclass(frozen=True)
class _Slots:
    """Slots of a transfer: numbers, rates in Mbit/s, whether the offered rate came through; edges likewise."""

    number: Floats
    rate: Floats
    carried: Floats
    lost: Floats
    packets: Floats
    outage_ms: Floats
    silent: int
    """Slots in which nothing arrived: they are not among the others."""
    falls: bool
    """Whether an allowance limits the transfer from some time on: the slots are those before."""
    each: Floats
    """Of each interval away from edges, a column: its middle in slots, its length in s, datagrams lost and sent."""

    @property
    def is_carried(self) -> bool:
        """Whether all that was offered came through in every slot."""
        return not self.falls and bool(np.all(self.carried == 1))


def fit_capacity(transfers: Sequence[Transfer], *, draws: int = 200, seed: int = 1) -> CapacityFit:
    """Fits transfers of one direction that fill the link, or UDP at a rate that it carries, or both.

    The rate of a slot is what arrived in the intervals that lie a second or more from its edges. UDP whose rate came
    through in every slot tells losses; otherwise the link was full, and losses of its queue are not those of the
    profile. Where the transfers tell an allowance, only what came before its volume was used up tells rates. Intervals
    come from draws of runs of neighbouring slots, as long as their correlation lasts.

    Raises ValueError for both directions at once, for transfers that losses hold back, and where nothing can be told.
    """
    if len({one.reverse for one in transfers}) > 1:
        raise ValueError("uploads and downloads have rates of their own: fit them apart")
    for one in transfers:
        fills(one)
    once(transfers)
    bucket = restorations.find(transfers, draws=draws, seed=seed)
    every = [_slots(one, free) for one, free in zip(transfers, bucket.free, strict=True)]
    # Slots of different transfers are not neighbours.
    number = np.concatenate([one.number + 1e12 * place for place, one in enumerate(every)])
    rate, carried = (np.concatenate([getattr(one, name) for one in every]) for name in ("rate", "carried"))
    lost, packets = (np.concatenate([getattr(one, name) for one in every]) for name in ("lost", "packets"))
    outage = np.concatenate([one.outage_ms for one in every])
    generator = np.random.Generator(np.random.PCG64(seed))
    parameters: list[Parameter] = []
    rates: tuple[float, ...] = ()
    correlation, unknown, run = math.nan, 0.0, 1
    if np.count_nonzero(carried == 0) >= LEAST_RATES:
        # A transfer that mostly got what it offered does not tell what neighbouring slots have in common.
        mostly = np.concatenate([np.full(one.rate.size, one.carried.mean() <= 0.5) for one in every if one.rate.size])
        found, _ = neighbours(number[mostly], rate[mostly])
        if not math.isnan(found):
            correlation, *between = Chains(number[mostly]).told(found)
            run = run_of(correlation, rate.size)
            low, high = between if draws else (math.nan, math.nan)
            parameters.append(Parameter("correlation of the rates of neighbouring slots", correlation, low, high))
        known = np.stack([rate, carried], axis=1)
        drawn, unknown = _distribution(known)
        rates = tuple(round(float(one), 2) for one in evenly_spaced(drawn, rate.size))
        for name, of, from_share in (("mean", np.mean, 0.0), ("median", np.median, 0.5)):
            limit = ", at least" if unknown > from_share else ""
            value_of = partial(_of_distribution, of)
            parameters.append(_parameter(f"rate, {name}, Mbit/s{limit}", value_of, known, run, draws, generator))
    notes = list(bucket.notes)
    if bucket.is_claimed and not rates:
        notes.append(
            f"The {np.count_nonzero(carried == 0)} slots whose link was full before an allowance limits it are too few "
            f"for rates: {LEAST_RATES} are needed, at more than the link carries."
        )
    for one, slots in zip(transfers, every, strict=True):
        if one.is_udp and slots.rate.size and not slots.is_carried and not slots.falls:
            full_slots = np.count_nonzero(slots.carried == 0)
            notes.append(
                f"{one.name}: the link was full in {full_slots} of {slots.rate.size} slots, so its losses may be the "
                "queue's and do not count."
            )
        if slots.silent:
            notes.append(f"{one.name}: nothing arrived in {slots.silent} slots. They are left out: see `obstructed`.")
    free = np.concatenate([np.full(one.rate.size, one.is_carried) for one in every])
    loss, told, faded = math.nan, losses.Told(), fades.Told()
    outages: tuple[float, ...] = ()
    if packets[free].sum() >= LEAST_PACKETS:
        # A double tells milliseconds at such places.
        apart = np.array([[1e9], [0], [0], [0]])
        streams = [one.each + n * apart for n, one in enumerate(every) if one.is_carried]
        place, lengths_s, lost_each, packets_each = np.concatenate(streams, axis=1)
        # Draws of its own, so that a fit without fades has the same intervals as before.
        own = np.random.Generator(np.random.PCG64([seed, 1]))
        faded = fades.tell(place, lengths_s, lost_each, packets_each, draws=draws, generator=own)
        shares, name = np.stack([lost[free], packets[free]], axis=1), "loss between edges"
        if faded.rest is not None:
            # What fades lose does not count twice.
            lost_each, name = faded.rest, "loss between edges, beside fades"
            shares = _of_slots(place, lost_each, packets_each)
        loss = _share(shares)
        parameters.append(_parameter(name, _share, shares, 1, draws, generator))
        told = losses.tell(place, lengths_s, lost_each, packets_each, draws=draws, generator=generator)
        parameters += (*told.parameters, *faded.parameters)
        notes += filter(None, [told.note, faded.note])
    if outage.size >= LEAST_EDGES:
        outages = tuple(round(float(value), 1) for value in evenly_spaced(_without_chance(outage), outage.size))
        parameters.append(
            _parameter("outage, mean, ms", lambda found: max(float(found.mean()), 0.0), outage, 1, draws, generator)
        )
    if bucket.is_claimed:
        parameters += bucket.parameters
    elif not rates and not outages and math.isnan(loss):
        full = np.count_nonzero(carried == 0)
        said = (
            f"{full} slots with a rate and {packets[free].sum():.0f} datagrams through a link that was not full tell "
            f"nothing: {LEAST_RATES} slots whose link was full or {LEAST_PACKETS} datagrams are needed (a slot is "
            "15 s; record UDP with -R or --get-server-output)"
        )
        raise ValueError(" ".join([said + ("." if bucket.notes else ""), *bucket.notes]))
    return CapacityFit(
        direction="down" if transfers[0].reverse else "up", rates_mbps=rates,
        rate_correlation=math.nan if math.isnan(correlation) else round(min(max(correlation, 0), MOST_CORRELATION), 2),
        unknown=unknown, slots=rate.size if rates else 0,
        loss=loss, outage_ms=outages, edges=outage.size, notes=tuple(notes), parameters=tuple(parameters),
        allowance_mbps=round(bucket.rate_mbps, 3), allowance_mb=round(bucket.volume_mb, 2),
        allowance_restored_s=tuple(round(one, 1) for one in bucket.restored_s),
        allowance_restored_at_s=round(bucket.restored_at_s, 1),
        loss_quantiles=told.quantiles, fades_every_s=float(f"{faded.every_s:.3g}"),
        fades_length_ms=float(f"{1e3 * faded.length_s:.3g}"), fades_loss=faded.loss,
    )  # fmt: skip


def capacity_table(found: CapacityFit) -> str:
    """The fit as a table of a scenario: `[links.forward.profile.starlink]` of a wire for an uplink."""
    told = any(one.low == one.low for one in found.parameters)
    begin = f"# What transfers tell of a link that has load ({found.direction}"
    lines = [f"{begin}{'; 90 % intervals over draws of slots' if told else ''}):"]
    lines += comments(found.parameters)
    if found.unknown > 0:
        lines.append(
            f"# The highest {found.unknown:.0%} of the rates are {found.rates_mbps[-1]:.3g} Mbit/s or more: that came "
            "through, and more was not offered."
        )
    lines += [f"# {note}" for note in found.notes]
    if found.rates_mbps and math.isnan(found.rate_correlation):
        lines.append(f"# Fewer than {LEAST_SLOTS} pairs of neighbouring slots: their correlation is that of the set.")
    lines += ["[starlink]", 'values = "loaded"', f'direction = "{found.direction}"']
    if found.rates_mbps:
        lines.append("rates = [" + ", ".join(f'"{value:g} Mbit/s"' for value in found.rates_mbps) + "]")
        if not math.isnan(found.rate_correlation):
            lines.append(f"rate_correlation = {found.rate_correlation:g}")
    if not math.isnan(found.allowance_mbps):
        rate, volume = f"{found.allowance_mbps:g} Mbit/s", f"{found.allowance_mb:g} MB"
        times = [f'"{value:g} s"' for value in found.allowance_restored_s]
        restored = f", restored = {_one_or_list(times)}" if times else ""
        lines.append(f'allowance = {{ rate = "{rate}", volume = "{volume}"{restored} }}')
    if found.loss_quantiles:
        lines.append("loss = [" + ", ".join(f"{value:g}" for value in found.loss_quantiles) + "]")
    elif not math.isnan(found.loss):
        lines.append(f"loss = {found.loss:.3g}")
    if found.fades_loss:
        said = _one_or_list([f"{value:g}" for value in found.fades_loss])
        every, length = f"{found.fades_every_s:g} s", f"{found.fades_length_ms:g} ms"
        lines.append(f'fades = {{ every = "{every}", length = "{length}", loss = {said} }}')
    if found.outage_ms:
        # What edges lose is all in the outage.
        lines += ["outage = [" + ", ".join(f'"{value:g} ms"' for value in found.outage_ms) + "]", "edge_loss = [0, 0]"]
    return "\n".join(lines) + "\n"


def fills(transfer: Transfer) -> None:
    """Raises ValueError where losses or `-b` hold the transfer back."""
    if transfer.is_udp:
        if not transfer.as_received:
            raise ValueError(f"{transfer.name}: does not tell what arrived when; record with --get-server-output")
        return
    if transfer.offered_bps > 0:
        raise ValueError(f"{transfer.name}: a transfer at a rate that `-b` gave does not tell the rate of the link")
    control = (transfer.control or "a control that the file does not name").lower()
    if transfer.streams == 1 and not control.startswith("bbr"):
        raise ValueError(
            f"{transfer.name}: losses hold one flow of {control} back, so it does not tell the rate of the link; "
            "record BBR, several flows, or UDP, or fit its losses with --session"
        )


def once(transfers: Sequence[Transfer]) -> None:
    """Raises ValueError where a transfer is given twice."""
    for first, second in itertools.combinations(transfers, 2):
        if first.start_s == second.start_s and np.array_equal(first.rate_bps, second.rate_bps):
            raise ValueError(f"{first.name} and {second.name} are the same transfer: its slots would count twice")


def _slots(one: Transfer, free: Bools) -> _Slots:
    begins = one.start_s + one.omitted_s + one.begins_s - FIRST_S
    ends = begins + one.lengths_s
    middle = (begins + ends) / 2 / SLOT_S
    edge = np.round(middle)
    # Intervals that reach within a second of an edge; they and their edge count in the other part.
    near = (ends > edge * SLOT_S - NEAR_S) & (begins < edge * SLOT_S + NEAR_S)
    slot = np.floor(middle)
    offered = one.offered_bps / 1e6 * one.wire_factor
    rates, carried, lost, packets, numbers = [], [], [], [], []
    each = [np.zeros((4, 0))]
    silent = 0
    for number in np.unique(slot[~near & free]):
        of = (slot == number) & ~near & free
        if one.lengths_s[of].sum() < SLOT_S / 3:
            continue
        rate = float(np.average(one.rate_bps[of], weights=one.lengths_s[of])) / 1e6 * one.wire_factor
        if rate <= 0:
            silent += 1
            continue
        numbers.append(float(number))
        rates.append(rate)
        carried.append(float(one.is_udp and offered > 0 and rate >= CARRIED * offered))
        lost.append(float(one.lost_each[of].sum()) if one.lost_each is not None else 0.0)
        packets.append(float(one.packets_each[of].sum()) if one.packets_each is not None else 0.0)
        if one.lost_each is not None and one.packets_each is not None:
            each.append(np.stack([middle[of], one.lengths_s[of], one.lost_each[of], one.packets_each[of]]))
    outage: Floats = np.zeros(0)
    if one.lost_each is not None and one.packets_each is not None and carried and all(carried) and free.all():
        share = _share(np.stack([lost, packets], axis=1))
        outage = _outages_ms(one.lengths_s, one.lost_each, one.packets_each, np.where(near, edge, math.nan), share)
    return _Slots(
        number=np.array(numbers), rate=np.array(rates), carried=np.array(carried), lost=np.array(lost),
        packets=np.array(packets), outage_ms=outage, silent=silent, falls=not free.all(),
        each=np.concatenate(each, axis=1),
    )  # fmt: skip


def _outages_ms(lengths_s: Floats, lost: Floats, packets: Floats, edge: Floats, share: float) -> Floats:
    """What each edge loses beyond the share of all intervals, as time. `edge` is NaN for intervals far from all."""
    # Over the whole transfer: the receiver counts what it missed when the next datagram comes, perhaps later.
    per_ms = float(packets.sum()) / float(lengths_s.sum()) / 1e3
    found = []
    for number in np.unique(edge[~np.isnan(edge)]):
        of = edge == number
        # An edge at an end of the transfer is seen in part only.
        if lengths_s[of].sum() >= 2 * NEAR_S - 1e-6:
            beyond = float(lost[of].sum()) - share * float(packets[of].sum())
            # The profile takes no outage longer than a slot.
            found.append(min(beyond / per_ms, 1e3 * SLOT_S))
    return np.array(found, dtype=float)


def _without_chance(outages_ms: Floats) -> Floats:
    """Outages of which none is below 0, with the same mean unless that is.

    An edge without an outage loses more or less than other times by chance. Taking only what it loses less for 0 would
    make the mean too high; so the shortest outages are 0 as far as the negative ones outweigh them.
    """
    found = np.sort(outages_ms)
    sums = np.cumsum(found)
    first = int(np.searchsorted(np.maximum.accumulate(np.where(found > 0, sums, -np.inf)), 0.0, side="right"))
    if first < found.size:
        found[first] = sums[first]
    found[:first] = 0.0
    return found


def _distribution(known: Floats) -> tuple[Floats, float]:
    """Evenly spaced points of the distribution of rates, and the share of it above all that is known.

    `known` has pairs of a rate and 1 where the slot's rate may be higher, else 0. Such a slot counts among those above
    its rate (the product-limit estimator; Kaplan and Meier 1958), so a slow stream of datagrams adds no slow rates.
    """
    values, higher = known[np.lexsort((known[:, 1], known[:, 0]))].T
    left = values.size - np.arange(values.size)
    above = np.cumprod(np.where(higher > 0, 1.0, 1 - 1 / left))
    # The rest above the last known rate stands at the highest that came through.
    of_share = np.searchsorted(1 - above, (np.arange(POINTS) + 0.5) / POINTS)
    return values[np.minimum(of_share, values.size - 1)], float(above[-1])


def _of_distribution(of: Callable[[Floats], Any], known: Floats) -> float:
    return float(of(_distribution(known)[0]))


def _parameter(
    name: str,
    of: Callable[[Floats], float],
    values: Floats,
    run: int,
    draws: int,
    generator: np.random.Generator,
) -> Parameter:
    drawn = []
    for _ in range(draws):
        drawn.append(of(values[drawn_places(len(values), run, generator)]))
    return Parameter(name, of(values), *interval(drawn, len(values) / run))


def _of_slots(place: Floats, lost: Floats, packets: Floats) -> Floats:
    """Packets lost and packets sent, a row for each slot."""
    _, slot = np.unique(np.floor(place), return_inverse=True)
    return np.stack([np.bincount(slot.ravel(), weights=values) for values in (lost, packets)], axis=1)


def _one_or_list(values: Sequence[str]) -> str:
    """A value as a scenario has it, or a list of quantiles."""
    return values[0] if len(values) == 1 else f"[{', '.join(values)}]"


def _share(pairs: Floats) -> float:
    lost, packets = pairs.sum(axis=0)
    return float(lost / packets) if packets else 0.0
