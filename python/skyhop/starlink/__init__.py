"""Recordings of Starlink links: reading them, fitting the profile `starlink` to them, measures of both."""

from __future__ import annotations

from skyhop.starlink.fitting import Fit, Parameter, fit, table
from skyhop.starlink.measuring import EDGE_S, SLOT_S, measures
from skyhop.starlink.recordings import Recording, read_round_trips
from skyhop.starlink.transfers import Transfer, read_transfer

__all__ = [
    "EDGE_S",
    "SLOT_S",
    "Fit",
    "Parameter",
    "Recording",
    "Transfer",
    "fit",
    "measures",
    "read_round_trips",
    "read_transfer",
    "table",
]
