"""The Gymnasium environment: Gymnasium's own checker, seeds, threads that end. Skipped where gymnasium is absent."""

from __future__ import annotations

import importlib.util
import sys
import threading
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="gymnasium is not installed")

from conftest import ROOT
from gymnasium.utils.env_checker import check_env

import skyhop
from skyhop.gym import FlowEnv, FlowVectorEnv

SCENARIO = {
    "duration": "5 s",
    "profile": "rfc",
    "links": [{"between": ["a", "b"], "rate": "4 Mbit/s", "delay": "50 ms", "errors": [{"packet": 0.002}]}],
    "flows": [{"name": "f", "from": "a", "to": "b", "tcp": {"recovery": "sack"}, "application": "ftp"}],
}


def episode(env: FlowEnv, seed: int, action: float) -> tuple[list[float], skyhop.Run]:
    """The windows of an episode, and its run."""
    observation, _ = env.reset(seed=seed)
    windows = [float(observation[0])]
    while True:
        observation, _, terminated, truncated, info = env.step(np.array([action], np.float32))
        assert not terminated
        if truncated:
            env.close()
            return windows, info["run"]
        windows.append(float(observation[0]))


def test_gymnasiums_checker_finds_nothing() -> None:
    check_env(FlowEnv(SCENARIO), skip_render_check=True)


def test_actions_set_the_window_and_seeds_repeat_episodes() -> None:
    env = FlowEnv(SCENARIO)
    windows, run = episode(env, 1, 0.25)
    # The first decision falls into the handshake, after which the transport sets the initial window.
    grown = [window * 2**0.25 for window in windows[1:9]]
    assert windows[2:10] == pytest.approx(grown, rel=1e-5)
    again, other = episode(env, 1, 0.25)[1], episode(env, 2, 0.25)[1]
    assert again.manifest["records_hash"] == run.manifest["records_hash"] != other.manifest["records_hash"]


def test_the_agent_has_one_flow_of_a_count_and_is_rewarded_once_for_each_observation() -> None:
    flow = SCENARIO["flows"][0] | {"count": 2, "start_spread": "2 s"}  # type: ignore[index]
    scenario = SCENARIO | {"duration": "6 s", "flows": [flow]}
    rewarded: list[list[float]] = []

    def reward(observation: np.ndarray[Any, Any]) -> float:
        rewarded.append(observation.tolist())
        return 1.0

    env = FlowEnv(scenario, flow="f-1", reward=reward)
    first, _ = env.reset(seed=1)
    total, steps, truncated = 0.0, 0, False
    while not truncated:
        # The window of the agent's flow stays at one segment.
        observation, value, _, truncated, info = env.step(np.array([-1.0], np.float32))
        total, steps = total + value, steps + 1
    env.close()
    assert total == len(rewarded) == steps - 1
    assert rewarded[-1] == observation.tolist()
    means = dict(info["run"].flows.select("flow", "cwnd_mean").iter_rows())
    assert means["f-1"] < 3 < means["f-0"]
    # It starts after 1 s and has delivered one segment (its SYN) in one round trip when it is first asked.
    assert first[4] == pytest.approx(8e-3 * 1460 / first[2], rel=0.01)
    with pytest.raises(ValueError, match="no flow is called 'f'; there are: f-0, f-1"):
        FlowEnv(scenario, flow="f")


def test_decisions_by_the_clock_are_that_far_apart() -> None:
    """A run of 5 s has 25 intervals of 200 ms; each ends with the next ACK."""
    env = FlowEnv(SCENARIO, interval_s=0.2)
    windows, _ = episode(env, 1, 0.0)
    assert 22 <= len(windows) <= 25


def test_environments_in_threads_give_the_same_as_one_by_one() -> None:
    before = threading.active_count()
    single = [episode(FlowEnv(SCENARIO), seed, 0.1)[0] for seed in (1, 2, 3)]
    vector = FlowVectorEnv([FlowEnv(SCENARIO) for _ in range(3)])
    observations, _ = vector.reset(seed=1)
    windows = [[float(one[0])] for one in observations]
    for _ in range(10):
        observations, *_ = vector.step(np.full((3, 1), 0.1, np.float32))
        for found, one in zip(windows, observations, strict=True):
            found.append(float(one[0]))
    vector.close()
    assert windows == [one[:11] for one in single]
    assert threading.active_count() == before


def test_a_vector_gives_the_run_and_the_seed_of_each_episode() -> None:
    """By Gymnasium's convention: an array for each key, and whose values count under the key with an underscore."""
    short = SCENARIO | {"duration": "1 s"}
    vector = FlowVectorEnv([FlowEnv(short), FlowEnv(SCENARIO)])
    _, infos = vector.reset(seed=1)
    first = infos["seed"].tolist()
    assert first == [FlowEnv(short).reset(seed=seed)[1]["seed"] for seed in (1, 2)]
    assert infos["_seed"].tolist() == [True, True]
    actions, over = np.zeros((2, 1), np.float32), np.array([False, False])
    while not over.any():
        assert "run" not in infos
        *_, over, infos = vector.step(actions)
    assert over.tolist() == infos["_run"].tolist() == [True, False]
    assert (infos["run"][0].seed, infos["run"][1]) == (first[0], None)
    # The next step begins another episode.
    *_, over, infos = vector.step(actions)
    vector.close()
    assert (over.any(), "run" in infos, infos["_seed"].tolist()) == (False, False, [True, False])
    assert infos["seed"][0] not in first


def test_what_cannot_be_an_environment_is_told() -> None:
    with pytest.raises(ValueError, match="no flow is called 'g'; there are: f"):
        FlowEnv(SCENARIO, flow="g")
    with pytest.raises(ValueError, match="does not run Skyhop's own TCP"):
        FlowEnv(SCENARIO | {"flows": [SCENARIO["flows"][0] | {"tcp": {"profile": "linux"}}]})  # type: ignore[index]
    with pytest.raises(ValueError, match="longer than 0 s"):
        FlowEnv(SCENARIO, interval_s=0.0)
    with pytest.raises(RuntimeError, match="call reset"):
        FlowEnv(SCENARIO).step(np.zeros(1, np.float32))


def example() -> Any:
    """The module examples/gym/train_a_policy.py."""
    spec = importlib.util.spec_from_file_location("train_a_policy", ROOT / "examples" / "gym" / "train_a_policy.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_trained_policy_beats_reno_on_seeds_that_it_has_not_seen() -> None:
    module = example()
    policy = module.Policy.load(ROOT / "examples" / "gym" / "geo-policy.json")
    for verdict in module.judge(policy, module.JUDGED, seeds=6, duration_s=40.0):
        mean, half = verdict.gain
        assert mean - half > 0, f"{verdict.link}: {mean} ± {half} Mbit/s"
        # Not by filling the queue, which holds half of the smallest round-trip time.
        assert verdict.policy_ms.mean < 1.25 * 540


def test_training_improves_on_its_start() -> None:
    pytest.importorskip("cma", reason="cma is not installed")
    learned, before, after = example().train(generations=2, population=6, seeds_per_generation=1, duration_s=20.0)
    assert len(learned) == example().SIZE and after > before
    with pytest.raises(SystemExit, match="seeds of judging, which begin at 1001"):
        example().train(generations=2, population=6, seeds_per_generation=900, duration_s=1.0)
