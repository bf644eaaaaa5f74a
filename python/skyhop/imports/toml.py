"""A scenario as TOML, as somebody would write it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from skyhop.imports.draft import Draft


def as_toml(draft: Draft) -> str:
    """The scenario's text; notes stand at its head."""
    lines = [f"# {note}" for note in draft.notes]
    tables = []
    for key, value in draft.sections.items():
        if isinstance(value, Mapping):
            tables += ["", f"[{_key(key)}]", *(f"{_key(name)} = {_value(one)}" for name, one in value.items())]
        elif isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value):
            for entry in value:
                tables += ["", f"[[{_key(key)}]]", *(f"{_key(name)} = {_value(one)}" for name, one in entry.items())]
        else:
            lines.append(f"{_key(key)} = {_value(value)}")
    return "\n".join([*lines, *tables]) + "\n"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(name)} = {_value(one)}" for name, one in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, str):
        # TOML's escapes are those of JSON, and DEL has to be one.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value)
