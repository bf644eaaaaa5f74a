"""Metrics of workloads, calls and messages: nothing that did not finish is left out without a word."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from conftest import ROOT

import skyhop
from skyhop import metrics
from skyhop.definition import Table
from skyhop.verdict import DefinitionError

#: Twenty small transfers, and one that does not finish.
TRANSFERS = """
duration = "30 s"
profile = "rfc"
[[links]]
name = "access"
between = ["a", "b"]
rate = "10 Mbit/s"
delay = "10 ms"
[[workloads]]
name = "web"
from = "a"
to = "b"
tcp = "cubic"
arrivals = { at = { text = "time_s,bytes\\nROWS29.9,10000000\\n" } }
[[flows]]
name = "call"
from = "b"
to = "a"
udp = {}
application = { call = {} }
""".replace("ROWS", "".join(f"{n},{1000 * n}\\n" for n in range(1, 21)))


def metric(**keys: object) -> metrics.Metric:
    entry = {"label": "m", "unit": "", "table": "workload_transfers", "column": "completion_s", "reduce": "p50"} | keys
    return metrics.read_metric("m", Table(Path("x.toml"), entry))


@pytest.fixture(scope="module")
def done() -> skyhop.Run:
    return skyhop.run(TRANSFERS)


def test_percentiles_count_what_did_not_finish(done: skyhop.Run) -> None:
    rows = done.table("workload_transfers")
    times = rows["completion_s"].to_list()
    assert rows.height == 21 and times[-1] is None
    assert any("1 of 21 transfers" in warning for warning in done.warnings)
    finished = sorted(time for time in times if time is not None)
    # Ranks 11, 20 and 21 of 21.
    assert metrics.measure(done, metric()) == finished[10]
    assert metrics.measure(done, metric(reduce="p95")) == finished[19]
    assert math.isnan(metrics.measure(done, metric(reduce="p99")))
    assert metrics.measure(done, metric(reduce="count")) == 21
    row = {"table": "workloads", "reduce": "mean", "only": "^web$"}
    assert metrics.measure(done, metric(**row, size="all", column="completion_p95_s")) == finished[19]
    assert math.isnan(metrics.measure(done, metric(**row, size="all", column="completion_p99_s")))
    assert metrics.measure(done, metric(**row, size="small", column="unfinished")) == 0
    assert metrics.measure(done, metric(**row, size="medium", column="unfinished")) == 1


def test_a_count_of_nothing_is_zero(done: skyhop.Run) -> None:
    assert metrics.measure(done, metric(table="handovers", column="elevation_deg", reduce="count")) == 0


def test_a_call_has_its_rating(done: skyhop.Run) -> None:
    assert metrics.measure(done, metric(table="calls", column="mos", reduce="mean", only="^call$")) > 4.3


def test_tables_show_the_name_of_a_link(done: skyhop.Run) -> None:
    assert sorted(done.links["link"]) == ["access a->b", "access b->a"]


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"reduce": "mean"}, "would leave out the transfers that did not finish"),
        ({"table": "workloads", "column": "completion_p95_s", "reduce": "mean"}, "belongs to the table workloads"),
        ({"size": "small"}, "belongs to the table workloads"),
        ({"table": "workloads", "column": "unfinished", "reduce": "mean", "size": "tiny"}, "is one of all, small"),
        ({"table": "positions", "column": "altitude_km", "reduce": "mean", "only": "x"}, "has none of them"),
    ],
)
def test_a_metric_that_would_say_something_else_is_refused(keys: dict[str, object], said: str) -> None:
    with pytest.raises(DefinitionError, match=said):
        metric(**keys)


def test_the_example_finishes_what_it_begins() -> None:
    run = skyhop.run(ROOT / "examples/web.toml")
    assert run.warnings == []
    assert run.table("workloads")["unfinished"].sum() == 0


def test_percentiles_count_pages_that_did_not_load() -> None:
    text = TRANSFERS.partition("[[workloads]]")[0]
    done = skyhop.run(
        text
        + """[[workloads]]
name = "web"
from = "a"
to = "b"
tcp = "cubic"
arrivals = { at = { text = "time_s\\n1\\n29\\n" } }
pages = {}
"""
    )
    assert done.table("pages")["done"].to_list() == [True, False]
    loads = {"table": "pages", "column": "load_s"}
    assert metrics.measure(done, metric(**loads, reduce="p50")) == done.table("pages")["load_s"][0]
    assert math.isnan(metrics.measure(done, metric(**loads, reduce="p95", only="^web$")))
    with pytest.raises(DefinitionError, match="would leave out the pages that did not finish"):
        metric(**loads, reduce="mean")
