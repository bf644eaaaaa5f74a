"""Hypatia's folders (S. Kassing et al., IMC 2020): the constellation as satgenpy writes it, and a run of its ns-3 part.

Formats: satgenpy/README.md of github.com/snkas/hypatia, and the document on TCP flows of
github.com/snkas/basic-sim. Satellites
are nodes 0 to N - 1 in the order of `tles.txt`, ground stations follow. They keep these numbers, as `n-17`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from skyhop.imports.draft import Draft, ImportProblem, Wanted, seconds, text_of

#: Satellites that a station of ours may use at a time; Hypatia's may use all in range.
_ANTENNAS = 64

#: Types of ns-3 and what they are here.
_TCP = {"TcpNewReno": "newreno", "TcpVegas": "vegas", "TcpCubic": "cubic", "TcpBic": "bic", "TcpHybla": "hybla",
        "TcpVeno": "veno", "TcpIllinois": "illinois", "TcpYeah": "yeah", "TcpHtcp": "htcp"}  # fmt: skip


def read(sources: Sequence[Path], wanted: Wanted) -> Draft:
    """The constellation with the flows of the schedule; the sources are folders that together hold the files."""
    for folder in sources:
        if not folder.is_dir():
            raise ImportProblem(
                f"{folder} is not a folder; give the one with tles.txt, and that of the run if it is another"
            )
    tles, epoch, satellites = _satellites(_needed(sources, "tles.txt"))
    isls = _isls(_needed(sources, "isls.txt"), satellites)
    stations = _stations(_needed(sources, "ground_stations.txt"), satellites)
    limits = _properties(_found(sources, "description.txt"))
    config = _properties(_found(sources, "config_ns3.properties"))
    flows = _flows(_needed(sources, "tcp_flow_schedule.csv"), stations, _tcp(config))
    notes = [
        f"{satellites} satellites, {len(isls)} links between them, {len(stations)} stations, {len(flows)} flows.",
        "A station has a link of its own to each satellite in range; Hypatia's has one interface, which all share.",
    ]
    if config.get("satellite_network_force_static") == "true":
        raise ImportProblem(
            "config_ns3.properties says satellite_network_force_static=true, a sky that stands still, which a scenario "
            "cannot say"
        )
    others = [key for key in ("enable_udp_burst_scheduler", "enable_pingmesh_scheduler") if config.get(key) == "true"]
    if others:
        notes.append(f"Only the TCP flows are taken; config_ns3.properties has other traffic: {', '.join(others)}.")
    rates, queues = {}, {}
    for kind in ("isl", "gsl"):
        told = config.get(f"{kind}_data_rate_megabit_per_s")
        if told is None and wanted.rate is None:
            raise ImportProblem(
                f"no config_ns3.properties with {kind}_data_rate_megabit_per_s: give the rate with --rate"
            )
        rates[kind] = f"{_number(told, kind):.12g} Mbit/s" if told is not None else wanted.rate
        packets = config.get(f"{kind}_max_queue_size_pkts")
        queues[kind] = {} if packets is None else {"queue": {"drop_tail": {"packets": int(_number(packets, kind))}}}
    if wanted.rate is not None and all(f"{kind}_data_rate_megabit_per_s" in config for kind in rates):
        raise ImportProblem("config_ns3.properties says the rates: --rate has no effect, so leave it out")
    end = config.get("simulation_end_time_ns")
    if end is None and wanted.duration is None:
        raise ImportProblem("no config_ns3.properties with simulation_end_time_ns: give the length with --duration")
    if end is not None and wanted.duration is not None:
        raise ImportProblem(
            "config_ns3.properties says the length of the run: --duration has no effect, so leave it out"
        )
    every = f"{int(_number(config.get('dynamic_state_update_interval_ns', '100000000'), 'interval'))} ns"
    isl: dict[str, Any] = {"rate": rates["isl"], **queues["isl"], "every": every, "latitude_cut": "90 deg"}
    isl |= {"grazing_altitude": "0 km", "layout": {"list": [[f"n-{a}", f"n-{b}"] for a, b in isls]}}
    gsl: dict[str, Any] = {"rate": rates["gsl"], **queues["gsl"], "elevation_mask": "0 deg"}
    gsl["handover"] = {"policy": "nearest", "every": every}
    for kind, section in (("isl", isl), ("gsl", gsl)):
        told = limits.get(f"max_{kind}_length_m")
        if told is not None:
            section["longest"] = f"{_number(told, kind) / 1000!r} km"
        elif kind == "gsl":
            raise ImportProblem(
                "no description.txt with max_gsl_length_m: which satellites a station sees is not known"
            )
    sections = {
        "duration": wanted.duration or seconds(int(_number(str(end), "end")) / 1e9),
        # The TCPs of ns-3 follow papers and RFCs, as Skyhop's own do.
        "profile": "rfc",
        "routing": {"every": every},
        "constellation": {
            "elements": "satellites.tle", "epoch": f"{epoch.isoformat()}Z", "isl": isl, "gsl": gsl,
        },
        "stations": stations,
        "flows": flows,
    }  # fmt: skip
    return Draft(sections, {"satellites.tle": tles}, tuple(notes))


def _found(sources: Sequence[Path], name: str) -> Path | None:
    return next((folder / name for folder in sources if (folder / name).is_file()), None)


def _needed(sources: Sequence[Path], name: str) -> Path:
    if (path := _found(sources, name)) is None:
        raise ImportProblem(f"{', '.join(map(str, sources))}: no {name}, which Hypatia's folders hold")
    return path


def _lines(path: Path) -> list[str]:
    return [line.strip() for line in text_of(path).splitlines() if line.strip()]


def _properties(path: Path | None) -> dict[str, str]:
    if path is None:
        return {}
    pairs = (line.split("=", 1) for line in _lines(path) if "=" in line and not line.startswith("#"))
    return {key.strip(): value.strip().strip('"') for key, value in pairs}


def _number(text: str, what: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise ImportProblem(f"{text!r} ({what}) is not a number") from None
    if not 0 <= number < 1e30:
        raise ImportProblem(f"{text!r} ({what}) is not a number that can be")
    return number


def _satellites(path: Path) -> tuple[str, datetime, int]:
    """Elements with names by number, the epoch that all share, and how many there are."""
    lines = _lines(path)
    head = lines[0].split() if lines else []
    if len(head) != 2 or not all(word.isdigit() for word in head):
        raise ImportProblem(f"{path}: the first line is the number of orbits and of satellites in each")
    count = int(head[0]) * int(head[1])
    if len(lines) != 1 + 3 * count:
        raise ImportProblem(
            f"{path}: {count} satellites need {3 * count} lines after the first, and there are {len(lines) - 1}"
        )
    out, epochs = [], set()
    for number in range(count):
        first, second = lines[3 * number + 2], lines[3 * number + 3]
        out += [f"n-{number}", first, second]
        epochs.add(first[18:32])
    if len(epochs) > 1:
        raise ImportProblem(f"{path}: the satellites have {len(epochs)} epochs, and Hypatia propagates from one")
    text = epochs.pop() if epochs else ""
    try:
        year, day = int(text[:2]), float(text[2:])
    except ValueError:
        raise ImportProblem(f"{path}: {text!r} is not the epoch of a TLE") from None
    epoch = datetime(2000 + year if year < 57 else 1900 + year, 1, 1) + timedelta(days=day - 1)
    return "\n".join(out) + "\n", epoch, count


def _isls(path: Path, satellites: int) -> list[tuple[int, int]]:
    found = []
    for line in _lines(path):
        ends = line.split()
        if len(ends) != 2 or not all(end.isdigit() and int(end) < satellites for end in ends):
            raise ImportProblem(f"{path}: {line!r} is not two numbers of satellites from 0 to {satellites - 1}")
        found.append((int(ends[0]), int(ends[1])))
    if not found:
        raise ImportProblem(f"{path}: no link between satellites; paths over ground relays alone are not imported")
    return found


def _stations(path: Path, satellites: int) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for line in _lines(path):
        # A name may hold a comma; extended files have three more columns, the place in metres.
        match = re.match(r"(\d+),(.*?),(-?[\d.]+),(-?[\d.]+),(-?[\d.]+)(,|$)", line)
        if match is None or int(match[1]) != len(found):
            raise ImportProblem(
                f"{path}: {line[:60]!r} is not id,name,latitude,longitude,elevation with the id {len(found)}"
            )
        found[f"n-{satellites + len(found)}"] = {
            "latitude": f"{match[3]} deg", "longitude": f"{match[4]} deg", "altitude": f"{match[5]} m",
            "antennas": _ANTENNAS,
        }  # fmt: skip
    return found


def _tcp(config: dict[str, str]) -> str:
    kind = config.get("tcp_socket_type", "TcpNewReno")
    if kind not in _TCP:
        raise ImportProblem(f"tcp_socket_type {kind}: is not known here; known are {', '.join(_TCP)}")
    return _TCP[kind]


def _flows(path: Path, stations: dict[str, Any], tcp: str) -> list[dict[str, Any]]:
    flows = []
    for line in _lines(path):
        fields = line.split(",")
        if len(fields) != 7 or not all(field.isdigit() for field in fields[:5]):
            raise ImportProblem(f"{path}: {line[:60]!r} is not id,from,to,bytes,start in ns,parameters,metadata")
        if fields[5]:
            raise ImportProblem(
                f"{path}: flow {fields[0]} has parameters of its own ({fields[5]}), which are not known here"
            )
        ends = [f"n-{field}" for field in fields[1:3]]
        for end in ends:
            if end not in stations:
                raise ImportProblem(f"{path}: flow {fields[0]}: {end[2:]} is not the node of a ground station")
        flows.append({
            "name": f"flow-{fields[0]}", "from": ends[0], "to": ends[1], "tcp": tcp,
            "application": {"ftp": {"bytes": f"{fields[3]} B"}}, "start": f"{fields[4]} ns",
        })  # fmt: skip
    if not flows:
        raise ImportProblem(f"{path}: holds no flow")
    return flows
