"""A downlink from downloads with CUBIC over a dish of 2026, and downloads that it has not seen.

`python benches/sky/starlink_downloads.py` prints what the fitting files say of losses, for "A downlink fitted to
downloads" in `docs/models/starlink-unseen.md`. `--fit` finds the loss of each session, `--predict` prints what the
models say of the files that judge, `--rates` the same of downloads with BBR, and `--hours` all goodputs. The numbers
are what iperf3 says at the sender in files of github.com/MPTCP-FreeBSD/tcp-cc-starlink (`downlink-sequential-logs/`, 30
March to 1 April 2026, Linux 6.19), copied by hand. Which files fit and which judge was decided by their names, before
the judging ones were read.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlink_farther import LENGTH_S, download, one_way_ms
from starlink_unseen import verdict

from skyhop.inference import t_quantile

Floats = NDArray[np.float64]

SLOT_S, SEGMENT_B = 15, 1448


@dataclass(frozen=True)
class Total:
    """The end of a file: bytes written, segments sent again, least and mean smoothed round trip."""

    sent_b: int
    again: int
    least_ms: float = math.nan
    mean_ms: float = math.nan

    @property
    def mbps(self) -> float:
        """Goodput, as far as the sender knows it."""
        return 8e-6 * self.sent_b / LENGTH_S

    @property
    def again_percent(self) -> float:
        """Segments sent again of those sent."""
        return 100 * self.again * SEGMENT_B / self.sent_b


def totals(text: str) -> list[Total]:
    """A file each. Some have only bytes and segments sent again, because no more was read of them."""
    return [
        Total(int(sent), int(again), *map(float, ms)) for sent, again, *ms in (one.split(":") for one in text.split())
    ]


#: `cubic_CITY__REV_run1` to `run3`.
FITTING = {
    "London": totals("834404352:443:252.236:260.241 1273626624:4372:252.551:261.688 1254490112:2639:251.951:259.953"),
    "Mumbai": totals("538968064:297:155.825:161.966 692322304:1352:160.595:170.212 862060544:270:157.860:167.641"),
    "Ohio": totals("915144704:262:228.077:234.718 1011351552:2376:228.611:239.737 783941632:477:216.188:221.813"),
    "São Paulo": totals("1043595264:1802:392.122:399.626 708837376:518:384.116:392.305 693764096:301:392.345:399.164"),
    "Sydney": totals("1188298752:600:25.968:33.731 962330624:657:26.458:33.864 937558016:594:24.915:34.702"),
    "Tokyo": totals("169213952:241:144.036:149.467 292945920:306:146.696:154.814 386007040:4657:144.283:151.108"),
}


@dataclass(frozen=True)
class Block:
    """Successive seconds of a file: when the file began (s of a minute, if that was read), the first second, and of
    each one the segments sent again and the congestion window at its end in segments.
    """

    begin_s: int | None
    first: int
    rtt_s: float
    again: str
    window: str

    def arrays(self) -> tuple[Floats, Floats, Floats]:
        """Seconds, segments sent again, segments sent."""
        again = np.array(self.again.split(), dtype=float)
        window = np.array(self.window.split(), dtype=float)
        if again.size != window.size:
            raise ValueError(f"{again.size} seconds and {window.size} windows")
        return self.first + np.arange(again.size), again, window / self.rtt_s


BLOCKS = {
    "London": [
        Block(
            5,
            0,
            0.257,
            "0 1 0 1 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 19 0 0 0",
            "80 1125 938 704 524 559 583 598 605 607 607 607 611 619 634 660 696 748 818 907 1015 772 852 911 955",
        ),
        Block(
            5,
            161,
            0.266,
            "0 1 0 0 0 0 0 0 0 0 12 0 1 0 0 0 0 0 1 0 0 0 0 0 0 4 0",
            "608 459 481 527 564 588 602 609 611 611 464 518 385 417 439 454 461 463 354 396 428 446 457 462 463 "
            "359 400",
        ),
        Block(
            None,
            102,
            0.257,
            "0 0 0 4 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 2",
            "548 565 574 474 460 504 537 558 571 577 578 578 579 583 593 610 637 677 734 812 896 1012 1158 1323 1515 "
            "1748 1038",
        ),
    ],
    "Mumbai": [
        Block(
            17,
            0,
            0.162,
            "0 1 0 0 0 0 0 0 0 6 0 0 0 0 0 0 0 1 0 1 2 0 0 0 0",
            "576 642 710 760 796 820 834 842 844 622 694 749 789 815 832 840 844 628 699 526 275 298 311 318 319",
        ),
        Block(
            17,
            161,
            0.158,
            "0 1 0 1 0 0 0 0 1 0 0 1 0 1 0 0 1 0 0 0 0 1 0 0 0 0 0 1",
            "165 127 136 105 113 116 116 116 91 102 113 114 93 69 78 82 64 76 81 82 82 61 73 80 83 83 83 69",
        ),
        Block(
            None,
            99,
            0.161,
            "23 1 1 0 1 1 0 0 0 0 0 0 0 0 0 0 5 2 1 1 0 0 0 0 0 1 0",
            "433 287 232 237 182 140 152 158 159 159 160 164 174 191 219 261 138 106 84 67 72 72 72 74 79 60 76",
        ),
    ],
    "Ohio": [
        Block(
            39,
            0,
            0.237,
            "0 34 0 0 0 1 0 0 0 0 1 0 1 0 0 0 31 0 0 0 0 0 0 0 0",
            "160 139 720 794 842 623 664 692 710 720 530 566 516 443 470 486 345 378 400 412 418 419 419 420 424",
        ),
        Block(
            39,
            160,
            0.237,
            "0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 0 0 0 1 1 0 1 0 0 0 0",
            "360 371 391 424 468 529 603 705 829 983 1157 1357 1598 1248 1372 1470 1548 1610 1165 859 916 665 716 754 "
            "778 794",
        ),
    ],
    "São Paulo": [
        Block(
            15,
            0,
            0.400,
            "0 0 0 15 29 1186 0 0 3 0 17 0 1 0 1 0 0 0 0 0 0 0 0 0 0 15",
            "40 160 1280 5020 3678 2601 2730 2847 2020 2105 1630 1602 1483 1228 889 951 998 1030 1052 1063 1070 1071 "
            "1071 1072 1077 757",
        ),
        Block(
            15,
            162,
            0.395,
            "0 0 0 0 0 0 0 0 0 0 0 0 0 4 0 0 0 0 0 0 0 0 2 0 0 0 0",
            "777 825 861 884 899 905 908 908 909 912 921 936 962 750 772 837 895 930 957 973 981 985 693 778 843 898 "
            "933",
        ),
    ],
    "Sydney": [
        Block(
            22,
            0,
            0.0315,
            "3 1 0 2 1 2 0 2 0 0 1 1 1 1 0 2 2 1 1 1 0 0 0 0 0",
            "61 57 72 45 59 32 49 49 66 81 69 60 54 51 66 41 28 34 36 40 56 72 87 103 119",
        ),
        Block(
            22,
            159,
            0.029,
            "2 0 0 0 0 3 0 0 1 0 13 2 1 0 2 2 1 4 1 3 3 0 3 2 0 18",
            "54 71 88 105 122 72 89 106 89 105 59 41 44 61 41 32 37 20 25 22 18 36 19 22 40 40",
        ),
        Block(
            None,
            160,
            0.044,
            "0 0 0 0 0 0 0 0 0 0 0 0 1 21 1 0 1 1 0 0 0 0 1 1 1 0",
            "100 111 122 133 144 155 166 177 205 263 340 431 371 287 221 239 185 138 154 163 169 179 145 116 93 102",
        ),
        Block(
            None,
            100,
            0.030,
            "0 1 1 0 2 2 2 1 0 0 1 0 3 0 0 0 2 6 2 0 1 1 1 0 2 1",
            "97 82 70 86 75 66 41 41 61 78 67 84 38 57 74 92 43 52 34 52 48 47 47 64 56 52",
        ),
    ],
    "Tokyo": [
        Block(
            34,
            0,
            0.148,
            "1 2 0 2 1 0 0 5 1 1 2 0 0 0 1 1 2 0 0 0 0 0 7 0 0 0",
            "259 163 158 84 93 74 79 60 48 39 33 37 41 41 36 29 24 28 30 33 37 41 33 41 43 43",
        ),
        Block(
            34,
            164,
            0.148,
            "0 0 0 3 1 0 0 4 12 0 0 0 1 1 0 0 1 0 0 0 0 0 0 2 0 0 0",
            "67 92 128 74 60 65 66 56 44 50 51 53 45 36 40 41 35 41 42 42 45 48 57 50 61 66 66",
        ),
        Block(
            None,
            163,
            0.154,
            "0 1 1 1 2 1 1 0 0 4 0 1 0 0 0 0 1 1 0 0 0 0 0 0 0 2 0",
            "190 150 118 92 70 57 45 50 51 42 47 37 42 43 46 49 42 34 35 38 41 45 49 66 94 83 100",
        ),
        Block(
            3,
            0,
            0.152,
            "0 2394 1822 1 1 2 1 79 21 0 5 0 0 0 1 0 0 0 0 0 1 43 2 13 0 1",
            "640 5204 1231 1873 1490 1167 1073 791 589 632 324 350 367 375 265 309 341 361 373 378 286 222 173 91 "
            "104 81",
        ),
    ],
}

#: When the first download of each city began, in the time of eastern Australia (UTC+11), from the files.
BEGAN = {
    "London": "04:22",
    "Mumbai": "18:35",
    "Ohio": "14:17",
    "São Paulo": "11:30",
    "Sydney": "22:15",
    "Tokyo": "21:19",
}

#: Seconds from the nominal edge in which a sender may learn of a loss at the edge: the file's time has whole seconds,
#: and the first second begins some round trips later.
NEAR = (-2, -1, 0)

#: What slow start loses lies before this second.
STEADY_S = 6

#: As many segments sent again within a second are a clump.
CLUMP = 4


def edge_of(block: Block, seconds: Floats) -> NDArray[np.int64]:
    """For each second the number of the edge that it is near, or -1."""
    found = np.full(seconds.size, -1)
    if block.begin_s is not None:
        for edge in range((12 - block.begin_s) % SLOT_S, 400, SLOT_S):
            for off in NEAR:
                found[seconds == edge + off] = edge
    return found


def of_blocks() -> None:
    """Prints what the blocks say of losses."""
    print("| downloads from | first began | lost between edges | of segments | loss, % |")
    print("|---|---|---:|---:|---:|")
    at_edges, clumps, near_clumps, known_s, near_s = [], 0, 0, 0, 0
    for city, blocks in BLOCKS.items():
        single = sent = 0.0
        for block in blocks:
            seconds, again, rate = block.arrays()
            edges = edge_of(block, seconds)
            steady = seconds >= STEADY_S
            between = steady & (edges < 0) & (again < CLUMP)
            single += again[between].sum()
            sent += rate[between].sum()
            if block.begin_s is None:
                continue
            known_s += int(steady.sum())
            near_s += int((steady & (edges >= 0)).sum())
            clumps += int((steady & (again >= CLUMP)).sum())
            near_clumps += int((steady & (again >= CLUMP) & (edges >= 0)).sum())
            for edge in np.unique(edges[edges >= STEADY_S + 2]):
                here = edges == edge
                if here.sum() == len(NEAR):
                    at_edges.append(1e3 * again[here].sum() / rate[here].max())
        print(f"| {city} | {BEGAN[city]} | {single:.0f} | {sent:,.0f} | {100 * single / sent:.4f} |")
    print(
        f"\nclumps near edges: {near_clumps} of {clumps}, in {100 * near_s / known_s:.0f} % of {known_s} s; "
        f"at {len(at_edges)} edges the segments of {np.mean(at_edges):.1f} ms (quartiles "
        f"{', '.join(f'{one:.1f}' for one in np.percentile(at_edges, (25, 50, 75)))} ms)"
    )
    waits = [one.mean_ms - one.least_ms for group in FITTING.values() for one in group]
    print(f"mean round trips are {min(waits):.0f} to {max(waits):.0f} ms above the least ones")


def link(city: str, loss: float | None) -> dict[str, Any]:
    """The wire of a download with the downlink of `"seoul-2026"`, or with another loss between edges."""
    values = {"values": "seoul-2026"}
    own = {} if loss is None else {"loss": loss}
    return {
        "between": ["terminal", "server"],
        "delay": f"{one_way_ms(float(np.median([one.least_ms for one in FITTING[city]]))):.3f} ms",
        "profile": {"starlink": {**values, **own}},
        "forward": {"profile": {"starlink": values}},
    }


#: Losses between edges from which the fit begins.
NEAR_LOSS = {"London": 6e-5, "Mumbai": 1.3e-4, "Ohio": 7e-5, "São Paulo": 7e-5, "Sydney": 2e-4, "Tokyo": 5e-4}


def fit(seeds: range) -> None:
    """Prints the loss between edges at which the simulated goodput is that of the fitting files, for each city."""
    print("| downloads from | recorded, Mbit/s | loss between edges, % | of the slowest and the fastest |")
    print("|---|---|---|---|")
    for city, begin in NEAR_LOSS.items():
        losses = begin * np.array([0.75, 1.0, 1.35])
        mean = [np.mean([download(link(city, float(loss)), seed)[0] for seed in seeds]) for loss in losses]
        slope, at = np.polyfit(np.log(losses), np.log(mean), 1)
        recorded = [one.mbps for one in FITTING[city]]
        found = [100 * np.exp((np.log(one) - at) / slope) for one in (np.mean(recorded), min(recorded), max(recorded))]
        print(
            f"| {city} | {', '.join(f'{one:.1f}' for one in recorded)} | {found[0]:.4f} "
            f"| {found[1]:.4f}, {found[2]:.4f} |",
            flush=True,
        )


#: Losses between edges of the models: the set's, the geometric mean of the three quiet sessions, and the sessions' own
#: (`--fit`).
QUIET = 7.5e-5
SESSION = {
    "London": 6.2e-5,
    "Mumbai": 1.31e-4,
    "Ohio": 8.2e-5,
    "São Paulo": 8.2e-5,
    "Sydney": 2.09e-4,
    "Tokyo": 4.93e-4,
}
MODELS: dict[str, dict[str, float | None]] = {
    "set": dict.fromkeys(SESSION),
    "quiet": dict.fromkeys(SESSION, QUIET),
    "session": dict(SESSION),
}

#: `cubic_CITY__REV_run4` to `run10`, filled in after the predictions were committed: bytes and segments sent again.
JUDGING: dict[str, list[Total]] = {
    "London": totals(
        "1004535808:458 1078329344:4970 1353842688:378 976093184:142 1428422656:2442 1369964544:610 1357774848:5599"
    ),
    "Mumbai": totals(
        "628621312:393 471597056:375 604110848:1128 567017472:183 443678720:355 271712256:157 413663232:205"
    ),
    "Ohio": totals(
        "613548032:189 896925696:5398 704512000:667 675545088:2492 672137216:471 579600384:332 778043392:2416"
    ),
    "São Paulo": totals(
        "905838592:6180 890765312:3183 804651008:695 982122496:6642 850395136:2923 755105792:3132 637534208:1934"
    ),
    "Sydney": totals(
        "1020133376:400 1201143808:478 1214513152:558 1494614016:837 1602355200:900 1427767296:307 1370095616:511"
    ),
    "Tokyo": totals(
        "319160320:548 497549312:267 499908608:3422 316932096:437 384434176:576 308019200:285 440795136:220"
    ),
}

#: `bbr1_CITY__REV_run1` to `run3`, and the same of Vegas.
BBR: dict[str, list[Total]] = {
    "London": totals("6406930432:77271 5951193088:122048 6315442176:103152"),
    "Mumbai": totals("2465988608:19318 2475032576:31078 2404384768:11079"),
    "Ohio": totals("7236485120:122353 6392905728:162346 6735790080:100126"),
    "São Paulo": totals("4526047232:28347 4285530112:37280 3256483840:10374"),
    "Sydney": totals("9831317504:25609 9738125312:32826 10017046528:15580"),
    "Tokyo": totals("7378042880:115061 6867124224:123985 6375211008:153918"),
}

VEGAS: dict[str, list[Total]] = {
    "London": totals("272891904:68 228589568:355 299630592:70"),
    "Mumbai": totals("225181696:71 230293504:367 162791424:87"),
    "Ohio": totals("192544768:94 232783872:93 183631872:70"),
    "São Paulo": totals("190840832:1970 142475264:96 121765888:56"),
    "Sydney": totals("556269568:90 596508672:276 658243584:255"),
    "Tokyo": totals("222560256:139 296878080:118 205651968:75"),
}


def cells(recorded: list[float], runs: Floats, measure: str, digits: int) -> str:
    """Recorded and simulated mean, the range of 95 % of the mean of so many, and the verdict."""
    mean = float(runs.mean())
    around = t_quantile(runs.size - 1) * float(runs.std(ddof=1)) * np.sqrt(1 / len(recorded) + 1 / runs.size)
    low, high = mean - around, mean + around
    theirs = float(np.mean(recorded))
    inside = ", inside" if low <= theirs <= high else ""
    return (
        f"{theirs:.{digits}f}: {mean:.{digits}f} | {low:.{digits}f} to {high:.{digits}f}{inside} "
        f"| {verdict(measure, mean, theirs)}"
    )


def predict(seeds: range, only: str | None) -> None:
    """Prints what the models say of the downloads with CUBIC that judge."""
    print("| downloads from | model | goodput, Mbit/s | range of 95 % | off | sent again, % | range of 95 % | off |")
    print("|---|---|---|---|---|---|---|---|")
    for city, group in JUDGING.items():
        for name, losses in MODELS.items():
            if only not in (None, name):
                continue
            runs = np.array([download(link(city, losses[city]), seed) for seed in seeds])
            goodput = cells([one.mbps for one in group], runs[:, 0], "goodput", 1)
            again = cells([one.again_percent for one in group], runs[:, 1], "repeated", 3)
            print(f"| {city} | {name} | {goodput} | {again} |", flush=True)


def rates(seeds: range) -> None:
    """Prints what the set says of downloads with BBR."""
    print("| downloads from | goodput, Mbit/s | range of 95 % | off | sent again, % |")
    print("|---|---|---|---|---|")
    for city, group in BBR.items():
        runs = np.array([download(link(city, QUIET), seed, "bbr") for seed in seeds])
        again = np.mean([one.again_percent for one in group])
        print(
            f"| {city} | {cells([one.mbps for one in group], runs[:, 0], 'goodput', 0)} "
            f"| {again:.1f}: {runs[:, 1].mean():.1f} |",
            flush=True,
        )


def hours() -> None:
    """Prints the goodput of each download with CUBIC, in turn, and the shares sent again with CUBIC and Vegas."""
    print("| downloads from | first began | goodput of runs 1 to 10, Mbit/s | median sent again, %: CUBIC, Vegas |")
    print("|---|---|---|---|")
    for city, began in BEGAN.items():
        group = FITTING[city] + JUDGING[city]
        medians = [np.median([one.again_percent for one in some]) for some in (group, VEGAS[city])]
        print(
            f"| {city} | {began} | {', '.join(f'{one.mbps:.1f}' for one in group)} "
            f"| {', '.join(f'{one:.3f}' for one in medians)} |"
        )


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=14)
    parser.add_argument("--fit", action="store_true", help="The loss between edges of each session.")
    parser.add_argument("--predict", action="store_true", help="Downloads with CUBIC that judge.")
    parser.add_argument("--only", metavar="MODEL", choices=[*MODELS], help="Only this model.")
    parser.add_argument("--rates", action="store_true", help="Downloads with BBR.")
    parser.add_argument("--hours", action="store_true", help="All downloads with CUBIC in turn, and those with Vegas.")
    given = parser.parse_args()
    if given.hours:
        hours()
        return
    if given.predict:
        predict(range(1, 1 + given.seeds), given.only)
        return
    if given.rates:
        rates(range(1, 1 + given.seeds))
        return
    if given.fit:
        fit(range(101, 101 + given.seeds))
        return
    of_blocks()


if __name__ == "__main__":
    main()
