"""What a report on a community is written from: sentences that name its members, each with its exact place.

It knows no model. Invariant: a source's spans are whole sentences (or parts of very long ones) of stored segments.

Source: GraphRAG (arXiv 2404.16130), section 3.1.5: what joins the entities of the highest degrees comes first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from memgraph_rag.layers.surfaces import words
from memgraph_rag.lexical.sentences import sentences
from memgraph_rag.types import Relation, Segment, Span, as_line

__all__ = ["Source", "Sources", "holds_name", "sentence_spans"]

_WORD = re.compile(r"\w+")
_FEWEST_CHARACTERS = 25
_MOST_CHARACTERS = 400


@dataclass(frozen=True, slots=True)
class Source:
    """One line that a report may rest on.

    Attributes:
        text: as it is read: a sentence, what a relation says, or a finding of a community below.
        spans: of the sentences that say it.
        weight: how much it says about the community; the largest is read first.
    """

    text: str
    spans: tuple[Span, ...]
    weight: float


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """The characters of each sentence, without blanks around it; a short one goes with the next, a long one is cut.

    >>> sentence_spans("Dr. Smith came at nine o'clock. He left the house at noon.")
    [(0, 31), (32, 58)]
    """
    spans: list[tuple[int, int]] = []
    start: int | None = None
    for first, last in sentences(text.rstrip()):
        start = last - len(text[first:last].lstrip()) if start is None else start
        end = first + len(text[first:last].rstrip())
        if end - start >= _FEWEST_CHARACTERS:
            spans += _cut(text, start, end)
            start = None
    if start is not None:
        end = len(text.rstrip())
        if spans:  # the last one, too short: with the one before it, where both are not too long
            first, _ = spans[-1]
            spans[-1:] = [(first, end)] if end - first <= _MOST_CHARACTERS else [spans[-1], (start, end)]
        else:
            spans = list(_cut(text, start, end))
    return [(first, first + len(text[first:end].rstrip())) for first, end in spans]


def holds_name(text: str, name: str) -> bool:
    """Whether a text names somebody, in whole words.

    >>> holds_name("Ann's fox", "Ann"), holds_name("Annie's fox", "Ann")
    (True, False)
    """
    return _pattern(name) in _plain(text)


def _pattern(name: str) -> str:
    """What the words of a text hold where it has the name; scripts may be without blanks, but not of ASCII."""
    return _plain(name) if name.isascii() else name.casefold()


def _plain(text: str) -> str:
    """Its words with single blanks around them: a name is then found as whole words only."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def _cut(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A sentence in parts that are not too long, cut at blanks where there are any."""
    while end - start > _MOST_CHARACTERS:
        blank = text.rfind(" ", start + 1, start + _MOST_CHARACTERS + 1)
        cut = blank + 1 if blank > 0 else start + _MOST_CHARACTERS
        yield start, cut
        start = cut
    yield start, end


class Sources:
    """The sources that segments and relations give.

    Args:
        segments: by id.
        names: the normalised name of each entity, by its place.
        degrees: of each entity.
    """

    def __init__(self, segments: Mapping[str, Segment], names: Sequence[str], degrees: Sequence[int]) -> None:
        self._segments = segments
        self._names = list(map(_pattern, names))
        self._weights = [math.log2(1 + degree) for degree in degrees]
        self._sentences: dict[str, list[tuple[tuple[int, int], str]]] = {}

    def of_segments(self, segment_ids: Iterable[str], members: Iterable[int]) -> Iterator[Source]:
        """The sentences that name members, weighed by the members' degrees; of a segment without such its first."""
        named = [(self._names[member], self._weights[member]) for member in members]
        for segment_id in segment_ids:
            places = self._sentences_of(segment_id)
            weights = [sum(weight for name, weight in named if name in normal) for _, normal in places]
            for ((start, end), _), weight in zip(places, weights, strict=True):
                if weight:
                    yield self._source(segment_id, start, end, weight)
            if places and not any(weights):
                yield self._source(segment_id, *places[0][0], 0.0)

    def of_relation(self, relation: Relation, ends: Iterable[int]) -> Source | None:
        """What a relation says, with the sentence of its segment that says most of it; None where that is gone."""
        places = self._sentences_of(relation.segment_id)
        if not places:
            return None
        wanted = words(relation.description)
        start, end = max(places, key=lambda item: (len(wanted & words(item[1])), -item[0][0]))[0]
        source = self._source(relation.segment_id, start, end, sum(self._weights[place] for place in ends) + 1)
        return Source(as_line(relation.description), source.spans, source.weight)

    def words_of(self, spans: Iterable[Span]) -> frozenset[str]:
        """All words that stand there."""
        texts = (
            segment.text[span.start - segment.start : span.end - segment.start]
            for span in spans
            if (segment := self._segments.get(span.segment_id)) is not None
        )
        return frozenset().union(*map(words, texts))

    def words_of_segments(self, spans: Iterable[Span]) -> frozenset[str]:
        """All words of the segments in which they stand."""
        segments = {span.segment_id for span in spans} & self._segments.keys()
        return frozenset().union(*(words(self._segments[segment_id].text) for segment_id in segments))

    def _sentences_of(self, segment_id: str) -> list[tuple[tuple[int, int], str]]:
        """The places of a segment's sentences, and each as names are compared."""
        if segment_id not in self._sentences:
            segment = self._segments.get(segment_id)
            text = segment.text if segment is not None else ""
            self._sentences[segment_id] = [
                ((start, end), _plain(text[start:end])) for start, end in sentence_spans(text)
            ]
        return self._sentences[segment_id]

    def _source(self, segment_id: str, start: int, end: int, weight: float) -> Source:
        segment = self._segments[segment_id]
        span = Span(segment_id, segment.start + start, segment.start + end)
        return Source(as_line(segment.text[start:end]), (span,), weight)
