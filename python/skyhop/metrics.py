"""Metrics: how one number comes from the tables of a run. Definitions: `docs/models/measures.md`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from skyhop import _core, recovery
from skyhop.legs import earlier_legs
from skyhop.verdict import DefinitionError, Guard

if TYPE_CHECKING:
    from skyhop.definition import Table
    from skyhop.kept import KeptRun
    from skyhop.results import Run

    AnyRun: TypeAlias = "Run | KeptRun"

REDUCTIONS = (
    "sum", "mean", "weighted-mean", "ratio", "range", "total-rate", "sum-of-means", "jain", "share-within", "count",
    "p50", "p95", "p99", "recovery",
)  # fmt: skip

#: The share of all rows that a percentile does not exceed.
PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}

#: Columns that are null for what did not finish: leaving those rows out would make every result better than it was.
UNFINISHED = {
    "flows": ("completion_s",),
    "transfers": ("completion_s",),
    "workload_transfers": ("first_byte_s", "completion_s", "slowdown"),
    "pages": ("first_byte_s", "load_s"),
    "videos": ("startup_s",),
}

#: The column that says when a row of these tables begins, s.
_BEGINS = {"flows": "start_s", "transfers": "begin_s", "workload_transfers": "time_s", "pages": "time_s"}

#: Reductions that know what to do with rows that did not finish. The others would leave them out.
_FOR_UNFINISHED = ("p50", "p95", "p99", "share-within", "count")

#: The events of the tables that have some. A name that nothing is called would count 0 without a word.
EVENTS = {
    "flow_events": (
        "start", "stop", "complete", "recovery", "recovered", "timeout", "probe", "cwr", "undo", "rtt-jump", "loss",
        "mark", "persistent congestion", "connection lost", "closed by receiver",
    ),
    "packets": ("enq", "deq", "drop", "loss", "rcv", "mark", "ack", "taken-for-lost"),
}  # fmt: skip


@dataclass(frozen=True)
class Metric:
    """How one number of a cell comes from a table of its run."""

    name: str
    label: str
    unit: str
    table: str
    column: str
    reduce: str
    #: Turns the column's unit into `unit`.
    scale: float = 1.0
    digits: int = 1
    #: Column by which `weighted-mean` weighs.
    weight: str = ""
    #: Column by whose sum `ratio` divides that of `column`.
    over: str = ""
    #: Rows until this moment are left out (tables with a time only).
    from_s: float = 0.0
    #: Rows after this moment are left out; 0 means none.
    until_s: float = 0.0
    #: The same two as shares of the run's length, so that a longer run of the same kind has the same phases.
    from_share: float = 0.0
    until_share: float = 0.0
    #: The time of `total-rate` over the table of flows: that of the run (or the stated one), or with "flows" from the
    #: first start to the last stop of the flows that are counted.
    time: str = "run"
    #: The bound of `share-within`, in the column's unit; the longest time that `recovery` counts, s.
    within: float = 0.0
    #: Regular expression: only the flows, links, workloads or terminals whose name it finds.
    only: str = ""
    #: Only rows of this class of sizes, in the table of workloads.
    size: str = ""
    #: Only rows of this event, in tables that have events.
    event: str = ""
    #: What the number means, in words for the reader.
    meaning: str = ""
    #: What else must be true of a cell before the number means anything.
    guards: tuple[Guard, ...] = ()


def read_metric(name: str, entry: Table, *, guard: bool = False) -> Metric:
    """A metric from its table in the file; with `guard` it may have guards, which are read apart."""
    if guard:
        entry.take("guard", object, None)
    reduce = entry.text("reduce")
    if reduce not in REDUCTIONS:
        raise entry.error("reduce", f"is one of {', '.join(REDUCTIONS)}, not {reduce!r}")
    metric = Metric(
        name=name,
        label=entry.text("label"),
        unit=entry.text("unit"),
        table=entry.text("table"),
        column=entry.text("column"),
        reduce=reduce,
        scale=entry.number("scale", 1.0),
        digits=entry.take("digits", int, 1),
        weight=entry.text("weight", ""),
        over=entry.text("over", ""),
        from_s=entry.number("from_s", 0.0),
        until_s=entry.number("until_s", 0.0),
        from_share=entry.number("from_share", 0.0),
        until_share=entry.number("until_share", 0.0),
        time=entry.text("time", "run"),
        within=entry.number("within", 0.0),
        only=entry.text("only", ""),
        size=entry.text("size", ""),
        event=entry.text("event", ""),
        meaning=entry.text("meaning", ""),
    )
    if (reduce == "weighted-mean") != bool(metric.weight):
        raise entry.error("weight", "belongs to weighted-mean, and it to it")
    if (reduce == "ratio") != bool(metric.over):
        raise entry.error("over", "belongs to ratio, and it to it")
    if (reduce in ("share-within", "recovery")) != (metric.within > 0):
        raise entry.error("within", "is the bound of share-within or the longest time of recovery, above 0")
    if reduce == "recovery" and (metric.table != "flow_series" or metric.column not in RATES):
        raise entry.error("reduce", f"recovery takes {' or '.join(RATES)} of flow_series")
    if reduce == "recovery" and (metric.until_s or metric.from_share or metric.until_share):
        raise entry.error("reduce", "recovery takes from_s only: it looks at what follows each handover")
    _check_metric(entry, metric)
    entry.finish()
    return metric


def _check_metric(entry: Table, metric: Metric) -> None:
    """Raises for a metric that its table cannot give, or whose number would not be what it is called."""
    if metric.table not in _core.table_names():
        raise entry.error("table", f"is one of {', '.join(_core.table_names())}, not {metric.table!r}")
    columns = columns_of(metric.table)
    for key, column in (("column", metric.column), ("weight", metric.weight), ("over", metric.over)):
        if column and not columns.get(column, False):
            numbers = ", ".join(name for name, is_number in columns.items() if is_number)
            raise entry.error(key, f"is a column of {metric.table} that holds numbers ({numbers}), not {column!r}")
    if metric.reduce in ("sum-of-means", "jain", "range") and "flow" not in columns:
        raise entry.error("reduce", f"{metric.reduce} is taken over flows, and {metric.table} has none")
    if metric.only:
        if not named_by(metric.table):
            raise entry.error("only", f"selects by {', '.join(NAMED_BY)}, and {metric.table} has none of them")
        try:
            pl.Series([""]).str.contains(metric.only)
        except pl.exceptions.PolarsError as error:
            raise entry.error("only", f"is a regular expression, not {metric.only!r}: {error}") from None
    if (metric.table == "workloads") != bool(metric.size):
        raise entry.error("size", 'is "all", "small", "medium" or "large", and belongs to the table workloads')
    if metric.size and metric.size not in SIZES:
        raise entry.error("size", f"is one of {', '.join(SIZES)}, not {metric.size!r}")
    unfinished = {metric.column, metric.weight, metric.over} & set(UNFINISHED.get(metric.table, ()))
    # A table of transfers has the ages of updates, of which the mean of those that arrive is asked for, too.
    if unfinished and metric.table != "transfers" and metric.reduce not in _FOR_UNFINISHED:
        what = {"pages": "pages", "flows": "flows", "videos": "videos"}.get(metric.table, "transfers")
        done = "start" if metric.table == "videos" else "finish"
        raise entry.error(
            "reduce",
            f"{metric.reduce} of {min(unfinished)} would leave out the {what} that did not {done}; use p50, p95 or p99",
        )
    if metric.table == "workloads" and metric.reduce in ("ratio", "weighted-mean"):
        raise entry.error("reduce", f"{metric.reduce} is not taken over workloads, whose rows are classes of sizes")
    if metric.event and "event" not in columns:
        raise entry.error("event", f"selects rows by their event, and {metric.table} has none")
    if metric.event and metric.event not in EVENTS[metric.table]:
        raise entry.error("event", f"is one of {', '.join(EVENTS[metric.table])}, not {metric.event!r}")
    if metric.scale == 0:
        raise entry.error("scale", "is 0, which would make every value 0")
    for key in ("from_s", "until_s", "from_share", "until_share"):
        if getattr(metric, key) < 0:
            raise entry.error(key, f"is zero or more, not {getattr(metric, key):g}")
        if getattr(metric, key) and not has_time(metric.table) and metric.reduce != "total-rate":
            raise entry.error(key, f"has no effect: rows of {metric.table} are totals of the whole run")
    for begin, end in (("from_s", "until_s"), ("from_share", "until_share")):
        if 0 < getattr(metric, end) <= getattr(metric, begin):
            raise entry.error(end, f"is behind {begin}, which is {getattr(metric, begin):g}")
    if metric.time not in ("run", "flows"):
        raise entry.error("time", f'is "run" or "flows", not {metric.time!r}')
    stated = metric.from_s or metric.until_s or metric.from_share or metric.until_share
    if metric.time == "flows" and (metric.reduce != "total-rate" or metric.table != "flows" or stated):
        raise entry.error("time", 'belongs to total-rate of the table flows without a stated time, where it is "flows"')
    if why := rates_misused(metric):
        raise entry.error("reduce", why)


#: Columns by which `only` selects rows; of several the first that the table has.
NAMED_BY = ("flow", "link", "workload", "terminal")

#: Classes of sizes of transfers, as the table of workloads has them.
SIZES = ("all", "small", "medium", "large")


def named_by(table: str) -> str:
    """The column by which `only` selects rows of a table of runs; "" if there is none."""
    return next((name for name in NAMED_BY if name in columns_of(table)), "")


#: The rates of a flow: over its own time in `flows`, over a step of the grid in `flow_series`.
RATES = ("goodput_bps", "throughput_bps")


def rates_misused(metric: Metric) -> str:
    """Why the metric would add or divide rates that belong to different times; empty if it does not."""
    if "pacing_bps" in (metric.column, metric.over) and metric.reduce in ("sum", "ratio"):
        return f'{metric.reduce} would add the rates at which a sender paced at different steps; use "mean"'
    rates = {metric.column, metric.over} & set(RATES)
    if metric.reduce == "total-rate":
        if metric.column not in RATES:
            return f"total-rate takes {' or '.join(RATES)} of flows or flow_series, not {metric.column!r}"
    elif rates and (metric.reduce in ("sum", "ratio") or (metric.reduce == "sum-of-means" and metric.table == "flows")):
        return (
            f"{metric.reduce} would add rates that flows had over different times, which can exceed every link's; "
            'use "total-rate": the bytes of all flows over one time'
        )
    return ""


@cache
def columns_of(table: str) -> dict[str, bool]:
    """The columns of a table of runs, and whether they hold numbers."""
    schema = pl.DataFrame(_core.empty_table(table)).schema
    return {name: kind.is_numeric() or kind == pl.Boolean for name, kind in schema.items()}


def has_time(table: str) -> bool:
    """Whether rows of a table of runs stand at a moment, and are not totals of the whole run."""
    return "time_s" in columns_of(table)


def measure_all(done: AnyRun, metrics: Mapping[str, Metric]) -> dict[str, float]:
    """Metrics of one run by name; each table that they need is read once. NaN where there is nothing to measure."""
    tables = {name: done.table(name) for name in dict.fromkeys(metric.table for metric in metrics.values())}
    # In one go: of small tables each query costs more than what it does.
    rows = pl.collect_all(_rows(done, tables[metric.table], metric) for metric in metrics.values())
    return {
        # In one chunk, as sums of several depend on how many threads there are.
        metric.name: _reduced(of_metric.rechunk(), metric, done) * metric.scale if of_metric.height > 0 else math.nan
        for metric, of_metric in zip(metrics.values(), rows, strict=True)
    }


def measure(done: AnyRun, metric: Metric) -> float:
    """One metric of one run; NaN when its table has nothing to measure."""
    return measure_all(done, {metric.name: metric})[metric.name]


def _rows(done: AnyRun, table: pl.DataFrame, metric: Metric) -> pl.LazyFrame:
    """What the metric is taken from: rows of the table, or one row for each flow."""
    if why := rates_misused(metric):
        raise DefinitionError(f"metric {metric.name}: {why}")
    length_s = done.scenario.duration_s
    _limits_between_steps(metric, table, length_s)
    rows = table.lazy()
    if _counts_connections(metric):
        rows = rows.filter(~pl.col("flow").is_in(_earlier_legs(table, metric.only)))
    if metric.reduce == "total-rate" and metric.table == "flows":
        # Bits in each flow's own time, which lies in the stated one.
        rows = rows.filter(pl.col("flow").str.contains(metric.only)) if metric.only else rows
        bits = pl.col(metric.column) * (pl.col("stop_s") - pl.col("start_s"))
        return rows.select("flow", "start_s", "stop_s", bits.alias(metric.column))
    # Recovery needs the rates from 0 on; it leaves out early handovers by itself.
    if metric.reduce != "recovery" and (from_s := max(metric.from_s, metric.from_share * length_s)) > 0:
        # A row of a time series stands at the end of its step.
        rows = rows.filter(pl.col("time_s") > from_s + 1e-9)
    if (until_s := metric.until_s or metric.until_share * length_s) > 0:
        rows = rows.filter(pl.col("time_s") <= until_s + 1e-9)
    if metric.only:
        rows = rows.filter(pl.col(named_by(metric.table)).str.contains(metric.only))
    if metric.size:
        rows = rows.filter(pl.col("class") == metric.size)
    if metric.event:
        rows = rows.filter(pl.col("event") == metric.event)
    if metric.reduce == "share-within":
        begin = _BEGINS.get(metric.table) if metric.column in UNFINISHED.get(metric.table, ()) else None
        if begin is not None and metric.column != "slowdown" and metric.within < length_s:
            # What begins too late to be judged before the end of the run does not count. A bound as long as the run
            # asks what has finished by its end.
            rows = rows.filter(pl.col(begin) <= length_s - metric.within)
        return rows.select(metric.column)
    column = pl.col(metric.column)
    if metric.reduce == "recovery":
        return rows.select("flow", "time_s", metric.column)
    if metric.reduce == "count":
        if metric.only and not _is_known(done, table, metric):
            # 0 would say that there is such a flow or link and that nothing happened to it.
            return rows.select(column.cast(pl.Float64)).head(0)
        # Rows, whatever is known of them; none of them are 0 rows, which is a result.
        return rows.select(column.is_not_null().count().cast(pl.Float64).alias(metric.column))
    if _is_endless(metric):
        return rows.select(column.cast(pl.Float64).fill_null(math.inf))
    # Both or neither: a sum that leaves out other rows than the one it is divided by is about other flows.
    rows = rows.filter(pl.col(name).is_not_null() for name in {metric.column, metric.weight, metric.over} - {""})
    match metric.reduce:
        case "sum-of-means" | "jain":
            return rows.group_by("flow", maintain_order=True).agg(column.mean())
        case "range":
            return rows.group_by("flow", maintain_order=True).agg(column.max() - column.min())
        case "total-rate":
            return rows.select(metric.column, "time_s")
        case _:
            return rows.select({metric.column, metric.weight, metric.over} - {""})


def _counts_connections(metric: Metric) -> bool:
    """Whether the number is one of connections, to which each leg of a split one would add what the last leg has."""
    is_sum_of_rates = metric.reduce == "sum-of-means" and metric.column in RATES
    return metric.reduce in ("total-rate", "jain") or is_sum_of_rates


def _is_known(done: AnyRun, table: pl.DataFrame, metric: Metric) -> bool:
    """Whether `only` finds anything that the run has, even if the table has no row of it."""
    by = named_by(metric.table)
    if table[by].str.contains(metric.only).any():
        return True
    # Connections of workloads have names of their own, and no table names all terminals, or all links of satellites.
    if by == "terminal" or (by == "flow" and done.table("workloads").height > 0):
        return True
    if by == "link" and (done.table("links")["kind"] != "wired").any():
        return True
    return bool(done.table(f"{by}s")[by].str.contains(metric.only).any())


def _limits_between_steps(metric: Metric, table: pl.DataFrame, length_s: float) -> None:
    """A row of a time series is a whole step: a limit inside a step would silently stand for one of its edges."""
    limits = [one for one in stated_time(metric, length_s) if 0 < one < length_s]
    if not metric.table.endswith("series") or not limits:
        return
    times = table["time_s"].unique().sort()
    # The last step may be shorter.
    if len(times) < 3:
        return
    step_s = float(times[1] - times[0])
    for limit in limits:
        if not on_grid(limit, step_s):
            raise DefinitionError(
                f"metric {metric.name}: {limit:g} s lies within a step of {metric.table}, which are {step_s:g} s long: "
                "take a multiple of records.grid, or a finer grid"
            )


def on_grid(time_s: float, step_s: float) -> bool:
    """Whether a step of a time series ends at a time, to the microsecond."""
    return abs(time_s - round(time_s / step_s) * step_s) < 1e-6


def _earlier_legs(table: pl.DataFrame, only: str) -> list[str]:
    """Legs of split connections whose last leg, which delivers what they hand on, is counted, too (`helpers.md`)."""
    names = table["flow"].unique()
    return sorted(earlier_legs(names.filter(names.str.contains(only)) if only else names))


def stated_time(metric: Metric, length_s: float) -> tuple[float, float]:
    """From where to where the metric counts, s; the whole run if it says nothing."""
    until_s = metric.until_s or metric.until_share * length_s or length_s
    return max(metric.from_s, metric.from_share * length_s), min(until_s, length_s)


def _total_rate(rows: pl.DataFrame, metric: Metric, length_s: float) -> float:
    """All bits over one time, which is the same for every flow: no more than the links between them carry."""
    if metric.table == "flow_series":
        # Steps are equally long, and every flow has a row for each, 0 before it starts.
        return float(rows[metric.column].sum()) / rows["time_s"].n_unique()
    from_s, until_s = stated_time(metric, length_s)
    if metric.time == "flows":
        from_s, until_s = float(rows["start_s"].min()), float(rows["stop_s"].max())  # type: ignore[arg-type]
    if until_s <= from_s:
        raise DefinitionError(f"metric {metric.name}: nothing is left between {from_s:g} and {until_s:g} s")
    for name, start_s, stop_s, bits in rows.iter_rows():
        if bits > 0 and (start_s < from_s - 1e-9 or stop_s > until_s + 1e-9):
            raise DefinitionError(
                f"metric {metric.name}: flow {name} runs from {start_s:g} to {stop_s:g} s, which is not within "
                f"{from_s:g} to {until_s:g} s: state a time that holds it, or take flow_series, which can be cut"
            )
    return float(rows[metric.column].sum()) / (until_s - from_s)


def _reduced(rows: pl.DataFrame, metric: Metric, done: AnyRun) -> float:
    column: Any = rows[metric.column]
    value: Any
    match metric.reduce:
        case "total-rate":
            value = _total_rate(rows, metric, done.scenario.duration_s)
        case "recovery":
            tables = done.table("handovers"), done.table("paths")
            value = recovery.mean_s(rows, metric.column, *tables, from_s=metric.from_s, most_s=metric.within)
        case "sum" | "sum-of-means":
            value = column.sum()
        case "mean" | "range":
            value = column.mean()
        case "weighted-mean":
            weight: Any = rows[metric.weight]
            whole = weight.sum()
            value = (column * weight).sum() / whole if whole else None
        case "ratio":
            total: Any = rows[metric.over].sum()
            value = column.sum() / total if total else None
        case "count":
            value = column[0]
        case "p50" | "p95" | "p99":
            # The smallest value that at least the share does not exceed; unknown if that row did not finish.
            rank = max(math.ceil(PERCENTILES[metric.reduce] * rows.height), 1)
            value = column.sort()[rank - 1]
        case "share-within":
            value = (column <= metric.within).sum() / rows.height
        case "jain":
            means = column.to_list()
            squares = sum(x * x for x in means)
            value = 1.0 if squares == 0 else sum(means) ** 2 / (len(means) * squares)
        case _:
            raise ValueError(f"no reduction is called {metric.reduce!r}")
    return math.nan if value is None or (_is_endless(metric) and math.isinf(value)) else float(value)


def _is_endless(metric: Metric) -> bool:
    """Whether a null of the column stands for what did not finish, and counts as longer than everything else."""
    return metric.table == "workloads" or (
        metric.reduce in PERCENTILES and metric.column in UNFINISHED.get(metric.table, ())
    )
