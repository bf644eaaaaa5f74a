"""The studies' scenarios, shortened: two-sided bounds around what ns-2 or a formula gives."""

from __future__ import annotations

import statistics
from pathlib import Path

import polars as pl
import pytest
from conftest import ROOT

from skyhop import api
from skyhop.results import Run


def run(study: str, *overrides: str, seed: int = 1) -> Run:
    return api.run(Path(ROOT / "studies" / study / "scenario.toml"), seed=seed, overrides=overrides)


def goodput_bps(done: Run, group: str, from_s: float, until_s: float) -> float:
    """Of a group of flows, mean over a time."""
    rows = done.flow_series.filter(
        pl.col("flow").str.starts_with(group) & (pl.col("time_s") > from_s) & (pl.col("time_s") <= until_s)
    )
    return float(rows["goodput_bps"].sum()) / rows["time_s"].n_unique()


def test_satellite_connections_starve_in_lock_step_only() -> None:
    short = ["duration=900 s", "flows.terr.start=300 s", "flows.udp.start=600 s", "records.grid=20 s"]
    shares = {}
    for name, jitter in (("synchronous", []), ("jitter", ["flows.sat.jitter=4 ms", "flows.terr.jitter=4 ms"])):
        done = run("geo-terrestrial", *short, *jitter)
        shares[name] = goodput_bps(done, "sat", 400, 600) / 2e6
        # Alone they fill the link: 1000 of 1040 B are user data; a packet more or less falls into the time.
        assert 0.90 < goodput_bps(done, "sat", 100, 300) / 2e6 < 1000 / 1040 + 1e-3
        # All together cannot have more than the link, and leave little of it.
        both = goodput_bps(done, "sat", 400, 600) + goodput_bps(done, "terr", 400, 600)
        assert 0.90 * 2e6 < both < 2e6 * (1000 / 1040 + 1e-3)
    # ns-2: 0.018 in lock-step, 0.18 out of step.
    assert 0.002 < shares["synchronous"] < 0.06
    assert 0.12 < shares["jitter"] < 0.25


@pytest.mark.parametrize(("size", "efficiency"), [("200 B", 0.6554), ("100 B", 0.6209), ("50 B", 0.5077)])
def test_bytes_are_lost_as_the_published_efficiency_says(size: str, efficiency: float) -> None:
    # Govindarajan and Kousalya, equation 7, with (1 - 1e-3)^L.
    runs = [run("been-packet-size", f"flows[*].tcp.mss={size}", seed=seed) for seed in range(1, 6)]
    measured = [float(one.flows["information_efficiency"][0]) for one in runs]
    assert statistics.fmean(measured) == pytest.approx(efficiency, abs=0.02)


BEEN = "flows[*].tcp.notification=been"


@pytest.mark.parametrize(("rate", "information", "least", "most"), [("1e-2", 0.2238, 20, 28), ("1e-3", 0.4617, 38, 52)])
def test_reports_of_corruption_keep_a_small_packet_going(
    rate: str, information: float, least: float, most: float
) -> None:
    # Equation 1 makes packets of 80 B: (40 / 80) (1 - p)^80 of what is sent arrives as user data, but for the first size.
    errors = f"constellation.gsl.uplink.errors=[{{ data = {{ byte = {rate} }} }}]"
    runs = [run("been-packet-size", "duration=60 s", errors, BEEN, seed=seed) for seed in range(1, 6)]
    measured = [float(one.flows["information_efficiency"][0]) for one in runs]
    assert statistics.fmean(measured) == pytest.approx(information, abs=0.04)
    # 20 packets of 40 B of data per round trip of 0.13 to 0.16 s are 40 to 49 kbit/s, less what is sent again.
    goodput = statistics.fmean(float(one.flows["goodput_bps"][0]) for one in runs) / 1e3
    assert least < goodput < most
    plain = run("been-packet-size", "duration=60 s", errors)
    assert float(plain.flows["goodput_bps"][0]) / 1e3 < goodput / 10


def test_telnet_of_two_hundred_users_offers_what_it_does_in_ns2() -> None:
    done = run("cve-cloud", "flows.user.tcp.name=reno")
    # ns-2 with tcplib's table: 996 kbit/s of payload, 1070 kbit/s on the wire.
    assert float(done.flows["goodput_bps"].sum()) == pytest.approx(996e3, rel=0.1)
    assert float(done.flows["throughput_bps"].sum()) == pytest.approx(1070e3, rel=0.1)


@pytest.mark.parametrize(("flows", "window", "goodput", "drops"), [(1, 20, 952.6, 64), (2, 24, 957.4, 219)])
def test_reno_on_the_small_bottleneck_is_that_of_ns2(flows: int, window: int, goodput: float, drops: int) -> None:
    sets = [f"flows.flow.count={flows}", f"flows.flow.tcp.window={window}", "flows.flow.tcp.name=reno"]
    done = run("yam-fairness", *sets)
    assert float(done.flows["goodput_bps"].sum()) / 1e3 == pytest.approx(goodput, rel=0.002)
    assert int(done.flows["dropped"].sum()) == pytest.approx(drops, abs=2)


def test_a_single_yam_flow_hangs_on_what_equal_rtts_mean() -> None:
    sets = ["flows.flow.count=1", "flows.flow.tcp.window=20", "duration=40 s"]
    listed = run("yam-fairness", *sets)
    by_changes = run("yam-fairness", *sets, 'flows.flow.tcp.control={ yam = { update = "every-change" } }')
    # The window goes up and down between one and two packets of 1000 B per 22.4 ms; filled, the link carries 961.5 kbit/s.
    assert 357 < float(listed.flows["goodput_bps"].sum()) / 1e3 < 715
    assert 930 < float(by_changes.flows["goodput_bps"].sum()) / 1e3 < 961.6


def test_fast_is_as_fair_on_the_fast_network_as_published() -> None:
    sets = ["duration=60 s", "flows.second.start=15 s", "flows.second.stop=45 s", "flows.third.start=30 s"]
    path = ROOT / "studies" / "yam-fairness" / "fast-network.toml"
    done = api.run(path, overrides=[*sets, "flows[*].tcp.name=fast"])
    both = [goodput_bps(done, name, 20, 30) for name in ("first", "second")]
    # Table 1: 0.96; windows of 3000 packets alone would give 0.9615.
    assert sum(both) ** 2 / (2 * sum(x * x for x in both)) == pytest.approx(0.96, abs=0.05)


def test_updates_are_in_time_while_the_link_carries_them() -> None:
    folder = ROOT / "studies" / "cve-cloud"
    few = api.run(folder / "updates-udp.toml", overrides=["flows.user.count=50", "duration=5 s"]).table("transfers")
    # 10 + 50 + 10 ms and the packets' own times: nobody is faster, and half a link of traffic hardly waits.
    assert 0.0705 < float(few["completion_s"].min()) < 0.071
    assert 0.99 < (few["completion_s"] <= 0.1).sum() / few.filter(pl.col("begin_s") <= 4.9).height < 1.02
    many = api.run(folder / "updates.toml", overrides=["flows.user.count=200", "duration=5 s"]).table("transfers")
    # 200 users offer 3.84 Mbit/s to 2 Mbit/s.
    assert 0.0 < (many["completion_s"] <= 0.1).sum() / many.height < 0.2


def test_floats_bring_ashore_what_the_channel_carries_while_the_satellite_passes() -> None:
    data = 71 * 100_000
    wide = run("argo-floats", "flows[*].tcp.name=sack")
    assert 0.97 * data < int(wide.flows["bytes_delivered"].sum()) <= data
    narrow = run("argo-floats", "flows[*].tcp.name=sack", "constellation.gsl.downlink.rate=64 kbit/s")
    # 500 of 540 B at 64 kbit/s for the 536 s in which the data centre sees the satellite.
    most = 64e3 / 8 * 536 * 500 / 540
    assert 0.75 * most < int(narrow.flows["bytes_delivered"].sum()) < most
    assert float(narrow.flows["stop_s"].max()) > 3000
