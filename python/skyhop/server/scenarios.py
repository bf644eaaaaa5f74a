"""Scenarios that come from the page: they may not name files of this machine."""

from __future__ import annotations

import sys
from typing import Any

from skyhop import _core

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]

#: Keys whose text is the path of a file that the engine reads into the scenario.
_FILES = {"elements", "opportunities", "table", "delays", "stations_file"}


class FileNamed(ValueError):
    """A scenario from the page names a file; the message says where and what would be right."""


def read(text: str) -> _core.Scenario:
    """The scenario, checked. Raises ScenarioError, or FileNamed: a page must not read what lies on the disk."""
    try:
        tree = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        tree = {}  # The engine says what is wrong, and where.
    named = _file(tree, "")
    if named:
        raise FileNamed(f'{named}: a scenario from the page reads no files; give the content as {{ text = "…" }}')
    return _core.Scenario.from_toml(text, origin="scenario")


def _file(node: Any, path: str) -> str:
    """The path of the first key that names a file, or nothing."""
    if isinstance(node, list):
        found = (_file(one, f"{path}[{number}]") for number, one in enumerate(node))
        return next((one for one in found if one), "")
    if not isinstance(node, dict):
        return ""
    for key, value in node.items():
        here = f"{path}.{key}" if path else key
        if key in _FILES and isinstance(value, str):
            return here
        inside = _file(value, here)
        if inside:
            return inside
    return ""
