"""`skyhop import`: small sources of each format become scenarios that run, and what cannot be said is said."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import ROOT, Skyhop

import skyhop
from skyhop import imports
from skyhop.imports import ImportProblem, Wanted, link_csv
from skyhop.validate import route_pairs

SAMPLE = ROOT / "tests" / "reference" / "hypatia"

#: A packet of 1,504 bytes every 4 ms: 3.008 Mbit/s.
EVERY_4_MS = "".join(f"{4 * n}\n" for n in range(1, 251))

NETEM = """\
#!/bin/sh
tc qdisc add dev eth0 root netem rate 2mbit delay 20ms limit 50
sleep 5
sudo tc qdisc change dev eth0 root netem delay 40ms loss 1% limit 50  # the rate stays
sleep 5
"""

ZOO = """\
<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key attr.name="label" attr.type="string" for="node" id="d1" />
  <key attr.name="Latitude" attr.type="double" for="node" id="d2" />
  <key attr.name="Longitude" attr.type="double" for="node" id="d3" />
  <key attr.name="LinkSpeedRaw" attr.type="double" for="edge" id="d4" />
  <graph edgedefault="undirected">
    <node id="0"><data key="d1">North Pole</data><data key="d2">90.0</data><data key="d3">0.0</data></node>
    <node id="1"><data key="d1">Quito</data><data key="d2">0.0</data><data key="d3">-78.5</data></node>
    <node id="2"><data key="d1">Quito</data><data key="d2">0.0</data><data key="d3">-78.5</data></node>
    <edge source="0" target="1"><data key="d4">10000000.0</data></edge>
    <edge source="1" target="2"><data key="d4">10000000.0</data></edge>
  </graph>
</graphml>
"""


def imported(
    tmp_path: Path, form: str, *texts: str, wanted: Wanted | None = None
) -> tuple[skyhop.Scenario, dict[str, Any]]:
    """The scenario of sources with these texts, as its folder has it."""
    sources = []
    tmp_path.mkdir(exist_ok=True)
    for number, text in enumerate(texts):
        sources.append(tmp_path / f"source-{number}")
        sources[-1].write_text(text, encoding="utf-8")
    path = imports.write(imports.read(form, sources, wanted), tmp_path / "out")
    scenario = skyhop.scenario(path)
    return scenario, json.loads(scenario.canonical_json())


def goodput_bps(scenario: skyhop.Scenario, **last: float) -> float:
    return float(skyhop.run(scenario).flows["goodput_bps"][0])


def test_a_mahimahi_trace_carries_what_it_has_opportunities_for(tmp_path: Path) -> None:
    wanted = Wanted(delay="10 ms", duration="20 s")
    scenario, _ = imported(tmp_path, "mahimahi", EVERY_4_MS, EVERY_4_MS.replace("4\n", "4\n", 1), wanted=wanted)
    # 1,500 of the 1,504 bytes are an IP packet, and 1,448 or 1,460 of them payload.
    assert 0.85 * 3.008e6 < goodput_bps(scenario) < 3.008e6 * 1460 / 1504
    one, _ = imported(tmp_path, "mahimahi", EVERY_4_MS, wanted=wanted)
    assert goodput_bps(one) == pytest.approx(goodput_bps(scenario), rel=0.01)


def test_netem_commands_become_rates_delays_and_losses(tmp_path: Path) -> None:
    _, data = imported(tmp_path, "netem", NETEM)
    table = (tmp_path / "out" / "up.csv").read_text(encoding="utf-8")
    assert table.splitlines() == [
        "time_s,rate_bps,delay_s,loss", "0.000000000,2000000,0.02,0", "5.000000000,2000000,0.04,0.01",
    ]  # fmt: skip
    assert data["duration"] == "10 s"
    run = skyhop.run(skyhop.scenario(tmp_path / "out" / "scenario.toml", overrides=["records.grid=1 s"]))
    rtt = run.flow_series.filter(pl.col("time_s") == 10.0)["rtt_s"][0]
    # Twice 40 ms and the full packet; the queue of 50 packets adds 0.3 s at most.
    assert 0.08 < rtt < 0.08 + 0.33
    assert run.links["dropped_error"].sum() > 0


def test_the_last_command_of_netem_holds_on(tmp_path: Path) -> None:
    """A run that was longer than the script began with its first command again, as did the shorter of two scripts."""
    short = "tc qdisc add dev eth1 root netem rate 1mbit delay 5ms limit 50\n"
    _, data = imported(tmp_path, "netem", NETEM, short, wanted=Wanted(duration="90 s"))
    assert [data["links"][0][way]["trace"]["period"] for way in ("forward", "backward")] == ["90 s", "90 s"]
    _, data = imported(tmp_path / "both", "netem", NETEM, short)
    assert [data["links"][0][way]["trace"]["period"] for way in ("forward", "backward")] == ["60 s", "60 s"]


def test_two_recordings_of_a_link_have_one_clock(tmp_path: Path) -> None:
    """Each began at t = 0, whenever it was made, and the shorter one began again."""
    up, down = ("time_s,rate_bps,delay_s\n" + rows for rows in (
        "100,8e6,0.01\n101,4e6,0.01\n102,2e6,0.01\n", "100.5,7e6,0.01\n101.5,3e6,0.01\n103.5,1e6,0.01\n"
    ))  # fmt: skip
    _, data = imported(tmp_path, "csv", up, down)
    tables = [pl.read_csv(tmp_path / "out" / name) for name in ("up.csv", "down.csv")]
    assert [table["time_s"].to_list() for table in tables] == [[0.0, 1.0, 2.0], [0.0, 1.5, 3.5]]
    assert data["duration"] == "5.5 s"
    assert [data["links"][0][way]["trace"]["period"] for way in ("forward", "backward")] == ["5.5 s", "5.5 s"]
    said = (tmp_path / "out" / "scenario.toml").read_text(encoding="utf-8")
    assert "100 s of the recording is t = 0" in said and "source-1 begins 0.5 s later" in said
    assert "source-0 ends 2.5 s earlier: its last row holds until then" in said
    with pytest.raises(ImportProblem, match=r"no time in common: 100 to 103 s and 0.5 to 5.5 s"):
        imported(tmp_path, "csv", up, down.replace("100.5", "0.5").replace("101.5", "1.5").replace("103.5", "3.5"))


def test_what_a_recording_of_a_link_leaves_open_is_told(tmp_path: Path) -> None:
    text = "time_s,rate_bps,loss\n0,1e6,0.5\n1,1e6,0.2\n"
    imported(tmp_path, "csv", text, wanted=Wanted(delay="1 ms", duration="30 s"))
    said = (tmp_path / "out" / "scenario.toml").read_text(encoding="utf-8")
    assert "column 'loss' is a share (0.02 is 2 %)" in said and "repeats after 2 s" in said
    imported(tmp_path / "percent", "csv", text.replace("loss", "Loss (%)"), wanted=Wanted(delay="1 ms", duration="2 s"))
    said = (tmp_path / "percent" / "out" / "scenario.toml").read_text(encoding="utf-8")
    assert "is a share" not in said and "repeats" not in said


def test_columns_of_a_csv_follow_their_units(tmp_path: Path) -> None:
    text = "timestamp_ms,Bandwidth (Mbit/s),rtt_ms,site\n5000,8,40,x\n6000,4,60,x\n7000,2,80,x\n"
    scenario, data = imported(tmp_path, "csv", text)
    table = pl.read_csv(tmp_path / "out" / "up.csv")
    assert table["time_s"].to_list() == [0.0, 1.0, 2.0] and data["duration"] == "3 s"
    assert table["rate_bps"].to_list() == [8e6, 4e6, 2e6] and table["delay_s"].to_list() == [0.02, 0.03, 0.04]
    assert goodput_bps(scenario) < (8e6 + 4e6 + 2e6) / 3
    said = (tmp_path / "out" / "scenario.toml").read_text(encoding="utf-8")
    assert "t = 0" in said and "Half of a recorded round-trip time" in said and "'site' is not used" in said


def test_graphml_takes_delays_from_the_great_circle(tmp_path: Path) -> None:
    scenario, _ = imported(tmp_path, "graphml", ZOO.replace('target="2"', 'target="2" id="e"'), wanted=Wanted())
    (flow,) = json.loads(scenario.path_json(0.0))["flows"]
    # A quarter of the meridian at c / 1.468, and no way between two nodes at one place. Equal labels get a number.
    assert flow["delay_s"] == pytest.approx(math.pi / 2 * 6_371_008.8 * 1.468 / 299_792_458, abs=1e-9)
    assert [hop["to"] for hop in flow["hops"]] == ["Quito", "Quito-2"]
    assert goodput_bps(scenario) > 0


def test_an_edge_list_takes_rates_and_delays_or_the_options(tmp_path: Path) -> None:
    text = "from,to,rate_mbps,delay_ms\na,b,10,5\nb,c,2,20\n"
    scenario, data = imported(tmp_path, "edges", text, wanted=Wanted(flows=(("a", "c"), ("c", "b"))))
    ways = json.loads(scenario.path_json(0.0))["flows"]
    assert [way["delay_s"] for way in ways] == [pytest.approx(0.025), pytest.approx(0.02)]
    assert skyhop.run(scenario).flows["goodput_bps"][0] < 2e6
    _, data = imported(tmp_path, "edges", "u,v\na,b\n", wanted=Wanted(rate="1 Mbit/s", delay="7 ms"))
    assert data["links"][0]["between"] == ["a", "b"]
    imported(tmp_path / "more", "edges", "from,to,rate_mbps,delay_ms,loss_percent,rtt_ms,via\na,b,10,5,1,10,x\n")
    said = (tmp_path / "more" / "out" / "scenario.toml").read_text(encoding="utf-8")
    assert "Links have a rate and a delay here: loss_percent, rtt_ms are not used." in said


def test_an_element_of_graphml_without_a_value_has_the_default_of_its_key(tmp_path: Path) -> None:
    key = '<key attr.name="LinkSpeedRaw" attr.type="double" for="edge" id="d4" />'
    default = key.replace(" />", "><default>5e6</default></key>")
    first = ZOO.replace(key, default).replace('<data key="d4">10000000.0</data>', "", 1)
    path = tmp_path / "zoo.graphml"
    path.write_text(first, encoding="utf-8")
    draft = imports.read("graphml", [path])
    assert [link["rate"] for link in draft.sections["links"]] == ["5000000 bit/s", "10000000 bit/s"]


def _checksum(line: str) -> int:
    return sum(int(one) if one.isdigit() else one == "-" for one in line) % 10


def hypatia(folder: Path, *, end_ns: int = 2_000_000_000) -> Path:
    """A folder as Hypatia's, of the constellation whose routes the sample holds."""
    sky = route_pairs._sky(SAMPLE)
    folder.mkdir()
    lines = sky.tles.splitlines()
    tles = [f"Starlink-550 {number // 3}" if number % 3 == 0 else line for number, line in enumerate(lines)]
    (folder / "tles.txt").write_text("\n".join([f"34 {sky.satellites // 34}", *tles]) + "\n")
    (folder / "isls.txt").write_text("".join(f"{a} {b}\n" for a, b in sky.isls))
    (folder / "description.txt").write_text(
        f"max_gsl_length_m={sky.longest_gsl_km * 1000!r}\nmax_isl_length_m=5014000\n"
    )
    (folder / "ground_stations.txt").write_text((SAMPLE / "ground_stations_top_100.txt").read_text())
    (folder / "tcp_flow_schedule.csv").write_text("0,1173,1241,20000,0,,\n1,1241,1173,30000,500000000,,web\n")
    (folder / "config_ns3.properties").write_text(
        f"simulation_end_time_ns={end_ns}\nisl_data_rate_megabit_per_s=10.0\ngsl_data_rate_megabit_per_s=10.0\n"
        "isl_max_queue_size_pkts=100\ngsl_max_queue_size_pkts=100\ntcp_socket_type=TcpNewReno\n"
    )
    return folder


def test_hypatias_folder_gives_its_routes_and_transfers(tmp_path: Path) -> None:
    folder = hypatia(tmp_path / "hypatia")
    scenario = skyhop.scenario(imports.write(imports.read("hypatia", [folder]), tmp_path / "out"))
    ways = json.loads(scenario.path_json(0.0))["flows"]
    # The route at t = 0 as Hypatia computed it.
    first = (SAMPLE / "path_1173_to_1241.txt").read_text().split("\n", 1)[0].split(",")[1]
    assert [hop["from"].removeprefix("n-") for hop in ways[0]["hops"]] + ["1241"] == first.strip().split("-")
    run = skyhop.run(scenario)
    assert run.flows["bytes_delivered"].to_list() == [20_000, 30_000]
    # Elements a quarter of a second later: so is the scenario, and the sky is the same at t = 0.
    moved = tmp_path / "moved"
    shutil.copytree(folder, moved)
    with (moved / "config_ns3.properties").open("a") as file:
        file.write("enable_udp_burst_scheduler=true\n")
    lines = (moved / "tles.txt").read_text().split("\n")
    late = [f"{line[:18]}{float(line[18:32]) + 0.25 / 86400:014.8f}{line[32:68]}" if line[:2] == "1 " else line
            for line in lines]  # fmt: skip
    late = [f"{line}{_checksum(line)}" if len(line) == 68 else line for line in late]
    (moved / "tles.txt").write_text("\n".join(late))
    draft = imports.read("hypatia", [moved])
    assert draft.sections["constellation"]["epoch"].rstrip("Z")[-7:-4] in (".24", ".25")
    assert any("enable_udp_burst_scheduler" in note for note in draft.notes)


@pytest.mark.parametrize(
    ("form", "text", "wanted", "said"),
    [
        ("mahimahi", "1\nx\n", Wanted(delay="1 ms"), "line 2"),
        ("mahimahi", "5\n", Wanted(), "says no delay"),
        ("mahimahi", "5\n", Wanted(delay="1 ms", rate="1 Mbit/s"), "--rate has no effect"),
        ("netem", "tc qdisc add dev x root netem delay 10ms 5ms rate 1mbit\n", Wanted(), "jitter"),
        ("netem", "tc qdisc add dev x root netem delay 10ms reorder 5%\n", Wanted(), "reorder"),
        ("netem", "ping x\n", Wanted(), "line 1"),
        ("netem", "tc qdisc add dev x root netem delay 10ms\n", Wanted(), "says no rate"),
        ("netem", NETEM.replace(" limit 50  #", "  #"), Wanted(), "a command without a limit sets 1000"),
        ("netem", NETEM.replace("change dev eth0", "change dev eth1"), Wanted(), "for eth0 and eth1"),
        (
            "netem",
            NETEM + "tc qdisc add dev eth0 parent 1: handle 2: netem delay 5ms limit 50\n",
            Wanted(),
            "one netem stands at parent 1: and another at root",
        ),
        ("csv", "time_s,rate\n0,1\n1,2\n", Wanted(), "has no unit"),
        ("csv", "time_s,rate_bps\n0,1\n0,2\n", Wanted(delay="1 ms"), "not later"),
        ("csv", "time_s,rate_bps\n0,1\n1,nan\n", Wanted(delay="1 ms"), "row 3"),
        ("csv", "time_s,rate_bps,delay_s\n0,1,1\n1,2,1\n", Wanted(delay="1 ms"), "--delay has no effect"),
        ("graphml", "<a/>", Wanted(), "not GraphML"),
        ("graphml", ZOO.replace('target="2"', 'target="9"'), Wanted(), "no node '9'"),
        ("graphml", ZOO.replace("LinkSpeedRaw", "Speed"), Wanted(), "has no rate"),
        ("graphml", ZOO, Wanted(rate="1 Mbit/s"), "--rate has no effect"),
        ("edges", "a;b\n", Wanted(), "columns from and to"),
        ("edges", "from,to,rate_mbps\na,b,1\n", Wanted(), "has no delay"),
        ("edges", "from,to,rate_mbps,delay_ms\na,b,1,1\n", Wanted(flows=(("a", "z"),)), "no node 'z'"),
        ("edges", "from,to,rate_mbps,delay_ms\na,b,1,1\nb,a,1,1\n", Wanted(), "second link"),
        ("edges", "from,to\na,b\n", Wanted(rate="1 Mbit/s", delay="1 hop"), "hop"),
        ("edges", "from,to,rate_mbps,bw_kbps,delay_ms\na,b,1,1,1\n", Wanted(), "rate_mbps and bw_kbps say different"),
        ("edges", "from,to,rate_mbps,rate_mbps\na,b,1,2\n", Wanted(), "two columns have one name"),
        ("nothing", "", Wanted(), "mahimahi, netem"),
    ],
)
def test_what_cannot_be_said_gets_a_sentence(tmp_path: Path, form: str, text: str, wanted: Wanted, said: str) -> None:
    with pytest.raises(ImportProblem, match=said):
        imported(tmp_path, form, text, wanted=wanted)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("isls.txt", "0 5000\n", "two numbers of satellites"),
        ("isls.txt", "\n", "no link between satellites"),
        ("tcp_flow_schedule.csv", "0,3,1241,5,0,,\n", "not the node of a ground station"),
        ("tcp_flow_schedule.csv", "0,1173,1241,5,0,prio=1,\n", "parameters of its own"),
        ("config_ns3.properties", "simulation_end_time_ns=5\n", "give the rate"),
        ("config_ns3.properties", "satellite_network_force_static=true\n", "a sky that stands still"),
        ("description.txt", "\n", "max_gsl_length_m"),
        ("tles.txt", "1 1\n", "3 lines"),
    ],
)  # fmt: skip
def test_a_wrong_folder_of_hypatia_gets_a_sentence(tmp_path: Path, name: str, text: str, said: str) -> None:
    folder = hypatia(tmp_path / "hypatia")
    (folder / name).write_text(text)
    with pytest.raises(ImportProblem, match=said):
        imports.read("hypatia", [folder])


GATEWAYS = {
    "csv": "Site;Lat;Lon\nNorth Bend, WA;47.4767;-121.7618\nNorth Bend, WA;47.477;-121.762\nBrewster;48.147;-119.701\n",
    "geojson": json.dumps(
        {
            "type": "FeatureCollection",
            "features": [
                {"type": "Feature", "properties": {"Name": name}, "geometry": {"type": "Point", "coordinates": place}}
                for name, place in (("North Bend, WA", [-121.7618, 47.4767]), ("Brewster", [-119.701, 48.147, 300]))
            ],
        }
    ),
    "kml": """<?xml version="1.0"?><kml xmlns="http://www.opengis.net/kml/2.2"><Document>
        <Placemark><name>North Bend, WA</name><Point><coordinates>-121.7618,47.4767,0</coordinates></Point></Placemark>
        <Placemark><name>An outline</name><LineString><coordinates>1,2 3,4</coordinates></LineString></Placemark>
        <Placemark><name>Brewster</name><Point><coordinates> -119.701,48.147 </coordinates></Point></Placemark>
        </Document></kml>""",
}


@pytest.mark.parametrize("form", GATEWAYS)
def test_lists_of_gateways_become_a_class_of_stations(tmp_path: Path, form: str) -> None:
    scenario, text = imported(tmp_path, "gateways", GATEWAYS[form])
    lines = (tmp_path / "out" / "gateways.csv").read_text().splitlines()
    assert lines[1:] == ["North-Bend-WA,47.4767,-121.762", "Brewster,48.147,-119.701"]
    assert set(text["stations"]) == {"terminal", "North-Bend-WA", "Brewster"}
    assert {tuple(sorted(link["between"])) for link in text["links"]} == {("North-Bend-WA", "pop"), ("Brewster", "pop")}
    # The terminal stands at the first gateway, so bent pipes reach it.
    assert goodput_bps(scenario) > 1e6


def test_what_of_a_list_of_gateways_is_left_out_is_told(tmp_path: Path) -> None:
    (tmp_path / "source").write_text(GATEWAYS["kml"])
    said = " ".join(imports.read("gateways", [tmp_path / "source"]).notes)
    assert "2 gateways from source" in said and "1 other feature is not a point and left out" in said
    (tmp_path / "source").write_text(GATEWAYS["csv"])
    said = " ".join(imports.read("gateways", [tmp_path / "source"]).notes)
    assert "1 places within about a kilometre" in said and "left out" not in said
    assert "10 Gbit/s: give --rate" in said and "2 ms: give --delay" in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name,lat\nx,1\n", "source, line 1: no column of the longitude"),
        ("name,lat,lon\nx,91,0\n", "line 2: 91, 0 are not a latitude and a longitude"),
        ("name,lat,lon\nx,north,0\n", "line 2: 'north' is not a number of degrees"),
        ("name,lat,lon\n", "holds no place"),
        ("{", "is not JSON"),
        ('{"type": "Feature"}', "is not a FeatureCollection"),
        ("<kml><Placemark>", "is not XML"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><kml/>', "KML has no document type"),
    ],
)
def test_a_wrong_list_of_gateways_gets_a_sentence(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "source").write_text(text)
    with pytest.raises(ImportProblem, match=said):
        imports.read("gateways", [tmp_path / "source"])


def test_the_command_writes_a_folder_and_says_what_to_know(skyhop_program: Skyhop) -> None:
    (skyhop_program.folder / "up").write_text(EVERY_4_MS)
    done = skyhop_program.here("import", "mahimahi", "up", "--delay", "10 ms", "--out", "link")
    assert done.returncode == 0 and done.stdout.strip() == "link/scenario.toml", done.stderr
    assert "Both directions follow" in done.stderr
    assert skyhop_program.here("run", "link/scenario.toml", "--json").returncode == 0
    wrong = skyhop_program.here("import", "mahimahi", "up", "--delay", "10 miles", "--out", "other")
    assert wrong.returncode == 2 and "miles" in wrong.stderr and not (skyhop_program.folder / "other").exists()


FEED = """# prefix,country,region,city,postal
98.97.32.0/24,US,US-WA,Seattle,
98.97.33.0/24,US,US-OR,Portland,
206.83.100.0/23,US,US-WA,Seattle,
2a0d:3340:f400::/40,DE,DE-HE,Frankfurt am Main,
14.1.64.0/24,PH,PH-00,Manila,
9.9.9.0/24,PH,PH-00,Manila,
"""
NAMES = """32.97.98.in-addr.arpa. 3600 IN NS ns.example.net.
1.32.97.98.in-addr.arpa\tname = customer.sttlwax1.pop.starlinkisp.net.
98.97.33.7,customer.sttlwax1.pop.starlinkisp.net
206.83.101.1 customer.sttlwax1.pop.starlinkisp.net
2a0d:3340:f400::1 undefined.FRNTDEU1.pop.starlinkisp.net
14.1.64.0/24,customer.xqzwphl1.pop.starlinkisp.net
"""


def test_pops_have_the_city_of_their_letters_and_the_delay_to_the_cities_that_they_serve(tmp_path: Path) -> None:
    (tmp_path / "feed.csv").write_text(FEED)
    (tmp_path / "names.txt").write_text(NAMES)
    draft = imports.read("pops", [tmp_path / "feed.csv", tmp_path / "names.txt"])
    imports.write(draft, tmp_path / "out")
    pops = (tmp_path / "out" / "pops.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in pops[1:]] == ["frntdeu1", "sttlwax1"]
    assert pops[2].startswith("sttlwax1,47.6") and ",-122.3" in pops[2]
    cities = {
        line.split(",")[0]: line.split(",") for line in (tmp_path / "out" / "cities.csv").read_text().splitlines()
    }
    assert cities["Seattle"][1:] == ["US", "sttlwax1", "2", "0", "0.00"]
    # Some 233 km to Portland, 1.5 times as much fibre at 204 km a millisecond.
    assert cities["Portland"][4] in ("233", "234") and 1.70 < float(cities["Portland"][5]) < 1.73
    assert any("xqzwphl1" in note for note in draft.notes) and any("1 of them without a name" in n for n in draft.notes)
    assert goodput_bps(skyhop.scenario(tmp_path / "out" / "scenario.toml")) > 1e6
    # Two PoPs in one prefix: the first one had it without a word.
    assert not any("several PoPs" in note for note in draft.notes)
    (tmp_path / "names.txt").write_text(NAMES + "98.97.33.8,customer.ptldorx1.pop.starlinkisp.net\n")
    draft = imports.read("pops", [tmp_path / "feed.csv", tmp_path / "names.txt"])
    assert "Prefixes with addresses of several PoPs, of which that of the first address counts: 1." in draft.notes


@pytest.mark.parametrize(
    ("feed", "names", "said"),
    [
        ("", NAMES, "feed.csv holds no prefix"),
        ("1.2.3.0/24,US\n", NAMES, "line 1: has 2 fields"),
        ("1.2.3/24,US,US-WA,Seattle\n", NAMES, "line 1: '1.2.3/24' is not a prefix"),
        (FEED, "1.2.3.4 host.example.net\n", "names.txt holds no address with a name such as"),
        ("1.2.3.0/24,US,US-WA,Seattle\n", "1.2.3.4 customer.xqzwwax1.pop.starlinkisp.net\n", "no city of the list"),
    ],
)
def test_wrong_lists_of_pops_get_a_sentence(tmp_path: Path, feed: str, names: str, said: str) -> None:
    (tmp_path / "feed.csv").write_text(feed)
    (tmp_path / "names.txt").write_text(names)
    with pytest.raises(ImportProblem, match=said):
        imports.read("pops", [tmp_path / "feed.csv", tmp_path / "names.txt"])


@pytest.mark.parametrize("title", ["rate_MBps", "throughput (KBps)", "rate_Bps"])
def test_a_rate_in_bytes_per_second_is_not_taken_for_bits(title: str) -> None:
    with pytest.raises(ImportProblem, match="bytes per second: multiply its values by 8"):
        link_csv.column(title)
    assert link_csv.column("RATE_MBPS") == ("rate_bps", 1e6)
