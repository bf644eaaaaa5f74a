"""The command line: messages, exit codes, and which files appear."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from conftest import DUMBBELL, STUDY, Skyhop

BROKEN = (
    DUMBBELL.replace('"50 ms"', '"50 msec"').replace('"newreno"', '"newreeno"').replace("packets = 20", "pakets = 20")
)


def test_version(skyhop_program: Skyhop) -> None:
    done = skyhop_program("--version")
    assert done.returncode == 0
    name, version = done.stdout.split()
    assert name == "skyhop" and version.count(".") == 2


def test_help_names_every_command(skyhop_program: Skyhop) -> None:
    text = skyhop_program("--help").stdout
    for command in ("check", "schema", "run", "path", "study"):
        assert command in text


def test_check_accepts_and_is_quiet_when_piped(skyhop_program: Skyhop, dumbbell: Path) -> None:
    done = skyhop_program("check", dumbbell)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("command", ["check", "run", "path"])
def test_every_problem_is_shown_at_once_and_nothing_written(skyhop_program: Skyhop, command: str) -> None:
    (skyhop_program.folder / "broken.toml").write_text(BROKEN, encoding="utf-8")
    done = skyhop_program(command, "broken.toml")
    assert done.returncode == 2
    assert done.stdout == ""
    for line, said in ((10, '"msec"'), (11, "pakets"), (18, "newreeno")):
        assert any(part.startswith(f"broken.toml:{line}:") and said in part for part in done.stderr.splitlines()), said
    assert 'did you mean "ms"?' in done.stderr
    assert "newreno" in done.stderr
    assert skyhop_program.written() == []


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00", b"duration = "])
def test_unreadable_files(skyhop_program: Skyhop, content: bytes | None) -> None:
    if content is not None:
        (skyhop_program.folder / "odd.toml").write_bytes(content)
    done = skyhop_program("run", "odd.toml")
    assert done.returncode == 2
    assert done.stderr.startswith("odd.toml") and "Traceback" not in done.stderr
    assert skyhop_program.written() == []


def test_an_override_is_checked_as_the_file_is(skyhop_program: Skyhop, dumbbell: Path) -> None:
    done = skyhop_program("run", dumbbell, "--set", "links[0].rate=3 Mbits/s")
    assert done.returncode == 2
    assert "Mbits/s" in done.stderr and "links[0].rate" in done.stderr
    assert skyhop_program.written() == []


def test_run_writes_its_folder_and_prints_its_name(skyhop_program: Skyhop, dumbbell: Path) -> None:
    done = skyhop_program("run", dumbbell, "--seed", "7")
    assert (done.returncode, done.stderr) == (0, "")
    folder = skyhop_program.folder / done.stdout.strip()
    assert folder.parent.name == "runs" and folder.name.endswith("-7")
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["seed"] == 7
    assert manifest["scenario_hash"].startswith(folder.name.split("-")[0])
    assert manifest["packets"]["conserved"] is True
    for name in ("summary.json", "scenario.json", "flows.parquet", "flows.csv", "links.csv"):
        assert (folder / name).exists(), name
    assert not list(folder.parent.glob("*.partial"))
    assert skyhop_program("run", dumbbell, "--seed", "7").returncode == 0, "the same run again"


def test_long_tables_are_csv_only_with_csv(skyhop_program: Skyhop, dumbbell: Path) -> None:
    # Rows of both flows every 200 µs.
    setting = ("--set", "duration=12 s", "--set", "records.grid=200 us", "--out", "long")
    done = skyhop_program("run", dumbbell, *setting)
    folder = skyhop_program.folder / "long"
    rows = {table.stem: pl.read_parquet(table).height for table in folder.glob("*.parquet")}
    long = sorted(table for table, count in rows.items() if count > 100_000)
    assert long and "Add --csv" in done.stderr and all(table in done.stderr for table in long)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert sorted(manifest["tables_without_csv"]) == long
    assert {table.stem for table in folder.glob("*.csv")} == rows.keys() - set(long)
    done = skyhop_program("run", dumbbell, *setting, "--csv")
    assert done.stderr == "" and {table.stem for table in folder.glob("*.csv")} == rows.keys()
    assert "tables_without_csv" not in json.loads((folder / "manifest.json").read_text(encoding="utf-8"))


def test_run_json_is_the_summary_and_nothing_else(skyhop_program: Skyhop, dumbbell: Path) -> None:
    done = skyhop_program("run", dumbbell, "--out", "here", "--json")
    summary = json.loads(done.stdout)
    assert summary == json.loads((skyhop_program.folder / "here" / "summary.json").read_text(encoding="utf-8"))
    assert [flow["name"] for flow in summary["flows"]] == ["a", "b"]
    assert 0.5 < summary["jain"] <= 1


def test_overrides_change_the_run(skyhop_program: Skyhop, dumbbell: Path) -> None:
    rates = []
    for rate in ("1 Mbit/s", "4 Mbit/s"):
        done = skyhop_program("run", dumbbell, "--json", "--set", f"links[0].rate={rate}")
        rates.append(sum(flow["goodput_bps"] for flow in json.loads(done.stdout)["flows"]))
    assert 0.7e6 < rates[0] <= 1e6 < 2.5e6 < rates[1] <= 4e6


def test_a_folder_of_somebody_else_is_left_alone(skyhop_program: Skyhop, dumbbell: Path) -> None:
    mine = skyhop_program.folder / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("chapter 1", encoding="utf-8")
    done = skyhop_program("run", dumbbell, "--out", "mine")
    assert done.returncode == 2
    assert "mine exists and is not a run folder" in done.stderr
    assert skyhop_program.written() == ["mine", "mine/thesis.txt"]


def test_path_prints_every_hop(skyhop_program: Skyhop) -> None:
    done = skyhop_program("path", STUDY / "scenario.toml", "--at", "63 s")
    assert (done.returncode, done.stderr) == (0, "")
    assert "ftp-0, ftp-1, ftp-2 at 63 s" in done.stdout
    hops = [line.split() for line in done.stdout.splitlines() if "iridium" in line]
    assert hops[0][0] == "berkeley" and hops[-1][1] == "chennai"
    assert [hop[1] for hop in hops[:-1]] == [hop[0] for hop in hops[1:]], "each hop starts where the last ended"
    total = next(line.split() for line in done.stdout.splitlines() if "total" in line)
    delays = [float(hop[-1]) for hop in hops]
    assert float(total[-1]) == pytest.approx(sum(delays), abs=0.0006 * len(hops))
    # No faster than light along the ground, no slower than the longest way of a day (geometry of the constellation).
    assert 46.37 < float(total[-1]) < 110.2


@pytest.mark.parametrize(("at", "said"), [("63", "a number and a unit"), ("63 sec", "unit"), ("80 s", "ends at 76 s")])
def test_a_moment_that_is_none(skyhop_program: Skyhop, at: str, said: str) -> None:
    done = skyhop_program("path", STUDY / "scenario.toml", "--at", at)
    assert done.returncode == 2
    assert said in done.stderr


def test_schema_is_json_schema(skyhop_program: Skyhop) -> None:
    schema = json.loads(skyhop_program("schema").stdout)
    assert "$schema" in schema and "duration" in schema["properties"]


def test_ctrl_c_ends_a_run_at_once_with_130_and_writes_nothing(skyhop_program: Skyhop, dumbbell: Path) -> None:
    long = [sys.executable, "-m", "skyhop", "run", str(dumbbell), "--set", "duration=1000000 s"]
    with subprocess.Popen(long, cwd=skyhop_program.folder, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        # The workshop of the run folder appears right before the run begins.
        deadline = time.monotonic() + 60
        while not list(skyhop_program.folder.rglob(".skyhop-*")) and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.3)
        assert process.poll() is None, "the run is long enough to be interrupted"
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    # Then it says what is kept, and nothing else.
    assert stderr.startswith("Interrupted: no run folder was written") and len(stderr.splitlines()) == 1, stderr
    assert skyhop_program.written() == []


def test_a_terminal_gets_a_progress_bar_on_stderr_only(skyhop_program: Skyhop, dumbbell: Path) -> None:
    leader, follower = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "skyhop", "run", str(dumbbell), "--out", "out"],
        cwd=skyhop_program.folder, stdout=subprocess.PIPE, stderr=follower, text=True, timeout=60, check=True,
        env=os.environ | {"TERM": "xterm"},
    )  # fmt: skip
    os.close(follower)
    shown = os.read(leader, 100_000).decode()
    os.close(leader)
    assert "dumbbell.toml, seed 1" in shown
    assert done.stdout == "out\n"


@pytest.mark.parametrize("arguments", [("--version",), ("check", "x.toml"), ("run", "{dumbbell}", "--out", "out")])
def test_light_commands_import_nothing_heavy(
    skyhop_program: Skyhop, dumbbell: Path, arguments: tuple[str, ...]
) -> None:
    code = (
        "import sys, skyhop.cli\n"
        f"sys.argv = ['skyhop', *{[argument.format(dumbbell=dumbbell) for argument in arguments]}]\n"
        "try:\n    skyhop.cli.main()\n"
        "except SystemExit:\n    pass\n"
        "heavy = {'polars', 'matplotlib', 'numpy', 'jinja2', 'pydantic'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=skyhop_program.folder, check=True, capture_output=True, timeout=60)
