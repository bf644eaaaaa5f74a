"""Simulated round trips and transfers over the profile `starlink`, to compare with recorded ones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from skyhop import api
from skyhop.results import Run
from skyhop.starlink.recordings import Floats, Recording
from skyhop.starlink.transfers import Transfer, in_seconds

#: One-way delay of the wire where nothing tells it, ms: half of the least round trip in the recording of the fit.
DELAY_MS = 9.8

#: User data of a segment of Linux over Ethernet, with timestamps, B; also of a simulated datagram.
SEGMENT_B = 1448

#: Step of the series of simulated transfers, s.
STEP_S = 0.1

#: Part of a transfer, after its warm-up, that is simulated to find the delay at which its least round trip is the one
#: recorded, s.
TRIAL_S = 30.0

#: A UDP sender without a rate is simulated with this one, bit/s, faster than any terminal.
FASTEST_BPS = 600e6


#: A recorder waits for answers where the median gap behind lost ones is so many times the usual gap; so many are
#: needed.
_WAITS, _LEAST_LOST = 8.0, 5

#: So many round trips are simulated in one run: each datagram is a transfer of its own, which costs memory.
AT_ONCE = 20_000


def round_trips(
    recording: Recording, profile: Mapping[str, Any], seed: int, *, delay_ms: float = DELAY_MS
) -> Recording:
    """Round trips over the profile that leave when the recorded ones left: one datagram each, there and back.

    A long recording is simulated in pieces, each with draws of its own. Where the recorder waited for lost answers
    before it went on, the simulated one does.
    """
    pieces = []
    for number, begin in enumerate(range(0, recording.sent_s.size, AT_ONCE)):
        kept = slice(begin, begin + AT_ONCE)
        piece = Recording(recording.name, recording.sent_s[kept], recording.rtt_ms[kept])
        pieces.append(_piece(piece, profile, seed + 1000 * number, delay_ms).rtt_ms)
    rtt_ms = np.concatenate(pieces)
    sent = _sent(recording.sent_s, np.isnan(rtt_ms), waits_s(recording))
    return Recording(recording.name, recording.sent_s[sent], rtt_ms[sent])


def waits_s(recording: Recording) -> float:
    """How long the recorder waits for an answer that is lost before it sends again, in s; 0 if it does not wait.

    Such a recorder sees one loss where others see all of an outage.
    """
    lost = np.isnan(recording.rtt_ms)[:-1]
    gaps = np.diff(recording.sent_s)
    if np.count_nonzero(lost) < _LEAST_LOST or lost.all():
        return 0.0
    after, usual = float(np.median(gaps[lost])), float(np.median(gaps[~lost]))
    return after if after > _WAITS * usual else 0.0


def _sent(sent_s: Floats, lost: npt.NDArray[np.bool_], waits_s: float) -> npt.NDArray[np.bool_]:
    """Which packets a recorder sends that waits so long after each that is lost."""
    kept = np.ones(sent_s.size, dtype=bool)
    if waits_s == 0:
        return kept
    until = -math.inf
    for place in np.nonzero(lost)[0]:
        if sent_s[place] >= until:
            until = sent_s[place] + waits_s
            kept[place + 1 : np.searchsorted(sent_s, until - 1e-3)] = False
    return kept


def _piece(recording: Recording, profile: Mapping[str, Any], seed: int, delay_ms: float) -> Recording:
    minute = math.floor(recording.sent_s[0] / 60) * 60
    since = recording.sent_s - minute
    up = _one_way(since, "terminal", "gateway", profile, seed, delay_ms)
    back = np.full(since.size, np.nan)
    came = ~np.isnan(up)
    # The answers leave in the order in which the questions came.
    arrivals = since[came] + up[came]
    order = np.argsort(arrivals, kind="stable")
    down = np.empty(order.size)
    down[order] = _one_way(arrivals[order], "gateway", "terminal", profile, seed, delay_ms)
    back[came] = down
    return Recording(recording.name, recording.sent_s, 1e3 * (up + back))


def _one_way(times_s: Floats, source: str, sink: str, profile: Mapping[str, Any], seed: int, delay_ms: float) -> Floats:
    """Delays in s of datagrams that leave at these times, which do not decrease; NaN where one is lost."""
    text = "time_s\n" + "\n".join(f"{time:.9f}" for time in times_s) + "\n"
    run = api.run(
        {
            "duration": f"{times_s[-1] + 5:.3f} s",
            "profile": "linux",
            "links": [{"between": ["terminal", "gateway"], "delay": f"{delay_ms:.3f} ms", **profile}],
            "workloads": [
                {
                    "name": "probes",
                    "from": source,
                    "to": sink,
                    "udp": {"header": "0 B"},
                    "burst": {"rate": "1 Gbit/s", "payload": "64 B"},
                    "arrivals": {"at": {"text": text}},
                    "sizes": {"constant": "64 B"},
                }
            ],
        },
        seed=seed,
    )
    table = run.table("workload_transfers").sort("number")
    return np.asarray(table["completion_s"].cast(float).fill_null(np.nan).to_numpy(), dtype=float)


@dataclass(frozen=True)
class Simulated:
    """A simulated transfer, over all flows."""

    mean_bps: float
    per_second_bps: Floats
    resends_s: Floats
    """Times since the full minute before the start, s, at which the senders repeat lost segments. None for UDP."""
    resent: float
    """Segments that were sent again, over those delivered; NaN without any."""
    lost: float
    """Share of the data packets sent."""
    cwnd_bytes: float
    """Mean over time and flows; NaN for UDP."""
    least_rtt_ms: float
    """The least smoothed round trip; NaN for UDP."""
    mean_rtt_ms: float = math.nan
    """The mean smoothed round trip over time and flows; NaN for UDP."""
    srtt_ms: Floats = field(default_factory=lambda: np.empty(0))
    """Smoothed round trip at the end of each step of `STEP_S` from the warm-up on, the mean over flows; NaN where no
    flow has one yet. Empty for UDP."""

    def srtt_at(self, ends_s: Floats) -> Floats:
        """Smoothed round trips in ms at these times from the end of the warm-up on, as a report of intervals has."""
        places = np.rint(ends_s / STEP_S).astype(int) - 1
        return self.srtt_ms[np.clip(places, 0, self.srtt_ms.size - 1)] if self.srtt_ms.size else self.srtt_ms


def delay_ms(
    transfer: Transfer,
    down: bool,
    control: str,
    least_ms: float | None,
    profile: Mapping[str, Any],
    *,
    begin_s: float | None = None,
) -> float:
    """One-way delay of the wire at which the least smoothed round trip of a trial is `least_ms`.

    It is the offset of the place: what a transfer meets besides the profile.
    """
    if least_ms is None or transfer.is_udp:
        return DELAY_MS if least_ms is None else max(least_ms / 2, 1.0)
    trial = transfer_run(transfer, down, control, DELAY_MS, profile, seed=1, longest_s=TRIAL_S, begin_s=begin_s)
    return max(DELAY_MS + (least_ms - trial.least_rtt_ms) / 2, 1.0)


def transfer_run(
    transfer: Transfer,
    down: bool,
    control: str,
    delay_ms: float,
    profile: Mapping[str, Any],
    *,
    seed: int,
    longest_s: float = math.inf,
    begin_s: float | None = None,
) -> Simulated:
    """One run of the recorded transfer's flows over a wire with the profile, from `begin_s` on.

    Without one it is the second of the minute at which the transfer began, so that slots lie in it as recorded. As in
    the recording the warm-up that iperf3 omits does not count; `longest_s` cuts what follows it.
    """
    begin_s = transfer.start_s % 60 if begin_s is None else begin_s
    count_s = begin_s + transfer.omitted_s
    end_s = count_s + min(transfer.duration_s, longest_s)
    ends = {"from": "server", "to": "terminal"} if down else {"from": "terminal", "to": "server"}
    kind: dict[str, Any] = {"udp": {"header": "28 B"}} if transfer.is_udp else {"tcp": control}
    if transfer.is_udp or transfer.offered_bps > 0:
        rate = (transfer.offered_bps or FASTEST_BPS) / transfer.streams
        kind["application"] = {"constant_rate": {"rate": f"{rate:.0f} bit/s", "payload": f"{SEGMENT_B} B"}}

    def simulated(until_s: float) -> Run:
        return api.run(
            {
                "duration": f"{until_s:.3f} s",
                "profile": "linux",
                "links": [{"between": ["terminal", "server"], "delay": f"{delay_ms:.3f} ms", **profile}],
                "flows": [
                    {"name": f"f{n}", **ends, **kind, "start": f"{begin_s:.3f} s"} for n in range(transfer.streams)
                ],
                "records": {"grid": f"{STEP_S} s"},
            },
            seed=seed,
        )

    run = simulated(end_s)
    link = "{from}->{to}".format(**ends)
    series = run.flow_series.filter(run.flow_series["time_s"] > count_s + STEP_S / 2)
    steps = series.group_by("time_s").agg(_column("goodput_bps").sum(), _column("srtt_s").mean()).sort("time_s")
    begins = steps["time_s"].to_numpy() - STEP_S - count_s
    rates = steps["goodput_bps"].to_numpy()
    sent, again, lost = _totals(run, link)
    if transfer.omitted_s > 0:
        # A run that ends with the warm-up has the same packets until then.
        early = _totals(simulated(count_s), link)
        sent, again, lost = sent - early[0], again - early[1], lost - early[2]
    segments = float(np.sum(rates)) * STEP_S / 8 / SEGMENT_B
    resends_s = np.empty(0) if transfer.is_udp else _resends_s(run, link, delay_ms / 1e3)
    cwnd, srtt = (series[key].drop_nulls().to_numpy() for key in ("cwnd", "srtt_s"))
    return Simulated(
        mean_bps=float(np.mean(rates)) if rates.size else math.nan,
        per_second_bps=in_seconds(begins, np.full(begins.size, STEP_S), rates) if rates.size else rates,
        resends_s=resends_s[resends_s > count_s] + (transfer.start_s % 60 - begin_s),
        resent=again / segments if segments else math.nan,
        lost=lost / sent if sent else math.nan,
        cwnd_bytes=float(np.mean(cwnd)) * SEGMENT_B if cwnd.size else math.nan,
        least_rtt_ms=1e3 * float(np.min(srtt)) if srtt.size else math.nan,
        mean_rtt_ms=1e3 * float(np.mean(srtt)) if srtt.size else math.nan,
        srtt_ms=1e3 * steps["srtt_s"].cast(float).fill_null(math.nan).to_numpy() if srtt.size else np.empty(0),
    )


def _totals(run: Run, link: str) -> tuple[float, float, float]:
    """Data packets that the flows sent, those of them that were sent again, and those that the link lost."""
    (lost,) = run.links.filter(run.links["link"] == link)["dropped"]
    return float(run.flows["packets_sent"].sum()), float(run.flows["retransmissions"].sum()), float(lost)


def _resends_s(run: Run, link: str, back_s: float) -> Floats:
    """When the sender can know of each loss on the link and sends the segment again, within a step of the series.

    Packets that came before and after it tell it. A queue drops a segment when it arrives at the link: the sender knows
    when the first ACK is back of those sent later. The path loses a segment when it would arrive, and the ACKs of the
    next ones take `back_s`.
    """
    found = []
    for (flow,), lost in run.drops.filter(run.drops["link"] == link).group_by("flow"):
        times = lost["time_s"].to_numpy()
        series = run.flow_series.filter(run.flow_series["flow"] == flow).drop_nulls("rtt_s").sort("time_s")
        steps = series["time_s"].to_numpy()
        # When the segment left that triggered the newest ACK of each step.
        left = np.maximum.accumulate(steps - series["rtt_s"].to_numpy())
        place = np.searchsorted(left, times)
        known = np.append(steps, math.inf)[place] - STEP_S / 2
        found.append(np.where((lost["cause"] == "queue").to_numpy(), known, times + back_s))
    every: Floats = np.sort(np.concatenate([np.empty(0), *found]))
    # The sender does not live to see the last ones.
    return np.asarray(every[np.isfinite(every)])


def _column(name: str) -> Any:
    import polars as pl

    return pl.col(name)
