"""The commands about the sky, on the command line and as files for globes."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import skyhop
from skyhop import czml
from skyhop.cli import app
from skyhop.sky import path_of

SCENARIO = """
duration = "600 s"
profile = "rfc"

[constellation]
preset = "iridium"
epoch = "2025-10-07T12:00:00Z"

[stations]
palermo = { city = "Palermo" }
houston = { city = "Houston" }

[[flows]]
name = "a"
from = "palermo"
to = "houston"
tcp = "reno"
"""

#: What the preset of Iridium brings by itself.
GSL = """[constellation.isl]
rate = "1 Gbit/s"

[constellation.gsl]
rate = "10 Mbit/s"

[stations]"""

#: The ISS of 2008, from the description of the format on CelesTrak, and the same with a checksum that does not fit.
LINES = """ISS (ZARYA)
1 25544U 98067A   08264.51782528 -.00002182  00000-0 -11606-4 0  2927
2 25544  51.6416 247.4627 0006703 130.5360 325.0288 15.72125391563537
BROKEN
1 25544U 98067A   08264.51782528 -.00002182  00000-0 -11606-4 0  2926
2 25544  51.6416 247.4627 0006703 130.5360 325.0288 15.72125391563537
"""

runner = CliRunner()


def call(*arguments: str | Path) -> Any:
    return runner.invoke(app, [str(one) for one in arguments])


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    file = tmp_path / "scenario.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    return file


@pytest.fixture
def run_folder(tmp_path: Path, scenario: Path) -> Path:
    folder = tmp_path / "run"
    assert call("run", scenario, "--out", folder).exit_code == 0
    return folder


def test_the_sky_at_a_moment_and_its_maps(tmp_path: Path, scenario: Path) -> None:
    names = [tmp_path / "map.svg", tmp_path / "coverage.png"]
    result = call("sky", scenario, "--at", "100 s", "--out", names[0], "--coverage", names[1])
    assert result.exit_code == 0, result.output
    assert "66 satellites" in result.stdout and "2025-10-07T12:01:40Z" in result.stdout
    assert names[0].read_text(encoding="utf-8").startswith("<?xml") and names[1].read_bytes()[1:4] == b"PNG"
    state = json.loads(call("sky", scenario, "--json").stdout)
    palermo = next(one for one in state["stations"] if one["name"] == "palermo")
    # Between the zenith and the mask of 8.2° at 780 km.
    assert 780 <= palermo["range_km"] <= 2500 and 8.2 < palermo["elevation_deg"] <= 90
    assert call("sky", scenario, "--at", "700 s").exit_code == 2
    assert call("sky", scenario, "--out", tmp_path / "map.gif").exit_code == 2


def test_a_moment_is_that_of_the_run_with_the_seed(tmp_path: Path, scenario: Path) -> None:
    """Stations that choose by chance choose others with another seed."""
    gsl = 'gsl = { rate = "10 Mbit/s", handover = { policy = "random", every = "60 s" } }\n\n[stations]'
    scenario.write_text(scenario.read_text(encoding="utf-8").replace("[stations]", gsl), encoding="utf-8")
    paths = set()
    for seed in ("1", "2", "3"):
        arguments = (scenario, "--at", "300 s", "--seed", seed, "--json")
        (sky,), (path,) = (json.loads(call(command, *arguments).stdout)["flows"] for command in ("sky", "path"))
        run = tmp_path / seed
        assert call("run", scenario, "--out", run, "--seed", seed).exit_code == 0
        rows = pl.read_parquet(run / "paths.parquet").filter(pl.col("time_s") <= 300)
        for one in (sky, path):
            assert path_of(one["hops"]) == rows["path"][-1]
        paths.add(rows["path"][-1])
    assert len(paths) > 1


def test_the_sky_has_every_antenna_of_a_station(tmp_path: Path, scenario: Path) -> None:
    """One satellite stood for all antennas."""
    two = tmp_path / "two.toml"
    text = scenario.read_text(encoding="utf-8")
    two.write_text(text.replace('palermo = { city = "Palermo" }', 'palermo = { city = "Palermo", antennas = 2 }'))
    result = call("sky", two)
    assert "palermo, antenna 2" in result.stdout, result.output
    state = json.loads(call("sky", two, "--json").stdout)
    palermo, other = state["stations"] if state["stations"][0]["name"] == "palermo" else state["stations"][::-1]
    names = [antenna["satellite"] for antenna in palermo["antennas"]]
    assert len(set(names)) == 2 and palermo["satellite"] == names[0] and len(other["antennas"]) == 1
    assert all(name in result.stdout for name in names if name is not None)
    (drawn,) = [
        one["properties"] for one in czml.geojson(state)["features"] if one["properties"].get("name") == "palermo"
    ]
    assert drawn["antennas"] == palermo["antennas"]


def test_passes_over_a_city_or_a_point(tmp_path: Path) -> None:
    elements = tmp_path / "iss.tle"
    elements.write_text(LINES, encoding="utf-8")
    common = ["--constellation", elements, "--from", "2008-09-21T00:00:00Z", "--hours", "24", "--json"]
    by_name = call("passes", "--station", "Palermo", *common)
    assert by_name.exit_code == 0, by_name.output
    assert "the checksum is 6" in by_name.stderr
    passes = json.loads(by_name.stdout)
    # An orbit of 51.6° at 350 km passes over 38° of latitude four to seven times a day above 10°, for up to 7 min.
    assert 3 <= len(passes) <= 7
    assert all(0 < one["set_s"] - one["rise_s"] < 420 and 10 < one["highest_deg"] <= 90 for one in passes)
    by_point = json.loads(call("passes", "--station", "38.1166, 13.3636", *common).stdout)
    assert by_point == passes


def test_presets_have_passes_too_and_mistakes_are_named() -> None:
    found = call("passes", "--station", "Quito", "--constellation", "o3b", "--hours", "3")
    assert found.exit_code == 0 and "passes above 10°" in found.stdout
    wrong = call("passes", "--station", "Palremo", "--constellation", "starlnk")
    assert wrong.exit_code == 2
    assert 'did you mean "starlink"' in wrong.stderr
    assert wrong.stderr.startswith("--constellation:") or wrong.stderr.startswith("--station:")
    late = call("passes", "--station", "Palermo", "--constellation", "iridium", "--from", "yesterday")
    assert late.exit_code == 2 and late.stderr.startswith("--from:")
    assert "neither rise nor set" in call("passes", "--station", "Palermo", "--constellation", "geo").stderr
    assert "Palermo, IT" in call("places", "paler").stdout


def test_passes_say_what_was_in_sight_before_and_stays() -> None:
    shown = call("passes", "--station", "Quito", "--constellation", "o3b", "--hours", "3").stdout.splitlines()
    rows = [line.split() for line in shown if "o3b-" in line]
    # 20 satellites that are in sight for 108 min each 18 min: six at the start, six at the end, and none of the same.
    assert sum(row[1] == "<" for row in rows) == 6 and sum(">" in row for row in rows) == 6
    assert not any(row[1] == "<" and ">" in row for row in rows)


def test_wires_alone_have_no_sky(tmp_path: Path) -> None:
    file, folder = tmp_path / "wires.toml", tmp_path / "run"
    wires = 'links = [{ between = ["a", "b"], rate = "1 Mbit/s", delay = "1 ms" }]\nduration = "1 s"\nprofile = "rfc"\n'
    file.write_text(wires + 'flows = [{ name = "f", from = "a", to = "b", tcp = "reno" }]\n', encoding="utf-8")
    assert "no sky to show" in call("sky", file, "--out", tmp_path / "map.png").stderr
    assert call("run", file, "--out", folder).exit_code == 0
    assert "no sky to write" in call("export-sky", folder, "--geojson", tmp_path / "sky.json").stderr
    assert not (tmp_path / "sky.json").exists()


def test_presets_say_where_their_numbers_are_from() -> None:
    known = {one["name"]: one for one in json.loads(call("presets", "--json").stdout)}
    for one in known.values():
        assert sum(shell["planes"] * shell["per_plane"] for shell in one["shells"]) == one["satellites"]
        assert one["source"] and one["besides"]
    assert known["starlink"]["satellites"] == 4408 and "SAT-MOD-20200417-00037" in known["starlink"]["source"]
    # 27 planes over 180° and 40 over 360°; a star's seam is no wider than the others.
    assert [shell["spread_deg"] for shell in known["telesat"]["shells"]] == pytest.approx([180, 360])
    shown = call("presets", "kuiper").stdout
    assert "amazon-leo-3" in shown and "3236 satellites" in shown and "iridium" not in shown
    wrong = call("presets", "irdium")
    assert wrong.exit_code == 2 and 'did you mean "iridium"' in wrong.stderr


def test_a_crowd_leaves_the_map_readable(tmp_path: Path) -> None:
    from skyhop import worldmap

    # One shade for each number as long as there are few, even steps after that, and 0 by itself.
    assert worldmap.shade_starts(0) == [0, 1]
    assert worldmap.shade_starts(9) == list(range(11))
    assert worldmap.shade_starts(91) == [0, 1, *range(10, 101, 10)]
    for most in range(1, 400):
        starts = worldmap.shade_starts(most)
        assert starts[-2] <= most < starts[-1] and len(starts) <= worldmap.MOST_SHADES + 3
    file = tmp_path / "scenario.toml"
    file.write_text(SCENARIO.replace('"iridium"', '"starlink-1"').replace("[stations]", GSL), encoding="utf-8")
    map_ = tmp_path / "map.svg"
    result = call("sky", file, "--out", map_, "--coverage", tmp_path / "coverage.svg")
    assert result.exit_code == 0, result.output
    assert "1584 satellites" in result.stdout


def test_every_handover_is_explained(run_folder: Path) -> None:
    shown = call("handovers", run_folder).stdout
    assert "palermo: no satellite → iridium-" in shown
    assert "because: below the mask, trailing satellite of the plane" in shown
    assert "one-way propagation" in shown
    assert "palermo" not in call("handovers", run_folder, "--station", "houston").stdout.replace("a: ", "")
    assert call("handovers", run_folder.parent / "none").exit_code == 2
    wrong = call("handovers", run_folder, "--station", "palremo")
    assert wrong.exit_code == 2 and 'did you mean "palermo"' in wrong.stderr


def test_handovers_behind_the_end_of_a_full_table_of_losses_are_told(run_folder: Path, tmp_path: Path) -> None:
    """They seemed to have cost nothing."""
    full = shutil.copytree(run_folder, tmp_path / "full")
    assert "table of losses" not in call("handovers", full).stderr
    manifest = json.loads((full / "manifest.json").read_text(encoding="utf-8"))
    (full / "manifest.json").write_text(json.dumps(manifest | {"drops_left_out": 7}), encoding="utf-8")
    schema = {"time_s": pl.Float64, "cause": pl.String, "link": pl.String, "node": pl.String, "flow": pl.String}
    pl.DataFrame([(0.5, "queue", "x", None, "f")], schema=schema, orient="row").write_parquet(full / "drops.parquet")
    shown = call("handovers", full)
    assert shown.exit_code == 0
    assert "warning: the table of losses is full and ends at 0.500 s: it has no later ones" in shown.stderr


def test_losses_belong_to_the_flows_through_the_terminal() -> None:
    from skyhop.sky import explain

    row = {"time_s": 5.0, "from": "s-1", "to": "s-2", "elevation_deg": 30.0, "slant_range_km": 900.0, "why": "so"}
    changes = pl.DataFrame([{**row, "terminal": "a"}, {**row, "terminal": "c"}])
    paths = pl.DataFrame(
        [
            {"time_s": time_s, "flow": flow, "delay_s": delay_s, "path": path}
            for time_s, flow, delay_s, path in [
                (0.0, "f-0", 0.010, "a > s-1 > b"),
                (0.0, "f-1", 0.010, "a > s-1 > b"),
                (0.0, "g", 0.010, "c > s-1 > b"),
                (5.0, "f-0", 0.012, "a > s-2 > b"),
                (5.0, "f-1", 0.012, "a > s-2 > b"),
                (5.0, "g", 0.0, ""),
            ]
        ]
    )
    causes = [(5.1, "f-0", "link-change"), (5.1, "f-1", "link-change"), (5.2, "g", "no-route"), (5.2, "f-0", "queue")]
    causes += [(4.9, "f-0", "link-change"), (6.1, "f-0", "link-change")]
    drops = pl.DataFrame([{"time_s": t, "flow": flow, "cause": cause, "node": "s-1"} for t, flow, cause in causes])
    end = "because: so (the new one stands at 30.0°, 900 km away)"
    assert explain(changes, paths, drops) == [
        f"5.000 s  a: s-1 → s-2, {end}",
        "    f-0, f-1: 2 hops, one-way propagation 10.00 → 12.00 ms",
        "    2 packets of f-0, f-1 lost within 1 s: link-change",
        f"5.000 s  c: s-1 → s-2, {end}",
        "    g: no path any more",
        "    1 packet of g lost within 1 s: no-route",
    ]


def test_each_kind_of_handover_has_words_of_its_own() -> None:
    from skyhop.sky import explain

    row = {
        "time_s": 1.0,
        "terminal": "a",
        "elevation_deg": 30.0,
        "slant_range_km": 900.0,
        "why": "so",
        "from_beam": None,
        "to_beam": None,
    }
    rows = [
        {**row, "kind": "satellite", "from": None, "to": "s-1"},
        {**row, "kind": "beam", "from": "s-1", "to": "s-1", "from_beam": 3, "to_beam": 12},
        {**row, "kind": "gateway", "from": "rome", "to": "tunis"},
        {**row, "kind": "terrestrial", "from": "s-1", "to": None},
        {**row, "kind": "terrestrial", "from": None, "to": None, "slant_range_km": 0.0, "why": "terrestrial"},
        {**row, "kind": "terrestrial", "from": None, "to": "s-2"},
    ]
    said = [line.split("a: ")[1] for line in explain(pl.DataFrame(rows, infer_schema_length=None), None, None)]
    assert said == [
        "no satellite → s-1, because: so (the new one stands at 30.0°, 900 km away)",
        "s-1 (beam 3) → s-1 (beam 12), because: so (the satellite stands at 30.0°, 900 km away)",
        "gateway rome → gateway tunis, because: so (its satellite stands at 30.0°, 900 km away)",
        "s-1 → the terrestrial network, because: so (the lost one stands at 30.0°, 900 km away)",
        "no satellite → the terrestrial network, because: terrestrial",
        "the terrestrial network → s-2, because: so (the new one stands at 30.0°, 900 km away)",
    ]


def test_czml_has_every_node_and_lines_between_nodes_that_it_has(tmp_path: Path, run_folder: Path) -> None:
    file = tmp_path / "sky.czml"
    assert call("export-sky", run_folder, "--czml", file).exit_code == 0
    packets = json.loads(file.read_text(encoding="utf-8"))
    assert packets[0]["id"] == "document" and packets[0]["version"] == "1.0"
    assert packets[0]["clock"]["interval"] == "2025-10-07T12:00:00Z/2025-10-07T12:10:00Z"
    ids = [packet["id"] for packet in packets]
    assert len(ids) == len(set(ids))
    placed = {packet["id"]: packet["position"] for packet in packets if "position" in packet}
    assert len(placed) == 68
    lines = [packet["polyline"] for packet in packets if "polyline" in packet]
    assert lines
    for line in lines:
        for reference in line["positions"]["references"]:
            assert reference.removesuffix("#position").replace("\\", "") in placed
    x, y, z = placed["palermo"]["cartesian"]
    assert 6.36e6 < math.dist((x, y, z), (0, 0, 0)) < 6.38e6
    moving = placed["iridium-0-0"]["cartesian"]
    assert len(moving) % 4 == 0 and moving[4] == 60
    assert math.dist(moving[1:4], (0, 0, 0)) == pytest.approx(6378.137e3 + 780e3, abs=1.0)


@pytest.mark.parametrize("duration_s", [20, 90])
def test_czml_of_a_short_run_has_satellites_where_they_are(tmp_path: Path, duration_s: int) -> None:
    """With three points 60 s apart Cesium drew satellites 113 m from where they were."""
    file = tmp_path / "scenario.toml"
    sky = '[constellation]\npreset = "iridium"\nisl = { layout = "none" }\n'
    file.write_text(f'duration = "{duration_s} s"\n{sky}[stations]\nhere = {{ city = "Palermo" }}\n')
    skyhop.run(file).write(tmp_path / "run")
    assert call("export-sky", tmp_path / "run", "--czml", tmp_path / "sky.czml").exit_code == 0
    packets = json.loads((tmp_path / "sky.czml").read_text(encoding="utf-8"))
    (position,) = (one["position"] for one in packets if one["id"] == "iridium-1-3")
    rows = [position["cartesian"][i : i + 4] for i in range(0, len(position["cartesian"]), 4)]
    points = rows[: position["interpolationDegree"] + 1]
    fine = json.loads(skyhop.scenario(file).ephemeris_json(duration_s / 20))
    (true,) = (node["xyz_m"] for node in fine["nodes"] if node["name"] == "iridium-1-3")
    for i in range(20):
        at_s, drawn = i * duration_s / 20, [0.0, 0.0, 0.0]
        for one in points:
            # Lagrange's polynomials.
            weight = math.prod((at_s - other[0]) / (one[0] - other[0]) for other in points if other is not one)
            drawn = [sum_ + weight * value for sum_, value in zip(drawn, one[1:], strict=True)]
        assert math.dist(drawn, true[3 * i : 3 * i + 3]) < 1.0


def test_czml_has_a_station_on_a_track_where_it_is(tmp_path: Path) -> None:
    """A polynomial through points 60 s apart cut the corners of a route, and swung out beside them."""
    file = tmp_path / "scenario.toml"
    # A van that turns round at a corner every 25 s and waits, 20 m/s in between.
    corners = [(0, 0.0, 0.0), (25, 0.0, 0.0045), (50, 0.0045, 0.0045), (70, 0.0045, 0.0045), (95.5, 0.0, 0.0045)]
    track = ", ".join(
        f'{{ at = "{at} s", latitude = "{latitude} deg", longitude = "{longitude} deg" }}'
        for at, latitude, longitude in corners
    )
    file.write_text(
        'duration = "200 s"\n[constellation]\npreset = "iridium"\nisl = { layout = "none" }\n'
        f"[stations]\nvan = {{ track = [{track}] }}\n"
    )
    skyhop.run(file).write(tmp_path / "run")
    assert call("export-sky", tmp_path / "run", "--czml", tmp_path / "sky.czml").exit_code == 0
    packets = json.loads((tmp_path / "sky.czml").read_text(encoding="utf-8"))
    (position,) = (one["position"] for one in packets if one["id"] == "van")
    assert (position["interpolationAlgorithm"], position["interpolationDegree"]) == ("LINEAR", 1)
    rows = [position["cartesian"][i : i + 4] for i in range(0, len(position["cartesian"]), 4)]
    assert [row[0] for row in rows] == [0, 25, 50, 70, 95.5, 100, 150, 200, 250]
    fine = json.loads(skyhop.scenario(file).ephemeris_json(2.5))
    (van,) = (node for node in fine["nodes"] if node["name"] == "van")
    for i, at_s in enumerate(van["times_s"]):
        if at_s > 200:
            break
        before = max(row for row in rows if row[0] <= at_s)
        after = min(row for row in rows if row[0] > at_s)
        share = (at_s - before[0]) / (after[0] - before[0])
        drawn = [a + share * (b - a) for a, b in zip(before[1:], after[1:], strict=True)]
        assert math.dist(drawn, van["xyz_m"][3 * i : 3 * i + 3]) < 0.5


def test_czml_has_each_antenna_of_a_station() -> None:
    """One satellite stood for all antennas, and none was left once one of them lost its own."""
    rows = [
        (0.0, "gw", None, "a"), (0.0, "gw", None, "b"), (0.0, "gw", None, "c"),
        (10.0, "gw", "a", None), (20.0, "gw", "b", "d"), (25.0, "gw", "d", "d"),
    ]  # fmt: skip
    changes = pl.DataFrame(rows, schema=["time_s", "terminal", "from", "to"], orient="row")
    kind = pl.when(pl.col("time_s") == 25).then(pl.lit("beam")).otherwise(pl.lit("satellite"))
    changes = changes.with_columns(kind=kind)
    nodes = [{"name": name, "kind": "satellite", "xyz_m": [7e6, 0, 0, 7e6, 1e5, 0]} for name in "abcd"] + [
        {"name": "gw", "kind": "station", "xyz_m": [6.4e6, 0, 0]}
    ]
    packets = czml.czml({"epoch": None, "step_s": 60.0, "nodes": nodes}, changes, None, duration_s=30.0)
    shown = {
        packet["id"]: [one["interval"] for one in packet["polyline"]["show"] if one["boolean"]]
        for packet in packets
        if "polyline" in packet
    }
    at = "2000-01-01T12:00:"
    assert shown == {
        "gw to a": [f"{at}00Z/{at}10Z"], "gw to b": [f"{at}00Z/{at}20Z"], "gw to c": [f"{at}00Z/{at}30Z"],
        "gw to d": [f"{at}20Z/{at}30Z"],
    }  # fmt: skip


def test_positions_are_neither_too_many_nor_none(tmp_path: Path, run_folder: Path) -> None:
    for step in ("0 s", "1 us"):
        wrong = call("export-sky", run_folder, "--czml", tmp_path / "sky.czml", "--step", step)
        # 68 nodes over 600 s; 20 million positions at most.
        assert wrong.exit_code == 2 and "use 0.003 s or more" in wrong.stderr
    assert "--step 1x:" in call("export-sky", run_folder, "--czml", tmp_path / "x", "--step", "1x").stderr


def test_geojson_of_a_run_has_the_satellites_of_its_seed(tmp_path: Path, scenario: Path) -> None:
    """Stations that choose by chance had the satellites of seed 1, whatever the seed of the run."""
    file, folder, out = tmp_path / "random.toml", tmp_path / "random", tmp_path / "random.geojson"
    handover = 'preset = "iridium"\ngsl = { handover = { policy = "random", every = "60 s" } }'
    file.write_text(scenario.read_text(encoding="utf-8").replace('preset = "iridium"', handover), encoding="utf-8")
    assert call("run", file, "--out", folder, "--seed", "7").exit_code == 0
    rows = pl.read_parquet(folder / "handovers.parquet").filter(pl.col("kind") == "satellite").sort("time_s")
    for at_s in (30, 250, 450, 590):
        assert call("export-sky", folder, "--geojson", out, "--at", f"{at_s} s").exit_code == 0
        features = json.loads(out.read_text(encoding="utf-8"))["features"]
        drawn = {one["properties"]["name"]: one["properties"] for one in features if "antennas" in one["properties"]}
        assert set(drawn) == {"palermo", "houston"}
        for name, station in drawn.items():
            before = rows.filter((pl.col("terminal") == name) & (pl.col("time_s") <= at_s))
            assert station["satellite"] == before["to"][-1], (at_s, name)
    (folder / "manifest.json").write_text("{}", encoding="utf-8")
    wrong = call("export-sky", folder, "--geojson", out)
    assert wrong.exit_code == 2 and "it has no seed" in wrong.stderr


def test_geojson_lies_on_the_globe(tmp_path: Path, run_folder: Path) -> None:
    file = tmp_path / "sky.geojson"
    assert call("export-sky", run_folder, "--geojson", file, "--at", "60 s").exit_code == 0
    collection = json.loads(file.read_text(encoding="utf-8"))
    kinds = [feature["properties"]["kind"] for feature in collection["features"]]
    assert kinds.count("satellite") == 66 and kinds.count("station") == 2 and kinds.count("path") == 1
    for feature in collection["features"]:
        geometry = feature["geometry"]
        lines = geometry["coordinates"] if geometry["type"] == "MultiLineString" else [[geometry["coordinates"]]]
        for line in lines:
            assert all(-180 <= point[0] <= 180 and -90 <= point[1] <= 90 for point in line)
    assert call("export-sky", run_folder).exit_code == 2
