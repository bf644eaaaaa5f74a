"""Comparisons with what others did: simulators, the Linux kernel, recordings.

Each comparison has a module and an entry in `registry.COMPARISONS`; `everything` runs those whose folders it finds.
"""

from __future__ import annotations

# Without `typing`: as in `skyhop`, type checkers take the name for its own.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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

_HOMES = {
    "COMPARISONS": "registry",
    "Cell": "ns2_cells",
    "Comparison": "registry",
    "Finding": "registry",
    "Flow": "tcp_flows",
    "FlowMeasure": "tcp_flows",
    "Found": "registry",
    "Mean": "queue_packets",
    "Outcome": "queue_packets",
    "Pair": "route_pairs",
    "QueueCase": "queue_packets",
    "QuicCase": "quic_runs",
    "QuicFigure": "quic_runs",
    "Reaction": "tcp_reactions",
    "Report": "registry",
    "Totals": "queue_packets",
    "everything": "registry",
    "figures": "ns2_cells",
    "flows": "tcp_flows",
    "markdown": "ns2_cells",
    "ns2": "ns2_cells",
    "own_reference": "ns2_cells",
    "queues": "queue_packets",
    "queues_markdown": "queue_packets",
    "queues_summary": "queue_packets",
    "queues_texts": "queue_packets",
    "quic": "quic_runs",
    "quic_markdown": "quic_runs",
    "quic_met": "quic_runs",
    "quic_summary": "quic_runs",
    "reactions": "tcp_reactions",
    "routes": "route_pairs",
    "routes_markdown": "route_pairs",
    "routes_summary": "route_pairs",
    "summary": "ns2_cells",
}


def __getattr__(name: str) -> Any:
    """Imports a comparison when it is asked for: every command would wait for all of them otherwise."""
    from importlib import import_module

    if name in _HOMES:
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    elif name in _HOMES.values():
        value = import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_HOMES.values()})
