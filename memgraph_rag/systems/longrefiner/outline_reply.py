"""The task that asks a model for the outline of a text, and the functions that locate its reply in the text.

The model tags parts. For each paragraph it writes only the first and the last words, with a mark of omission between
them. A reply is JSON under a grammar, or has the tags of the paper and of the released model; the reply itself tells
which. Invariants: no reply raises an error; each heading begins at a place where the text holds the model's words.

Source: LongRefiner, document structuring (its tags and omission; the words are ours). Only the beginnings of sections
are taken from the reply. A section reaches to the next beginning, so no text is lost if a paragraph is not found.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memgraph_rag.layers.extraction import as_list, clean, read_reply
from memgraph_rag.types import Heading, Prompt

ABSTRACT, SECTION, SUB_SECTION = "abstract", "section", "sub-section"

_MOST_PARTS = 24  # of one window
_MOST_PARAGRAPHS = 4  # of one part: only its beginning is needed
_TITLE_CHARACTERS = 80
_MOST_USELESS = 3  # consecutive parts of one title, or of texts that are not in the document
_WORDS = 4  # first and last words that are searched in the text, as in the released code
_CHARACTERS = 40  # of these words, for scripts without blanks
_LOST = "section that is not in the text"

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "parts": {
            "type": "array",
            "items": {
                "type": "array",
                "prefixItems": [
                    {"enum": [ABSTRACT, SECTION, SUB_SECTION]},
                    {"type": "string", "maxLength": _TITLE_CHARACTERS},
                    {"type": "array", "items": {"type": "string", "maxLength": 160}, "maxItems": _MOST_PARAGRAPHS},
                ],
                "items": False,
                "minItems": 3,
                "maxItems": 3,
            },
            "maxItems": _MOST_PARTS,
        }
    },
    "required": ["parts"],
    "additionalProperties": False,
}
"""The JSON schema of a reply. It uses lists, because objects would repeat their keys. All lengths are bounded."""

_TASK = (
    "Divide the text above into its sections, in order. For each section write its tag "
    f'("{SECTION}" or "{SUB_SECTION}"), a short title, and its paragraphs; of each paragraph only the first '
    "{words} words and the last {words} words, copied from the text, with ... between them. A section whose whole text "
    "is in its sub-sections has no paragraphs: []. Answer as JSON: "
    '{{"parts": [[tag, title, [paragraph, paragraph]], [tag, title, [paragraph]]]}}'
)
_TAGGED_TASK = (
    "Divide the text above into sections of a suitable size, in order. Tag them so: <abstract>introduction"
    "</abstract><section: title>paragraph<br>paragraph<sub-section: title>paragraph</sub-section: title>"
    "</section: title>. Of each paragraph write only the first {words} words and the last {words} words, copied from "
    "the text, with <skip> between them. Write the tagged text only."
)


def request(*, tagged: bool, words: int) -> str:
    """Return the request for the outline of a text, which precedes the request in the prompt.

    It has neither the document's title nor an example, because a 0.5B model copied them. The text before the first
    section is the abstract, so JSON has no abstract.

    Args:
        tagged: whether the reply has the tags of the paper instead of JSON.
        words: first and last words to write of each paragraph.
    """
    return (_TAGGED_TASK if tagged else _TASK).format(words=words)


_TAG = re.compile(rf"<(?P<closes>/?)(?P<tag>{ABSTRACT}|{SUB_SECTION}|{SECTION})(?:\s*:\s*(?P<title>[^<>]*))?\s*>")
_BREAK = re.compile(r"<br\s*/?>|\n")
_OMISSION = re.compile(r"\.\.\.|…|<skip>")


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the text in a reply: its tag, its title, and its paragraphs with marks of omission."""

    tag: str
    title: str
    paragraphs: tuple[str, ...]


def parts(text: str) -> tuple[list[Part], Counter[str]]:
    """Read the parts of a reply, and count notes on its errors. A truncated reply gives the parts before its end.

    An unreadable reply gives no parts. Parts of JSON after the 24th are dropped.
    """
    if _TAG.match(text.lstrip()):
        return _split_tagged(text), Counter()
    notes: Counter[str] = Counter()
    listed = as_list(read_reply(text, "outline", notes).get("parts"))
    complete = [item for item in listed if _is_part(item)]
    notes["part of an outline that is incomplete"] += len(listed) - len(complete)
    said = [
        Part(tag, "" if tag == ABSTRACT else clean(title), tuple(map(clean, paragraphs)))
        for tag, title, paragraphs in complete[:_MOST_PARTS]
    ]
    return said, +notes


def is_useless_from_here(prompt: Prompt, text: str) -> bool:
    """Return whether generation should stop: the last three parts have one title, or are not in the text."""
    complete = parts(text)[0]
    before, last = complete[:-_MOST_USELESS], complete[-_MOST_USELESS:]
    if len(last) < _MOST_USELESS:
        return False
    read = "\n".join(prompt.inputs)
    useful = [find_headings(some, read, 0, len(read))[0] for some in (before, complete)]
    return len({part.title.casefold() for part in last}) == 1 or len(useful[0]) == len(useful[1])


def find_headings(reply: Sequence[Part], text: str, start: int, end: int) -> tuple[list[Heading], Counter[str]]:
    """Locate the parts of a reply within characters ``[start, end)`` of a text.

    Each paragraph is searched after the previous one. If the title is a line of its own before its section's first
    paragraph, the section begins at the title. A section without paragraphs of its own begins with its first
    sub-section. A part without a title gives no heading, except the abstract.

    Returns:
        The headings, in the order of the text, and counted notes on parts and paragraphs that are not in the text.
    """
    notes: Counter[str] = Counter()
    headings: list[Heading] = []
    at, empty = start, ""
    for part in reply:
        begins, reached = _find_part(part, text, at, end, notes)
        if part.tag != SUB_SECTION:
            notes[_LOST] += bool(empty)
            empty = part.title if begins is None and part.tag == SECTION else ""
        if begins is None:
            notes[_LOST] += not empty or part.tag == SUB_SECTION
            continue
        begins = _title_line(part.title, text, at, begins)
        if empty:
            headings.append(Heading(_title_line(empty, text, at, begins), 1, empty))
            empty = ""
        if part.title or part.tag == ABSTRACT:
            level = 2 if part.tag == SUB_SECTION else 1
            headings.append(Heading(begins, level, part.title, is_abstract=part.tag == ABSTRACT))
        at = reached
    notes[_LOST] += bool(empty)
    return headings, +notes


def _split_tagged(text: str) -> list[Part]:
    """Return the parts of a reply with tags. The text of a part ends at the next tag of any kind."""
    tags = [*_TAG.finditer(text)]
    ends = [*(tag.start() for tag in tags[1:]), len(text)]
    return [
        Part(
            tag["tag"],
            clean((tag["title"] or "").strip('" '))[:_TITLE_CHARACTERS],
            tuple(line for piece in _BREAK.split(text[tag.end() : end]) if (line := clean(piece))),
        )
        for tag, end in zip(tags, ends, strict=True)
        if not tag["closes"]
    ]


def _find_part(part: Part, text: str, at: int, end: int, notes: Counter[str]) -> tuple[int | None, int]:
    """Return where the first paragraph of a part begins, and where the last ends; None if the text has no paragraph."""
    begins, reached = None, at
    for paragraph in part.paragraphs:
        span = _find_paragraph(paragraph, text, reached, end)
        if span is None:
            notes["paragraph of an outline that is not in the text"] += 1
            continue
        begins = span[0] if begins is None else begins
        reached = span[1]
    return begins, reached


def _find_paragraph(paragraph: str, text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the span of a paragraph whose middle the model omitted, or None if its beginning is not in the text."""
    written = [words for piece in _OMISSION.split(paragraph) if (words := piece.split())]
    if not written:
        return None
    head = _pattern(written[0][:_WORDS], from_end=False).search(text, start, end)
    if head is None:
        return None
    tail = _pattern(written[-1][-_WORDS:], from_end=True).search(text, head.end(), end) if len(written) > 1 else None
    return head.start(), (tail or head).end()


def _pattern(words: Sequence[str], *, from_end: bool) -> re.Pattern[str]:
    joined = " ".join(words)
    joined = joined[-_CHARACTERS:] if from_end else joined[:_CHARACTERS]
    return re.compile(r"\s+".join(map(re.escape, joined.split())), re.IGNORECASE)


def _title_line(title: str, text: str, start: int, begins: int) -> int:
    """Return the start of the last line in ``[start, begins)`` that equals the title, or ``begins`` without one."""
    words = re.search(r"\w(?:.*\w)?", title[:_TITLE_CHARACTERS], re.DOTALL)  # a line may have marks around the title
    if words is None:
        return begins
    line = rf"^[^\w\n]*{_pattern(words[0].split(), from_end=False).pattern}[^\w\n]*$"
    lines = list(re.compile(line, re.IGNORECASE | re.MULTILINE).finditer(text, start, begins))
    return lines[-1].start() if lines else begins


def _is_part(item: object) -> bool:
    if not (isinstance(item, list) and len(item) == 3):
        return False
    tag, title, paragraphs = item
    return (
        tag in (ABSTRACT, SECTION, SUB_SECTION)
        and isinstance(title, str)
        and isinstance(paragraphs, list)
        and all(isinstance(paragraph, str) for paragraph in paragraphs)
    )
