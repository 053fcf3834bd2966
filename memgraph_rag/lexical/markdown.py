r"""Read Markdown: its blocks, its headings, and its text as a reader sees it.

The module knows no file. Invariants: offsets are characters of the original text; text in code is never changed, and
in code, HTML or front matter nothing is a heading; a text without markup is its own plain text, and costs one search
for marks; time grows with the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.common.html_blocks import block_names
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from memgraph_rag.lexical.code import append_parts, find_program_language
from memgraph_rag.types import as_line

FRONT_MATTER = re.compile(
    r"---[ \t]*\n((?:[^\s:#-][^:\n]*:.*\n|[ \t].*\n|- .*\n|#.*\n|[ \t]*\n)*?)(?:---|\.\.\.)[ \t]*(?:\n|\Z)"
)
"""The fields before the text; the group holds them. Each line is a field, a part of one, a comment or empty."""

_CANDIDATE = re.compile(r"^[ \t>*+\-\d.)]{0,40}#|^[ \t>]{0,40}(?:=+|-+)[ \t]*$", re.M)
_LINE_END = re.compile("\r\n|[\r\n]")
_MAY_BE_CODE = re.compile(r"^[ >*+\d.)-]{0,20}(?:```|~~~)|^(?: {4}| {0,3}\t)", re.MULTILINE)
_MAY_BE_SOLID = re.compile(r"```|~~~|^[ >|:]*-{2,}[-:| ]*\|", re.MULTILINE)
_MARKS = re.compile(
    r"(?<![\w`])`(?![`\s])(?:[^`\n]*[^`\s])?`(?![\w`])|^[ >]*(?:```|~~~)|\*\*(?=\S)[^*\n]*(?<=\S)\*\*|\]\([^\s)]"
    r"|\{:?[ \t]*[#.]\w|<(?:a|abbr|div|img|p|span|table)[ >]|<!--|^ {0,3}#{1,6}[ \t]|^[ >|:]*-{3,}[-: ]*\|"
    r"|\A---[ \t]*\n|^\{[*!]|^ {0,3}(?:/{3}|:{3}|!{3}|\?{3})[ \t]*\w",
    re.MULTILINE,
)
"""Marks that prose does not have. One backtick may be an apostrophe, and two of them a quotation mark."""

_LONGEST = 100_000  # characters of a text whose marks are looked for: a longer one is no part of a document, but data
_HEADING = re.compile(r"^#{1,6}[ \t]+(\S.*)$", re.MULTILINE)
_ATTRIBUTES = re.compile(r"[ \t]*\{:?[ \t]*[#.][\w:.-]+(?:[ \t][^{}\n]*)?\}")  # { #anchor .class target=_blank }
_SNIPPET = re.compile(r"^[ \t]*\{(?:\*.*\*|!.*!)\}[ \t]*$")  # inclusions of mkdocs
_ADMONITION = re.compile(
    r"""^[ \t]*(?:(?:/{3,}|:{3,})(?:[ \t]*[\w-]+[ \t]*\|?)?|(?:!{3}|\?{3}\+?)[ \t]+[\w -]*)[ \t]*"?"""
)
_REFERENCE = re.compile(r"^ {0,3}\[[^\[\]]{1,200}\]:[ \t]*\S+(?:[ \t]+[\"'(].*)?$")
_INLINE = re.compile(r"[`*_\[\]<\\{]")
_TAG = re.compile(r"<!--.*?(?:-->|\Z)|</?([a-zA-Z][\w.:-]*)[^<>]*>", re.S)
_IN_A_LINE = "a abbr b cite code dfn em font i ins kbd mark q s samp small span strong sub sup u var"
_ELEMENTS = {*block_names, *_IN_A_LINE.split(), "br", "button", "img", "input", "label", "pre", "svg", "video", "wbr"}
_PART_OF_A_LINE = re.compile(rf"</?(?:{_IN_A_LINE.replace(' ', '|')})\b", re.I)


class MarkdownHeading(NamedTuple):
    """A heading of a Markdown text.

    Attributes:
        start: its first character in the text.
        level: 1 to 6.
        title: its words without marks.
        is_nested: whether it is in a list or a quotation.
        lines: how many lines of the text it takes, the underline included.
    """

    start: int
    level: int
    title: str
    is_nested: bool
    lines: int


class PlainText(NamedTuple):
    """A text without markup.

    Attributes:
        places: the position of each of its characters in the original; None if the two texts are equal.
    """

    text: str
    places: Sequence[int] | None = None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the (start, end) in the original of characters of this text: the longest part without markup in it."""
        if self.places is None or start >= end:
            return start, end
        edges = [place for place in range(start + 1, end) if self.places[place] > self.places[place - 1] + 1]
        first, last = max(pairwise([start, *edges, end]), key=lambda part: part[1] - part[0])
        return self.places[first], self.places[last - 1] + 1


@lru_cache(maxsize=1024)  # a segment is counted, embedded, searched for names and indexed
def plain(text: str) -> PlainText:
    r"""Return a Markdown text without markup, as one reads it; a text over 100,000 characters stays unchanged.

    Left out are front matter, anchors and other attributes, marks of emphasis and of code, targets of links, fences
    (not their code), delimiter rows of tables, HTML tags, and marks of admonitions and inclusions. Marks of headings,
    of list items and between the cells of a table stay, because they tell a model what it reads.

    >>> plain("# Class `Fox` { #fox }\n\nSee [the **den**](den.md#top).").text
    '# Class Fox\n\nSee the den.'
    """
    if len(text) > _LONGEST or not has_marks(text):
        return PlainText(text)
    shown = _hide(text, _Hidden(text).ranges())
    for start, end in _empty_lines(shown):
        shown[start:end] = [""] * (end - start)
    places = [place for place, character in enumerate(shown) if character]
    return PlainText("".join(shown), places) if len(places) < len(text) else PlainText(text)


def has_marks(text: str) -> bool:
    """Return whether a text has marks of Markdown that prose does not have."""
    return _MARKS.search(text) is not None


def strip_markup(text: str, title: str) -> str:
    """Return a segment's text without Markdown marks, as a model reads it; the text of a program stays unchanged.

    ``title`` is the title of the segment's document, by whose ending a program is known.
    """
    return plain(text).text if find_program_language(title) is None else text


def split_for_search(title: str, text: str) -> tuple[str, str]:
    """Return (title, text) of a segment as a keyword index takes them: without markup, with headings in the title.

    The text of a program has the parts of its compound identifiers at its end.
    """
    if find_program_language(title) is not None:
        return title, append_parts(text)
    read = plain(text)
    return "\n".join([title, *_HEADING.findall(read.text)]) if read.places else title, read.text


def headings(text: str) -> list[MarkdownHeading]:
    r"""Return the headings of a Markdown text, in order, also those in lists and quotations.

    A line in code, HTML or front matter is not a heading.

    >>> [heading[:3] for heading in headings("# Fox *and* owl { #fox }\n\n```\n# code\n```\n\nRain\n----\n")]
    [(0, 1, 'Fox and owl'), (42, 2, 'Rain')]
    """
    front = FRONT_MATTER.match(text)
    offset = front.end() if front else 0
    if not _CANDIDATE.search(text, offset):
        return []
    line_starts = [offset, *(match.end() for match in _LINE_END.finditer(text, offset))]
    return [
        MarkdownHeading(
            line_starts[token.map[0]], int(token.tag[1:]), _words(content.content), token.level > 0,
            token.map[1] - token.map[0],
        )
        for token, content in pairwise(_parser().parse(text[offset:]))
        if token.type == "heading_open" and token.map
    ]  # fmt: skip


def code_blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each fenced and each indented code block, in order: whole lines, with the fences.

    Args:
        text: with line feeds as line ends.
    """
    if _MAY_BE_CODE.search(text):
        yield from _blocks(text, ("fence", "code_block"))


def solid_blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each block that loses its sense when it is cut, in order: fenced code, and tables.

    Args:
        text: with line feeds as line ends.
    """
    if _MAY_BE_SOLID.search(text):
        yield from _blocks(text, ("fence", "table_open"))


def code_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each piece of code within a line, written between backticks, without the backticks."""
    for match in re.finditer(r"(?<![`\\])(`{1,2})(?!`)([^`\n]{1,200})(?<!`)\1(?!`)", text):
        yield match.span(2)


def _blocks(text: str, kinds: Sequence[str]) -> Iterator[tuple[int, int]]:
    starts = _line_starts(text)
    for token in _parser().parse(text):
        if token.type in kinds and token.map:
            yield starts[token.map[0]], starts[token.map[1]]


def _line_starts(text: str) -> list[int]:
    """Return where each line starts, and the end of the text, twice if the text ends with a line end."""
    return [0, *(match.end() for match in _LINE_END.finditer(text)), len(text)]


def _words(source: str) -> str:
    """Return the visible words of a heading."""
    return as_line("".join(_hide(source, _hidden_inline(source, {}))))


_Range = tuple[int, int, str]  # start, end, and what is read in its place: nothing or a blank


def _hide(text: str, hidden: Iterable[_Range]) -> list[str]:
    """Return the characters of a text; those of a hidden range are empty, but for what is read in its place."""
    shown = list(text)
    for start, end, instead in hidden:
        if start < end:
            shown[start:end] = [instead, *[""] * (end - start - 1)]
    return shown


def _empty_lines(shown: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the ranges of lines without text that follow a line without text."""
    start, empty = 0, 0
    for place, character in enumerate(shown):
        if character == "\n":
            empty += 1
            if empty > 2:
                yield start, place + 1
            start = place + 1
        elif character and not character.isspace():
            empty = 0


class _Hidden:
    """A Markdown text, and the parts of it that a reader does not see."""

    def __init__(self, text: str) -> None:
        front = FRONT_MATTER.match(text)
        self._offset = front.end() if front else 0
        self._text = text
        self._starts = [self._offset + start for start in _line_starts(text[self._offset :])]
        self._read: dict[int, int] = {}  # where the next cell of a line may begin
        self._code: set[int] = set()  # lines

    def ranges(self) -> Iterator[_Range]:
        """Yield the hidden ranges, in no order."""
        yield 0, self._offset, ""
        environment: dict[str, Any] = {}
        for token in _parser().parse(self._text[self._offset :], environment):
            if token.map is None:
                continue
            first, end = token.map
            if token.type in ("fence", "code_block"):
                self._code.update(range(first, end))
                yield from self._fence(token, first, end)
            elif token.type == "table_open":
                yield self._line(first + 1)
            elif token.type == "html_block":
                yield from self._tags(first, end)
            elif token.type == "inline":
                yield from self._inline(token.content, first, end, environment)
        for line in range(len(self._starts) - 1):
            if line not in self._code:
                yield from self._line_marks(line)

    def _line(self, line: int) -> _Range:
        return self._starts[line], self._starts[line + 1], ""

    def _fence(self, token: Token, first: int, end: int) -> Iterator[_Range]:
        if token.type == "fence":
            yield self._line(first)
            start, stop, _ = self._line(end - 1)
            if end - 1 > first and self._text[start:stop].strip(" \t>\n").startswith(token.markup):
                yield start, stop, ""

    def _tags(self, first: int, end: int) -> Iterator[_Range]:
        start = self._starts[first]
        for tag in _TAG.finditer(self._text[start : self._starts[end]]):
            if _is_element(tag):
                yield start + tag.start(), start + tag.end(), _read_instead(tag[0])

    def _line_marks(self, line: int) -> Iterator[_Range]:
        """Yield what is hidden of a line by other marks than those of CommonMark."""
        start, end, _ = self._line(line)
        content = self._text[start:end].rstrip("\n")
        if _SNIPPET.match(content) or _REFERENCE.match(content):
            yield start, start + len(content), ""
        elif mark := _ADMONITION.match(content):
            yield start, start + mark.end(), ""
            if content.endswith('"'):
                yield start + len(content) - 1, start + len(content), ""

    def _inline(self, source: str, first: int, end: int, environment: dict[str, Any]) -> Iterator[_Range]:
        """Yield what is hidden of a paragraph, a heading or a cell; nothing if a line of it is not found in the text.

        The parser has removed the indentation and the marks of quotations from the lines of ``source``.
        """
        hidden = _hidden_inline(source, environment)
        place, at = 0, max(self._starts[first], self._read.get(first, 0))
        places: list[tuple[int, int]] = []  # the start of each line in the source, and in the text
        for line in source.split("\n"):
            found = self._text.find(line, at, self._starts[end])
            if found < 0:
                return
            places.append((place, found))
            place, at = place + len(line) + 1, found + len(line)
        self._read[first] = at
        for (line, found), (after, _) in pairwise([*places, (place, 0)]):
            for start, stop, instead in hidden:
                if start < after - 1 and stop > line:
                    yield (
                        found + max(start, line) - line,
                        found + min(stop, after - 1) - line,
                        instead if start >= line else "",
                    )


def _is_element(tag: re.Match[str]) -> bool:
    """Return whether a tag is a comment, of HTML, or of a component (MDX); ``<user>`` is a word that a reader sees."""
    name = tag[1]
    return not name or name.lower() in _ELEMENTS or (name[0].isupper() and ("=" in tag[0] or "/" in tag[0]))


def _read_instead(tag: str) -> str:
    return "" if _PART_OF_A_LINE.match(tag) else " "


def _hidden_inline(source: str, environment: dict[str, Any]) -> list[_Range]:
    """Return what is hidden of the text of one paragraph, in order."""
    if not _INLINE.search(source):
        return []
    spans = _Spans()
    environment["spans"] = spans
    _parser().inline.parse(source, _parser(), environment, spans.tokens)
    hidden = [*spans.hidden, *((start, end, "") for start, end, token in spans.marks if not token.content)]
    for match in _ATTRIBUTES.finditer(source):
        if not any(start <= match.start() < end for start, end in spans.code):
            hidden.append((*match.span(), ""))
    return sorted(hidden)


class _Spans:
    """The places at which the parser read the marks of one paragraph. Its own tokens do not hold them."""

    def __init__(self) -> None:
        self.tokens: list[Token] = []
        self.hidden: list[_Range] = []
        self.code: list[tuple[int, int]] = []
        self.marks: list[tuple[int, int, Token]] = []  # of emphasis; a mark that stays text keeps its content

    def add(self, rule: str, state: StateInline, start: int) -> None:
        """Add what a rule read from ``start`` to the state's place."""
        end, last = state.pos, self.tokens[-1] if self.tokens else None
        if rule == "emphasis":
            self.marks += [(start + n, start + n + 1, self.tokens[n - (end - start)]) for n in range(end - start)]
        elif rule == "backticks" and last is not None and last.type == "code_inline" and not state.pending:
            self.hidden += [(start, start + len(last.markup), ""), (end - len(last.markup), end, "")]
            self.code.append((start, end))
        elif rule == "escape" and last is not None and last.content != last.markup:
            self.hidden.append((start, start + 1, ""))
        elif rule in ("link", "image"):
            label = start + (rule == "image")
            self.hidden += [(start, label + 1, ""), (state.md.helpers.parseLinkLabel(state, label, False), end, "")]
        elif rule == "autolink":
            self.hidden += [(start, start + 1, ""), (end - 1, end, "")]
        elif rule == "html_inline" and (tag := _TAG.fullmatch(state.src, start, end)) and _is_element(tag):
            self.hidden.append((start, end, _read_instead(tag[0])))


_Rule = Callable[[StateInline, bool], bool]


@cache
def _parser() -> MarkdownIt:
    """Return a parser of blocks, whose rules for lines tell at which place they read; see ``_Spans``."""
    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])  # the words of most blocks are not parsed
    parser.inline.ruler2.disable("fragments_join")  # it would give the content of a mark to a text beside it
    for name, rule in zip(parser.inline.ruler.get_active_rules(), parser.inline.ruler.getRules(""), strict=True):
        parser.inline.ruler.at(name, partial(_apply, name, rule))
    return parser


def _apply(name: str, rule: _Rule, state: StateInline, silent: bool) -> bool:
    start = state.pos
    applies = rule(state, silent)
    spans = state.env.get("spans")
    if applies and not silent and spans is not None and state.tokens is spans.tokens:  # not within an image's words
        spans.add(name, state, start)
    return applies
