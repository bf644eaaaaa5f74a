"""Which set of values of the profile `starlink` a recording is compared with or fitted over, and wires with values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Recordings over a bent pipe before `NEW_FROM_S`.
VALUES = "seattle-2023"

#: Paths over ISLs.
ISL_VALUES = "lagos-2023"

#: Recordings over a bent pipe from `NEW_FROM_S` on. Round trips of four uploads in 2026 and of a road in 2024 are
#: nearer to this set than to `VALUES`, which misses its bound in three of the five (`docs/models/starlink-losses.md`).
NEW_VALUES = "seoul-2026-fades"

#: 2025-01-01 UTC, in Unix time. That dishes differ from then on is our choice between the years of the recordings: 2023
#: and 2026. In March 2024 SpaceX published that delays had become shorter.
NEW_FROM_S = 1_735_689_600.0


def of_time(start_s: float) -> str:
    """The set of recordings over a bent pipe that began at this Unix time."""
    return NEW_VALUES if start_s >= NEW_FROM_S else VALUES


def sides(values: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a wire with what a fit found in its `direction`; the other direction has the set beneath the fit.

    Outages take both directions at once, so both have them.
    """
    own = dict(values)
    other = {key: own[key] for key in ("values", "obstructed", "obstructed_at") if key in own}
    up, down = (other, own) if own.get("direction") == "down" else (own, other)
    return {"forward": {"profile": {"starlink": up}}, "backward": {"profile": {"starlink": down}}}
