"""Sweeps over several processes: shards, what is missing, failed runs, seeds until an interval is small enough."""

from __future__ import annotations

import glob
import json
import math
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from conftest import DUMBBELL, Skyhop

from skyhop import precision, spreading, sweeps
from skyhop.verdict import DefinitionError

SWEEP = """\
scenario = "dumbbell.toml"
seeds = 3

[axes]
"flows[*].tcp" = ["reno", "vegas"]
loss = { key = "links[0].errors", values = [
    { name = "none", set = "[]" }, { name = "1 %", set = "[{ packet = 0.01 }]" },
] }
"""

#: Rows at every 50 us take more memory than the test allows, which the engine says before the run.
TOO_LARGE = """\
scenario = "dumbbell.toml"
seeds = 2

[axes]
grid = { key = "records.grid", values = ["500 ms", "50 us"] }
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "dumbbell.toml").write_text(DUMBBELL.replace('"20 s"', '"5 s"'), encoding="utf-8")
    path = tmp_path / "grid.toml"
    path.write_text(SWEEP, encoding="utf-8")
    return path


def test_shards_together_are_the_sweep_and_no_run_is_in_two(file: Path) -> None:
    todo = sweeps.jobs(sweeps.load(file))
    for count in (1, 3, 5, 20):
        parts = [spreading.Shard(number, count).of(todo) for number in range(1, count + 1)]
        assert sorted(spreading.key_of(job) for part in parts for job in part) == sorted(map(spreading.key_of, todo))
        assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_a_sweep_in_shards_by_several_processes_gives_what_one_process_gives(
    skyhop_program: Skyhop, file: Path, tmp_path: Path
) -> None:
    program = [sys.executable, "-m", "skyhop", "sweep", str(file), "--keep", "shared"]
    # Part 2 runs twice at the same time, and a whole sweep beside it: nothing may mix.
    wanted = [["--shard", "1/3"], ["--shard", "2/3"], ["--shard", "2/3"], ["--out", "early"]]
    running = [
        subprocess.Popen([*program, *one], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for one in wanted
    ]
    for one in running:
        _, said = one.communicate(timeout=120)
        assert one.returncode == 0, said
    assert sorted(path.name for path in (tmp_path / "early").iterdir() if path.suffix == ".csv") == [
        "runs.csv", "table.csv",
    ]  # fmt: skip
    alone = spreading.run(sweeps.load(file), keep=tmp_path / "alone")
    shared = spreading.run(sweeps.load(file), keep=tmp_path / "shared")
    assert shared.runs.drop("run").equals(alone.runs.drop("run"))
    assert shared.table.equals(alone.table)
    assert len(list((tmp_path / "shared").glob("*/*/manifest.json"))) == 12


def test_what_is_missing_is_listed_and_made_by_its_shard_only(skyhop_program: Skyhop, file: Path) -> None:
    made = skyhop_program("sweep", file, "--shard", "2/3", "--keep", "shared")
    assert made.returncode == 0, made.stderr
    assert "Part 2/3: 4 runs, 0 kept before, 4 made, 0 failed" in made.stderr
    listed = skyhop_program.here("sweep", file, "--list", "--keep", "shared", "--json")
    states = json.loads(listed.stdout)
    assert [one["state"] for one in states] == ["missing", "kept", "missing"] * 4
    assert all((skyhop_program.folder / one["run"]).is_dir() == (one["state"] == "kept") for one in states)
    missing = skyhop_program.here("sweep", file, "--missing", "--keep", "shared", "--json")
    assert missing.returncode == 1
    assert len(json.loads(missing.stdout)) == 8
    assert skyhop_program.here("sweep", file, "--missing", "--shard", "2/3", "--keep", "shared").returncode == 0
    # Only what was listed stays: listing makes no folder and no run.
    assert not (skyhop_program.folder / "runs").exists()


def test_a_failed_run_is_a_row_with_its_reason_and_the_others_are_made(
    skyhop_program: Skyhop, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text(TOO_LARGE, encoding="utf-8")
    done = skyhop_program("sweep", file, "--memory", "30 MB", "--keep", "kept", "--out", "out")
    assert done.returncode == 1
    assert "failed: 50 us, seed 2:" in done.stderr and "memory" in done.stderr
    runs = pl.read_parquet(skyhop_program.folder / "out" / "runs.parquet")
    assert runs["error"].is_null().to_list() == [True, True, False, False]
    assert runs["goodput"].is_null().to_list() == [False, False, True, True]
    table = pl.read_parquet(skyhop_program.folder / "out" / "table.parquet").filter(pl.col("metric") == "goodput")
    assert table["failed"].to_list() == [0, 2] and table["runs"].to_list() == [2, 0]
    assert math.isnan(table["mean"][1]) and table["mean"][0] > 0
    listed = skyhop_program.here("sweep", file, "--missing", "--keep", "kept", "--json")
    assert [one["state"] for one in json.loads(listed.stdout)] == ["failed", "failed"]
    # With more memory the runs are made, and nobody says any more that they failed.
    again = skyhop_program("sweep", file, "--memory", "none", "--keep", "kept", "--out", "out")
    assert again.returncode == 0, again.stderr
    assert skyhop_program.here("sweep", file, "--missing", "--keep", "kept").returncode == 0


def test_seeds_are_added_at_every_cell_until_the_interval_is_small_enough(file: Path, tmp_path: Path) -> None:
    sweep = sweeps.load(file)
    bound = precision.read("goodput ± 6 %", sweep)
    result = spreading.run(sweep, keep=tmp_path / "kept", until=bound, most_seeds=200)
    assert result.sweep is not None and not result.looks[-1].wide
    counts = [one.seeds for one in result.looks]
    assert counts[0] == precision.FIRST_LOOK and counts == sorted(set(counts)) and counts[-1] < 200
    # The rule does not stop before it is met, and does stop then.
    assert all(one.wide for one in result.looks[:-1])
    goodput = result.table.filter(pl.col("metric") == "goodput")
    for row in goodput.iter_rows(named=True):
        # Seeds are paired: each cell has all of them.
        assert row["runs"] == counts[-1]
        if row["distinct_runs"] > 1:
            values = result.runs.filter(
                (pl.col("flows[*].tcp") == row["flows[*].tcp"]) & (pl.col("loss") == row["loss"])
            )
            deviation = float(values["goodput"].std())  # type: ignore[arg-type]
            assert 1.9 * deviation / math.sqrt(counts[-1]) <= 0.06 * row["mean"]
    assert f"after {', '.join(map(str, counts))} seeds" in precision.said(bound, result.looks)[0]


def test_a_bound_that_is_not_reached_is_said(skyhop_program: Skyhop, file: Path) -> None:
    done = skyhop_program.here("sweep", file, "--until", "goodput +- 0.01 %", "--most-seeds", "12")
    assert done.returncode == 1
    assert "was not reached with 12 seeds: reno / 1 %" in done.stderr
    # Cells without chance are not what is missing.
    assert "reno / none (" not in done.stderr


def test_ctrl_c_says_how_many_runs_are_kept(file: Path, tmp_path: Path) -> None:
    file.write_text(SWEEP.replace("seeds = 3", "seeds = 2000"), encoding="utf-8")
    program = [sys.executable, "-m", "skyhop", "sweep", str(file), "--keep", "kept"]
    running = subprocess.Popen(program, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    # Unlike that of Path, this glob passes over folders that vanish under it.
    while len(glob.glob(f"{tmp_path}/kept/*/*/manifest.json")) < 5 and time.monotonic() < deadline:
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    kept = len(list(tmp_path.glob("kept/*/*/manifest.json")))
    assert f"{kept} finished runs are kept in kept; the same command goes on" in said
    assert not (tmp_path / "runs" / "grid").exists()


def test_the_number_of_seeds_follows_from_the_width() -> None:
    look = precision.Look(10, (("a", 1.3), ("b", 1.1)), ())
    # The width falls with the root of the number: 1.3² · 10 = 16.9.
    assert precision.next_seeds(look, most=100) == 17
    assert precision.next_seeds(precision.Look(10, (("a", 9.0),), ()), most=100) == 20
    assert precision.next_seeds(precision.Look(10, (("a", 9.0),), ()), most=15) == 15
    assert precision.more_seeds((3, 7), 5) == (3, 7, 1, 2, 4)


def test_a_bound_says_where_equal_values_have_no_interval(file: Path) -> None:
    sweep = sweeps.load(file)
    until = precision.read("dropped ± 1 packets", sweep)
    of = {"metric": "dropped", "runs": 10, "distinct_runs": 10, "distinct_values": 1, "mean": 0.0, "high": math.nan}
    point = {axis.name: next(iter(axis.values)) for axis in sweep.axes}
    look = precision.look(until, pl.DataFrame([point | of]), sweep.axes, 10)
    assert look.wide == look.hopeless == () and len(look.equal) == 1
    # Where runs failed, too few may be left: five equal values decide nothing.
    few = precision.look(until, pl.DataFrame([point | of | {"runs": 5, "distinct_runs": 5}]), sweep.axes, 10)
    assert few.wide == few.equal == () and len(few.hopeless) == 1
    assert "has no interval to look at where all seeds gave the same value" in precision.said(until, [look])[1]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("goodput", "half the width"),
        ("goodput ± 0 %", "half the width"),
        ("godput ± 2 %", "goodput, throughput"),
        ("goodput ± 2", "kbit/s"),
        ("goodput ± 2 ms", "kbit/s"),
    ],
)
def test_a_bound_that_cannot_be_meant_is_said(file: Path, text: str, what: str) -> None:
    with pytest.raises(DefinitionError, match=what):
        precision.read(text, sweeps.load(file))


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["--shard", "0/3"], "as in"),
        (["--shard", "4/3"], "as in"),
        (["--shard", "1/3", "--until", "goodput ± 2 %"], "without --shard"),
        (["--shard", "1/3", "--out", "x"], "no effect"),
        (["--list", "--missing"], "one of them"),
        (["--list", "--out", "x"], "no effect"),
        (["--most-seeds", "20"], "without --until"),
        (["--until", "goodput ± 2 %", "--most-seeds", "5"], "at least 10"),
    ],
)
def test_options_without_effect_are_refused(skyhop_program: Skyhop, file: Path, options: list[str], what: str) -> None:
    done = skyhop_program.here("sweep", file, *options)
    assert done.returncode == 2 and what in done.stderr
    assert skyhop_program.written() == []


def test_the_numbers_as_json_are_those_of_the_table(skyhop_program: Skyhop, file: Path) -> None:
    done = skyhop_program.here("sweep", file, "--json")
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    written = pl.read_parquet(skyhop_program.folder / "runs" / "grid" / "table.parquet")
    assert [row["mean"] for row in printed["table"]] == written["mean"].to_list()
    # JSON has no NaN: what has no interval is null.
    assert [row["low"] is None for row in printed["table"]] == written["low"].is_nan().to_list()
    assert all((skyhop_program.folder / row["run"] / "manifest.json").exists() for row in printed["runs"])
