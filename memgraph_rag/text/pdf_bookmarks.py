"""Mark the bookmarks of a PDF as headings in its pages' text.

The module knows pypdf. Invariants: no word is added or removed, only Markdown's marks are put before a line that is a
bookmark's title; a bookmark whose title is not a line of its page marks nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from pypdf import PdfReader
from pypdf.generic import Destination

from memgraph_rag.types import as_line

Levels = Mapping[str, int]
"""The level of each title of a page, from 1; titles are normalised by ``_normalise``."""

_DEEPEST = 6
_NUMBERING = re.compile(r"(?:chapter |section |part )?(?:\d+|[ivxlc]+|[a-z])(?:\.\d+)*[.:)]? +")


def read_bookmarks(reader: PdfReader) -> dict[int, dict[str, int]]:
    """Return the titles of bookmarks and their levels (1 to 6) by page number, from 0.

    Titles are case-folded and on one line. A title that occurs twice on a page has its first level. A level
    deeper than 6 counts as 6. Bookmarks without page or title, and pages without bookmarks, are left out.

    Damaged bookmarks raise pypdf's errors.
    """
    levels: dict[int, dict[str, int]] = {}
    for level, item in _items(reader.outline, 1):
        page, title = reader.get_destination_page_number(item), _normalise(str(item.title or ""))
        if page is not None and title:
            levels.setdefault(page, {}).setdefault(title, min(level, _DEEPEST))
    return levels


def mark_headings(text: str, levels: Levels) -> str:
    r"""Return the text of a page with the first line of each title marked as a heading.

    A number before the title is ignored, and so is case. A title that is not a whole line changes nothing.

    >>> mark_headings("1. Rain\nIt fell.\nRain", {"rain": 2})
    '## 1. Rain\nIt fell.\nRain'
    """
    remaining = dict(levels)
    lines = text.split("\n") if remaining else [text]
    for place, line in enumerate(lines):
        words = _normalise(line) if remaining else ""
        title = words if words in remaining else _NUMBERING.sub("", words, count=1)
        if title in remaining:
            lines[place] = f"{'#' * remaining.pop(title)} {line.strip()}"
    return "\n".join(lines)


def _items(outline: Sequence[Destination | Sequence[object]], level: int) -> Iterator[tuple[int, Destination]]:
    """Yield bookmarks with their levels; a list holds the children of the item before it."""
    for item in outline:
        if isinstance(item, Destination):
            yield level, item
        else:
            yield from _items(item, level + 1)  # pyright: ignore[reportArgumentType] - as deep as pypdf allows


def _normalise(title: str) -> str:
    return as_line(title).casefold()
