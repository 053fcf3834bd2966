"""Write a segment index to a file, and map the file into memory instead of building the index again.

The module knows no store and no algorithm. Invariants: reading returns exactly what was written, or None; reading never
runs code from the file; processes that read one file share its pages of memory until a process changes its copy.

Format: the length of the header, the header as JSON, then the arrays. Each array begins at a multiple of 64 bytes. The
header gives the type, shape, position and checksum of each array.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

_FORM = 4
"""The version of the format. Raise it with each change of the index's content or of the tokenizer."""

_ALIGNMENT = 64
_READ = 2**20  # bytes that are checked at a time
_KINDS = frozenset("bfiu")  # types of numbers; objects are refused, because loading them would run code

Array = NDArray[Any]


def write_index(arrays: Mapping[str, Array], path: Path) -> None:
    """Write the arrays of an index, by name, to the file ``path``, replacing its content in place.

    Until the call has ended, the file is incomplete.
    """
    entries, place = {}, 0
    for name, array in arrays.items():
        flat = np.ascontiguousarray(array)
        entries[name] = [flat.dtype.str, list(flat.shape), place, zlib.crc32(flat.reshape(-1).view(np.uint8).data)]
        place = _align(place + flat.nbytes)
    header = json.dumps({"form": _FORM, "arrays": entries}).encode()
    with open(path, "wb", opener=_open_private) as file:
        file.write(len(header).to_bytes(8, "little") + header)
        for array in arrays.values():
            _pad(file)
            file.write(np.ascontiguousarray(array).data)
        _pad(file)  # the last array then ends at a whole block


def read_index(path: Path) -> dict[str, Array] | None:
    """Read the arrays of an index, by name, from a file; None if it is missing, damaged, or of another format.

    The arrays are read-only and mapped to the file, so that only the pages that a search needs take memory of the
    process. Before that, ordinary reads of the file compare the checksums, because reads of a map would keep all pages.
    """
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(length)) if length <= path.stat().st_size else {}
            if header.get("form") != _FORM:
                return None
            first = _align(8 + length)
            data = np.memmap(path, np.uint8, mode="r", offset=first).view(np.ndarray)
            return {name: _read_array(file, first, data, *entry) for name, entry in header["arrays"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _open_private(path: str, flags: int) -> int:
    """Open a file, which only its owner may read if it is new: another thread may have removed an empty one."""
    return os.open(path, flags, 0o600)


def _read_array(
    file: BinaryIO, first: int, data: Array, dtype: str, shape: Sequence[int], place: int, checksum: int
) -> Array:
    """Return one array of a file, whose arrays begin at ``first`` and are mapped as ``data``.

    Raises:
        ValueError: the checksum does not match, or the type is not a number type.
    """
    kind = np.dtype(dtype)
    left = kind.itemsize * int(np.prod(shape, dtype=np.int64))
    flat = data[place : place + left]
    file.seek(first + place)
    found = 0
    while left > 0 and (block := file.read(min(_READ, left))):
        found, left = zlib.crc32(block, found), left - len(block)
    if kind.kind not in _KINDS or found != checksum:
        raise ValueError(dtype)
    return flat.view(kind).reshape(shape)


def _pad(file: BinaryIO) -> None:
    """Write zeros up to the next multiple of 64 bytes."""
    place = file.tell()
    file.write(bytes(_align(place) - place))


def _align(place: int) -> int:
    return -(-place // _ALIGNMENT) * _ALIGNMENT
