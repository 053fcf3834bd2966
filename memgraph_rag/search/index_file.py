"""A segment index in a file, which another process maps into its memory instead of making the index again.

It knows no store and no algorithm. Invariants: what is read is what was written, or nothing; no code is ever read; the
arrays of all processes that read one file are the same pages of memory until one of them changes its own.

The form: the length of a header, the header as JSON, then arrays one after the other, each at a multiple of 64 bytes;
the header tells type, shape, place and checksum of each. A list of texts is the text of all and where each ends.
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

_FORM = 1
"""Raised with every change of what an index holds or of how it takes words apart: no older file is read then."""

_ALIGNMENT = 64
_KINDS = frozenset("bfiu")  # of numbers; no objects, which would be code

Array = NDArray[Any]


def write_index(state: IndexState, path: Path, *, about: Mapping[str, str | int]) -> None:
    """Write an index into a file that is there.

    Args:
        about: what ``read_index`` has to be told just so to read it.
    """
    arrays = {**state.arrays, **dict(_of_texts(state.texts))}
    entries, place = {}, 0
    for name, array in arrays.items():
        flat = np.ascontiguousarray(array)
        entries[name] = [flat.dtype.str, list(flat.shape), place, zlib.crc32(flat.reshape(-1).view(np.uint8).data)]
        place = _aligned(place + flat.nbytes)
    header = json.dumps({"form": _FORM, "about": dict(about), "texts": sorted(state.texts), "arrays": entries}).encode()
    with path.open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        for array in arrays.values():
            _fill(file)
            file.write(np.ascontiguousarray(array).data)
        _fill(file)  # so that the last array is whole in a file of whole blocks


def read_index(path: Path, *, about: Mapping[str, str | int]) -> IndexState | None:
    """The index in a file; None where it is damaged, of another form, or about something else."""
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(length)) if length <= path.stat().st_size else {}
        if header.get("form") != _FORM or header["about"] != dict(about):
            return None
        data = np.memmap(path, np.uint8, mode="r", offset=_aligned(8 + length))
        arrays = {name: _array(data, *entry) for name, entry in header["arrays"].items()}
        texts = {name: _texts_of(arrays.pop(f"{name} text"), arrays.pop(f"{name} ends")) for name in header["texts"]}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return IndexState(arrays, texts)


def _array(data: NDArray[np.uint8], dtype: str, shape: Sequence[int], place: int, checksum: int) -> Array:
    """One array of a file.

    Raises:
        ValueError: it is damaged.
    """
    kind = np.dtype(dtype)
    flat = data[place : place + kind.itemsize * int(np.prod(shape, dtype=np.int64))]
    if kind.kind not in _KINDS or zlib.crc32(flat.data) != checksum:
        raise ValueError(dtype)
    return flat.view(kind).reshape(shape)


def _of_texts(texts: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, Array]]:
    """Each list of texts as two arrays."""
    for name, listed in texts.items():
        joined = "".join(listed).encode("utf-8", "surrogatepass")
        yield f"{name} text", np.frombuffer(joined, np.uint8)
        yield f"{name} ends", np.cumsum([len(text) for text in listed], dtype=np.int64)


def _texts_of(joined: Array, ends: Array) -> list[str]:
    text = joined.tobytes().decode("utf-8", "surrogatepass")
    return [text[start:end] for start, end in pairwise([0, *ends.tolist()])]


def _fill(file: BinaryIO) -> None:
    """Zeros up to where the next array may begin."""
    place = file.tell()
    file.write(bytes(_aligned(place) - place))


def _aligned(place: int) -> int:
    return -(-place // _ALIGNMENT) * _ALIGNMENT
