"""Fits of a session's losses to the goodput of single flows: which losses they find, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_starlink_fit import iperf3
from typer.testing import CliRunner

from skyhop import api, cli, durations, starlink
from skyhop.starlink import buckets, session_delays, sessions, sets, simulating
from skyhop.starlink.sessions import fit_session, scaled
from skyhop.starlink.transfers import Transfer
from skyhop.validate import starlink_links, starlink_sessions

#: 2 April 2026, a full minute, UTC.
START_S = 1_775_088_000.0

VALUES = "seoul-2026-fades"


def upload(mbps: float, *, after_s: float = 0.0, seconds: int = 120, **values: Any) -> Transfer:
    """An upload of one flow of CUBIC with a least round trip of 66 ms."""
    each = np.arange(float(seconds))
    own = {
        "name": f"up-{after_s:g}", "start_s": START_S + after_s, "omitted_s": 0.0, "begins_s": each,
        "lengths_s": np.ones(seconds), "rate_bps": np.full(seconds, 1e6 * mbps), "as_received": True,
        "mean_bps": 1e6 * mbps, "sent_begins_s": each, "sent_lengths_s": np.ones(seconds), "retransmits": None,
        "resent": 93.0, "cwnd_bytes": None, "streams": 1, "least_rtt_ms": 66.0, "mean_rtt_ms": 80.0,
        "control": "cubic", "reverse": False, "is_udp": False, "offered_bps": 0.0, "lost": None, "packets": 0,
        "wire_factor": 1500 / 1448,
    }  # fmt: skip
    return Transfer(**{**own, **values})


def simulated_mbps(factor: float, seed: int) -> float:
    """What an upload gets over the set with so many times its losses."""
    profile = sessions.sides(VALUES, factor, down=False)
    one = upload(1)
    delay_ms = simulating.delay_ms(one, False, "cubic", one.least_rtt_ms, profile)
    return simulating.transfer_run(one, False, "cubic", delay_ms, profile, seed=seed).mean_bps / 1e6


@pytest.mark.parametrize("factor", [0.5, 3.0])
def test_a_fit_finds_the_losses_behind_simulated_uploads(factor: float) -> None:
    ones = [upload(simulated_mbps(factor, 100 + n), after_s=130.0 * n) for n in range(3)]
    found = fit_session(ones)
    assert (found.values, found.direction) == (VALUES, "up")
    (told,) = found.parameters
    assert told.low <= factor <= told.high
    assert found.factor == pytest.approx(factor, rel=0.3)
    assert any(note.startswith("Their mean smoothed round trip is 80 ms, simulated ") for note in found.notes)
    # One alone tells less.
    (single,) = fit_session(ones[:1]).parameters
    assert single.high / single.low > 1.2 and any("three or more" in note for note in fit_session(ones[:1]).notes)


def test_a_factor_scales_every_loss_of_a_set_and_nothing_else() -> None:
    set_side = {"profile": {"starlink": {"values": VALUES}}}
    of_set = buckets.resolved({"forward": set_side, "backward": set_side}).up
    one = scaled(VALUES, 1.0, down=False)
    two = scaled(VALUES, 2.0, down=False)
    assert one["loss"] == of_set["loss"] and two["loss"] == pytest.approx(2 * of_set["loss"])
    assert two["fades"]["loss"] == of_set["fades"]["loss"] and two["fades"]["length"] == of_set["fades"]["length"]
    assert float(two["fades"]["every"].split()[0]) == pytest.approx(float(one["fades"]["every"].split()[0]) / 2)
    # The set has no losses of its own at edges, so the keys have none.
    assert set(two) == {"loss", "fades"}
    keyed = {"profile": {"starlink": {"values": VALUES, **one}}}
    assert buckets.resolved({"forward": keyed, "backward": set_side}).up == of_set
    older = scaled("seattle-2023", 3.0, down=False)
    assert set(older) == {"loss", "edge_loss"} and older["loss"] == pytest.approx(0.006)
    # A loss stays a probability, and fades begin at most as often as they last.
    most = scaled(VALUES, 1e6, down=False)
    assert most["loss"] == 1.0 and most["fades"]["every"] == "0.15 s"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"is_udp": True}, "has UDP; only one flow of CUBIC or RENO"),
        ({"streams": 4}, "has 4 flows of cubic"),
        ({"control": "bbr"}, "has 1 flow of bbr"),
        ({"control": None}, "has 1 flow of no named control"),
        ({"offered_bps": 5e6}, "`-b` limited the transfer"),
        ({"error": "interrupt"}, "iperf3 ended early"),
        ({"seconds": 30}, "has 30 s; 60 s are needed"),
        ({"least_rtt_ms": None}, "does not tell a round trip"),
        ({"mean_bps": 0.0}, "nothing arrived"),
    ],
)
def test_transfers_that_tell_no_losses_are_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        fit_session([upload(9, **changes)])


def test_transfers_of_no_session_are_refused() -> None:
    with pytest.raises(ValueError, match="no transfer"):
        fit_session([])
    with pytest.raises(ValueError, match="fit them apart"):
        fit_session([upload(9), upload(9, after_s=200, reverse=True)])
    with pytest.raises(ValueError, match=r"begins 2\.5 h before the last"):
        fit_session([upload(9), upload(9, after_s=9000)])
    with pytest.raises(ValueError, match="are the same transfer"):
        fit_session([upload(9), upload(9)])


def test_a_goodput_that_losses_do_not_explain_is_refused() -> None:
    with pytest.raises(ValueError, match="losses did not limit it"):
        fit_session([upload(60)])
    with pytest.raises(ValueError, match="something else than losses limited it"):
        fit_session([upload(0.1)])


def test_the_command_writes_a_table_that_scenarios_and_validate_take(tmp_path: Path) -> None:
    files = []
    for n in range(2):
        document = iperf3(1, 9e6, 60)
        document["start"]["timestamp"]["timesecs"] = START_S + 90 * n
        files.append(tmp_path / f"up{n}.json")
        files[-1].write_text(json.dumps(document))
    out = tmp_path / "session.toml"
    arguments = [argument for file in files for argument in ("--session", str(file))]
    result = CliRunner().invoke(cli.app, ["fit", "starlink", *arguments, "--out", str(out)])
    assert result.exit_code == 0, result.output
    text = out.read_text()
    assert "losses, over those of the set" in text and "2 transfers of 60 s or more with CUBIC" in text
    keys = starlink_links.values_of(out)
    assert keys["values"] == VALUES and keys["direction"] == "up" and keys["loss"] > 0
    wire = {"between": ["terminal", "server"], "delay": "1 ms", **sets.sides(keys)}
    assert api.scenario({"duration": "1 s", "links": [wire]}).warnings == []
    told = starlink.fit_session([starlink.read_transfer(file) for file in files])
    assert keys["fades"] == told.keys["fades"]
    (tmp_path / "cases.csv").write_text("recording,kind\nup0.json,iperf3-json\n")
    judged = CliRunner().invoke(
        cli.app, ["validate", "starlink", "--reference", str(tmp_path), "--fit", str(out), "--json"]
    )
    rows = {row["measure"]: row for row in json.loads(judged.output)}
    assert rows["goodput"]["off"] < 0.2


def test_validate_predicts_later_transfers_by_earlier_ones_of_their_place(tmp_path: Path) -> None:
    def recorded(name: str, mbps: float, after_s: float, **test: Any) -> str:
        document = iperf3(test.pop("flows", 1), 1e6 * mbps, 60)
        document["start"]["timestamp"]["timesecs"] = START_S + after_s
        document["end"]["sender_tcp_congestion"] = test.pop("control", "cubic")
        document["end"]["sum_received"] = {"bits_per_second": 1e6 * mbps}
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
        return f"{name}.json,iperf3-json,{test.pop('latitude', 37)}"

    lines = [
        recorded("first", 6, 0), recorded("second", 6.3, 90), recorded("elsewhere", 6, 180, latitude=40),
        recorded("later", 6, 9000), recorded("several", 20, 270, flows=4), recorded("bbr", 20, 360, control="bbr"),
    ]  # fmt: skip
    (tmp_path / "cases.csv").write_text("recording,kind,latitude_deg\n" + "\n".join(lines) + "\n")
    rows = starlink_links.starlink(tmp_path)
    row, several = [row for row in rows if row.measure == "goodput, losses of its session"]
    # Two have one of the same place before them within two hours; BBR does not depend on losses.
    assert (row.case, several.case) == ("second.json", "several.json") and row.ok
    assert "the latest 2 transfers" in several.note
    assert "times those of the set, by the goodput of the transfer of this place before" in row.note
    (of_set,) = [row for row in rows if row.case == "second.json" and row.measure == "goodput"]
    assert row.off < of_set.off
    fit = starlink_links.starlink(tmp_path, values={"values": VALUES})
    assert not any("session" in row.measure for row in fit)


def test_the_latest_three_transfers_tell_the_losses_of_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each tells a factor of its own, the second none.
    factors = {0.0: 9.0, 100.0: None, 200.0: 2.0, 300.0: 4.0, 400.0: 8.0, 500.0: 1.0}
    used: dict[float, float] = {}

    def told_by(one: Transfer, _every: object, _values: str, *, seeds: object, delays: float) -> sessions.Told:
        assert seeds == starlink_sessions.TOLD_SEEDS and delays == 1
        factor = factors[one.start_s - START_S]
        if factor is None:
            raise ValueError
        return sessions.Told(float(np.log(factor)), 0.1, 0.001, 70.0)

    def sides(_values: str, factor: float, *, down: bool, delays: float) -> dict[str, Any]:
        assert not down and delays == 1
        return {"factor": factor}

    def runs(one: Transfer, _every: object, profile: dict[str, Any], _seeds: object) -> list[simulating.Simulated]:
        used[one.start_s - START_S] = profile["factor"]
        return []

    monkeypatch.setattr(sessions, "told_by", told_by)
    monkeypatch.setattr(sessions, "sides", sides)
    monkeypatch.setattr(sessions, "runs", runs)
    # In any order of the folder.
    ones = {
        number: upload(5, after_s=after_s) for number, after_s in enumerate([500.0, 0.0, 200.0, 100.0, 400.0, 300.0])
    }
    found = starlink_sessions.predictions(ones, VALUES)
    assert used == pytest.approx({100: 9, 200: 9, 300: (9 * 2) ** (1 / 2), 400: (9 * 2 * 4) ** (1 / 3), 500: 4})
    assert sorted(found) == [0, 2, 3, 4, 5]
    assert "by the goodput of the latest 3 transfers of this place before" in found[0].note


def simulated_upload(delays: float, seed: int, *, after_s: float = 0.0, seconds: int = 180) -> Transfer:
    """An upload over the set with so many times its delays, and its smoothed round trips of each second."""
    profile = sessions.sides(VALUES, 1.0, down=False, delays=delays)
    one = upload(1, after_s=after_s, seconds=seconds)
    run = simulating.transfer_run(one, False, "cubic", 25.0, profile, seed=seed)
    rtt_ms = run.srtt_at(one.sent_begins_s + one.sent_lengths_s)
    return upload(
        run.mean_bps / 1e6, after_s=after_s, seconds=seconds, rtt_ms=rtt_ms, least_rtt_ms=float(rtt_ms.min()),
        mean_rtt_ms=float(rtt_ms.mean()),
    )  # fmt: skip


def test_a_fit_finds_the_delays_behind_simulated_uploads() -> None:
    delays = 0.4
    found = fit_session([simulated_upload(delays, 200)])
    told, losses = found.parameters
    assert told.name.startswith("delays") and losses.name.startswith("losses")
    assert session_delays.TOO_LOW in found.notes
    # Three minutes tell the factor to a half, so that of the set is excluded.
    assert told.low <= delays <= told.high < 1 and found.delays == told.value
    # The losses are those of the set, although the round trips are not; chance alone makes them differ by a third.
    assert losses.value == pytest.approx(1, rel=0.4)
    assert set(found.keys) == {"loss", "fades", "step", "jitter"}
    of_set = buckets.resolved(sets.sides({"values": VALUES})).up
    for key in ("step", "jitter"):
        ours, theirs = ([durations.seconds(one) for one in keys[key]] for keys in (found.keys, of_set))
        assert ours == pytest.approx([found.delays * one for one in theirs], abs=1e-5)


def test_delays_that_no_factor_gives_are_refused() -> None:
    def simulated(factor: float) -> list[simulating.Simulated]:
        draws = [np.random.default_rng(seed).standard_normal(1200) for seed in range(4)]
        return [
            simulating.Simulated(1e6, *[np.empty(0)] * 2, 0, 0, 0, 50, srtt_ms=50 + 10 * factor * one) for one in draws
        ]

    draw = np.random.default_rng(9).standard_normal(120)

    def factor(*recorded: Any) -> tuple[float, float]:
        told = [session_delays.told_by(upload(9, rtt_ms=rtt_ms), simulated) for rtt_ms in recorded]
        log_factor, deviation = session_delays.factor_of(told)
        return float(np.exp(log_factor)), deviation

    half, deviation = factor(50 + 5 * draw)
    assert half == pytest.approx(0.5, rel=0.25) and 0 < deviation < 0.5
    # One upload that drifts decides less than the two others.
    together, wider = factor(50 + 5 * draw, 50 + 5 * draw[::-1], 50 + 5 * draw + np.linspace(0, 40, 120))
    assert together == pytest.approx(0.5, rel=0.3) and wider >= deviation
    with pytest.raises(ValueError, match="scatter more than those of the set do with 4 times its delays"):
        factor(50 + 100 * draw)
    with pytest.raises(ValueError, match="another distribution than those of the set: the least distance"):
        factor(np.where(np.arange(120) < 60, 50.0, 60.0) + 0.01 * draw)
    # Round trips that hardly scatter have the least factor that is tried.
    assert factor(50 + 0.6 * draw)[0] < 0.09


def test_delays_that_transfers_do_not_tell_are_those_of_the_set() -> None:
    silent = fit_session([upload(9)])
    assert silent.delays == 1 and "step" not in silent.keys
    assert any("the reports have no smoothed round trips of intervals" in note for note in silent.notes)
    assert not session_delays.tells(upload(9, reverse=True, rtt_ms=66 + np.arange(120.0)))
    assert not session_delays.tells(upload(9, rtt_ms=np.full(120, 66.0)))


def test_validate_predicts_round_trips_by_the_delays_of_earlier_uploads(tmp_path: Path) -> None:
    lines = []
    for n in range(2):
        one = simulated_upload(0.4, 300 + n, after_s=190.0 * n)
        document = iperf3(1, one.mean_bps, 180)
        document["start"]["timestamp"]["timesecs"] = START_S + 190 * n
        document["end"]["sum_received"] = {"bits_per_second": one.mean_bps}
        assert one.rtt_ms is not None
        for interval, rtt_ms in zip(document["intervals"], one.rtt_ms, strict=True):
            interval["streams"][0]["rtt"] = round(1e3 * rtt_ms)
        document["end"]["streams"][0]["sender"]["min_rtt"] = round(1e3 * one.rtt_ms.min())
        (tmp_path / f"{n}.json").write_text(json.dumps(document))
        lines.append(f"{n}.json,iperf3-json,37")
    (tmp_path / "cases.csv").write_text("recording,kind,latitude_deg\n" + "\n".join(lines) + "\n")
    rows = starlink_links.starlink(tmp_path)
    distance = "smoothed round trip, Kolmogorov-Smirnov"
    of_session = {row.case: row for row in rows if row.measure == distance + starlink_links.DELAYS_OF_SESSION}
    of_set = {row.case: row for row in rows if row.measure == distance}
    # The first has none before it.
    assert set(of_session) == {"1.json"} and set(of_set) == {"0.json", "1.json"}
    assert all(row.ok for row in of_session.values()) and not any(row.ok for row in of_set.values())
    notes = [row.note for row in rows if row.measure == "goodput, losses of its session"]
    assert len(notes) == 1 and "; delays 0." in notes[0]
