"""Every recipe of docs/recipes.md runs, gives the result that it shows, and does what its title says."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from types import ModuleType

import polars as pl
import pytest
from conftest import ROOT

import skyhop


def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("recipes", ROOT / "python/tools/recipes.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TOOL = tool()
RECIPES = {one.title: one for one in TOOL.recipes(TOOL.PAGE.read_text(encoding="utf-8"))}


def flow(run: skyhop.Run, column: str, index: int = 0) -> float:
    return float(run.flows[column][index])


def dropped(run: skyhop.Run, cause: str) -> int:
    return int(run.links[f"dropped_{cause}"].sum())


def goodput(title: str, *changes: tuple[str, str]) -> float:
    """Of the first flow, in bit/s, with parts of the recipe's text replaced."""
    text = RECIPES[title].scenario
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return flow(skyhop.run(skyhop.scenario(text)), "goodput_bps")


#: Light to a geostationary satellite and back, four times 35,786 km, in seconds.
GEO_ROUND_TRIP_S = 4 * 35_786e3 / 299_792_458

#: What shows that a recipe does what its title says.
SHOWS: dict[str, Callable[[skyhop.Run], bool]] = {
    "A geostationary link as one wire": lambda run: flow(run, "rtt_min_s") >= 0.54,
    "A geostationary satellite between two cities": lambda run: (
        GEO_ROUND_TRIP_S < flow(run, "rtt_min_s") < GEO_ROUND_TRIP_S + 0.05
    ),
    "GEO with random loss": lambda run: dropped(run, "error") > 0 and flow(run, "rtt_min_s") > GEO_ROUND_TRIP_S,
    "GEO with loss and a PEP": lambda run: (
        flow(run, "goodput_bps")
        > 2 * goodput(
            "GEO with loss and a PEP",
            ('via = ["gateway"]\n', ""),
            ("[[agents]]\nat = \"gateway\"\npep = { tcp = \"hybla\", buffer = \"2 MB\" }\n", ""))
    ),
    "GEO with a proxy that assigns rates (SaTPEP)": lambda run: (
        flow(run, "goodput_bps") > 0.8 * 10e6 and dropped(run, "error") > 100
    ),
    "GEO with a slow return link": lambda run: (
        run.links.filter(pl.col("link") == "terminal->hub")["utilisation"][0] > 0.8
    ),
    "Errors that come in bursts": lambda run: dropped(run, "error") > 0,
    "A bit error rate": lambda run: dropped(run, "error") > 0,
    "A rain fade": lambda run: (
        run.drops.filter(pl.col("cause") == "error")["time_s"].is_between(20, 25).all()
        and flow(run, "timeouts") > 0
    ),
    "Exactly these segments are lost": lambda run: (
        run.drops.filter(pl.col("cause") == "error")["seq"].to_list() == [100, 105] and run.table("packets").height > 0
    ),
    "Repeat what was lost on the link (ARQ)": lambda run: (
        flow(run, "goodput_bps")
        > 2 * goodput("Repeat what was lost on the link (ARQ)", (", repair = { arq = { tries = 5 } }", ""))
    ),
    "A Reed-Solomon code": lambda run: dropped(run, "error") == 0,
    "An erasure code over packets": lambda run: (
        flow(run, "goodput_bps")
        > 2 * goodput("An erasure code over packets", (", repair = { erasure = { n = 20, k = 18 } }", ""))
    ),
    "Tell the sender what was corrupted (ETEN)": lambda run: (
        flow(run, "goodput_bps")
        > 2 * goodput("Tell the sender what was corrupted (ETEN)", (', notification = "eten"', ""))
    ),
    "Mark ACKs that ask for corrupted segments (ELN)": lambda run: (
        flow(run, "goodput_bps")
        > goodput("Mark ACKs that ask for corrupted segments (ELN)", (', notification = "eln"', ""))
    ),
    "Cut the window by the share of congestion (CETEN)": lambda run: (
        flow(run, "goodput_bps")
        > goodput("Cut the window by the share of congestion (CETEN)", (', notification = "ceten"', ""))
    ),
    "Repair losses in front of a lossy link (Snoop)": lambda run: (
        flow(run, "goodput_bps")
        > 1.5 * goodput(
            "Repair losses in front of a lossy link (Snoop)",
            ('[[agents]]\nat = "base"\nsnoop = { packets = 200 }\n', ""))
    ),
    "Iridium between two cities": lambda run: run.paths["hops"].max() > 3,
    "Starlink without links between satellites": lambda run: run.paths["hops"].max() == 3,
    "A Starlink-like link without a constellation": lambda run: flow(run, "rtt_min_s") >= 0.016,
    "Your own shell with a grid of links": lambda run: run.paths["hops"].max() > 3,
    "Links between the nearest satellites": lambda run: run.paths["hops"].max() > 3,
    "Satellites from orbital elements": lambda run: flow(run, "delivery_fraction") > 0.9,
    "Medium orbit (O3b)": lambda run: 0.108 < flow(run, "rtt_min_s") < 0.15,
    "Take the highest satellite at each slot": lambda run: all(
        abs((time - 12) % 15) < 1e-6 or time == 0 for time in run.handovers["time_s"].to_list()
    ) and run.handovers.height > 4,
    "An outage at each handover": lambda run: dropped(run, "link_change") > 0 or flow(run, "dropped_no_route") > 0,
    "Spot beams": lambda run: "beam" in run.handovers["kind"].to_list(),
    "A user on the move": lambda run: flow(run, "delivery_fraction") > 0.9,
    "Fall back to a terrestrial network": lambda run: "terrestrial" in run.handovers["kind"].to_list(),
    "Rate, delay and loss from a table": lambda run: dropped(run, "error") > 0 and flow(run, "goodput_bps") < 20e6,
    "Delivery opportunities in mahimahi's format": lambda run: 0.9 * 7.2e6 < flow(run, "goodput_bps") < 7.2e6,
    "Two TCPs at one bottleneck": lambda run: flow(run, "goodput_bps", 0) > 2 * flow(run, "goodput_bps", 1),
    "The same bottleneck with different round trips": lambda run: (
        flow(run, "rtt_min_s", 0) >= 0.22 and 0.024 <= flow(run, "rtt_min_s", 1) < 0.03
    ),
    "Parameters of a congestion control": lambda run: flow(run, "retransmissions") == 0,
    "A larger initial window": lambda run: (
        flow(run, "completion_s")
        < flow(
            skyhop.run(
                skyhop.scenario(RECIPES["A larger initial window"].scenario.replace(", initial_window = 32", ""))
            ),
            "completion_s",
        )
    ),
    "A receiver window that limits": lambda run: flow(run, "goodput_bps") < 20 * 1460 * 8 / 0.54,
    "Paced segments": lambda run: (
        flow(run, "goodput_bps") > 1.5 * goodput("Paced segments", (', pacing = "always"', ""))
    ),
    "An ACK for every segment": lambda run: (
        run.links.filter(pl.col("link") == "terminal->hub")["packets"][0] >= 0.95 * flow(run, "packets_received")
    ),
    "TCP as ns-2 has it": lambda run: (
        # window_ is 20 segments of 1000 B, whatever cwnd_ grows to, and segments have no headers but 40 B.
        flow(run, "goodput_bps") < 20 * 1000 * 8 / 0.2 and flow(run, "cwnd_mean") > 20
    ),
    "Twenty flows that start one after another": lambda run: run.flows["start_s"].sort().to_list()[-1] == 9.5,
    "RED with ECN": lambda run: run.links["marked"].sum() > 0,
    "Mark above a threshold": lambda run: run.links["marked"].sum() > 0 and flow(run, "dropped_queue") == 0,
    "A queue of bytes": lambda run: flow(run, "rtt_max_s") > 0.5,
    "Telemetry at a constant rate": lambda run: flow(run, "packets_sent") in (3000, 3001),
    "Calls with silence": lambda run: 0 < run.flows["goodput_bps"].sum() < 10 * 64e3,
    "Datagrams at random instants beside a download": lambda run: flow(run, "delay_median_s", 1) > 2 * 0.03,
    "Messages over QUIC by datagram and by stream": lambda run: (
        (told := {row["flow"]: row for row in run.table("messages").iter_rows(named=True)})["by-datagram"]["late"] == 0
        and told["by-datagram"]["lost"] > 30
        and told["by-stream"]["lost"] == 0
        and told["by-stream"]["late"] > told["by-datagram"]["lost"]
    ),
    "A user who asks for pages": lambda run: run.table("transfers")["bytes"].unique().to_list() == [200_000],
    "Files one after another": lambda run: run.table("transfers")["bytes"].to_list() == [10_000, 100_000, 1_000_000],
    "Web users beside a download": lambda run: (
        run.table("workloads").filter(pl.col("class") == "all")["unfinished"].to_list() == [0]
        and run.table("workload_transfers")["slowdown"].min() > 1
    ),
    "Users of several stations": lambda run: (
        run.table("workload_transfers").select("from", "to").unique().height == 4
        and run.table("workload_transfers")["first_byte_s"].min() >= 0.275
    ),
    "Web pages over a geostationary satellite": lambda run: (
        run.table("pages")["objects"].to_list() == [71] * 5 and run.table("pages")["load_s"].min() > 3 * 0.56
    ),
    "Adaptive video beside a download": lambda run: (
        run.table("videos")["stalls"].to_list() == [0] and run.table("videos")["quality_mean_bps"].min() > 2e6
    ),
    "How long a keystroke takes": lambda run: run.table("transfers")["completion_s"].min() >= 0.27,
    "Time series, packets and positions": lambda run: all(
        run.table(name).height > 0 for name in ("flow_series", "link_series", "positions", "packets")
    ),
}  # fmt: skip


def test_there_are_forty_and_each_is_held_to_its_title() -> None:
    assert len(RECIPES) >= 40
    assert sorted(SHOWS) == sorted(RECIPES)


@pytest.mark.parametrize("title", list(RECIPES))
def test_a_recipe_runs_and_gives_the_result_that_it_shows(title: str) -> None:
    recipe = RECIPES[title]
    scenario = skyhop.scenario(recipe.scenario)
    run = skyhop.run(scenario)
    # A key without effect, a flow that delivers nothing and the like would be warnings.
    assert run.warnings == []
    assert (run.flows["bytes_delivered"] > 0).all()
    assert run.flows.height > 0 or run.table("workloads").height > 0 or run.table("pages").height > 0
    assert SHOWS[title](run)
    assert recipe.result == TOOL.result_of(run)
