"""The lines of a set of values in `crates/scenario/src/resolve/starlink_sets.rs`.

Usage: `python benches/sky/starlink_set.py RECORDING…`. They hold what `skyhop fit starlink RECORDING…` finds;
`cargo fmt` breaks them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from skyhop import starlink


def numbers(values: Sequence[float], digits: int) -> str:
    """An array."""
    return f"[{', '.join(f'{value:.{digits}f}' for value in values)}]"


def main() -> None:
    """Prints the fields."""
    found = starlink.fit([starlink.read_round_trips(file) for file in sys.argv[1:]], draws=0)
    print(f"    step_ms: {numbers(found.step_ms, 1)},")
    print(f"    jitter_ms: {numbers(found.jitter_ms, 1)},")
    print(f"    spread: {numbers(found.spread, 3)},")
    print(f"    pause_ms: {numbers(found.pause_ms, 1)},")
    print(f"    correlation: {found.correlation},")
    print(f"    reroute: {found.reroute},")
    print(f"    reroute_at_s: {numbers(found.reroute_at_s or (0.0,) * 21, 2)},")
    print(f"    stay: {found.stay},")
    print(f"    in_flight_loss: {found.in_flight_loss},")


if __name__ == "__main__":
    main()
