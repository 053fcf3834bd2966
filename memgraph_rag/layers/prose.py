"""What of a paragraph that a small model wrote can be used.

It knows no layer. Invariant: what is used is one span of what was written, without a sentence that it says twice.
"""

from __future__ import annotations

import re
from collections import Counter

from memgraph_rag.lexical.sentences import sentences
from memgraph_rag.types import Prompt, as_line

__all__ = ["as_paragraph", "goes_in_circles", "usable_prose"]

_PREAMBLE = re.compile(r"\s*[^\n.!?。！？]{0,120}:[ \t]*\n+")
_BULLET = re.compile(r"\n[^\S\n]*(?:[*•‣●-]|\d{1,2}[.)])\s+")
_MOST_TIMES = 3  # that a sentence is said before more of it is worthless


def usable_prose(text: str, *, complete: bool) -> tuple[tuple[int, int] | None, Counter[str]]:
    r"""The span of a paragraph that can be used, None where there is none; and what was odd about it, counted.

    Left out are a line such as "Here is a summary:" before it, everything from the first repeated sentence on, and,
    with ``complete=False`` (cut at the limit), what follows the last whole sentence, if there is one.

    >>> usable_prose("Here it is:\nTom ran. Ann sat. Tom ran.", complete=True)
    ((12, 29), Counter({'preamble': 1, 'repeated sentence': 1}))
    """
    notes: Counter[str] = Counter()
    preamble = _PREAMBLE.match(text)
    start = preamble.end() if preamble and text[preamble.end() :].strip() else 0
    notes["preamble"] += start > 0
    written = [(start + first, start + last) for first, last in sentences(text[start:])]
    if not complete:
        notes["cut off"] += 1
        if len(written) > 1 and not _is_whole(text[slice(*written[-1])]):
            written.pop()
    seen: set[str] = set()
    end = start
    for sentence_start, sentence_end in written:
        sentence = as_line(text[sentence_start:sentence_end]).casefold()
        if sentence in seen:
            notes["repeated sentence"] += 1
            break
        seen.add(sentence)
        end = sentence_end
    start, end = _trimmed(text, start, end)
    return ((start, end) if any(map(str.isalnum, text[start:end])) else None), +notes


def as_paragraph(text: str) -> str:
    r"""The text on one line, without the bullets of a list that the model wrote instead.

    >>> as_paragraph("Tom ran.\n* Ann sat.")
    'Tom ran. Ann sat.'
    """
    return as_line(_BULLET.sub(" ", text))


def goes_in_circles(prompt: Prompt, text: str) -> bool:  # noqa: ARG001
    """Whether more of this paragraph would be worthless: a sentence of it was said again and again."""
    said = Counter(as_line(text[start:end]).casefold() for start, end in sentences(text))
    return max(said.values(), default=0) >= _MOST_TIMES


def _is_whole(sentence: str) -> bool:
    return sentence.rstrip().endswith((".", "!", "?", "。", "！", "？", '."', ".”"))


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Without white space around it, and without the marks of a quotation or of bold text."""
    while start < end and (text[start].isspace() or text[start] in "*#"):
        start += 1
    while end > start and (text[end - 1].isspace() or text[end - 1] == "*"):
        end -= 1
    return start, end
