"""Read office files as Markdown: Word, PowerPoint, Excel, OpenDocument text, EPUB and Rich Text.

The module knows pandoc, which the extra ``office`` brings, and openpyxl: pandoc 3.9 does not read workbooks whose parts
have absolute names. Invariant: a slide and a sheet begin with a heading that names them.
"""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import closing
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path

from memgraph_rag.display import show
from memgraph_rag.errors import DocumentError
from memgraph_rag.text import pandoc
from memgraph_rag.types import as_line

_NAMES = {
    "docx": "a Word file",
    "pptx": "a PowerPoint file",
    "xlsx": "an Excel file",
    "odt": "an OpenDocument text",
    "epub": "an EPUB book",
    "rtf": "a Rich Text file",
}
SUFFIXES = frozenset(f".{name}" for name in _NAMES)
"""Suffixes of the files that are read; the content decides which of them a file is."""

SIGNATURES = (b"PK\x03\x04", b"{\\rtf")
"""The first bytes of these files."""

_PARTS = {"word/document.xml": "docx", "ppt/presentation.xml": "pptx", "xl/workbook.xml": "xlsx"}
_TYPES = {b"application/epub+zip": "epub", b"application/vnd.oasis.opendocument.text": "odt"}
_MOST_TYPE = 100
_SECONDS = 60.0
_MOST_UNPACKED = 512 * 1024**2  # bytes that the parts of a workbook declare; openpyxl reads them one after another
_MOST_CELLS = 2_000_000
_DAMAGE = (OSError, LookupError, TypeError, ValueError, AttributeError, RuntimeError, SyntaxError, zipfile.BadZipFile)


def is_installed() -> bool:
    """Return whether the extra ``office`` is installed."""
    return pandoc.is_installed() and find_spec("openpyxl") is not None


def find_format(data: bytes) -> str | None:
    """Return the format of an office file by its content, such as "docx"; None for any other file."""
    if data.startswith(b"{\\rtf"):
        return "rtf"
    if not data.startswith(b"PK\x03\x04"):
        return None
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            names = set(archive.namelist())
            kind = next((form for part, form in _PARTS.items() if part in names), None)
            if kind is None and "mimetype" in names:
                with archive.open("mimetype") as file:
                    kind = _TYPES.get(file.read(_MOST_TYPE).strip())
    except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError, ValueError):
        return None
    return kind


def read(data: bytes, path: Path, form: str, *, most_bytes: int) -> str:
    """Return an office file as Markdown.

    Args:
        form: the format, from ``find_format``.
        most_bytes: the most bytes of the Markdown.

    Raises:
        DocumentError: the extra is not installed, or the file is damaged, has no text, or is too much work.
    """
    if not is_installed():
        raise DocumentError(
            f"Expected text, Markdown, HTML or PDF, got {_NAMES[form]}: {show(path)}. The extra office reads it: pip "
            "install 'memgraph_rag[office]'.",
            path=path,
            found=form,
        )
    text = _read_workbook(data, path, most_bytes) if form == "xlsx" else _read_by_pandoc(data, path, form, most_bytes)
    if len(text) > most_bytes:
        raise DocumentError(
            f"Expected at most {most_bytes:,} bytes of text, got more in {show(path)}. Cut it into parts.",
            path=path,
            limit=most_bytes,
        )
    if not text.strip():
        raise DocumentError(f"Expected {_NAMES[form]} with text, got one without: {show(path)}.", path=path)
    return text


def _read_by_pandoc(data: bytes, path: Path, form: str, most_bytes: int) -> str:
    try:
        return pandoc.convert_to_markdown(data, form, most_bytes, seconds=_SECONDS)
    except pandoc.PandocError as error:
        raise _make_damaged_error(path, form, str(error)) from error


def _read_workbook(data: bytes, path: Path, most_bytes: int) -> str:
    """Return a table for each sheet, its first row as the head."""
    import openpyxl

    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            if sum(part.file_size for part in archive.infolist()) > _MOST_UNPACKED:
                raise _make_damaged_error(path, "xlsx", "parts of more than 512 MiB")
        with (
            warnings.catch_warnings(),
            closing(openpyxl.load_workbook(BytesIO(data), read_only=True, data_only=True)) as book,
        ):
            warnings.simplefilter("ignore")  # of parts that it leaves out, such as charts
            sheets = [_table(sheet.title, sheet.iter_rows(values_only=True), most_bytes) for sheet in book.worksheets]
            return "\n\n".join(filter(None, sheets))
    except _DAMAGE as error:
        raise _make_damaged_error(path, "xlsx", type(error).__name__) from error


def _table(title: str, rows: Iterable[tuple[object, ...]], most_bytes: int) -> str:
    lines = list(_rows(rows, most_bytes))
    if lines:
        lines.insert(1, "|---" * (lines[0].count("|") - 1) + "|")
    return "\n".join([f"## Sheet: {as_line(title)}", "", *lines]) if lines else ""


def _rows(rows: Iterable[tuple[object, ...]], most_bytes: int) -> Iterator[str]:
    """Yield the rows that have a value, as lines of a table, up to the limits."""
    cells, size = 0, 0
    for row in rows:
        values = ["" if value is None else as_line(str(value)).replace("|", "/") for value in row]
        cells += len(values)
        if cells > _MOST_CELLS or size > most_bytes:
            return
        if any(values):
            yield (line := f"| {' | '.join(values)} |")
            size += len(line)


def _make_damaged_error(path: Path, form: str, reason: str) -> DocumentError:
    return DocumentError(
        f"Expected {_NAMES[form]} that can be read, got {reason}: {show(path)}. Open it and save it anew, or as PDF.",
        path=path,
        found=form,
    )
