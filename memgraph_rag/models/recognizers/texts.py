"""Preparation of texts before a recognizer's model, and cleaning of the names after it; all recognizers share it.

The module does not know a model. Invariants: a character is replaced by exactly one character, so that offsets stay the
same. A cleaned name is not empty and holds no blank line and no border between table cells. White space, quotation
marks and amounts of money are removed from its ends.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from memgraph_rag.contracts import Named

NO_NAMES = frozenset({"CARDINAL", "DATE", "MONEY", "ORDINAL", "PERCENT", "QUANTITY", "TIME"})
"""OntoNotes kinds that are not names. As nodes, they would connect everything that happened in 1999."""

_LONGEST_PIECE = 20_000
_LONGEST_RUN = 1_000
_LONG_RUN = re.compile(rf"\S{{{_LONGEST_RUN}}}")
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")
_CELL_BORDER = re.compile(r"[\t|;]|(?<!\d),(?=\S)|,(?=[^\s\d])")  # no comma before a blank or within a number
_CURRENCY = r"(?:[€$£¥₹₽]|EUR|USD|GBP|CHF|JPY)"
_AMOUNT = re.compile(rf"(?<!\S)(?:{_CURRENCY}\s?\d[\d.,]*|\d[\d.,]*\s?{_CURRENCY})\Z")
_CURRENCY_ALONE = re.compile(_CURRENCY)
_NUMBER_BESIDE = re.compile(r"\d\s?\Z|\A\s?\d")
_EDGES = " \t\n\r\f\v\xa0\"“”„‟«»‹›'‘’‚`´*_"


def make_readable(text: str) -> str:
    """Replace each character that is not printable by a blank, except line ends and tabs: models do not know them."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() or character in "\n\t" else " " for character in text)


def cut_pieces(texts: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Yield (index of the text, offset in it, readable piece) for all texts, in order. Blank pieces are left out.

    Models take too much time or memory for very long texts and for very long runs without a blank. So these are cut, at
    white space if there is some.
    """
    for index, text in enumerate(texts):
        start = 0
        while start < len(text):
            end = _end_of_piece(text, start)
            piece = make_readable(text[start:end])
            if not piece.isspace():
                yield index, start, piece
            start = end


def _end_of_piece(text: str, start: int) -> int:
    end = min(len(text), start + _LONGEST_PIECE)
    if end < len(text):
        end = next((place for place in range(end, end - _LONGEST_RUN, -1) if text[place].isspace()), end)
    run = _LONG_RUN.search(text, start, end)
    return run.end() if run else end


def clean_names(text: str, names: Iterable[Named]) -> list[Named]:
    """Return the cleaned names in order, without overlaps. Names of the kinds in ``NO_NAMES`` are left out.

    The later of two overlapping names loses the common part. A name ends at a blank line. A name across table cells
    becomes a name for each cell with letters. A name of which nothing remains is left out.
    """
    kept: list[Named] = []
    for named in sorted(names):
        if named.kind in NO_NAMES:
            continue
        start, end = max(named.start, kept[-1].end if kept else 0), min(named.end, len(text))
        while start < end and text[start] in _EDGES:
            start += 1
        blank = _BLANK_LINE.search(text, start, end)
        kept += (Named(*cell, named.kind) for cell in _split_cells(text, start, blank.start() if blank else end))
    return kept


def _split_cells(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the cleaned span, or each cell with letters if the span holds borders between table cells."""
    borders = [match.start() for match in _CELL_BORDER.finditer(text, start, end)]
    for first, last in pairwise([start - 1, *borders, end]):
        cell = _trim(text, first + 1, last)
        if cell[0] < cell[1] and (not borders or any(map(str.isalpha, text[slice(*cell)]))):
            yield cell


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a span without edge characters and without an amount of money.

    An amount is removed if it ends the span, or if the span is only its currency.
    """
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


def recognize_pieces(
    texts: Sequence[str], find: Callable[[Sequence[str]], Iterable[Iterable[Named]]]
) -> list[list[Named]]:
    """Return the cleaned names in each text, by start; see ``clean_names``.

    Args:
        find: returns the names in each piece, in order of the pieces, with offsets in the piece.
    """
    names: list[list[Named]] = [[] for _ in texts]
    read = list(cut_pieces(texts))
    for (index, offset, _), piece_names in zip(read, find([piece for _, _, piece in read]), strict=True):
        names[index] += [Named(offset + named.start, offset + named.end, named.kind) for named in piece_names]
    return [clean_names(text, text_names) for text, text_names in zip(texts, names, strict=True)]
