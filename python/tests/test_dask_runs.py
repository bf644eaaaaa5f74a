"""Sweeps on a Dask cluster: the results of one machine, also when a worker is killed in the middle."""

from __future__ import annotations

import glob
import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from conftest import DUMBBELL, Skyhop

import skyhop
from skyhop import dask_runs, kept, spreading, sweeps
from skyhop.verdict import DefinitionError

NO_DASK = importlib.util.find_spec("distributed") is None

SWEEP = """\
scenario = "dumbbell.toml"
seeds = 40

[axes]
loss = { key = "links[0].errors", values = [
    { name = "none", set = "[]" }, { name = "1 %", set = "[{ packet = 0.01 }]" },
] }
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "dumbbell.toml").write_text(DUMBBELL.replace('"20 s"', '"100 s"'), encoding="utf-8")
    path = tmp_path / "grid.toml"
    path.write_text(SWEEP, encoding="utf-8")
    return path


def dask(*arguments: str, folder: Path) -> subprocess.Popen[str]:
    environment = os.environ | {"DASK_DISTRIBUTED__ADMIN__TICK__LIMIT": "60 s"}
    return subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_" + arguments[0], *arguments[1:]],
        cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[str]]]]:
    """The address of a scheduler, and two workers without nannies: nobody starts them again."""
    found = tmp_path / "scheduler.json"
    arguments = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(found)]
    processes = [dask("scheduler", *arguments, folder=tmp_path)]
    try:
        deadline = time.monotonic() + 60
        while not found.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        address = json.loads(found.read_text(encoding="utf-8"))["address"]
        options = ["--no-nanny", "--nthreads", "1", "--no-dashboard", "--local-directory", str(tmp_path)]
        processes += [dask("worker", address, *options, folder=tmp_path) for _ in range(2)]
        yield address, processes[1:]
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def test_short_runs_share_a_task(file: Path) -> None:
    todo = sweeps.jobs(sweeps.load(file))
    made = dask_runs.batches(todo, range(5, 80))
    assert [number for batch in made for number in batch] == list(range(5, 80))
    # 100 s each: six make the simulated time of a task.
    assert {len(batch) for batch in made} == {6, 3}


def test_a_worker_gives_what_this_machine_makes_and_another_build_is_refused(file: Path, tmp_path: Path) -> None:
    sweep = sweeps.load(file)
    job = sweeps.jobs(sweep)[0]
    runs = [(dask_runs.source_of(sweep, job), 7)]
    ((files, why),) = dask_runs.simulate(runs, kept.engine(), None)
    assert files is not None and not why
    taken = kept.Keep(tmp_path / "there").take(job.scenario, 7, files)
    here = kept.Keep(tmp_path / "here").add(skyhop.run(job.scenario, seed=7))
    assert taken.manifest["records_hash"] == here.manifest["records_hash"]
    assert taken.table("flows").equals(here.table("flows")) and taken.files == here.files
    assert taken.warnings == here.warnings == []
    ((nothing, why),) = dask_runs.simulate(runs, kept.engine(), 1000)
    assert nothing is None and "memory" in why
    with pytest.raises(dask_runs.OtherBuild, match="another build"):
        dask_runs.simulate(runs, "0" * 64, None)


def test_a_scenario_that_names_files_goes_to_workers_with_their_content(file: Path, tmp_path: Path) -> None:
    (tmp_path / "link.csv").write_text("time_s,rate_bps\n0,1e6\n50,2e6\n", encoding="utf-8")
    scenario = tmp_path / "dumbbell.toml"
    text = scenario.read_text(encoding="utf-8").replace(
        'rate = "2 Mbit/s"', 'trace = { table = "link.csv", period = "100 s" }'
    )
    scenario.write_text(text, encoding="utf-8")
    sweep = sweeps.load(file)
    job = sweeps.jobs(sweep)[0]
    source = dask_runs.source_of(sweep, job)
    assert dask_runs.read(source).hash == job.scenario.hash
    ((files, _),) = dask_runs.simulate([(source, 1)], kept.engine(), None)
    files = dask_runs._said(files, job, dask_runs.read(source).warnings)
    assert files is not None
    taken = kept.Keep(tmp_path / "there").take(job.scenario, 1, files)
    run = skyhop.run(job.scenario, seed=1)
    assert taken.manifest["records_hash"] == run.manifest["records_hash"] and taken.warnings == run.warnings


@pytest.mark.skipif(not NO_DASK, reason="distributed is installed")
def test_without_dask_the_extra_is_named(file: Path) -> None:
    cluster = dask_runs.on_cluster("tcp://x", sweeps.load(file), spreading.Tally())
    with pytest.raises(DefinitionError, match=r"skyhop\[dask\]"), cluster:
        pass


@pytest.mark.skipif(NO_DASK, reason="distributed is not installed")
def test_a_killed_worker_changes_no_result_and_loses_no_run(
    file: Path, tmp_path: Path, cluster: tuple[str, list[subprocess.Popen[str]]], skyhop_program: Skyhop
) -> None:
    address, workers = cluster

    def kill() -> None:
        """After the first finished runs, with others under way."""
        while len(glob.glob(f"{tmp_path}/kept/*/*/manifest.json")) < 3 and not ended.is_set():
            time.sleep(0.002)
        finished.append(len(glob.glob(f"{tmp_path}/kept/*/*/manifest.json")))
        workers[0].send_signal(signal.SIGKILL)

    ended = threading.Event()
    finished: list[int] = []
    killer = threading.Thread(target=kill)
    killer.start()
    done = skyhop_program("sweep", file, "--keep", "kept", "--scheduler", address, "--out", "out")
    ended.set()
    killer.join()
    assert 3 <= finished[0] < 80, "the worker was killed in the middle"
    assert done.returncode == 0, done.stderr
    assert workers[0].poll() is not None and workers[1].poll() is None
    alone = spreading.run(sweeps.load(file), keep=tmp_path / "alone")
    given = pl.read_parquet(tmp_path / "out" / "runs.parquet")
    assert given["records_hash"].equals(alone.runs["records_hash"]) and given.drop("run").equals(alone.runs.drop("run"))
    assert pl.read_parquet(tmp_path / "out" / "table.parquet").equals(alone.table)
    assert "warning" not in done.stderr
    assert len(list((tmp_path / "kept").glob("*/*/manifest.json"))) == 80
    # All runs are found: the workers are not asked again.
    workers[1].kill()
    again = skyhop_program("sweep", file, "--keep", "kept", "--scheduler", address, "--out", "out")
    assert again.returncode == 0, again.stderr


@pytest.mark.skipif(NO_DASK, reason="distributed is not installed")
def test_no_scheduler_is_said(file: Path, skyhop_program: Skyhop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_runs, "_TIMEOUT_S", 1)
    with (
        pytest.raises(DefinitionError, match="no scheduler answers"),
        dask_runs.on_cluster("tcp://127.0.0.1:9", sweeps.load(file), spreading.Tally()),
    ):
        pass
