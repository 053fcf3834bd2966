"""The sentences that an answer rests on, as exact spans of the documents.

It knows no language model and no graph; an embedder is given. Invariant: every quote stands verbatim in its
document, ``quote == document.text[start:end]``, and no two overlap or say the same.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise

from memgraph_rag.contracts import Embedder
from memgraph_rag.lexical.sentences import sentences
from memgraph_rag.types import Citation, Matrix, Segment, as_line

__all__ = ["MAX_QUOTE", "Quotes"]

MAX_QUOTE = 400
"""Most characters of a quote."""

_FEWEST_WORDS = 4  # a shorter sentence ("Yes, he said.") is quoted with the next
_MEANING, _WORDS, _READING = 0.5, 0.25, 0.25  # shares of a score
_UNNAMED = 0.75  # cosine that is asked for beside ``unrelated_below`` where none of a question's names was read
_FLOOR = 0.7  # of the best score; below it a sentence is no support

_WORD = re.compile(r"\w+")


class Quotes:
    """The sentences that may be quoted of what was read.

    Args:
        segments: with how much the reading rested on each (0 or more, in any scale).
        keys: document id to key; segments of other documents (forgotten meanwhile) are passed over.
        embedder: embeds the sentences once, when they are first needed. A cosine below its ``unrelated_below``, if it
            has one, means that two texts are about different things.
    """

    def __init__(
        self, segments: Sequence[tuple[Segment, float]], *, keys: Mapping[str, str], embedder: Embedder
    ) -> None:
        self._candidates = [
            (citation, weight)
            for segment, weight in segments
            if segment.document_id in keys
            for citation in _quotes(segment, keys[segment.document_id])
        ]
        self._embedder = embedder
        self._floor: float = getattr(embedder, "unrelated_below", 0.0) or -math.inf

    @cached_property
    def _vectors(self) -> Matrix:
        return self._embedder.embed([as_line(citation.quote) for citation, _ in self._candidates])

    @property
    def can_tell(self) -> bool:
        """Whether the embedder knows when two texts are about different things."""
        return self._floor > -math.inf

    def bearing(self, question: str, *, unnamed: float = 0.0) -> float:
        """How much nearer than it must be the nearest sentence comes: from 0 on one is about what is asked.

        A difference of cosines; infinite where the embedder cannot tell, minus infinity where there is no sentence.

        Args:
            unnamed: share of the question's names that were not read: that much nearer the sentence must be.
        """
        if not self.can_tell:  # nothing needs to be embedded
            return math.inf
        return max(self._cosines(question), default=-math.inf) - self._floor - _UNNAMED * unnamed

    def cite(self, question: str, answer: str, *, limit: int = 3) -> tuple[Citation, ...]:
        """The sentences that support the answer best, best first; ties by document and start.

        A sentence's score is 0.5 x the cosine of its meaning and that of question and answer together
        + 0.25 x the share of the answer's words that it holds (rare words count more; words of the question do not,
        unless the answer has no other) + 0.25 x its segment's weight relative to the heaviest. Sentences that score
        less than 0.7 of the best are left out, and those that are about something else.

        Args:
            limit: most citations.
        """
        if not self._candidates or limit < 1:
            return ()
        cosines = self._cosines(f"{question} {answer}")
        shares = _shares_of_words(question, answer, [citation.quote for citation, _ in self._candidates])
        heaviest = max(weight for _, weight in self._candidates) or 1.0
        scored = [
            replace(citation, score=_MEANING * cosine + _WORDS * share + _READING * weight / heaviest)
            for (citation, weight), cosine, share in zip(self._candidates, cosines, shares, strict=True)
            if cosine >= self._floor
        ]
        scored.sort(key=lambda citation: (-round(citation.score, 6), citation.document_id, citation.start))
        return tuple(_distinct(scored, limit))

    def _cosines(self, text: str) -> list[float]:
        return (self._vectors @ self._embedder.embed([text])[0]).tolist() if self._candidates else []


def _distinct(scored: Sequence[Citation], limit: int) -> Iterator[Citation]:
    """The first ones that support, without repetition."""
    chosen: list[Citation] = []
    for citation in scored:
        if len(chosen) == limit or citation.score < _FLOOR * scored[0].score:
            return
        if not any(_repeats(citation, earlier) for earlier in chosen):
            chosen.append(citation)
            yield citation


def _repeats(citation: Citation, other: Citation) -> bool:
    overlap = citation.document_id == other.document_id and citation.start < other.end and other.start < citation.end
    return overlap or as_line(citation.quote).casefold() == as_line(other.quote).casefold()


def _quotes(segment: Segment, key: str) -> Iterator[Citation]:
    """All that may be quoted of a segment: sentences, short ones with a neighbour, long ones in parts."""
    for start, end in _without_short_ones(segment.text, sentences(segment.text)):
        for first, last in _within_limit(segment.text, start, end):
            quote = segment.text[first:last]
            lead = len(quote) - len(quote.lstrip())
            quote = quote.strip()
            if quote:
                begin = segment.start + first + lead
                yield Citation(segment.document_id, key, segment.id, begin, begin + len(quote), quote, 0.0)


def _without_short_ones(text: str, ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The ranges, one of less than four words joined to the next (the last one to the one before)."""
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


def _within_limit(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The range in parts of at most ``MAX_QUOTE`` characters, cut at blanks where there are any."""
    cuts = [start]
    end = start + len(text[start:end].rstrip())
    while end - cuts[-1] > MAX_QUOTE:
        furthest = cuts[-1] + MAX_QUOTE
        blank = max(text.rfind(mark, cuts[-1] + 1, furthest + 1) for mark in (" ", "\n", "\t"))
        cuts.append(blank if blank > 0 else furthest)
    return list(pairwise([*cuts, end]))


def _shares_of_words(question: str, answer: str, quotes: Sequence[str]) -> list[float]:
    """How much of the answer's words, weighted by rarity among the quotes, each quote holds: 0 to 1."""
    words_of_quotes = [_words(quote) for quote in quotes]
    spread = Counter(word for words in words_of_quotes for word in words)
    wanted = (_words(answer) - _words(question) or _words(answer)) & spread.keys()
    rarity = {word: math.log((len(quotes) + 1) / spread[word]) for word in sorted(wanted)}
    total = sum(rarity.values()) or 1.0
    return [sum(value for word, value in rarity.items() if word in words) / total for words in words_of_quotes]


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))
