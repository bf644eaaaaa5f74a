"""Fits of sessions beside uploads of the same sessions that they did not see.

`python benches/sky/starlink_sessions.py` prints the table of `docs/models/starlink-losses.md`, "A fit to a session":
the first three uploads with CUBIC to each city are fitted, the others judge. The uploads are those of
`starlink_farther.py` and `starlink_unseen.py`. `--every` fits each upload by itself, also those in Seoul
(`starlink_seoul.py`). `--rolling` predicts each upload, and each download of `starlink_downloads.py`, by the latest
three before it, as `skyhop validate starlink` does. `--known` fits simulated uploads whose losses are known,
`--known-delays` those whose delays are.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from starlink_downloads import FITTING
from starlink_downloads import JUDGING as DOWN_JUDGING
from starlink_farther import EVERY_S, JUDGING, LENGTH_S
from starlink_seoul import FITTED as SEOUL_FITTED
from starlink_seoul import JUDGING as SEOUL_JUDGING
from starlink_seoul import SEGMENT_B, Upload
from starlink_unseen import FARTHER, SYDNEY

from skyhop.inference import t_quantile
from skyhop.starlink import buckets, sets, simulating
from skyhop.starlink.session_delays import SEEDS as DELAYS_SEEDS
from skyhop.starlink.session_delays import factor_of
from skyhop.starlink.session_delays import told_by as told_delays
from skyhop.starlink.sessions import fit_session, runs, scaled, sides, told_by
from skyhop.starlink.transfers import Transfer
from skyhop.validate.starlink_sessions import predictions

#: Uploads that are fitted, the first ones to a city.
FITTED = 3

#: 28 March 2026, in Unix time: a time of the set of 2026. The first uploads to most cities began at an unknown second.
BEGAN_S = 1_774_656_000.0

#: The set whose losses are scaled.
VALUES = "seoul-2026-fades"


def transfer(one: Upload, number: int) -> Transfer:
    """An upload as iperf3 would report its totals, so many after the first of its city."""
    begins = np.arange(float(one.length_s))
    rate = np.full(one.length_s, 1e6 * one.mbps)
    return Transfer(
        name=one.name, start_s=BEGAN_S + EVERY_S * number + one.begin_s % 15, omitted_s=0.0, begins_s=begins,
        lengths_s=np.ones(one.length_s), rate_bps=rate, as_received=True, mean_bps=1e6 * one.mbps,
        sent_begins_s=begins, sent_lengths_s=np.ones(one.length_s), retransmits=None,
        resent=float(one.retransmits), cwnd_bytes=None, streams=1,
        least_rtt_ms=one.least_ms, control=one.control, reverse=False, is_udp=False, offered_bps=0.0, lost=None,
        packets=0, wire_factor=1500 / SEGMENT_B,
    )  # fmt: skip


def predicted(ones: list[Transfer], keys: dict[str, Any], seeds: range) -> float:
    """Mean Mbit/s of simulated transfers, whose direction has these keys."""
    found = []
    for n, one in enumerate(ones):
        profile = sets.sides({"values": VALUES, "direction": "down" if one.reverse else "up", **keys})
        link = buckets.link_at_start(one, [], profile, down=one.reverse)
        delay_ms = simulating.delay_ms(one, one.reverse, "cubic", one.least_rtt_ms, profile)
        found += [
            simulating.transfer_run(one, one.reverse, "cubic", delay_ms, link.profile, seed=1000 * seed + n).mean_bps
            for seed in seeds
        ]
    return float(np.mean(found)) / 1e6


def known(factors: list[float], times: int) -> None:
    """Prints fits of three simulated uploads with factors that are known."""
    print("| factor | fitted, mean | intervals of 90 % with the factor |\n|---:|---:|---:|")
    (upload,) = JUDGING["Tokyo"][:1]
    for factor in factors:
        keys = scaled(VALUES, factor, down=False)
        fits = []
        for seed in range(1, 1 + times):
            ones = []
            for n in range(FITTED):
                one = transfer(upload, n)
                mbps = predicted([one], keys, range(10 * seed + n, 10 * seed + n + 1))
                rate_bps = np.full_like(one.rate_bps, 1e6 * mbps)
                ones.append(dataclasses.replace(one, mean_bps=1e6 * mbps, rate_bps=rate_bps))
            fits.append(fit_session(ones, values=VALUES))
        inside = sum(fit.parameters[0].low <= factor <= fit.parameters[0].high for fit in fits)
        print(f"| {factor:g} | {np.mean([fit.factor for fit in fits]):.2f} | {inside} of {times} |", flush=True)


def known_delays(factors: list[float], times: int) -> None:
    """Prints fits of the delays of simulated uploads to Tokyo with factors that are known."""
    print("| factor | uploads | fitted, geometric mean | deviation of the logarithm | as told | intervals of 90 % |")
    print("|---:|---:|---:|---:|---:|---:|")
    (upload,) = JUDGING["Tokyo"][:1]
    one = transfer(upload, 0)
    ends_s = one.sent_begins_s + one.sent_lengths_s

    def simulated(factor: float, seeds: Sequence[int] = DELAYS_SEEDS) -> list[simulating.Simulated]:
        return runs(one, [one], sides(VALUES, 1.0, down=False, delays=factor), seeds)

    # All uploads are compared with the same simulated ones.
    once_each = functools.cache(simulated)
    for factor in factors:
        recorded = [run.srtt_at(ends_s) for run in simulated(factor, range(1001, 1001 + times))]
        told = [told_delays(dataclasses.replace(one, rtt_ms=rtt_ms), once_each) for rtt_ms in recorded]
        for together in (1, 3):
            groups = [told[n : n + together] for n in range(0, times - together + 1, together)]
            logs, deviations = np.array([factor_of(group) for group in groups]).T
            off = t_quantile(len(DELAYS_SEEDS) - 1, level=0.9) * deviations
            inside = int(np.sum(np.abs(logs - np.log(factor)) <= off))
            cells = [f"{factor:g}", f"{together}", f"{np.exp(logs.mean()):.3f}", f"{logs.std(ddof=1):.2f}"]
            cells += [f"{deviations.mean():.2f}", f"{inside} of {len(groups)}"]
            print(f"| {' | '.join(cells)} |", flush=True)


def every(cities: dict[str, list[Upload]]) -> None:
    """Prints the factor of each upload, and how much chance and uploads differ."""
    print("| uploads | losses over the set's | deviation of the logarithm | by chance |\n|---|---|---:|---:|")
    for city, ones in cities.items():
        transfers = [transfer(one, n) for n, one in enumerate(ones)]
        told = [told_by(one, transfers, VALUES) for one in transfers]
        logs = np.array([one.log_factor for one in told])
        factors = ", ".join(f"{value:.2f}" for value in np.exp(logs))
        chance = np.mean([one.deviation for one in told])
        print(f"| {city} | {factors} | {logs.std(ddof=1):.2f} | {chance:.2f} |", flush=True)


def downloads() -> dict[str, list[Transfer]]:
    """The downloads from each city, in turn, with the least round trip of uploads to it."""
    found = {}
    for city in FITTING:
        ones = SYDNEY["cubic"] if city == "Sydney" else JUDGING[city]
        least_ms = float(np.median([one.least_ms for one in ones]))
        rows = [
            Upload(f"{city} {n}", 1, "cubic", LENGTH_S, 0, one.mbps, one.again, one.sent_b, least_ms, least_ms)
            for n, one in enumerate([*FITTING[city], *DOWN_JUDGING[city]])
        ]
        found[city] = [dataclasses.replace(transfer(one, n), reverse=True) for n, one in enumerate(rows)]
    return found


def rolling(kind: str, cities: dict[str, list[Transfer]], seeds: range) -> None:
    """Prints how the fourth and later transfers of each city are predicted by the latest three before each."""
    for city, ones in cities.items():
        found = predictions(dict(enumerate(ones)), VALUES)
        rest = range(FITTED, len(ones))
        recorded = float(np.mean([ones[n].mean_bps for n in rest])) / 1e6
        each_bps = [float(np.mean([run.mean_bps for run in found[n].runs])) for n in rest]
        ours = float(np.mean(each_bps)) / 1e6
        each = float(np.mean([abs(bps / ones[n].mean_bps - 1) for bps, n in zip(each_bps, rest, strict=True)]))
        of_set = predicted([ones[n] for n in rest], {}, seeds)
        off, set_off = (f"{100 * abs(value / recorded - 1):.1f} %" for value in (ours, of_set))
        print(
            f"| {kind} {city} | {recorded:.1f}: {ours:.1f} | {off} | {100 * each:.0f} % "
            f"| {recorded:.1f}: {of_set:.1f} | {set_off} |",
            flush=True,
        )


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--known", type=int, default=0, help="Fit so many sessions of known losses instead.")
    parser.add_argument("--every", action="store_true", help="Fit each upload by itself.")
    parser.add_argument("--rolling", action="store_true", help="Predict each transfer by the latest before it.")
    parser.add_argument("--known-delays", type=int, default=0, help="Fit so many uploads of known delays instead.")
    given = parser.parse_args()
    if given.known_delays:
        known_delays([0.2, 0.4, 1.0, 2.0], given.known_delays)
        return
    if given.known:
        known([0.5, 1.0, 2.0, 4.0], given.known)
        return
    cities = {"Sydney": SYDNEY["cubic"]}
    cities |= {city: [*FARTHER.get(city, []), *ones] for city, ones in JUDGING.items()}
    if given.rolling:
        print("| transfers | the latest three | off | each off | the set | off |\n|---|---|---:|---:|---|---:|")
        seeds = range(1, 1 + given.seeds)
        rolling("to", {city: [transfer(one, n) for n, one in enumerate(ones)] for city, ones in cities.items()}, seeds)
        rolling("from", downloads(), seeds)
        return
    if given.every:
        seoul = [one for one in (*SEOUL_FITTED, *SEOUL_JUDGING) if (one.control, one.flows) == ("cubic", 1)]
        every({"Seoul, 2 to 13 April": seoul, **cities})
        return
    print("| uploads to | losses over the set's | others: recorded, simulated | off | with the set | off |")
    print("|---|---|---|---:|---|---:|")
    for city, ones in cities.items():
        transfers = [transfer(one, n) for n, one in enumerate(ones)]
        fit = fit_session(transfers[:FITTED], values=VALUES)
        rest = transfers[FITTED:]
        recorded = float(np.mean([one.mean_bps for one in rest])) / 1e6
        cells = []
        for keys in (dict(fit.keys), {}):
            ours = predicted(rest, keys, range(1, 1 + given.seeds))
            cells += [f"{recorded:.1f}: {ours:.1f}", f"{100 * abs(ours / recorded - 1):.0f} %"]
        (told,) = fit.parameters
        print(f"| {city} | {told.value:.2f} ({told.low:.2f} to {told.high:.2f}) | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
