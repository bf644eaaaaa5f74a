"""What each queue discipline costs: packets per CPU second over one link, at 90 and at 120 % load, beside drop tail.

    .venv/bin/python benches/queue_cost.py [--turns 5] [--renew]

Ten flows of UDP packets at random instants share a link of 100 Mbit/s for 20 s. The disciplines run in turn, and a
turn begins and ends with drop tail; the ratio is that to the mean of the turn's two runs of drop tail. CPU time is
that of the process during the run, set-up and records included. `--renew` writes the table into docs/performance.md.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

from skyhop import api

PAGE = Path(__file__).resolve().parents[1] / "docs" / "performance.md"
BEGIN = "<!-- queue disciplines: written by `.venv/bin/python benches/queue_cost.py --renew` -->"
END = "<!-- end of queue disciplines -->"

RATE = 100e6
PACKET = 1000
FLOWS = 10
DURATION_S = 20
LOADS = (0.9, 1.2)

#: The settings that a discipline cannot do without; all else is its default.
DISCIPLINES: dict[str, str] = {
    "drop_tail": "{ drop_tail = { packets = 1000 } }",
    "codel": '"codel"',
    "fq_codel": '"fq_codel"',
    "pie": '"pie"',
    "fq_pie": '"fq_pie"',
    "dualpi2": '"dualpi2"',
    "sch_red": '{ sch_red = { limit = "1 MB", min = "100 kB", max = "300 kB", packet = "1000 B" } }',
    "tbf": '{ tbf = { rate = "99 Mbit/s", burst = "50 kB", limit = "1 MB" } }',
    "sfq": '"sfq"',
    "drr": "{ drr = { classes = [{}, {}], map = [0, 1] } }",
    "prio": '"prio"',
    "fq": '"fq"',
    "cake": '"cake"',
}


def scenario(queue: str, load: float) -> str:
    """The scenario of a discipline and a load; packets have 28 B of headers beside their payload."""
    rate = load * RATE / FLOWS * PACKET / (PACKET + 28)
    flows = "".join(
        f'[[flows]]\nname = "f{number}"\nfrom = "a"\nto = "b"\nudp = {{}}\nclass = {number % 2}\n'
        f'application = {{ poisson = {{ rate = "{rate:.0f} bit/s", payload = "{PACKET} B" }} }}\n'
        for number in range(FLOWS)
    )
    link = (
        f'[[links]]\nbetween = ["a", "b"]\nrate = "{RATE:.0f} bit/s"\ndelay = "10 ms"\n'
        f"forward = {{ queue = {queue} }}\n"
    )
    return f'duration = "{DURATION_S} s"\n{link}{flows}'


def rate_of(queue: str, load: float) -> float:
    """Packets offered to the link per CPU second."""
    built = api.scenario(scenario(queue, load))
    begin = time.process_time()
    run = api.run(built, seed=1)
    spent = time.process_time() - begin
    return float(run.flows["packets_sent"].sum()) / spent


def measure(turns: int) -> dict[str, dict[float, tuple[float, float, float, float]]]:
    """Of each discipline and load: the median rate, and the median, smallest and largest ratio to drop tail."""
    found: dict[str, dict[float, tuple[float, float, float, float]]] = {name: {} for name in DISCIPLINES}
    for load in LOADS:
        rates: dict[str, list[float]] = {name: [] for name in DISCIPLINES}
        ratios: dict[str, list[float]] = {name: [] for name in DISCIPLINES}
        for _ in range(turns):
            turn = {name: rate_of(queue, load) for name, queue in DISCIPLINES.items()}
            again = rate_of(DISCIPLINES["drop_tail"], load)
            base = (turn["drop_tail"] + again) / 2
            for name, rate in turn.items():
                rates[name].append(rate)
                ratios[name].append(rate / base)
        for name in DISCIPLINES:
            mine = ratios[name]
            found[name][load] = statistics.median(rates[name]), statistics.median(mine), min(mine), max(mine)
    return found


def table(found: dict[str, dict[float, tuple[float, float, float, float]]]) -> str:
    """The rows as Markdown."""
    heads = "".join(f" million packets per CPU second, {load:.0%} load | of drop tail |" for load in LOADS)
    lines = ["| discipline |" + heads.replace("%", " %"), "|---|" + "---:|---:|" * len(LOADS)]
    for name, loads in found.items():
        cells = "".join(
            f" {rate / 1e6:.2f} | {ratio:.2f} ({least:.2f}–{most:.2f}) |" for rate, ratio, least, most in loads.values()
        )
        lines.append(f"| `{name}` |{cells}")
    return "\n".join(lines)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--renew", action="store_true")
    options = parser.parse_args()
    if options.turns < 1:
        sys.exit("--turns: at least 1")
    text = table(measure(options.turns))
    print(text)
    if options.renew:
        page = PAGE.read_text(encoding="utf-8")
        if BEGIN not in page or END not in page:
            sys.exit(f"{PAGE} has no block for the table")
        before, rest = page.split(BEGIN, 1)
        PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END, 1)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
