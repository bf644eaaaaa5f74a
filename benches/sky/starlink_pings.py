"""Round trips over a dish near Munich and on a road in Maine, for `docs/models/starlink-unseen.md`.

`python benches/sky/starlink_pings.py --munich DATA OUT` reads `pli_normal.csv`, `pli_50k.csv`, `pli_1M.csv` and
`pli_10M.csv` of github.com/rcastellotti/idp from the folder DATA, finds the times within their whole seconds, and
writes recordings and a `cases.csv` for `skyhop validate starlink` into OUT. `--road DATA OUT` does the same with the
`ping_*.out` of github.com/NUWiNS/starlink-measurement that DATA has. `--since-edge RECORDING…` prints how long round
trips take by the time since the edge of their slot, for anything that `skyhop fit starlink` reads. `--check` prints how
well times are found that are known.
"""

from __future__ import annotations

import csv
import re
import sys
from datetime import datetime, timezone
from pathlib import Path

import numpy as np

from skyhop.starlink.measuring import FIRST_S, SLOT_S, slotted
from skyhop.starlink.recordings import Floats, read_round_trips

#: The files, and whether they judge: beside the last one the link is busy.
FILES = {"pli_normal": True, "pli_50k": True, "pli_1M": True, "pli_10M": False}

#: The first line of `cases.csv`.
CASES = "recording,kind,latitude_deg,longitude_deg,path"

#: The recorder sleeps as long after each answer, s, and waits as long for one that is lost.
SLEEP_S = TIMEOUT_S = 1.0

#: Places within a second at which a packet may have left.
PHASES = 200

#: What a row takes besides sleep and round trip: about so much at first, s. Then the rows themselves tell it.
REMAINDER_S, DEVIATION_S, LOST = 0.1, 0.02, 0.02

#: Probability that a row takes any other time, up to so long, s: the dish answers late, or two pings are lost.
OTHER, OTHER_S = 0.004, 2.5

#: Slots begin calm for about so long, and go on from the second time, s. Read from these recordings.
CALM_S, LATE_S = 2.4, 3.0


def times(second: Floats, rtt_ms: Floats, *, rounds: int = 12) -> tuple[Floats, Floats, float, float]:
    """When packets left whose times were cut to whole seconds: means and standard deviations of times in s.

    The time from row to row is 1 s, the round trip, and a remainder that is normal, or 1 s more where a ping was lost.
    Forward and backward sums over the place within the second give its distribution in each row; expectation
    maximisation gives the remainder's mean and deviation, which are returned too, in s.
    """
    phases = (np.arange(PHASES) + 0.5) / PHASES
    # From the place of a row (first axis) to that of the next.
    moves = phases[None, :] - phases[:, None]
    rests = [moves + gap - SLEEP_S - rtt / 1e3 for gap, rtt in zip(np.diff(second), rtt_ms[:-1], strict=True)]
    mean, deviation, lost = REMAINDER_S, DEVIATION_S, LOST
    for _ in range(rounds):
        usual, gone, steps = [], [], []
        for rest in rests:
            usual.append((1 - lost - OTHER) * np.exp(-0.5 * ((rest - mean) / deviation) ** 2) / deviation / 2.507)
            late = rest - mean - TIMEOUT_S
            gone.append(np.where((late > -0.02) & (late < 0.15), lost / 0.17, 0.0))
            steps.append(usual[-1] + gone[-1] + np.where((rest > 0) & (rest < OTHER_S), OTHER / OTHER_S, 0.0))
        forward = [np.full(PHASES, 1.0)]
        for step in steps:
            forward.append(forward[-1] @ step)
            forward[-1] /= forward[-1].sum()
        backward = [np.full(PHASES, 1.0)]
        for step in reversed(steps):
            backward.append(step @ backward[-1])
            backward[-1] /= backward[-1].sum()
        backward.reverse()
        sums = np.zeros(4)
        for before, step, after, own, away, rest in zip(
            forward[:-1], steps, backward[1:], usual, gone, rests, strict=True
        ):
            joint = before[:, None] * after[None, :]
            whole = (joint * step).sum()
            share = joint * own / whole
            sums += share.sum(), (share * rest).sum(), (share * rest**2).sum(), (joint * away).sum() / whole
        mean = sums[1] / sums[0]
        deviation = max(float(np.sqrt(max(sums[2] / sums[0] - mean**2, 0.0))), 0.01)
        lost = (sums[3] + 0.2) / (len(rests) + 0.4)
    each = np.array(forward) * np.array(backward)
    each /= each.sum(axis=1, keepdims=True)
    places = each @ phases
    return second + places, np.sqrt(np.maximum(each @ phases**2 - places**2, 0.0)), float(mean), deviation


def read(path: Path) -> tuple[Floats, Floats, Floats]:
    """Whole seconds, round trips, and the dish's own, a mean of some twenty in a second, in ms; NaN where empty."""
    with path.open() as file:
        rows = [[float(cell or "nan") for cell in row] for row in list(csv.reader(file))[1:] if row]
    found = np.array(rows)
    return found[:, 0], found[:, 1], found[:, 2]


def write(path: Path, sent_s: Floats, rtt_ms: Floats) -> None:
    """Writes the CSV that Skyhop reads, with the times of the answers."""
    lines = [f"{at + rtt / 1e3:.4f},{rtt:.2f}" for at, rtt in zip(sent_s, rtt_ms, strict=True)]
    path.write_text("\n".join(["unix_time_s,rtt_ms", *lines]) + "\n")


class Joined:
    """Recordings one after another with an empty slot between them, each moved by a whole number of slots."""

    def __init__(self) -> None:
        self.parts: list[tuple[Floats, Floats]] = []
        self._end = 0.0

    def add(self, sent_s: Floats, rtt_ms: Floats) -> None:
        """Appends a recording."""
        slot = np.floor((sent_s - FIRST_S) / SLOT_S)
        moved = self._end + 2 - slot[0] if self.parts else 0.0
        self.parts.append((sent_s + SLOT_S * moved, rtt_ms))
        self._end = slot[-1] + moved


def road(data: Path, out: Path) -> None:
    """Writes all texts of ping in a folder as one recording."""
    out.mkdir(parents=True, exist_ok=True)
    joined = Joined()
    rows = ["unix_time_s,rtt_ms,icmp_seq"]
    for path in sorted(data.glob("ping_*.out")):
        text = path.read_text()
        answers = [
            (datetime.fromisoformat(at).replace(tzinfo=timezone.utc).timestamp(), int(number), float(rtt))
            for at, number, rtt in re.findall(r"^\[([^]]+)\].*icmp_seq=(\d+) .*time=([\d.]+) ms$", text, re.MULTILINE)
        ]
        start = re.match(r"Start time: (\d+)", text)
        if start is None or not answers:
            sys.exit(f"{path}: has no start time or no answer")
        # The lines have local time, the start is Unix time.
        zone_s = round((int(start[1]) / 1e3 - answers[0][0]) / 900) * 900
        came_s, numbers, rtt_ms = (np.array(column) for column in zip(*answers, strict=True))
        joined.add(came_s + zone_s - rtt_ms / 1e3, rtt_ms)
        sent_s = joined.parts[-1][0]
        # Skyhop takes numbers that are missing for lost, and numbers that begin anew for another run of ping.
        rows += [
            f"{at + rtt / 1e3:.4f},{rtt:.2f},{number:.0f}"
            for at, rtt, number in zip(sent_s, rtt_ms, numbers, strict=True)
        ]
    (out / "maine.csv").write_text("\n".join(rows) + "\n")
    (out / "cases.csv").write_text(f"{CASES}\nmaine.csv,ping-csv,,,bent-pipe\n")


def munich(data: Path, out: Path) -> None:
    """Writes each file, and those that judge as one recording."""
    out.mkdir(parents=True, exist_ok=True)
    joined = Joined()
    for name, judges in FILES.items():
        second, rtt_ms, own_ms = read(data / f"{name}.csv")
        sent_s, deviations_s, mean_s, deviation_s = times(second, rtt_ms)
        print(
            f"{name}: {rtt_ms.size} round trips, mean {rtt_ms.mean():.1f} ms; remainder {1e3 * mean_s:.0f} ± "
            f"{1e3 * deviation_s:.0f} ms; times known to {deviations_s.mean():.3f} s on average, "
            f"{np.percentile(deviations_s, 95):.3f} s in 95 %"
        )
        if not np.isnan(own_ms).any():
            low, middle, high = np.percentile(own_ms, [10, 50, 90])
            own = f"10 % {low:.1f}, median {middle:.1f}, 90 % {high:.1f}, mean {own_ms.mean():.1f} ms"
            print(f"  the dish's own round trips, means of a second: {own}")
        write(out / f"{name}.csv", sent_s, rtt_ms)
        if judges:
            joined.add(sent_s, rtt_ms)
    write(out / "munich.csv", *map(np.concatenate, zip(*joined.parts, strict=True)))
    cases = [f"{name}.csv,ping-csv,48.2489,11.6532,bent-pipe" for name in ("munich", *FILES)]
    (out / "cases.csv").write_text("\n".join([CASES, *cases]) + "\n")


def change_s(phase_s: Floats, rtt_ms: Floats, begin_s: float, end_s: float, margin_s: float) -> float:
    """The time at which two means, one before and one behind it, fit best from `begin_s` to `end_s`; to 0.1 s."""
    within = (phase_s >= begin_s) & (phase_s < end_s)
    phases, rtts = phase_s[within], rtt_ms[within]

    def rest(at_s: float) -> float:
        return sum(float(np.var(part)) * part.size for part in (rtts[phases < at_s], rtts[phases >= at_s]))

    # Plus 0, so that a zero has no sign.
    return round(min(np.arange(begin_s + margin_s, end_s - margin_s + 0.01, 0.1), key=rest), 1) + 0.0


def since_edge(names: list[str]) -> None:
    """Prints a row for each part of the slot, and in how many slots its beginning is the faster part."""
    print("| recording | since the edge | round trips | 10 % | median | 90 % | mean, ms |")
    print("|---|---|---:|---:|---:|---:|---:|")
    shares = []
    for name in names:
        trips = slotted(read_round_trips(name))
        for begin, end in ((0.0, SLOT_S), (0.4, CALM_S), (LATE_S, SLOT_S)):
            rtts = trips.rtt_ms[(trips.phase_s >= begin) & (trips.phase_s < end)]
            low, middle, high = np.percentile(rtts, [10, 50, 90])
            print(
                f"| `{Path(name).name}` | {begin:g} to {end:g} s | {rtts.size} | {low:.0f} | {middle:.0f} | "
                f"{high:.0f} | {rtts.mean():.1f} |"
            )
        apart = []
        firsts, seconds = [], []
        for number in np.unique(trips.slot):
            own = trips.slot == number
            early = trips.rtt_ms[own & (trips.phase_s >= 0.4) & (trips.phase_s < CALM_S)]
            late = trips.rtt_ms[own & (trips.phase_s >= LATE_S)]
            if late.size >= 5:
                rest = late - np.median(late)
                firsts.append(rest[:-1])
                seconds.append(rest[1:])
                if early.size:
                    apart.append(early.mean() - late.mean())
        a, b = np.concatenate(firsts), np.concatenate(seconds)
        around_s = np.where(trips.phase_s > SLOT_S / 2, trips.phase_s - SLOT_S, trips.phase_s)
        first_s = change_s(around_s, trips.rtt_ms, -2.0, 2.0, 1.0)
        second_s = change_s(around_s, trips.rtt_ms, 0.5, 7.0, 1.0)
        error = np.std(apart, ddof=1) / np.sqrt(len(apart))
        shares.append(
            f"{Path(name).name}: the mean from 0.4 to {CALM_S:g} s is lower than that from {LATE_S:g} s on in "
            f"{sum(one < 0 for one in apart)} of {len(apart)} slots, by {-np.mean(apart):.1f} ± {1.96 * error:.1f} ms "
            f"on average (95 %); from {LATE_S:g} s on {a.size} successive round trips less the slot's median correlate "
            f"with {np.corrcoef(a, b)[0, 1]:.2f} ± {1.96 / np.sqrt(a.size):.2f}; two means fit best with a change at "
            f"{first_s:.1f} s, and at {second_s:.1f} s"
        )
    print("\n" + "\n".join(shares))


def check() -> None:
    """Prints the errors of times that are found, in 20 recordings of known ones."""
    errors, deviations = [], []
    for seed in range(20):
        generator = np.random.Generator(np.random.PCG64(seed))
        rtt_ms = 20 + generator.gamma(2, 20, 260)
        remainder_s = generator.normal(0.095, 0.017, 260) + np.where(generator.uniform(size=260) < 0.01, 1.03, 0.0)
        sent_s = 1.7e9 + generator.uniform() + np.concatenate([[0], np.cumsum(1 + rtt_ms / 1e3 + remainder_s)[:-1]])
        found, deviations_s, _, _ = times(np.floor(sent_s), rtt_ms)
        errors.append(found - sent_s)
        deviations.append(deviations_s)
    error, deviation = np.concatenate(errors), np.concatenate(deviations)
    print(
        f"{error.size} times: error {error.mean():+.3f} s on average, standard deviation {error.std():.3f} s, "
        f"{np.percentile(np.abs(error), 95):.3f} s in 95 %, {np.abs(error).max():.2f} s at most; "
        f"{np.mean(np.abs(error) < 1.96 * deviation):.0%} within 1.96 of the deviations that are told"
    )


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        check()
    elif sys.argv[1:2] == ["--since-edge"] and sys.argv[2:]:
        since_edge(sys.argv[2:])
    elif len(sys.argv) == 4 and sys.argv[1] in ("--munich", "--road"):
        (munich if sys.argv[1] == "--munich" else road)(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        sys.exit(__doc__)
