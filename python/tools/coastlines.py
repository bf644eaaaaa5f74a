"""Makes python/skyhop/data/land.json from Natural Earth's 1:110m land polygons.

Source: `land-110m.json` (TopoJSON) of the npm package world-atlas 2.0.2, which repackages Natural Earth 4.1.0
(public domain, naturalearthdata.com). To renew:

    npm pack world-atlas@2.0.2 && tar xf world-atlas-2.0.2.tgz
    python python/tools/coastlines.py package/land-110m.json > python/skyhop/data/land.json

Output: one list per ring, longitude and latitude in turn, degrees east and north, two decimals (about 1 km,
finer than the 1:110m source); a ring may reach beyond 180 degrees.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def arcs_in_degrees(topology: dict[str, Any]) -> list[list[tuple[float, float]]]:
    """The shared arcs; TopoJSON stores them as differences of whole numbers (TopoJSON 1.0, section 2.1.3)."""
    scale_x, scale_y = topology["transform"]["scale"]
    shift_x, shift_y = topology["transform"]["translate"]
    arcs = []
    for arc in topology["arcs"]:
        x = y = 0
        points = []
        for step_x, step_y in arc:
            x, y = x + step_x, y + step_y
            points.append((x * scale_x + shift_x, y * scale_y + shift_y))
        arcs.append(points)
    return arcs


def ring(indices: list[int], arcs: list[list[tuple[float, float]]]) -> list[tuple[float, float]]:
    """Joins arcs to one closed ring; a negative index is the arc backwards (section 2.1.4)."""
    points: list[tuple[float, float]] = []
    for index in indices:
        arc = arcs[index] if index >= 0 else arcs[~index][::-1]
        points += arc[1:] if points else arc
    return points


def unrolled(points: list[tuple[float, float]]) -> list[list[tuple[float, float]]]:
    """The ring without jumps at 180 degrees; what then lies beyond the map comes a second time from its other side.

    A ring that goes round the Earth (Antarctica) is closed along the pole.
    """
    line = [points[0]]
    for x, y in points[1:]:
        line.append((x - 360 * round((x - line[-1][0]) / 360), y))
    if abs(line[-1][0] - line[0][0]) > 180:
        line += [(line[-1][0], -90.0), (line[0][0], -90.0), line[0]]
    beyond = [shift for shift in (-360, 360) if any(-180 < x + shift < 180 for x, _ in line)]
    return [[(x + shift, y) for x, y in line] for shift in (0, *beyond)]


def main(source: Path) -> None:
    """Prints the rings of a TopoJSON file."""
    topology = json.loads(source.read_text())
    arcs = arcs_in_degrees(topology)
    rings = [
        [round(value, 2) for point in line for value in point]
        for geometry in topology["objects"]["land"]["geometries"]
        for polygon in geometry["arcs"]
        for indices in polygon
        for line in unrolled(ring(indices, arcs))
    ]
    origin = "Natural Earth 4.1.0, 1:110m land, public domain; by python/tools/coastlines.py from world-atlas 2.0.2"
    print(json.dumps({"origin": origin, "rings": rings}, separators=(",", ":")))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
