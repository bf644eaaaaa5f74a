"""Writes the constellations of this study as elements, as Hypatia makes them: circular orbits, odd planes half a slot
ahead, epoch 2000-01-01 00:00 UTC.

    python studies/hypatia-paths/constellations.py
"""

from __future__ import annotations

import gzip
from datetime import datetime
from pathlib import Path

from skyhop.validate.route_pairs import two_lines

#: Planes, satellites in each, inclination in degrees, revolutions a day.
SHELLS = {"kuiper-630": (34, 34, 51.9, 14.80), "starlink-550": (72, 22, 53.0, 15.19)}


def main() -> None:
    for name, (planes, slots, inclination, motion) in SHELLS.items():
        lines = []
        for plane in range(planes):
            for slot in range(slots):
                phase = (slot + plane % 2 / 2) * 360 / slots
                elements = (inclination, plane * 360 / planes, 1e-7, 0.0, phase, motion)
                lines += two_lines(plane * slots + slot, datetime(2000, 1, 1), elements)
        text = "\n".join(lines) + "\n"
        file = Path(__file__).with_name(f"{name}.tle.gz")
        file.write_bytes(gzip.compress(text.encode("ascii"), 9, mtime=0))


if __name__ == "__main__":
    main()
