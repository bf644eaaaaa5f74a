"""How runs and scenarios show themselves in a notebook."""

from __future__ import annotations

import html
import json
from typing import TYPE_CHECKING, Any

from skyhop.frames import MOST_SHOWN, html_table

if TYPE_CHECKING:
    from skyhop import _core
    from skyhop.kept import KeptRun
    from skyhop.results import Run


def of_run(run: Run | KeptRun) -> str:
    """The flows of a run with the numbers that one looks at first, and its warnings."""
    flows = run.summary["flows"]
    rows = [
        [
            flow["name"], f"{flow['goodput_bps'] / 1e3:.1f}", flow["packets_sent"], flow["retransmissions"],
            sum(flow["drops"].values()), _ms(flow["rtt_mean_s"]), _ms(flow["delay_mean_s"]),
        ]
        for flow in flows[:MOST_SHOWN]
    ]  # fmt: skip
    titles = ["flow", "goodput (kbit/s)", "sent", "retransmitted", "dropped", "RTT mean (ms)", "delay mean (ms)"]
    more = f"<p>{len(flows) - MOST_SHOWN} flows more</p>" if len(flows) > MOST_SHOWN else ""
    head = f"<p>Run of scenario {run.manifest['scenario_hash'][:12]} with seed {run.manifest['seed']}</p>"
    return head + html_table(titles, rows) + more + _paragraphs(run.warnings)


def _ms(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds * 1e3:.1f}"


def of_scenario(scenario: _core.Scenario) -> str:
    """The parts of a scenario, by number and name, and its warnings."""
    data: dict[str, Any] = json.loads(scenario.canonical_json())
    rows = []
    for name in ("stations", "links", "flows", "workloads", "agents"):
        part = data.get(name)
        if part:
            names = list(part) if isinstance(part, dict) else [_name(one) for one in part]
            listed = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
            rows.append([name, len(names), listed])
    head = f"<p>Scenario {scenario.hash[:12]}: {scenario.duration_s:g} s"
    head += ", a constellation</p>" if data.get("constellation") else "</p>"
    return head + html_table(["part", "number", "names"], rows) + _paragraphs(scenario.warnings)


def _name(one: dict[str, Any]) -> str:
    return str(one.get("name") or "–".join(map(str, one.get("between", ()))) or "?")


def _paragraphs(sentences: list[str]) -> str:
    return "".join(f"<p>{html.escape(sentence)}</p>" for sentence in sentences)
