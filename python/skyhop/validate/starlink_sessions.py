"""Transfers beside the losses of their session: what earlier transfers of the same place tell of later ones."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from skyhop.starlink import sessions, simulating
from skyhop.starlink.transfers import Transfer

#: Runs of a transfer with the losses of its session.
SEEDS = range(1, 6)

#: Runs of a transfer at each factor that is tried. Fewer than a fit has: three transfers make up for it.
TOLD_SEEDS = range(1, 5)

#: So many transfers before one tell its losses, the latest ones. Losses of downloads drift within the hour, and with
#: more transfers the fit lags behind; with fewer chance decides. Our choice.
LATEST = 3


@dataclass(frozen=True)
class Prediction:
    """The goodput of a transfer by the losses that earlier ones of its session tell."""

    mean_bps: float
    note: str


def predictions(transfers: Mapping[int, Transfer], values: str) -> dict[int, Prediction]:
    """What each transfer gets with the losses of the latest ones that began up to two hours before it.

    `transfers` are all of one place and direction, and name their congestion control. Single flows of CUBIC or Reno
    tell losses, several flows of them are predicted, too, and others have a part only in what is left of an allowance.
    The numbers of the result are those of `transfers`.
    """
    telling = {number: one for number, one in transfers.items() if _tells(one)}
    # Several flows lose as often as one, but their goodput does not tell how often that is.
    foreseen = {number: one for number, one in transfers.items() if _tells(dataclasses.replace(one, streams=1))}
    every = list(transfers.values())
    known: dict[int, sessions.Told | None] = {}

    def told(number: int) -> sessions.Told | None:
        if number not in known:
            try:
                known[number] = sessions.told_by(telling[number], every, values, seeds=TOLD_SEEDS)
            except ValueError:
                # No factor gives its goodput, so it says nothing of the losses of others.
                known[number] = None
        return known[number]

    found = {}
    in_turn = sorted(telling, key=lambda number: telling[number].start_s)
    for number, one in foreseen.items():
        before = [other for other in in_turn if 0 < one.start_s - telling[other].start_s <= sessions.SESSION_S]
        # The latest first, so that no more are simulated than are needed.
        some = (which.log_factor for which in map(told, reversed(before)) if which is not None)
        logs = list(itertools.islice(some, LATEST))
        if logs:
            factor = math.exp(float(np.mean(logs)))
            named = f"the latest {len(logs)} transfers" if len(logs) > 1 else "the transfer"
            note = f"losses {factor:.2g} times those of the set, by the goodput of {named} of this place before"
            found[number] = Prediction(_mean_bps(one, every, values, factor), note)
    return found


def _tells(one: Transfer) -> bool:
    try:
        sessions.check(one)
    except ValueError:
        return False
    return True


def _mean_bps(one: Transfer, every: Sequence[Transfer], values: str, factor: float) -> float:
    """Mean goodput in bit/s of simulated transfers."""
    profile = sessions.sides(values, factor, down=one.reverse)
    control = (one.control or "").lower()
    delay_ms = simulating.delay_ms(one, one.reverse, control, one.least_rtt_ms, profile)
    return float(np.mean(sessions.runs(one, every, profile, delay_ms, SEEDS)[0]))
