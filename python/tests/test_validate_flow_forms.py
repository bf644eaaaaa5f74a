"""Each form of a row of `validate linux`, over folders of a few seconds that are written here.

The recordings are made up: a test looks at what our run did (`ours`), which follows from the row alone, and asserts
what that form must change in it. A form that is read wrongly, or not at all, leaves another figure.
"""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from skyhop.validate import tcp_flows

COLUMNS = (
    "run,config,rate_bps,delay_s,limit_packets,duration_s,flows,random_loss,seed,schedule,outage,receive_buffer,paced"
)
MSS = 1448
# Long enough for slow start to fill the queue, short enough for all tests to take some seconds.
STOCK = {
    "run": "t_r1",
    "config": "t",
    "rate_bps": "4000000",
    "delay_s": "0.02",
    "limit_packets": "40",
    "duration_s": "6",
    "flows": "cubic",
    "seed": "1",
    "receive_buffer": "8 MiB initial",
    "paced": "0",
}
FIGURES = ("goodput_Mbps", "rtt_mean_ms", "rtt_p95_ms", "retrans", "ss_exit_cwnd", "cwnd_mean")

Run = Callable[..., tcp_flows.Flow]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs one row: STOCK with other cells, and with files of the recording by their kind."""
    numbers = itertools.count()

    def run(files: Mapping[str, str] | None = None, schedule: str = "", **cells: str) -> tcp_flows.Flow:
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        row = STOCK | cells
        if schedule:
            row["schedule"] = "schedule.csv"
            (folder / "schedule.csv").write_text(f"time_s,event,value\n{schedule}")
        columns = COLUMNS.split(",")
        assert row.keys() <= set(columns)
        (folder / "cases.csv").write_text(f"{COLUMNS}\n{','.join(row.get(one, '') for one in columns)}\n")
        # The figures of as many flows as any test has; their values do not matter here.
        group = f"{row['config']}_{row['flows']}"
        lines = [f"{group},{flow},any,{figure},1,1,1,1" for flow in range(3) for figure in FIGURES]
        (folder / "targets.csv").write_text("\n".join(["config,flow,cc,metric,n,mean,min,max", *lines]) + "\n")
        for kind, text in (files or {}).items():
            (folder / f"{row['run']}.{kind}.csv.gz").write_bytes(gzip.compress(text.encode()))
        [found] = tcp_flows.flows(folder)
        return found

    return run


def ours(found: tcp_flows.Flow, measure: str, flow: str = "") -> float:
    """Our value of a measure; `flow` as the measures of several flows are named."""
    assert found.problem is None, found.problem
    name = f"{flow} {measure}".strip()
    values = [one.ours for one in found.measures if one.measure == name]
    assert len(values) == 1, [one.measure for one in found.measures]
    return values[0]


def drops(*places: int, what: str = "random", again: int = 1) -> str:
    """A file of events that lost the segments with these numbers, each so many times."""
    rows = "".join(f"1.0,0,D,{place * MSS},{what}\n" * again for place in places)
    return f"t,flow,ev,seq,what\n{rows}"


def test_the_goodput_of_a_row_is_that_of_its_link(run: Run) -> None:
    # 1448 of 1500 bytes are data; slow start and the handshake take a part of the 6 s.
    for rate in (2, 4):
        assert 0.93 * rate < ours(run(rate_bps=f"{rate}000000"), "goodput_Mbps") < rate * 1448 / 1500


def test_the_delay_of_a_row_is_one_way_and_may_be_that_of_a_satellite(run: Run) -> None:
    near, far = (run(delay_s=delay, limit_packets="400", duration_s="8") for delay in ("0.02", "0.125"))
    assert ours(near, "rtt_mean_ms") >= 40
    assert ours(far, "rtt_mean_ms") >= 250
    # Slow start takes as many round trips, each longer.
    assert ours(far, "goodput_Mbps") < ours(near, "goodput_Mbps") - 0.1


def test_random_loss_without_a_list_is_drawn_as_often_as_the_row_says(run: Run) -> None:
    none, some, more = (run(random_loss=loss, limit_packets="1000") for loss in ("", "0.005", "0.02"))
    # A queue of 1000 packets never overflows here, so that every repetition answers a drawn loss.
    assert ours(none, "retrans") == 0
    packets = ours(some, "goodput_Mbps") * 1e6 * 6 / 8 / MSS
    assert 0.5 * 0.005 < ours(some, "retrans") / packets < 1.7 * 0.005
    assert ours(more, "goodput_Mbps") < 0.9 * ours(some, "goodput_Mbps") < ours(none, "goodput_Mbps")


def test_a_list_of_events_decides_which_segments_are_lost(run: Run) -> None:
    # With two losses in all, a probability that would drop every second packet draws nothing.
    listed = run({"events": drops(100, 400)}, random_loss="0.5", limit_packets="1000")
    assert ours(listed, "retrans") == 2
    # A repetition that is lost is repeated, too.
    twice = run({"events": drops(100, again=2)}, random_loss="0.5", limit_packets="1000")
    assert ours(twice, "retrans") == 2
    # Losses of the queue are not chance: our own queue decides about them, and without others they are drawn.
    tails = run({"events": drops(100, 400, what="tail")}, random_loss="0.02", limit_packets="1000")
    assert ours(tails, "retrans") > 5


@pytest.mark.parametrize(
    ("text", "controls"),
    [
        ("cubic+reno", ("cubic", "reno")),
        ("reno+cubic", ("reno", "cubic")),
        ("2xcubic", ("cubic", "cubic")),
        ("cubic x2", None),
        ("reno;2xbbr", ("reno", "bbr", "bbr")),
        ("cubic|pigeon", None),
    ],
)
def test_several_flows_stand_in_the_order_of_their_row(run: Run, text: str, controls: tuple[str, ...] | None) -> None:
    found = run(flows=text, duration_s="3")
    if controls is None:
        assert found.problem is not None
        assert "row 2: flows" in found.problem
        return
    names = [f"flow {number} ({name})" for number, name in enumerate(controls)]
    rates = [ours(found, "goodput_Mbps", name) for name in names]
    assert {one.measure.split(")")[0] + ")" for one in found.measures} == set(names)
    # Together they fill the link, and nobody alone.
    assert 0.85 * 4 < sum(rates) < 4
    assert max(rates) < 0.95 * sum(rates)


def test_a_flow_that_starts_later_gets_less(run: Run) -> None:
    together, later = (run(flows=text) for text in ("reno+reno", "reno+reno@3"))
    first, second = (ours(later, "goodput_Mbps", f"flow {number} (reno)") for number in (0, 1))
    assert ours(together, "goodput_Mbps", "flow 1 (reno)") > 1.2 * second
    # The first one has the link for itself for half of the time.
    assert first > 4 / 2 * 0.9 + 0.3
    late = run(flows="reno+reno@7")
    assert late.problem is not None
    assert "starts at the end of the run or later" in late.problem


def test_flows_without_starts_take_those_of_the_recorded_packets(run: Run) -> None:
    head = "t_in,dir,flow,seq,len,ack,nsack,q_on_arrival,fate,t_delivered\n"
    packets = "".join(
        f"{at},0,{flow},-1,0,0,0,0,ok,{at}\n{at + 0.05},0,{flow},0,{MSS},0,0,0,ok,{at}\n"
        for flow, at in ((0, 4.0), (1, 0.5))
    )
    found = run({"pkts": head + packets}, flows="2xreno")
    # The second of the row came first, by 3.5 s of 6.
    first, second = (ours(found, "goodput_Mbps", f"flow {number} (reno)") for number in (0, 1))
    assert second > 1.5 * first


def test_an_outage_that_drops_costs_repetitions_and_one_that_holds_does_not(run: Run) -> None:
    outage = "3,outage_s,0.4\n"
    none = run(limit_packets="1000")
    held, dropped = (run(schedule=outage, outage=kind, limit_packets="1000") for kind in ("hold", "drop"))
    assert [ours(one, "retrans") > 5 for one in (none, held, dropped)] == [False, False, True]
    # The link stands still in both.
    assert ours(held, "goodput_Mbps") < ours(none, "goodput_Mbps") - 0.1
    assert ours(dropped, "goodput_Mbps") < ours(none, "goodput_Mbps") - 0.1
    assert ours(run(schedule=outage, limit_packets="1000"), "retrans") == ours(held, "retrans")
    wrong = run(schedule=outage, outage="lose")
    assert wrong.problem is not None
    assert "neither hold nor drop" in wrong.problem


def test_a_schedule_moves_the_delay(run: Run) -> None:
    steady, moved = (run(schedule=text, receive_buffer="64 KiB fixed") for text in ("", "2,delay_ms,120\n"))
    assert ours(steady, "rtt_p95_ms") < 200 < ours(moved, "rtt_p95_ms")


def test_the_receive_buffer_limits_the_window(run: Run) -> None:
    # A path of 250 ms takes 250 kB on its way at 4 Mbit/s.
    rates = {
        text: ours(run(receive_buffer=text, delay_s="0.125", limit_packets="1000"), "goodput_Mbps")
        for text in ("8 MiB initial", "stock", "64 KiB max", "32 KiB fixed", "4096 65536 65536")
    }
    assert rates["8 MiB initial"] > 2.5
    assert rates["stock"] > 2.5
    # Half of a fixed buffer's doubled memory is window: 32 KiB in 250 ms.
    assert 0.5 * 32_768 * 8 / 0.25 / 1e6 < rates["32 KiB fixed"] < 1.05 * 32_768 * 8 / 0.25 / 1e6
    assert rates["64 KiB max"] == rates["4096 65536 65536"] < 2
    wrong = run(receive_buffer="8 MiB")
    assert wrong.problem is not None
    assert "row 2: receive_buffer" in wrong.problem


def test_pacing_spreads_the_packets_of_a_window(run: Run) -> None:
    # A fast link sends bursts of a round trip's growth at once. They overflow a queue of 50 packets at half the window
    # at which packets do that leave at 200 % of the rate.
    cells = {"rate_bps": "100000000", "limit_packets": "50", "flows": "reno", "duration_s": "2"}
    burst, paced = (run(paced=text, **cells) for text in ("0", "1"))
    assert ours(paced, "ss_exit_cwnd") > 1.5 * ours(burst, "ss_exit_cwnd")
    wrong = run(paced="fq")
    assert wrong.problem is not None
    assert "row 2: paced" in wrong.problem


@pytest.mark.parametrize(
    ("column", "value"),
    [("rate_bps", "0"), ("delay_s", "-1"), ("limit_packets", "many"), ("duration_s", "0"), ("random_loss", "1")],
)
def test_a_cell_that_cannot_be_read_is_named(run: Run, column: str, value: str) -> None:
    found = run(**{column: value})
    assert not found.ok
    assert found.problem is not None
    assert "row 2" in found.problem
    assert column in found.problem
