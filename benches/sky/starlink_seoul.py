"""The set "seoul-2026" of the profile `starlink`: what it rests on, and transfers that were not fitted.

`python benches/sky/starlink_seoul.py [--seeds 5]` prints the tables of `docs/models/starlink-sets.md`, "A dish of
2026". The numbers are what iperf3 says in files of github.com/dlawogud000/starlink-TCP and starlink-TCP-Server
(`logs/`, April 2026: Linux 6.8, Seoul). Files until 8 April were fitted, those from 11 April on judge; which is which
was decided by their names. The delay of the wire is the one at which the least smoothed round trip is the recorded one,
as in `skyhop validate`. Files before it tell how much of the volume a file finds.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import numpy as np
from cells import spread

from skyhop import api
from skyhop.inference import mean_and_interval
from skyhop.starlink.allowance import explained
from skyhop.starlink.buckets import Bucket, bucket_of, filled, resolved

SEGMENT_B = 1448


@dataclass(frozen=True)
class Upload:
    """A file: flows, Mbit/s received, segments sent again, bytes sent, smoothed round trip in ms: least and mean."""

    name: str
    flows: int
    control: str
    length_s: int
    begin_s: int
    """Second of the minute."""
    mbps: float
    retransmits: int
    sent_bytes: int
    least_ms: float
    mean_ms: float

    @property
    def resent_percent(self) -> float:
        """Segments sent again, in % of those sent."""
        return 100 * self.retransmits / (self.sent_bytes / SEGMENT_B)


def uploads(table: str) -> list[Upload]:
    """One upload a line, with the fields of `Upload`."""
    rows = [line.split() for line in table.strip().splitlines()]
    return [
        Upload(
            name, int(flows), control, int(length), int(begin), float(mbps), int(again), int(sent), *map(float, rtts)
        )
        for name, flows, control, length, begin, mbps, again, sent, *rtts in rows
    ]


FITTED = uploads(
    """
20260402_133549_tcp_cubic_uplink_test9 1 cubic 120 49 9.242 132 139416336 66.8 79.5
20260402_164758_tcp_cubic_uplink_test14 1 cubic 300 58 10.668 222 401447864 66.9 78.0
20260402_174554_tcp_cubic_uplink_6m_test15 1 cubic 360 54 9.327 167 419733208 63.7 78.1
20260406_151819_tcp_cubic_uplink_server_test6 1 cubic 300 19 7.369 468 277273176 65.1 82.8
20260402_142707_tcp_bbr_uplink_test13 1 bbr 300 7 33.948 19735 1276737456 62.0 110.2
20260402_143404_tcp_bbr_uplink_test13-1 1 bbr 300 4 36.035 23921 1355380656 63.0 113.7
20260403_130347_tcp_bbr_uplink_test16 1 bbr 300 47 33.818 35977 1272200032 66.5 127.2
20260406_133102_tcp_bbr_uplink_server_test 1 bbr 300 2 32.025 33003 1204281512 62.4 135.9
20260406_135331_tcp_bbr_uplink_server_test3 1 bbr 300 31 32.604 47160 1226404472 62.1 126.5
20260406_144252_tcp_bbr_uplink_server_test4 1 bbr 300 52 32.838 30496 1234396216 63.3 128.3
20260406_150337_tcp_bbr_uplink_server_test5 1 bbr 300 37 32.386 32847 1218779072 69.5 125.7
"""
)

JUDGING = uploads(
    """
20260411_153758_tcp_cubic_uplink_2 1 cubic 300 58 8.955 142 336859824 62.4 84.8
20260413_104039_tcp_cubic_uplink_sh_single_test11 1 cubic 300 39 9.003 254 338484480 62.6 79.3
20260411_211253_tcp_cubic_uplink_sh_multi_test08 10 cubic 300 53 26.175 6799 995248048 61.7 81.5
20260411_152637_tcp_bbr_uplink_1 1 bbr 300 37 35.774 36902 1345425144 59.3 120.1
20260411_210720_tcp_bbr_uplink_sh_multi_test07 10 bbr 300 20 36.740 97330 1417171464 67.5 108.7
20260411_224813_tcp_bbr_uplink_sh_multi_test09 10 bbr 300 13 34.245 91192 1318907904 67.5 108.4
"""
)


@dataclass(frozen=True)
class Flood:
    """A file: Mbit/s of datagrams offered, length, and Mbit/s received; where the arrivals fall, as `fall` finds it."""

    name: str
    offered_mbps: int
    length_s: int
    mbps: float
    fall_s: float
    before_mbps: float
    after_mbps: float

    @property
    def begin_s(self) -> int:
        """Second of the minute."""
        return int(began_s(self.name) % 60)


def floods(table: str) -> list[Flood]:
    """One flood a line, with the fields of `Flood`."""
    rows = [line.split() for line in table.strip().splitlines()]
    return [Flood(name, int(offered), int(length), *map(float, measured)) for name, offered, length, *measured in rows]


#: What the server received of floods up, by its own report (`logs/*/server_iperf.json` of starlink-TCP-Server; of the
#: last one `server_output_text`). Levels count IP packets: 1,476 bytes each.
FLOODS = floods(
    """
20260407_150204_udp_uplink_auto_80Mbps_5 100 300 31.83 65 78.3 19.8
20260407_153927_udp_uplink_auto_50Mbps 50 300 33.89 149 45.9 23.3
20260408_123025_udp_uplink_auto_40Mbps 40 300 34.03 196 39.6 25.5
20260408_125303_udp_uplink_auto_50Mbps 50 300 36.50 143 50.2 25.3
20260408_133027_udp_uplink_auto_70Mbps_4m 70 240 37.91 76 70.4 24.0
20260408_133646_udp_uplink_auto_80Mbps_3m 80 180 39.13 70 74.4 17.9
20260408_135208_udp_uplink_auto_60Mbps_3m 60 180 43.73 101 60.1 24.7
"""
)

#: A flood that was not fitted.
JUDGING_FLOOD = floods("20260413_110518_udp_none_uplink_50M_upd_loss_test01 50 300 34.64 128 49.7 24.6")[0]

#: 100 Mbit/s in five parts of 60 s, 11 April, not fitted: seconds from the first start, Mbit/s received.
PARTS = [(0, 85.43), (65, 31.34), (131, 25.16), (197, 27.68), (262, 25.54)]
PARTS_NAME = "20260411_165418_udp_uplink_auto_chunked"

#: A stream of datagrams that the link carries (30 Mbit/s, 2026-04-07): ms that an edge loses beyond other times.
STREAM_OUTAGE_MS = 1.3

#: Between its bursts test9 sent 53 of 96,282 segments again.
LOSS = 53 / 96_282

#: ms by which the numbers of a flood's datagrams lag behind at the end of the second of each edge (200 Mbit/s,
#: 2026-04-03): 1 less the datagrams of that second over those of others.
LAGS_MS = (159, 110, 106, 83, 166, 169, 173, 154, 131, 155, 166, 156, 187, 130, 130, 164, 134, 163, 193, 126)


def outages_ms() -> list[float]:
    """What edges lose on average beyond `LOSS`, of each upload with CUBIC that was fitted, and of the stream."""
    found = []
    for one in FITTED:
        if one.control == "cubic":
            segments = one.sent_bytes / SEGMENT_B
            per_ms = segments / one.length_s / 1e3
            found.append((one.retransmits - LOSS * segments) / (one.length_s / 15) / per_ms)
    return [*found, STREAM_OUTAGE_MS]


#: Bytes of IP packets over bytes of user data.
WIRE: dict[type, float] = {Upload: 1500 / SEGMENT_B, Flood: 1476 / SEGMENT_B}


def began_s(name: str) -> float:
    """When a file began, in s, by its name, whose clock is that of Seoul."""
    return datetime.strptime(name[:15], "%Y%m%d_%H%M%S").replace(tzinfo=timezone.utc).timestamp()


def fall(received_mbps: Any) -> tuple[float, float, float]:
    """The second after which the arrivals of a flood are lower, and their mean before and after, in Mbit/s.

    Two levels fit the arrivals best with the fall at this second (least squares).
    """
    at = 3 + int(np.argmax(explained(received_mbps)[2:-2]))
    return float(at), float(received_mbps[:at].mean()), float(received_mbps[at:].mean())


def left_of(bucket: Bucket, name: str, others: Sequence[Upload | Flood]) -> float:
    """The share of a bucket that is there when a file begins, by what those of the other files before it received."""
    at_s = began_s(name)
    before = [one for one in others if began_s(one.name) < at_s]
    if not before:
        return bucket.filled
    begins = np.array([began_s(one.name) for one in before])
    lengths = np.array([one.length_s for one in before])
    bps = np.array([1e6 * WIRE[type(one)] * one.mbps for one in before])
    return filled(bucket, begins, begins + lengths, bps, at_s)


def wire(delay_ms: float, begin_s: float, keys: dict[str, Any]) -> dict[str, Any]:
    """A link with the profile, whose t = 0 is a second of the minute.

    `forward` is what the uplink has besides, `own` what its profile has.
    """
    profile = {"values": keys["values"], "at": f"{(12 - begin_s) % 15} s"}
    up = {**keys.get("forward", {}), "profile": {"starlink": {**profile, **keys.get("own", {})}}}
    return {
        "between": ["terminal", "server"],
        "delay": f"{delay_ms:.3f} ms",
        "profile": {"starlink": profile},
        "forward": up,
    }


def keys_of(
    name: str, keys: dict[str, Any], others: Sequence[Upload | Flood] = (*FITTED, *JUDGING, *FLOODS)
) -> dict[str, Any]:
    """The keys for a file, which begins with what those of the other files before it left of the volume."""
    values = resolved({"profile": {"starlink": {"values": keys["values"]}}}).up
    if (bucket := bucket_of(values, down=False)) is None:
        return keys
    limit = {"allowance": {**values["allowance"], "filled": round(left_of(bucket, name, others), 3)}}
    return {**keys, "own": {**limit, **keys.get("own", {})}}


#: Draws depend on the names of flows.
ONE_FLOW = ("f",)


def run(
    one: Upload,
    delay_ms: float,
    length_s: float,
    own: dict[str, Any],
    seed: int,
    *,
    names: Sequence[str] = ONE_FLOW,
    step: str = "1 s",
) -> Any:
    """Flows of these names over the link of an upload; a row of the series for each `step`."""
    flow = {"from": "terminal", "to": "server", "tcp": {"name": one.control, "send_buffer": "16 MB"}}
    return api.run(
        {
            "duration": f"{length_s} s",
            "profile": "linux",
            "links": [wire(delay_ms, one.begin_s, own)],
            "flows": [{"name": name, **flow} for name in names],
            "records": {"grid": step},
        },
        seed=seed,
    )


def smoothed_ms(found: Any) -> Any:
    """All smoothed round trips of a run."""
    return 1e3 * found.flow_series["srtt_s"].drop_nulls().to_numpy()


def whole(one: Upload, own: dict[str, Any], seed: int, *, names: Sequence[str] = ONE_FLOW, step: str = "1 s") -> Any:
    """An upload over a wire with the recorded least smoothed round trip, which a trial of 60 s finds.

    `own` are the keys for this file, as `keys_of` gives them.
    """
    trial_ms = 25.0
    least_ms = float(np.min(smoothed_ms(run(one, trial_ms, 60, own, seed, names=names, step=step))))
    delay_ms = max(trial_ms + (one.least_ms - least_ms) / 2, 1.0)
    return run(one, delay_ms, one.length_s, own, seed, names=names, step=step)


def simulated(one: Upload, own: dict[str, Any], seed: int) -> tuple[float, float, float]:
    """Mbit/s of all flows, % of segments sent again, mean smoothed round trip in ms."""
    found = whole(one, own, seed, names=[f"f{n}" for n in range(one.flows)])
    mbps, again, sent = found.flows.select("goodput_bps", "retransmissions", "packets_sent").sum().row(0)
    return mbps / 1e6, 100 * again / sent, float(np.mean(smoothed_ms(found)))


def stream(mbps: float) -> dict[str, Any]:
    """A flow of datagrams up at a rate of user data."""
    rate = {"constant_rate": {"rate": f"{mbps} Mbit/s", "payload": f"{SEGMENT_B} B"}}
    return {"from": "terminal", "to": "server", "udp": {"header": "28 B"}, "application": rate}


def datagrams(mbps: float, begin_s: int, length_s: int, keys: dict[str, Any], seed: int) -> tuple[Any, Any]:
    """Of a stream or flood up, each second: Mbit/s of user data that arrive, and how many datagrams are lost."""
    found = api.run(
        {
            "duration": f"{length_s} s",
            "profile": "linux",
            "links": [wire(25, begin_s, keys)],
            "flows": [{"name": "f", **stream(mbps)}],
            "records": {"grid": "1 s"},
        },
        seed=seed,
    )
    up = found.drops.filter(found.drops["link"] == "terminal->server")
    each = np.histogram(up["time_s"].to_numpy(), np.arange(length_s + 1))[0]
    return found.flow_series["goodput_bps"].to_numpy() / 1e6, each


def parts(keys: dict[str, Any], seed: int) -> list[float]:
    """Mbit/s of user data that arrive of each part of `PARTS`."""
    flow = stream(100)
    found = api.run(
        {
            "duration": f"{PARTS[-1][0] + 61} s",
            "profile": "linux",
            "links": [wire(25, began_s(PARTS_NAME) % 60, keys)],
            "flows": [{"name": f"f{at}", **flow, "start": f"{at} s", "stop": f"{at + 60} s"} for at, _ in PARTS],
        },
        seed=seed,
    )
    return [8 * count / 60e6 for count in found.flows["bytes_delivered"].to_list()]


def off(ours: float, theirs: float) -> str:
    """The distance in % of the recorded value."""
    return f"{100 * abs(ours - theirs) / theirs:.0f} %"


def table(uploads: list[Upload], keys: dict[str, Any], seeds: range) -> dict[str, list[float]]:
    """Prints a row for each upload; recorded and simulated means by "flows control"."""
    print("| upload | goodput, Mbit/s | off | sent again, % | mean smoothed round trip, ms |\n|---|---|---:|---|---|")
    means: dict[str, list[tuple[float, float]]] = {}
    for one in uploads:
        own = keys_of(one.name, keys)
        found = np.array([simulated(one, own, seed) for seed in seeds])
        cells = [
            spread(list(column), mean_and_interval(list(column))[1], digits)
            for column, digits in zip(found.T, (1, 2, 0), strict=True)
        ]
        ours = float(found[:, 0].mean())
        means.setdefault(f"{one.flows} {one.control}", []).append((one.mbps, ours))
        print(
            f"| `{one.name}`, {one.flows} {one.control.upper()} | {one.mbps:.2f}: {cells[0]} | {off(ours, one.mbps)} "
            f"| {one.resent_percent:.2f}: {cells[1]} | {one.mean_ms:.0f}: {cells[2]} |",
            flush=True,
        )
    return {key: [float(value) for value in np.mean(pairs, axis=0)] for key, pairs in means.items()}


def falls(floods: list[Flood], keys: dict[str, Any], seeds: range) -> None:
    """Prints, for each flood, when its arrivals fall, the levels before and after, and how full it found the volume."""
    print("| flood | volume left | falls after, s | before, Mbit/s | after, Mbit/s | user data, Mbit/s |")
    print("|---|---:|---|---|---|---|")
    for one in floods:
        own = keys_of(one.name, keys)
        runs = [datagrams(one.offered_mbps, one.begin_s, one.length_s, own, seed)[0] for seed in seeds]
        wire_mbps = WIRE[Flood] * np.array(runs)
        found = [(*fall(run), float(np.mean(each))) for run, each in zip(wire_mbps, runs, strict=True)]
        recorded = (one.fall_s, one.before_mbps, one.after_mbps, one.mbps)
        cells = [
            f"{theirs:g}: {spread(list(ours), mean_and_interval(list(ours))[1], digits)}"
            for theirs, ours, digits in zip(recorded, np.array(found).T, (0, 1, 1, 1), strict=True)
        ]
        left = own.get("own", {}).get("allowance", {}).get("filled", 1.0)
        print(
            f"| `{one.name[:15]}`, {one.offered_mbps} Mbit/s | {100 * left:.0f} % | {' | '.join(cells)} |", flush=True
        )


def evidence() -> None:
    """Prints what floods tell of a limit on volume: a rate, and a volume at that rate."""
    # Floods that offer much more than the link carries lose more than a limit takes.
    rates = [one.after_mbps for one in FLOODS if one.offered_mbps <= 70]
    rate, half = mean_and_interval(rates)
    print("level after the fall, Mbit/s:", *rates, f"mean {rate:.1f} ± {half:.1f} (95 %)")
    volumes = [(one.before_mbps - rate) * one.fall_s / 8 for one in FLOODS]
    mean, half = mean_and_interval(volumes)
    after_edges = [int(one.begin_s + one.fall_s - 12) % 15 for one in (*FLOODS, JUDGING_FLOOD)]
    print("falls after the start of their slot, s:", *after_edges)
    print("beyond it before, MB:", *(f"{one:.0f}" for one in volumes), f"mean {mean:.0f} ± {half:.0f} (95 %)")


def main() -> None:
    """Prints what was fitted, and both tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--values", default="seoul-2026")
    parser.add_argument("--judging", action="store_true", help="Only the uploads that were not fitted.")
    parser.add_argument("--drop-front", action="store_true", help="500 packets up that drop from the front.")
    given = parser.parse_args()
    keys: dict[str, Any] = {"values": given.values}
    seeds = range(1, 1 + given.seeds)
    if given.drop_front:
        keys["forward"] = {"queue": {"drop_front": {"packets": 500, "counts": "waiting"}}}
    found = outages_ms()
    mean, half = mean_and_interval(found)
    print("outage, ms:", " ".join(f"{one:.1f}" for one in found), f"mean {mean:.1f} ± {half:.1f} (95 %)")
    lags = np.sort(LAGS_MS)
    deviation = np.std(np.log(lags), ddof=1)
    print(f"pause, ms: median {np.median(lags):.0f} ({lags[5]} to {lags[14]}, 96 %), of its logarithm {deviation:.2f}")
    above = [one.mean_ms - one.least_ms for one in FITTED if one.control == "cubic"]
    mean, half = mean_and_interval(above)
    print(f"smoothed round trips above the least, ms: {mean:.1f} ± {half:.1f} (95 %)")
    evidence()
    if not given.judging:
        table(FITTED, keys, seeds)
        falls(FLOODS, keys, seeds)
        # Slots that carry the stream.
        carried = {**keys, "own": {"rates": ["31 Mbit/s", "40 Mbit/s"]}}
        lost = np.concatenate([datagrams(30, 40, 300, carried, seed)[1] for seed in seeds])
        print("lost of 30 Mbit/s in a second: median {:.0f}, 75 % {:.0f}".format(*np.percentile(lost, (50, 75))))
    means = table(JUDGING, keys, seeds)
    falls([JUDGING_FLOOD], keys, seeds)
    ours = np.array([parts(keys, seed) for seed in seeds])
    print("100 Mbit/s in parts of 60 s, Mbit/s:", end="")
    for (at_s, theirs), column in zip(PARTS, ours.T, strict=True):
        print(f" {at_s} s {theirs:.1f}: {spread(list(column), mean_and_interval(list(column))[1], 1)}", end=";")
    print()
    for control in ("cubic", "bbr"):
        (one_theirs, one_ours), (ten_theirs, ten_ours) = means[f"1 {control}"], means[f"10 {control}"]
        theirs, simulated_ = ten_theirs / one_theirs, ten_ours / one_ours
        print(f"10 {control} over 1: {theirs:.2f} recorded, {simulated_:.2f} simulated, off {off(simulated_, theirs)}")


if __name__ == "__main__":
    main()
