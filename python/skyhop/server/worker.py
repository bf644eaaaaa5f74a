"""One run in a process of its own: whatever happens to it happens to it alone.

Read from stdin: one line of JSON (`id`, `text`, `seed`, `folder`, `title`, `memory` in bytes), and later perhaps a line
`cancel`. In place of `text`, `packets` asks for the packets of a flow of the run in `folder`: `{"run": "<name>",
"flow": "a", "begin_s": 1.0, "end_s": 2.0, "file": "<path>"}`.
Written to stdout, one JSON object per line: `{"fraction": 0.25}` while it runs, with what the first flows did since the
line before: `"flows": ["a"], "point": [<simulated s>, [<goodput, bit/s>], [<cwnd, segments>]]`; at the end
`{"run": "<folder>"}`, `{"cancelled": true}` or `{"failed": "<why>"}`.
"""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import Any

from skyhop import _core, folders, packets
from skyhop.server import checks, limits

REPORT_EVERY_S = 0.1

_writing = threading.Lock()


def main() -> None:
    """Does what stdin says."""
    job = json.loads(sys.stdin.readline())
    # The engine adds up what the run takes and ends it in order. The tables that are written at the end come on top,
    # and whatever the engine does not see ends here.
    limits.limit_memory(job["memory"] * 3 // 2)
    progress = _core.Progress()
    finished = threading.Event()
    threading.Thread(target=_listen, args=(progress,), daemon=True).start()
    threading.Thread(target=_report, args=(progress, finished), daemon=True).start()
    try:
        outcome = _packets(job, progress) if job.get("packets") else _run(job, progress)
    except _core.Cancelled:
        outcome = {"cancelled": True}
    except (_core.ScenarioError, packets.NotTheRun) as error:
        outcome = {"failed": str(error)}
    except MemoryError as error:
        # The engine says more than Python, which says nothing.
        said = str(error)
        outcome = {"failed": f"{said[0].upper()}{said[1:]}." if said else limits.needs_more(job["memory"])}
    except OSError as error:
        outcome = {"failed": f"The run folder cannot be written: {error}"}
    except KeyboardInterrupt:
        outcome = {"failed": "Ctrl-C ended it."}
    except BaseException as error:
        # A panic of the engine is no Exception.
        outcome = {"failed": f"The engine broke off: {error}. That is a mistake of Skyhop, not of the scenario."}
    finished.set()
    _say(outcome)


def _run(job: dict[str, Any], progress: _core.Progress) -> dict[str, Any]:
    scenario = checks.read(job["text"], job.get("catalogues"))
    name = f"{scenario.hash[:12]}-{job['seed']}"
    # Begun before the run: an obstacle to the folder is known at once.
    with folders.staged(Path(job["folder"]) / name, "run") as staging:
        run = _core.run(scenario, seed=job["seed"], progress=progress, memory_bytes=job["memory"])
        run.write_into(staging)
        (staging / "title.txt").write_text(job["title"], encoding="utf-8")
    return {"run": name}


def _packets(job: dict[str, Any], progress: _core.Progress) -> dict[str, Any]:
    wanted = job["packets"]
    rows = packets.record(
        Path(job["folder"]), wanted["flow"], begin_s=wanted["begin_s"], end_s=wanted["end_s"], progress=progress,
        memory_bytes=job["memory"], files=[],
    )  # fmt: skip
    file = Path(wanted["file"])
    file.parent.mkdir(exist_ok=True)
    folders.write(file, packets.as_parquet(rows))
    return {"run": wanted["run"]}


def _listen(progress: _core.Progress) -> None:
    """Ends the run at a line from the server, and when the server is gone."""
    sys.stdin.readline()
    progress.cancel()


def _report(progress: _core.Progress, finished: threading.Event) -> None:
    before_s, before = 0.0, list[int]()
    while not finished.wait(REPORT_EVERY_S):
        report: dict[str, Any] = {"fraction": progress.fraction}
        now_s, flows = progress.glance()
        if now_s > before_s and flows:
            delivered = [bytes_ for _, bytes_, _ in flows]
            before = before or [0] * len(flows)
            goodput = [8 * (now - then) / (now_s - before_s) for now, then in zip(delivered, before, strict=True)]
            report["flows"] = [name for name, _, _ in flows]
            report["point"] = [now_s, goodput, [cwnd for _, _, cwnd in flows]]
            before_s, before = now_s, delivered
        _say(report)


def _say(what: dict[str, Any]) -> None:
    with _writing:
        sys.stdout.write(json.dumps(what) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
