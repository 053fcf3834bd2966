"""Split an HTML page into tags and texts, in order, as a browser's tokenizer does.

The module does not know the meaning of elements, except which hold raw text. Invariant: no character is searched more
often than a fixed number of times. A tag, comment or script without an end reaches to the end of the page (WHATWG HTML,
13.2.5).
"""

from __future__ import annotations

import html
import re
import sys
from collections.abc import Iterator
from typing import NamedTuple

_OPENING = re.compile(r"<(?:(?P<slash>/?)(?P<name>[a-zA-Z][^\s/>]*)|!--|[!?/])")
_VALUE_OR_END = re.compile(r""">|=\s*(?:"[^"]*(?:"|\Z)|'[^']*(?:'|\Z))""")
_COMMENT_END = re.compile(r"--!?>")
_ATTRIBUTE = re.compile(r"""([^\s"'>/=]+)\s*(?:=\s*("[^"]*"|'[^']*'|[^\s>"']+))?""")

_RAW = ("iframe", "noembed", "noframes", "noscript", "script", "style", "textarea", "title", "xmp")
_RAW_END = {name: re.compile(rf"</{name}(?=[\s/>])", re.I) for name in _RAW}
_SHOWN_IF_OPEN = {"textarea", "title"}  # without an end tag they would hide the rest of a page

_ZEROS = re.compile(r"&#0+(?=[0-9])")
_TOO_LARGE = re.compile(r"&#[0-9]{8,};?")  # int() takes no more than 4,300 digits


class Tag(NamedTuple):
    """A start tag or an end tag.

    Attributes:
        name: the name in lower case.
        is_closed: whether the tag also ends the element: ``<br/>``.
        source: the tag as written, for ``attributes``.
    """

    name: str
    is_end: bool
    is_closed: bool
    source: str


def tokens(page: str) -> Iterator[Tag | str]:
    """Yield start tags, end tags and the texts between them, without comments, declarations and instructions.

    The content of an element such as script or style is a text, too, as written. In other texts character references
    are resolved. A tag without an end ends the page: the rest is left out.

    >>> [token if isinstance(token, str) else token.name for token in tokens("<p title='>'>a &lt; b<!-- c --><br>")]
    ['p', 'a < b', 'br']
    """
    at, unclosed = 0, set[str]()
    while opening := _OPENING.search(page, at):
        if opening.start() > at:
            yield _unescape(page[at : opening.start()])
        if not opening["name"]:
            at = _find_markup_end(page, opening)
            continue
        at = _find_tag_end(page, opening.end())
        if at < 0:
            return
        tag = _tag(page[opening.start() : at], opening)
        raw_end = None if tag.is_end or tag.is_closed or tag.name in unclosed else _RAW_END.get(tag.name)
        if raw_end is None:
            if tag.name not in unclosed:
                yield tag
            continue
        end = raw_end.search(page, at)
        if end is None and tag.name in _SHOWN_IF_OPEN:
            unclosed.add(tag.name)
            continue
        raw = page[at : end.start() if end else len(page)]
        yield tag
        yield _unescape(raw) if tag.name in _SHOWN_IF_OPEN else raw
        at += len(raw)
    if at < len(page):
        yield _unescape(page[at:])


def attributes(tag: Tag) -> dict[str, str]:
    """Return the tag's attributes with names in lower case; the value of an attribute without one is empty.

    Character references in values are resolved. Of several attributes with one name the last counts.

    >>> attributes(Tag("p", False, False, '<p HIDDEN class="a b">'))
    {'hidden': '', 'class': 'a b'}
    """
    pairs = _ATTRIBUTE.findall(tag.source, len(tag.name) + 1)
    return {name.lower(): html.unescape(value.strip("\"'")) for name, value in pairs}


def _tag(source: str, opening: re.Match[str]) -> Tag:
    return Tag(sys.intern(opening["name"].lower()), bool(opening["slash"]), source[-2] == "/", source)


def _find_tag_end(page: str, at: int) -> int:
    """Return the end of the tag whose name ends at ``at``, ignoring ">" in quotes; -1 if the tag has no end."""
    return next((match.end() for match in _VALUE_OR_END.finditer(page, at) if match[0] == ">"), -1)


def _find_markup_end(page: str, opening: re.Match[str]) -> int:
    """Return where a comment, a declaration or an instruction ends."""
    if opening[0] == "<!--":
        match = _COMMENT_END.search(page, opening.start() + 2)  # "<!-->" is a whole comment
        return match.end() if match else len(page)
    return (page.find(">", opening.end()) + 1) or len(page)


def _unescape(text: str) -> str:
    """Return the text with its character references resolved."""
    if "&" not in text:
        return text
    return html.unescape(_TOO_LARGE.sub("\ufffd", _ZEROS.sub("&#", text)))
