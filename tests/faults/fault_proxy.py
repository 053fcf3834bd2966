"""A TCP proxy that breaks connections on command, to stand between a driver and its server.

It knows bytes only. The invariant: without a fault everything passes through as it is.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

Fault = Literal["cut", "half-close", "stall", "slow"]
"""What happens: reset both sides; end the stream to the client only; pass nothing more; pass it late."""

Direction = Literal["up", "down"]
"""To the server, or to the client."""

CHUNK = 16_384
SLOW_S = 0.05


@dataclass
class Link:
    """One connection through the proxy."""

    client: socket.socket
    server: socket.socket
    stalled: threading.Event = field(default_factory=threading.Event)

    def reset(self) -> None:
        """End both sides at once, without a farewell."""
        for side in (self.client, self.server):
            with suppress(OSError):
                side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            with suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)
            with suppress(OSError):
                side.close()


class Proxy:
    """Passes connections of ``port`` on to a server.

    Attributes:
        refuses: new connections are closed at once.
        passed: chunks that went through, by direction.
    """

    def __init__(self, host: str, port: int) -> None:
        self._upstream = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.refuses = False
        self.passed = {"up": 0, "down": 0}
        self._plan: tuple[Fault, Direction, int] | None = None
        self._lock = threading.Lock()
        self._links: list[Link] = []
        self._open = True
        self.struck = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def plan(self, fault: Fault, direction: Direction, after: int) -> None:
        """Let that happen to the connection that carries the chunk ``after`` further ones in that direction."""
        with self._lock:
            self._plan = (fault, direction, self.passed[direction] + after)

    def cut(self) -> None:
        """Reset all connections."""
        for link in self._taken():
            link.reset()

    def stall(self) -> None:
        """Pass nothing more on the connections there are; the next ones work."""
        for link in self._links:
            link.stalled.set()

    def heal(self) -> None:
        """No fault any more; what is stalled is reset."""
        self.refuses = False
        with self._lock:
            self._plan = None
        for link in [link for link in self._links if link.stalled.is_set()]:
            link.reset()

    def close(self) -> None:
        """Stop listening, end all connections."""
        self._open = False
        self._listener.close()
        self.cut()

    def _taken(self) -> list[Link]:
        with self._lock:
            taken, self._links = self._links, []
        return taken

    def _accept(self) -> None:
        while self._open:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self.refuses:
                client.close()
                continue
            try:
                server = socket.create_connection(self._upstream, timeout=5)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            for side in (client, server):
                side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            link = Link(client, server)
            with self._lock:
                self._links.append(link)
            if self.refuses:  # since it was looked at above: all links were cut, but not this one
                link.reset()
            threading.Thread(target=self._pump, args=(link, "up"), daemon=True).start()
            threading.Thread(target=self._pump, args=(link, "down"), daemon=True).start()

    def _pump(self, link: Link, direction: Direction) -> None:
        source, sink = (link.client, link.server) if direction == "up" else (link.server, link.client)
        slow = False
        try:
            while data := source.recv(CHUNK):
                fault = self._due(direction)
                if fault == "cut":
                    link.reset()
                    return
                if fault == "half-close":
                    link.client.shutdown(socket.SHUT_WR)
                    link.server.shutdown(socket.SHUT_RDWR)  # closing it is not enough: the other pump reads from it
                    link.server.close()
                    return
                slow = slow or fault == "slow"
                if fault == "stall":
                    link.stalled.set()
                while link.stalled.is_set() and self._open:
                    time.sleep(0.01)
                    if link.client.fileno() < 0:
                        return
                if slow:
                    time.sleep(SLOW_S)
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            link.reset()

    def _due(self, direction: Direction) -> Fault | None:
        with self._lock:
            self.passed[direction] += 1
            if self._plan and self._plan[1] == direction and self.passed[direction] > self._plan[2]:
                fault, self._plan = self._plan[0], None
                self.struck += 1
                return fault
        return None


def until(condition: Callable[[], bool], seconds: float) -> bool:
    """Whether the condition came to hold in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
