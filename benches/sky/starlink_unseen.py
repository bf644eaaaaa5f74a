"""The set "seoul-2026" of the profile `starlink` beside uploads over a dish that no set was made from.

`python benches/sky/starlink_unseen.py [--seeds 5]` prints the tables of `docs/models/starlink-unseen.md`. The numbers
are what iperf3 says at the end of files in github.com/MPTCP-FreeBSD/tcp-cc-starlink (`uplink-sequential-logs/`, March
2026: Linux 6.19). Which files judge was decided by their names, before they were read. The delay of the wire is the one
at which the least smoothed round trip is the recorded one, as in `skyhop validate`.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from cells import spread
from starlink_seoul import Upload, keys_of, off, simulated, uploads

from skyhop.inference import mean_and_interval
from skyhop.validate.starlink_links import BOUNDS

#: What iperf3 received, sent again and sent, and the least and the mean smoothed round trip. The clock in a name is
#: UTC. It is that of the file for run 1 of CUBIC and runs 2 and 4 of BBR; these two are 616 s apart, so that the others
#: are placed 308 s apart.
SYDNEY = {
    "cubic": uploads(
        """
20260328_092541_cubic_Sydney_run1 1 cubic 300 41 11.984 343 450101248 29.990 40.915
20260328_093049_cubic_Sydney_run2 1 cubic 300 49 9.275 481 348651520 30.217 38.733
20260328_093557_cubic_Sydney_run3 1 cubic 300 57 11.082 491 416153600 26.504 41.725
20260328_094105_cubic_Sydney_run4 1 cubic 300 5 11.019 366 413794304 31.542 40.585
20260328_094613_cubic_Sydney_run5 1 cubic 300 13 9.908 485 372637696 29.059 39.188
20260328_095121_cubic_Sydney_run6 1 cubic 300 21 9.247 529 347340800 28.781 37.310
20260328_095629_cubic_Sydney_run7 1 cubic 300 29 9.003 520 338165760 31.670 38.199
20260328_100137_cubic_Sydney_run8 1 cubic 300 37 9.702 511 364380160 28.802 38.930
20260328_100645_cubic_Sydney_run9 1 cubic 300 45 13.168 378 494534656 31.187 39.787
20260328_101153_cubic_Sydney_run10 1 cubic 300 53 11.068 397 416284672 28.376 36.567
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
20260328_054517_bbr1_Sydney_run7 1 bbr 300 17 21.199 18297 800194560 29.752 68.882
20260328_055025_bbr1_Sydney_run8 1 bbr 300 25 17.127 13563 644743168 30.141 70.649
20260328_055533_bbr1_Sydney_run9 1 bbr 300 33 18.883 15250 713949184 30.572 67.109
20260328_060041_bbr1_Sydney_run10 1 bbr 300 41 29.933 26908 1129054208 26.400 68.243
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


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--values", default="seoul-2026")
    given = parser.parse_args()
    keys: dict[str, Any] = {"values": given.values}
    seeds = range(1, 1 + given.seeds)
    print("| upload | volume left | goodput, Mbit/s | off | sent again, % | off | mean smoothed round trip, ms |")
    print("|---|---:|---|---|---|---|---|")
    for control, group in SYDNEY.items():
        judged(f"Sydney, {control.upper()}", group, keys, seeds, drained=True)
    for city, group in FARTHER.items():
        judged(f"{city}, CUBIC", group, keys, seeds, drained=False)
    # What the segments sent again say of the loss of a packet, if each that is sent again was lost.
    for city, group in {"Sydney": SYDNEY["cubic"], **FARTHER}.items():
        again = sum(one.retransmits for one in group)
        resent = again / sum(one.sent_bytes / 1448 for one in group)
        print(f"{city}: {again} of CUBIC's segments sent again, {100 * resent:.3f} %")


if __name__ == "__main__":
    main()
