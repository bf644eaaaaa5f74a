"""The binding alone: arguments, results, errors and signals. What they mean is tested in Rust."""

from __future__ import annotations

import json
import os
import pickle
import signal
import threading
from pathlib import Path

import polars as pl
import pytest

from skyhop import _core

DUMBBELL = """
duration = "10 s"
profile = "rfc"

[[links]]
between = ["left", "right"]
rate = "2 Mbit/s"
delay = "50 ms"
queue = { drop_tail = { packets = 20 } }

[[flows]]
name = "a"
from = "left"
to = "right"
tcp = "newreno"
application = "ftp"
"""


def dumbbell(*overrides: str) -> _core.Scenario:
    return _core.Scenario.from_toml(DUMBBELL, origin="dumbbell.toml", overrides=overrides)


def test_a_run_gives_tables_that_polars_reads() -> None:
    run = _core.run(dumbbell(), seed=3)
    flows = pl.DataFrame(run.table("flows"))
    assert flows["flow"].to_list() == ["a"]
    # 2 Mbit/s is the bottleneck; ten seconds with slow start fill most of it.
    assert 1e6 < flows["goodput_bps"].item() < 2e6
    assert flows["packets_sent"].dtype == pl.Int64
    assert run.table("positions").num_rows == 0
    assert run.table("positions").column_names == ["time_s", "node", "latitude_deg", "longitude_deg", "altitude_km"]
    for name in run.table_names():
        table = run.table(name)
        assert pl.DataFrame(table).shape == (len(table), len(table.column_names))


def test_a_table_outlives_its_run() -> None:
    table = _core.run(dumbbell()).table("links")
    frame = pl.DataFrame(table)
    del table
    assert set(frame["kind"]) == {"wired"}


def test_an_unknown_table_is_a_key_error_that_lists_the_known() -> None:
    with pytest.raises(KeyError, match="flow_series"):
        _core.run(dumbbell()).table("flow")


def test_summary_and_manifest_are_json() -> None:
    run = _core.run(dumbbell(), seed=3)
    manifest = json.loads(run.manifest_json())
    packets = manifest["packets"]
    assert packets["conserved"]
    assert packets["sent"] == (
        packets["delivered"] + sum(packets["dropped"].values()) + packets["queued"] + packets["flying"]
    )
    assert (manifest["seed"], manifest["version"]) == (3, _core.version())
    assert manifest["scenario"] == json.loads(dumbbell().canonical_json())
    assert manifest["scenario_hash"] == dumbbell().hash
    summary = json.loads(run.summary_json())
    assert [flow["name"] for flow in summary["flows"]] == ["a"]
    assert summary["jain"] == 1


def test_the_canonical_form_is_a_scenario_with_the_same_hash() -> None:
    scenario = dumbbell()
    assert _core.Scenario.from_json(scenario.canonical_json()).hash == scenario.hash


def test_overrides_change_the_scenario() -> None:
    slow = dumbbell('duration="5 s"', "links[0].rate=1 Mbit/s")
    assert slow.duration_s == 5
    assert slow.hash != dumbbell().hash


def test_every_problem_is_a_diagnostic() -> None:
    broken = DUMBBELL.replace("2 Mbit/s", "2 Mbitt/s").replace('"newreno"', '"newrenno"')
    with pytest.raises(_core.ScenarioError) as caught:
        _core.Scenario.from_toml(broken, origin="broken.toml")
    diagnostics = caught.value.diagnostics
    assert [one["line"] for one in diagnostics] == [7, 15]
    assert {one["file"] for one in diagnostics} == {"broken.toml"}
    assert all(one["message"] in str(caught.value) for one in diagnostics)
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.diagnostics == diagnostics


@pytest.mark.parametrize("override", ["", "no value", "a..b=1"])
def test_an_override_that_is_none_is_a_scenario_error(override: str) -> None:
    with pytest.raises(_core.ScenarioError) as caught:
        dumbbell(override)
    assert len(caught.value.diagnostics) == 1


def test_paths_name_every_hop() -> None:
    (flow,) = json.loads(dumbbell().path_json(1.0))["flows"]
    assert (flow["flow"], flow["from"], flow["to"], flow["delay_s"]) == ("a", "left", "right", 0.05)
    assert [(hop["from"], hop["to"], hop["kind"]) for hop in flow["hops"]] == [("left", "right", "wired")]
    with pytest.raises(ValueError, match="outside the run"):
        dumbbell().path_json(10.5)


def test_a_run_folder_replaces_an_older_run_and_nothing_else(tmp_path: Path) -> None:
    run = _core.run(dumbbell())
    run.write(tmp_path / "run")
    assert pl.read_parquet(tmp_path / "run" / "flows.parquet").equals(pl.DataFrame(run.table("flows")))
    (tmp_path / "run" / "handovers.parquet").touch()
    (tmp_path / "run" / ".skyhop.json").unlink()
    run.write(tmp_path / "run")
    assert not (tmp_path / "run" / "handovers.parquet").exists()
    (tmp_path / "run" / "thesis.txt").touch()
    with pytest.raises(FileExistsError, match="thesis.txt"):
        run.write(tmp_path / "run")
    with pytest.raises(OSError, match="flows.parquet"):
        run.write(tmp_path / "run" / "flows.parquet" / "run")


def test_progress_reaches_its_end_and_can_cancel() -> None:
    progress = _core.Progress()
    assert progress.fraction == 0
    _core.run(dumbbell(), progress=progress)
    assert progress.fraction == 1
    cancelled = _core.Progress()
    cancelled.cancel()
    with pytest.raises(_core.Cancelled):
        _core.run(dumbbell(), progress=cancelled)
    assert cancelled.fraction < 0.1


def test_other_threads_go_on_and_ctrl_c_interrupts() -> None:
    # Long enough to be running still when the other thread, which needs the interpreter, gets its turn.
    endless = dumbbell('duration="100 h"')
    progress = _core.Progress()

    def interrupt() -> None:
        while progress.fraction == 0:
            pass
        os.kill(os.getpid(), signal.SIGINT)

    # A shell lets what it starts in the background ignore the signal; then Python sets no handler.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=interrupt)
    try:
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            _core.run(endless, progress=progress)
        thread.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert 0 < progress.fraction < 1
