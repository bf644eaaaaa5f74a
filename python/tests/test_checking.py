"""`skyhop check`: every kind of file, right and wrong."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest
from conftest import DUMBBELL, STUDY

import skyhop
from skyhop import checking
from skyhop._core import ScenarioError
from skyhop.verdict import DefinitionError

#: The example of https://en.wikipedia.org/wiki/Two-line_element_set
TLE = """\
ISS (ZARYA)
1 25544U 98067A   08264.51782528 -.00002182  00000-0 -11606-4 0  2927
2 25544  51.6416 247.4627 0006703 130.5360 325.0288 15.72125391563537
"""

RIGHT = {
    "trace.up": ("0\n3\n3\n20\n", "mahimahi trace", "20 ms"),
    "delays.txt": ("# ms\n10.5\n3\n", "trace of delays", "20 ms"),
    "link.csv": ("time_s,rate_bps,loss\n0,1e6,0\n2,5e5,0.5\n", "trace of a link", "4 s"),
    "iss.tle": (TLE, "elements", "1 satellites"),
    "stations.csv": ("name,latitude_deg,longitude_deg\nhere,10,20\n", "stations", "1 stations"),
    "arrivals.csv": ("time_s,bytes\n1,100\n2,200\n", "instants of arrivals", "2 rows"),
    "sizes.csv": ("bytes,cdf\n100,0.5\n200,1\n", "sizes of transfers", "2 rows"),
    "pings.csv": (
        "unix_time_s,rtt_ms\n" + "".join(f"{1_700_000_000 + n},30\n" for n in range(100)),
        "recorded round trips",
        "100",
    ),
}

WRONG = {
    "trace.up": ("0\n3\nx\n", "trace.up: line 3"),
    "link.csv": ("time_s,rate_bps\n0,-5\n", "link.csv: line 2: rate_bps"),
    "iss.tle": (TLE.replace("247.4627", "247.4628"), "checksum"),
    "stations.csv": ("name,latitude_deg,longitude_deg\nhere,100,20\n", "latitude of 100 deg"),
    "arrivals.csv": ("time_s\n1\nx\n", "line 3"),
    "sizes.csv": ("bytes,cdf\n100,2\n", "line 2"),
    "pings.csv": ("unix_time_s,rtt_ms\n1700000000,30\n", "100 are needed"),
    "odd.csv": ("a,b\n1,2\n", "nothing that Skyhop reads"),
    "empty.txt": ("\n", "is empty"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_each_kind_is_recognised(tmp_path: Path, name: str) -> None:
    text, kind, holds = RIGHT[name]
    (tmp_path / name).write_text(text, encoding="utf-8")
    found = checking.check(tmp_path / name)
    assert found.kind == kind and found.holds.startswith(holds)
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    assert checking.check(tmp_path / f"{name}.gz").kind == kind


@pytest.mark.parametrize("name", WRONG)
def test_a_file_with_a_mistake_gets_the_place(tmp_path: Path, name: str) -> None:
    text, said = WRONG[name]
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(ValueError) as raised:
        checking.check(tmp_path / name)
    assert said in str(raised.value) and name in str(raised.value)


def test_scenarios_sweeps_and_studies(dumbbell: Path) -> None:
    assert checking.check(dumbbell).kind == "scenario"
    sweep = dumbbell.parent / "grid.toml"
    sweep.write_text('scenario = "dumbbell.toml"\nseeds = 3\n[axes]\n"flows[*].tcp" = ["reno", "vegas"]\n', "utf-8")
    assert checking.check(sweep) == checking.Checked("sweep", "2 cells, 3 seeds, 6 runs")
    sweep.write_text(sweep.read_text(encoding="utf-8").replace("vegas", "vagas"), encoding="utf-8")
    with pytest.raises(ScenarioError, match="vagas"):
        checking.check(sweep)
    sweep.write_text('scenario = "dumbbell.toml"\nsedes = 3\n', encoding="utf-8")
    with pytest.raises(DefinitionError, match="sedes"):
        checking.check(sweep)
    assert checking.check(STUDY / "expect.toml").kind == "study"
    with pytest.raises(ValueError, match="--set changes a scenario"):
        checking.check(STUDY, ["duration=1 s"])


def test_runs_and_recorded_packets(tmp_path: Path) -> None:
    scenario = DUMBBELL.replace('"20 s"', '"3 s"').replace("[records]\n", '[records]\npackets = ["left->right"]\n')
    skyhop.run(scenario).write(tmp_path / "run")
    assert checking.check(tmp_path / "run").kind == "run folder"
    packets = tmp_path / "run" / "packets.parquet"
    assert checking.check(packets).kind == "table packets of a run"
    rows = pl.read_parquet(packets)
    rows.write_csv(tmp_path / "packets.csv")
    assert checking.check(tmp_path / "packets.csv") == checking.Checked("packets", f"{rows.height} events")
    # A packet that leaves a link twice, and one that travels back in time.
    left = rows.filter(pl.col("event") == "rcv")
    pl.concat([rows, *[left] * 3]).sort("time_s").write_parquet(tmp_path / "more.parquet")
    with pytest.raises(ValueError, match="arrived 4 times"):
        checking.check(tmp_path / "more.parquet")
    rows.reverse().write_parquet(tmp_path / "back.parquet")
    with pytest.raises(ValueError, match="order of time"):
        checking.check(tmp_path / "back.parquet")
    (tmp_path / "run" / "links.parquet").write_bytes(b"PAR1")
    with pytest.raises(ValueError, match="not a whole run folder"):
        checking.check(tmp_path / "run")
