"""Makes small runs that each show one thing on the page.

Usage: python make_scenes.py FOLDER
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path

import polars as pl

import skyhop
from skyhop import cli

WIRE = """
[[links]]
between = ["left", "right"]
rate = "{rate}"
delay = "20 ms"
queue = {{ drop_tail = {{ packets = {room} }} }}
"""

MANY = (
    '# Many flows\nduration = "20 s"\nprofile = "rfc"\n'
    + WIRE.format(rate="20 Mbit/s", room=100)
    + """
[[flows]]
name = "f"
count = 1000
from = "left"
to = "right"
tcp = "reno"
application = { ftp = { bytes = "30 kB" } }
[records]
grid = "200 ms"
"""
)


def one_flow(title: str, *, duration: str, rate: str, room: int, delay: str = "20 ms", grid: str) -> str:
    """A scenario of one flow with Reno over one link whose queue has `room` packets."""
    return (
        f'# {title}\nduration = "{duration}"\nprofile = "rfc"\n'
        + WIRE.format(rate=rate, room=room).replace("20 ms", delay)
        + f"""
[[flows]]
name = "a"
from = "left"
to = "right"
tcp = "reno"
[records]
grid = "{grid}"
"""
    )


MILLION = one_flow("A million steps", duration="1000 s", rate="1 Mbit/s", room=20, grid="1 ms")

SHORT = one_flow("Slow start", duration="6 s", rate="5 Mbit/s", room=2000, delay="280 ms", grid="20 ms")

NEAREST = """# ISLs to the nearest
duration = "40 s"
profile = "rfc"
[constellation]
shells = [{ name = "leo", planes = 8, per_plane = 12, altitude = "1200 km", inclination = "60 deg" }]
[constellation.isl]
layout = { nearest = { links = 3 } }
longest = "6000 km"
rate = "25 Mbit/s"
[constellation.gsl]
elevation_mask = "10 deg"
rate = "5 Mbit/s"
[stations]
berlin = { latitude = "52.5 deg", longitude = "13.4 deg" }
tokyo = { latitude = "35.7 deg", longitude = "139.7 deg" }
[[flows]]
name = "a"
from = "berlin"
to = "tokyo"
tcp = "cubic"
[records]
grid = "100 ms"
positions = "5 s"
"""

#: A link that is gone for 1.1 s; ten flows, of which the last has most of the capacity.
OUTAGE = """# An outage
duration = "40 s"
profile = "rfc"
[[links]]
between = ["left", "middle"]
rate = "100 Mbit/s"
delay = "1 ms"
[[links]]
between = ["middle", "right"]
rate = "4 Mbit/s"
delay = "30 ms"
queue = { drop_tail = { packets = 60 } }
[[links]]
between = ["middle", "far"]
rate = "40 Mbit/s"
delay = "30 ms"
queue = { drop_tail = { packets = 300 } }
errors = [{ trace = { during = [["15 s", "16.1 s"]] } }]
[[flows]]
name = "slow"
count = 9
from = "left"
to = "right"
tcp = "sack"
[[flows]]
name = "fast"
from = "left"
to = "far"
tcp = "cubic"
[records]
grid = "100 ms"
"""

#: The same with the packets of the first links, which the page is to find without them.
OUTAGE_PACKETS = OUTAGE + 'packets = ["left->middle"]\n'

#: Every handover leaves the station without a link for 1.1 s.
HANDOVER = """# A stall at a handover
duration = "60 s"
profile = "rfc"
[constellation]
shells = [{ name = "leo", planes = 24, per_plane = 22, altitude = "550 km", inclination = "53 deg", phasing = 5 }]
isl = { rate = "100 Mbit/s" }
[constellation.gsl]
rate = "10 Mbit/s"
queue = { drop_tail = { packets = 100 } }
elevation_mask = "20 deg"
handover = { policy = "highest-elevation", every = "20 s" }
switching = { break_before_make = { outage = "1.1 s" } }
[stations]
london = { latitude = "51.5 deg", longitude = "-0.1 deg" }
new-york = { latitude = "40.7 deg", longitude = "-74.0 deg" }
[[flows]]
name = "cubic"
from = "london"
to = "new-york"
tcp = "cubic"
[records]
grid = "100 ms"
positions = "5 s"
"""

#: At 40 s the user's packets take another gateway, with a slow and long wire; at 60 s the user leaves the satellites.
GATEWAYS = """# Gateways and a network on the ground
duration = "80 s"
profile = "rfc"
[constellation]
shells = [{ name = "leo", planes = 24, per_plane = 22, altitude = "550 km", inclination = "53 deg", phasing = 5 }]
[constellation.gsl]
rate = "10 Mbit/s"
queue = { drop_tail = { packets = 100 } }
elevation_mask = "25 deg"
gateways = "bent-pipe"
handover = { policy = "highest-elevation", every = "20 s" }
[stations]
oslo = { latitude = "59.9 deg", longitude = "10.8 deg" }
madrid = { latitude = "40.4 deg", longitude = "-3.7 deg" }
[stations.user]
latitude = "51.5 deg"
longitude = "-0.1 deg"
terrestrial = { to = "internet", when = { during = [["55 s", "75 s"]] } }
[[links]]
between = ["oslo", "internet"]
rate = "2 Mbit/s"
delay = "60 ms"
[[links]]
between = ["madrid", "internet"]
rate = "100 Mbit/s"
delay = "5 ms"
[[links]]
between = ["internet", "user"]
rate = "1 Mbit/s"
delay = "15 ms"
[[flows]]
name = "download"
from = "internet"
to = "user"
tcp = "cubic"
[records]
grid = "100 ms"
positions = "5 s"
"""

#: Every packet at the sender's link, through losses in slow start and later; QUIC joins for the last seconds.
PACKETS = (
    '# Packets\nduration = "20 s"\nprofile = "rfc"\n'
    + WIRE.format(rate="2 Mbit/s", room=20).replace("20 ms", "100 ms")
    + """
[[flows]]
name = "a"
from = "left"
to = "right"
tcp = "sack"
[[flows]]
name = "quic"
from = "left"
to = "right"
quic = "quinn"
start = "12 s"
[records]
grid = "50 ms"
packets = ["left->right"]
"""
)

#: Vegas backs off from the queue that two others keep full, and never stalls.
SHARE = (
    '# A share that is too small\nduration = "60 s"\nprofile = "rfc"\n'
    + WIRE.format(rate="6 Mbit/s", room=150)
    + """
[[flows]]
name = "modest"
from = "left"
to = "right"
tcp = "vegas"
[[flows]]
name = "greedy"
count = 2
from = "left"
to = "right"
tcp = "sack"
[records]
grid = "100 ms"
"""
)

#: Three connections end: too many holes in a stream, an idle timeout, and one that never carried anything.
ENDED = """# Connections that end
duration = "20 s"
[[links]]
between = ["hub", "terminal"]
delay = "300 ms"
forward = { rate = "20 Mbit/s" }
backward = { rate = "2 Mbit/s" }
queue = { drop_tail = { packets = 1221, counts = "waiting" } }
[[links]]
between = ["hub", "mast"]
delay = "20 ms"
rate = "2 Mbit/s"
queue = { drop_tail = { packets = 20 } }
errors = [{ trace = { during = [["9 s", "20 s"]] } }]
[[links]]
between = ["hub", "cellar"]
delay = "20 ms"
rate = "2 Mbit/s"
errors = [{ packet = 1.0 }]
[[flows]]
name = "download"
from = "hub"
to = "terminal"
quic = { stack = "quinn", stream_window = "8 MB" }
application = { ftp = { bytes = "12 MB" } }
[[flows]]
name = "music"
from = "hub"
to = "mast"
quic = { stack = "quinn", idle_timeout = "5 s" }
[[flows]]
name = "silent"
from = "hub"
to = "cellar"
quic = { stack = "quinn", idle_timeout = "5 s" }
application = { ftp = { bytes = "1 MB" } }
[records]
grid = "100 ms"
"""

#: A call, messages with deadlines, a workload of short transfers, and a queue that marks.
APPS = """# Applications
duration = "20 s"
profile = "linux"
[[links]]
between = ["left", "right"]
rate = "4 Mbit/s"
delay = "20 ms"
queue = { codel = { ecn = true } }
[[flows]]
name = "bulk"
from = "left"
to = "right"
tcp = { name = "cubic", ecn = "on" }
[[flows]]
name = "call"
from = "left"
to = "right"
udp = {}
application = { call = {} }
[[flows]]
name = "game"
from = "left"
to = "right"
udp = {}
application = { messages = { payload = "200 B", every = "50 ms", deadline = "80 ms" } }
[[workloads]]
name = "web"
from = "left"
to = "right"
tcp = "cubic"
arrivals = { poisson = { load = "1 Mbit/s" } }
sizes = { lognormal = { median = "10 kB", sigma = 1.0 } }
stop = "15 s"
[records]
grid = "100 ms"
packets = ["left->right"]
"""

#: Senders that pace at rates of their own, and one that does not.
PACING = (
    '# Pacing\nduration = "10 s"\nprofile = "rfc"\n'
    + WIRE.format(rate="8 Mbit/s", room=60)
    + """
[[flows]]
name = "bbr"
from = "left"
to = "right"
tcp = { profile = "linux", name = "bbr" }
[[flows]]
name = "hybla"
from = "left"
to = "right"
tcp = "hybla"
start = "2 s"
[[flows]]
name = "plain"
from = "left"
to = "right"
tcp = "reno"
[records]
grid = "100 ms"
"""
)

#: Losses by chance, so that seeds differ.
CHANCE = """# Losses by chance
duration = "10 s"
profile = "rfc"
[[links]]
between = ["left", "right"]
rate = "5 Mbit/s"
delay = "20 ms"
queue = { drop_tail = { packets = 50 } }
errors = [{ packet = 0.005 }]
[[flows]]
name = "a"
from = "left"
to = "right"
tcp = "reno"
[records]
grid = "100 ms"
"""

SEEDS = (1, 2, 3, 4)

#: The same over two TCPs and two rates.
SWEEP = """scenario = "chance.toml"
seeds = [1, 2, 3, 4]
[axes]
tcp = { key = "flows[*].tcp.name", values = ["reno", "sack"] }
rate = { key = "links[0].rate", values = ["5 Mbit/s", "2 Mbit/s"] }
"""

#: +Grid over published elements: no name tells a plane.
ELEMENTS = """# Planes of elements
duration = "10 s"
profile = "rfc"
[constellation]
elements = "{file}"
epoch = "2025-10-07T12:00:00Z"
[constellation.isl]
layout = "grid"
rate = "25 Mbit/s"
[constellation.gsl]
elevation_mask = "10 deg"
rate = "25 Mbit/s"
[stations]
here = {{ city = "Berkeley, US" }}
there = {{ city = "Chennai" }}
[[flows]]
name = "a"
from = "here"
to = "there"
tcp = "reno"
application = "ftp"
[records]
grid = "1 s"
positions = "5 s"
"""

#: A ship that moves, a mask of its own, a split connection, a workload, and steps longer than what charts are made of.
AWAY = """# A ship that moves
duration = "100 s"
profile = "rfc"
[constellation]
preset = "iridium"
[constellation.gsl]
rate = "4 Mbit/s"
[stations]
base = { latitude = "47 deg", longitude = "8 deg" }
[stations.ship]
elevation_mask = "12 deg"
track = [
  { at = "10 s", latitude = "45 deg", longitude = "0 deg" },
  { at = "1.5 min", latitude = "50 deg", longitude = "20 deg", altitude = "300 m" },
]
[[links]]
between = ["server", "proxy"]
rate = "20 Mbit/s"
delay = "5 ms"
[[links]]
between = ["proxy", "base"]
rate = "20 Mbit/s"
delay = "5 ms"
[[agents]]
at = "proxy"
pep = {}
[[flows]]
name = "split"
from = "server"
to = "ship"
via = ["proxy"]
tcp = "cubic"
[[workloads]]
name = "web"
from = "server"
to = "ship"
tcp = "cubic"
sizes = { constant = "200 kB" }
arrivals = { at = { text = "time_s\\n1\\n50\\n" } }
[records]
grid = "5 s"
positions = "30 s"
"""

#: More flows than are drawn one by one: eight through a proxy, which have 16 legs, and three past it.
LEGS = """# Legs behind a band
duration = "10 s"
profile = "rfc"
[[links]]
between = ["server", "proxy"]
rate = "20 Mbit/s"
delay = "5 ms"
[[links]]
between = ["proxy", "client"]
rate = "20 Mbit/s"
delay = "5 ms"
[[agents]]
at = "proxy"
pep = {}
[[flows]]
name = "split"
count = 8
from = "server"
to = "client"
via = ["proxy"]
tcp = "cubic"
[[flows]]
name = "whole"
count = 3
from = "server"
to = "client"
tcp = "cubic"
[records]
grid = "100 ms"
"""

#: The window of the TCP of Linux above packets of 100 B, of which none is a full segment.
SMALL_MESSAGES = """# Small messages
duration = "5 s"
[[links]]
between = ["left", "right"]
rate = "1 Mbit/s"
delay = "20 ms"
[[flows]]
name = "messages"
from = "left"
to = "right"
tcp = "cubic"
application = { messages = { payload = "100 B", every = "50 ms", deadline = "200 ms" } }
[records]
grid = "100 ms"
packets = ["left->right", "right->left"]
"""

#: Three silences close together make one finding; another one stands at the start of the flow.
SILENCES = """# Three silences in one finding
duration = "40 s"
[[links]]
between = ["left", "right"]
rate = "2 Mbit/s"
delay = "20 ms"
[links.forward]
errors = [{ trace = { during = [["5 s", "8 s"], ["20 s", "22 s"], ["22.1 s", "24 s"], ["24.1 s", "25.5 s"]] } }]
[[flows]]
name = "f"
from = "left"
to = "right"
udp = {}
application = { constant_rate = { rate = "500 kbit/s", payload = "500 B" } }
start = "5 s"
[records]
grid = "100 ms"
"""

#: So many steps that figures draw the extremes of stretches.
SAWTOOTH = """# Many steps of a sawtooth
duration = "200 s"
profile = "rfc"
[[links]]
between = ["left", "right"]
rate = "2 Mbit/s"
delay = "20 ms"
queue = { drop_tail = { packets = 20 } }
[[flows]]
name = "f"
from = "left"
to = "right"
tcp = "newreno"
[records]
grid = "50 ms"
"""

SCENES = {
    "sawtooth": SAWTOOTH,
    "silences": SILENCES,
    "small-messages": SMALL_MESSAGES,
    "away": AWAY,
    "legs": LEGS,
    "many": MANY,
    "million": MILLION,
    "slow-start": SHORT,
    "nearest": NEAREST,
    "outage": OUTAGE,
    "outage-packets": OUTAGE_PACKETS,
    "handover": HANDOVER,
    "gateways": GATEWAYS,
    "packets": PACKETS,
    "share": SHARE,
    "ended": ENDED,
    "pacing": PACING,
    "apps": APPS,
}


def main(folder: Path) -> None:
    """Writes a run folder per scene."""
    for name, text in SCENES.items():
        run = skyhop.run(skyhop.Scenario.from_toml(text))
        run.write(folder / name, csv=name != "million")
        if name == "million":
            # All columns would take longer to write and to read than the test of a million steps.
            steps = pl.DataFrame(run.table("flow_series")).select("time_s", "cwnd")
            steps.write_csv(folder / name / "flow_series.csv")
    for time_s in (50.0, 99.0):
        # Where the engine says that everything is at a moment between recorded ones, and at one behind the last.
        sky = skyhop.Scenario.from_toml(AWAY).sky_json(time_s)
        (folder / "away" / f"sky-{time_s:.0f}.json").write_text(sky, encoding="utf-8")
    for tcp in ("reno", "sack"):
        for seed in SEEDS:
            skyhop.run(skyhop.Scenario.from_toml(CHANCE.replace("reno", tcp)), seed=seed).write(
                folder / f"{tcp}-{seed}"
            )

    sweep(folder)
    failures(folder)
    catalogue(folder)
    with tempfile.TemporaryDirectory() as apart:
        file = Path(apart) / "high.tle"
        file.write_text(elements(6, 12, "13.1600000000001"), encoding="ascii")
        scenario = skyhop.Scenario.from_toml(ELEMENTS.format(file=file.as_posix()))
        skyhop.run(scenario).write(folder / "elements", csv=True)


def catalogue(folder: Path) -> None:
    """Writes the elements of 40 satellites on circles of 550 km for scenarios from the page."""
    place = folder / "catalogues"
    place.mkdir(exist_ok=True)
    (place / "circles.tle").write_text(elements(8, 5, "15.0500000000001"), encoding="ascii")


def elements(planes: int, per_plane: int, revolutions: str) -> str:
    """Two-line elements on circles of 53 degrees; each plane has a satellite in turn, so that no name tells a plane."""
    lines = []
    for i in range(planes * per_plane):
        node, phase = 360 / planes * (i % planes), 360 / per_plane * (i // planes)
        first = f"1 {90001 + i:05d}U 25001A   25280.50000000  .00000000  00000+0  00000+0 0  999"
        second = f"2 {90001 + i:05d}  53.0000 {node:8.4f} 0000001   0.0000 {phase:8.4f} {revolutions}"
        lines += [f"SAT {i}", *(line + str(checksum(line)) for line in (first, second))]
    return "\n".join(lines) + "\n"


def checksum(line: str) -> int:
    """The last digit of a line of elements: the sum of its digits, a minus counts as one."""
    return sum(int(sign) if sign.isdigit() else int(sign == "-") for sign in line) % 10


def failures(folder: Path) -> None:
    """Writes the tables of a sweep of which some runs failed, and some gave equal values."""
    place = folder / "grid-with-failures"
    place.mkdir(exist_ok=True)
    (place / "table.csv").write_text(
        "rate,metric,unit,runs,distinct_runs,failed,distinct_values,warm_up_s,mean,low,high\n"
        "1 Mbit/s,goodput,Mbit/s,4,4,2,4,0.0,0.5,0.25,0.75\n"
        "2 Mbit/s,goodput,Mbit/s,6,6,0,6,0.0,1.5,1.25,1.75\n"
        "3 Mbit/s,goodput,Mbit/s,6,6,0,1,0.0,2.5,NaN,NaN\n"
        "4 Mbit/s,goodput,Mbit/s,6,1,0,1,0.0,3.5,NaN,NaN\n",
        encoding="utf-8",
    )
    (place / "runs.csv").write_text("rate,seed,run,records_hash\n", encoding="utf-8")


def sweep(folder: Path) -> None:
    """Writes a sweep with its kept runs."""
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "chance.toml").write_text(CHANCE, encoding="utf-8")
        (Path(place) / "grid.toml").write_text(SWEEP, encoding="utf-8")
        with contextlib.suppress(SystemExit):
            cli.app([
                "sweep", str(Path(place) / "grid.toml"), "--out", str(folder / "grid"), "--keep", str(folder / "kept"),
            ])  # fmt: skip


if __name__ == "__main__":
    main(Path(sys.argv[1]))
