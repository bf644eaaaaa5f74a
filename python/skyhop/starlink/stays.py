"""How often a slot keeps the path of the one before, by how far apart neighbouring slots are.

Two neighbours have one path, and then their floors are as near as a normal distribution of little width puts them, or
two paths, and then they are as far apart as any two slots. The share and the width are found by expectation and
maximisation.
"""

from __future__ import annotations

import math

import numpy as np

from skyhop.starlink.recordings import Floats

#: A path that stays is claimed where it raises the logarithm of the likelihood by this: as for a pause.
CLAIMED = 4.6

#: Pairs of neighbouring slots that are needed.
LEAST_PAIRS = 20

#: The floors of one path differ by at most so much, in standard deviations, as a part of the jitter's width.
_WIDEST = 0.25

#: Over so much to either side the differences of any two slots are counted, as a part of the jitter's width.
_FINE = 0.04

#: Pairs of neighbours that are drawn.
_PAIRS = 100_000

#: Rounds of expectation and maximisation.
_ROUNDS = 60


def densities(apart_ms: Floats, floors_ms: Floats, width_ms: float) -> Floats:
    """How dense the distances of any two slots lie at those of neighbours, 1/ms; `width_ms` is that of the jitter."""
    return _dense(apart_ms, (floors_ms[:, None] - floors_ms)[~np.eye(floors_ms.size, dtype=bool)], width_ms)


def correlated(apart_ms: Floats, floors_ms: Floats, width_ms: float, correlation: float) -> Floats:
    """The same of neighbours whose normal scores correlate and of which none stays."""
    generator = np.random.Generator(np.random.PCG64(3))
    first, other = generator.standard_normal((2, _PAIRS))
    second = correlation * first + math.sqrt(1 - correlation**2) * other
    # Equal chances of all slots: the ranks of many normal numbers are those of a uniform distribution.
    ordered = np.sort(floors_ms)
    shares = np.empty((2, _PAIRS))
    for share, one in zip(shares, (first, second), strict=True):
        share[np.argsort(one)] = np.arange(_PAIRS) / (_PAIRS - 1)
    before, after = (np.interp(share, np.linspace(0, 1, ordered.size), ordered) for share in shares)
    return _dense(apart_ms, after - before, width_ms)


def _dense(apart_ms: Floats, distances: Floats, width_ms: float) -> Floats:
    # Finer than the floors of one path differ: else small steps would look as if some paths stayed.
    near = max(_FINE * width_ms, 0.02)
    ordered = np.sort(distances)
    within = np.searchsorted(ordered, apart_ms + near) - np.searchsorted(ordered, apart_ms - near)
    # One more than were seen: a distance that no others have is rare, not impossible.
    return np.asarray((within + 1) / (ordered.size + 1) / (2 * near))


def most_likely(
    apart_ms: Floats,
    dense: Floats,
    none: Floats,
    width_ms: float,
    weights: Floats | None = None,
    *,
    claimed: float = CLAIMED,
) -> float:
    """The share of neighbours with one path; 0 where it gains less than `claimed`, or where pairs are few.

    `apart_ms` are the differences of the floors of neighbours, `dense` what `densities` says of them, and `none` what
    `correlated` does, over which paths that stay must gain; each pair counts as often as `weights` say.
    """
    times = np.ones(apart_ms.size) if weights is None else weights
    if apart_ms.size < LEAST_PAIRS or times.sum() < LEAST_PAIRS / 2:
        return 0.0
    widest = max(_WIDEST * width_ms, 0.05)
    share, width = 0.2, widest / 2
    for _ in range(_ROUNDS):
        one = share * np.exp(-0.5 * (apart_ms / width) ** 2) / (width * math.sqrt(2 * math.pi))
        posterior = one / (one + (1 - share) * dense)
        held = float((times * posterior).sum())
        share = min(held / float(times.sum()), 0.99)
        width = float(np.clip(math.sqrt(float((times * posterior) @ apart_ms**2) / max(held, 1e-9)), 0.05, widest))
    one = share * np.exp(-0.5 * (apart_ms / width) ** 2) / (width * math.sqrt(2 * math.pi))
    gain = float(times @ np.log((one + (1 - share) * dense) / none))
    return share if gain >= claimed else 0.0


def between_others(correlation: float, stay: float) -> float:
    """The correlation of slots that do not stay, where neighbours correlate with `correlation` in all.

    A slot that does not stay follows the one before in the chain of all slots, from which that one may have taken
    nothing because it stayed.
    """
    more = correlation - stay
    return more / ((1 - stay) ** 2 + stay * more) if more > 0 else 0.0
