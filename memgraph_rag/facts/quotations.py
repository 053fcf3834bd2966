"""Find text between marks: quotation marks of any kind, backticks, tags, comments.

The module knows the marks, not who wrote the text. Invariants: spans begin and end with their marks; an apostrophe, a
mark of inches or an unpaired mark opens nothing; the time is linear in the text's length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_MARK = re.compile(
    r"(?P<code>`+)|(?P<comment><!--)|(?P<comment_end>-->)|<(?P<end>/?)(?P<tag>[a-z][\w-]{0,40})(?![\w-])[^<>]{0,500}>"
    r"|[\"'＂“”„‟‘’‚«»‹›「」『』]",
    re.IGNORECASE,
)
_CLOSERS = {
    '"': '"', "＂": "＂", "'": "'", "“": "”", "„": "“”\"", "‟": "”", "”": "”", "‘": "’", "‚": "‘’", "«": "»", "»": "«»",
    "‹": "›", "›": "‹›", "「": "」", "『": "』",
}  # fmt: skip
_ELISION = re.compile(r"\d|(?:cause|til|em|tis|twas|bout|n)\b", re.IGNORECASE)  # "the '90s"
_MOST_SINGLE = 500  # characters between single marks, which may be apostrophes
_PLAIN_TAGS = frozenset(
    "a abbr b big br center div em font hr i img ins li mark ol p s small span strike strong sub sup u ul".split()  # noqa: SIM905
)
"""Tags of the speaker's own layout; text in any other tag is a separate document."""

_BEFORE_OPENING = frozenset("([{<-–—:/=*_\"'“„‘‚«‹`")
_MOST_OPEN = 16
_MOST_NAME_WORDS, _MOST_PLAIN_WORDS = 6, 2
_SMALL = frozenset("a an the of and in on at to for de la le du von van der und &".split())  # noqa: SIM905
_NO_NAME = frozenset(
    """
    i i'm i've i'd i'll im my me mine we we're we've our us always never please don't do stop from when whenever every
    going future
    """.split()  # noqa: SIM905
)


def find_quoted_spans(text: str) -> Iterator[tuple[int, int]]:
    r"""Yield the places of text between marks, marks included, unsorted; spans may lie in one another.

    Names are left out (the speaker may write "Dune" in marks). An opening tag alone on its line that is never closed
    reaches to the end of the text.

    >>> text = 'Tom said "I live in Bonn" of my "Dune", <mail>I am 6\' tall</mail>.'
    >>> [text[start:end] for start, end in find_quoted_spans(text)]
    ['"I live in Bonn"', "<mail>I am 6' tall</mail>"]
    """
    opened: list[tuple[tuple[str, ...], int, int]] = []  # (closing marks, begin, end) of each open mark
    first_tags: dict[str, int] = {}
    for match in _MARK.finditer(text):
        closes, opens = _find_roles(text, match)
        depth = next((n for n in range(len(opened) - 1, -1, -1) if closes and closes in opened[n][0]), None)
        if depth is not None and _may_pair(text, opened[depth], match.start()):
            _, start, inner = opened[depth]
            del opened[depth:]
            if match["tag"] or match["comment_end"] or not _is_name(text, start, inner, match.start()):
                yield start, match.end()
        elif match["end"] and closes in first_tags:  # the text in the tags closed them before its end
            yield first_tags[closes], match.end()
        elif opens:
            opened = [*opened[1 - _MOST_OPEN :], (opens, match.start(), match.end())]
            if match["tag"]:
                first_tags.setdefault(opens[0], match.start())
    for (closer, *_), start, end in opened:
        if closer.startswith("<") and _is_line(text, start, end):
            yield start, len(text)


def _find_roles(text: str, match: re.Match[str]) -> tuple[str, tuple[str, ...]]:
    """Return what a mark may close, and what would close it as an opening mark; empty if it does not close or open."""
    mark = match[0]
    if match["code"]:
        return mark, (mark,)
    if match["comment"] or match["comment_end"]:
        return ("-->", ()) if match["comment_end"] else ("", ("-->",))
    if match["tag"]:
        name = f"</{match['tag'].casefold()}>"
        is_plain = match["tag"].casefold() in _PLAIN_TAGS or mark.endswith("/>")
        return ("", ()) if is_plain else (name, ()) if match["end"] else ("", (name,))
    before, after = text[match.start() - 1 : match.start()] or " ", text[match.end() : match.end() + 1] or " "
    may_open = (before.isspace() or before in _BEFORE_OPENING) and not after.isspace()
    may_close = mark not in "\"'’＂" or not (before.isspace() or after.isalnum())
    may_open = may_open and not (mark in "'‘" and _ELISION.match(text, match.end()))
    is_opener = mark in _CLOSERS and (may_open or mark in "„‚「『«“‟")
    return (mark if may_close else ""), (tuple(_CLOSERS[mark]) if is_opener else ())


def _may_pair(text: str, opened: tuple[tuple[str, ...], int, int], end: int) -> bool:
    """Return whether a mark may be closed at ``end``: single marks pair only within a paragraph."""
    closers, start, _ = opened
    if not {"'", "’"}.intersection(closers):
        return True
    return end - start <= _MOST_SINGLE and "\n\n" not in text[start:end]


def _is_line(text: str, start: int, end: int) -> bool:
    before, after = text[:start].rpartition("\n")[2], text[end:].partition("\n")[0]
    return not before.strip() and not after.strip()


def _is_name(text: str, start: int, inner: int, end: int) -> bool:
    """Return whether the words between two marks can be a name: one or two words, or a title."""
    if end - inner > 80:
        return False
    words = text[inner:end].replace("’", "'").split()
    if "\n" in text[inner:end] or any(word.strip(".,!?").casefold() in _NO_NAME for word in words):
        return False
    if len(words) <= _MOST_PLAIN_WORDS:
        return True
    before = text[max(0, start - 80) : start].rpartition("\n")[2].rstrip()
    are_capitals = all(not word[0].islower() or word in _SMALL for word in words)
    return are_capitals and len(words) <= _MOST_NAME_WORDS and not before.endswith(":")
