"""The routes: the page, the runs, the studies, the editor's questions and the runs that it starts."""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from skyhop import _core, packets
from skyhop.server import library as lib
from skyhop.server.checks import CheckLimits, Checks
from skyhop.server.doors import Doors
from skyhop.server.grids import grids
from skyhop.server.guard import TOO_LARGE, Guard, TooLarge, TooSlow
from skyhop.server.jobs import Busy, Jobs, Limits, Packets, as_json

#: Files of the page itself; the routes below answer everything else.
_ASSETS = {"page.js": "text/javascript", "page.css": "text/css"}
_TYPES = {".json": "application/json", ".csv": "text/csv", ".parquet": "application/vnd.apache.parquet"}
_LARGEST_SEED = 2**64 - 1
MOST_LISTENERS = 32
_HEARTBEAT_S = 15.0
#: Seconds between two looks for runs that others wrote, while a page is open.
_LOOK_EVERY_S = 2.0
#: A look may take this share of the time at most: a folder of many thousand runs is looked at less often.
_LOOK_SHARE = 0.05


class _Folder(PathConvertor):
    """A name of folders in an address; that of a folder may hold a line's end."""

    regex = r"[\s\S]*"


register_url_convertor("folder", _Folder())


class Bad(Exception):
    """A request that cannot be meant; the text is for the reader."""


def page_folder() -> Path:
    """Where the built page is; FileNotFoundError, with what to do, where it was not built."""
    folder = Path(str(files("skyhop") / "page"))
    if not (folder / "index.html").is_file():
        raise FileNotFoundError("the page is not built: run `make build` (it needs Node.js 20 or newer)")
    return folder


def create(
    folder: Path,
    *,
    port: int,
    limits: Limits | None = None,
    checks: CheckLimits | None = None,
    doors: Doors | None = None,
) -> Guard:
    """The application over a folder of runs. Its `doors` are what uvicorn is to ask about connections."""
    server = _Server(folder, limits or Limits(), checks)
    routes = [
        Route("/", server.index),
        Route("/api/runs", server.runs),
        Route("/api/files/{run:folder}/{name}", server.file),
        Route("/api/studies", server.studies),
        Route("/api/grids", server.grids),
        Route("/api/run/{run:folder}", server.run),
        Route("/api/schema", server.schema),
        Route("/api/presets", server.presets),
        Route("/api/catalogues", server.catalogues),
        Route("/api/check", server.check, methods=["POST"]),
        Route("/api/jobs", server.jobs_list, methods=["GET"]),
        Route("/api/jobs", server.jobs_start, methods=["POST"]),
        Route("/api/jobs/{job}/cancel", server.jobs_cancel, methods=["POST"]),
        Route("/api/packets", server.packets_start, methods=["POST"]),
        Route("/api/packets/{key}", server.packets_file),
        Route("/api/events", server.events),
        Route("/{asset}", server.asset),
    ]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        watch = asyncio.create_task(server.watch_folder())
        yield
        watch.cancel()
        await server.jobs.close()
        await server.checks.close()

    refusals = {Bad: _bad, TooLarge: _too_large, TooSlow: _too_slow, 404: _missing}
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=refusals)
    # An address that is nearly one of ours is not redirected.
    app.router.redirect_slashes = False
    return Guard(app, port=port, doors=doors)


class _Server:
    def __init__(self, folder: Path, limits: Limits, checks: CheckLimits | None) -> None:
        self.library = lib.Library(folder)
        self.jobs = Jobs(self.library.folder, limits, self.library.catalogue_folder)
        self.checks = Checks(checks, self.library.catalogue_folder)
        self._listeners = 0

    async def index(self, _: Request) -> Response:
        return FileResponse(page_folder() / "index.html", media_type="text/html")

    async def asset(self, request: Request) -> Response:
        name = request.path_params["asset"]
        if name not in _ASSETS:
            return _message(404, "There is nothing here.")
        return FileResponse(page_folder() / name, media_type=_ASSETS[name])

    async def runs(self, _: Request) -> Response:
        return JSONResponse(await run_in_threadpool(self.library.runs))

    async def watch_folder(self) -> None:
        """Tells open pages of runs that appeared in the folder, changed, or went."""
        before: list[tuple[str, float]] | None = None
        pause = _LOOK_EVERY_S
        while True:
            await asyncio.sleep(pause)
            if not self.jobs.heard:
                continue
            begin = time.monotonic()
            now = [(one["id"], one["modified"]) for one in await run_in_threadpool(self.library.runs)]
            pause = max(_LOOK_EVERY_S, (time.monotonic() - begin) / _LOOK_SHARE)
            # The first look, too: a run may have come between the page's list and now.
            if now != before:
                self.jobs.announce_runs()
            before = now

    async def file(self, request: Request) -> Response:
        path = self.library.file(request.path_params["run"], request.path_params["name"])
        if path is None:
            return _message(404, "There is no such file of a run.")
        return FileResponse(path, media_type=_TYPES[path.suffix])

    async def studies(self, _: Request) -> Response:
        return JSONResponse(await run_in_threadpool(lib.studies, self.library))

    async def grids(self, _: Request) -> Response:
        return JSONResponse(await run_in_threadpool(grids, self.library))

    async def run(self, request: Request) -> Response:
        entry = await run_in_threadpool(self.library.entry, request.path_params["run"])
        return JSONResponse(entry) if entry is not None else _message(404, "There is no such run.")

    async def schema(self, _: Request) -> Response:
        return Response(_core.json_schema(), media_type="application/json")

    async def presets(self, _: Request) -> Response:
        return JSONResponse(presets())

    async def catalogues(self, _: Request) -> Response:
        return JSONResponse(await run_in_threadpool(self.library.catalogues))

    async def check(self, request: Request) -> Response:
        text = _text(await _json(request))
        return JSONResponse(await self.checks.check(text))

    async def jobs_list(self, _: Request) -> Response:
        return JSONResponse([as_json(job) for job in self.jobs.all()])

    async def jobs_start(self, request: Request) -> Response:
        body = await _json(request)
        text = _text(body)
        seed = body.get("seed", 1)
        if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed <= _LARGEST_SEED:
            raise Bad("The seed is a whole number from 0 to 2^64 - 1.")
        verdict = await self.checks.check(text)
        if not verdict["ok"]:
            return JSONResponse({"message": "The scenario has problems.", **verdict}, status_code=422)
        try:
            return JSONResponse(as_json(self.jobs.start(text, seed, title_of(text, seed))), status_code=201)
        except Busy:
            return _message(429, "So many runs are waiting that no more are taken; cancel one or wait.")

    async def jobs_cancel(self, request: Request) -> Response:
        await _json(request)
        job = self.jobs.find(request.path_params["job"])
        if job is None:
            return _message(404, "There is no such run.")
        await self.jobs.cancel(job)
        return JSONResponse(as_json(job))

    async def packets_start(self, request: Request) -> Response:
        """Says under which key the packets of a flow are kept, after a job that records them where they are not."""
        body = await _json(request)
        run, flow = body.get("run"), body.get("flow")
        begin_s, end_s = (_time(body.get(name)) for name in ("begin_s", "end_s"))
        if not isinstance(run, str) or not isinstance(flow, str):
            raise Bad("`run` and `flow` are names.")
        found = await run_in_threadpool(self.library.recorded, run)
        if found is None:
            return _message(404, "There is no such run.")
        folder, records_hash = found
        file = self.library.packets(packets.key(records_hash, flow, begin_s, end_s))
        if file.is_file():
            return JSONResponse({"key": file.stem, "job": None})
        await run_in_threadpool(self.library.forget_packets)
        try:
            job = self.jobs.record(Packets(folder, run, flow, begin_s, end_s, file))
        except Busy:
            return _message(429, "So many runs are waiting that no more are taken; cancel one or wait.")
        return JSONResponse({"key": file.stem, "job": as_json(job)}, status_code=201)

    async def packets_file(self, request: Request) -> Response:
        key = request.path_params["key"]
        file = self.library.packets(key)
        if not re.fullmatch("[0-9a-f]{32}", key) or file.is_symlink() or not file.is_file():
            return _message(404, "These packets are not recorded.")
        return FileResponse(file, media_type=_TYPES[".parquet"])

    async def events(self, _: Request) -> Response:
        return _Events(self)

    async def listen(self, receive: Receive, send: Send) -> None:
        """Sends what happens to the jobs until the other end has gone or takes nothing any more."""
        kind = (b"content-type", b"text/event-stream; charset=utf-8")
        await send({"type": "http.response.start", "status": 200, "headers": [kind]})

        async def say(text: str, more: bool = True) -> None:
            await send({"type": "http.response.body", "body": text.encode(), "more_body": more})

        listener = self.jobs.listen()
        gone = asyncio.ensure_future(_gone(receive))
        news = asyncio.ensure_future(listener.next())
        try:
            await say("retry: 2000\n\n")
            while not gone.done():
                await asyncio.wait({news, gone}, timeout=_HEARTBEAT_S, return_when=asyncio.FIRST_COMPLETED)
                if not news.done():
                    await say(": still here\n\n")
                    continue
                event = news.result()
                if event is None:
                    break
                await say(f"event: {event[0]}\ndata: {json.dumps(event[1])}\n\n")
                news = asyncio.ensure_future(listener.next())
            await say("", more=False)
        finally:
            self.jobs.leave(listener)
            news.cancel()
            gone.cancel()

    async def count(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets one more listen, where there are not too many. Nothing happens between the question and the count."""
        if self._listeners >= MOST_LISTENERS:
            await _message(429, "Too many pages are open.")(scope, receive, send)
            return
        self._listeners += 1
        try:
            await self.listen(receive, send)
        finally:
            self._listeners -= 1


class _Events(Response):
    """The stream of what happens to the jobs."""

    def __init__(self, server: _Server) -> None:
        super().__init__()
        self._server = server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._server.count(scope, receive, send)


async def _gone(receive: Receive) -> None:
    """Comes back when the other end has gone, or does not come to the end of its request."""
    with suppress(TooLarge, TooSlow):
        while (await receive())["type"] != "http.disconnect":
            pass


def presets() -> list[dict[str, str]]:
    """Scenarios to start from; the first comment of each is its title."""
    found = []
    for file in sorted((files("skyhop") / "server" / "presets").iterdir(), key=lambda one: one.name):
        if file.name.endswith(".toml"):
            text = file.read_text(encoding="utf-8")
            name = file.name.removesuffix(".toml")
            found.append({"name": name, "title": _first_comment(text) or name, "text": text})
    return found


def title_of(text: str, seed: int) -> str:
    """What a run is called: the first comment of its scenario, or the time of day would say nothing either."""
    title = _first_comment(text) or "Scenario"
    return title if seed == 1 else f"{title}, seed {seed}"


def _first_comment(text: str) -> str:
    found = re.match(r"\s*#+[ \t]*(.*)", text)
    return "".join(sign for sign in found[1].strip() if sign.isprintable())[:70] if found else ""


async def _json(request: Request) -> dict[str, Any]:
    try:
        body = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise Bad("The body is not JSON.") from None
    if not isinstance(body, dict):
        raise Bad("The body is a JSON object.")
    return body


def _text(body: dict[str, Any]) -> str:
    text = body.get("text")
    if not isinstance(text, str):
        raise Bad("`text` is the scenario.")
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise Bad("The scenario holds half of a character.") from None
    return text


def _time(value: Any) -> float | None:
    """Seconds of a request, to the millisecond, so that equal times have equal keys."""
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise Bad("`begin_s` and `end_s` are times in seconds, or null.")
    return round(float(value), 3)


def _message(status: int, message: str) -> Response:
    return JSONResponse({"message": message}, status_code=status)


async def _bad(_: Request, error: Exception) -> Response:
    return _message(400, str(error))


async def _too_large(_: Request, __: Exception) -> Response:
    return _last(_message(413, TOO_LARGE))


async def _too_slow(_: Request, __: Exception) -> Response:
    return _last(_message(408, "The request took too long to come."))


def _last(response: Response) -> Response:
    """Ends the connection with this answer: the rest of the body is not read."""
    response.headers["connection"] = "close"
    return response


async def _missing(_: Request, __: Exception) -> Response:
    return _message(404, "There is nothing here.")
