"""Runs that were started from the page: a process each, a few at a time, with progress, cancel, and limits of time and
memory.
"""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections import OrderedDict
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from skyhop.server import limits, process

State = Literal["waiting", "running", "done", "failed", "cancelled"]

#: A line from a worker is short; more than that is none of ours.
_LONGEST_LINE = 1_000_000
_KEPT = 50
#: So many points of a run under way are kept; then each two become one. An even number.
_MOST_POINTS = 2000

#: What listeners hear: the kind of news and what is new.
Event = tuple[Literal["known", "job", "points", "runs"], Any]

#: So much news waits for one listener; one that takes none for longer is let go, and hears all when it comes again.
_MOST_NEWS = 1000


class Listener:
    """What one page has still to hear."""

    def __init__(self) -> None:
        self._news: asyncio.Queue[Event | None] = asyncio.Queue()

    def tell(self, event: Event) -> bool:
        """False when too much waits already: then this is the end."""
        if self._news.qsize() >= _MOST_NEWS:
            self.end()
            return False
        self._news.put_nowait(event)
        return True

    def end(self) -> None:
        """Nothing more comes."""
        while not self._news.empty():
            self._news.get_nowait()
        self._news.put_nowait(None)

    async def next(self) -> Event | None:
        """The next message; None when no more will come."""
        return await self._news.get()


class Busy(Exception):
    """So many runs wait already."""


Point = tuple[float, list[float], list[float | None]]


@dataclass
class Live:
    """How the first flows of a run do while it is under way."""

    flows: list[str] = field(default_factory=list)
    #: Simulated seconds, goodput of each flow in bit/s since the point before, its window in segments (None for UDP).
    points: list[Point] = field(default_factory=list)

    def add(self, flows: list[str], point: list[Any]) -> int:
        """Takes a point; the rank from which points are new to those who had all before."""
        self.flows = flows
        begin = len(self.points)
        if begin >= _MOST_POINTS:
            self.points = _halved(self.points)
            begin = 0
        self.points.append((point[0], point[1], point[2]))
        return begin


def _halved(points: list[Point]) -> list[Point]:
    """Each two points as one: a rate since the point before that is kept, not since one that went."""
    found = []
    begin_s = 0.0
    for (middle_s, first, _), (end_s, second, windows) in zip(points[::2], points[1::2], strict=False):
        share = (middle_s - begin_s) / (end_s - begin_s)
        rates = [share * one + (1 - share) * other for one, other in zip(first, second, strict=True)]
        found.append((end_s, rates, windows))
        begin_s = end_s
    return found


@dataclass
class Job:
    """One run that was asked for."""

    id: str
    title: str
    seed: int
    state: State = "waiting"
    fraction: float = 0.0
    message: str = ""
    run: str | None = None
    #: Seconds since it began to run.
    elapsed_s: float = 0.0
    #: The key of the packets that the job records; None for a run from the editor.
    packets: str | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.state in ("done", "failed", "cancelled")


@dataclass(frozen=True)
class Packets:
    """The packets of a flow of a run, from a time to a time (None: from the start, to the end)."""

    folder: Path
    run: str
    flow: str
    begin_s: float | None
    end_s: float | None
    #: Where they are kept.
    file: Path

    @property
    def key(self) -> str:
        """The name under which they are kept."""
        return self.file.stem


@dataclass(frozen=True)
class Limits:
    """How much may happen at once, and for how long."""

    running: int = 2
    waiting: int = 16
    run_s: float = 3600.0
    #: Between asking a run to end and ending its process.
    grace_s: float = 2.0
    #: Bytes that one run may use; None stands for `default_memory`.
    memory: int | None = None

    @property
    def memory_bytes(self) -> int:
        """Bytes that one run may use."""
        return self.memory if self.memory is not None else limits.default_memory()


class Jobs:
    """Starts runs, follows them, and tells whoever listens."""

    def __init__(self, folder: Path, limits: Limits, catalogues: Path | None = None) -> None:
        self._folder = folder
        self._catalogues = str(catalogues) if catalogues is not None else None
        self._limits = limits
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._processes: dict[str, asyncio.subprocess.Process] = {}
        self._live: dict[str, Live] = {}
        self._listeners: set[Listener] = set()
        self._slots = asyncio.Semaphore(limits.running)

    def all(self) -> list[Job]:
        """The newest first."""
        return list(reversed(self._jobs.values()))

    def find(self, job_id: str) -> Job | None:
        """The job of that id."""
        return self._jobs.get(job_id)

    def start(self, text: str, seed: int, title: str) -> Job:
        """Puts a run in the queue; raises Busy when too many wait."""
        job = Job(id=uuid.uuid4().hex[:12], title=title, seed=seed)
        return self._queue(job, {"text": text, "folder": str(self._folder), "catalogues": self._catalogues})

    def record(self, wanted: Packets) -> Job:
        """Puts the recording of a flow's packets in the queue, unless it is there; raises Busy when too many wait."""
        for job in self._jobs.values():
            if job.packets == wanted.key and not job.ended:
                return job
        job = Job(id=uuid.uuid4().hex[:12], title=f"Packets of {wanted.flow}", seed=0, packets=wanted.key)
        asked = {
            "run": wanted.run, "flow": wanted.flow, "begin_s": wanted.begin_s, "end_s": wanted.end_s,
            "file": str(wanted.file),
        }  # fmt: skip
        return self._queue(job, {"packets": asked, "folder": str(wanted.folder)})

    def _queue(self, job: Job, order: dict[str, Any]) -> Job:
        if sum(not job.ended for job in self._jobs.values()) >= self._limits.running + self._limits.waiting:
            raise Busy
        self._jobs[job.id] = job
        for old in [one.id for one in self._jobs.values() if one.ended][: max(0, len(self._jobs) - _KEPT)]:
            del self._jobs[old]
            self._live.pop(old, None)
        self._tasks[job.id] = asyncio.create_task(self._work(job, order))
        self._tasks[job.id].add_done_callback(lambda _: self._tasks.pop(job.id, None))
        self._tell(job)
        return job

    async def cancel(self, job: Job) -> None:
        """Ends a run: first it is asked, then its process is ended."""
        if job.ended:
            return
        worker, task = self._processes.get(job.id), self._tasks.get(job.id)
        if worker is None or task is None:
            self._end(job, "cancelled", "")
            return
        job.message = "ending …"
        self._tell(job)
        _ask_to_end(worker)
        # What it says last is heard: it may just have come to its end.
        await asyncio.wait({task}, timeout=self._limits.grace_s)
        self._end(job, "cancelled", "")
        process.kill(worker)

    async def close(self) -> None:
        """Ends everything; the server stops."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def listen(self) -> Listener:
        """The ids of all jobs, every job and what is known of its flows once, then what changes.

        A page that knew other jobs before learns from the ids that they ended with the server before this one.
        """
        listener = Listener()
        listener.tell(("known", list(self._jobs)))
        for job in list(self._jobs.values()):
            listener.tell(("job", as_json(job)))
            if live := self._live.get(job.id):
                listener.tell(("points", _points(job, live, 0)))
        self._listeners.add(listener)
        return listener

    def announce_runs(self) -> None:
        """Tells everybody that there are other runs in the folder than before."""
        self._spread(("runs", None))

    @property
    def heard(self) -> bool:
        """Whether anybody listens."""
        return bool(self._listeners)

    def leave(self, listener: Listener) -> None:
        """Somebody listens no more."""
        self._listeners.discard(listener)

    async def _work(self, job: Job, order: dict[str, Any]) -> None:
        async with self._slots:
            if job.ended:
                return
            try:
                await asyncio.wait_for(self._simulate(job, order), self._limits.run_s)
            except asyncio.TimeoutError:
                self._end(job, "failed", f"It took longer than {self._limits.run_s:g} s and was ended.")
            except OSError as error:
                self._end(job, "failed", f"The run cannot be started: {error}")

    async def _simulate(self, job: Job, order: dict[str, Any]) -> None:
        worker = await process.start("skyhop.server.worker", longest_line=_LONGEST_LINE)
        self._processes[job.id] = worker
        try:
            await self._follow(job, order, worker)
        finally:
            self._processes.pop(job.id, None)
            await process.ended(worker)

    async def _follow(self, job: Job, asked: dict[str, Any], worker: asyncio.subprocess.Process) -> None:
        assert worker.stdin and worker.stdout and worker.stderr
        job.state = "running"
        begun = time.monotonic()
        self._tell(job)
        memory = self._limits.memory_bytes
        errors = asyncio.create_task(process.tail(worker.stderr))
        order = {"id": job.id, "seed": job.seed, "title": job.title, "memory": memory, **asked}
        with suppress(ConnectionError):
            worker.stdin.write((json.dumps(order) + "\n").encode())
            await worker.stdin.drain()
        try:
            async for line in worker.stdout:
                job.elapsed_s = round(time.monotonic() - begun, 1)
                self._hear(job, line)
            self._end(job, "failed", limits.what_happened(await worker.wait(), await errors, memory))
        except ValueError:
            self._end(job, "failed", "The run gave an answer that nobody understands.")
        finally:
            errors.cancel()

    def _hear(self, job: Job, line: bytes) -> None:
        said: dict[str, Any] = json.loads(line)
        if "fraction" in said:
            job.fraction = float(said["fraction"])
            self._tell(job)
            if "point" in said:
                live = self._live.setdefault(job.id, Live())
                self._spread(("points", _points(job, live, live.add(said["flows"], said["point"]))))
        elif "run" in said:
            job.run = str(said["run"])
            job.fraction = 1.0
            self._end(job, "done", "")
        elif "cancelled" in said:
            self._end(job, "cancelled", "")
        elif "failed" in said:
            self._end(job, "failed", str(said["failed"]))

    def _end(self, job: Job, state: State, message: str) -> None:
        if job.ended:
            return
        job.state = state
        job.message = message
        self._tell(job)

    def _tell(self, job: Job) -> None:
        self._spread(("job", as_json(job)))

    def _spread(self, event: Event) -> None:
        self._listeners = {listener for listener in self._listeners if listener.tell(event)}


def as_json(job: Job) -> dict[str, Any]:
    """A job as the page reads it."""
    return asdict(job)


def _points(job: Job, live: Live, begin: int) -> dict[str, Any]:
    return {"id": job.id, "flows": live.flows, "from": begin, "points": live.points[begin:]}


def _ask_to_end(worker: asyncio.subprocess.Process) -> None:
    if worker.stdin is not None and not worker.stdin.is_closing():
        with suppress(ConnectionError):
            worker.stdin.write(b"cancel\n")
