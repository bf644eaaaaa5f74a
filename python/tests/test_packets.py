"""The packets of a flow of a finished run, recorded by making the run again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from serving import Server, running

import skyhop
from skyhop import packets, results

#: Two flows and losses; the links of both directions are recorded in one run and left out in the other.
TEXT = """duration = "6 s"
profile = "rfc"
[[links]]
name = "wire"
between = ["left", "right"]
rate = "2 Mbit/s"
delay = "30 ms"
queue = { drop_tail = { packets = 12 } }
[[flows]]
name = "a"
from = "left"
to = "right"
tcp = "sack"
[[flows]]
name = "b"
from = "left"
to = "right"
tcp = "reno"
[records]
grid = "100 ms"
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pl.DataFrame]:
    """A run folder without packets, and all packets of the same run."""
    folder = tmp_path_factory.mktemp("packets") / "run"
    skyhop.run(skyhop.Scenario.from_toml(TEXT), seed=3).write(folder)
    full = skyhop.run(skyhop.Scenario.from_toml(TEXT + 'packets = ["wire"]\n'), seed=3).table("packets")
    return folder, full.filter(pl.col("flow") == "a", pl.col("link").str.ends_with("left->right"))


def test_the_whole_flow_is_what_the_scenario_would_have_recorded(runs: tuple[Path, pl.DataFrame]) -> None:
    folder, full = runs
    assert full.filter(pl.col("event") == "drop").height > 5
    assert packets.record(folder, "a").equals(full)


def test_a_part_begins_with_where_the_flow_stood(runs: tuple[Path, pl.DataFrame]) -> None:
    folder, full = runs
    rows = packets.record(folder, "a", begin_s=2.0, end_s=3.5)
    before, inside = rows.filter(pl.col("time_s") < 2.0), rows.filter(pl.col("time_s") >= 2.0)
    assert inside.equals(full.filter(pl.col("time_s").is_between(2.0, 3.5)))
    for event in ("enq", "ack"):
        earlier = full.filter(pl.col("event") == event, pl.col("time_s") < 2.0)
        assert before.filter(pl.col("event") == event)["seq"].to_list() == [earlier["seq"].max()]


def test_a_run_that_comes_out_differently_is_refused(runs: tuple[Path, pl.DataFrame], tmp_path: Path) -> None:
    folder, _ = runs
    other = tmp_path / "other"
    skyhop.run(skyhop.Scenario.from_toml(TEXT.replace("12 }", "13 }")), seed=3).write(other)
    (other / "scenario.json").write_text((folder / "scenario.json").read_text())
    with pytest.raises(packets.NotTheRun, match="computes another run"):
        packets.record(other, "a")
    with pytest.raises(packets.NotTheRun, match="no flow 'c'"):
        packets.record(folder, "c")


@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_tables_are_compared_by_content(
    rows: int, runs: tuple[Path, pl.DataFrame], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another version may write other bytes, and lack a column."""
    folder, full = runs
    shutil.copytree(folder, tmp_path / "run")
    monkeypatch.setattr(results, "PIECE", rows)
    links = pl.read_parquet(folder / "links.parquet")
    assert links.height == 2
    links.drop("marked").write_parquet(tmp_path / "run" / "links.parquet")
    assert packets.record(tmp_path / "run", "a").equals(full)
    late = pl.Series(range(links.height)) == links.height - 1
    for wrong in [
        links.with_columns(pl.when(late).then(pl.col("packets") + 1).otherwise("packets").alias("packets")),
        links.with_columns(pl.lit(1).alias("of_an_older_version")),
        pl.concat([links, links.head(1)]),
    ]:
        wrong.write_parquet(tmp_path / "run" / "links.parquet")
        with pytest.raises(packets.NotTheRun, match="table 'links' differs"):
            packets.record(tmp_path / "run", "a")


def test_the_server_records_once_and_keeps_the_file(runs: tuple[Path, pl.DataFrame], tmp_path: Path) -> None:
    _, full = runs
    skyhop.run(skyhop.Scenario.from_toml(TEXT), seed=3).write(tmp_path / "run")
    with running(tmp_path) as server:
        asked = {"run": "run", "flow": "a", "begin_s": None, "end_s": None}
        status, begun = server.ask("POST", "/api/packets", asked)
        assert status == 201
        assert server.wait(begun["job"]["id"], "done", "failed")["state"] == "done"
        status, content = server.ask("GET", f"/api/packets/{begun['key']}")
        assert status == 200
        (tmp_path / "got.parquet").write_bytes(content)
        assert pl.read_parquet(tmp_path / "got.parquet").equals(full)
        assert server.ask("POST", "/api/packets", asked) == (200, {"key": begun["key"], "job": None})
        assert [one["id"] for one in server.ask("GET", "/api/runs")[1]] == ["run"]
        _refused(server)


def _refused(server: Server) -> None:
    """Nothing that is not a run, a flow, a time or a key is answered, and nothing is kept."""
    for body, status in (
        ({"run": "nowhere", "flow": "a"}, 404),
        ({"run": "../run", "flow": "a"}, 404),
        ({"run": "run", "flow": 7}, 400),
        ({"run": "run", "flow": "a", "begin_s": "soon"}, 400),
    ):
        answer = server.ask("POST", "/api/packets", body)
        assert (answer[0], "message" in answer[1]) == (status, True), json.dumps(body)
    _, begun = server.ask("POST", "/api/packets", {"run": "run", "flow": "c"})
    job = server.wait(begun["job"]["id"], "done", "failed")
    assert (job["state"], "no flow 'c'" in job["message"]) == ("failed", True)
    for key in (begun["key"], "..%2Frun%2Fflows", "x"):
        assert server.ask("GET", f"/api/packets/{key}")[0] == 404
