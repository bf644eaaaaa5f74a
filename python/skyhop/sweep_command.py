"""The command `skyhop sweep`: a grid with seeds, on this machine or a shard of it, and what is still missing."""

# Annotations are not postponed: `typer` would evaluate the text of each one several times at every start.

import math
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skyhop import _core, folders
from skyhop.terminal import (
    FAILED,
    apart,
    bar,
    console,
    defined,
    fail,
    interruptible,
    limit_memory,
    print_json,
    runs_kept,
    table,
    warn_all,
)

if TYPE_CHECKING:
    import polars as pl

    from skyhop.spreading import Shard, State, Tally
    from skyhop.sweeps import Sweep, SweepResult

#: Failed runs that are named one by one; a table holds them all.
_NAMED = 10


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command()(sweep)


def sweep(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Sweep file (TOML).", show_default=False)],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Output folder; by default runs/<name of the file>.")
    ] = None,
    keep: Annotated[
        Path, typer.Option("--keep", metavar="DIR", help="Folder of finished runs, which are not repeated.")
    ] = Path("runs/kept"),
    threads: Annotated[
        int | None,
        typer.Option("--threads", min=1, help="Number of simultaneous runs; by default one more than cores."),
    ] = None,
    shard: Annotated[
        str | None, typer.Option("--shard", metavar="K/N", help="Make only the runs of part K of N, and no table.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--list", help="List all runs and whether they are kept; run nothing.")
    ] = False,
    missing: Annotated[
        bool,
        typer.Option("--missing", help="List the runs that are not kept; run nothing. Exit code 1 if there are any."),
    ] = False,
    until: Annotated[
        str | None,
        typer.Option("--until", metavar="BOUND", help='Add seeds until the intervals are this small: "goodput ± 2 %".'),
    ] = None,
    most_seeds: Annotated[
        int | None,
        typer.Option("--most-seeds", min=1, help="With --until: the largest number of seeds; by default 100."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    scheduler: Annotated[
        str | None,
        typer.Option("--scheduler", metavar="URL", help="Make the runs on a Dask cluster: tcp://HOST:8786."),
    ] = None,
    drawn: Annotated[
        list[str] | None,
        typer.Option("--figure", metavar="MEASURE", help="Draw this measure over the axes, as MEASURE.svg in DIR."),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            metavar="SIZE",
            envvar="SKYHOP_MEMORY",
            help='Memory that a run may take: "4 GB", or "none"; by default half of what the machine has.',
        ),
    ] = None,
) -> None:
    """Run a scenario over a grid of its keys and seeds; print each cell's mean with its 95 % interval.

    Finished runs are not repeated, so a killed sweep continues where it stopped. A run that fails becomes a row with
    its reason, and the exit code is 1 at the end.
    """
    from skyhop import precision, spreading, sweeps
    from skyhop.verdict import DefinitionError

    limit_memory(memory)
    listing = "--list" if every else "--missing" if missing else None
    _refuse(
        {"--list": every, "--missing": missing},
        {"--shard": shard is not None, "--until": until is not None, "--out": out is not None, "--figure": bool(drawn)},
        most_seeds=most_seeds, as_json=as_json,
    )  # fmt: skip
    if scheduler is not None:
        for name, given in {listing or "--list": listing, "--shard": shard, "--threads": threads}.items():
            if given:
                fail(f"--scheduler and {name}: the workers of the cluster make the runs, so leave one of them out")
    read = defined(lambda: sweeps.load(file))
    part = None if shard is None else defined(lambda: spreading.Shard.read(shard))
    tally = spreading.Tally()
    try:
        with interruptible(lambda: runs_kept(tally.kept, keep)):
            if listing is not None:
                found = spreading.states(read, keep=keep, shard=part)
                _print_states(read, found, only_missing=missing, as_json=as_json)
                return
            if part is not None:
                with bar(f"{file.name}, part {part}") as show:
                    spreading.make_shard(read, part, keep=keep, tally=tally, on_progress=show, threads=threads)
                _print_shard(part, tally, keep)
                return
            _drawable(read, drawn or [])
            bound = None if until is None else precision.read(until, read)
            folder = out or Path("runs") / file.stem
            apart(folder, keep)
            with ExitStack() as stack:
                staging = stack.enter_context(folders.staged(folder, "sweep"))
                make = None
                if scheduler is not None:
                    from skyhop.dask_runs import on_cluster

                    make = stack.enter_context(on_cluster(scheduler, read, tally))
                with bar(file.name) as show:
                    result = spreading.run(
                        read, keep=keep, on_progress=show, threads=threads, until=bound,
                        most_seeds=most_seeds or precision.MOST_SEEDS, make=make, tally=tally,
                    )  # fmt: skip
                result.write_into(staging)
                for measure in drawn or []:
                    _draw(result, measure, staging)
    except (_core.ScenarioError, DefinitionError) as error:
        fail(str(error))
    _print_result(result, folder, as_json=as_json)


def _refuse(listings: dict[str, bool], options: dict[str, bool], *, most_seeds: int | None, as_json: bool) -> None:
    """Ends the program for options of which one would have no effect."""
    if all(listings.values()):
        fail("--list and --missing: give one of them; --list shows the missing runs, too")
    for name, given in listings.items():
        for other in ("--until", "--out", "--figure"):
            if given and options[other]:
                fail(f"{name} runs nothing, so {other} has no effect: leave one of them out")
    if options["--shard"] and options["--until"]:
        fail("--shard and --until: a part does not know the intervals of the whole sweep; use --until without --shard")
    if options["--shard"] and options["--out"]:
        fail("--shard writes no table, so --out has no effect; run the sweep without --shard when all parts are done")
    if options["--shard"] and options["--figure"]:
        fail(
            "--shard makes no figure, so --figure has no effect; run the sweep without --shard when all parts are done"
        )
    if options["--shard"] and as_json and not any(listings.values()):
        fail("--shard prints no table, so --json has no effect; with --list it prints the runs of the part")
    if most_seeds is not None and not options["--until"]:
        fail("--most-seeds has no effect without --until")


def _drawable(sweep: "Sweep", measures: list[str]) -> None:
    """Ends the program before the first run for a figure that cannot be drawn."""
    if not measures:
        return
    from skyhop.gridplots import MOST_MAPS

    known = [metric.name for metric in sweep.metrics]
    for measure in measures:
        if measure not in known:
            fail(f"--figure {measure}: no measure is called so; there are: {', '.join(known)}")
    if not sweep.axes:
        fail("--figure: the sweep has no axes, so there is nothing to draw a measure over")
    maps = math.prod(len(axis.values) for axis in sweep.axes[:-2])
    if maps > MOST_MAPS:
        fail(f"--figure: {maps} heat maps of the last two axes would be needed, at most {MOST_MAPS} are drawn")


def _draw(result: "SweepResult", measure: str, folder: Path) -> None:
    from skyhop import figure, frames

    drawn = frames.of_sweep(result).figure(measure)
    (folder / f"{measure}.svg").write_text(figure.svg(drawn), encoding="utf-8")


def _print_states(sweep: "Sweep", found: "list[State]", *, only_missing: bool, as_json: bool) -> None:
    shown = [one for one in found if one.state != "kept"] if only_missing else found
    if as_json:
        print_json([one.row() for one in shown])
    elif shown:
        rows = table(*(axis.name for axis in sweep.axes), "seed", "state", "reason")
        for one in shown:
            rows.add_row(*(value for _, value in one.job.cell.point), str(one.job.seed), one.state, one.error or "")
        console().print(rows)
    kept = sum(one.state == "kept" for one in found)
    failed = sum(one.state == "failed" for one in found)
    missing = len(found) - kept - failed
    typer.echo(f"{len(found)} runs: {kept} kept, {missing} missing, {failed} failed when last tried", err=True)
    if only_missing and shown:
        raise typer.Exit(FAILED)


def _print_shard(part: "Shard", tally: "Tally", keep: Path) -> None:
    runs = tally.kept + len(tally.failed)
    typer.echo(
        f"Part {part}: {runs} runs, {len(tally.found)} kept before, {len(tally.made)} made, "
        f"{len(tally.failed)} failed. They are in {keep}; the sweep without --shard makes the table.",
        err=True,
    )
    _say_failed([(job.label, why) for job, why in tally.failed])


def _say_failed(failures: list[tuple[str, str]]) -> None:
    """Names failed runs and ends the program with exit code 1, if there are any."""
    for label, why in failures[:_NAMED]:
        typer.echo(f"failed: {label}: {why}", err=True)
    if len(failures) > _NAMED:
        typer.echo(f"failed: {len(failures) - _NAMED} more", err=True)
    if failures:
        raise typer.Exit(FAILED)


def _print_result(result: "SweepResult", folder: Path, *, as_json: bool) -> None:
    from skyhop import precision, sweeps, warned

    assert result.sweep is not None
    said = sweeps.notes(result.sweep, result)
    if result.until is not None:
        said += precision.said(result.until, result.looks)
    warnings = warned.sentences(result.warned)
    if as_json:
        frames = {"table": result.table.to_dicts(), "runs": result.runs.to_dicts()}
        print_json({**frames, "notes": said, "warnings": warnings})
    else:
        _print_table(result.sweep, result.table)
    warn_all(warnings)
    for note in said:
        typer.echo(note, err=True)
    typer.echo(str(folder / "table.csv"), err=as_json or not sys.stdout.isatty())
    axes = [axis.name for axis in result.sweep.axes]
    failures = [
        (" / ".join(row[axis] for axis in axes) + (", " if axes else "") + f"seed {row['seed']}", row["error"])
        for row in result.runs.iter_rows(named=True)
        if row["error"] is not None
    ]
    _say_failed(failures)
    if result.looks and (result.looks[-1].wide or result.looks[-1].hopeless):
        raise typer.Exit(FAILED)


def _print_table(sweep: "Sweep", frame: "pl.DataFrame") -> None:
    from skyhop.inference import equal_seeds

    axes = [axis.name for axis in sweep.axes]
    shown = table(*axes, "measure", "mean", "95 % interval", "runs")
    for column in shown.columns[len(axes) + 1 :]:
        column.justify = "right"
    labels = {metric.name: metric for metric in sweep.metrics}
    for row in frame.iter_rows(named=True):
        metric = labels[row["metric"]]
        label = f"{metric.label} ({metric.unit})" if metric.unit else metric.label
        half = row["high"] - row["mean"]
        alike = row["runs"] > 1 and row["distinct_runs"] == 1
        equal = f"all {seeds} equal" if (seeds := equal_seeds(row)) else "–"
        interval = f"± {half:.4g}" if half == half else "all seeds alike" if alike else equal
        runs = f"{row['runs']}, {row['failed']} failed" if row["failed"] else str(row["runs"])
        mean = f"{row['mean']:.6g}" if row["mean"] == row["mean"] else "–"
        shown.add_row(*(row[axis] for axis in axes), label, mean, interval, runs)
    console().print(shown)
