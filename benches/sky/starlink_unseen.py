"""The set "seoul-2026" of the profile `starlink` beside uploads over a dish that no set was made from.

`python benches/sky/starlink_unseen.py [--seeds 5]` prints the tables of `docs/models/starlink-unseen.md`, with
`--losses` what it says about losses, and with `--slots` what losses that are drawn for each slot predict. The numbers
are what iperf3 says in files of github.com/MPTCP-FreeBSD/tcp-cc-starlink (`uplink-sequential-logs/`, March 2026: Linux
6.19). Which files judge was decided by their names, before they were read. The delay of the wire is the one at which
the least smoothed round trip is the recorded one, as in `skyhop validate`.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from cells import spread
from numpy.typing import NDArray
from starlink_seoul import SEGMENT_B, Upload, keys_of, off, run, simulated, uploads

from skyhop.inference import mean_and_interval
from skyhop.starlink import losses as losses_of_slots
from skyhop.starlink.estimating import QUANTILES, evenly_spaced
from skyhop.validate.starlink_links import BOUNDS

Floats = NDArray[np.float64]

#: What iperf3 received, sent again and sent, and the least and the mean smoothed round trip. The clock in a name is
#: UTC. It is that of the file for runs 1 and 7 of CUBIC and runs 1, 2, 4 and 10 of BBR; the others lie evenly between.
SYDNEY = {
    "cubic": uploads(
        """
20260328_092541_cubic_Sydney_run1 1 cubic 300 41 11.984 343 450101248 29.990 40.915
20260328_093049_cubic_Sydney_run2 1 cubic 300 49 9.275 481 348651520 30.217 38.733
20260328_093558_cubic_Sydney_run3 1 cubic 300 58 11.082 491 416153600 26.504 41.725
20260328_094106_cubic_Sydney_run4 1 cubic 300 6 11.019 366 413794304 31.542 40.585
20260328_094614_cubic_Sydney_run5 1 cubic 300 14 9.908 485 372637696 29.059 39.188
20260328_095123_cubic_Sydney_run6 1 cubic 300 23 9.247 529 347340800 28.781 37.310
20260328_095631_cubic_Sydney_run7 1 cubic 300 31 9.003 520 338165760 31.670 38.199
20260328_100139_cubic_Sydney_run8 1 cubic 300 39 9.702 511 364380160 28.802 38.930
20260328_100648_cubic_Sydney_run9 1 cubic 300 48 13.168 378 494534656 31.187 39.787
20260328_101156_cubic_Sydney_run10 1 cubic 300 56 11.068 397 416284672 28.376 36.567
"""
    ),
    "bbr": uploads(
        """
20260328_051429_bbr1_Sydney_run1 1 bbr 300 29 27.115 26108 1024327680 31.022 66.199
20260328_051937_bbr1_Sydney_run2 1 bbr 300 37 17.991 15960 679870464 31.522 71.874
20260328_052445_bbr1_Sydney_run3 1 bbr 300 45 18.184 15789 689569792 28.380 62.387
20260328_052953_bbr1_Sydney_run4 1 bbr 300 53 28.368 25779 1069809664 30.482 68.385
20260328_053501_bbr1_Sydney_run5 1 bbr 300 1 16.776 15940 633995264 32.870 70.594
20260328_054009_bbr1_Sydney_run6 1 bbr 300 9 25.174 18746 950272000 27.015 67.742
20260328_054518_bbr1_Sydney_run7 1 bbr 300 18 21.199 18297 800194560 29.752 68.882
20260328_055026_bbr1_Sydney_run8 1 bbr 300 26 17.127 13563 644743168 30.141 70.649
20260328_055534_bbr1_Sydney_run9 1 bbr 300 34 18.883 15250 713949184 30.572 67.109
20260328_060042_bbr1_Sydney_run10 1 bbr 300 42 29.933 26908 1129054208 26.400 68.243
"""
    ),
}

#: Servers farther away. When these files began was not read, so slots lie as if they began with a full minute.
FARTHER = {
    "Tokyo": uploads(
        """
20260328_000000_cubic_Tokyo_run1 1 cubic 300 0 8.251 244 311820288 150.489 159.560
20260328_000000_cubic_Tokyo_run2 1 cubic 300 0 7.909 180 298713088 150.057 160.808
20260328_000000_cubic_Tokyo_run3 1 cubic 300 0 8.049 202 303562752 148.944 157.126
"""
    ),
    "Ohio": uploads(
        """
20260328_000000_cubic_Ohio_run1 1 cubic 300 0 6.262 220 238682112 219.137 228.420
20260328_000000_cubic_Ohio_run2 1 cubic 300 0 5.825 154 221511680 221.464 231.088
20260328_000000_cubic_Ohio_run3 1 cubic 300 0 6.325 158 240123904 219.660 226.934
"""
    ),
}

#: Of two uploads with CUBIC, all of whose seconds were read: blocks of 128 KiB and segments sent again, in turn for the
#: first 7 s and the other 8 s of each slot.
HALVES = {
    SYDNEY["cubic"][0].name: """
80:10 87:12 40:6 81:6 106:6 109:6 97:7 102:7 55:11 40:21 76:4 70:9 74:8 77:7 64:8 76:9 56:8 73:6 101:5 105:7 94:11 98:19
59:8 73:7 86:3 91:6 70:9 68:15 72:6 77:9 82:9 96:23 128:4 119:13 103:7 101:5 114:6 129:11
""",
    SYDNEY["cubic"][6].name: """
46:8 67:8 75:5 89:9 62:11 94:20 88:19 78:10 69:12 84:10 63:7 78:12 47:22 55:17 35:11 29:15 51:6 73:4 61:14 59:9 55:6
72:9 56:19 55:11 73:6 67:11 42:25 49:27 49:8 66:10 56:8 70:16 58:10 67:10 55:10 81:18 71:23 87:15
""",
}

#: Segments that these sent again from 2 s before edges until 2 s after them, by the clock of their host.
NEAR = {SYDNEY["cubic"][0].name: 79, SYDNEY["cubic"][6].name: 122}

FIRST_HALF_S, SLOT_S, NEAR_S = 7, 15, 2

#: What the sender's application writes at once, B: the unit of `HALVES`.
BLOCK_B = 131_072

#: Of the wire, for what is said of losses: that of run 1 in `skyhop validate`.
DELAY_MS = 12.8


def verdict(measure: str, ours: float, theirs: float) -> str:
    """How far the simulated value is off, and whether the bound of `skyhop validate starlink` holds."""
    bound = BOUNDS[measure][0]
    return f"{off(ours, theirs)} {'ok' if abs(ours - theirs) <= bound * theirs else 'missed'}"


def judged(label: str, group: list[Upload], keys: dict[str, Any], seeds: range, *, drained: bool) -> None:
    """Prints a row for each upload, and one for the means of all.

    With `drained` each upload finds what those before it left of the volume.
    """
    ours, theirs = [], np.array([(one.mbps, one.resent_percent, one.mean_ms) for one in group])
    for one in group:
        own = keys_of(one.name, keys, group) if drained else keys
        runs = np.array([simulated(one, own, seed) for seed in seeds])
        ours.append(runs)
        cells = [
            f"{recorded:.{digits}f}: {spread(list(column), mean_and_interval(list(column))[1], digits)}"
            for recorded, column, digits in zip(
                (one.mbps, one.resent_percent, one.mean_ms), runs.T, (1, 2, 0), strict=True
            )
        ]
        left = own.get("own", {}).get("allowance", {}).get("filled", 1.0)
        means = runs.mean(axis=0)
        print(
            f"| `{one.name.split('_', 2)[2]}` | {100 * left:.0f} % | {cells[0]} "
            f"| {verdict('goodput', means[0], one.mbps)} | {cells[1]} "
            f"| {verdict('repeated', means[1], one.resent_percent)} | {cells[2]} |",
            flush=True,
        )
    mean = np.mean([runs.mean(axis=0) for runs in ours], axis=0)
    recorded = theirs.mean(axis=0)
    print(
        f"| **{label}, mean** | | {recorded[0]:.1f}: {mean[0]:.1f} | {verdict('goodput', mean[0], recorded[0])} "
        f"| {recorded[1]:.2f}: {mean[1]:.2f} | {verdict('repeated', mean[1], recorded[1])} "
        f"| {recorded[2]:.0f}: {mean[2]:.0f} |",
        flush=True,
    )


def correlations(halves: Floats) -> tuple[float, float]:
    """How the loss of a half of a slot correlates with that of the other half, and of the half before it."""
    share = halves[:, 1] / halves[:, 0]
    same, before = (float(np.corrcoef(share[at:-1:2], share[at + 1 :: 2])[0, 1]) for at in (0, 1))
    return same, before


def lost(one: Upload, own: dict[str, Any], seed: int) -> tuple[Floats, float]:
    """Of a simulated upload: segments and losses in each half of its slots, and the share of losses near edges."""
    found = run(one, DELAY_MS, one.length_s, own, seed)
    times = found.drops.filter(found.drops["link"] == "terminal->server")["time_s"].to_numpy()
    each = np.histogram(times, np.arange(one.length_s + 1))[0]
    segments = found.flow_series["goodput_bps"].to_numpy()[: one.length_s] / 8 / SEGMENT_B
    edge = (12 - one.begin_s) % SLOT_S
    slots = (one.length_s - edge) // SLOT_S
    cuts = edge + np.add.outer(SLOT_S * np.arange(slots), [0, FIRST_HALF_S]).ravel()
    last = edge + SLOT_S * slots
    halves = np.array([np.add.reduceat(column[:last], cuts) for column in (segments, each)]).T
    near = (times - edge + NEAR_S) % SLOT_S < 2 * NEAR_S
    return halves, float(near.mean())


def losses(keys: dict[str, Any], seeds: range) -> None:
    """Prints when segments are lost, and the goodput of CUBIC with losses that come at any time."""
    sydney = {one.name: one for one in SYDNEY["cubic"]}
    for name, table in HALVES.items():
        one = sydney[name]
        recorded = np.array([[float(value) for value in half.split(":")] for half in table.split()])
        same, before = correlations(recorded)
        again = one.retransmits
        runs = [lost(one, keys, seed) for seed in seeds]
        ours = np.mean([correlations(halves) for halves, _ in runs], axis=0)
        share = 100 * np.mean([near for _, near in runs])
        random = np.random.default_rng(1)
        others = [
            correlations(np.stack([recorded[::2], random.permutation(recorded[1::2])], axis=1).reshape(-1, 2))[0]
            for _ in range(10_000)
        ]
        print(
            f"{name}: halves of a slot {same:.2f} (shuffled as high: {100 * np.mean(np.array(others) >= same):.2f} %), "
            f"of two slots {before:.2f}; simulated {ours[0]:.2f}, {ours[1]:.2f}; "
            f"near edges {100 * NEAR[name] / again:.0f} %, simulated {share:.0f} %"
        )
    for city, group in {"Sydney": SYDNEY["cubic"], **FARTHER}.items():
        resent = sum(one.retransmits for one in group) / sum(one.sent_bytes / SEGMENT_B for one in group)
        own = {**keys, "own": {"loss": round(resent, 6), "outage": ["0 ms", "0 ms"]}}
        mbps = np.mean([simulated(one, own, seed)[0] for one in group for seed in seeds])
        recorded_mbps = np.mean([one.mbps for one in group])
        print(
            f"{city}, loss {100 * resent:.3f} % at any time: {recorded_mbps:.1f} Mbit/s recorded, {mbps:.1f} simulated"
        )


def of_two() -> losses_of_slots.SlotLosses:
    """The distribution of the losses of slots in the two uploads whose seconds were read."""
    halves = [[float(value) for value in half.split(":")] for table in HALVES.values() for half in table.split()]
    blocks, again = np.array(halves).T
    slot = np.repeat(np.arange(blocks.size / 2), 2)
    return losses_of_slots.of_slots(slot, again, np.round(blocks * BLOCK_B / SEGMENT_B))


def gamma_quantiles(mean: float, shape: float) -> list[float]:
    """Evenly spaced quantiles of a gamma distribution, as many as a profile has, whose draws have the mean."""
    grid = mean * np.exp(np.linspace(-14 - 10 / min(shape, 1), np.log(40 / min(shape, 1)), 40_000))
    density = shape * np.log(grid) - shape * grid / mean
    cumulative = np.cumsum(np.exp(density - density.max()))
    points = np.interp((np.arange(2000) + 0.5) / 2000, cumulative / cumulative[-1], grid)
    found = evenly_spaced(points * mean / points.mean(), QUANTILES)
    found *= mean / np.mean((found[1:] + found[:-1]) / 2)
    return [float(f"{value:.3g}") for value in found]


def mean_and_range(values: Floats) -> tuple[float, float, float]:
    """The mean of some values, and the range of 95 % in which one more of the same kind would lie."""
    mean, around = mean_and_interval(list(values))
    # The interval of the mean is t s / sqrt(n), that of one more value t s sqrt(1 + 1/n).
    around *= np.sqrt(values.size + 1)
    return mean, mean - around, mean + around


def group_means(group: list[Upload], own: dict[str, Any], seed: int) -> Floats:
    """Mean goodput in Mbit/s and share sent again in % of a simulated group, each upload with slots of its own.

    With one seed for all of them the slots would be the same, and the mean would scatter as that of one upload.
    """
    runs = [simulated(one, own, 1000 * seed + n)[:2] for n, one in enumerate(group)]
    means: Floats = np.mean(runs, axis=0, dtype=np.float64)
    return means


def compared(group: list[Upload], keys: dict[str, Any], seeds: range) -> str:
    """Six cells of a row: goodput and share sent again of a group, each with its range and its verdict."""
    recorded = np.mean([(one.mbps, one.resent_percent) for one in group], axis=0)
    runs = np.array([group_means(group, keys, seed) for seed in seeds])
    cells = []
    for measure, digits, value, column in zip(("goodput", "repeated"), (1, 2), recorded, runs.T, strict=True):
        mean, low, high = mean_and_range(column)
        inside = "" if low <= value <= high else ", outside"
        cells += [
            f"{value:.{digits}f}: {mean:.{digits}f}",
            f"{low:.{digits}f} to {high:.{digits}f}{inside}",
            verdict(measure, mean, value),
        ]
    return " | ".join(cells)


def slots(seeds: range) -> None:
    """Prints what losses predict that are drawn for each slot, beside their mean at all times."""
    found = of_two()
    drawn = gamma_quantiles(found.mean, found.shape)
    deviation = found.mean / np.sqrt(found.shape)
    print(
        f"gain {found.gain:.1f}; loss of a slot: mean {100 * found.mean:.3f} %, standard deviation "
        f"{100 * deviation:.3f} %; variance of clumps {found.clump:.2f}"
    )
    print(f"loss = {drawn}\n")
    both = [one for one in SYDNEY["cubic"] if one.name in HALVES]
    groups = {
        "Sydney, the other eight": [one for one in SYDNEY["cubic"] if one not in both],
        **FARTHER,
        "Sydney, runs 1 and 7 (fitted)": both,
    }
    print("| uploads | loss | goodput, Mbit/s | range of 95 % | off | sent again, % | range of 95 % | off |")
    print("|---|---|---|---|---|---|---|---|")
    for label, group in groups.items():
        for how, loss in (("drawn", drawn), ("one", round(found.mean, 6))):
            own = {"values": "seoul-2026", "own": {"loss": loss, "outage": ["0 ms", "0 ms"]}}
            print(f"| {label} | {how} | {compared(group, own, seeds)} |", flush=True)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--values", default="seoul-2026")
    parser.add_argument("--losses", action="store_true", help="Only what is said of losses.")
    parser.add_argument("--slots", action="store_true", help="Only what losses that are drawn for each slot predict.")
    given = parser.parse_args()
    if given.slots:
        slots(range(1, 1 + 2 * given.seeds))
        return
    keys: dict[str, Any] = {"values": given.values}
    seeds = range(1, 1 + given.seeds)
    if given.losses:
        losses(keys, seeds)
        return
    print("| upload | volume left | goodput, Mbit/s | off | sent again, % | off | mean smoothed round trip, ms |")
    print("|---|---:|---|---|---|---|---|")
    for control, group in SYDNEY.items():
        judged(f"Sydney, {control.upper()}", group, keys, seeds, drained=True)
    for city, group in FARTHER.items():
        judged(f"{city}, CUBIC", group, keys, seeds, drained=False)


if __name__ == "__main__":
    main()
