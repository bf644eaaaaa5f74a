"""Writes benches/hypatia.toml and benches/starlink.toml: 100 of the largest cities, paired at random.

python benches/sky/workloads.py
"""

from __future__ import annotations

import random
from pathlib import Path

BENCHES = Path(__file__).parent.parent
PLACES = BENCHES.parent / "crates/scenario/data/places.csv"

HYPATIA = """\
# The load of Hypatia (Kassing et al., IMC 2020) in size: Telesat's polar shell, 27 x 13 satellites, 100 cities, each
# the sender of one NewReno flow and the receiver of another, all links 10 Mbit/s with room for 100 packets, everything
# renewed every 100 ms. Written by sky/workloads.py.
duration = "120 s"
profile = "rfc"
routing = { every = "100 ms" }

[constellation]
preset = "telesat-1"
isl = { rate = "10 Mbit/s", queue = { drop_tail = { packets = 100 } }, cross_seam = true, every = "100 ms" }

[constellation.gsl]
rate = "10 Mbit/s"
queue = { drop_tail = { packets = 100 } }
elevation_mask = "10 deg"
handover = { policy = "highest-elevation", every = "100 ms" }
"""

STARLINK = """\
# Starlink's first shell with 1,000 flows that share 1 Gbit/s: ten from each of 100 cities. Written by sky/workloads.py.
duration = "60 s"
profile = "rfc"

[constellation]
preset = "starlink-1"
isl = { rate = "10 Gbit/s", queue = { drop_tail = { packets = 1000 } } }

[constellation.gsl]
queue = { drop_tail = { packets = 200 } }
uplink = { rate = "12 Mbit/s" }
downlink = { rate = "100 Mbit/s" }
handover = { policy = "highest-elevation", every = "15 s", checks = { slots = { at = "12 s" } } }
"""


def cities(most_northern_deg: float) -> list[str]:
    """The 100 largest of different names that satellites of the shell see."""
    found: dict[str, str] = {}
    for line in PLACES.read_text().splitlines()[3:]:
        name, country, latitude, _ = line.split(",")
        key = "".join(c if c.isalnum() else "-" for c in name.lower())
        if abs(float(latitude)) < most_northern_deg:
            found.setdefault(key, f"{name}, {country}")
    return [f'{key} = {{ city = "{city}" }}' for key, city in list(found.items())[:100]]


def write(name: str, head: str, flows_each: int) -> None:
    """One workload; each city sends to the next of a random round."""
    stations = cities(60.0)
    text = [head, "[stations]", *stations]
    round_trip = [station.split(" ", 1)[0] for station in stations]
    random.Random(1).shuffle(round_trip)
    count = f"count = {flows_each}\n" if flows_each > 1 else ""
    for source, target in zip(round_trip, round_trip[1:] + round_trip[:1], strict=True):
        text.append(f'\n[[flows]]\nname = "from-{source}"\n{count}from = "{source}"\nto = "{target}"\ntcp = "newreno"')
    (BENCHES / name).write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    write("hypatia.toml", HYPATIA, 1)
    write("starlink.toml", STARLINK, 10)
