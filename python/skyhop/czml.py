"""The sky of a run for other programs: CZML, which Cesium plays, and GeoJSON (RFC 7946), which every map tool reads.

CZML: https://github.com/AnalyticalGraphicsInc/czml-writer/wiki/CZML-Guide. Positions are Earth-fixed metres with
Lagrange interpolation between them; those of stations on a track have straight lines between their waypoints.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

#: A run without an epoch starts here: J2000. Nothing in it depends on the calendar.
NO_EPOCH = "2000-01-01T12:00:00Z"

#: Of the polynomial through neighbouring positions: 60 s apart, satellites in low orbits are where they should be
#: within metres.
DEGREE = 5

#: Positions are so far apart, s, unless the run is so short that the polynomial would not have its points.
STEP_S = 60.0


def step_s(duration_s: float) -> float:
    """How far apart positions are, so that satellites are within metres of where they should be."""
    return min(STEP_S, duration_s / (DEGREE - 1))


_SATELLITE, _STATION, _UP, _PATH = [74, 120, 180, 255], [27, 27, 27, 255], [141, 151, 163, 200], [214, 93, 48, 255]


def czml(
    ephemeris: Mapping[str, Any], handovers: pl.DataFrame | None, paths: pl.DataFrame | None, *, duration_s: float
) -> list[dict[str, Any]]:
    """The packets of a document: satellites, stations, the link of each station and the path of each flow over time.

    `ephemeris` is what `Scenario.ephemeris_json` gives, the tables are those of the run.
    """
    epoch = str(ephemeris["epoch"] or NO_EPOCH)
    start = _instant(epoch)
    whole = f"{_text(start)}/{_text(start + timedelta(seconds=duration_s))}"
    document = {
        "id": "document",
        "name": "Skyhop",
        "version": "1.0",
        "clock": {"interval": whole, "currentTime": _text(start), "multiplier": 10, "range": "LOOP_STOP"},
    }
    packets: list[dict[str, Any]] = [document]
    known = set()
    for node in ephemeris["nodes"]:
        known.add(node["name"])
        packets.append(_node(node, float(ephemeris["step_s"]), epoch, whole))
    for station, satellite, spans in _served(handovers, duration_s):
        if {station, satellite} <= known:
            name = f"{station} to {satellite}"
            packets.append(_line(name, [station, satellite], _intervals(spans, start), _UP))
    for flow, nodes, spans in _paths(paths, duration_s):
        seen = [node for node in nodes if node in known]
        if len(seen) > 1:
            packets.append(_line(f"path of {flow}: {' > '.join(nodes)}", seen, _intervals(spans, start), _PATH))
    return packets


def _node(node: Mapping[str, Any], step_s: float, epoch: str, whole: str) -> dict[str, Any]:
    xyz = node["xyz_m"]
    points = [xyz[i : i + 3] for i in range(0, len(xyz), 3)]
    position: dict[str, Any]
    if all(point == points[0] for point in points):
        position = {"referenceFrame": "FIXED", "cartesian": points[0]}
    else:
        on_track = node.get("times_s")
        times = [i * step_s for i in range(len(points))] if on_track is None else on_track
        position = {
            "epoch": epoch,
            "referenceFrame": "FIXED",
            # A polynomial would swing out at the turns of a track.
            "interpolationAlgorithm": "LAGRANGE" if on_track is None else "LINEAR",
            "interpolationDegree": min(DEGREE, len(points) - 1) if on_track is None else 1,
            "cartesian": [number for time, point in zip(times, points, strict=True) for number in (time, *point)],
        }
    satellite = node["kind"] == "satellite"
    packet = {
        "id": node["name"],
        "name": node["name"],
        "availability": whole,
        "position": position,
        "point": {"pixelSize": 4 if satellite else 9, "color": {"rgba": _SATELLITE if satellite else _STATION}},
    }
    if not satellite:
        packet["label"] = {"text": node["name"], "font": "12pt sans-serif", "pixelOffset": {"cartesian2": [0, -16]}}
    return packet


def _line(name: str, nodes: list[str], show: list[dict[str, Any]], colour: list[int]) -> dict[str, Any]:
    return {
        "id": name,
        "name": name,
        "polyline": {
            "positions": {"references": [f"{_escaped(node)}#position" for node in nodes]},
            "show": show,
            "width": 2,
            "arcType": "NONE",
            "material": {"solidColor": {"color": {"rgba": colour}}},
        },
    }


def _escaped(name: str) -> str:
    """In a reference a dot would part the id from a property."""
    return name.replace("\\", "\\\\").replace("#", "\\#").replace(".", "\\.")


Spans = list[tuple[float, float]]


def _served(handovers: pl.DataFrame | None, duration_s: float) -> Iterator[tuple[str, str, Spans]]:
    """Station, satellite, and when the one used the other; a station with several antennas has several at a time."""
    if handovers is None:
        return
    #: Since when each station has used a satellite. A row is of one antenna; the others keep theirs.
    current: dict[tuple[str, str], float] = {}
    spans: dict[tuple[str, str], Spans] = {}
    for row in handovers.sort("time_s", maintain_order=True).iter_rows(named=True):
        # Between beams the satellite stays.
        if row.get("kind") == "gateway" or (row["from"] is not None and row["from"] == row["to"]):
            continue
        since_s = current.pop((row["terminal"], row["from"]), None)
        _close(spans, row["terminal"], None if since_s is None else (row["from"], since_s), row["time_s"])
        if row["to"] is not None:
            current[row["terminal"], row["to"]] = row["time_s"]
    for (station, satellite), since_s in current.items():
        _close(spans, station, (satellite, since_s), duration_s)
    for (station, satellite), times in sorted(spans.items()):
        yield station, satellite, times


def _close(spans: dict[tuple[str, str], Spans], key: str, state: tuple[str | None, float] | None, until: float) -> None:
    if state is not None and state[0] and until > state[1]:
        spans.setdefault((key, state[0]), []).append((state[1], until))


def _paths(paths: pl.DataFrame | None, duration_s: float) -> Iterator[tuple[str, list[str], Spans]]:
    """Flow, nodes of a path, and from when on the flow used it."""
    if paths is None:
        return
    current: dict[str, tuple[str | None, float]] = {}
    spans: dict[tuple[str, str], Spans] = {}
    for row in paths.sort("time_s", maintain_order=True).iter_rows(named=True):
        _close(spans, row["flow"], current.get(row["flow"]), row["time_s"])
        current[row["flow"]] = (row["path"], row["time_s"])
    for flow, state in current.items():
        _close(spans, flow, state, duration_s)
    for (flow, path), times in sorted(spans.items()):
        yield flow, path.split(" > "), times


def _intervals(spans: Spans, start: datetime) -> list[dict[str, Any]]:
    """Shown in the spans and at no other time."""
    always = {"interval": "0001-01-01T00:00:00Z/9999-12-31T00:00:00Z", "boolean": False}
    at = [[_text(start + timedelta(seconds=moment)) for moment in span] for span in spans]
    return [always, *({"interval": f"{begin}/{end}", "boolean": True} for begin, end in at)]


def _instant(text: str) -> datetime:
    """To the microsecond, which is what Python's clock has."""
    whole, _, fraction = text.rstrip("Z").partition(".")
    instant = datetime.strptime(whole, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
    return instant + timedelta(microseconds=int((fraction + "000000")[:6]))


def _text(instant: datetime) -> str:
    return instant.strftime("%Y-%m-%dT%H:%M:%S.%f").rstrip("0").rstrip(".") + "Z"


def geojson(state: Mapping[str, Any]) -> dict[str, Any]:
    """Satellites, stations, links between satellites and paths at a moment: what `Scenario.sky_json` gives."""
    from skyhop.worldmap import Place, great_circle

    features = []
    places = {}
    for kind in ("satellite", "station"):
        for place in state[f"{kind}s"]:
            places[place["name"]] = Place(place["latitude_deg"], place["longitude_deg"], place["altitude_km"])
            at = [place["longitude_deg"], place["latitude_deg"], place["altitude_km"] * 1e3]
            others = {key: value for key, value in place.items() if not key.startswith(("latitude", "longitude"))}
            features.append(_feature({"type": "Point", "coordinates": at}, kind=kind, **others))

    def lines(nodes: list[str]) -> dict[str, Any]:
        seen = [places[node] for node in nodes if node in places]
        pieces = [piece for a, b in itertools.pairwise(seen) for piece in great_circle(a, b)]
        return {"type": "MultiLineString", "coordinates": [[list(point) for point in piece] for piece in pieces]}

    features += [_feature(lines([a, b]), kind="isl", name=f"{a} - {b}") for a, b in state["isls"]]
    for flow in state["flows"]:
        if flow["hops"]:
            nodes = [flow["hops"][0]["from"], *(hop["to"] for hop in flow["hops"])]
            features.append(_feature(lines(nodes), kind="path", name=flow["flow"], nodes=nodes))
    return {"type": "FeatureCollection", "features": features}


def _feature(geometry: dict[str, Any], **properties: Any) -> dict[str, Any]:
    return {"type": "Feature", "geometry": geometry, "properties": properties}
