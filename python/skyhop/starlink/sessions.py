"""The losses and the delays of a session, by single flows that losses limit: factors on those of a set.

The goodput of such a flow depends on how often it loses segments, on the round trip and on the congestion control. The
last two are known of a recording and of Linux, so the goodput tells the first: the factor on all losses of the set
between edges, and on those at edges, at which simulated transfers have the recorded goodput. The shape of the losses
is that of the set: how many come at a time, and how long fades last. `docs/models/starlink-losses.md` says what
supports this shape, and how well a fit of this kind predicts other transfers of its session. `session_delays` has the
factor on the delays, which is found first.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from skyhop import durations
from skyhop.inference import t_quantile
from skyhop.starlink import buckets, session_delays, sets, simulating
from skyhop.starlink.capacity import once
from skyhop.starlink.fitting import Parameter, comments
from skyhop.starlink.recordings import Floats
from skyhop.starlink.transfers import Transfer

#: Controls whose goodput losses limit, as Linux has them.
CONTROLS = ("cubic", "reno")

#: A transfer must be so long, s: the start of a flow is not limited by losses.
LEAST_S = 60.0

#: Mean round trips that differ by more than this share are told: the goodput depends on them, too. Our choice.
UNLIKE = 0.1

#: Runs of each transfer at each factor.
SEEDS = range(1, 9)

#: Powers of two that are tried as factors, from one end to the other, and their distance.
_LEAST, _MOST, _STEP = -4.0, 4.0, 0.5

#: A session is told by transfers that belong together: the begin of the last is at most so long after that of the
#: first, s. Losses change from hour to hour.
SESSION_S = 2 * 3600.0


@dataclass(frozen=True)
class SessionFit:
    """What the transfers of a session tell of its losses."""

    direction: str
    """`up` or `down`."""
    values: str
    """The set whose losses are scaled."""
    factor: float
    """Losses over those of the set."""
    delays: float
    """Delays over those of the set; 1 where the transfers do not tell them."""
    keys: Mapping[str, Any]
    """The keys of the profile that differ from the set's: `loss`, `fades` and `edge_loss` if the set has them, and
    `step` and `jitter` if the transfers tell them."""
    notes: tuple[str, ...]
    """What a reader must know of the transfers."""
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True)
class Told:
    """What one transfer tells of the losses of its session."""

    log_factor: float
    deviation: float
    """Standard deviation of `log_factor` by chance: by how much the goodput of simulated runs differs."""
    resent: float
    """Share of segments that simulated transfers send again at this factor."""
    mean_rtt_ms: float
    """Their mean smoothed round trip."""


def scaled(values: str, factor: float, *, down: bool) -> dict[str, Any]:
    """The keys of the losses of a set, times a factor: more of them, not longer ones."""
    found = buckets.resolved(sets.sides({"values": values}))
    own = found.down if down else found.up
    keys: dict[str, Any] = {"loss": _times(own["loss"], factor)}
    if any(np.atleast_1d(own["edge_loss"]) > 0):
        keys["edge_loss"] = _times(own["edge_loss"], factor)
    if fades := own.get("fades"):
        lengths = fades["length"]
        longest_s = max(durations.seconds(one) for one in ([lengths] if isinstance(lengths, str) else lengths))
        # No fade may be longer than the mean time between two.
        every_s = max(durations.seconds(fades["every"]) / factor, longest_s)
        keys["fades"] = {"every": f"{every_s:.4g} s", "length": lengths, "loss": fades["loss"]}
    return keys


def sides(values: str, factor: float, *, down: bool, delays: float = 1.0) -> dict[str, Any]:
    """The keys of a wire with a set whose losses are scaled in one direction, and its delays in the uplink."""
    own = {"values": values, "direction": "down" if down else "up", **scaled(values, factor, down=down)}
    return _with_delays(sets.sides(own), values, delays)


def fit_session(transfers: Sequence[Transfer], *, values: str | None = None) -> SessionFit:
    """Fits the losses of single flows of CUBIC or Reno, of one direction, that belong to one session, and their delays.

    Uploads tell the delays if their reports have smoothed round trips for each interval. `values` is the set that is
    scaled; None takes the one that `skyhop validate starlink` takes for transfers of their time. Raises ValueError for
    transfers that losses do not limit, whose delays no factor gives, and where they do not belong together.
    """
    if not transfers:
        raise ValueError("no transfer to fit")
    for one in transfers:
        check(one)
    once(transfers)
    if len({one.reverse for one in transfers}) > 1:
        raise ValueError("uploads and downloads have losses of their own: fit them apart")
    begins = [one.start_s for one in transfers]
    if max(begins) - min(begins) > SESSION_S:
        raise ValueError(
            f"the first transfer begins {(max(begins) - min(begins)) / 3600:.1f} h before the last: losses change from "
            "hour to hour, so fit transfers of at most two hours at a time"
        )
    chosen = values or sets.of_time(min(begins))
    if values is None and sets.of_time(max(begins)) != chosen:
        raise ValueError("the transfers lie on both sides of a new year that divides two sets: fit them apart")
    down = transfers[0].reverse
    delays, parameters, notes = 1.0, [], [f'fitted over values = "{chosen}" to the goodput of {_flows(transfers)}']
    telling = [one for one in transfers if session_delays.tells(one)]
    if telling:
        log_delays, deviation = session_delays.factor_of([delays_told_by(one, transfers, chosen) for one in telling])
        off = t_quantile(len(session_delays.SEEDS) - 1, level=0.9) * deviation
        delays = float(f"{math.exp(log_delays):.4g}")
        between = math.exp(log_delays - off), math.exp(log_delays + off)
        parameters.append(Parameter("delays, over those of the set", delays, *between))
        notes.append(session_delays.TOO_LOW)
        if len(telling) < len(transfers):
            notes.append(f"The delays are those of {len(telling)} of them, which have smoothed round trips.")
    elif down:
        notes.append("The delays are those of the set: they are in the uplink, and only uploads tell them.")
    else:
        notes.append("The delays are those of the set: the reports have no smoothed round trips of intervals.")
    told = [told_by(one, transfers, chosen, delays=delays) for one in transfers]
    log_factor, off = _of_session([one.log_factor for one in told], [one.deviation for one in told])
    factor = math.exp(log_factor)
    sent_again = [one.resent / _segments(one) for one in transfers if one.resent is not None]
    parameters.append(
        Parameter("losses, over those of the set", factor, math.exp(log_factor - off), math.exp(log_factor + off))
    )
    if len(transfers) == 1:
        notes.append(
            "The interval is what chance does in one transfer of this length. Record three or more in a row: they tell "
            "how a session varies."
        )
    if sent_again:
        ours = float(np.mean([one.resent for one in told]))
        notes.append(
            f"The transfers sent {100 * np.mean(sent_again):.3f} % of their segments again, simulated ones "
            f"{100 * ours:.3f} %."
        )
    if recorded_ms := [one.mean_rtt_ms for one in transfers if one.mean_rtt_ms is not None]:
        theirs_ms, ours_ms = float(np.mean(recorded_ms)), float(np.mean([one.mean_rtt_ms for one in told]))
        note = f"Their mean smoothed round trip is {theirs_ms:.3g} ms, simulated {ours_ms:.3g} ms"
        if abs(ours_ms / theirs_ms - 1) > UNLIKE:
            note += ": the delays of the session are others, and the factor on the losses makes up for that"
        notes.append(f"{note}.")
    return SessionFit(
        direction="down" if down else "up",
        values=chosen,
        factor=float(f"{factor:.4g}"),
        delays=delays,
        keys={**scaled(chosen, factor, down=down), **session_delays.scaled(chosen, delays)},
        notes=tuple(notes),
        parameters=tuple(parameters),
    )


def _of_session(logs: Sequence[float], by_chance: Sequence[float]) -> tuple[float, float]:
    """The mean of what transfers tell, and half of its 90 % interval.

    Transfers of a session differ at least by what chance does in one of this length.
    """
    chance = float(np.mean(by_chance))
    if len(logs) == 1:
        return logs[0], t_quantile(len(SEEDS) - 1, level=0.9) * chance
    scatter = max(float(np.std(logs, ddof=1)), chance)
    return float(np.mean(logs)), t_quantile(len(logs) - 1, level=0.9) * scatter / math.sqrt(len(logs))


def session_table(found: SessionFit) -> str:
    """The fit as a table of a scenario: `[links.forward.profile.starlink]` of a wire for an uplink."""
    lines = [f"# What single flows tell of their session ({found.direction}; 90 % intervals):"]
    lines += comments(found.parameters)
    lines += [f"# {note}" for note in found.notes]
    lines += ["[starlink]", f'values = "{found.values}"', f'direction = "{found.direction}"']
    lines += [f"{key} = {_toml(value)}" for key, value in found.keys.items()]
    return "\n".join(lines) + "\n"


def _segments(one: Transfer) -> float:
    """Segments that were delivered."""
    return one.mean_bps * one.duration_s / 8 / simulating.SEGMENT_B


def _flows(transfers: Sequence[Transfer]) -> str:
    controls = sorted({(one.control or "").upper() for one in transfers})
    length = f"{min(one.duration_s for one in transfers):.0f} s or more"
    return f"{len(transfers)} transfer{'s' * (len(transfers) > 1)} of {length} with {' and '.join(controls)}"


def check(one: Transfer) -> None:
    """Raises ValueError for a transfer whose goodput does not tell how often it loses segments."""
    control = (one.control or "").lower()
    if one.is_udp or one.streams > 1 or control not in CONTROLS:
        kind = (
            "UDP" if one.is_udp else f"{one.streams} flow{'s' * (one.streams > 1)} of {control or 'no named control'}"
        )
        raise ValueError(
            f"{one.name}: has {kind}; only one flow of {' or '.join(name.upper() for name in CONTROLS)} is limited by "
            "losses: fit others with --loaded"
        )
    if one.offered_bps > 0:
        raise ValueError(f"{one.name}: `-b` limited the transfer, so losses did not")
    if one.error or math.isfinite(one.all_until_s):
        raise ValueError(f"{one.name}: iperf3 ended early ({one.error or 'a flow ended before'})")
    if one.duration_s < LEAST_S:
        raise ValueError(f"{one.name}: has {one.duration_s:.0f} s; {LEAST_S:.0f} s are needed, and 300 s are better")
    if one.least_rtt_ms is None:
        raise ValueError(
            f"{one.name}: does not tell a round trip of the sender; of a download, record with --get-server-output"
        )
    if one.mean_bps <= 0:
        raise ValueError(f"{one.name}: nothing arrived")


def delays_told_by(
    one: Transfer, every: Sequence[Transfer], values: str, *, seeds: Sequence[int] = session_delays.SEEDS
) -> session_delays.DelaysTold:
    """What an upload tells of the delays of its session. The arguments are those of `told_by`."""

    def simulated(factor: float) -> list[simulating.Simulated]:
        return runs(one, every, _with_delays(sets.sides({"values": values}), values, factor), seeds)

    return session_delays.told_by(one, simulated)


def told_by(
    one: Transfer, every: Sequence[Transfer], values: str, *, seeds: Sequence[int] = SEEDS, delays: float = 1.0
) -> Told:
    """The factor on the losses at which simulated transfers have the recorded goodput, with `delays` on the delays.

    `every` are the transfers of its place and direction, which may have drained an allowance before it. Raises
    ValueError where no factor gives the recorded goodput.
    """
    known: dict[float, Floats] = {}
    delay_ms = _delay_ms(one, _with_delays(sets.sides({"values": values}), values, delays))

    def at(power: float) -> float:
        """The logarithm of the mean goodput over the recorded one."""
        if power not in known:
            profile = sides(values, 2.0**power, down=one.reverse, delays=delays)
            found = runs(one, every, profile, seeds, delay_ms=delay_ms)
            known[power] = np.array([(run.mean_bps, run.resent, run.mean_rtt_ms) for run in found]).T
        return math.log(float(known[power][0].mean()) / one.mean_bps)

    # More losses give less goodput, about as the root of their number: the search begins near there and ends where the
    # recorded goodput lies between those of two powers.
    guess = round(at(0.0) / (0.5 * math.log(2)) / _STEP) * _STEP
    power = min(max(guess, _LEAST), _MOST)
    while at(power) > 0 and power < _MOST:
        power += _STEP
    while at(power) <= 0 and power > _LEAST:
        power -= _STEP
    if at(power) <= 0:
        raise ValueError(
            f"{one.name}: had {one.mean_bps / 1e6:.3g} Mbit/s, and the set gives {_mbps(known[power][0])} with "
            f"{2**-_LEAST:g} times fewer losses, so losses did not limit it as they limit the set: see --loaded for "
            "the rate of the link"
        )
    if at(power + _STEP) > 0:
        raise ValueError(
            f"{one.name}: had {one.mean_bps / 1e6:.3g} Mbit/s, and the set gives {_mbps(known[power + _STEP][0])} with "
            f"{2**_MOST:g} times its losses: something else than losses limited it"
        )
    above, below = at(power), at(power + _STEP)
    share = above / (above - below)
    slope = (below - above) / (_STEP * math.log(2))
    goodput = known[power + _STEP if share > 0.5 else power][0]
    # A run in which nothing arrives has no logarithm.
    scatter = float(np.std(np.log(np.maximum(goodput, 1.0)), ddof=1))
    _, resent, mean_rtt_ms = (1 - share) * known[power].mean(axis=1) + share * known[power + _STEP].mean(axis=1)
    return Told((power + share * _STEP) * math.log(2), scatter / abs(slope), float(resent), float(mean_rtt_ms))


def _mbps(goodput: Floats) -> str:
    return f"{goodput.mean() / 1e6:.3g} Mbit/s"


def _with_delays(wire: dict[str, Any], values: str, factor: float) -> dict[str, Any]:
    """The keys of a wire over a set, with its delays times a factor."""
    wire["forward"]["profile"]["starlink"].update(session_delays.scaled(values, factor))
    return wire


def _delay_ms(one: Transfer, profile: Mapping[str, Any]) -> float:
    """The delay of the wire at which a transfer has the recorded least round trip."""
    return simulating.delay_ms(one, one.reverse, (one.control or "").lower(), one.least_rtt_ms, profile)


def runs(
    one: Transfer,
    every: Sequence[Transfer],
    profile: Mapping[str, Any],
    seeds: Sequence[int],
    *,
    delay_ms: float | None = None,
) -> list[simulating.Simulated]:
    """Simulated transfers, one for each seed.

    The wire has `delay_ms`, or the delay that gives the recorded least round trip. The transfer finds what the earlier
    ones of `every` have left of an allowance.
    """
    link = buckets.link_at_start(one, every, profile, down=one.reverse, seeds=seeds)
    control = (one.control or "").lower()
    wire_ms = _delay_ms(one, profile) if delay_ms is None else delay_ms

    def run(seed: int) -> simulating.Simulated:
        return simulating.transfer_run(
            one, one.reverse, control, wire_ms, link.of(seed), seed=seed, begin_s=link.begin_s
        )

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return list(threads.map(run, seeds))


def _times(loss: Any, factor: float) -> Any:
    """A probability, or quantiles of it, times a factor, at most 1."""
    found = [float(f"{min(factor * float(one), 1.0):.4g}") for one in np.atleast_1d(loss)]
    return found if isinstance(loss, Sequence) else found[0]


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(one)}" for key, one in value.items()) + " }"
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, Sequence):
        return "[" + ", ".join(_toml(one) for one in value) + "]"
    return f"{value:g}"
