"""RTT over time between two cities over Starlink's first shell, as a figure: `docs/models/paris-moscow.svg`.

`python benches/sky/rtt_over_time.py`; needs cargo and matplotlib.
"""

from __future__ import annotations

import itertools
import json
import math
import subprocess
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).resolve().parents[2]
PARIS, MOSCOW = (48.8566, 2.3522), (55.7558, 37.6173)
QUESTION = {
    "op": "delays",
    "preset": "starlink-1",
    "stations_deg": [PARIS, MOSCOW],
    "mask_deg": 25.0,
    "step_s": 0.1,
    "until_s": 200.0,
}


def great_circle_km() -> float:
    """On a sphere of 6371 km."""
    (a, b), (c, d) = [[math.radians(x) for x in place] for place in (PARIS, MOSCOW)]
    return 6371.0 * math.acos(math.sin(a) * math.sin(c) + math.cos(a) * math.cos(c) * math.cos(b - d))


def ask(questions: list[dict[str, object]]) -> list[list[list[object]]]:
    """For each question time, delay (or nothing) and path."""
    command = ["cargo", "run", "--release", "--quiet", "-p", "skyhop-topology", "--example", "sky_oracle"]
    text = "\n".join(json.dumps(question) for question in questions)
    out = subprocess.run(command, cwd=ROOT, input=text, capture_output=True, text=True, check=True)
    return [json.loads(line)["delays"] for line in out.stdout.splitlines()]


def main() -> None:
    """Ask and draw."""
    plt.rcParams |= {"svg.hashsalt": "skyhop", "font.size": 9}
    figure, axes = plt.subplots(figsize=(6.4, 2.8))
    fibre = 2e3 * great_circle_km() / 299792.458
    lines = [
        ("one antenna, highest satellite", 1, "#1f77b4"),
        ("an antenna for every satellite in sight", 32, "#d62728"),
    ]
    answers = ask([QUESTION | {"antennas": antennas} for _, antennas, _ in lines])
    for (label, _, colour), rows in zip(lines, answers, strict=True):
        for _, run in itertools.groupby(rows, key=lambda row: row[2]):
            points = [(t, 2e3 * delay_s) for t, delay_s, _ in run if delay_s is not None]
            # A line breaks where the path changes.
            axes.plot(*zip(*points, strict=True), color=colour, linewidth=1.6, label=label)
            label = None
        values = [2e3 * row[1] for row in rows if row[1] is not None]
        changes = sum(a[2] != b[2] for a, b in itertools.pairwise(rows))
        print(f"{min(values):.2f} to {max(values):.2f} ms, {changes} changes of path, great circle {fibre:.2f} ms")
    axes.axhline(fibre, color="0.6", linewidth=0.8, linestyle="--", label="great circle at c")
    axes.set(xlabel="time (s)", ylabel="RTT (ms), propagation", xlim=(0, 200), ylim=(0, 115))
    axes.legend(loc="upper left", frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(ROOT / "docs" / "models" / "paris-moscow.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
