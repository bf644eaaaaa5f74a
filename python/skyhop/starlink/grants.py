"""Fits the grants of an uplink to recorded opportunities: the period, how long a grant lasts, how it shifts within."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from skyhop.starlink.estimating import QUANTILES
from skyhop.starlink.fitting import Parameter, comments, interval
from skyhop.starlink.recordings import Floats
from skyhop.texts import text_of

#: Frames of Starlink's downlink: 750 a second (Humphreys et al., "Signal structure of the Starlink Ku-band downlink",
#: IEEE Transactions on Aerospace and Electronic Systems, 2023). Periods are looked for among whole numbers of them.
FRAME_MS = 4 / 3
MOST_FRAMES = 8

#: The clocks of recorder and scheduler drift, so phases count within so long, ms.
WINDOW_MS = 1000

#: Opportunities that a fit needs: 10 s of them.
LEAST_MS = 10_000

#: The longest period counts that shows by this share of the clearest one.
DIVISOR = 0.75

#: Shares at which the quantiles of the shift end: times in whole ms put a few grants into the wrong period.
ENDS = (0.01, 0.99)


@dataclass(frozen=True)
class GrantsFit:
    """Lengths in ms."""

    every_ms: float
    length_ms: float
    shift_ms: tuple[float, ...]
    """Evenly spaced quantiles, from 0 on."""
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True)
class Gaps:
    """What the grants of an uplink look like from outside."""

    idle: float
    """Share of the time in gaps from 2 ms on."""
    distances: Floats
    """Shares of the distances from burst to burst of 1, 2, … 12 ms and more."""
    packets: float
    """Mean number of packets in a burst."""
    lines: tuple[float, float]
    """Share of the spectrum's power within 0.5 Hz of 250 and of 500 Hz."""


def read_opportunities(path: str | os.PathLike[str]) -> Floats:
    """Times in ms at which a packet could leave, or arrived, a line each, ascending; also compressed by gzip.

    Raises ValueError for anything else and for less than 10 s.
    """
    name = Path(path).name
    try:
        times = np.array([float(line) for line in text_of(path).split()])
    except ValueError:
        raise ValueError(f"{name}: needs a number in each line, a time in ms") from None
    if times.size < 2 or not np.all(np.isfinite(times)) or np.any(np.diff(times) < 0):
        raise ValueError(f"{name}: needs finite times in ms that do not decrease, a line each")
    if times[-1] - times[0] < LEAST_MS:
        raise ValueError(f"{name}: {(times[-1] - times[0]) / 1e3:g} s are too short for grants, record 10 s at least")
    return times


def fit_grants(times_ms: Floats, *, draws: int = 200, seed: int = 1) -> GrantsFit:
    """Fits opportunities of a busy uplink; 90 % intervals come from draws of whole seconds, with replacement.

    A burst begins with an opportunity after a whole ms without one. The shift of a burst counts from the mean phase of
    its second, because the start of a period cannot be seen. Raises ValueError for less than 10 s and where no period
    shows.
    """
    span_ms = float(np.ptp(times_ms)) if times_ms.size else 0.0
    if span_ms < LEAST_MS:
        raise ValueError(f"{span_ms / 1e3:g} s of opportunities are too short for grants: 10 s are needed at least")
    begins, spans = _bursts(times_ms)
    windows = [begins[begins // WINDOW_MS == n] for n in np.unique(begins // WINDOW_MS)]
    of_span = [spans[begins // WINDOW_MS == n] for n in np.unique(begins // WINDOW_MS)]
    strengths = {k: _strength(windows, k * FRAME_MS) for k in range(1, MOST_FRAMES + 1)}
    most = max(strengths.values())
    # Divisors of a period show nearly as well as the period itself.
    frames = max(k for k, strength in strengths.items() if strength >= DIVISOR * most)
    if most < 0.2:
        raise ValueError("no period of grants shows: the uplink was not busy, or times are coarser than 1 ms")
    every = frames * FRAME_MS
    rests = [_rests(window, every) for window in windows]

    def parts(chosen: Sequence[int]) -> tuple[float, Floats]:
        found = np.concatenate([rests[n] for n in chosen])
        shift = np.quantile(found, np.linspace(*ENDS, QUANTILES))
        # A burst of less than 1 ms lies in two whole ms with this probability.
        length = float(np.mean(np.concatenate([of_span[n] for n in chosen]) > 1))
        return min(max(length, 0.05), 0.9), shift - shift[0]

    generator = np.random.Generator(np.random.PCG64(seed))
    length, shift = parts(range(len(rests)))
    drawn = [parts([int(n) for n in generator.integers(0, len(rests), len(rests))]) for _ in range(draws)]
    shift = np.minimum(shift, every - length)
    found = [
        # The period is one for all draws: it has no interval.
        ("period of grants", every, []),
        ("length of a grant", length, [one[0] for one in drawn]),
    ]
    for share in (0.5, 0.9):
        place = round(share * (QUANTILES - 1))
        name = f"shift within the period, {100 * share:.0f} %"
        found.append((name, float(shift[place]), [float(one[1][place]) for one in drawn]))
    parameters = [Parameter(name, value, *interval(values)) for name, value, values in found]
    rounded = tuple(round(float(value), 2) for value in shift)
    return GrantsFit(every, round(length, 2), rounded, tuple(parameters))


def grants_table(found: GrantsFit) -> str:
    """The fit as the key `grants` of a profile's table."""
    told = any(one.name.startswith("length") and one.low == one.low for one in found.parameters)
    lines = [f"# Grants fitted to opportunities{'; 90 % intervals over draws of seconds' if told else ''}, in ms:"]
    lines += comments(found.parameters)
    shift = ", ".join(f'"{value:g} ms"' for value in found.shift_ms)
    keys = f'every = "{found.every_ms:.6g} ms", length = "{found.length_ms:g} ms", shift = [{shift}]'
    lines += ["[starlink]", 'values = "loaded"', f"grants = {{ {keys} }}"]
    return "\n".join(lines) + "\n"


def gaps(times_ms: Floats) -> Gaps:
    """Measures of opportunities or of arrivals, for comparisons."""
    begins, _ = _bursts(times_ms)
    whole = np.floor(times_ms).astype(int)
    apart = np.diff(whole)
    distances = np.minimum(np.diff(begins).astype(int), 12)
    counts = np.bincount(whole - whole[0])
    power = np.abs(np.fft.rfft(counts - counts.mean())) ** 2
    at = np.fft.rfftfreq(counts.size, 1e-3)
    first, second = (float(power[np.abs(at - f) <= 0.5].sum() / power.sum()) for f in (250.0, 500.0))
    return Gaps(
        idle=float(apart[apart >= 2].sum() / (whole[-1] - whole[0])),
        distances=np.bincount(distances, minlength=13)[1:] / max(distances.size, 1),
        packets=float(times_ms.size / begins.size),
        lines=(first, second),
    )


def _bursts(times_ms: Floats) -> tuple[Floats, Floats]:
    """The whole ms in which each burst begins, and over how many it lasts."""
    every = np.unique(np.floor(times_ms))
    at = np.flatnonzero(np.r_[True, np.diff(every) > 1])
    return every[at], np.diff(np.r_[at, every.size]).astype(float)


def _strength(windows: Sequence[Floats], every_ms: float) -> float:
    """How well bursts of each window fall onto one phase: 1 for all on one, some 0.1 by chance."""
    found = [abs(np.mean(np.exp(2j * np.pi * window / every_ms))) for window in windows if window.size >= 20]
    return float(np.mean(found)) if found else 0.0


def _rests(begins: Floats, every_ms: float) -> Floats:
    """Distances from the mean phase, from minus to plus half a period."""
    turns = np.exp(2j * np.pi * begins / every_ms)
    return np.asarray(np.angle(turns / np.mean(turns)) / (2 * np.pi) * every_ms)
