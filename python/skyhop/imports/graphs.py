"""Networks as GraphML (U. Brandes et al., *GraphML Primer*) and as CSV with a line for each link.

Attributes are taken by name with their unit (`rate_mbps`, `delay_ms`), and as the Internet Topology Zoo has them
(S. Knight et al., IEEE JSAC 29, 2011): `LinkSpeedRaw` in bit/s, `Latitude` and `Longitude` of nodes in degrees.
"""

from __future__ import annotations

import csv
import io
import math
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skyhop.imports import link_csv
from skyhop.imports.distance import FIBRE_M_S, great_circle_m
from skyhop.imports.draft import DURATION_S, Draft, ImportProblem, Wanted, named, seconds, text_of


@dataclass
class _Edge:
    a: str
    b: str
    values: Mapping[str, str]
    where: str


def read_graphml(sources: Sequence[Path], wanted: Wanted) -> Draft:
    """The network of a GraphML file."""
    (path,) = _one(sources)
    try:
        root = ElementTree.fromstring(text_of(path))
    except ElementTree.ParseError as error:
        raise ImportProblem(f"{path}: not XML: {error}") from None
    space = root.tag.partition("}")[0] + "}" if root.tag.startswith("{") else ""
    graph = root.find(f"{space}graph")
    if graph is None:
        raise ImportProblem(f"{path}: holds no graph, so it is not GraphML")
    keys = list(root.iter(f"{space}key"))
    titles = {key.get("id"): key.get("attr.name") or "" for key in keys}

    def values(element: ElementTree.Element, kind: str) -> dict[str, str]:
        # An element without a value has the default of the key.
        own = [key for key in keys if key.get("for", "all") in (kind, "all")]
        default = {key.get("id"): key.findtext(f"{space}default") for key in own}
        told = {one.get("key"): one.text for one in element.findall(f"{space}data")}
        known = {key: text for key, text in (default | told).items() if text is not None or key in told}
        return {titles.get(key) or str(key): (text or "").strip() for key, text in known.items()}

    nodes: dict[str, dict[str, str]] = {}
    for node in graph.findall(f"{space}node"):
        nodes[str(node.get("id"))] = values(node, "node")
    edges = []
    for number, edge in enumerate(graph.findall(f"{space}edge"), 1):
        ends = [str(edge.get("source")), str(edge.get("target"))]
        for end in ends:
            if end not in nodes:
                raise ImportProblem(f"{path}, edge {number}: there is no node {end!r}")
        edges.append(_Edge(ends[0], ends[1], values(edge, "edge"), f"{path}, edge {number} ({ends[0]} to {ends[1]})"))
    return _draft(path, nodes, edges, wanted, directed=graph.get("edgedefault") == "directed")


def read_edges(sources: Sequence[Path], wanted: Wanted) -> Draft:
    """The network of a CSV file with the columns from and to, and rate and delay with their units."""
    (path,) = _one(sources)
    rows = csv.DictReader(io.StringIO(text_of(path)))
    titles = {title.strip().lower(): title for title in rows.fieldnames or [] if title}
    if len(titles) < len([title for title in rows.fieldnames or [] if title]):
        raise ImportProblem(f"{path}: two columns have one name: leave one of them out")
    a, b = (next((titles[name] for name in names if name in titles), None) for names in (_FROM, _TO))
    if a is None or b is None:
        raise ImportProblem(f"{path}: needs the columns from and to, and as wanted rate_mbps and delay_ms")
    edges = []
    nodes: dict[str, dict[str, str]] = {}
    for number, row in enumerate(rows, 2):
        if None in row or None in row.values() or not row[a].strip() or not row[b].strip():
            raise ImportProblem(f"{path}, line {number}: has not a field for each column")
        ends = [row[a].strip(), row[b].strip()]
        nodes |= {end: nodes.get(end, {}) for end in ends}
        values = {title: row[title] for title in titles.values() if title not in (a, b)}
        edges.append(_Edge(ends[0], ends[1], values, f"{path}, line {number}"))
    return _draft(path, nodes, edges, wanted, directed=False)


_FROM, _TO = ("from", "source", "src", "a", "u"), ("to", "target", "dst", "destination", "b", "v")


def _one(sources: Sequence[Path]) -> Sequence[Path]:
    if len(sources) != 1:
        raise ImportProblem(f"a network is one file, not {len(sources)}")
    return sources


def _draft(
    path: Path, nodes: Mapping[str, Mapping[str, str]], edges: list[_Edge], wanted: Wanted, *, directed: bool
) -> Draft:
    if not edges:
        raise ImportProblem(f"{path}: holds no link")
    taken: set[str] = set()
    names = {node: named(_value(values, "label") or node, taken) for node, values in nodes.items()}
    places = {node: place for node, values in nodes.items() if (place := _place(values)) is not None}
    links: list[dict[str, Any]] = []
    pairs: dict[tuple[str, str], int] = {}
    joined: set[tuple[str, str]] = set()
    used: set[str] = set()
    by_distance = 0
    for edge in edges:
        if edge.a == edge.b:
            raise ImportProblem(f"{edge.where}: the link begins and ends at the same node: leave it out")
        rate, delay = _told(edge)
        used |= {key for key, value in (("rate", rate), ("delay", delay)) if value is None}
        if delay is None and wanted.delay is None and edge.a in places and edge.b in places:
            delay = seconds(great_circle_m(places[edge.a], places[edge.b]) / FIBRE_M_S)
            by_distance += 1
        for name, value in (("rate", rate or wanted.rate), ("delay", delay or wanted.delay)):
            if value is None:
                hint = "" if name == "rate" else ", or give nodes Latitude and Longitude"
                raise ImportProblem(f"{edge.where}: has no {name}: give it with --{name}{hint}")
        values = {"rate": rate or wanted.rate, "delay": delay or wanted.delay}
        back = pairs.get((edge.b, edge.a)) if directed else None
        if back is not None:
            if values != {key: links[back][key] for key in values}:
                links[back]["backward"] = values
            del pairs[edge.b, edge.a]
            continue
        made = {"between": [names[edge.a], names[edge.b]], **values}
        if {(edge.a, edge.b), (edge.b, edge.a)} & joined:
            raise ImportProblem(
                f"{edge.where}: a second link between the same nodes, which a scenario cannot say: put a node between "
                "them, or make one link of both"
            )
        joined.add((edge.a, edge.b))
        pairs[edge.a, edge.b] = len(links)
        links.append(made)
    for name in ("rate", "delay"):
        if getattr(wanted, name) is not None and name not in used:
            raise ImportProblem(f"each link of {path} says its {name}: --{name} has no effect, so leave it out")
    notes = [f"{path.name}: {len(nodes)} nodes, {len(links)} links."]
    if by_distance:
        notes.append(f"{by_distance} delays follow from the great circle between the nodes, in fibre (index 1.468).")
    if unused := _unused(edges):
        are = "is" if len(unused) == 1 else "are"
        notes.append(f"Links have a rate and a delay here: {', '.join(unused)} {are} not used.")
    if directed:
        notes.append("The graph is directed: a link without its opposite serves both directions alike.")
    flows = [_ends(names, pair) for pair in wanted.flows]
    if not flows:
        flows = [(links[0]["between"][0], links[-1]["between"][1])]
        if flows[0][0] == flows[0][1]:
            flows = [tuple(links[0]["between"])]
        notes.append("The flow is an example; --flow FROM,TO chooses others.")
    listed = [
        {"name": f"flow-{number}", "from": a, "to": b, "tcp": "cubic", "application": "ftp"}
        for number, (a, b) in enumerate(flows)
    ]
    sections = {"duration": wanted.duration or seconds(DURATION_S), "links": links, "flows": listed}
    return Draft(sections, {}, tuple(notes))


def _value(values: Mapping[str, str], name: str) -> str | None:
    return next((value for title, value in values.items() if title.lower() == name and value), None)


def _place(values: Mapping[str, str]) -> tuple[float, float] | None:
    found = [_value(values, "latitude"), _value(values, "longitude")]
    try:
        degrees = [math.radians(float(one)) for one in found if one is not None]
    except ValueError:
        return None
    return (degrees[0], degrees[1]) if len(degrees) == 2 else None


def _told(edge: _Edge) -> tuple[str | None, str | None]:
    """Rate and delay of a link, as a scenario says them; None where it does not say one."""
    told: dict[str, tuple[str, str]] = {}

    def tell(key: str, title: str, said: str) -> None:
        if key in told and told[key][1] != said:
            raise ImportProblem(f"{edge.where}: {told[key][0]} and {title} say different things: leave one of them out")
        told.setdefault(key, (title, said))

    for title, value in edge.values.items():
        if not value.strip():
            continue
        try:
            if title.lower() == "linkspeedraw":
                found: tuple[str, float] | None = ("rate_bps", 1.0)
            elif (text := re.fullmatch(r"([0-9.]+)\s*(ns|us|ms|s)", value.strip())) and title.lower() in (
                "delay",
                "latency",
            ):
                tell("delay", title, f"{text[1]} {text[2]}")
                continue
            else:
                found = link_csv.column(title)
            if found is None or found[0] not in ("rate_bps", "delay_s"):
                continue
            number = float(value) * found[1]
            if not math.isfinite(number) or number < 0 or (number == 0 and found[0] == "rate_bps"):
                raise ValueError
        except ImportProblem as error:
            raise ImportProblem(f"{edge.where}: {error}") from None
        except ValueError:
            raise ImportProblem(f"{edge.where}: {title} is {value!r}, which is not a number that can be") from None
        if found[0] == "rate_bps":
            tell("rate", title, f"{number:.12g} bit/s".replace("e+", "e"))
        else:
            tell("delay", title, seconds(number))
    rate, delay = (told.get(key, (None, None))[1] for key in ("rate", "delay"))
    return rate, delay


def _unused(edges: list[_Edge]) -> list[str]:
    """Titles of values that a recording of a link would have, and a network here has not: losses, round trips."""
    titles = dict.fromkeys(title for edge in edges for title, value in edge.values.items() if value.strip())
    found = []
    for title in titles:
        try:
            known = link_csv.column(title)
        except ImportProblem:
            continue
        if known is not None and known[0] not in ("rate_bps", "delay_s"):
            found.append(title)
    return found


def _ends(names: Mapping[str, str], pair: tuple[str, str]) -> tuple[str, str]:
    known = set(names.values())
    found = [end if end in known else names.get(end) for end in pair]
    for end, one in zip(pair, found, strict=True):
        if one is None:
            raise ImportProblem(
                f"--flow {','.join(pair)}: there is no node {end!r}; there are: {', '.join(sorted(known)[:12])}"
            )
    return str(found[0]), str(found[1])
