"""Starlink's points of presence (PoPs) from two public lists: which prefix serves which city, and which PoP has it.

The first is the operator's geofeed (RFC 8805: prefix,country,region,city), the second the names of addresses, which
carry the code of a PoP (customer.sttlwax1.pop.starlinkisp.net): four letters of a city, a state of the USA or a
country, and a number. Skyhop ships neither; ask for the terms of the list that you use.
"""

from __future__ import annotations

import csv
import functools
import io
import ipaddress
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from skyhop import _core
from skyhop.imports.distance import FIBRE_M_S, great_circle_m
from skyhop.imports.draft import Draft, ImportProblem, Wanted, seconds, text_of

#: A PoP's code in the name of an address: city, then state and x in the USA, else country; and a number.
_CODE = re.compile(r"\b([a-z]{4})(?:([a-z]{2})x|([a-z]{3}))(\d+)\.pop\.starlinkisp\.net\b", re.IGNORECASE)

_ARPA = re.compile(r"\b((?:\d{1,3}\.){4})in-addr\.arpa\b|\b((?:[0-9a-f]\.){32})ip6\.arpa\b", re.IGNORECASE)
_ADDRESS = re.compile(
    r"(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7})(?![\w.:])", re.IGNORECASE
)

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def fibre_km(great_circle_km: float) -> float:
    """Length of fibre: 1.5 times the distance up to 1000 km, 1500 km up to 1200 km, then 1.25 times (ITU-T Y.1541)."""
    if great_circle_km < 1000:
        return 1.5 * great_circle_km
    return max(1500.0, 1.25 * great_circle_km)


def read(sources: Sequence[Path], wanted: Wanted) -> Draft:
    """Files of PoPs and of the cities that they serve, and a scenario in which the PoPs are gateways.

    Raises ImportProblem for a list without a prefix, names without a code of a PoP, or PoPs of which no place is known.
    """
    if len(sources) != 2:
        raise ImportProblem("pops: two files, the geofeed (prefix,country,region,city) and the names of addresses")
    feed = list(_feed(text_of(sources[0]), sources[0].name))
    if not feed:
        raise ImportProblem(f"{sources[0].name} holds no prefix")
    names = dict(_names(text_of(sources[1])))
    if not names:
        raise ImportProblem(
            f"{sources[1].name} holds no address with a name such as customer.sttlwax1.pop.starlinkisp.net"
        )
    serves, unnamed, divided = _served(feed, names)
    places: dict[str, tuple[str, float, float]] = {}
    unplaced = []
    for code, cities in serves.items():
        place = _place(code, cities)
        if place is None:
            unplaced.append(code)
        else:
            places[code] = place
    if not places:
        raise ImportProblem(f"no city of the list has the letters of {', '.join(sorted(serves))}")
    rows, nowhere = ["city,country,pop,prefixes,great_circle_km,delay_ms"], 0
    for code in sorted(places):
        _, latitude, longitude = places[code]
        for (country, city), count in sorted(serves[code].items()):
            spot = _known(city, country)
            if spot is None:
                nowhere += 1
                continue
            km = _great_circle_km((latitude, longitude), spot)
            label = city.replace(",", " ")
            rows.append(f"{label},{country},{code},{count},{km:.0f},{1e6 * fibre_km(km) / FIBRE_M_S:.2f}")
    largest = max(places, key=lambda code: (sum(serves[code].values()), code))
    city, latitude, longitude = places[largest]
    wire: dict[str, Any] = {
        "to": "exchange",
        "rate": wanted.rate or "10 Gbit/s",
        "delay": {"fibre": {"to": city, "stretch": 1.5}},
    }
    sections = {
        "duration": wanted.duration or seconds(60.0),
        "profile": "linux",
        "constellation": {
            "preset": "starlink-1",
            "gsl": {"rate": "100 Mbit/s", "gateways": "bent-pipe"},
        },
        "stations": {"terminal": {"latitude": f"{latitude:.4f} deg", "longitude": f"{longitude:.4f} deg"}},
        "station_classes": {"pop": {"file": "pops.csv", "wire": wire}},
        "flows": [{"name": "download", "from": "exchange", "to": "terminal", "tcp": "cubic", "application": "ftp"}],
    }
    table = "name,latitude_deg,longitude_deg\n" + "".join(
        f"{code},{places[code][1]:.4f},{places[code][2]:.4f}\n" for code in sorted(places)
    )
    said = [f"{len(places)} PoPs serve {len(rows) - 1} cities; {len(feed)} prefixes, {unnamed} of them without a name."]
    if divided:
        said.append(f"Prefixes with addresses of several PoPs, of which that of the first address counts: {divided}.")
    if unplaced:
        said.append(f"No city of the list has the letters of {', '.join(sorted(unplaced))}: left out.")
    if nowhere:
        said.append(f"{nowhere} cities are not among the 1,000 largest, so they have no distance: left out.")
    said.append(
        "cities.csv has the one-way delay from each PoP to its cities: great circle, fibre 1.5 times as long up to "
        "1000 km and 1.25 times beyond 1200 km (ITU-T Y.1541), c / 1.468."
    )
    said.append("A PoP's city stands for its gateway, which stands elsewhere. Ask for the terms of the lists.")
    return Draft(sections, {"pops.csv": table, "cities.csv": "\n".join(rows) + "\n"}, tuple(said))


def _feed(text: str, name: str) -> Iterator[tuple[Network, str, str, str]]:
    """Prefix, country, region and city of each line."""
    for number, fields in enumerate(csv.reader(io.StringIO(text.lstrip("\ufeff"))), start=1):
        if not fields or not fields[0].strip() or fields[0].lstrip().startswith("#"):
            continue
        if len(fields) < 4:
            raise ImportProblem(f"{name}, line {number}: has {len(fields)} fields, not prefix,country,region,city")
        try:
            prefix = ipaddress.ip_network(fields[0].strip(), strict=False)
        except ValueError:
            raise ImportProblem(f"{name}, line {number}: {fields[0]!r} is not a prefix") from None
        yield prefix, fields[1].strip().upper(), fields[2].strip().upper(), fields[3].strip()


def _names(text: str) -> Iterator[tuple[Address, str]]:
    """Addresses with the code of their PoP: lines of dig, of nslookup, or of any table with both."""
    for line in text.splitlines():
        code = _CODE.search(line)
        if code is None:
            continue
        word = code[0].split(".", 1)[0].lower()
        if arpa := _ARPA.search(line):
            digits = (arpa[1] or arpa[2]).rstrip(".").split(".")[::-1]
            joined = ".".join(digits) if arpa[1] else ":".join("".join(digits[n : n + 4]) for n in range(0, 32, 4))
        elif found := _ADDRESS.search(line):
            joined = found[0]
        else:
            continue
        try:
            yield ipaddress.ip_address(joined), word
        except ValueError:
            continue


def _served(
    feed: Sequence[tuple[Network, str, str, str]], names: dict[Address, str]
) -> tuple[dict[str, Counter[tuple[str, str]]], int, int]:
    """Prefixes of each country and city by PoP, how many hold no named address, and how many those of several PoPs."""
    by_prefix: dict[Network, list[str]] = defaultdict(list)
    lengths: dict[int, set[int]] = defaultdict(set)
    for prefix, *_ in feed:
        lengths[prefix.version].add(prefix.prefixlen)
    for address, code in names.items():
        for length in lengths[address.version]:
            by_prefix[ipaddress.ip_network((address, length), strict=False)].append(code)
    serves: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    unnamed = divided = 0
    for prefix, country, _, city in feed:
        codes = by_prefix.get(prefix, [])
        unnamed += not codes
        divided += len(set(codes)) > 1
        if codes and city:
            serves[codes[0]][country, city] += 1
    return serves, unnamed, divided


def _place(code: str, cities: Counter[tuple[str, str]]) -> tuple[str, float, float] | None:
    """The commonest city that it serves with its letters in order, the first one first; name, latitude, longitude."""
    letters = code[:4]
    for (country, city), _ in cities.most_common():
        word = re.sub(r"[^a-z]", "", city.lower())
        rest = iter(word)
        if word[:1] == letters[:1] and all(letter in rest for letter in letters):
            spot = _known(city, country)
            if spot is not None:
                return f"{city}, {country}", *spot
    return None


@functools.cache
def _spots() -> dict[tuple[str, str], tuple[float, float]]:
    """Places by name in small letters and country; the larger of two comes first in the list."""
    found: dict[tuple[str, str], tuple[float, float]] = {}
    for name, country, latitude, longitude in _core.places():
        found.setdefault((name.lower(), country), (latitude, longitude))
    return found


def _known(city: str, country: str) -> tuple[float, float] | None:
    """Latitude and longitude of one of the cities that a scenario knows by name."""
    return _spots().get((city.lower(), country))


def _great_circle_km(a: tuple[float, float], b: tuple[float, float]) -> float:
    """Between two places in degrees."""
    (a_latitude, a_longitude), (b_latitude, b_longitude) = map(math.radians, a), map(math.radians, b)
    return great_circle_m((a_latitude, a_longitude), (b_latitude, b_longitude)) / 1e3
