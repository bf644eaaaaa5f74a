"""Transfers beside the losses and delays of their session, which earlier transfers of the same place tell."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from skyhop.starlink import session_delays, sessions, simulating
from skyhop.starlink.transfers import Transfer

#: Runs of a transfer with the losses of its session.
SEEDS = range(1, 6)

#: Runs of a transfer at each factor that is tried. Fewer than a fit has: three transfers make up for it.
TOLD_SEEDS = range(1, 5)

#: The same for the delays.
DELAYS_SEEDS = range(1, 9)

#: So many transfers before one tell its losses, the latest ones. Losses of downloads drift within the hour, and with
#: more transfers the fit lags behind; with fewer chance decides. Our choice.
LATEST = 3


@dataclass(frozen=True)
class Prediction:
    """A transfer by the losses and the delays that earlier ones of its session tell."""

    runs: list[simulating.Simulated]
    note: str
    has_delays: bool
    """Whether earlier ones tell its delays; else they are those of the set."""


def predictions(transfers: Mapping[int, Transfer], values: str) -> dict[int, Prediction]:
    """What each transfer gets with the losses and delays of the latest ones that began up to two hours before it.

    `transfers` are all of one place and direction, and name their congestion control. Single flows of CUBIC or Reno
    tell losses, and delays if they are uploads with smoothed round trips; several flows of them are predicted, too, and
    others have a part only in what is left of an allowance. The numbers of the result are those of `transfers`.
    """
    telling = {number: one for number, one in transfers.items() if _tells(one)}
    # Several flows lose as often as one, but their goodput does not tell how often that is.
    foreseen = {number: one for number, one in transfers.items() if _tells(dataclasses.replace(one, streams=1))}
    every = list(transfers.values())

    @functools.cache
    def told_delays(number: int) -> session_delays.DelaysTold:
        return sessions.delays_told_by(telling[number], every, values, seeds=DELAYS_SEEDS)

    def delays(numbers: Sequence[int]) -> tuple[float, int] | None:
        """The factor on the delays that the latest of these transfers tell, and how many they are."""
        latest = [number for number in numbers if session_delays.tells(telling[number])][:LATEST]
        if not latest:
            return None
        try:
            log_factor, _ = session_delays.factor_of([told_delays(number) for number in latest])
        except ValueError:
            # No factor gives their round trips, so they say nothing of others.
            return None
        # Two digits: each other factor would have its own losses of each transfer.
        return float(f"{math.exp(log_factor):.2g}"), len(latest)

    @functools.cache
    def losses(number: int, factor: float) -> float | None:
        """The logarithm of the factor on the losses that a transfer tells, with this one on the delays."""
        try:
            return sessions.told_by(telling[number], every, values, seeds=TOLD_SEEDS, delays=factor).log_factor
        except ValueError:
            # No factor gives its goodput, so it says nothing of the losses of others.
            return None

    found = {}
    in_turn = sorted(telling, key=lambda number: telling[number].start_s)
    for number, one in foreseen.items():
        before = [other for other in in_turn if 0 < one.start_s - telling[other].start_s <= sessions.SESSION_S]
        # The latest first, so that no more are simulated than are needed.
        before.reverse()
        told = delays(before)
        delay = told[0] if told else 1.0
        logs = _latest(losses(other, delay) for other in before)
        if logs:
            factor = math.exp(float(np.mean(logs)))
            named = f"the latest {len(logs)} transfers" if len(logs) > 1 else "the transfer"
            note = f"losses {factor:.2g} times those of the set, by the goodput of {named} of this place before"
            if told:
                note += f"; delays {delay:.2g} times those of the set, by the smoothed round trips of {told[1]} before"
            profile = sessions.sides(values, factor, down=one.reverse, delays=delay)
            found[number] = Prediction(sessions.runs(one, every, profile, SEEDS), note, told is not None)
    return found


def _tells(one: Transfer) -> bool:
    try:
        sessions.check(one)
    except ValueError:
        return False
    return True


def _latest(told: Iterable[float | None]) -> list[float]:
    """The first `LATEST` of them that are known."""
    return list(itertools.islice((one for one in told if one is not None), LATEST))
