"""Runs in the formats of other tools: `skyhop export RUN --to FORMAT`.

A capture needs a run that recorded packets: `records = { packets = ["left->right", "right->left"] }`.
"""

from __future__ import annotations

from skyhop.export.formats import FORMATS, Exported, ExportError, write

__all__ = ["FORMATS", "ExportError", "Exported", "write"]
