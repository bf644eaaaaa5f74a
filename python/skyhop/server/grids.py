"""Sweeps and studies below the folder that is served, as grids: a cell per combination of values, with its runs."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from typing import Any

from skyhop.server import library as lib

_LARGEST_TABLE = 50_000_000
#: Columns of a sweep's tables that are neither an axis nor a measure.
_OF_TABLE = ("metric", "unit", "runs", "distinct_runs", "distinct_values", "failed", "warm_up_s", "mean", "low", "high")


def grids(library: lib.Library) -> list[dict[str, Any]]:
    """Every sweep and every study with results. A folder that is neither, or is damaged, is passed over."""
    found = []
    for folder in library.result_folders():
        try:
            made = _sweep(library, folder) if (folder / "runs.csv").is_file() else _study(library, folder)
        except (OSError, ValueError, LookupError):
            continue
        found.append(made)
    return found


def _rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(lib.text_of(path, _LARGEST_TABLE), newline="")))


def _sweep(library: lib.Library, folder: Path) -> dict[str, Any]:
    table = _rows(folder / "table.csv")
    axes = [name for name in table[0] if name not in _OF_TABLE]
    cells = _Cells(axes)
    for row in table:
        cells.add(
            row, row["metric"], row["unit"], _real(row["mean"]), _real(row["low"]), _real(row["high"]),
            int(row["runs"]), int(row["failed"]), _equal(row),
        )  # fmt: skip
    for row in _rows(folder / "runs.csv"):
        kept = _kept(library, folder, row.get("run") or "", row["records_hash"])
        if kept is not None:
            named = ", ".join(f"{axis} {row[axis]}" for axis in axes)
            library.name_kept(kept, f"{named}, seed {row['seed']}", folder.name)
            cells.runs(row).append(kept)
    return {"name": folder.name, "kind": "sweep", **cells.as_json()}


def _kept(library: lib.Library, folder: Path, run: str, records_hash: str) -> str | None:
    """The id of a kept run. Its path was relative to the folder in which the sweep was started, or absolute."""
    parts = Path(run).parts[-3:]
    for root in (folder.parent, library.folder):
        place = root.joinpath(*parts)
        if run and (place / "manifest.json").is_file() and place.resolve().is_relative_to(library.folder):
            found = library.recorded(place.relative_to(library.folder).as_posix())
            if found is not None and found[1] == records_hash:
                return place.relative_to(library.folder).as_posix()
    return None


def _study(library: lib.Library, folder: Path) -> dict[str, Any]:
    table = _rows(folder / "results.csv")
    names = list(table[0])
    axes = names[: names.index("metric")]
    cells = _Cells(axes)
    for row in table:
        mean, half = _real(row["ours"]), _real(row["interval"])
        low, high = (None, None) if mean is None or half is None else (mean - half, mean + half)
        cells.add(row, row["metric"], row["unit"], mean, low, high, None, 0, _equal(row))
    for run in sorted((folder / "runs").glob("*/manifest.json")):
        values = dict(part.partition("=")[::2] for part in run.parent.name.split(","))
        if all(axis in values for axis in axes) and cells.has(values):
            cells.runs(values).append(run.parent.relative_to(library.folder).as_posix())
    return {"name": folder.name, "kind": "study", **cells.as_json()}


class _Cells:
    """Cells in the order in which a table names them first."""

    def __init__(self, axes: list[str]) -> None:
        self._axes = axes
        self._cells: dict[tuple[str, ...], dict[str, Any]] = {}
        self._metrics: dict[str, str] = {}

    def has(self, row: dict[str, str]) -> bool:
        return self._at(row) in self._cells

    def runs(self, row: dict[str, str]) -> list[str]:
        found: list[str] = self._cells[self._at(row)]["runs"]
        return found

    def add(
        self, row: dict[str, str], metric: str, unit: str, mean: float | None, low: float | None, high: float | None,
        count: int | None, failed: int, equal: int,
    ) -> None:  # fmt: skip
        at = self._at(row)
        cell = self._cells.setdefault(at, {"at": list(at), "values": {}, "runs": []})
        self._metrics.setdefault(metric, unit)
        if low == high:
            # Older versions wrote an interval of no width for equal values.
            low = high = None
        value = {"mean": mean, "low": low, "high": high, "runs": count, "failed": failed, "equal": equal}
        cell["values"][metric] = value

    def as_json(self) -> dict[str, Any]:
        metrics = [{"name": name, "unit": unit} for name, unit in self._metrics.items()]
        return {"axes": self._axes, "metrics": metrics, "cells": list(self._cells.values())}

    def _at(self, row: dict[str, str]) -> tuple[str, ...]:
        return tuple(row[axis] for axis in self._axes)


def _equal(row: dict[str, str]) -> int:
    """How many different runs gave the one value of a row; 0 where values differ, and in tables of older versions.

    A table of a study counts runs that are all the same as one.
    """
    runs = int(row.get("runs") or 0)
    return runs if row.get("distinct_values") == "1" and runs > 1 and row.get("distinct_runs") != "1" else 0


def _real(text: str) -> float | None:
    """A number of a table; None for an empty cell and for NaN, which JSON does not have."""
    value = float(text) if text else math.nan
    return value if math.isfinite(value) else None
