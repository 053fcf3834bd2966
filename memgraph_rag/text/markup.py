"""What a reader sees of HTML, and the titles of HTML and Markdown.

It knows no file. Invariants: a page however deeply nested is walked without recursion; what a browser does not
show is left out; block elements are paragraphs of their own, so that no sentence runs over their edge.
"""

from __future__ import annotations

import re
from pathlib import Path

from bs4 import BeautifulSoup, ParserRejectedMarkup
from bs4.dammit import EncodingDetector
from bs4.element import NavigableString, PageElement, PreformattedString, Tag
from markdown_it import MarkdownIt

from memgraph_rag.errors import DocumentError
from memgraph_rag.types import as_line

__all__ = ["declared_encoding", "markdown_title", "read_html"]

# <head> itself is not listed: its end tag may be left out, and html.parser then finds the body inside it.
_HIDDEN = {"script", "style", "title", "template", "noscript", "iframe", "object", "svg", "math", "datalist"}
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

_TITLE_REACH = 20_000  # characters of Markdown that are searched for a heading
_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?\n)(?:---|\.\.\.)[ \t]*\n", re.S)
_FRONT_TITLE = re.compile(r"^title:[ \t]*(.+)$", re.M)


def read_html(page: str, path: Path) -> tuple[str, str]:
    """Visible text and title of a page; the title is empty where it has none.

    Raises:
        DocumentError: the parser refuses it, or nothing of it is visible.
    """
    try:
        # The opening tag keeps bs4 from guessing, with a warning, that the page is XML or the name of a file.
        soup = BeautifulSoup("<html>" + _without_open_tags(page), "html.parser")
    except ParserRejectedMarkup as exc:
        raise DocumentError(f"Expected HTML, got what no parser reads ({exc}): {path}.", path=path) from exc
    text = _visible_text(soup)
    if not text:
        raise DocumentError(
            f"Expected a page with text, got one without: {path}. Save pages that a script fills from a browser.",
            path=path,
        )
    title = soup.find("title")
    return text, as_line(title.get_text()) if title else ""


def _without_open_tags(page: str) -> str:
    """The page, with "<" behind the last ">" as text: no tag can end there.

    Python's parser looks for that end anew at each "<": 50 KB of "<a " took 22 s.
    """
    end = page.rfind(">") + 1
    return page[:end] + page[end:].replace("<", "&lt;")


def declared_encoding(data: bytes) -> str | None:
    """The encoding that a page names in its head, if it does."""
    return EncodingDetector.find_declared_encoding(data, is_html=True)


def markdown_title(text: str) -> str:
    """The title in the front matter, else the first heading near the beginning; empty without."""
    start = text[:_TITLE_REACH]
    front = _FRONT_MATTER.match(start)
    if front is not None:
        start = start[front.end() :]
        named = _FRONT_TITLE.search(front[1])
        if named is not None:
            return as_line(named[1].strip().strip("\"'"))
    tokens = MarkdownIt().parse(start)
    heading = next((index for index, token in enumerate(tokens) if token.type == "heading_open"), None)
    if heading is None:
        return ""
    return as_line(
        "".join(part.content or " " * (part.type == "softbreak") for part in tokens[heading + 1].children or ())
    )


def _visible_text(soup: BeautifulSoup) -> str:
    parts = ["\n"]
    preformatted = 0
    open_tags: list[tuple[Tag, int]] = [(soup, 0)]  # each with the number of its next child
    while open_tags:
        tag, number = open_tags.pop()
        if number == 0:
            parts.append(_BEFORE.get(tag.name, ""))
            preformatted += tag.name == "pre"
        if number == len(tag.contents):
            parts.append(_AFTER.get(tag.name, ""))
            preformatted -= tag.name == "pre"
            continue
        open_tags.append((tag, number + 1))
        child = tag.contents[number]
        if isinstance(child, Tag):
            if child.name not in _HIDDEN:
                open_tags.append((child, 0))
        elif _is_text(child):
            parts.append(str(child) if preformatted else _flowing(str(child)))
    return _tidied("".join(parts))


def _is_text(node: PageElement) -> bool:
    """True for text, false for comments, declarations and the like."""
    return isinstance(node, NavigableString) and not isinstance(node, PreformattedString)


def _flowing(text: str) -> str:
    """The text with every run of white space as one mark, which ``_tidied`` turns into a blank or nothing."""
    return re.sub(r"\s+", _BLANK, text)


def _tidied(text: str) -> str:
    """Single blanks within lines, none at their ends, and never more than one empty line."""
    marks = _BLANK + _CELL
    lines = (line.lstrip(marks).rstrip(marks + " \t") for line in text.split("\n"))
    spaced = re.sub(f"[{marks}]+", lambda run: "\t" if _CELL in run[0] else " ", "\n".join(lines))
    return re.sub(r"\n{3,}", "\n\n", spaced).strip()
