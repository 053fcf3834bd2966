"""A check of a GGUF file's header against the size of the file, before a library converts the file.

Conversion libraries trust the header: they read arrays of the claimed length and build networks of the claimed size.
    The module knows the format (versions 2 and 3), and of libraries only gguf's table of number formats. Invariants: it
    reads no more than the file holds, in time proportional to that; a network that passes has at most a small multiple
    of the numbers in the file, so that a conversion needs memory proportional to the file.

Source: the format's description, github.com/ggml-org/ggml, docs/gguf.md.
"""

from __future__ import annotations

import math
import struct
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, NoReturn

from memgraph_rag.errors import ModelError

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_UINT32, _STRING, _ARRAY = 4, 8, 9
_INTEGERS = "BbHhIiQq"

_SIZES = (
    *("block_count", "embedding_length", "feed_forward_length", "context_length", "vocab_size", "expert_count"),
    *("attention.head_count", "attention.key_length", "expert_feed_forward_length"),
)
_NEEDED = _SIZES[:3]

_MOST_DIMENSIONS = 8
_MOST_ITEMS = 4_000_000  # in all lists together; a vocabulary of 262,144 tokens has 1.4 million
_MOST_NAME = 65_535  # bytes, the format's limit for keys
_SHOWN = 200  # characters of a value in an error message
_FACTOR = 2  # a layer may claim this multiple of the numbers in the file
_FACTOR_OF_PLACES = 64  # for positions, because most models compute them and store no numbers for them


def check_gguf(path: Path) -> None:
    """Check that the header of a GGUF file claims only what the file can hold.

    Raises:
        ModelError: the file is no GGUF file, is incomplete, has an unknown version or number format, or its header
            claims more than it holds.
        OSError: the file cannot be read.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        header = _Header(file, size, path.name)
        header.read()


def read_vocabulary(path: Path) -> tuple[list[str], list[str]]:
    """Return the tokens and the merges of a GGUF file in their order. The file may end after the pairs of its header.

    Raises:
        ModelError: the file is no GGUF file, its version is unknown, or its pairs reach beyond its end.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        header = _Header(file, path.stat().st_size, path.name)
        header.read_pairs()
    tokens, merges = (header.texts.get(f"tokenizer.ggml.{name}", []) for name in ("tokens", "merges"))
    return tokens, merges


class _Header:
    """The header of one file, read from beginning to end.

    Attributes:
        texts: the lists of texts that were read, by key.
    """

    def __init__(self, file: BinaryIO, size: int, name: str) -> None:
        self.texts: dict[str, list[str]] = {}
        self._file = file
        self._size = size
        self._name = name
        self._order = "<"
        self._items = 0
        self._sizes: dict[str, int] = {}  # sizes of the network, by name without the architecture
        self._alignment = 32

    def read(self) -> None:
        """Read the whole header and check it."""
        tensors = self.read_pairs()
        elements = self._read_tensors(tensors)
        self._check_sizes(tensors, elements)

    def read_pairs(self) -> int:
        """Read the header up to its list of tensors; return the length of this list."""
        if self._bytes(4) != _MAGIC:
            self._refuse("a file that begins with GGUF", "another file")
        (version,) = self._unpack("I")
        if version & 0xFFFF == 0:
            self._order, version = ">", version >> 24
        if version not in _VERSIONS:
            self._refuse("version 2 or 3", version)
        tensors, pairs = self._unpack("QQ")
        for _ in range(pairs):
            self._read_pair()
        return tensors

    def _read_pair(self) -> None:
        key = self._read_name().decode("utf-8", "replace")
        (kind,) = self._unpack("I")
        if kind == _STRING:
            self._read_text()
        elif kind == _ARRAY:
            self._read_array(key)
        elif kind in _SCALARS:
            (value,) = self._unpack(_SCALARS[kind])
            if _SCALARS[kind] in _INTEGERS:
                self._note(key, value)
            if key == "general.alignment":
                if kind != _UINT32 or value == 0 or value & (value - 1):
                    self._refuse("an alignment that is a power of two", value)
                self._alignment = value
        else:
            self._refuse("a known type of value", kind)

    def _read_array(self, key: str) -> None:
        kind, length = self._unpack("IQ")
        self._items += length
        if self._items > _MOST_ITEMS:
            self._refuse(f"at most {_MOST_ITEMS:,} items in lists", f"{self._items:,}")
        if kind == _STRING:
            self.texts[key] = [self._read_text() for _ in range(length)]
            if key == "tokenizer.ggml.tokens":
                self._note("vocab_size", length)
        elif kind in _SCALARS:
            values = self._unpack(f"{length}{_SCALARS[kind]}")
            if values and _SCALARS[kind] in _INTEGERS:
                self._note(key, max(values))
        else:
            self._refuse("lists of texts or numbers", f"one of type {kind}")

    def _read_tensors(self, count: int) -> int:
        """Read the list of tensors; return how many numbers all tensors hold."""
        from gguf import GGML_QUANT_SIZES, GGMLQuantizationType

        sizes = {int(kind): GGML_QUANT_SIZES[kind] for kind in GGMLQuantizationType if kind in GGML_QUANT_SIZES}
        elements, parts = 0, list[tuple[int, int]]()
        for _ in range(count):
            self._read_name()
            (dimensions,) = self._unpack("I")
            if not 1 <= dimensions <= _MOST_DIMENSIONS:
                self._refuse(f"tensors of 1 to {_MOST_DIMENSIONS} dimensions", dimensions)
            shape = self._unpack(f"{dimensions}Q")
            kind, offset = self._unpack("IQ")
            block, block_bytes = sizes.get(kind, (0, 0))
            if not block or not all(shape) or shape[0] % block:
                self._refuse("tensors of a known number format, in whole blocks", f"type {kind} of shape {shape}")
            elements += math.prod(shape)
            parts.append((offset, offset + math.prod(shape) // block * block_bytes))
        room = self._size - -(-self._file.tell() // self._alignment) * self._alignment
        parts.sort()
        if any(start < end for (_, end), (start, _) in pairwise(parts)) or (parts and parts[-1][1] > room):
            self._refuse(f"tensors within its {self._size:,} bytes that do not overlap", "others")
        return elements

    def _check_sizes(self, tensors: int, elements: int) -> None:
        """Check that the network has no more numbers than the file; otherwise a library would make the rest up."""
        sizes = self._sizes
        lacking = [name for name in _NEEDED if name not in sizes]
        if lacking:
            self._refuse("a size of the network", f"no {lacking[0]}")
        layers, width = sizes["block_count"], sizes["embedding_length"]
        inner = max(width, sizes["feed_forward_length"])
        heads = sizes.get("attention.head_count", 0) * sizes.get("attention.key_length", 0)
        experts = sizes.get("expert_count", 0) * sizes.get("expert_feed_forward_length", 0)
        claimed = layers * width * max(inner, heads, experts), width * sizes.get("vocab_size", 0)
        places = width * sizes.get("context_length", 0)
        if layers > tensors or max(claimed) > _FACTOR * elements or places > _FACTOR_OF_PLACES * elements:
            self._refuse(
                f"a network of the {elements:,} numbers in its tensors",
                f"{layers:,} layers of width {width:,}, {sizes}",
            )

    def _note(self, key: str, value: int) -> None:
        name = key.partition(".")[2] or key
        if name in _SIZES:
            if value < 0:
                self._refuse("sizes of the network that are not below 0", f"{key} of {value}")
            self._sizes[name] = max(value, self._sizes.get(name, 0))

    def _read_name(self) -> bytes:
        (length,) = self._unpack("Q")
        if length > _MOST_NAME:
            self._refuse(f"names of at most {_MOST_NAME:,} bytes", f"one of {length:,}")
        return self._bytes(length)

    def _read_text(self) -> str:
        (length,) = self._unpack("Q")
        return self._bytes(length).decode("utf-8", "replace")

    def _unpack(self, form: str) -> tuple[int, ...]:
        form = self._order + form
        return struct.unpack(form, self._bytes(struct.calcsize(form)))

    def _bytes(self, length: int) -> bytes:
        self._require(length)
        return self._file.read(length)

    def _require(self, length: int) -> None:
        if length > self._size - self._file.tell():
            self._refuse(f"a header within its {self._size:,} bytes", "one that reaches further")

    def _refuse(self, expected: str, got: object) -> NoReturn:
        raise ModelError(
            f"Expected {expected} in the GGUF file {self._name}, got {got!s:.{_SHOWN}}. Download the file again, or "
            "use another file.",
            name=self._name,
        )
