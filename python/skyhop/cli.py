"""The command line. Results go to stdout, everything else to stderr; nothing is drawn where nobody watches.

Exit codes: 0, 1 when something failed, 2 when the input is wrong, 130 after Ctrl-C.
"""

# Annotations are not postponed: `typer` would evaluate the text of each one several times at every start.

import dataclasses
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from skyhop import _core, completion, export_command, fits, folders, import_command, sky, sweep_command
from skyhop.terminal import FAILED, Seed, apart, bar, defined, interruptible, print_json, runs_kept, say_default
from skyhop.terminal import console as _console
from skyhop.terminal import fail as _fail
from skyhop.terminal import limit_memory as _limit_memory
from skyhop.terminal import read_scenario as _scenario
from skyhop.terminal import seconds as _seconds
from skyhop.terminal import table as _table
from skyhop.terminal import warn as _warn
from skyhop.terminal import warn_all as _warn_all
from skyhop.validate import commands

if TYPE_CHECKING:
    from skyhop.matrix import Outcome
    from skyhop.studies import Study

app = typer.Typer(
    name="skyhop",
    help="Simulates transport protocols over satellite networks, packet by packet.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
study_app = typer.Typer(help="Run studies: matrices of runs, compared with published numbers.", no_args_is_help=True)
app.add_typer(study_app, name="study")
sky.register(app)
commands.register(app)
fits.register(app)
sweep_command.register(app)
export_command.register(app)
import_command.register(app)
completion.register(app)

File = Annotated[Path, typer.Argument(metavar="FILE", help="Scenario file (TOML).", show_default=False)]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help='Change one key: --set constellation.gsl.rate="3 Mbit/s".'),
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory", metavar="SIZE", envvar="SKYHOP_MEMORY",
        help='Memory that a run may take: "4 GB", or "none"; by default half of what the machine has.',
    ),
]  # fmt: skip
Name = Annotated[str, typer.Argument(metavar="NAME", help="Folder name of the study.", show_default=False)]
Studies = Annotated[
    Path | None,
    typer.Option("--studies", metavar="DIR", help="Folder of studies; by default the nearest folder named studies."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print everything as JSON.")]
Answer = TypeVar("Answer")

#: Bytes of memory from which on a run says how much it takes before it starts.
_LARGE = 1e9


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"skyhop {_core.version()}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


@app.command()
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Any file or folder of Skyhop.", show_default=False)],
    overrides: Set = None,
) -> None:
    """Read a file of any kind and print every problem in it.

    Scenarios, sweeps, studies, elements, traces, stations, arrivals, sizes, recordings, tables and run folders.
    """
    from skyhop import checking

    try:
        found = defined(lambda: checking.check(file, overrides or ()))
    except (_core.ScenarioError, ValueError) as error:
        _fail(str(error))
    _warn_all(found.warnings)
    if sys.stdout.isatty():
        typer.echo(f"{file}: correct {found.kind} ({found.holds})")


@app.command()
def schema() -> None:
    """Print the JSON Schema of scenario files."""
    typer.echo(_core.json_schema())


@app.command()
def run(
    file: File,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Run folder; by default runs/<hash>-<seed>.")
    ] = None,
    seed: Seed = 1,
    overrides: Set = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print summary.json instead of a table.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Write tables of more than 100,000 rows as CSV, too.")] = False,
    memory: Memory = None,
    threads: Annotated[
        int,
        typer.Option(
            "--threads",
            metavar="N",
            min=1,
            help="Cores that share the run: its network where that pays, otherwise renewals of routes. Same records.",
        ),
    ] = 1,
) -> None:
    """Simulate a scenario and write its run folder."""
    _limit_memory(memory)
    scenario = _scenario(file, overrides)
    if scenario.memory_bytes_in_folder > _LARGE:
        typer.echo(f"This run takes at least {scenario.memory_bytes_in_folder / 1e9:.1f} GB of memory.", err=True)
    folder = out or Path("runs") / f"{scenario.hash[:12]}-{seed}"
    from skyhop import api

    with interruptible(lambda: f"no run folder was written to {folder}."):
        progress = _core.Progress()
        with bar(f"{file.name}, seed {seed}", lambda: progress.fraction):
            result = api.run_into(scenario, folder, seed=seed, progress=progress, threads=threads, csv=csv)
    _warn(result, but=scenario.warnings)
    say_default(scenario)
    if reason := result.manifest.get("one_thread_because"):
        but = ", apart from its routes" if result.manifest["route_threads"] > 1 else ""
        typer.echo(f"Ran on one thread{but}: {reason}.", err=True)
    if without_csv := result.manifest.get("tables_without_csv"):
        names = ", ".join(without_csv)
        how = "Add --csv, or csv = true under [records], to write them as CSV, too."
        typer.echo(f"More than 100,000 rows, so Parquet only: {names}. {how}", err=True)
    if as_json:
        print_json(result.summary)
    elif sys.stdout.isatty():
        _print_flows(result.summary)
        typer.echo(f"Run folder: {folder}")
    else:
        typer.echo(str(folder))


@app.command()
def path(
    file: File,
    at: Annotated[
        str, typer.Option("--at", metavar="TIME", help='Time in the run: "63 s", "2 min", "500 ms".')
    ] = "0 s",
    seed: Seed = 1,
    overrides: Set = None,
    as_json: AsJson = False,
) -> None:
    """Print each flow's path through the network hop by hop, at a time of a run with this seed."""
    scenario = _scenario(file, overrides)
    moment = _seconds(at)
    if moment > scenario.duration_s:
        _fail(f"--at {at}: the scenario ends at {scenario.duration_s:g} s")
    paths = json.loads(scenario.path_json(moment, seed))
    if as_json:
        print_json(paths)
    else:
        _print_paths(paths)


@app.command()
def serve(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of runs.")] = Path("runs"),
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; 0 takes any free one.")] = 8641,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
    python_controls: Annotated[
        Path | None,
        typer.Option(
            "--python-controls",
            metavar="DIR",
            help="Let scenarios from the page run the controls in the Python files of this folder.",
        ),
    ] = None,
    plugin_controls: Annotated[
        Path | None,
        typer.Option(
            "--plugin-controls",
            metavar="DIR",
            help="Let scenarios from the page run the controls in the shared libraries of this folder.",
        ),
    ] = None,
    memory: Memory = None,
) -> None:
    """Serve a page about the runs in a folder, on this machine, until Ctrl-C."""
    from skyhop import serve as page

    _limit_memory(memory)
    if folder == Path("runs"):
        folder.mkdir(exist_ok=True)
    page.serve(
        folder, port=port, open_browser=browser, python_controls=python_controls, plugin_controls=plugin_controls
    )


@app.command()
def packets(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="Run folder.")],
    flow: Annotated[str, typer.Option("--flow", metavar="NAME", help="Name of the flow.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="FILE.parquet or FILE.csv.")],
    begin: Annotated[
        float | None, typer.Option("--from", metavar="S", help="Begin of the recorded time, in seconds.")
    ] = None,
    end: Annotated[
        float | None, typer.Option("--to", metavar="S", help="End of the recorded time, in seconds.")
    ] = None,
    memory: Memory = None,
) -> None:
    """Record every packet of a flow of a finished run: repeat the run, and check that its other tables are the same."""
    _limit_memory(memory)
    from skyhop import packets as again

    if out.suffix not in (".parquet", ".csv"):
        raise typer.BadParameter(f"{out} ends in neither .parquet nor .csv", param_hint="--out")
    progress = _core.Progress()
    try:
        with (
            interruptible(lambda: f"{out} was not written."),
            bar(f"{run_folder.name}, {flow}", lambda: progress.fraction),
        ):
            rows = again.record(run_folder, flow, begin_s=begin, end_s=end, progress=progress)
    except again.NotTheRun as error:
        raise typer.BadParameter(str(error), param_hint="RUN") from None
    folders.write(out, again.as_parquet(rows) if out.suffix == ".parquet" else rows.write_csv())
    typer.echo(f"{out}: {rows.height} events")


@study_app.command("list")
def study_list(studies: Studies = None, as_json: AsJson = False) -> None:
    """List the studies."""
    from skyhop import studies as machinery

    folder = _studies(studies)
    names = machinery.names(folder)
    if not names:
        _fail(f"{folder} is not a folder of studies: it holds no folder with a study.toml")
    titles = {
        name: defined(lambda name=name: machinery.load(folder / name)).title  # type: ignore[misc]
        for name in names
    }
    if as_json:
        print_json([{"name": name, "title": title} for name, title in titles.items()])
        return
    for name, title in titles.items():
        typer.echo(f"{name}  {title}")


@study_app.command("show")
def study_show(name: Name, studies: Studies = None, as_json: AsJson = False) -> None:
    """Print a study's question, its matrix and the numbers that it expects."""
    from skyhop import tables

    found = _study(name, studies)
    if as_json:
        print_json(tables.as_defined(found))
        return
    typer.echo(f"{found.title}\n\n{found.question}\n\n{found.paper}\n")
    for axis in found.axes:
        typer.echo(f"{axis.label}: {', '.join(axis.values)}")
    for part in found.parts:
        what = f"{part.name}: {len(part.cells)} cells, " if part.name else ""
        typer.echo(f"{what}seeds: {', '.join(map(str, part.seeds))}{', only with --full' if part.long else ''}")
    typer.echo()
    console = _console()
    table = _table("measure", *(axis.label for axis in found.axes), "source", "value", "printed", "verdict")
    for one in found.expectations:
        metric = found.metrics[one.metric]
        for source, expected in one.sources.items():
            point = [value for _, value in one.cell.point]
            label = f"{metric.label} ({metric.unit})" if metric.unit else metric.label
            who = found.sources[source].label
            table.add_row(label, *point, who, f"{expected.value:g}", expected.printed, expected.verdict)
    console.print(table)


@study_app.command("run")
def study_run(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Folder name of the study.", show_default=False)] = "",
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Output folder; by default runs/<name>.")
    ] = None,
    studies: Studies = None,
    renew: Annotated[bool, typer.Option("--renew", help="Put the results into the study's README.md.")] = False,
    keep: Annotated[
        Path, typer.Option("--keep", metavar="DIR", help="Folder of finished runs, which are not repeated.")
    ] = Path("runs/kept"),
    all_studies: Annotated[bool, typer.Option("--all", help="Run every study, one after another.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Include the parts that take long.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a list with an entry for each study.")] = False,
    memory: Memory = None,
) -> None:
    """Run a study, print its numbers beside the published ones and write the report.

    The exit code is 1 when a number contradicts the verdict that the study declares, or a README has another number.
    """
    if all_studies == bool(name):
        _fail("give the name of one study, or --all")
    _limit_memory(memory)
    from skyhop import studies as machinery

    names = machinery.names(_studies(studies)) if all_studies else [name]
    chosen = [_study(one, studies) for one in names]
    if full and not any(one.takes_long for one in chosen):
        none = "no study has" if all_studies else f"{name} has no"
        _fail(f"--full has no effect: {none} part or sweep that takes long (long = true in study.toml)")
    for one in names:
        apart((out or Path("runs")) / one if all_studies else out or Path("runs") / one, keep)
    done = [
        _run_study(
            dataclasses.replace(found, full=full),
            (out or Path("runs")) / found.name if all_studies else out or Path("runs") / found.name,
            renew=renew,
            keep=keep,
            quiet=as_json,
        )
        for found in chosen
    ]
    if as_json:
        print_json([one for one in done if one])
    if any(one.get("problems") for one in done):
        raise typer.Exit(FAILED)


def _run_study(found: "Study", folder: Path, *, renew: bool, keep: Path, quiet: bool) -> dict[str, Any]:
    """What the study gave, for JSON; its problems are numbers that contradict its verdicts.

    A study that is skipped gives nothing, and proves nothing wrong. `quiet` leaves stdout alone.
    """
    if found.missing:
        typer.echo(f"skipped: {found.name} needs {', '.join(map(str, found.missing))}, which is not there", err=True)
        return {}
    for stack, parts in found.left_out.items():
        stays = "; README.md stays as it is" if renew else ""
        lacks = f"this build has no {stack} (make build FEATURES={stack})"
        typer.echo(f"skipped: {', '.join(parts)} of {found.name}: {lacks}{stays}", err=True)
    from skyhop import matrix, prose, report, tables
    from skyhop.kept import Keep
    from skyhop.verdict import DefinitionError

    begin = time.perf_counter()
    shelf = Keep(keep)
    try:
        with interruptible(lambda: runs_kept(len(shelf.used), keep)), folders.staged(folder, "study") as staging:
            with bar(found.name) as show:
                outcome = matrix.run_study(found, keep=shelf, on_progress=show)
            with bar("figures and report") as show:
                page = folder / report.write_into(outcome, staging, on_progress=show).name
    except (_core.ScenarioError, DefinitionError) as error:
        _fail(str(error))
    if not quiet:
        _print_outcome(outcome)
    _warn_all(outcome.warnings)
    readme = found.folder / "README.md"
    if renew and not found.left_out:
        if not defined(lambda: prose.renew(readme, outcome)):
            typer.echo(f"{readme}: stays as it is: its results are those of a run with --full", err=True)
        for document in prose.documents(found):
            defined(lambda document=document: prose.renew_others(document, outcome))  # type: ignore[misc]
    stale = defined(lambda: prose.stale(readme, outcome))
    for document in prose.documents(found):
        stale += defined(lambda document=document: prose.stale(document, outcome, prefix=True))  # type: ignore[misc]
    problems = [*outcome.problems, *stale]
    typer.echo(
        f"{len(outcome.samples)} runs, {outcome.cpu_s:.2f} s of CPU for the simulation, "
        f"{time.perf_counter() - begin:.1f} s altogether",
        err=quiet,
    )
    typer.echo(f"Report: {page.resolve()}", err=quiet)
    if problems:
        typer.echo("\nThe study fails:", err=True)
        for problem in problems:
            typer.echo(f"- {problem}", err=True)
    return {**tables.as_found(outcome), "problems": problems, "report": str(page.resolve())}


def main() -> None:
    """The program `skyhop`."""
    from skyhop import program

    program.main()


def _studies(folder: Path | None) -> Path:
    from skyhop import studies as machinery

    return folder or defined(machinery.folder_of_studies)


def _study(name: str, folder: Path | None) -> "Study":
    from skyhop import studies as machinery

    return defined(lambda: machinery.find(name, _studies(folder)))


def _print_flows(summary: dict[str, Any]) -> None:
    table = _table("flow", "goodput (kbit/s)", "sent", "retransmitted", "dropped", "RTT mean (ms)", "delay mean (ms)")
    for column in table.columns[1:]:
        column.justify = "right"
    for flow in summary["flows"]:
        dropped = sum(flow["drops"].values())
        table.add_row(
            flow["name"], f"{flow['goodput_bps'] / 1e3:.1f}", str(flow["packets_sent"]), str(flow["retransmissions"]),
            str(dropped), _milliseconds(flow["rtt_mean_s"]), _milliseconds(flow["delay_mean_s"]),
        )  # fmt: skip
    _console().print(table)


def _milliseconds(seconds: float | None, digits: int = 1) -> str:
    return _decimal(None if seconds is None else seconds * 1e3, digits)


def _decimal(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _print_paths(paths: dict[str, Any]) -> None:
    console = _console()
    for way, flows in _by_way(paths["flows"]).items():
        names = ", ".join(flow["flow"] for flow in flows)
        if not way:
            console.print(f"{names}: no path from {flows[0]['from']} to {flows[0]['to']} at {paths['at_s']:g} s")
            continue
        console.print(f"{names} at {paths['at_s']:g} s")
        table = _table("from", "to", "link", "elevation (°)", "range (km)", "delay (ms)")
        for column in table.columns[3:]:
            column.justify = "right"
        for hop in flows[0]["hops"]:
            table.add_row(
                hop["from"], hop["to"], hop["kind"], _decimal(hop["elevation_deg"], 1), _decimal(hop["range_km"], 1),
                _milliseconds(hop["delay_s"], 3),
            )  # fmt: skip
        table.add_section()
        table.add_row(flows[0]["from"], flows[0]["to"], "total", "", "", _milliseconds(flows[0]["delay_s"], 3))
        console.print(table)


def _by_way(flows: list[dict[str, Any]]) -> dict[tuple[str, ...], list[dict[str, Any]]]:
    """Groups flows that take the same links; flows without a path are grouped by their ends."""
    grouped: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for flow in flows:
        grouped.setdefault(tuple(hop["link"] for hop in flow["hops"]), []).append(flow)
    return grouped


_COLOURS = {
    "reproduced": "green", "holds": "green", "differs": "yellow", "undecided": "magenta", "given": "cyan",
    "impossible": "red", "does not hold": "red", "not run": "dim",
}  # fmt: skip


def _print_outcome(outcome: "Outcome") -> None:
    from rich.text import Text

    from skyhop import score, sweeps, tables

    console = _console()
    titles = tables.header(outcome)
    table = _table(*titles)
    for number, column in enumerate(table.columns):
        if number > len(outcome.study.axes) and titles[number] != "verdict":
            column.justify = "right"
    rows = tables.rows(outcome)
    for number, row in enumerate(rows):
        last = number + 1 == len(rows) or rows[number + 1].first_of_measure
        table.add_row(*(Text(cell, style=_COLOURS.get(cell.strip("()"), "")) for cell in row.cells), end_section=last)
    console.print(table)
    for what, why in tables.reasons(outcome):
        console.print(Text(f"{what}. ", style="bold") + Text(why))
    for note in tables.notes(outcome):
        console.print(Text(note))
    for text, _, _, verdict, _ in tables.claims(outcome):
        console.print(Text(f"{verdict}: ", style=_COLOURS[verdict]) + Text(text))
    console.print(Text("\n" + score.headline(outcome)))
    if outcome.without_chance:
        console.print(Text(sweeps.no_chance(outcome.without_chance, of=len(outcome.study.cells))))


if __name__ == "__main__":
    main()
