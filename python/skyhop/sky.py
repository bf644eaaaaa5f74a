"""Commands about the sky: who is where, who passes when, why a station changed its satellite, and files for globes.

`register` puts them on the command line. What they print comes from `_core`; nothing here computes an orbit.
"""

# Annotations are not postponed: `typer` would evaluate the text of each one several times at every start.

import bisect
import difflib
import io
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skyhop import _core, folders, terminal

if TYPE_CHECKING:
    import polars as pl

    from skyhop.worldmap import Place

#: Cities are called as in the table; several of a name need the country.
_COORDINATES = re.compile(r"\s*([+-]?[0-9.]+)\s*,\s*([+-]?[0-9.]+)\s*")

#: After a handover, drops of this time are counted as its own, s.
AFTERMATH_S = 1.0

#: Largest number of flows whose names are printed.
MOST_NAMES = 4

RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="Run folder.", show_default=False)]


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    from skyhop.planes import planes

    app.command()(sky)
    app.command()(passes)
    app.command()(planes)
    app.command()(handovers)
    app.command()(places)
    app.command()(presets)
    app.command("export-sky")(export_sky)


def sky(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Scenario file (TOML).", show_default=False)],
    at: Annotated[str, typer.Option("--at", metavar="TIME", help='Time in the run: "63 s", "2 min".')] = "0 s",
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Map, as SVG or PNG.")] = None,
    coverage: Annotated[
        Path | None, typer.Option("--coverage", metavar="FILE", help="Map of satellites in view, as SVG or PNG.")
    ] = None,
    seed: terminal.Seed = 1,
    overrides: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change one key.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Print satellites, stations and paths at a time of a run with this seed, and draw them on a map."""
    scenario = terminal.read_scenario(file, overrides)
    moment = terminal.seconds(at)
    if moment > scenario.duration_s:
        terminal.fail(f"--at {at}: the scenario ends at {scenario.duration_s:g} s")
    state: dict[str, Any] = json.loads(scenario.sky_json(moment, seed))
    if not state["satellites"] and not state["stations"]:
        terminal.fail(f"{file}: no constellation and no stations: there is no sky to show")
    if out is not None:
        _draw(lambda: map_of(state), out)
    if coverage is not None:
        from skyhop import worldmap

        mask_deg = float(state["elevation_mask_deg"] or 0.0)
        _draw(lambda: worldmap.coverage(_positions(state), mask_deg=mask_deg, at_s=moment), coverage)
    if as_json:
        typer.echo(json.dumps(state, indent=1))
        return
    when = f" ({state['utc']})" if state["utc"] else ""
    typer.echo(f"{moment:g} s{when}: {len(state['satellites'])} satellites, {len(state['isls'])} links between them")
    table = terminal.table("station", "satellite", "elevation (°)", "azimuth (°)", "range (km)")
    for station in state["stations"]:
        for number, antenna in enumerate(station["antennas"]):
            name = station["name"] if number == 0 else f"{station['name']}, antenna {number + 1}"
            satellite = antenna["satellite"] or "–"
            satellite += " (acquiring)" if antenna["satellite"] and not antenna["up"] else ""
            angles = (antenna[key] for key in ("elevation_deg", "azimuth_deg", "range_km"))
            table.add_row(name, satellite, *("–" if one is None else f"{one:.1f}" for one in angles))
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
    path_of_flow = {flow["flow"]: path_of(flow["hops"]) for flow in state["flows"]}
    paths = pl.DataFrame(
        {"time_s": [at_s] * len(path_of_flow), "flow": list(path_of_flow), "path": list(path_of_flow.values())},
        schema={"time_s": pl.Float64, "flow": text, "path": text},
    )
    return worldmap.world_map(_positions(state), links, changes, paths, at_s=at_s, stations=stations_in(state))


def path_of(hops: Sequence[Mapping[str, Any]]) -> str:
    """Nodes from end to end, as the table of paths has them."""
    return " > ".join([hops[0]["from"], *(hop["to"] for hop in hops)]) if hops else ""


def _positions(state: Mapping[str, Any]) -> "pl.DataFrame":
    import polars as pl

    rows = [
        (state["at_s"], place["name"], place["latitude_deg"], place["longitude_deg"], place["altitude_km"])
        for place in state["satellites"]
    ]
    columns: dict[str, type[pl.DataType]] = {"time_s": pl.Float64, "node": pl.String}
    columns |= {key: pl.Float64 for key in ("latitude_deg", "longitude_deg", "altitude_km")}
    return pl.DataFrame(rows, schema=columns, orient="row")


def stations_in(state: Mapping[str, Any]) -> "dict[str, Place]":
    """Where the stations are at the moment of what `Scenario.sky_json` says."""
    from skyhop.worldmap import Place

    return {
        place["name"]: Place(place["latitude_deg"], place["longitude_deg"], place["altitude_km"])
        for place in state["stations"]
    }


def _draw(draw: Callable[[], Any], file: Path) -> None:
    # A map takes a second, so it is not drawn for a name that cannot be.
    if file.suffix not in {".svg", ".png"}:
        terminal.fail(f"{file}: a map is written as .svg or .png")
    from skyhop import figure as style

    figure = draw()
    if file.suffix == ".svg":
        folders.write(file, style.svg(figure))
    else:
        content = io.BytesIO()
        figure.savefig(content, format="png", dpi=200)
        folders.write(file, content.getvalue())
    typer.echo(str(file), err=True)


def passes(
    station: Annotated[
        str, typer.Option("--station", metavar="PLACE", help='A city ("Palermo") or "latitude,longitude" in degrees.')
    ],
    constellation: Annotated[
        str, typer.Option("--constellation", metavar="FILE", help="A file of elements, or a preset.")
    ],
    begin: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="UTC", help='Begin of the list: "2025-10-07T12:00:00Z"; with elements by default now.'
        ),
    ] = None,
    hours: Annotated[float, typer.Option("--hours", min=0.001, max=2400.0, help="Length of the list, hours.")] = 24.0,
    mask: Annotated[float, typer.Option("--mask", min=0.0, max=89.9, help="Lowest elevation, degrees.")] = 10.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """List the times at which satellites are above a place."""
    if constellation == "geo":
        terminal.fail("--constellation geo: geostationary satellites neither rise nor set")
    options = {"stations.station": "--station", "constellation.epoch": "--from", "constellation": "--constellation"}
    try:
        scenario = sky_over(station, constellation, begin=begin, hours=hours, mask_deg=mask)
    except _core.ScenarioError as error:
        terminal.fail(in_options(str(error), options))
    terminal.warn(scenario)
    found: list[dict[str, Any]] = json.loads(scenario.passes_json())
    if as_json:
        typer.echo(json.dumps(found, indent=1))
        return
    utc = " (UTC)" if any(one["rise_utc"] for one in found) else ""
    table = terminal.table("satellite", f"rise{utc}", f"set{utc}", "minutes", "highest (°)", "azimuth at rise (°)")
    for one in found:
        rise, set_ = ((one[f"{key}_utc"] or f"{one[f'{key}_s']:.0f} s")[:19] for key in ("rise", "set"))
        # A satellite in sight at the start rises before it, and one in sight at the end sets after it.
        rise = f"< {rise}" if one["rise_s"] <= 0 else rise
        set_ = f"> {set_}" if one["set_s"] >= scenario.duration_s else set_
        minutes = (one["set_s"] - one["rise_s"]) / 60
        table.add_row(
            one["satellite"], rise, set_, f"{minutes:.1f}", f"{one['highest_deg']:.1f}",
            f"{round(one['azimuth_at_rise_deg']) % 360}",
        )  # fmt: skip
    terminal.console().print(table)
    typer.echo(f"{len(found)} passes above {mask:g}° in {hours:g} h")


def in_options(problems: str, options: Mapping[str, str]) -> str:
    """The problems with values of options, by their names."""
    lines = []
    for line in problems.splitlines():
        for key, option in options.items():
            line = re.sub(rf"^scenario: {re.escape(key)}[a-z_.]*:", f"{option}:", line)
        lines.append(line)
    return "\n".join(lines)


def is_elements(constellation: str) -> bool:
    """Whether this names a file: a preset has no dot in its name, and no folder."""
    return Path(constellation).exists() or "." in constellation or "/" in constellation


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
    if is_elements(constellation):
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
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """List the cities and research sites that a station may name (GeoNames, CC BY 4.0)."""
    found = [one for one in _core.places() if part.lower() in one[0].lower()]
    if as_json:
        columns = ("name", "country", "latitude_deg", "longitude_deg")
        terminal.print_json([dict(zip(columns, one, strict=True)) for one in found])
        return
    for name, country, latitude, longitude in found:
        typer.echo(f"{name}, {country}  {latitude:.4f} {longitude:.4f}")


def _hint(wanted: str, names: list[str]) -> str:
    """What may have been meant: the nearest name, or all of them."""
    near = difflib.get_close_matches(wanted, names, n=1)
    return f'did you mean "{near[0]}"?' if near else f"there are: {', '.join(names)}"


def presets(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Only this preset.", show_default=False)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """List the constellations that a scenario may name, with their sources."""
    known: list[dict[str, Any]] = json.loads(_core.presets_json())
    if name is not None:
        wanted = name.lower()
        names = [alias for one in known for alias in (one["name"], *one["aliases"])]
        known = [one for one in known if wanted in (one["name"], *one["aliases"])]
        if not known:
            terminal.fail(f'no preset is called "{name}"; {_hint(wanted, names)}')
    if as_json:
        typer.echo(json.dumps(known, indent=1))
        return
    table = terminal.table(
        "shell", "planes", "in each", "altitude (km)", "inclination (°)", "spread (°)", "phasing", "minutes"
    )
    for one in known:
        for shell in one["shells"]:
            phasing = shell["phasing"]
            table.add_row(
                shell["name"], str(shell["planes"]), str(shell["per_plane"]), f"{shell['altitude_km']:g}",
                f"{shell['inclination_deg']:g}", f"{shell['spread_deg']:.4g}",
                "half a slot" if isinstance(phasing, str) else f"F = {phasing}", f"{shell['period_min']:.1f}",
            )  # fmt: skip
    terminal.console().print(table)
    for one in known:
        aliases = f" ({', '.join(one['aliases'])})" if one["aliases"] else ""
        typer.echo(f"{one['name']}{aliases}: {one['satellites']} satellites")
        typer.echo(f"    source: {one['source']}")
        typer.echo(f"    not in it: {one['besides']}")
    if name is None:
        typer.echo("geo: satellites above the equator at any longitudes.")


def handovers(
    run_folder: RunFolder,
    station: Annotated[
        str | None, typer.Option("--station", metavar="NAME", help="Only handovers of this station.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Explain each handover: which, when, why, and its effect on flows and packets."""
    text, tables = _of_run(run_folder, "handovers", "paths", "drops")
    changes, paths, drops = tables
    if changes is None:
        typer.echo("[]" if as_json else "No station changed its satellite.")
        return
    if station is not None and station not in changes["terminal"]:
        scenario = terminal.valid(lambda: _core.Scenario.from_json(text))
        names = [one["name"] for one in json.loads(scenario.sky_json(0.0))["stations"]]
        if station in names:
            typer.echo("[]" if as_json else f"{station} did not change its satellite.")
            return
        terminal.fail(f'--station: no station is called "{station}"; {_hint(station, names)}')
    found = explained(changes, paths, drops, station=station)
    last_s = _drops_end_s(run_folder, drops)
    if any(row["time_s"] + AFTERMATH_S > last_s for row, _ in found):
        terminal.warn_all([f"the table of losses is full and ends at {last_s:.3f} s: it has no later ones"])
    if as_json:
        terminal.print_json([{**row, "said": [line.strip() for line in lines]} for row, lines in found])
        return
    for _, lines in found:
        for line in lines:
            typer.echo(line)


def explain(
    changes: "pl.DataFrame", paths: "pl.DataFrame | None", drops: "pl.DataFrame | None", *, station: str | None = None
) -> list[str]:
    """One paragraph of lines for each handover."""
    return [line for _, lines in explained(changes, paths, drops, station=station) for line in lines]


def explained(
    changes: "pl.DataFrame", paths: "pl.DataFrame | None", drops: "pl.DataFrame | None", *, station: str | None = None
) -> list[tuple[dict[str, Any], list[str]]]:
    """Each handover, as a row of the table, and what to say about it."""
    history = _Paths(paths)
    found = []
    # A terminal's new gateway is recorded for each of its flows.
    for row in changes.unique(maintain_order=True).iter_rows(named=True):
        if station is not None and row["terminal"] != station:
            continue
        time_s = row["time_s"]
        lines = [f"{time_s:.3f} s  {row['terminal']}: {_change(row)}"]
        lines += history.new(time_s, row["terminal"])
        if drops is not None:
            lines += _losses(drops, history.flows(time_s, row["terminal"]), time_s, row["terminal"])
        found.append((row, lines))
    return found


def _losses(drops: "pl.DataFrame", flows: set[str], time_s: float, terminal: str) -> list[str]:
    """Losses of flows through the terminal after a moment, caused by changed paths."""
    import polars as pl

    window = (pl.col("time_s") >= time_s) & (pl.col("time_s") < time_s + AFTERMATH_S)
    lost = drops.filter(window & pl.col("cause").is_in(["link-change", "no-route"]))
    lost = lost.filter(pl.col("flow").is_in(list(flows)) | (pl.col("node") == terminal))
    lines = []
    for (cause,), rows in sorted(lost.group_by("cause"), key=lambda group: str(group[0])):
        packets = "1 packet" if rows.height == 1 else f"{rows.height} packets"
        names = _list(rows["flow"].unique().to_list())
        lines.append(f"    {packets} of {names} lost within {AFTERMATH_S:g} s: {cause}")
    return lines


def _list(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    first = sorted(names)[:MOST_NAMES]
    return ", ".join(first) + (f" and {len(names) - len(first)} more" if len(names) > len(first) else "")


def _change(row: dict[str, Any]) -> str:
    """From where to where a station went over, and why."""
    kind = row.get("kind", "satellite")
    ends = [row["from"] or "no satellite", row["to"] or "no satellite"]
    if kind == "terrestrial":
        # Without a satellite on either side the reason says what was left or taken.
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


class _Paths:
    """The paths of flows through the network over time, from the table of paths."""

    def __init__(self, paths: "pl.DataFrame | None") -> None:
        """Sorted by flow and by time."""
        self.of: dict[str, list[tuple[float, list[str], float]]] = {}
        self.at: dict[float, list[tuple[str, int]]] = {}
        nodes: dict[str, list[str]] = {}
        for row in paths.iter_rows(named=True) if paths is not None else ():
            path = row["path"] or ""
            steps = nodes.setdefault(path, path.split(" > ") if path else [])
            used = self.of.setdefault(row["flow"], [])
            self.at.setdefault(row["time_s"], []).append((row["flow"], len(used)))
            used.append((row["time_s"], steps, row["delay_s"]))

    def new(self, time_s: float, terminal: str) -> list[str]:
        """How the paths of flows through the terminal changed at a moment."""
        flows: dict[str, list[str]] = {}
        for flow, n in self.at.get(time_s, []):
            _, nodes, delay_s = self.of[flow][n]
            _, before, delay_before_s = self.of[flow][n - 1] if n > 0 else (0.0, [], 0.0)
            if terminal not in (nodes or before):
                continue
            text = "no path any more"
            if nodes:
                delay = f"{delay_s * 1e3:.2f} ms"
                delay = f"{delay_before_s * 1e3:.2f} → {delay}" if before else delay
                text = f"{len(nodes) - 1} hops, one-way propagation {delay}"
            flows.setdefault(text, []).append(flow)
        return [f"    {_list(names)}: {text}" for text, names in flows.items()]

    def flows(self, time_s: float, terminal: str) -> set[str]:
        """Flows whose path led through the terminal before a moment, or does within the time after."""
        found = set()
        for flow, used in self.of.items():
            first = max(0, bisect.bisect_left(used, time_s, key=lambda path: path[0]) - 1)
            last = bisect.bisect_left(used, time_s + AFTERMATH_S, key=lambda path: path[0])
            if any(terminal in nodes for _, nodes, _ in used[first:last]):
                found.add(flow)
        return found


def _of_run(folder: Path, *names: str) -> "tuple[str, list[pl.DataFrame | None]]":
    """The scenario of a run folder as JSON, and tables of it; None for a table without rows."""
    if not (folder / "manifest.json").is_file() or not (folder / "scenario.json").is_file():
        terminal.fail(f"{folder} is not a run folder")
    with folders.unchanged(folder):
        try:
            text = (folder / "scenario.json").read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            terminal.fail(f"{folder / 'scenario.json'} is not the scenario of a run: {error}")
        return text, [_table(folder / f"{name}.parquet") for name in names]


def _seed_of(folder: Path) -> int:
    """The seed of a run, by which stations may have chosen their satellites."""
    file = folder / "manifest.json"
    try:
        return int(json.loads(file.read_text(encoding="utf-8"))["seed"])
    except (ValueError, KeyError, TypeError):
        terminal.fail(f"{file} is not the manifest of a run: it has no seed")


def _drops_end_s(folder: Path, drops: "pl.DataFrame | None") -> float:
    """Up to when the table of losses has all of them, s."""
    try:
        manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        is_cut = int(manifest["drops_left_out"]) > 0
    except (ValueError, KeyError, TypeError):
        # Folders of older versions do not say it.
        return math.inf
    return float(drops["time_s"][-1]) if is_cut and drops is not None else math.inf


def _table(file: Path) -> "pl.DataFrame | None":
    import polars as pl

    if not file.exists():
        return None
    try:
        return pl.read_parquet(file)
    except pl.exceptions.PolarsError as error:
        terminal.fail(f"{file} is not a table of a run: {error}")


def export_sky(
    run_folder: RunFolder,
    czml: Annotated[Path | None, typer.Option("--czml", metavar="FILE", help="The whole run, for Cesium.")] = None,
    geojson: Annotated[
        Path | None, typer.Option("--geojson", metavar="FILE", help="One point in time, for map tools.")
    ] = None,
    at: Annotated[
        str | None, typer.Option("--at", metavar="TIME", help="Time of the GeoJSON; by default the start.")
    ] = None,
    step: Annotated[
        str | None,
        typer.Option(
            "--step", metavar="TIME", help="Time between positions in CZML; by default 60 s, less in short runs."
        ),
    ] = None,
) -> None:
    """Write satellites, stations and paths of a run as CZML or GeoJSON."""
    from skyhop import czml as globe

    if czml is None and geojson is None:
        terminal.fail("say where to: --czml FILE or --geojson FILE")
    if at is not None and geojson is None:
        terminal.fail(
            "--at is the moment of the GeoJSON, and CZML has all of the run: it has no effect without --geojson"
        )
    if step is not None and czml is None:
        terminal.fail("--step is between positions in CZML: it has no effect without --czml")
    text, tables = _of_run(run_folder, "handovers", "paths")
    scenario = terminal.valid(lambda: _core.Scenario.from_json(text))
    first: dict[str, Any] = json.loads(scenario.sky_json(0.0))
    if not first["satellites"] and not first["stations"]:
        terminal.fail(f"{run_folder}: no constellation and no stations: there is no sky to write")
    if czml is not None:
        try:
            apart_s = terminal.seconds(step, option="--step") if step else globe.step_s(scenario.duration_s)
            ephemeris = json.loads(scenario.ephemeris_json(apart_s))
        except ValueError as error:
            terminal.fail(f"--step {step}: {error}")
        packets = globe.czml(ephemeris, *tables, duration_s=scenario.duration_s)
        folders.write(czml, json.dumps(packets, separators=(",", ":")) + "\n")
        typer.echo(str(czml))
    if geojson is not None:
        moment = terminal.seconds("0 s" if at is None else at)
        if moment > scenario.duration_s:
            terminal.fail(f"--at {at}: the scenario ends at {scenario.duration_s:g} s")
        collection = globe.geojson(json.loads(scenario.sky_json(moment, _seed_of(run_folder))))
        folders.write(geojson, json.dumps(collection, indent=1) + "\n")
        typer.echo(str(geojson))
