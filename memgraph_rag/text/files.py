r"""A file as text and the title found in it.

It knows formats, and nothing of documents. Invariants: no more than ``MAX_BYTES`` are ever read; what is no text
is told by its content, whatever its name, and refused with a word on what to do; line ends become ``\n``, as
``open()`` would have it, so that offsets are those of ``path.read_text()``.
"""

from __future__ import annotations

import codecs
import re
import stat
from pathlib import Path

from memgraph_rag.display import show
from memgraph_rag.errors import DocumentError
from memgraph_rag.text import markup

__all__ = ["MAX_BYTES", "read"]

MAX_BYTES = 32 * 1024**2
"""Largest file, and largest text in UTF-8."""

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

_SIGNATURES = (
    (b"PK\x03\x04", "a zip archive, or a Word, Excel, PowerPoint, OpenDocument or EPUB file"),
    (b"PK\x05\x06", "an empty zip archive"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Word, Excel or PowerPoint file"),
    (b"{\\rtf", "a Rich Text file"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"II*\x00", "a TIFF image"),
    (b"MM\x00*", "a TIFF image"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\xfd7zXZ\x00", "an xz archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"\x7fELF", "a program"),
)

_FORMS = (
    (re.compile(rb"RIFF.{4}(?:WEBP|WAVE|AVI |RMID|ACON|CDDA|PAL )", re.S), "a WebP image, or sound or video"),
    (re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"), "a bzip2 archive"),
)
"""What is known by more than its first bytes: text may begin with them."""

_HTML = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--(?:(?!-->).)*-->\s*)*<(?:!doctype\s+html|html)\b", re.I | re.S
)
_HTML_REACH = 4096  # bytes in which a page says that it is one
_HTML_SUFFIXES = {".html", ".htm", ".xhtml"}
_MARKDOWN_SUFFIXES = {".md", ".markdown"}
_PLAIN_SUFFIXES = {".txt", ".text"}

_MOST_CONTROLS = 0.02  # share of control characters above which decoded bytes are no text
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")


def read(path: Path) -> tuple[str, str]:
    """Text and title of a file; the title is empty where the file tells none.

    Raises:
        DocumentError: there is no such file, it may not be read, is too large, or holds no text.
    """
    data = _read_bytes(path)
    kind = _kind_of_binary(data)
    if kind is not None:
        raise _not_text(path, kind)
    suffix = path.suffix.lower()
    if suffix == ".pdf" or data.startswith(b"%PDF-"):
        from memgraph_rag.text import pdf  # its parser takes half a second to import, and most text does not need it

        return pdf.read(data, path)
    if suffix in _HTML_SUFFIXES or (
        suffix not in _MARKDOWN_SUFFIXES | _PLAIN_SUFFIXES and _HTML.match(data[:_HTML_REACH])
    ):
        return markup.read_html(_decode(data, path, declared=markup.declared_encoding(data)), path)
    text = _decode(data, path)
    return text, markup.markdown_title(text) if suffix in _MARKDOWN_SUFFIXES else ""


def _kind_of_binary(data: bytes) -> str | None:
    """What begins like these bytes and is no text; None for anything else."""
    kind = next((kind for signature, kind in _SIGNATURES if data.startswith(signature)), None)
    return kind or next((kind for form, kind in _FORMS if form.match(data)), None)


def _read_bytes(path: Path) -> bytes:
    try:
        status = path.stat()
        _check_kind_and_size(path, status.st_mode, status.st_size)
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError as exc:
        raise DocumentError(
            f"Expected a file, got a path where nothing is: {show(path.absolute())}. Check it; text is passed as "
            "a str.",
            path=path,
        ) from exc
    except PermissionError as exc:
        raise DocumentError(f"Expected a file that may be read, got no permission: {show(path)}.", path=path) from exc
    except (OSError, ValueError) as exc:  # ValueError: a NUL in the path
        raise DocumentError(f"Expected a file that can be read, got {show(exc)}: {show(path)}.", path=path) from exc
    _check_kind_and_size(path, stat.S_IFREG, len(data))  # it may have grown meanwhile
    return data


def _check_kind_and_size(path: Path, mode: int, size: int) -> None:
    if stat.S_ISDIR(mode):
        raise DocumentError(
            f"Expected a file, got a folder: {show(path)}. Add its files: add_many(Path({show(path)})).",
            path=path,
        )
    if not stat.S_ISREG(mode):
        raise DocumentError(f"Expected a file, got a device, pipe or socket: {show(path)}.", path=path)
    if size > MAX_BYTES:
        raise DocumentError(
            f"Expected a file of at most {MAX_BYTES:,} bytes, got {size:,}: {show(path)}. Cut it into parts.",
            path=path,
            limit=MAX_BYTES,
        )


def _decode(data: bytes, path: Path, *, declared: str | None = None) -> str:
    """The bytes as text: by their mark, else as UTF-8, else as declared, else by what looks most like language."""
    marked = next((name for mark, name in _BYTE_ORDER_MARKS if data.startswith(mark)), None)
    if marked is None and b"\x00" in data:
        raise _not_text(path, "binary data (NUL bytes)")
    for encoding in (marked,) if marked else ("utf-8", declared):
        text = _decoded(data, encoding)
        if text is not None:
            return _with_plain_line_ends(text, path)
    guess = None if marked else _guessed(data)
    if guess is None:
        raise _not_text(path, "bytes in no known encoding")
    return _with_plain_line_ends(guess, path)


def _decoded(data: bytes, encoding: str | None) -> str | None:
    try:
        return data.decode(encoding) if encoding else None
    except (UnicodeError, LookupError):  # LookupError: a page may declare what does not exist
        return None


def _guessed(data: bytes) -> str | None:
    """As Western European where that is plausible: cp1250 often scores the same there, and turns à into ŕ."""
    from charset_normalizer import from_bytes  # only what is not UTF-8 needs it

    matches = from_bytes(data)
    western = next((match for match in matches if "cp1252" in match.could_be_from_charset), None)
    best = western or matches.best()
    return None if best is None else str(best)


def _with_plain_line_ends(text: str, path: Path) -> str:
    if len(_CONTROLS.findall(text)) > _MOST_CONTROLS * len(text):
        raise _not_text(path, "binary data (control characters)")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _not_text(path: Path, kind: str) -> DocumentError:
    return DocumentError(
        f"Expected text, Markdown, HTML or PDF, got {kind}: {show(path)}. Save it as text (UTF-8) or PDF first.",
        path=path,
        found=kind,
    )
