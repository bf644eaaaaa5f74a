"""Losses of uploads with CUBIC in Seoul, by the log of the sender, and what they do to the goodput.

`python benches/sky/starlink_sender_log.py [--seeds 8]` prints the tables of `docs/models/starlink-losses.md`: when the
uplink lost segments and how many at a time, beside the sets of the profile `starlink`. `--lengths` compares fades of
several lengths with that, `--likelihood` fits one length to each log and to simulated uploads, `--replay` simulates
each upload with the losses of its log, and `--round-trips` compares smoothed round trips. The logs are
`logs/*/ss_rtt.log` of github.com/dlawogud000/starlink-TCP: what `ss` says of the sender every 28 ms on average (April
2026, Linux 6.8). The bench has the lines at which the number of segments that were sent again rises.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

import numpy as np
from starlink_fades import keys
from starlink_seoul import FITTED, JUDGING, SEGMENT_B, Upload, keys_of, smoothed_ms, whole

from skyhop.inference import mean_and_interval
from skyhop.starlink import fades
from skyhop.starlink.measuring import kolmogorov_smirnov
from skyhop.starlink.recordings import Floats

#: Losses that become known within this time of each other are one event, s: about a round trip.
TOGETHER_S = 0.07

#: An event that begins so soon after another one hurts the same window again, s: two to three round trips.
SOON_S = 0.2

#: Lengths of fades that are compared, ms.
LENGTHS_MS = (20, 50, 100, 150, 200, 300, 500, 1000)

#: How often `ss` looked.
STEP = "28 ms"

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
    smoothed_ms: Floats
    """The smoothed round trip in each line."""

    @property
    def lost_at_s(self) -> Floats:
        """When the segments were lost: a round trip before that became known."""
        return self.times_s - self.upload.mean_ms / 1e3

    @property
    def sent(self) -> float:
        """Segments that were sent."""
        return self.upload.sent_bytes / SEGMENT_B

    @property
    def first_edge_s(self) -> float:
        """The first edge of a slot."""
        return float((EDGE_S - self.began_unix_s) % SLOT_S)


def log(name: str, began_unix_s: float, lines: str) -> Log:
    """A log from lines of "time:count:segment:smoothed round trip"."""
    upload = next(one for one in (*FITTED, *JUDGING) if one.name == name)
    return Log(
        upload, began_unix_s, *np.array([[float(value) for value in each.split(":")] for each in lines.split()]).T
    )


#: The uploads whose logs are stored in the index of public repositories. The first two were read before the last two.
LOGS = [
    log(
        "20260402_164758_tcp_cubic_uplink_test14",
        1775116082.954,
        """
0.91:1:750:77 2.01:1:1907:76 6.50:1:6381:76 8.02:1:7867:70 13.17:1:12586:74 14.68:1:13965:85 18.01:1:16841:78
22.50:1:20915:81 23.55:1:21764:92 30.21:1:27910:73 32.78:1:30622:75 36.79:1:34562:77 41.18:1:39246:74 41.27:1:39312:85
43.59:1:41634:78 48.76:1:46977:78 53.66:1:52657:72 55.89:1:55257:68 59.64:1:59530:66 60.84:1:60801:67 69.46:1:71485:66
69.54:2:71627:69 69.70:1:71825:63 71.73:1:73852:68 71.82:2:73917:71 71.90:1:73992:75 72.35:1:74322:65 79.14:1:79896:76
79.21:1:79958:78 79.43:1:80124:74 88.38:2:88624:74 88.74:1:89087:83 90.54:8:90968:70 97.02:1:97785:72
99.53:1:100660:67 100.63:1:101794:75 101.32:1:102367:72 101.42:1:102431:74 103.28:1:103643:75 108.57:1:107702:73
109.76:1:108611:66 114.12:1:111951:76 119.01:1:116545:78 120.03:1:117436:77 120.12:1:117508:78 123.41:1:120147:79
127.90:1:124077:74 128.77:1:124780:75 131.59:1:126656:76 134.40:1:128662:88 134.44:1:128679:78 135.42:1:129263:74
141.42:2:133697:78 142.26:1:134314:82 142.29:1:134343:70 148.31:1:139173:87 151.71:1:142291:87 153.41:1:143794:76
159.71:1:149931:75 160.65:1:150900:77 164.25:1:154297:67 166.90:1:156913:68 168.79:23:158513:67 168.84:10:158547:69
168.87:12:158561:69 168.94:7:158573:69 168.98:7:158599:81 169.02:8:158613:77 169.41:1:158732:79 169.44:1:158745:89
169.51:1:158769:75 177.10:1:162698:89 184.80:1:171132:80 188.46:1:175631:77 189.46:1:176705:66 189.60:2:176848:67
189.75:1:176931:76 197.52:1:182641:79 197.58:1:182706:81 198.90:1:183986:76 198.96:1:184044:77 202.67:1:187274:75
208.46:1:192712:79 210.72:1:194865:81 215.30:1:199151:77 217.96:1:201737:78 220.80:1:204311:78 220.88:1:204374:79
221.20:2:204593:72 227.65:1:209573:75 230.12:1:211817:78 234.11:1:215257:97 241.26:2:222732:73 241.29:1:222740:73
242.46:1:223970:83 248.91:1:230869:80 248.94:1:230890:72 250.06:1:231967:74 254.14:1:236065:80 254.23:1:236136:88
255.85:1:237640:67 260.27:1:241874:74 262.02:1:243562:67 264.94:1:246013:77 271.63:1:254280:88 271.75:1:254491:72
275.59:2:259288:90 275.62:2:259327:72 279.11:16:263396:92 279.66:2:263970:80 279.72:2:264036:81 281.69:1:265765:81
281.76:1:265823:80 281.83:1:265895:83 281.92:2:265937:78 286.15:2:268300:78 286.23:1:268361:78 289.82:1:270652:79
289.88:1:270663:80 290.42:1:270986:82 290.48:1:271021:82 291.26:1:271363:79 291.33:1:271376:83 298.41:1:275390:76
299.84:2:276436:69
""",
    ),
    log(
        "20260406_151819_tcp_cubic_uplink_server_test6",
        1775456299.584,
        """
1.18:2:459:85 4.26:1:2130:82 5.20:2:2623:80 11.04:1:6360:83 11.68:2:6812:77 12.53:1:7275:82 12.59:10:7298:81
12.62:2:7320:83 12.68:1:7333:83 12.97:3:7448:83 14.23:1:7984:84 22.86:1:14277:78 23.57:1:15010:76 23.66:11:15102:75
27.53:1:17563:82 30.91:1:20059:79 32.38:1:21041:83 35.70:7:23199:82 37.69:3:24511:84 38.87:1:25175:87 38.90:1:25179:85
42.27:2:26911:80 44.71:2:28294:94 45.09:2:28467:90 45.18:1:28504:84 49.53:2:30415:81 51.32:1:31323:81 54.43:1:32799:94
55.61:2:33343:90 59.60:1:35259:91 59.66:1:35312:87 59.69:1:35314:87 60.86:1:35873:91 60.95:1:35922:95
61.42:16:36073:96 66.37:1:38165:95 66.55:4:38214:95 66.58:5:38245:92 74.07:1:42361:84 77.41:1:45157:81
77.65:1:45340:76 77.71:3:45351:79 77.73:4:45398:84 80.79:1:47255:81 86.28:1:51299:81 90.89:1:55460:77 91.44:1:55903:80
91.65:2:56041:74 98.81:1:60954:84 99.49:1:61568:82 103.01:1:64617:85 105.30:2:66460:101 105.42:1:66542:98
107.00:1:67672:83 109.00:2:68727:146 109.08:15:68781:141 109.11:3:68784:136 109.17:18:68801:96 109.29:1:68819:103
112.72:1:70541:98 112.75:1:70555:99 112.81:15:70602:86 112.93:3:70637:107 113.08:12:70678:101 113.22:4:70695:95
113.25:3:70715:95 113.31:2:70717:94 113.34:5:70721:97 113.37:6:70725:103 113.55:1:70749:95 114.19:2:70859:107
114.22:2:70870:106 114.25:3:70873:102 114.28:3:70882:101 114.69:2:70940:89 116.07:1:71141:93 116.10:6:71157:91
116.13:2:71159:89 116.16:1:71160:87 116.33:1:71177:88 116.36:2:71185:89 116.66:2:71204:87 116.74:3:71214:87
116.83:2:71215:86 117.21:1:71231:101 117.24:2:71237:97 117.27:2:71239:95 117.51:2:71246:90 118.09:2:71262:103
118.50:1:71270:102 118.62:1:71274:102 119.38:1:71287:105 119.47:2:71292:104 119.56:1:71293:103 120.00:1:71303:94
120.09:1:71307:94 120.80:1:71322:96 120.85:2:71327:94 121.70:2:71354:101 121.73:1:71357:101 122.41:1:71377:98
122.50:2:71384:98 122.59:2:71387:95 122.88:2:71392:95 122.97:1:71398:93 123.23:1:71405:93 125.67:1:71584:91
125.70:3:71596:92 126.25:1:71655:97 126.43:1:71671:95 126.46:1:71675:95 126.52:2:71679:95 126.93:1:71698:94
126.96:1:71703:93 127.02:2:71707:89 134.15:1:73999:86 135.17:1:74641:87 135.23:1:74683:85 137.64:1:76085:76
137.67:9:76098:76 141.69:1:78845:81 141.75:1:78889:79 143.04:1:79697:86 144.63:1:80857:86 146.27:1:81984:83
147.80:2:82896:87 156.37:1:88963:99 157.69:2:90373:84 158.02:1:90718:78 158.11:1:90795:78 161.57:1:93806:75
162.57:1:94609:76 162.60:1:94613:75 167.65:1:98822:73 167.68:7:98831:71 167.70:1:98887:73 168.61:1:99592:79
169.67:1:100297:83 169.70:4:100306:80 173.66:1:102861:87 173.72:1:102906:83 175.16:1:103818:83 175.40:1:103963:77
175.45:1:103989:79 176.80:1:104545:75 178.04:1:105032:81 178.07:1:105035:81 178.12:1:105067:81 179.15:1:105404:82
179.18:1:105407:81 179.24:1:105433:80 179.48:1:105491:84 179.50:1:105496:81 181.26:1:105947:77 181.32:1:105966:77
182.23:1:106202:84 182.32:1:106219:85 183.70:1:106561:80 183.76:1:106577:80 185.64:1:107078:79 185.73:3:107096:79
194.12:1:111804:84 195.62:1:113193:93 198.09:1:115293:82 202.23:1:118777:83 203.40:2:119603:79 206.11:1:121351:79
208.57:2:123021:80 208.81:1:123176:85 214.00:1:126069:76 214.09:2:126122:78 215.82:2:127291:81 219.67:6:129682:74
223.57:1:132594:79 225.69:11:134119:69 230.71:1:137984:75 233.33:1:140344:75 233.65:1:140586:76 233.68:1:140603:74
235.70:1:141837:74 237.67:1:142970:79 237.73:13:143020:78 241.08:2:144991:76 241.16:2:145048:76 242.69:1:146005:79
242.78:1:146062:71 246.89:1:148692:89 247.01:3:148765:79 250.33:1:151129:83 255.38:1:156156:88 256.73:1:157706:97
256.82:2:157804:80 259.05:1:159934:89 259.17:1:160033:84 261.29:1:161900:86 263.13:7:163356:78 263.22:2:163429:77
263.75:1:163756:76 263.78:1:163770:76 263.84:1:163816:73 264.40:1:164091:82 264.43:1:164095:81 268.59:1:166165:87
268.65:1:166203:87 271.03:2:167655:76 271.70:3:168030:72 273.67:5:168973:73 273.70:3:168995:73 277.55:1:171196:95
279.69:2:172841:79 286.85:1:179414:73 286.94:1:179517:71 289.32:1:182109:76 289.41:2:182213:71 289.67:1:182419:78
295.81:1:187506:77 295.90:1:187596:73 298.48:1:190032:77
""",
    ),
    log(
        "20260411_153758_tcp_cubic_uplink_2",
        1775889479.176,
        """
1.33:2:600:91 2.46:1:1244:84 3.65:1:1845:84 3.68:1:1872:80 4.23:1:2076:81 6.09:1:2962:96 7.25:1:3483:84 7.29:1:3488:79
9.84:2:4581:83 10.93:2:5034:78 19.28:2:10545:78 19.58:1:10830:90 24.87:1:15561:82 26.49:1:17038:82 28.02:1:18179:125
28.46:1:18548:79 29.65:2:19380:70 29.75:2:19447:73 31.88:1:20783:80 34.30:1:22310:87 37.50:1:24358:80 39.45:1:25631:68
43.72:2:28387:87 45.77:1:29856:85 47.87:1:31245:73 51.16:1:33445:84 51.18:1:33463:79 53.95:1:35434:72 54.50:1:35776:74
62.94:1:42467:84 63.97:2:43674:69 65.63:1:45287:85 67.58:1:46902:68 67.71:1:47001:77 67.74:1:47030:69 73.47:1:50850:62
77.47:1:54464:68 79.62:1:56364:63 81.85:1:58270:69 83.29:1:59339:78 86.10:1:61268:70 90.17:2:64250:82 92.38:2:65914:78
96.14:2:68713:82 97.31:1:69558:80 97.34:1:69569:82 101.32:2:72460:76 105.37:2:75715:73 107.53:1:77465:80
112.95:1:82035:79 115.11:1:84068:73 119.82:1:88322:75 122.40:1:90853:85 123.92:1:92128:83 130.99:1:98184:82
133.00:1:100126:129 133.49:1:100636:73 133.57:1:100733:79 134.39:1:101389:76 134.85:1:101688:89 140.09:1:104948:90
141.27:1:105688:76 146.09:1:108867:77 150.16:1:111958:85 153.66:1:114731:85 157.33:1:117705:77 158.31:1:118392:83
164.76:1:123056:86 166.31:1:124276:80 172.65:1:129826:76 178.92:1:135995:124 179.06:1:136082:126 179.49:1:136330:121
179.63:1:136404:131 187.42:1:140207:129 187.54:2:140286:152 188.40:1:140723:125 192.04:1:142542:141 193.56:1:143610:77
194.09:1:144001:73 195.64:1:144959:72 196.62:1:145483:79 199.45:1:146967:79 200.36:1:147462:84 202.20:1:148317:82
206.03:1:150318:80 207.37:1:151071:78 209.96:1:152449:80 217.42:1:158035:79 220.88:1:161317:81 225.51:1:165183:103
226.14:1:165600:91 230.53:1:168003:100 234.49:1:170359:99 237.64:2:172180:99 237.89:1:172295:138 238.01:1:172337:145
239.11:1:172938:93 245.21:1:178687:73 246.22:1:180056:73 251.28:1:186259:72 253.68:1:189126:79 254.79:1:190325:75
259.95:1:195501:68 267.01:1:204031:72 267.70:1:204804:74 268.39:1:205381:71 272.14:2:208396:72 273.98:2:209906:74
279.92:1:215224:69 279.97:2:215313:66 280.08:1:215383:68 280.14:2:215443:71 282.97:1:217331:117 287.43:1:221597:80
289.34:1:223537:70 292.88:1:226978:71 293.52:1:227531:71 298.29:1:231298:78 298.43:2:231399:77 298.87:1:231636:74
298.90:1:231656:69
""",
    ),
    log(
        "20260413_104039_tcp_cubic_uplink_sh_single_test11",
        1776044443.803,
        """
0.82:2:455:71 1.58:1:1011:79 1.62:2:1039:66 3.00:1:1897:80 3.89:2:2326:82 7.12:2:3803:70 11.30:1:6378:70
11.83:1:6670:84 11.92:1:6718:87 17.32:1:9987:75 17.36:1:10022:75 22.11:1:13905:79 23.16:1:14694:75 24.51:1:15555:90
27.30:1:17245:78 28.44:1:17825:114 32.99:1:21682:72 36.09:2:24857:73 37.67:2:26297:72 41.57:1:29832:72
46.53:1:34971:61 50.00:1:38980:64 54.50:1:44286:60 55.65:1:45500:71 63.50:2:54358:73 65.27:1:56497:80 67.68:1:59241:71
72.16:1:64131:69 74.33:1:66515:60 76.04:1:68249:61 78.64:1:70520:62 78.70:1:70589:70 80.68:1:72237:68 82.77:1:73785:75
87.59:1:77816:62 88.35:1:78391:109 90.19:1:79314:95 90.92:2:79594:100 95.54:1:81470:99 99.77:1:83532:98
101.80:2:84499:101 103.25:31:85107:119 109.90:4:89775:77 109.98:1:89835:80 114.43:1:94012:77 117.16:5:96694:68
122.36:2:101688:83 124.78:1:104006:79 124.86:2:104071:87 128.67:1:107553:80 129.73:1:108440:80 130.02:1:108687:83
133.33:1:111397:134 133.70:1:111748:70 133.77:2:111825:69 134.00:1:111985:68 134.07:1:112040:73 137.96:1:114591:77
137.98:1:114635:78 144.26:6:119963:78 145.15:1:120708:78 145.19:6:120764:77 146.53:1:121736:70 154.01:1:127808:76
157.13:1:131062:78 159.62:1:133561:72 163.69:2:137435:68 163.75:2:137523:68 163.93:1:137643:71 163.97:1:137686:81
164.00:2:137706:79 167.67:1:140369:76 167.70:1:140416:77 168.43:1:140902:74 168.65:2:141035:73 173.52:2:143785:69
174.96:1:144730:72 178.66:1:147166:71 179.84:1:147946:79 179.90:3:147959:78 186.54:1:153006:75 188.90:1:155161:77
188.98:1:155222:78 192.19:1:157955:74 193.59:1:159046:74 194.17:1:159540:76 194.21:1:159590:73 194.25:2:159613:72
194.82:1:160004:68 194.87:2:160048:72 194.97:1:160103:76 195.05:1:160132:81 198.65:1:161896:78 198.71:1:161932:75
201.08:1:163213:86 201.14:2:163252:83 203.92:1:164854:78 203.95:1:164865:75 204.00:2:164907:80 205.68:1:165852:73
205.71:1:165862:72 206.41:1:166200:78 206.44:1:166224:79 210.45:1:168055:74 213.04:1:169970:86 218.88:1:174823:69
221.39:1:177056:97 224.48:1:179307:96 224.56:2:179356:92 224.81:1:179484:105 224.85:1:179487:101 232.46:1:183426:101
232.58:1:183514:112 234.76:1:185002:105 234.80:1:185016:101 235.19:1:185269:102 240.32:2:188393:81 246.81:1:194671:76
247.58:1:195402:66 248.67:1:196235:66 249.33:1:196652:69 256.09:1:201282:69 256.74:2:201792:77 262.07:1:205983:82
262.44:1:206261:72 265.68:1:208313:81 266.21:1:208713:80 272.96:1:213961:76 273.05:1:214049:80 274.85:2:215585:75
277.79:2:217888:83 281.83:2:221123:79 283.81:2:222646:73 284.50:1:223139:76 284.57:1:223184:79 287.81:2:225339:73
289.73:2:226677:77 293.60:1:229421:83 294.65:1:230148:79 294.68:1:230167:72 298.66:7:232852:67 298.70:3:232881:65
298.94:5:233014:71 298.97:9:233055:74 299.75:1:233424:74 299.77:2:233435:73 299.80:7:233461:69 299.89:1:233491:74
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
    """The losses of a log."""
    return losses(one.lost_at_s, one.counts, one.sent, one.first_edge_s)


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
    return flow["goodput_bps"] / 1e6, flow["retransmissions"], float(np.mean(smoothed_ms(found)))


def round_trips(seeds: range) -> None:
    """Prints how far smoothed round trips are from the recorded ones, with their medians shifted onto each other."""
    values = ("seoul-2026-fades", "seattle-2023")
    print(f"| upload | recorded, ms: 5, 50 and 95 % | {' | '.join(values)} |\n|---|---|---:|---:|")
    for one in LOGS:
        cells = []
        for name in values:
            own = keys_of(one.upload.name, {"values": name})
            ours = np.concatenate([smoothed_ms(whole(one.upload, own, seed, step=STEP)) for seed in seeds])
            shifted = ours + np.median(one.smoothed_ms) - np.median(ours)
            cells.append(f"{kolmogorov_smirnov(one.smoothed_ms, shifted):.3f}")
        recorded = ", ".join(f"{value:.0f}" for value in np.percentile(one.smoothed_ms, (5, 50, 95)))
        print(f"| `{one.upload.name}` | {recorded} | {' | '.join(cells)} |", flush=True)


def likelihood(seeds: range) -> None:
    """Prints the most likely length of fades, of each log and of uploads with fades of a known length."""
    print("| | gain | length, ms |\n|---|---:|---|")
    for one in LOGS:
        cells = likely(one.lost_at_s, one.counts, one.sent, one.first_edge_s, one.upload.length_s)
        print(f"| `{one.upload.name}` | {cells} |")
    upload = LOGS[0].upload
    for length_ms in (50, 150, 300):
        for seed in seeds:
            times_s, segments, first_edge_s = drops(upload, keys(length_ms), seed)
            cells = likely(times_s, np.ones(times_s.size), segments, first_edge_s, upload.length_s)
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
    parser.add_argument("--round-trips", action="store_true", help="Compare smoothed round trips.")
    given = parser.parse_args()
    seeds = range(1, 1 + given.seeds)
    if given.round_trips:
        round_trips(seeds)
        return
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
