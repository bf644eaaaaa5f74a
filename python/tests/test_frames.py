"""The loop in Python: sweeps and studies as frames that know their axes and intervals."""

from __future__ import annotations

import importlib.util
import math
import re
import sys
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from conftest import DUMBBELL, Skyhop

import skyhop
from skyhop import frames, gridplots
from skyhop.definition import parse_toml
from skyhop.figure import Figure
from skyhop.verdict import DefinitionError

SHORT = DUMBBELL.replace('"20 s"', '"5 s"')
AXES = {
    "rate": {"key": "links[0].rate", "values": ["1 Mbit/s", "2 Mbit/s", "4 Mbit/s"]},
    "loss": {
        "key": "links[0].errors",
        "values": [{"name": "none", "set": "[]"}, {"name": "1 %", "set": "[{ packet = 0.01 }]"}],
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept")


@pytest.fixture(scope="module")
def grid(kept: Path) -> skyhop.Grid:
    return skyhop.sweep(SHORT, AXES, seeds=3, keep=kept)


def test_a_grid_knows_its_axes_and_intervals(grid: skyhop.Grid) -> None:
    assert grid.axes == {"rate": ("1 Mbit/s", "2 Mbit/s", "4 Mbit/s"), "loss": ("none", "1 %")}
    goodput = grid["goodput"]
    assert goodput.columns == ["rate", "loss", "mean", "low", "high", "runs", "failed"] and goodput.height == 6
    for row in goodput.iter_rows(named=True):
        values = grid.runs.filter((pl.col("rate") == row["rate"]) & (pl.col("loss") == row["loss"]))["goodput"]
        assert row["mean"] == pytest.approx(float(values.mean()))  # type: ignore[arg-type]
        # Student's t for three values is 4.303; all seeds are alike without losses, and give no interval.
        half = 4.303 * float(values.std()) / math.sqrt(3)  # type: ignore[arg-type]
        assert (
            math.isnan(row["high"])
            if row["loss"] == "none"
            else row["high"] - row["mean"] == pytest.approx(half, rel=1e-3)
        )
    clean = grid.at(loss="none")
    assert list(clean.axes) == ["rate"] and clean["goodput"]["mean"].is_sorted()
    with pytest.raises(KeyError, match="goodput, throughput"):
        grid["godput"]
    with pytest.raises(KeyError, match="none, 1 %"):
        grid.at(loss="2 %")


def test_a_run_is_found_from_its_row(grid: skyhop.Grid, kept: Path) -> None:
    row = grid.runs.row(4, named=True)
    for run in (grid.run(4), grid.run(row), grid.run(rate=row["rate"], loss=row["loss"], seed=row["seed"])):
        assert run.manifest["records_hash"] == row["records_hash"] and run.folder.is_relative_to(kept)
    # It has the tables and figures of a run that was simulated just now.
    assert run.flows.equals(run.table("flows"))
    assert [panel.get_ylabel() for panel in run.plot.cwnd().axes] == ["Congestion window (segments)"]
    with pytest.raises(LookupError, match="3 runs are like that"):
        grid.run(rate="1 Mbit/s", loss="none")
    with pytest.raises(KeyError, match="neither an axis"):
        grid.run(rata="1 Mbit/s")


def test_the_same_sweep_from_a_file_a_scenario_and_its_folder(
    grid: skyhop.Grid, kept: Path, tmp_path: Path, skyhop_program: Skyhop
) -> None:
    of_mapping = skyhop.sweep(parse_toml(SHORT), AXES, seeds=3, keep=kept)
    assert of_mapping.table.equals(grid.table)
    (tmp_path / "dumbbell.toml").write_text(SHORT, encoding="utf-8")
    (tmp_path / "grid.toml").write_text(
        'scenario = "dumbbell.toml"\nseeds = 3\n[axes]\nrate = { key = "links[0].rate", values = '
        '["1 Mbit/s", "2 Mbit/s", "4 Mbit/s"] }\nloss = { key = "links[0].errors", values = ['
        '{ name = "none", set = "[]" }, { name = "1 %", set = "[{ packet = 0.01 }]" }] }\n',
        encoding="utf-8",
    )
    done = skyhop_program.here(
        "sweep", "grid.toml", "--keep", kept, "--out", "out", "--figure", "goodput", "--figure", "delay"
    )
    assert done.returncode == 0, done.stderr
    read = skyhop.load(tmp_path / "out")
    assert isinstance(read, skyhop.Grid)
    assert read.table.equals(grid.table) and read.axes == grid.axes and read.measures == grid.measures
    # The folder belongs to the sweep as a whole, figures included: the next one replaces it.
    assert {path.suffix for path in (tmp_path / "out").glob("*.svg")} == {".svg"}
    assert "goodput" in {path.stem for path in (tmp_path / "out").glob("*.svg")}
    assert skyhop_program.here("sweep", "grid.toml", "--keep", kept, "--out", "out").returncode == 0
    assert not list((tmp_path / "out").glob("*.svg"))


def test_a_grid_that_was_read_back_says_what_its_means_leave_out(grid: skyhop.Grid, tmp_path: Path) -> None:
    """The time behind the warm-up would be taken for the whole, and means of some runs for those of all."""
    late = pl.when(pl.col("metric") == "goodput").then(2.5).otherwise(0.0).alias("warm_up_s")
    grid.table.with_columns(late, pl.lit(1).alias("failed")).write_parquet(tmp_path / "table.parquet")
    grid.runs.write_parquet(tmp_path / "runs.parquet")
    read = skyhop.load(tmp_path)
    assert isinstance(read, skyhop.Grid)
    assert read.notes == ("The first 2.5 s are left out of goodput.",)
    assert read["goodput"]["failed"].to_list() == [1] * 6


def test_figures_of_one_axis_and_of_more(grid: skyhop.Grid) -> None:
    (panel,) = grid.at(loss="1 %").figure("goodput").axes
    # Numbers of one unit stand where they are.
    line = panel.containers[0][0]  # type: ignore[index]
    assert list(line.get_xdata()) == [1.0, 2.0, 4.0] and panel.get_xlabel() == "rate (Mbit/s)"  # type: ignore[arg-type]
    assert list(line.get_ydata()) == grid.at(loss="1 %")["goodput"]["mean"].to_list()  # type: ignore[arg-type]
    assert panel.get_ylabel() == "Goodput (kbit/s)"
    names, bar = grid.figure("goodput").axes
    (image,) = names.get_images()
    drawn = image.get_array()
    assert drawn is not None
    assert drawn.tolist() == grid["goodput"]["mean"].to_numpy().reshape(3, 2).tolist()
    assert (names.get_ylabel(), names.get_xlabel(), bar.get_ylabel()) == ("rate", "loss", "Goodput (kbit/s)")
    with pytest.raises(ValueError, match="no axes"):
        grid.at(loss="none", rate="1 Mbit/s").figure("goodput")
    assert gridplots.numbers(("10 ms", "1 s")) is None and gridplots.numbers(("a",)) is None
    assert gridplots.numbers(("1e1", "2.5")) == ([10.0, 2.5], "")


def noted(drawn: Figure) -> str:
    """The note under a figure, in one line."""
    assert drawn._supxlabel is not None  # type: ignore[attr-defined]
    return str(drawn._supxlabel.get_text()).replace("\n", " ")  # type: ignore[attr-defined]


def test_figures_say_of_how_many_runs_means_are(grid: skyhop.Grid) -> None:
    """Where runs failed, a mean is of the others; without a word it would look like one of all."""
    assert noted(grid.figure("goodput")) == "Means of 3 runs with 95 % intervals."
    here = (pl.col("rate") == "4 Mbit/s") & (pl.col("loss") == "1 %")
    kinds = {"runs": 2, "failed": 1}
    columns = [pl.when(here).then(value).otherwise(pl.col(name)).alias(name) for name, value in kinds.items()]
    lame = replace(grid, table=grid.table.with_columns(columns))
    said = "Means of 3 runs with 95 % intervals. 1 of 18 runs failed, and means are of the others: "
    assert noted(lame.figure("goodput")) == f"{said}4 Mbit/s / 1 % (2 of 3)."
    (names, _) = lame.figure("goodput").axes
    assert [text.get_text().endswith("\n(2 of 3 runs)") for text in names.texts].count(True) == 1
    assert lame._repr_html_().count(" (2 of 3 runs)</td>") == len(grid.measures)
    assert "1 of 9 runs failed, and means are of the others: 4 Mbit/s (2 of 3)." in noted(
        lame.at(loss="1 %").figure("goodput")
    )


def test_figures_say_where_there_is_no_mean_or_no_interval(grid: skyhop.Grid) -> None:
    first, second = (pl.col("rate") == rate for rate in ("1 Mbit/s", "2 Mbit/s"))
    lame = grid.at(loss="1 %")
    nan = pl.lit(math.nan)
    lame = replace(lame, table=lame.table.with_columns(
        pl.when(first).then(nan).otherwise("mean").alias("mean"),
        *(pl.when(first | second).then(nan).otherwise(end).alias(end) for end in ("low", "high")),
        pl.when(second).then(1).otherwise("distinct_values").alias("distinct_values"),
    ))  # fmt: skip
    said = noted(lame.figure("goodput"))
    assert "No mean where a run had nothing to measure: 1 Mbit/s." in said
    assert "No interval where runs that differ gave the same value: 2 Mbit/s." in said


def test_notebooks_show_grids_runs_and_scenarios(grid: skyhop.Grid) -> None:
    shown = grid._repr_html_()
    assert shown.count("<tr>") == 7 and "Goodput (kbit/s)" in shown
    goodput = grid["goodput"].row(1, named=True)
    assert f"{goodput['mean']:.4g} ± " in shown and frames.shown(grid.table.row(5, named=True)) in shown
    run = skyhop.run(SHORT)
    for text in (run._repr_html_(), grid.run(0)._repr_html_()):
        assert re.findall("<tr><td>(.)</td>", text) == ["a", "b"]
    text = run.scenario._repr_html_()  # type: ignore[attr-defined]
    assert "<td>flows</td><td>2</td><td>a, b</td>" in text and "5 s" in text
    first = pl.int_range(pl.len()) == 0
    reasons = pl.when(first).then(pl.lit("out of memory")).otherwise(pl.lit(None, dtype=pl.String))
    lacking = replace(grid, runs=grid.runs.with_columns(error=reasons))
    assert f"1 of {grid.runs.height} runs failed: means are of the others" in lacking._repr_html_()
    assert "failed" not in shown
    row = {"runs": 3, "distinct_runs": 3, "distinct_values": 3}
    assert frames.shown({**row, "mean": 12345.6, "high": 12345.6 + 1234.5}) == "12346 ± 1234"
    assert frames.shown({**row, "mean": 0.12345, "high": math.nan}) == "0.1235"
    assert frames.shown({**row, "distinct_values": 1, "mean": 0.0, "high": math.nan}) == "0 (at all 3 seeds)"
    # Sweeps of older versions had an interval of no width there.
    assert frames.shown({"runs": 3, "distinct_runs": 3, "mean": 0.0, "high": 0.0}) == "0"
    assert frames.html_table(["<a>"], [["<b>"]]).count("&lt;") == 2


def test_what_cannot_be_meant_is_said(kept: Path, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="sweep file says seeds"):
        skyhop.sweep(tmp_path / "grid.toml", seeds=3)
    with pytest.raises(DefinitionError, match="metrics"):
        skyhop.sweep(SHORT, AXES, metrics={"x": {}}, keep=kept)
    with pytest.raises(skyhop.ScenarioError, match="rates"):
        skyhop.sweep(SHORT, {"links[0].rates": ["1 Mbit/s"]}, keep=kept)
    with pytest.raises(TypeError, match="already validated"):
        skyhop.sweep(skyhop.scenario(SHORT), AXES, keep=kept)
    with pytest.raises(FileNotFoundError, match="not a run folder"):
        skyhop.load(tmp_path)


def test_pandas_is_one_call_away(grid: skyhop.Grid, monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("pandas") and importlib.util.find_spec("pyarrow"):
        frame = grid.pandas("goodput")
        assert frame.index.names == ["rate", "loss"] and frame["mean"].tolist() == grid["goodput"]["mean"].to_list()
    monkeypatch.setitem(sys.modules, "pandas", sys)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pyarrow.*skyhop\[pandas\]"):
        grid.pandas("goodput")
