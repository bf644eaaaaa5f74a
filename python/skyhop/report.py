"""A study's output folder: one self-contained HTML page, every figure as SVG, the results as CSV, the run folders."""

from __future__ import annotations

import csv
import inspect
import json
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import jinja2
import markupsafe
import polars as pl

from skyhop import __version__, figure, folders, score, speak, tables
from skyhop.matrix import OnProgress, Outcome, Sample

#: With more runs than this only the first seed of each cell gets a run folder.
MOST_FOLDERS = 50

Draw = TypeVar("Draw", bound=Callable[..., figure.Figure])


@dataclass(frozen=True)
class Drawn:
    """One figure of the report."""

    name: str
    title: str
    section: str
    answers: str
    caption: str
    svg: str
    wide: bool


def study_figure(*, section: str, title: str, caption: str, answers: str = "") -> Callable[[Draw], Draw]:
    """Marks a function of a study's `plots.py` as a figure of its report.

    The function's parameters are names of tables (of all runs under each other, with the axes as columns), `results`
    (the study's results as a table) or `scenario` (the base case in canonical form). `answers` names the published
    figure that it stands beside, if there is one.
    """

    def mark(draw: Draw) -> Draw:
        draw.study_figure = {  # type: ignore[attr-defined]
            "section": section, "title": title, "answers": answers, "caption": caption,
        }  # fmt: skip
        return draw

    return mark


def figures(outcome: Outcome, *, on_progress: OnProgress | None = None) -> list[Drawn]:
    """Draws the study's figures in the order of its `plots.py`."""
    module = outcome.study.plots()
    scenario = json.loads(outcome.samples[0].run.scenario.canonical_json())
    known: dict[str, Any] = {"results": outcome.results_table, "scenario": scenario}
    drawn = []
    marked = [(name, draw) for name, draw in vars(module).items() if hasattr(draw, "study_figure")] if module else []
    for name, draw in marked:
        arguments = {}
        for parameter in inspect.signature(draw).parameters:
            if parameter not in known:
                known[parameter] = outcome.table(parameter)
            arguments[parameter] = known[parameter]
        picture = draw(**arguments)
        width = float(picture.get_figwidth())
        drawn.append(Drawn(name=name, svg=figure.svg(picture), wide=width > figure.WIDTH, **draw.study_figure))
        if on_progress is not None:
            on_progress(len(drawn) / len(marked))
    return drawn


def write(outcome: Outcome, folder: Path, *, on_progress: OnProgress | None = None) -> Path:
    """Writes everything, in place of an older report, and returns the path of the page."""
    with folders.staged(folder, "study") as staging:
        page = write_into(outcome, staging, on_progress=on_progress)
    return folder / page.name


def write_into(outcome: Outcome, folder: Path, *, on_progress: OnProgress | None = None) -> Path:
    """Writes everything into a folder that is there and empty; returns the path of the page."""
    shown = outcome.samples if len(outcome.samples) <= MOST_FOLDERS else outcome.first_of_each_cell

    def write_run(sample: Sample) -> Path:
        place = folder / "runs" / f"{sample.cell.folder},seed={sample.seed}"
        place.mkdir(parents=True)
        sample.run.write_into(place)
        return place

    # Beside the drawing, which keeps one core busy.
    with ThreadPoolExecutor() as pool:
        written = [pool.submit(write_run, sample) for sample in shown]
        drawn = figures(outcome, on_progress=on_progress)
        # Who lists runs by their time finds them in the study's order, a millisecond apart.
        now_ns = time.time_ns()
        for number, one in enumerate(written):
            os.utime(one.result() / "manifest.json", ns=(now_ns, now_ns + number * 1_000_000))
    pictures = folder / "figures"
    pictures.mkdir()
    for picture in drawn:
        (pictures / f"{picture.name}.svg").write_text(picture.svg, encoding="utf-8")
    with (folder / "results.csv").open("w", encoding="utf-8", newline="") as file:
        table = outcome.results_table.with_columns(**_whys(outcome))
        writer = csv.writer(file)
        writer.writerow(table.columns)
        writer.writerows(table.iter_rows())
    page = folder / "report.html"
    page.write_text(html(outcome, drawn), encoding="utf-8")
    return page


def _whys(outcome: Outcome) -> dict[str, pl.Series]:
    """The reasons with their numbers, a column for each source."""
    return {
        f"{source}_why": pl.Series([
            speak.filled(one.comparisons[source].expected.why, outcome) if source in one.comparisons else None
            for one in outcome.results
        ], dtype=pl.String)
        for source in outcome.study.sources
    }  # fmt: skip


def html(outcome: Outcome, drawn: list[Drawn]) -> str:
    """The page. It needs nothing from outside: no script, no font, no picture."""
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: (files("skyhop") / "templates" / name).read_text(encoding="utf-8")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    sections: dict[str, list[Any]] = {}
    for one in drawn:
        inline = markupsafe.Markup(figure.for_page(one.svg, name=one.name, title=one.title))
        sections.setdefault(one.section, []).append({"about": one, "svg": inline})
    first = outcome.samples[0].run
    return environment.get_template("report.html").render(
        study=outcome.study,
        version=__version__,
        conclusion=score.headline(outcome),
        notes=tables.notes(outcome),
        rule=tables.RULE,
        claim_rule=tables.CLAIM_RULE,
        baselines=tables.baselines(outcome),
        problems=outcome.problems,
        warnings=outcome.warnings,
        header=tables.header(outcome),
        axes=len(outcome.study.axes),
        rows=tables.rows(outcome),
        reasons=tables.reasons(outcome),
        claims=tables.claims(outcome),
        metrics=outcome.study.metrics,
        sections=sections,
        handovers=first.handovers.to_dicts() if "handovers" in first.table_names else [],
        facts=_facts(outcome),
        cpu_s=outcome.cpu_s,
        wall_s=outcome.wall_s,
    )


def _packet_counts(packets: dict[str, Any]) -> str:
    """ "19058 sent = 19030 delivered + 6 queued + 22 flying": the manifest's count of data packets and ACKs."""
    counts = [f"{packets[end]} {end}" for end in ("delivered", "queued", "flying")]
    counts[1:1] = [f"{count} dropped ({cause})" for cause, count in packets["dropped"].items()]
    return f"{packets['sent']} sent = {' + '.join(counts)}"


def _facts(outcome: Outcome) -> list[dict[str, Any]]:
    """What identifies each run and where its packets went."""
    return [
        {
            "cell": sample.cell.label,
            "seed": sample.seed,
            "scenario_hash": sample.run.scenario.hash,
            "records_hash": sample.run.manifest["records_hash"],
            "packets": _packet_counts(sample.run.manifest["packets"]),
            "cpu_s": sample.cpu_s,
        }
        for sample in outcome.samples
    ]
