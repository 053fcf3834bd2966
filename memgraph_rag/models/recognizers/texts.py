"""Texts before a recognizer's model, and spans after it: what every recognizer does to them.

It knows no model. Invariants: characters are replaced one for one, so that offsets in what the model reads are
offsets in the text; a cleaned span is not empty, holds no blank line and no border of a table's cells, and has no white
space, quotation mark or amount of money at its end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from memgraph_rag.contracts import Named

__all__ = ["NO_NAMES", "cleaned", "pieces", "readable", "recognized"]

NO_NAMES = frozenset({"CARDINAL", "DATE", "MONEY", "ORDINAL", "PERCENT", "QUANTITY", "TIME"})
"""Kinds of OntoNotes that name nothing: as nodes they would join whatever happened in 1999."""

_LONGEST_PIECE = 20_000
_LONGEST_RUN = 1_000
_LONG_RUN = re.compile(rf"\S{{{_LONGEST_RUN}}}")
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")
_CELL_BORDER = re.compile(r"[\t|;]|(?<!\d),(?=\S)|,(?=[^\s\d])")  # not a comma before a blank, nor one within a number
_CURRENCY = r"(?:[€$£¥₹₽]|EUR|USD|GBP|CHF|JPY)"
_AMOUNT = re.compile(rf"(?<!\S)(?:{_CURRENCY}\s?\d[\d.,]*|\d[\d.,]*\s?{_CURRENCY})\Z")
_CURRENCY_ALONE = re.compile(_CURRENCY)
_NUMBER_BESIDE = re.compile(r"\d\s?\Z|\A\s?\d")
_EDGES = " \t\n\r\f\v\xa0\"“”„‟«»‹›'‘’‚`´*_"


def readable(text: str) -> str:
    """The text with a blank in place of each character that no model has seen: controls, lone surrogates."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() or character in "\n\t" else " " for character in text)


def pieces(texts: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """(index of the text, offset in it, piece) of all texts, in order; blank ones have no piece.

    Models take time or memory beyond measure for very long texts and for very long runs without a blank, so
    these are cut: at white space where there is some.
    """
    for index, text in enumerate(texts):
        start = 0
        while start < len(text):
            end = _end_of_piece(text, start)
            piece = readable(text[start:end])
            if not piece.isspace():
                yield index, start, piece
            start = end


def _end_of_piece(text: str, start: int) -> int:
    end = min(len(text), start + _LONGEST_PIECE)
    if end < len(text):
        end = next((place for place in range(end, end - _LONGEST_RUN, -1) if text[place].isspace()), end)
    run = _LONG_RUN.search(text, start, end)
    return run.end() if run else end


def cleaned(text: str, names: Iterable[Named]) -> list[Named]:
    """The spans of names, without what surrounds them, in order, none over another; those of ``NO_NAMES`` left out."""
    kept: list[Named] = []
    for named in sorted(names):
        if named.kind in NO_NAMES:
            continue
        start, end = max(named.start, kept[-1].end if kept else 0), min(named.end, len(text))
        while start < end and text[start] in _EDGES:
            start += 1
        blank = _BLANK_LINE.search(text, start, end)
        kept += (Named(*cell, named.kind) for cell in _cells(text, start, blank.start() if blank else end))
    return kept


def _cells(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The span; of one that holds borders of a table's cells the cells with letters. Without edges and amounts."""
    borders = [match.start() for match in _CELL_BORDER.finditer(text, start, end)]
    for first, last in pairwise([start - 1, *borders, end]):
        cell = _trimmed(text, first + 1, last)
        if cell[0] < cell[1] and (not borders or any(map(str.isalpha, text[slice(*cell)]))):
            yield cell


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without edges, and without the amount of money that ends it or that it is part of."""
    amount = _AMOUNT.search(text[start:end].rstrip(_EDGES))
    end = start + amount.start() if amount else end
    while start < end and text[start] in _EDGES:
        start += 1
    while end > start and text[end - 1] in _EDGES:
        end -= 1
    beside = text[max(start - 2, 0) : start], text[end : end + 2]
    if _CURRENCY_ALONE.fullmatch(text, start, end) and any(map(_NUMBER_BESIDE.search, beside)):
        return start, start
    return start, end


def recognized(texts: Sequence[str], find: Callable[[Sequence[str]], Iterable[Iterable[Named]]]) -> list[list[Named]]:
    """The cleaned names in each text, by start, where ``find`` tells those of each piece by offsets in the piece."""
    names: list[list[Named]] = [[] for _ in texts]
    read = list(pieces(texts))
    for (index, offset, _), of_piece in zip(read, find([piece for _, _, piece in read]), strict=True):
        names[index] += [Named(offset + named.start, offset + named.end, named.kind) for named in of_piece]
    return [cleaned(text, of_text) for text, of_text in zip(texts, names, strict=True)]
