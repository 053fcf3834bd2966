"""How long a model's server may take for a reply, and how long the reply may be.

The client's own read timeout begins anew with every byte, and it bounds no length. This module knows the client by two
public hooks alone: the one before a request, and the trace that shows each new connection. Invariant: from the moment
a request is written, no read of its reply waits beyond the request's deadline, and no reply is longer than
``MOST_BYTES``, whatever the server sends: headers, chunk sizes, comments or text.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from memgraph_rag.models.endpoints.address import Address
from memgraph_rag.models.endpoints.errors import breaks_off, too_long, wrong_content

__all__ = ["MOST_BYTES", "ReplyLimits"]

MOST_BYTES = 32 * 2**20
"""Of one reply. 64 vectors of 8,192 numbers take 12 MiB, 32,000 tokens that come one by one 10 MiB."""

_NEW_CONNECTION = (".connect_tcp.complete", ".connect_unix_socket.complete", ".start_tls.complete")


@dataclass(slots=True)
class _Allowance:
    """What is left to one reply."""

    deadline: float
    seconds: float
    bytes_left: int


class ReplyLimits:
    """The limits of all replies of one client. The read timeout of a request counts for its whole reply."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._sent_here = threading.local()

    @property
    def hooks(self) -> Mapping[str, list[Callable[[Any], None]]]:
        """What the client calls before each request and behind the headers of each reply."""
        return {"request": [self._begin], "response": [self._require_plain]}

    def _begin(self, request: Any) -> None:
        seconds = request.extensions["timeout"]["read"]
        self._sent_here.allowance = _Allowance(time.monotonic() + seconds, seconds, MOST_BYTES)
        request.headers["accept-encoding"] = "identity"  # a compressed reply has no bound that can be counted here
        request.extensions["trace"] = self._watch

    def _require_plain(self, response: Any) -> None:
        encoding = response.headers.get("content-encoding", "identity")
        if encoding != "identity":
            raise wrong_content(f"one that is compressed ({encoding:.20})", self._address)

    def _watch(self, event: str, info: Mapping[str, Any]) -> None:
        """Bound each new connection."""
        if event.endswith(_NEW_CONNECTION):
            _Connection(info["return_value"], self._sent_here, self._address)


class _Connection:
    """Stands before the reads and writes of a connection. A request is written by one thread, its reply read by any."""

    def __init__(self, stream: Any, sent_here: threading.local, address: Address) -> None:
        self._read, self._write = stream.read, stream.write
        self._sent_here = sent_here
        self._address = address
        self._allowance: _Allowance = sent_here.allowance
        stream.read, stream.write = self.read, self.write

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._allowance = self._sent_here.allowance  # a new request on a connection that was kept
        self._write(buffer, timeout)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        allowance = self._allowance
        left = allowance.deadline - time.monotonic()
        if left <= 0:
            raise breaks_off(f"no end within {allowance.seconds:.3g} s", self._address)
        data = self._read(max_bytes, left if timeout is None else min(timeout, left))
        allowance.bytes_left -= len(data)
        if allowance.bytes_left < 0:
            raise too_long(MOST_BYTES, self._address)
        return data
