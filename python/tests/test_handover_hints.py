"""Handovers reach a congestion control that asks for them."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import skyhop


def _run(tcp: str | dict[str, Any], **more: Any) -> skyhop.Run:
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
        **more,
    }
    return skyhop.run(scenario, seed=1)


def _moves(run: skyhop.Run) -> list[float]:
    moves = run.handovers.filter(pl.col("from").is_not_null())["time_s"].unique().sort().to_list()
    assert moves, "the run has a handover"
    return moves


def _begins(run: skyhop.Run) -> list[float]:
    """The first instant of the grid, of 100 ms, at which the sender is in a handover."""
    phases = run.flow_series.with_columns(inside=pl.col("phase") == "handover")
    return phases.filter(pl.col("inside") & ~pl.col("inside").shift(1, fill_value=False))["time_s"].to_list()


@pytest.mark.parametrize("lead", [0.0, 0.5, 7.0])
def test_satcp_is_told_of_the_handovers_of_its_terminals_as_long_before_as_its_terminal_predicts(lead: float) -> None:
    run = _run({"control": {"satcp": {"lead": lead, "longest": 1.0}}})
    # Handovers of both ends come at multiples of 10 s, and the window is in a handover for 1 s from the prediction on.
    told = [move - lead for move in _moves(run)]
    begins = _begins(run)
    assert len(begins) == len(told)
    assert all(0.0 <= begin - at <= 0.1 + 1e-9 for begin, at in zip(begins, told, strict=True)), (begins, told)


def test_who_is_told_at_another_time_sees_the_same_sky() -> None:
    early, late = (_run({"control": {"satcp": {"lead": lead}}}) for lead in (0.5, 0.0))
    assert early.handovers.equals(late.handovers)
    assert "handover" not in _run("cubic").flow_series["phase"].unique().to_list()


def test_a_control_in_python_is_told_of_handovers() -> None:
    source = """
import skyhop

class Mine(skyhop.CongestionControl):
    def on_ack(self, ack):
        self.cwnd = 4.0

    def on_congestion(self, event):
        pass

    def on_handover(self, now):
        self.ssthresh = now
"""
    control = {"python": {"class": "mine:Mine", "source": source}}
    run = _run({"recovery": "sack", "control": control}, profile="rfc")
    told = run.flow_series["ssthresh"].drop_nulls().unique(maintain_order=True).to_list()
    assert [time for time in told if time < 1e6] == _moves(run)
