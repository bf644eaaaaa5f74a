"""The server behind the page: what it gives, what it refuses, and that nothing done to it brings it down."""

from __future__ import annotations

import contextlib
import http.client
import io
import json
import os
import runpy
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from serving import ENDLESS, SMALL, Server, running, workers

import skyhop
from skyhop.kept import Keep
from skyhop.server import app, guard
from skyhop.server.grids import grids
from skyhop.server.jobs import Limits, Live
from skyhop.server.library import Library


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all tests that leave it as it was."""
    with running(tmp_path_factory.mktemp("runs")) as one:
        yield one


@pytest.fixture(scope="module")
def run_id(server: Server) -> str:
    """A run that was made through the server."""
    status, job = server.ask("POST", "/api/jobs", {"text": SMALL, "seed": 3})
    assert status == 201
    done = server.wait(job["id"], "done", "failed")
    assert done["state"] == "done", done
    return str(done["run"])


def test_a_run_from_the_editor_is_listed_with_its_files(server: Server, run_id: str) -> None:
    _, runs = server.ask("GET", "/api/runs")
    entry = next(one for one in runs if one["id"] == run_id)
    assert entry["title"] == "A small run, seed 3"
    assert entry["seed"] == 3
    assert entry["simulated_s"] == 2.0
    assert [flow["name"] for flow in entry["flows"]] == ["a"]
    assert 0 < entry["flows"][0]["goodput_bps"] < 2e6
    status, scenario = server.ask("GET", f"/api/files/{run_id}/scenario.json")
    assert (status, scenario["duration"]) == (200, "2 s")
    status, flows = server.ask("GET", f"/api/files/{run_id}/flows.parquet")
    assert status == 200
    assert flows.startswith(b"PAR1")


def test_the_same_scenario_again_takes_the_place_of_the_run(server: Server, run_id: str) -> None:
    _, job = server.ask("POST", "/api/jobs", {"text": SMALL, "seed": 3})
    assert server.wait(job["id"], "done", "failed")["run"] == run_id
    assert [one["id"] for one in server.ask("GET", "/api/runs")[1]] == [run_id]


def test_problems_have_their_place(server: Server) -> None:
    status, verdict = server.ask("POST", "/api/check", {"text": SMALL.replace('"reno"', '"renno"')})
    assert (status, verdict["ok"]) == (200, False)
    (problem,) = verdict["diagnostics"]
    assert problem["line"] == 14
    assert "renno" in problem["message"]
    assert "reno" in problem["help"]
    status, refused = server.ask("POST", "/api/jobs", {"text": "duration = 3", "seed": 1})
    assert status == 422
    assert refused["diagnostics"]


def test_presets_are_right(server: Server) -> None:
    _, presets = server.ask("GET", "/api/presets")
    assert len(presets) >= 3
    for preset in presets:
        assert server.ask("POST", "/api/check", {"text": preset["text"]})[1]["diagnostics"] == [], preset["name"]


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1", "", "localhost.evil.example:{port}"]
)
def test_a_foreign_host_is_refused(server: Server, host: str) -> None:
    status, answer = server.ask("GET", "/api/runs", Host=host.format(port=server.port))
    assert status == 421
    assert "127.0.0.1" in answer["message"]


def test_own_names_are_not_foreign(server: Server) -> None:
    for name in ("127.0.0.1", "localhost", "LOCALHOST"):
        assert server.ask("GET", "/api/runs", Host=f"{name}:{server.port}")[0] == 200


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "https://127.0.0.1:{port}",
        "http://127.0.0.1:1",
        "http://127.0.0.1:{port}.evil.example",
    ],
)
def test_a_foreign_origin_starts_nothing(server: Server, origin: str) -> None:
    before = server.ask("GET", "/api/jobs")[1]
    status, _ = server.ask("POST", "/api/jobs", {"text": SMALL}, Origin=origin.format(port=server.port))
    assert status == 403
    assert server.ask("GET", "/api/jobs")[1] == before


def test_a_form_of_another_page_starts_nothing(server: Server) -> None:
    body = json.dumps({"text": SMALL}).encode()
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        assert server.ask("POST", "/api/jobs", body, Content_Type=kind)[0] == 415
    assert server.ask("POST", "/api/jobs", body, Sec_Fetch_Site="cross-site")[0] == 403
    assert server.ask("GET", "/api/runs", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors")[0] == 403


def test_answers_forbid_what_the_page_does_not_need(server: Server) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request("GET", "/api/runs")
    headers = connection.getresponse().headers
    connection.close()
    assert "access-control-allow-origin" not in headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "path",
    [
        "/api/files/../{secret}/flows.csv",
        "/api/files/%2e%2e/{secret}/flows.csv",
        "/api/files/..%2f{secret}/flows.csv",
        "/api/files/{run}/../../{secret}/flows.csv",
        "/api/files/{run}/..%2f..%2f{secret}%2fflows.csv",
        "/api/files//etc/flows.csv",
        "/api/files/%2fetc/passwd",
        "/api/files/{run}/passwd",
        "/api/files/{run}/title.txt",
        "/api/files/{run}/flows.csv%00.parquet",
        "/api/files/link/flows.csv",
        "/api/files/{run}%00/flows.csv",
        "/api/files/..%5c{secret}/flows.csv",
        "/../../etc/passwd",
        "/%2e%2e/serve.py",
    ],
)
def test_no_path_leads_out_of_the_folder(server: Server, run_id: str, path: str) -> None:
    secret = server.folder.parent / "secret"
    secret.mkdir(exist_ok=True)
    for name in ("manifest.json", "flows.csv"):
        (secret / name).write_text("{}", encoding="utf-8")
    link = server.folder / "link"
    if not link.is_symlink():
        link.symlink_to(secret)
    status, _ = server.ask("GET", path.format(run=run_id, secret=secret.name))
    assert status == 404


def test_a_link_out_of_the_folder_is_no_run(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "manifest.json").write_text("{}", encoding="utf-8")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link").symlink_to(outside)
    library = Library(inside)
    assert library.runs() == []
    assert library.file("link", "manifest.json") is None


def test_a_body_of_100_mb_is_refused_before_it_is_read(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as raw:
        head = f"POST /api/check HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Type: application/json\r\n"
        raw.sendall((head + "Content-Length: 100000000\r\n\r\n").encode())
        assert b" 413 " in raw.recv(200)


def test_a_large_body_without_a_length_is_refused_where_it_becomes_too_large(server: Server) -> None:
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    answer = b""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as raw:
        head = f"POST /api/check HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Type: application/json\r\n"
        raw.sendall((head + "Transfer-Encoding: chunked\r\n\r\n").encode())
        with contextlib.suppress(ConnectionError):
            for _ in range(2 * guard.LARGEST_BODY // 0x10000):
                raw.sendall(chunk)
            raw.sendall(b"0\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            answer = raw.recv(200)
    assert b" 413 " in answer
    assert server.ask("GET", "/api/jobs")[0] == 200


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[1]", b"null", b'{"text": 3}', b'{"text": "\\ud800"}', b"[" * 100_000, b"\xff\xfe"],
    ids=["empty", "cut", "list", "null", "number", "half a character", "deep", "no text"],
)
def test_a_body_that_means_nothing_is_refused(server: Server, body: bytes) -> None:
    assert server.ask("POST", "/api/check", body)[0] == 400


@pytest.mark.parametrize("seed", [-1, 1.5, "1", None, True, 2**64])
def test_a_seed_that_is_none_is_refused(server: Server, seed: Any) -> None:
    assert server.ask("POST", "/api/jobs", {"text": SMALL, "seed": seed})[0] == 400


def test_noise_in_the_editor_is_answered(server: Server) -> None:
    for text in ("\0" * 1000, "[" * 5000, "a=" * 1000, '"""' * 999, "duration = 1e999", "= \u202e"):
        status, verdict = server.ask("POST", "/api/check", {"text": text})
        assert (status, verdict["ok"]) == (200, False)


def test_points_of_a_run_under_way_that_are_thinned_keep_their_bytes() -> None:
    """Every second point went with its rate: those that stayed told of half of the time since the one before."""
    live = Live()
    times = [0.0]
    for i in range(2001):
        times.append(times[-1] + (1.0 if i % 2 else 3.0))
        rate = 8e6 if i % 2 else 1e6
        live.add(["f"], [times[-1], [rate], [10.0 + i]])
    assert len(live.points) == 1001
    assert live.points[0] == (4.0, [pytest.approx(2.75e6)], [11.0])
    before = [0.0, *(point[0] for point in live.points)]
    bits = sum(rates[0] * (end - begin) for begin, (end, rates, _) in zip(before, live.points, strict=False))
    assert bits == pytest.approx(sum((8e6 if i % 2 else 3e6) for i in range(2001)))


def test_a_cell_of_a_sweep_tells_how_many_runs_it_is_of(tmp_path: Path) -> None:
    """Failed runs were taken off the finished ones once more."""
    folder = tmp_path / "sweep"
    folder.mkdir()
    (folder / "table.csv").write_text(
        "rate,metric,unit,runs,distinct_runs,failed,warm_up_s,mean,low,high\n1 Mbit/s,goodput,Mbit/s,4,4,2,0.0,5,4,6\n"
    )
    (folder / "runs.csv").write_text("rate,seed,run,records_hash\n")
    (found,) = grids(Library(tmp_path))
    (cell,) = found["cells"]
    told = {"mean": 5.0, "low": 4.0, "high": 6.0, "runs": 4, "failed": 2, "equal": 0}
    assert cell["values"]["goodput"] == told


def test_a_cell_tells_at_how_many_seeds_its_values_are_equal(tmp_path: Path) -> None:
    """Values that are equal have no interval; runs that are the same are another case."""
    sweep, study = tmp_path / "sweep", tmp_path / "study"
    sweep.mkdir()
    (sweep / "table.csv").write_text(
        "rate,metric,unit,runs,distinct_runs,failed,distinct_values,warm_up_s,mean,low,high\n"
        "1 Mbit/s,drops,packets,4,4,0,1,0.0,0,NaN,NaN\n2 Mbit/s,drops,packets,4,1,0,1,0.0,0,NaN,NaN\n"
    )
    (sweep / "runs.csv").write_text("rate,seed,run,records_hash\n")
    (study / "runs").mkdir(parents=True)
    (study / "results.csv").write_text(
        "rate,metric,unit,ours,interval,runs,distinct_values\n"
        "1 Mbit/s,drops,packets,0,,6,1\n2 Mbit/s,drops,packets,5,1,6,4\n"
    )
    (old := tmp_path / "old").mkdir()
    (old / "results.csv").write_text("rate,metric,unit,ours,interval\n1 Mbit/s,drops,packets,0,0.0\n")
    found = {one["name"]: [cell["values"]["drops"] for cell in one["cells"]] for one in grids(Library(tmp_path))}
    assert [one["equal"] for one in found["sweep"]] == [4, 0] and [one["equal"] for one in found["study"]] == [6, 0]
    assert [one["low"] for one in found["study"]] == [None, 4.0]
    # Older versions wrote an interval of no width.
    assert (found["old"][0]["low"], found["old"][0]["equal"]) == (None, 0)


def test_200_requests_at_once_are_all_answered(server: Server, run_id: str) -> None:
    paths = ["/api/runs", f"/api/files/{run_id}/flows.parquet", "/api/schema", "/api/jobs"]
    with ThreadPoolExecutor(max_workers=200) as pool:
        answers = list(pool.map(lambda i: server.ask("GET", paths[i % 4])[0], range(200)))
    assert answers == [200] * 200


def test_200_runs_at_once_start_no_more_than_allowed(tmp_path: Path) -> None:
    limits = Limits(running=1, waiting=3, grace_s=0.2)
    with running(tmp_path, limits) as one:
        with ThreadPoolExecutor(max_workers=50) as pool:
            statuses = list(pool.map(lambda _: one.ask("POST", "/api/jobs", {"text": ENDLESS})[0], range(200)))
        assert statuses.count(201) == 4
        assert statuses.count(429) == 196
        states = [job["state"] for job in one.ask("GET", "/api/jobs")[1]]
        assert states.count("running") <= 1
        for job in one.ask("GET", "/api/jobs")[1]:
            one.ask("POST", f"/api/jobs/{job['id']}/cancel", {})
        assert {job["state"] for job in one.ask("GET", "/api/jobs")[1]} == {"cancelled"}


def test_a_run_that_never_ends_is_cancelled_and_hinders_nobody(server: Server) -> None:
    _, job = server.ask("POST", "/api/jobs", {"text": ENDLESS})
    server.wait(job["id"], "running")
    assert server.ask("POST", "/api/check", {"text": SMALL})[1]["ok"]
    _, small = server.ask("POST", "/api/jobs", {"text": SMALL, "seed": 9})
    assert server.wait(small["id"], "done", "failed")["state"] == "done"
    _, cancelled = server.ask("POST", f"/api/jobs/{job['id']}/cancel", {})
    assert cancelled["state"] == "cancelled"
    assert server.job(job["id"])["run"] is None


def test_a_run_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    with running(tmp_path, Limits(run_s=1.0)) as one:
        _, job = one.ask("POST", "/api/jobs", {"text": ENDLESS})
        ended = one.wait(job["id"], "failed", "done")
        assert "longer than 1 s" in ended["message"]
        assert one.ask("GET", "/api/runs")[1] == []


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc to find the process in")
def test_a_run_that_crashes_is_a_message(tmp_path: Path) -> None:
    with running(tmp_path) as one:
        _, job = one.ask("POST", "/api/jobs", {"text": ENDLESS})
        one.wait(job["id"], "running")
        (worker,) = workers()
        os.kill(worker, 9)
        ended = one.wait(job["id"], "failed")
        assert "SIGKILL" in ended["message"]
        assert one.ask("GET", "/api/runs") == (200, [])


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc to find the process in")
def test_runs_end_with_the_server(tmp_path: Path) -> None:
    with running(tmp_path) as one:
        _, job = one.ask("POST", "/api/jobs", {"text": ENDLESS})
        one.wait(job["id"], "running")
        assert len(workers()) == 1
    end = time.monotonic() + 10
    while workers() and time.monotonic() < end:
        time.sleep(0.05)
    assert workers() == []


def test_progress_comes_as_events(server: Server) -> None:
    _, job = server.ask("POST", "/api/jobs", {"text": SMALL, "seed": 11})
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request("GET", "/api/events")
    response = connection.getresponse()
    assert response.headers["content-type"].startswith("text/event-stream")
    states: list[str] = []
    kinds: list[str] = []
    while not states or states[-1] != "done":
        line = response.readline().decode()
        assert line, "the stream ended"
        if line.startswith("event: "):
            kinds.append(line[7:].strip())
        elif line.startswith("data: ") and len(kinds) == 1:
            assert job["id"] in json.loads(line[6:]), "a page learns first which runs this server knows"
        elif line.startswith("data: ") and kinds[-1] == "job" and (event := json.loads(line[6:]))["id"] == job["id"]:
            states.append(event["state"])
    connection.close()
    assert kinds[0] == "known"
    assert states[-1] == "done"


def test_a_run_written_from_outside_is_announced(tmp_path: Path) -> None:
    with running(tmp_path) as one:
        connection = http.client.HTTPConnection("127.0.0.1", one.port, timeout=30)
        connection.request("GET", "/api/events")
        response = connection.getresponse()

        def next_announcement() -> None:
            while (line := response.readline().decode()) != "event: runs\n":
                assert line, "the stream ended"

        next_announcement()
        skyhop.run(skyhop.Scenario.from_toml(SMALL)).write(tmp_path / "mine")
        next_announcement()
        assert [entry["id"] for entry in one.ask("GET", "/api/runs")[1]] == ["mine"]
        connection.close()


def test_results_come_while_a_run_is_under_way(server: Server) -> None:
    _, job = server.ask("POST", "/api/jobs", {"text": ENDLESS, "seed": 12})
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request("GET", "/api/events")
    response = connection.getresponse()
    points: list[Any] = []
    kind = ""
    # The link is filled within seconds of simulated time; how long that takes hangs on the machine.
    while len(points) < 4 or (points[-1][1][0] < 0.5e9 and len(points) < 500):
        line = response.readline().decode()
        assert line, "the stream ended"
        if line.startswith("event: "):
            kind = line[7:].strip()
        elif line.startswith("data: ") and kind == "points" and (news := json.loads(line[6:]))["id"] == job["id"]:
            assert news["flows"] == ["a"]
            assert news["from"] <= len(points), "nothing is left out"
            points[news["from"] :] = news["points"]
    connection.close()
    server.ask("POST", f"/api/jobs/{job['id']}/cancel", {})
    times = [time_s for time_s, _, _ in points]
    assert times == sorted(set(times))
    assert all(0 <= goodput < 1e9 and cwnd >= 1 for _, (goodput,), (cwnd,) in points)
    assert points[-1][1][0] > 0.5e9


def test_runs_kept_for_sweeps_are_not_listed(tmp_path: Path) -> None:
    run = skyhop.run(skyhop.Scenario.from_toml(SMALL))
    run.write(tmp_path / "mine")
    Keep(tmp_path / "kept").add(run)
    assert [entry["id"] for entry in Library(tmp_path).runs()] == ["mine"]
    assert [entry["scenario_hash"] for entry in Library(tmp_path / "kept").runs()] == [run.scenario.hash]


def test_a_folder_that_is_no_run_is_passed_over(tmp_path: Path) -> None:
    for name, text in {"empty": "", "cut": "{", "list": "[]", "other": '{"name": "no run"}'}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").write_text(text, encoding="utf-8")
        (tmp_path / name / "summary.json").write_text(text, encoding="utf-8")
    assert Library(tmp_path).runs() == []


def test_a_port_that_is_taken_is_an_error_that_says_so(tmp_path: Path) -> None:
    from skyhop.serve import serve

    try:
        app.page_folder()
    except FileNotFoundError:
        pytest.skip("the page is not built here")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(OSError, match="choose another with --port"):
            serve(tmp_path, port=taken.getsockname()[1], open_browser=False)


def test_the_address_can_be_used_as_soon_as_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from skyhop.serve import serve

    class Told(Exception):
        """Ends `serve` once somebody who read the address is connected."""

    class Reader(io.StringIO):
        def write(self, text: str) -> int:
            port = int(text.split("127.0.0.1:")[1].split("/")[0])
            with socket.create_connection(("127.0.0.1", port), timeout=5):
                raise Told

    try:
        app.page_folder()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    monkeypatch.setattr(sys, "stderr", Reader())
    with pytest.raises(Told):
        serve(tmp_path, port=0, open_browser=False)


def test_the_worker_says_what_is_wrong_with_a_scenario(tmp_path: Path) -> None:
    order = {"id": "x", "text": "duration = 1", "seed": 1, "folder": str(tmp_path), "title": "t", "memory": 10**9}
    ran = subprocess.run([sys.executable, "-m", "skyhop.server.worker"], input=json.dumps(order) + "\n", text=True,
                         capture_output=True, check=False, timeout=60)  # fmt: skip
    last = json.loads(ran.stdout.splitlines()[-1])
    assert "duration" in last["failed"]
    assert list(tmp_path.iterdir()) == []


def test_a_scenario_names_a_catalogue_and_no_other_file(tmp_path: Path) -> None:
    scripts = Path(__file__).resolve().parents[2] / "tests" / "page"
    make_scenes = runpy.run_path(str(scripts / "make_scenes.py"))
    make_scenes["catalogue"](tmp_path)
    (tmp_path / "secret.tle").write_text((tmp_path / "catalogues" / "circles.tle").read_text())
    (tmp_path / "catalogues" / "linked.tle").symlink_to(tmp_path / "secret.tle")
    text = """duration = "10 s"
    profile = "rfc"
[constellation]
elements = "NAME"
gsl = { rate = "5 Mbit/s", elevation_mask = "10 deg" }
[stations]
a = { latitude = "40 deg", longitude = "-75 deg" }
b = { latitude = "51 deg", longitude = "0 deg" }
[[flows]]
name = "a"
from = "a"
to = "b"
tcp = "cubic"
"""
    with running(tmp_path) as server:
        assert server.ask("GET", "/api/catalogues") == (200, ["circles.tle"])
        for name, right in (("circles.tle", True), ("../secret.tle", False), ("linked.tle", False), ("x.tle", False)):
            verdict = server.ask("POST", "/api/check", {"text": text.replace("NAME", name)})[1]
            assert verdict["ok"] == right, verdict
        job = server.ask("POST", "/api/jobs", {"text": text.replace("NAME", "circles.tle"), "seed": 1})[1]
        assert server.wait(job["id"], "done", "failed")["state"] == "done"
