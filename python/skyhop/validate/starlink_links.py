"""The profile `starlink` beside recordings: round trips and transfers, each simulated with the fitted values."""

from __future__ import annotations

import csv
import math
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]

from skyhop import api, folders
from skyhop.starlink import recordings
from skyhop.starlink.measuring import FIRST_S, SLOT_S, kolmogorov_smirnov, measures
from skyhop.starlink.recordings import Floats, Recording, Transfer

#: Runs whose measures are averaged.
SEEDS = (1, 2, 3)

#: Time between the probes of a simulated path, s. A recorded round trip is compared with the next probe.
PROBE_S = 0.05

#: One-way delay of the wire where nothing tells it, ms: half of the least round trip in the recording of the fit.
DELAY_MS = 9.8

#: Columns that a `cases.csv` of this kind has.
COLUMNS = ("recording", "kind", "path", "direction", "control", "flows")

_ROUND_TRIPS = {"ping", "ping-csv", "irtt"}

#: How far a measure may be off. Shares are of the recorded value, the others are differences. KS, contrast, goodput and
#: the ratio of flows are the aims of the model; the others are our choice.
BOUNDS: dict[str, tuple[float, str]] = {
    "RTT, Kolmogorov-Smirnov": (0.15, "distance"),
    "contrast of edges": (0.25, "share"),
    "step, mean": (0.25, "share"),
    "step, 90 %": (0.25, "share"),
    "slot autocorrelation": (0.2, "difference"),
    "trip autocorrelation": (0.2, "difference"),
    "spread": (0.25, "share"),
    "loss": (0.5, "share"),
    "loss burst": (0.25, "share"),
    "goodput": (0.2, "share"),
    "goodput per second, Kolmogorov-Smirnov": (0.3, "distance"),
    "retransmissions near edges": (0.1, "difference"),
    "ratio of flows": (0.2, "share"),
}


@dataclass(frozen=True)
class Row:
    """One measure of one recording. `recorded` is NaN for a distance of two distributions."""

    case: str
    measure: str
    recorded: float
    simulated: float
    off: float
    bound: float
    ok: bool


def starlink(
    folder: str | os.PathLike[str], *, values: Mapping[str, Any] | None = None, part: tuple[float, float] = (0.0, 1.0)
) -> list[Row]:
    """Compares every recording of a folder's `cases.csv` with the profile, in its order.

    `values` are the keys of the profile, as `table` of a fit has them; None takes `values = "fitted"`. `part` is the
    share of each recording of round trips, from where to where in time, so that a fit can be judged on what it did not
    see. Raises ValueError for a folder that cannot be read.
    """
    root = Path(folder)
    fitted: dict[str, Any] = {"starlink": {"values": "fitted"}}
    # The fit is the way up; the way down has the engine's own values.
    own = {"starlink": {**values, "direction": "up"}} if values is not None else fitted
    profile = {"forward": {"profile": own}, "backward": {"profile": fitted}}
    rows: list[Row] = []
    goodputs: dict[tuple[str, ...], list[tuple[int, float, float]]] = {}
    for case in _cases(root):
        file, kind = root / case["recording"], case["kind"]
        if kind in _ROUND_TRIPS:
            recording = recordings.read_round_trips(file).part(*part)
            rows += _round_trips(case["recording"], recording, profile)
        elif kind in {"iperf3", "iperf3-json"}:
            transfer = recordings.read_transfer(file)
            found, mean_bps = _transfer(case, transfer, profile)
            rows += found
            alike = tuple(case[key] for key in ("path", "direction", "control"))
            mean = (transfer.streams, float(np.mean(transfer.goodput_bps)), mean_bps)
            goodputs.setdefault(alike, []).append(mean)
        else:
            raise ValueError(f"{root / 'cases.csv'}: the kind {kind!r} is none of ping, ping-csv, irtt and iperf3")
    for alike, means in goodputs.items():
        rows += _ratios(" ".join(word for word in alike if word), means)
    return rows


def _cases(root: Path) -> list[dict[str, str]]:
    file = root / "cases.csv"
    try:
        with file.open(newline="", encoding="utf-8") as text:
            reader = csv.DictReader(text)
            cases = [{key: value or "" for key, value in row.items() if key} for row in reader]
            columns = set(reader.fieldnames or ())
    except OSError as error:
        raise ValueError(folders.said(error)) from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{file}: {error}") from None
    if missing := [name for name in COLUMNS if name not in columns]:
        raise ValueError(f"{file}: has no column {missing[0]}")
    if not cases:
        raise ValueError(f"{file}: has no recording")
    return cases


def _row(case: str, measure: str, recorded: float, simulated: float) -> Row:
    bound, kind = BOUNDS[measure]
    if kind == "distance":
        off = simulated
    elif kind == "share":
        off = abs(simulated - recorded) / abs(recorded) if recorded else (0.0 if simulated == recorded else math.inf)
    else:
        off = abs(simulated - recorded)
    # What cannot be computed of the simulation is not within any bound.
    return Row(case, measure, recorded, simulated, off, bound, off <= bound)


def _round_trips(case: str, recording: Recording, profile: dict[str, Any]) -> list[Row]:
    runs = [_simulated(recording, profile, seed) for seed in SEEDS]
    theirs = measures(recording)
    ours = [measures(run) for run in runs]
    mean = {key: float(np.nanmean([one[key] for one in ours])) if any(not math.isnan(one[key]) for one in ours)
            else math.nan for key in theirs}  # fmt: skip
    answered = recording.rtt_ms[~np.isnan(recording.rtt_ms)]
    pooled = np.concatenate([run.rtt_ms[~np.isnan(run.rtt_ms)] for run in runs])
    # The place's offset: base delays differ by city and gateway, and the profile does not know them.
    offset = float(np.median(answered)) - float(np.median(pooled))
    rows = [_row(case, "RTT, Kolmogorov-Smirnov", math.nan, kolmogorov_smirnov(answered, pooled + offset))]
    contrast = [one["edge contrast"] / one["calm contrast"] for one in (theirs, mean)]
    rows.append(_row(case, "contrast of edges", *contrast))
    names = {"step": "step, mean", "step p90": "step, 90 %", "slot autocorrelation": "slot autocorrelation",
             "trip autocorrelation": "trip autocorrelation", "spread": "spread", "loss": "loss",
             "burst": "loss burst"}  # fmt: skip
    rows += [_row(case, name, theirs[key], mean[key]) for key, name in names.items() if not math.isnan(theirs[key])]
    return rows


def _simulated(recording: Recording, profile: dict[str, Any], seed: int) -> Recording:
    """Round trips over the profile that leave when the recorded ones left."""
    minute = math.floor(recording.sent_s[0] / 60) * 60
    since = recording.sent_s - minute
    rate = f"{64 * 8 / PROBE_S:g} bit/s"
    probes = {"udp": {"header": "0 B"}, "application": {"constant_rate": {"rate": rate, "payload": "64 B"}}}
    run = api.run(
        {
            "duration": f"{since[-1] + 5:.3f} s",
            "links": [{"between": ["terminal", "gateway"], "delay": f"{DELAY_MS} ms", **profile}],
            "flows": [
                {"name": "up", "from": "terminal", "to": "gateway", **probes},
                {"name": "down", "from": "gateway", "to": "terminal", **probes},
            ],
            "records": {"packets": ["terminal->gateway", "gateway->terminal"]},
        },
        seed=seed,
    )
    packets = run.table("packets")
    delays = {}
    for flow in ("up", "down"):
        table = packets.filter(flow=flow)
        sent = table.filter(event="enq")
        got = table.filter(event="rcv")
        count = int(sent["seq"].to_numpy().max()) + 1
        left, came = np.full(count, np.nan), np.full(count, np.nan)
        left[sent["seq"].to_numpy()] = sent["time_s"].to_numpy()
        came[got["seq"].to_numpy()] = got["time_s"].to_numpy()
        delays[flow] = came - left
    up, down = delays["up"], delays["down"]
    there = np.minimum(np.ceil(since / PROBE_S).astype(int), up.size - 1)
    back_s = there * PROBE_S + np.nan_to_num(up[there])
    back = np.minimum(np.ceil(back_s / PROBE_S).astype(int), down.size - 1)
    return Recording(recording.name, minute + there * PROBE_S, 1e3 * (up[there] + down[back]))


def _transfer(case: Mapping[str, str], transfer: Transfer, profile: dict[str, Any]) -> tuple[list[Row], float]:
    """Rows of a transfer, and the mean goodput over the seeds in bit/s."""
    begin_s = transfer.start_s % 60
    duration = float(transfer.seconds[-1] + (transfer.seconds[1] - transfer.seconds[0]))
    ends = {"from": "terminal", "to": "server"}
    if case["direction"].startswith("down"):
        ends = {"from": "server", "to": "terminal"}
    flows = [
        {"name": f"f{n}", **ends, "tcp": case["control"].lower() or "cubic", "start": f"{begin_s:.3f} s"}
        for n in range(transfer.streams)
    ]
    delay_ms = transfer.least_rtt_ms / 2 if transfer.least_rtt_ms else DELAY_MS
    goodputs, near = [], []
    for seed in SEEDS:
        run = api.run(
            {
                "duration": f"{begin_s + duration:.3f} s",
                "profile": "rfc",
                "links": [{"between": ["terminal", "server"], "delay": f"{delay_ms:.3f} ms", **profile}],
                "flows": flows,
                "records": {"grid": "1 s"},
            },
            seed=seed,
        )
        series = run.flow_series
        sums = series.group_by("time_s").agg(series_sum())
        kept = sums.filter(sums["time_s"] > begin_s + 1)
        goodputs.append(kept["goodput_bps"].to_numpy())
        drops = run.drops["time_s"].to_numpy()
        near.append(_near(drops))
    name = case["recording"]
    ours = np.concatenate(goodputs)
    mean = float(np.mean(ours))
    rows = [
        _row(name, "goodput", float(np.mean(transfer.goodput_bps)), mean),
        _row(name, "goodput per second, Kolmogorov-Smirnov", math.nan, kolmogorov_smirnov(transfer.goodput_bps, ours)),
    ]
    if transfer.retransmits is not None and transfer.retransmits.sum() > 0:
        times = np.repeat(transfer.start_s + transfer.seconds, transfer.retransmits.astype(int))
        rows.append(_row(name, "retransmissions near edges", _near(times), float(np.nanmean(near))))
    return rows, mean


def _near(times_s: Floats) -> float:
    """Share of events within 1.5 s after edges, a tenth of the time."""
    return float(np.mean((times_s - FIRST_S) % SLOT_S < 1.5)) if times_s.size else math.nan


def series_sum() -> Any:
    """The goodput of all flows together."""
    import polars as pl

    return pl.col("goodput_bps").sum()


def _ratios(case: str, means: list[tuple[int, float, float]]) -> list[Row]:
    """Goodput of several flows over that of the fewest, recorded and simulated."""
    means = sorted(means)
    fewest, recorded, simulated = means[0]
    found = []
    for streams, theirs, ours in means[1:]:
        if streams != fewest and recorded > 0 and simulated > 0:
            label = f"{case}: {streams} flows over {fewest}"
            found.append(_row(label, "ratio of flows", theirs / recorded, ours / simulated))
    return found


def starlink_summary(rows: list[Row]) -> str:
    """One sentence: how many measures keep their bounds."""
    cases = len({row.case for row in rows})
    return f"{sum(row.ok for row in rows)} of {len(rows)} measures of {cases} cases are within their bounds."


def starlink_markdown(rows: list[Row]) -> str:
    """All rows as a Markdown table, after the summary."""
    lines = [starlink_summary(rows), "", "| case | measure | recorded | simulated | off | bound | |"]
    lines.append("|---|---|---:|---:|---:|---:|---|")
    for row in rows:
        lines.append("| " + " | ".join(cells(row)) + " |")
    return "\n".join(lines) + "\n"


def cells(row: Row) -> list[str]:
    """The row as text: shares in percent."""
    share = BOUNDS[row.measure][1] == "share"
    off, bound = ((f"{100 * x:.0f} %" if share else f"{x:.3g}") for x in (row.off, row.bound))
    recorded = "–" if math.isnan(row.recorded) else f"{row.recorded:.4g}"
    return [row.case, row.measure, recorded, f"{row.simulated:.4g}", off, bound, "ok" if row.ok else "missed"]


def values_of(file: str | os.PathLike[str]) -> dict[str, Any]:
    """The keys of the profile in a table that `skyhop fit starlink` wrote.

    A key `direction` is for a scenario's own use: here the fit is the way up and the way down keeps the fitted values.
    Raises ValueError for a file without the table `starlink`.
    """
    try:
        found = tomllib.loads(Path(file).read_text(encoding="utf-8"))["starlink"]
    except (KeyError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{os.fspath(file)}: has no table [starlink]: {error}") from None
    return dict(found)
