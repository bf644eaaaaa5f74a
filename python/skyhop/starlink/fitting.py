"""Fits the profile `starlink` to recorded round trips: what a slot adds, what varies within it, the pause at its edge.

A round trip is base + step of its slot + spread of its slot times jitter, and near an edge the rest of a pause. The
step, the spread and the jitter are taken as they are in the recording, as quantiles; the length of the pause is
lognormal, found by holding the delays after the edges against the model's.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from skyhop.starlink.measuring import EDGE_S, SLOT_S, Slotted, by_the_clock, calm, slotted
from skyhop.starlink.recordings import Floats, Recording

#: Evenly spaced quantiles of each distribution: 5 % apart.
QUANTILES = 21

#: The lengths of pauses, whose distribution has no end, are cut at these shares, and the least jitter at the first.
ENDS = (0.005, 0.995)

#: Delays in this time after the edge tell the pause; in these steps of the phase, s.
PAUSE_SEEN_S = 0.4
PAUSE_STEP_S = 0.05

#: Medians, in s, and standard deviations of the logarithm among which the pause is looked for, beside no pause.
PAUSES_S = np.arange(0.02, 0.26, 0.01)
DEVIATIONS = np.arange(0.1, 1.21, 0.1)

#: Draws for intervals: whole slots, with replacement.
DRAWS = 200

#: The bound of `skyhop validate starlink` for the mean step.
STEP_BOUND = 0.25

#: Slots that are needed.
LEAST_SLOTS = 20


@dataclass(frozen=True)
class Parameter:
    """A parameter with its 90 % interval over draws of slots; lengths in ms."""

    name: str
    value: float
    low: float
    high: float


def interval(drawn: Sequence[float]) -> tuple[float, float]:
    """5 and 95 % of what draws gave; NaN without draws."""
    low, high = np.percentile(drawn, [5, 95]) if drawn else (math.nan, math.nan)
    return float(low), float(high)


def comments(parameters: Sequence[Parameter]) -> list[str]:
    """A line for each parameter, with its interval where there is one."""
    lines = []
    for one in parameters:
        between = "" if math.isnan(one.low) else f" ({one.low:.3g} to {one.high:.3g})"
        lines.append(f"# {one.name}: {one.value:.3g}{between}")
    return lines


@dataclass(frozen=True)
class Fit:
    """Quantiles in ms (spread: a factor around 1), and what a reader wants to know of them."""

    step_ms: tuple[float, ...]
    jitter_ms: tuple[float, ...]
    spread: tuple[float, ...]
    pause_ms: tuple[float, ...]
    correlation: float
    """Correlation of the normal scores of neighbouring slots; NaN where fewer than 20 pairs tell it."""
    base_ms: float
    """Least round trip of the recording's place: not a value of the profile but of the link's delay."""
    loss_near_edges: float
    """Losses within 1.5 s of edges as a share of all, over the share of time: 1 where the edges lose no more."""
    slots: int
    steps_ms: tuple[float, float]
    """Mean step between neighbouring slots in the first and in the second half of the slots; NaN without neighbours."""
    early: int
    """Round trips that left within 0.4 s after an edge, which tell the pause."""
    parameters: tuple[Parameter, ...]

    @property
    def pause_note(self) -> str:
        """What a reader must know of the pause; empty where it lies within what is looked for."""
        if self.pause_ms[-1] == 0:
            return (
                f"No pause shows in the {self.early} round trips that left within {PAUSE_SEEN_S:g} s after an edge. "
                f"One shorter than {500 * PAUSE_STEP_S:g} ms would not show."
            )
        of = {one.name: one.value for one in self.parameters if one.name.startswith("pause")}
        median_ms, deviation = of.values()
        if median_ms < 1e3 * PAUSES_S[-1] - 1 and deviation < DEVIATIONS[-1] - 0.01:
            return ""
        return (
            f"The pause is at the end of what is looked for, a median up to {1e3 * PAUSES_S[-1]:.0f} ms and a standard "
            f"deviation of the logarithm up to {DEVIATIONS[-1]:.1f}: it may be longer."
        )

    @property
    def changes(self) -> bool:
        """Whether the halves differ so much that one would not predict the other within the bound of its step."""
        first, second = self.steps_ms
        return abs(first - second) > STEP_BOUND * min(first, second)


@dataclass(frozen=True)
class _Parts:
    floors: Floats
    factors: Floats
    jitter: Floats
    pause: tuple[float, float]


def fit(recordings: Sequence[Recording], *, draws: int = DRAWS, seed: int = 1) -> Fit:
    """Fits all recordings together; each is taken less its own least delay of a slot.

    Raises ValueError for fewer than 20 slots with 10 round trips or more away from the edges, and for a recording that
    is given twice.
    """
    for first, second in itertools.combinations(recordings, 2):
        # Text and tables of one recording round differently.
        a, b = (np.unique(np.round(one.sent_s, 2) + 1j * np.round(one.rtt_ms)) for one in (first, second))
        if np.intersect1d(a, b).size > 0.5 * min(a.size, b.size):
            raise ValueError(f"{first.name} and {second.name} are the same recording: its slots would count twice")
    slots: list[Slotted] = []
    base_ms = math.inf
    numbers: list[float] = []
    for place, recording in enumerate(recordings):
        trips = slotted(recording)
        whole = _slots(trips)
        if whole:
            floor = float(np.percentile([np.percentile(one.rtt_ms, 2) for one in whole], 1))
            base_ms = min(base_ms, floor)
            slots += [Slotted(one.slot, one.phase_s, one.rtt_ms - floor) for one in whole]
            # Slots of different recordings are not neighbours.
            numbers += [float(one.slot[0]) + 1e12 * place for one in whole]
    if len(slots) < LEAST_SLOTS:
        raise ValueError(
            f"{len(slots)} slots with 10 round trips or more are not enough for a fit: record five minutes at least"
        )
    parts = _parts(slots)
    generator = np.random.Generator(np.random.PCG64(seed))
    summaries: dict[str, Callable[[_Parts], float]] = {
        "step, mean": lambda one: float(np.mean(quantiles(one.floors))),
        "step, 90 %": lambda one: float(np.percentile(one.floors - one.floors.min(), 90)),
        "jitter, median": lambda one: float(np.median(one.jitter)),
        "jitter, 10 to 90 %": lambda one: float(np.subtract(*np.percentile(one.jitter, [90, 10]))),
        "spread, standard deviation of its logarithm": lambda one: float(np.std(np.log(one.factors))),
        "pause, median": lambda one: 1e3 * math.exp(one.pause[0]),
        "pause, standard deviation of its logarithm": lambda one: one.pause[1],
    }
    drawn = [_parts([slots[n] for n in generator.integers(0, len(slots), len(slots))]) for _ in range(draws)]
    parameters = [Parameter(name, of(parts), *interval([of(one) for one in drawn])) for name, of in summaries.items()]
    correlation, pairs = neighbours(np.array(numbers), parts.floors)
    if not math.isnan(correlation):
        between = correlation_interval(correlation, pairs) if draws else (math.nan, math.nan)
        parameters.append(Parameter("correlation of neighbouring slots", correlation, *between))
    mean, deviation = parts.pause
    shares = np.linspace(*ENDS, QUANTILES)
    pause = tuple(round(1e3 * math.exp(mean + deviation * _normal(float(share))), 1) for share in shares)
    return Fit(
        step_ms=_rounded(quantiles(parts.floors)), jitter_ms=_rounded(quantiles(parts.jitter)),
        spread=_rounded(quantiles(parts.factors, zero=False), 3), pause_ms=pause,
        correlation=math.nan if math.isnan(correlation) else round(min(max(correlation, 0.0), 0.9), 2), base_ms=base_ms,
        loss_near_edges=_near_edges(recordings), slots=len(slots), steps_ms=_steps(slots, np.array(numbers)),
        early=sum(int(np.count_nonzero(one.phase_s < PAUSE_SEEN_S)) for one in slots), parameters=tuple(parameters),
    )  # fmt: skip


def _steps(slots: Sequence[Slotted], numbers: Floats) -> tuple[float, float]:
    """Mean distance of the medians of neighbouring slots in each half."""
    inside = [(one.phase_s >= 2 * EDGE_S) & (one.phase_s < SLOT_S - EDGE_S) for one in slots]
    medians = np.array([np.median(one.rtt_ms[where]) for one, where in zip(slots, inside, strict=True)])
    half = len(slots) // 2
    found = []
    for part in (slice(None, half), slice(half, None)):
        beside = np.diff(numbers[part]) == 1
        steps = np.abs(np.diff(medians[part]))[beside]
        found.append(float(np.mean(steps)) if steps.size else math.nan)
    return round(found[0], 2), round(found[1], 2)


def _slots(trips: Slotted) -> list[Slotted]:
    """The round trips of each slot that `calm` takes."""
    found = []
    for number in calm(trips)[0]:
        of = trips.slot == number
        found.append(Slotted(trips.slot[of], trips.phase_s[of], trips.rtt_ms[of]))
    return found


def _parts(slots: Sequence[Slotted]) -> _Parts:
    medians, factors, rest = [], [], []
    early_phases, early_rests = [], []
    for one in slots:
        inside = (one.phase_s >= 2 * EDGE_S) & (one.phase_s < SLOT_S - EDGE_S)
        rtts = one.rtt_ms[inside]
        low, middle, high = np.percentile(rtts, [10, 50, 90])
        medians.append(middle)
        factors.append(max(high - low, 0.1))
        rest.append(rtts - middle)
        early = one.phase_s < PAUSE_SEEN_S
        early_phases.append(one.phase_s[early])
        early_rests.append(one.rtt_ms[early] - middle)
    scale = np.array(factors) / float(np.median(factors))
    standard = np.concatenate([one / factor for one, factor in zip(rest, scale, strict=True)])
    # The width of some fifty round trips is uncertain: what the same number from one distribution would show is taken
    # out of the factors' spread.
    count = int(np.median([one.size for one in rest]))
    blocks = standard[: standard.size // count * count].reshape(-1, count)
    shuffled = np.random.Generator(np.random.PCG64(7)).permutation(standard)[: blocks.size].reshape(-1, count)
    noise = np.std(np.log(np.maximum(np.subtract(*np.percentile(shuffled, [90, 10], axis=1)), 0.1)))
    seen = np.std(np.log(scale))
    shrink = math.sqrt(max(0.0, 1 - (noise / seen) ** 2)) if seen > 0 else 0.0
    scale = np.exp(np.log(scale) * shrink)
    least = float(np.quantile(standard, ENDS[0]))
    jitter = np.maximum(standard - least, 0.0)
    floors = _independent(np.array(medians) + scale * least, scale * float(np.median(jitter)), np.array(medians))
    pause = _pause(np.concatenate(early_phases), np.concatenate(early_rests), standard)
    return _Parts(floors, scale, jitter, pause)


def _independent(floors: Floats, rest: Floats, medians: Floats) -> Floats:
    """The floors, drawn together so that floors and `rest` drawn independently are as far apart as the medians.

    In the recording a slot's floor is its median less `rest`, so both are related: drawn independently they would give
    steps between slots that are too large. The mean stays, and the scale is found by halving.
    """
    generator = np.random.Generator(np.random.PCG64(11))
    size = 40 * floors.size
    first, second, third, fourth = (generator.integers(0, floors.size, size) for _ in range(4))
    wanted = float(np.mean(np.abs(medians[first] - medians[second])))
    middle = float(np.mean(floors))
    low, high = 0.0, 1.5
    for _ in range(30):
        factor = (low + high) / 2
        apart = factor * (floors[first] - floors[second]) + rest[third] - rest[fourth]
        low, high = (factor, high) if float(np.mean(np.abs(apart))) < wanted else (low, factor)
    return np.asarray(middle + (floors - middle) * low)


def _pause(phases_s: Floats, rests_ms: Floats, standard: Floats) -> tuple[float, float]:
    """Mean and standard deviation of the logarithm of the pause in s, by the quartiles of the delays at each phase.

    The mean is minus infinity where no pause is as near as the nearest one.
    """
    steps = np.arange(0.0, PAUSE_SEEN_S, PAUSE_STEP_S)
    of_step = np.floor(phases_s / PAUSE_STEP_S).astype(int)
    seen = [np.percentile(rests_ms[of_step == n], [25, 50, 75]) if np.any(of_step == n) else None
            for n in range(steps.size)]  # fmt: skip
    shares = (np.arange(60) + 0.5) / 60
    normal = np.array([_normal(float(share)) for share in shares])
    noise = np.quantile(standard, (np.arange(25) + 0.5) / 25)

    def off(pauses_ms: Floats) -> float:
        total = 0.0
        for step, quartiles in zip(steps, seen, strict=True):
            if quartiles is not None:
                waits = np.maximum(pauses_ms - 1e3 * (step + PAUSE_STEP_S / 2), 0.0)
                model = np.percentile((waits[:, None] + noise[None, :]).ravel(), [25, 50, 75])
                total += float(np.sum(np.abs(model - quartiles)))
        return total

    best, least = (-math.inf, 0.0), off(np.zeros(shares.size))
    for mean in np.log(PAUSES_S):
        for deviation in DEVIATIONS:
            if (found := off(1e3 * np.exp(mean + deviation * normal))) < least:
                best, least = (float(mean), float(deviation)), found
    return best


def neighbours(numbers: Floats, values: Floats) -> tuple[float, int]:
    """Correlation of the normal scores of neighbours, and the number of pairs.

    NaN for fewer than 20 pairs, and where all values are the same.
    """
    order = np.argsort(numbers)
    _, place, counts = np.unique(values[order], return_inverse=True, return_counts=True)
    # Equal values share a rank: in their order in time they would look correlated.
    ranks = (np.cumsum(counts) - (counts + 1) / 2)[place]
    scores = np.array([_normal((float(rank) + 0.5) / ranks.size) for rank in ranks])
    beside = np.diff(numbers[order]) == 1
    pairs = int(np.count_nonzero(beside))
    if pairs < LEAST_SLOTS or counts.size < 2:
        return math.nan, pairs
    return float(np.mean(scores[:-1][beside] * scores[1:][beside]) / np.var(scores)), pairs


def correlation_interval(correlation: float, pairs: int) -> tuple[float, float]:
    """The 90 % interval of a correlation from so many pairs (Fisher's)."""
    centre, wide = math.atanh(min(max(correlation, -0.999), 0.999)), 1.645 / math.sqrt(pairs - 3)
    return math.tanh(centre - wide), math.tanh(centre + wide)


def _near_edges(recordings: Sequence[Recording]) -> float:
    near = total = 0
    for recording in recordings:
        lost = np.isnan(recording.rtt_ms) & ~by_the_clock(recording)
        phase = (recording.sent_s[lost] - 12.0) % SLOT_S
        near += int(np.count_nonzero((phase < 0.75) | (phase >= SLOT_S - 0.75)))
        total += int(lost.sum())
    return near / total / (1.5 / SLOT_S) if total else math.nan


def quantiles(values: Floats, *, zero: bool = True, count: int = QUANTILES) -> Floats:
    """So many evenly spaced quantiles, three at least; with `zero` counted from the least of them.

    The profile draws evenly between two of them. So the ends stand where the outermost gaps have the means of the
    values there; at the outermost values themselves they would stretch the distribution.
    """
    found = np.quantile(values, np.linspace(0, 1, count))
    low, high = values[values <= found[1]], values[values >= found[-2]]
    found[0] = min(max(2 * float(np.mean(low)) - found[1], found[0]), found[1])
    found[-1] = max(min(2 * float(np.mean(high)) - found[-2], found[-1]), found[-2])
    return np.asarray(np.maximum(found - found[0], 0.0) if zero else found)


def _rounded(values: Floats, digits: int = 1) -> tuple[float, ...]:
    return tuple(round(float(value), digits) for value in values)


def _normal(share: float) -> float:
    """The quantile of the standard normal distribution."""
    from statistics import NormalDist

    return NormalDist().inv_cdf(share)


def table(found: Fit, *, direction: str = "up") -> str:
    """The fit as a table of a scenario: `[links.forward.profile.starlink]` of a wire."""

    def lengths(values: Sequence[float]) -> str:
        return "[" + ", ".join(f'"{value:g} ms"' for value in values) + "]"

    told = any(one.name.startswith("step") and one.low == one.low for one in found.parameters)
    lines = [f"# Fitted to {found.slots} slots{'; 90 % intervals over draws of slots' if told else ''}:"]
    lines += comments(found.parameters)
    if found.changes:
        first, second = found.steps_ms
        lines.append(
            f"# The mean step between slots is {first:.3g} ms in the first half and {second:.3g} ms in the second: the "
            "link changes over longer times than this recording tells, and its steps are a mean over both."
        )
    if found.pause_note:
        lines.append(f"# {found.pause_note}")
    if math.isnan(found.correlation):
        lines.append(
            f"# Fewer than {LEAST_SLOTS} pairs of neighbouring slots, or all alike: the correlation is that of the set."
        )
    lines += [
        f"# Least round trip of the place: {found.base_ms:.1f} ms. It belongs to the delay of the link.",
        "[starlink]",
        'values = "loaded"',
        f'direction = "{direction}"',
        f"step = {lengths(found.step_ms)}",
        f"jitter = {lengths(found.jitter_ms)}",
        f"spread = [{', '.join(f'{value:g}' for value in found.spread)}]",
        f"pause = {lengths(found.pause_ms)}",
        *([] if math.isnan(found.correlation) else [f"correlation = {found.correlation:g}"]),
        'spike = ["0 ms", "0 ms"]',
        'before = "0 s"',
    ]
    return "\n".join(lines) + "\n"
