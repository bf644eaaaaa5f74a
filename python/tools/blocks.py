"""Blocks of a page that a tool writes, between two comments."""

from __future__ import annotations


def renewed(text: str, begin: str, end: str, block: str) -> str:
    """The text with its block replaced. Raises ValueError where it has none, or more than one."""
    if text.count(begin) != 1 or text.count(end) != 1:
        raise ValueError(f"there is not exactly one block from {begin} to {end}")
    before, rest = text.split(begin)
    return f"{before}{begin}\n\n{block}\n\n{end}{rest.split(end)[1]}"
