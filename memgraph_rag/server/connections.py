"""Limits connections: the time in which a request must arrive, and the number of open connections of a process.

It knows the HTTP/1.1 of uvicorn, and neither tokens nor tools. Invariants: a client that sends slowly or nothing does
not keep other clients out. A connection whose request is being answered is never closed to make room.

uvicorn limits only the time between two requests (``timeout_keep_alive``), and each byte removes that limit. Its
``limit_concurrency`` counts a connection only after the head of its request has arrived.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from functools import cache
from typing import ClassVar

import h11
from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol

logger = logging.getLogger(__name__)

_HEAD_S = 10.0  # for a head, from the first byte or from the connection; a head is a few hundred bytes
_BODY_S = 120.0  # for a body: 40 MiB at 350 kB per second
_MOST = 1024  # connections of a process, if the system allows more
_MOST_WAITING = 128  # connections that wait to be accepted
_SILENT_S = 60.0  # between two log lines about too many connections


class BoundedConnection(H11Protocol):
    """A connection that closes if a request arrives too slowly, or if it is idle and others need its place."""

    _logged_at: ClassVar[float] = -_SILENT_S

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - as uvicorn's
        """Accept a connection. If too many are open, close an idle one, or this one if all others answer requests."""
        self._opened_at = self.loop.time()
        self._expected_part, self._deadline = "", None
        super().connection_made(transport)
        if len(self.connections) > _most_connections():
            self._make_room()
        self._watch()

    @override
    def data_received(self, data: bytes) -> None:
        """Process bytes. Set a deadline when the head or the body of a request begins; later bytes do not move it."""
        super().data_received(data)
        self._watch()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the deadline."""
        self._set_deadline("", 0)
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Set a deadline when a part of a request begins. Further bytes of this part do not move the deadline."""
        if self.conn.their_state is h11.SEND_BODY:
            self._set_deadline("body", _BODY_S)
        elif self.conn.their_state is h11.IDLE and self.timeout_keep_alive_task is None:
            self._set_deadline("head", _HEAD_S)
        else:
            self._set_deadline("", 0)

    def _set_deadline(self, part: str, seconds: float) -> None:
        if part == self._expected_part:
            return
        if self._deadline is not None:
            self._deadline.cancel()
        self._expected_part = part
        self._deadline = self.loop.call_later(seconds, self.transport.abort) if part else None

    def _make_room(self) -> None:
        """Close the oldest other connection without a whole request, or else the oldest idle one, or else this one."""
        others = [each for each in self.connections if isinstance(each, BoundedConnection) and each is not self]
        idle = [each for each in others if each._is_idle]
        victim = min(idle, key=lambda each: (each.cycle is not None, each._opened_at), default=self)
        self.connections.discard(victim)
        victim.transport.abort()
        now = self.loop.time()
        if now - BoundedConnection._logged_at >= _SILENT_S:
            BoundedConnection._logged_at = now
            logger.warning(
                "All %d connections of this process are open. Those without a request give way to new ones.",
                _most_connections(),
            )

    @property
    def _is_idle(self) -> bool:
        """Whether no request of this connection is being answered."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body


@cache
def _most_connections() -> int:
    """Return the largest number of open connections: a quarter of the descriptors.

    Twice as many may be open until the first are closed; the store needs the rest.
    """
    return max(1, min(_MOST, _descriptors() // 4))


def most_waiting() -> int:
    """Return the number of connections that may wait to be accepted (the backlog of a socket), at least 1."""
    return max(1, min(_MOST_WAITING, _descriptors() // 8))


def _descriptors() -> int:
    """Return the number of descriptors that the process may have open."""
    if sys.platform == "win32":
        return 8 * _MOST
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 8 * _MOST if soft == resource.RLIM_INFINITY else soft
