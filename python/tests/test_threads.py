"""One run on several threads, from Python and from the command line."""

import json
import pathlib

import pytest
from typer.testing import CliRunner

import skyhop

#: Two halves of three nodes, 50 ms apart: a window has enough packets, and each has enough to do in its half, for a cut
#: to pay.
WIDE = """
duration = "2 s"
links = [
    { between = ["left", "right"], rate = "400 Mbit/s", delay = "50 ms" },
    { between = ["left", "west"], rate = "400 Mbit/s", delay = "0 s" },
    { between = ["west", "far-west"], rate = "400 Mbit/s", delay = "0 s" },
    { between = ["right", "east"], rate = "400 Mbit/s", delay = "0 s" },
    { between = ["east", "far-east"], rate = "400 Mbit/s", delay = "0 s" },
]

[[flows]]
name = "there"
from = "far-west"
to = "far-east"
udp = {}
application = { constant_rate = { rate = "200 Mbit/s", payload = "1000 B" } }

[[flows]]
name = "back"
from = "far-east"
to = "far-west"
udp = {}
application = { constant_rate = { rate = "200 Mbit/s", payload = "1000 B" } }
"""


#: Starlink's first shell for half a second; stations and flows follow.
SKY = """
duration = "500 ms"
profile = "rfc"
routing = { every = "100 ms" }

[constellation]
preset = "starlink-1"
isl = { rate = "10 Mbit/s" }
gsl = { rate = "10 Mbit/s" }

[stations]
"""
#: The ends of a flow: which letter, and how far east, in degrees.
ENDS = (("a", 0), ("b", 5))


def test_records_are_the_same_on_two_threads() -> None:
    alone, shared = skyhop.run(WIDE), skyhop.run(WIDE, threads=2)
    assert (shared.manifest["threads"], shared.manifest["parts"]) == (2, 2)
    assert shared.manifest["one_thread_because"] is None
    assert shared.manifest["records_hash"] == alone.manifest["records_hash"]
    assert shared.summary == alone.summary
    assert "threads" not in alone.manifest


def test_a_network_that_stays_whole_says_why() -> None:
    run = skyhop.run(WIDE, overrides=["duration=100 ms", "links[0].delay=0 s"], threads=2)
    assert run.manifest["threads"] == 1
    assert "no link between them is long enough" in run.manifest["one_thread_because"]


def test_threads_share_the_renewals_of_routes_over_a_large_sky() -> None:
    # 600 destinations behind some 400 satellites, 25 groups of sixteen. So few packets are not worth a cut.
    pairs = range(300)
    places = {f"{end}-{n}": (-50 + n % 16 * 6, -176 + n // 16 * 16 + shift) for n in pairs for end, shift in ENDS}
    stations = [
        f'"{name}" = {{ latitude = "{lat} deg", longitude = "{lon} deg" }}' for name, (lat, lon) in places.items()
    ]
    flow = '[[flows]]\nname = "f-{0}"\nfrom = "a-{0}"\nto = "b-{0}"\nudp = {{}}\n'
    flow += 'application = {{ constant_rate = {{ rate = "20 kbit/s", payload = "1000 B" }} }}\n'
    text = SKY + "\n".join(stations) + "\n" + "".join(flow.format(n) for n in pairs)
    alone, shared = skyhop.run(text), skyhop.run(text, threads=2)
    assert (shared.manifest["threads"], shared.manifest["route_threads"]) == (1, 2)
    assert shared.manifest["records_hash"] == alone.manifest["records_hash"]
    assert shared.summary == alone.summary
    assert skyhop.run(WIDE, threads=2).manifest["route_threads"] == 1


def test_no_threads_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least one"):
        skyhop.run(WIDE, threads=0)


def test_the_command_line_says_why_it_used_one_thread(tmp_path: pathlib.Path) -> None:
    from skyhop.cli import app

    file = tmp_path / "wide.toml"
    file.write_text(WIDE)
    arguments = ["run", str(file), "--out", str(tmp_path / "run"), "--threads", "2", "--set", "links[0].delay=0 s"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert "Ran on one thread" in done.stderr
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["threads_asked"] == 2
