"""Extract the usable part of a paragraph that a small model wrote.

The module knows no layer. Invariant: the usable part is one span of the text without a repeated sentence.
"""

from __future__ import annotations

import re
from collections import Counter

from memgraph_rag.lexical.sentences import sentences
from memgraph_rag.types import Prompt, as_line

_PREAMBLE = re.compile(r"\s*[^\n.!?。！？]{0,120}:[ \t]*\n+")
_BULLET = re.compile(r"\n[^\S\n]*(?:[*•‣●-]|\d{1,2}[.)])\s+")
_ENDS = (".", "!", "?", "。", "！", "？", '."', ".”")  # of a whole sentence
_MOST_TIMES = 3  # repetitions of a sentence


def check_prose(text: str, *, complete: bool) -> tuple[tuple[int, int] | None, Counter[str]]:
    r"""Return the usable (start, end) of a paragraph, or None, and counts of what is wrong with the text.

    The span excludes an opening line such as "Here is a summary:" and everything from the first repeated sentence on.
    With ``complete=False`` (cut at the limit) it ends with the last whole sentence, if there is one. None if no letter
    or digit is left.

    >>> check_prose("Here it is:\nTom ran. Ann sat. Tom ran.", complete=True)
    ((12, 29), Counter({'preamble': 1, 'repeated sentence': 1}))
    """
    notes: Counter[str] = Counter()
    preamble = _PREAMBLE.match(text)
    start = preamble.end() if preamble and text[preamble.end() :].strip() else 0
    notes["preamble"] += start > 0
    written = [(start + first, start + last) for first, last in sentences(text[start:])]
    if not complete:
        notes["cut off"] += 1
        if len(written) > 1 and not text[slice(*written[-1])].rstrip().endswith(_ENDS):
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
    start, end = trim_marks(text, start, end)
    return ((start, end) if any(map(str.isalnum, text[start:end])) else None), +notes


def as_paragraph(text: str) -> str:
    r"""Return the text on one line, without bullets and list numbers at the beginning of its second and later lines.

    A bullet at the beginning of the text stays.

    >>> as_paragraph("Tom ran.\n* Ann sat.")
    'Tom ran. Ann sat.'
    """
    return as_line(_BULLET.sub(" ", text))


def goes_in_circles(prompt: Prompt, text: str) -> bool:  # noqa: ARG001
    """Return whether the paragraph has one sentence three times, in any case, so that generation should stop."""
    counts = Counter(as_line(text[start:end]).casefold() for start, end in sentences(text))
    return max(counts.values(), default=0) >= _MOST_TIMES


def trim_marks(text: str, start: int, end: int, *, marks: str = "*#") -> tuple[int, int]:
    """Return the span [start, end) of a text without white space around it, ``marks`` before and asterisks after it."""
    while start < end and (text[start].isspace() or text[start] in marks):
        start += 1
    while end > start and (text[end - 1].isspace() or text[end - 1] == "*"):
        end -= 1
    return start, end
