"""Skyhop: packet-level simulation of transport protocols over satellite networks.

import skyhop

run = skyhop.run("scenario.toml", seed=3)
run.flows              # a polars table
run.plot.cwnd()        # a matplotlib figure
"""

from skyhop._core import Progress, Scenario, ScenarioError
from skyhop._core import version as _version
from skyhop.api import run, scenario
from skyhop.results import Run

__all__ = ["Progress", "Run", "Scenario", "ScenarioError", "__version__", "run", "scenario"]

__version__ = _version()
