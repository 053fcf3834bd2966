"""Infer facts about deeds that no rule joins from results: "I flew to Peru" answers "have I been to Peru".

The module knows results, facts and an embedder, no store and no language model. Invariants: an inferred fact is never
stored; it is about the asked deed and names the deed's objects; words of a machine, and words without a known time,
give no facts. States (where somebody lives) are not inferred: in real conversations nearly all sentences that the
cosine took for statements of a state were wrong (docs/decisions/conversations.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from memgraph_rag.contracts import Embedder
from memgraph_rag.facts.fact_index import Fact, FactKey
from memgraph_rag.facts.grammar.deeds import asked_deed, denies_ever, tells_deed
from memgraph_rag.facts.grammar.own_clauses import own_clauses
from memgraph_rag.facts.own_words import own_words
from memgraph_rag.lexical.timestamps import instant
from memgraph_rag.lexical.tokenize import stem, words
from memgraph_rag.types import Evidence

__all__ = ["infer_deeds"]

_FIRST_INDEX = 1_000  # after the indexes of facts that the rules read
_SAME_DEED = 0.5  # smallest cosine of a clause to the asked deed


@dataclass(frozen=True, slots=True)
class _OwnClause:
    """A clause of a result in which somebody speaks of themselves, with its sentence."""

    item: Evidence
    clause: str
    quote: str
    index: int


def infer_deeds(
    question: str, results: Sequence[Evidence], embedder: Embedder, *, users: Mapping[str, str]
) -> list[Fact]:
    """Return a fact for each clause of the results that tells or denies the asked deed, in the order of the results.

    Empty if the question asks for no deed with an object, or if only one of both is said. The deed's objects are
    compared by words, the verb by meaning. A speaker's facts count only if some tell and some deny the deed.

    Args:
        users: the users by document id.
    """
    _, *objects = asked_deed(question).split() or [""]
    own = [
        each
        for each in _find_own_clauses(results)
        if objects and set(objects) <= {stem(word) for word in words(each.clause)}
    ]
    denied = [denies_ever(each.clause) for each in own]
    if all(denied) or not any(denied):
        return []
    name = " ".join(question.split()[2:]).rstrip("?")
    deed, *clauses = embedder.embed([f"I have {name}", *(each.clause for each in own)])
    facts = [
        _make_fact(each, name, "never" if is_denied else "yes", users)
        for each, is_denied, clause in zip(own, denied, clauses, strict=True)
        if float(clause @ deed) >= _SAME_DEED and (is_denied or tells_deed(each.clause))
    ]
    values: dict[FactKey, set[str]] = {}
    for fact in facts:
        values.setdefault(fact.key, set()).add(fact.value)
    return [fact for fact in facts if len(values[fact.key]) > 1]


def _find_own_clauses(results: Sequence[Evidence]) -> Iterator[_OwnClause]:
    for item in results:
        segment = item.segment
        if instant(segment.time) is None:
            continue
        (spoken,) = own_words([segment])
        for place, clause in enumerate(own_clauses(spoken)):
            yield _OwnClause(item, clause.text, spoken[clause.start : clause.end].strip(), _FIRST_INDEX + place)


def _make_fact(own: _OwnClause, attribute: str, value: str, users: Mapping[str, str]) -> Fact:
    segment = own.item.segment
    moment = instant(segment.time)
    return Fact(
        (users.get(segment.document_id, ""), segment.speaker.casefold(), attribute),
        "event",
        value,
        own.quote,
        segment.speaker,
        segment.time,
        moment.timestamp() if moment else 0.0,
        segment.document_id,
        segment.id,
        own.index,
    )
