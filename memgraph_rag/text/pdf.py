"""Extract the text of a PDF file.

The module knows pypdf and maps every error that a damaged file causes. Invariants: pages follow each other, each on a
new line; a sentence may continue on the next page; the work is bounded in proportion to the file's length, whatever
causes it (pages, forms, fonts); the line of a bookmark is a heading.
"""

from __future__ import annotations

import struct
import time
import zlib
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import NoReturn

from pypdf import PdfReader
from pypdf.errors import DependencyError, FileNotDecryptedError, PyPdfError
from pypdf.generic import IndirectObject, PdfObject, StreamObject

from memgraph_rag.display import show
from memgraph_rag.errors import DocumentError
from memgraph_rag.text.files import MAX_BYTES
from memgraph_rag.text.pdf_bookmarks import mark_headings, read_bookmarks
from memgraph_rag.types import as_line

__all__ = ["read"]

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

    Pages follow each other, each on a new line. A line that is a bookmark's title is marked as a heading. ``path`` is
    named in errors.

    Raises:
        DocumentError: the file is encrypted, damaged, holds no text, or needs more work than a file of its length may.
    """
    try:
        reader = _MeasuredReader(data)
        text = "\n".join(_read_pages(reader))
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
        raise DocumentError(
            f"Expected a PDF with text, got one without: {show(path)}. Pages that are pictures need OCR first "
            "(for example with ocrmypdf).",
            path=path,
        )
    return text, as_line(str(title))


def _read_pages(reader: _MeasuredReader) -> Iterator[str]:
    """Yield the text of each page until the total exceeds ``MAX_BYTES``: few KB may unpack to any length."""
    characters, bookmarks = 0, _read_bookmarks(reader)
    for number, page in enumerate(reader.pages):
        text = mark_headings(page.extract_text(), bookmarks.get(number, {}))
        characters += len(text)
        if characters > MAX_BYTES:
            reader.give_up()
        yield text


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
        """Stop the reading of this file.

        Raises:
            _BudgetSpent: always.
        """
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
