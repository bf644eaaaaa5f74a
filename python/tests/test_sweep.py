"""Sweeps: the grid, the seeds, what is kept, the table."""

from __future__ import annotations

import glob
import json
import math
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from conftest import DUMBBELL, Skyhop

import skyhop
from skyhop import frames, inference, kept, speak, spreading, sweeps
from skyhop.verdict import DefinitionError

SWEEP = """\
scenario = "dumbbell.toml"
seeds = 3
warm_up = "5 s"

[axes]
"flows[*].tcp" = ["reno", "vegas"]
loss = { key = "links[0].errors", values = [
    { name = "none", set = "[]" }, { name = "1 %", set = "[{ packet = 0.01 }]" },
] }
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A sweep over two TCPs and two links."""
    (tmp_path / "dumbbell.toml").write_text(DUMBBELL, encoding="utf-8")
    path = tmp_path / "grid.toml"
    path.write_text(SWEEP, encoding="utf-8")
    return path


def test_every_cell_has_a_mean_and_an_interval_over_the_seeds(file: Path, tmp_path: Path) -> None:
    result = spreading.run(sweeps.load(file), keep=tmp_path / "kept")
    assert result.runs.height == 2 * 2 * 3
    goodput = result.table.filter(pl.col("metric") == "goodput")
    assert goodput["warm_up_s"].to_list() == [5.0] * 4
    assert goodput["runs"].to_list() == [3] * 4
    for row in goodput.iter_rows(named=True):
        values = result.runs.filter((pl.col("flows[*].tcp") == row["flows[*].tcp"]) & (pl.col("loss") == row["loss"]))[
            "goodput"
        ]
        assert row["mean"] == pytest.approx(float(values.mean()))
        # Student's t for three values is 4.303. Without chance all three runs are the same, and there is no interval.
        half = 4.303 * float(values.std()) / math.sqrt(3)
        assert row["distinct_runs"] == (3 if row["loss"] == "1 %" else 1)
        if row["loss"] == "1 %":
            assert half > 1e-6 and row["high"] - row["mean"] == pytest.approx(half, abs=1e-9)
        else:
            assert half < 1e-6 and math.isnan(row["high"]) and math.isnan(row["low"])
        # 2 Mbit/s, of which headers take at least 40 of 1500 B.
        assert 500 < row["mean"] <= 2000 * 1460 / 1500 + 1


STOPS = """
[metrics.stop]
label = "Stop"
unit = "s"
table = "flows"
column = "stop_s"
reduce = "mean"
"""


def test_equal_values_of_runs_that_differ_have_no_interval(skyhop_program: Skyhop, file: Path, tmp_path: Path) -> None:
    """Flows stop at the end of every run, whatever is lost: Student's t has no scatter, and ± 0 would be measured."""
    file.write_text(SWEEP + STOPS, encoding="utf-8")
    result = spreading.run(sweeps.load(file), keep=tmp_path / "kept")
    for row in result.table.iter_rows(named=True):
        assert row["distinct_values"] == 1 and math.isnan(row["low"]) and math.isnan(row["high"])
        assert inference.equal_seeds(row) == (3 if row["loss"] == "1 %" else 0)
    assert result.sweep is not None
    said = sweeps.notes(result.sweep, result)
    assert sum(note.startswith("Where all values are equal there is no interval.") for note in said) == 1
    grid = frames.of_sweep(result)
    assert {frames.shown(row) for row in grid.table.iter_rows(named=True)} == {"20", "20 (at all 3 seeds)"}
    done = skyhop_program.here("sweep", file, "--keep", tmp_path / "kept")
    assert done.stdout.count("all 3 equal") == 2 == done.stdout.count("all seeds alike")
    assert "±" not in done.stdout


def test_numbers_of_a_studys_sweep_are_shown_with_what_seeds_say(file: Path, tmp_path: Path) -> None:
    """Runs that are all the same are one run; equal values of runs that differ are called so."""
    file.write_text(SWEEP + STOPS, encoding="utf-8")
    sweep = sweeps.load(file)
    result = spreading.run(sweep, keep=tmp_path / "kept")
    study = SimpleNamespace(sweeps=[SimpleNamespace(name="s")])
    outcome = SimpleNamespace(study=study, sweeps={"s": (sweep, result)})
    shown = {cell.label: speak.with_interval(one, 0) for cell, _, one in speak.of_sweep(outcome, "s", "here")}
    assert shown == {
        "reno / none": "20", "reno / 1 %": "20 (at all 3 seeds)", "vegas / none": "20",
        "vegas / 1 %": "20 (at all 3 seeds)",
    }  # fmt: skip


def test_a_narrow_interval_is_not_shown_as_none() -> None:
    """An interval of "± 0.000" would say that all seeds gave the same."""
    for values, digits, text in [
        ((0.9996, 0.9997, 0.9998), 3, "0.9997 ± 0.0002"), ((1, 2, 3), 1, "2.0 ± 2.5"), ((1, 1.25, 1.5), 0, "1 ± 1"),
        ((1, 1.1, 1.2), 0, "1.1 ± 0.2"), ((1, 1), 1, "1.0 (at all 2 seeds)"), ((1,), 1, "1.0"),
    ]:  # fmt: skip
        assert speak.with_interval(inference.Estimate(dict(enumerate(values))), digits) == text


def test_a_repeated_sweep_costs_nothing_and_a_lost_run_is_made_again(file: Path, tmp_path: Path) -> None:
    keep = tmp_path / "kept"
    first = spreading.run(sweeps.load(file), keep=keep)
    made = sorted(keep.glob("*/*"))
    assert len(made) == 12
    stamps = [path.stat().st_mtime_ns for path in made]
    shutil.rmtree(made[0])
    again = spreading.run(sweeps.load(file), keep=keep)
    assert again.table.equals(first.table)
    assert sorted(keep.glob("*/*")) == made
    assert [path.stat().st_mtime_ns for path in made[1:]] == stamps[1:]


def test_a_kept_run_is_written_as_any_other(dumbbell: Path, tmp_path: Path) -> None:
    shelf = kept.Keep(tmp_path / "kept")
    scenario = skyhop.Scenario.from_file(dumbbell)
    fresh = skyhop.run(scenario, seed=2)
    own = fresh.write(tmp_path / "own")
    copy = shelf.add(fresh).write(tmp_path / "copy")
    names = sorted(path.name for path in own.iterdir() if path.name != kept.LIST)
    assert {"manifest.json", "scenario.json", "flows.parquet", "flows.csv"} <= set(names)
    assert sorted(path.name for path in copy.iterdir()) == [kept.LIST, *names]
    for name in names:
        if name.endswith(".json"):
            assert json.loads((copy / name).read_bytes()) == json.loads((own / name).read_bytes())
        elif name.endswith(".csv"):
            assert pl.read_csv(copy / name).equals(pl.read_csv(own / name))
        else:
            assert pl.read_parquet(copy / name).equals(pl.read_parquet(own / name))


def test_a_killed_sweep_goes_on(file: Path, tmp_path: Path) -> None:
    text = file.read_text(encoding="utf-8").replace("seeds = 3", "seeds = 30")
    file.write_text(text, encoding="utf-8")
    program = [sys.executable, "-m", "skyhop", "sweep", str(file), "--keep", "kept"]
    killed = subprocess.Popen(program, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while len(glob.glob(f"{tmp_path}/kept/*/*/manifest.json")) < 5 and time.monotonic() < deadline:
        time.sleep(0.01)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("kept/*/*/manifest.json")}
    assert 5 <= len(kept) < 120
    subprocess.run(program, cwd=tmp_path, check=True, capture_output=True, timeout=120)
    assert len(list(tmp_path.glob("kept/*/*/manifest.json"))) >= 120
    assert {path: path.stat().st_mtime_ns for path in kept} == kept


def test_the_program_prints_and_writes_the_table(skyhop_program: Skyhop, file: Path) -> None:
    done = skyhop_program("sweep", file)
    assert done.returncode == 0, done.stderr
    assert "Goodput (kbit/s)" in done.stdout
    assert "5 s are left out" in done.stderr
    written = skyhop_program.folder / "runs" / "grid"
    assert sorted(path.name for path in written.iterdir()) == [
        ".skyhop.json", "runs.csv", "runs.parquet", "table.csv", "table.parquet",
    ]  # fmt: skip
    assert pl.read_csv(written / "table.csv").height == pl.read_parquet(written / "table.parquet").height == 4 * 5


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("seeds = 3", "seeds = 0", "seeds"),
        ("seeds = 3", "seeds = [1, true]", "seeds"),
        ('"5 s"', '"5"', "warm_up"),
        ('["reno", "vegas"]', "[]", "axes.flows"),
        ("warm_up", "warmup", "warmup"),
    ],
)
def test_what_cannot_be_meant_is_said(file: Path, old: str, new: str, place: str) -> None:
    file.write_text(file.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    with pytest.raises(DefinitionError, match=place.replace("[", r"\[")):
        sweeps.load(file)


def test_a_warm_up_within_a_step_is_refused_before_the_first_run(skyhop_program: Skyhop, file: Path) -> None:
    file.write_text(file.read_text(encoding="utf-8").replace('"5 s"', '"5.25 s"'), encoding="utf-8")
    done = skyhop_program.here("sweep", file)
    assert done.returncode == 2
    assert "warm_up: 5.25 s lies within a step of the time series, which are 500 ms long" in done.stderr
    assert skyhop_program.written() == []


def test_a_time_that_ends_within_the_warm_up_is_refused_before_the_first_run(
    skyhop_program: Skyhop, file: Path
) -> None:
    measure = (
        '[metrics.early]\nlabel = "Early"\nunit = ""\ntable = "flow_series"\ncolumn = "received"\nreduce = "sum"\n'
    )
    text = file.read_text(encoding="utf-8") + measure
    for end, shown in (("until_s = 4.0", "4 s"), ("until_share = 0.25", "5 s")):
        file.write_text(f"{text}{end}\n", encoding="utf-8")
        done = skyhop_program.here("sweep", file)
        assert done.returncode == 2
        assert f"the time of early ends at {shown}, and 5 s are left out: nothing is left" in done.stderr
        assert skyhop_program.written() == []


def test_a_cell_without_a_mean_says_why(skyhop_program: Skyhop, file: Path) -> None:
    text = file.read_text(encoding="utf-8").replace('warm_up = "5 s"\n', "") + (
        '[metrics.nobody]\nlabel = "Nobody"\nunit = "packets"\ntable = "flows"\ncolumn = "dropped"\nreduce = "sum"\n'
        'only = "nobody"\n'
    )
    file.write_text(text, encoding="utf-8")
    done = skyhop_program.here("sweep", file)
    assert done.returncode == 0
    said = " ".join(done.stderr.split())
    assert "Nobody has no mean, as runs had nothing to measure: reno / none (3 of 3 runs)," in said


def test_a_sweep_says_what_its_time_series_leave_out(skyhop_program: Skyhop, file: Path) -> None:
    scenario = file.with_name("dumbbell.toml")
    scenario.write_text(scenario.read_text(encoding="utf-8").replace('"20 s"', '"20.3 s"'), encoding="utf-8")
    done = skyhop_program.here("sweep", file)
    said = " ".join(done.stderr.split())
    assert "the time series end at 20 s and the run at 20.3 s: the rest is not in goodput, throughput, dropped" in said


def test_a_wrong_cell_is_a_wrong_scenario(skyhop_program: Skyhop, file: Path) -> None:
    file.write_text(file.read_text(encoding="utf-8").replace('"vegas"', '"vegsa"'), encoding="utf-8")
    done = skyhop_program.here("sweep", file)
    assert done.returncode == 2
    assert "vegas" in done.stderr
    assert skyhop_program.written() == []


def test_quantiles_of_student_are_those_of_the_tables() -> None:
    # Abramowitz and Stegun, table 26.10: 97.5 % for 9, 40, 60 and 120 degrees of freedom.
    for freedom, quantile in [(9, 2.262), (40, 2.021), (60, 2.000), (120, 1.980)]:
        assert inference.t_quantile(freedom) == pytest.approx(quantile, abs=6e-4)
