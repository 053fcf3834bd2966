"""Split a text into sentences, for the whole package: segments, citations, echoes, overviews and reports.

Invariants: the ranges cover the text without gaps; each range but the first begins with a character that is not white
space; the time is linear in the text, whatever it holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from sentencex import get_sentence_boundaries  # pyright: ignore[reportAttributeAccessIssue]

MAX_QUOTE = 400
"""Most characters of a quotable span."""

_FEWEST_WORDS = 4  # a shorter sentence ("Yes, he said.") is quoted with the next

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


def quotable_spans(text: str) -> list[tuple[int, int]]:
    """Split a text into (start, end) spans to quote: sentences, short ones joined to a neighbour, long ones in parts.

    A span has no white space around it. A blank text has no spans.

    >>> quotable_spans("Dr. Smith came at nine o'clock. He left. He came back at noon.")
    [(0, 31), (32, 62)]
    """
    parts = (part for start, end in _join_short(text, sentences(text)) for part in _split_long(text, start, end))
    stripped = ((end - len(text[start:end].lstrip()), start + len(text[start:end].rstrip())) for start, end in parts)
    return [(start, end) for start, end in stripped if start < end]


def _join_short(text: str, ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the ranges with each range below four words joined to the next one, the last to the one before."""
    joined: list[tuple[int, int]] = []
    for start, end in ranges:
        if joined and _is_short(text[slice(*joined[-1])]):
            start = joined.pop()[0]
        joined.append((start, end))
    if len(joined) > 1 and _is_short(text[slice(*joined[-1])]):
        _, end = joined.pop()
        joined[-1] = (joined[-1][0], end)
    return joined


def _is_short(text: str) -> bool:
    return len(text.split()) < _FEWEST_WORDS and len(text.strip()) < MAX_QUOTE // 10  # few words may be Chinese


def _split_long(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the range in parts of at most ``MAX_QUOTE`` characters, cut at white space if there is any."""
    cuts = [start]
    end = start + len(text[start:end].rstrip())
    while end - cuts[-1] > MAX_QUOTE:
        furthest = cuts[-1] + MAX_QUOTE
        blank = max(text.rfind(mark, cuts[-1] + 1, furthest + 1) for mark in (" ", "\n", "\t"))
        cuts.append(blank if blank > 0 else furthest)
    return list(pairwise([*cuts, end]))
