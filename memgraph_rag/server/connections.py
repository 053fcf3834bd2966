"""Bounds on connections: how long a request may take to arrive, and how many connections a process has open.

It knows HTTP/1.1 as uvicorn speaks it, and neither a token nor a tool. Invariants: a client that sends slowly, or
nothing, keeps no other client out; a connection whose request is being answered is never closed to make room.

uvicorn bounds only the time between two requests (``timeout_keep_alive``), and each byte lifts that bound; its
``limit_concurrency`` counts a connection only when the head of its request is whole.
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

__all__ = ["BoundedConnection", "most_waiting"]

logger = logging.getLogger(__name__)

_HEAD_S = 10.0  # from the first byte, or from the connection on; a head is a few hundred bytes
_BODY_S = 120.0  # for a body: 40 MiB by 350 kB a second
_MOST = 1024  # connections of a process, where the system would let it have more
_MOST_WAITING = 128  # connections that no process has taken yet
_SILENT_S = 60.0  # between two lines of the log about too many connections


class BoundedConnection(H11Protocol):
    """A connection that is closed when its request does not arrive in time, or when a newer one needs the room."""

    _told_at: ClassVar[float] = -_SILENT_S

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - as uvicorn's
        """Take a connection; where there are too many, close one that has no request to be answered."""
        self._opened_at = self.loop.time()
        self._awaited, self._deadline = "", None
        super().connection_made(transport)
        if len(self.connections) > _most_connections():
            self._make_room()
        self._watch()

    @override
    def data_received(self, data: bytes) -> None:
        """Take bytes, and bound the time of what is still to come."""
        super().data_received(data)
        self._watch()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadline."""
        self._await("", 0)
        super().connection_lost(exc)

    def _watch(self) -> None:
        """A deadline is set when a part of a request begins, and bytes of this part do not move it."""
        if self.conn.their_state is h11.SEND_BODY:
            self._await("body", _BODY_S)
        elif self.conn.their_state is h11.IDLE and self.timeout_keep_alive_task is None:
            self._await("head", _HEAD_S)
        else:
            self._await("", 0)

    def _await(self, part: str, seconds: float) -> None:
        if part == self._awaited:
            return
        if self._deadline is not None:
            self._deadline.cancel()
        self._awaited = part
        self._deadline = self.loop.call_later(seconds, self.transport.abort) if part else None

    def _make_room(self) -> None:
        """Close the oldest connection of those that never sent a whole request, else of those that have none now."""
        idle = [each for each in self.connections if isinstance(each, BoundedConnection) and each._is_idle]
        victim = min(idle, key=lambda each: (each.cycle is not None, each._opened_at), default=self)
        self.connections.discard(victim)
        victim.transport.abort()
        now = self.loop.time()
        if now - BoundedConnection._told_at >= _SILENT_S:
            BoundedConnection._told_at = now
            logger.warning(
                "All %d connections of this process are open. Those without a request give way to new ones.",
                _most_connections(),
            )

    @property
    def _is_idle(self) -> bool:
        """Whether no whole request of it is to be answered."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body


@cache
def _most_connections() -> int:
    """A quarter of the descriptors: twice as many may be open until the first are closed; the store has the rest."""
    return max(1, min(_MOST, _descriptors() // 4))


def most_waiting() -> int:
    """Return how many connections may wait to be taken. asyncio takes so many at once, up to four times in a row."""
    return max(1, min(_MOST_WAITING, _descriptors() // 8))


def _descriptors() -> int:
    """How many the process may have open."""
    if sys.platform == "win32":
        return 8 * _MOST
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 8 * _MOST if soft == resource.RLIM_INFINITY else soft
