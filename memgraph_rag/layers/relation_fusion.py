"""Fuse what several segments say about one pair of entities into one description.

The module knows no database. Invariants: each segment that stated a fused relation states it afterwards, with the fused
description, so a fused relation is deleted with its segments as any other; a description that the segments together do
not bear out is counted and not used.

Source: QRMeM, memory construction (merging of sub-graphs) and appendix E (relation update), in our own words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memgraph_rag.contracts import LanguageModel, Progress, SplitDocument
from memgraph_rag.layers.batches import AROUND_TOKENS, Batch, batches, output_tokens, prompt
from memgraph_rag.layers.extraction import clean, holds_name, read_reply, write_background
from memgraph_rag.layers.grounded_relations import BORNE_OUT, Account, find_place
from memgraph_rag.layers.grounding import share_borne_out
from memgraph_rag.layers.surfaces import words
from memgraph_rag.types import LayerRows, Relation, Usage, as_line, relation_id

_LONGEST = 400  # characters of a fused description
_MOST_TOKENS = 160  # of a reply
_MOST_RELATIONS = 8  # of one prompt
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"description": {"type": "string", "maxLength": _LONGEST}},
    "required": ["description"],
    "additionalProperties": False,
}
_TASK = (
    "Are they the same two in all of these sentences? Do the sentences agree? Do they hold at the same time? What does "
    "the text around them add? If the sentences can be told as one, write one complete sentence that holds both names "
    "and loses nothing. If they speak of others, contradict each other or exclude each other in time, leave the "
    'description empty. Answer in this form:\n{"description": "..."}'
)


@dataclass(frozen=True, slots=True)
class _Group:
    """Relations of one pair of entities, the segments that state them, and the names of the two."""

    relations: list[Relation]
    segments: Batch
    names: tuple[str, str]
    task: str


def fuse_relations(
    documents: Sequence[SplitDocument],
    accounts: Sequence[Account],
    rows: Sequence[LayerRows],
    question: str,
    *,
    namespace: str,
    language: LanguageModel,
    batch_tokens: int,
    progress: Progress | None,
) -> list[LayerRows]:
    """Return the rows of each document, in order; the relations of a pair of entities share one description.

    The model declines if the descriptions mean different entities, contradict each other or exclude each other in time.
    The relations of this pair then stay as they are. If a pair has more than eight relations, or its segments need
    several prompts, each prompt fuses its own relations. The rows contain the cost, and count unusable replies.

    Args:
        accounts: the extraction from each document, as ``relation_rows`` has completed it.
        rows: the rows that ``relation_rows`` returned.
        question: the question that the relations help to answer; empty without one.
    """
    groups_of_documents = [
        list(_find_groups(*parts, question, language, batch_tokens))
        for parts in zip(documents, accounts, rows, strict=True)
    ]
    groups = [group for document_groups in groups_of_documents for group in document_groups]
    written = iter(
        language.generate(
            [prompt(group.segments, group.task) for group in groups],
            max_tokens=min(_MOST_TOKENS, output_tokens(language, batch_tokens)),
            schema=_SCHEMA,
            progress=None if progress is None else lambda _, *counts: progress("fusing relations", *counts),
        )
        if groups
        else ()
    )
    fused_rows = []
    for document_groups, document_rows in zip(groups_of_documents, rows, strict=True):
        notes: Counter[str] = Counter(document_rows.notes)
        usage: Usage = document_rows.usage
        relations = {relation.id: relation for relation in document_rows.relations}
        for group in document_groups:
            generation = next(written)
            usage += generation.usage
            for relation, fused in _fuse(group, generation.text, notes, namespace):
                del relations[relation.id]
                relations[fused.id] = fused
        fused_rows.append(replace(document_rows, relations=tuple(relations.values()), notes=dict(+notes), usage=usage))
    return fused_rows


def _find_groups(
    document: SplitDocument,
    account: Account,
    rows: LayerRows,
    question: str,
    language: LanguageModel,
    batch_tokens: int,
) -> Iterator[_Group]:
    """Yield the groups of relations that one prompt may fuse: a pair of entities with several descriptions."""
    by_pair: dict[frozenset[str], list[Relation]] = {}
    for relation in rows.relations:
        by_pair.setdefault(frozenset((relation.source_id, relation.target_id)), []).append(relation)
    for of_pair in by_pair.values():
        names = account.names[of_pair[0].id]
        for start in range(0, len(of_pair), _MOST_RELATIONS):
            relations = of_pair[start : start + _MOST_RELATIONS]
            stating = {relation.segment_id for relation in relations}
            segments = [segment for segment in document.segments if segment.id in stating]
            task = _make_task(account.background, names, relations, question)
            around = AROUND_TOKENS + language.count_tokens([task])[0]
            for batch in batches(segments, language, batch_tokens, around_tokens=around):
                ids = {node.id for node in batch}
                own = [relation for relation in relations if relation.segment_id in ids]
                if len({relation.description for relation in own}) > 1:
                    own_task = _make_task(account.background, names, own, question)
                    yield _Group(own, batch, names, own_task)


def _make_task(background: str, names: tuple[str, str], relations: Sequence[Relation], question: str) -> str:
    said = "\n".join(f"* {text}" for text in dict.fromkeys(relation.description for relation in relations))
    asked = f"Keep what helps to answer this question: {as_line(question)}\n" if question else ""
    return f"{write_background(background)}The text above says of {names[0]} and {names[1]}:\n{said}\n{asked}{_TASK}"


def _fuse(group: _Group, text: str, notes: Counter[str], namespace: str) -> Iterator[tuple[Relation, Relation]]:
    """Yield each relation of a group with the fused relation that replaces it; none if a reply cannot be used."""
    value = read_reply(text, "fused relation", notes).get("description")
    description = clean(value)[:_LONGEST] if isinstance(value, str) else ""
    if not description:
        return
    text_words = frozenset().union(*(words(segment.text) for segment in group.segments))
    holds_names = all(holds_name(description, name) for name in group.names)
    if not holds_names or share_borne_out(description, group.names, text_words) < BORNE_OUT:
        notes["fused relation that the text does not bear out"] += 1
        return
    first = group.relations[0]
    ends = dict(zip(group.names, (first.source_id, first.target_id), strict=True))
    source, target = (ends[name] for name in sorted(group.names, key=lambda name: find_place(name, description)))
    for relation in group.relations:
        new_id = relation_id(namespace, relation.segment_id, source, target, description)
        yield relation, Relation(new_id, source, target, description, relation.segment_id)
