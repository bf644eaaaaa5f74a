"""Nine flows with nine congestion controls at once over a dish of 2026, for `docs/models/starlink-competing.md`.

`python benches/sky/starlink_competing.py [--seeds 5]` simulates them up to six cities and compares the sum, the share
of each control and the ratio to one flow of CUBIC with files of github.com/MPTCP-FreeBSD/tcp-cc-starlink
(`uplink-competitive-logs/`, April 2026). `--down` does it for downloads (`downlink-competitive-logs/`). Which files
judge was decided by their names, before they were read. `--seoul` compares the uplink's queue, CoDel or FQ-CoDel, with
uploads in Seoul (`starlink_seoul.py`), and `--later` compares `"sydney-2026"` with runs that were read after it was
made.
"""

from __future__ import annotations

import argparse
import functools
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlink_downloads import FITTING
from starlink_downloads import JUDGING as DOWN_JUDGING
from starlink_farther import DOWN, JUDGING, LENGTH_S, LIMITS, one_way_ms
from starlink_seoul import JUDGING as SEOUL
from starlink_seoul import keys_of, simulated, wire
from starlink_unseen import FARTHER, SYDNEY, mean_and_range, verdict

from skyhop import api
from skyhop.starlink.buckets import resolved

Floats = NDArray[np.float64]

#: Buffers of the TCP of Linux, and what Skyhop's own TCP has of a host with Linux. Vegas and Hybla are those of Linux's
#: modules, which are in ns-2, too.
BUFFERS = {"send_buffer": "64 MB", "receive_buffer": "64 MB"}
OWN = {"profile": "rfc", "recovery": "sack", "initial_window": 10}

#: Each name in the files, and the TCP that stands for it: `bbr` of Linux 6.19 with the patches of xanmod is version 3,
#: and Skyhop has no version 2. LeoCC's module has a clock.
CONTROLS: dict[str, dict[str, Any]] = {
    "bbr": {"name": "bbr3", **BUFFERS},
    "bbr1": {"name": "bbr", **BUFFERS},
    "bbr2": {"name": "bbr3", **BUFFERS},
    "ccp": {"name": "copa", **BUFFERS},
    "cubic": {"name": "cubic", **BUFFERS},
    "hybla": {"control": {"hybla": {"form": "ns-2", "first_threshold": "given", "spacing": "off"}}, **OWN},
    "leocc": {"control": {"leocc": {"clock": "on"}}, **BUFFERS},
    "pcc": {"name": "vivace", **BUFFERS},
    "vegas": {"control": {"vegas": {"form": "ns-2", "alpha": 2, "beta": 4}}, **OWN},
}

#: From the start of one run to the next, s.
EVERY_S = 313

#: The set of the links.
VALUES = "seoul-2026-fades"

#: Mbit/s of one download with BBR from each city, a week before, and simulated with the set (`starlink_downloads.py
#: --rates --seeds 3`). The second model of the downlink multiplies the rates of the set by their ratio.
ONE_BBR = {
    "London": (166, 340),
    "Mumbai": (65, 348),
    "Ohio": (181, 346),
    "São Paulo": (107, 314),
    "Sydney": (263, 359),
    "Tokyo": (183, 347),
}


def megabits(table: str) -> list[list[float]]:
    """A row for each run, a number for each control in the order of `CONTROLS`."""
    return [[float(one) for one in row.split()] for row in table.split("\n") if row.strip()]


#: Mbit/s of each run that was read: what arrived up, and what the sender's application wrote down. Where the receiver's
#: report of an upload is missing (38 of 288), it is what the application wrote.
UP: dict[str, list[list[float]]] = {
    "Sydney": megabits(
        """
3.10 4.04 2.56 2.38 2.66 2.44 4.26 4.20 2.37
1.86 1.92 1.79 1.98 1.83 1.81 1.98 1.99 1.75
3.16 3.87 2.75 2.33 2.81 2.74 4.06 3.92 2.65
2.02 2.14 1.90 2.07 1.99 1.92 2.21 2.15 1.81
3.41 4.29 2.65 2.31 2.83 2.72 4.40 4.61 2.33
1.97 2.07 1.91 2.07 1.93 1.85 2.12 2.09 1.83
1.92 2.02 1.82 2.02 1.88 1.82 2.04 2.01 1.79
3.43 4.33 2.78 1.57 2.95 2.70 4.40 4.30 2.64
2.09 2.11 1.92 2.09 2.00 1.90 2.21 2.13 1.88
3.41 4.37 2.75 2.31 3.04 2.75 4.47 4.42 2.36
"""
    ),
    "Tokyo": megabits(
        """
2.07 2.58 1.96 0.72 1.57 2.13 2.67 2.79 1.53
3.21 5.09 2.80 0.73 1.80 3.12 5.65 4.73 1.61
2.13 2.56 2.06 0.72 1.66 2.17 2.72 2.75 1.54
2.22 2.61 2.10 0.71 1.61 2.08 2.76 2.73 1.45
3.71 5.24 2.37 0.72 1.80 3.11 4.93 5.05 1.67
2.01 2.55 2.03 0.71 1.60 2.08 2.65 2.71 1.48
3.64 4.67 3.22 0.72 2.09 3.32 5.12 4.62 1.92
1.88 2.37 1.83 0.72 1.70 2.06 2.55 2.54 1.42
3.07 4.43 2.45 0.72 1.65 2.75 5.39 4.61 1.42
1.84 2.26 1.87 0.71 1.66 1.96 2.47 2.53 1.51
"""
    ),
    "London": megabits(
        """
1.68 2.31 1.76 0.43 1.42 2.03 2.66 2.71 1.21
3.39 5.80 2.90 0.43 1.77 3.35 6.20 4.93 1.25
1.81 2.54 1.72 0.43 1.68 2.13 2.73 2.79 1.40
"""
    ),
    "Mumbai": megabits(
        """
1.82 2.17 1.67 0.67 1.44 1.89 2.43 2.53 1.29
3.25 4.34 3.19 0.66 1.93 3.12 5.19 5.15 1.69
1.98 2.46 1.74 0.66 1.55 2.02 2.62 2.67 1.40
"""
    ),
    "Ohio": megabits(
        """
3.32 4.82 3.52 0.51 1.65 3.19 5.56 5.02 1.27
1.79 2.60 2.21 0.51 1.54 2.30 2.78 2.91 1.39
2.69 3.56 2.54 0.51 1.72 2.71 3.96 3.66 1.48
"""
    ),
    "São Paulo": megabits(
        """
1.86 2.58 1.90 0.28 1.35 2.27 3.03 3.02 0.89
5.06 4.89 2.30 0.28 1.31 3.04 5.37 4.90 0.92
1.90 2.26 1.92 0.28 1.34 2.20 2.73 2.93 0.88
"""
    ),
}
DOWNLOADS: dict[str, list[list[float]]] = {
    "Sydney": megabits(
        """
20.19 98.53 7.94 0.44 4.24 3.11 116.69 44.31 3.44
8.65 83.88 7.98 0.25 2.10 3.11 118.34 95.72 2.66
"""
    ),
    "Tokyo": megabits(
        """
2.18 132.57 8.54 0.27 0.88 5.86 137.00 65.71 1.02
2.43 108.90 9.31 0.10 1.62 4.40 132.19 81.33 1.18
"""
    ),
    "London": megabits(
        """
4.48 80.98 15.68 0.09 0.74 7.55 96.13 46.57 0.54
11.81 91.12 10.12 0.43 1.32 6.89 101.64 53.22 1.02
"""
    ),
    "Mumbai": megabits(
        """
5.94 107.30 47.34 0.25 0.90 6.73 121.00 81.19 1.17
13.47 95.38 0.84 0.22 1.57 6.64 110.79 91.79 0.99
"""
    ),
    "Ohio": megabits(
        """
11.80 89.15 16.62 0.03 0.65 6.54 111.37 65.34 0.48
9.49 94.37 8.25 0.21 1.79 8.60 106.68 47.07 0.95
"""
    ),
    "São Paulo": megabits(
        """
43.76 50.37 27.82 0.27 1.49 12.32 57.50 28.87 0.84
22.22 51.25 17.30 0.27 2.36 10.40 69.16 28.57 0.54
"""
    ),
}


#: Runs that judge `"sydney-2026"`: run 6 up and run 5 down.
LATER_UP: dict[str, list[list[float]]] = {
    "London": megabits("3.21 4.96 3.37 0.43 1.61 3.18 5.16 4.60 1.14"),
    "Mumbai": megabits("2.87 4.16 2.51 0.65 1.59 2.85 5.55 4.75 1.44"),
    "Ohio": megabits("3.24 5.03 2.62 0.46 1.64 3.20 6.05 5.11 1.08"),
    "São Paulo": megabits("2.87 4.80 2.68 0.28 1.35 3.11 5.62 4.76 0.86"),
}
LATER_DOWN: dict[str, list[list[float]]] = {
    "Sydney": megabits("5.57 99.81 5.80 0.26 2.11 2.29 131.56 123.16 3.20"),
    "Tokyo": megabits("3.45 120.38 10.52 0.26 0.68 7.64 134.70 81.11 0.83"),
    "London": megabits("19.28 81.91 18.48 0.23 1.40 7.16 103.46 62.43 0.62"),
    "Mumbai": megabits("12.55 13.28 81.12 0.63 6.59 9.39 15.83 13.29 3.23"),
    "Ohio": megabits("11.87 98.38 20.28 0.14 1.33 7.85 99.05 54.05 0.59"),
    "São Paulo": megabits("43.87 42.52 19.40 0.28 3.07 11.26 39.64 32.21 0.74"),
}


#: `ccp` has ten segments in flight at any time, so Copa did not control it, and `bbr2` has a stand-in.
JUDGED = [n for n, name in enumerate(CONTROLS) if name not in ("ccp", "bbr2")]


def set_rates_mbps() -> list[float]:
    """Quantiles of the rates of slots down that the set has, Mbit/s."""
    values = resolved({"profile": {"starlink": {"values": VALUES}}}).down["rates"]
    pairs = [one.split() for one in values]
    return [float(number) * {"bit/s": 1e-6, "Mbit/s": 1.0}[unit] for number, unit in pairs]


def competing(link: dict[str, Any], seed: int, runs: int, *, down: bool) -> Floats:
    """Mbit/s of each control in each of so many runs that follow one another."""
    ends = {"from": "server", "to": "terminal"} if down else {"from": "terminal", "to": "server"}
    found = api.run(
        {
            "duration": f"{runs * EVERY_S} s",
            "profile": "linux",
            "links": [link],
            "flows": [
                {
                    "name": f"{name}-{n}", **ends, "tcp": tcp,
                    "start": f"{EVERY_S * n} s", "stop": f"{EVERY_S * n + LENGTH_S} s",
                }
                for n in range(runs)
                for name, tcp in CONTROLS.items()
            ],
        },
        seed=seed,
    )  # fmt: skip
    # The table is in the order of names.
    arrived = dict(found.flows.select("flow", "bytes_delivered").iter_rows())
    return np.array([[8e-6 * arrived[f"{name}-{n}"] / LENGTH_S for name in CONTROLS] for n in range(runs)])


def repeated(link: dict[str, Any], seeds: range, runs: int, *, down: bool) -> Floats:
    """`competing` of each seed."""
    with ThreadPoolExecutor(2) as pool:
        return np.array(list(pool.map(functools.partial(competing, link, runs=runs, down=down), seeds)))


def single(city: str, *, down: bool) -> float:
    """Mean Mbit/s of one recorded flow of CUBIC, a week before."""
    if down:
        return float(np.mean([one.mbps for one in (*FITTING[city], *DOWN_JUDGING[city])]))
    group = SYDNEY["cubic"] if city == "Sydney" else [*FARTHER.get(city, []), *JUDGING[city]]
    return float(np.mean([one.mbps for one in group]))


def models(city: str, *, down: bool) -> dict[str, dict[str, Any]]:
    """The links that are compared."""
    least_ms = DOWN[city][1]

    def link(own: dict[str, Any], values: str = VALUES) -> dict[str, Any]:
        return wire(one_way_ms(least_ms), 0, {"values": values, "own": own})

    # Made after the first runs had been read.
    of_dish = {"`sydney-2026`": link({}, "sydney-2026")}
    if not down:
        return {**{name: link(own) for name, own in LIMITS.items()}, **of_dish}
    recorded, simulated = ONE_BBR[city]
    scaled = link({})
    profile = scaled["profile"]["starlink"]
    rates = [quantity * recorded / simulated for quantity in set_rates_mbps()]
    scaled["backward"] = {"profile": {"starlink": {**profile, "rates": [f"{one:.2f} Mbit/s" for one in rates]}}}
    return {"set": link({}), "rates of BBR": scaled, **of_dish}


def order(a: Floats, b: Floats) -> float:
    """Spearman's rank correlation."""
    ranks = [np.argsort(np.argsort(one)) for one in (a, b)]
    return float(np.corrcoef(*ranks)[0, 1])


def compared(city: str, name: str, link: dict[str, Any], seeds: range, *, down: bool) -> Floats:
    """Prints a row of a city, and returns the simulated and the recorded share of each control."""
    recorded = np.array((DOWNLOADS if down else UP)[city])
    runs = repeated(link, seeds, len(recorded), down=down)
    mean, low, high = mean_and_range(runs.sum(axis=2).mean(axis=1))
    shares = runs.mean(axis=(0, 1)) / mean
    of_one = single(city, down=down)
    total = float(recorded.sum(axis=1).mean())
    theirs = recorded.mean(axis=0) / total
    inside = "" if low <= total <= high else ", outside"
    cells = [
        f"{total:.1f}: {mean:.1f}", f"{low:.1f} to {high:.1f}{inside}", verdict("goodput", mean, total),
        f"{total / of_one:.2f}: {mean / of_one:.2f}", f"{order(theirs, shares):.2f}",
    ]  # fmt: skip
    print(f"| {city} | {name} | {' | '.join(cells)} |", flush=True)
    return np.array([shares, theirs])


def later(seeds: range) -> None:
    """Prints the runs that judge `"sydney-2026"`."""
    print("| city | sum, Mbit/s | off | shares of the controls that judge, recorded: simulated, % |\n|---|---|---|---|")
    for down, runs_read in ((False, LATER_UP), (True, LATER_DOWN)):
        every = []
        for city, (recorded,) in runs_read.items():
            link = models(city, down=down)["`sydney-2026`"]
            found = repeated(link, seeds, len((DOWNLOADS if down else UP)[city]), down=down)
            ours, theirs = found.mean(axis=(0, 1)), np.array(recorded)
            shares = np.array([100 * one / one.sum() for one in (theirs, ours)])
            every.append(shares)
            cells = [
                f"{theirs.sum():.1f}: {ours.sum():.1f}",
                verdict("goodput", float(ours.sum()), float(theirs.sum())),
            ]
            print(f"| {city} {'down' if down else 'up'} | {' | '.join(cells)} | {judged_shares(shares)} |", flush=True)
        print(f"| mean {'down' if down else 'up'} | | | {judged_shares(np.mean(every, axis=0))} |")


def judged_shares(shares: Floats) -> str:
    """Recorded and simulated shares of the controls that judge."""
    names = list(CONTROLS)
    return ", ".join(f"{names[n]} {shares[0, n]:.1f}: {shares[1, n]:.1f}" for n in JUDGED)


def seoul(seeds: range) -> None:
    """Prints uploads that judge `"seoul-2026"`, simulated with either queue."""
    print("| upload | flows | queue | goodput, Mbit/s | sent again, % | mean smoothed round trip, ms |")
    print("|---|---:|---|---|---|---|")
    for one in SEOUL:
        for queue in ("codel", "fq_codel"):
            keys = keys_of(one.name, {"values": VALUES, "forward": {"queue": queue}})
            means = np.mean([simulated(one, keys, seed) for seed in seeds], axis=0)
            recorded = (one.mbps, one.resent_percent, one.mean_ms)
            rows = zip(recorded, means, (1, 2, 0), strict=True)
            cells = [f"{theirs:.{digits}f}: {ours:.{digits}f}" for theirs, ours, digits in rows]
            print(f"| `{one.name}` | {one.flows} {one.control} | {queue} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seoul", action="store_true")
    parser.add_argument("--later", action="store_true")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--down", action="store_true")
    given = parser.parse_args()
    if given.later:
        later(range(1, 1 + given.seeds))
        return
    if given.seoul:
        seoul(range(1, 1 + given.seeds))
        return
    print("| city | model | all flows, Mbit/s | range of 95 % | off | over one of CUBIC | rank correlation |")
    print("|---|---|---|---|---|---|---|")
    shares: dict[str, dict[str, Floats]] = {}
    for city in UP:
        for name, link in models(city, down=given.down).items():
            seeds = range(1, 1 + given.seeds)
            shares.setdefault(name, {})[city] = compared(city, name, link, seeds, down=given.down)
    for name, of_city in shares.items():
        print(f"\n{name}: share of each control, recorded: simulated, %\n\n| city | {' | '.join(CONTROLS)} |")
        print("|---|" + "---|" * len(CONTROLS))
        every = np.array([*of_city.values()])
        for city, both in [*of_city.items(), ("mean", every.mean(axis=0))]:
            cells = [f"{100 * theirs:.0f}: {100 * ours:.0f}" for ours, theirs in both.T]
            print(f"| {city} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
