"""Comparison with routes over a constellation that another tool computed: `rtt_A_to_B` and `path_A_to_B` of a folder.

The constellation is read from the folder: from Hypatia's own `tles.txt`, `isls.txt` and `description.txt` where it has
them, otherwise from the sentences of its `README.md`. No pair and no constellation is known by name.
"""

from __future__ import annotations

import gzip
import itertools
import json
import math
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from skyhop import _core, markdown
from skyhop.texts import DAMAGED

#: Largest difference of the round-trip times, ns. The aim of the comparison.
BOUND_NS = 1000.0

#: What the bound is in distance, m: half of it, one way. Two tools whose distances agree this well may still disagree
#: about a satellite that is nearer to the limit of distance than this.
SLACK_M = BOUND_NS / 2 * 1e-9 * 299_792_458.0

#: As many satellites at a time as a station can have: one that sees more would not be compared rightly.
ANTENNAS = 64

#: Instants of a pair, for memory: Hypatia's 200 s in steps of 1 ms are a fifth of them.
MOST_INSTANTS = 1_000_000

_PAIR = re.compile(r"rtt_(\d+)_to_(\d+)\.txt(\.gz)?")
_UNREACHABLE = "Unreachable"


@dataclass(frozen=True)
class Pair:
    """One pair of stations: at how many instants the route is the same, and how far apart the RTTs are there.

    `by_limit` counts instants at which the routes differ and agree if the limit of distance is 150 m shorter or longer
    (half a microsecond of light, the bound's own resolution); `unequal` all other instants at which they differ.
    `worst_ns` is None if no route is the same.
    """

    pair: str
    instants: int
    equal: int
    by_limit: int
    unequal: int
    worst_ns: float | None
    bound_ns: float
    changes: int
    first: str | None
    ok: bool

    def __str__(self) -> str:
        rtt = "no RTT compared" if self.worst_ns is None else f"RTT within {self.worst_ns:.0f} ns"
        parts = [f"{self.pair}: {self.equal} of {self.instants} routes equal, {rtt}"]
        if self.by_limit:
            parts.append(
                f"{self.by_limit} differ because a satellite is within {SLACK_M:.0f} m of the limit of distance"
            )
        if self.unequal:
            parts.append(f"{self.unequal} differ")
        if self.first is not None:
            parts.append(self.first)
        return "; ".join(parts)


@dataclass(frozen=True)
class _Sky:
    tles: str
    """Three lines for each satellite, which is called by its number."""
    epoch: datetime
    isls: list[tuple[int, int]]
    longest_gsl_km: float
    longest_isl_km: float | None
    satellites: int
    places: dict[int, tuple[float, float, float]]
    """Latitude and longitude in degrees and altitude in m, by number of node."""


def routes(folder: str | os.PathLike[str], *, pairs: list[str] | None = None) -> list[Pair]:
    """Compares every pair of a folder, in the order of its names; `pairs` ("1173-1241") selects.

    Raises ValueError for a folder that cannot be read, for a pair that it does not have, and for a README that leaves
    out what the constellation needs.
    """
    root = Path(folder)
    names = sorted((match for file in root.iterdir() if (match := _PAIR.fullmatch(file.name))), key=lambda m: m.string)
    ends = [(int(match[1]), int(match[2])) for match in names]
    if pairs:
        known = {f"{a}-{b}": (a, b) for a, b in ends}
        if unknown := [name for name in pairs if name not in known]:
            raise ValueError(f"{root}: it has no pair {unknown[0]}; it has {', '.join(known)}")
        ends = [known[name] for name in dict.fromkeys(pairs)]
    if not ends:
        raise ValueError(f"{root}: it has no file rtt_A_to_B.txt or rtt_A_to_B.txt.gz")
    sky = _sky(root)
    theirs = [_reference(root, a, b) for a, b in ends]
    steps = {times[1] - times[0] for times, _, _ in theirs}
    step_ns = min(steps)
    if len(steps) > 1:
        raise ValueError(f"{root}: the pairs have different steps: {', '.join(f'{step} ns' for step in sorted(steps))}")
    instants = max(len(times) for times, _, _ in theirs)
    ours = _ways(root, sky, ends, step_ns, instants, 0.0)
    near: list[list[_Way]] | None = None
    found = []
    for place, ((a, b), (_, rtts_ns, paths)) in enumerate(zip(ends, theirs, strict=True)):
        own = ours[place]
        differing = [n for n, path in enumerate(paths) if own[n].path != path]
        if differing and near is None:
            near = [
                [one for way in zip(*both, strict=True) for one in way]
                for both in zip(*(_ways(root, sky, ends, step_ns, instants, slack) for slack in (-SLACK_M, SLACK_M)),
                        strict=True)
            ]  # fmt: skip
        found.append(_compare(f"{a}-{b}", own, near[place] if near else [], rtts_ns, paths, step_ns))
    return found


@dataclass(frozen=True)
class _Way:
    path: str
    rtt_ns: float


def _compare(
    pair: str, own: list[_Way], near: list[_Way], rtts_ns: list[float], paths: list[str], step_ns: int
) -> Pair:
    equal = by_limit = unequal = 0
    offs_ns, first = [], None
    for n, (path, rtt_ns) in enumerate(zip(paths, rtts_ns, strict=True)):
        mine = own[n]
        if mine.path == path:
            equal += 1
            offs_ns.append(abs(mine.rtt_ns - rtt_ns))
        else:
            other = [way for way in near[2 * n : 2 * n + 2] if way.path == path]
            if other:
                by_limit += 1
                offs_ns.append(min(abs(way.rtt_ns - rtt_ns) for way in other))
            else:
                unequal += 1
                first = first or f"first at {n * step_ns / 1e9:g} s: there {path}, ours {mine.path}"
    worst_ns = max(offs_ns, default=None)
    changes = sum(before != after for before, after in itertools.pairwise(paths))
    ok = unequal == 0 and worst_ns is not None and worst_ns <= BOUND_NS
    return Pair(pair, len(paths), equal, by_limit, unequal, worst_ns, BOUND_NS, changes, first, ok)


def routes_summary(found: list[Pair]) -> str:
    """One sentence: how many pairs and routes agree."""
    instants, equal = sum(one.instants for one in found), sum(one.equal for one in found)
    near = sum(one.by_limit for one in found)
    limit = f" ({near} more with a limit of distance {SLACK_M:.0f} m off)" if near else ""
    worst_ns = max((one.worst_ns for one in found if one.worst_ns is not None), default=None)
    rtts = "no RTT was compared" if worst_ns is None else f"RTTs within {worst_ns:.0f} ns of the reference's"
    agree = f"{sum(one.ok for one in found)} of {len(found)} pairs agree"
    return f"{agree}; {equal} of {instants} routes are equal{limit}; {rtts}."


def routes_markdown(found: list[Pair]) -> str:
    """All pairs as a Markdown table, after the summary."""
    lines = [
        routes_summary(found),
        "",
        f"| pair | instants | routes equal | equal with the limit {SLACK_M:.0f} m off | unequal | "
        "changes of route | largest difference of RTT, ns |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for one in found:
        worst = "–" if one.worst_ns is None else round(one.worst_ns)
        numbers = (one.instants, one.equal, one.by_limit, one.unequal, one.changes, worst)
        lines.append(markdown.line([one.pair, *numbers]))
    return "\n".join(lines) + "\n"


def recognises(folder: Path) -> bool:
    """Whether a folder has a pair of files of this kind."""
    found = (match for file in folder.iterdir() if (match := _PAIR.fullmatch(file.name)))
    return any(_file(folder, f"path_{match[1]}_to_{match[2]}.txt") is not None for match in found)


def _ways(
    root: Path, sky: _Sky, ends: list[tuple[int, int]], step_ns: int, instants: int, slack_m: float
) -> list[list[_Way]]:
    """Our route of each pair at each instant, with the limit of distance moved by `slack_m`."""
    scenario = _scenario(sky, ends, step_ns, instants, slack_m)
    try:
        rows = json.loads(_core.Scenario.from_json(json.dumps(scenario)).paths_json(step_ns / 1e9))
    except _core.ScenarioError as error:
        raise ValueError(f"{root}: its constellation cannot be built: {error}") from None
    by_flow = {row["flow"]: row for row in rows}
    found = []
    for a, b in ends:
        row = by_flow[f"{a}-to-{b}"]
        paths: list[str] = []
        changes = [*row["paths"], [instants, []]]
        for (start, nodes), (end, _) in itertools.pairwise(changes):
            path = "-".join(node.split("-")[1] for node in nodes) or _UNREACHABLE
            paths += [path] * (end - start)
        delays = row["delays_ns"]
        found.append(
            [_Way(path, 0.0 if delay is None else 2.0 * delay) for path, delay in zip(paths, delays, strict=True)]
        )
    return found


def _scenario(sky: _Sky, ends: list[tuple[int, int]], step_ns: int, instants: int, slack_m: float) -> dict[str, Any]:
    step = f"{step_ns} ns"
    isl: dict[str, Any] = {
        "rate": "1 Gbit/s", "every": step, "grazing_altitude": "0 km", "latitude_cut": "90 deg",
        "layout": {"list": [[f"n-{a}", f"n-{b}"] for a, b in sky.isls]},
    }  # fmt: skip
    if sky.longest_isl_km is not None:
        isl["longest"] = f"{sky.longest_isl_km!r} km"
    stations = {}
    for node in sorted({node for pair in ends for node in pair}):
        if node not in sky.places:
            raise ValueError(f"node {node} is not a station of the list (those begin at node {sky.satellites})")
        latitude, longitude, altitude_m = sky.places[node]
        stations[f"n-{node}"] = {
            "latitude": f"{latitude!r} deg", "longitude": f"{longitude!r} deg",
            "altitude": f"{altitude_m / 1000!r} km", "antennas": ANTENNAS,
        }  # fmt: skip
    flow = {"udp": {}, "application": {"constant_rate": {"rate": "1 kbit/s", "payload": "100 B"}}}
    return {
        "duration": f"{step_ns * (instants - 1)} ns",
        "constellation": {
            "elements": {"text": sky.tles},
            "epoch": sky.epoch.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "isl": isl,
            "gsl": {
                "rate": "1 Gbit/s", "elevation_mask": "0 deg",
                "longest": f"{sky.longest_gsl_km + slack_m / 1000!r} km",
                "handover": {"policy": "nearest", "every": step},
            },
        },
        # Hypatia works the routes out at every step.
        "routing": {"every": step},
        "stations": stations,
        "flows": [{"name": f"{a}-to-{b}", "from": f"n-{a}", "to": f"n-{b}", **flow} for a, b in ends],
    }  # fmt: skip


def _file(root: Path, name: str) -> Path | None:
    """A file, or its compressed form."""
    return next((file for file in (root / name, root / f"{name}.gz") if file.is_file()), None)


def _lines(file: Path) -> list[str]:
    try:
        content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        return [line for line in content.decode().splitlines() if line.strip()]
    except DAMAGED as error:
        raise ValueError(f"{file}: {error}") from None


def _reference(root: Path, a: int, b: int) -> tuple[list[int], list[float], list[str]]:
    """Instants in ns, RTT in ns (0 without a path) and route at each."""
    rtt_file, path_file = (_file(root, f"{kind}_{a}_to_{b}.txt") for kind in ("rtt", "path"))
    if rtt_file is None or path_file is None:
        raise ValueError(f"{root}: the pair {a}-{b} has no path_{a}_to_{b}.txt")
    rtts = dict(_rows(rtt_file, _rtt, "a round-trip time in ns, 0 without a route"))
    route = re.compile(rf"{a}(-\d+)*-{b}|{_UNREACHABLE}")
    what = f"a route: numbers of nodes from {a} to {b} with - between them, or {_UNREACHABLE}"
    changes = _rows(path_file, lambda text: text if route.fullmatch(text) else None, what)
    times = list(rtts)
    if len(times) < 2 or not changes or changes[0][0] > 0 or times[0] != 0:
        raise ValueError(f"{rtt_file}: needs two instants or more from time 0 on, with a route from time 0 on")
    step = min(after - before for before, after in itertools.pairwise(times))
    if times[-1] // step >= MOST_INSTANTS:
        raise ValueError(f"{rtt_file}: {times[-1]} ns at steps of {step} ns are more than {MOST_INSTANTS} instants")
    # An instant without a path may be missing.
    instants = [step * n for n in range(times[-1] // step + 1)]
    if not set(times) <= set(instants):
        raise ValueError(f"{rtt_file}: its instants are not multiples of {step} ns")
    paths, at = [], 0
    for instant in instants:
        while at + 1 < len(changes) and changes[at + 1][0] <= instant:
            at += 1
        paths.append(changes[at][1])
    return instants, [rtts.get(instant, 0.0) for instant in instants], paths


def _rtt(text: str) -> float | None:
    rtt_ns = float(text)
    return rtt_ns if math.isfinite(rtt_ns) and rtt_ns >= 0.0 else None


def _rows(file: Path, convert: Callable[[str], Any | None], what: str) -> list[tuple[int, Any]]:
    """Times in ns, which increase, and the value of each; `what` says what a value has to be."""
    rows: list[tuple[int, Any]] = []
    for line in _lines(file):
        time_text, _, text = line.partition(",")
        try:
            time, value = int(time_text), convert(text.strip())
        except ValueError:
            raise ValueError(f"{file}: {line!r} is not a time in ns, a comma and a value") from None
        if value is None:
            raise ValueError(f"{file}: {line!r} does not have {what}")
        if rows and time <= rows[-1][0]:
            raise ValueError(f"{file}: {line!r} comes after the line for {rows[-1][0]} ns; times have to increase")
        rows.append((time, value))
    return rows


def _sky(root: Path) -> _Sky:
    own = [root / name for name in ("tles.txt", "isls.txt", "description.txt")]
    if all(file.is_file() for file in own):
        tles, epoch, satellites = _tles(own[0])
        isls = _isls(own[1])
        limits = dict(line.split("=", 1) for line in _lines(own[2]) if "=" in line)
        try:
            gsl_km, isl_km = (float(limits[f"max_{kind}_length_m"]) / 1000 for kind in ("gsl", "isl"))
        except (KeyError, ValueError):
            raise ValueError(f"{own[2]}: needs max_gsl_length_m and max_isl_length_m") from None
        return _Sky(tles, epoch, isls, gsl_km, isl_km, satellites, _places(root, satellites))
    return _of_words(root)


def _isls(file: Path) -> list[tuple[int, int]]:
    """The numbers of the two satellites of each link."""
    isls = []
    for line in _lines(file):
        ends = line.split()
        if len(ends) != 2 or not all(map(str.isdecimal, ends)):
            raise ValueError(f"{file}: {line!r} is not the numbers of two satellites")
        isls.append((int(ends[0]), int(ends[1])))
    return isls


def _of_words(root: Path) -> _Sky:
    """The constellation that a README describes in sentences."""
    readme = root / "README.md"
    text = " ".join(" ".join(_lines(readme)).split()) if readme.is_file() else ""
    number = r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)"

    def find(what: str, pattern: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        if match := re.search(pattern, text, re.IGNORECASE):
            return match.groups()
        if default is not None:
            return default
        raise ValueError(f"{readme}: does not say {what}; needed is that, or tles.txt, isls.txt and "
                         "description.txt as Hypatia writes them")  # fmt: skip

    planes, per_plane = map(int, find('the planes ("34 planes of 34 satellites")', r"(\d+) planes of (\d+) satellites"))
    if not planes or not per_plane:
        raise ValueError(f"{readme}: {planes} planes of {per_plane} satellites: a constellation needs one at least")
    arc, divisor = find("the planes' nodes", r"right ascension (\d+) \*? ?k ?/ ?([1-9]\d*)", ("360", str(planes)))
    (inclination,) = find("the inclination", rf"inclination (?:of )?{number}")
    (eccentricity,) = find("the eccentricity", rf"eccentricity (?:of )?{number}", ("1e-7",))
    (perigee,) = find("the argument of perigee", rf"argument of perigee (?:of )?{number}", ("0",))
    (motion,) = find("the mean motion", rf"mean motion (?:of )?{number} rev")
    odd, odd_divisor = find("the odd planes' offset", rf"odd plane,? {number} ?/ ?([1-9]\d*) degrees? more", ("0", "1"))
    day, clock = find("the epoch", r"epoch (\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d))?")
    try:
        epoch = datetime.fromisoformat(f"{day} {clock or '00:00'}")
    except ValueError as error:
        raise ValueError(f"{readme}: the epoch {day} {clock or ''} is not a time: {error}") from None
    # The formula is exact where the printed number is rounded.
    if slant := re.search(
        rf"sqrt\(\(\s*{number} km(?: ?/ ?tan\(? ?{number} deg(?:rees)?\)?)?\s*\)\^2 \+ \(\s*{number} km\s*\)\^2\)",
        text,
        re.IGNORECASE,
    ):
        cone = float(slant[1]) / (math.tan(math.radians(float(slant[2]))) if slant[2] else 1.0)
        gsl_km = math.hypot(cone, float(slant[3]))
    else:
        gsl_km = float(find("how far a station sees", rf"sees a satellite whose distance is at most {number} km")[0])
    isl_km = find("how long an ISL may be", rf"ISL may be at most {number} km", ("0",))[0]
    closes = re.search(r"last plane (?:joins|is joined to) the first", text) is not None
    turn = float(arc) / float(divisor)
    satellites = planes * per_plane
    lines, isls = [], []
    for k in range(planes):
        for n in range(per_plane):
            anomaly = (360.0 * n / per_plane + (k % 2) * float(odd) / float(odd_divisor)) % 360.0
            elements = (
                float(inclination),
                k * turn % 360.0,
                float(eccentricity),
                float(perigee),
                anomaly,
                float(motion),
            )
            lines += two_lines(k * per_plane + n, epoch, elements)
            if per_plane > 2 or n + 1 < per_plane:
                isls.append((k * per_plane + n, k * per_plane + (n + 1) % per_plane))
            if k + 1 < planes or (closes and planes > 2):
                isls.append((k * per_plane + n, (k + 1) % planes * per_plane + n))
    (first,) = find("the stations' numbers", r"node id ?= ?(\d+) \+ id", (str(satellites),))
    if int(first) != satellites:
        raise ValueError(f"{readme}: stations begin at node {first}, but there are {satellites} satellites")
    places = _places(root, satellites)
    return _Sky("\n".join(lines) + "\n", epoch, isls, gsl_km, float(isl_km) or None, satellites, places)


def _places(root: Path, satellites: int) -> dict[int, tuple[float, float, float]]:
    """Of each station, by its node: latitude and longitude in degrees, altitude in m."""
    file = next(iter(sorted(root.glob("ground_stations*.txt"))), None)
    if file is None:
        raise ValueError(f"{root}: it has no ground_stations*.txt (id,name,latitude,longitude,elevation)")
    places = {}
    for line in _lines(file):
        # A name may hold a comma; Hypatia's own files have three more columns, the place in metres.
        match = re.match(r"(\d+),(.*?),(-?[\d.]+),(-?[\d.]+),(-?[\d.]+)(,|$)", line)
        try:
            if match is None:
                raise ValueError
            places[satellites + int(match[1])] = (float(match[3]), float(match[4]), float(match[5]))
        except ValueError:
            raise ValueError(f"{file}: {line!r} is not id,name,latitude,longitude,elevation") from None
    return places


def _tles(file: Path) -> tuple[str, datetime, int]:
    """Hypatia's list of elements: planes and satellites per plane, then three lines for each satellite, in order."""
    lines = _lines(file)
    head, body = [word for word in "".join(lines[:1]).split() if word.isdecimal()], lines[1:]
    if not body or len(head) != 2 or len(body) != 3 * int(head[0]) * int(head[1]):
        raise ValueError(f"{file}: needs the number of planes and of satellites in each, then three lines for each")
    out = []
    for n in range(len(body) // 3):
        out += [f"n-{n}", body[3 * n + 1], body[3 * n + 2]]
    try:
        year, day = int(body[1][18:20]), float(body[1][20:32])
        epoch = datetime(2000 + year if year < 57 else 1900 + year, 1, 1) + timedelta(days=day - 1)
    except (ValueError, OverflowError):
        raise ValueError(f"{file}: {body[1]!r} has no epoch in its columns 19 to 32") from None
    return "\n".join(out) + "\n", epoch, len(body) // 3


def two_lines(number: int, epoch: datetime, elements: tuple[float, float, float, float, float, float]) -> list[str]:
    """A set of two lines, whose angles have four decimals: with these the reference's tool propagated."""
    inclination, node, eccentricity, perigee, anomaly, motion = elements
    day = (epoch - datetime(epoch.year, 1, 1)) / timedelta(days=1) + 1
    first = f"1 {number + 1:05d}U 00000A   {epoch.year % 100:02d}{day:012.8f}  .00000000  00000-0  00000-0 0    0"
    second = (
        f"2 {number + 1:05d} {inclination:8.4f} {node:8.4f} {round(eccentricity * 1e7):07d} {perigee:8.4f} "
        f"{anomaly:8.4f} {motion:11.8f}{0:5d}"
    )

    def checked(line: str) -> str:
        return f"{line}{sum(int(c) if c.isdigit() else c == '-' for c in line) % 10}"

    return [f"n-{number}", checked(first), checked(second)]
