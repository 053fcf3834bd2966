"""Numbered texts in few bytes: the ids and the words of an index.

The module knows texts only. Invariant: a text keeps its number. Most texts are packed into arrays, which several
processes may map from one file; the last ones are a list.
"""

from __future__ import annotations

import copy
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self, override

MOST_UNPACKED = 16_384
"""So many texts, or an eighth of the packed ones, are kept as a list. A pool has fewer: they are found faster."""


class TextList:
    """A compact list of texts. A text is read by its number, which counts from 0 in the order of adding."""

    _ARRAYS: tuple[str, ...] = ("_joined", "_ends")

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._joined = np.zeros(0, np.uint8)  # the packed texts in UTF-8
        self._ends = np.zeros(1, np.int64)  # where each packed text begins, and where the last ends
        self._later = [*texts]
        self._changed: dict[int, str] = {}  # packed texts that were replaced

    def __len__(self) -> int:
        return len(self._ends) - 1 + len(self._later)

    def __getitem__(self, number: int) -> str:
        packed = len(self._ends) - 1
        if number >= packed:
            return self._later[number - packed]
        if number in self._changed:
            return self._changed[number]
        return self._joined[self._ends[number] : self._ends[number + 1]].tobytes().decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        return map(self.__getitem__, range(len(self)))

    def select(self, numbers: Iterable[int]) -> list[str]:
        """Return the texts with these numbers, in this order."""
        return [self[number] for number in numbers]

    def __setitem__(self, number: int, text: str) -> None:
        packed = len(self._ends) - 1
        if number < packed:
            self._changed[number] = text
        else:
            self._later[number - packed] = text

    def append(self, text: str) -> None:
        """Add a text with the next number."""
        self._later.append(text)

    def find_starting(self, letter: str) -> list[int]:
        """Return the sorted numbers of the texts that begin with an ASCII letter, or with a character beyond ASCII.

        An empty ``letter`` returns all numbers.
        """
        if not letter:
            return [*range(len(self))]
        packed = len(self._ends) - 1
        first = self._joined[np.minimum(self._ends[:-1], len(self._joined) - 1)] if packed else self._joined
        found = set(np.flatnonzero((first == letter.encode()[0]) | (first > 127)).tolist())
        later = enumerate(self._later, packed)
        found |= {number for number, text in later if text.startswith(letter) or not text[:1].isascii()}
        return sorted(found)

    def copy(self) -> Self:
        """Return a list of the same texts, to which further texts can be added separately."""
        other = copy.copy(self)
        other._later, other._changed = [*self._later], {**self._changed}
        return other

    @property
    def nbytes(self) -> int:
        """About how many bytes the texts take."""
        return sum(getattr(self, name).nbytes for name in self._ARRAYS) + 250 * len(self._later)

    def pack_some(self) -> None:
        """Pack all texts into arrays if many were added since the last packing."""
        if len(self._later) > max(MOST_UNPACKED, len(self._ends) // 8):
            self.pack()

    def pack(self) -> Mapping[str, NDArray[Any]]:
        """Pack all texts, and return the arrays by name for ``restore``."""
        if self._changed:
            self._later, self._changed = [*self], {}
            self._joined, self._ends = self._joined[:0], self._ends[:1]
        if self._later:
            encoded = [text.encode("utf-8", "surrogatepass") for text in self._later]
            ends = np.cumsum([self._ends[-1], *map(len, encoded)])
            self._joined = np.concatenate([self._joined, np.frombuffer(b"".join(encoded), np.uint8)])
            self._ends, self._later = np.concatenate([self._ends, ends[1:]]), []
        return {name: getattr(self, name) for name in self._ARRAYS}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Replace the texts by those of the arrays, which are never written to."""
        self.__init__()
        for name in self._ARRAYS:
            setattr(self, name, arrays[name])


class TextTable(TextList):
    """A ``TextList`` without repeated texts, which also gives the number of each text."""

    _ARRAYS = (*TextList._ARRAYS, "_hashes", "_order")

    def __init__(self) -> None:
        super().__init__()
        self._hashes = np.zeros(0, np.uint32)  # of the packed texts, rising
        self._order = np.zeros(0, np.int32)  # the number of the text of each hash
        self._numbers: dict[str, int] = {}  # of texts that are not packed, and of packed ones that were added again

    def find(self, text: str) -> int:
        """Return the number of a text; -1 if the table does not have it."""
        number = self._numbers.get(text, -1)
        if number >= 0 or not len(self._hashes):
            return number
        code = zlib.crc32(text.encode("utf-8", "surrogatepass"))
        place = int(np.searchsorted(self._hashes, np.uint32(code)))
        while place < len(self._hashes) and self._hashes[place] == code:
            if self[int(self._order[place])] == text:
                return int(self._order[place])
            place += 1
        return -1

    def find_all(self, texts: Iterable[str]) -> dict[str, int]:
        """Return the number of each of these texts, in their order; texts that are not in the table are left out."""
        return {text: number for text in texts if (number := self.find(text)) >= 0}

    def add(self, text: str) -> int:
        """Add a text, unless the table has it; return its number in either case."""
        number = self._numbers.get(text, -1)
        if number < 0:
            number = self.find(text)
            if number < 0:
                number = len(self)
                self.append(text)
            self._numbers[text] = number
        return number

    @override
    def copy(self) -> Self:
        other = super().copy()
        other._numbers = {**self._numbers}
        return other

    @override
    def pack(self) -> Mapping[str, NDArray[Any]]:
        first = len(self._ends) - 1
        if self._later:
            hashes = np.empty(len(self), np.uint32)
            hashes[self._order] = self._hashes
            hashes[first:] = [zlib.crc32(text.encode("utf-8", "surrogatepass")) for text in self._later]
            self._order = np.argsort(hashes, kind="stable").astype(np.int32)
            self._hashes = hashes[self._order]
        self._numbers = {}
        return super().pack()
