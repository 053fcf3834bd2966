"""Messages of the Bolt protocol, as bytes on a connection and as a name with fields.

It knows neither sockets nor what a message is answered with. The driver's own PackStream packs and unpacks. The
invariant: a message that nobody changes is passed on as the bytes that came.

Source: neo4j.com/docs/bolt/current, "Chunking", "Message" and "Handshake".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from neo4j._codec.packstream._common import PackableBuffer, UnpackableBuffer
from neo4j._codec.packstream.v1 import Packer, Unpacker

HANDSHAKE_BYTES = 20
"""Of the client: a magic number and four versions."""

ANSWER_BYTES = 4
"""Of the server: the version that it takes."""

MANIFEST = b"\x00\x00\x01\xff"
"""A proposed version that asks for a list of versions, with which the handshake takes one round more."""

NO_VERSION = b"\x00\x00\x00\x00"

NAMES = {
    0x10: "RUN",
    0x11: "BEGIN",
    0x12: "COMMIT",
    0x13: "ROLLBACK",
    0x0F: "RESET",
    0x66: "ROUTE",
    0x70: "SUCCESS",
    0x71: "RECORD",
    0x7E: "IGNORED",
    0x7F: "FAILURE",
}
SIGNATURES = {name: bytes([signature]) for signature, name in NAMES.items()}
GOODBYE = 0x02


@dataclass(frozen=True)
class Message:
    """One message; ``content`` is without its chunks' headers."""

    content: bytes

    @property
    def name(self) -> str:
        """What it is; empty for those that nobody here looks at."""
        return NAMES.get(self.content[1], "")

    @property
    def is_answered(self) -> bool:
        return self.content[1] != GOODBYE

    @property
    def fields(self) -> list[Any]:
        buffer = UnpackableBuffer(self.content)
        unpacker = Unpacker(buffer)
        size, _ = unpacker.unpack_structure_header()
        return [unpacker.unpack() for _ in range(size)]

    @property
    def bytes(self) -> bytes:
        """As it is sent."""
        chunks = (self.content[start : start + 0xFFFF] for start in range(0, len(self.content), 0xFFFF))
        return b"".join(struct.pack(">H", len(chunk)) + chunk for chunk in chunks) + b"\x00\x00"


def message(name: str, *fields: Any) -> Message:
    buffer = PackableBuffer()
    Packer(buffer).pack_struct(SIGNATURES[name], fields)
    return Message(bytes(buffer.data))


class Messages:
    """Takes bytes of a connection as they come and gives the messages that are complete."""

    def __init__(self) -> None:
        self._bytes = b""
        self._content = b""

    def take(self, data: bytes) -> Iterator[Message]:
        self._bytes += data
        while len(self._bytes) >= 2:
            size = int.from_bytes(self._bytes[:2], "big")
            if len(self._bytes) < 2 + size:
                return
            chunk, self._bytes = self._bytes[2 : 2 + size], self._bytes[2 + size :]
            self._content += chunk
            if not size and self._content:  # no content is a sign of life
                content, self._content = self._content, b""
                yield Message(content)
