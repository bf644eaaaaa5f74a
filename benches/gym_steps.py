#!/usr/bin/env python3
"""Steps per second of `skyhop.gym`, and of the same decisions passed between two processes.

Run it with the Python in which Skyhop and gymnasium are installed. Three variants give the same episodes:

- `skyhop.gym`: simulation and agent are threads of one process.
- `socket`: the simulation is a process of its own, which sends each observation as JSON over TCP and waits.
- `zmq`: the same with ZeroMQ and protobuf, where both are installed (`pip install pyzmq protobuf`). ns3-gym has this
  design (P. Gawłowicz, A. Zubow: "ns-3 meets OpenAI Gym", MSWiM 2019): request and reply over ZeroMQ, messages of
  protobuf. ns3-gym itself is not built or run here: the figure is the cost of its design for a step of this simulator.

Each variant is measured several times; the fastest time counts. All variants must give the same run.
"""

from __future__ import annotations

import json
import multiprocessing
import socket
import struct
import time
from typing import Any

import numpy as np

import skyhop
from skyhop import gym

SCENARIO = {
    "duration": "120 s",
    "profile": "rfc",
    "links": [{"between": ["a", "b"], "rate": "2 Mbit/s", "delay": "10 ms", "errors": [{"packet": 0.001}]}],
    "flows": [{"name": "f", "from": "a", "to": "b", "tcp": {"recovery": "sack"}, "application": "ftp"}],
}
REPEATS = 5
SEED = 1


def action(observation: Any) -> float:
    """A rule that keeps some 10 segments in flight, so that rounds are short."""
    return 0.1 if observation[0] < 10 else -0.1


def here() -> tuple[int, float, str]:
    """Steps, seconds and the hash of the run, in one process."""
    env = gym.FlowEnv(SCENARIO)
    steps, over = 0, False
    begin = time.perf_counter()
    observation, _ = env.reset(seed=SEED)
    while not over:
        observation, _, _, over, info = env.step(np.array([action(observation)], np.float32))
        steps += 1
    seconds = time.perf_counter() - begin
    env.close()
    return steps, seconds, info["run"].manifest["records_hash"]


class Tcp:
    """Messages as JSON over TCP, each after its length."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connection = connection

    @classmethod
    def listen(cls) -> tuple[Any, int]:
        """A function that waits for the other process, and the port."""
        listening = socket.create_server(("127.0.0.1", 0))
        return (lambda: cls(listening.accept()[0])), listening.getsockname()[1]

    @classmethod
    def connect(cls, port: int) -> Tcp:
        """The other end."""
        return cls(socket.create_connection(("127.0.0.1", port)))

    def send(self, values: list[float] | str) -> None:
        """Sends numbers or a text."""
        content = json.dumps(values).encode()
        self.connection.sendall(struct.pack("!I", len(content)) + content)

    def receive(self) -> Any:
        """Waits for numbers or a text."""
        (length,) = struct.unpack("!I", self._exactly(4))
        return json.loads(self._exactly(length))

    def _exactly(self, length: int) -> bytes:
        content = b""
        while len(content) < length:
            content += self.connection.recv(length - len(content))
        return content


class Zmq:
    """Messages of protobuf over ZeroMQ: the agent replies to the requests of the simulation."""

    def __init__(self, connection: Any) -> None:
        from google.protobuf import struct_pb2

        self.message = struct_pb2.ListValue
        self.connection = connection

    @classmethod
    def listen(cls) -> tuple[Any, int]:
        """A function that waits for the other process, and the port."""
        import zmq

        connection = zmq.Context.instance().socket(zmq.REP)
        port = connection.bind_to_random_port("tcp://127.0.0.1")
        return (lambda: cls(connection)), port

    @classmethod
    def connect(cls, port: int) -> Zmq:
        """The other end."""
        import zmq

        connection = zmq.Context.instance().socket(zmq.REQ)
        connection.connect(f"tcp://127.0.0.1:{port}")
        return cls(connection)

    def send(self, values: list[float] | str) -> None:
        """Sends numbers or a text."""
        message = self.message()
        message.extend([values] if isinstance(values, str) else values)
        self.connection.send(message.SerializeToString())

    def receive(self) -> Any:
        """Waits for numbers or a text."""
        message = self.message.FromString(self.connection.recv())
        values = list(message)
        return values[0] if len(values) == 1 and isinstance(values[0], str) else values


def simulate(kind: type[Tcp] | type[Zmq], port: int, run_seed: int) -> None:
    """The process of the simulation: no thread but that of the run, which asks over the socket."""
    wire = kind.connect(port)
    env = gym.FlowEnv(SCENARIO)

    def decide(sample: np.ndarray[Any, Any]) -> float:
        wire.send([float(one) for one in sample])
        return float(wire.receive()[0])

    env._exchange.decide = decide  # type: ignore[method-assign]
    run = skyhop.run(env._scenario, seed=run_seed)
    wire.send(str(run.manifest["records_hash"]))
    wire.receive()


def apart(kind: type[Tcp] | type[Zmq], run_seed: int) -> tuple[int, float, str]:
    """Steps, seconds and the hash of the run, in two processes. The start of the process does not count."""
    accept, port = kind.listen()
    process = multiprocessing.get_context("spawn").Process(target=simulate, args=(kind, port, run_seed))
    process.start()
    wire = accept()
    asked = wire.receive()
    begin, steps = time.perf_counter(), 0
    while not isinstance(asked, str):
        wire.send([float(np.float32(action(asked)))])
        asked = wire.receive()
        steps += 1
    seconds = time.perf_counter() - begin
    wire.send([0.0])
    process.join()
    return steps, seconds, asked


def main() -> None:
    """Prints steps per second of each variant."""
    env = gym.FlowEnv(SCENARIO)
    run_seed = env.reset(seed=SEED)[1]["seed"]
    env.close()
    variants: dict[str, Any] = {"skyhop.gym": here, "socket": lambda: apart(Tcp, run_seed)}
    try:
        import zmq  # noqa: F401
        from google.protobuf import struct_pb2  # noqa: F401

        variants["zmq"] = lambda: apart(Zmq, run_seed)
    except ImportError as error:
        print(f"zmq: left out: {error}")
    hashes = set()
    for name, variant in variants.items():
        found = [variant() for _ in range(REPEATS)]
        steps, seconds, _ = min(found, key=lambda one: one[1])
        hashes |= {one[2] for one in found}
        print(
            f"{name}: {steps} steps in {seconds:.3f} s, {steps / seconds:.0f} per second, "
            f"{1e6 * seconds / steps:.0f} µs each"
        )
    if len(hashes) > 1:
        raise SystemExit("the variants did not give the same run, so the times cannot be compared")


if __name__ == "__main__":
    main()
