"""Checks before every request: only this machine's own page may ask, and amount and time are limited.

A page from elsewhere reaches a server on 127.0.0.1 in two ways: by a name that it points there (refused by the Host
header), and by sending a request without reading the answer (refused by the Origin and Sec-Fetch-Site headers).
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from skyhop.server.doors import Doors

#: A scenario is a few kilobytes; the engine's own limit for a file is far above that.
LARGEST_BODY = 1_000_000
TOO_LARGE = f"A request has at most {LARGEST_BODY} bytes."

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "connect-src 'self'; worker-src blob:; font-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)

#: Sent with every answer.
HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}


class TooLarge(Exception):
    """The body that the application reads is larger than allowed; it answers with 413."""


class TooSlow(Exception):
    """The body that the application reads takes longer than allowed; it answers with 408."""


class _NotTaken(Exception):
    """The other end does not read its answer."""


class Guard:
    """Refuses foreign hosts, foreign origins, large and slow bodies before the application sees them."""

    def __init__(self, app: ASGIApp, *, port: int, doors: Doors | None = None) -> None:
        self._app = app
        self.doors = doors or Doors()
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
        if port == 80:
            self._hosts |= {"127.0.0.1", "localhost"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets a request pass or answers it."""
        if scope["type"] != "http":
            # The life of the server; websockets are not spoken here.
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        client = scope.get("client")
        self.doors.begin(client)
        try:
            await self._request(scope, receive, send)
        except _NotTaken:
            # Closing in order would first send what is not taken.
            self.doors.abort(client)
        finally:
            self.doors.end(client)

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        patience = self.doors.patience
        if self.doors.is_foreign(scope.get("client")):
            await _answer(send, 403, "This page is that of another user of this machine.")
            return
        refusal = self._refusal(scope, _headers(scope))
        if refusal is not None:
            await _answer(send, *refusal)
            return

        async def tell(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = [(key.encode(), value.encode()) for key, value in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", []), *given]}
            try:
                await asyncio.wait_for(send(message), patience.answer_s)
            except asyncio.TimeoutError:
                raise _NotTaken from None

        await self._app(scope, _Limited(receive, patience.body_s), tell)

    def _refusal(self, scope: Scope, headers: dict[str, list[str]]) -> tuple[int, str] | None:
        hosts = headers.get("host", [])
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return 421, "This server answers to 127.0.0.1 and localhost only."
        for origin in headers.get("origin", []):
            if origin not in {f"http://{host}" for host in self._hosts}:
                return 403, "Requests from other pages are refused."
        if any(site in ("cross-site", "same-site") for site in headers.get("sec-fetch-site", [])):
            # A link to the page is followed, nothing else is given to other pages.
            is_visit = (
                scope["method"] == "GET" and headers.get("sec-fetch-mode") == ["navigate"] and scope["path"] == "/"
            )
            if not is_visit:
                return 403, "Requests from other pages are refused."
        if scope["method"] not in ("GET", "HEAD"):
            # Browsers send this type across origins only after asking first, and nobody here says yes.
            kinds = [kind.split(";")[0].strip().lower() for kind in headers.get("content-type", [])]
            if kinds != ["application/json"]:
                return 415, "Write with Content-Type: application/json."
        length = headers.get("content-length", ["0"])[0]
        # Other digits than these ten are digits, too, for isdigit().
        if not (length.isascii() and length.isdigit()) or len(length) > 20 or int(length) > LARGEST_BODY:
            return 413, TOO_LARGE
        return None


class _Limited:
    """Counts the body as it comes, also where no length was announced, and gives it a time."""

    def __init__(self, receive: Receive, within_s: float) -> None:
        self._receive = receive
        self._seen = 0
        self._ends = asyncio.get_running_loop().time() + within_s
        self._more = True

    async def __call__(self) -> Message:
        if not self._more:
            # The next message can only say that the other end has gone.
            return await self._receive()
        try:
            message = await asyncio.wait_for(self._receive(), self._ends - asyncio.get_running_loop().time())
        except asyncio.TimeoutError:
            raise TooSlow from None
        self._more = bool(message.get("more_body"))
        self._seen += len(message.get("body", b""))
        if self._seen > LARGEST_BODY:
            raise TooLarge
        return message


def _headers(scope: Scope) -> dict[str, list[str]]:
    headers: dict[str, list[str]] = {}
    for key, value in scope["headers"]:
        headers.setdefault(key.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return headers


async def _answer(send: Send, status: int, message: str) -> None:
    body = json.dumps({"message": message}).encode()
    headers: list[tuple[bytes, bytes]] = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        # The rest of a refused body is not read.
        (b"connection", b"close"),
        *((key.encode(), value.encode()) for key, value in HEADERS.items()),
    ]
    start: dict[str, Any] = {"type": "http.response.start", "status": status, "headers": headers}
    await send(start)
    await send({"type": "http.response.body", "body": body})
