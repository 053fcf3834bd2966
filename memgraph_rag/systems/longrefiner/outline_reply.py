"""How a model is asked for the outline of a text, and how its reply is laid over the text.

The model tags parts and writes of each paragraph only the first and the last words, with a mark of omission between
them. It knows no segment. Invariants: whatever a reply is, reading it raises nothing; a heading that comes out begins
where the text holds what the model wrote.

Source: LongRefiner, document structuring (its tags and omission; the words are ours). Only where sections begin is
taken from the reply: what lies between is the section's, so no word is lost where a paragraph is not recognised.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memgraph_rag.layers.extraction import clean, list_of, read_reply
from memgraph_rag.types import Heading, Prompt

__all__ = ["SCHEMA", "TASK", "Part", "is_useless_from_here", "parts", "placed"]

ABSTRACT, SECTION, SUB_SECTION = "abstract", "section", "sub-section"

_MOST_PARTS = 24  # of one window
_MOST_PARAGRAPHS = 4  # of one part: only where it begins is needed
_TITLE_CHARACTERS = 80
_MOST_USELESS = 3  # parts after one another: of one title, or not in the text
_WORDS = 4  # of the first and of the last that are looked for, as in the released code
_CHARACTERS = 40  # of these; where words are not parted by blanks

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
"""Lists of lists, not of objects: their keys would be written again and again. All lists and strings are bounded."""

TASK = (
    "Divide the text above into its sections, in order. For each section write its tag "
    f'("{SECTION}" or "{SUB_SECTION}"), a short title, and its paragraphs; of each paragraph only the first five words '
    "and the last five words, copied from the text, with ... between them. Answer as JSON: "
    '{"parts": [[tag, title, [paragraph, paragraph]], [tag, title, [paragraph]]]}'
)
"""What is asked about any text; without its title and an example, which a 0.5B model copied in place of the text.

What comes before the first section is the abstract, so the model is not asked for it.
"""

_OMISSION = re.compile(r"\.\.\.|…")


@dataclass(frozen=True, slots=True)
class Part:
    """What a reply says of a part of the text: its tag, its title, and its paragraphs with what was left out."""

    tag: str
    title: str
    paragraphs: tuple[str, ...]


def parts(text: str) -> tuple[list[Part], Counter[str]]:
    """What a reply says, and what is odd about it, counted; of one that was cut, what is complete."""
    notes: Counter[str] = Counter()
    listed = list_of(read_reply(text, "outline", notes).get("parts"))
    complete = [item for item in listed if _is_part(item)]
    notes["part of an outline that is incomplete"] += len(listed) - len(complete)
    said = [
        Part(tag, "" if tag == ABSTRACT else clean(title), tuple(map(clean, paragraphs)))
        for tag, title, paragraphs in complete[:_MOST_PARTS]
    ]
    return said, +notes


def is_useless_from_here(prompt: Prompt, text: str) -> bool:
    """Whether the last parts of a reply have one title, or stand nowhere behind those before: more is worthless."""
    said = parts(text)[0]
    before, last = said[:-_MOST_USELESS], said[-_MOST_USELESS:]
    if len(last) < _MOST_USELESS:
        return False
    read = "\n".join(prompt.inputs)
    useful = [placed(those, read, 0, len(read))[0] for those in (before, said)]
    return len({part.title.casefold() for part in last}) == 1 or len(useful[0]) == len(useful[1])


def placed(said: Sequence[Part], text: str, start: int, end: int) -> tuple[list[Heading], Counter[str]]:
    """Where the parts begin within characters ``[start, end)`` of a text; what stands nowhere there is counted.

    Each paragraph is looked for behind the one before it. A title that stands in the text before its section's first
    paragraph, on a line of its own, belongs to the section.
    """
    notes: Counter[str] = Counter()
    headings: list[Heading] = []
    at = start
    for part in said:
        begins, reached = None, at
        for paragraph in part.paragraphs:
            span = _found(paragraph, text, reached, end)
            if span is None:
                notes["paragraph of an outline that is not in the text"] += 1
                continue
            begins = span[0] if begins is None else begins
            reached = span[1]
        if begins is None:
            notes["section that is not in the text"] += 1
            continue
        begins = _title_line(part.title, text, at, begins)
        if part.title or part.tag == ABSTRACT:
            level = 2 if part.tag == SUB_SECTION else 1
            headings.append(Heading(begins, level, part.title, is_abstract=part.tag == ABSTRACT))
        at = reached
    return headings, +notes


def _found(paragraph: str, text: str, start: int, end: int) -> tuple[int, int] | None:
    """The characters of a paragraph of which the model left the middle out; None where its beginning is nowhere."""
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
    """Where the last line between two places begins that is the title; the second place where none is."""
    words = re.search(r"\w(?:.*\w)?", title[:_TITLE_CHARACTERS], re.DOTALL)  # marks around a title are any on its line
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
