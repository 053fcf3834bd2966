"""The sentences of a text, as the whole package cuts them: segments, citations, echoes, overviews and reports.

Invariants: the ranges tile the text; each but the first begins with a character that is no white space; the time is
linear in the text, whatever it holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from sentencex import get_sentence_boundaries  # pyright: ignore[reportAttributeAccessIssue]

__all__ = ["sentences"]

_WINDOW, _WIDEST = 4_000, 16_000  # characters that are segmented together where whole paragraphs cost too much
_LONG_LINE = re.compile(rf"[^\n]{{{_WINDOW}}}")
_PARAGRAPH_END = "\n\n"  # as sentencex sees it
_SENTENCE_END = re.compile(r"""[^\w\s"'`()\[\]{}<>,;:/*_=#|+@&%$~^\\-]""")  # and a few more
_QUOTATION = re.compile(r"""(?<!\w)['`]|["«‘‚“‛„»‟‹《「(<{\[（@]""")
_MOST_COMPARISONS = 4_000_000  # in one text: about 0.1 s; the most of any text of the evaluation sets is 2.3 million


def sentences(text: str) -> list[tuple[int, int]]:
    r"""Character ranges of the sentences, tiling the text; white space belongs to the sentence before it.

    >>> sentences("Dr. Smith came.\n\nHe left.")
    [(0, 17), (17, 25)]
    """
    starts = list(_starts_in_windows(text) if _needs_windows(text) else _starts(text))
    return list(pairwise([0, *starts[1:], len(text)])) if text else []


def _starts(text: str) -> Iterator[int]:
    """Where the sentences start.

    sentencex leaves gaps between the blocks of about 10,000 bytes in which it works, and reports breaks of paragraphs
    as sentences of their own. So only the starts of sentences with words in them are taken.
    """
    for boundary in get_sentence_boundaries("en", text):
        sentence = boundary["text"]
        if sentence.strip():
            yield boundary["start_index"] + len(sentence) - len(sentence.lstrip())


def _needs_windows(text: str) -> bool:
    """Whether sentencex would take quadratic time.

    In a line that is not ASCII it counts the characters anew for each sentence: 200,000 characters of Chinese took
    20 s. In a paragraph it compares each sentence end with each quotation, and looks for each quotation's end far
    behind it: 800 KB of "Use `foo bar` now." took 30 s.
    """
    if not text.isascii() and _LONG_LINE.search(text):
        return True
    return sum(map(_comparisons, text.split(_PARAGRAPH_END))) > _MOST_COMPARISONS


def _comparisons(paragraph: str) -> int:
    """About how often sentencex compares something in a paragraph; 50 characters that it skips cost as much."""
    ends = len(_SENTENCE_END.findall(paragraph))
    return len(_QUOTATION.findall(paragraph)) * (ends + len(paragraph) // 50)


def _starts_in_windows(text: str) -> Iterator[int]:
    """The same in windows, each of which begins with the sentence that the one before did not end."""
    at, width = 0, _WINDOW
    while at < len(text):
        starts = [at + start for start in _starts(text[at : at + width])]
        is_last = at + width >= len(text)
        if is_last or len(starts) > 1:
            yield from (starts if is_last else starts[:-1])
            at, width = (len(text) if is_last else starts[-1]), _WINDOW
        elif width < _WIDEST:
            width *= 2
        else:
            yield from starts
            at, width = at + width, _WINDOW
