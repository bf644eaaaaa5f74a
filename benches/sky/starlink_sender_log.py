"""Losses of uploads with CUBIC in Seoul, by the log of the sender, and what they do to the goodput.

`python benches/sky/starlink_sender_log.py [--seeds 8]` prints the tables of `docs/models/starlink-losses.md`: when the
uplink lost segments and how many at a time, beside the sets of the profile `starlink`. `--lengths` compares fades of
several lengths with that, `--likelihood` fits one length to each log and to simulated uploads, and `--replay` simulates
each upload with the losses of its log. The logs are
`logs/*/ss_rtt.log` of github.com/dlawogud000/starlink-TCP: what `ss` says of the sender every 28 ms on average (April
2026, Linux 6.8). The bench has the lines at which the number of segments that were sent again rises.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

import numpy as np
from starlink_fades import keys
from starlink_seoul import FITTED, JUDGING, SEGMENT_B, Upload, keys_of, wire

from skyhop import api
from skyhop.inference import mean_and_interval
from skyhop.starlink import fades
from skyhop.starlink.recordings import Floats

#: Losses that become known within this time of each other are one event, s: about a round trip.
TOGETHER_S = 0.07

#: An event that begins so soon after another one hurts the same window again, s: two to three round trips.
SOON_S = 0.2

#: Lengths of fades that are compared, ms.
LENGTHS_MS = (20, 50, 100, 150, 200, 300, 500, 1000)

#: Intervals of the likelihood, s: the shortest that iperf3 reports.
WIDTH_S = 0.1

#: A tenth of the time: at most so far from an edge, s.
NEAR_S = 0.75

#: From an edge to the next, and the first one after a full minute, s.
SLOT_S, EDGE_S = 15, 12


@dataclass(frozen=True)
class Log:
    """When an upload sent segments again."""

    upload: Upload
    began_unix_s: float
    """First line of the connection."""
    times_s: Floats
    """Since then: the lines at which the number of segments sent again rises."""
    counts: Floats
    """By how many it rises."""
    segments: Floats
    """How many segments had been sent when the first of them was lost: those sent, less the window."""


def log(name: str, began_unix_s: float, lines: str) -> Log:
    """A log from lines of "time:count:segment"."""
    upload = next(one for one in (*FITTED, *JUDGING) if one.name == name)
    times, counts, segments = np.array([[float(value) for value in each.split(":")] for each in lines.split()]).T
    return Log(upload, began_unix_s, times, counts, segments)


#: The uploads whose logs are stored in the index of public repositories. The first two were read before the last two.
LOGS = [
    log(
        "20260402_164758_tcp_cubic_uplink_test14",
        1775116082.954,
        """
0.91:1:750 2.01:1:1907 6.50:1:6381 8.02:1:7867 13.17:1:12586 14.68:1:13965 18.01:1:16841 22.50:1:20915 23.55:1:21764
30.21:1:27910 32.78:1:30622 36.79:1:34562 41.18:1:39246 41.27:1:39312 43.59:1:41634 48.76:1:46977 53.66:1:52657
55.89:1:55257 59.64:1:59530 60.84:1:60801 69.46:1:71485 69.54:2:71627 69.70:1:71825 71.73:1:73852 71.82:2:73917
71.90:1:73992 72.35:1:74322 79.14:1:79896 79.21:1:79958 79.43:1:80124 88.38:2:88624 88.74:1:89087 90.54:8:90968
97.02:1:97785 99.53:1:100660 100.63:1:101794 101.32:1:102367 101.42:1:102431 103.28:1:103643 108.57:1:107702
109.76:1:108611 114.12:1:111951 119.01:1:116545 120.03:1:117436 120.12:1:117508 123.41:1:120147 127.90:1:124077
128.77:1:124780 131.59:1:126656 134.40:1:128662 134.44:1:128679 135.42:1:129263 141.42:2:133697 142.26:1:134314
142.29:1:134343 148.31:1:139173 151.71:1:142291 153.41:1:143794 159.71:1:149931 160.65:1:150900 164.25:1:154297
166.90:1:156913 168.79:23:158513 168.84:10:158547 168.87:12:158561 168.94:7:158573 168.98:7:158599 169.02:8:158613
169.41:1:158732 169.44:1:158745 169.51:1:158769 177.10:1:162698 184.80:1:171132 188.46:1:175631 189.46:1:176705
189.60:2:176848 189.75:1:176931 197.52:1:182641 197.58:1:182706 198.90:1:183986 198.96:1:184044 202.67:1:187274
208.46:1:192712 210.72:1:194865 215.30:1:199151 217.96:1:201737 220.80:1:204311 220.88:1:204374 221.20:2:204593
227.65:1:209573 230.12:1:211817 234.11:1:215257 241.26:2:222732 241.29:1:222740 242.46:1:223970 248.91:1:230869
248.94:1:230890 250.06:1:231967 254.14:1:236065 254.23:1:236136 255.85:1:237640 260.27:1:241874 262.02:1:243562
264.94:1:246013 271.63:1:254280 271.75:1:254491 275.59:2:259288 275.62:2:259327 279.11:16:263396 279.66:2:263970
279.72:2:264036 281.69:1:265765 281.76:1:265823 281.83:1:265895 281.92:2:265937 286.15:2:268300 286.23:1:268361
289.82:1:270652 289.88:1:270663 290.42:1:270986 290.48:1:271021 291.26:1:271363 291.33:1:271376 298.41:1:275390
299.84:2:276436
""",
    ),
    log(
        "20260406_151819_tcp_cubic_uplink_server_test6",
        1775456299.584,
        """
1.18:2:459 4.26:1:2130 5.20:2:2623 11.04:1:6360 11.68:2:6812 12.53:1:7275 12.59:10:7298 12.62:2:7320 12.68:1:7333
12.97:3:7448 14.23:1:7984 22.86:1:14277 23.57:1:15010 23.66:11:15102 27.53:1:17563 30.91:1:20059 32.38:1:21041
35.70:7:23199 37.69:3:24511 38.87:1:25175 38.90:1:25179 42.27:2:26911 44.71:2:28294 45.09:2:28467 45.18:1:28504
49.53:2:30415 51.32:1:31323 54.43:1:32799 55.61:2:33343 59.60:1:35259 59.66:1:35312 59.69:1:35314 60.86:1:35873
60.95:1:35922 61.42:16:36073 66.37:1:38165 66.55:4:38214 66.58:5:38245 74.07:1:42361 77.41:1:45157 77.65:1:45340
77.71:3:45351 77.73:4:45398 80.79:1:47255 86.28:1:51299 90.89:1:55460 91.44:1:55903 91.65:2:56041 98.81:1:60954
99.49:1:61568 103.01:1:64617 105.30:2:66460 105.42:1:66542 107.00:1:67672 109.00:2:68727 109.08:15:68781
109.11:3:68784 109.17:18:68801 109.29:1:68819 112.72:1:70541 112.75:1:70555 112.81:15:70602 112.93:3:70637
113.08:12:70678 113.22:4:70695 113.25:3:70715 113.31:2:70717 113.34:5:70721 113.37:6:70725 113.55:1:70749
114.19:2:70859 114.22:2:70870 114.25:3:70873 114.28:3:70882 114.69:2:70940 116.07:1:71141 116.10:6:71157
116.13:2:71159 116.16:1:71160 116.33:1:71177 116.36:2:71185 116.66:2:71204 116.74:3:71214 116.83:2:71215
117.21:1:71231 117.24:2:71237 117.27:2:71239 117.51:2:71246 118.09:2:71262 118.50:1:71270 118.62:1:71274
119.38:1:71287 119.47:2:71292 119.56:1:71293 120.00:1:71303 120.09:1:71307 120.80:1:71322 120.85:2:71327
121.70:2:71354 121.73:1:71357 122.41:1:71377 122.50:2:71384 122.59:2:71387 122.88:2:71392 122.97:1:71398
123.23:1:71405 125.67:1:71584 125.70:3:71596 126.25:1:71655 126.43:1:71671 126.46:1:71675 126.52:2:71679
126.93:1:71698 126.96:1:71703 127.02:2:71707 134.15:1:73999 135.17:1:74641 135.23:1:74683 137.64:1:76085
137.67:9:76098 141.69:1:78845 141.75:1:78889 143.04:1:79697 144.63:1:80857 146.27:1:81984 147.80:2:82896
156.37:1:88963 157.69:2:90373 158.02:1:90718 158.11:1:90795 161.57:1:93806 162.57:1:94609 162.60:1:94613
167.65:1:98822 167.68:7:98831 167.70:1:98887 168.61:1:99592 169.67:1:100297 169.70:4:100306 173.66:1:102861
173.72:1:102906 175.16:1:103818 175.40:1:103963 175.45:1:103989 176.80:1:104545 178.04:1:105032 178.07:1:105035
178.12:1:105067 179.15:1:105404 179.18:1:105407 179.24:1:105433 179.48:1:105491 179.50:1:105496 181.26:1:105947
181.32:1:105966 182.23:1:106202 182.32:1:106219 183.70:1:106561 183.76:1:106577 185.64:1:107078 185.73:3:107096
194.12:1:111804 195.62:1:113193 198.09:1:115293 202.23:1:118777 203.40:2:119603 206.11:1:121351 208.57:2:123021
208.81:1:123176 214.00:1:126069 214.09:2:126122 215.82:2:127291 219.67:6:129682 223.57:1:132594 225.69:11:134119
230.71:1:137984 233.33:1:140344 233.65:1:140586 233.68:1:140603 235.70:1:141837 237.67:1:142970 237.73:13:143020
241.08:2:144991 241.16:2:145048 242.69:1:146005 242.78:1:146062 246.89:1:148692 247.01:3:148765 250.33:1:151129
255.38:1:156156 256.73:1:157706 256.82:2:157804 259.05:1:159934 259.17:1:160033 261.29:1:161900 263.13:7:163356
263.22:2:163429 263.75:1:163756 263.78:1:163770 263.84:1:163816 264.40:1:164091 264.43:1:164095 268.59:1:166165
268.65:1:166203 271.03:2:167655 271.70:3:168030 273.67:5:168973 273.70:3:168995 277.55:1:171196 279.69:2:172841
286.85:1:179414 286.94:1:179517 289.32:1:182109 289.41:2:182213 289.67:1:182419 295.81:1:187506 295.90:1:187596
298.48:1:190032
""",
    ),
    log(
        "20260411_153758_tcp_cubic_uplink_2",
        1775889479.176,
        """
1.33:2:600 2.46:1:1244 3.65:1:1845 3.68:1:1872 4.23:1:2076 6.09:1:2962 7.25:1:3483 7.29:1:3488 9.84:2:4581
10.93:2:5034 19.28:2:10545 19.58:1:10830 24.87:1:15561 26.49:1:17038 28.02:1:18179 28.46:1:18548 29.65:2:19380
29.75:2:19447 31.88:1:20783 34.30:1:22310 37.50:1:24358 39.45:1:25631 43.72:2:28387 45.77:1:29856 47.87:1:31245
51.16:1:33445 51.18:1:33463 53.95:1:35434 54.50:1:35776 62.94:1:42467 63.97:2:43674 65.63:1:45287 67.58:1:46902
67.71:1:47001 67.74:1:47030 73.47:1:50850 77.47:1:54464 79.62:1:56364 81.85:1:58270 83.29:1:59339 86.10:1:61268
90.17:2:64250 92.38:2:65914 96.14:2:68713 97.31:1:69558 97.34:1:69569 101.32:2:72460 105.37:2:75715 107.53:1:77465
112.95:1:82035 115.11:1:84068 119.82:1:88322 122.40:1:90853 123.92:1:92128 130.99:1:98184 133.00:1:100126
133.49:1:100636 133.57:1:100733 134.39:1:101389 134.85:1:101688 140.09:1:104948 141.27:1:105688 146.09:1:108867
150.16:1:111958 153.66:1:114731 157.33:1:117705 158.31:1:118392 164.76:1:123056 166.31:1:124276 172.65:1:129826
178.92:1:135995 179.06:1:136082 179.49:1:136330 179.63:1:136404 187.42:1:140207 187.54:2:140286 188.40:1:140723
192.04:1:142542 193.56:1:143610 194.09:1:144001 195.64:1:144959 196.62:1:145483 199.45:1:146967 200.36:1:147462
202.20:1:148317 206.03:1:150318 207.37:1:151071 209.96:1:152449 217.42:1:158035 220.88:1:161317 225.51:1:165183
226.14:1:165600 230.53:1:168003 234.49:1:170359 237.64:2:172180 237.89:1:172295 238.01:1:172337 239.11:1:172938
245.21:1:178687 246.22:1:180056 251.28:1:186259 253.68:1:189126 254.79:1:190325 259.95:1:195501 267.01:1:204031
267.70:1:204804 268.39:1:205381 272.14:2:208396 273.98:2:209906 279.92:1:215224 279.97:2:215313 280.08:1:215383
280.14:2:215443 282.97:1:217331 287.43:1:221597 289.34:1:223537 292.88:1:226978 293.52:1:227531 298.29:1:231298
298.43:2:231399 298.87:1:231636 298.90:1:231656
""",
    ),
    log(
        "20260413_104039_tcp_cubic_uplink_sh_single_test11",
        1776044443.803,
        """
0.82:2:455 1.58:1:1011 1.62:2:1039 3.00:1:1897 3.89:2:2326 7.12:2:3803 11.30:1:6378 11.83:1:6670 11.92:1:6718
17.32:1:9987 17.36:1:10022 22.11:1:13905 23.16:1:14694 24.51:1:15555 27.30:1:17245 28.44:1:17825 32.99:1:21682
36.09:2:24857 37.67:2:26297 41.57:1:29832 46.53:1:34971 50.00:1:38980 54.50:1:44286 55.65:1:45500 63.50:2:54358
65.27:1:56497 67.68:1:59241 72.16:1:64131 74.33:1:66515 76.04:1:68249 78.64:1:70520 78.70:1:70589 80.68:1:72237
82.77:1:73785 87.59:1:77816 88.35:1:78391 90.19:1:79314 90.92:2:79594 95.54:1:81470 99.77:1:83532 101.80:2:84499
103.25:31:85107 109.90:4:89775 109.98:1:89835 114.43:1:94012 117.16:5:96694 122.36:2:101688 124.78:1:104006
124.86:2:104071 128.67:1:107553 129.73:1:108440 130.02:1:108687 133.33:1:111397 133.70:1:111748 133.77:2:111825
134.00:1:111985 134.07:1:112040 137.96:1:114591 137.98:1:114635 144.26:6:119963 145.15:1:120708 145.19:6:120764
146.53:1:121736 154.01:1:127808 157.13:1:131062 159.62:1:133561 163.69:2:137435 163.75:2:137523 163.93:1:137643
163.97:1:137686 164.00:2:137706 167.67:1:140369 167.70:1:140416 168.43:1:140902 168.65:2:141035 173.52:2:143785
174.96:1:144730 178.66:1:147166 179.84:1:147946 179.90:3:147959 186.54:1:153006 188.90:1:155161 188.98:1:155222
192.19:1:157955 193.59:1:159046 194.17:1:159540 194.21:1:159590 194.25:2:159613 194.82:1:160004 194.87:2:160048
194.97:1:160103 195.05:1:160132 198.65:1:161896 198.71:1:161932 201.08:1:163213 201.14:2:163252 203.92:1:164854
203.95:1:164865 204.00:2:164907 205.68:1:165852 205.71:1:165862 206.41:1:166200 206.44:1:166224 210.45:1:168055
213.04:1:169970 218.88:1:174823 221.39:1:177056 224.48:1:179307 224.56:2:179356 224.81:1:179484 224.85:1:179487
232.46:1:183426 232.58:1:183514 234.76:1:185002 234.80:1:185016 235.19:1:185269 240.32:2:188393 246.81:1:194671
247.58:1:195402 248.67:1:196235 249.33:1:196652 256.09:1:201282 256.74:2:201792 262.07:1:205983 262.44:1:206261
265.68:1:208313 266.21:1:208713 272.96:1:213961 273.05:1:214049 274.85:2:215585 277.79:2:217888 281.83:2:221123
283.81:2:222646 284.50:1:223139 284.57:1:223184 287.81:2:225339 289.73:2:226677 293.60:1:229421 294.65:1:230148
294.68:1:230167 298.66:7:232852 298.70:3:232881 298.94:5:233014 298.97:9:233055 299.75:1:233424 299.77:2:233435
299.80:7:233461 299.89:1:233491
""",
    ),
]


@dataclass(frozen=True)
class Losses:
    """Losses of an upload, event by event."""

    lost: float
    per_thousand: float
    """Events per 1,000 segments."""
    single: float
    """Share of the events with one segment."""
    large: float
    """Share of the events with four segments or more."""
    soon: float
    """Share of the events that begin within `SOON_S` of the one before."""
    near: float
    """Share of the events near an edge."""


def losses(times_s: Floats, counts: Floats, segments: float, first_edge_s: float) -> Losses:
    """Events from losses at some times; the first edge is at `first_edge_s`."""
    begins = np.r_[True, np.diff(times_s) >= TOGETHER_S]
    sizes = np.bincount(np.cumsum(begins) - 1, weights=counts)
    near = (times_s[begins] - first_edge_s + NEAR_S) % SLOT_S < 2 * NEAR_S
    return Losses(
        lost=float(counts.sum()),
        per_thousand=1e3 * sizes.size / segments,
        single=float(np.mean(sizes == 1)),
        large=float(np.mean(sizes >= 4)),
        soon=float(np.mean(np.diff(times_s[begins]) < SOON_S)),
        near=float(near.mean()),
    )


def recorded(one: Log) -> Losses:
    """The losses of a log. They become known a round trip after the segments were lost."""
    lost_at_s = one.times_s - one.upload.mean_ms / 1e3
    return losses(lost_at_s, one.counts, one.upload.sent_bytes / SEGMENT_B, float((EDGE_S - one.began_unix_s) % SLOT_S))


def run(one: Upload, delay_ms: float, length_s: float, own: dict[str, Any], seed: int) -> Any:
    """An upload over the link."""
    flow = {"name": "f", "from": "terminal", "to": "server", "tcp": {"name": one.control, "send_buffer": "16 MB"}}
    return api.run(
        {
            "duration": f"{length_s} s",
            "profile": "linux",
            "links": [wire(delay_ms, one.begin_s, own)],
            "flows": [flow],
            "records": {"grid": "1 s"},
        },
        seed=seed,
    )


def whole(one: Upload, own: dict[str, Any], seed: int) -> Any:
    """An upload over a wire with the recorded least smoothed round trip, as in `starlink_seoul.py`."""
    trial_ms = 25.0
    smoothed_s = run(one, trial_ms, 60, own, seed).flow_series["srtt_s"].drop_nulls().to_numpy()
    delay_ms = trial_ms + (one.least_ms - 1e3 * float(np.min(smoothed_s))) / 2
    return run(one, max(delay_ms, 1.0), one.length_s, own, seed)


def drops(one: Upload, model: dict[str, Any], seed: int) -> tuple[Floats, float, float]:
    """When a simulated upload loses segments, how many it sends, and its first edge in s."""
    found = whole(one, keys_of(one.name, model), seed)
    times_s = found.drops.filter(found.drops["link"] == "terminal->server")["time_s"].to_numpy()
    return times_s, float(found.flows["packets_sent"][0]), (EDGE_S - one.begin_s) % SLOT_S


def simulated(one: Upload, model: dict[str, Any], seed: int) -> Losses:
    """The losses of a simulated upload."""
    times_s, segments, first_edge_s = drops(one, model, seed)
    return losses(times_s, np.ones(times_s.size), segments, first_edge_s)


def likely(times_s: Floats, counts: Floats, segments: float, first_edge_s: float, length_s: float) -> str:
    """Two cells: how much fades of one length raise the logarithm of the likelihood, and their 90 % range in ms.

    As `skyhop fit starlink --loaded` does it, in intervals of `WIDTH_S` a second or more from edges.
    """
    ends = np.arange(0, length_s + WIDTH_S / 2, WIDTH_S)
    lost = np.histogram(times_s, ends, weights=counts)[0]
    since = (ends[1:] + ends[:-1]) / 2 - first_edge_s
    used = (since % SLOT_S > 1) & (since % SLOT_S < SLOT_S - 1)
    sent = np.maximum(lost, segments * WIDTH_S / length_s)
    # Slots before the first edge have numbers, too.
    place = since / SLOT_S + 1
    found = fades.find(
        [one.rows for one in fades.rows(place[used], np.full(used.sum(), WIDTH_S), lost[used], sent[used])]
    )
    return f"{found.gain:.1f} | {' to '.join(f'{1e3 * end:.0f}' for end in found.between_s)}"


def replayed(one: Log, seed: int) -> tuple[float, int, float]:
    """An upload that loses the segments of the log and no others.

    Mbit/s, how many segments it sends again, and its mean smoothed round trip in ms.

    Segments that became known as lost in the same line are lost one after another.
    """
    places = np.concatenate([np.arange(first, first + n) for first, n in zip(one.segments, one.counts, strict=True)])
    # Packets of the link count segments that were sent again, too.
    packets = np.unique(np.sort(places) + np.arange(places.size)).astype(int)
    own = {
        "values": "seoul-2026",
        "own": {"loss": 0, "outage": ["0 ms", "0 ms"]},
        "forward": {"errors": [{"list": {"data": [{"packets": int(each)} for each in packets]}}]},
    }
    found = whole(one.upload, keys_of(one.upload.name, own), seed)
    flow = found.flows.row(0, named=True)
    smoothed_s = found.flow_series["srtt_s"].drop_nulls().to_numpy()
    return flow["goodput_bps"] / 1e6, flow["retransmissions"], 1e3 * float(np.mean(smoothed_s))


def likelihood(seeds: range) -> None:
    """Prints the most likely length of fades, of each log and of uploads with fades of a known length."""
    print("| | gain | length, ms |\n|---|---:|---|")
    for one in LOGS:
        first_edge_s = float((EDGE_S - one.began_unix_s) % SLOT_S)
        lost_at_s = one.times_s - one.upload.mean_ms / 1e3
        segments = one.upload.sent_bytes / SEGMENT_B
        print(f"| `{one.upload.name}` | {likely(lost_at_s, one.counts, segments, first_edge_s, one.upload.length_s)} |")
    for length_ms in (50, 150, 300):
        for seed in seeds:
            one = LOGS[0]
            times_s, segments, first_edge_s = drops(one.upload, keys(length_ms), seed)
            cells = likely(times_s, np.ones(times_s.size), segments, first_edge_s, one.upload.length_s)
            print(f"| fades of {length_ms} ms, seed {seed} | {cells} |", flush=True)


def row(label: str, found: list[Losses]) -> str:
    """A row of the table, with means."""
    mean = {name: float(np.mean([getattr(one, name) for one in found])) for name in Losses.__dataclass_fields__}
    shares = [f"{100 * mean[name]:.0f} %" for name in ("single", "large", "soon", "near")]
    return f"| {label} | {mean['lost']:.0f} | {mean['per_thousand']:.2f} | {' | '.join(shares)} |"


def replay(seeds: range) -> None:
    """Prints the uploads with the losses of their logs."""
    print("| upload | sent again | mean smoothed round trip, ms | goodput, Mbit/s | off |\n|---|---|---|---|---:|")
    for one in LOGS:
        mbps, again, mean_ms = np.array([replayed(one, seed) for seed in seeds]).T
        mean, half = mean_and_interval(list(mbps))
        print(
            f"| `{one.upload.name}` | {one.upload.retransmits}: {again.mean():.0f} "
            f"| {one.upload.mean_ms:.0f}: {mean_ms.mean():.0f} | {one.upload.mbps:.2f}: {mean:.2f} ± {half:.2f} "
            f"| {100 * abs(mean / one.upload.mbps - 1):.0f} % |",
            flush=True,
        )


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--lengths", action="store_true", help="Fades of other lengths in place of the sets.")
    parser.add_argument("--replay", action="store_true", help="Simulate the uploads with the losses of their logs.")
    parser.add_argument("--likelihood", action="store_true", help="Fit one length of fades to each upload.")
    given = parser.parse_args()
    seeds = range(1, 1 + given.seeds)
    if given.likelihood:
        likelihood(seeds)
        return
    if given.replay:
        replay(seeds)
        return
    print("| | sent again | events per 1,000 segments | of one segment | of four or more | soon | near edges |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for one in LOGS:
        print(row(f"`{one.upload.name}`", [recorded(one)]))
    models = {f'`"{values}"`': {"values": values} for values in ("seoul-2026", "seoul-2026-fades")}
    if given.lengths:
        models = {f"fades of {length_ms} ms": keys(length_ms) for length_ms in LENGTHS_MS}
    for label, own in models.items():
        print(row(label, [simulated(one.upload, own, seed) for one in LOGS for seed in seeds]), flush=True)


if __name__ == "__main__":
    main()
