"""Connections: how many there are, and how long one may take to say what it wants and to take what it asked for.

Uvicorn has no limit for any of this. A connection that sends its request byte by byte, or never reads its answer, would
be held for as long as its other end likes, and a few hundred of them would leave none for the page.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

#: The address of the other end, by which the application knows the connection of a request.
Client = tuple[str, int]

_FULL = b"All connections of the server are in use."
_REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain\r\nconnection: close\r\n"
    b"content-length: %d\r\n\r\n%s" % (len(_FULL), _FULL)
)


@dataclass(frozen=True)
class Patience:
    """How much the server puts up with."""

    #: At most so many at once. A browser opens six to one server.
    connections: int = 256
    #: Seconds from the connection, or from the answer before, to the end of a request's headers.
    head_s: float = 10.0
    #: Seconds for the whole body of a request.
    body_s: float = 10.0
    #: Seconds in which some of an answer must be taken once 64 kB of it wait.
    answer_s: float = 30.0


@dataclass
class _Connection:
    transport: asyncio.Transport
    timer: asyncio.TimerHandle
    #: Of the event loop's clock, in seconds; None while a request is answered.
    waits_since: float | None = None
    #: A client that does not wait for an answer before its next request can have two for a moment.
    answering: int = 0
    #: Another user of this machine stands at the other end.
    is_foreign: bool = False


class Doors:
    """All connections of one server."""

    def __init__(self, patience: Patience | None = None) -> None:
        self.patience = patience or Patience()
        self._open: dict[Client, _Connection] = {}

    def begin(self, client: Client | None) -> None:
        """The headers of a request are there; from now on others watch it."""
        if connection := self._of(client):
            connection.timer.cancel()
            connection.waits_since = None
            connection.answering += 1

    def end(self, client: Client | None) -> None:
        """A request is answered; the next one may come."""
        if client and (connection := self._of(client)):
            connection.answering -= 1
            if connection.answering == 0:
                self._wait(client, connection)

    def abort(self, client: Client | None) -> None:
        """Ends a connection at once, with whatever was not sent yet."""
        if connection := self._of(client):
            connection.transport.abort()

    def is_foreign(self, client: Client | None) -> bool:
        """Whether the other end belongs to another user of this machine, as far as the system tells."""
        connection = self._of(client)
        return connection is not None and connection.is_foreign

    def opened(self, transport: asyncio.Transport) -> bool:
        """Whether a new connection is taken. Where there are too many, the one that waits longest makes room."""
        if len(self._open) >= self.patience.connections:
            waiting = [(one.waits_since, key) for key, one in self._open.items() if one.waits_since is not None]
            if not waiting:
                return False
            _, oldest = min(waiting)
            self._open[oldest].transport.abort()
            self._forget(oldest)
        client = _client(transport)
        connection = _Connection(transport, asyncio.get_running_loop().call_later(0, lambda: None))
        connection.is_foreign = _is_foreign(client, transport.get_extra_info("sockname"))
        self._open[client] = connection
        self._wait(client, connection)
        return True

    def closed(self, transport: asyncio.Transport) -> None:
        """A connection is gone."""
        client = _client(transport)
        if client in self._open and self._open[client].transport is transport:
            self._forget(client)

    def protocol(self) -> type[asyncio.Protocol]:
        """What uvicorn is to speak: its own HTTP, which asks here about connections."""
        doors = self

        class Watched(H11Protocol):
            _is_refused = False

            def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
                self._is_refused = not doors.opened(transport)
                if self._is_refused:
                    transport.write(_REFUSAL)
                    transport.close()
                else:
                    super().connection_made(transport)

            def data_received(self, data: bytes) -> None:
                if not self._is_refused:
                    super().data_received(data)

            def connection_lost(self, exc: Exception | None) -> None:
                if not self._is_refused:
                    doors.closed(self.transport)
                    super().connection_lost(exc)

        return Watched

    def _of(self, client: Client | None) -> _Connection | None:
        return self._open.get(client) if client else None

    def _wait(self, client: Client, connection: _Connection) -> None:
        loop = asyncio.get_running_loop()
        connection.timer.cancel()
        connection.timer = loop.call_later(self.patience.head_s, self.abort, client)
        connection.waits_since = loop.time()

    def _forget(self, client: Client) -> None:
        self._open.pop(client).timer.cancel()


#: Every connection of IPv4 that this machine has an end of, with the user who opened it.
_CONNECTIONS = Path("/proc/net/tcp")
#: As the kernel's table has it.
_ESTABLISHED = "01"


def _is_foreign(client: Client, server: Any) -> bool:
    """Everybody on this machine can connect to 127.0.0.1, but the kernel knows who did: on Linux, where it says.

    The super-user, who could read everything anyway, may ask: forwarded ports come from there.
    """
    try:
        table = _CONNECTIONS.read_text(encoding="ascii").splitlines()[1:]
        ends = [_as_in_table(client), _as_in_table(server)]
    except (OSError, ValueError, TypeError, IndexError):
        return False
    for line in table:
        words = line.split()
        if words[1:3] == ends:
            # An end that is closed by now belongs to nobody any more, and nobody reads the answer.
            return words[3] != _ESTABLISHED or int(words[7]) not in (os.getuid(), 0)
    return False


def _as_in_table(address: tuple[str, int]) -> str:
    """Hexadecimal, the four bytes of the address as a number of this processor."""
    number = int.from_bytes(socket.inet_aton(address[0]), sys.byteorder)
    return f"{number:08X}:{address[1]:04X}"


def _client(transport: asyncio.Transport) -> Client:
    peer: Any = transport.get_extra_info("peername") or ("", 0)
    return str(peer[0]), int(peer[1])
