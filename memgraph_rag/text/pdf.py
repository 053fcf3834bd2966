"""Extract the text of a PDF file.

The module knows pypdf and maps every error that a damaged file causes. Invariants: a page ends with a form feed, the
next one begins on a new line; a sentence may continue on the next page; the work of pypdf is bounded in proportion to
the file's length, whatever causes it (pages, forms, fonts); the line of a bookmark is a heading.
"""

from __future__ import annotations

import struct
import time
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import NoReturn

from pypdf import PageObject, PdfReader
from pypdf.errors import DependencyError, FileNotDecryptedError, PyPdfError
from pypdf.generic import IndirectObject, PdfObject, StreamObject

from memgraph_rag.display import show
from memgraph_rag.errors import DocumentError
from memgraph_rag.text import pdf_pages
from memgraph_rag.text.files import MAX_BYTES
from memgraph_rag.text.pdf_bookmarks import mark_headings, read_bookmarks
from memgraph_rag.types import as_line

PAGE_END = "\f\n"
"""What is between two pages in the text."""

# "Please note that broken PDF files might cause other Exceptions" (pypdf.errors): errors of its parsers.
_DAMAGE = (
    PyPdfError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
)

# Limit on the unpacked bytes of streams (page contents, forms, fonts' tables), counted at each use: an allowance for
# any file, plus one for each of its bytes, up to a maximum. pypdf reads about one million of these bytes a second.
_ANY_CONTENT, _CONTENT_PER_BYTE, _MOST_CONTENT = 2 * 1024**2, 32, 128 * 1024**2
_ANY_SECONDS, _SECONDS_PER_BYTE = 10.0, 60 / 1024**2  # of this thread, for work that grows faster than the length


def read(data: bytes, path: Path) -> tuple[str, str]:
    """Return text and title of a PDF; the title is empty if the metadata have none.

    A page ends with a form feed and a new line. A line that is a bookmark's title is marked as a heading. With the
    extra ``pdf`` tables become Markdown, and where tesseract is installed a page that is a picture is recognised.
    ``path`` is named in errors.

    Raises:
        DocumentError: the file is encrypted, damaged, holds no text, or needs more work than a file of its length may.
    """
    try:
        reader = _MeasuredReader(data)
        text = PAGE_END.join(_read_pages(reader, data))
        title = (reader.metadata and reader.metadata.title) or ""
    except _BudgetSpent as exc:
        raise DocumentError(
            f"Expected a PDF of {len(data):,} bytes that unpacks to at most {exc.args[0]:,} bytes of page content and "
            f"{MAX_BYTES:,} characters of text, got more: {show(path)}. Cut it into parts, or save it as text.",
            path=path,
            limit=exc.args[0],
        ) from None
    except FileNotDecryptedError as exc:
        raise DocumentError(
            f"Expected a PDF that can be read without a password, got an encrypted one: {show(path)}. Save it without.",
            path=path,
        ) from exc
    except DependencyError as exc:
        raise DocumentError(
            f"Expected a PDF that pypdf reads by itself, got one that needs more ({show(exc)}): {show(path)}. Install "
            "that, or save it without encryption.",
            path=path,
        ) from exc
    except _DAMAGE as exc:
        raise DocumentError(
            f"Expected a PDF, got a damaged one ({type(exc).__name__}: {as_line(str(exc))[:120]}): {show(path)}. "
            "Open and save it anew with a PDF program.",
            path=path,
        ) from exc
    if not text.strip():
        missing = pdf_pages.missing_for_scans()
        advice = f"Pages that are pictures need {missing}" if missing else "Tesseract reads nothing in its pictures"
        raise DocumentError(f"Expected a PDF with text, got one without: {show(path)}. {advice}.", path=path)
    return text, as_line(str(title))


def _read_pages(reader: _MeasuredReader, data: bytes) -> Iterator[str]:
    """Yield the text of each page until the total exceeds ``MAX_BYTES``: few KB may unpack to any length."""
    characters, bookmarks = 0, _read_bookmarks(reader)
    read_tables = cache(lambda: pdf_pages.make_table_reader(data))
    can_recognise = not pdf_pages.missing_for_scans()
    for number, page in enumerate(reader.pages):
        text = page.extract_text()
        if text.strip():
            text = _read_tables(page, number, read_tables) or text
        elif can_recognise and _has_picture(page):
            text = pdf_pages.recognise_page(data, number)
        text = mark_headings(text.replace("\f", "\n"), bookmarks.get(number, {}))
        characters += len(text)
        if characters > MAX_BYTES:
            reader.give_up()
        yield text


def _read_tables(page: PageObject, number: int, read_tables: Callable[[], Callable[[int], str | None]]) -> str | None:
    """Return the text of a page with its tables; None without tables, or if these are damaged."""
    contents = page.get_contents()
    if contents is None or not pdf_pages.has_rules(contents.get_data()):
        return None
    try:
        return read_tables()(number)
    except _DAMAGE:  # the plain text of the page is known
        return None


def _has_picture(page: PageObject) -> bool:
    """Return whether a page uses a picture or a form, in which a picture may be."""
    resources = page.get("/Resources")
    return bool(resources and resources.get_object().get("/XObject"))  # pyright: ignore[reportAttributeAccessIssue]


def _read_bookmarks(reader: PdfReader) -> dict[int, dict[str, int]]:
    """Return the levels of the bookmarks' titles by page number; empty if the bookmarks are damaged."""
    try:
        return read_bookmarks(reader)
    except _DAMAGE:
        return {}


class _BudgetSpent(BaseException):
    """The file needs more work than its length allows; args: the bytes that it may unpack to.

    It is not an ``Exception``, because pypdf catches these and continues with the next form.
    """


class _MeasuredReader(PdfReader):
    """A reader that counts the bytes of all used streams; each use looks up an object."""

    def __init__(self, data: bytes) -> None:
        self._content = 0
        self._most_content = min(_MOST_CONTENT, _ANY_CONTENT + _CONTENT_PER_BYTE * len(data))
        self._ends_s = time.thread_time() + _ANY_SECONDS + _SECONDS_PER_BYTE * len(data)
        super().__init__(BytesIO(data))

    def give_up(self) -> NoReturn:
        """Stop the reading of this file: raise ``_BudgetSpent``."""
        raise _BudgetSpent(self._most_content)

    def get_object(self, indirect_reference: int | IndirectObject) -> PdfObject | None:
        """Return the object and count its bytes."""
        pdf_object = super().get_object(indirect_reference)
        if isinstance(pdf_object, StreamObject) and self._is_used_whole(pdf_object):
            self._content += len(pdf_object.get_data())
        if self._content > self._most_content or time.thread_time() > self._ends_s:
            self.give_up()
        return pdf_object

    @staticmethod
    def _is_used_whole(stream: StreamObject) -> bool:
        """Return whether each use costs the stream's length; images and containers of other objects do not."""
        kind = stream.get("/Subtype")
        return kind != "/Image" and (kind is not None or stream.get("/Type") not in ("/ObjStm", "/XRef"))
