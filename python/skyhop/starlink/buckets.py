"""How full the token bucket of a link is when a recorded transfer starts, and the link with so full a bucket.

Only the engine knows the values behind a set, so they come from a scenario that it has filled in.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from skyhop import api, durations
from skyhop.starlink.recordings import Floats
from skyhop.starlink.transfers import Transfer

#: Bits per second of each unit that the engine writes.
_RATES = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}

#: Points of the distribution of times between restorations.
_TIMES = 1000

#: A bucket that lacks less than this share of its volume is full.
_FULL = 1e-3


@dataclass(frozen=True)
class Bucket:
    """What a link may carry beyond a rate."""

    rate_bps: float
    bits: float
    filled: float
    """Share of `bits` that is there when nothing has drained it, from 0 to 1."""
    loss: float
    """Share of the packets that take tokens and do not arrive."""
    down: bool
    """Whether it limits the downlink, which is the wire's `backward`."""
    restored_s: tuple[float, ...] = ()
    """Evenly spaced quantiles of the time from one restoration of all tokens to the next; empty: never."""
    restored_at_s: float = math.nan
    """When the first restoration is, from the start of the first transfer on; NaN: drawn."""

    def __str__(self) -> str:
        return f"the allowance of {self.bits / 8e6:.4g} MB beyond {self.rate_bps / 1e6:.3g} Mbit/s"


@dataclass(frozen=True)
class LinkAtStart:
    """How a transfer finds its link."""

    profile: Mapping[str, Any]
    """The keys of the wire."""
    begin_s: float | None
    """When the simulated flows start; None at the second of the recorded minute, as slots lie in it."""
    note: str
    """How full the bucket is and why; empty without one."""
    rate_correlation: float
    """Of the rates of neighbouring slots, in the direction of the data."""
    by_seed: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    """The keys of the wire for seeds that draw restorations of their own."""

    def of(self, seed: int) -> Mapping[str, Any]:
        """The keys of the wire in the run with a seed."""
        return self.by_seed.get(seed, self.profile)


class Resolved(NamedTuple):
    """Every value of the profile in each direction, as the engine fills them in; empty for a wire without a profile."""

    up: Mapping[str, Any]
    down: Mapping[str, Any]


def resolved(profile: Mapping[str, Any]) -> Resolved:
    """The values behind the keys of a wire, of which `forward` goes up."""
    wire = {"between": ["terminal", "server"], "delay": "1 ms", **profile}
    (link,) = json.loads(api.scenario({"duration": "1 s", "links": [wire]}).canonical_json())["links"]
    up, down = (link[side].get("profile", {}).get("starlink", {}) for side in ("forward", "backward"))
    # The engine orders the ends by name, so it may have turned the wire around.
    return Resolved(up, down) if link["between"] == wire["between"] else Resolved(down, up)


def bucket_of(values: Mapping[str, Any], *, down: bool) -> Bucket | None:
    """The bucket in values of a direction that the engine has filled in; None without one."""
    if not (given := values.get("allowance")):
        return None
    rate, unit = given["rate"].split()
    size = re.fullmatch(r"([0-9]+) B", given["volume"])
    if size is None or unit not in _RATES:
        raise ValueError(f"allowance {given}: needs a rate in bit/s and a volume in B, as the engine writes them")
    times = given.get("restored", [])
    return Bucket(
        rate_bps=float(rate) * _RATES[unit], bits=8 * float(size[1]), filled=float(given["filled"]),
        loss=mean_loss(values), down=down,
        restored_s=tuple(durations.seconds(one) for one in ([times] if isinstance(times, str) else times)),
        restored_at_s=durations.seconds(given.get("restored_at", "")),
    )  # fmt: skip


def mean_loss(values: Mapping[str, Any]) -> float:
    """The share of packets that a direction loses between edges and in fades, by values that the engine filled in."""
    loss = _mean(values["loss"])
    if not (fades := values.get("fades")):
        return loss
    lengths = fades["length"]
    length_s = _mean([durations.seconds(one) for one in ([lengths] if isinstance(lengths, str) else lengths)])
    # Fades that overlap lose a little less; their share of the time is small.
    return loss + (1 - loss) * _mean(fades["loss"]) * length_s / durations.seconds(fades["every"])


def _mean(quantiles: float | Sequence[float]) -> float:
    """Of a value, or of what slots draw from evenly spaced quantiles with straight lines between them."""
    values = np.atleast_1d(np.asarray(quantiles, dtype=float))
    return float(values[0] if values.size == 1 else np.mean((values[1:] + values[:-1]) / 2))


def link_at_start(
    transfer: Transfer,
    others: Sequence[Transfer],
    profile: Mapping[str, Any],
    *,
    down: bool,
    seeds: Sequence[int] = (1,),
) -> LinkAtStart:
    """How a transfer finds its link after those of `others`, of the same place and direction, that began earlier.

    What arrived of these has taken tokens, and others came since. Before the first of them the bucket is as full as the
    profile says: full, unless `filled` says otherwise. Where the bucket is restored, nobody knows when: each of `seeds`
    draws its restorations, which are the same ones for all transfers.
    """
    values = resolved(profile)
    own = values.down if down else values.up
    rate_correlation = float(own.get("rate_correlation", 0.0))
    bucket = bucket_of(own, down=down)
    if bucket is None:
        return LinkAtStart(profile, None, "", rate_correlation)
    earlier = [one for one in others if one.start_s < transfer.start_s]
    begins, ends, bps = np.concatenate([np.zeros((3, 0)), *(_sent(one) for one in earlier)], axis=1)
    first_s = min(one.start_s for one in (*earlier, transfer))
    # The last restoration before the transfer and the first one in it, from its start on.
    around = [_restorations(bucket, transfer.start_s - first_s, seed) for seed in seeds] if bucket.restored_s else []
    shares = [
        filled(bucket, begins, ends, bps, transfer.start_s, restored_s=transfer.start_s + before)
        for before, _ in around or [(-math.inf, math.inf)]
    ]
    share = float(np.mean(shares))
    if earlier:
        last = max(earlier, key=_end_s)
        since_s = transfer.start_s - _end_s(last)
        ended = f"ended {since_s:.0f} s before" if since_s >= 0 else "had not ended"
        why = f"by what arrived of earlier transfers and the tokens since; the last, {last.name}, {ended}"
    else:
        why = "which is assumed: no transfer of this place and direction that can be read began before"
    note = f"{bucket} begins {'full' if share == 1 else f'{share:.0%} full'}, {why}"
    if around:
        known = "drawn" if math.isnan(bucket.restored_at_s) else "counted from the start of the first transfer"
        note += f"; the times at which it is restored are {known}, so this is the mean of {len(around)} runs"
        by_seed = {
            seed: _from_its_start(profile, values, transfer, bucket, one, restored_at_s=next_s)
            for seed, one, (_, next_s) in zip(seeds, shares, around, strict=True)
        }
        return LinkAtStart(by_seed[seeds[0]], 0.0, note, rate_correlation, by_seed)
    if share == bucket.filled == 1:
        return LinkAtStart(profile, None, note, rate_correlation)
    return LinkAtStart(_from_its_start(profile, values, transfer, bucket, share), 0.0, note, rate_correlation)


def _end_s(one: Transfer) -> float:
    return one.start_s + one.omitted_s + one.duration_s


def filled(
    bucket: Bucket, begins_s: Floats, ends_s: Floats, bps: Floats, at_s: float, *, restored_s: float = -math.inf
) -> float:
    """Share of the volume that is there at a time, after arrivals at rates of IP packets in intervals before it.

    The bucket is as full as `bucket.filled` when the first of them begins, or full at `restored_s`, the last
    restoration. Times are in s, of any clock.
    """
    share = bucket.filled
    if restored_s > -math.inf:
        share, begins_s = 1.0, np.maximum(begins_s, restored_s)
        begins_s, ends_s, bps = (column[ends_s > restored_s] for column in (begins_s, ends_s, bps))
    if not begins_s.size:
        return share
    missing, now_s = (1 - share) * bucket.bits, float(begins_s.min())
    for place in np.argsort(ends_s, kind="stable"):
        # Tokens that come to a full bucket in between are not kept for the interval.
        begin_s = float(begins_s[place])
        missing = max(missing - bucket.rate_bps * max(begin_s - now_s, 0.0), 0.0)
        now_s = max(now_s, begin_s)
        # An interval that goes on counts as far as it has come.
        end_s = min(float(ends_s[place]), at_s)
        took = float(bps[place]) * max(end_s - begin_s, 0.0) / (1 - bucket.loss)
        came = bucket.rate_bps * max(end_s - now_s, 0.0)
        missing = min(max(missing + took - came, 0.0), bucket.bits)
        now_s = max(now_s, end_s)
    missing = max(missing - bucket.rate_bps * (at_s - now_s), 0.0)
    share = 1 - missing / bucket.bits
    return 1.0 if share > 1 - _FULL else share


def _restorations(bucket: Bucket, at_s: float, seed: int) -> tuple[float, float]:
    """The last restoration before a time and the first one after it, from that time on; both in s.

    `at_s` counts from the start of the first transfer. The last one is infinitely early where there was none. Without
    `restored_at_s` the start of the first transfer lies anywhere between two restorations, as t = 0 does in the engine.
    """
    generator = np.random.Generator(np.random.PCG64(seed))

    def apart_s(shares: Floats) -> Floats:
        return np.asarray(np.interp(shares, np.linspace(0, 1, len(bucket.restored_s)), bucket.restored_s))

    if math.isnan(next_s := bucket.restored_at_s):
        # A long time between two is under way more probably than a short one.
        times = apart_s((np.arange(_TIMES) + 0.5) / _TIMES)
        next_s = float(generator.choice(times, p=times / times.sum()) * generator.random())
    last_s = -math.inf
    while next_s <= at_s:
        last_s, next_s = next_s, next_s + float(apart_s(generator.random(1))[0])
    return last_s - at_s, next_s - at_s


def _sent(one: Transfer) -> Floats:
    """Begins and ends as Unix times, and rates of IP packets, of all intervals. The warm-up has the rate after it."""
    begins = one.start_s + one.omitted_s + one.begins_s
    found = np.stack([begins, begins + one.lengths_s, one.rate_bps * one.wire_factor])
    if one.omitted_s == 0:
        return found
    warm_up = np.array([[one.start_s], [one.start_s + one.omitted_s], [found[2, 0]]])
    return np.concatenate([warm_up, found], axis=1)


def _from_its_start(
    profile: Mapping[str, Any],
    values: Resolved,
    transfer: Transfer,
    bucket: Bucket,
    share: float,
    *,
    restored_at_s: float = math.inf,
) -> dict[str, Any]:
    """The wire with t = 0 at the start of the transfer: its bucket fills from t = 0 on. The slots move with it."""
    found = dict(profile)
    for side, own in (("forward", values.up), ("backward", values.down)):
        every_s, at_s = durations.seconds(own["every"]), durations.seconds(own["at"])
        keys = {**profile[side]["profile"]["starlink"], "at": f"{(at_s - transfer.start_s % 60) % every_s:.6f} s"}
        if (side == "backward") == bucket.down:
            rate, volume = f"{bucket.rate_bps:.0f} bit/s", f"{bucket.bits / 8:.0f} B"
            keys["allowance"] = {"rate": rate, "volume": volume, "filled": share}
            # One that the transfer does not live to see would have no effect.
            if restored_at_s < transfer.omitted_s + transfer.duration_s:
                times = [f"{one:.6f} s" for one in bucket.restored_s]
                restored = times[0] if len(times) == 1 else times
                keys["allowance"] |= {"restored": restored, "restored_at": f"{restored_at_s:.6f} s"}
        found[side] = {**profile[side], "profile": {"starlink": keys}}
    return found
