"""The commands below `skyhop fit`."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from skyhop import folders, terminal

_app = typer.Typer(help="Values of a profile from recordings.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.add_typer(_app, name="fit")


@_app.callback()
def group() -> None:
    """Find the values of a profile in recordings."""


@_app.command("starlink")
def starlink(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="RECORDING...",
            help="`ping -D` text, CSV with unix_time_s and rtt_ms, or irtt JSON; also gzip.",
            show_default=False,
        ),
    ],
    part: Annotated[
        str, typer.Option("--part", metavar="A-B", help="Part of each recording, as shares of it: 0-0.5.")
    ] = "0-1",
    draws: Annotated[
        int, typer.Option("--draws", min=0, max=10_000, help="Draws of slots for the intervals; 0: no intervals.")
    ] = 200,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write the table here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print values and intervals as JSON.")] = False,
) -> None:
    """Fit the profile `starlink` to recorded round trips: a table for a scenario, with the intervals in comments."""
    from skyhop.starlink import fit, read_round_trips, table

    begin, end = terminal.shares("--part", part)
    try:
        found = fit([read_round_trips(file).part(begin, end) for file in files], draws=draws)
    except ValueError as error:
        terminal.fail(str(error))
    if out is not None:
        folders.write(out, table(found))
        typer.echo(str(out), err=True)
    if as_json:
        terminal.print_json(dataclasses.asdict(found))
    elif out is None:
        typer.echo(table(found), nl=False)
