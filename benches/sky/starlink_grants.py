"""What uplink grants change that even spacing within 20 ms leaves out: two tables of `docs/models/starlink-fit.md`.

`python benches/sky/starlink_grants.py RECORDING DELAYS` takes the recorded uplink of SpaceNetLab/LeoCC (a line per
opportunity for 1500 B, in ms; a line per 10 ms with the one-way delay) and runs it as recorded, with the sum of each
20 ms evenly spaced as the profile does without `grants`, with that sum in grants every 4 ms, and with that sum in
grants as `skyhop fit starlink --grants` finds them, each half in those of the other half. Each cell has five seeds of
120 s. The table before it holds gaps and bursts of each half beside grants of the other.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from cells import spread

from skyhop import api
from skyhop.starlink import fit_grants, gaps, read_opportunities
from skyhop.starlink.recordings import Floats

#: Intervals whose sums the profile has, and the distance of grants: three frames of 1.333 ms.
INTERVAL_MS, GRANT_MS = 20, 4
SEEDS = (1, 2, 3, 4, 5)
KINDS = {"as recorded": None, "evenly within 20 ms": 1, "in grants every 4 ms": GRANT_MS, "in fitted grants": 0}


def main() -> None:
    """Prints the tables."""
    with gzip.open(sys.argv[1], "rt") as text:
        recorded = np.loadtxt(text, dtype=int)
    fitted = of_the_other_half(read_opportunities(sys.argv[1]))
    print("| opportunities | in gaps from 2 ms on, % | | Mbit/s | one way, ms: median | 95 % | change of delay, ms |")
    print("|---|---:|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for name, grid in KINDS.items():
            times = recorded if grid is None else spaced(recorded, grid) if grid else fitted
            file = Path(folder) / f"{grid}.txt"
            file.write_text("\n".join(map(str, times)) + "\n", encoding="ascii")
            gaps = np.diff(times)
            idle = 100 * gaps[gaps >= 2].sum() / times[-1]
            for traffic in ("cubic", "bbr", "probes"):
                found = np.array([cell(file, traffic, seed) for seed in SEEDS])
                half = 2.776 * found.std(axis=0, ddof=1) / len(SEEDS) ** 0.5
                cells = " | ".join(spread(one, within, 2) for one, within in zip(found.T, half, strict=True))
                label = f"{name} | {idle:.0f}" if traffic == "cubic" else " | "
                print(f"| {label} | {traffic} | {cells} |", flush=True)


def of_the_other_half(times: Floats) -> npt.NDArray[np.int_]:
    """The sums of 20 ms of each half in grants that are fitted to the other half; prints the table of gaps."""
    print("| half | opportunities | in gaps from 2 ms on, % | bursts 2, 3, 4, 5, 6 ms apart, % | furthest | a burst |")
    print("|---|---|---:|---:|---:|---:|")
    middle = (times[0] + times[-1]) / 2
    halves = [times[times < middle], times[times >= middle]]
    made = []
    for name, here, other in (("first", halves[0], halves[1]), ("second", halves[1], halves[0])):
        found = fit_grants(other, draws=0)
        generator = np.random.Generator(np.random.PCG64(1))
        counts = np.bincount(here.astype(int) // INTERVAL_MS)
        grants = np.arange(int(counts.size * INTERVAL_MS / found.every_ms))
        shares = np.linspace(0, 1, len(found.shift_ms))
        begins = found.every_ms * grants + np.interp(generator.uniform(size=grants.size), shares, found.shift_ms)
        of_interval = (found.every_ms * grants // INTERVAL_MS).astype(int)
        per = np.bincount(of_interval, minlength=counts.size)
        out = []
        for n in np.flatnonzero(counts):
            packets = np.arange(counts[n]) * per[n] // counts[n]
            within = (np.arange(counts[n]) * per[n] / counts[n]) % 1 * found.length_ms
            out.append(begins[of_interval == n][packets] + within)
        made.append(np.floor(np.sort(np.concatenate(out))))
        even = spaced(here.astype(int), 1).astype(float)
        recorded = gaps(here)
        for label, one in (("as recorded", here), ("evenly", even), ("in grants of the other half", made[-1])):
            of = gaps(one)
            apart = ", ".join(f"{100 * share:.0f}" for share in of.distances[1:6])
            furthest = np.max(np.abs(np.cumsum(of.distances - recorded.distances)))
            # Evenly spaced packets have no gaps, so there are no bursts to count.
            said = f"{apart} | {furthest:.2f} | {of.packets:.0f}" if of.idle > 0.5 else "– | – | –"
            said = f"{100 * of.idle:.0f} | {said}"
            print(f"| {name if one is here else ''} | {label} | {said} |", flush=True)
    print()
    return np.sort(np.concatenate(made)).astype(int)


def spaced(times: npt.NDArray[np.int_], grid: int) -> npt.NDArray[np.int_]:
    """The same number of opportunities in each interval, evenly spaced over the multiples of `grid` within it."""
    counts = np.bincount(times // INTERVAL_MS)
    slots = INTERVAL_MS // grid
    out = [n * INTERVAL_MS + grid * (np.arange(count) * slots // max(count, 1)) for n, count in enumerate(counts)]
    return np.concatenate(out)


def cell(opportunities: Path, traffic: str, seed: int) -> list[float]:
    """Goodput in Mbit/s; of the one-way delay in ms the median, the 95 % and the mean change between packets."""
    flow: dict[str, Any] = {"name": "f", "from": "terminal", "to": "internet"}
    if traffic == "probes":
        probes = {"rate": "102.4 kbit/s", "payload": "64 B"}
        flow |= {"udp": {"header": "28 B"}, "application": {"constant_rate": probes}}
    else:
        flow["tcp"] = {"name": traffic, "send_buffer": "16 MB"}
    forward = {
        "queue": {"drop_front": {"packets": 500}},
        "errors": [{"packet": 0.002}],
        "trace": {"opportunities": str(opportunities), "delays": sys.argv[2]},
    }
    run = api.run(
        {
            "duration": "120 s",
            "profile": "linux",
            "links": [{"between": ["terminal", "internet"], "delay": "0 ms", "forward": forward,
                       "backward": {"rate": "200 Mbit/s", "delay": "10 ms"}}],
            "flows": [flow],
        },
        seed=seed,
    )  # fmt: skip
    row = run.flows.row(0, named=True)
    return [row["goodput_bps"] / 1e6, *(1e3 * row[key] for key in ("delay_median_s", "delay_p95_s", "jitter_mean_s"))]


if __name__ == "__main__":
    main()
