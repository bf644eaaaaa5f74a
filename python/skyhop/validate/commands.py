"""The commands below `skyhop validate`. Exit status: 1 when a bound or an aim is missed, 2 for wrong input."""

# Annotations are not postponed: `typer` would evaluate the text of each one several times at every start.

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

# Each command imports its comparison: all of them together take longer than a short run.
from skyhop import terminal, validate

if TYPE_CHECKING:
    from skyhop.validate import registry

_app = typer.Typer(help="Compare with recordings of the Linux kernel and of other programs.")

Cases = Annotated[list[str] | None, typer.Option("--case", metavar="NAME", help="Only this case.")]


def _one_form(context: typer.Context, wanted: bool) -> bool:
    """Ends the program for a second form of what is printed: the other one would have no effect."""
    if wanted and any(context.params.get(name) for name in ("as_json", "as_markdown")):
        terminal.fail("--json and --markdown: one of them would have no effect, so leave one out")
    return wanted


AsJson = Annotated[bool, typer.Option("--json", help="Print the results as JSON.", callback=_one_form)]
AsMarkdown = Annotated[
    bool, typer.Option("--markdown", help="Print the results as a table in Markdown.", callback=_one_form)
]


def _print_lines(
    found: Sequence[Any],
    summary: Callable[[Any], str],
    markdown: Callable[[Any], str],
    *,
    as_json: bool,
    as_markdown: bool,
    lines: Callable[[Any], Iterable[object]] = iter,
) -> None:
    """One line for each case and the sums, or JSON, or a table for a page."""
    if as_json:
        terminal.print_json(found)
    elif as_markdown:
        typer.echo(markdown(found))
    else:
        for line in lines(found):
            typer.echo(str(line))
        typer.echo(summary(found))


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.add_typer(_app, name="validate")


@_app.callback(invoke_without_command=True)
def everything(
    context: typer.Context,
    reference: Annotated[
        Path | None,
        typer.Option("--reference", metavar="DIR", help="Folder with references, all of which are compared."),
    ] = None,
    as_json: AsJson = False,
    as_markdown: AsMarkdown = False,
) -> None:
    """Compare with what the Linux kernel and other simulators did: one kind, or all that lie below a folder."""
    if context.invoked_subcommand is not None:
        if reference is not None or as_json or as_markdown:
            terminal.fail(f'options of "validate {context.invoked_subcommand}" stand behind its name')
        return
    if reference is None:
        typer.echo(context.get_help())
        return
    from skyhop.validate import registry

    try:
        found = registry.everything(reference)
    except ValueError as error:
        terminal.fail(str(error))
    if as_json:
        terminal.print_json([_found(one) for one in found])
    elif as_markdown:
        typer.echo(registry.everything_markdown(found))
    else:
        table = terminal.table(*registry.COLUMNS)
        for column in table.columns[2:6]:
            column.justify = "right"
        for row in registry.table(found):
            table.add_row(*row)
        terminal.console().print(table)
    if any(not one.ok for one in found):
        raise typer.Exit(terminal.FAILED)


def _found(one: "registry.Found") -> dict[str, Any]:
    about = {"folder": str(one.folder), "comparison": one.comparison.name if one.comparison else None, "ok": one.ok}
    if one.report is None:
        return {**about, "problem": one.problem}
    report = one.report
    sums = {"cases": report.cases, "equal": report.equal, "within": report.within, "skipped": report.skipped}
    return {**about, **sums, "note": report.note, "findings": [dataclasses.asdict(each) for each in report.findings]}


@_app.command("ns2")
def ns2(
    reference: Annotated[
        Path | None,
        typer.Option("--reference", metavar="DIR", help="Folder with a cases.csv; by default the project's own."),
    ] = None,
    cases: Cases = None,
    agents: Annotated[list[str] | None, typer.Option("--agent", metavar="NAME", help="Only this agent.")] = None,
    as_json: AsJson = False,
    as_markdown: AsMarkdown = False,
    drawings: Annotated[
        Path | None,
        typer.Option(
            "--figures", metavar="DIR", help="Draw our windows over those of the reference, into this folder."
        ),
    ] = None,
) -> None:
    """Run the cases of an ns-2 reference folder and hold every measure against its bound, worst first."""
    try:
        reference = reference or validate.own_reference("ns2")
        cells = validate.ns2(reference, cases=cases, agents=agents)
        if drawings is not None:
            validate.figures(reference, drawings, cells=cells)
    except ValueError as error:
        terminal.fail(str(error))
    if as_json:
        terminal.print_json([vars(cell) for cell in cells])
    elif as_markdown:
        typer.echo(validate.markdown(cells))
    else:
        table = terminal.table("case", "agent", "measure", "reference", "ours", "difference", "bound", "")
        for column in table.columns[3:7]:
            column.justify = "right"
        for cell in cells:
            numbers = (f"{number:.5g}" for number in (cell.reference, cell.ours, cell.difference, cell.bound))
            table.add_row(cell.case, cell.agent, cell.measure, *numbers, "ok" if cell.ok else cell.detail or "broken")
        terminal.console().print(table)
        typer.echo(validate.summary(cells))
    if any(not cell.ok for cell in cells):
        raise typer.Exit(terminal.FAILED)


@_app.command("queues")
def queues(
    reference: Annotated[Path, typer.Option("--reference", metavar="DIR", help="Folder with a cases.csv.")],
    cases: Cases = None,
    variant: Annotated[
        str,
        typer.Option(
            "--variant",
            metavar="NAME",
            help="linux, or rfc, which shows how far the published texts are from the kernel.",
        ),
    ] = "linux",
    as_json: AsJson = False,
    as_markdown: AsMarkdown = False,
) -> None:
    """Feed the arrivals of a folder of Linux queue disciplines to ours and compare every packet, one line per case."""
    try:
        found = validate.queues(reference, cases=cases, variant=variant)
    except ValueError as error:
        terminal.fail(str(error))
    if variant == "rfc" and not as_json:
        typer.echo(validate.queues_texts(found))
    else:
        _print_lines(found, validate.queues_summary, validate.queues_markdown, as_json=as_json, as_markdown=as_markdown)
    if variant != "rfc" and any(not one.ok for one in found):
        raise typer.Exit(terminal.FAILED)


@_app.command("routes")
def routes(
    reference: Annotated[
        Path, typer.Option("--reference", metavar="DIR", help="Folder with pairs of rtt_A_to_B and path_A_to_B.")
    ],
    pairs: Annotated[list[str] | None, typer.Option("--pair", metavar="A-B", help="Only this pair.")] = None,
    as_json: AsJson = False,
    as_markdown: AsMarkdown = False,
) -> None:
    """Compare routes and round-trip times over a constellation with another tool's (Hypatia), one line per pair."""
    try:
        found = validate.routes(reference, pairs=pairs)
    except ValueError as error:
        terminal.fail(str(error))
    _print_lines(found, validate.routes_summary, validate.routes_markdown, as_json=as_json, as_markdown=as_markdown)
    if any(not one.ok for one in found):
        raise typer.Exit(terminal.FAILED)


@_app.command("quic")
def quic(
    reference: Annotated[Path, typer.Option("--reference", metavar="DIR", help="Folder with a cases.csv.")],
    cases: Cases = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds",
            metavar="N",
            min=1,
            max=1000,
            help="Runs for each case; by default 10 where the congestion control draws random numbers, else 5.",
        ),
    ] = None,
    as_json: AsJson = False,
    as_markdown: AsMarkdown = False,
) -> None:
    """Run the cases of a folder of QUIC stacks in virtual time beside their real time, one line per case."""
    try:
        found = validate.quic(reference, cases=cases, seeds=seeds)
    except ValueError as error:
        terminal.fail(str(error))
    _print_lines(found, validate.quic_summary, validate.quic_markdown, as_json=as_json, as_markdown=as_markdown)
    if not validate.quic_met(found):
        raise typer.Exit(terminal.FAILED)


@_app.command("starlink")
def starlink(
    reference: Annotated[
        Path, typer.Option("--reference", metavar="DIR", help="Folder with recordings and a cases.csv.")
    ],
    values: Annotated[
        Path | None,
        typer.Option(
            "--fit",
            metavar="FILE",
            help="Table of `skyhop fit starlink`; by default the set of values for the path and the year.",
        ),
    ] = None,
    part: Annotated[
        str, typer.Option("--part", metavar="A-B", help="Part of each recording of round trips, as shares: 0.5-1.")
    ] = "0-1",
    as_json: AsJson = False,
    as_markdown: AsMarkdown = False,
) -> None:
    """Simulate recorded round trips and transfers with the fitted profile and hold every measure against its bound."""
    from skyhop.validate import starlink_links

    shares = terminal.shares("--part", part)
    try:
        own = None if values is None else starlink_links.values_of(values)
        rows = starlink_links.starlink(reference, values=own, part=shares)
    except ValueError as error:
        terminal.fail(str(error))
    if as_json:
        terminal.print_json(rows)
    elif as_markdown:
        typer.echo(starlink_links.starlink_markdown(rows))
    else:
        table = terminal.table("case", "measure", "recorded", "simulated", "off", "bound", "")
        for row in rows:
            table.add_row(*starlink_links.cells(row))
        terminal.console().print(table)
        for row in rows:
            if row.note:
                typer.echo(f"{row.case}, {row.measure}: {row.note}")
        typer.echo(starlink_links.starlink_summary(rows))
    if any(not row.ok for row in rows):
        raise typer.Exit(terminal.FAILED)


@_app.command("reactions")
def reactions(
    reference: Annotated[Path, typer.Option("--reference", metavar="DIR", help="Folder with a cases.csv.")],
    cases: Annotated[list[str] | None, typer.Argument(metavar="CASE", help="Only these cases; by default all.")] = None,
    sender_only: Annotated[bool, typer.Option("--sender-only", help="Feed the recorded ACKs to our sender.")] = False,
    receiver_only: Annotated[
        bool, typer.Option("--receiver-only", help="Feed the recorded data to our receiver.")
    ] = False,
    drawn: Annotated[
        str | None, typer.Option("--figure", metavar="CASE", help="Draw this case: our records over the kernel's.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="File for the figure; by default CASE.svg.")
    ] = None,
    as_json: AsJson = False,
    as_markdown: AsMarkdown = False,
) -> None:
    """Run cases of listed losses, marks, delays and outages, and compare every packet with what Linux sent.

    Each case runs three times: with our sender alone, with our receiver alone, and with both.
    """
    from skyhop.validate import tcp_reactions

    if sender_only and receiver_only:
        terminal.fail("--sender-only and --receiver-only exclude each other; without either both halves are judged too")
    if out is not None and drawn is None:
        terminal.fail("--out is the file of a figure: name a case with --figure")
    halves = ["sender"] if sender_only else ["receiver"] if receiver_only else list(tcp_reactions.HALVES)
    try:
        if drawn is not None:
            wanted = drawn.replace("/", "_")
            target = tcp_reactions.draw(reference, drawn, out or Path(f"{wanted}.svg"), half=halves[-1])
            typer.echo(str(target), err=True)
            cases = cases or [drawn]
        found = tcp_reactions.reactions(reference, cases=cases or [], halves=halves)
    except ValueError as error:
        terminal.fail(str(error))
    _print_lines(
        found,
        tcp_reactions.reactions_summary,
        tcp_reactions.reactions_markdown,
        as_json=as_json,
        as_markdown=as_markdown,
        lines=tcp_reactions.lines,
    )
    if not tcp_reactions.reached(found):
        raise typer.Exit(terminal.FAILED)


@_app.command("linux")
def linux(
    reference: Annotated[
        Path, typer.Option("--reference", metavar="DIR", help="Folder with a cases.csv and a targets.csv.")
    ],
    cases: Annotated[list[str] | None, typer.Option("--case", metavar="RUN", help="Only this run.")] = None,
    as_json: AsJson = False,
    as_markdown: AsMarkdown = False,
) -> None:
    """Run whole flows over the bottlenecks of a folder and hold goodput, RTT, losses and windows against Linux's."""
    from skyhop.validate import tcp_flows

    try:
        found = tcp_flows.flows(reference, runs=cases or [])
    except ValueError as error:
        terminal.fail(str(error))
    _print_lines(found, tcp_flows.flows_summary, tcp_flows.flows_markdown, as_json=as_json, as_markdown=as_markdown)
    if any(not one.ok for one in found):
        raise typer.Exit(terminal.FAILED)


@_app.command("opensand")
def opensand(
    reference: Annotated[
        Path, typer.Option("--reference", metavar="DIR", help="Folder with goodput per second by orbit and loss.")
    ],
    as_json: AsJson = False,
    as_markdown: AsMarkdown = False,
) -> None:
    """Run downloads over an emulated satellite under the recorded control and under Reno, one line per download."""
    from skyhop.validate import testbed_downloads

    try:
        found = testbed_downloads.downloads(reference)
    except ValueError as error:
        terminal.fail(str(error))
    summary, markdown = testbed_downloads.downloads_summary, testbed_downloads.downloads_markdown
    _print_lines(found, summary, markdown, as_json=as_json, as_markdown=as_markdown)
    if any(not one.ok and one.skipped is None for one in found):
        raise typer.Exit(terminal.FAILED)
