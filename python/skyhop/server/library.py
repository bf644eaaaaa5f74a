"""The runs and studies below a folder, as the page lists them."""

from __future__ import annotations

import csv
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from skyhop.kept import TAG

#: Run folders are looked for so many folders deep: `<study>/runs/<cell>` is the third.
DEEPEST = 4

#: What a run folder may hold; nothing else is given out.
FILES = frozenset(
    {"manifest.json", "summary.json", "scenario.json"}
    | {
        f"{table}.{kind}"
        for table in (
            "flows", "links", "drops", "flow_series", "link_series", "flow_events", "handovers", "link_changes",
            "paths", "positions", "packets", "transfers", "workloads", "workload_transfers", "pages",
            "calls", "messages", "videos",
        )
        for kind in ("parquet", "csv")
    }
)  # fmt: skip

#: Below the folder that is served: packets of flows that the page asked for. Its content can be made again.
PACKETS = ".packets"
_MOST_PACKETS = 100

#: Below the folder that is served: what the engine reads as orbital elements.
CATALOGUES = "catalogues"
_ELEMENTS = (".tle", ".3le", ".txt", ".json", ".csv", ".xml", ".kvn")

_TOTALS = ("name", "from", "to", "goodput_bps", "throughput_bps", "packets_sent", "packets_received", "retransmissions",
           "timeouts", "delivery_fraction", "rtt_mean_s", "delay_mean_s", "jitter_mean_s")  # fmt: skip
_MOST_FLOWS = 200


def _goodput_bps(summary: dict[str, Any], simulated_s: float) -> float:
    """Of all flows together, over the time of the run: rates over the flows' own times do not add up."""
    if "total" in summary:
        return float(summary["total"]["goodput_bps"])
    # A run folder of an older version.
    delivered = sum(flow["bytes_delivered"] for flow in summary["flows"])
    return 8.0 * delivered / simulated_s if simulated_s > 0 else 0.0


#: Bytes. The summary of a million flows has 500 MB, and nobody looks at it on the page.
_LARGEST_SUMMARY = 50_000_000
_LONGEST_TITLE = 10_000


class Library:
    """A folder with runs in it, at any depth up to `DEEPEST`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self._entries: dict[Path, tuple[int, dict[str, Any]]] = {}
        #: What a sweep calls its kept runs: their title and the sweep's name.
        self._kept: dict[str, tuple[str, str]] = {}

    def runs(self) -> list[dict[str, Any]]:
        """All runs, the newest first; runs of one study in the order in which they were written."""
        entries = [entry for folder in self._folders(self.folder, 0) if (entry := self._entry(folder)) is not None]
        newest: dict[str, float] = {}
        for entry in entries:
            key = entry["study"] or entry["id"]
            newest[key] = max(newest.get(key, 0.0), entry["modified"])
        return sorted(entries, key=lambda entry: (-newest[entry["study"] or entry["id"]], _place(entry)))

    def file(self, run: str, name: str) -> Path | None:
        """A file of a run; None if the name does not lead to a file of a run below the folder."""
        if name not in FILES or "\0" in run:
            return None
        parts = run.split("/")
        if run != "." and any(part in ("", ".", "..") or part.startswith(".") for part in parts):
            return None
        path = self.folder.joinpath(*parts, name)
        try:
            real = path.resolve(strict=True)
        except (OSError, ValueError):
            return None
        if not real.is_relative_to(self.folder) or not real.is_file() or not (real.parent / "manifest.json").is_file():
            return None
        return real

    @property
    def catalogue_folder(self) -> Path:
        """Where files of orbital elements lie that a scenario from the page may name."""
        return self.folder / CATALOGUES

    def catalogues(self) -> list[str]:
        """Their names."""
        try:
            found = [entry.name for entry in os.scandir(self.catalogue_folder) if entry.is_file(follow_symlinks=False)]
        except OSError:
            return []
        return sorted(name for name in found if name.endswith(_ELEMENTS) and _can_be_asked_for(name))

    def result_folders(self) -> list[Path]:
        """Folders of sweeps and of studies with results, in the order of their names."""
        return list(self._results(self.folder, 0))

    def _results(self, folder: Path, depth: int) -> Iterator[Path]:
        if (folder / "results.csv").is_file() or ((folder / "table.csv").is_file() and (folder / "runs.csv").is_file()):
            yield folder
            return
        if depth < DEEPEST - 2:
            for child in self._children(folder, depth):
                yield from self._results(child, depth + 1)

    def name_kept(self, run: str, title: str, sweep: str) -> None:
        """Says what a sweep calls one of its kept runs, which have a hash as their name."""
        self._kept[run] = (title, sweep)

    def entry(self, run: str) -> dict[str, Any] | None:
        """One run as the page lists it, kept runs included, which the list omits; None if it does not exist."""
        file = self.file(run, "manifest.json")
        entry = self._entry(file.parent) if file is not None else None
        if entry is None or run not in self._kept:
            return entry
        title, sweep = self._kept[run]
        return entry | {"title": title, "study": sweep}

    def recorded(self, run: str) -> tuple[Path, str] | None:
        """The folder of a run and the hash of its records; None if the run does not exist."""
        file = self.file(run, "scenario.json")
        entry = self._entry(file.parent) if file is not None else None
        return (file.parent, str(entry["records_hash"])) if file is not None and entry is not None else None

    def packets(self, key: str) -> Path:
        """Where the packets of that key are kept, or would be."""
        return self.folder / PACKETS / f"{key}.parquet"

    def forget_packets(self) -> None:
        """Removes those kept packets that were asked for longest ago, beyond `_MOST_PACKETS`."""
        kept = sorted(self.folder.glob(f"{PACKETS}/*.parquet"), key=lambda file: file.stat().st_mtime_ns)
        for file in kept[: max(0, len(kept) - _MOST_PACKETS)]:
            file.unlink(missing_ok=True)

    def _folders(self, folder: Path, depth: int) -> Iterator[Path]:
        if (folder / "manifest.json").is_file():
            yield folder
            return
        for child in self._children(folder, depth):
            yield from self._folders(child, depth + 1)

    def _children(self, folder: Path, depth: int) -> list[Path]:
        """Folders in which runs may lie; none in a folder of kept runs."""
        if depth >= DEEPEST or (depth > 0 and (folder / TAG).is_file()):
            return []
        try:
            children = sorted(entry.path for entry in os.scandir(folder)
                              if entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".")
                              and _can_be_asked_for(entry.name))  # fmt: skip
        except OSError:
            return []
        return [Path(child) for child in children]

    def _entry(self, folder: Path) -> dict[str, Any] | None:
        try:
            modified = (folder / "manifest.json").stat().st_mtime_ns
        except OSError:
            return None
        known = self._entries.get(folder)
        if known is None or known[0] != modified:
            try:
                known = (modified, entry_of(folder, self.folder))
                # What the page cannot be told, a text that is half a character for example, would hide all other runs.
                json.dumps(known[1], allow_nan=False, ensure_ascii=False).encode()
            except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError):
                # A folder that is being written, or that something else wrote.
                return None
            self._entries[folder] = known
        return known[1]


def _place(entry: dict[str, Any]) -> int:
    """A study's runs in the order in which they were written."""
    return int(entry["modified"] * 1000)


def entry_of(folder: Path, root: Path) -> dict[str, Any]:
    """What the page needs to know of a run before it opens it."""
    manifest = _read(folder / "manifest.json")
    summary = _read(folder / "summary.json")
    within = folder.relative_to(root)
    in_study = folder.parent.name == "runs" and (folder.parent.parent / "results.csv").is_file()
    parts = dict(part.partition("=")[::2] for part in folder.name.split(","))
    titled = in_study and all(parts.values())
    axes = [value for axis, value in parts.items() if axis != "seed"]
    seed = int(manifest["seed"])
    return {
        "id": within.as_posix(),
        "title": ", ".join(axes) + (f", seed {seed}" if seed != 1 else "") if titled else _title(folder),
        "study": folder.parent.parent.name if in_study else None,
        "seed": seed,
        "simulated_s": float(manifest["simulated_s"]),
        "wall_time_s": float(manifest["wall_time_s"]),
        "scenario_hash": str(manifest["scenario_hash"]),
        "records_hash": str(manifest["records_hash"]),
        "version": str(manifest["version"]),
        "modified": (folder / "manifest.json").stat().st_mtime,
        "flow_count": len(summary["flows"]),
        "flows": [{key: flow.get(key) for key in _TOTALS} for flow in summary["flows"][:_MOST_FLOWS]],
        "goodput_bps": _goodput_bps(summary, float(manifest["simulated_s"])),
        "jain": summary.get("jain"),
        "packets": {key: manifest["packets"][key] for key in ("sent", "delivered", "conserved")},
        "tables": sorted(path.stem for path in folder.glob("*.parquet")),
    }


def _title(folder: Path) -> str:
    """What the person who started the run called it, else the folder's name."""
    try:
        return text_of(folder / "title.txt", _LONGEST_TITLE).strip()[:80] or folder.name
    except (OSError, ValueError):
        return folder.name


def studies(library: Library) -> list[dict[str, Any]]:
    """Every study that is defined near the folder, with its results where it was run below it."""
    from skyhop import studies
    from skyhop.verdict import DefinitionError

    try:
        definitions = studies.folder_of_studies(library.folder)
        names = studies.names(definitions)
    except DefinitionError:
        return []
    found = []
    for name in names:
        entry: dict[str, Any] = {
            "name": name, "title": name, "question": "", "paper": "", "problem": None, "header": None, "rows": [],
            "reasons": [],
        }  # fmt: skip
        try:
            defined = studies.load(definitions / name)
            entry |= {"title": defined.title, "question": defined.question, "paper": defined.paper}
            entry |= _results(defined, library)
        except (DefinitionError, OSError, ValueError, LookupError, TypeError, RecursionError) as error:
            entry["problem"] = str(error)
        found.append(entry)
    return found


def _results(defined: Any, library: Library) -> dict[str, Any]:
    """The study's table from its results.csv: measure, axes, each source, ours, and a verdict for each source."""
    folder = next(
        (one for one in (library.folder / defined.name, library.folder) if (one / "results.csv").is_file()), None
    )
    if folder is None:
        return {}
    with (folder / "results.csv").open(encoding="utf-8", newline="") as file:
        results = list(csv.DictReader(file))
    from skyhop.studies import Cell

    sources = list(defined.sources)
    axes = list(defined.axes)
    header = ["measure", *(axis.label for axis in axes), *(defined.sources[name].label for name in sources), "ours"]
    header += [title for name in sources for title in (f"to {defined.sources[name].label}", "verdict")]
    rows = []
    previous = ""
    for result in results:
        metric = defined.metrics[result["metric"]]
        label = f"{metric.label} ({metric.unit})" if metric.unit else metric.label
        values = [_number(result[name], metric.digits) for name in sources]
        judged = [
            text for name in sources for text in (_difference(result, name, metric.digits), _verdict(result, name))
        ]
        cell = Cell(tuple((axis.name, result[axis.name]) for axis in axes)).folder
        rows.append({
            "cells": ["" if label == previous else label, *(result[axis.name] for axis in axes), *values,
                      _ours(defined, result, metric.digits), *judged],
            "first_of_measure": label != previous,
            "run": _run_of(library, folder, cell, _first_seed(defined, result)),
        })  # fmt: skip
        previous = label
    return {"header": header, "rows": rows, "reasons": _reasons(defined, results)}


def _part_of(defined: Any, result: dict[str, str]) -> Any:
    """The part of the study to which a row belongs; None in a folder of another version of it."""
    point = tuple((axis.name, result[axis.name]) for axis in defined.axes)
    return next((part for part in defined.parts if any(cell.point == point for cell in part.cells)), None)


def _first_seed(defined: Any, result: dict[str, str]) -> int:
    """The seed of a row's run folder: the first one of its part of the study."""
    return int((_part_of(defined, result) or defined).seeds[0])


def _ours(defined: Any, result: dict[str, str], digits: int) -> str:
    """As `skyhop study run` prints it: with half of the interval, or with what there is instead of one."""
    from skyhop.speak import mean_and_half

    text = _number(result["ours"], digits)
    if result["interval"]:
        return mean_and_half(float(result["ours"]), float(result["interval"]), digits)
    runs = int(result.get("runs") or 0)
    if runs > 1 and result["distinct_values"] == "1":
        return f"{text} (at all {runs} seeds)"
    part = _part_of(defined, result)
    # Older versions do not say how many runs there were.
    return f"{text} (one run)" if runs == 1 and part is not None and not part.deterministic else text


def _run_of(library: Library, folder: Path, cell: str, seed: int) -> str | None:
    run = folder / "runs" / f"{cell},seed={seed}"
    return run.relative_to(library.folder).as_posix() if (run / "manifest.json").is_file() else None


def _reasons(defined: Any, results: list[dict[str, str]]) -> list[tuple[str, str]]:
    """Why cells are not reproduced, equal reasons under one heading."""
    verdicts: dict[Any, str] = {}
    reasons: dict[Any, str] = {}
    for row in results:
        for name in defined.sources:
            key = (tuple((axis.name, row[axis.name]) for axis in defined.axes), row["metric"], name)
            verdicts[key] = row[f"{name}_verdict"]
            # With its numbers; the definition holds where they come from.
            reasons[key] = row.get(f"{name}_why") or ""
    grouped: dict[tuple[str, str], list[str]] = {}
    for one in defined.expectations:
        for name, expected in one.sources.items():
            verdict = verdicts.get((one.cell.point, one.metric, name))
            if verdict in (None, "", "reproduced"):
                continue
            why = reasons.get((one.cell.point, one.metric, name)) or expected.why
            if verdict == "impossible":
                bounds = defined.bounds_of(one.metric, one.cell)
                why = " ".join(bound.why for bound in bounds if bound.broken_by(expected.value)) or why
            if why:
                label = f"{defined.metrics[one.metric].label}, {defined.sources[name].label}: {verdict}"
                grouped.setdefault((label, why), []).append(one.cell.label)
    return [(f"{label} ({', '.join(cells)})", why) for (label, why), cells in grouped.items()]


def _verdict(result: dict[str, str], source: str) -> str:
    """In brackets where the study does not count it; a folder of an older version does not say."""
    verdict = result[f"{source}_verdict"] or "–"
    return f"({verdict})" if result.get(f"{source}_counts") == "False" else verdict


def _number(text: str, digits: int) -> str:
    from skyhop.speak import number

    return number(float(text), digits) if text else "–"


def _difference(result: dict[str, str], source: str, digits: int) -> str:
    """As `skyhop study run` prints it."""
    from skyhop.speak import difference

    ours, theirs = result["ours"], result[source]
    return difference(float(ours), float(theirs), digits) if ours and theirs else "–"


def _read(path: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(text_of(path, _LARGEST_SUMMARY), parse_constant=_no_number)
    return data


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not a number of JSON")


def text_of(path: Path, largest: int) -> str:
    """A file of a run folder, which may come from anybody: no link to elsewhere, no pipe, not too large."""
    # Without NONBLOCK, opening a pipe waits for somebody who writes into it.
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_size > largest:
            raise OSError(f"{path} is not a file of a run")
        return file.read(largest).decode("utf-8")


def _can_be_asked_for(name: str) -> bool:
    """Whether the name of a folder is UTF-8: addresses of the page know no other names."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
