"""Prints the worst moments of runs by brute force, to compare with the page's findings.

Usage: python python/tools/worst_moments.py RUN_FOLDER ...

A moment is as bad as the bytes that the next seconds lack against the mean rate of the 5 s before, for any flow and any
step of `flow_series.csv`. Events, losses and the page's own findings play no part. There is a line for each of several
lengths: 10 s do not see how long a silence is, and 300 s are longer than most losses of a share.
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

BEFORE_S = 5.0
AFTER_S = (10.0, 30.0, 300.0)
MOST = 3


def worst(folder: Path, after_s: float) -> list[tuple[float, float, str]]:
    """Bytes, time in seconds and flow of the worst moments, the worst first; those of one flow are `after_s` apart."""
    series: dict[str, list[tuple[float, float]]] = defaultdict(list)
    with (folder / "flow_series.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            series[row["flow"]].append((float(row["time_s"]), float(row["goodput_bps"] or 0)))
    found: list[tuple[float, float, str]] = []
    with (folder / "flows.csv").open(encoding="utf-8", newline="") as file:
        for flow in csv.DictReader(file):
            complete = bool(flow["completion_s"])
            found += _of_flow(
                flow["flow"],
                np.array(series[flow["flow"]]),
                (float(flow["start_s"]), float(flow["stop_s"])),
                complete,
                after_s,
            )
    return sorted(found, reverse=True)[:MOST]


def _of_flow(
    name: str, rows: np.ndarray, life_s: tuple[float, float], complete: bool, after_s: float
) -> list[tuple[float, float, str]]:
    if len(rows) == 0:
        return []
    start_s, stop_s = life_s
    times = np.concatenate([[0.0], rows[:, 0]])
    total = np.concatenate([[0.0], np.cumsum(rows[:, 1] * np.diff(times) / 8)])
    stop_s = min(stop_s, float(times[-1]))
    moments = times[(times >= start_s + 0.5) & (times < stop_s)]
    before, after = np.maximum(start_s, moments - BEFORE_S), np.minimum(stop_s, moments + after_s)
    now = np.interp(moments, times, total)
    rate = (now - np.interp(before, times, total)) / (moments - before)
    lacking = rate * (after - moments) - (np.interp(after, times, total) - now)
    if complete:
        # A finished transfer has nothing more to deliver.
        lacking[after >= stop_s - 1e-9] = 0.0
    chosen: list[tuple[float, float, str]] = []
    for i in np.argsort(-lacking):
        if len(chosen) == MOST or lacking[i] <= 0:
            break
        if all(abs(moments[i] - time) > after_s for _, time, _ in chosen):
            chosen.append((float(lacking[i]), float(moments[i]), name))
    return chosen


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        for length_s in AFTER_S:
            found = worst(Path(argument), length_s)
            told = "; ".join(f"{flow} {time_s:.1f} s {size / 1e3:.0f} kB" for size, time_s, flow in found)
            print(f"{argument}, {length_s:.0f} s: {told}")
