"""Start times of flows, moved a little: what hangs on a microsecond is not known from one run."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from skyhop import _core

_UNITS_NS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}


def spread(scenario: _core.Scenario, *, seed: int, within_s: float) -> _core.Scenario:
    """Each flow starts later by a time between 0 and `within_s`, drawn evenly by the seed and the flow's name."""

    def later_ns(name: str) -> int:
        digest = hashlib.sha256(f"{seed} {name}".encode()).digest()
        return int(int.from_bytes(digest[:8], "big") / 2**64 * within_s * 1e9)

    data = one_by_one(scenario)
    for flow in data["flows"]:
        flow["start"] = f"{_start_ns(flow) + later_ns(flow['name'])} ns"
    return _read(data)


def one_later(scenario: _core.Scenario) -> _core.Scenario:
    """The last flow starts a microsecond later, the others as before."""
    data = one_by_one(scenario)
    if data["flows"]:
        last = data["flows"][-1]
        last["start"] = f"{_start_ns(last) + 1000} ns"
    return _read(data)


def _read(data: dict[str, Any]) -> _core.Scenario:
    """Without a search for keys that have no effect: the canonical form has every key, and nobody wrote them."""
    return _core.Scenario.from_json(json.dumps(data), written=False)


def one_by_one(scenario: _core.Scenario) -> dict[str, Any]:
    """The scenario with every flow of a `count` by itself, named as the engine names it."""
    data: dict[str, Any] = json.loads(scenario.canonical_json())
    flows = []
    for flow in data["flows"]:
        number = flow.pop("count", None)
        spread = flow.pop("start_spread", None)
        if number is None:
            flows.append(flow)
            continue
        for one in range(number):
            own = {**flow, "name": f"{flow['name']}-{one}"}
            if spread is not None:
                # The starts divide `start_spread` evenly, in whole nanoseconds as in the engine.
                own["start"] = f"{_start_ns(flow) + _nanoseconds(spread) * one // number} ns"
            flows.append(own)
    data["flows"] = flows
    return data


def start_s(flow: dict[str, Any]) -> float:
    """When a flow of `one_by_one` starts, s."""
    return _start_ns(flow) / 1e9


def _start_ns(flow: dict[str, Any]) -> int:
    return _nanoseconds(flow.get("start", "0 s"))


def _nanoseconds(text: str) -> int:
    parts = re.fullmatch(r"([0-9]+)(?:\.([0-9]+))? ?([a-z]+)", text)
    if parts is None or parts[3] not in _UNITS_NS:
        raise ValueError(f"the start {text!r} is not a time that can be moved")
    digits = parts[2] or ""
    whole, unit = int(parts[1] + digits), _UNITS_NS[parts[3]]
    return whole * unit // int(10 ** len(digits))
