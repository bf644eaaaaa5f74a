"""Times as scenarios write them: a number and a unit."""

from __future__ import annotations

import math
import re

#: Seconds of each unit.
UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}


def seconds(text: str) -> float:
    """Seconds of a text such as "100 ms"; NaN if it is not a time."""
    parts = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-z]+)\s*", text)
    return math.nan if parts is None or parts[2] not in UNITS else float(parts[1]) * UNITS[parts[2]]
