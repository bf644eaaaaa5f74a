"""Networks and recordings of other tools, as scenarios: `skyhop import`.

Each format has a file of its own. It returns a `Draft`: the scenario's sections, the files that it names, and what the
reader should know.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from skyhop import _core, folders
from skyhop.imports import gateways, graphs, hypatia, link_csv, mahimahi, netem, pops
from skyhop.imports.draft import Draft, ImportProblem, Wanted
from skyhop.imports.toml import as_toml

__all__ = ["FORMATS", "Draft", "Format", "ImportProblem", "Wanted", "read", "write"]


@dataclass(frozen=True)
class Format:
    """A format: what its sources are, the reader, and the options that mean something to it."""

    what: str
    read: Callable[[Sequence[Path], Wanted], Draft]
    options: frozenset[str] = field(default_factory=frozenset)


_LINK = frozenset({"rate", "delay", "duration"})

FORMATS = {
    "mahimahi": Format("mahimahi's traces of a link: one way, or up and down", mahimahi.read, _LINK - {"rate"}),
    "netem": Format("tc netem commands with sleeps between them: one way, or up and down", netem.read, _LINK),
    "csv": Format("CSV of a link over time: one way, or up and down", link_csv.read, _LINK),
    "graphml": Format("a network as GraphML", graphs.read_graphml, _LINK | {"flows"}),
    "edges": Format("a network as CSV with a line for each link", graphs.read_edges, _LINK | {"flows"}),
    "hypatia": Format("Hypatia's folder of a constellation, and the folder of a run", hypatia.read, _LINK - {"delay"}),
    "gateways": Format("places of gateways as CSV, GeoJSON or KML", gateways.read, _LINK),
    "pops": Format("Starlink's PoPs: its geofeed, and names of addresses", pops.read, _LINK - {"delay"}),
}  # fmt: skip


def read(name: str, sources: Sequence[str | os.PathLike[str]], wanted: Wanted | None = None) -> Draft:
    """The scenario that the sources of a format describe.

    Raises ImportProblem where it cannot be said, or an option means nothing to the format; OSError for a source that
    cannot be read.
    """
    if name not in FORMATS:
        raise ImportProblem(f"no format is called {name!r}; there are: {', '.join(FORMATS)}")
    wanted = wanted or Wanted()
    for option in sorted(wanted.given - FORMATS[name].options):
        raise ImportProblem(f"{name} says that itself: --{option.rstrip('s')} has no effect, so leave it out")
    return FORMATS[name].read([Path(one) for one in sources], wanted)


def write(draft: Draft, folder: str | os.PathLike[str]) -> Path:
    """Writes scenario.toml and the files that it names; the folder appears whole, or not at all for a wrong scenario.

    Raises ImportProblem for a scenario that is wrong, FileExistsError if the folder holds anything else.
    """
    from skyhop import api

    with folders.staged(folder, "export") as staging:
        for name, text in draft.files.items():
            (staging / name).write_text(text, encoding="utf-8", newline="")
        path = staging / "scenario.toml"
        path.write_text(as_toml(draft), encoding="utf-8")
        try:
            api.scenario(path)
        except _core.ScenarioError as error:
            text = str(error).replace(f"{staging}{os.sep}", "")
            raise ImportProblem(f"the scenario that the source gives is wrong:\n{text}") from None
    return Path(folder) / "scenario.toml"
