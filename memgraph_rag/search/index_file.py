"""Write a segment index to a file, and map the file into memory instead of building the index again.

The module knows no store and no algorithm. Invariants: reading returns exactly what was written, or None; reading never
runs code from the file; processes that read one file share its pages of memory until a process changes its copy.

Format: the length of the header, the header as JSON, then the arrays. Each array begins at a multiple of 64 bytes. The
header gives the type, shape, position and checksum of each array. A list of texts is stored as the joined text and the
end of each text.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from memgraph_rag.search.segment_index import IndexState

__all__ = ["read_index", "write_index"]

_FORM = 2
"""The version of the format. Raise it with each change of the index's content or of the tokenizer."""

_ALIGNMENT = 64
_KINDS = frozenset("bfiu")  # types of numbers; objects are refused, because loading them would run code

Array = NDArray[Any]


def write_index(state: IndexState, path: Path, *, about: Mapping[str, str | int]) -> None:
    """Write an index to ``path``, replacing the file's content in place.

    Until the call has ended, the file is incomplete.

    Args:
        about: facts such as version and dimension; ``read_index`` returns the index only for equal facts.
    """
    arrays = {**state.arrays, **dict(_encode_texts(state.texts))}
    entries, place = {}, 0
    for name, array in arrays.items():
        flat = np.ascontiguousarray(array)
        entries[name] = [flat.dtype.str, list(flat.shape), place, zlib.crc32(flat.reshape(-1).view(np.uint8).data)]
        place = _align(place + flat.nbytes)
    header = json.dumps({"form": _FORM, "about": dict(about), "texts": sorted(state.texts), "arrays": entries}).encode()
    with path.open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        for array in arrays.values():
            _pad(file)
            file.write(np.ascontiguousarray(array).data)
        _pad(file)  # the last array then ends at a whole block


def read_index(path: Path, *, about: Mapping[str, str | int]) -> IndexState | None:
    """Return the index in a file; None if the file is missing, damaged, of another format, or of another ``about``.

    The arrays are read-only and mapped to the file. Their checksums are compared.
    """
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(length)) if length <= path.stat().st_size else {}
        if header.get("form") != _FORM or header["about"] != dict(about):
            return None
        data = np.memmap(path, np.uint8, mode="r", offset=_align(8 + length))
        arrays = {name: _read_array(data, *entry) for name, entry in header["arrays"].items()}
        texts = {
            name: _decode_texts(arrays.pop(f"{name} text"), arrays.pop(f"{name} ends")) for name in header["texts"]
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return IndexState(arrays, texts)


def _read_array(data: NDArray[np.uint8], dtype: str, shape: Sequence[int], place: int, checksum: int) -> Array:
    """Return one array of a file.

    Raises:
        ValueError: the checksum does not match, or the type is not a number type.
    """
    kind = np.dtype(dtype)
    flat = data[place : place + kind.itemsize * int(np.prod(shape, dtype=np.int64))]
    if kind.kind not in _KINDS or zlib.crc32(flat.data) != checksum:
        raise ValueError(dtype)
    return flat.view(kind).reshape(shape)


def _encode_texts(texts: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, Array]]:
    """Yield two named arrays for each list of texts: the joined text and the ends."""
    for name, listed in texts.items():
        joined = "".join(listed).encode("utf-8", "surrogatepass")
        yield f"{name} text", np.frombuffer(joined, np.uint8)
        yield f"{name} ends", np.cumsum([len(text) for text in listed], dtype=np.int64)


def _decode_texts(joined: Array, ends: Array) -> list[str]:
    text = joined.tobytes().decode("utf-8", "surrogatepass")
    return [text[start:end] for start, end in pairwise([0, *ends.tolist()])]


def _pad(file: BinaryIO) -> None:
    """Write zeros up to the next multiple of 64 bytes."""
    place = file.tell()
    file.write(bytes(_align(place) - place))


def _align(place: int) -> int:
    return -(-place // _ALIGNMENT) * _ALIGNMENT
