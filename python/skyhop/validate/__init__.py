"""Comparisons with what others did: simulators, the Linux kernel, recordings.

Each comparison has a module and an entry in `registry.COMPARISONS`; `everything` runs those whose folders it finds.
"""

from __future__ import annotations

from skyhop.validate.ns2_cells import Cell, figures, markdown, ns2, own_reference, summary
from skyhop.validate.queue_packets import (
    Mean,
    Outcome,
    QueueCase,
    Totals,
    queues,
    queues_markdown,
    queues_summary,
    queues_texts,
)
from skyhop.validate.quic_runs import QuicCase, QuicFigure, quic, quic_markdown, quic_met, quic_summary
from skyhop.validate.registry import COMPARISONS, Comparison, Finding, Found, Report, everything
from skyhop.validate.route_pairs import Pair, routes, routes_markdown, routes_summary
from skyhop.validate.tcp_flows import Flow, FlowMeasure, flows
from skyhop.validate.tcp_reactions import Reaction, reactions

__all__ = [
    "COMPARISONS",
    "Cell",
    "Comparison",
    "Finding",
    "Flow",
    "FlowMeasure",
    "Found",
    "Mean",
    "Outcome",
    "Pair",
    "QueueCase",
    "QuicCase",
    "QuicFigure",
    "Reaction",
    "Report",
    "Totals",
    "everything",
    "figures",
    "flows",
    "markdown",
    "ns2",
    "own_reference",
    "queues",
    "queues_markdown",
    "queues_summary",
    "queues_texts",
    "quic",
    "quic_markdown",
    "quic_met",
    "quic_summary",
    "reactions",
    "routes",
    "routes_markdown",
    "routes_summary",
    "summary",
]
