"""`skyhop validate routes`, and the limit of distance that it needs: `gsl.longest`."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from typer.testing import CliRunner

from skyhop import api, cli, validate
from skyhop.validate import registry, route_pairs

SAMPLE = ROOT / "tests" / "reference" / "hypatia"
SHARED = ROOT.parent / "shared" / "reference" / "hypatia"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The first 22 instants of the sample."""
    folder = Path(shutil.copytree(SAMPLE, tmp_path / "any name"))
    file = folder / "rtt_1173_to_1241.txt.gz"
    lines = gzip.decompress(file.read_bytes()).decode().splitlines()
    file.write_bytes(gzip.compress("\n".join(lines[:22]).encode()))
    return folder


def change(file: Path, before: str, after: str) -> None:
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))


def test_every_route_of_the_sample_is_equal() -> None:
    (pair,) = validate.routes(SAMPLE)
    assert (pair.pair, pair.instants, pair.equal, pair.changes) == ("1173-1241", 301, 301, 2)
    assert pair.ok and pair.worst_ns is not None and pair.worst_ns <= 1000


@pytest.mark.skipif(not SHARED.is_dir(), reason="the whole reference is not there")
def test_every_route_of_the_reference_is_equal_or_hangs_on_the_limit() -> None:
    found = validate.routes(SHARED)
    assert len(found) >= 2
    for pair in found:
        assert pair.ok and pair.unequal == 0, str(pair)
        # A satellite crosses 300 m at the limit in less than a tenth of a second, two at most at each change.
        assert pair.by_limit <= 2 * pair.changes and pair.equal + pair.by_limit == pair.instants
        assert pair.worst_ns is not None and pair.worst_ns <= pair.bound_ns == 1000


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("at most sqrt((630 km / tan 30 deg)^2 + (630 km)^2) = 1260 km", "at most 800 km"),
        ("inclination 51.9", "inclination 52.1"),
        ("360 / 68 degrees more", "360 / 70 degrees more"),
        ("mean motion 14.80", "mean motion 14.81"),
        ("ISL may be at most\n5014 km", "ISL may be at most\n1100 km"),
    ],
)
def test_another_sky_has_other_routes(copy: Path, before: str, after: str) -> None:
    change(copy / "README.md", before, after)
    answer = CliRunner().invoke(cli.app, ["validate", "routes", "--reference", str(copy)])
    assert answer.exit_code == 1 and "0 of 1 pairs agree" in answer.output


def test_a_wrong_rtt_or_route_is_told(copy: Path) -> None:
    file = copy / "rtt_1173_to_1241.txt.gz"
    lines = gzip.decompress(file.read_bytes()).decode().splitlines()
    time, rtt_ns = lines[20].split(",")
    lines[20] = f"{time},{float(rtt_ns) + 1600}"
    file.write_bytes(gzip.compress("\n".join(lines).encode()))
    (pair,) = validate.routes(copy)
    assert pair.worst_ns is not None and 1000 < pair.worst_ns < 2200
    assert not pair.ok and pair.unequal == 0
    change(copy / "path_1173_to_1241.txt", "18000000000,1173-218-217-1241", "1000000000,1173-218-217-1241")
    (pair,) = validate.routes(copy)
    assert pair.unequal == 12 and "first at 1 s: there 1173-218-217-1241, ours 1173-184-183-217-1241" in str(pair)


@pytest.mark.parametrize(
    ("kind", "number", "line", "said"),
    [
        ("rtt", 5, "400000000,nan", "does not have a round-trip time"),
        ("rtt", 5, "400000000,-5", "does not have a round-trip time"),
        ("rtt", 5, "300000000,5", "times have to increase"),
        ("rtt", 22, "1000000000000000,5", "are more than 1000000 instants"),
        ("path", 1, "0,abc", "numbers of nodes from 1173 to 1241"),
        ("path", 1, "0,1173-184-1240", "numbers of nodes from 1173 to 1241"),
        ("path", 2, "0,1173-184-183-217-1241", "times have to increase"),
        ("path", 2, "5 s", "is not a time in ns"),
    ],
)
def test_a_line_that_cannot_be_compared_is_refused(copy: Path, kind: str, number: int, line: str, said: str) -> None:
    file = copy / ("rtt_1173_to_1241.txt.gz" if kind == "rtt" else "path_1173_to_1241.txt")
    text = gzip.decompress(file.read_bytes()).decode() if kind == "rtt" else file.read_text()
    lines = text.splitlines()
    lines[number - 1] = line
    text = "\n".join(lines)
    file.write_bytes(gzip.compress(text.encode()) if kind == "rtt" else text.encode())
    answer = CliRunner().invoke(cli.app, ["validate", "routes", "--reference", str(copy)])
    assert answer.exit_code == 2 and said in " ".join(answer.output.split()), answer.output


def test_without_an_equal_route_no_rtt_is_compared(copy: Path) -> None:
    (copy / "path_1173_to_1241.txt").write_text("0,1173-1-1241\n")
    (pair,) = validate.routes(copy)
    assert pair.worst_ns is None and not pair.ok and "no RTT compared" in str(pair)
    assert "no RTT was compared" in validate.routes_summary([pair])
    assert "| – |" in validate.routes_markdown([pair])


def test_hypatias_own_files_say_the_same(copy: Path) -> None:
    sky = route_pairs._sky(copy)
    lines = sky.tles.splitlines()
    (copy / "README.md").unlink()
    (copy / "tles.txt").write_text("34 34\n" + "\n".join(lines) + "\n")
    (copy / "isls.txt").write_text("".join(f"{a} {b}\n" for a, b in sky.isls))
    (copy / "description.txt").write_text("max_gsl_length_m=1260000.0\nmax_isl_length_m=5014000\n")
    assert validate.routes(copy)[0].ok


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("isls.txt", "0 1 2\n", "isls.txt: '0 1 2' is not the numbers of two satellites"),
        ("isls.txt", "0 x\n", "isls.txt: '0 x' is not the numbers of two satellites"),
        ("tles.txt", "", "tles.txt: needs the number of planes"),
        ("tles.txt", "0 0\n", "tles.txt: needs the number of planes"),
        ("tles.txt", "1 1\na\nb\nc\n", "tles.txt: 'b' has no epoch in its columns 19 to 32"),
        ("ground_stations_top_100.txt", "0,A,1.0.0,1.0,0\n", "is not id,name,latitude,longitude,elevation"),
    ],
)
def test_files_of_hypatia_that_cannot_be_read_are_named(copy: Path, name: str, text: str, said: str) -> None:
    (copy / "tles.txt").write_text("1 1\nn-0\n" + "\n".join(route_pairs._sky(copy).tles.splitlines()[1:3]))
    (copy / "isls.txt").write_text("0 0\n")
    (copy / "description.txt").write_text("max_gsl_length_m=1260000.0\nmax_isl_length_m=5014000\n")
    (copy / name).write_text(text)
    answer = CliRunner().invoke(cli.app, ["validate", "routes", "--reference", str(copy)])
    assert answer.exit_code == 2 and said in " ".join(answer.output.split()), answer.output


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("inclination 51.9 degrees", "inclined", "does not say the inclination"),
        ("34 planes of 34 satellites", "some planes", 'the planes ("34 planes of 34 satellites")'),
        ("node id = 1156 + id", "node id = 1000 + id", "stations begin at node 1000, but there are 1156"),
        (
            "34 planes of 34 satellites",
            "0 planes of 34 satellites",
            "0 planes of 34 satellites: a constellation needs one",
        ),
        ("epoch 2000-01-01", "epoch 2000-13-01", "the epoch 2000-13-01"),
    ],
)
def test_a_readme_that_leaves_something_out_is_refused(copy: Path, before: str, after: str, said: str) -> None:
    change(copy / "README.md", before, after)
    answer = CliRunner().invoke(cli.app, ["validate", "routes", "--reference", str(copy)])
    assert answer.exit_code == 2 and said in " ".join(answer.output.split())


def test_it_is_in_the_registry_and_answers_in_json(copy: Path) -> None:
    kinds = [one.name for one in registry.COMPARISONS if one.recognises(copy)]
    assert kinds == ["routes"]
    answer = CliRunner().invoke(cli.app, ["validate", "routes", "--reference", str(copy), "--json"])
    assert answer.exit_code == 0 and json.loads(answer.output)[0]["equal"] == 22
    answer = CliRunner().invoke(cli.app, ["validate", "routes", "--reference", str(copy), "--pair", "1-2"])
    assert answer.exit_code == 2 and "it has no pair 1-2; it has 1173-1241" in " ".join(answer.output.split())


def sky(**gsl: Any) -> dict[str, Any]:
    return {
        "duration": "1800 s",
        "constellation": {
            "preset": "starlink-1", "isl": {"rate": "1 Gbit/s"}, "gsl": {"rate": "10 Mbit/s", **gsl},
        },
        "stations": {"rome": {"city": "Rome"}, "madrid": {"city": "Madrid"}},
        "flows": [{"name": "f", "from": "rome", "to": "madrid", "udp": {},
                   "application": {"constant_rate": {"rate": "1 kbit/s", "payload": "100 B"}}}],
    }  # fmt: skip


def test_a_station_keeps_its_satellite_until_it_is_too_far_away() -> None:
    handover = {"policy": "longest-visibility", "checks": "exact"}
    scenario = sky(elevation_mask="25 deg", longest="700 km", handover=handover)
    rows = api.run(scenario).handovers.to_dicts()
    ranges = {row["at_s"] if "at_s" in row else row["time_s"]: row["slant_range_km"] for row in rows}
    assert len(rows) > 10
    # The record holds the range of the new satellite: inside the limit, to what 1 µs makes at 8 km/s.
    assert all(range_km <= 700.001 for range_km in ranges.values() if range_km)
    # The limit bites: with the mask alone ranges reach 1123 km (R = 6378.137, 550 km, 25 deg).
    free = api.run(sky(elevation_mask="25 deg", handover=handover)).handovers.to_dicts()
    assert max(row["slant_range_km"] for row in free) > 1000
    assert max(row["slant_range_km"] for row in free) < 1135


def test_limits_that_make_no_sense_are_refused_or_told() -> None:
    for longest, said in (("0 km", "must be longer than 0 km"), ("300 km", "no satellite comes within 300 km")):
        with pytest.raises(ValueError, match=said):
            api.scenario(**sky(longest=longest))
    told = api.scenario(**sky(elevation_mask="25 deg", longest="1200 km")).warnings
    assert any("longest: has no effect: satellites above the elevation mask of 25 deg" in one for one in told), told
    assert not any("longest" in one for one in api.scenario(**sky(elevation_mask="25 deg", longest="900 km")).warnings)
