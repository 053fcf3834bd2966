"""The sources of a report on a community: sentences that name its members, each with its exact span.

It knows no model. Invariant: a source's spans are whole sentences (or parts of very long sentences) of stored segments.

Source: GraphRAG (arXiv 2404.16130), section 3.1.5: sources about the entities of the highest degrees come first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from memgraph_rag.layers.surfaces import words
from memgraph_rag.lexical.sentences import quotable_spans
from memgraph_rag.types import Segment, Span, as_line

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Source:
    """One statement that a report may use.

    Attributes:
        text: one line: a sentence, the description of an entity or relation, or a finding of a smaller community.
        spans: spans of the sentences that support the statement.
        weight: importance for the community; the source with the largest weight is read first.
    """

    text: str
    spans: tuple[Span, ...]
    weight: float


def holds_name(text: str, name: str) -> bool:
    """Return whether a text holds a name as whole words, whatever case and punctuation.

    A name with a character that is not ASCII is also found within words.

    >>> holds_name("Ann's fox", "Ann"), holds_name("Annie's fox", "Ann")
    (True, False)
    """
    return _pattern(name) in _space_words(text)


def _pattern(name: str) -> str:
    """Return the string to search for a name. A name in another script than ASCII may lack blanks around it."""
    return _space_words(name) if name.isascii() else name.casefold()


def _space_words(text: str) -> str:
    """Return the words of a text with single blanks around them, so that a name is found only as whole words."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "


class Sources:
    """The sources in segments.

    Args:
        segments: the segments, by id.
        names: the normalised name of each entity, by its place.
        degrees: the degree of each entity, by its place.
    """

    def __init__(self, segments: Mapping[str, Segment], names: Sequence[str], degrees: Sequence[int]) -> None:
        self._segments = segments
        self._names = list(map(_pattern, names))
        self._weights = [math.log2(1 + degree) for degree in degrees]
        self._sentences: dict[str, list[tuple[tuple[int, int], str]]] = {}

    def list_sources(self, segment_ids: Iterable[str], members: Iterable[int]) -> Iterator[Source]:
        """Yield the sentences that name members, weighted by the members' degrees.

        A segment without such a sentence yields its first sentence, with weight 0. An unknown segment yields nothing.
        """
        named = [(self._names[member], self._weights[member]) for member in members]
        for segment_id in segment_ids:
            places = self._list_sentences(segment_id)
            weights = [sum(weight for name, weight in named if name in normal) for _, normal in places]
            for ((start, end), _), weight in zip(places, weights, strict=True):
                if weight:
                    yield self._source(segment_id, start, end, weight)
            if places and not any(weights):
                yield self._source(segment_id, *places[0][0], 0.0)

    def find_best_span(self, text: str, segment_id: str) -> Span | None:
        """Return the span of the sentence of a segment that shares most words with a text.

        None if the segment is not among the segments of this object, or is blank.
        """
        places = self._list_sentences(segment_id)
        if not places:
            return None
        wanted = words(text)
        start, end = max(places, key=lambda item: (len(wanted & words(item[1])), -item[0][0]))[0]
        return self._source(segment_id, start, end, 0.0).spans[0]

    def collect_words(self, spans: Iterable[Span]) -> frozenset[str]:
        """Return all words of the spans; spans of unknown segments have none."""
        texts = (
            segment.text[span.start - segment.start : span.end - segment.start]
            for span in spans
            if (segment := self._segments.get(span.segment_id)) is not None
        )
        return frozenset().union(*map(words, texts))

    def words_of_segments(self, spans: Iterable[Span]) -> frozenset[str]:
        """Return all words of the segments that hold the spans; unknown segments have none."""
        segments = {span.segment_id for span in spans} & self._segments.keys()
        return frozenset().union(*(words(self._segments[segment_id].text) for segment_id in segments))

    def _list_sentences(self, segment_id: str) -> list[tuple[tuple[int, int], str]]:
        """Return the span of each sentence of a segment, and its text in the form in which names are compared."""
        if segment_id not in self._sentences:
            segment = self._segments.get(segment_id)
            text = segment.text if segment is not None else ""
            self._sentences[segment_id] = [
                ((start, end), _space_words(text[start:end])) for start, end in quotable_spans(text)
            ]
        return self._sentences[segment_id]

    def _source(self, segment_id: str, start: int, end: int, weight: float) -> Source:
        segment = self._segments[segment_id]
        span = Span(segment_id, segment.start + start, segment.start + end)
        return Source(as_line(segment.text[start:end]), (span,), weight)
