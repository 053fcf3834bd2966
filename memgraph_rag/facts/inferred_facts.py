"""Facts of deeds that no rule joins, inferred from results: "I flew to Peru" answers "have I been to Peru".

It knows results, facts and an embedder, no store and no language model. Invariants: an inferred fact is never stored;
it is about the deed that was asked for, whose objects it names; what a machine said, or nobody at a known time, gives
none. What somebody's state is (where it lives) is not inferred: of sentences that the cosine took for statements of it
nearly all were none, in real conversations (docs/decisions/conversations.md).
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

__all__ = ["inferred_deeds"]

_FIRST_INDEX = 1_000  # behind the facts that the rules read in a segment
_SAME_DEED = 0.5  # the least cosine of a clause to the deed asked for, whose objects it names


@dataclass(frozen=True, slots=True)
class _Said:
    """A clause of a result, with its sentence, in which somebody speaks of itself."""

    item: Evidence
    clause: str
    quote: str
    index: int


def inferred_deeds(
    question: str, results: Sequence[Evidence], embedder: Embedder, *, users: Mapping[str, str]
) -> list[Fact]:
    """A fact for each result that tells or denies the deed that is asked for; none where only one of both is said.

    The objects are compared by words, the verb by meaning. Those of a speaker count where some tell and some deny.

    Args:
        users: of the documents that have one, by id.
    """
    _, *objects = asked_deed(question).split() or [""]
    said = [each for each in _said(results) if objects and set(objects) <= {stem(word) for word in words(each.clause)}]
    denied = [denies_ever(each.clause) for each in said]
    if all(denied) or not any(denied):
        return []
    name = " ".join(question.split()[2:]).rstrip("?")
    deed, *clauses = embedder.embed([f"I have {name}", *(each.clause for each in said)])
    facts = [
        _fact(each, name, "never" if is_denied else "yes", users)
        for each, is_denied, clause in zip(said, denied, clauses, strict=True)
        if float(clause @ deed) >= _SAME_DEED and (is_denied or tells_deed(each.clause))
    ]
    values: dict[FactKey, set[str]] = {}
    for fact in facts:
        values.setdefault(fact.key, set()).add(fact.value)
    return [fact for fact in facts if len(values[fact.key]) > 1]


def _said(results: Sequence[Evidence]) -> Iterator[_Said]:
    for item in results:
        segment = item.segment
        if instant(segment.time) is None:
            continue
        (spoken,) = own_words([segment])
        for place, clause in enumerate(own_clauses(spoken)):
            yield _Said(item, clause.text, spoken[clause.start : clause.end].strip(), _FIRST_INDEX + place)


def _fact(said: _Said, attribute: str, value: str, users: Mapping[str, str]) -> Fact:
    segment = said.item.segment
    moment = instant(segment.time)
    return Fact(
        (users.get(segment.document_id, ""), segment.speaker.casefold(), attribute),
        "event",
        value,
        said.quote,
        segment.speaker,
        segment.time,
        moment.timestamp() if moment else 0.0,
        segment.document_id,
        segment.id,
        said.index,
    )
