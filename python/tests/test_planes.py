"""Planes of satellites from elements: the command, a file of planes, the grid over real catalogues."""

from __future__ import annotations

import json
import re
import statistics
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from typer.testing import CliRunner

from skyhop import _core, api, cli
from skyhop.validate import route_pairs

TLE = ROOT.parent / "shared" / "data" / "tle"
EPOCH = datetime(2025, 10, 7, 12)
PLANES, SLOTS = 8, 7


def call(*arguments: str | Path) -> Any:
    return CliRunner().invoke(cli.app, [str(one) for one in arguments])


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    """A Walker delta of 56 satellites at about 1100 km, one that is raised, and one in a long ellipse."""
    lines = []
    for plane in range(PLANES):
        for slot in range(SLOTS):
            number = plane * SLOTS + slot
            phase = (slot + plane / PLANES) * 360 / SLOTS % 360
            lines += [f"sat {plane} {slot}", *tle(number, (60, plane * 360 / PLANES, 1e-4, 0, phase, 13.4))]
    lines += ["raised", *tle(900, (60, 45, 1e-4, 0, 20, 14.9)), "ellipse", *tle(901, (60, 45, 0.7, 0, 20, 2.0))]
    file = tmp_path / "walker.tle"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def tle(number: int, elements: tuple[float, float, float, float, float, float]) -> list[str]:
    return [line for line in route_pairs.two_lines(number, EPOCH, elements) if line[:2] in ("1 ", "2 ")]


def sky(elements: Path, layout: Any, **more: Any) -> _core.Scenario:
    constellation = {
        "elements": str(elements),
        "epoch": EPOCH.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "isl": {"rate": "1 Gbit/s", "layout": layout},
        "gsl": {"rate": "100 Mbit/s", "elevation_mask": "25 deg"},
    }
    return api.scenario(**{"duration": "60 s", "constellation": constellation, **more})


def test_the_command_lists_planes_and_who_is_in_none(catalogue: Path) -> None:
    found = call("planes", catalogue)
    assert found.exit_code == 0, found.stderr
    assert f"{PLANES * SLOTS} satellites in {PLANES} planes" in found.stdout
    assert (
        "2 satellites are in no plane at 2025-10-07T12:00:00:" in found.stdout and "1 eccentric orbit" in found.stdout
    )
    left = call("planes", catalogue, "--left-out").stdout.splitlines()
    assert [line.split(" (")[0] for line in left] == ["raised", "ellipse"] and "below shell" in left[0]
    shells = json.loads(call("planes", catalogue, "--json").stdout)["shells"]
    assert [len(plane["satellites"]) for plane in shells[0]["planes"]] == [SLOTS] * PLANES
    preset = call("planes", "iridium")
    assert preset.exit_code == 0 and "iridium: 66 satellites in 6 planes" in preset.stdout


#: Empty slots of 12 planes of 12 satellites.
HOLES = {1: {3}, 4: {0, 1, 6}, 5: {8, 9}, 8: {0, 3, 6, 9}, 11: {5}}
#: The largest gaps of these planes, in degrees.
LARGEST = {1: 60, 4: 90, 5: 90, 8: 60, 11: 60}


def ragged(folder: Path) -> Path:
    """Elements of planes with 8 to 12 satellites, whose neighbours all see each other."""
    lines = []
    for plane in range(12):
        for slot in set(range(12)) - HOLES.get(plane, set()):
            phase = (slot + plane / 12) * 30 % 360
            lines += [f"sat {plane} {slot}", *tle(100 * plane + slot, (60, plane * 30, 1e-4, 0, phase, 13.4))]
    file = folder / "ragged.tle"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def test_the_command_names_phases_and_whom_the_grid_of_a_run_leaves_unpaired(tmp_path: Path) -> None:
    file = ragged(tmp_path)
    (shell,) = json.loads(call("planes", file, "--from", "2025-10-07T12:00:00Z", "--json").stdout)["shells"]
    planes = shell["planes"]
    assert [plane["count"] for plane in planes] == [12 - len(HOLES.get(n, set())) for n in range(12)]
    for n, plane in enumerate(planes):
        assert plane["count"] == len(plane["satellites"]) == len(plane["phases_deg"])
        for name, phase in zip(plane["satellites"], plane["phases_deg"], strict=True):
            # The mean argument of latitude of the elements; SGP4's differs by periodic terms.
            known = (int(name.split("-")[2]) + n / 12) * 30
            assert abs((phase - known + 180) % 360 - 180) < 0.2, (name, phase)
        known_gaps = (30, 30, LARGEST.get(n, 30))
        assert [plane["spacing_deg"][key] for key in ("min", "median", "max")] == pytest.approx(known_gaps, abs=0.2)
    # The same satellites lack a link in a run.
    links = json.loads(sky(file, "grid").sky_json(0.0))["isls"]
    plane_of = {name: plane["plane"] for plane in planes for name in plane["satellites"]}
    linked = {(a, plane_of[b]) for pair in links for a, b in (pair, pair[::-1])}
    sides = (("next", 1), ("previous", -1))
    for side, step in sides:
        alone = {name for name, plane in plane_of.items() if (name, (plane + step) % 12) not in linked}
        assert set(shell["unpaired"][side]["satellites"]) == alone and shell["unpaired"][side]["count"] == len(alone)
        assert sum(plane[side]["unpaired"] for plane in planes) == len(alone)
        assert all(plane[side]["plane"] == (plane["plane"] + step) % 12 for plane in planes)
    between = sum(plane_of[a] != plane_of[b] for a, b in links)
    assert sum(plane["next"]["links"] for plane in planes) == between
    assert sum(shell["unpaired"][side]["count"] for side, _ in sides) == 2 * (len(plane_of) - between) > 0
    said = call("planes", file).stdout
    assert f"{shell['unpaired']['next']['count']} without a partner in the next plane" in said


def test_satellites_without_a_partner_take_second_links_of_others(tmp_path: Path) -> None:
    file = ragged(tmp_path)
    told = {}
    for label in ("open", "5", "6"):
        keys: dict[str, Any] = {} if label == "open" else {"unpaired": "nearest", "terminals": int(label)}
        one = sky(file, {"grid": keys})
        (shell,) = json.loads(one.planes_json())["shells"]
        alone = sum(side["count"] for side in shell["unpaired"].values())
        told[label] = ({(a, b) for a, b in json.loads(one.sky_json(0.0))["isls"]}, alone)
        assert not [warning for warning in one.warnings if "unpaired" in warning]
        # A name says the plane.
        between = [(a, b) for a, b in told[label][0] if a.split("-")[1] != b.split("-")[1]]
        assert sum(plane["next"]["links"] for plane in shell["planes"]) == len(between)
    assert told["open"][0] < told["5"][0] and told["open"][0] < told["6"][0]
    assert told["open"][1] > told["5"][1] > told["6"][1]


def test_the_default_of_unpaired_changes_nothing(tmp_path: Path) -> None:
    file = ragged(tmp_path)
    usual = sky(file, "grid").hash
    assert sky(file, {"grid": {"unpaired": "open"}}).hash == usual
    nearest = sky(file, {"grid": {"unpaired": "nearest"}}).hash
    assert nearest != usual and sky(file, {"grid": {"unpaired": "nearest", "terminals": 4}}).hash == nearest
    assert sky(file, {"grid": {"unpaired": "nearest", "terminals": 5}}).hash not in (usual, nearest)


def test_second_links_that_no_satellite_takes_are_told(catalogue: Path, tmp_path: Path) -> None:
    def said(file: Path, **keys: Any) -> list[str]:
        return [one for one in sky(file, {"grid": {"unpaired": "nearest", **keys}}).warnings if "unpaired" in one]

    (even,) = said(catalogue)
    assert "has no effect: every satellite has a partner in the neighbouring planes" in even
    # One hole leaves a satellite of each neighbouring plane alone, and all others have four links.
    lines = catalogue.read_text(encoding="utf-8").splitlines()
    at = lines.index("sat 3 2")
    hole = tmp_path / "hole.tle"
    hole.write_text("\n".join(lines[:at] + lines[at + 3 :]) + "\n", encoding="utf-8")
    (busy,) = said(hole)
    assert "lack a partner 2 times, and no neighbour in reach has one of its 4 terminals free" in busy
    assert said(hole, terminals=5) == []


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"unpaired": "any"}, "unpaired"),
        ({"unpaired": "nearest", "terminals": 3}, "use 4 to 16"),
        ({"unpaired": "nearest", "terminals": 17}, "use 4 to 16"),
        ({"terminals": 5}, 'write unpaired = "nearest"'),
        ({"unpaired": "open", "terminals": 5}, "satellites without a partner take no second link"),
    ],
)
def test_wrong_values_of_unpaired_are_refused(catalogue: Path, keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sky(catalogue, {"grid": keys})
    isl = {"rate": "1 Gbit/s", "layout": {"grid": {"unpaired": "nearest"}}}
    with pytest.raises(ValueError, match="is about satellites from elements"):
        api.scenario(duration="1 s", constellation={"preset": "iridium", "isl": isl})


def test_planes_at_a_seam_have_no_neighbour() -> None:
    (shell,) = json.loads(call("planes", "iridium", "--json").stdout)["shells"]
    assert [plane["next"] for plane in shell["planes"]][-1] is None and shell["planes"][0]["previous"] is None
    assert shell["unpaired"]["next"] == {"count": 0, "satellites": []}
    assert shell["planes"][1]["phases_deg"][0] == pytest.approx(360 / 22)
    assert shell["planes"][0]["spacing_deg"]["max"] == pytest.approx(360 / 11)


def test_elements_that_are_left_out_or_far_away_in_time_are_told(catalogue: Path) -> None:
    assert call("planes", catalogue).stderr == ""
    lines = catalogue.read_text(encoding="utf-8").splitlines()
    lines[1] = lines[1][:-1] + str((int(lines[1][-1]) + 1) % 10)
    catalogue.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = call("planes", catalogue)
    assert found.exit_code == 0 and f"{PLANES * SLOTS - 1} satellites in {PLANES} planes" in found.stdout
    said = " ".join(found.stderr.split())
    assert "line 2: sat 0 0: first line: the checksum is" in said and "no effect" not in said, said
    said = call("planes", catalogue, "--from", "2026-10-07T12:00:00Z").stderr
    assert "365.0 days old" in " ".join(said.split()), said


def test_options_for_elements_are_refused_with_a_preset(tmp_path: Path) -> None:
    for option, value in (("--from", "2025-10-07T12:00:00Z"), ("--csv", tmp_path / "planes.csv"), ("--left-out", None)):
        found = call("planes", "iridium", option, *([] if value is None else [value]))
        assert found.exit_code != 0 and f"{option} has no effect with a preset" in found.stderr, found.output
    assert list(tmp_path.iterdir()) == []


def test_a_catalogue_of_which_no_satellite_is_left_out_needs_no_warning(tmp_path: Path) -> None:
    assert call("planes", ragged(tmp_path)).stderr == ""


def test_errors_of_the_command_name_what_was_typed(tmp_path: Path) -> None:
    assert "FILE" in call("planes", tmp_path / "none.tle").stderr
    assert "geo: geostationary satellites" in call("planes", "geo").stderr
    lone = tmp_path / "lone.tle"
    lone.write_text("\n".join(["one", *tle(1, (60, 0, 1e-4, 0, 0, 15.0))]) + "\n", encoding="utf-8")
    found = call("planes", lone)
    assert found.exit_code != 0 and "no planes can be found among the 1 satellites" in found.stderr


def test_a_file_of_planes_gives_the_links_that_were_found(catalogue: Path, tmp_path: Path) -> None:
    file = tmp_path / "planes.csv"
    assert call("planes", catalogue, "--csv", file).exit_code == 0
    by_phase, by_file = (sky(catalogue, layout) for layout in ("grid", {"grid": {"planes": str(file)}}))
    links = [{tuple(pair) for pair in json.loads(one.sky_json(0.0))["isls"]} for one in (by_phase, by_file)]
    assert links[0] == links[1] and len(links[0]) == 2 * PLANES * SLOTS
    # The canonical form holds the file, and makes the same scenario without it.
    file.unlink()
    again = _core.Scenario.from_json(by_file.canonical_json())
    assert again.hash == by_file.hash and by_file.hash != by_phase.hash
    (warning,) = [one for one in by_phase.warnings if "planes" in one]
    assert "56 of 58 satellites are found in 8 planes" in warning and "2 are left out" in warning


def test_shells_that_no_link_joins_are_told(catalogue: Path) -> None:
    lines = catalogue.read_text(encoding="utf-8")
    for number in range(6):
        # A second shell of two planes.
        phase = (number // 2 * 120 + number % 2 * 60) % 360
        lines += "\n".join([f"low {number}", *tle(500 + number, (30, number % 2 * 180, 1e-4, 0, phase, 14.5))]) + "\n"
    catalogue.write_text(lines, encoding="utf-8")
    stations = {"rome": {"city": "Rome"}, "lima": {"city": "Lima"}}

    def told(layout: Any, **more: Any) -> list[str]:
        return [one for one in sky(catalogue, layout, **more).warnings if "of one shell only" in one]

    (warning,) = told("grid", stations=stations)
    first, second = re.search(r"of all 2 \((.*), (.*)\)", warning).groups()  # type: ignore[union-attr]
    assert warning.endswith(f'isl.layout = {{ grid = {{ shells = ["{first}"] }} }} keeps one')
    assert told({"grid": {"shells": [first]}}, stations=stations) == []
    assert told({"grid": {"shells": [second]}}, stations=stations) == []
    # Others see no difference, or have links between shells.
    assert told("grid", stations={"rome": {"city": "Rome"}}) == []
    assert told("none", stations=stations) == []


def drifting(tmp_path: Path) -> tuple[Path, Path]:
    """Elements and a file of planes in which a third of the planes drifts."""
    lines = []
    for plane in range(6):
        # A third of the planes flies 1 % faster, 50 km lower: it gains 48.2 degrees a day on the others.
        faster = 13.4 * (1 + 0.01 * (plane % 3 == 0))
        for slot in range(SLOTS):
            elements = (60, plane * 60, 1e-4, 0, slot * 360 / SLOTS, faster)
            lines += [f"sat {plane} {slot}", *tle(plane * SLOTS + slot, elements)]
    file = tmp_path / "drifting.tle"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    given = tmp_path / "planes.csv"
    rows = [f"sat-{plane}-{slot},{plane}" for plane in range(6) for slot in range(SLOTS)]
    given.write_text("satellite,plane\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return file, given


def test_planes_that_drift_apart_within_a_run_are_told(tmp_path: Path) -> None:
    file, given = drifting(tmp_path)

    def said(hours: int, **keys: str) -> list[str]:
        layout = {"grid": {"planes": str(given), **keys}}
        return [one for one in sky(file, layout, duration=f"{hours} h").warnings if "drift apart" in one]

    # A quarter of the spacing of 51.4 degrees takes 6.4 h.
    (fixed,) = said(7, pair_every="0 s")
    assert "from 6.4 h on" in fixed and "leave out pair_every" in fixed
    drift = re.search(r"by up to ([\d.]+) degrees of phase a day", fixed)
    assert drift is not None and float(drift[1]) == pytest.approx(13.4 * 0.01 * 360, rel=0.01)
    assert said(6, pair_every="0 s") == []
    # Links that follow need no warning, unless they look too rarely.
    assert said(48) == [] and said(48, pair_every="6 h") == []
    (rare,) = said(48, pair_every="8 h")
    assert "paired again only every 28800 s" in rare and "after 6.4 h" in rare


def test_links_between_planes_that_drift_follow_the_phases(tmp_path: Path) -> None:
    file, given = drifting(tmp_path)

    def linked(hours: float, **keys: str) -> tuple[set[tuple[str, str]], str]:
        one = sky(file, {"grid": {"planes": str(given), **keys}}, duration="24 h")
        return {(min(a, b), max(a, b)) for a, b in json.loads(one.sky_json(3600.0 * hours))["isls"]}, one.hash

    (start, default_hash), (fixed, fixed_hash) = linked(0), linked(24, pair_every="0 s")
    (later, _), (same, same_hash) = linked(24), linked(24, pair_every="10 min")
    # Where planes have drifted some links of the start pass too low, and others take their place.
    assert fixed < start and not later <= start and same == later
    assert len(later) > len(fixed)
    # A default that is written changes nothing, and another value does.
    assert same_hash == default_hash != fixed_hash


def test_a_key_of_pairing_without_effect_is_told(tmp_path: Path) -> None:
    file, given = drifting(tmp_path)
    layout = {"grid": {"planes": str(given), "pair_every": "2 h"}}
    assert any("has no effect" in one and "pair_every" in one for one in sky(file, layout, duration="1 h").warnings)
    slots = tmp_path / "slots.csv"
    rows = [f"sat-{plane}-{slot},{plane},{slot}" for plane in range(6) for slot in range(SLOTS)]
    slots.write_text("satellite,plane,slot\n" + "\n".join(rows) + "\n", encoding="utf-8")
    layout = {"grid": {"planes": str(slots), "pair_every": "10 min"}}
    warnings = sky(file, layout, duration="7 h").warnings
    assert any("says slots" in one for one in warnings)
    # Those of one slot do not follow, so the drift is told.
    assert any("from 6.4 h on" in one and "divide the run" in one for one in warnings)
    with pytest.raises(ValueError, match="pair_every"):
        api.scenario(
            duration="1 s",
            constellation={
                "preset": "iridium",
                "isl": {"rate": "1 Gbit/s", "layout": {"grid": {"pair_every": "1 min"}}},
            },
        )


def test_the_manifest_of_a_run_holds_the_planes(catalogue: Path, tmp_path: Path) -> None:
    scenario = sky(
        catalogue,
        "grid",
        stations={"a": {"city": "London"}, "b": {"city": "New York City"}},
        flows=[{"name": "f", "from": "a", "to": "b", "tcp": "reno", "application": "ftp"}],
    )
    api.run(scenario, seed=1).write(tmp_path / "run")
    (shell,) = json.loads((tmp_path / "run" / "manifest.json").read_text())["planes"]
    assert [len(plane) for plane in shell["planes"]] == [SLOTS] * PLANES
    positions = {name for plane in shell["planes"] for name in plane}
    assert positions == {f"sat-{plane}-{slot}" for plane in range(PLANES) for slot in range(SLOTS)}


def test_the_grid_that_is_found_is_hypatias(tmp_path: Path) -> None:
    """Links of Kuiper-630 as another tool lists them; its odd planes are half a spacing ahead."""
    kuiper = route_pairs._sky(ROOT / "tests" / "reference" / "hypatia")
    file = tmp_path / "kuiper.tle"
    file.write_text(kuiper.tles, encoding="utf-8")
    constellation = {
        "elements": str(file),
        "epoch": kuiper.epoch.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "isl": {"rate": "1 Gbit/s", "grazing_altitude": "0 km"},
        "gsl": {"rate": "1 Gbit/s"},
    }
    scenario = api.scenario(duration="1 s", constellation=constellation)
    found = {frozenset(pair) for pair in json.loads(scenario.sky_json(0.0))["isls"]}
    assert found == {frozenset((f"n-{a}", f"n-{b}")) for a, b in kuiper.isls}


@pytest.mark.skipif(not TLE.is_dir(), reason="the catalogues are not there")
def test_london_to_new_york_takes_as_many_hops_over_the_catalogue_as_over_the_shell() -> None:
    ends: dict[str, Any] = {
        "stations": {
            "london": {"city": "London", "antennas": 40},
            "new-york": {"city": "New York City", "antennas": 40},
        },
        "flows": [{"name": "f", "from": "london", "to": "new-york", "tcp": "reno", "application": "ftp"}],
    }
    real = sky(TLE / "starlink-2025-10.tle", {"grid": {"shells": ["53.2-540"]}}, duration="400 s", **ends)
    constellation = {
        "preset": "starlink-2",
        "isl": {"rate": "1 Gbit/s"},
        "gsl": {"rate": "100 Mbit/s", "elevation_mask": "25 deg"},
    }
    shell = api.scenario(duration="400 s", constellation=constellation, **ends)
    hops = [[len(flow(one, at)) for at in range(0, 400, 50)] for one in (real, shell)]
    delays = [[sum(hop["delay_s"] for hop in flow(one, at)) for at in range(0, 400, 50)] for one in (real, shell)]
    assert statistics.mean(hops[0]) <= statistics.mean(hops[1]) + 1, hops
    assert min(hops[0]) >= 3 and max(hops[0]) <= 9, hops
    # The great circle of 5570 km takes 18.6 ms, and 1100 km of climb and descent 3.7 ms.
    assert all(0.0186 < delay < 0.035 for delay in delays[0]), delays


def flow(scenario: _core.Scenario, at_s: float) -> list[dict[str, Any]]:
    (found,) = json.loads(scenario.sky_json(at_s))["flows"]
    return list(found["hops"])
