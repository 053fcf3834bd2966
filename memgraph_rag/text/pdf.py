"""The text of a PDF file.

It knows pypdf, and maps whatever a damaged file makes it raise. Invariant: pages follow one another, each on a
new line; a sentence may run on from one page to the next.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from pypdf import PdfReader
from pypdf.errors import DependencyError, FileNotDecryptedError, PyPdfError

from memgraph_rag.errors import DocumentError
from memgraph_rag.text.files import MAX_BYTES
from memgraph_rag.types import as_line

__all__ = ["read"]

# "Please note that broken PDF files might cause other Exceptions" (pypdf.errors): what parsers trip over.
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


_MOST_CONTENT = 128 * 1024**2  # bytes of what pages draw, unpacked; pypdf reads about one million of them a second


def read(data: bytes, path: Path) -> tuple[str, str]:
    """Text and title of a PDF; the title is empty where its metadata tell none.

    Raises:
        DocumentError: it is encrypted, damaged, or holds no text.
    """
    try:
        reader = PdfReader(BytesIO(data))
        text = "\n".join(_texts(reader, path))
        title = (reader.metadata and reader.metadata.title) or ""
    except FileNotDecryptedError as exc:
        raise DocumentError(
            f"Expected a PDF that can be read without a password, got an encrypted one: {path}. Save it without.",
            path=path,
        ) from exc
    except DependencyError as exc:
        raise DocumentError(
            f"Expected a PDF that pypdf reads by itself, got one that needs more ({exc}): {path}. Install that, or "
            "save it without encryption.",
            path=path,
        ) from exc
    except _DAMAGE as exc:
        raise DocumentError(
            f"Expected a PDF, got a damaged one ({type(exc).__name__}: {as_line(str(exc))[:120]}): {path}. "
            "Open and save it anew with a PDF program.",
            path=path,
        ) from exc
    if not text.strip():
        raise DocumentError(
            f"Expected a PDF with text, got one without: {path}. Pages that are pictures need OCR first "
            "(for example with ocrmypdf).",
            path=path,
        )
    return text, as_line(str(title))


def _texts(reader: PdfReader, path: Path) -> Iterator[str]:
    """The text of each page, as long as it can be a document: some KB may unpack to any length, page by page."""
    content = characters = 0
    for page in reader.pages:
        drawn = page.get_contents()
        content += len(drawn.get_data()) if drawn is not None else 0
        if content > _MOST_CONTENT or characters > MAX_BYTES:
            raise DocumentError(
                f"Expected a PDF that unpacks to at most {_MOST_CONTENT:,} bytes of page content and {MAX_BYTES:,} "
                f"characters of text, got more: {path}. Cut it into parts.",
                path=path,
                limit=_MOST_CONTENT,
            )
        text = page.extract_text()
        characters += len(text)
        yield text
