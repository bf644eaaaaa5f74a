#!/usr/bin/env python3
"""Trains a small policy that sets a TCP's window over a lossy GEO link, and judges it against Reno on other seeds.

    pip install "skyhop[gym]" cma
    python train_a_policy.py train --out policy.json
    python train_a_policy.py judge policy.json

The policy is a network of one hidden layer in NumPy; CMA-ES (N. Hansen's package cma) chooses its numbers. Training
sees the seeds from 1 on and the links of `TRAINED`; judging takes seeds from 1001 on and a link that training never
saw, too. Policy and Reno run with the same seed of the engine, so that differences are paired.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import skyhop
from skyhop.gym import FlowEnv
from skyhop.inference import Estimate, mean_and_interval
from skyhop.speak import with_interval

#: Inputs of the policy, and hidden units.
INPUTS, HIDDEN = 5, 4
#: Numbers of a policy: two layers with their constants.
SIZE = (INPUTS + 1) * HIDDEN + HIDDEN + 1
#: Seeds of judging begin here; training stays below.
JUDGED_FROM = 1001


class Link(NamedTuple):
    """A link over a geostationary satellite."""

    rate_mbps: float
    #: Share of packets that the channel loses.
    loss: float


TRAINED = (Link(2, 0.005), Link(8, 0.002), Link(5, 0.01))
JUDGED = (*TRAINED, Link(4, 0.004))


def scenario(link: Link, duration_s: float) -> dict[str, Any]:
    """A transfer over the link: 270 ms one way, a queue of half the bandwidth-delay product."""
    packets = math.ceil(0.5 * link.rate_mbps * 1e6 * 0.54 / (8 * 1500))
    return {
        "duration": f"{duration_s} s", "profile": "rfc",
        "links": [{"between": ["hub", "ship"], "rate": f"{link.rate_mbps} Mbit/s", "delay": "270 ms",
                   "errors": [{"packet": link.loss}], "queue": {"drop_tail": {"packets": packets}}}],
        "flows": [{"name": "f", "from": "hub", "to": "ship", "application": "ftp",
                   "tcp": {"recovery": "sack", "control": "reno"}}],
    }  # fmt: skip


def score(link: Link, goodput_mbps: float, round_trip_ms: float) -> float:
    """The goodput as a share of the link's rate, less half of the queue's share of the round trip.

    The score of a whole run: a mean over decisions would not see the silence before a timeout, in which there are none.
    """
    return goodput_mbps / link.rate_mbps - 0.5 * max(round_trip_ms / 540.0 - 1.0, 0.0)


class Policy:
    """From an observation to the logarithm of the window's factor."""

    def __init__(self, numbers: Sequence[float]) -> None:
        if len(numbers) != SIZE:
            raise ValueError(f"a policy has {SIZE} numbers, not {len(numbers)}")
        split = (INPUTS + 1) * HIDDEN
        self.first = np.array(numbers[:split]).reshape(HIDDEN, INPUTS + 1)
        self.second = np.array(numbers[split:])

    @classmethod
    def load(cls, file: Path) -> Policy:
        """Reads what `train` writes."""
        return cls(json.loads(file.read_text(encoding="utf-8"))["numbers"])

    def __call__(self, observation: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        window, smoothed, latest, least, delivered, lost, flying = (float(one) for one in observation)
        if least <= 0.0:
            # Nothing was measured: the transport sets the initial window afterwards.
            return np.zeros(1, np.float32)
        # Segments of 1460 bytes that were delivered in the smallest round trip.
        carried = delivered * 1e3 * least / (8 * 1460)
        inputs = np.array([
            min(latest / least - 1.0, 2.0), min(smoothed / least - 1.0, 2.0), min(lost / window, 1.0),
            math.log2((window + 1.0) / (carried + 1.0)), min(flying / window, 2.0), 1.0,
        ])  # fmt: skip
        hidden = np.tanh(self.first @ inputs)
        return np.array([math.tanh(self.second[:-1] @ hidden + self.second[-1])], np.float32)


class Episode(NamedTuple):
    """What an episode gave."""

    score: float
    goodput_mbps: float
    round_trip_ms: float
    seed: int


def measured(run: skyhop.Run) -> tuple[float, float]:
    """Goodput in Mbit/s and mean round-trip time in ms."""
    flow = run.summary["flows"][0]
    return flow["goodput_bps"] / 1e6, 1e3 * flow["rtt_mean_s"]


def episode(
    policy: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]], link: Link, seed: int, duration_s: float
) -> Episode:
    """One run under the policy."""
    env = FlowEnv(scenario(link, duration_s))
    observation, info = env.reset(seed=seed)
    over = False
    while not over:
        observation, _, _, over, last = env.step(policy(observation))
    env.close()
    goodput_mbps, round_trip_ms = measured(last["run"])
    return Episode(score(link, goodput_mbps, round_trip_ms), goodput_mbps, round_trip_ms, info["seed"])


def value(numbers: Sequence[float], seeds: Sequence[int], duration_s: float, threads: ThreadPoolExecutor) -> float:
    """Mean score of a policy over the links of training and these seeds."""
    policy = Policy(numbers)
    cases = [(link, seed) for link in TRAINED for seed in seeds]
    found = threads.map(lambda case: episode(policy, *case, duration_s).score, cases)
    return float(np.mean(list(found)))


def train(
    generations: int, population: int, seeds_per_generation: int, duration_s: float, seed: int = 1
) -> tuple[list[float], float, float]:
    """The numbers of a policy, and the scores on the seeds of the last generation of the start and of the policy."""
    import cma

    if generations * seeds_per_generation >= JUDGED_FROM:
        raise SystemExit(f"training would reach the seeds of judging, which begin at {JUDGED_FROM}")
    search = cma.CMAEvolutionStrategy(
        [0.0] * SIZE, 0.5, {"popsize": population, "seed": seed, "verbose": -9, "maxiter": generations}
    )
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for generation in range(generations):
            # Other seeds for each generation: a policy shall not learn the losses of a seed by heart.
            seeds = [1 + generation * seeds_per_generation + one for one in range(seeds_per_generation)]
            tried = search.ask()
            scores = [value(numbers, seeds, duration_s, threads) for numbers in tried]
            search.tell(tried, [-one for one in scores])
            print(f"generation {generation + 1}: mean score {np.mean(scores):.3f}", file=sys.stderr)
        # The mean of the distribution, not the best that was ever seen: that one was lucky, too.
        learned = [float(one) for one in search.result.xfavorite]
        return learned, value([0.0] * SIZE, seeds, duration_s, threads), value(learned, seeds, duration_s, threads)


class Verdict(NamedTuple):
    """Means over seeds with halves of their 95 % intervals, and those of the paired difference."""

    link: Link
    policy: Estimate
    reno: Estimate
    #: Policy less Reno, in Mbit/s, and half of its interval.
    gain: tuple[float, float]
    policy_ms: Estimate
    reno_ms: Estimate


def judge(policy: Policy, links: Sequence[Link], seeds: int, duration_s: float) -> list[Verdict]:
    """The policy against Reno, each pair of runs with the same seed of the engine."""

    def pair(case: tuple[Link, int]) -> tuple[Episode, tuple[float, float]]:
        link, seed = case
        ours = episode(policy, link, seed, duration_s)
        return ours, measured(skyhop.run(scenario(link, duration_s), seed=ours.seed))

    verdicts = []
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for link in links:
            range_of = range(JUDGED_FROM, JUDGED_FROM + seeds)
            pairs = list(threads.map(pair, [(link, seed) for seed in range_of]))
            ours = {one.seed: one.goodput_mbps for one, _ in pairs}
            theirs = {one.seed: reno[0] for one, reno in pairs}
            gain = mean_and_interval([one.goodput_mbps - reno[0] for one, reno in pairs])
            delays = ({one.seed: one.round_trip_ms for one, _ in pairs}, {one.seed: reno[1] for one, reno in pairs})
            verdicts.append(Verdict(link, Estimate(ours), Estimate(theirs), gain, *(Estimate(one) for one in delays)))
    return verdicts


def table(verdicts: Sequence[Verdict]) -> str:
    """As Markdown."""
    rows = ["| link | policy, Mbit/s | Reno, Mbit/s | difference | policy, RTT in ms | Reno, RTT in ms |",
            "|---|---|---|---|---|---|"]  # fmt: skip
    for link, policy, reno, gain, policy_ms, reno_ms in verdicts:
        name = f"{link.rate_mbps:g} Mbit/s, {100 * link.loss:g} % lost" + (
            "" if link in TRAINED else ", not trained on"
        )
        cells = [with_interval(one, 2) for one in (policy, reno)]
        delays = [with_interval(one, 0) for one in (policy_ms, reno_ms)]
        # Equal gains have no interval.
        half = f" ± {gain[1]:.2f}" if gain[1] > 0 else ""
        rows.append(f"| {name} | {' | '.join(cells)} | {gain[0]:+.2f}{half} | {' | '.join(delays)} |")
    return "\n".join(rows)


def main() -> None:
    """Trains or judges."""
    parser = argparse.ArgumentParser(description="Train a policy over lossy GEO links, or judge one against Reno.")
    commands = parser.add_subparsers(dest="command", required=True)
    training = commands.add_parser("train")
    training.add_argument("--out", type=Path, required=True)
    training.add_argument("--generations", type=int, default=25)
    training.add_argument("--population", type=int, default=12)
    training.add_argument("--seeds", type=int, default=3, help="seeds per generation")
    judging = commands.add_parser("judge")
    judging.add_argument("policy", type=Path)
    judging.add_argument("--seeds", type=int, default=30)
    for one in (training, judging):
        one.add_argument("--duration", type=float, default=60.0, help="simulated seconds of an episode")
    given = parser.parse_args()
    if given.command == "train":
        learned, before, after = train(given.generations, given.population, given.seeds, given.duration)
        print(f"score on the last seeds of training: {before:.3f} before, {after:.3f} after")
        given.out.write_text(json.dumps({"numbers": learned}, indent=1) + "\n", encoding="utf-8")
    else:
        print(f"Means over {given.seeds} seeds with 95 % intervals; differences are paired by seed.\n")
        print(table(judge(Policy.load(given.policy), JUDGED, given.seeds, given.duration)))


if __name__ == "__main__":
    main()
