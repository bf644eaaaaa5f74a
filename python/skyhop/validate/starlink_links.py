"""The profile `starlink` beside recordings: round trips and transfers, each simulated with the fitted values."""

from __future__ import annotations

import dataclasses
import datetime
import math
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]

from skyhop.inference import mean_and_interval
from skyhop.markdown import line
from skyhop.starlink import buckets, recordings, sets, simulating, transfers
from skyhop.starlink.buckets import LinkAtStart
from skyhop.starlink.measuring import FIRST_S, LEAST_FOR_LOSS, SLOT_S, by_the_clock, kolmogorov_smirnov
from skyhop.starlink.recordings import Floats, Recording
from skyhop.starlink.simulating import Simulated
from skyhop.starlink.transfers import Transfer
from skyhop.validate import starlink_cases, starlink_measures, starlink_sessions
from skyhop.validate.starlink_cases import Case
from skyhop.validate.starlink_measures import Compared

#: Runs of round trips whose measures are averaged: so many that they have so many round trips, within limits. Few slots
#: scatter, so a short recording needs more.
ROUND_TRIPS, LEAST_RUNS, MOST_RUNS = 55_000, 3, 12

#: Runs of transfers; where rates hold for minutes a run of five minutes has two independent ones, so it takes more. So
#: does an allowance that is restored, because few transfers see that.
TRANSFER_SEEDS = range(1, 6)
HELD_SEEDS = range(1, 21)

#: Neighbouring slots whose rates correlate as much have them for minutes.
HELD = 0.5

#: Names of modules of the kernel, which iperf3 reports, and what these controls are called here.
MODULES = {"bbr1": "bbr"}

#: Rates of seconds that scatter less than this share of their mean are those of a sender that keeps its rate.
STEADY = 0.05

#: Behind the measures of a transfer that is simulated with the delays that earlier ones tell.
DELAYS_OF_SESSION = ", delays of its session"

#: The bounds of `BOUNDS` for round trips, which smoothed ones have, too.
_OF_PINGS: dict[str, tuple[float, str]] = {
    starlink_measures.DISTANCE: (0.15, "distance"),
    starlink_measures.CONTRAST: (0.25, "share"),
    "step, mean": (0.25, "share"),
    "step, 90 %": (0.25, "share"),
    "slot autocorrelation": (0.2, "difference"),
    "trip autocorrelation": (0.2, "difference"),
    "spread": (0.25, "share"),
}

_SMOOTHED = {starlink_measures.smoothed_name(name): bound for name, bound in _OF_PINGS.items()}

#: Those that are compared once more with the delays of the session.
_OF_SESSION = {
    name: _SMOOTHED[name] for name in map(starlink_measures.smoothed_name, (starlink_measures.DISTANCE, "spread"))
}

#: How far a measure may be off. Shares are of the recorded value, the others are differences. KS of RTT, contrast,
#: goodput and the ratio of flows are the aims of the model; the others are our choice.
BOUNDS: dict[str, tuple[float, str]] = {
    **_OF_PINGS,
    "loss": (0.5, "share"),
    "loss burst": (0.25, "share"),
    "goodput": (0.2, "share"),
    "goodput, losses of its session": (0.2, "share"),
    "goodput per second, Kolmogorov-Smirnov": (0.3, "distance"),
    "window": (0.25, "share"),
    "smoothed round trip, mean": (0.25, "share"),
    **_SMOOTHED,
    **{name + DELAYS_OF_SESSION: bound for name, bound in _OF_SESSION.items()},
    "repeated": (0.5, "share"),
    "repeated in a row": (0.25, "share"),
    "repeated near edges": (0.1, "difference"),
    "ratio of flows": (0.2, "share"),
    "can be read": (0.0, "difference"),
}


@dataclass(frozen=True)
class Row:
    """One measure of one recording. `recorded` is NaN for a distance of two distributions.

    `note` says what a reader must know besides: what does not count, where a delay comes from, why a file cannot be
    read.
    """

    case: str
    measure: str
    recorded: float
    simulated: float
    off: float
    bound: float
    ok: bool
    note: str = ""
    low: float = math.nan
    high: float = math.nan
    """The 90 % interval of what other recordings of this length would have, of a link that does not change."""


@dataclass(frozen=True)
class _Read:
    """A transfer that was read, the way it went, and its sender's congestion control."""

    case: Case
    transfer: Transfer
    down: bool
    control: str
    notes: tuple[str, ...]
    """What the file says otherwise than `cases.csv`."""


def starlink(
    folder: str | os.PathLike[str], *, values: Mapping[str, Any] | None = None, part: tuple[float, float] = (0.0, 1.0)
) -> list[Row]:
    """Compares every recording of a folder's `cases.csv` with the profile, in its order.

    `values` are the keys of the profile in its `direction` ("up" without one), as `table` of a fit has them, for all
    recordings; None takes the engine's: `sets.ISL_VALUES` where `cases.csv` has a path over ISLs, `sets.NEW_VALUES` for
    recordings over other paths that began at `sets.NEW_FROM_S` or later by their own clock, else `sets.VALUES`. `part`
    is the share of each recording of round trips, from where to where in time, so that a fit can be judged on what it
    did not see. A recording that cannot be read has one row that says why, and the others are compared all the same.
    Raises ValueError for a folder without a `cases.csv` that can be read, and for a `part` of a folder without round
    trips.
    """
    root = Path(folder)
    found: dict[int, Recording | _Read] = {}
    rows: dict[int, list[Row]] = {}
    cases = starlink_cases.cases(root)
    if part != (0.0, 1.0) and not any(case.kind in starlink_cases.ROUND_TRIPS for case in cases):
        raise ValueError(
            f"{root / 'cases.csv'}: the part from {part[0]:g} to {part[1]:g} would have no effect: it is one of round "
            "trips, and transfers are compared whole"
        )
    for number, case in enumerate(cases):
        try:
            if case.kind in starlink_cases.ROUND_TRIPS:
                whole = recordings.read_round_trips(root / case.recording, start_unix_s=case.start_unix_s)
                found[number] = whole.part(*part)
            else:
                found[number] = _read(case, root)
        except (OSError, ValueError) as error:
            rows[number] = [_unread(case, str(error))]
    least = _least(cases, found)
    means: dict[tuple[str, ...], dict[int, list[tuple[float, float]]]] = {}
    for number, one in found.items():
        case = cases[number]
        profile, source = _profile(case, one, values)
        try:
            if isinstance(one, Recording):
                rows[number] = _round_trips(case.recording, one, profile)
            else:
                others = [other.transfer for other in found.values() if isinstance(other, _Read) and _alike(one, other)]
                link = buckets.link_at_start(one.transfer, others, profile, down=one.down, seeds=HELD_SEEDS)
                rows[number], ours_bps = _transfer(one, least.get(case.place), link)
        except ValueError as error:
            rows[number] = [_unread(case, str(error))]
            continue
        first = rows[number][0]
        rows[number][0] = dataclasses.replace(first, note="; ".join(filter(None, [source, first.note])))
        if isinstance(one, Recording):
            continue
        if math.isfinite(one.transfer.all_until_s):
            continue
        kind = "UDP" if one.transfer.is_udp else one.control
        if one.transfer.offered_bps > 0:
            kind += f" at {one.transfer.offered_bps / one.transfer.streams / 1e6:g} Mbit/s each"
        alike: tuple[str, ...] = (*case.place, "down" if one.down else "up", kind)
        means.setdefault(alike, {}).setdefault(one.transfer.streams, []).append((one.transfer.mean_bps, ours_bps))
    if values is None:
        simulated = {number: one for number, one in found.items() if rows[number][0].measure != "can be read"}
        for number, row in _of_sessions(simulated, least):
            rows[number].append(row)
    listed = [row for number in sorted(rows) for row in rows[number]]
    for words, by_streams in means.items():
        listed += _ratios(" ".join(word for word in words if word), by_streams)
    return listed


def _of_sessions(
    found: Mapping[int, Recording | _Read], least: Mapping[tuple[str, str, str], float]
) -> list[tuple[int, Row]]:
    """Rows of flows that losses limit, with the losses and delays that earlier single ones of their place tell."""
    groups: dict[tuple[Any, ...], dict[int, Transfer]] = {}
    names: dict[int, str] = {}
    for number, one in found.items():
        if isinstance(one, _Read) and not one.case.is_over_isls:
            own_ms = one.transfer.least_rtt_ms
            told = dataclasses.replace(
                one.transfer, reverse=one.down, control=one.control,
                least_rtt_ms=least.get(one.case.place) if own_ms is None else own_ms,
            )  # fmt: skip
            key = (one.case.place, one.down, sets.of_time(one.transfer.start_s))
            groups.setdefault(key, {})[number] = told
            names[number] = one.case.recording
    rows = []
    for (_, _, values), group in groups.items():
        for number, predicted in starlink_sessions.predictions(group, values).items():
            transfer, name = group[number], names[number]
            mean_bps = float(np.mean([run.mean_bps for run in predicted.runs]))
            row = _row(name, "goodput, losses of its session", transfer.mean_bps, mean_bps, predicted.note)
            rows.append((number, row))
            if predicted.has_delays:
                measured = starlink_measures.smoothed(transfer, predicted.runs)
                again = [each for each in measured if each.measure in _OF_SESSION]
                rows += [(number, _of_measure(name, each, DELAYS_OF_SESSION)) for each in again]
    return rows


def _alike(one: _Read, other: _Read) -> bool:
    """Whether two transfers went over the same direction of the same link."""
    return one is not other and one.case.place == other.case.place and one.down == other.down


def _profile(case: Case, one: Recording | _Read, values: Mapping[str, Any] | None) -> tuple[dict[str, Any], str]:
    """The keys of a wire with the values of a case, and a sentence on where they come from."""
    if values is not None:
        return sets.sides(values), "simulated with the fit that was given"
    began_s = one.transfer.start_s if isinstance(one, _Read) else float(one.sent_s[0])
    is_new = began_s >= sets.NEW_FROM_S
    name, why = sets.VALUES, ""
    if case.is_over_isls:
        name = sets.ISL_VALUES
    elif is_new:
        name = sets.NEW_VALUES
        why = f", the set of dishes since 2025: by its own clock this one began in {_year(began_s)}"
        if isinstance(one, Recording):
            why += "; its delays come from uploads, not from pings"
        elif one.down and not one.transfer.is_udp:
            why += "; no download with TCP is behind this set"
    source = f'simulated with values = "{name}"{why}'
    if case.place[2] and not case.names_a_path:
        source += f"; the path {case.place[2]!r} is not known and counts as a bent pipe: write bent-pipe or isl"
    return sets.sides({"values": name}), source


def _year(unix_s: float) -> int:
    return datetime.datetime.fromtimestamp(unix_s, tz=datetime.timezone.utc).year


def _read(case: Case, root: Path) -> _Read:
    transfer = transfers.read_transfer(root / case.recording)
    notes = []
    if case.flows is not None and case.flows != transfer.streams:
        notes.append(f"cases.csv says {case.flows} flows, the file {transfer.streams}, which counts")
    said = (transfer.control or case.control or "cubic").lower()
    control = MODULES.get(said, said)
    if control != said:
        notes.append(f"{'the file' if transfer.control else 'cases.csv'} says {said}, which is {control} here")
    if case.control and MODULES.get(case.control, case.control) != control:
        notes.append(f"cases.csv says {case.control}, the file {control}, which counts")
    if transfer.error:
        notes.append(f"iperf3 ended early after {transfer.duration_s:.0f} s, which count: {transfer.error}")
    if math.isfinite(transfer.all_until_s):
        notes.append(
            f"a flow ended {transfer.all_until_s:.0f} s after the start, but the simulated ones go on; its ratio to "
            "other numbers of flows is left out"
        )
    # Recordings are made at the terminal, where nothing else is said.
    down = transfer.reverse if not case.direction else case.direction == "down"
    return _Read(case, transfer, down, control, tuple(notes))


def _unread(case: Case, why: str) -> Row:
    return Row(case.recording, "can be read", 1.0, 0.0, 1.0, 0.0, ok=False, note=why)


def _least(cases: list[Case], found: Mapping[int, Recording | _Read]) -> dict[tuple[str, str, str], float]:
    """The least round trip of each place in ms, as transfers tell it, else as pings do (2 % quantile)."""
    told: dict[tuple[str, str, str], list[float]] = {}
    pings: dict[tuple[str, str, str], list[float]] = {}
    for number, one in found.items():
        place = cases[number].place
        if isinstance(one, Recording):
            pings.setdefault(place, []).append(float(np.nanpercentile(one.rtt_ms, 2)))
        elif one.transfer.least_rtt_ms is not None:
            told.setdefault(place, []).append(one.transfer.least_rtt_ms)
    return {place: min(values) for place, values in {**pings, **told}.items()}


def _row(case: str, measure: str, recorded: float, simulated: float, note: str = "") -> Row:
    bound, kind = BOUNDS[measure]
    if kind == "distance":
        off = simulated
    elif kind == "share":
        off = abs(simulated - recorded) / abs(recorded) if recorded else (0.0 if simulated == recorded else math.inf)
    else:
        off = abs(simulated - recorded)
    # What cannot be computed of the simulation is not within any bound.
    return Row(case, measure, recorded, simulated, off, bound, off <= bound, note)


def _within(row: Row, between: tuple[float, float] | None) -> Row:
    """The row with the interval of its measure."""
    return row if between is None else dataclasses.replace(row, low=between[0], high=between[1])


def _of_measure(case: str, one: Compared, behind: str = "") -> Row:
    """A measure of round trips with its interval; `behind` goes behind its name."""
    return _within(_row(case, one.measure + behind, one.recorded, one.simulated), one.between)


def _counted(case: str, measure: str, count: float, of: float, simulated: float) -> Row:
    """A share that was counted. Where none was, the recorded share may be anything up to 3 / `of` (95 %).

    So a recording without a loss says something about a model that loses packets, and no share of zero is asked for.
    """
    if count > 0:
        return _row(case, measure, count / of, simulated)
    limit = 3 / of
    note = f"none in {of:.0f}, so the share is below {limit:.2g} (95 %): the distance counts from there"
    off = max(simulated / limit - 1, 0.0) if not math.isnan(simulated) else math.inf
    bound = BOUNDS[measure][0]
    return Row(case, measure, 0.0, simulated, off, bound, off <= bound, note)


def _round_trips(case: str, recording: Recording, profile: Mapping[str, Any]) -> list[Row]:
    wanted = math.ceil(ROUND_TRIPS / recording.sent_s.size)
    seeds = range(1, 1 + min(max(wanted, LEAST_RUNS), MOST_RUNS))
    answered = recording.rtt_ms[~np.isnan(recording.rtt_ms)]
    # Base delays differ by city and gateway, and the profile does not know them. What an edge loses depends on them,
    # so the wire has them.
    trial = simulating.round_trips(recording, profile, seeds[0])
    more_ms = (float(np.median(answered)) - float(np.nanmedian(trial.rtt_ms))) / 2
    delay_ms = max(simulating.DELAY_MS + more_ms, 1.0)
    runs = [simulating.round_trips(recording, profile, seed, delay_ms=delay_ms) for seed in seeds]
    rows = []
    # In whole seconds an edge may be in the second before.
    found = starlink_measures.compared(recording, runs, edges=not recording.whole_seconds)
    for one in found:
        if one.measure == "loss":
            of = float(np.count_nonzero(~by_the_clock(recording)))
            rows.append(_within(_counted(case, "loss", one.recorded * of, of, one.simulated), one.between))
        else:
            rows.append(_of_measure(case, one))
    notes = [_on_loss(recording, told=any(one.measure == "loss" for one in found))]
    if recording.whole_seconds:
        notes.append(
            "all times are whole seconds, so which round trips left at an edge is not known: the contrast of edges is "
            "not compared"
        )
    rows[0] = dataclasses.replace(rows[0], note="; ".join(filter(None, notes)))
    return rows


def _on_loss(recording: Recording, *, told: bool) -> str:
    """Why round trips do not count for the loss, or why it has no row; empty where all count."""
    regular = int(by_the_clock(recording).sum())
    left = recording.rtt_ms.size - regular
    few = f"{left} round trips are too few to tell a loss, {LEAST_FOR_LOSS} are needed"
    if not regular:
        return "" if told else few
    by_clock = (
        f"in {regular} of {recording.rtt_ms.size} round trips losses come by a clock, as a limit on answers makes it"
    )
    return f"{by_clock}; {'the others count' if told else f'the other {few}'}"


def _transfer(one: _Read, least_ms: float | None, link: LinkAtStart) -> tuple[list[Row], float]:
    """Rows of a transfer, and the mean goodput over the seeds in bit/s."""
    transfer, down, control = one.transfer, one.down, one.control
    profile, begin_s = link.profile, link.begin_s
    own_ms = transfer.least_rtt_ms if transfer.least_rtt_ms is not None else least_ms
    delay_ms = simulating.delay_ms(transfer, down, control, own_ms, profile, begin_s=begin_s)
    # More runs where one has few independent rates, or a restoration that it may not see.
    is_rare = link.rate_correlation >= HELD or link.by_seed
    seeds = HELD_SEEDS if is_rare else TRANSFER_SEEDS
    runs = [
        simulating.transfer_run(transfer, down, control, delay_ms, link.of(seed), seed=seed, begin_s=begin_s)
        for seed in seeds
    ]
    name = one.case.recording
    source = "in this file" if transfer.least_rtt_ms is not None else "in others of this place"
    note = f"one-way delay {delay_ms:.1f} ms by the least round trip {source}"
    if own_ms is None:
        note = f"no least round trip is known of this place: one-way delay {delay_ms:.1f} ms"
    mean, half = mean_and_interval([run.mean_bps for run in runs])
    if half > 0:
        share = 100 * half / mean
        known = f"± {share:.0f} %" if share >= 1 else "less than ± 1 %"
        note += f"; the mean of {len(runs)} runs is known to {known} (95 %)"
    notes = "; ".join(filter(None, [*one.notes, note, link.note]))
    rows = [_row(name, "goodput", transfer.mean_bps, mean, notes)]
    per_second = np.concatenate([run.per_second_bps for run in runs])
    theirs = transfer.per_second()
    # A sender that keeps the rate it was given has no distribution to compare.
    keeps = transfer.is_udp or transfer.offered_bps > 0
    is_steady = keeps and float(np.std(theirs)) <= STEADY * float(np.mean(theirs))
    if theirs.size and per_second.size and not is_steady:
        distance = kolmogorov_smirnov(theirs, per_second)
        measure, note = "goodput per second, Kolmogorov-Smirnov", ""
        if not transfer.as_received:
            note = "seconds as the sender's application wrote them; --get-server-output tells what arrived"
        rows.append(_row(name, measure, math.nan, distance, note))
    if transfer.cwnd_bytes is not None:
        ours = float(np.mean([run.cwnd_bytes for run in runs]))
        rows.append(_row(name, "window", float(np.mean(transfer.cwnd_bytes)), ours))
    if transfer.mean_rtt_ms is not None:
        ours = float(np.mean([run.mean_rtt_ms for run in runs]))
        rows.append(_row(name, "smoothed round trip, mean", transfer.mean_rtt_ms, ours))
    rows += _smoothed(name, transfer, runs)
    if transfer.lost is not None and transfer.packets >= LEAST_FOR_LOSS:
        lost = float(np.mean([run.lost for run in runs]))
        rows.append(_counted(name, "loss", transfer.lost * transfer.packets, transfer.packets, lost))
    elif transfer.lost is not None:
        few = f"{transfer.packets} datagrams are too few to tell a loss"
        rows[0] = dataclasses.replace(rows[0], note=f"{rows[0].note}; {few}")
    return rows + _repeated(name, transfer, runs), mean


def _smoothed(name: str, transfer: Transfer, runs: list[Simulated]) -> list[Row]:
    """The measures of the sender's smoothed round trips."""
    rows = [_of_measure(name, one) for one in starlink_measures.smoothed(transfer, runs)]
    if rows and not transfer.is_start_exact:
        why = "the file tells its start in whole seconds, so the contrast of edges is not compared"
        rows[0] = dataclasses.replace(rows[0], note=why)
    return rows


def _repeated(name: str, transfer: Transfer, runs: list[Simulated]) -> list[Row]:
    """Share of segments that were sent again, how many at a time, and how many near edges."""
    if transfer.resent is None:
        return []
    segments = float(np.sum(transfer.rate_bps * transfer.lengths_s)) / 8 / simulating.SEGMENT_B
    rows = [_counted(name, "repeated", transfer.resent, segments, float(np.mean([run.resent for run in runs])))]
    if transfer.retransmits is None or not transfer.retransmits.any():
        return rows
    count = float(transfer.retransmits.sum())
    begin_s = transfer.start_s + transfer.omitted_s
    begins, lengths = transfer.sent_begins_s, transfer.sent_lengths_s
    # A report says how many there were between two moments: the simulated ones are counted and placed alike.
    ends = transfer.start_s % 60 + transfer.omitted_s + np.append(begins, begins[-1] + lengths[-1])
    in_bins = np.array([np.histogram(run.resends_s, ends)[0] for run in runs])
    if in_bins.any():
        theirs, ours = (float(counts[counts > 0].mean()) for counts in (transfer.retransmits, in_bins))
        rows.append(_row(name, "repeated in a row", theirs, ours))
        # A few dozen are needed for a share; with 30 its standard deviation is a twentieth.
        if count >= 30:
            near = _near(begin_s + begins + lengths / 2)
            theirs, ours = (float(np.average(near, weights=one)) for one in (transfer.retransmits, in_bins.sum(axis=0)))
            rows.append(_row(name, "repeated near edges", theirs, ours))
    return rows


def _near(times_s: Floats) -> Any:
    """Which events lie within 1.5 s after edges, a tenth of the time."""
    return (times_s - FIRST_S) % SLOT_S < 1.5


def _ratios(case: str, by_streams: Mapping[int, list[tuple[float, float]]]) -> list[Row]:
    """Goodput of several flows over that of the fewest, recorded and simulated, each the mean of its recordings."""
    means = {streams: np.mean(found, axis=0) for streams, found in sorted(by_streams.items())}
    (fewest, (recorded, simulated)), *others = means.items()
    rows = []
    for streams, (theirs, ours) in others:
        if recorded > 0 and simulated > 0:
            label = f"{case}: {streams} flows over {fewest}"
            rows.append(_row(label, "ratio of flows", float(theirs / recorded), float(ours / simulated)))
    return rows


def starlink_summary(rows: list[Row]) -> str:
    """One sentence: how many measures keep their bounds."""
    cases = len({row.case for row in rows})
    unread = sum(row.measure == "can be read" for row in rows)
    said = f" {unread} recordings cannot be read." if unread else ""
    return f"{sum(row.ok for row in rows)} of {len(rows)} measures of {cases} cases are within their bounds.{said}"


def starlink_markdown(rows: list[Row]) -> str:
    """All rows as a Markdown table, after the summary and the notes."""
    lines = [starlink_summary(rows), *(f"- {row.case}, {row.measure}: {row.note}" for row in rows if row.note), ""]
    lines += ["| case | measure | recorded | simulated | off | bound | |", "|---|---|---:|---:|---:|---:|---|"]
    lines += [line(cells(row)) for row in rows]
    return "\n".join(lines) + "\n"


def cells(row: Row) -> list[str]:
    """The row as text: shares in percent."""
    if row.measure == "can be read":
        return [row.case, row.measure, "–", "–", "–", "–", "missed"]
    share = BOUNDS[row.measure][1] == "share"
    off, bound = ((f"{100 * x:.0f} %" if share else f"{x:.3g}") for x in (row.off, row.bound))
    recorded = "–" if math.isnan(row.recorded) else f"{row.recorded:.4g}"
    if not math.isnan(row.low):
        recorded += f" ({row.low:.3g} to {row.high:.3g})"
    return [row.case, row.measure, recorded, f"{row.simulated:.4g}", off, bound, "ok" if row.ok else "missed"]


def values_of(file: str | os.PathLike[str]) -> dict[str, Any]:
    """The keys of the profile in a table that `skyhop fit starlink` wrote.

    Its `direction` says which direction of the link has them. Raises ValueError for a file without the table `starlink`
    and for another direction than "up" and "down".
    """
    try:
        found = tomllib.loads(Path(file).read_text(encoding="utf-8"))["starlink"]
    except (KeyError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{os.fspath(file)}: has no table [starlink]: {error}") from None
    if (said := found.get("direction", "up")) not in ("up", "down"):
        raise ValueError(f'{os.fspath(file)}: the direction {said!r} is not known; write "up" or "down"')
    return dict(found)
