"""All elements of a memory, merged by their titles.

It knows no model and no database. Invariants: a relation joins two entities of the table, a claim is about one; equal
documents give an equal table in every namespace.

Source: GraphRAG, merging in the released code: entities by title, relations by source and target with summed strength,
relations without their entities dropped. Other than there, an entity of two types keeps the descriptions of both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from memgraph_rag.systems.graphrag.element_reply import CLAIM, ENTITY, RELATION
from memgraph_rag.types import Annotation

_ARROW, _CLAIMS = " → ", " ⊢ "


@dataclass(slots=True)
class Element:
    """An entity, a relation or a claim.

    Attributes:
        title: the name, "SOURCE → TARGET", or "SUBJECT ⊢ TYPE OF CLAIM".
        ends: the titles of its entities: one, or two of a relation.
        descriptions: all descriptions that say more than the name, in the order of the documents.
        strength: the summed strength of a relation.
        segments: ids of the segments, in order.
        documents: ids of the documents.
    """

    title: str
    ends: tuple[str, ...]
    descriptions: list[str] = field(default_factory=list[str])
    strength: float = 0.0
    segments: dict[str, None] = field(default_factory=dict[str, None])
    documents: set[str] = field(default_factory=set[str])

    def add(self, annotation: Annotation) -> None:
        """Add another annotation of the same element."""
        if annotation.text != self.title:
            self.descriptions.append(annotation.text)
        self.strength += float(annotation.properties.get("strength", 0.0))
        self.segments |= dict.fromkeys(annotation.segment_ids)
        self.documents.add(annotation.document_id)


@dataclass(frozen=True, slots=True)
class ElementTable:
    """The elements by title, each kind in the order of the documents. Claims are not merged.

    Attributes:
        orphans: number of the relations and claims about an entity that is not in the table.
    """

    entities: Mapping[str, Element]
    relations: Mapping[str, Element]
    claims: tuple[Element, ...]
    orphans: int

    def all(self) -> list[Element]:
        """Return entities, relations and claims."""
        return [*self.entities.values(), *self.relations.values(), *self.claims]


def gather(annotations: Iterable[Annotation], keys: Mapping[str, str]) -> ElementTable:
    """Return the table of the annotations of the layer ``elements``.

    Entities of one title become one element, and so do relations of one title; each claim stays alone. Relations with
    an end that is no entity, and claims about no entity, are left out and counted.

    Args:
        keys: the key of each document, by id: the order of the elements. Annotations of other documents are left out.
    """
    known = [item for item in annotations if item.document_id in keys and item.kind in (ENTITY, RELATION, CLAIM)]
    in_order = sorted(known, key=lambda item: (keys[item.document_id], item.index))
    by_kind: dict[str, dict[str, Element]] = {ENTITY: {}, RELATION: {}}
    claims: list[Element] = []
    for item in in_order:
        element = _element(item)
        if item.kind == CLAIM:
            claims.append(element)
        else:
            element = by_kind[item.kind].setdefault(element.title, element)
        element.add(item)
    entities = by_kind[ENTITY]
    relations = {title: item for title, item in by_kind[RELATION].items() if entities.keys() >= set(item.ends)}
    grounded = tuple(claim for claim in claims if claim.ends[0] in entities)
    orphans = len(by_kind[RELATION]) - len(relations) + len(claims) - len(grounded)
    return ElementTable(entities, relations, grounded, orphans)


def ends_of_title(title: str) -> tuple[str, tuple[str, ...]]:
    """Return the kind of an element and the titles of its entities.

    >>> ends_of_title("ANN → LEEDS"), ends_of_title("ANN")
    (('relation', ('ANN', 'LEEDS')), ('entity', ('ANN',)))
    """
    if _ARROW in title:
        return RELATION, tuple(title.split(_ARROW))
    subject, separator, _ = title.partition(_CLAIMS)
    return (CLAIM if separator else ENTITY), (subject,)


def _element(item: Annotation) -> Element:
    properties = {name: str(value) for name, value in item.properties.items()}
    if item.kind == ENTITY:
        return Element(properties["name"], (properties["name"],))
    if item.kind == RELATION:
        ends = (properties["source"], properties["target"])
        return Element(_ARROW.join(ends), ends)
    return Element(f"{properties['subject']}{_CLAIMS}{properties['type']}", (properties["subject"],))


def count_degrees(relations: Iterable[tuple[str, ...]]) -> Counter[str]:
    """Return the number of other entities that each entity is related to, whatever the direction."""
    pairs = {tuple(sorted(ends)) for ends in relations}
    return Counter(end for pair in pairs for end in pair)
