"""A started server for tests, and how to talk to it."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skyhop.serve import configuration
from skyhop.server import app
from skyhop.server.checks import CheckLimits
from skyhop.server.doors import Doors, Patience
from skyhop.server.jobs import Limits

SMALL = """# A small run
duration = "2 s"
profile = "rfc"

[[links]]
between = ["left", "right"]
rate = "2 Mbit/s"
delay = "10 ms"

[[flows]]
name = "a"
from = "left"
to = "right"
tcp = "reno"
"""

#: 50 days of a link of 1 Gbit/s: nobody waits for its end.
ENDLESS = SMALL.replace("A small run", "A run without end").replace("2 s", "50 d").replace("2 Mbit/s", "1 Gbit/s")


@dataclass
class Server:
    """A running server and how to talk to it."""

    port: int
    folder: Path

    def ask(self, method: str, path: str, body: Any = None, timeout_s: float = 60, **headers: str) -> tuple[int, Any]:
        """One request; the answer's status and JSON, or bytes."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout_s)
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        data = None
        if body is not None:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            given.setdefault("Content-Type", "application/json")
        try:
            connection.putrequest(method, path, skip_host="Host" in given, skip_accept_encoding=True)
            for name, value in given.items():
                connection.putheader(name, value)
            if data is not None:
                connection.putheader("Content-Length", str(len(data)))
            connection.endheaders(data)
            response = connection.getresponse()
            content = response.read()
            is_json = response.headers.get("content-type") == "application/json"
            return response.status, json.loads(content) if is_json else content
        finally:
            connection.close()

    def job(self, job_id: str) -> dict[str, Any]:
        """The state of one run."""
        found: dict[str, Any] = next(one for one in self.ask("GET", "/api/jobs")[1] if one["id"] == job_id)
        return found

    def wait(self, job_id: str, *states: str, within_s: float = 60) -> dict[str, Any]:
        """Waits until a run is in one of the states."""
        end = time.monotonic() + within_s
        while time.monotonic() < end:
            job = self.job(job_id)
            if job["state"] in states:
                return job
            time.sleep(0.05)
        raise AssertionError(f"the run is still {self.job(job_id)}")


@contextlib.contextmanager
def running(
    folder: Path,
    limits: Limits | None = None,
    checks: CheckLimits | None = None,
    patience: Patience | None = None,
) -> Iterator[Server]:
    """A server in a thread."""
    import uvicorn

    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    made = app.create(folder, port=port, limits=limits, checks=checks, doors=Doors(patience))
    server = uvicorn.Server(configuration(made, log_level="critical"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield Server(port, folder)
    finally:
        server.should_exit = True
        thread.join(timeout=10)
        listening.close()


def workers() -> list[int]:
    """Processes that work for this test's server."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            if b"skyhop.server.worker" in words and parent == os.getpid():
                found.append(int(entry.name))
    return found
