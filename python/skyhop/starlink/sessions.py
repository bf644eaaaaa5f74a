"""How many losses a session has, by single flows that losses limit: a factor on the losses of a set.

The goodput of such a flow depends on how often it loses segments, on the round trip and on the congestion control. The
last two are known of a recording and of Linux, so the goodput tells the first: the factor on all losses of the set
between edges, and on those at edges, at which simulated transfers have the recorded goodput. The shape of the losses
is that of the set: how many come at a time, and how long fades last. `docs/models/starlink-losses.md` says what
supports this shape, and how well a fit of this kind predicts other transfers of its session.
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
from skyhop.starlink import buckets, sets, simulating
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
    keys: Mapping[str, Any]
    """The keys of the profile that differ from the set's: `loss`, and `fades` and `edge_loss` if the set has them."""
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


def sides(values: str, factor: float, *, down: bool) -> dict[str, Any]:
    """The keys of a wire with a set whose losses are scaled in one direction."""
    direction = "down" if down else "up"
    return sets.sides({"values": values, "direction": direction, **scaled(values, factor, down=down)})


def fit_session(transfers: Sequence[Transfer], *, values: str | None = None) -> SessionFit:
    """Fits the losses of single flows of CUBIC or Reno, of one direction, that belong to one session.

    `values` is the set whose losses are scaled; None takes the one that `skyhop validate starlink` takes for transfers
    of their time. Raises ValueError for transfers that losses do not limit, and where they do not belong together.
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
    told = [told_by(one, transfers, chosen) for one in transfers]
    logs = np.array([one.log_factor for one in told])
    log_factor = float(logs.mean())
    # Transfers of a session differ at least by what chance does in one of this length.
    chance = float(np.mean([one.deviation for one in told]))
    if logs.size > 1:
        scatter = max(float(logs.std(ddof=1)), chance)
        off = t_quantile(logs.size - 1, level=0.9) * scatter / math.sqrt(logs.size)
    else:
        off = t_quantile(len(SEEDS) - 1, level=0.9) * chance
    factor = math.exp(log_factor)
    sent_again = [one.resent / _segments(one) for one in transfers if one.resent is not None]
    parameters = [
        Parameter("losses, over those of the set", factor, math.exp(log_factor - off), math.exp(log_factor + off))
    ]
    notes = [f'fitted over values = "{chosen}" to the goodput of {_flows(transfers)}']
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
            note += ": the delays of the session are not those of the set, and the factor makes up for that"
        notes.append(f"{note}.")
    return SessionFit(
        direction="down" if down else "up",
        values=chosen,
        factor=float(f"{factor:.4g}"),
        keys=scaled(chosen, factor, down=down),
        notes=tuple(notes),
        parameters=tuple(parameters),
    )


def session_table(found: SessionFit) -> str:
    """The fit as a table of a scenario: `[links.forward.profile.starlink]` of a wire for an uplink."""
    lines = [f"# What the goodput of single flows tells of a session's losses ({found.direction}; 90 % intervals):"]
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


def told_by(one: Transfer, every: Sequence[Transfer], values: str, *, seeds: Sequence[int] = SEEDS) -> Told:
    """The factor at which simulated transfers have the recorded goodput.

    `every` are the transfers of its place and direction, which may have drained an allowance before it. Raises
    ValueError where no factor gives the recorded goodput.
    """
    control = (one.control or "").lower()
    known: dict[float, Floats] = {}
    delay_ms = simulating.delay_ms(one, one.reverse, control, one.least_rtt_ms, sets.sides({"values": values}))

    def at(power: float) -> float:
        """The logarithm of the mean goodput over the recorded one."""
        if power not in known:
            known[power] = runs(one, every, sides(values, 2.0**power, down=one.reverse), delay_ms, seeds)
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


def runs(
    one: Transfer, every: Sequence[Transfer], profile: Mapping[str, Any], delay_ms: float, seeds: Sequence[int]
) -> Floats:
    """Goodput in bit/s, share sent again and mean round trip in ms of simulated transfers, a column for each seed.

    The transfer finds what the earlier ones of `every` have left of an allowance.
    """
    link = buckets.link_at_start(one, every, profile, down=one.reverse, seeds=seeds)
    control = (one.control or "").lower()

    def run(seed: int) -> tuple[float, float, float]:
        found = simulating.transfer_run(
            one, one.reverse, control, delay_ms, link.of(seed), seed=seed, begin_s=link.begin_s
        )
        return found.mean_bps, found.resent, found.mean_rtt_ms

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        found: Floats = np.array(list(threads.map(run, seeds))).T
    return found


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
