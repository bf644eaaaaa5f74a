"""All comparisons with reference folders: how each knows its folders, and what it finds in one.

A new comparison is one function that makes a `Report` and one entry in `COMPARISONS`.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from skyhop.markdown import line
from skyhop.validate import (
    ns2_cells,
    queue_packets,
    quic_runs,
    route_pairs,
    tcp_flows,
    tcp_reactions,
    testbed_downloads,
)


@dataclass(frozen=True)
class Finding:
    """What came of one case.

    `equal`: all that is compared agrees exactly; None where the comparison has bounds only. `within`: all bounds are
    kept. `skipped`: why the case was not run (a part that this build lacks); such a case counts nowhere else.
    """

    case: str
    equal: bool | None
    within: bool
    skipped: str | None = None


@dataclass(frozen=True)
class Report:
    """The cases of a folder. `ok` says whether the comparison's aim is reached; `note` is its own sentence."""

    findings: Sequence[Finding]
    ok: bool
    note: str

    @property
    def cases(self) -> int:
        """Cases that were run, and those that could not be built; not the skipped ones."""
        return len(self.findings) - self.skipped

    @property
    def equal(self) -> int | None:
        """Cases that agree exactly; None where the comparison does not ask."""
        asked = [finding.equal for finding in self.findings if finding.equal is not None and finding.skipped is None]
        return sum(asked) if asked else None

    @property
    def within(self) -> int:
        """Cases that keep all bounds."""
        return sum(finding.within for finding in self.findings if finding.skipped is None)

    @property
    def skipped(self) -> int:
        """Cases that were not run."""
        return sum(finding.skipped is not None for finding in self.findings)


@dataclass(frozen=True)
class Comparison:
    """One kind of reference folder.

    `name` is the command below `skyhop validate`. `recognises` looks at a folder's shape (columns, names of files),
    never at its name. `run` raises ValueError for a folder that cannot be read.
    """

    name: str
    against: str
    recognises: Callable[[Path], bool]
    run: Callable[[Path], Report]


@dataclass(frozen=True)
class Found:
    """A reference folder, and what came of it. Without `comparison` no comparison knows the folder's shape."""

    folder: Path
    comparison: Comparison | None
    report: Report | None
    problem: str | None = None

    @property
    def ok(self) -> bool:
        """A folder that no comparison knows breaks no bound."""
        return self.comparison is None or (self.report is not None and self.report.ok)


def columns(folder: Path, name: str = "cases.csv") -> set[str]:
    """The columns of a table; none where it is absent or not a text."""
    try:
        with (folder / name).open(newline="", encoding="utf-8") as file:
            return set(next(csv.reader(file), []))
    except (OSError, UnicodeDecodeError, csv.Error):
        return set()


def _has(*wanted: str, beside: Sequence[str] = ()) -> Callable[[Path], bool]:
    """Recognises a folder by columns of its `cases.csv` and by files that lie beside it."""
    return lambda folder: columns(folder).issuperset(wanted) and all((folder / name).is_file() for name in beside)


def _ns2(folder: Path) -> Report:
    cells = ns2_cells.ns2(folder)
    runs: dict[tuple[str, str], list[ns2_cells.Cell]] = {}
    for cell in cells:
        runs.setdefault((cell.case, cell.agent), []).append(cell)
    findings = [Finding(f"{case} {agent}", None, all(c.ok for c in mine)) for (case, agent), mine in runs.items()]
    return Report(findings, all(cell.ok for cell in cells), ns2_cells.summary(cells))


def _queues(folder: Path) -> Report:
    found = queue_packets.queues(folder)
    findings = [Finding(one.case, one.equal == one.packets and one.problem is None, one.ok) for one in found]
    return Report(findings, all(one.ok for one in found), queue_packets.queues_summary(found))


def _routes(folder: Path) -> Report:
    found = route_pairs.routes(folder)
    findings = [Finding(one.pair, one.equal == one.instants, one.ok) for one in found]
    return Report(findings, all(one.ok for one in found), route_pairs.routes_summary(found))


def _reactions(folder: Path) -> Report:
    found = tcp_reactions.reactions(folder)
    by_case: dict[tuple[str, int], list[tcp_reactions.Reaction]] = {}
    for one in found:
        by_case.setdefault((one.case, one.line), []).append(one)
    findings = []
    for (case, place), mine in by_case.items():
        equal = all(one.equal for one in mine)
        findings.append(Finding(case or f"line {place}", equal, equal))
    return Report(findings, tcp_reactions.reached(found), tcp_reactions.reactions_summary(found))


def _quic(folder: Path) -> Report:
    found = quic_runs.quic(folder)
    findings = [Finding(one.case, None, one.ok, one.skipped) for one in found]
    # A build without any of the stacks breaks no bound; the table shows that it skipped all cases.
    ok = quic_runs.quic_met(found) or all(one.skipped is not None for one in found)
    return Report(findings, ok, quic_runs.quic_summary(found))


def _flows(folder: Path) -> Report:
    found = tcp_flows.flows(folder)
    findings = [Finding(one.run or f"line {one.line}", None, one.ok) for one in found]
    return Report(findings, all(one.ok for one in found), tcp_flows.flows_summary(found))


def _starlink(folder: Path) -> Report:
    # It computes with numpy, which takes long to import.
    from skyhop.validate import starlink_links

    rows = starlink_links.starlink(folder)
    findings = [Finding(f"{row.case}, {row.measure}", None, row.ok) for row in rows]
    return Report(findings, all(row.ok for row in rows), starlink_links.starlink_summary(rows))


def _downloads(folder: Path) -> Report:
    found = testbed_downloads.downloads(folder)
    findings = [Finding(one.case, None, one.ok, one.skipped) for one in found]
    ok = all(one.ok or one.skipped is not None for one in found)
    return Report(findings, ok, testbed_downloads.downloads_summary(found))


#: Every comparison, in the order of the table.
COMPARISONS: list[Comparison] = [
    Comparison(
        "ns2", "ns-2.35, its agents and TCP/Linux", _has("agents", "bottleneck_rate_bps", "access_rate_bps"), _ns2
    ),
    Comparison(
        "reactions",
        "TCP of Linux 6.18, packet by packet, with listed losses",
        _has("fates", "events", "jiffy0"),
        _reactions,
    ),
    Comparison(
        "linux",
        "whole flows of Linux 6.18",
        _has("run", "config", "flows", "limit_packets", beside=["targets.csv"]),
        _flows,
    ),
    Comparison(
        "queues", "queue disciplines of Linux 6.18, packet by packet", _has("discipline", "link_schedule"), _queues
    ),
    Comparison("routes", "routes over a constellation, as another tool computed them", route_pairs.recognises, _routes),
    Comparison("opensand", "downloads over an emulated satellite", testbed_downloads.recognises, _downloads),
    Comparison("quic", "QUIC stacks in real time", _has("stack", "udp_payload", "stream_window"), _quic),
    Comparison(
        "starlink",
        "recordings of Starlink links",
        _has("recording", "kind", "path", "direction", "control", "flows"),
        _starlink,
    ),
]


def folders(root: str | os.PathLike[str]) -> list[Path]:
    """The reference folders at and below `root`, by name: those with a README.md or a cases.csv among other files."""
    found = []
    for folder, below, files in os.walk(root):
        below.sort()
        about = {"README.md", "cases.csv"} & set(files)
        if "cases.csv" in about or (about and len(files) > len(about)):
            found.append(Path(folder))
    return found


def everything(root: str | os.PathLike[str]) -> list[Found]:
    """Runs every comparison whose folders lie at or below `root`.

    A folder that cannot be read has a `problem` and is not `ok`. Raises ValueError where `root` has no reference
    folder.
    """
    places = folders(root)
    if not places:
        raise ValueError(f"{os.fspath(root)}: it has no reference folder (one with a cases.csv, or with a README.md)")
    found = []
    for folder in places:
        kinds = [comparison for comparison in COMPARISONS if comparison.recognises(folder)]
        if not kinds:
            found.append(Found(folder, None, None, "no comparison knows a folder of this shape"))
        for kind in kinds:
            try:
                found.append(Found(folder, kind, kind.run(folder)))
            except ValueError as error:
                found.append(Found(folder, kind, None, str(error)))
    return found


def table(found: Sequence[Found]) -> list[tuple[str, str, str, str, str, str, str]]:
    """Rows of the table: folder, against what, cases, equal, within bounds, skipped, verdict."""
    rows = []
    for one in found:
        name, against = one.folder.name, one.comparison.against if one.comparison else "–"
        if one.report is None:
            verdict = "skipped" if one.comparison is None else "cannot be read"
            rows.append((name, against, "–", "–", "–", "–", f"{verdict}: {one.problem}"))
            continue
        report = one.report
        numbers = [str(report.cases), "–" if report.equal is None else str(report.equal), str(report.within)]
        verdict = "ok" if report.ok else "missed"
        rows.append((name, against, *numbers, str(report.skipped), verdict))  # type: ignore[arg-type]
    return rows


#: What the columns of `table` are called.
COLUMNS = ("folder", "against", "cases", "equal", "within bounds", "skipped", "")


def everything_markdown(found: Sequence[Found]) -> str:
    """The table for a page, with each comparison's command and its own sentence."""
    lines = ["| against | cases | equal | within bounds | skipped | command |", "|---|---:|---:|---:|---:|---|"]
    for one, row in zip(found, table(found), strict=True):
        _, against, cases, equal, within, skipped, verdict = row
        if one.comparison is None:
            lines.append(line([f"{one.folder.name}: {verdict}", *"–" * 5]))
            continue
        command = f"`skyhop validate {one.comparison.name} --reference …/{one.folder.name}`"
        mark = "" if one.ok else f" **{verdict}**"
        lines.append(line([f"{against}{mark}", cases, equal, within, skipped, command]))
    lines.append("")
    lines += [f"- {one.comparison.name}: {one.report.note}" for one in found if one.report and one.comparison]
    return "\n".join(lines) + "\n"
