"""How often the 90 % intervals of `skyhop fit starlink` hold known values.

Usage: `python benches/sky/starlink_coverage.py [--recordings 40] [--draws 40] [--case NAME]… [--engine] [--loaded]`.

Each case makes recordings of known values and fits them. They are made here, by a model of the profile of its own, or
with `--engine` by the engine, which takes the known values as a scenario's profile. `--loaded` fits what iperf3 would
tell of known rates, losses, outages and token buckets. Each cell has the mean found, in brackets the known value, and
how many intervals hold it: of 40 that hold it with 90 % each, 33 to 39 do in 19 of 20 cases. Where there is no bucket
the cell says how many fits claim one.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from skyhop import starlink
from skyhop.starlink import simulating
from skyhop.starlink.recordings import Floats, Recording
from skyhop.starlink.transfers import Transfer

#: An edge.
START_S = 1_700_000_052.0
SLOT_S = 15.0

#: Normal quantiles of evenly spaced shares, the outermost at 0.5 and 99.5 %.
NORMAL = np.array([NormalDist().inv_cdf(share) for share in np.linspace(0.005, 0.995, 21)])

#: A jitter and a step with long upper tails, like those of a recorded link, ms.
LONG_JITTER = np.array(
    [0, 3.8, 5.4, 6.7, 7.9, 9.1, 10.2, 11.5, 13, 13.9, 14.4, 15, 15.9, 17.4, 19.1, 20.8, 22.9, 25.5, 28.3, 33.2, 48.7]
)
LONG_STEP = np.array([0, 4.8, 7.1, 8.5, 9.9, 11.3, 12.7, 15, 17.9, 23.3, 35.1, 64.2])


def lognormal(median: float, deviation: float) -> Floats:
    """Quantiles of a lognormal distribution, cut at 0.5 and 99.5 %."""
    return np.asarray(median * np.exp(deviation * NORMAL))


@dataclass(frozen=True)
class Case:
    """Known values: evenly spaced quantiles in ms, of the spread a factor, and the pings."""

    step: Floats | tuple[float, ...] = (0, 20)
    jitter: Floats | tuple[float, ...] = (0, 10)
    spread: Floats | tuple[float, ...] = (1, 1)
    pause: Floats | tuple[float, ...] = (120, 120)
    pause_known: tuple[float, float] = (120, 0)
    correlation: float = 0.0
    every_s: float = 0.2
    minutes: int = 20

    @property
    def known(self) -> dict[str, float]:
        """The values by the names of the fit."""
        shares = (np.arange(4000) + 0.5) / 4000
        step, jitter, spread = (
            at(np.asarray(one, dtype=float), shares) for one in (self.step, self.jitter, self.spread)
        )
        # A fit counts spreads from their median on.
        middle = float(np.median(spread))
        return {
            "step, mean": float(step.mean()),
            "step, 90 %": float(np.percentile(step, 90)),
            "jitter, median": middle * float(np.median(jitter)),
            "jitter, 10 to 90 %": middle * float(np.subtract(*np.percentile(jitter, [90, 10]))),
            "spread, standard deviation of its logarithm": float(np.std(np.log(spread))),
            "pause, median": self.pause_known[0],
            "pause, standard deviation of its logarithm": self.pause_known[1],
            "correlation of neighbouring slots": self.correlation,
        }


def paused(median: float, deviation: float) -> dict[str, object]:
    """A lognormal pause."""
    return {"pause": lognormal(median, deviation), "pause_known": (median, deviation)}


CASES = {
    "even": Case(),
    "spread": Case(spread=lognormal(1, 0.35), **paused(95, 0.25)),
    "long tails": Case(LONG_STEP, LONG_JITTER, lognormal(1, 0.35), **paused(60, 0.4)),
    "small steps": Case(step=(0, 4), pause=(0, 0), pause_known=(0, 0)),
    "wide jitter": Case(step=(0, 30), jitter=(0, 2, 40), spread=(0.7, 1.3), **paused(180, 0.3)),
    "correlated": Case(spread=lognormal(1, 0.2), correlation=0.5, **paused(120, 0.3)),
    "correlated, 1 h": Case(spread=lognormal(1, 0.2), correlation=0.8, minutes=60, **paused(120, 0.3)),
    "20 ms, 10 min": Case(spread=lognormal(1, 0.2), every_s=0.02, minutes=10, **paused(120, 0.3)),
    "1 s, 1 h": Case(every_s=1.0, minutes=60, **paused(120, 0.3)),
    "1 s, 10 min": Case(spread=lognormal(1, 0.2), every_s=1.0, minutes=10, **paused(120, 0.3)),
}


def at(quantiles: Floats, shares: Floats) -> Floats:
    """Draws from evenly spaced quantiles."""
    return np.asarray(np.interp(shares, np.linspace(0, 1, quantiles.size), quantiles))


def chained(count: int, correlation: float, generator: np.random.Generator) -> Floats:
    """Shares of slots whose normal scores correlate with those of their neighbours."""
    scores = generator.standard_normal(count)
    for n in range(1, count):
        scores[n] = correlation * scores[n - 1] + math.sqrt(1 - correlation**2) * scores[n]
    return np.array([NormalDist().cdf(one) for one in scores])


def times_of(case: Case, generator: np.random.Generator) -> Floats:
    """When the pings leave, s after an edge: not quite evenly, as those of a real clock."""
    times = np.arange(0.0, 60 * case.minutes - 0.5, case.every_s)
    return np.asarray(times + generator.uniform(0, 0.5 * case.every_s, times.size))


def made(case: Case, seed: int) -> Recording:
    """A recording of the known values."""
    generator = np.random.Generator(np.random.PCG64(seed))
    slots = round(60 * case.minutes / SLOT_S)
    since_s = times_of(case, generator)
    slot = np.floor(since_s / SLOT_S).astype(int)
    step_ms = at(np.asarray(case.step), chained(slots, case.correlation, generator))[slot]
    spread = at(np.asarray(case.spread), chained(slots, case.correlation, generator))[slot]
    pause_ms = at(np.asarray(case.pause), generator.uniform(size=slots))[slot]
    departs_s = np.maximum(since_s, SLOT_S * slot + 1e-3 * pause_ms)
    # Jitter holds for 20 ms, and no packet overtakes another.
    interval = np.floor(departs_s / 0.02).astype(int)
    jitter_ms = at(np.asarray(case.jitter), generator.uniform(size=interval.max() + 1))[interval]
    arrives_s = np.maximum.accumulate(departs_s + 1e-3 * (step_ms + spread * jitter_ms))
    return Recording(f"{seed}", START_S + since_s, 30 + 1e3 * (arrives_s - since_s))


def simulated(case: Case, seed: int) -> Recording:
    """The same from the engine."""
    times_s = START_S + times_of(case, np.random.Generator(np.random.PCG64(seed)))
    off = {"rates": ["1 Gbit/s", "1 Gbit/s"], "loss": 0, "edge_loss": [0, 0], "spike": ["0 ms", "0 ms"]}
    off |= {"before": "0 s", "jitter": "0 ms", "step": "0 ms", "pause": "0 s"}
    lengths = {key: [f"{value:.6g} ms" for value in getattr(case, key)] for key in ("step", "jitter", "pause")}
    up = {**off, **lengths, "spread": [float(f"{one:.6g}") for one in case.spread], "correlation": case.correlation}
    profile = {"forward": {"profile": {"starlink": up}}, "backward": {"profile": {"starlink": off}}}
    return simulating.round_trips(Recording(f"{seed}", times_s, np.zeros(times_s.size)), profile, 1000 + seed)


@dataclass(frozen=True)
class Load:
    """Known rates of slots in Mbit/s, their correlation, the loss or its quantiles, those of the outage in ms."""

    rates: tuple[float, ...] = (10, 17, 27, 48, 70)
    correlation: float = 0.0
    loss: float | tuple[float, ...] = 0.002
    outage: tuple[float, ...] = (0, 0, 50)
    minutes: int = 15
    offered: float = 100.0
    stream: float = 5.0
    floods: int = 1
    """As long as `minutes` each, an hour apart, each at less than the one before."""
    scatter: float = 0.0
    """Standard deviation of a second's rate around that of its slot, as a share."""
    bucket: tuple[float, float] = (math.nan, math.nan)
    """Rate in Mbit/s and volume in MB."""

    @property
    def known(self) -> dict[str, float]:
        """The values by the names of the fit."""
        shares = (np.arange(4000) + 0.5) / 4000
        rates, outage = at(np.array(self.rates, dtype=float), shares), at(np.array(self.outage, dtype=float), shares)
        losses = at(np.atleast_1d(np.array(self.loss, dtype=float)), shares)
        return {
            "rate, mean, Mbit/s": float(rates.mean()),
            "rate, median, Mbit/s": float(np.median(rates)),
            "correlation of the rates of neighbouring slots": self.correlation,
            "loss between edges": float(losses.mean()),
            "loss of slots, 90 %": float(np.quantile(losses, 0.9)) if isinstance(self.loss, tuple) else math.nan,
            "outage, mean, ms": float(outage.mean()),
            "allowance, rate, Mbit/s": self.bucket[0],
            "allowance, volume, MB": self.bucket[1],
        }


LOADS = {
    "15 min": Load(),
    "1 h": Load(minutes=60),
    "correlated": Load(correlation=0.8, minutes=60),
    "correlated, 15 min": Load(correlation=0.8),
    "narrow": Load(rates=(18, 25), correlation=0.4, loss=0.0005, outage=(0, 20), minutes=30),
    "bucket": Load(rates=(50, 87), minutes=5, floods=3, scatter=0.03, bucket=(24, 430)),
    "losses": Load(minutes=60, loss=(0.0003, 0.001, 0.0016, 0.0024, 0.005)),
    "losses, 15 min": Load(loss=(0.0003, 0.001, 0.0016, 0.0024, 0.005)),
    "held": Load(rates=(14, 22, 23, 24, 25, 50, 87), correlation=0.8, minutes=5, floods=3, scatter=0.03),
}

#: The tokens are counted so often in a second.
STEPS = 50

#: User data of a datagram, B, and what IP and UDP add.
PAYLOAD_B = 1172
WIRE = 1 + 28 / PAYLOAD_B


def limited(mbps: Floats, bucket: tuple[float, float]) -> Floats:
    """What a link with such rates of seconds carries in each behind a full bucket."""
    rate, most = bucket[0], 8 * bucket[1]
    if math.isnan(rate):
        return mbps
    tokens, carried = most, np.zeros(mbps.size)
    for n, of_link in enumerate(mbps):
        for _ in range(STEPS):
            passes = min(of_link / STEPS, tokens + rate / STEPS)
            tokens = min(tokens + rate / STEPS - passes, most)
            carried[n] += passes
    return carried


def lost_by(quantiles: tuple[float, ...], slots: int, seed: int) -> Floats:
    """What each slot loses. Draws of its own, so that the cases without them are the same ones as before."""
    return at(np.array(quantiles), np.random.Generator(np.random.PCG64(seed + 1_000_000)).uniform(size=slots))


def loads(case: Load, seed: int) -> list[Transfer]:
    """Floods, and a stream that the link carries, as iperf3 tells of them: a row for each second."""
    generator = np.random.Generator(np.random.PCG64(seed))
    seconds = np.arange(60.0 * case.minutes)
    found = []
    offers = [(f"flood {n}" if n else "flood", case.offered * (1 - 0.05 * n)) for n in range(case.floods)]
    for place, (name, offered) in enumerate([*offers, ("stream", case.stream)]):
        slots = seconds.size // 15 + 2
        rate = at(np.array(case.rates, dtype=float), chained(slots, case.correlation, generator))
        outage_s = 1e-3 * at(np.array(case.outage, dtype=float), generator.uniform(size=slots))
        # Edges at 12, 27, … s.
        since = seconds - 12
        slot = np.floor(since / 15).astype(int) + 1
        sent = np.full(seconds.size, np.floor(offered * 1e6 / 8 / PAYLOAD_B))
        mbps = rate[slot]
        if case.scatter:
            mbps = mbps * (1 + case.scatter * generator.standard_normal(seconds.size))
        passes = limited(np.minimum(mbps, sent * WIRE * 8 * PAYLOAD_B / 1e6), case.bucket)
        passes = np.minimum(sent, 1e6 * passes / WIRE / 8 / PAYLOAD_B)
        # An outage lies before the edge, in the last second of its slot.
        ends = (since % 15) == 14
        out = np.where(ends, outage_s[slot], 0.0)
        lost: Floats | float = case.loss if isinstance(case.loss, float) else lost_by(case.loss, slots, seed)[slot]
        arrived = generator.binomial(np.round(passes * (1 - out)).astype(int), 1 - lost).astype(float)
        found.append(
            Transfer(
                name=f"{name} {seed}",
                start_s=START_S - 12 + (60_000 if name == "stream" else 3600 * place),
                omitted_s=0.0,
                begins_s=seconds,
                lengths_s=np.ones(seconds.size),
                rate_bps=8 * PAYLOAD_B * arrived,
                as_received=True,
                mean_bps=float(np.mean(8 * PAYLOAD_B * arrived)),
                sent_begins_s=seconds,
                sent_lengths_s=np.ones(seconds.size),
                retransmits=None,
                resent=None,
                cwnd_bytes=None,
                streams=1,
                least_rtt_ms=None,
                control=None,
                reverse=False,
                is_udp=True,
                offered_bps=offered * 1e6,
                lost=float(1 - arrived.sum() / sent.sum()),
                packets=int(sent.sum()),
                packets_each=sent,
                lost_each=sent - arrived,
                wire_factor=WIRE,
            )
        )
    return found


def cell(value: str, known: float, every: list[tuple[starlink.Parameter, ...]]) -> str:
    """The mean found, the known value, and how many intervals hold the latter."""
    of = [one for parameters in every for one in parameters if one.name == value]
    if math.isnan(known):
        return f"claimed in {len(of)}"
    # Pauses that are all the same lie between those that are looked for: 1 % and the least deviation are nothing.
    slack = {"pause, median": 0.01 * known, "pause, standard deviation of its logarithm": 0.03}.get(value, 1e-6)
    held = sum(one.low - slack <= known <= one.high + slack for one in of)
    told = "" if len(of) == len(every) else f" of {len(of)}"
    return f"{np.mean([one.value for one in of]):.3g} ({known:.3g}): {held}{told}" if of else "–"


def row(name: str, known: dict[str, float], every: list[tuple[starlink.Parameter, ...]]) -> None:
    """Prints a row for a case."""
    print(f"| {name} | {' | '.join(cell(value, right, every) for value, right in known.items())} |", flush=True)


def header(values: dict[str, float]) -> None:
    """Prints the head of the table."""
    print(f"| case | {' | '.join(values)} |\n|---|{'---:|' * len(values)}")


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--recordings", type=int, default=40)
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("--first", type=int, default=0, help="The first seed.")
    parser.add_argument("--case", action="append")
    parser.add_argument("--engine", action="store_true")
    parser.add_argument("--loaded", action="store_true")
    given = parser.parse_args()
    seeds = range(given.first, given.first + given.recordings)
    if given.loaded:
        header(Load().known)
        for name, load in LOADS.items():
            if not given.case or name in given.case:
                fits = [starlink.fit_capacity(loads(load, seed), draws=given.draws).parameters for seed in seeds]
                row(name, load.known, fits)
        return
    header(Case().known)
    for name, case in CASES.items():
        if not given.case or name in given.case:
            make = simulated if given.engine else made
            row(name, case.known, [starlink.fit([make(case, seed)], draws=given.draws).parameters for seed in seeds])


if __name__ == "__main__":
    main()
