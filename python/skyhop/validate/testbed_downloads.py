"""Comparison with downloads over a satellite emulator (OpenSAND): goodput per second of TCP and QUIC, LEO and GEO.

The recordings are those of Kosek, Cech, Bajpai and Ott, IFIP Networking 2022 (arXiv 2205.01554). Their repository
kosekmi/quic-opensand-emulation states the delays: 125 ms from a station to the geostationary satellite, and on the
ground 40 ms (GEO) or 80 ms (LEO) each way (`setup.sh`). It does not state the delay of the LEO satellite, the buffers,
or which packets a loss of the emulation network takes. Here the LEO satellite adds 10 ms each way, the bottleneck has
a drop-tail queue of 400 packets, and each packet is lost independently in both directions. The rate is that of the
loss-free recording of TCP.

Each download runs under the control that the recording names (CUBIC) and under Reno, because the testbed's scripts
have Reno as their default (`-C rrrr`) and the recordings do not say which of the two a run had.
"""

from __future__ import annotations

import csv
import math
import os
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import skyhop
from skyhop import _core, inference
from skyhop.markdown import line

#: Delay each way in ms (see above).
DELAYS = {"geo": 290.0, "leo": 90.0}

#: Share of the recorded mean by which ours may be off.
BOUND = 0.2

#: Wire bytes of a full TCP segment and its payload with timestamps.
_SEGMENT, _PAYLOAD = 1500, 1448

_COLUMNS = {"second", "quic", "tcp", "orbit", "loss"}

#: Runs with losses for each transport. A QUIC stack with its cryptography costs ten times what our TCP does.
_SEEDS = {"tcp": 60, "quic": 12}


@dataclass(frozen=True)
class Download:
    """A recorded download beside ours under both controls.

    `recorded` and the values of `ours` are mean goodputs over its length in kbit/s, `half` half the width of the 95 %
    interval over seeds (0 without losses: all seeds agree). `skipped` says why it was not run.
    """

    transport: str
    orbit: str
    loss_percent: float
    seconds: int
    recorded: float
    ours: dict[str, float]
    half: dict[str, float]
    skipped: str | None = None

    @property
    def case(self) -> str:
        """Its name, such as `tcp geo 0.1 %`."""
        return f"{self.transport} {self.orbit} {self.loss_percent:g} %"

    def verdict(self, control: str) -> str:
        """`within` or `out` of the bound under this control, or `undecided` where the interval reaches across it."""
        off, half = abs(self.ours[control] / self.recorded - 1.0), self.half[control] / self.recorded
        if off + half <= BOUND:
            return "within"
        return "out" if off - half > BOUND else "undecided"

    def agrees(self, control: str) -> bool:
        """Whether ours under this control is within the bound, its interval included."""
        return self.skipped is None and self.verdict(control) == "within"

    @property
    def ok(self) -> bool:
        """Whether it agrees under the control that the recording names."""
        return self.agrees("cubic")

    def __str__(self) -> str:
        if self.skipped is not None:
            return f"{self.case}: skipped, {self.skipped}"
        ours = ", ".join(self._told(control) for control in self.ours)
        return f"{self.case}: recorded {self.recorded:.0f} kbit/s; {ours}"

    def _told(self, control: str) -> str:
        off = 100.0 * (self.ours[control] / self.recorded - 1.0)
        verdict = {"within": "", "out": ", out of its bound", "undecided": ", undecided"}[self.verdict(control)]
        return f"{control} {self.interval(control)} ({off:+.0f} %{verdict})"

    def interval(self, control: str) -> str:
        """Ours in kbit/s with half of its interval, where chance has a part and the runs tell one."""
        half = self.half[control]
        return f"{self.ours[control]:.0f}" + (f" ± {half:.0f}" if half > 0 else "" if half == 0 else " (no interval)")


def _table(folder: Path) -> Path | None:
    for file in sorted(folder.glob("*.csv")):
        try:
            with file.open(newline="", encoding="utf-8") as opened:
                if _COLUMNS.issubset(next(csv.reader(opened), [])):
                    return file
        except (OSError, UnicodeDecodeError, csv.Error):
            continue
    return None


def recognises(folder: Path) -> bool:
    """Whether the folder has such a table."""
    return _table(folder) is not None


def _loss(word: str, place: str) -> float:
    """Percent: `0`, `0.1` or `10^-01`."""
    base, power, exponent = word.partition("^")
    try:
        percent = math.pow(float(base), float(exponent)) if power else float(base)
    except (ValueError, OverflowError):
        raise ValueError(f"{place}: loss {word!r} is not a percentage such as 0, 0.1 or 10^-01") from None
    if not 0.0 <= percent <= 100.0:
        raise ValueError(f"{place}: a loss of {percent:g} % is not between 0 and 100 %")
    return percent


def _read(folder: Path) -> dict[tuple[str, float], list[tuple[float, float]]]:
    """Goodput of TCP and QUIC in kbit/s, second by second, for each orbit and loss in percent."""
    file = _table(folder)
    if file is None:
        raise ValueError(f"{folder}: no table here has the columns {', '.join(sorted(_COLUMNS))}")
    found: dict[tuple[str, float], list[tuple[float, float]]] = {}
    with file.open(newline="", encoding="utf-8") as opened:
        for number, row in enumerate(csv.DictReader(opened), 2):
            place = f"{file}:{number}"
            if row["orbit"] not in DELAYS:
                raise ValueError(f"{place}: orbit {row['orbit']!r} is unknown; there are {', '.join(sorted(DELAYS))}")
            if row.get("pep", "0") != "0":
                raise ValueError(f"{place}: downloads through a proxy are not compared")
            # A row that is cut off has no value for its last columns.
            seconds = found.setdefault((row["orbit"], _loss(row["loss"] or "", place)), [])
            try:
                second, tcp, quic = (float(row[column] or "") for column in ("second", "tcp", "quic"))
            except ValueError as error:
                raise ValueError(f"{place}: {error}") from None
            if second != len(seconds) + 1 or not (0 <= tcp < math.inf and 0 <= quic < math.inf):
                raise ValueError(
                    f"{place}: expected goodputs of second {len(seconds) + 1}, finite and not below 0, found those of "
                    f"second {second:g}: {tcp:g} and {quic:g} kbit/s"
                )
            seconds.append((tcp, quic))
    if not found:
        raise ValueError(f"{file}: it has no rows")
    for (orbit, loss), rows in found.items():
        for transport, goodputs in zip(("tcp", "quic"), zip(*rows, strict=True), strict=True):
            if not any(goodputs):
                raise ValueError(f"{file}: {transport} {orbit} {loss:g} % has no goodput with which to compare ours")
    return found


def _scenario(
    transport: str, control: str, orbit: str, loss_percent: float, bps: float, seconds: int
) -> dict[str, Any]:
    errors = [{"packet": loss_percent / 100.0}] if loss_percent else []
    one = {"errors": errors} if errors else {}
    link = {
        "between": ["server", "client"],
        "delay": f"{DELAYS[orbit]} ms",
        "queue": {"drop_tail": {"packets": 400}},
        "forward": {"rate": f"{bps:.0f} bit/s", **one},
        # Wide enough that ACKs never wait: the testbed's return link has the symbol rate of the forward link.
        "backward": {"rate": f"{bps:.0f} bit/s", **one},
    }
    flow: dict[str, Any] = {"name": "download", "from": "server", "to": "client"}
    if transport == "tcp":
        flow["tcp"] = {"profile": "linux", "name": control}
    else:
        stack_control = {"reno": "newreno"}.get(control, control)
        window = "16 MB"
        flow["quic"] = {"stack": "quinn", "control": stack_control, "stream_window": window, "send_window": window}
    return {"duration": f"{seconds} s", "links": [link], "flows": [flow], "records": {"grid": "1 s"}}


def _goodput(scenario: dict[str, Any], seed: int) -> float:
    """Mean goodput of the run in kbit/s."""
    run = skyhop.run(scenario, seed=seed)
    duration = float(scenario["duration"].split()[0])
    return float(run.table("flows")["bytes_delivered"][0]) * 8.0 / duration / 1e3


def downloads(folder: str | os.PathLike[str], *, seeds: Mapping[str, int] | None = None) -> list[Download]:
    """Runs the downloads of a folder. `seeds`: runs with losses for each transport, in place of the usual number.

    Raises ValueError for a folder that cannot be read. QUIC is skipped where the build has no stack.
    """
    recorded = _read(Path(folder))
    free = [statistics.median(tcp for tcp, _ in rows) for (_, loss), rows in recorded.items() if loss == 0.0]
    if not free:
        raise ValueError(f"{folder}: no download without loss, which gives the rate of the link")
    # In the median second of a loss-free download full segments leave at the link's rate.
    bps = max(free) * 1e3 * _SEGMENT / _PAYLOAD
    found = []
    for column, transport in enumerate(("tcp", "quic")):
        for (orbit, loss), rows in sorted(recorded.items()):
            mean = statistics.fmean(row[column] for row in rows)
            skipped = None
            if transport == "quic" and "quinn" not in _core.quic_stacks():
                skipped = "this build has no quinn"
            ours: dict[str, float] = {}
            half: dict[str, float] = {}
            for control in () if skipped else ("cubic", "reno"):
                scenario = _scenario(transport, control, orbit, loss, bps, len(rows))
                runs = (seeds or _SEEDS)[transport] if loss else 1
                values = [_goodput(scenario, seed) for seed in range(1, runs + 1)]
                ours[control], half[control] = inference.mean_and_interval(values) if loss else (values[0], 0.0)
            found.append(Download(transport, orbit, loss, len(rows), mean, ours, half, skipped))
    return found


def downloads_summary(found: Sequence[Download]) -> str:
    """One sentence: how many downloads agree under each control."""
    run = [one for one in found if one.skipped is None]
    cubic, reno = (sum(one.agrees(control) for one in run) for control in ("cubic", "reno"))
    tail = f"; {len(found) - len(run)} skipped" if len(run) < len(found) else ""
    return (
        f"{cubic} of {len(run)} downloads are within {100 * BOUND:.0f} % with CUBIC, which the recording names, "
        f"and {reno} with Reno, the default of the testbed's scripts{tail}."
    )


def downloads_markdown(found: Sequence[Download]) -> str:
    """A row for each download, after the summary."""
    lines = [downloads_summary(found), "", "| download | recorded (kbit/s) | CUBIC | Reno |", "|---|---:|---:|---:|"]
    for one in found:
        if one.skipped is not None:
            lines.append(line([one.case, f"{one.recorded:.0f}", f"skipped: {one.skipped}", ""]))
            continue
        cells = []
        for control in ("cubic", "reno"):
            mark = {"within": "", "out": " ✗", "undecided": " (undecided)"}[one.verdict(control)]
            cells.append(f"{one.interval(control)}{mark}")
        lines.append(line([one.case, f"{one.recorded:.0f}", *cells]))
    return "\n".join(lines) + "\n"
