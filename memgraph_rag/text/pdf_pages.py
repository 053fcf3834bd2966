"""Read what pypdf does not read of a PDF page: tables as Markdown, and pages that are pictures.

It knows pdfplumber and pypdfium2, which the extra ``pdf`` brings, and the program tesseract. Invariants: a page whose
tables cannot be read keeps its plain text; tesseract runs in a process of its own with a limit of time, and reads all
languages that are installed.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from io import BytesIO
from shutil import which
from threading import Lock
from typing import Any

from memgraph_rag.types import as_line

_RULES = re.compile(rb"\b(?:re|l)\s")  # operators that draw a rectangle or a line
_FEWEST_RULES = 4
_FEWEST_CELLS = 4
_RESOLUTION = 200 / 72  # dots of a point: 200 dpi
_MOST_PIXELS = 40_000_000
_SECONDS = 60.0
_RENDERING = Lock()  # PDFium is not thread-safe


def has_rules(content: bytes) -> bool:
    """Return whether a page's content draws enough lines to have a table; False if pdfplumber is not installed."""
    return find_spec("pdfplumber") is not None and len(_RULES.findall(content)) >= _FEWEST_RULES


def make_table_reader(data: bytes) -> Callable[[int], str | None]:
    """Return a function: page number (from 0) to the page's text with tables in Markdown; None without a table.

    Errors are those of pypdf on a damaged file.
    """
    import pdfplumber
    from pdfminer.psexceptions import PSException
    from pdfplumber.utils.exceptions import PdfminerException

    document = pdfplumber.open(BytesIO(data))

    def read(number: int) -> str | None:
        try:
            page: Any = document.pages[number]
            tables = [table for table in page.find_tables() if len(table.cells) >= _FEWEST_CELLS]
            return "\n".join(_read_in_order(page, tables)) if tables else None
        except (PSException, PdfminerException) as error:
            raise ValueError("a damaged page") from error

    return read


def _read_in_order(page: Any, tables: Sequence[Any]) -> Iterator[str]:
    """Yield the text above each table, the table, and the text below the last one."""
    boxes = [table.bbox for table in tables]
    bare = page.filter(lambda item: not any(_is_within(item, box) for box in boxes))
    top = 0.0
    for table in sorted(tables, key=lambda table: table.bbox[1]):
        yield _read_lines(bare, top, table.bbox[1])
        yield _as_markdown(table.extract())
        top = table.bbox[1]
    yield _read_lines(bare, top, float("inf"))


def _is_within(item: Any, box: tuple[float, float, float, float]) -> bool:
    if "x0" not in item or "top" not in item:
        return False
    x, y = (item["x0"] + item["x1"]) / 2, (item["top"] + item["bottom"]) / 2
    return box[0] <= x <= box[2] and box[1] <= y <= box[3]


def _read_lines(page: Any, top: float, bottom: float) -> str:
    """Return the text of the lines that begin between two heights."""
    return page.filter(lambda item: "top" not in item or top <= item["top"] < bottom).extract_text()


def _as_markdown(rows: Sequence[Sequence[str | None]]) -> str:
    cells = [[as_line(cell or "").replace("|", "/") for cell in row] for row in rows]
    lines = [f"| {' | '.join(row)} |" for row in cells if any(row)]
    if lines:
        lines.insert(1, "|---" * len(cells[0]) + "|")
    return "\n".join(["", *lines, ""])


# ── scans ────────────────────────────────────────────────────────────────────────────────────────────────────


def missing_for_scans() -> str:
    """Return what must be installed to read pages that are pictures; empty if nothing is missing."""
    extra = "" if find_spec("pypdfium2") else "the extra pdf (pip install 'memgraph_rag[pdf]')"
    program = "" if which("tesseract") else "the program tesseract (tesseract-ocr)"
    return " and ".join(filter(None, [extra, program]))


def recognise_page(data: bytes, number: int) -> str:
    """Return the text that tesseract reads in page ``number`` (from 0); empty if it fails or takes over a minute.

    Errors are those of PDFium on a damaged file.
    """
    command = ["tesseract", "stdin", "stdout", "-l", _languages()]
    try:
        done = subprocess.run(  # noqa: S603 - a picture on its standard input
            command, input=_render(data, number), capture_output=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout.decode("utf-8", "replace").replace("\f", "") if done.returncode == 0 else ""


@cache
def _languages() -> str:
    """Return the installed languages, as tesseract takes them."""
    listed = subprocess.run(["tesseract", "--list-langs"], capture_output=True, text=True, check=False)  # noqa: S607
    return "+".join(name for name in listed.stdout.splitlines()[1:] if name != "osd") or "eng"


def _render(data: bytes, number: int) -> bytes:
    """Return the picture of a page as PNG."""
    import pypdfium2

    with _RENDERING:
        document = pypdfium2.PdfDocument(data)
        try:
            page = document[number]
            width, height = page.get_size()
            scale = min(_RESOLUTION, (_MOST_PIXELS / max(width * height, 1)) ** 0.5)
            picture, file = page.render(scale=scale, grayscale=True).to_pil(), BytesIO()  # pyright: ignore[reportArgumentType]
        finally:
            document.close()
    picture.save(file, "PNG")
    return file.getvalue()
