"""`skyhop export`: a run as the page without a server, or in the formats of other tools."""

# Annotations are not postponed: `typer` would evaluate the text of each one several times at every start.

from pathlib import Path
from typing import Annotated

import typer

from skyhop.terminal import fail, warn_all

#: The formats, for the help; `skyhop.export` has them with what they are, and takes longer to import.
_NAMES = "pcapng, pcap, csv, parquet, iperf3, flowmon, qlog, ns2, czml, geojson"


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(name="export")(export)


def export(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="Run folder; for --html also a folder of runs.")],
    html: Annotated[
        Path | None, typer.Option("--html", metavar="DIR", help="Write the page with the run into this folder.")
    ] = None,
    to: Annotated[str | None, typer.Option("--to", metavar="FORMAT", help=f"One of: {_NAMES}.")] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="PATH", help="File or folder to write; by default named after the run."),
    ] = None,
    at: Annotated[
        list[str] | None, typer.Option("--at", metavar="NODE", help="For a capture: only the interfaces of this node.")
    ] = None,
) -> None:
    """Write a run as a page that needs no server, or in the format of another tool."""
    if (html is None) == (to is None):
        fail(f"give either --html DIR or --to FORMAT ({_NAMES})")
    if to is None:
        if out is not None or at:
            fail("--out and --at belong to --to FORMAT; --html names its own folder")
        from skyhop import serve as page

        assert html is not None
        typer.echo(str(page.export(run_folder, html)))
        return
    from skyhop import export as formats
    from skyhop.loading import load_run

    try:
        run = load_run(run_folder)
        if to not in formats.FORMATS:
            raise formats.ExportError(f"--to {to}: no format is called so; there are: {', '.join(formats.FORMATS)}")
        ending = formats.FORMATS[to].ending
        name = run_folder.resolve().name
        target = out or Path(f"{name}.{ending}" if ending else f"{name}-{to}")
        written = formats.write(run, to, target, nodes=at or ())
    except formats.ExportError as error:
        fail(f"{run_folder}: {error}")
    warn_all(written.notes)
    typer.echo(str(written.path))
