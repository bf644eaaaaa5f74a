"""The fit of fades: it finds those that were drawn, and nothing where chance, clumps or slots explain the losses."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_starlink_uplink import transfer
from typer.testing import CliRunner

from skyhop import api, cli, starlink
from skyhop.starlink import capacity, fade_likelihood, fades
from skyhop.starlink.recordings import Floats
from skyhop.starlink.transfers import Transfer

#: Datagrams in a second.
PER_S = 500

Random = np.random.Generator


def generator(seed: int) -> Random:
    return np.random.Generator(np.random.PCG64(seed))


def faded(seconds: int, width_s: float, every_s: float, length_s: float, loss: float, random: Random) -> Floats:
    """Datagrams that fades lose in each interval: each datagram is drawn by itself."""
    sent_s = np.arange(seconds * PER_S) / PER_S
    survives = np.ones(sent_s.size)
    for begin in random.uniform(0, seconds, random.poisson(seconds / every_s)):
        survives[(sent_s >= begin) & (sent_s < begin + length_s)] *= 1 - loss
    lost = random.random(sent_s.size) >= survives
    return np.bincount((sent_s / width_s + 1e-9).astype(int), weights=lost).astype(float)


def stream(lost: Floats, width_s: float) -> Transfer:
    """What iperf3 tells of a stream of 500 datagrams a second whose intervals lost so many."""
    count = lost.size
    sent = np.full(count, PER_S * width_s)
    bits = 8 * 1000.0
    return transfer(
        0, PER_S * bits, begins_s=np.arange(count) * width_s, lengths_s=np.full(count, width_s),
        rate_bps=(sent - lost) * bits / width_s, reverse=False, is_udp=True, streams=1, offered_bps=PER_S * bits,
        packets_each=sent, lost_each=lost, wire_factor=1.028,
    )  # fmt: skip


def told(lost: Floats, width_s: float, draws: int = 0) -> fades.Told:
    """What the fit says of a stream, from the seconds 1 to 14 of each slot."""
    place = (np.arange(lost.size) + 0.5) * width_s / 15
    into = 15 * (place % 1)
    kept = (into > 1) & (into < 14)
    ones = np.ones(int(kept.sum()))
    return fades.tell(
        place[kept], width_s * ones, lost[kept], PER_S * width_s * ones, draws=draws, generator=generator(9)
    )


def scenario(text: str) -> None:
    """Checks that a scenario takes a table."""
    table = text.replace("[starlink]", "[links.forward.profile.starlink]")
    link = "[[links]]\nbetween = ['a', 'b']\ndelay = '1 ms'\nbackward = { rate = '1 Mbit/s' }"
    api.scenario(f"duration = '1 s'\n{link}\n{table}")


def test_fades_of_a_stream_are_found_and_do_not_count_in_its_loss() -> None:
    random = generator(10)
    lost = faded(600, 0.1, 5, 0.2, 0.2, random) + random.poisson(0.001 * 50, 6000)
    found = starlink.fit_capacity([stream(np.minimum(lost, 50), 0.1)], draws=100)
    parameters = {one.name: one for one in found.parameters}
    for name, known in (
        ("fade, length, ms", 200),
        ("fade, from begin to begin, s", 5),
        ("fade, mean loss", 0.2),
        ("loss between edges, beside fades", 0.001),
    ):
        one = parameters[name]
        # A 90 % interval misses one value in ten; two times its width holds 999 of 1,000.
        more = (one.high - one.low) / 2
        assert one.low - more <= known <= one.high + more, one
        assert one.high < 1.8 * one.low, one
    assert found.fades_length_ms == pytest.approx(200, rel=0.05)
    assert found.fades_every_s == pytest.approx(5, rel=0.3) and found.fades_loss == pytest.approx((0.2,), rel=0.1)
    assert found.loss == pytest.approx(0.001, rel=0.15) and found.loss_quantiles == ()
    # All losses beside edges, so that the fades near edges do not count as outages.
    outage = parameters["outage, mean, ms"]
    assert outage.low < 0.5 and outage.value < 3
    text = starlink.capacity_table(found)
    assert text.count("\nfades = { every = ") == 1 and "\nloss = 0.00" in text
    scenario(text)


def test_losses_of_fades_that_differ_are_quantiles() -> None:
    random = generator(2)
    lost = random.poisson(0.0005 * 50, 6000) + sum(faded(600, 0.1, 10, 0.3, loss, random) for loss in (0.03, 0.1, 0.3))
    found = told(np.minimum(lost, 50.0), 0.1)
    assert len(found.loss) == 5 and list(found.loss) == sorted(found.loss)
    assert found.loss[0] < 0.06 and found.loss[-1] > 0.2 and np.mean(found.loss) == pytest.approx(0.143, rel=0.3)
    assert found.length_s == pytest.approx(0.3, rel=0.07) and found.every_s == pytest.approx(10 / 3, rel=0.3)


def test_reports_of_a_second_do_not_tell_the_length_and_the_table_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random = generator(3)
    lost = faded(900, 1.0, 5, 0.2, 0.2, random) + random.poisson(0.001 * 500, 900)
    found = starlink.fit_capacity([stream(lost, 1.0)], draws=0)
    assert found.fades_loss == () and math.isnan(found.fades_every_s) and math.isnan(found.fades_length_ms)
    text = starlink.capacity_table(found)
    assert "fades =" not in text and "intervals of 1 s do not tell how long" in text and "-i 0.1" in text
    scenario(text)
    # All that the fit finds is what it was before there were fades.
    monkeypatch.setattr(capacity.fades, "tell", lambda *_, **__: fades.Told())
    other = starlink.fit_capacity([stream(lost, 1.0)], draws=0)
    assert starlink.capacity_table(other) == "".join(
        line for line in text.splitlines(keepends=True) if "intervals of 1 s" not in line
    )


NULLS = {
    "independent": lambda slot, random: random.poisson(np.full(slot.size, 0.5)),
    "9 at a time": lambda slot, random: 9 * random.poisson(np.full(slot.size, 0.05)),
    "slots": lambda slot, random: random.poisson(0.5 * random.gamma(1, 1, 1000)[slot]),
}


@pytest.mark.parametrize("kind", NULLS)
def test_streams_without_fades_claim_nothing(kind: str) -> None:
    random = generator(4)
    slot = np.arange(60 * 130) // 130
    place = slot + (1.05 + 0.1 * (np.arange(slot.size) % 130)) / 15
    ones = np.ones(slot.size)
    shown = 0
    for _ in range(60):
        lost = np.minimum(NULLS[kind](slot, random), 50).astype(float)
        (group,) = fades.rows(place, 0.1 * ones, lost, 50 * ones)
        shown += fades.lasting(group.rows, random)
    # One of 200 is expected to pass this test, and then the likelihood judges.
    assert shown <= 2


def test_losses_that_wander_within_minutes_do_not_last() -> None:
    random = generator(5)
    held = math.exp(-1 / 60)
    shown = 0
    for _ in range(30):
        log = np.zeros(900)
        for n in range(1, 900):
            log[n] = held * log[n - 1] + math.sqrt(1 - held**2) * random.standard_normal()
        lost = random.poisson(np.repeat(0.5 * np.exp(0.5 * log), 10)).astype(float)
        place = (np.arange(9000) + 0.5) / 150
        kept = np.abs(place % 1 - 0.5) < 6.5 / 15
        ones = np.ones(int(kept.sum()))
        (group,) = fades.rows(place[kept], 0.1 * ones, lost[kept], 50 * ones)
        shown += fades.lasting(group.rows, random)
    assert shown <= 1


def test_bursts_that_end_at_any_time_are_said_and_not_claimed() -> None:
    random = generator(6)
    lost = random.poisson(0.002 * 50, 6000).astype(float)
    for _ in range(20):
        begin = int(random.uniform(0, 5900))
        end = begin + math.ceil(random.exponential(10))
        lost[begin:end] += random.poisson(0.1 * 50, lost[begin:end].size)
    found = told(np.minimum(lost, 50), 0.1)
    assert not found.is_claimed and "bursts whose lengths differ" in found.note


def test_the_likelihood_is_that_of_all_ways_in_which_fades_can_lie() -> None:
    # A fade of exactly two intervals, in one part each: every state is counted by hand.
    pairs = np.array([[0.0, 10.0], [6.0, 10.0]])
    rows = fade_likelihood.Rows(1.0, pairs, np.array([[0, 1, 0, 2]]))
    values = fade_likelihood.Values(*(np.array([one]) for one in (1e-7, 0.5, 0.01, 0.01)))
    found = fade_likelihood.with_fades(rows, np.ones(1), values, 2.0, 0.0, 2.0)
    without = fade_likelihood.without_fades(rows, np.ones(1), np.array([0.01]), np.array([0.01]))
    # Fades so rare have no effect on three intervals, except where six of ten are lost.
    assert found.shape == (1, 1) and found[0, 0] > without[0, 0]
    rare = fade_likelihood.Values(*(np.array([one]) for one in (1e-30, 0.5, 0.01, 0.01)))
    assert fade_likelihood.with_fades(rows, np.ones(1), rare, 2.0, 0.0, 2.0) == pytest.approx(without, abs=1e-9)
    often = fade_likelihood.Values(*(np.array([one]) for one in (0.1, 0.9, 0.01, 0.01)))
    apart = fade_likelihood.untouched(rows, np.ones(1), often, 0.8, 0.0)
    # The interval with losses has a fade, the others mostly have none.
    assert apart[0, 1] < 1e-4 and apart[0, 0] > 0.5 and apart[0, 2] > 0.5
    assert np.all(apart <= 1)


def simulated(profile: dict[str, Any], slots: int) -> Transfer:
    """What iperf3 tells in intervals of 0.1 s of datagrams up a link that Skyhop simulates."""
    calm = {"step": "0 ms", "jitter": "0 ms", "busy_jitter": "0 ms", "spike": ["0 ms", "0 ms"], "edge_loss": [0, 0]}
    off = {**calm, "ripple": [1, 1], "pause": "0 s", "rates": ["5 Mbit/s", "7 Mbit/s"]}
    link = {"between": ["a", "b"], "delay": "10 ms", "forward": {"profile": {"starlink": {**off, **profile}}}}
    flow = {"name": "stream", "from": "a", "to": "b", "udp": {"header": "28 B"}}
    rate = {"constant_rate": {"rate": "0.8 Mbit/s", "payload": "200 B"}}
    run = api.run(
        {
            "duration": f"{15 * slots} s",
            "profile": "linux",
            "links": [{**link, "backward": {"rate": "10 Mbit/s"}}],
            "flows": [{**flow, "application": rate}],
        },
        seed=1,
    )
    lost = np.bincount((run.drops["time_s"].to_numpy() * 10).astype(int), minlength=150 * slots).astype(float)
    return stream(lost[: 150 * slots], 0.1)


def test_a_stream_over_the_engine_tells_its_fades(tmp_path: Path) -> None:
    one = simulated({"loss": 0.001, "fades": {"every": "4 s", "length": "250 ms", "loss": 0.2}}, slots=30)
    assert one.lost_each is not None and one.packets_each is not None
    intervals = [
        {"sum": {"start": at, "seconds": 0.1, "bits_per_second": bps, "packets": sent, "lost_packets": lost}}
        for at, bps, sent, lost in zip(one.begins_s, one.rate_bps, one.packets_each, one.lost_each, strict=True)
    ]
    test = {"protocol": "UDP", "num_streams": 1, "blksize": 1000, "target_bitrate": one.offered_bps}
    start = {"timestamp": {"timesecs": one.start_s}, "test_start": test}
    file, out = tmp_path / "stream.json", tmp_path / "fit.toml"
    document = {"start": start, "intervals": intervals, "server_output_json": {"intervals": intervals}}
    file.write_text(json.dumps(document), encoding="utf-8")
    arguments = ["fit", "starlink", "--loaded", str(file), "--draws", "60", "--json", "--out", str(out)]
    answer = CliRunner().invoke(cli.app, arguments)
    assert answer.exit_code == 0, answer.stderr
    values = json.loads(answer.stdout)["loaded"]
    for known, key in ((250, "fade, length, ms"), (4, "fade, from begin to begin, s"), (0.2, "fade, mean loss")):
        (parameter,) = (each for each in values["parameters"] if each["name"] == key)
        more = (parameter["high"] - parameter["low"]) / 2
        assert parameter["low"] - more <= known <= parameter["high"] + more, parameter
    assert values["loss"] == pytest.approx(0.001, rel=0.25)
    assert values["fades_length_ms"] == pytest.approx(250, rel=0.06) and len(values["fades_loss"]) == 1
    scenario(out.read_text(encoding="utf-8"))


def test_a_fit_without_a_claim_is_what_it_is_without_this_test(monkeypatch: pytest.MonkeyPatch) -> None:
    random = generator(7)
    one = stream(np.minimum(random.poisson(0.5, 6000), 50).astype(float), 0.1)
    found = starlink.fit_capacity([one], draws=20)
    monkeypatch.setattr(capacity.fades, "tell", lambda *_, **__: fades.Told())
    other = starlink.fit_capacity([one], draws=20)
    assert found.parameters == other.parameters and starlink.capacity_table(found) == starlink.capacity_table(other)


def test_uneven_short_and_few_intervals_are_no_crash() -> None:
    ones = np.ones(4)
    assert fades.rows(np.array([0.1, 0.2, 0.9, 5.0]), 0.1 * ones, 0 * ones, ones) == []
    assert told(np.zeros(1500), 0.1) == fades.Told()
    random = generator(8)
    # Intervals of 20 ms are added up, those of another length and those behind a gap begin a new row.
    place = (5 + 0.02 * np.arange(100)) / 15
    lengths = np.full(100, 0.02)
    lengths[50] = 0.2
    (group,) = fades.rows(place, lengths, random.poisson(1, 100).astype(float), np.full(100, 10.0))
    assert group.rows.width_s == 0.1 and group.rows.pair.shape == (2, 10)
    assert np.nansum(group.rows.packets) == 10 * (50 + 45) and group.of[1].shape == (9, 5)
