"""What a run of a sweep or study costs, step by step: medians of fifteen, in milliseconds.

.venv/bin/python benches/run_cost.py studies/cve-cloud/beside-udp.toml flows.user.count=1000 flows.udp.count=10
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

from skyhop import api, sweeps
from skyhop.kept import Keep

TURNS = 15


def steps(file: Path, overrides: list[str]) -> dict[str, float]:
    """Seconds of wall time by step of one run."""
    scenario = api.scenario(file, overrides=overrides)
    metrics = {metric.name: metric for metric in sweeps.WHOLE}
    with tempfile.TemporaryDirectory() as folder:
        keep = Keep(Path(folder))
        begin = time.perf_counter()
        run = api.run(scenario, seed=1)
        ran = time.perf_counter()
        kept = keep.add(run)
        written = time.perf_counter()
        sweeps.measure_all(kept, metrics)
        end = time.perf_counter()
    simulation = float(run.manifest["wall_time_s"])
    return {
        "simulation": simulation,
        "handing over": ran - begin - simulation,
        "tables, their hash and files": written - ran,
        "measures": end - written,
        "all": end - begin,
    }


def main() -> None:
    """Takes the scenario and its overrides from the command line."""
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    turns = [steps(Path(sys.argv[1]), sys.argv[2:]) for _ in range(TURNS)]
    for step in turns[0]:
        print(f"{step:30}{1e3 * statistics.median(turn[step] for turn in turns):8.1f}")


if __name__ == "__main__":
    main()
