"""`skyhop import`: networks and recordings of other tools as scenarios."""

# Annotations are not postponed: `typer` would evaluate the text of each one several times at every start.

from pathlib import Path
from typing import Annotated

import typer

from skyhop.terminal import fail

#: The formats, for the help; `skyhop.imports` has them with what they are.
_NAMES = "mahimahi, netem, csv, graphml, edges, hypatia, gateways, pops"


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(name="import")(import_)


def import_(
    form: Annotated[str, typer.Argument(metavar="FORMAT", help=f"One of: {_NAMES}.", show_default=False)],
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="File or folder; for a link up to two, up and down; for PoPs the geofeed and the names.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder for scenario.toml and the files that it names.")
    ],
    rate: Annotated[str | None, typer.Option("--rate", metavar="RATE", help="Rate, if the source has none.")] = None,
    delay: Annotated[str | None, typer.Option("--delay", metavar="TIME", help="Delay, if the source has none.")] = None,
    duration: Annotated[str | None, typer.Option("--duration", metavar="TIME", help="Length of the run.")] = None,
    flows: Annotated[
        list[str] | None,
        typer.Option("--flow", metavar="FROM,TO", help="A flow between two nodes of a network; may be repeated."),
    ] = None,
) -> None:
    """Turn a network or a recorded link of another tool into a scenario that runs."""
    from skyhop import imports

    pairs = []
    for text in flows or []:
        ends = tuple(end.strip() for end in text.split(","))
        if len(ends) != 2 or not all(ends):
            fail(f"--flow {text}: give two nodes with a comma between them")
        pairs.append((ends[0], ends[1]))
    try:
        draft = imports.read(form, sources, imports.Wanted(rate, delay, duration, tuple(pairs)))
        path = imports.write(draft, out)
    except imports.ImportProblem as error:
        fail(str(error))
    for note in draft.notes:
        typer.echo(note, err=True)
    typer.echo(str(path))
