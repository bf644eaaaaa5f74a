"""How full the token bucket of a link is when a recorded transfer begins, and the link with so full a bucket.

Only the engine knows the values behind a set, so they come from a scenario that it has filled in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skyhop import api, durations
from skyhop.starlink.recordings import Floats
from skyhop.starlink.transfers import Transfer

#: Bits per second of each unit that the engine writes.
_RATES = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}

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

    def __str__(self) -> str:
        return f"the allowance of {self.bits / 8e6:.4g} MB beyond {self.rate_bps / 1e6:.3g} Mbit/s"


@dataclass(frozen=True)
class Begin:
    """How a transfer finds its link."""

    profile: Mapping[str, Any]
    """The keys of the wire."""
    begin_s: float | None
    """When the simulated flows start; None at the second of the recorded minute, as slots lie in it."""
    note: str
    """How full the bucket is and why; empty without one."""


def resolved(profile: Mapping[str, Any], *, down: bool) -> dict[str, Any]:
    """Every value of the profile in a direction, as the engine fills them in; empty for a wire without a profile."""
    wire = {"between": ["terminal", "server"], "delay": "1 ms", **profile}
    (link,) = json.loads(api.scenario({"duration": "1 s", "links": [wire]}).canonical_json())["links"]
    # The engine orders the ends by name, so it may have turned the wire around.
    is_turned = link["between"] != wire["between"]
    return dict(link["backward" if down != is_turned else "forward"].get("profile", {}).get("starlink", {}))


def bucket_of(values: Mapping[str, Any], *, down: bool) -> Bucket | None:
    """The bucket in values of a direction that the engine has filled in; None without one."""
    if not (given := values.get("allowance")):
        return None
    rate, unit = given["rate"].split()
    size = re.fullmatch(r"([0-9]+) B", given["volume"])
    if size is None or unit not in _RATES:
        raise ValueError(f"allowance {given}: needs a rate in bit/s and a volume in B, as the engine writes them")
    return Bucket(
        rate_bps=float(rate) * _RATES[unit], bits=8 * float(size[1]), filled=float(given["filled"]),
        loss=_mean(values["loss"]), down=down,
    )  # fmt: skip


def _mean(quantiles: float | Sequence[float]) -> float:
    """Of a value, or of what slots draw from evenly spaced quantiles with straight lines between them."""
    values = np.atleast_1d(np.asarray(quantiles, dtype=float))
    return float(values[0] if values.size == 1 else np.mean((values[1:] + values[:-1]) / 2))


def begin(transfer: Transfer, others: Sequence[Transfer], profile: Mapping[str, Any], *, down: bool) -> Begin:
    """How a transfer finds its link after those of `others`, of the same place and direction, that began earlier.

    What arrived of these has taken tokens, and others came since. Before the first of them the bucket is as full as the
    profile says: full, unless `filled` says otherwise.
    """
    bucket = bucket_of(resolved(profile, down=down), down=down)
    if bucket is None:
        return Begin(profile, None, "")
    earlier = [one for one in others if one.start_s < transfer.start_s]
    share = bucket.filled
    if earlier:
        begins, ends, bps = np.concatenate([_sent(one) for one in earlier], axis=1)
        share = filled(bucket, begins, ends, bps, transfer.start_s)
        last = max(earlier, key=_end_s)
        since_s = transfer.start_s - _end_s(last)
        ended = f"ended {since_s:.0f} s before" if since_s >= 0 else "had not ended"
        why = f"by what arrived of earlier transfers and the tokens since; the last, {last.name}, {ended}"
    else:
        why = "which is assumed: no transfer of this place and direction that can be read began before"
    note = f"{bucket} begins {'full' if share == 1 else f'{share:.0%} full'}, {why}"
    if share == bucket.filled == 1:
        return Begin(profile, None, note)
    return Begin(_at_its_begin(profile, transfer, bucket, share), 0.0, note)


def _end_s(one: Transfer) -> float:
    return one.start_s + one.omitted_s + one.duration_s


def filled(bucket: Bucket, begins_s: Floats, ends_s: Floats, bps: Floats, at_s: float) -> float:
    """Share of the volume that is there at a time, after arrivals at rates of IP packets in intervals before it.

    The bucket is as full as `bucket.filled` when the first of them begins. Times are in s, of any clock.
    """
    missing, now_s = (1 - bucket.filled) * bucket.bits, float(begins_s.min())
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


def _sent(one: Transfer) -> Floats:
    """Begins and ends as Unix times, and rates of IP packets, of all intervals. The warm-up has the rate after it."""
    begins = one.start_s + one.omitted_s + one.begins_s
    found = np.stack([begins, begins + one.lengths_s, one.rate_bps * one.wire_factor])
    if one.omitted_s == 0:
        return found
    warm_up = np.array([[one.start_s], [one.start_s + one.omitted_s], [found[2, 0]]])
    return np.concatenate([warm_up, found], axis=1)


def _at_its_begin(profile: Mapping[str, Any], transfer: Transfer, bucket: Bucket, share: float) -> dict[str, Any]:
    """The wire with t = 0 at the begin of the transfer: its bucket fills from t = 0 on. The slots move with it."""
    found = dict(profile)
    for side in ("forward", "backward"):
        values = resolved(profile, down=side == "backward")
        every_s, at_s = durations.seconds(values["every"]), durations.seconds(values["at"])
        keys = {**profile[side]["profile"]["starlink"], "at": f"{(at_s - transfer.start_s % 60) % every_s:.6f} s"}
        if (side == "backward") == bucket.down:
            rate, volume = f"{bucket.rate_bps:.0f} bit/s", f"{bucket.bits / 8:.0f} B"
            keys["allowance"] = {"rate": rate, "volume": volume, "filled": share}
        found[side] = {**profile[side], "profile": {"starlink": keys}}
    return found
