"""Recordings of Starlink links: reading them, fitting the profile `starlink` to them, measures of both."""

from __future__ import annotations

from skyhop.starlink.capacity import CapacityFit, capacity_table, fit_capacity
from skyhop.starlink.fitting import Fit, Parameter, fit, table
from skyhop.starlink.grants import GrantsFit, fit_grants, gaps, grants_table, read_opportunities
from skyhop.starlink.hours import HoursFit, fit_hours, hours_table
from skyhop.starlink.measuring import EDGE_S, SLOT_S, measures
from skyhop.starlink.recordings import Recording, read_round_trips
from skyhop.starlink.sessions import SessionFit, fit_session, session_table
from skyhop.starlink.transfers import Transfer, read_transfer

__all__ = [
    "EDGE_S",
    "SLOT_S",
    "CapacityFit",
    "Fit",
    "GrantsFit",
    "HoursFit",
    "Parameter",
    "Recording",
    "SessionFit",
    "Transfer",
    "capacity_table",
    "fit",
    "fit_capacity",
    "fit_grants",
    "fit_hours",
    "fit_session",
    "gaps",
    "grants_table",
    "hours_table",
    "measures",
    "read_opportunities",
    "read_round_trips",
    "read_transfer",
    "session_table",
    "table",
]
