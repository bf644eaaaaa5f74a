"""What a reader should know of a measure besides its number: what it leaves out, and what it takes together."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import polars as pl

from skyhop import durations
from skyhop.legs import earlier_legs
from skyhop.metrics import Metric, stated_time

if TYPE_CHECKING:
    from skyhop.metrics import AnyRun

#: Beginnings of columns that hold times along a path. A leg of a split connection has those of its own part only.
_ALONG_THE_PATH = ("delay_", "rtt_", "srtt_", "jitter_", "interarrival_")

#: Beginnings of columns that have a value for each packet with data, or for each message.
_PER_DATA = ("delay_", "jitter_", "interarrival_")

#: Reductions that take the steps of a flow that have a value, as if these were all.
_OVER_KNOWN_STEPS = ("mean", "weighted-mean", "p50", "p95", "p99", "share-within", "sum-of-means", "jain", "range")

#: Reductions whose number hangs on how many steps a series has.
_OVER_STEPS = ("mean", "p50", "p95", "p99", "share-within")


def of(done: AnyRun, metrics: Iterable[Metric]) -> list[str]:
    """A sentence for each of the measures' peculiarities in this run."""
    metrics = list(metrics)
    return [
        *_rest(done, metrics),
        *_cut(done, metrics),
        *_legs(done, metrics),
        *_idle(done, metrics),
        *_without_value(done, metrics),
        *_messages(done, metrics),
    ]


def _rest(done: AnyRun, metrics: list[Metric]) -> list[str]:
    """The end of the run behind the last whole step of the time series has no row."""
    grid = json.loads(done.scenario.canonical_json())["records"].get("grid")
    length_s = done.scenario.duration_s
    if grid is None or not 0 < (step_s := durations.seconds(grid)) <= length_s:
        return []
    last_s = math.floor(length_s / step_s + 1e-6) * step_s
    series = [one.name for one in metrics if one.table.endswith("series") and stated_time(one, length_s)[1] > last_s]
    if length_s - last_s < 1e-6 or not series:
        return []
    return [
        f"the time series end at {last_s:g} s and the run at {length_s:g} s: the rest is not in {', '.join(series)}; "
        "take a records.grid that divides the duration"
    ]


def _cut(done: AnyRun, metrics: list[Metric]) -> list[str]:
    """The table of losses is cut behind its first two million rows, which would be the number of losses."""
    left_out = done.manifest["drops_left_out"]
    found = [one.name for one in metrics if one.table == "drops"]
    if not left_out or not found:
        return []
    return [
        f"{', '.join(found)} leaves out {left_out:,} losses behind those that the table drops has room for; the "
        "columns dropped of flows and links have all"
    ]


def _legs(done: AnyRun, metrics: list[Metric]) -> list[str]:
    """Times of several legs of one connection do not add up to those from end to end."""
    found = [one for one in metrics if one.table in ("flows", "flow_series") and one.column.startswith(_ALONG_THE_PATH)]
    if not found:
        return []
    names = set(done.flows["flow"])
    of_legs = []
    for one in found:
        counted = {name for name in names if not one.only or pl.Series([name]).str.contains(one.only)[0]}
        if earlier_legs(counted):
            of_legs.append(one.name)
    if not of_legs:
        return []
    return [
        f"{', '.join(of_legs)} is of the legs of split connections, each by itself: no value is from end to end; "
        "choose flows with `only`"
    ]


def _idle(done: AnyRun, metrics: list[Metric]) -> list[str]:
    """A link has no rows before its first packet, so that a mean over rows is not one over the time."""
    found = [one for one in metrics if one.table == "link_series" and one.reduce in _OVER_STEPS]
    if not found:
        return []
    firsts = done.link_series.group_by("link", maintain_order=True).agg(pl.col("time_s").min())
    if firsts.is_empty():
        return []
    said = []
    # The first step of all links: a row stands at the end of its step.
    step_s = float(done.link_series["time_s"].unique().sort().diff().min() or 0.0)
    for one in found:
        from_s, _ = stated_time(one, done.scenario.duration_s)
        late = firsts.filter(pl.col("time_s") > from_s + 1.5 * step_s)
        late = late.filter(pl.col("link").str.contains(one.only)) if one.only else late
        if step_s > 0 and not late.is_empty():
            link, first_s = late.row(0)
            more = f" and of {late.height - 1} other links from later moments, too" if late.height > 1 else ""
            said.append(
                f"{one.name} leaves out the time before a link's first packet, in which it carried nothing: it has "
                f"rows of {link} from {first_s:g} s on{more}"
            )
    return said


def _without_value(done: AnyRun, metrics: list[Metric]) -> list[str]:
    """A flow has no delay in a step in which nothing arrived, so that a mean says nothing of the worst times."""
    found = [one for one in metrics if one.table == "flow_series" and one.reduce in _OVER_KNOWN_STEPS]
    if not found:
        return []
    said = []
    # A row stands at the end of its step. A flow has nothing to measure before it starts and after it stops.
    own = (pl.col("time_s") > pl.col("start_s") + 1e-9) & (pl.col("time_s") < pl.col("stop_s") + 1e-9)
    series = done.flow_series.lazy().join(done.flows.lazy().select("flow", "start_s", "stop_s"), on="flow").filter(own)
    for one in found:
        from_s, until_s = stated_time(one, done.scenario.duration_s)
        steps = series.filter((pl.col("time_s") > from_s + 1e-9) & (pl.col("time_s") <= until_s + 1e-9))
        steps = steps.filter(pl.col("flow").str.contains(one.only)) if one.only else steps
        known = pl.all_horizontal(pl.col(name).is_not_null() for name in {one.column, one.weight} - {""})
        # A step without weight would change nothing.
        counts = pl.col(one.weight).fill_null(1) > 0 if one.weight else pl.lit(True)
        left_out, every = steps.select((~known & counts).sum(), pl.len()).collect().row(0)
        if left_out:
            counted = "counts as too long" if one.reduce == "share-within" else "is left out"
            said.append(
                f"{one.name} has no {one.column} in {left_out:,} of the {every:,} steps of its flows, because nothing "
                f"was measured in them, and {'each' if left_out > 1 else 'it'} {counted}"
            )
    return said


def _messages(done: AnyRun, metrics: list[Metric]) -> list[str]:
    """The delays of a flow of messages are those of messages, whose number is not that of its packets."""
    found = [
        one for one in metrics if one.weight in ("packets_received", "received") and one.column.startswith(_PER_DATA)
    ]
    if not found or "messages_received" not in done.flows.columns:
        return []
    said = []
    for one in found:
        flows = done.flows.filter(pl.col("flow").str.contains(one.only)) if one.only else done.flows
        # One value has no weight.
        if one.table == "flows" and flows.height < 2:
            continue
        if names := flows.filter(pl.col("messages_received").is_not_null())["flow"].to_list():
            more = " and others" if len(names) > 4 else ""
            said.append(
                f"{one.name} weights what was measured of each message of {', '.join(names[:4])}{more} by packets, of "
                "which there may be more or fewer: choose flows with `only`"
            )
    return said
