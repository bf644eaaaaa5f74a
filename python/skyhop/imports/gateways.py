"""Lists of gateways that others publish: CSV, points of GeoJSON, placemarks of KML; as stations of the class `gateway`.

Skyhop ships no such list: those of Starlink's gateways are maps that people keep without a licence, and the operator's
own list of prefixes and cities names no place of an antenna.
"""

from __future__ import annotations

import csv
import io
import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from skyhop.imports.draft import Draft, ImportProblem, Wanted, named, seconds, text_of

#: Columns of CSV that mean the same, in any case.
_NAMES = ("name", "site", "gateway", "location", "title", "city")
_LATITUDES = ("latitude_deg", "latitude", "lat", "y")
_LONGITUDES = ("longitude_deg", "longitude", "lon", "lng", "long", "x")

#: The PoP of the example.
_POP = "pop"

#: A name, latitude and longitude, and where it stands in the source.
Row = tuple[str, float, float, str]


def read(sources: Sequence[Path], wanted: Wanted) -> Draft:
    """A file of stations and a scenario over Starlink's first shell in which they are gateways.

    Raises ImportProblem for a list without a place, or with coordinates that do not exist.
    """
    if len(sources) != 1:
        raise ImportProblem("gateways: one file, as CSV, GeoJSON or KML")
    (source,) = sources
    text = text_of(source).lstrip("\ufeff")
    found = list(_rows(text, source.name))
    rows = [row for row in found if row is not None]
    if not rows:
        raise ImportProblem(f"{source.name} holds no place")
    taken: set[str] = {_POP, "terminal"}
    lines, seen, twice = [], set(), 0
    for label, latitude, longitude, place in rows:
        if not (-90 <= latitude <= 90 and -180 <= longitude <= 180):
            raise ImportProblem(
                f"{source.name}, {place}: {latitude:g}, {longitude:g} are not a latitude and a longitude"
            )
        # To a kilometre: several antennas of one site.
        spot = (round(latitude, 2), round(longitude, 2))
        if spot in seen:
            twice += 1
            continue
        seen.add(spot)
        lines.append(f"{named(label, taken)},{latitude:.6g},{longitude:.6g}")
    first = lines[0].split(",")
    duration = wanted.duration or seconds(60.0)
    wire: dict[str, Any] = {"to": _POP, "rate": wanted.rate or "10 Gbit/s", "delay": wanted.delay or "2 ms"}
    sections = {
        "duration": duration,
        "constellation": {
            "preset": "starlink-1",
            "gsl": {"rate": "100 Mbit/s", "gateways": "bent-pipe"},
        },
        "stations": {"terminal": {"latitude": f"{first[1]} deg", "longitude": f"{first[2]} deg"}},
        "station_classes": {"gateway": {"file": "gateways.csv", "wire": wire}},
        "flows": [{"name": "download", "from": _POP, "to": "terminal", "tcp": "cubic", "application": "ftp"}],
    }
    said = [f"{len(lines)} gateway{'s' if len(lines) > 1 else ''} from {source.name}."]
    if others := len(found) - len(rows):
        said.append(f"{others} other feature{'s are' if others > 1 else ' is'} not a point and left out.")
    if twice:
        said.append(f"{twice} places within about a kilometre of another one count as the same site.")
    if wanted.rate is None:
        said.append("The rate from each gateway to the PoP is an example, 10 Gbit/s: give --rate.")
    if wanted.delay is None:
        said.append("The delay from each gateway to the PoP is an example, 2 ms: give --delay or write it by distance.")
    said.append(
        "Constellation, terminal (at the first gateway) and flow are examples. Ask for the licence of the list."
    )
    return Draft(sections, {"gateways.csv": "name,latitude_deg,longitude_deg\n" + "\n".join(lines) + "\n"}, tuple(said))


def _rows(text: str, name: str) -> Iterator[Row | None]:
    """The places of a list, and None for what is not a point."""
    head = text.lstrip()[:200]
    if head.startswith("{"):
        yield from _of_geojson(text, name)
    elif head.startswith("<"):
        yield from _of_kml(text, name)
    else:
        yield from _of_csv(text, name)


def _of_csv(text: str, name: str) -> Iterator[Row]:
    kept = [(n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip() and not line.startswith("#")]
    if not kept:
        return
    separator = max(",;\t", key=kept[0][1].count)
    table = csv.reader(io.StringIO("\n".join(line for _, line in kept)), delimiter=separator)
    columns = [column.strip().lower() for column in next(table)]

    def of(known: Sequence[str], what: str) -> int:
        found = [column for column in known if column in columns]
        if not found:
            raise ImportProblem(f"{name}, line {kept[0][0]}: no column of the {what}; one is called {', '.join(known)}")
        return columns.index(found[0])

    title, latitude, longitude = of(_NAMES, "name"), of(_LATITUDES, "latitude"), of(_LONGITUDES, "longitude")
    for (line, _), fields in zip(kept[1:], table, strict=False):
        place = f"line {line}"
        if len(fields) < len(columns):
            raise ImportProblem(f"{name}, {place}: has {len(fields)} fields, the header {len(columns)}")
        yield fields[title], _number(fields[latitude], name, place), _number(fields[longitude], name, place), place


def _of_geojson(text: str, name: str) -> Iterator[Row | None]:
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise ImportProblem(f"{name}, line {error.lineno}: is not JSON: {error.msg}") from None
    features = found.get("features") if isinstance(found, dict) else None
    if not isinstance(features, list):
        raise ImportProblem(f"{name} is not a FeatureCollection of GeoJSON")
    for n, feature in enumerate(features):
        place = f"feature {n}"
        geometry = (feature.get("geometry") or {}) if isinstance(feature, dict) else {}
        if geometry.get("type") != "Point":
            yield None
            continue
        coordinates = geometry.get("coordinates")
        if not isinstance(coordinates, list) or len(coordinates) < 2:
            raise ImportProblem(f"{name}, {place}: the coordinates are not [longitude, latitude]")
        properties = feature.get("properties") or {}
        labels = [str(properties[key]) for key in properties if key.lower() in _NAMES and properties[key]]
        numbers = [_number(str(one), name, place) for one in coordinates[:2]]
        yield labels[0] if labels else f"gateway-{n}", numbers[1], numbers[0], place


def _of_kml(text: str, name: str) -> Iterator[Row | None]:
    if "<!DOCTYPE" in text[:2000]:
        raise ImportProblem(f"{name}: KML has no document type: this one is not read")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ImportProblem(f"{name} is not XML: {error}") from None
    for n, mark in enumerate(root.findall(".//{*}Placemark")):
        place = f"placemark {n}"
        point = mark.find("{*}Point/{*}coordinates")
        if point is None or not point.text:
            yield None
            continue
        numbers = [_number(one, name, place) for one in re.split(r"[,\s]+", point.text.strip())[:2]]
        if len(numbers) != 2:
            raise ImportProblem(f"{name}, {place}: the coordinates are not longitude,latitude")
        label = (mark.findtext("{*}name") or "").strip()
        yield label or f"gateway-{n}", numbers[1], numbers[0], place


def _number(text: str, name: str, place: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ImportProblem(f"{name}, {place}: {text!r} is not a number of degrees") from None
    if value != value or abs(value) == float("inf"):
        raise ImportProblem(f"{name}, {place}: {text!r} is not a number of degrees")
    return value
