"""The layer ``facts``: statements of people about themselves, and the days that they name, as annotations of segments.

The module knows no database and no model: the rules are ``facts.statements`` and ``lexical.relative_days``.
Which of several values holds is decided in ``fact_index``, because it depends on other documents. Invariants: a fact
rests on the own words of a person's turn (``facts.own_words``), a wish on the user's own words; a fact depends on its
turn alone, so a growing page keeps its facts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice

from memgraph_rag.contracts import Models, Progress, SplitDocument
from memgraph_rag.facts.own_words import own_words
from memgraph_rag.facts.plans import plans
from memgraph_rag.facts.statements import statements
from memgraph_rag.facts.wishes import WISHES
from memgraph_rag.lexical.relative_days import relative_days
from memgraph_rag.lexical.roles import is_user
from memgraph_rag.types import Annotation, LayerRows, Segment
from memgraph_rag.types.facts import DAYS, FACTS

_MOST_FACTS = 32  # of one segment


class FactsLayer:
    """The layer that finds facts. It needs no model.

    Args:
        known: the facts that were already found, by segment id.
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
        namespace: str,  # noqa: ARG002 - part of the contract, like the models and the progress
        models: Models,  # noqa: ARG002
        progress: Progress | None = None,  # noqa: ARG002
    ) -> list[LayerRows]:
        """Return the facts and named days of each document, in order, as annotations.

        Known facts are returned unchanged. Only segments that are not known are read.
        """
        facts_of = [self._read_facts(document.segments) for document in documents]
        return [LayerRows(annotations=tuple(chain.from_iterable(facts))) for facts in facts_of]

    def _read_facts(self, segments: Sequence[Segment]) -> Iterator[Sequence[Annotation]]:
        first = next((n for n, segment in enumerate(segments) if segment.id not in self._known), len(segments))
        yield from (self._known[segment.id] for segment in segments[:first])
        for segment, words in zip(segments[first:], own_words(segments[first:]), strict=True):
            known = self._known.get(segment.id)
            yield extract_facts(segment, words) if known is None else known


def extract_facts(segment: Segment, words: str) -> list[Annotation]:
    """Return the facts that a segment states, at most 32, then the days that it names relatively.

    Empty without own words of a person. Instructions and preferences count only if the user says them. The text of a
    fact is its sentence, its kind that of ``facts.statements.Statement`` or ``facts.plans.Plan``. Its properties are
    attribute, value, speaker and said (ISO 8601; empty if unknown), and former for a value that is given up. A plan has
    no attribute. The text of a ``DAYS`` annotation is the relative words; its properties are first and last (ISO 8601),
    resolved by the turn's day.

    Args:
        words: the segment's own words, as ``facts.own_words`` returns them.
    """
    if not words.strip():
        return []
    found = chain(_find_facts(segment, words), _find_plans(segment, words))
    return [*islice(found, _MOST_FACTS), *_find_days(segment, words)]


def _find_days(segment: Segment, words: str) -> Iterator[Annotation]:
    for days in relative_days(words, segment.time):
        properties = {"first": days.first.isoformat(), "last": days.last.isoformat()}
        yield Annotation(days.words, (segment.id,), DAYS, properties)


def _find_facts(segment: Segment, words: str) -> Iterator[Annotation]:
    for statement in statements(words):
        if statement.kind in WISHES and not is_user(segment.speaker):
            continue
        properties = {
            "attribute": statement.attribute,
            "value": statement.value,
            "speaker": segment.speaker,
            "said": segment.time,
        }
        if statement.former:
            properties["former"] = statement.former
        own = words[statement.start : statement.end]
        start, end = statement.end - len(own.lstrip()), statement.start + len(own.rstrip())
        yield Annotation(segment.text[start:end], (segment.id,), statement.kind, properties)


def _find_plans(segment: Segment, words: str) -> Iterator[Annotation]:
    for plan in plans(words):
        properties = {"value": plan.text, "speaker": segment.speaker, "said": segment.time}
        yield Annotation(segment.text[plan.start : plan.end].strip(), (segment.id,), plan.kind, properties)
