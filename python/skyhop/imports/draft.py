"""What readers of other tools' formats share."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skyhop import durations, texts

#: Length of a run where neither the source nor an option says one, s.
DURATION_S = 60.0


class ImportProblem(ValueError):
    """The source cannot be read, or says what a scenario cannot say; the message says which and where."""


@dataclass(frozen=True)
class Wanted:
    """What the caller adds to a source, as a scenario says it: "10 Mbit/s", "20 ms"."""

    rate: str | None = None
    delay: str | None = None
    duration: str | None = None
    #: Pairs of nodes.
    flows: tuple[tuple[str, str], ...] = ()

    @property
    def given(self) -> set[str]:
        """The names of those that are given."""
        return {name for name in ("rate", "delay", "duration", "flows") if getattr(self, name)}


@dataclass(frozen=True)
class Draft:
    """A scenario: its sections, the files that it names by their content, and what to know about it."""

    sections: Mapping[str, Any]
    files: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def text_of(path: Path) -> str:
    """The text of a source, also of a compressed one."""
    try:
        return texts.text_of(path)
    except ValueError as error:
        raise ImportProblem(str(error)) from None


def named(text: str, taken: set[str]) -> str:
    """A name as a scenario may have it, not among those that are taken; it is taken then."""
    base = re.sub(r"[^\w.-]+", "-", text, flags=re.UNICODE).strip("-")[:60] or "node"
    name, number = base, 2
    while name in taken:
        name, number = f"{base}-{number}", number + 1
    taken.add(name)
    return name


def seconds(value: float) -> str:
    """A time as a scenario says it."""
    return f"{value:.9f}".rstrip("0").rstrip(".") + " s"


def one_or_two(sources: Sequence[Path], what: str) -> None:
    """Raises ImportProblem unless there are one or two sources."""
    if len(sources) not in (1, 2):
        raise ImportProblem(f"{what}: one file for both directions, or two, from client to server and back")


def link(
    traces: Sequence[Mapping[str, Any]],
    wanted: Wanted,
    *,
    needs: set[str],
    files: Mapping[str, str],
    duration_s: float,
    notes: Sequence[str],
    extra: Mapping[str, Any] | None = None,
) -> Draft:
    """A server and a client over a link that follows recordings, with a CUBIC flow to the client.

    `needs` are those of "rate" and "delay" that the recordings do not say.
    """
    for name, example in (("rate", "10 Mbit/s"), ("delay", "20 ms")):
        if name in needs and getattr(wanted, name) is None:
            raise ImportProblem(f'the source says no {name} of the link: give it with --{name} "{example}"')
        if name not in needs and getattr(wanted, name) is not None:
            raise ImportProblem(f"the source says the {name} of the link: --{name} has no effect, so leave it out")
    made: dict[str, Any] = {"between": ["client", "server"], **(extra or {})}
    made |= {name: getattr(wanted, name) for name in ("rate", "delay") if name in needs}
    # Recorded delays are added to those of the link.
    made.setdefault("delay", "0 s")
    said = list(notes)
    if len(traces) == 1:
        made["trace"] = traces[0]
        said.append("Both directions follow the one recording.")
    else:
        made |= {"forward": {"trace": traces[0]}, "backward": {"trace": traces[1]}}
    if wanted.duration is not None and durations.seconds(wanted.duration) > duration_s + 1e-9:
        said.append(f"The run is longer than the recording, which repeats after {duration_s:.6g} s.")
    flow = {"name": "download", "from": "server", "to": "client", "tcp": "cubic", "application": "ftp"}
    said.append("The flow is an example: a CUBIC download that always has data.")
    sections = {"duration": wanted.duration or seconds(duration_s), "links": [made], "flows": [flow]}
    return Draft(sections, files, tuple(said))
