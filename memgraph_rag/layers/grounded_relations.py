"""Turn extracted names and relations into rows, as far as the segments confirm them.

The module knows no model but the given recognizer. Invariants: both ends of a relation have a mention in its segment,
the recognizer's or a new one; a relation that no segment confirms is counted and raises nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from memgraph_rag.contracts import Models, SplitDocument
from memgraph_rag.layers.batches import Batch
from memgraph_rag.layers.entities import find_mentions, recognize_segments
from memgraph_rag.layers.extraction import Extraction, Triple
from memgraph_rag.layers.grounding import Ground, Vocabulary, can_name, is_proper
from memgraph_rag.types import LayerRows, Relation, Usage, list_ends, relation_id

BORNE_OUT = 0.5
"""The least share of a description's words, without the names, that its segments must contain."""


@dataclass(slots=True)
class Account:
    """The extraction from one document: its batches, the replies about each batch (``said``), problems and cost.

    Attributes:
        background: the title and the summary of the document.
        names: the names of the source and the target of each confirmed relation, by the relation's id.
    """

    title: str
    batches: list[Batch]
    said: list[list[Extraction]] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)
    usage: Usage = field(default_factory=Usage)
    background: str = ""
    names: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])


def relation_rows(
    documents: Sequence[SplitDocument], accounts: Sequence[Account], namespace: str, models: Models
) -> list[LayerRows]:
    """Return the rows of each document, in order: the mentions and relations that its segments confirm.

    What no segment confirms is left out and counted in the account's notes. The mentions are those that the recognizer
    does not find; common nouns count only at an end of a relation. The rows contain the account's notes and usage.

    Args:
        accounts: the extraction from each document, in the order of ``documents``.
    """
    names = recognize_segments(models.recognizer, documents)
    rows = []
    for document, account in zip(documents, accounts, strict=True):
        vocabulary = Vocabulary(_list_names(account))
        grounds = {
            segment.id: Ground(
                segment,
                find_mentions(segment, next(names), namespace, Counter()),  # the entities layer counts the problems
                vocabulary,
                namespace=namespace,
            )
            for segment in document.segments
        }
        rows.append(_make_rows(account, grounds, namespace))
    return rows


def _list_names(account: Account) -> list[str]:
    """Return all extracted names in order; names that cannot name anything are counted and left out."""
    names = [
        name
        for batch_extractions in account.said
        for extracted in batch_extractions
        for name in (*extracted.names, *chain.from_iterable(relation[:2] for relation in extracted.relations))
    ]
    account.notes["no name"] += sum(not can_name(name) for name in dict.fromkeys(names))
    return [name for name in names if can_name(name)]


def _make_rows(account: Account, grounds: Mapping[str, Ground], namespace: str) -> LayerRows:
    """Return the rows of one document; everything that its segments do not confirm is counted."""
    notes = account.notes
    relations: dict[str, Relation] = {}
    for batch, batch_extractions in zip(account.batches, account.said, strict=True):
        read = [grounds[node.id] for node in batch]
        names = {name for extracted in batch_extractions for name in extracted.names if can_name(name)}
        notes["name that is not in the text"] += sum(not any(ground.entity(name) for ground in read) for name in names)
        candidates = [
            _make_relation(item, read, namespace, account)
            for extracted in batch_extractions
            for item in extracted.relations
        ]
        new = {item.id: item for item in candidates if item is not None}
        notes["batch without a relation"] += not new
        relations |= new
    ends = set(list_ends(relations.values()))
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


def _make_relation(triple: Triple, grounds: Sequence[Ground], namespace: str, account: Account) -> Relation | None:
    """Return the relation in the segment that confirms it best, the first one on ties; None if no segment does."""
    subject, object_name, description = triple
    notes = account.notes
    holding = [ground for ground in grounds if ground.entity(subject) and ground.entity(object_name)]
    if not holding:
        notes["relation whose names are not in the text together"] += 1
        return None
    borne_out = [ground.bears_out(description, (subject, object_name)) for ground in holding]
    best = holding[borne_out.index(max(borne_out))]
    if best.entity(subject) == best.entity(object_name):
        notes["relation of one name"] += 1
    elif max(borne_out) < BORNE_OUT:
        notes["relation that the text does not bear out"] += 1
    else:
        source, target = sorted((subject, object_name), key=lambda name: find_place(name, description))
        ends, segment_id = (best.entity(source), best.entity(target)), best.segment.id
        new_id = relation_id(namespace, segment_id, *ends, description)
        account.names[new_id] = source, target
        return Relation(new_id, *ends, description, segment_id)
    return None


def find_place(name: str, description: str) -> int:
    """Return where a description holds a name; the description's length if it does not."""
    place = description.casefold().find(name.casefold())
    return place if place >= 0 else len(description)
