"""Facts: what people say of themselves in conversations, and the days that they name, as annotations of the segments.

It knows no database and no model: the rules are ``facts.grammar.statements`` and ``lexical.relative_days``. Which of
several values holds is not said here, since it follows from other documents too (``holding``). Invariants: a fact rests
on the own words of a person's turn (``facts.own_words``), and a wish on those of the user's; it follows from that
turn alone, so that a page that grows keeps the facts that it had.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice

from memgraph_rag.contracts import Models, Progress, SplitDocument
from memgraph_rag.facts.grammar.statements import Parse, statements
from memgraph_rag.facts.own_words import own_words
from memgraph_rag.lexical.relative_days import relative_days
from memgraph_rag.lexical.roles import is_user
from memgraph_rag.types import Annotation, LayerRows, Segment

__all__ = ["DAYS", "FACTS", "FactsLayer", "facts_in"]

FACTS = "facts"
"""The layer's name."""

DAYS = "days"
"""The kind of an annotation that says which days relative words ("last week") name."""

_MOST_FACTS = 32  # of one segment
_WISHES = frozenset({"instruction", "preference"})


class FactsLayer:
    """Finds facts; needs no model.

    Args:
        known: by id of a segment the facts that were found in it before.
    """

    name = FACTS
    needs_language = False
    needs_recognizer = False
    requires: Sequence[str] = ()

    def __init__(self, known: Mapping[str, Sequence[Annotation]] | None = None) -> None:
        self._known = known or {}

    def build(
        self,
        documents: Sequence[SplitDocument],
        *,
        namespace: str,  # noqa: ARG002 - this and the progress are the contract's
        models: Models,
        progress: Progress | None = None,  # noqa: ARG002
    ) -> list[LayerRows]:
        """The facts of each document, in order."""
        parse = models.parser.parse if models.parser else None
        facts_of = [self._facts_of(document.segments, parse) for document in documents]
        return [LayerRows(annotations=tuple(chain.from_iterable(facts))) for facts in facts_of]

    def _facts_of(self, segments: Sequence[Segment], parse: Parse | None) -> Iterator[Sequence[Annotation]]:
        first = next((n for n, segment in enumerate(segments) if segment.id not in self._known), len(segments))
        yield from (self._known[segment.id] for segment in segments[:first])
        for segment, words in zip(segments[first:], own_words(segments[first:]), strict=True):
            known = self._known.get(segment.id)
            yield facts_in(segment, words, parse) if known is None else known


def facts_in(segment: Segment, words: str, parse: Parse | None = None) -> list[Annotation]:
    """The facts that a segment states: nothing where nobody, or a machine, says it.

    ``text`` is the sentence, ``kind`` that of ``grammar.statements.Statement``; the properties are attribute, value,
    speaker and said (ISO 8601; empty where it is not known), and former where a value is said to be given up. Of the
    kind ``DAYS`` ``text`` is the words, and the properties are first and last day (ISO 8601), resolved against the day
    of the turn.

    Args:
        words: the segment's own words, as ``facts.own_words`` gives them.
    """
    if not words.strip():
        return []
    return [*islice(_facts(segment, words, parse), _MOST_FACTS), *_days(segment, words)]


def _days(segment: Segment, words: str) -> Iterator[Annotation]:
    for days in relative_days(words, segment.time):
        properties = {"first": days.first.isoformat(), "last": days.last.isoformat()}
        yield Annotation(days.words, (segment.id,), DAYS, properties)


def _facts(segment: Segment, words: str, parse: Parse | None) -> Iterator[Annotation]:
    for said in statements(words, parse):
        if said.kind in _WISHES and not is_user(segment.speaker):
            continue
        properties = {
            "attribute": said.attribute,
            "value": said.value,
            "speaker": segment.speaker,
            "said": segment.time,
        }
        if said.former:
            properties["former"] = said.former
        own = words[said.start : said.end]
        start, end = said.end - len(own.lstrip()), said.start + len(own.rstrip())
        yield Annotation(segment.text[start:end], (segment.id,), said.kind, properties)
