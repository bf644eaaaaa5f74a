"""Nine flows with nine congestion controls at once over a dish of 2026, for `docs/models/starlink-competing.md`.

`python benches/sky/starlink_competing.py [--seeds 5]` simulates them up to six cities and compares the sum, the share
of each control and the ratio to one flow of CUBIC with files of github.com/MPTCP-FreeBSD/tcp-cc-starlink
(`uplink-competitive-logs/`, April 2026). `--down` does it for downloads (`downlink-competitive-logs/`). Which files
judge was decided by their names, before they were read.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlink_downloads import FITTING
from starlink_downloads import JUDGING as DOWN_JUDGING
from starlink_farther import DOWN, JUDGING, LENGTH_S, LIMITS, one_way_ms
from starlink_seoul import wire
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

#: So many runs of each city are read: all of two cities up.
READ_UP = {"Sydney": 10, "Tokyo": 10, "London": 3, "Mumbai": 3, "Ohio": 3, "São Paulo": 3}
READ_DOWN = dict.fromkeys(READ_UP, 2)

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

#: Mbit/s of each control (in the order of `CONTROLS`) in each run that was read, a row for each run.
UP: dict[str, list[list[float]]] = {}
DOWNLOADS: dict[str, list[list[float]]] = {}


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


def single(city: str, *, down: bool) -> float:
    """Mean Mbit/s of one recorded flow of CUBIC, a week before."""
    if down:
        return float(np.mean([one.mbps for one in (*FITTING[city], *DOWN_JUDGING[city])]))
    group = SYDNEY["cubic"] if city == "Sydney" else [*FARTHER.get(city, []), *JUDGING[city]]
    return float(np.mean([one.mbps for one in group]))


def models(city: str, *, down: bool) -> dict[str, dict[str, Any]]:
    """The links that are compared."""
    least_ms = DOWN[city][1]

    def link(own: dict[str, Any]) -> dict[str, Any]:
        return wire(one_way_ms(least_ms), 0, {"values": VALUES, "own": own})

    if not down:
        return {name: link(own) for name, own in LIMITS.items()}
    recorded, simulated = ONE_BBR[city]
    scaled = link({})
    profile = scaled["profile"]["starlink"]
    rates = [quantity * recorded / simulated for quantity in set_rates_mbps()]
    scaled["backward"] = {"profile": {"starlink": {**profile, "rates": [f"{one:.2f} Mbit/s" for one in rates]}}}
    return {"set": link({}), "rates of BBR": scaled}


def order(a: Floats, b: Floats) -> float:
    """Spearman's rank correlation."""
    ranks = [np.argsort(np.argsort(one)) for one in (a, b)]
    return float(np.corrcoef(*ranks)[0, 1])


def compared(city: str, name: str, link: dict[str, Any], seeds: range, *, down: bool) -> Floats:
    """Prints a row of a city, and returns the simulated and the recorded share of each control."""
    recorded = np.array((DOWNLOADS if down else UP).get(city, []), float).reshape(-1, len(CONTROLS))
    count = (READ_DOWN if down else READ_UP)[city]
    with ThreadPoolExecutor(2) as pool:
        runs = np.array(list(pool.map(lambda seed: competing(link, seed, count, down=down), seeds)))
    sums = runs.sum(axis=2).mean(axis=1)
    mean, low, high = mean_and_range(sums)
    shares = runs.mean(axis=(0, 1)) / mean
    of_one = single(city, down=down)
    cells = [f"{mean:.1f}", f"{low:.1f} to {high:.1f}", "", f"{mean / of_one:.2f}", ""]
    theirs = np.full(len(CONTROLS), np.nan)
    if len(recorded):
        total = float(recorded.sum(axis=1).mean())
        theirs = recorded.mean(axis=0) / total
        inside = "" if low <= total <= high else ", outside"
        cells = [
            f"{total:.1f}: {mean:.1f}", f"{low:.1f} to {high:.1f}{inside}", verdict("goodput", mean, total),
            f"{total / of_one:.2f}: {mean / of_one:.2f}", f"{order(theirs, shares):.2f}",
        ]  # fmt: skip
    print(f"| {city} | {name} | {' | '.join(cells)} |", flush=True)
    return np.array([shares, theirs])


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--down", action="store_true")
    given = parser.parse_args()
    print("| city | model | all flows, Mbit/s | range of 95 % | off | over one of CUBIC | rank correlation |")
    print("|---|---|---|---|---|---|---|")
    shares: dict[str, dict[str, Floats]] = {}
    for city in READ_UP:
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
