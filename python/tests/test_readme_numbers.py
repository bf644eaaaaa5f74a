"""Every number in a study's README is generated, stands in the study's files, or is stated here with its source.

Numbers that people type go stale when the engine changes. Outside the generated parts and quotations of the paper a
README may hold numbers that one of the study's TOML files has (settings, printed values), and those of STATED: results
of a formula, which the test computes, and numbers of somebody else. Whole numbers up to ten are not looked at: they
count things.
"""

from __future__ import annotations

import gzip
import json
import math
import re
from collections import Counter
from statistics import mean

import pytest
from conftest import ROOT

from skyhop import api, prose, studies, sweeps

NUMBER = re.compile(r"(?<![\w.#/§])\d+(?:,\d{3})*(?:\.\d+)?(?:e[−-]?\d+)?")

PAPER = "the paper"
HYPATIA = "paper/satellite_networks_state of snkas/hypatia"
NS2 = "a run of ns-2, with the command that the README names"
#: The sums of losses are those of its Figure5/Fig5.py.
ROAD = "the first rows of Figure7's one flow over Roam in Starlink-Project/Satellite-vs-Cellular"
SECONDS = "`python benches/sky/starlink_road.py DATA`, in docs/models/starlink-road.md"
#: Most numbers of sections "What is ambiguous" say what the paper prints or what ns-2 did.
Stated = dict[str, str | float]


def _argo_load(rate_bps: float) -> float:
    """Per cent of what the channel carries while the satellite is in sight of the data centre and the floats send."""
    passes = json.loads(api.scenario(ROOT / "studies/argo-floats/scenario.toml").passes_json())
    (end_s,) = (one["set_s"] for one in passes if one["station"] == "majuro")
    return 100 * 71 * 100e3 * 8 / (rate_bps * (end_s - 2546))


def _been_size(rate: float) -> int:
    """Equation 1 with a header of 40 B, whole bytes; the rate is that of bits."""
    return int(math.sqrt(320 / rate) / 8)


def _runs() -> int:
    """Runs of all studies without their long parts."""
    found = [studies.load(ROOT / "studies" / name) for name in studies.names(ROOT / "studies")]
    of_parts = sum(len(part.cells) * len(part.seeds) for one in found for part in one.parts if not part.long)
    grids = [sweeps.load(sweep.file) for one in found for sweep in one.sweeps if not sweep.long]
    return of_parts + sum(len(grid.cells) * len(grid.seeds) for grid in grids)


def _bit_rate(byte_rate: float) -> float:
    return 1 - (1 - byte_rate) ** (1 / 8)


def _cubic_mbps(rtt_s: float, *, reno: bool, p: float = 1 - 0.995**2) -> float:
    """RFC 9438, section 5.1 or the Reno-friendly window of section 4.3; usually 0.5 % of loss on each of two links."""
    window = math.sqrt(1.5 / p) if reno else (0.4 * 3.7 / (4 * 0.3)) ** 0.25 * (rtt_s / p) ** 0.75
    return window * 1448 * 8 / rtt_s / 1e6


STATED: dict[str, Stated] = {
    "argo-floats": {
        "3,627": PAPER,
        "3,600": PAPER,
        "14": "floats.py: REACH_DEG",
        "25": "Argo's floats come up every ten days for some ten hours",
        "41": _argo_load(256e3),
        "83": _argo_load(128e3),
        "166": _argo_load(64e3),
    },
    "been-packet-size": {
        "0.99": 1 - 1e-2,
        "640": 80 * 8,
        "0.0016": 0.99**640,
        "622": 0.99**-640,
        "0.146": 0.999 ** (240 * 8),
        "0.869": 0.999**140,
        "0.914": 0.999**90,
        "0.787": 0.999**240,
        "0.655": 0.999**240 * 200 / 240,
        "1.25e-4": _bit_rate(1e-3),
        "199": _been_size(_bit_rate(1e-3)),
        "632": _been_size(_bit_rate(1e-4)),
        "223": _been_size(1e-4),
        "263": _been_size(1e-4) + 40,
        "220": int(20 + math.sqrt(400 - 40 / math.log(1 - 1e-3))),
        "2e-7": 0.99**1540,
        "0.4475": 0.99**80,
        "44.8": 100 * 0.99**80,
        "0.33": 1 - 0.99**40,
        "65.8": NS2,
        "24.5": NS2,
        "21.2": NS2,
        "0.0003": NS2,
        "0.001": NS2,
        "0.05": NS2,
        "0.45": NS2,
    },
    "cve-cloud": {
        "19": 1000 * 120 * 8 / 0.05 / 1e6,
        "104": 2e6 / (120 * 8 / 0.05),
        "1.1": "tcplib's mean gap, Danzig and Jamin 1991",
        "14": "ns-2's tcplib-telnet.h",
        "0.12": "the least value of the formula of Paxson and Floyd as it is cut",
        "10,000": "ns-2's tcplib-telnet.h",
        "21": "a number in the paper's list of references",
    },
    "geo-terrestrial": {"53.3": 2e3 * 0.4 / 15, "2.08": 4.16 / 2, "4.16": 1040 * 8 / 2e3, "1992": "a year"},
    "hypatia-paths": {
        "15.19": HYPATIA,
        "550": HYPATIA,
        "509": (398_600.8 / (15.19 * 2 * math.pi / 86_400) ** 2) ** (1 / 3) - 6378.135,
        "15.05": 86_400 / (2 * math.pi) * math.sqrt(398_600.8 / (6378.135 + 550) ** 3),
        "1089.7": math.hypot(940.7, 550),
    },
    "iridium-vegas-reno-bic": {
        "1487": 1756.26 * 20.32 / 3 / 8,
        "1569": 1610.3 * 23.39 / 3 / 8,
        "33": NS2,
        "66": PAPER,
        "780": PAPER,
        "86.4": PAPER,
        "31.6": PAPER,
        "60": PAPER,
        "77": NS2,
        "92": NS2,
        "116": NS2,
        "78.4": NS2,
        "77.0": NS2,
        "78.1": NS2,
        "77.66": NS2,
        "78.21": NS2,
        "22": PAPER,
    },
    "paths-against-fibre": {"550": "the preset's shell, FCC 21-48", "1,584": 72 * 22},
    "starlink-in-motion": {
        "180": 192 - 12,
        "135": "the profile's median rate down, docs/models/starlink.md",
        "1.35": (0.5 + 3 + 10) / 10,
        "20": 1e3 * 0.5 / (90 / 3.6),
        "90": "a speed",
        "2023": "a year",
        "28": "a day",
        "535": ROAD,
        "24": ROAD,
        "138.0": SECONDS,
        "15.1": SECONDS,
        "1.52": SECONDS,
        "2.33": SECONDS,
        "0.89": 100 * 671 / 75_382,
        "0.24": 100 * 210 / 88_982,
        "1.37": 100 * 980 / 71_322,
    },
    "starlink-trace": {"30": "the recording, below", "73": "the recording, below", "119.98": 120 - 2 * 0.01},
    "todays-tcp-in-the-sky": {
        "0.44": _cubic_mbps(0.587, reno=False),
        "0.61": _cubic_mbps(0.2335, reno=True),
        "1.3": _cubic_mbps(0.108, reno=True),
        "21": _cubic_mbps(0.11, reno=False, p=1e-4),
        "234": "the smallest round trip over Iridium, ms",
        "87": (233.5 / 25) ** 2,
        "2.89": 2 / math.log(2),
        "0.5": 100 * 0.005,
        "0.2": "LeoCC's PROBE_RTT, s",
        "90": "the rule of the table's last column, 0.9",
    },
    "yam-fairness": {"40": "ns-2's default header", "0.97": PAPER},
}


#: docs/findings.md, which speaks of all studies.
FINDINGS: Stated = {"8,500": round(_runs(), -2), "1.37": STATED["starlink-in-motion"]["1.37"]}


def typed(text: str) -> str:
    """The text without what is generated, quoted from the paper, or code."""
    for pattern in (
        r"<!-- results:.*?<!-- end of results -->", r"<!-- table = .*?<!-- end of table -->", r"<!-- = .*?<!-- / -->",
        r"^```.*?^```", r"`[^`]*`", r"“[^”]*”", r"\]\([^)]*\)",
    ):  # fmt: skip
        text = re.sub(pattern, "", text, flags=re.DOTALL | re.MULTILINE)
    # The level of an interval ("95 % interval"), and places in other texts.
    return re.sub(r"95 % intervals?|§\S+|sections? [\d.]+|[Ff]igures? \d+(?: (?:to|and) \d+)?|Table \w+", "", text)


def value(text: str) -> float:
    return float(text.replace(",", "").replace("−", "-"))


def unsupported(text: str, files: str, stated: Stated) -> list[str]:
    """The numbers of a README that neither its files nor `stated` have, and formulas that give another value."""
    known = {value(one) for one in NUMBER.findall(files)}
    found = []
    for one in dict.fromkeys(NUMBER.findall(typed(text))):
        if one in stated:
            computed = stated[one]
            mantissa, _, exponent = one.replace("−", "-").partition("e")
            unit = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
            if isinstance(computed, float | int) and abs(computed - value(one)) > 0.5000001 * unit:
                found.append(f"{one}: the formula gives {computed:.6g}")
        elif value(one) not in known and not (value(one) <= 10 and value(one) == int(value(one))):
            found.append(one)
    return found


def test_a_number_that_nobody_computes_is_found() -> None:
    text = "Of 12 `13 %` “14” <!-- = x@y -->15<!-- / --> stay 16.5 % and 0.44, 95 % interval.\n"
    assert unsupported(text, "a = 12", {"0.44": 0.99**80}) == ["16.5", "0.44: the formula gives 0.447523"]
    assert unsupported(text, "a = [12, 16.5]", {"0.44": PAPER}) == []


@pytest.mark.parametrize("name", studies.names(ROOT / "studies"))
def test_every_number_of_a_readme_has_a_source(name: str) -> None:
    folder = ROOT / "studies" / name
    files = "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.toml")))
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert prose.results_part(folder / "README.md")
    stated = STATED.get(name, {})
    assert unsupported(text, files, stated) == [], "generate it (<!-- = … -->), or state its source in this test"
    unused = [one for one in stated if one not in NUMBER.findall(typed(text))]
    assert unused == [], "stated, but not in the README"


def test_what_the_readme_says_of_the_recording_is_so() -> None:
    (folder,) = studies.load(ROOT / "studies/starlink-trace").needs
    recording = ROOT / "studies/starlink-trace" / folder
    if not recording.exists():
        pytest.skip("no recording in ../shared/data/starlink-trace")
    with gzip.open(recording / "uplink-opportunities-ms.txt.gz", "rt", encoding="ascii") as file:
        seconds = [int(line) // 1000 for line in file]
    bits = [count * 1504 * 8 for second, count in sorted(Counter(seconds).items()) if second < 120]
    assert (len(bits), round(min(bits) / 1e6), round(max(bits) / 1e6)) == (120, 30, 73)
    assert round(sum(bits) / 120 / 1e6, 1) == 48.9
    delays = [float(line) for line in (recording / "one-way-delay-ms.txt").read_text(encoding="ascii").split()]
    assert (len(delays), min(delays), max(delays), round(mean(delays), 1)) == (11999, 7, 68, 10.7)


def test_every_number_of_the_findings_has_a_source() -> None:
    files = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "studies").rglob("*.toml")))
    text = (ROOT / "docs/findings.md").read_text(encoding="utf-8")
    assert unsupported(text, files, FINDINGS) == [], "generate it (<!-- = study :: … -->), or state its source"
