"""Attacks on the server behind the page: what others on this machine, other pages and odd folders can try."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from serving import ENDLESS, SMALL, Server, running, workers

import skyhop
from skyhop.server import app, limits
from skyhop.server.checks import CheckLimits
from skyhop.server.doors import Patience
from skyhop.server.jobs import Limits, Listener
from skyhop.server.library import Library

LINK = '[[links]]\nbetween = ["left", "right"]\nrate = "2 Mbit/s"\ndelay = "10 ms"\n'
SECRET = "root-of-all-secrets"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all tests that leave it as it was."""
    with running(tmp_path_factory.mktemp("runs")) as one:
        yield one


def eventually(holds: Any, within_s: float = 30) -> bool:
    """Whether something comes true."""
    end = time.monotonic() + within_s
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


# What a scenario from the page may read: nothing.


@pytest.mark.parametrize(
    "text",
    [
        "stations_file = 'FILE'",
        "[constellation]\nelements = 'FILE'",
        # TOML 1.1, which readers of TOML 1.0 refuse.
        "[constellation]\n\"\\x65lements\" = 'FILE'",
        "constellation = { elements = 'FILE', }",
        "constellation = {\n  elements = 'FILE'\n}",
        f"{LINK}trace = {{ table = 'FILE', }}",
        f"{LINK}trace = {{ opportunities = 'FILE' }}\n[[flows]]\ntcp = \"v\\x65gas\"",
        f"{LINK}[links.backward]\ntrace.delays = 'FILE'",
    ],
)
def test_no_text_makes_the_server_open_a_file(server: Server, text: str) -> None:
    secret = server.folder.parent / "secret.txt"
    # A file that would be taken for elements is served whole where it is read.
    secret.write_text(f"{SECRET}\n{SECRET}\n", encoding="utf-8")
    given = {"text": f'duration = "1 s"\n{text}\n'.replace("FILE", str(secret))}
    status, verdict = server.ask("POST", "/api/check", given)
    assert (status, verdict["ok"]) == (200, False)
    assert any("may read no files" in one["message"] for one in verdict["diagnostics"]), verdict
    assert SECRET not in json.dumps(verdict)
    status, refused = server.ask("POST", "/api/jobs", given)
    assert status == 422
    assert SECRET not in json.dumps(refused)


def test_a_file_that_exists_is_refused_like_one_that_does_not(server: Server) -> None:
    def answer(name: str) -> str:
        text = f'duration = "1 s"\nstations_file = "{server.folder.parent / name}"\n{LINK}'
        return json.dumps(server.ask("POST", "/api/check", {"text": text})[1]).replace(name, "")

    (server.folder.parent / "there.csv").write_text(SECRET, encoding="utf-8")
    assert answer("there.csv") == answer("absent.csv")


def test_the_worker_reads_no_file_either(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text(SECRET, encoding="utf-8")
    text = f'duration = "1 s"\nstations_file = "{tmp_path}/secret.txt"\n{LINK}'
    order = {"id": "x", "text": text, "seed": 1, "folder": str(tmp_path), "title": "t", "memory": 10**9}
    ran = subprocess.run([sys.executable, "-m", "skyhop.server.worker"], input=json.dumps(order) + "\n", text=True,
                         capture_output=True, check=False, timeout=60)  # fmt: skip
    assert "may read no files" in json.loads(ran.stdout.splitlines()[-1])["failed"]
    assert SECRET not in ran.stdout + ran.stderr


# What a check may use.

NESTED = {
    "dotted keys": "a." * 200_000 + "a = 1",
    "lists": "a = " + "[" * 400_000,
    "tables": "a = " + "{a=" * 130_000,
    "long headers": "".join(f"[a{i}.b.c.d.e.f.g.h.i.j.k.l.m.n.o]\n" for i in range(10_000)),
    "deep and wide": "".join(f"a{i} = {'[' * 30}{']' * 30}\n" for i in range(6_000)),
}


@pytest.mark.parametrize("shape", NESTED)
def test_400_kb_of_nesting_are_answered_within_the_memory_of_a_check(server: Server, shape: str) -> None:
    status, verdict = server.ask("POST", "/api/check", {"text": NESTED[shape]}, timeout_s=120)
    assert (status, verdict["ok"]) == (200, False)
    # A check that ends for want of memory says so without a place.
    assert verdict["diagnostics"][0]["line"] == 1, verdict


def test_a_check_that_needs_too_much_memory_says_so_and_hinders_no_other(tmp_path: Path) -> None:
    with running(tmp_path, checks=CheckLimits(memory=20_000_000)) as one:
        large = NESTED["long headers"]
        (problem,) = one.ask("POST", "/api/check", {"text": large})[1]["diagnostics"]
        assert "needs more than 20 MB of memory" in problem["message"]
        assert one.ask("POST", "/api/check", {"text": SMALL})[1]["ok"]


def test_a_check_that_takes_too_long_is_ended_and_says_so(tmp_path: Path) -> None:
    with running(tmp_path, checks=CheckLimits(seconds=0.001)) as one:
        (problem,) = one.ask("POST", "/api/check", {"text": SMALL})[1]["diagnostics"]
        assert "took longer than 0.001 s" in problem["message"]


def test_many_checks_at_once_give_each_its_own_answer(server: Server) -> None:
    def verdict(number: int) -> bool:
        text = SMALL if number % 2 else SMALL.replace('"2 s"', f'"2 parsec{number}"')
        found = server.ask("POST", "/api/check", {"text": text})[1]
        return bool(found["ok"] if number % 2 else f"parsec{number}" in found["diagnostics"][0]["message"])

    with ThreadPoolExecutor(max_workers=20) as pool:
        assert all(pool.map(verdict, range(60)))


# What a run may use, and what it says when it fails.

#: 12 million packets a second are on a way of 10 s, and each leaves a row in the table of packets.
GREEDY = """# Greedy
duration = "1000 s"

[[links]]
between = ["left", "right"]
rate = "100 Gbit/s"
delay = "10 s"

[records]
packets = ["left->right"]

[[flows]]
name = "a"
from = "left"
to = "right"
udp = {}
application = { constant_rate = { rate = "10 Gbit/s", payload = "100 B" } }
"""


def test_a_run_that_needs_more_memory_than_it_may_have_says_so(tmp_path: Path) -> None:
    with running(tmp_path, Limits(memory=200_000_000)) as one:
        status, job = one.ask("POST", "/api/jobs", {"text": GREEDY})
        assert status == 201, job
        ended = one.wait(job["id"], "failed", "done")
        assert re.search(r"(more than (the )?|may take )200(\.0)? MB", ended["message"]), ended
        assert "memory" in ended["message"]
        assert "SIG" not in ended["message"]
        assert one.ask("GET", "/api/runs") == (200, [])
        _, small = one.ask("POST", "/api/jobs", {"text": SMALL})
        after = one.wait(small["id"], "done", "failed")
        assert after["state"] == "done", after["message"]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc to find the process in")
@pytest.mark.parametrize(
    ("number", "says"),
    [(9, "for want of memory"), (15, "asked it to end"), (11, "a mistake of Skyhop"), (6, "a mistake of Skyhop")],
)
def test_a_run_that_a_signal_ends_says_why_in_words(tmp_path: Path, number: int, says: str) -> None:
    with running(tmp_path) as one:
        _, job = one.ask("POST", "/api/jobs", {"text": ENDLESS})
        one.wait(job["id"], "running")
        assert eventually(lambda: one.job(job["id"])["fraction"] > 0)
        (worker,) = workers()
        os.kill(worker, number)
        assert says in one.wait(job["id"], "failed")["message"]


def test_a_run_whose_folder_cannot_be_written_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    with running(folder) as one:
        folder.rmdir()
        folder.write_text("a file now", encoding="utf-8")
        _, job = one.ask("POST", "/api/jobs", {"text": SMALL})
        assert "cannot be written: " in one.wait(job["id"], "failed")["message"]
    assert folder.read_text(encoding="utf-8") == "a file now"


@pytest.mark.parametrize(
    ("code", "errors", "says"),
    [
        (-6, "memory allocation of 4096 bytes failed\n", "needed more than 2 GB"),
        (1, "Traceback\nMemoryError\n", "needed more than 2 GB"),
        (-6, "thread 'main' has overflowed its stack\n", "has overflowed its stack"),
        (1, "Traceback\npyo3_runtime.PanicException: attempt to divide by zero\n", "attempt to divide by zero"),
        (3, "", "ended with code 3 and gave no reason"),
        (-200, "", "signal 200"),
    ],
)
def test_the_end_of_a_process_is_told_in_words(code: int, errors: str, says: str) -> None:
    assert says in limits.what_happened(code, errors, 2 * 10**9)


def test_a_module_in_the_current_folder_is_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("json", "asyncio", "skyhop"):
        (tmp_path / f"{name}.py").write_text("open('planted', 'w').close()\nraise SystemExit(3)\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    with running(tmp_path / "runs") as one:
        _, job = one.ask("POST", "/api/jobs", {"text": SMALL})
        assert one.wait(job["id"], "done", "failed")["state"] == "done"
    assert not (tmp_path / "planted").exists()


# Those who listen.


def _listen(server: Server) -> tuple[int, http.client.HTTPConnection]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request("GET", "/api/events")
    return connection.getresponse().status, connection


def test_no_more_listen_than_may_however_many_come_at_once(tmp_path: Path) -> None:
    with running(tmp_path) as one:
        with ThreadPoolExecutor(max_workers=80) as pool:
            answers = list(pool.map(lambda _: _listen(one), range(80)))
        assert Counter(status for status, _ in answers) == {200: app.MOST_LISTENERS, 429: 80 - app.MOST_LISTENERS}
        for _, connection in answers:
            connection.close()

        def place() -> bool:
            status, connection = _listen(one)
            connection.close()
            return status == 200

        # Every place is free again.
        assert eventually(place)
        assert eventually(lambda: all([place() for _ in range(5)]))


def test_a_listener_that_takes_no_news_is_let_go() -> None:
    listener = Listener()
    told = 0
    while listener.tell(("job", {})):
        told += 1
        assert told < 10_000, "events that nobody takes are kept for ever"
    assert not listener.tell(("job", {})) or told > 0


def test_an_answer_that_nobody_takes_is_given_up(tmp_path: Path) -> None:
    skyhop.run(skyhop.Scenario.from_toml(SMALL)).write(tmp_path / "one")
    with (tmp_path / "one" / "packets.csv").open("wb") as file:
        file.truncate(200_000_000)
    with running(tmp_path, patience=Patience(answer_s=0.5)) as one:
        with socket.create_connection(("127.0.0.1", one.port), timeout=30) as raw:
            raw.sendall(f"GET /api/files/one/packets.csv HTTP/1.1\r\nHost: 127.0.0.1:{one.port}\r\n\r\n".encode())
            time.sleep(3)
            taken = 0
            with contextlib.suppress(ConnectionError):
                while chunk := raw.recv(1 << 20):
                    taken += len(chunk)
        assert taken < 200_000_000
        # Whoever takes it gets all of it.
        assert len(one.ask("GET", "/api/files/one/packets.csv")[1]) == 200_000_000


# Connections.


def _is_closed(raw: socket.socket) -> bool:
    raw.setblocking(False)
    try:
        return raw.recv(1000) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


@pytest.mark.parametrize("sent", ["", "GET / HT", "GET /api/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "])
def test_300_connections_that_say_nothing_hinder_nobody_and_are_closed(tmp_path: Path, sent: str) -> None:
    with running(tmp_path, patience=Patience(connections=64, head_s=2)) as one, contextlib.ExitStack() as stack:
        slow = []
        for _ in range(300):
            slow.append(stack.enter_context(socket.create_connection(("127.0.0.1", one.port), timeout=10)))
            slow[-1].sendall(sent.encode())
        assert one.ask("GET", "/api/runs") == (200, [])
        assert eventually(lambda: all(_is_closed(raw) for raw in slow))


def test_connections_that_are_answered_are_not_closed_for_new_ones(tmp_path: Path) -> None:
    with running(tmp_path, patience=Patience(connections=4, head_s=1)) as one:
        listening = [_listen(one)[1] for _ in range(4)]
        with pytest.raises((ConnectionError, http.client.HTTPException, AssertionError)):
            status, _ = one.ask("GET", "/api/runs")
            assert status == 200
        time.sleep(1.5)
        # Neither the time for a request's head nor the new one has ended them.
        listening.pop().close()
        assert eventually(lambda: one.ask("GET", "/api/runs")[0] == 200)
        assert all(not _is_closed(connection.sock) for connection in listening)
        for connection in listening:
            connection.close()


def test_a_body_that_does_not_come_is_not_waited_for(tmp_path: Path) -> None:
    with running(tmp_path, patience=Patience(body_s=0.5)) as one:
        head = f"POST /api/check HTTP/1.1\r\nHost: 127.0.0.1:{one.port}\r\nContent-Type: application/json\r\n"
        with socket.create_connection(("127.0.0.1", one.port), timeout=20) as raw:
            raw.sendall((head + 'Content-Length: 1000\r\n\r\n{"text"').encode())
            answer = b""
            while chunk := raw.recv(10_000):
                answer += chunk
        assert answer.startswith(b"HTTP/1.1 408 ")


@pytest.mark.skipif(not Path("/proc/net/tcp").exists() or os.geteuid() != 0, reason="needs to become another user")
def test_another_user_of_the_machine_is_refused(server: Server) -> None:
    ask = (
        # A late import may lie where the other user cannot read.
        "import os, sys, http.client, encodings.idna; os.setgid(65534); os.setuid(65534)\n"
        "connection = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1]), timeout=20)\n"
        "connection.request('GET', '/api/runs'); answer = connection.getresponse()\n"
        "print(answer.status, answer.read().decode())"
    )
    ran = subprocess.run([sys.executable, "-c", ask, str(server.port)], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("403 ")
    assert "another user" in ran.stdout


# Requests that no browser sends.


def _raw(server: Server, request: bytes) -> bytes:
    """The bytes that come back until the server closes or waits for more."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=3) as raw:
        with contextlib.suppress(ConnectionError):
            raw.sendall(request)
        answer = b""
        with contextlib.suppress(ConnectionError, TimeoutError):
            while chunk := raw.recv(65536):
                answer += chunk
    return answer


@pytest.mark.parametrize(
    "request_text",
    [
        "GET /api/runs HTTP/1.1\r\nHost: {host}\r\nX: {large}\r\n\r\n",
        "GET /api/runs HTTP/1.1\r\nHost: {host}\r\nHost: evil.example\r\n\r\n",
        "GET /api/runs HTTP/1.0\r\n\r\n",
        "GET http://evil.example/api/runs HTTP/1.1\r\nHost: {host}\r\n\r\n",
        "GET //evil.example/api/runs HTTP/1.1\r\nHost: {host}\r\n\r\n",
        "GET /api/runs HTTP/1.1\r\nHost: {host}, evil.example\r\n\r\n",
        "GET /api/runs HTTP/1.1\r\nHost: user@{host}\r\n\r\n",
        "POST /api/jobs HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: \xb2\r\n\r\n",
        "POST /api/jobs HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: -1\r\n\r\n",
        "POST /api/jobs HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
        "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST /api/jobs HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
        "Content-Length: 3\r\n\r\n{{}}",
        "POST /api/jobs HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        "Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{{}}",
        "PUT /api/jobs HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}",
        "TRACE / HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\r\n",
        "CONNECT evil.example:443 HTTP/1.1\r\nHost: {host}\r\n\r\n",
        "OPTIONS /api/jobs HTTP/1.1\r\nHost: {host}\r\nOrigin: http://evil.example\r\n"
        "Access-Control-Request-Method: POST\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "\r\n" * 5000,
    ],
)
def test_a_request_that_no_browser_sends_is_refused(server: Server, request_text: str) -> None:
    text = request_text.format(host=f"127.0.0.1:{server.port}", large="x" * 200_000)
    answer = _raw(server, text.encode("latin-1"))
    assert answer == b"" or answer.split()[1][:1] == b"4", answer[:300]
    assert b"access-control-allow" not in answer.lower()
    assert server.ask("GET", "/api/jobs")[0] == 200


def test_a_websocket_is_not_opened(server: Server) -> None:
    head = (
        f"GET /api/events HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as raw:
        raw.sendall(head.encode())
        assert b" 101 " not in raw.recv(1000)


@pytest.mark.parametrize("route", ["/{}", "/api/{}", "/api/jobs/{}/cancel", "/api/files/{}/flows.csv"])
@pytest.mark.parametrize(
    "part",
    [
        "..",
        "%2e%2e",
        "..%2f..%2fetc%2fpasswd",
        "%00",
        "%0d%0aX-Evil:%201",
        "%ff%fe",
        "index.html",
        "a" * 5000,
        "%c0%ae",
    ],
)
def test_odd_parts_of_an_address_lead_nowhere(server: Server, route: str, part: str) -> None:
    for method, body in (("GET", None), ("POST", {})):
        answer = _raw(
            server,
            f"{method} {route.format(part)} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nConnection: close\r\n"
            f"Content-Type: application/json\r\nContent-Length: {0 if body is None else 2}\r\n\r\n"
            f"{'' if body is None else '{}'}".encode(),
        )
        assert answer.split()[1] in (b"404", b"405"), answer[:300]
        assert b"x-evil" not in answer.lower().split(b"\r\n\r\n")[0]
        assert b"root:" not in answer


def test_many_parts_of_a_file_at_once_cost_no_more_than_the_file(server: Server) -> None:
    # Parts that overlap took quadratic time in Starlette before 0.49.1 (CVE-2025-62727).
    skyhop.run(skyhop.Scenario.from_toml(SMALL)).write(server.folder / "ranges")
    ranges = ",".join(f"{i}-" for i in range(3000))
    status, content = server.ask("GET", "/api/files/ranges/flows.csv", Range=f"bytes={ranges}")
    assert status in (200, 206, 400, 416)
    assert len(content) < 1_000_000
    shutil.rmtree(server.folder / "ranges")


# Folders that come from anybody.

ODD_NAMES = [
    "a b",
    "a?b#c",
    "a%2Fb",
    "a%b",
    "back\\slash",
    "new\nline",
    "<img src=x>",
    "'\"",
    "ü 中",
    "..a",
    "-rf",
    "a=1,b=2",
]


def test_runs_with_odd_names_are_listed_and_their_files_given(tmp_path: Path) -> None:
    from urllib.parse import quote

    run = skyhop.run(skyhop.Scenario.from_toml(SMALL))
    names = [name for name in ODD_NAMES if not name.startswith(".")]
    for name in names:
        run.write(tmp_path / name)
    with contextlib.suppress(OSError):
        # No UTF-8, so no address leads there.
        run.write(Path(os.fsdecode(bytes(tmp_path) + b"/\xff\xfe")))
    with running(tmp_path) as one:
        status, listed = one.ask("GET", "/api/runs")
        assert status == 200
        assert sorted(entry["id"] for entry in listed) == sorted(names)
        for name in names:
            status, flows = one.ask("GET", f"/api/files/{quote(name, safe='')}/flows.parquet")
            assert status == 200, name
            assert flows.startswith(b"PAR1")


def test_a_folder_that_lies_about_a_run_hides_no_other(tmp_path: Path) -> None:
    run = skyhop.run(skyhop.Scenario.from_toml(SMALL))
    run.write(tmp_path / "good")
    (tmp_path / "elsewhere.txt").write_text(SECRET, encoding="utf-8")

    def like_a_run(name: str) -> Path:
        run.write(tmp_path / name)
        return tmp_path / name

    summary = json.loads((tmp_path / "good" / "summary.json").read_text(encoding="utf-8"))
    (like_a_run("nan") / "summary.json").write_text(json.dumps({**summary, "jain": float("nan")}), encoding="utf-8")
    half = json.dumps({**summary, "jain": "\ud800"})
    (like_a_run("half") / "summary.json").write_text(half, encoding="utf-8")
    (like_a_run("deep") / "summary.json").write_text("[" * 100_000, encoding="utf-8")
    manifest = json.loads((tmp_path / "good" / "manifest.json").read_text(encoding="utf-8"))
    huge = json.dumps({**manifest, "simulated_s": 10**400})
    (like_a_run("huge") / "manifest.json").write_text(huge, encoding="utf-8")
    pipe = like_a_run("pipe") / "summary.json"
    pipe.unlink()
    os.mkfifo(pipe)
    os.mkfifo(like_a_run("piped title") / "title.txt")
    (like_a_run("linked title") / "title.txt").symlink_to(tmp_path / "elsewhere.txt")
    linked = like_a_run("linked") / "summary.json"
    linked.unlink()
    linked.symlink_to(tmp_path / "good" / "summary.json")
    with running(tmp_path) as one:
        status, listed = one.ask("GET", "/api/runs")
    assert status == 200
    assert {entry["id"]: entry["title"] for entry in listed} == {
        "good": "good",
        "piped title": "piped title",
        "linked title": "linked title",
    }


def test_a_file_of_a_run_that_is_a_pipe_or_a_link_is_not_given(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    run = skyhop.run(skyhop.Scenario.from_toml(SMALL))
    run.write(tmp_path / "runs" / "one")
    (tmp_path / "secret.csv").write_text(SECRET, encoding="utf-8")
    os.mkfifo(tmp_path / "runs" / "one" / "packets.csv")
    (tmp_path / "runs" / "one" / "paths.csv").unlink(missing_ok=True)
    (tmp_path / "runs" / "one" / "paths.csv").symlink_to(tmp_path / "secret.csv")
    library = Library(tmp_path / "runs")
    assert library.file("one", "packets.csv") is None
    assert library.file("one", "paths.csv") is None
    assert library.file("one", "flows.csv") is not None
