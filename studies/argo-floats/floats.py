"""Writes scenario.toml: floats of the Pacific around Majuro and the one satellite that passes over them.

    python studies/argo-floats/floats.py > studies/argo-floats/scenario.toml

Argo wants one float per 3 degrees of latitude and longitude; the array of 3,627 has one per 100,000 km^2 of sea. Here
is one at a random place in each such square within reach. A float begins to send when the satellite has risen for it
and for the data centre.
"""

from __future__ import annotations

import json
import math
import random

from skyhop import api

CENTRE = (7.09, 171.38)  # Majuro
REACH_DEG = 14.0
STEP_DEG = 3.0
HEAD = """\
# Floats on the sea send what they have measured over one passing satellite to a data centre on Majuro. The matrix sets
# the TCP and the rate of the channel. Written by floats.py.
duration = "3300 s"
profile = "rfc"

[constellation]
# Aquarius/SAC-D: 657 km, 98 degrees (Lagerloef et al., Oceanography 21, 2008). One satellite.
shells = [{ name = "aquarius", planes = 1, per_plane = 1, altitude = "657 km", inclination = "98 deg" }]

[constellation.gsl]
elevation_mask = "10 deg"
handover = { policy = "until-below-mask", checks = "exact" }
# A float has an uplink of its own; what they share is the channel behind it.
uplink = { rate = "128 kbit/s", queue = { drop_tail = { packets = 100 } }, errors = [{ packet = 0.01 }] }
downlink = { rate = "256 kbit/s", queue = { drop_tail = { packets = 50 } } }

[records]
grid = "20 s"

"""
FLOW = """\

[[flows]]
name = "float-{number}"
from = "float-{number}"
to = "majuro"
tcp = {{ name = "reno", mss = "500 B" }}
application = {{ files = {{ sizes = ["100 kB"] }} }}
jitter = "20 ms"
start = "{start:.0f} s"
"""


def places() -> list[tuple[float, float]]:
    """One place per square that lies within reach of the centre."""
    draw = random.Random(3627)
    found = []
    steps = math.ceil(REACH_DEG / STEP_DEG)
    for i in range(-steps, steps + 1):
        for j in range(-steps, steps + 1):
            latitude = CENTRE[0] + STEP_DEG * (i + draw.random() - 0.5)
            longitude = CENTRE[1] + STEP_DEG * (j + draw.random() - 0.5)
            if distance_deg(CENTRE, (latitude, longitude)) <= REACH_DEG:
                found.append((latitude, longitude))
    return found


def distance_deg(a: tuple[float, float], b: tuple[float, float]) -> float:
    """Along the great circle."""
    lat_a, lat_b, d = math.radians(a[0]), math.radians(b[0]), math.radians(a[1] - b[1])
    cosine = math.sin(lat_a) * math.sin(lat_b) + math.cos(lat_a) * math.cos(lat_b) * math.cos(d)
    return math.degrees(math.acos(min(1.0, cosine)))


def station(name: str, place: tuple[float, float]) -> str:
    longitude = (place[1] + 180) % 360 - 180
    return f'{name} = {{ latitude = "{place[0]:.2f} deg", longitude = "{longitude:.2f} deg" }}\n'


def main() -> None:
    floats = places()
    text = HEAD + "[stations]\n" + station("majuro", CENTRE)
    text += "".join(station(f"float-{number}", place) for number, place in enumerate(floats))
    seen = passes(text)
    for number in range(len(floats)):
        both = [
            max(a[0], b[0])
            for a in seen["majuro"]
            for b in seen[f"float-{number}"]
            if max(a[0], b[0]) < min(a[1], b[1])
        ]
        if both:
            text += FLOW.format(number=number, start=math.ceil(both[0]) + 1)
    print(text, end="")


def passes(text: str) -> dict[str, list[tuple[float, float]]]:
    """When the satellite is in sight, by station."""
    found: dict[str, list[tuple[float, float]]] = {}
    for one in json.loads(api.scenario(text + FLOW.format(number=0, start=1)).passes_json()):
        found.setdefault(one["station"], []).append((one["rise_s"], one["set_s"]))
    return found


if __name__ == "__main__":
    main()
