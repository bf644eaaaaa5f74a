"""The commands below `skyhop fit`."""

# Annotations are not postponed: `typer` would evaluate the text of each one several times at every start.

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import typer

from skyhop import folders, terminal

_app = typer.Typer(help="Fit the values of a profile to recordings.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.add_typer(_app, name="fit")


@_app.callback()
def group() -> None:
    """Find the values of a profile in recordings."""


@_app.command("starlink")
def starlink(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[RECORDING...]",
            help="`ping -D` text, CSV with unix_time_s and rtt_ms, or irtt JSON; also gzip.",
            show_default=False,
        ),
    ] = None,
    grants: Annotated[
        Path | None,
        typer.Option(
            "--grants", metavar="FILE", help="Opportunities of a busy uplink, a time in ms on each line: fit `grants`."
        ),
    ] = None,
    hours: Annotated[
        list[Path] | None,
        typer.Option(
            "--hours",
            metavar="FILE",
            help="JSON of iperf3, one direction, over a day: fit `hours`. Repeat it for each transfer.",
            show_default=False,
        ),
    ] = None,
    loaded: Annotated[
        list[Path] | None,
        typer.Option(
            "--loaded",
            metavar="FILE",
            help="JSON of iperf3, one direction: BBR, several flows or UDP that fill the link: fit `rates`, "
            "`rate_correlation` and `allowance`; UDP at a rate that the link carries: fit `loss`, `outage` and "
            "`fades` (intervals of 0.1 s). Repeat it for more.",
            show_default=False,
        ),
    ] = None,
    session: Annotated[
        list[Path] | None,
        typer.Option(
            "--session",
            metavar="FILE",
            help="JSON of iperf3, one direction, within two hours: single flows of CUBIC or Reno that losses limit: "
            "fit the losses of a set to their goodput, and of uploads its delays to their round trips, by simulation. "
            "Repeat it for more: three or more are better.",
            show_default=False,
        ),
    ] = None,
    part: Annotated[
        str,
        typer.Option(
            "--part", metavar="A-B", help="Part of each recording of round trips and of --grants, as shares: 0-0.5."
        ),
    ] = "0-1",
    draws: Annotated[
        int | None,
        typer.Option(
            "--draws",
            min=0,
            max=10_000,
            help="Draws of slots for the intervals; 0: no intervals; 200 without it.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write the table here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print values and intervals as JSON.")] = False,
) -> None:
    """Fit the profile `starlink` to recordings: a table for a scenario, with the intervals in comments.

    Round trips give its delays, opportunities its grants, transfers its hours, rates, allowance, losses and fades.
    Single flows of CUBIC give the losses and the delays of their session.
    """
    from skyhop.starlink import (
        capacity_table,
        fit,
        fit_capacity,
        fit_grants,
        fit_hours,
        fit_session,
        grants_table,
        hours_table,
        read_opportunities,
        read_round_trips,
        read_transfer,
        session_table,
        table,
    )

    begin, end = terminal.shares("--part", part)
    if not files and grants is None and not hours and not loaded and not session:
        terminal.fail(
            "nothing to fit: give recordings of round trips, --grants FILE, --hours FILE, --loaded FILE or --session "
            "FILE"
        )
    if session:
        if files or grants is not None or hours or loaded:
            terminal.fail("--session scales losses and delays of a set that other fits do not start from: fit it apart")
        if (begin, end) != (0.0, 1.0):
            terminal.fail(f"--part {part} has no effect with --session, which takes whole transfers: leave some aside")
        if draws is not None:
            terminal.fail("--draws has no effect with --session, whose intervals come from transfers and runs")
    draws = 200 if draws is None else draws
    if (begin, end) != (0.0, 1.0) and (hours or loaded):
        terminal.fail(
            f"--part {part} cuts round trips and --grants, but --hours and --loaded would take whole transfers: fit "
            "them apart, and keep whole transfers aside"
        )
    texts: list[str] = []
    directions = {"up"} if files or grants is not None else set()
    values: dict[str, Any] = {}
    try:
        if files:
            found = fit([read_round_trips(file).part(begin, end) for file in files], draws=draws)
            texts.append(table(found))
            values |= dataclasses.asdict(found)
        if grants is not None:
            times = read_opportunities(grants)
            first, last = (times[0] + share * (times[-1] - times[0]) for share in (begin, end))
            of_grants = fit_grants(times[(times >= first) & (times <= last)], draws=draws)
            texts.append(grants_table(of_grants))
            values["grants"] = dataclasses.asdict(of_grants)
        if hours:
            of_hours = fit_hours([read_transfer(file) for file in hours], draws=draws)
            directions.add(of_hours.direction)
            texts.append(hours_table(of_hours))
            values["hours"] = dataclasses.asdict(of_hours)
        if loaded:
            of_load = fit_capacity([read_transfer(file) for file in loaded], draws=draws)
            directions.add(of_load.direction)
            texts.append(capacity_table(of_load))
            values["loaded"] = dataclasses.asdict(of_load)
        if session:
            of_session = fit_session([read_transfer(file) for file in session])
            texts.append(session_table(of_session))
            values["session"] = dataclasses.asdict(of_session)
        if len(directions) > 1:
            raise ValueError(
                "one table is of one direction, round trips and grants are fitted as an uplink's: fit uploads and "
                "downloads apart"
            )
    except ValueError as error:
        terminal.fail(str(error))
    text = _joined(texts)
    if out is not None:
        folders.write(out, text)
        typer.echo(str(out), err=True)
    if as_json:
        terminal.print_json(values)
    elif out is None:
        typer.echo(text, nl=False)


def _joined(texts: list[str]) -> str:
    """The tables as one: the comments of all, the header, the keys of all."""
    comments, keys = ([line for text in texts for line in text.splitlines() if line.startswith("#") == is_comment]
                      for is_comment in (True, False))  # fmt: skip
    # Two of them name the set and the direction.
    keys = list(dict.fromkeys(line for line in keys if line != "[starlink]"))
    return "\n".join([*comments, "[starlink]", *keys]) + "\n"
