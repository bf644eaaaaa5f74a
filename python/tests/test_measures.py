"""Measures over several flows: no aggregate exceeds the links' capacity, and meaningless ones are refused."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from types import SimpleNamespace

import networkx
import polars as pl
import pytest
from conftest import DUMBBELL, ROOT, Skyhop

from skyhop import api, cautions, metrics, recovery, spreading, studies, sweeps
from skyhop.definition import Table
from skyhop.results import Run
from skyhop.verdict import DefinitionError

#: Two flows that fill the link one after the other: 10 s each, of 20.
RELAY = [
    "flows.a.stop=10 s", "flows.b.start=10 s", "links[0].rate=10 Mbit/s", "flows[*].access.rate=100 Mbit/s",
    "links[0].delay=5 ms", "links[0].queue.drop_tail.packets=100",
]  # fmt: skip

#: The studies' base cases, shortened where they are long.
SMALL = {
    "geo-terrestrial": ["duration=900 s", "flows.terr.start=300 s", "flows.udp.start=600 s", "records.grid=20 s"],
    "yam-fairness": ["duration=10 s"],
}


def metric(**keys: object) -> metrics.Metric:
    """As a file would define it."""
    entry = {"label": "m", "unit": "", "table": "flows", "column": "goodput_bps", "reduce": "total-rate"} | keys
    return metrics.read_metric("m", Table(Path("x.toml"), entry))


def capacity_bps(done: Run) -> float:
    """The largest flow that the links can carry from all sources to all destinations, each at its rate all the time.

    All satellites are one node, the sky; any of them may reach any station.
    """
    graph = networkx.DiGraph()

    def add(begin: str, end: str, rate: float) -> None:
        before = graph.edges[begin, end]["capacity"] if graph.has_edge(begin, end) else 0.0
        graph.add_edge(begin, end, capacity=before + rate)

    satellites = set(done.links.filter(pl.col("kind") == "downlink")["from"])
    for row in done.links.iter_rows(named=True):
        begin, end = row["from"], row["to"]
        if end is None:
            end = "the ground" if row["kind"] == "downlink" else "the sky"
        begin, end = ("the sky" if node in satellites else node for node in (begin, end))
        # Each node stands twice, once for departures and once for arrivals: it may be source and destination.
        add(f"from {begin}", f"to {end}", row["rate_bps"] or math.inf)
    for node in [node.removeprefix("to ") for node in graph if node.startswith("to ")]:
        add(f"to {node}", f"from {node}", math.inf)
    for node in [node.removeprefix("from ") for node in graph if node.startswith("from ")]:
        add("from the ground", f"to {node}", math.inf)
    for node in set(done.flows["from"]):
        add("all sources", f"from {node}", math.inf)
    for node in set(done.flows["to"]):
        add(f"to {node}", "all destinations", math.inf)
    return float(networkx.maximum_flow_value(graph, "all sources", "all destinations"))


def test_flows_one_after_the_other_do_not_exceed_the_link_that_they_share() -> None:
    done = api.run(DUMBBELL, overrides=RELAY)
    assert done.flows["goodput_bps"].sum() > 15e6, "each has the link for itself in its own time"
    for column in metrics.RATES:
        whole = metrics.measure(done, metric(column=column))
        assert whole == pytest.approx((done.flows[column] * 10).sum() / 20) and 7e6 < whole <= 10e6
        series = metric(column=column, table="flow_series")
        # The two agree but for what arrives of `a` after its stop.
        assert metrics.measure(done, series) == pytest.approx(whole, rel=0.02)
        means = dataclasses.replace(series, reduce="sum-of-means")
        assert metrics.measure(done, means) == pytest.approx(metrics.measure(done, series))
        second = metrics.measure(done, metric(column=column, table="flow_series", from_s=10.5))
        assert 7e6 < second <= 10e6
    assert metrics.measure(done, metric(only="^a$", until_s=10)) == pytest.approx(done.flows["goodput_bps"][0])
    assert metrics.measure(done, metric(only="^b$", time="flows")) == pytest.approx(done.flows["goodput_bps"][1])
    assert metrics.measure(done, metric(time="flows")) == pytest.approx(metrics.measure(done, metric()))
    with pytest.raises(DefinitionError, match="flow b runs from 10 to 20 s, which is not within 0 to 10 s"):
        metrics.measure(done, metric(until_s=10))


def test_the_default_goodput_of_a_sweep_is_that_of_one_time(skyhop_program: Skyhop) -> None:
    folder = skyhop_program.folder
    (folder / "relay.toml").write_text(DUMBBELL, encoding="utf-8")
    keys = ", ".join(f"'{one}'" for one in RELAY)
    text = f'scenario = "relay.toml"\n[axes.relay]\nvalues = [{{ name = "yes", set = [{keys}] }}]\n'
    for warm_up in ("", 'warm_up = "2 s"\n'):
        (folder / "grid.toml").write_text(warm_up + text, encoding="utf-8")
        result = spreading.run(sweeps.load(folder / "grid.toml"), keep=folder / "kept")
        rates = result.table.filter(pl.col("metric").is_in(["goodput", "throughput"]))["mean"]
        assert rates.len() == 2 and rates.is_between(7000, 10000).all()


def test_a_split_connection_is_counted_once() -> None:
    """What a proxy hands on is not delivered twice."""
    rows = pl.DataFrame({
        "flow": ["a.to-proxy", "a", "b"], "start_s": [0.0] * 3, "stop_s": [20.0] * 3,
        "goodput_bps": [1e6, 1e6, 2e6],
    })  # fmt: skip

    class Split:
        """As much of a run as a measure asks for."""

        scenario = api.scenario(DUMBBELL)

        def table(self, _: str) -> pl.DataFrame:
            return rows

    def rate(**keys: str) -> float:
        return metrics.measure(Split(), metric(**keys))  # type: ignore[arg-type]

    assert rate() == pytest.approx(3e6)
    assert rate(only="^a") == pytest.approx(1e6)
    assert rate(only="to-proxy$") == pytest.approx(1e6)


@pytest.mark.parametrize(
    "keys",
    [
        {"reduce": "sum"},
        {"reduce": "sum", "table": "flow_series"},
        {"reduce": "sum-of-means"},
        {"reduce": "ratio", "over": "packets_sent"},
        {"reduce": "ratio", "column": "packets_sent", "over": "throughput_bps"},
    ],
)
def test_rates_of_different_times_are_not_added(keys: dict[str, str]) -> None:
    with pytest.raises(DefinitionError, match='use "total-rate"'):
        metric(**keys)
    plain = {"label": "", "unit": "", "table": "flows", "column": "goodput_bps", **keys}
    with pytest.raises(DefinitionError, match="total-rate"):
        metrics.measure(
            api.run(DUMBBELL, overrides=["duration=2 s"]),
            metrics.Metric(name="m", **plain),  # type: ignore[arg-type]
        )


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"column": "packets_sent"}, "total-rate takes goodput_bps or throughput_bps"),
        ({"table": "flow"}, "table: is one of flows, links"),
        ({"column": "goodput"}, "column: is a column of flows that holds numbers"),
        ({"column": "flow", "reduce": "sum"}, "column: is a column of flows that holds numbers"),
        ({"column": "dropped", "reduce": "sum", "from_s": 1}, "from_s: has no effect: rows of flows are totals"),
        ({"only": "("}, "only: is a regular expression"),
        ({"table": "positions", "column": "altitude_km", "reduce": "mean", "only": "x"}, "only: selects by flow, link"),
        ({"table": "links", "column": "utilisation", "reduce": "jain"}, "taken over flows, and links has none"),
        ({"table": "flow_series", "from_s": 5, "until_s": 5}, "until_s: is behind from_s"),
        ({"table": "flow_series", "from_s": -1}, "from_s: is zero or more"),
        ({"table": "flow_series", "column": "pacing_bps", "reduce": "sum"}, "add the rates at which a sender paced"),
        ({"column": "completion_s", "reduce": "mean"}, "would leave out the flows that did not finish"),
        ({"column": "retransmissions", "reduce": "ratio", "over": "completion_s"}, "leave out the flows"),
        ({"table": "workload_transfers", "column": "completion_s", "reduce": "sum"}, "leave out the transfers"),
        (
            {"table": "workloads", "size": "all", "column": "bytes_finished", "over": "bytes", "reduce": "ratio"},
            "ratio is not taken over workloads",
        ),
        ({"table": "flow_events", "column": "cwnd", "reduce": "count", "event": "timed-out"}, "event: is one of start"),
        ({"table": "packets", "column": "seq", "reduce": "count", "event": "timeout"}, "event: is one of enq"),
        ({"scale": 0}, "scale: is 0"),
        ({"table": "videos", "column": "startup_s", "reduce": "mean"}, "leave out the videos that did not start"),
    ],
)  # fmt: skip
def test_a_metric_that_its_table_cannot_give_is_refused(keys: dict[str, object], said: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        metric(**keys)
    assert said in str(caught.value)


#: One connection through a proxy, and one past it.
SPLIT = """\
duration = "10.5 s"
profile = "rfc"
[records]
grid = "1 s"
[[links]]
between = ["source", "proxy"]
rate = "10 Mbit/s"
delay = "20 ms"
[[links]]
between = ["proxy", "sink"]
rate = "10 Mbit/s"
delay = "70 ms"
[[flows]]
name = "a"
from = "source"
to = "sink"
via = ["proxy"]
tcp = { name = "newreno", window = 20 }
[[flows]]
name = "b"
from = "source"
to = "sink"
tcp = { name = "newreno", window = 5 }
[[agents]]
at = "proxy"
pep = { tcp = { name = "newreno", window = 20 } }
"""


def plain(**keys: object) -> metrics.Metric:
    """A measure that no file was asked about."""
    entry: dict[str, object] = {"name": "m", "label": "", "unit": "", "table": "flows", "column": "goodput_bps"}
    return metrics.Metric(**(entry | keys))  # type: ignore[arg-type]


def test_fairness_is_between_connections_and_not_between_their_legs() -> None:
    done = api.run(SPLIT)
    a, b = (done.flows.filter(pl.col("flow") == name)["goodput_bps"][0] for name in "ab")
    fair = (a + b) ** 2 / (2 * (a**2 + b**2))
    assert done.flows.height == 3 and fair < 0.9
    assert metrics.measure(done, plain(reduce="jain")) == pytest.approx(fair)
    assert metrics.measure(done, plain(reduce="jain", table="flow_series")) == pytest.approx(fair, rel=0.02)
    rate, means = (
        metrics.measure(done, plain(reduce=one, table="flow_series")) for one in ("total-rate", "sum-of-means")
    )
    assert means == pytest.approx(rate)
    # Windows of legs are windows: nothing is left out of them.
    windows = plain(reduce="sum-of-means", table="flow_series", column="cwnd")
    only = dataclasses.replace(windows, only="^[ab]$")
    assert metrics.measure(done, windows) > metrics.measure(done, only) + 10


def test_what_a_measure_leaves_out_or_takes_together_is_said() -> None:
    done = api.run(SPLIT)
    series = plain(name="goodput", reduce="total-rate", table="flow_series")
    delay = plain(name="delay", column="delay_mean_s", reduce="mean")
    rest, legs = cautions.of(done, [series, delay])
    assert "the time series end at 10 s and the run at 10.5 s: the rest is not in goodput" in rest
    assert "delay is of the legs of split connections" in legs
    quiet = [dataclasses.replace(series, until_s=10.0), dataclasses.replace(delay, only="^a$")]
    assert cautions.of(done, quiet) == []
    # The same run for a whole number of steps.
    assert cautions.of(api.run(SPLIT, overrides=["duration=10 s"]), [series]) == []


def test_losses_that_have_no_row_are_told() -> None:
    """Two million losses in the table would be taken for all."""
    done = api.run(DUMBBELL)
    lost = plain(name="lost", table="drops", column="size_bytes", reduce="count")
    assert cautions.of(done, [lost]) == []
    cut = SimpleNamespace(scenario=done.scenario, manifest=done.manifest | {"drops_left_out": 1234})
    (said,) = cautions.of(cut, [lost])  # type: ignore[arg-type]
    assert said.startswith("lost leaves out 1,234 losses behind those that the table drops has room for")
    assert cautions.of(cut, [plain(reduce="jain")]) == []  # type: ignore[arg-type]


def test_a_mean_over_a_link_that_begins_late_says_so() -> None:
    done = api.run(DUMBBELL, overrides=["flows.a.start=10 s", "flows.b.start=12 s"])
    busy = plain(name="busy", table="link_series", column="utilisation", reduce="mean", only="^left->right$")
    whole = done.links.filter(pl.col("link") == "left->right")["utilisation"][0]
    assert metrics.measure(done, busy) > 1.9 * whole
    (said,) = cautions.of(done, [busy])
    assert "busy leaves out the time before a link's first packet" in said and "left->right from 10.5 s on" in said
    assert cautions.of(done, [dataclasses.replace(busy, from_s=10.0)]) == []
    assert cautions.of(api.run(DUMBBELL), [busy]) == []


def test_a_mean_over_steps_says_in_how_many_nothing_arrived() -> None:
    # The link is gone for 4 s: eight steps of 0.5 s and of two flows without a delay, and some until the senders try.
    gone = 'links[0].forward={ errors = [{ trace = { during = [["8 s", "12 s"]] } }] }'
    done = api.run(DUMBBELL, overrides=[gone])
    rows = done.flow_series.filter((pl.col("time_s") > 1) | (pl.col("flow") == "a"))
    empty, every = rows["delay_mean_s"].null_count(), rows.height
    assert every == 40 + 38 and empty >= 16
    delay = plain(name="delay", table="flow_series", column="delay_mean_s", reduce="mean")
    (said,) = cautions.of(done, [delay])
    assert said == (
        f"delay has no delay_mean_s in {empty} of the {every} steps of its flows, because nothing was measured in "
        "them, and each is left out"
    )
    late = dataclasses.replace(delay, reduce="share-within", within=0.1, only="^a$", from_s=10.0, until_s=11.0)
    assert cautions.of(done, [late])[0].startswith("delay has no delay_mean_s in 2 of the 2 steps of its flows")
    assert metrics.measure(done, late) == 0 and "each counts as too long" in cautions.of(done, [late])[0]
    # A step in which nothing arrived has no weight; and every step has a window.
    weighted = dataclasses.replace(delay, reduce="weighted-mean", weight="received")
    windows = dataclasses.replace(delay, column="cwnd")
    assert cautions.of(done, [weighted, windows]) == []


def test_a_mean_over_messages_and_packets_says_so() -> None:
    call = {"name": "call", "from": "a", "to": "b", "quic": {"stack": "quinn", "datagrams": True},
            "application": {"constant_rate": {"rate": "400 kbit/s", "payload": "300 B"}}}  # fmt: skip
    file = {"name": "file", "from": "a", "to": "b", "tcp": "cubic"}
    link = {"between": ["a", "b"], "rate": "5 Mbit/s", "delay": "20 ms"}
    done = api.run({"duration": "3 s", "links": [link], "flows": [call, file], "records": {"grid": "500 ms"}})
    delay = plain(name="delay", column="delay_mean_s", reduce="weighted-mean", weight="packets_received")
    (said,) = cautions.of(done, [delay])
    assert said.startswith("delay weights what was measured of each message of call by packets")
    assert cautions.of(done, [dataclasses.replace(delay, only="^call$")]) == []
    assert cautions.of(done, [dataclasses.replace(delay, only="^file$")]) == []
    steps = dataclasses.replace(delay, table="flow_series", weight="received", only="^call$")
    assert len(cautions.of(done, [steps])) == 1


def test_a_name_that_nothing_has_is_not_counted_as_0() -> None:
    done = api.run(DUMBBELL)
    events = plain(reduce="count", table="flow_events", column="cwnd", event="stop")
    assert metrics.measure(done, events) == 0
    assert metrics.measure(done, dataclasses.replace(events, only="^a$")) == 0
    assert math.isnan(metrics.measure(done, dataclasses.replace(events, only="^A$")))
    assert math.isnan(metrics.measure(done, plain(reduce="count", column="dropped", only="nobody")))
    changes = plain(reduce="count", table="link_changes", column="up", only="left")
    assert metrics.measure(done, changes) == 0
    assert math.isnan(metrics.measure(done, dataclasses.replace(changes, only="Left")))


def test_the_events_that_a_measure_may_count_are_those_of_the_documents() -> None:
    text = (ROOT / "docs" / "models" / "measures.md").read_text(encoding="utf-8")
    for table, events in metrics.EVENTS.items():
        row = next(line for line in text.splitlines() if line.startswith(f"| `{table}` |"))
        assert [event for event in events if f"`{event}`" not in row] == []


def test_without_weight_there_is_no_mean_and_a_sum_has_the_rows_that_it_is_divided_by() -> None:
    done = api.run(DUMBBELL)
    weighted = plain(reduce="weighted-mean", column="rtt_mean_s", weight="probes")
    assert done.flows["probes"].sum() == 0 and math.isnan(metrics.measure(done, weighted))

    class Half:
        """A table with an unknown divisor."""

        scenario = done.scenario

        def table(self, _: str) -> pl.DataFrame:
            return pl.DataFrame({"flow": ["a", "b"], "packets_sent": [10, 90], "rtt_mean_s": [2.0, None]})

    ratio = plain(reduce="ratio", column="packets_sent", over="rtt_mean_s")
    assert metrics.measure(Half(), ratio) == 5  # type: ignore[arg-type]
    mean = plain(reduce="weighted-mean", column="packets_sent", weight="rtt_mean_s")
    assert metrics.measure(Half(), mean) == 10  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("table", "begin", "column"),
    [
        ("flows", "start_s", "completion_s"),
        ("transfers", "begin_s", "completion_s"),
        ("workload_transfers", "time_s", "first_byte_s"),
        ("pages", "time_s", "load_s"),
    ],
)
def test_a_share_in_time_leaves_out_what_begins_too_late_to_be_judged(table: str, begin: str, column: str) -> None:
    """A transfer that began 2 s before the end cannot have taken 5 s, and has not failed either."""

    class Four:
        """The run takes 20 s."""

        scenario = api.scenario(DUMBBELL)

        def table(self, _: str) -> pl.DataFrame:
            return pl.DataFrame({begin: [0.0, 5.0, 15.0, 18.0], column: [4.0, 6.0, None, None], "bytes": [1, 2, 3, 4]})

    def share(within: float, **keys: str) -> float:
        of = {"table": table, "column": column, "reduce": "share-within", "within": within} | keys
        return metrics.measure(Four(), plain(**of))  # type: ignore[arg-type]

    assert share(5.0) == 1 / 3 and share(6.0) == 2 / 2
    # A bound as long as the run asks what has finished by its end.
    assert share(20.0) == share(1e9) == 2 / 4
    # Bounds of other columns are not times.
    assert share(2.0, column="bytes") == 2 / 4


def test_a_limit_within_a_step_of_a_series_is_refused() -> None:
    done = api.run(DUMBBELL, overrides=["duration=4.2 s", 'records.grid="500 ms"'])

    def received(**limits: float) -> float:
        keys = {"label": "", "unit": "", "table": "flow_series", "column": "received", "reduce": "sum", **limits}
        return metrics.measure(done, metrics.Metric(name="m", **keys))  # type: ignore[arg-type]

    # Neighbouring times share no step, and the end of the run may lie inside one.
    assert received(from_s=1, until_s=2) + received(from_s=2, until_s=4.2) == received(from_s=1)
    for limits in ({"from_s": 1.25}, {"until_s": 2.4}, {"from_share": 0.1}):
        with pytest.raises(DefinitionError, match=r"lies within a step of flow_series, which are 0\.5 s long"):
            received(**limits)


def rate_metrics(of: studies.Study | None) -> list[metrics.Metric]:
    """Everything that adds up rates: the study's own, and what a sweep measures by default."""
    every = [*(of.metrics.values() if of else ()), *sweeps.WHOLE, *sweeps.BEHIND_WARM_UP]
    return [one for one in every if one.column in metrics.RATES and one.reduce in ("total-rate", "sum-of-means")]


SCENARIOS = [
    *(pytest.param(path, [], None, id=path.name) for path in sorted((ROOT / "examples").glob("*.toml"))),
    *(
        pytest.param(path.parent / "scenario.toml", SMALL.get(path.parent.name, []), path.parent, id=path.parent.name)
        for path in sorted((ROOT / "studies").glob("*/study.toml"))
    ),
]


@pytest.mark.parametrize(("file", "overrides", "folder"), SCENARIOS)
def test_no_aggregate_of_an_example_or_study_exceeds_capacity(
    file: Path, overrides: list[str], folder: Path | None
) -> None:
    of = studies.load(folder) if folder else None
    if of and of.missing:
        pytest.skip("needs what is not there")
    grid = [] if any(one.startswith("records.grid") for one in overrides) else ["records.grid=500 ms"]
    done = api.run(file, overrides=[*overrides, *grid])
    bound = capacity_bps(done)
    assert bound > 0
    measured = 0
    for one in rate_metrics(of):
        if (value := metrics.measure(done, one)) == value:
            measured += 1
            assert 0 <= value / one.scale <= bound * (1 + 1e-9), one.name
    assert measured > 0


#: A terminal leaves a satellite at 20 s, and a gateway one that the flow does not use at 40 s.
LEFT = pl.DataFrame({"time_s": [0.0, 20.0, 40.0], "from": [None, "a", "b"]})
PATHS = pl.DataFrame({"time_s": [0.0, 20.0, 30.0], "flow": ["f", "f", "f"]})


def rates(*phases: tuple[float, float]) -> pl.DataFrame:
    """Steps of 100 ms: each phase is its end in s, and the rate until then."""
    ends = [round((step + 1) * 0.1, 1) for step in range(round(phases[-1][0] * 10))]
    return pl.DataFrame({
        "flow": ["f"] * len(ends), "time_s": ends,
        "goodput_bps": [next(rate for end, rate in phases if time <= end) for time in ends],
    })  # fmt: skip


@pytest.mark.parametrize(
    ("phases", "expected"),
    [
        # Nothing for 3 s: the second from 22.8 s on has 80 % of the former rate.
        ([(20, 10.0), (23, 0.0), (60, 10.0)], 2.8),
        # A pause of 0.1 s leaves 90 % of the second that begins with the handover.
        ([(20, 10.0), (20.1, 0.0), (60, 10.0)], 0.0),
        # A burst that repairs a hole is not a recovery: 0.5 s of the rate and nothing behind it.
        ([(20, 10.0), (22, 0.0), (22.5, 10.0), (25, 0.0), (60, 9.0)], 4.9),
        # Recovery after `within`, or none, counts as `within`.
        ([(20, 10.0), (60, 7.9)], 6.0),
        ([(20, 10.0), (27, 0.0), (60, 10.0)], 6.0),
        # A flow that stood still has not recovered.
        ([(20, 0.0), (60, 0.0)], 6.0),
    ],
)
def test_a_flow_has_recovered_when_a_second_has_four_fifths_of_its_former_rate(
    phases: list[tuple[float, float]], expected: float
) -> None:
    found = recovery.mean_s(rates(*phases), "goodput_bps", LEFT, PATHS, from_s=0.0, most_s=6.0)
    assert found == pytest.approx(expected, abs=1e-9)


def test_handovers_too_near_to_an_end_of_the_run_have_no_recovery() -> None:
    series = rates((20, 10.0), (27, 10.0))
    assert recovery.mean_s(series, "goodput_bps", LEFT, PATHS, from_s=0.0, most_s=6.0) == 0.0
    assert math.isnan(recovery.mean_s(series, "goodput_bps", LEFT, PATHS, from_s=0.0, most_s=6.1))
    assert math.isnan(recovery.mean_s(series, "goodput_bps", LEFT, PATHS, from_s=10.5, most_s=6.0))
    assert math.isnan(recovery.mean_s(series, "goodput_bps", LEFT.head(1), PATHS, from_s=0.0, most_s=6.0))


def test_recovery_is_taken_of_rates_over_time() -> None:
    keys = {"table": "flow_series", "reduce": "recovery", "within": 5.0}
    assert metric(**keys).within == 5.0
    for wrong, said in (
        ({"column": "rtt_s"}, "takes goodput_bps or throughput_bps"), ({"table": "flows"}, "of flow_series"),
        ({"within": 0.0}, "within"), ({"until_s": 30.0}, "takes from_s only"),
    ):  # fmt: skip
        with pytest.raises(DefinitionError, match=said):
            metric(**(keys | wrong))
