"""Split a text into sentences, for the whole package: segments, citations, echoes, overviews and reports.

Invariants: the ranges cover the text without gaps; each range but the first begins with a character that is not white
space; the time is linear in the text, whatever it holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from sentencex import get_sentence_boundaries  # pyright: ignore[reportAttributeAccessIssue]

__all__ = ["sentences"]

_WINDOW, _WIDEST = 4_000, 16_000  # characters of a window, used if whole paragraphs cost too much
_LONG_LINE = re.compile(rf"[^\n]{{{_WINDOW}}}")
_PARAGRAPH_END = "\n\n"  # as in sentencex
_SENTENCE_END = re.compile(r"""[^\w\s"'`()\[\]{}<>,;:/*_=#|+@&%$~^\\-]""")  # and a few more
_QUOTATION = re.compile(r"""(?<!\w)['`]|["«‘‚“‛„»‟‹《「(<{\[（@]""")
_MOST_COMPARISONS = 4_000_000  # in one text: about 0.1 s; the most of any text of the evaluation sets is 2.3 million


def sentences(text: str, language: str = "") -> list[tuple[int, int]]:
    r"""Return the (start, end) characters of the sentences; white space belongs to the sentence before it.

    The ranges cover the text. An empty text has no sentences. ``language`` is an ISO 639-1 code; a text of an unknown
    language (empty) is cut like an English one.

    >>> sentences("Dr. Smith came.\n\nHe left.")
    [(0, 17), (17, 25)]
    """
    starts = list(_find_starts_in_windows(text, language) if _needs_windows(text) else _find_starts(text, language))
    return list(pairwise([0, *starts[1:], len(text)])) if text else []


def _find_starts(text: str, language: str) -> Iterator[int]:
    """Yield the starts of the sentences.

    sentencex leaves gaps between the blocks of about 10,000 bytes in which it works, and reports paragraph breaks as
    sentences. So only starts of sentences with words count.
    """
    for boundary in get_sentence_boundaries(language or "en", text):
        sentence = boundary["text"]
        if sentence.strip():
            yield boundary["start_index"] + len(sentence) - len(sentence.lstrip())


def _needs_windows(text: str) -> bool:
    """Return whether sentencex would take quadratic time.

    In a non-ASCII line it counts the characters again for each sentence: 200,000 characters of Chinese took 20 s. In a
    paragraph it compares each sentence end with each quotation, and searches far for each quotation's end: 800 KB of
    "Use `foo bar` now." took 30 s.
    """
    if not text.isascii() and _LONG_LINE.search(text):
        return True
    return sum(map(_count_comparisons, text.split(_PARAGRAPH_END))) > _MOST_COMPARISONS


def _count_comparisons(paragraph: str) -> int:
    """Return about how many comparisons sentencex makes in a paragraph; 50 skipped characters count as one."""
    ends = len(_SENTENCE_END.findall(paragraph))
    return len(_QUOTATION.findall(paragraph)) * (ends + len(paragraph) // 50)


def _find_starts_in_windows(text: str, language: str) -> Iterator[int]:
    """Yield the same starts by windows; each window begins with the last, unfinished sentence of the one before."""
    at, width = 0, _WINDOW
    while at < len(text):
        starts = [at + start for start in _find_starts(text[at : at + width], language)]
        is_last = at + width >= len(text)
        if is_last or len(starts) > 1:
            yield from (starts if is_last else starts[:-1])
            at, width = (len(text) if is_last else starts[-1]), _WINDOW
        elif width < _WIDEST:
            width *= 2
        else:
            yield from starts
            at, width = at + width, _WINDOW
