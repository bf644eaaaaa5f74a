"""`skyhop planes`: the orbital planes of a constellation, and the satellites of a catalogue that are in none.

`_core` finds the planes and computes every number that the command prints.
"""

# Annotations are not postponed: `typer` would evaluate the text of each one several times at every start.

import json
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from skyhop import _core, folders, terminal
from skyhop.sky import in_options, is_elements

#: Where warnings about the keys stand that `planes_scenario` writes and no option gives.
_OWN_KEYS = ("constellation.gsl", "constellation.isl.rate")


def planes(
    constellation: Annotated[
        str, typer.Argument(metavar="FILE", help="A file of elements, or a preset.", show_default=False)
    ],
    begin: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="UTC",
            help='Time of the planes: "2025-10-07T12:00:00Z"; by default the middle epoch of the elements.',
        ),
    ] = None,
    csv: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Write the planes to a file that a scenario can read.")
    ] = None,
    left_out: Annotated[
        bool, typer.Option("--left-out", help="List the satellites that are in no plane, and why.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """List orbital planes and how many satellites +Grid leaves without a partner in a neighbouring plane."""
    if as_json and left_out:
        terminal.fail("--left-out has no effect with --json, which has these satellites, too")
    if constellation == "geo":
        terminal.fail("geo: geostationary satellites stand at longitudes that a scenario chooses, and have no planes")
    if not is_elements(constellation):
        # Satellites of a preset are in planes by definition, and start at the same places whatever the time.
        for option, given in (("--from", begin), ("--csv", csv), ("--left-out", left_out or None)):
            if given is not None:
                terminal.fail(f"{option} has no effect with a preset: it is for a file of elements")
    try:
        scenario = planes_scenario(constellation, begin)
    except _core.ScenarioError as error:
        options = {"constellation.epoch": "--from", "constellation.isl": "FILE", "constellation": "FILE"}
        terminal.fail(in_options(str(error), options))
    # The table says what was found, and the rate of the links to the ground is not the user's.
    said = [one for one in scenario.warnings if "satellites are found in" in one or one.startswith(_OWN_KEYS)]
    terminal.warn(scenario, but=said)
    found: dict[str, Any] = json.loads(scenario.planes_json())
    if csv is not None:
        folders.write(csv, planes_csv(found))
        typer.echo(str(csv), err=True)
    if as_json:
        terminal.print_json(found)
        return
    if left_out:
        for one in found["left_out"]:
            typer.echo(f"{one['satellite']} (object {one['catalogue_number']}): {one['detail']}")
        return
    table = terminal.table(
        "shell", "plane", "satellites", "inclination (°)", "node (°)", "altitude (km)", "spacing (°)", "unpaired"
    )
    for shell in found["shells"]:
        for plane in shell["planes"]:
            spacing = plane["spacing_deg"]
            table.add_row(
                shell["name"], str(plane["plane"]), str(plane["count"]), f"{shell['inclination_deg']:.2f}",
                f"{plane['node_deg']:.1f}", f"{plane['altitude_km']:.1f}",
                f"{spacing['min']:.1f} {spacing['median']:.1f} {spacing['max']:.1f}",
                " ".join("–" if side is None else str(side["unpaired"]) for side in (plane["previous"], plane["next"])),
            )  # fmt: skip
    terminal.console().print(table)
    typer.echo("spacing: smallest, median and largest gap of phase")
    typer.echo("unpaired: without a partner in the previous and in the next plane; – where that is not a neighbour")
    for shell in found["shells"]:
        count = sum(plane["count"] for plane in shell["planes"])
        previous, following = (shell["unpaired"][side]["count"] for side in ("previous", "next"))
        typer.echo(
            f"{shell['name']}: {count} satellites in {len(shell['planes'])} planes; {following} without a partner in "
            f"the next plane, {previous} in the previous one"
        )
    at = f" at {found['utc'][:19]}" if found["utc"] else ""
    if found["left_out"]:
        typer.echo(f"{len(found['left_out'])} satellites are in no plane{at}:")
    for reason, count in Counter(one["reason"] for one in found["left_out"]).most_common():
        typer.echo(f"    {count} {reason}")


def planes_csv(found: dict[str, Any]) -> str:
    """The planes in the form that `layout = { grid = { planes = FILE } }` reads, without slots."""
    lines = ["satellite,shell,plane"]
    for shell in found["shells"]:
        for plane in shell["planes"]:
            lines += [f"{name},{shell['name']},{plane['plane']}" for name in plane["satellites"]]
    return "\n".join(lines) + "\n"


def planes_scenario(constellation: str, begin: str | None) -> _core.Scenario:
    """A scenario whose constellation has the links of a +Grid, from a file of elements or the name of a preset.

    `begin` is the start in UTC, for elements only. Raises ScenarioError when the file or the preset does not exist,
    when no plane is found in it, and for a `begin` that is not an instant.
    """
    from skyhop import api

    sky: dict[str, Any] = {"gsl": {"rate": "1 Mbit/s"}, "isl": {"rate": "1 Mbit/s", "layout": "grid"}}
    sky["elements" if is_elements(constellation) else "preset"] = constellation
    if begin is not None:
        sky["epoch"] = begin
    return api.scenario(duration="1 s", constellation=sky)
