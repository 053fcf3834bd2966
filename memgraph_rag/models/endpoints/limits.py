"""Limits on the time and the length of a server's reply.

The read timeout of the client starts again with every byte, and the client does not limit the length. This module uses
two public hooks of the client: the hook before a request, and the trace that shows each new connection. Invariant:
after a request is written, no read of its reply waits longer than the request's deadline, and no reply is longer than
``MOST_BYTES``, whatever the server sends: headers, chunk sizes, comments or text.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from memgraph_rag.models.endpoints.address import Address
from memgraph_rag.models.endpoints.replies import incomplete_reply, too_long, wrong_content

MOST_BYTES = 32 * 2**20
"""The largest size of a reply. 64 vectors of 8,192 numbers take 12 MiB; 32,000 tokens sent one by one take 10 MiB."""

_NEW_CONNECTION = (".connect_tcp.complete", ".connect_unix_socket.complete", ".start_tls.complete")


@dataclass(slots=True)
class _Allowance:
    """The time and the bytes that are left for one reply."""

    deadline: float
    seconds: float
    bytes_left: int


class ReplyLimits:
    """The limits for all replies of one client. The read timeout of a request applies to its whole reply."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._sent_here = threading.local()

    @property
    def hooks(self) -> Mapping[str, list[Callable[[Any], None]]]:
        """The functions that the client calls before each request and after the headers of each reply."""
        return {"request": [self._begin], "response": [self._require_plain]}

    def _begin(self, request: Any) -> None:
        seconds = request.extensions["timeout"]["read"]
        self._sent_here.allowance = _Allowance(time.monotonic() + seconds, seconds, MOST_BYTES)
        request.headers["accept-encoding"] = "identity"  # the length of a compressed reply cannot be limited here
        request.extensions["trace"] = self._watch

    def _require_plain(self, response: Any) -> None:
        encoding = response.headers.get("content-encoding", "identity")
        if encoding != "identity":
            raise wrong_content(f"one that is compressed ({encoding:.20})", self._address)

    def _watch(self, event: str, info: Mapping[str, Any]) -> None:
        """Add the limits to each new connection."""
        if event.endswith(_NEW_CONNECTION):
            _Connection(info["return_value"], self._sent_here, self._address)


class _Connection:
    """Replaces the read and write methods of a connection.

    One thread writes a request; any thread may read its reply.
    """

    def __init__(self, stream: Any, sent_here: threading.local, address: Address) -> None:
        self._read, self._write = stream.read, stream.write
        self._sent_here = sent_here
        self._address = address
        self._allowance: _Allowance = sent_here.allowance
        stream.read, stream.write = self.read, self.write

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._allowance = self._sent_here.allowance  # a new request on an open connection
        self._write(buffer, timeout)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        allowance = self._allowance
        left = allowance.deadline - time.monotonic()
        if left <= 0:
            raise incomplete_reply(f"no end within {allowance.seconds:.3g} s", self._address)
        data = self._read(max_bytes, left if timeout is None else min(timeout, left))
        allowance.bytes_left -= len(data)
        if allowance.bytes_left < 0:
            raise too_long(MOST_BYTES, self._address)
        return data
