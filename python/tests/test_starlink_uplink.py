"""Grants, load by the hour, rates and losses: their fits of known values, and links with them."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_starlink_fit import made
from typer.testing import CliRunner

from skyhop import api, cli, starlink
from skyhop.starlink import capacity, chains, fitting
from skyhop.starlink.measuring import FIRST_S, SLOT_S
from skyhop.starlink.recordings import Floats, Recording
from skyhop.starlink.transfers import Transfer

DAY = 1_700_006_400
"""A midnight, UTC."""


def opportunities(shifts_ms: Floats, *, seconds: int = 30, length_ms: float = 0.3, every_ms: float = 4.0) -> Floats:
    """Whole ms of 15 packets in each grant, which lies in its period as drawn from `shifts_ms`."""
    generator = np.random.Generator(np.random.PCG64(1))
    count = int(1000 * seconds / every_ms)
    begins = every_ms * np.arange(count) + generator.choice(shifts_ms, count)
    # The clock of the recorder drifts by 0.1 ms a second.
    return np.floor(np.sort((begins[:, None] + length_ms * np.arange(15) / 15).ravel()) * 1.0001)


def test_a_fit_of_grants_finds_what_was_drawn() -> None:
    found = starlink.fit_grants(opportunities(np.array([0.0, 1.0, 2.0])), draws=20)
    assert found.every_ms == pytest.approx(4.0)
    assert found.length_ms == pytest.approx(0.3, abs=0.05)
    # Times in whole ms blur the ends by a ms.
    assert found.shift_ms[0] == 0 and 1.8 <= found.shift_ms[-1] <= 3.2
    assert 0.8 <= found.shift_ms[10] <= 1.9
    # The period is one for all draws, so it has no interval.
    assert [math.isnan(one.low) for one in found.parameters] == [True, False, False, False]
    for one in found.parameters[1:]:
        assert one.low <= one.value + 1e-9 and one.value <= one.high + 1e-9, one
    assert 'values = "loaded"\n' in starlink.grants_table(found)
    # A period of four frames is not taken for one of two.
    assert starlink.fit_grants(opportunities(np.zeros(1), every_ms=16 / 3), draws=0).every_ms == pytest.approx(16 / 3)


def test_no_period_is_no_fit() -> None:
    generator = np.random.Generator(np.random.PCG64(2))
    even = np.sort(np.floor(generator.uniform(0, 30_000, 6000)))
    with pytest.raises(ValueError, match="no period of grants shows"):
        starlink.fit_grants(even, draws=0)


def test_too_short_a_part_is_no_fit_of_grants(tmp_path: Path) -> None:
    file = tmp_path / "x.txt"
    file.write_text("\n".join(f"{time:g}" for time in opportunities(np.array([0.0, 1.0, 2.0]))))
    for part, span in (("0.5-0.5000001", "0"), ("0.5-0.6", r"\d")):
        answer = CliRunner().invoke(cli.app, ["fit", "starlink", "--grants", str(file), "--part", part])
        said = " ".join(answer.output.split())
        assert answer.exit_code == 2, answer.output
        assert re.search(rf"{span}\S* s of opportunities are too short for grants: 10 s are needed", said), said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1\ntwo\n", "a number in each line"),
        ("5\n3\n", "do not decrease"),
        ("1\nnan\n", "finite"),
        ("", "a line each"),
        ("0\n900\n", "too short"),
    ],
)
def test_what_is_not_a_list_of_times_is_refused(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "times.txt"
    file.write_text(text, encoding="ascii")
    found = CliRunner().invoke(cli.app, ["fit", "starlink", "--grants", str(file)])
    assert found.exit_code != 0 and said in found.stderr


def test_the_command_writes_one_table_that_a_scenario_takes(tmp_path: Path) -> None:
    file, out = tmp_path / "times.txt", tmp_path / "fit.toml"
    file.write_text("\n".join(f"{t:g}" for t in opportunities(np.array([0.0, 1.0]))), encoding="ascii")
    arguments = ["fit", "starlink", "--grants", str(file), "--draws", "10", "--out", str(out)]
    assert CliRunner().invoke(cli.app, arguments).exit_code == 0
    text = out.read_text(encoding="utf-8")
    assert text.count("[starlink]") == 1 and "90 % intervals" in text
    profile = text.replace("[starlink]", '[links.forward.profile.starlink]\njitter = "0 ms"\nbusy_jitter = "0 ms"')
    api.scenario(
        "duration = '1 s'\n[[links]]\nbetween = ['a', 'b']\ndelay = '1 ms'\n"
        f"backward = {{ rate = '1 Mbit/s' }}\n{profile}"
    )
    assert CliRunner().invoke(cli.app, ["fit", "starlink"]).exit_code != 0


def transfer(hour: float, bps: float, **values: Any) -> Transfer:
    ones = np.ones(2)
    given: dict[str, object] = {
        "name": f"{hour:g}.json", "start_s": DAY + 3600 * hour, "omitted_s": 0.0, "begins_s": np.arange(2.0),
        "lengths_s": ones, "rate_bps": bps * ones, "as_received": True, "mean_bps": bps,
        "sent_begins_s": np.arange(2.0), "sent_lengths_s": ones, "retransmits": None, "resent": None,
        "cwnd_bytes": None, "streams": 8, "least_rtt_ms": None, "control": "bbr", "reverse": True,
        "is_udp": False, "offered_bps": 0.0, "lost": None, "packets": 0,
    }  # fmt: skip
    return Transfer(**{**given, **values})  # type: ignore[arg-type]


def test_hours_are_the_medians_of_their_transfers_around_a_mean_of_one() -> None:
    generator = np.random.Generator(np.random.PCG64(3))
    truth = 1 + 0.2 * np.sin(2 * np.pi * np.arange(24) / 24)
    every = [(hour, day) for hour in range(24) for day in range(40) if hour != 7]
    transfers = [
        transfer(hour + 24 * day + 0.5, 1e8 * truth[hour] * generator.lognormal(0, 0.1)) for hour, day in every
    ]
    found = starlink.fit_hours(transfers, draws=50)
    assert np.mean(found.factors) == pytest.approx(1, abs=1e-3) and found.filled == (7,)
    assert np.allclose(found.factors, truth, atol=0.06)
    inside = [found.low[hour] <= truth[hour] <= found.high[hour] for hour in range(24) if hour != 7]
    assert sum(inside) >= 17, "90 % intervals"
    assert np.isnan(found.low[7]) and "07 h" in starlink.hours_table(found)
    # A table that names no set would be judged with another one than the rest of a fit.
    assert 'values = "loaded"\n' in starlink.hours_table(found)


def test_transfers_that_tell_no_hours_are_refused() -> None:
    def said(transfers: list[Transfer], match: str) -> None:
        with pytest.raises(ValueError, match=match):
            starlink.fit_hours(transfers, draws=0)

    said([transfer(n, 1e8) for n in range(5)], "5 hours of the day are not enough")
    said([transfer(n, 1e8) for n in range(12)], "12 hours in a row")
    said([transfer(n, 1e8 if n != 5 else 0.0) for n in range(24)], r"5.json: nothing arrived, which tells an outage")
    said([transfer(n, 1e8) for n in range(23)] + [transfer(23, 1e8, reverse=False)], "fit them apart")
    said([transfer(n, 1e8, offered_bps=5e6) for n in range(24)], "`-b` gave")


def test_grants_keep_the_goodput_and_make_packets_leave_in_bursts() -> None:
    """A saturated uplink of constant rate, with grants and without."""
    delays = {}
    kinds: dict[str, dict[str, Any]] = {"even": {}, "grants": {"grants": {}}}
    for name, keys in kinds.items():
        off = {"step": "0 ms", "jitter": "0 ms", "spike": ["0 ms", "0 ms"], "edge_loss": [0, 0], "loss": 0}
        profile = {"starlink": {**off, "rates": ["40 Mbit/s", "40 Mbit/s"], **keys}}
        flow = {"udp": {"header": "28 B"}, "application": {"constant_rate": {"rate": "60 Mbit/s", "payload": "1472 B"}}}
        slow = {"rate": "51.2 kbit/s", "payload": "64 B"}
        probes = {"udp": {"header": "28 B"}, "application": {"constant_rate": slow}}
        goodput, jitter = (
            api.run(
                {
                    "duration": "20 s",
                    "links": [{"between": ["a", "b"], "delay": "1 ms", "forward": {"profile": profile},
                               "backward": {"rate": "1 Mbit/s"}}],
                    "flows": [{"name": "f", "from": "a", "to": "b", **one}],
                },
                seed=1,
            ).flows.row(0, named=True)[key]
            for one, key in ((flow, "goodput_bps"), (probes, "jitter_mean_s"))
        )  # fmt: skip
        delays[name] = (goodput, 1e3 * jitter)
    (even, even_jitter), (granted, granted_jitter) = delays["even"], delays["grants"]
    assert granted == pytest.approx(even, rel=0.005)
    assert even_jitter < 0.01 and 0.5 < granted_jitter < 3


@pytest.mark.parametrize("first", [True, False])
def test_each_half_of_the_recorded_uplink_predicts_the_gaps_of_the_other(first: bool) -> None:
    file = Path(__file__).parents[3] / "shared" / "data" / "starlink-trace" / "uplink-opportunities-ms.txt.gz"
    if not file.exists():
        pytest.skip("../shared is not here")
    times = starlink.read_opportunities(file)
    halves = [times[times < 60_000], times[times >= 60_000]]
    fitted, judged = halves if first else halves[::-1]
    found = starlink.fit_grants(fitted, draws=0)
    assert found.every_ms == pytest.approx(4)
    generator = np.random.Generator(np.random.PCG64(1))
    count = int(60_000 / found.every_ms)
    shift = np.interp(generator.uniform(size=count), np.linspace(0, 1, 21), found.shift_ms)
    model = (4.0 * np.arange(count) + shift)[:, None] + found.length_ms * np.arange(16) / 16
    recorded, made = starlink.gaps(judged), starlink.gaps(np.sort(model.ravel()))
    assert abs(made.idle - recorded.idle) < 0.06
    distance = np.max(np.abs(np.cumsum(made.distances - recorded.distances)))
    # One half has shifts of 1 ms and the other of 2 ms, so each misses the other's spread; even spacing is at 1.
    assert distance < 0.3, json.dumps(made.distances.round(2).tolist())


def loaded(profile: dict[str, Any], *, slots: int, rate: str, payload: str, seed: int = 1) -> Transfer:
    """What iperf3 would tell of datagrams up a link with this profile, without delays that vary."""
    calm = {"step": "0 ms", "jitter": "0 ms", "busy_jitter": "0 ms", "spike": ["0 ms", "0 ms"], "edge_loss": [0, 0]}
    run = api.run(
        {
            "duration": f"{15 * slots} s",
            "profile": "linux",
            "links": [
                {
                    "between": ["terminal", "server"],
                    "delay": "10 ms",
                    "forward": {"profile": {"starlink": {"ripple": [1, 1], "pause": "0 s", **calm, **profile}}},
                    "backward": {"rate": "10 Mbit/s"},
                }
            ],
            "flows": [
                {
                    "name": "stream",
                    "from": "terminal",
                    "to": "server",
                    "udp": {"header": "28 B"},
                    "application": {"constant_rate": {"rate": rate, "payload": payload}},
                }
            ],
            "records": {"grid": "1 s"},
        },
        seed=seed,
    )
    series = run.flow_series.sort("time_s")
    received = series["goodput_bps"].to_numpy()
    seconds = np.arange(received.size, dtype=float)
    lost = np.bincount(run.drops["time_s"].to_numpy().astype(int), minlength=received.size)[: received.size]
    packet_bits = 8 * float(payload.split()[0])
    offered = float(rate.split()[0]) * 1e6
    return transfer(
        0, offered, begins_s=seconds, lengths_s=np.ones(received.size), rate_bps=received, reverse=False, is_udp=True,
        streams=1, offered_bps=offered, packets_each=received / packet_bits + lost, lost_each=lost.astype(float),
        wire_factor=1 + 28 * 8 / packet_bits,
    )  # fmt: skip


def test_a_flood_tells_the_rates_of_slots_and_how_long_they_hold() -> None:
    profile = {"rates": ["1 Mbit/s", "2 Mbit/s", "7 Mbit/s"], "rate_correlation": 0.8, "loss": 0}
    found = starlink.fit_capacity([loaded(profile, slots=400, rate="9 Mbit/s", payload="1172 B")], draws=100)
    told = {one.name: one for one in found.parameters}
    # Half of the rates lie evenly from 1 to 2, half from 2 to 7. With this correlation one in nine of 400 slots counts.
    mean = told["rate, mean, Mbit/s"]
    assert mean.value == pytest.approx(3.0, abs=0.7) and mean.low <= 3.0 <= mean.high
    assert told["rate, median, Mbit/s"].value == pytest.approx(2.0, abs=0.5)
    assert found.rates_mbps[0] == pytest.approx(1.0, abs=0.05) and found.rates_mbps[-1] == pytest.approx(7.0, abs=0.35)
    assert found.rate_correlation == pytest.approx(0.8, abs=0.08)
    wide = told["correlation of the rates of neighbouring slots"]
    assert wide.low <= 0.8 <= wide.high and wide.high - wide.low < 0.12
    # Nothing is said of losses: those of a full link are its queue's.
    assert found.unknown == 0 and np.isnan(found.loss) and found.outage_ms == ()


def test_a_stream_that_the_link_carries_tells_losses_and_outages_but_no_rates() -> None:
    profile = {"rates": ["5 Mbit/s", "7 Mbit/s"], "loss": 0.002, "outage": ["0 ms", "0 ms", "50 ms"]}
    stream = loaded(profile, slots=200, rate="0.8 Mbit/s", payload="172 B")
    found = starlink.fit_capacity([stream], draws=100)
    told = {one.name: one for one in found.parameters}
    assert found.rates_mbps == () and found.direction == "up"
    assert found.loss == pytest.approx(0.002, rel=0.1)
    # 0 at half of the edges, and 0 to 50 ms at the others, evenly.
    outage = told["outage, mean, ms"]
    assert outage.value == pytest.approx(12.5, abs=3) and outage.low <= 12.5 <= outage.high
    assert found.outage_ms[8] < 2.5 and found.outage_ms[-1] == pytest.approx(50, abs=5)
    # The table is a scenario's, and with a flood beside it the stream's rate is not taken for one of the link's.
    flood = loaded({**profile, "outage": ["0 ms", "0 ms"]}, slots=60, rate="9 Mbit/s", payload="1172 B")
    both = starlink.fit_capacity([stream, flood], draws=0)
    assert both.rates_mbps[0] == pytest.approx(5, abs=0.1) and both.rates_mbps[-1] == pytest.approx(7, abs=0.15)
    assert both.loss == found.loss and both.outage_ms == found.outage_ms
    text = starlink.capacity_table(both).replace("[starlink]", "[links.forward.profile.starlink]")
    api.scenario(
        f"duration = '1 s'\n[[links]]\nbetween = ['a', 'b']\ndelay = '1 ms'\nbackward = {{ rate = '1 Mbit/s' }}\n{text}"
    )


def test_rates_above_what_was_offered_are_said_to_be_unknown() -> None:
    profile = {"rates": ["1 Mbit/s", "9 Mbit/s"], "loss": 0}
    found = starlink.fit_capacity([loaded(profile, slots=200, rate="4.9 Mbit/s", payload="1172 B")], draws=20)
    # Up to 5 Mbit/s of IP packets come through: the other half is somewhere above.
    assert found.unknown == pytest.approx(0.5, abs=0.1)
    # The queue of a full slot leaves in the next one, beside what is offered.
    assert 5.0 <= found.rates_mbps[-1] <= 5.5
    names = [one.name for one in found.parameters]
    assert "rate, mean, Mbit/s, at least" in names
    assert "link was full in" in found.notes[0] and np.isnan(found.loss)
    assert "Mbit/s or more: that came through, and more was not offered" in starlink.capacity_table(found)


def test_slots_without_an_arrival_are_neither_rates_nor_a_crash() -> None:
    seconds = np.arange(15.0 * 40)
    rate = np.where((seconds >= 57) & (seconds < 87), 0.0, 2e6)
    sent = np.where(rate > 0, 250.0, 0.0)
    # The receiver tells what it missed for 30 s once it hears again.
    sent[87] += 30 * 250
    stream = transfer(
        0, 2e6, begins_s=seconds, lengths_s=np.ones(seconds.size), rate_bps=rate, reverse=False, is_udp=True, streams=1,
        offered_bps=2e6, packets_each=sent, lost_each=sent - np.where(rate > 0, 250.0, 0.0), wire_factor=1.0,
    )  # fmt: skip
    found = starlink.fit_capacity([stream], draws=10)
    told = {one.name: one.value for one in found.parameters}
    assert found.rates_mbps == () and found.loss == 0 and found.edges == 40
    # One edge of 40 ends a silence that is longer than the profile's longest outage, a slot.
    assert told["outage, mean, ms"] == pytest.approx(15_000 / 40)
    assert "nothing arrived in 2 slots" in found.notes[0]
    assert "obstructed" in starlink.capacity_table(found)
    dead = transfer(
        0, 2e6, begins_s=seconds, lengths_s=np.ones(seconds.size), rate_bps=0 * rate, reverse=False, is_udp=True,
        streams=1, offered_bps=2e6, packets_each=0 * rate, lost_each=0 * rate,
    )  # fmt: skip
    with pytest.raises(ValueError, match="0 slots with a rate and 0 datagrams"):
        starlink.fit_capacity([dead], draws=0)


def test_transfers_that_tell_no_rates_are_refused(tmp_path: Path) -> None:
    def said(transfers: list[Transfer], match: str) -> None:
        with pytest.raises(ValueError, match=match):
            starlink.fit_capacity(transfers, draws=0)

    said([transfer(0, 1e8), transfer(0, 1e8, reverse=False)], "fit them apart")
    said([transfer(0, 1e8, streams=1, control="cubic")], "losses hold one flow of cubic back")
    said([transfer(0, 1e8, streams=1, control=None)], "a control that the file does not name")
    said([transfer(0, 1e8, offered_bps=5e6)], "`-b` gave")
    said([transfer(0, 1e8, is_udp=True, as_received=False)], "record with --get-server-output")
    said([transfer(0, 1e8)], "0 slots with a rate and 0 datagrams")


def test_the_command_reads_iperf3s_reports_of_a_loaded_link(tmp_path: Path) -> None:
    profile = {"rates": ["1 Mbit/s", "7 Mbit/s"], "loss": 0}
    flood = loaded(profile, slots=40, rate="9 Mbit/s", payload="1172 B")
    assert flood.packets_each is not None and flood.lost_each is not None
    rows = zip(flood.begins_s, flood.rate_bps, flood.packets_each, flood.lost_each, strict=True)
    intervals = [
        {"sum": {"start": at, "seconds": 1.0, "bits_per_second": bps, "packets": sent, "lost_packets": lost}}
        for at, bps, sent, lost in rows
    ]
    test = {"protocol": "UDP", "num_streams": 1, "blksize": 1172, "target_bitrate": 9_000_000}
    start = {"timestamp": {"timesecs": flood.start_s}, "test_start": test}
    # The sender's own intervals know nothing of losses; the server's do.
    own = [{"sum": {**one["sum"], "bits_per_second": 9e6, "lost_packets": 0}} for one in intervals]
    document = {"start": start, "intervals": own, "server_output_json": {"intervals": intervals}}
    file = tmp_path / "flood.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    invoked = CliRunner().invoke(cli.app, ["fit", "starlink", "--loaded", str(file), "--draws", "0", "--json"])
    assert invoked.exit_code == 0, invoked.stderr
    found, wanted = json.loads(invoked.stdout)["loaded"], starlink.fit_capacity([flood], draws=0)
    assert found["rates_mbps"] == list(wanted.rates_mbps) and found["rate_correlation"] == wanted.rate_correlation
    assert found["allowance_mbps"] is None and found["allowance_restored_at_s"] is None
    assert found["allowance_restored_s"] == []
    del document["server_output_json"]
    file.write_text(json.dumps(document), encoding="utf-8")
    invoked = CliRunner().invoke(cli.app, ["fit", "starlink", "--loaded", str(file)])
    assert invoked.exit_code != 0 and "record with --get-server-output" in invoked.stderr


def test_outages_below_zero_by_chance_outweigh_the_shortest() -> None:
    generator = np.random.Generator(np.random.PCG64(1))
    true = np.where(generator.uniform(size=400) < 0.5, 0.0, generator.uniform(0, 50, 400))
    seen = true + 3 * generator.standard_normal(400)
    found = capacity._without_chance(seen)
    assert found.min() == 0 and np.mean(found) == pytest.approx(np.mean(seen))
    # Half of the edges have no outage, a twentieth has one that chance could make.
    assert 0.5 < np.mean(found == 0) < 0.6
    assert capacity._without_chance(np.array([-5.0, -4.0, 1.0])).tolist() == [0.0, 0.0, 0.0]
    assert capacity._without_chance(np.array([3.0, 1.0])).tolist() == [1.0, 3.0]


def test_few_independent_values_have_wider_intervals() -> None:
    drawn = np.random.Generator(np.random.PCG64(2)).standard_normal(4000).tolist()
    plain, few = fitting.interval(drawn), fitting.interval(drawn, 7)
    assert plain == pytest.approx((-1.645, 1.645), abs=0.08)
    # Student's t with six degrees of freedom is 1.943.
    assert few == pytest.approx((-1.943 * math.sqrt(7 / 6), 1.943 * math.sqrt(7 / 6)), abs=0.12)
    assert fitting.run_of(0.8, 240) == 9 and fitting.run_of(0.95, 40) == 5 and fitting.run_of(-0.4, 40) == 1


def test_equal_values_have_no_correlation() -> None:
    numbers = np.arange(40.0)
    assert math.isnan(chains.neighbours(numbers, np.full(40, 30.0))[0])
    # Two rates at random.
    generator = np.random.Generator(np.random.PCG64(4))
    values = np.where(generator.uniform(size=400) < 0.5, 10.0, 20.0)
    assert abs(chains.neighbours(np.arange(400.0), values)[0]) < 0.15


def test_few_neighbours_tell_no_correlation() -> None:
    every = made(60)
    second = np.floor((every.sent_s - FIRST_S) / SLOT_S) % 2 == 0
    found = starlink.fit([Recording("gaps", every.sent_s[second], every.rtt_ms[second])], draws=2)
    assert math.isnan(found.correlation)
    text = starlink.table(found)
    assert "Fewer than 20 pairs" in text and "\ncorrelation" not in text
    assert not any("correlation" in one.name for one in found.parameters)


def test_a_fit_says_where_no_pause_shows() -> None:
    found = starlink.fit([made(60)], draws=0)
    assert set(found.pause_ms) == {0.0} and "No pause shows in the" in starlink.table(found)
    assert "No pause" not in starlink.table(starlink.fit([made(60, pause_ms=120)], draws=0))
    long = starlink.fit([made(60, pause_ms=390)], draws=0)
    assert "it may be longer" in starlink.table(long)


def test_nothing_counts_twice() -> None:
    one = made(40)
    text = Recording("as-text", np.round(one.sent_s, 4), np.round(one.rtt_ms, 1))
    with pytest.raises(ValueError, match="made and as-text are the same recording"):
        starlink.fit([one, text], draws=0)
    starlink.fit([one, made(40, seed=2)], draws=0)
    with pytest.raises(ValueError, match="are the same transfer"):
        starlink.fit_hours([transfer(1, 1e8)] * 24, draws=0)


def test_hours_with_few_transfers_have_no_interval() -> None:
    found = starlink.fit_hours([transfer(n % 24 + 24 * (n // 24), 1e8 + n) for n in range(30)], draws=10)
    assert all(math.isnan(one) for one in found.low) and found.single == tuple(range(24))
    assert "no interval" in starlink.hours_table(found) and 'direction = "down"' in starlink.hours_table(found)
    udp = {"is_udp": True, "control": None}
    with pytest.raises(ValueError, match="got what they offered"):
        starlink.fit_hours([transfer(n, 1e7, offered_bps=1e7, **udp) for n in range(24)], draws=0)
    with pytest.raises(ValueError, match="losses hold one flow of cubic back"):
        starlink.fit_hours([transfer(n, 1e7, streams=1, control="cubic") for n in range(24)], draws=0)


def test_parts_and_directions_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    command = ["fit", "starlink", "--part", "0-0.5", "--loaded", str(tmp_path / "a.json")]
    answer = CliRunner().invoke(cli.app, command)
    assert answer.exit_code == 2 and "--loaded would take whole transfers" in " ".join(answer.output.split())
