"""Skyhop: packet-level simulation of transport protocols over satellite networks.

import skyhop

run = skyhop.run("scenario.toml", seed=3)
run.flows              # a polars table
run.plot.cwnd()        # a matplotlib figure
"""

from __future__ import annotations

# Type checkers take the name for that of `typing`, whose import would take longer than everything else here.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from skyhop._core import ControlError, Progress, Scenario, ScenarioError
    from skyhop.api import run, run_into, scenario
    from skyhop.frames import Grid, study, sweep
    from skyhop.loading import load
    from skyhop.own import CongestionControl, include
    from skyhop.results import Run

    __version__: str

__all__ = [
    "CongestionControl",
    "ControlError",
    "Grid",
    "Progress",
    "Run",
    "Scenario",
    "ScenarioError",
    "__version__",
    "include",
    "load",
    "run",
    "run_into",
    "scenario",
    "study",
    "sweep",
]

_HOMES = {
    "CongestionControl": "skyhop.own",
    "ControlError": "skyhop._core",
    "Grid": "skyhop.frames",
    "Progress": "skyhop._core",
    "Run": "skyhop.results",
    "Scenario": "skyhop._core",
    "ScenarioError": "skyhop._core",
    "include": "skyhop.own",
    "load": "skyhop.loading",
    "run": "skyhop.api",
    "run_into": "skyhop.api",
    "scenario": "skyhop.api",
    "study": "skyhop.frames",
    "sweep": "skyhop.frames",
}


def __getattr__(name: str) -> Any:
    """Imports a name when it is asked for: the program looks after Ctrl-C before it imports what takes time."""
    from importlib import import_module

    if name == "__version__":
        value = import_module("skyhop._core").version()
    elif name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
