"""Scenarios and runs from Python: every way in means the same; tables, summary, manifest."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import DUMBBELL

import skyhop

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def sections() -> dict[str, Any]:
    data: dict[str, Any] = tomllib.loads(DUMBBELL)
    return data


def test_every_way_in_means_the_same_scenario(dumbbell: Path) -> None:
    ways = [
        skyhop.scenario(dumbbell),
        skyhop.scenario(str(dumbbell)),
        skyhop.scenario(DUMBBELL),
        skyhop.scenario(sections()),
        skyhop.scenario(**sections()),
        skyhop.scenario(skyhop.scenario(dumbbell)),
        skyhop.scenario(json.loads(skyhop.scenario(dumbbell).canonical_json())),
    ]
    assert len({way.hash for way in ways}) == 1
    assert ways[0].duration_s == 20


def test_every_way_in_gives_the_same_messages(tmp_path: Path) -> None:
    broken = (
        DUMBBELL.replace('"50 ms"', '"50 msec"')
        .replace('from = "left"', 'from = "lefft"', 1)
        .replace("packets", "pakets")
    )
    path = tmp_path / "broken.toml"
    path.write_text(broken, encoding="utf-8")
    data = tomllib.loads(broken)
    found = []
    for source in (path, broken, data):
        with pytest.raises(skyhop.ScenarioError) as caught:
            skyhop.scenario(source)
        found.append(caught.value)
    with pytest.raises(skyhop.ScenarioError) as caught:
        skyhop.scenario(**data)
    found.append(caught.value)
    said = [sorted((one["path"], one["message"], one["help"]) for one in error.diagnostics) for error in found]
    assert said[0] == said[1] == said[2] == said[3]
    assert len(said[0]) >= 3
    lines = [{one["line"] for one in error.diagnostics} for error in found]
    assert lines[0] == lines[1] != {None}, "text has lines"
    assert lines[2] == lines[3] == {None}, "a dict has none"
    for error in found:
        assert all(one["message"] in str(error) for one in error.diagnostics)


def test_overrides_and_their_limits(dumbbell: Path) -> None:
    faster = skyhop.scenario(dumbbell, overrides=["links[0].rate=4 Mbit/s"])
    assert faster.hash == skyhop.scenario(dumbbell.read_text(encoding="utf-8").replace('"2 Mbit/s"', '"4 Mbit/s"')).hash
    assert faster.hash != skyhop.scenario(dumbbell).hash
    with pytest.raises(skyhop.ScenarioError, match="rate"):
        skyhop.scenario(dumbbell, overrides=["links[0].rate=4 apples"])
    with pytest.raises(TypeError, match="already validated"):
        skyhop.scenario(faster, overrides=["links[0].rate=5 Mbit/s"])
    with pytest.raises(TypeError, match="not both"):
        skyhop.scenario(dumbbell, duration="1 s")
    with pytest.raises(TypeError, match="not set"):
        skyhop.scenario(duration="1 s", flows={1})
    with pytest.raises(skyhop.ScenarioError):
        skyhop.scenario()


def test_seed_is_keyword_only(dumbbell: Path) -> None:
    with pytest.raises(TypeError):
        skyhop.run(dumbbell, 3)


def test_tables_are_polars_over_the_engines_memory(dumbbell: Path) -> None:
    run = skyhop.run(dumbbell)
    assert isinstance(run.flows, pl.DataFrame)
    assert run.flows["flow"].to_list() == ["a", "b"]
    assert run.flows["goodput_bps"].sum() <= 2e6
    assert run.flow_series["time_s"].max() == 20
    assert set(run.flow_series["flow"]) == {"a", "b"}
    assert run.drops.height == run.flows["dropped"].sum() > 0
    assert {"left->right", "right->left"} <= set(run.links["link"])
    for name in run.table_names:
        assert run.table(name).width > 0, name
    with pytest.raises(KeyError, match="there are: "):
        run.table("flow")
    assert run.summary["flows"][0]["goodput_bps"] == run.flows["goodput_bps"][0]
    assert run.manifest["scenario_hash"] == run.scenario.hash == skyhop.scenario(dumbbell).hash
    assert "flows" in repr(run) and "seed 1" in repr(run)


def test_rtt_is_never_below_geometry_and_goodput_never_above_the_bottleneck(dumbbell: Path) -> None:
    flows = skyhop.run(dumbbell).flows
    for flow, access_s in (("a", 1e-3), ("b", 2e-3)):
        row = flows.row(by_predicate=pl.col("flow") == flow, named=True)
        assert row["rtt_min_s"] >= 2 * (50e-3 + 2 * access_s)
        assert row["delay_min_s"] >= 50e-3 + 2 * access_s
        assert row["goodput_bps"] < row["throughput_bps"] < 2e6


def test_write_replaces_an_older_run_whole_and_nothing_else(dumbbell: Path, tmp_path: Path) -> None:
    run = skyhop.run(dumbbell, seed=3)
    folder = run.write(tmp_path / "runs" / "first")
    silent = skyhop.run(dumbbell, overrides=["links[0].queue.drop_tail.packets=100000"])
    assert silent.drops.is_empty() and (folder / "drops.csv").exists()
    assert silent.write(folder) == folder
    assert not (folder / "drops.csv").exists(), "a table of the older run"
    assert json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["seed"] == 1
    assert pl.read_parquet(folder / "flows.parquet").equals(silent.flows)
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(FileExistsError, match=r"notes\.txt"):
        run.write(folder)
    assert (folder / "notes.txt").read_text(encoding="utf-8") == "mine"
    assert pl.read_parquet(folder / "flows.parquet").equals(silent.flows)
    assert [path.name for path in folder.parent.iterdir()] == ["first"]


def test_a_run_written_as_it_goes_is_the_run(tmp_path: Path) -> None:
    # 200,000 rows: some pieces of the table leave the memory while the run goes on.
    fine = DUMBBELL.replace('grid = "500 ms"', 'grid = "0.2 ms"')
    run = skyhop.run(fine, seed=4)
    run.write(tmp_path / "whole")
    written = skyhop.run_into(fine, tmp_path / "pieces", seed=4)
    assert written.folder == tmp_path / "pieces" and written.summary == run.summary
    assert written.manifest["records_hash"] == run.manifest["records_hash"]
    assert "flow_series" in written.manifest["tables_without_csv"] and written.warnings == run.warnings
    whole, pieces = (skyhop.load(tmp_path / name) for name in ("whole", "pieces"))
    assert run.flow_series.height > 150_000
    for name in run.table_names:
        assert pieces.table(name).equals(whole.table(name), null_equal=True), name
    with pytest.raises(FileExistsError):
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / "note").write_text("keep")
        skyhop.run_into(fine, tmp_path / "mine")


def test_the_gil_is_free_and_a_run_can_be_cancelled_from_another_thread(dumbbell: Path) -> None:
    progress = skyhop.Progress()
    seen: list[float] = []

    def watch() -> None:
        while progress.fraction == 0:
            pass
        seen.append(progress.fraction)
        progress.cancel()

    thread = threading.Thread(target=watch)
    thread.start()
    with pytest.raises(RuntimeError):
        skyhop.run(dumbbell, overrides=["duration=40000 s"], progress=progress)
    thread.join()
    assert 0 < seen[0] < 1
