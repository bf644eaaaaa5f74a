"""Legs of split connections: flows of their own in all tables, named `<flow>.to-<node>` before the last (`helpers.md`).

A leg hands on what the next one delivers, so sums over connections must count the last leg alone.
"""

from __future__ import annotations

from collections.abc import Iterable


def earlier_legs(names: Iterable[str]) -> set[str]:
    """Legs of split connections whose last leg is among the names, too."""
    counted = set(names)
    return {name for name in counted if ".to-" in name and name.rsplit(".to-", 1)[0] in counted}
