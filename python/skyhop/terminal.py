"""What commands share: messages, scenarios from files, times, tables."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

import typer

from skyhop import _core, durations
from skyhop.program import FAILED, USAGE

if TYPE_CHECKING:
    from skyhop.kept import KeptRun
    from skyhop.results import Run

__all__ = [
    "FAILED",
    "USAGE",
    "Seed",
    "apart",
    "bar",
    "console",
    "defined",
    "fail",
    "interruptible",
    "limit_memory",
    "print_json",
    "read_scenario",
    "runs_kept",
    "say_default",
    "seconds",
    "shares",
    "table",
    "valid",
    "warn",
    "warn_all",
]

Answer = TypeVar("Answer")

#: An option of commands that show a run, or a moment of one.
Seed = Annotated[int, typer.Option("--seed", min=0, max=2**64 - 1, help="Seed of the random streams.")]


def fail(message: str, *, code: int = USAGE) -> NoReturn:
    """Ends the program with a message."""
    typer.echo(message, err=True)
    raise typer.Exit(code)


def valid(read: Callable[[], _core.Scenario]) -> _core.Scenario:
    """A scenario, or the end of the program with everything that is wrong with it."""
    try:
        return read()
    except _core.ScenarioError as error:
        fail(str(error))


def read_scenario(file: Path, overrides: list[str] | None) -> _core.Scenario:
    """The scenario of a file; its warnings are printed."""
    scenario = valid(lambda: _core.Scenario.from_file(str(file), overrides=overrides or []))
    warn(scenario)
    return scenario


def warn(what: _core.Scenario | Run | KeptRun, *, but: Sequence[str] = ()) -> None:
    """Prints what to know about a scenario that is right, or about a run; not again what has been said (`but`)."""
    warn_all([warning for warning in what.warnings if warning not in but])


def say_default(scenario: _core.Scenario) -> None:
    """Prints whose TCP runs where nothing in the scenario says it: the default was another one before format 2."""
    if scenario.has_tcp_by_default:
        note = 'TCP is that of Linux 6.18, the default; profile = "rfc" at the top takes Skyhop\'s own'
        typer.echo(note, err=True)


def warn_all(warnings: Sequence[str]) -> None:
    """Prints warnings, a line each."""
    for warning in warnings:
        typer.echo(f"warning: {warning}", err=True)


def limit_memory(size: str | None) -> None:
    """Sets how much memory each run of this command may take; ends the program where that is not a size."""
    if size is not None:
        os.environ["SKYHOP_MEMORY"] = size
    try:
        _core.memory_limit()
    except ValueError as error:
        fail(str(error))


def seconds(text: str, *, option: str = "--at") -> float:
    """A time as in a scenario: "63 s"."""
    found = durations.seconds(text)
    if math.isnan(found):
        fail(f'{option} {text}: a time has a number and a unit ({", ".join(durations.UNITS)}): "63 s"')
    return found


def shares(option: str, text: str) -> tuple[float, float]:
    """The two shares of an option such as `--part 0.5-1`, or the end of the program with what would be right."""
    try:
        begin, end = (float(share) for share in text.split("-"))
        if not 0 <= begin < end <= 1:
            raise ValueError
    except ValueError:
        fail(f"{option} {text}: give two shares from 0 to 1, the lower one first, such as 0.5-1")
    return begin, end


def print_json(value: Any) -> None:
    """Prints a value, which may hold dataclasses, as JSON. It has neither infinity nor NaN: they become null."""
    typer.echo(json.dumps(_finite(value), indent=2, ensure_ascii=False))


def _finite(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = dataclasses.asdict(value)
    if isinstance(value, Mapping):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextmanager
def interruptible(kept: Callable[[], str]) -> Iterator[None]:
    """Says after Ctrl-C what is kept of the work."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(f"Interrupted: {kept()}", err=True)
        raise


def runs_kept(runs: int, keep: Path) -> str:
    """Says how many runs a command leaves that makes many."""
    kept = "1 finished run is" if runs == 1 else f"{runs} finished runs are"
    return f"{kept} kept in {keep}; the same command goes on from there."


def console() -> Any:
    """Where tables go; wide and plain where nobody watches."""
    from rich.console import Console

    # Text in brackets or between colons is text, not rich's markup: names and messages have some.
    plain: dict[str, Any] = {} if sys.stdout.isatty() else {"width": 140, "no_color": True}
    return Console(markup=False, emoji=False, **plain)


def table(*columns: str) -> Any:
    """An empty table with these columns."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        made.add_column(column)
    return made


def apart(out: Path, keep: Path) -> None:
    """The output is replaced as a whole: the store of finished runs cannot be in it, nor it in the store."""
    places = [path.resolve() for path in (out, keep)]
    if places[0].is_relative_to(places[1]) or places[1].is_relative_to(places[0]):
        fail(f"--out {out} and --keep {keep}: one lies in the other; choose folders beside each other")


def defined(read: Callable[[], Answer]) -> Answer:
    """What a file defines, or the end of the program with what is wrong in it."""
    from skyhop.verdict import DefinitionError

    try:
        return read()
    except DefinitionError as error:
        fail(str(error))


@contextmanager
def bar(what: str, fraction: Callable[[], float] | None = None) -> Iterator[Callable[[float], None]]:
    """A progress bar on a terminal, nothing elsewhere; `fraction` is asked for how far the work is at each redraw.

    The work itself stays in the main thread, where Ctrl-C arrives and no thread is left to end beside the process.
    """
    if not sys.stderr.isatty():
        yield lambda fraction: None
        return
    from rich.console import Console, RenderableType
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    class Bar(Progress):
        def get_renderables(self) -> Iterable[RenderableType]:
            if fraction is not None:
                for running in self.tasks:
                    running.completed = fraction()
            return super().get_renderables()

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=1.0)
        yield lambda fraction: bar.update(task, completed=fraction)
