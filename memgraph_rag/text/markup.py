"""Extract the visible text and title of HTML pages, the title and the fields of Markdown, and cells of notebooks.

The module knows no files. Invariants: time and memory grow with the page's length, however deep it is nested; hidden
elements are left out, and so are menus and the site's header and footer, unless the page has nothing else; block
elements are separate paragraphs, so that no sentence crosses their edges; a heading is one line with Markdown's marks.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from datetime import date
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from memgraph_rag.display import show
from memgraph_rag.errors import DocumentError
from memgraph_rag.lexical.markdown import FRONT_MATTER, headings
from memgraph_rag.text.html_tokenizer import Tag, attributes, tokens
from memgraph_rag.types import SESSION, USER, MetadataValue, as_line

_HIDDEN = {"script", "style", "title", "template", "noscript", "iframe", "object", "svg", "math", "datalist", "noembed"}
_HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
_VOID = {
    *("area", "base", "br", "col", "embed", "frame", "hr", "img", "input", "link", "meta", "param", "source", "track"),
    "wbr",
}
_NAVIGATION = {"nav", "menu"}
_NAVIGATION_ROLES = {"navigation", "banner", "contentinfo", "complementary", "search", "menu", "menubar"}
_OF_THE_SITE = {"header", "footer", "aside"}  # navigation if outside of _CONTENT
_CONTENT = ("article", "main", "blockquote", "section")
_TELLING = re.compile("hidden|role|display", re.I)  # only tags with these words get their attributes parsed
_NOT_DISPLAYED = re.compile(r"display\s*:\s*none", re.I)
_PARAGRAPHS = (
    *("address", "article", "aside", "blockquote", "body", "caption", "dd", "details", "dialog", "div", "dl", "dt"),
    *("fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup"),
    *("hr", "main", "nav", "ol", "p", "pre", "section", "summary", "table", "ul"),
)
_BLANK, _CELL = "\x1f", "\x1e"  # white space outside <pre>, and the edge of a cell, until ``_tidy`` resolves them
_BEFORE = {
    **dict.fromkeys(_PARAGRAPHS, "\n\n"),
    **dict.fromkeys(("br", "li", "option", "tr"), "\n"),
    **dict.fromkeys(("td", "th"), _CELL),
}
_AFTER = dict.fromkeys(_PARAGRAPHS, "\n\n")

_ENCODING_REACH = 16_384  # bytes in which a page names its encoding
_ENCODING = re.compile(
    rb"""<(?:meta\b[^>]{0,1000}?charset|\?xml\b[^>]{0,200}?encoding)\s{0,9}=\s{0,9}["']?\s{0,9}([^\s"'/>;?]{1,40})""",
    re.I,
)

_NO_METADATA = {USER, SESSION, "title", "echo"}  # what a file may not say of its owner, and what is no metadata
_MOST_FIELDS, _LONGEST_FIELD, _LONGEST_VALUE = 64, 100, 1_000

_TITLE_REACH = 20_000  # characters of Markdown that are searched for a heading


def read_html(page: str, path: Path) -> tuple[str, str]:
    """Return the main text of a page and the text of its ``title`` element, which may be empty.

    Hidden elements are left out. Menus and the site's header and footer are left out, unless the page has nothing else.
    ``path`` is named in the error.

    Raises:
        DocumentError: the page has no visible text.
    """
    reader = _Reader()
    for token in tokens(page):
        if isinstance(token, str):
            reader.text(token)
        elif token.is_end:
            reader.end(token.name)
        else:
            reader.start(token)
    text, title = reader.close()
    if not text:
        raise DocumentError(
            f"Expected a page with text, got one without: {show(path)}. Save pages that a script fills from a browser.",
            path=path,
        )
    return text, as_line(title)


class _Region(NamedTuple):
    """An open element that may be navigation: the numbers of open elements, parts and headings before it."""

    depth: int
    parts: int
    headings: int
    is_header: bool


class _Reader:
    """The builder of a page's visible text from tags and texts, with a stack of open elements."""

    def __init__(self) -> None:
        self._parts: list[str] = ["\n"]
        self._open: list[str] = []
        self._open_counts: Counter[str] = Counter()  # open elements by name
        self._hidden_from: int | None = None  # the depth of the outermost hidden element
        self._regions: list[_Region] = []
        self._navigation: list[tuple[int, int]] = []  # ranges of parts
        self._headings = 0
        self._heading_starts: dict[int, int] = {}  # parts before each open heading, by its depth
        self._title: str | None = None

    def start(self, tag: Tag) -> None:
        """Open an element, and close it at once if it has no content."""
        self._append(_BEFORE.get(tag.name, ""))
        self._headings += tag.name == "h1"
        if tag.is_closed or tag.name in _VOID:
            self._append(_AFTER.get(tag.name, ""))
            return
        tag_attributes = attributes(tag) if _TELLING.search(tag.source) else {}
        if self._hidden_from is None and (tag.name in _HIDDEN or _is_hidden(tag_attributes)):
            self._hidden_from = len(self._open)
        elif not self._regions and self._is_navigation(tag.name, tag_attributes.get("role", "")):
            region = _Region(len(self._open), len(self._parts), self._headings, is_header=tag.name == "header")
            self._regions.append(region)
        if tag.name in _HEADINGS and self._hidden_from is None:
            self._heading_starts[len(self._open)] = len(self._parts)
        self._open.append(tag.name)
        self._open_counts[tag.name] += 1

    def end(self, name: str) -> None:
        """Close the innermost open element of this name and all elements in it; do nothing if none is open."""
        while self._open_counts[name]:
            last = self._open.pop()
            self._open_counts[last] -= 1
            if (start := self._heading_starts.pop(len(self._open), None)) is not None:
                self._mark_heading(last, start)
            self._append(_AFTER.get(last, ""))
            if self._hidden_from == len(self._open):
                self._hidden_from = None
            if self._regions and self._regions[-1].depth == len(self._open):
                self._close_region(self._regions.pop())
            if last == name:
                return

    def text(self, text: str) -> None:
        """Add text of the innermost open element."""
        if self._hidden_from is None:
            self._append(text if self._open_counts["pre"] else _mark_white_space(text))
        elif self._title is None and self._open[self._hidden_from :] == ["title"]:
            self._title = text

    def close(self) -> tuple[str, str]:
        """Return text and title of the whole page."""
        for region in self._regions:
            self._close_region(region)
        content, at = [], 0
        for start, end in self._navigation:
            content += self._parts[at:start]
            at = end
        content += self._parts[at:]
        return _tidy("".join(content)) or _tidy("".join(self._parts)), self._title or ""

    def _append(self, part: str) -> None:
        if part:
            self._parts.append(part)

    def _mark_heading(self, name: str, start: int) -> None:
        """Join the parts of a heading into one line; the number of parts stays, because regions refer to it."""
        words = _mark_white_space("".join(self._parts[start:])).strip(_BLANK)
        if words:
            marked = f"{'#' * int(name[1:])} {words}"
            self._parts[start:] = [marked, *[""] * (len(self._parts) - start - 1)]

    def _close_region(self, region: _Region) -> None:
        """Record a region as navigation, except for a header with the page's heading."""
        if not (region.is_header and self._headings > region.headings):
            self._navigation.append((region.parts, len(self._parts)))

    def _is_navigation(self, name: str, role: str) -> bool:
        is_of_the_site = name in _OF_THE_SITE and not any(self._open_counts[content] for content in _CONTENT)
        return name in _NAVIGATION or is_of_the_site or role.strip().lower() in _NAVIGATION_ROLES


def _is_hidden(tag_attributes: dict[str, str]) -> bool:
    is_marked = "hidden" in tag_attributes and tag_attributes["hidden"].lower() != "until-found"
    return is_marked or _NOT_DISPLAYED.search(tag_attributes.get("style", "")) is not None


def find_declared_encoding(data: bytes) -> str | None:
    """Return the encoding that a page declares in its first 16 KiB, as written; None without a declaration.

    Python may not know the encoding.
    """
    named = _ENCODING.search(data[:_ENCODING_REACH])
    return named[1].decode("ascii", "replace") if named else None


def markdown_title(text: str) -> str:
    """Return the title of a Markdown text: in its front matter, else its first heading of any level; empty without.

    Only the first 20,000 characters are searched.
    """
    named = _front_fields(text).get("title")
    if isinstance(named, str) and named.strip():
        return as_line(named)
    return next((heading.title for heading in headings(text[:_TITLE_REACH])), "")


def front_matter(text: str) -> dict[str, MetadataValue | date]:
    """Return the fields of a Markdown text's front matter that can be metadata; empty without front matter.

    A list of plain values becomes one text. Nested fields are left out, and so are the title, and the user and the
    session, which would let a file choose its owner. Front matter that is not YAML has no fields.
    """
    fields: dict[str, MetadataValue | date] = {}
    for name, value in islice(_front_fields(text).items(), _MOST_FIELDS):
        plain = _plain_value(value)
        if isinstance(name, str) and 0 < len(name) <= _LONGEST_FIELD and name not in _NO_METADATA and plain is not None:
            fields[name] = plain
    return fields


def _front_fields(text: str) -> dict[object, object]:
    """Return the fields of the front matter within the first 20,000 characters."""
    front = FRONT_MATTER.match(text[:_TITLE_REACH])
    if front is None:
        return {}
    import yaml

    try:
        fields = yaml.safe_load(front[1])
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError):  # ValueError: a date such as 2024-13-45
        return {}
    return fields if isinstance(fields, dict) else {}


def _plain_value(value: object) -> MetadataValue | date | None:
    """Return a value of metadata; None if it is nested, too long or no number."""
    if isinstance(value, list):
        items = [_plain_value(item) for item in value[:_MOST_FIELDS] if not isinstance(item, (list, dict))]
        value = ", ".join(str(item) for item in items if item is not None)
    if isinstance(value, str):
        return value if value and len(value) <= _LONGEST_VALUE else None
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int):
        return value if value.bit_length() < _LONGEST_VALUE else None
    return value if isinstance(value, date) else None


def read_notebook(source: str) -> str | None:
    """Return a Jupyter notebook's cells as Markdown, code in fences, outputs left out; None for any other text."""
    try:
        notebook = json.loads(source)
        language = notebook.get("metadata", {}).get("language_info", {}).get("name", "python")
        cells = [(cell["cell_type"], "".join(cell["source"]).strip("\n")) for cell in notebook["cells"]]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    shown = ((kind, text) for kind, text in cells if text.strip() and isinstance(text, str))
    return "\n\n".join(f"```{language}\n{text}\n```" if kind == "code" else text for kind, text in shown) + "\n"


def _mark_white_space(text: str) -> str:
    """Return the text with each run of white space as one mark, which ``_tidy`` resolves."""
    return re.sub(rf"[\s{_BLANK}{_CELL}]+", _BLANK, text)


def _tidy(text: str) -> str:
    """Return the text with single spaces in lines, no white space at line ends, and at most one empty line in a row."""
    marks = _BLANK + _CELL
    lines = (line.lstrip(marks).rstrip(marks + " \t") for line in text.split("\n"))
    spaced = re.sub(f"[{marks}]+", lambda run: "\t" if _CELL in run[0] else " ", "\n".join(lines))
    return re.sub(r"\n{3,}", "\n\n", spaced).strip()
