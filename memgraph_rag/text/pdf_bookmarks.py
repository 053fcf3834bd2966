"""The bookmarks of a PDF as headings of its pages' text.

It knows pypdf. Invariants: no word is added and none is taken away, only the marks of Markdown stand before a line that
is a bookmark's title; bookmarks whose title is no line of their page mark nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from pypdf import PdfReader
from pypdf.generic import Destination

from memgraph_rag.types import as_line

__all__ = ["Levels", "marked", "read_bookmarks"]

Levels = Mapping[str, int]
"""The level of each title of a page, from 1; titles as ``_normal`` makes them."""

_DEEPEST = 6
_NUMBERING = re.compile(r"(?:chapter |section |part )?(?:\d+|[ivxlc]+|[a-z])(?:\.\d+)*[.:)]? +")


def read_bookmarks(reader: PdfReader) -> dict[int, dict[str, int]]:
    """By the number of a page, from 0, the titles of its bookmarks; raises what pypdf raises where they are damaged."""
    levels: dict[int, dict[str, int]] = {}
    for level, item in _items(reader.outline, 1):
        page, title = reader.get_destination_page_number(item), _normal(str(item.title or ""))
        if page is not None and title:
            levels.setdefault(page, {}).setdefault(title, min(level, _DEEPEST))
    return levels


def marked(text: str, levels: Levels) -> str:
    r"""The text of a page, the first line that is a bookmark's title marked as a heading.

    >>> marked("1. Rain\nIt fell.\nRain", {"rain": 2})
    '## 1. Rain\nIt fell.\nRain'
    """
    waiting = dict(levels)
    lines = text.split("\n") if waiting else [text]
    for place, line in enumerate(lines):
        words = _normal(line) if waiting else ""
        title = words if words in waiting else _NUMBERING.sub("", words, count=1)
        if title in waiting:
            lines[place] = f"{'#' * waiting.pop(title)} {line.strip()}"
    return "\n".join(lines)


def _items(outline: Sequence[Destination | Sequence[object]], level: int) -> Iterator[tuple[int, Destination]]:
    """Bookmarks with their levels; a list holds what is below the item before it."""
    for item in outline:
        if isinstance(item, Destination):
            yield level, item
        else:
            yield from _items(item, level + 1)  # pyright: ignore[reportArgumentType] - as deep as pypdf allows


def _normal(title: str) -> str:
    return as_line(title).casefold()
