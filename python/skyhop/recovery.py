"""How long a flow takes to get its rate back after a handover. Definition: `docs/models/measures.md`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from skyhop.verdict import DefinitionError

#: The share of its former rate at which a flow counts as recovered.
RECOVERED = 0.8
#: The former rate is the mean over so long before the handover, s.
BEFORE_S = 10.0
#: A flow has recovered when the mean over so long reaches the share: a single burst is not a recovery, s.
WINDOW_S = 1.0


def instants_s(flow: str, handovers: pl.DataFrame, paths: pl.DataFrame) -> list[float]:
    """When the path of a flow changed because a terminal left a satellite, s.

    A gateway with several antennas also leaves satellites that the flow does not use; the path does not change then.
    """
    left = handovers.filter(pl.col("from").is_not_null())["time_s"].to_list()
    changed = paths.filter(pl.col("flow") == flow)["time_s"].to_list()
    return sorted(set(left) & set(changed))


def times_s(rates: Sequence[float], step_s: float, instants: Sequence[float], *, most_s: float) -> list[float]:
    """The time from each handover until the flow has recovered, at most `most_s`.

    `rates` are those of the steps of the time series, from 0 on. Left out are handovers with less than `BEFORE_S` of
    the run before them, and those that the run does not follow for `most_s` and a window more.
    """
    window, before = round(WINDOW_S / step_s), round(BEFORE_S / step_s)
    # Sums of whole steps, so that each window costs one subtraction.
    sums = [0.0]
    for rate in rates:
        sums.append(sums[-1] + rate)
    found = []
    for instant in instants:
        first = math.ceil(instant / step_s - 1e-6)
        last = math.floor((instant + most_s) / step_s + 1e-6)
        # The step in which the handover falls belongs to neither side.
        begin = math.floor(instant / step_s + 1e-6)
        if begin < before or last + window > len(rates):
            continue
        wanted = RECOVERED * (sums[begin] - sums[begin - before]) / before
        # A flow that stood still before has nothing to get back to, and is not called recovered.
        recovered = (
            step for step in range(first, last + 1) if 0 < wanted <= (sums[step + window] - sums[step]) / window
        )
        at = next(recovered, None)
        found.append(most_s if at is None else min(max(at * step_s - instant, 0.0), most_s))
    return found


def mean_s(
    series: pl.DataFrame, column: str, handovers: pl.DataFrame, paths: pl.DataFrame, *, from_s: float, most_s: float
) -> float:
    """The mean over all handovers of all flows of the series from `from_s` on; NaN without any.

    Raises DefinitionError where the steps of the series do not divide a window.
    """
    found = []
    for (flow,), rows in series.group_by("flow", maintain_order=True):
        ordered = rows.sort("time_s")
        step_s = float(ordered["time_s"][0])
        if abs(WINDOW_S / step_s - round(WINDOW_S / step_s)) > 1e-6:
            raise DefinitionError(f"recovery looks at windows of {WINDOW_S:g} s: take a records.grid that divides it")
        instants = [one for one in instants_s(str(flow), handovers, paths) if one - BEFORE_S >= from_s - 1e-9]
        found += times_s(ordered[column].to_list(), step_s, instants, most_s=most_s)
    return sum(found) / len(found) if found else math.nan
