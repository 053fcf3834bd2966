r"""Read a file as text, with the title found in it.

The module knows file formats and no documents. Invariants: at most ``MAX_BYTES`` are read; a file that is not text is
recognised by its content, whatever its name, and refused with advice; line ends become ``\n``, as in ``open()``, so
that offsets are those of ``path.read_text()``.
"""

from __future__ import annotations

import codecs
import re
import stat
from pathlib import Path

from memgraph_rag.display import show
from memgraph_rag.errors import DocumentError
from memgraph_rag.lexical.code import find_program_language
from memgraph_rag.text import lightweight_markup, markup, office

MAX_BYTES = 32 * 1024**2
"""Most bytes of a file, and of a text in UTF-8."""

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16: this mark begins with that of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

_SIGNATURES = (
    (b"PK\x03\x04", "a zip archive, or a damaged Word, Excel, PowerPoint, OpenDocument or EPUB file"),
    (b"PK\x05\x06", "an empty zip archive"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Word, Excel or PowerPoint file"),
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
"""Formats that are recognised by more than their first bytes, because a text may begin with them."""

_HTML = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--(?:(?!-->).)*-->\s*)*<(?:!doctype\s+html|html)\b", re.I | re.S
)
_HTML_REACH = 4096  # first bytes that are searched for HTML
_HTML_SUFFIXES = {".html", ".htm", ".xhtml"}
MARKDOWN_SUFFIXES = {".md", ".markdown", ".mdx", ".qmd", ".rmd"}
_PARTS_OF_A_TITLE = 3  # of a program's path
_PLAIN_SUFFIXES = {".txt", ".text"}

_MOST_CONTROLS = 0.02  # largest share of control characters in a text
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")


def read(path: Path) -> tuple[str, str]:
    """Return the text and the title of a file: text, markup, a notebook, a program, HTML, PDF or an office file.

    A file is PDF by its suffix or its first bytes, and HTML by its suffix. A file without a suffix of HTML, Markdown or
    plain text is HTML also by its first bytes. The title is empty for plain text, and if the file has none; a program
    has the end of its path. Of HTML only the main text is returned, of a notebook its cells as Markdown.

    Raises:
        DocumentError: the file does not exist, may not be read, is larger than ``MAX_BYTES``, or is not text. An empty
            plain file is not an error.
    """
    data = _read_bytes(path)
    if form := office.find_format(data):
        text = office.read(data, path, form, most_bytes=MAX_BYTES)
        return text, markup.markdown_title(text) if form in ("docx", "odt", "epub", "rtf") else ""
    kind = _find_binary_kind(data)
    if kind is not None:
        raise _make_error(path, kind)
    suffix = path.suffix.lower()
    if suffix == ".pdf" or data.startswith(b"%PDF-"):
        from memgraph_rag.text import pdf  # its parser takes half a second to import, and most text does not need it

        return pdf.read(data, path)
    if suffix in _HTML_SUFFIXES or (
        suffix not in MARKDOWN_SUFFIXES | _PLAIN_SUFFIXES and _HTML.match(data[:_HTML_REACH])
    ):
        return markup.read_html(_decode(data, path, declared=markup.find_declared_encoding(data)), path)
    text = _decode(data, path)
    if suffix == ".ipynb" and (cells := markup.read_notebook(text)) is not None:
        return cells, markup.markdown_title(cells)
    if text.strip() and lightweight_markup.can_read(suffix):
        return lightweight_markup.read(text, path, most_bytes=MAX_BYTES)
    title = "/".join(path.absolute().parts[-_PARTS_OF_A_TITLE:])
    if find_program_language(title) is not None:
        return text, title
    return text, markup.markdown_title(text) if suffix in MARKDOWN_SUFFIXES else ""


def _find_binary_kind(data: bytes) -> str | None:
    """Return the name of the binary format; None for anything else."""
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
            f"Expected a file, got a path that does not exist: {show(path.absolute())}. Check it; text is passed as "
            "a str.",
            path=path,
        ) from exc
    except PermissionError as exc:
        raise DocumentError(f"Expected a file that may be read, got no permission: {show(path)}.", path=path) from exc
    except (OSError, ValueError) as exc:  # ValueError: a NUL in the path
        raise DocumentError(f"Expected a file that can be read, got {show(exc)}: {show(path)}.", path=path) from exc
    _check_kind_and_size(path, stat.S_IFREG, len(data))  # the file may have grown meanwhile
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
    """Decode by the byte order mark, else as UTF-8, else as declared, else by the most plausible encoding."""
    marked = next((name for mark, name in _BYTE_ORDER_MARKS if data.startswith(mark)), None)
    if marked is None and b"\x00" in data:
        raise _make_error(path, "binary data (NUL bytes)")
    for encoding in (marked,) if marked else ("utf-8", declared):
        text = _try_decode(data, encoding)
        if text is not None:
            return _normalize_line_ends(text, path)
    guess = None if marked else _guess(data)
    if guess is None:
        raise _make_error(path, "bytes in no known encoding")
    return _normalize_line_ends(guess, path)


def _try_decode(data: bytes, encoding: str | None) -> str | None:
    try:
        return data.decode(encoding) if encoding else None
    except (UnicodeError, LookupError):  # LookupError: a page may declare an unknown encoding
        return None


def _guess(data: bytes) -> str | None:
    """Decode as Western European if that is plausible: cp1250 often scores the same, and turns à into ŕ."""
    from charset_normalizer import from_bytes  # only what is not UTF-8 needs it

    matches = from_bytes(data)
    western = next((match for match in matches if "cp1252" in match.could_be_from_charset), None)
    best = western or matches.best()
    return None if best is None else str(best)


def _normalize_line_ends(text: str, path: Path) -> str:
    if len(_CONTROLS.findall(text)) > _MOST_CONTROLS * len(text):
        raise _make_error(path, "binary data (control characters)")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _make_error(path: Path, kind: str) -> DocumentError:
    return DocumentError(
        f"Expected text, Markdown, HTML or PDF, got {kind}: {show(path)}. Save it as text (UTF-8) or PDF first.",
        path=path,
        found=kind,
    )
