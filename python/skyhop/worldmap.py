"""Maps: satellites, inter-satellite links and paths over coastlines; the coverage of a constellation.

Plate carrée: longitude across, latitude up, both in degrees. Coastlines: Natural Earth 1:110m (see data/README.md).
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray

from skyhop import figure as style
from skyhop.figure import Figure

#: Mean radius of the spherical Earth that the orbit model uses, km (ns-2's value; the engine's own constant).
EARTH_RADIUS_KM = 6378.0


#: Of more satellites than this no edges of footprints are drawn, and dots and links are thin: they would hide the map.
CROWD = 200

#: Of more stations than this not all are named, and of more paths than this lines are thin.
MOST_NAMES = 12

#: Shades of a map of coverage at most; with more satellites in view one shade stands for several numbers.
MOST_SHADES = 12


@dataclass(frozen=True)
class Place:
    """Where something is above the rotating Earth: degrees north, degrees east, km."""

    latitude_deg: float
    longitude_deg: float
    altitude_km: float = 0.0


@cache
def _land() -> Path:
    """All land as one path of closed rings; holes are told apart by their direction."""
    data = json.loads((files("skyhop") / "data" / "land.json").read_text(encoding="utf-8"))
    vertices: list[tuple[float, float]] = []
    codes: list[int] = []
    for flat in data["rings"]:
        ring = list(zip(flat[::2], flat[1::2], strict=True))
        vertices += ring
        codes += [int(Path.MOVETO)] + [int(Path.LINETO)] * (len(ring) - 2) + [int(Path.CLOSEPOLY)]
    return Path(vertices, codes)


def _base_map(*, height: float = 4.1) -> tuple[Figure, Axes]:
    figure, (panel,) = style.blank(width=8.0, height=height)
    # Unlike `add_patch`, this does not ask where the coasts end; the axes show the whole Earth anyway.
    panel.add_artist(PathPatch(_land(), facecolor=style.LAND, edgecolor=style.COAST, linewidth=0.35, zorder=0.5))
    panel.set_xlim(-180, 180)
    panel.set_ylim(-90, 90)
    panel.set_aspect("equal")
    panel.set_xticks(range(-180, 181, 60), ["180°", "120° W", "60° W", "0°", "60° E", "120° E", "180°"])
    panel.set_yticks(range(-60, 61, 30), ["60° S", "30° S", "0°", "30° N", "60° N"])
    panel.tick_params(labelsize=8)
    panel.set_xlabel("Longitude")
    panel.set_ylabel("Latitude")
    return figure, panel


@style.in_house_style
def world_map(
    positions: pl.DataFrame,
    links: pl.DataFrame,
    link_changes: pl.DataFrame,
    paths: pl.DataFrame,
    *,
    at_s: float,
    stations: Mapping[str, Place] | None = None,
) -> Figure:
    """Satellites, the ISLs that are up, and each flow's path at `at_s` seconds (the nearest recorded moment)."""
    places = _places(positions, at_s)
    places.update(stations or {})
    figure, panel = _base_map()
    isls = [arc for a, b in _isls_up(links, link_changes, at_s) if a in places and b in places
            for arc in great_circle(places[a], places[b])]  # fmt: skip
    crowd = _crowd(len(places))
    panel.add_collection(LineCollection(isls, colors=style.LINK, linewidths=0.8 / math.sqrt(crowd), zorder=1))
    drawn = [path for path in _paths(paths, at_s) if all(node in places for node in path)]
    hops = sorted({hop for path in drawn for hop in itertools.pairwise(path)})
    route = [arc for a, b in hops for arc in great_circle(places[a], places[b])]
    width = 2.2 if len(drawn) <= MOST_NAMES else 1.0
    panel.add_collection(LineCollection(route, colors=style.STROKES[1].colour, linewidths=width, zorder=3))
    ends = {end for path in drawn for end in (path[0], path[-1])} | set(stations or {})
    # Where there are many, the path and its satellites lie over all others.
    on_path = {node for path in drawn for node in path} - ends if crowd > 1 else set()
    others = [place for name, place in places.items() if name not in ends | on_path]
    _dots(panel, others, size=16 / crowd, edge=0.5 if crowd == 1 else 0.0, zorder=4 if crowd == 1 else 2)
    _dots(panel, [places[name] for name in sorted(on_path)], size=4.5 * width, edge=0.4, zorder=4)
    named: list[tuple[float, float, float]] = []
    for end in sorted(ends):
        place = places[end]
        panel.scatter([place.longitude_deg], [place.latitude_deg], marker="*", color=style.INK, zorder=5,
                      s=90 if len(ends) <= MOST_NAMES else 40, edgecolor=style.PAPER, linewidth=0.6)  # fmt: skip
        # The name stands on the side where the path is not.
        path_below = any(places[hop].latitude_deg < place.latitude_deg for hop in _neighbours(end, hops))
        # Of many names those are left out that would lie over another: its middle in degrees, and half its width.
        box = (place.longitude_deg, place.latitude_deg + (8 if path_below else -8), 2.2 * len(end))
        hidden = any(abs(box[0] - x) < box[2] + half and abs(box[1] - y) < 8 for x, y, half in named)
        if hidden and len(ends) > MOST_NAMES:
            continue
        named.append(box)
        panel.annotate(
            end, (place.longitude_deg, place.latitude_deg), xytext=(0, 7 if path_below else -13), zorder=6,
            textcoords="offset points", fontsize=8.5, ha="center", weight="bold",
            path_effects=[withStroke(linewidth=2.5, foreground=style.PAPER)],
        )  # fmt: skip
    panel.scatter([], [], s=16, color=style.STROKES[0].colour, linewidth=0.0, label="satellite")
    panel.plot([], [], color=style.LINK, linewidth=0.8, label="ISL")
    panel.plot([], [], color=style.STROKES[1].colour, linewidth=2.2, label="path")
    style.legend_above(panel, columns=3)
    return figure


def _crowd(satellites: int) -> float:
    """By how much dots are smaller than usual."""
    return float(max(1.0, satellites / CROWD) ** 0.75)


def _dots(panel: Axes, satellites: list[Place], *, size: float, edge: float, zorder: int) -> None:
    panel.scatter(
        [place.longitude_deg for place in satellites], [place.latitude_deg for place in satellites],
        s=size, color=style.STROKES[0].colour, edgecolor=style.PAPER, linewidth=edge, zorder=zorder,
    )  # fmt: skip


@style.in_house_style
def coverage(positions: pl.DataFrame, *, mask_deg: float, at_s: float = 0.0) -> Figure:
    """How many satellites stand above the elevation mask at each place, with the edge of every footprint.

    A mask below 0° counts as 0°: `footprint_angle` says why.
    """
    mask_deg = max(mask_deg, 0.0)
    places = _places(positions, at_s)
    longitude = np.linspace(-180.0, 180.0, 181)
    latitude = np.linspace(-90.0, 90.0, 91)
    in_view = np.zeros((latitude.size, longitude.size))
    figure, panel = _base_map(height=4.6)
    edges = []
    for place in places.values():
        margin = _cosine_of_angle(place, longitude, latitude) - math.cos(footprint_angle(place.altitude_km, mask_deg))
        in_view += margin >= 0
        if len(places) <= CROWD:
            edges.append(margin)
    starts = shade_starts(int(in_view.max()))
    steps = len(starts) - 2
    shades = [to_rgba(style.STROKES[0].colour, 0.1 + 0.75 * (n / steps) ** 1.3) for n in range(1, steps + 1)]
    band = panel.contourf(
        longitude, latitude, in_view, levels=[start - 0.5 for start in starts], colors=["none", *shades], zorder=1
    )
    for margin in edges:
        panel.contour(longitude, latitude, margin, levels=[0.0], colors=[style.INK], linewidths=0.35, zorder=2)
    panel.scatter(
        [place.longitude_deg for place in places.values()], [place.latitude_deg for place in places.values()],
        s=10 / _crowd(len(places)), linewidth=0.0, color=style.INK, zorder=3,
    )  # fmt: skip
    bar = figure.colorbar(band, ax=panel, orientation="horizontal", aspect=45, shrink=0.75)
    shown = [f"{a}" if b == a + 1 else f"{a}–{b - 1}" for a, b in itertools.pairwise(starts)]
    bar.set_ticks([(a + b) / 2 - 0.5 for a, b in itertools.pairwise(starts)], labels=shown)
    bar.set_label(f"Satellites above {mask_deg:g}° of elevation", fontsize=8.5)
    bar.ax.tick_params(labelsize=8)
    return figure


def shade_starts(most: int) -> list[int]:
    """Where the shades for 0 to `most` satellites begin, and the end: 0 has its own, others share even steps."""
    step = next(n for n in itertools.chain([1, 2], itertools.count(5, 5)) if most <= n * MOST_SHADES)
    return sorted({0, 1, *range(step, most + 1, step), (most // step + 1) * step})


def covered_fraction(positions: pl.DataFrame, *, mask_deg: float, at_s: float = 0.0) -> float:
    """Share of the Earth's surface that sees at least one satellite above the mask, by a 1-degree grid."""
    longitude = np.arange(-179.5, 180.0)
    latitude = np.arange(-89.5, 90.0)
    seen = np.zeros((latitude.size, longitude.size), dtype=bool)
    for place in _places(positions, at_s).values():
        seen |= _cosine_of_angle(place, longitude, latitude) >= math.cos(footprint_angle(place.altitude_km, mask_deg))
    weight = np.cos(np.radians(latitude))[:, None] * np.ones(longitude.size)
    return float((seen * weight).sum() / weight.sum())


def footprint_angle(altitude_km: float, mask_deg: float) -> float:
    """Angle at the Earth's centre from below the satellite to the edge of its footprint, radians.

    sin(nadir angle) = R cos(mask) / r, and the three angles of the triangle sum to 180°. A mask below 0° is for users
    in the air: a station on the ground sees nothing below its horizon.
    """
    mask = math.radians(max(mask_deg, 0.0))
    nadir = math.asin(EARTH_RADIUS_KM * math.cos(mask) / (EARTH_RADIUS_KM + altitude_km))
    return math.pi / 2 - mask - nadir


def _cosine_of_angle(
    place: Place, longitude: NDArray[np.float64], latitude: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Cosine of the angle at the Earth's centre between a place and every grid point (rows: latitude)."""
    here = math.radians(place.latitude_deg)
    there = np.radians(latitude)[:, None]
    apart = np.radians(longitude - place.longitude_deg)[None, :]
    cosine: NDArray[np.float64] = math.sin(here) * np.sin(there) + math.cos(here) * np.cos(there) * np.cos(apart)
    return cosine


def _places(positions: pl.DataFrame, at_s: float) -> dict[str, Place]:
    """Everything's place at the recorded moment nearest to `at_s`."""
    if positions.is_empty():
        return {}
    moments = positions["time_s"].unique()
    nearest = moments[int((moments - at_s).abs().arg_min() or 0)]
    rows = positions.filter(pl.col("time_s") == nearest)
    return {
        str(row["node"]): Place(row["latitude_deg"], row["longitude_deg"], row["altitude_km"])
        for row in rows.iter_rows(named=True)
    }


def _isls_up(links: pl.DataFrame, link_changes: pl.DataFrame, at_s: float) -> list[tuple[str, str]]:
    """Pairs of satellites whose ISL is up. The links that are up at the start have a change at 0 s; others are down."""
    before = link_changes.filter(pl.col("time_s") <= at_s).sort("time_s", maintain_order=True)
    state: dict[str, bool] = {row["link"]: row["up"] for row in before.iter_rows(named=True)}
    pairs = set()
    for row in links.filter(pl.col("kind") == "isl").iter_rows(named=True):
        if row["to"] is not None and state.get(row["link"], False):
            pairs.add((min(row["from"], row["to"]), max(row["from"], row["to"])))
    return sorted(pairs)


def _paths(paths: pl.DataFrame, at_s: float) -> list[list[str]]:
    """The distinct paths in use at a moment."""
    current: dict[str, str] = {}
    for row in paths.filter(pl.col("time_s") <= at_s).sort("time_s", maintain_order=True).iter_rows(named=True):
        current[row["flow"]] = row["path"] or ""
    return [path.split(" > ") for path in sorted(set(current.values())) if path]


def _neighbours(end: str, hops: list[tuple[str, str]]) -> list[str]:
    return [a if b == end else b for a, b in hops if end in (a, b)]


def great_circle(a: Place, b: Place) -> list[list[tuple[float, float]]]:
    """The shortest line between two places as points, cut in two where it crosses 180°."""
    first, last = _unit(a), _unit(b)
    angle = math.acos(max(-1.0, min(1.0, float(first @ last))))
    steps = max(2, math.ceil(math.degrees(angle) / 2))
    share = np.linspace(0.0, 1.0, steps + 1)[:, None]
    if angle > 1e-9:
        line = (np.sin((1 - share) * angle) * first + np.sin(share * angle) * last) / math.sin(angle)
    else:
        line = first + share * (last - first)
    latitude = np.degrees(np.arcsin(np.clip(line[:, 2], -1, 1)))
    longitude = np.degrees(np.arctan2(line[:, 1], line[:, 0]))
    pieces: list[list[tuple[float, float]]] = [[]]
    for x, y in zip(longitude.tolist(), latitude.tolist(), strict=True):
        if pieces[-1] and abs(x - pieces[-1][-1][0]) > 180:
            previous_x, previous_y = pieces[-1][-1]
            side = math.copysign(180.0, previous_x)
            rest = x + 2 * side
            height = previous_y + (y - previous_y) * (side - previous_x) / (rest - previous_x)
            pieces[-1].append((side, height))
            pieces.append([(-side, height)])
        pieces[-1].append((x, y))
    return pieces


def _unit(place: Place) -> NDArray[np.float64]:
    latitude, longitude = math.radians(place.latitude_deg), math.radians(place.longitude_deg)
    return np.array(
        [math.cos(latitude) * math.cos(longitude), math.cos(latitude) * math.sin(longitude), math.sin(latitude)]
    )


def stations_of(scenario: Mapping[str, Any]) -> dict[str, Place]:
    """The ground stations of a scenario's canonical form; those on a track stand where it begins."""
    return {
        name: Place(float(str(station["latitude"]).split()[0]), float(str(station["longitude"]).split()[0]))
        for name, station in scenario.get("stations", {}).items()
    }
