"""Find the sentences that support an answer, as exact spans of the documents.

The module knows no language model and no graph; the caller passes an embedder. Invariants: every quote occurs verbatim
in its document, ``quote == document.text[start:end]``; no two quotes overlap or say the same.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from memgraph_rag.contracts import Embedder, cosine_scale, query_vectors
from memgraph_rag.lexical.language import kind_of_pair
from memgraph_rag.lexical.sentences import quotable_spans
from memgraph_rag.types import Citation, Matrix, Segment, as_line

_MEANING, _WORDS, _READING = 0.5, 0.25, 0.25  # shares of a score
_UNNAMED = 0.75  # added to ``unrelated_below`` if no name of the question was read
_FLOOR = 0.7  # share of the best score that a sentence needs

_WORD = re.compile(r"\w+")


class Quotes:
    """The sentences of the read segments that may be quoted.

    Args:
        segments: each segment with its weight in the reading (0 or more, in any scale).
        keys: the key of each document id; segments of other documents (forgotten meanwhile) are ignored.
        embedder: embeds the sentences once, at their first use. If it has an ``unrelated_below``, two texts with a
            lower reading of their cosine are about different things.
    """

    def __init__(
        self, segments: Sequence[tuple[Segment, float]], *, keys: Mapping[str, str], embedder: Embedder
    ) -> None:
        kept = [(segment, weight) for segment, weight in segments if segment.document_id in keys]
        spans = [quotable_spans(segment.text) for segment, _ in kept]
        self._candidates = [
            (_make_citation(segment, keys[segment.document_id], start, end), weight, segment.text)
            for (segment, weight), own in zip(kept, spans, strict=True)
            for start, end in own
        ]
        self._embedder = embedder
        self._floor: float = getattr(embedder, "unrelated_below", 0.0) or -math.inf

    @cached_property
    def _vectors(self) -> Matrix:
        return self._embedder.embed([as_line(citation.quote) for citation, *_ in self._candidates])

    @property
    def can_tell(self) -> bool:
        """Whether the embedder can tell that two texts are about different things."""
        return self._floor > -math.inf

    def measure_relevance(self, question: str, *, unnamed: float = 0.0) -> float:
        """Return the best cosine of a sentence to the question, minus the cosine that related texts have at least.

        The sentences are related to the question if the result is 0 or more. It is infinite if the embedder cannot
        tell (``can_tell``), and minus infinity without sentences.

        Args:
            unnamed: the share of the question's names that no read text holds; it raises the needed cosine.
        """
        if not self.can_tell:  # nothing needs to be embedded
            return math.inf
        return max(self._cosines(question), default=-math.inf) - self._floor - _UNNAMED * unnamed

    def cite(self, question: str, answer: str, *, limit: int = 3) -> tuple[Citation, ...]:
        """Return the sentences that support the answer best, best first; ties by document and start.

        A sentence's score is 0.5 x its cosine to question and answer together + 0.25 x the share of the answer's words
        that it holds + 0.25 x its segment's weight relative to the heaviest segment. Rare words count more; words of
        the question do not count, unless the answer has no others. Sentences below 0.7 of the best score, and sentences
        about something else, are left out. So is a quote that overlaps a better one or has the same words.

        A short sentence is quoted with the next one, a long one in parts. Empty without sentences, or if ``limit`` is
        below 1.

        Args:
            limit: most citations.
        """
        if not self._candidates or limit < 1:
            return ()
        cosines = self._cosines(f"{question} {answer}")
        shares = _word_shares(question, answer, [citation.quote for citation, *_ in self._candidates])
        heaviest = max(weight for _, weight, _ in self._candidates) or 1.0
        scored = [
            replace(citation, score=_MEANING * cosine + _WORDS * share + _READING * weight / heaviest)
            for (citation, weight, _), cosine, share in zip(self._candidates, cosines, shares, strict=True)
            if cosine >= self._floor
        ]
        scored.sort(key=lambda citation: (-round(citation.score, 6), citation.document_id, citation.start))
        return tuple(_choose_distinct(scored, limit))

    def _cosines(self, text: str) -> list[float]:
        """Return each sentence's cosine to a text, as ``CosineScale`` corrects it for the language."""
        if not self._candidates:
            return []
        scale, cosines = cosine_scale(self._embedder), self._vectors @ query_vectors(self._embedder, [text])[0]
        kinds = [kind_of_pair(text, segment_text) for _, _, segment_text in self._candidates]
        return [scale.read(cosine, kind) for cosine, kind in zip(cosines.tolist(), kinds, strict=True)]


def _choose_distinct(scored: Sequence[Citation], limit: int) -> Iterator[Citation]:
    """Yield the first citations that score enough and repeat no earlier one, at most ``limit``."""
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


def _make_citation(segment: Segment, key: str, start: int, end: int) -> Citation:
    begin = segment.start + start
    return Citation(segment.document_id, key, segment.id, begin, segment.start + end, segment.text[start:end], 0.0)


def _word_shares(question: str, answer: str, quotes: Sequence[str]) -> list[float]:
    """Return the share of the answer's words that each quote holds, 0 to 1, weighted by rarity among the quotes."""
    words_of_quotes = [_words(quote) for quote in quotes]
    spread = Counter(word for words in words_of_quotes for word in words)
    wanted = (_words(answer) - _words(question) or _words(answer)) & spread.keys()
    rarity = {word: math.log((len(quotes) + 1) / spread[word]) for word in sorted(wanted)}
    total = sum(rarity.values()) or 1.0
    return [sum(value for word, value in rarity.items() if word in words) / total for words in words_of_quotes]


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))
