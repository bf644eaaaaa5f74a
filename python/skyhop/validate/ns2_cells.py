"""Comparison with ns-2: cells against bounds, a table of them, and figures of the windows."""

from __future__ import annotations

import csv
import io
import json
import os
from dataclasses import dataclass
from pathlib import Path

from skyhop import _core, folders
from skyhop.markdown import line
from skyhop.texts import text_of


@dataclass(frozen=True)
class Cell:
    """One measure of one agent in one case.

    `difference` and `bound` are in the measure's own terms: a share of the reference, a count, an index, or, for lists
    of events, microseconds. `detail` says where two lists part.
    """

    case: str
    agent: str
    measure: str
    reference: float
    ours: float
    difference: float
    bound: float
    ok: bool
    detail: str | None


def own_reference(name: str) -> Path:
    """The folder of a reference that the project ships in its tests: "ns2".

    Raises ValueError outside a checkout: an installed package does not carry the traces.
    """
    folder = Path(__file__).resolve().parents[3] / "tests" / "reference" / name / "cases"
    if not (folder / "cases.csv").is_file():
        raise ValueError(
            f"the {name} traces are in the source repository (tests/reference/{name}/cases), not in the installed "
            "package; name a folder that has a cases.csv with --reference"
        )
    return folder


def ns2(
    folder: str | os.PathLike[str], *, cases: list[str] | None = None, agents: list[str] | None = None
) -> list[Cell]:
    """Runs the cases of an ns-2 reference folder (its `cases.csv`) and returns all cells, worst first.

    `cases` and `agents` select; None takes all. Raises ValueError for a folder that cannot be read.
    """
    rows = json.loads(_core.validate_ns2(folder, cases=cases or [], agents=agents or []))
    for row in rows:
        if row["difference"] is None:
            # JSON has no infinity: a list that parts from the other has no finite difference.
            row["difference"] = float("inf")
    return [Cell(**row) for row in rows]


def summary(cells: list[Cell]) -> str:
    """One sentence: how many cells are within their bounds."""
    broken = sum(not cell.ok for cell in cells)
    runs = len({(cell.case, cell.agent) for cell in cells})
    return f"{len(cells) - broken} of {len(cells)} cells of {runs} runs are within their bounds, {broken} are not."


def markdown(cells: list[Cell]) -> str:
    """The broken cells, and for each case and agent the worst difference of each kind, as Markdown tables."""
    lines = [summary(cells), ""]
    broken = [cell for cell in cells if not cell.ok]
    if broken:
        lines.append("| case | agent | measure | reference | ours | difference | bound | where |")
        lines.append("|---|---|---|---:|---:|---:|---:|---|")
        for cell in broken:
            numbers = [f"{one:.5g}" for one in (cell.reference, cell.ours, cell.difference, cell.bound)]
            lines.append(line([cell.case, cell.agent, cell.measure, *numbers, cell.detail or ""]))
        lines.append("")
    kinds = list(dict.fromkeys(_kind(cell.measure) for cell in sorted(cells, key=lambda cell: cell.measure)))
    lines += [line(["case", "agent", *kinds]), "|---|---|" + "---:|" * len(kinds)]
    for case, agent in sorted({(cell.case, cell.agent) for cell in cells}):
        mine = [cell for cell in cells if (cell.case, cell.agent) == (case, agent)]
        lines.append(line([case, agent, *(_entry(mine, kind) for kind in kinds)]))
    return "\n".join(lines) + "\n"


def _kind(measure: str) -> str:
    return measure.split(":")[0].removesuffix(", first 20 s")


def _entry(cells: list[Cell], kind: str) -> str:
    """The worst of the cells of one kind as a share of its bound."""
    of_kind = [cell for cell in cells if _kind(cell.measure) == kind]
    if not of_kind:
        return "–"
    worst = max(of_kind, key=lambda cell: cell.difference / cell.bound)
    return f"{100 * worst.difference / worst.bound:.0f} %" if worst.ok else "**broken**"


def figures(folder: str | os.PathLike[str], out: str | os.PathLike[str], *, cells: list[Cell]) -> list[Path]:
    """Draws the congestion window of each compared run over the reference's; returns the files, SVG."""
    from skyhop import api, plots
    from skyhop.figure import svg

    wanted = {(cell.case, cell.agent) for cell in cells}
    target = Path(out)
    target.mkdir(parents=True, exist_ok=True)
    files = []
    for entry in json.loads(_core.reference_scenarios(folder)):
        case, agent = entry["case"], entry["agent"]
        if not entry["has_windows"] or (case, agent) not in wanted:
            continue
        theirs = _windows(Path(folder) / f"cwnd_{case}.csv.gz", agent)
        series = api.run(entry["scenario"]).flow_series.filter(flow="flow-0")
        figure = plots.beside_reference(series, theirs, title=f"{agent}, case {case}", source="ns-2")
        files.append(target / f"{case}-{agent}.svg")
        folders.write(files[-1], svg(figure))
    return files


def _windows(path: Path, agent: str) -> tuple[list[float], list[float]]:
    every = csv.DictReader(io.StringIO(text_of(path), newline=""))
    rows = [row for row in every if row["agent"] == agent and row["flow"] == "0"]
    return [float(row["time"]) for row in rows], [float(row["cwnd"]) for row in rows]
