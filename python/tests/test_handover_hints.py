"""Handovers reach a congestion control that asks for them."""

from __future__ import annotations

from typing import Any

import polars as pl

import skyhop


def _run(tcp: str) -> skyhop.Run:
    scenario: dict[str, Any] = {
        "duration": "200 s",
        "profile": "linux",
        "constellation": {
            "preset": "iridium",
            "isl": {"rate": "25 Mbit/s"},
            "gsl": {
                "rate": "1.5 Mbit/s",
                "elevation_mask": "8.2 deg",
                "handover": {"policy": "until-below-mask", "every": "10 s"},
            },
        },
        "stations": {
            "berkeley": {"latitude": "37.9 deg", "longitude": "-122.3 deg"},
            "chennai": {"latitude": "13.04 deg", "longitude": "80.17 deg"},
        },
        "flows": [{"name": "download", "from": "berkeley", "to": "chennai", "tcp": tcp}],
        "records": {"grid": "100 ms"},
    }
    return skyhop.run(scenario, seed=1)


def test_satcp_is_told_of_the_handovers_of_its_terminals() -> None:
    run = _run("satcp")
    moves = pl.DataFrame(run.table("handovers")).filter(pl.col("from").is_not_null())["time_s"].to_list()
    assert moves, "the run has a handover"
    phases = pl.DataFrame(run.table("flow_series")).filter(pl.col("phase") == "handover")["time_s"]
    assert phases.len() > 0
    for time in phases:
        # A handover counts for 2.3 s, or until the next ACK after them.
        assert any(0.0 <= time - move < 4.0 for move in moves), time
    cubic = pl.DataFrame(_run("cubic").table("flow_series"))
    assert "handover" not in cubic["phase"].unique().to_list()
