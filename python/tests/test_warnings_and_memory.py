"""What a run says besides its numbers, and how much memory it may take."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import DUMBBELL, Skyhop

import skyhop
from skyhop.kept import Keep
from skyhop.warned import Warned, sentences

#: Every packet of the flow is lost.
SILENT = """
duration = "5 s"
profile = "rfc"

[[links]]
between = ["left", "right"]
rate = "2 Mbit/s"
delay = "10 ms"
errors = [{ packet = 1.0 }]

[[flows]]
name = "quiet"
from = "left"
to = "right"
tcp = "newreno"
"""

#: Some 12 million rows of 200 B and more.
LONG_RECORDING = SILENT.replace('"5 s"', '"600 s"\nrecords = { grid = "0.1 ms" }')


def is_about_the_flow(warnings: list[str]) -> bool:
    return any(one.startswith('flow "quiet" delivered nothing: ') and "were lost (error " in one for one in warnings)


def test_a_flow_that_delivers_nothing_is_said_everywhere(skyhop_program: Skyhop) -> None:
    (skyhop_program.folder / "silent.toml").write_text(SILENT, encoding="utf-8")
    done = skyhop_program("run", "silent.toml", "--out", "out", "--json")
    assert done.returncode == 0
    assert is_about_the_flow([line.removeprefix("warning: ") for line in done.stderr.splitlines()])
    said = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
    assert len(said) == len(set(said)), "each warning once"
    summary = json.loads(done.stdout)
    assert is_about_the_flow(summary["warnings"])
    folder = skyhop_program.folder / "out"
    for name in ("manifest.json", "summary.json"):
        assert is_about_the_flow(json.loads((folder / name).read_text(encoding="utf-8"))["warnings"]), name


def test_a_sweep_says_each_warning_once_with_the_number_of_its_runs(skyhop_program: Skyhop) -> None:
    (skyhop_program.folder / "silent.toml").write_text(SILENT, encoding="utf-8")
    (skyhop_program.folder / "grid.toml").write_text(
        """
        scenario = "silent.toml"
        seeds = 2
        [axes.loss]
        values = [{ name = "none", set = ["links[0].errors=[]"] }, { name = "all", set = [] }]
        [axes.wire]
        key = "links[0].delay"
        values = ["10 ms", "20 ms", "30 ms"]
        """,
        encoding="utf-8",
    )
    # Once from simulated runs, once from kept ones.
    for _ in range(2):
        done = skyhop_program.here("sweep", "grid.toml")
        assert done.returncode == 0
        said = [
            line for line in done.stderr.splitlines() if line.startswith("warning: ") and "delivered nothing" in line
        ]
        assert len(said) == 1, done.stderr
        assert is_about_the_flow([said[0].removeprefix("warning: ")])
        assert "(in 6 of 12 runs, first all / 10 ms, seed 1" in said[0]


def test_a_study_says_the_warnings_of_its_runs_and_sweeps(skyhop_program: Skyhop) -> None:
    folder = skyhop_program.folder / "studies" / "quiet"
    folder.mkdir(parents=True)
    (folder / "scenario.toml").write_text(SILENT, encoding="utf-8")
    (folder / "grid.toml").write_text('scenario = "scenario.toml"\nseeds = 3\n', encoding="utf-8")
    (folder / "expect.toml").write_text("", encoding="utf-8")
    (folder / "README.md").write_text("<!-- results: -->\n<!-- end of results -->\n", encoding="utf-8")
    (folder / "study.toml").write_text(
        """
        title = "T"
        question = "Q?"
        paper = "P"
        seeds = [1, 2]
        [axes.errors]
        label = "errors"
        key = "links[0].errors"
        values = [{ name = "all", set = "[{ packet = 1.0 }]" }, { name = "none", set = "[]" }]
        [metrics.sent]
        label = "Sent"
        unit = "packets"
        table = "flows"
        column = "packets_sent"
        reduce = "sum"
        [sweeps.grid]
        """,
        encoding="utf-8",
    )
    done = skyhop_program.here("study", "run", "quiet", "--renew")
    assert done.returncode == 0, done.stderr
    (said,) = (line for line in done.stderr.splitlines() if "delivered nothing" in line)
    assert "(in 5 of 7 runs, first all, seed 1" in said
    page = (skyhop_program.folder / "runs" / "quiet" / "report.html").read_text(encoding="utf-8")
    assert page.count("delivered nothing") == 1 and "in 5 of 7 runs" in page


def test_warnings_that_differ_in_their_numbers_are_one() -> None:
    many = [Warned(f"seed {n}", [f"flow f-{k}: {n}{k}.5 % lost" for k in range(3)]) for n in range(1, 5)]
    assert sentences([*many, Warned("seed 5", ["the elements are old"])]) == [
        "flow f-0: 10.5 % lost (in 4 of 5 runs, first seed 1; 11 more with other numbers)",
        "the elements are old (in 1 of 5 runs, first seed 5)",
    ]
    assert sentences(many[:1])[0].endswith("(in the only run, seed 1; 2 more with other numbers)")
    assert sentences([Warned("seed 1", [])]) == []


def test_warnings_stay_with_a_run(tmp_path: Path) -> None:
    run = skyhop.run(SILENT)
    assert is_about_the_flow(run.warnings)
    assert run.manifest["warnings"] == run.summary["warnings"] == run.warnings
    assert Keep(tmp_path).add(run).warnings == run.warnings
    assert run.manifest["drops_left_out"] == 0


def test_a_run_without_anything_unusual_warns_of_nothing() -> None:
    run = skyhop.run(DUMBBELL)
    assert run.warnings == []
    delivered = sum(flow["bytes_delivered"] for flow in run.summary["flows"])
    assert run.summary["total"]["bytes_delivered"] == delivered
    assert run.summary["total"]["goodput_bps"] == pytest.approx(8 * delivered / run.scenario.duration_s)


def test_a_run_that_needs_more_memory_than_it_may_take_does_not_start(skyhop_program: Skyhop) -> None:
    (skyhop_program.folder / "long.toml").write_text(LONG_RECORDING, encoding="utf-8")
    done = skyhop_program("run", "long.toml", "--memory", "10 MB")
    assert done.returncode == 1
    assert "needs about" in done.stderr and "may take 10 MB" in done.stderr and "--memory" in done.stderr
    assert "Traceback" not in done.stderr
    assert skyhop_program.written() == []


def test_the_limit_of_memory_is_a_size(skyhop_program: Skyhop, dumbbell: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for command in (("run", dumbbell), ("sweep", dumbbell), ("study", "run", "--all")):
        done = skyhop_program(*command, "--memory", "much")
        assert done.returncode == 2, command
        assert 'SKYHOP_MEMORY is "much": write a size' in done.stderr
    monkeypatch.setenv("SKYHOP_MEMORY", "123 MB")
    assert skyhop._core.memory_limit() == 123_000_000
    monkeypatch.delenv("SKYHOP_MEMORY")
    assert skyhop._core.memory_limit() > 1_000_000


def test_memory_bytes_bounds_a_run_of_a_program() -> None:
    with pytest.raises(MemoryError, match="needs about"):
        skyhop.run(LONG_RECORDING, memory_bytes=100_000_000)
