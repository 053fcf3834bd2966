"""What was said of the relations in documents, as rows: so far as their segments bear it out.

It knows no model but the recognizer that is given, and not who said it: a language model (``relations``) or a file
(``openie``). Invariants: both ends of a relation have a mention in its segment, the recognizer's or one of its own;
what stands in no segment is counted, never raised.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from memgraph_rag.contracts import Models, SplitDocument
from memgraph_rag.layers.batches import Batch
from memgraph_rag.layers.entities import mentions_in
from memgraph_rag.layers.extraction import Said, Triple
from memgraph_rag.layers.grounding import Ground, Vocabulary, can_name, is_proper
from memgraph_rag.types import LayerRows, Relation, Usage, ends_of, relation_id

__all__ = ["Account", "relation_rows"]

_BORNE_OUT = 0.5


@dataclass(slots=True)
class Account:
    """What was said of each batch of one document, what was odd about it, and what it cost.

    ``least_borne_out`` is the least share of a description's words that must stand in its segment, beside the names.
    """

    title: str
    batches: list[Batch]
    said: list[list[Said]] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)
    usage: Usage = field(default_factory=Usage)
    least_borne_out: float = _BORNE_OUT


def relation_rows(
    documents: Sequence[SplitDocument], accounts: Sequence[Account], namespace: str, models: Models
) -> list[LayerRows]:
    """What the segments bear out of what was said of each document."""
    texts = [segment.text for document in documents for segment in document.segments]
    names = iter(models.recognizer.recognize(texts) if texts else [])
    rows = []
    for document, account in zip(documents, accounts, strict=True):
        vocabulary = Vocabulary(_names(account))
        grounds = {
            segment.id: Ground(
                segment,
                mentions_in(segment, next(names), namespace, Counter()),  # the entities layer counts what is odd
                vocabulary,
                namespace=namespace,
            )
            for segment in document.segments
        }
        rows.append(_grounded(account, grounds, namespace))
    return rows


def _names(account: Account) -> list[str]:
    """All that was said to be a name, in order; what can name nothing is counted."""
    names = [
        name
        for of_batch in account.said
        for extracted in of_batch
        for name in (*extracted.names, *chain.from_iterable(relation[:2] for relation in extracted.relations))
    ]
    account.notes["no name"] += sum(not can_name(name) for name in dict.fromkeys(names))
    return [name for name in names if can_name(name)]


def _grounded(account: Account, grounds: Mapping[str, Ground], namespace: str) -> LayerRows:
    """The rows of what the segments bear out; the rest is counted."""
    notes = account.notes
    relations: dict[str, Relation] = {}
    for batch, of_batch in zip(account.batches, account.said, strict=True):
        read = [grounds[node.id] for node in batch]
        names = {name for extracted in of_batch for name in extracted.names if can_name(name)}
        notes["name that is not in the text"] += sum(not any(ground.entity(name) for ground in read) for name in names)
        found_relations = [
            _relation(item, read, namespace, notes, account.least_borne_out)
            for extracted in of_batch
            for item in extracted.relations
        ]
        new = {item.id: item for item in found_relations if item is not None}
        notes["batch without a relation"] += not new
        relations |= new
    ends = set(ends_of(relations.values()))
    mentions = [item for ground in grounds.values() for item in sorted(ground.found, key=lambda mention: mention.start)]
    kept = [mention for mention in mentions if mention.entity_id in ends or is_proper(mention.surface)]
    notes["common noun that nothing is said of"] += len(
        {item.normal for item in mentions} - {item.normal for item in kept}
    )
    notes["mention beyond the limit"] += sum(ground.beyond for ground in grounds.values())
    return LayerRows(
        mentions=tuple(kept),
        relations=tuple(relations.values()),
        notes=dict(+notes),
        usage=account.usage,
    )


def _relation(
    triple: Triple, grounds: Sequence[Ground], namespace: str, notes: Counter[str], least_borne_out: float
) -> Relation | None:
    """The relation, in the segment that bears it out best (the first of several); None where none does."""
    subject, object_name, description = triple
    holding = [ground for ground in grounds if ground.entity(subject) and ground.entity(object_name)]
    if not holding:
        notes["relation whose names are not in the text together"] += 1
        return None
    borne_out = [ground.bears_out(description, (subject, object_name)) for ground in holding]
    best = holding[borne_out.index(max(borne_out))]
    if best.entity(subject) == best.entity(object_name):
        notes["relation of one name"] += 1
    elif max(borne_out) < least_borne_out:
        notes["relation that the text does not bear out"] += 1
    else:
        source, target = sorted((subject, object_name), key=lambda name: _place(name, description))
        ends, segment_id = (best.entity(source), best.entity(target)), best.segment.id
        return Relation(relation_id(namespace, segment_id, *ends, description), *ends, description, segment_id)
    return None


def _place(name: str, description: str) -> int:
    """Where a description names it; behind the end where it does not."""
    place = description.casefold().find(name.casefold())
    return place if place >= 0 else len(description)
