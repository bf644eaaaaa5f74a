"""The `cases.csv` of a folder of recordings: what each is, where it was made, which way a transfer went."""

from __future__ import annotations

import csv
import math
import re
from dataclasses import dataclass
from pathlib import Path

from skyhop import folders
from skyhop.starlink.recordings import UNIX_TIMES_S

#: Columns that a `cases.csv` of this kind needs; all others may be absent, and may be empty.
NEEDED = ("recording", "kind")

#: Values of the column `kind`.
ROUND_TRIPS = ("ping", "ping-text", "ping-csv", "irtt", "irtt-json")
TRANSFERS = ("iperf3", "iperf3-json")


#: Words of the column `path` that stand for links between satellites.
_OF_ISLS = frozenset(("isl", "isls", "laser", "lasers", "crosslink", "crosslinks"))


@dataclass(frozen=True)
class Case:
    """A row of `cases.csv`. Empty where it says nothing."""

    recording: str
    kind: str
    place: tuple[str, str, str]
    """Latitude, longitude and path: recordings of one place share what is known of its delay."""
    direction: str
    """`up`, `down` or empty."""
    control: str
    """In small letters."""
    flows: int | None
    start_unix_s: float | None

    @property
    def is_over_isls(self) -> bool:
        """Whether the column `path` names links between satellites, as "ISLs", "laser links" or "inter-satellite" do;
        not "no-isl"."""
        return self._names_isls and not {"no", "non", "not", "without"}.intersection(self._words)

    @property
    def names_a_path(self) -> bool:
        """Whether the column `path` names links between satellites, or that there are none, or a bent pipe."""
        bent = "".join(self._words)
        return self._names_isls or "bentpipe" in bent or "transparent" in bent

    @property
    def _words(self) -> list[str]:
        return re.split(r"[^a-z]+", self.place[2])

    @property
    def _names_isls(self) -> bool:
        return bool(_OF_ISLS.intersection(self._words)) or "intersat" in "".join(self._words)


def cases(root: Path) -> list[Case]:
    """Reads a folder's `cases.csv`. Raises ValueError that says the line and what would be right."""
    file = root / "cases.csv"
    try:
        with file.open(newline="", encoding="utf-8-sig") as text:
            reader = csv.DictReader(text, skipinitialspace=True)
            reader.fieldnames = [name.strip() for name in reader.fieldnames or ()]
            if missing := [name for name in NEEDED if name not in reader.fieldnames]:
                raise ValueError(f"{file}: has no column {missing[0]}; its columns are {', '.join(reader.fieldnames)}")
            rows = [({key: (value or "").strip() for key, value in row.items() if isinstance(key, str) and not
                      isinstance(value, list)}, reader.line_num) for row in reader]  # fmt: skip
    except OSError as error:
        raise ValueError(folders.said(error)) from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{file}: {error}") from None
    if not rows:
        raise ValueError(f"{file}: has no recording")
    return [_case(row, f"{file}, line {line}") for row, line in rows]


def _case(row: dict[str, str], where: str) -> Case:
    kind = row["kind"].lower()
    if kind not in ROUND_TRIPS + TRANSFERS:
        known = ", ".join(ROUND_TRIPS + TRANSFERS)
        raise ValueError(f"{where}: the kind {row['kind']!r} is not known; these are: {known}")
    said = row.get("direction", "").lower()
    directions = {"": "", "both": "", "up": "up", "upload": "up", "uplink": "up", "down": "down", "download": "down",
                  "downlink": "down"}  # fmt: skip
    if said not in directions:
        raise ValueError(f"{where}: the direction {said!r} is not known; write up, down or both")
    flows = _number(row, "flows", where)
    start_unix_s = _number(row, "start_unix_s", where)
    if start_unix_s is not None and not UNIX_TIMES_S[0] <= start_unix_s <= UNIX_TIMES_S[1]:
        raise ValueError(f"{where}: start_unix_s is {row['start_unix_s']!r}, which is not a Unix time in seconds")
    return Case(
        recording=row["recording"],
        kind=kind,
        place=(row.get("latitude_deg", ""), row.get("longitude_deg", ""), row.get("path", "").lower()),
        direction=directions[said],
        control=row.get("control", "").lower(),
        flows=None if flows is None else round(flows),
        start_unix_s=start_unix_s,
    )


def _number(row: dict[str, str], key: str, where: str) -> float | None:
    if not (text := row.get(key, "")):
        return None
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{where}: {key} is {text!r}, which is not a number")
    return number
