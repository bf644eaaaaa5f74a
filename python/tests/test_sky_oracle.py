"""The sky against independent libraries: sgp4 and skyfield for positions and passes, networkx for routes.

The Rust side answers through `crates/topology/examples/sky_oracle.rs`. Without cargo or a library a test is skipped.
Real elements are material beside the project, without which those tests are skipped as well.
"""

from __future__ import annotations

import json
import math
import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
TLE = ROOT.parent / "shared" / "data" / "tle"
C_KM_S = 299_792.458
A_KM, FLATTENING, MU, ROTATION = 6378.137, 1 / 298.257223563, 398600.4418, 7.292115e-5

CITIES = {
    "palermo": (38.1157, 13.3615),
    "quito": (-0.1807, -78.4678),
    "sydney": (-33.8688, 151.2093),
    "tromso": (69.6492, 18.9553),
    "punta-arenas": (-53.1638, -70.9171),
}


class Oracle:
    """Our side, on the other end of a pipe; built and started at the first question."""

    def __init__(self) -> None:
        """Nothing runs yet."""
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> subprocess.Popen[str]:
        """Build it if necessary, and start it."""
        cargo = shutil.which("cargo")
        if cargo is None:
            pytest.skip("skipped: no cargo to build the Rust side with")
        # As `make test` compiles Rust's tests, before which these do not run: all of it is there by now.
        build = [cargo, "build", "--profile", "bench", "--locked", "--quiet", "--workspace", "--example", "sky_oracle"]
        subprocess.run(build, cwd=ROOT, check=True)
        target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
        pipe = subprocess.PIPE
        return subprocess.Popen([target / "release/examples/sky_oracle"], stdin=pipe, stdout=pipe, text=True)

    def ask(self, **question: Any) -> dict[str, Any]:
        """One question, one answer."""
        if self.process is None:
            self.process = self.start()
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        assert "error" not in answer, answer
        return answer


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    """One process for all tests."""
    side = Oracle()
    yield side
    if side.process is not None:
        side.process.communicate()


def elements(name: str) -> Path:
    """A file of real elements."""
    path = TLE / name
    if not path.exists():
        pytest.skip(f"skipped: {name} is not here")
    return path


def triples(path: Path) -> dict[int, tuple[str, str]]:
    """Catalogue number to its two lines."""
    lines = [line.rstrip() for line in path.read_text().splitlines()]
    return {int(one[2:7]): (one, two) for one, two in zip(lines[1::3], lines[2::3], strict=True)}


def timescale() -> Any:
    """skyfield's, with UT1 = UTC: what we assume. Differences of TT do not matter to TEME."""
    api = pytest.importorskip("skyfield.api", reason="skipped: skyfield is not installed")
    return api.load.timescale(builtin=True, delta_t=69.184)


def test_positions_of_100_satellites_over_24_hours(oracle: Oracle) -> None:
    """Within 1 m in TEME and 50 m Earth-fixed, every 10 minutes."""
    sgp4 = pytest.importorskip("sgp4.api", reason="skipped: sgp4 is not installed")
    skyfield = pytest.importorskip("skyfield.sgp4lib", reason="skipped: skyfield is not installed")
    numpy = pytest.importorskip("numpy", reason="skipped: numpy is not installed")
    path = elements("starlink-2025-10.tle")
    known = triples(path)
    times = [600.0 * n for n in range(145)]
    start = (2025, 10, 7, 12, 0, 0.0)
    answer = oracle.ask(
        op="positions", elements=str(path), start="2025-10-07T12:00:00Z", stride=len(known) // 100, times_s=times
    )
    assert len(answer["satellites"]) >= 100
    day, fraction = sgp4.jday(*start)
    fractions = fraction + numpy.array(times) / 86_400
    days = numpy.full(len(times), day)
    worst_teme = worst_fixed = 0.0
    for found in answer["satellites"][:100]:
        satellite = sgp4.Satrec.twoline2rv(*known[found["number"]])
        errors, positions, velocities = satellite.sgp4_array(days, fractions)
        assert not errors.any()
        # UT1 = UTC and no polar motion, as in our model: skyfield's own rotation by GMST 1982. Its vectors are columns.
        fixed, _ = skyfield.TEME_to_ITRF(days + fractions, positions.T, velocities.T, 0.0, 0.0)
        for theirs, ours in ((positions, found["teme_km"]), (fixed.T, found["fixed_km"])):
            assert theirs.shape == (len(times), 3) == numpy.shape(ours)
        worst_teme = max(worst_teme, numpy.linalg.norm(positions - found["teme_km"], axis=1).max())
        worst_fixed = max(worst_fixed, numpy.linalg.norm(fixed.T - found["fixed_km"], axis=1).max())
    print(f"largest difference: {worst_teme * 1e3:.6f} m in TEME, {worst_fixed * 1e3:.3f} m Earth-fixed")
    assert worst_teme < 1e-3
    assert worst_fixed < 50e-3


def test_passes_of_iridium_next_over_five_cities(oracle: Oracle) -> None:
    """Every pass that skyfield finds in 24 hours, rise and set within 1 s."""
    api = pytest.importorskip("skyfield.api", reason="skipped: skyfield is not installed")
    path = elements("iridium_next-2025-10.tle")
    scale = timescale()
    begin, end = scale.utc(2025, 10, 7, 12), scale.utc(2025, 10, 8, 12)
    mask = 8.2
    worst, count = 0.0, 0
    for latitude, longitude in CITIES.values():
        answer = oracle.ask(
            op="passes",
            elements=str(path),
            start="2025-10-07T12:00:00Z",
            latitude_deg=latitude,
            longitude_deg=longitude,
            mask_deg=mask,
            until_s=86_400.0,
        )
        ours: dict[int, list[tuple[float, ...]]] = {}
        for found in answer["passes"]:
            ours.setdefault(found["number"], []).append((*found["times_s"][::2], found["highest_deg"]))
        place = api.wgs84.latlon(latitude, longitude)
        for number, lines in triples(path).items():
            events = api.EarthSatellite(*lines, "", scale).find_events(place, begin, end, altitude_degrees=mask)
            theirs = [((t.tt - begin.tt) * 86_400, event) for t, event in zip(*events, strict=True)]
            rises = [t for t, event in theirs if event == 0]
            sets = [t for t, event in theirs if event == 2]
            mine = [p for p in ours.get(number, []) if p[0] > 0.0]
            # A pass whose top is within 0.01 degrees of the mask may be seen by one side only.
            rising = [t for t, _, highest in mine if highest > mask + 0.01]
            for t in rising:
                assert min((abs(t - other) for other in rises), default=9e9) < 1.0
            for t in rises:
                off = min((abs(t - other) for other, _, _ in mine), default=9e9)
                assert off < 1.0, f"{number}: no rise at {t}"
                worst, count = max(worst, off), count + 1
            for t in sets:
                off = min((abs(t - other) for _, other, _ in ours.get(number, [])), default=9e9)
                assert off < 1.0, f"{number}: no set at {t}"
                worst = max(worst, off)
    print(f"{count} passes, largest difference {worst:.4f} s")
    assert count > 500


def walker_positions(q: dict[str, Any]) -> list[tuple[float, ...]]:
    """Earth-fixed positions of a Walker constellation, from its definition."""
    radius = A_KM + q["altitude_km"]
    motion = math.sqrt(MU / radius**3)
    inclination = math.radians(q["inclination_deg"])
    arc = math.pi if q["pattern"] == "star" else 2 * math.pi
    total = q["planes"] * q["per_plane"]
    places = []
    for plane in range(q["planes"]):
        for slot in range(q["per_plane"]):
            node = arc * plane / q["planes"] - ROTATION * q["at_s"]
            u = 2 * math.pi * (slot / q["per_plane"] + plane * q["phasing"] / total) + motion * q["at_s"]
            x, y, z = math.cos(u), math.sin(u) * math.cos(inclination), math.sin(u) * math.sin(inclination)
            turned = (x * math.cos(node) - y * math.sin(node), x * math.sin(node) + y * math.cos(node), z)
            places.append((radius * turned[0], radius * turned[1], radius * turned[2]))
    return places


def ground(latitude_deg: float, longitude_deg: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Position on WGS 84, and the vertical."""
    latitude, longitude = math.radians(latitude_deg), math.radians(longitude_deg)
    up = (math.cos(latitude) * math.cos(longitude), math.cos(latitude) * math.sin(longitude), math.sin(latitude))
    e2 = FLATTENING * (2 - FLATTENING)
    n = A_KM / math.sqrt(1 - e2 * up[2] ** 2)
    return (n * up[0], n * up[1], n * (1 - e2) * up[2]), up


def grid(q: dict[str, Any], places: list[tuple[float, ...]]) -> set[tuple[int, int]]:
    """The +Grid, lower end first, from its definition, where every rule allows it."""
    planes, per_plane = q["planes"], q["per_plane"]
    at = lambda p, s: p % planes * per_plane + s % per_plane  # noqa: E731
    pairs: set[tuple[int, int, bool]] = set()
    for p in range(planes):
        for s in range(per_plane):
            pairs.add((at(p, s), at(p, s + 1), False))
            if p + 1 < planes:
                pairs.add((at(p, s), at(p + 1, s), True))
            elif q["pattern"] == "delta":
                # Around the circle the phase has grown by F slots.
                pairs.add((at(p, s), at(0, s + q["phasing"]), True))
    kept = set()
    for a, b, between in pairs:
        first, second = places[a], places[b]
        limit = q.get("latitude_limit_deg")
        beyond = [abs(math.degrees(math.asin(p[2] / math.hypot(*p)))) > (limit or 90) for p in (first, second)]
        if between and limit is not None and any(beyond):
            continue
        line = [v - u for u, v in zip(first, second, strict=True)]
        share = -sum(u * d for u, d in zip(first, line, strict=True)) / sum(d * d for d in line)
        nearest = [u + min(1.0, max(0.0, share)) * d for u, d in zip(first, line, strict=True)]
        if math.hypot(*nearest) - A_KM < 80.0 or math.dist(first, second) > q.get("longest_km", 9e9):
            continue
        kept.add((min(a, b), max(a, b)))
    return kept


def nearest(q: dict[str, Any], places: list[tuple[float, ...]]) -> set[tuple[int, int]]:
    """The closest pairs first, while both ends have a transmitter free."""
    everyone = range(len(places))
    # A constellation is symmetric: lengths that are equal to the millimetre are equal.
    pairs = sorted((round(math.dist(places[a], places[b]) * 1e6), a, b) for a in everyone for b in everyone if a < b)
    free = [q["nearest"]] * len(places)
    kept = set()
    for millimetres, a, b in pairs:
        line = [(v - u) for u, v in zip(places[a], places[b], strict=True)]
        share = -sum(u * d for u, d in zip(places[a], line, strict=True)) / sum(d * d for d in line)
        lowest = math.hypot(*(u + min(1.0, max(0.0, share)) * d for u, d in zip(places[a], line, strict=True)))
        if millimetres <= q["longest_km"] * 1e6 and lowest - A_KM >= 80.0 and free[a] and free[b]:
            free[a] -= 1
            free[b] -= 1
            kept.add((a, b))
    return kept


def random_question(rng: random.Random, n: int) -> dict[str, Any]:
    """A constellation, two stations and an instant."""
    planes = rng.randint(3, 14)
    q: dict[str, Any] = {
        "op": "routes",
        "pattern": rng.choice(["star", "delta"]),
        "planes": planes,
        "per_plane": rng.randint(6, 24),
        "altitude_km": rng.uniform(500, 2000),
        "inclination_deg": rng.uniform(40, 100),
        "phasing": rng.randrange(planes),
        "stations_deg": [[rng.uniform(-65, 65), rng.uniform(-180, 180)] for _ in range(2)],
        "mask_deg": rng.uniform(0, 15),
        "at_s": float(rng.randrange(0, 86_400)),
        "metric": "hops" if n % 4 == 3 else "delay",
    }
    if n % 5 == 1:
        q["latitude_limit_deg"] = rng.uniform(50, 75)
    if n % 5 == 2:
        q["longest_km"] = rng.uniform(1500, 5000)
    if n % 5 == 3:
        q |= {"nearest": rng.randint(2, 5), "longest_km": rng.uniform(2000, 5000), "planes": min(planes, 8)}
        q["phasing"] %= q["planes"]
    return q


def test_routes_of_200_random_constellations(oracle: Oracle) -> None:
    """Links from their definitions, ways by networkx, delays within 1 ns per hop of range / c."""
    networkx = pytest.importorskip("networkx", reason="skipped: networkx is not installed")
    rng = random.Random(7)
    reached = 0
    for n in range(200):
        q = random_question(rng, n)
        answer = oracle.ask(**q)
        places: list[tuple[float, ...]] = list(walker_positions(q))
        count = len(places)
        links = nearest(q, places) if "nearest" in q else grid(q, places)
        ours = {(min(a, b), max(a, b)) for a, b in answer["isls"]}
        assert ours == links, q
        assert len(answer["isls"]) == 2 * len(ours), "both directions"
        graph = networkx.Graph()
        for end, place in enumerate(q["stations_deg"]):
            position, up = ground(*place)
            sines = []
            for satellite in places[:count]:
                line = [v - u for u, v in zip(position, satellite, strict=True)]
                sines.append(sum(u * d for u, d in zip(up, line, strict=True)) / math.hypot(*line))
            best = max(range(count), key=lambda s: sines[s])
            expected = best if sines[best] > math.sin(math.radians(q["mask_deg"])) else None
            assert answer["serving"][end] == expected
            places.append(position)
            if expected is not None:
                links.add((expected, count + end))
        big = 1e6 if q["metric"] == "hops" else 0.0
        for a, b in links:
            graph.add_edge(a, b, weight=big + math.dist(places[a], places[b]) / C_KM_S * 1e3)
        graph.add_nodes_from([count, count + 1])
        path = answer["path"]
        if not networkx.has_path(graph, count, count + 1):
            assert path is None
            continue
        reached += 1
        weight, way = networkx.single_source_dijkstra(graph, count, count + 1)
        assert path is not None
        hops = path["hops"]
        # The same way, or one that is no longer: rounding to nanoseconds decides between equals.
        if [count, *(to for _, to, _ in hops)] != way:
            own = sum(graph.edges[a, b]["weight"] for a, b, _ in hops)
            assert abs(own - weight) < len(hops) * 1e-6, q
        for a, b, delay_ns in hops:
            assert abs(delay_ns - math.dist(places[a], places[b]) / C_KM_S * 1e9) <= 1.0
        assert path["delay_ns"] == sum(delay for *_, delay in hops)
    print(f"{reached} of 200 pairs are connected")
    assert reached > 100
