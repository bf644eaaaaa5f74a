"""Which set of values of the profile `starlink` a recording is compared with or fitted over."""

from __future__ import annotations

#: Round trips, and transfers before `NEW_FROM_S`, over a bent pipe.
VALUES = "seattle-2023"

#: Paths over ISLs.
ISL_VALUES = "lagos-2023"

#: Transfers over a bent pipe that were recorded from `NEW_FROM_S` on.
NEW_VALUES = "seoul-2026-fades"

#: 2025-01-01 UTC, in Unix time. That dishes differ from then on is our choice between the years of the recordings: 2023
#: and 2026. In March 2024 SpaceX published that delays had become shorter.
NEW_FROM_S = 1_735_689_600.0


def of_transfer(start_s: float) -> str:
    """The set of transfers over a bent pipe that began at this Unix time."""
    return NEW_VALUES if start_s >= NEW_FROM_S else VALUES
