"""Facts: what people say of themselves in conversations, and the days that they name, as annotations of the segments.

It knows no database and no model: the rules are ``lexical.statements`` and ``lexical.relative_days``. Which of several
values holds is not said here, since it follows from other documents too (``search.holding``). Invariants: a fact rests
on one segment of a person's turn; it follows from that segment alone, so that a page that grows keeps the facts that it
had.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice

from memgraph_rag.contracts import Models, Progress, SplitDocument
from memgraph_rag.lexical.relative_days import relative_days
from memgraph_rag.lexical.roles import is_machine
from memgraph_rag.lexical.statements import Parse, statements
from memgraph_rag.types import Annotation, LayerRows, Segment

__all__ = ["DAYS", "FACTS", "FactsLayer", "facts_in"]

FACTS = "facts"
"""The layer's name."""

DAYS = "days"
"""The kind of an annotation that says which days relative words ("last week") name."""

_MOST_FACTS = 32  # of one segment


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
        facts_of = [[self._facts_of(segment, parse) for segment in document.segments] for document in documents]
        return [LayerRows(annotations=tuple(chain.from_iterable(facts))) for facts in facts_of]

    def _facts_of(self, segment: Segment, parse: Parse | None) -> Sequence[Annotation]:
        known = self._known.get(segment.id)
        return facts_in(segment, parse) if known is None else known


def facts_in(segment: Segment, parse: Parse | None = None) -> list[Annotation]:
    """The facts that a segment states: nothing where nobody, or a machine, says it.

    ``text`` is the sentence, ``kind`` that of ``lexical.statements.Statement``; the properties are attribute, value,
    speaker and said (ISO 8601; empty where it is not known), and former where a value is said to be given up. Of the
    kind ``DAYS`` ``text`` is the words, and the properties are first and last day (ISO 8601), resolved against the day
    of the turn.
    """
    if not segment.speaker or is_machine(segment.speaker):
        return []
    head = re.match(rf"{re.escape(segment.speaker)}(?: \([^()]*\))?: ", segment.text)
    text = segment.text[head.end() :] if head else segment.text
    return [*islice(_facts(segment, text, parse), _MOST_FACTS), *_days(segment, text)]


def _days(segment: Segment, text: str) -> Iterator[Annotation]:
    for days in relative_days(text, segment.time):
        properties = {"first": days.first.isoformat(), "last": days.last.isoformat()}
        yield Annotation(days.words, (segment.id,), DAYS, properties)


def _facts(segment: Segment, text: str, parse: Parse | None) -> Iterator[Annotation]:
    for said in statements(text, parse):
        properties = {
            "attribute": said.attribute,
            "value": said.value,
            "speaker": segment.speaker,
            "said": segment.time,
        }
        if said.former:
            properties["former"] = said.former
        yield Annotation(text[said.start : said.end].strip(), (segment.id,), said.kind, properties)
