"""Commands about the sky: who is where, who passes when, why a station changed its satellite, and files for globes.

`register` puts them on the command line. What they print comes from `_core`; nothing here computes an orbit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skyhop import _core, terminal

if TYPE_CHECKING:
    import polars as pl

    from skyhop.worldmap import Place

#: Cities are called as in the table; several of a name need the country.
_COORDINATES = re.compile(r"\s*([+-]?[0-9.]+)\s*,\s*([+-]?[0-9.]+)\s*")

#: After a handover, drops of this time are counted as its own, s.
AFTERMATH_S = 1.0

RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="Run folder.", show_default=False)]


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command()(sky)
    app.command()(passes)
    app.command()(handovers)
    app.command()(places)
    app.command("export-sky")(export_sky)


def sky(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Scenario file (TOML).", show_default=False)],
    at: Annotated[str, typer.Option("--at", metavar="TIME", help='Moment: "63 s", "2 min".')] = "0 s",
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Map, as SVG or PNG.")] = None,
    coverage: Annotated[
        Path | None, typer.Option("--coverage", metavar="FILE", help="Map of satellites in view, as SVG or PNG.")
    ] = None,
    overrides: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change one key.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Print, and draw, satellites, stations and paths at a moment."""
    scenario = terminal.read_scenario(file, overrides)
    moment = terminal.seconds(at)
    if moment > scenario.duration_s:
        terminal.fail(f"--at {at}: the scenario ends at {scenario.duration_s:g} s")
    state: dict[str, Any] = json.loads(scenario.sky_json(moment))
    if out is not None:
        _draw(map_of(state), out)
    if coverage is not None:
        from skyhop import worldmap

        mask_deg = state["elevation_mask_deg"] or 0.0
        _draw(worldmap.coverage(_positions(state), mask_deg=mask_deg, at_s=moment), coverage)
    if as_json:
        typer.echo(json.dumps(state, indent=1))
        return
    when = f" ({state['utc']})" if state["utc"] else ""
    typer.echo(f"{moment:g} s{when}: {len(state['satellites'])} satellites, {len(state['isls'])} links between them")
    table = terminal.table("station", "satellite", "elevation (°)", "azimuth (°)", "range (km)")
    for station in state["stations"]:
        numbers = (station[key] for key in ("elevation_deg", "azimuth_deg", "range_km"))
        shown = ("–" if number is None else f"{number:.1f}" for number in numbers)
        table.add_row(station["name"], station["satellite"] or "–", *shown)
    if state["stations"]:
        terminal.console().print(table)


def map_of(state: Mapping[str, Any]) -> Any:
    """The map of a moment, from what `Scenario.sky_json` says."""
    import polars as pl

    from skyhop import worldmap

    at_s = float(state["at_s"])
    pairs = state["isls"]
    names = [f"{a}->{b}" for a, b in pairs]
    text = pl.String
    links = pl.DataFrame(
        {"link": names, "kind": ["isl"] * len(pairs), "from": [a for a, _ in pairs], "to": [b for _, b in pairs]},
        schema={"link": text, "kind": text, "from": text, "to": text},
    )
    changes = pl.DataFrame(
        {"time_s": [at_s] * len(pairs), "link": names, "up": [True] * len(pairs)},
        schema={"time_s": pl.Float64, "link": text, "up": pl.Boolean},
    )
    ways = {flow["flow"]: way_of(flow["hops"]) for flow in state["flows"]}
    paths = pl.DataFrame(
        {"time_s": [at_s] * len(ways), "flow": list(ways), "path": list(ways.values())},
        schema={"time_s": pl.Float64, "flow": text, "path": text},
    )
    return worldmap.world_map(_positions(state), links, changes, paths, at_s=at_s, stations=_stations(state))


def way_of(hops: Sequence[Mapping[str, Any]]) -> str:
    """Nodes from end to end, as the table of paths has them."""
    return " > ".join([hops[0]["from"], *(hop["to"] for hop in hops)]) if hops else ""


def _positions(state: Mapping[str, Any]) -> pl.DataFrame:
    import polars as pl

    rows = [
        (state["at_s"], place["name"], place["latitude_deg"], place["longitude_deg"], place["altitude_km"])
        for place in state["satellites"]
    ]
    columns: dict[str, type[pl.DataType]] = {"time_s": pl.Float64, "node": pl.String}
    columns |= {key: pl.Float64 for key in ("latitude_deg", "longitude_deg", "altitude_km")}
    return pl.DataFrame(rows, schema=columns, orient="row")


def _stations(state: Mapping[str, Any]) -> dict[str, Place]:
    from skyhop.worldmap import Place

    return {
        place["name"]: Place(place["latitude_deg"], place["longitude_deg"], place["altitude_km"])
        for place in state["stations"]
    }


def _draw(figure: Any, file: Path) -> None:
    from skyhop import figure as style

    if file.suffix not in {".svg", ".png"}:
        terminal.fail(f"{file}: a map is written as .svg or .png")
    if file.suffix == ".svg":
        file.write_text(style.svg(figure), encoding="utf-8")
    else:
        figure.savefig(file, dpi=200)
    typer.echo(str(file), err=True)


def passes(
    station: Annotated[
        str, typer.Option("--station", metavar="PLACE", help='A city ("Palermo") or "latitude,longitude" in degrees.')
    ],
    constellation: Annotated[
        str, typer.Option("--constellation", metavar="FILE", help="A file of elements, or a preset.")
    ],
    begin: Annotated[
        str | None, typer.Option("--from", metavar="UTC", help='"2025-10-07T12:00:00Z"; with elements by default now.')
    ] = None,
    hours: Annotated[float, typer.Option("--hours", min=0.001, max=2400.0, help="How long to look.")] = 24.0,
    mask: Annotated[float, typer.Option("--mask", min=0.0, max=89.9, help="Least elevation, degrees.")] = 10.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """List when satellites are in sight of a place."""
    scenario = terminal.valid(lambda: sky_over(station, constellation, begin=begin, hours=hours, mask_deg=mask))
    terminal.warn(scenario)
    found: list[dict[str, Any]] = json.loads(scenario.passes_json())
    if as_json:
        typer.echo(json.dumps(found, indent=1))
        return
    table = terminal.table("satellite", "rise", "set", "minutes", "highest (°)", "azimuth at rise (°)")
    for one in found:
        rise, set_ = (one[f"{key}_utc"] or f"{one[f'{key}_s']:.0f} s" for key in ("rise", "set"))
        minutes = (one["set_s"] - one["rise_s"]) / 60
        table.add_row(
            one["satellite"], rise[:19], set_[:19], f"{minutes:.1f}", f"{one['highest_deg']:.1f}",
            f"{one['azimuth_at_rise_deg']:.0f}",
        )  # fmt: skip
    terminal.console().print(table)
    typer.echo(f"{len(found)} passes above {mask:g}° in {hours:g} h")


def sky_over(station: str, constellation: str, *, begin: str | None, hours: float, mask_deg: float) -> _core.Scenario:
    """One station under a constellation: a file of elements or the name of a preset.

    Raises ScenarioError when there is no such place, file or preset.
    """
    from skyhop import api

    coordinates = _COORDINATES.fullmatch(station)
    place: dict[str, Any] = {"city": station}
    if coordinates:
        place = {"latitude": f"{coordinates[1]} deg", "longitude": f"{coordinates[2]} deg"}
    sky: dict[str, Any] = {"gsl": {"rate": "1 Mbit/s", "elevation_mask": f"{mask_deg!r} deg"}}
    # A preset has no dot in its name, and no folder.
    is_file = Path(constellation).exists() or "." in constellation or "/" in constellation
    if is_file:
        sky["elements"] = constellation
        sky["epoch"] = begin or datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    else:
        sky["preset"] = constellation
        sky["isl"] = {"layout": "none"}
        if begin is not None:
            sky["epoch"] = begin
    return api.scenario(duration=f"{hours * 3600!r} s", constellation=sky, stations={"station": place})


def places(
    part: Annotated[str, typer.Argument(metavar="PART", help="Part of a name.", show_default=False)] = "",
) -> None:
    """List the cities and research sites that a station may name (GeoNames, CC BY 4.0)."""
    for name, country, latitude, longitude in _core.places():
        if part.lower() in name.lower():
            typer.echo(f"{name}, {country}  {latitude:.4f} {longitude:.4f}")


def handovers(
    run_folder: RunFolder,
    station: Annotated[str | None, typer.Option("--station", metavar="NAME", help="Only this one.")] = None,
) -> None:
    """Explain each change of satellite: which, when, why, and what it did to flows and packets."""
    changes = _table(run_folder, "handovers")
    if changes is None:
        if not (run_folder / "manifest.json").exists():
            terminal.fail(f"{run_folder} is no run folder")
        typer.echo("No station changed its satellite.")
        return
    for line in explain(changes, _table(run_folder, "paths"), _table(run_folder, "drops"), station=station):
        typer.echo(line)


def explain(
    changes: pl.DataFrame, paths: pl.DataFrame | None, drops: pl.DataFrame | None, *, station: str | None = None
) -> list[str]:
    """One paragraph of lines for each handover."""
    import polars as pl

    lines = []
    for row in changes.iter_rows(named=True):
        if station is not None and row["terminal"] != station:
            continue
        time_s = row["time_s"]
        lines.append(f"{time_s:.3f} s  {row['terminal']}: {_change(row)}")
        lines += _new_ways(paths, time_s, row["terminal"])
        if drops is not None:
            window = (pl.col("time_s") >= time_s) & (pl.col("time_s") < time_s + AFTERMATH_S)
            lost = drops.filter(window & (pl.col("cause").is_in(["link-change", "no-route"])))
            for cause, count in lost["cause"].value_counts().sort("cause").iter_rows():
                lines.append(f"    {count} packets lost within {AFTERMATH_S:g} s: {cause}")
    return lines


def _change(row: dict[str, Any]) -> str:
    """From where to where a station went over, and why."""
    kind = row.get("kind", "satellite")
    ends = [row["from"] or "no satellite", row["to"] or "no satellite"]
    if kind == "terrestrial":
        # Of what is left or taken without a satellite on either side the reason tells.
        taken = row["to"] is None and (row["from"] is not None or "terrestrial" in row["why"])
        ends[taken] = "the terrestrial network"
    for n, beam in enumerate((row.get("from_beam"), row.get("to_beam"))):
        if beam is not None:
            ends[n] += f" (beam {beam})"
    if kind == "gateway":
        ends = [f"gateway {end}" for end in ends]
    which = "its satellite" if kind == "gateway" else "the satellite" if kind == "beam" else "the new one"
    if not row["to"]:
        which = "the lost one"
    text = f"{ends[0]} → {ends[1]}, because: {row['why']}"
    if row["slant_range_km"] == 0:
        return text
    return f"{text} ({which} stands at {row['elevation_deg']:.1f}°, {row['slant_range_km']:.0f} km away)"


def _new_ways(paths: pl.DataFrame | None, time_s: float, terminal: str) -> list[str]:
    """How the ways of flows through the terminal changed at a moment."""
    import polars as pl

    if paths is None:
        return []
    lines = []
    for row in paths.filter(pl.col("time_s") == time_s).iter_rows(named=True):
        nodes = (row["path"] or "").split(" > ")
        earlier = paths.filter((pl.col("flow") == row["flow"]) & (pl.col("time_s") < time_s)).tail(1)
        before = earlier.row(0, named=True) if earlier.height else None
        ends = nodes if row["path"] else (before["path"] or "").split(" > ") if before else []
        if terminal not in ends:
            continue
        if not row["path"]:
            lines.append(f"    {row['flow']}: no way any more")
            continue
        delay = f"{row['delay_s'] * 1e3:.2f} ms"
        if before is not None and before["path"]:
            delay = f"{before['delay_s'] * 1e3:.2f} → {delay}"
        lines.append(f"    {row['flow']}: {len(nodes) - 1} hops, one-way propagation {delay}")
    return lines


def _table(folder: Path, name: str) -> pl.DataFrame | None:
    """A table of a run folder; None when it has no rows."""
    import polars as pl

    file = folder / f"{name}.parquet"
    return pl.read_parquet(file) if file.exists() else None


def export_sky(
    run_folder: RunFolder,
    czml: Annotated[Path | None, typer.Option("--czml", metavar="FILE", help="For Cesium: all of the run.")] = None,
    geojson: Annotated[Path | None, typer.Option("--geojson", metavar="FILE", help="For map tools: a moment.")] = None,
    at: Annotated[str, typer.Option("--at", metavar="TIME", help="Moment of the GeoJSON.")] = "0 s",
    step: Annotated[str, typer.Option("--step", metavar="TIME", help="Between positions in CZML.")] = "60 s",
) -> None:
    """Write the sky of a run as CZML or GeoJSON."""
    from skyhop import czml as globe

    try:
        text = (run_folder / "scenario.json").read_text(encoding="utf-8")
    except OSError:
        terminal.fail(f"{run_folder} is no run folder")
    scenario = terminal.valid(lambda: _core.Scenario.from_json(text))
    if czml is None and geojson is None:
        terminal.fail("say where to: --czml FILE or --geojson FILE")
    if czml is not None:
        ephemeris = json.loads(scenario.ephemeris_json(terminal.seconds(step)))
        tables = (_table(run_folder, "handovers"), _table(run_folder, "paths"))
        packets = globe.czml(ephemeris, *tables, duration_s=scenario.duration_s)
        czml.write_text(json.dumps(packets, separators=(",", ":")) + "\n", encoding="utf-8")
        typer.echo(str(czml))
    if geojson is not None:
        moment = terminal.seconds(at)
        if moment > scenario.duration_s:
            terminal.fail(f"--at {at}: the scenario ends at {scenario.duration_s:g} s")
        collection = globe.geojson(json.loads(scenario.sky_json(moment)))
        geojson.write_text(json.dumps(collection, indent=1) + "\n", encoding="utf-8")
        typer.echo(str(geojson))
