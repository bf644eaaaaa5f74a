"""Fits the profile `starlink` to recorded round trips: what a slot adds, what varies within it, the pause at its edge.

A round trip is base + step of its slot + spread of its slot times jitter, and near an edge the rest of a pause. Step,
spread and jitter are quantiles (`estimating.py`); the length of the pause is lognormal (`pauses.py`). A slot may change
its path (`changes.py`), the next one may keep it (`stays.py`), and an edge or such a change may lose what is under way
(`in_flight.py`). Outages of seconds are told from losses by chance (`outages.py`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from skyhop.starlink import changes, in_flight, outages, pauses, stays
from skyhop.starlink.chains import LEAST_PAIRS, Chains, neighbours
from skyhop.starlink.changes import Changes
from skyhop.starlink.estimating import Estimate, Slots
from skyhop.starlink.measuring import SLOT_S, Slotted, by_the_clock, calm, slotted
from skyhop.starlink.pauses import Pause
from skyhop.starlink.recordings import Floats, Places, Recording

#: Draws for intervals: whole slots, with replacement.
DRAWS = 200

#: The bound of `skyhop validate starlink` for the mean step.
STEP_BOUND = 0.25

#: Slots that are needed.
LEAST_SLOTS = 20

#: The most that a correlation of neighbouring slots is taken for, and that `rate_correlation` takes.
MOST_CORRELATION = 0.95

#: How often distributions and changes are found in turn.
_TURNS = 3

#: Slots of different recordings are so far apart.
_FAR = 1e12

#: What `Fit.parameters` has before the correlation.
NAMES = (
    "step, mean",
    "step, 90 %",
    "jitter, median",
    "jitter, 10 to 90 %",
    "spread, standard deviation of its logarithm",
    "pause, median",
    "pause, standard deviation of its logarithm",
)


@dataclass(frozen=True)
class Parameter:
    """A parameter with its 90 % interval over draws of slots; lengths in ms.

    Outages are few: the interval of their share is that of a Poisson count, and that of their median, in s, has the
    lengths that the answers around them allow.
    """

    name: str
    value: float
    low: float
    high: float


def interval(drawn: Sequence[float], values: float = math.inf) -> tuple[float, float]:
    """The 90 % interval that draws give; NaN without draws.

    Draws of few independent values scatter less than the values of new recordings would. So for few the ends stand
    farther out, as Student's t does (expanded percentiles: Hesterberg, The American Statistician 69, 2015).
    """
    if not drawn:
        return math.nan, math.nan
    more = max(values, 3.0) - 1
    z = NormalDist().inv_cdf(0.95)
    # Abramowitz and Stegun 26.7.5.
    t = z + (z**3 + z) / (4 * more) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * more**2)
    outside = 100 * NormalDist().cdf(-t * math.sqrt(1 + 1 / more))
    low, high = np.percentile(drawn, [outside, 100 - outside])
    return float(low), float(high)


def run_of(correlation: float, slots: int) -> int:
    """How many slots that follow one another are drawn together.

    So many values of an autoregressive process of the first order tell as much as one independent value.
    """
    held = min(max(correlation, 0.0), MOST_CORRELATION)
    return min(max(1, round((1 + held) / (1 - held))), max(1, slots // 8))


def drawn_places(slots: int, run: int, generator: np.random.Generator) -> Places:
    """As many places of slots as there are, drawn in runs."""
    begins = generator.integers(0, slots, math.ceil(slots / run))
    return np.asarray((begins[:, None] + np.arange(run)).ravel()[:slots] % slots)


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
    """Correlation of the normal scores of neighbouring slots beyond `stay`; NaN where fewer than 20 pairs tell it."""
    base_ms: float
    """Least round trip of the recording's place: not a value of the profile but of the link's delay."""
    loss_near_edges: float
    """Losses within 1.5 s of edges as a share of all, over the share of time: 1 where the edges lose no more."""
    slots: int
    steps_ms: tuple[float, float]
    """Mean step between neighbouring slots in the first and in the second half of the slots; NaN without neighbours."""
    early: int
    """Round trips that left within 0.4 s after an edge, which tell the pause."""
    hidden_ms: float
    """Fewer than five of these left sooner after an edge, so that a pause as short as this would not show."""
    parameters: tuple[Parameter, ...]
    reroute: float = 0.0
    """Probability that a slot changes its path; 0 where no change is claimed."""
    reroute_at_s: tuple[float, ...] = ()
    """Quantiles of the time from the start of a slot to its change."""
    stay: float = 0.0
    """Probability that a slot keeps the path of the one before; 0 where none is claimed."""
    in_flight_loss: float = 0.0
    """Probability that an edge or a change loses what is under way; 0 where no such loss is claimed."""
    obstructed_s: tuple[float, ...] = ()
    """Quantiles of the time of a long outage in each slot; empty where no outage is claimed, or too few for a list."""
    outages: int = 0
    """Long outages that are claimed."""
    outages_at_edges: bool = False
    """Whether it is claimed that they begin with edges, and not anywhere in their slots."""
    away: int = 0
    """Rows of losses over more than two slots, which no slot can hold: they are left out."""

    @property
    def outage_note(self) -> str:
        """What a reader must know of outages; empty where there are none."""
        notes = []
        if self.obstructed_s:
            keys = "`obstructed` and `obstructed_at`" if self.outages_at_edges else "`obstructed`"
            notes.append(f"An outage takes both directions: write {keys} into the profile of the other one, too.")
        elif self.outages:
            notes.append(f"{self.outages} long outages are too rare for a list of quantiles: none is written.")
        if any(one.name.startswith("outage") and not math.isnan(one.low) for one in self.parameters):
            notes.append(
                "The interval of the outages' share is that of a Poisson count. Their lengths have the range that the "
                "answers around them allow."
            )
        if self.away:
            rows = "1 row of losses" if self.away == 1 else f"{self.away} rows of losses"
            notes.append(f"Left out: {rows} over more than {outages.MOST_S:g} s, which no slot holds.")
        return " ".join(notes)

    @property
    def pause_note(self) -> str:
        """What a reader must know of the pause; empty where it lies within what is looked for."""
        if self.pause_ms[-1] == 0:
            return (
                f"No pause shows in the {self.early} round trips that left within {pauses.SEEN_S:g} s after an edge. "
                f"One shorter than {self.hidden_ms:.0f} ms would not show."
            )
        of = {one.name: one.value for one in self.parameters if one.name.startswith("pause")}
        median_ms, deviation = of.values()
        most_ms, most = pauses.MEDIANS_MS[-1], pauses.DEVIATIONS[-1]
        if median_ms < most_ms - 1 and deviation < most - 0.01:
            return ""
        return (
            f"The pause is at the end of what is looked for, a median up to {most_ms:.0f} ms and a standard "
            f"deviation of the logarithm up to {most:.1f}: it may be longer."
        )

    @property
    def changes(self) -> bool:
        """Whether the halves differ so much that one would not predict the other within the bound of its step."""
        first, second = self.steps_ms
        return abs(first - second) > STEP_BOUND * min(first, second)


def fit(recordings: Sequence[Recording], *, draws: int = DRAWS, seed: int = 1) -> Fit:
    """Fits all recordings together; each is taken less its own least delay of a slot.

    Raises ValueError for fewer than 20 slots with 10 round trips or more away from the edges, for a recording that is
    given twice, and for one whose times are whole seconds.
    """
    for one in recordings:
        if one.whole_seconds:
            # A pause of 0 would be written, because no ping seems to leave soon after an edge.
            raise ValueError(
                f"{one.name}: all its times are whole seconds, so pauses and losses at the edges of slots cannot be "
                "told; a fit needs times to a tenth of a second or finer, as `ping -D` writes them"
            )
    for first, second in itertools.combinations(recordings, 2):
        # Text and tables of one recording round differently.
        a, b = (np.unique(np.round(one.sent_s, 2) + 1j * np.round(one.rtt_ms)) for one in (first, second))
        if np.intersect1d(a, b).size > 0.5 * min(a.size, b.size):
            raise ValueError(f"{first.name} and {second.name} are the same recording: its slots would count twice")
    slots: list[Slotted] = []
    least_ms = math.inf
    numbers: list[float] = []
    less_ms: list[float] = []
    for place, recording in enumerate(recordings):
        whole = _slots(slotted(recording))
        if whole:
            floor = float(np.percentile([np.percentile(one.rtt_ms, 2) for one in whole], 1))
            least_ms = min(least_ms, floor)
            slots += [Slotted(one.slot, one.phase_s, one.rtt_ms - floor) for one in whole]
            # Slots of different recordings are not neighbours.
            numbers += [float(one.slot[0]) + _FAR * place for one in whole]
            less_ms += [floor] * len(whole)
    if len(slots) < LEAST_SLOTS:
        raise ValueError(
            f"{len(slots)} slots with 10 round trips or more are not enough for a fit: record five minutes at least"
        )
    trips, whole_fit, shown, changing = _changing(slots, less_ms)
    # The rest of a slot has another floor.
    early = pauses.early(changing.longer(slots))
    likely = pauses.likelihoods(early, whole_fit)
    pause, gain = pauses.most_likely(likely.sum(axis=0))
    pause = pause if gain >= pauses.CLAIMED else Pause(0.0, 0.0)
    numbers_of = np.array(numbers)
    seen, _ = neighbours(numbers_of, whole_fit.floors)
    reliability = 1 - whole_fit.chance / max(float(np.var(whole_fit.floors)) + whole_fit.chance, 1e-9)
    chains = Chains(numbers_of, reliability=reliability) if not math.isnan(seen) else None
    correlation, *between = chains.told(seen) if chains else (math.nan,) * 3
    run = run_of(0.0 if math.isnan(correlation) else correlation, len(slots))
    out = outages.outages(recordings)
    without = [_kept(one, ~out.lost(place, one.sent_s.size)) for place, one in enumerate(recordings)]
    lost = np.concatenate(
        [
            in_flight.likelihoods(one, numbers_of[of] - _FAR * place, changing.each[of])
            for place, one in enumerate(without)
            for of in [(numbers_of >= _FAR * place) & (numbers_of < _FAR * (place + 1))]
        ]
    )
    share = in_flight.most_likely(lost.sum(axis=0))
    width = float(whole_fit.jitter[18] - whole_fit.jitter[2])
    firsts = _neighbours(slots, changing.longer(slots), numbers_of)
    apart = whole_fit.floors[firsts[:, 1]] - whole_fit.floors[firsts[:, 0]]
    dense = stays.densities(apart, whole_fit.floors, width)
    none = stays.correlated(apart, whole_fit.floors, width, 0.0 if math.isnan(correlation) else correlation)
    stay = stays.most_likely(apart, dense, none, width)
    drawn = _drawn(trips, likely, pause, run, draws, seed)
    parameters = []
    for n, (name, value) in enumerate(zip(NAMES, _values(whole_fit, pause), strict=True)):
        low, high = interval([one[n] for one in drawn], len(slots) / run)
        if draws and name.startswith("spread") and whole_fit.least_deviation:
            low = 0.0
        if draws and name == "pause, median" and not pause.median_ms:
            high = pauses.longest_ms(likely.sum(axis=0))
        parameters.append(Parameter(name, value, low, high))
    if not math.isnan(correlation):
        low, high = between if draws else (math.nan, math.nan)
        parameters.append(Parameter("correlation of neighbouring slots", correlation, low, high))
    every = list(_times(len(slots), run, draws, seed))
    if changing.share:
        shares = [changes.most_likely(*shown, times, claimed=-math.inf).share for times in every]
        parameters.append(Parameter("reroute, share of slots", changing.share, *interval(shares, len(slots) / run)))
    if stay:
        shares = [
            stays.most_likely(apart, dense, none, width, times[firsts[:, 0]], claimed=-math.inf) for times in every
        ]
        parameters.append(Parameter("stay, share of neighbouring slots", stay, *interval(shares, len(slots) / run)))
    if share:
        shares = [in_flight.most_likely(times @ lost, claimed=-math.inf) for times in every]
        parameters.append(Parameter("loss in flight, share of edges", share, *interval(shares, len(slots) / run)))
    if out.share:
        low, high = out.interval() if draws else (math.nan, math.nan)
        parameters.append(Parameter("outage, share of slots", out.share, low, high))
        least, most = out.between_s if draws else (math.nan, math.nan)
        parameters.append(Parameter("outage, median in s", float(np.median(out.lengths_s)), least, most))
    soon_s = np.sort(np.concatenate([one.phase_s for one in early]))
    return Fit(
        step_ms=_rounded(whole_fit.step), jitter_ms=_rounded(whole_fit.jitter), spread=_rounded(whole_fit.spread, 3),
        pause_ms=_rounded(pause.quantiles_ms),
        correlation=_others(correlation, round(stay, 3)), stay=round(stay, 3),
        base_ms=least_ms + whole_fit.base_ms, loss_near_edges=_near_edges(without), slots=len(slots),
        steps_ms=_steps(slots, numbers_of), early=soon_s.size,
        hidden_ms=1e3 * float(soon_s[4]) if soon_s.size >= 5 else 1e3 * pauses.SEEN_S, parameters=tuple(parameters),
        reroute=round(changing.share, 3), reroute_at_s=_rounded(changing.times_s, 2) if changing.share else (),
        in_flight_loss=round(share, 2), obstructed_s=out.quantiles_s(), outages=out.lengths_s.size,
        outages_at_edges=out.at_edges, away=sum(map(len, out.away)),
    )  # fmt: skip


def _kept(recording: Recording, kept: npt.NDArray[np.bool_]) -> Recording:
    return Recording(recording.name, recording.sent_s[kept], recording.rtt_ms[kept])


def _others(correlation: float, stay: float) -> float:
    """What a scenario takes: the correlation beyond paths that stay."""
    if math.isnan(correlation):
        return math.nan
    return round(min(max(stays.between_others(correlation, stay), 0.0), 0.9), 2)


def _neighbours(slots: Sequence[Slotted], kept: Sequence[Slotted], numbers: Floats) -> Places:
    """Places of neighbouring slots, a row for each two, of which the first has its end and the second its start."""
    found = [
        (n, n + 1)
        for n in range(len(slots) - 1)
        if numbers[n + 1] - numbers[n] == 1
        and kept[n].phase_s[-1] == slots[n].phase_s[-1]
        and kept[n + 1].phase_s[0] == slots[n + 1].phase_s[0]
    ]
    return np.array(found, dtype=np.intp).reshape(-1, 2)


def _changing(
    slots: Sequence[Slotted], less_ms: Sequence[float]
) -> tuple[Slots, Estimate, tuple[Floats, float], Changes]:
    """The distributions behind slots of which some change their path, and what the likelihood says of the changes.

    Changes widen the jitter of their slots, and jitter that is too wide hides changes. So both are found in turn, the
    distributions from the longer part of each slot that changes.
    """
    kept = list(slots)
    for turn in range(_TURNS):
        trips = Slots([one.rtt_ms[one.inside] for one in kept])
        found = trips.estimate()
        shown = changes.likelihoods(slots, found, less_ms)
        changing = changes.most_likely(*shown)
        if turn == _TURNS - 1 or not changing.share:
            break
        before, kept = kept, changing.longer(slots)
        if all(np.array_equal(one.phase_s, two.phase_s) for one, two in zip(before, kept, strict=True)):
            # The next turn would take the same round trips, and so find the same.
            break
    return trips, found, shown, changing


def _times(slots: int, run: int, draws: int, seed: int) -> Iterator[Floats]:
    """How often each slot is drawn, in runs of slots, longer where these resemble each other (Künsch, Ann. Statistics
    17, 1989)."""
    generator = np.random.Generator(np.random.PCG64(seed))
    for _ in range(draws):
        yield np.bincount(drawn_places(slots, run, generator), minlength=slots).astype(float)


def _values(found: Estimate, pause: Pause) -> tuple[float, ...]:
    """The values of `NAMES`."""
    low, middle, high = (float(found.jitter[n]) for n in (2, 10, 18))
    mean = float(np.mean(found.step[1:] + found.step[:-1])) / 2
    return mean, float(found.step[18]), middle, high - low, found.deviation, pause.median_ms, pause.deviation


def _drawn(trips: Slots, likely: Floats, pause: Pause, run: int, draws: int, seed: int) -> list[tuple[float, ...]]:
    """The values of `NAMES` that draws of slots give."""
    found = []
    for times in _times(len(likely), run, draws, seed):
        one = pauses.most_likely(times @ likely)[0] if pause.median_ms else pause
        found.append(_values(trips.drawn(times), one))
    return found


def _steps(slots: Sequence[Slotted], numbers: Floats) -> tuple[float, float]:
    """Mean distance of the medians of neighbouring slots in each half."""
    medians = np.array([np.median(one.rtt_ms[one.inside]) for one in slots])
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


def _near_edges(recordings: Sequence[Recording]) -> float:
    near = total = 0
    for recording in recordings:
        lost = np.isnan(recording.rtt_ms) & ~by_the_clock(recording)
        phase = (recording.sent_s[lost] - 12.0) % SLOT_S
        near += int(np.count_nonzero((phase < 0.75) | (phase >= SLOT_S - 0.75)))
        total += int(lost.sum())
    return near / total / (1.5 / SLOT_S) if total else math.nan


def _rounded(values: Floats, digits: int = 1) -> tuple[float, ...]:
    return tuple(round(float(value), digits) for value in values)


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
    if found.outage_note:
        lines.append(f"# {found.outage_note}")
    if math.isnan(found.correlation):
        lines.append(
            f"# Fewer than {LEAST_PAIRS} pairs of neighbouring slots, or slots that cannot be told apart: the "
            "correlation is that of the set."
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
    if found.reroute:
        times = ", ".join(f'"{value:g} s"' for value in found.reroute_at_s)
        lines += [f"reroute = {found.reroute:g}", f"reroute_at = [{times}]"]
    if found.stay:
        lines.append(f"stay = {found.stay:g}")
    if found.in_flight_loss:
        lines += [f"in_flight_loss = {found.in_flight_loss:g}", "edge_loss = [0, 0]"]
    if found.obstructed_s:
        times = ", ".join(f'"{value:g} s"' for value in found.obstructed_s)
        lines.append(f"obstructed = [{times}]")
        if found.outages_at_edges:
            lines.append('obstructed_at = "edge"')
    return "\n".join(lines) + "\n"
