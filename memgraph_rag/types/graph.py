"""Nodes and edges of the graph, and all that one document contributes to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from memgraph_rag.types.arrays import Matrix, Vector
from memgraph_rag.types.documents import DocumentRecord, MetadataValue
from memgraph_rag.types.overviews import Overview
from memgraph_rag.types.plain import plain_fields
from memgraph_rag.types.sections import Section

__all__ = [
    "CONTEXT",
    "OPEN_KIND",
    "Annotation",
    "DocumentGraph",
    "Entity",
    "IndexedName",
    "IndexedRelation",
    "IndexedSegment",
    "InformationPoint",
    "Mention",
    "Neighbour",
    "Node",
    "PointLayer",
    "Relation",
    "Segment",
    "Similar",
    "Summarizes",
    "Title",
    "ends_of",
]


@dataclass(frozen=True, slots=True)
class Segment:
    """A contiguous raw span of a document: ``text == document.text[start:end]``. Level 0 of the summary graph.

    The segments of a document tile it: the first starts at 0, each next starts where the last ended, the last
    ends at the document's end. ``start`` and ``end`` count characters, ``tokens`` the language model's tokens. An
    ``echo`` says again what the memory itself answered: it is kept and shown, but is no evidence, and no layer is
    built of it.
    """

    kind: ClassVar[Literal["segment"]] = "segment"
    level: ClassVar[int] = 0

    id: str
    document_id: str
    index: int
    text: str
    start: int
    end: int
    tokens: int
    speaker: str = ""
    time: str = ""
    echo: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return kind, level and all fields, for JSON."""
        return {"kind": self.kind, "level": self.level, **plain_fields(self)}


PointLayer = Literal["points", "clusters"]
"""The layers that build information points; who reads points says of which."""


@dataclass(frozen=True, slots=True)
class InformationPoint:
    """A summary of what lies below it, at level 1 or above; ``index`` is its place within the level of its layer.

    The layer ``points`` writes one sentence about one event, the layer ``clusters`` what a cluster of nodes says.
    """

    kind: ClassVar[Literal["point"]] = "point"

    id: str
    document_id: str
    level: int
    index: int
    text: str
    tokens: int
    layer: PointLayer = "points"

    def as_dict(self) -> dict[str, Any]:
        """Return kind and all fields, for JSON."""
        return {"kind": self.kind, **plain_fields(self)}


Node = Segment | InformationPoint | Overview
"""Anything that can be read: a node of the summary graph."""


@dataclass(frozen=True, slots=True)
class Summarizes:
    """An edge from a higher node to a lower one; the weights of one source sum to 1."""

    source_id: str
    target_id: str
    weight: float


@dataclass(frozen=True, slots=True)
class Mention:
    """An entity named in a segment: ``surface == document.text[start:end]``, within the segment's span.

    ``normal`` is the entity's normalised name, of which its id is made; ``kind`` is the recognizer's, such as
    PERSON, or "heading" where a heading names it.
    """

    entity_id: str
    normal: str
    kind: str
    surface: str
    segment_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Title:
    """The entity that a document's title names; ``normal`` is the entity's normalised name."""

    entity_id: str
    normal: str
    surface: str


OPEN_KIND = "open"
"""The kind of a mention that the relations layer found: by it the mentions of that layer are told from NER's."""


@dataclass(frozen=True, slots=True)
class Relation:
    """One open, descriptive sentence about a pair of entities, tied to the segment that states it.

    Both entities have a mention in that segment. The ends have an order for the identity only: ``source_id`` is the
    entity that the description names first. ``id`` is made of (segment, source, target, description).
    """

    id: str
    source_id: str
    target_id: str
    description: str
    segment_id: str


def ends_of(relations: Iterable[Relation]) -> tuple[str, ...]:
    """The ids of the entities that relations join, sorted, each once."""
    return tuple(sorted({end for relation in relations for end in (relation.source_id, relation.target_id)}))


CONTEXT = "context"
"""The layer whose annotations stand over segments when these are embedded."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """What a layer of one's own says of segments of a document; without segments it speaks of the whole document.

    A layer gives ``text`` and what else it likes; the fields from ``id`` on are filled in when the graph is built.
    ``index`` is the place among the annotations of the layer in its document.
    """

    text: str
    segment_ids: tuple[str, ...] = ()
    kind: str = ""
    properties: Mapping[str, MetadataValue] = field(default_factory=dict[str, MetadataValue])
    id: str = ""
    document_id: str = ""
    layer: str = ""
    index: int = 0


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A relation as an expansion step sees it: with the names of its ends, and how near it is to what is looked for.

    Attributes:
        score: cosine of the relation's embedding and the vector that was given; 0 where none was.
    """

    relation: Relation
    source: str
    target: str
    score: float


@dataclass(frozen=True, slots=True)
class Similar:
    """Two entities of near-synonymous names, ``source_id < target_id``; ``score`` is their names' cosine.

    A function of the two names alone, so that it does not depend on what else was added, or when.
    """

    source_id: str
    target_id: str
    score: float


@dataclass(frozen=True, slots=True)
class Entity:
    """A thing that documents name, one for each normalised name in a namespace.

    Everything here follows from its mentions and titles: ``name`` is the surface form that is most frequent (ties:
    the first by code point), ``kinds`` are all kinds, sorted. It lives as long as one of them.
    """

    id: str
    normal: str
    name: str
    kinds: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return all fields, for JSON."""
        return plain_fields(self)


@dataclass(frozen=True, slots=True)
class IndexedSegment:
    """What the graph search holds in memory of a segment.

    ``entities`` are the ids of those that it mentions, ``titles`` of those that its document's title names, each once,
    sorted. ``time`` is the segment's own, else when its document was added. ``siblings`` is how many segments its
    document has, itself counted, where not all of them were read; else 0.
    """

    id: str
    document_id: str
    index: int
    title: str
    text: str
    speaker: str
    time: str
    embedding: Vector
    entities: tuple[str, ...]
    titles: tuple[str, ...]
    echo: bool = False
    siblings: int = 0


@dataclass(frozen=True, slots=True)
class IndexedRelation:
    """A relation as a search holds it in memory; ``embedding`` is its description's."""

    relation: Relation
    document_id: str
    embedding: Vector


@dataclass(frozen=True, slots=True)
class IndexedName:
    """An entity that relations join, as a search holds it in memory.

    ``embedding`` is that of its normalised name; ``similar`` are its near-synonyms, by id, with the cosines.
    """

    id: str
    embedding: Vector
    similar: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class DocumentGraph:
    """Everything that one document contributes to the graph, as plain rows, ready for one atomic write.

    ``segment_embeddings`` is (len(segments), d), ``point_embeddings`` (len(points), d), ``relation_embeddings``
    (len(relations), d), in row order; ``end_embeddings`` (len(ends), d) are those of the normalised names of ``ends``.
    """

    document: DocumentRecord
    segments: tuple[Segment, ...]
    segment_embeddings: Matrix
    points: tuple[InformationPoint, ...] = ()
    point_embeddings: Matrix = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    summarizes: tuple[Summarizes, ...] = ()
    mentions: tuple[Mention, ...] = ()
    titles: tuple[Title, ...] = ()
    relations: tuple[Relation, ...] = ()
    relation_embeddings: Matrix = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    end_embeddings: Matrix = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    annotations: tuple[Annotation, ...] = ()
    sections: tuple[Section, ...] = ()

    @property
    def ends(self) -> tuple[str, ...]:
        """The ids of the entities that its relations join, sorted: those that have an embedding and near-synonyms."""
        return ends_of(self.relations)
