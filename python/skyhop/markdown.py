"""Lines of tables in Markdown, as every command writes them."""

from __future__ import annotations

from collections.abc import Iterable


def line(cells: Iterable[object]) -> str:
    """A line of a table: a bar in a cell is escaped and a line break becomes a space, so that neither adds a column."""
    return "| " + " | ".join(" ".join(str(cell).replace("|", "\\|").splitlines()) for cell in cells) + " |"
