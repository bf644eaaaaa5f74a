"""Distances on the ground, and light in fibre."""

from __future__ import annotations

import math

#: Mean radius of the Earth, m.
_EARTH_M = 6_371_008.8

#: Speed of light in fibre, m/s: the refractive index of G.652 fibre at 1550 nm is 1.468.
FIBRE_M_S = 299_792_458.0 / 1.468


def great_circle_m(a: tuple[float, float], b: tuple[float, float]) -> float:
    """Along the great circle between two places, by the haversine. Latitudes and longitudes are in radians."""
    half = math.sin((b[0] - a[0]) / 2) ** 2 + math.cos(a[0]) * math.cos(b[0]) * math.sin((b[1] - a[1]) / 2) ** 2
    return 2 * _EARTH_M * math.asin(math.sqrt(half))
