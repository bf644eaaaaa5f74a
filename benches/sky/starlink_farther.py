"""Models of an uplink beside uploads to servers farther away, which none of them saw.

`python benches/sky/starlink_farther.py [--seeds 5]` prints the table of `docs/models/starlink-unseen.md`, "Servers
farther away": three models of losses beside uploads with CUBIC. `--model` prints what they take from a stream of
datagrams over a dish in Seoul (`starlink_fades.py`). `--limit` prints the table of "A limit whose volume comes back":
uploads with BBR, ten after one another. `--down` prints that of "Downloads", with CUBIC. The files judged are those of
`starlink_unseen.py`'s repository; their names decided which, before they were read.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from starlink_fades import of_stream
from starlink_seoul import Upload, uploads, wire
from starlink_unseen import compared, mean_and_range, verdict

from skyhop import api


def models() -> dict[str, dict[str, Any]]:
    """The keys of each model of the uplink, over `"seoul-2026"`."""
    every_s, length_ms, quiet, all_slots = of_stream()
    no_outage = {"outage": ["0 ms", "0 ms"]}
    dropouts = {"errors": [{"shadowing": {"good": f"{every_s:.2f} s", "bad": f"{length_ms:.2f} ms"}}]}
    return {
        "set": {"values": "seoul-2026"},
        "quiet": {"values": "seoul-2026", "own": {"loss": float(f"{quiet:.3g}"), **no_outage}, "forward": dropouts},
        "slots": {"values": "seoul-2026", "own": {"loss": all_slots, **no_outage}, "forward": dropouts},
        # Made after the files had been read.
        "fades": {"values": "seoul-2026-fades"},
    }


#: Uploads with CUBIC to each city. Run 4 to Mumbai is left out: iperf3 ended with an error, without what arrived.
JUDGING: dict[str, list[Upload]] = {
    "London": uploads(
        """
London_run1 1 cubic 300 0 8.283 278 314834944 273.612 282.025
London_run2 1 cubic 300 0 6.694 212 255852544 271.052 278.383
London_run3 1 cubic 300 0 6.481 149 246939648 271.768 282.178
London_run4 1 cubic 300 0 6.792 230 258605056 270.725 280.820
London_run5 1 cubic 300 0 6.663 222 252706816 274.651 281.416
London_run6 1 cubic 300 0 8.028 162 304087040 277.533 284.500
London_run7 1 cubic 300 0 7.543 162 286916608 270.201 279.406
London_run8 1 cubic 300 0 8.492 272 323354624 278.183 283.922
London_run9 1 cubic 300 0 6.802 202 258080768 274.786 282.799
London_run10 1 cubic 300 0 6.240 195 238157824 279.508 285.768
"""
    ),
    "Mumbai": uploads(
        """
Mumbai_run1 1 cubic 300 0 8.087 157 306184192 164.409 173.434
Mumbai_run2 1 cubic 300 0 6.672 229 252706816 164.205 170.600
Mumbai_run3 1 cubic 300 0 6.180 184 234094592 160.241 169.425
Mumbai_run5 1 cubic 300 0 7.902 190 299499520 163.455 171.419
Mumbai_run6 1 cubic 300 0 5.488 141 207749120 161.412 167.755
Mumbai_run7 1 cubic 300 0 6.009 126 227409920 164.748 171.728
Mumbai_run8 1 cubic 300 0 5.969 149 226623488 163.039 169.923
Mumbai_run9 1 cubic 300 0 6.211 206 235536384 163.275 170.660
Mumbai_run10 1 cubic 300 0 8.066 203 304480256 162.320 168.824
"""
    ),
    "Ohio": uploads(
        """
Ohio_run4 1 cubic 300 0 5.661 169 216006656 235.747 244.459
Ohio_run5 1 cubic 300 0 5.375 213 205520896 236.716 242.584
Ohio_run6 1 cubic 300 0 7.090 137 269352960 213.268 223.632
Ohio_run7 1 cubic 300 0 5.927 235 227409920 220.149 228.196
Ohio_run8 1 cubic 300 0 5.193 278 197001216 214.929 222.702
Ohio_run9 1 cubic 300 0 5.319 163 203816960 215.439 224.164
Ohio_run10 1 cubic 300 0 6.779 100 257163264 216.254 225.815
"""
    ),
    "São Paulo": uploads(
        """
SaoPaulo_run1 1 cubic 300 0 6.761 125 258080768 394.592 402.777
SaoPaulo_run2 1 cubic 300 0 6.566 210 254148608 395.545 402.652
SaoPaulo_run3 1 cubic 300 0 5.955 601 229376000 395.504 403.238
SaoPaulo_run4 1 cubic 300 0 6.768 216 258342912 408.688 423.588
SaoPaulo_run5 1 cubic 300 0 7.372 190 283901952 391.213 398.960
SaoPaulo_run6 1 cubic 300 0 7.002 157 266469376 392.786 400.870
SaoPaulo_run7 1 cubic 300 0 7.474 179 285999104 395.026 403.049
SaoPaulo_run8 1 cubic 300 0 6.241 162 239337472 390.615 397.895
SaoPaulo_run9 1 cubic 300 0 6.280 188 240123904 400.066 408.123
SaoPaulo_run10 1 cubic 300 0 5.690 164 217710592 401.019 406.712
"""
    ),
    "Tokyo": uploads(
        """
Tokyo_run4 1 cubic 300 0 7.217 240 273416192 148.942 160.930
Tokyo_run5 1 cubic 300 0 7.305 215 277872640 150.955 157.739
Tokyo_run6 1 cubic 300 0 8.004 201 302776320 150.207 158.520
Tokyo_run7 1 cubic 300 0 7.270 220 274989056 151.514 157.428
Tokyo_run8 1 cubic 300 0 6.865 222 259522560 145.146 155.258
Tokyo_run9 1 cubic 300 0 7.944 210 300154880 150.067 156.620
Tokyo_run10 1 cubic 300 0 9.258 188 349044736 149.183 157.072
"""
    ),
}

#: Mean goodput of each of ten uploads with BBR, run 1 to run 10, Mbit/s, and the least smoothed round trip of all, ms.
#: Sydney's have been seen, the others were filled in after the limits were committed.
TEN: dict[str, tuple[list[float], float]] = {
    "Sydney (seen)": ([27.1, 18.0, 18.2, 28.4, 16.8, 25.2, 21.2, 17.1, 18.9, 29.9], 26.4),
    "London": ([15.6, 16.3, 27.8, 15.4, 20.5, 23.7, 25.9, 15.3, 24.5], 251.9),
    "Mumbai": ([15.6, 24.6, 15.3, 21.5, 21.2, 16.7, 26.7, 16.2, 18.7, 25.6], 156.3),
    "Ohio": ([14.6, 23.0, 17.9, 19.5, 21.8, 19.1, 21.5, 15.5, 25.6, 15.1], 214.3),
    "São Paulo": ([23.4, 20.3, 12.4, 22.6, 21.1, 21.0, 21.9, 22.0, 21.2, 15.3], 387.5),
    "Tokyo": ([28.0, 16.8, 23.1, 16.4, 21.1, 20.9, 16.9, 27.7, 15.7, 20.5], 145.9),
}

#: From the start of one upload to the next, and the length of each, s.
EVERY_S, LENGTH_S = 308, 300

#: Mbit/s of user data above which an upload had some of the volume.
WITH_VOLUME = 20

#: What limits the uplink besides `"seoul-2026"`: the limit of that set, and the one that uploads to Sydney show.
LIMITS: dict[str, dict[str, Any]] = {
    "set": {},
    "Sydney's": {"allowance": {"rate": "18.1 Mbit/s", "volume": "443 MB", "restored": ["14 min", "17 min"]}},
}


def one_way_ms(least_ms: float) -> float:
    """The delay of the wire: half of the least round trip, less what step and jitter add at least."""
    return max(least_ms / 2 - 2, 1.0)


def ten(least_ms: float, own: dict[str, Any], seed: int) -> list[float]:
    """Mbit/s of each of ten uploads with BBR that follow one another."""
    flow = {"from": "terminal", "to": "server", "tcp": {"name": "bbr", "send_buffer": "64 MB"}}
    found = api.run(
        {
            "duration": f"{10 * EVERY_S} s",
            "profile": "linux",
            "links": [wire(one_way_ms(least_ms), 29, {"values": "seoul-2026", "own": own})],
            "flows": [
                {"name": f"f{n}", **flow, "start": f"{EVERY_S * n} s", "stop": f"{EVERY_S * n + LENGTH_S} s"}
                for n in range(10)
            ],
        },
        seed=seed,
    )
    return [8 * count / LENGTH_S / 1e6 for count in found.flows["bytes_delivered"].to_list()]


def limits(seeds: range) -> None:
    """Prints the mean of ten uploads with BBR, and how many of them had some of the volume."""
    print("| uploads to | limit | mean goodput, Mbit/s | range of 95 % | off | with some of the volume |")
    print("|---|---|---|---|---|---|")
    for city, (recorded, least_ms) in TEN.items():
        for name, own in LIMITS.items():
            runs = np.array([ten(least_ms, own, seed) for seed in seeds])
            mean, low, high = mean_and_range(runs.mean(axis=1))
            theirs = float(np.mean(recorded))
            inside = "" if low <= theirs <= high else ", outside"
            many = sum(one > WITH_VOLUME for one in recorded)
            print(
                f"| {city} | {name} | {theirs:.1f}: {mean:.1f} | {low:.1f} to {high:.1f}{inside} "
                f"| {verdict('goodput', mean, theirs)} | {many}: {(runs > WITH_VOLUME).sum(axis=1).mean():.1f} of 10 |",
                flush=True,
            )


#: Downloads with CUBIC from each city, run 1 to run 3: Mbit/s sent (the reports lack what arrived), and the least
#: smoothed round trip of uploads to it in ms (median). Filled in after the predictions were committed.
DOWN: dict[str, tuple[list[float], float]] = {
    "London": ([22.2, 33.9, 33.4], 274.2),
    "Mumbai": ([14.4, 18.5, 23.0], 163.2),
    "Ohio": ([24.4, 26.9, 20.9], 216.4),
    "São Paulo": ([27.8, 18.9, 18.5], 395.0),
    "Sydney": ([31.7, 25.7, 25.0], 29.5),
    "Tokyo": ([4.5, 7.8, 10.3], 150.0),
}


def download(link: dict[str, Any], seed: int, control: str = "cubic") -> tuple[float, float]:
    """Goodput of a download over a link, Mbit/s, and the share of segments sent again in %."""
    tcp = {"name": control, "send_buffer": "64 MB", "receive_buffer": "64 MB"}
    found = api.run(
        {
            "duration": f"{LENGTH_S} s",
            "profile": "linux",
            "links": [link],
            "flows": [{"name": "f", "from": "server", "to": "terminal", "tcp": tcp}],
        },
        seed=seed,
    )
    bps, again, sent = found.flows.select("goodput_bps", "retransmissions", "packets_sent").row(0)
    return bps / 1e6, 100 * again / sent


def downloads(seeds: range) -> None:
    """Prints the mean goodput of downloads from each city."""
    print("| downloads from | goodput, Mbit/s | range of 95 % | off | sent again, simulated, % |")
    print("|---|---|---|---|---|")
    for city, (recorded, least_ms) in DOWN.items():
        link = wire(one_way_ms(least_ms), 0, {"values": "seoul-2026"})
        runs = np.array([[download(link, 1000 * seed + n) for n in range(len(recorded))] for seed in seeds])
        mean, low, high = mean_and_range(runs[:, :, 0].mean(axis=1))
        theirs = float(np.mean(recorded))
        inside = "" if not low <= theirs <= high else ", inside"
        print(
            f"| {city} | {theirs:.1f}: {mean:.1f} | {low:.1f} to {high:.1f}{inside} "
            f"| {verdict('goodput', mean, theirs)} | {runs[:, :, 1].mean():.3f} |",
            flush=True,
        )


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", metavar="LOSSES", choices=[*models()], help="Only this model of losses.")
    parser.add_argument("--model", action="store_true", help="Only what the models take from the stream.")
    parser.add_argument("--limit", action="store_true", help="Only the limits on volume.")
    parser.add_argument("--down", action="store_true", help="Only downloads.")
    given = parser.parse_args()
    seeds = range(1, 1 + given.seeds)
    if given.limit:
        limits(seeds)
        return
    if given.down:
        downloads(seeds)
        return
    every_s, length_ms, quiet, all_slots = of_stream()
    print(f"dropouts every {every_s:.2f} s, {length_ms:.2f} ms; loss of quiet slots {100 * quiet:.3f} %")
    print(f"loss of all slots {all_slots}, mean {100 * float(np.mean(all_slots)):.2f} %\n")
    if given.model:
        return
    print("| uploads to | losses | goodput, Mbit/s | range of 95 % | off | sent again, % | range of 95 % | off |")
    print("|---|---|---|---|---|---|---|---|")
    for city, group in JUDGING.items():
        for name, keys in models().items():
            if given.only in (None, name):
                print(f"| {city} | {name} | {compared(group, keys, seeds)} |", flush=True)


if __name__ == "__main__":
    main()
