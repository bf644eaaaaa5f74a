"""A Gymnasium environment: an agent sets the congestion window of one flow, once per round trip or interval.

    env = skyhop.gym.FlowEnv("scenario.toml")
    observation, info = env.reset(seed=1)
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample())

It needs the package gymnasium: `pip install "skyhop[gym]"`.
"""

from __future__ import annotations

import itertools
import math
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

try:
    import gymnasium
except ImportError as error:
    raise ImportError('skyhop.gym needs the package gymnasium: pip install "skyhop[gym]"') from error
import numpy as np

from skyhop import _core, api
from skyhop.own import CongestionControl
from skyhop.starts import one_by_one, start_s

if TYPE_CHECKING:
    from skyhop._core import Ack, Congestion, Loss, Start
    from skyhop.results import Run

#: What an observation holds, in this order.
OBSERVED = (
    "window in segments", "smoothed round-trip time in ms", "latest round-trip time in ms",
    "smallest round-trip time in ms", "delivered in Mbit/s", "segments lost", "segments in flight",
)  # fmt: skip

#: An action of 1 doubles the window, one of -1 halves it.
_LARGEST = 1e9

_exchanges: dict[str, _Exchange] = {}
_numbers = itertools.count()


class _Exchange:
    """Where the run's thread and the agent's thread hand over: one of them always waits."""

    def __init__(self, interval_s: float | None) -> None:
        self.interval_s = interval_s
        #: When the flow starts, s.
        self.start_s = 0.0
        self.renew()

    def renew(self) -> None:
        """For another run; the control holds this object, because a module is made once."""
        #: A sample, or None at the end of the run.
        self.samples: queue.SimpleQueue[np.ndarray[Any, Any] | None] = queue.SimpleQueue()
        self.actions: queue.SimpleQueue[float | None] = queue.SimpleQueue()
        self.closed = False

    def decide(self, sample: np.ndarray[Any, Any]) -> float:
        """The agent's answer; 0, which keeps the window, once nobody answers any more."""
        if self.closed:
            return 0.0
        self.samples.put(sample)
        answer = self.actions.get()
        if answer is None:
            self.closed = True
            return 0.0
        return answer


def agent_of(token: str) -> type[CongestionControl]:
    """The control that asks the environment of this token; the scenario of an environment names it."""
    exchange = _exchanges[token]

    class Agent(CongestionControl):
        """Asks the agent at the end of each round or interval."""

        def __init__(self, start: Start) -> None:
            super().__init__(start)
            self.mss = start.mss
            self.clamp = start.clamp
            # The rate of the first round would be too low if it counted the time before the flow's start.
            self.begin, self.delivered, self.lost = exchange.start_s, 0, 0.0

        def on_ack(self, ack: Ack) -> None:
            self._look(ack)

        def on_measured(self, ack: Ack) -> None:
            self._look(ack)

        def on_lost(self, loss: Loss) -> None:
            self.lost += loss.lost

        def on_congestion(self, event: Congestion) -> None:
            # The agent hears of losses and cuts the window itself; after a timeout every transport begins anew.
            if event.kind == "timeout":
                self.cwnd = 1.0

        def _look(self, ack: Ack) -> None:
            due = ack.round_ends if exchange.interval_s is None else ack.now >= self.begin + exchange.interval_s
            if not due or ack.now <= self.begin:
                return
            seconds = ack.now - self.begin
            rate = 8e-6 * self.mss * (ack.delivered - self.delivered) / seconds
            times = [1e3 * (time or 0.0) for time in (ack.smoothed_rtt, ack.rtt or ack.smoothed_rtt, ack.min_rtt)]
            sample = np.array([self.cwnd, *times, rate, self.lost, ack.in_flight], dtype=np.float32)
            self.begin, self.delivered, self.lost = ack.now, ack.delivered, 0.0
            action = exchange.decide(sample)
            self.cwnd = min(max(self.cwnd * 2.0**action, 1.0), self.clamp)
            # Without a threshold below it, records would call every phase slow start.
            self.ssthresh = self.cwnd

    return Agent


def throughput_without_loss(observation: np.ndarray[Any, Any]) -> float:
    """The usual reward: the logarithm of the delivered Mbit/s, less the share of the window that was lost."""
    delivered, lost, window = float(observation[4]), float(observation[5]), float(observation[0])
    return math.log2(1.0 + delivered) - lost / max(window, 1.0)


class FlowEnv(gymnasium.Env[np.ndarray[Any, Any], np.ndarray[Any, Any]]):
    """One flow of a scenario whose window an agent sets.

    `scenario` is a file or nested dicts; the flow `flow`, by default the first, must run Skyhop's own TCP. Its control
    is replaced. A decision is due at the end of each round trip, or every `interval_s` of simulated time, with the next
    ACK: while no ACK arrives, there is none. An action is the logarithm to base 2 of the window's factor. An episode
    ends, truncated, with the run; its `info["run"]` is the run. That step repeats the last observation, and its reward
    is 0. A seed gives the same episode for the same actions.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        scenario: api.Source,
        *,
        flow: str | None = None,
        interval_s: float | None = None,
        reward: Callable[[np.ndarray[Any, Any]], float] = throughput_without_loss,
    ) -> None:
        if interval_s is not None and not interval_s > 0:
            raise ValueError(f"interval_s is {interval_s}: an interval is longer than 0 s; None means a round trip")
        self.observation_space = gymnasium.spaces.Box(0.0, np.float32(_LARGEST), (len(OBSERVED),), np.float32)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self._reward = reward
        self._token = f"environment-{next(_numbers)}"
        self._exchange = _exchanges[self._token] = _Exchange(interval_s)
        self._scenario = self._with_agent(scenario, flow)
        self._thread: threading.Thread | None = None
        self._progress = _core.Progress()
        self._ended: Run | BaseException | None = None
        self._last = np.zeros(len(OBSERVED), np.float32)

    def _with_agent(self, source: api.Source, name: str | None) -> _core.Scenario:
        # Each flow of a `count` by itself: the agent would be asked for all of them in turn.
        data = one_by_one(api.scenario(source))
        flows = [flow for flow in data["flows"] if name is None or flow["name"] == name]
        if not flows:
            raise ValueError(f"no flow is called {name!r}; there are: {', '.join(f['name'] for f in data['flows'])}")
        tcp = flows[0].get("tcp")
        if not isinstance(tcp, Mapping) or "recovery" not in tcp:
            raise ValueError(
                f"the flow {flows[0]['name']!r} does not run Skyhop's own TCP, whose window an agent can set: write "
                'profile = "rfc" at the top of the scenario'
            )
        self._exchange.start_s = start_s(flows[0])
        source_text = f"from skyhop.gym import agent_of\nAgent = agent_of({self._token!r})\n"
        flows[0]["tcp"] = {**tcp, "control": {"python": {"class": "agent:Agent", "source": source_text}}}
        return api.scenario(data)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray[Any, Any], dict[str, Any]]:
        """Begins a run and gives the first observation. Without a seed, the next run has another one."""
        super().reset(seed=seed, options=options)
        self.close()
        exchange = self._exchange
        exchange.renew()
        self._ended, self._progress = None, _core.Progress()
        run_seed = int(self.np_random.integers(2**31))

        def simulate() -> None:
            try:
                self._ended = api.run(self._scenario, seed=run_seed, progress=self._progress)
            except BaseException as error:
                self._ended = error
            exchange.samples.put(None)

        self._thread = threading.Thread(target=simulate, name="skyhop-episode", daemon=True)
        self._thread.start()
        return self._observe(), {"seed": run_seed}

    def step(self, action: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], float, bool, bool, dict[str, Any]]:
        """Sets the window and simulates until the next decision."""
        self.send(action)
        return self.receive()

    def send(self, action: np.ndarray[Any, Any]) -> None:
        """The first half of a step: the run goes on in its thread."""
        if self._thread is None:
            raise RuntimeError("the episode is over or did not begin: call reset()")
        value = float(np.clip(np.asarray(action, dtype=np.float64).reshape(-1)[0], -1.0, 1.0))
        if self._ended is None:
            self._exchange.actions.put(value)

    def receive(self) -> tuple[np.ndarray[Any, Any], float, bool, bool, dict[str, Any]]:
        """The second half: waits for the next decision."""
        observation = self._observe()
        over = self._ended is not None
        info = {"run": self._ended} if over else {}
        # At the end of the run no decision is due: the last observation was rewarded when it came.
        return observation, 0.0 if over else float(self._reward(observation)), False, over, info

    def _observe(self) -> np.ndarray[Any, Any]:
        if self._ended is None:
            sample = self._exchange.samples.get()
            if sample is not None:
                self._last = np.clip(sample, 0.0, np.float32(_LARGEST))
        if isinstance(self._ended, BaseException):
            raise self._ended
        observation: np.ndarray[Any, Any] = self._last.copy()
        return observation

    def close(self) -> None:
        """Ends the run, if one goes on."""
        if self._thread is not None:
            self._progress.cancel()
            self._exchange.actions.put(None)
            self._thread.join()
            self._thread = None


class FlowVectorEnv(gymnasium.vector.VectorEnv[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]):
    """Several environments whose runs go on at the same time, each in a thread. An episode that ended begins anew with
    the next step, as Gymnasium's own vectors do. Infos are as theirs: `infos["run"]` has the run of each environment
    whose episode ended with this step and None for the others, and `infos["_run"]` says which have one; likewise
    `infos["seed"]` where episodes began."""

    def __init__(self, environments: Sequence[FlowEnv]) -> None:
        if not environments:
            raise ValueError("a vector has one environment at least")
        self.envs = list(environments)
        self.num_envs = len(self.envs)
        self.metadata = {"autoreset_mode": gymnasium.vector.AutoresetMode.NEXT_STEP}
        self.single_observation_space = self.envs[0].observation_space
        self.single_action_space = self.envs[0].action_space
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, self.num_envs)
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, self.num_envs)
        self._over = [False] * self.num_envs

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray[Any, Any], dict[str, Any]]:
        """Begins a run in each; from one seed follow those of the others, one by one."""
        if isinstance(seed, int):
            seed = [seed + i for i in range(self.num_envs)]
        seeds = [None] * self.num_envs if seed is None else list(seed)
        found = [env.reset(seed=one, options=options) for env, one in zip(self.envs, seeds, strict=True)]
        self._over = [False] * self.num_envs
        infos: dict[str, Any] = {}
        for i, (_, info) in enumerate(found):
            infos = self._add_info(infos, info, i)
        return np.stack([observation for observation, _ in found]), infos

    def step(
        self, actions: np.ndarray[Any, Any]
    ) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any], dict[str, Any]]:
        """Sets all windows, and waits until each run needs a decision."""
        for env, action, over in zip(self.envs, actions, self._over, strict=True):
            if not over:
                env.send(action)
        observations, rewards = [], np.zeros(self.num_envs)
        infos: dict[str, Any] = {}
        for i, env in enumerate(self.envs):
            if self._over[i]:
                observation, info = env.reset()
                self._over[i] = False
            else:
                observation, rewards[i], _, self._over[i], info = env.receive()
            observations.append(observation)
            infos = self._add_info(infos, info, i)
        return np.stack(observations), rewards, np.zeros(self.num_envs, bool), np.array(self._over), infos

    def close_extras(self, **_: Any) -> None:
        """Ends all runs."""
        for env in self.envs:
            env.close()
