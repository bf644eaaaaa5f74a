"""Congestion controls of your own, written in Python.

A scenario names the class: `tcp = { recovery = "sack", control = { python = "mycontrol:MyControl" } }`.
`docs/howto/write-a-control-in-python.md` shows how.
"""

from __future__ import annotations

from skyhop.own.control import CongestionControl
from skyhop.own.loading import make

__all__ = ["CongestionControl", "make"]
