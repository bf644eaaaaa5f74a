"""Congestion controls of your own, written in Python, and where plug-ins in C and Rust find their declarations.

A scenario names the class: `tcp = { recovery = "sack", control = { python = "mycontrol:MyControl" } }`.
`docs/howto/write-a-control-in-python.md` shows how.
"""

from __future__ import annotations

from pathlib import Path

from skyhop.own.control import CongestionControl
from skyhop.own.loading import make

__all__ = ["CongestionControl", "include", "make"]


def include() -> Path:
    """The folder with skyhop_cc.h and skyhop_cc.rs, which declare the interface of plug-ins.

    `cc -shared -fPIC -I "$(python -c 'import skyhop; print(skyhop.include())')" mine.c -o libmine.so`
    """
    return Path(__file__).resolve().parents[1] / "include"
