"""What a reader sees of HTML, and the titles of HTML and Markdown.

It knows no file. Invariants: a page is read in time and memory that grow with its length, however it is nested; what
a browser does not show is left out, and so is what leads elsewhere (menus, the header and footer of the site), unless
there is nothing else; block elements are paragraphs of their own, so that no sentence runs over their edge; a heading
is one line with the marks of Markdown.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from memgraph_rag.display import show
from memgraph_rag.errors import DocumentError
from memgraph_rag.lexical.markdown import FRONT_MATTER, headings
from memgraph_rag.text.html_tokenizer import Tag, attributes, tokens
from memgraph_rag.types import as_line

__all__ = ["declared_encoding", "markdown_title", "read_html"]

_HIDDEN = {"script", "style", "title", "template", "noscript", "iframe", "object", "svg", "math", "datalist", "noembed"}
_HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
_VOID = {
    *("area", "base", "br", "col", "embed", "frame", "hr", "img", "input", "link", "meta", "param", "source", "track"),
    "wbr",
}
_NAVIGATION = {"nav", "menu"}
_NAVIGATION_ROLES = {"navigation", "banner", "contentinfo", "complementary", "search", "menu", "menubar"}
_OF_THE_SITE = {"header", "footer", "aside"}  # outside of these:
_CONTENT = ("article", "main", "blockquote", "section")
_TELLING = re.compile("hidden|role|display", re.I)  # attributes are read of tags with these words only
_NOT_DISPLAYED = re.compile(r"display\s*:\s*none", re.I)
_PARAGRAPHS = (
    *("address", "article", "aside", "blockquote", "body", "caption", "dd", "details", "dialog", "div", "dl", "dt"),
    *("fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup"),
    *("hr", "main", "nav", "ol", "p", "pre", "section", "summary", "table", "ul"),
)
_BLANK, _CELL = "\x1f", "\x1e"  # a blank outside <pre> and the edge of a cell, until their neighbours are known
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

_TITLE_REACH = 20_000  # characters of Markdown that are searched for a heading
_FRONT_TITLE = re.compile(r"^title:[ \t]*(.+)$", re.M)


def read_html(page: str, path: Path) -> tuple[str, str]:
    """Text that a page is about, and its title; the title is empty where it has none.

    Raises:
        DocumentError: nothing of it is visible.
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
    """An open element that is perhaps navigation: how many elements, parts and headings there were before it."""

    depth: int
    parts: int
    headings: int
    is_header: bool


class _Reader:
    """The visible text of a page from its tags and texts, with a stack of what is open."""

    def __init__(self) -> None:
        self._parts: list[str] = ["\n"]
        self._open: list[str] = []
        self._of_name: Counter[str] = Counter()  # of the open elements
        self._hidden_from: int | None = None  # the depth of the outermost hidden element
        self._regions: list[_Region] = []
        self._navigation: list[tuple[int, int]] = []  # ranges of parts
        self._headings = 0
        self._heading_starts: dict[int, int] = {}  # parts before each open heading, by its depth
        self._title: str | None = None

    def start(self, tag: Tag) -> None:
        """An element begins; it ends at once where it has no content."""
        self._append(_BEFORE.get(tag.name, ""))
        self._headings += tag.name == "h1"
        if tag.is_closed or tag.name in _VOID:
            self._append(_AFTER.get(tag.name, ""))
            return
        of_tag = attributes(tag) if _TELLING.search(tag.source) else {}
        if self._hidden_from is None and (tag.name in _HIDDEN or _is_hidden(of_tag)):
            self._hidden_from = len(self._open)
        elif not self._regions and self._is_navigation(tag.name, of_tag.get("role", "")):
            region = _Region(len(self._open), len(self._parts), self._headings, is_header=tag.name == "header")
            self._regions.append(region)
        if tag.name in _HEADINGS and self._hidden_from is None:
            self._heading_starts[len(self._open)] = len(self._parts)
        self._open.append(tag.name)
        self._of_name[tag.name] += 1

    def end(self, name: str) -> None:
        """Close the innermost open element of this name, and those in it; nothing where none is open."""
        while self._of_name[name]:
            last = self._open.pop()
            self._of_name[last] -= 1
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
        """Text of the innermost open element."""
        if self._hidden_from is None:
            self._append(text if self._of_name["pre"] else _flowing(text))
        elif self._title is None and self._open[self._hidden_from :] == ["title"]:
            self._title = text

    def close(self) -> tuple[str, str]:
        """Text and title of the whole page."""
        for region in self._regions:
            self._close_region(region)
        content, at = [], 0
        for start, end in self._navigation:
            content += self._parts[at:start]
            at = end
        content += self._parts[at:]
        return _tidied("".join(content)) or _tidied("".join(self._parts)), self._title or ""

    def _append(self, part: str) -> None:
        if part:
            self._parts.append(part)

    def _mark_heading(self, name: str, start: int) -> None:
        """The heading of these last parts as one line; as many parts as before, since regions count them."""
        words = _flowing("".join(self._parts[start:])).strip(_BLANK)
        if words:
            marked = f"{'#' * int(name[1:])} {words}"
            self._parts[start:] = [marked, *[""] * (len(self._parts) - start - 1)]

    def _close_region(self, region: _Region) -> None:
        """A header that holds the page's heading is content."""
        if not (region.is_header and self._headings > region.headings):
            self._navigation.append((region.parts, len(self._parts)))

    def _is_navigation(self, name: str, role: str) -> bool:
        is_of_the_site = name in _OF_THE_SITE and not any(self._of_name[content] for content in _CONTENT)
        return name in _NAVIGATION or is_of_the_site or role.strip().lower() in _NAVIGATION_ROLES


def _is_hidden(of_tag: dict[str, str]) -> bool:
    is_marked = "hidden" in of_tag and of_tag["hidden"].lower() != "until-found"
    return is_marked or _NOT_DISPLAYED.search(of_tag.get("style", "")) is not None


def declared_encoding(data: bytes) -> str | None:
    """The encoding that a page names in its head, if it does."""
    named = _ENCODING.search(data[:_ENCODING_REACH])
    return named[1].decode("ascii", "replace") if named else None


def markdown_title(text: str) -> str:
    """The title in the front matter, else the first heading near the beginning; empty without."""
    start = text[:_TITLE_REACH]
    front = FRONT_MATTER.match(start)
    named = _FRONT_TITLE.search(front[1]) if front else None
    if named is not None:
        return as_line(named[1].strip().strip("\"'"))
    return next((heading.title for heading in headings(start)), "")


def _flowing(text: str) -> str:
    """The text with every run of white space as one mark, which ``_tidied`` turns into a blank or nothing."""
    return re.sub(rf"[\s{_BLANK}{_CELL}]+", _BLANK, text)


def _tidied(text: str) -> str:
    """Single blanks within lines, none at their ends, and never more than one empty line."""
    marks = _BLANK + _CELL
    lines = (line.lstrip(marks).rstrip(marks + " \t") for line in text.split("\n"))
    spaced = re.sub(f"[{marks}]+", lambda run: "\t" if _CELL in run[0] else " ", "\n".join(lines))
    return re.sub(r"\n{3,}", "\n\n", spaced).strip()
