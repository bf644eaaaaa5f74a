"""Seconds of TCP and UDP over two dishes on the road, for `docs/models/starlink-road.md`.

`python benches/sky/starlink_road.py DATA` reads CSV files of github.com/Starlink-Project/Satellite-vs-Cellular (Hu et
al., CoNEXT 2023) from the folder DATA: `mob_tcp.csv` (there `Figure3/TCP/Downlink/mob_all_area.csv`), `mob_udp.csv`
(`Figure9/UDP/Downlink/mob_all.csv`), `roam_udp.csv` (`9-Perf-Coverage/UDP/Downlink/rm_all.csv`), and `roam1.csv`,
`roam4.csv` and `roam8.csv` (the files of one, four and eight flows over Roam in `7-TCP-Parallel` and `Figure7`). Each
has a column `time` and one of Mbit/s, `throughput` or `Bitrate`. It prints what they say and what the scenario of
`studies/starlink-in-motion` predicts. Without DATA it prints the predictions that need no file.
"""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skyhop import api
from skyhop.starlink.measuring import kolmogorov_smirnov

Floats = NDArray[np.float64]

STUDY = Path(__file__).resolve().parents[2] / "studies/starlink-in-motion"

#: Obstructed times of slots, as in the study.
OBSTRUCTED = "['0 s', '0 s', '0 s', '0 s', '0 s', '0 s', '0 s', '0 s', '1 s', '5 s', '15 s']"

#: The study's share of the time in shadows, and their length in ms.
SHARE, SHADOW_MS = 0.0089, 20.0

#: Goodput counts from the first edge on, s after the start.
FROM_S = 12.0

#: Below this a second counts as empty, Mbit/s.
EMPTY = 1.0

#: Seconds of one test lie this near to each other, s; intervals draw blocks of so many seconds.
GAP_S, BLOCK = 5.0, 60

#: Payload over the size of a packet of the files' UDP and TCP.
PAYLOAD = 1448 / 1500

SEEDS = range(1, 13)


@dataclass(frozen=True)
class Seconds:
    """The seconds of a file: times in s, and user data in Mbit/s."""

    time_s: Floats
    mbps: Floats

    def tests(self) -> list[Floats]:
        """The seconds of each test: those without a gap between them."""
        return np.split(self.mbps, 1 + np.flatnonzero(np.abs(np.diff(self.time_s)) > GAP_S))

    def blocks(self) -> list[Floats]:
        """Blocks of a minute, none over two tests."""
        return [one[n : n + BLOCK] for one in self.tests() for n in range(0, one.size, BLOCK)]


def read(path: Path) -> Seconds:
    """Reads a file of the repository."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    column = "throughput" if "throughput" in rows[0] else "Bitrate"
    # Times end with a zone, CDT or CST; only their differences matter.
    times = [datetime.fromisoformat(row["time"][:19]).timestamp() for row in rows]
    return Seconds(np.array(times), np.array([float(row[column]) for row in rows]))


def drawn(blocks: list[Floats], times: int = 2000) -> list[Floats]:
    """Recordings drawn from the blocks of one, with replacement."""
    random = np.random.default_rng(1)
    return [np.concatenate([blocks[n] for n in random.integers(0, len(blocks), len(blocks))]) for _ in range(times)]


def interval(values: Sequence[float]) -> tuple[float, float]:
    """95 % interval of bootstrapped values."""
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)


def simulated(
    seed: int, count: int, *, obstructed: bool = True, share: float = 0.0, rates: str = "", udp: bool = False
) -> Floats:
    """Mbit/s in each second of so many downloads with CUBIC together, or of UDP."""
    keys = "values = 'loaded'" + (f", obstructed = {OBSTRUCTED}" if obstructed else "")
    overrides = [
        f"links.dish.forward.profile={{ starlink = {{ {keys} }} }}",
        f"links.dish.backward.profile={{ starlink = {{ {keys + rates} }} }}",
    ]
    if share:
        good = f'good = "{SHADOW_MS * (1 - share) / share:.1f} ms", bad = "{SHADOW_MS:g} ms"'
        overrides.append(f"links.dish.backward.errors=[{{ shadowing = {{ {good}, loss_good = 0, loss_bad = 1 }} }}]")
    if not udp:
        overrides.append(f"flows.download.count={count}")
    run = api.run(STUDY / ("udp.toml" if udp else "scenario.toml"), seed=seed, overrides=overrides)
    table = run.table("flow_series")
    time_s, rate = (np.asarray(table[name], float) for name in ("time_s", "goodput_bps"))
    ends = np.unique(time_s[time_s > FROM_S + 0.5])
    return np.array([rate[time_s == end].sum() for end in ends]) / 1e6


def means(seeds: range, count: int, **keys: Any) -> Floats:
    """Mean Mbit/s of each seed."""
    with ThreadPoolExecutor(2) as pool:
        return np.array(list(pool.map(lambda seed: float(simulated(seed, count, **keys).mean()), seeds)))


def seconds(**keys: Any) -> Floats:
    """All seconds of all seeds of one flow."""
    with ThreadPoolExecutor(2) as pool:
        return np.concatenate(list(pool.map(lambda seed: simulated(seed, 1, **keys), SEEDS)))


def slot_rates(udp: Seconds) -> str:
    """The key `rates` from the seconds of UDP that are not empty: quantiles of means over 15 rows."""
    of_slots = [
        float(part[part >= EMPTY].mean())
        for test in udp.tests()
        for part in np.split(test, range(15, test.size, 15))
        if (part >= EMPTY).sum() >= 5
    ]
    quantiles = np.quantile(of_slots, np.linspace(0, 1, 11)) / PAYLOAD
    return ", rates = [" + ", ".join(f"'{one:.1f} Mbit/s'" for one in quantiles) + "]"


def share_of(mbps: float, rates: str) -> float:
    """The share of the time in shadows at which one simulated flow has this mean."""
    low, high = 1e-4, 0.3
    for _ in range(8):
        middle = math.sqrt(low * high)
        more = float(means(SEEDS, 1, share=middle, rates=rates).mean()) > mbps
        low, high = (middle, high) if more else (low, middle)
    return math.sqrt(low * high)


def ratios(name: str, recorded: dict[int, tuple[float, float, float]], **keys: Any) -> None:
    """Prints the ratios of four and eight flows to one, simulated beside the recorded ones with their intervals."""
    of_one = means(SEEDS, 1, **keys)
    for count in (4, 8):
        found = means(SEEDS, count, **keys)
        ratio = float(found.mean() / of_one.mean())
        texts = ["–", "–"]
        if count in recorded:
            value, low, high = recorded[count]
            off = abs(ratio / value - 1)
            texts = [f"{value:.2f} ({low:.2f} to {high:.2f})", f"{100 * off:.0f} % {'ok' if off <= 0.2 else 'missed'}"]
        cells = [name, str(count), texts[0], f"{ratio:.2f}", texts[1], f"{of_one.mean():.1f}, {found.mean():.1f}"]
        print("| " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    """Prints all tables."""
    recorded: dict[int, tuple[float, float, float]] = {}
    files = {}
    if len(sys.argv) > 1:
        folder = Path(sys.argv[1])
        files = {path.stem: read(path) for path in sorted(folder.glob("*.csv"))}
        print("| file | tests | seconds | median, Mbit/s | mean | empty |\n|---|---:|---:|---|---|---|")
        for name, file in files.items():
            draws = drawn(file.blocks())
            cells = []
            for of in (np.median, np.mean, lambda one: 100 * float((one < EMPTY).mean())):
                low, high = interval([float(of(one)) for one in draws])
                cells.append(f"{float(of(file.mbps)):.1f} ({low:.1f} to {high:.1f})")
            print(f"| `{name}` | {len(file.tests())} | {file.mbps.size} | {' | '.join(cells)} % |")
        print("\n| seconds | recorded median | simulated | Kolmogorov-Smirnov |\n|---|---:|---:|---:|")
        for name, keys in (("mob_udp", {"udp": True}), ("mob_tcp", {"share": SHARE}), ("mob_tcp", {})):
            if name in files:
                found = seconds(**keys)
                text = "shadows of 20 ms" if "share" in keys else "drives"
                cells = [f"{np.median(one):.1f}" for one in (files[name].mbps, found)]
                print(f"| `{name}`, {text} | {' | '.join(cells)} | {kolmogorov_smirnov(files[name].mbps, found):.3f} |")
        of_one = drawn(files["roam1"].blocks())
        for count in (4, 8):
            file = files[f"roam{count}"]
            of_several = drawn(file.blocks())
            low, high = interval([b.mean() / a.mean() for a, b in zip(of_one, of_several, strict=True)])
            recorded[count] = float(file.mbps.mean() / files["roam1"].mbps.mean()), low, high
    print(
        "\n| model | flows | recorded ratio | simulated | off | Mbit/s of one and of all |\n|---|---:|---|---:|---|---|"
    )
    ratios("stands", recorded, obstructed=False)
    ratios("drives", recorded)
    ratios("shadows of 20 ms", recorded, share=SHARE)
    if files:
        rates = slot_rates(files["roam_udp"])
        share = share_of(float(files["roam1"].mbps.mean()), rates)
        ratios(f"rates of Roam, {100 * share:.2f} % in shadows", recorded, share=share, rates=rates)
        print(f"\nrates: {rates[2:]}")


if __name__ == "__main__":
    main()
