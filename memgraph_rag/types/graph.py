"""The nodes and edges of the graph, and the whole contribution of one document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from memgraph_rag.types.arrays import Matrix, Vector
from memgraph_rag.types.documents import DocumentRecord, MetadataValue
from memgraph_rag.types.overviews import Overview
from memgraph_rag.types.plain import Plain, plain_fields
from memgraph_rag.types.sections import Section


@dataclass(frozen=True, slots=True)
class Segment:
    """A contiguous raw span of a document: ``text == document.text[start:end]``. Level 0 of the summary graph.

    The segments of a document tile it: the first segment starts at 0, each next segment starts at the end of the
    previous one, and the last segment ends at the document's end. ``start`` and ``end`` count characters; ``tokens``
    counts tokens of the language model. An ``echo`` repeats an earlier answer of the memory: it is stored and shown,
    but it is never evidence, and no layer is built from it.
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
"""The layers that build information points. A reader of points names one of them."""


@dataclass(frozen=True, slots=True)
class InformationPoint:
    """A summary of the nodes below it, at level 1 or above. ``index`` is its place in its level and layer.

    A point of the layer ``points`` is one sentence about one event. A point of the layer ``clusters`` summarises a
    cluster of nodes.
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
"""A node of the summary graph: everything that a model can read."""


@dataclass(frozen=True, slots=True)
class Summarizes:
    """An edge from a higher node to a lower one. The weights of the edges of one source sum to 1."""

    source_id: str
    target_id: str
    weight: float


@dataclass(frozen=True, slots=True)
class Mention:
    """The name of an entity in a segment: ``surface == document.text[start:end]``, within the segment's span.

    ``normal`` is the normalised name, from which the entity's id is made. ``kind`` is the recognizer's kind, such as
    PERSON, or "heading" for a name in a heading.
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
    """An entity that a document's title names. ``normal`` is the normalised name of the entity."""

    entity_id: str
    normal: str
    surface: str


OPEN_KIND = "open"
"""The kind of a mention that the relations layer found. It distinguishes these mentions from the recognizer's."""


@dataclass(frozen=True, slots=True)
class Relation:
    """One open, descriptive sentence about a pair of entities, with the segment that states it.

    The segment mentions both entities. ``source_id`` is the entity that the description names first; this order matters
    for the identity only. ``id`` is made of (segment, source, target, description).
    """

    id: str
    source_id: str
    target_id: str
    description: str
    segment_id: str


def list_ends(relations: Iterable[Relation]) -> tuple[str, ...]:
    """Return the ids of the entities that these relations join, sorted, each once."""
    return tuple(sorted({end for relation in relations for end in (relation.source_id, relation.target_id)}))


CONTEXT = "context"
"""The layer whose annotations are put before segments when the segments are embedded."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """A text that a user's layer attaches to segments of a document; without segments, to the whole document.

    A layer sets the fields before ``id``. The fields from ``id`` on are filled in when the graph is built. ``index`` is
    the place among the annotations of the same layer and document.
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
    """A relation that an expansion step returns, with the names of its entities and its score.

    Attributes:
        score: cosine of the relation's embedding and the given vector; 0 without a vector.
    """

    relation: Relation
    source: str
    target: str
    score: float


@dataclass(frozen=True, slots=True)
class Similar:
    """Two entities with near-synonymous names; ``source_id < target_id``; ``score`` is the cosine of the names.

    The edge depends on the two names only, not on other content or on the order of adding.
    """

    source_id: str
    target_id: str
    score: float


@dataclass(frozen=True, slots=True)
class Entity(Plain):
    """A thing that documents name; one entity for each normalised name in a namespace.

    All fields follow from mentions and titles: ``name`` is the most frequent surface form (ties: the first by code
    point), ``kinds`` are all kinds, sorted. An entity is deleted with its last mention or title.
    """

    id: str
    normal: str
    name: str
    kinds: tuple[str, ...]


class Naming(NamedTuple):
    """How often a document names an entity, in its text and in its title; ``name`` is that of the entity."""

    document_id: str
    entity_id: str
    name: str
    number: int


@dataclass(frozen=True, slots=True)
class IndexedSegment:
    """A segment as the graph search holds it in memory.

    ``entities`` are the ids of the entities that the segment mentions, ``titles`` of those that its document's title
    names; each is sorted, without duplicates. ``time`` is the segment's time, else the time at which its document was
    added. ``language`` is that of its document. ``siblings`` is the number of segments of its document, this one
    included, if not all of them were read; else 0.
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
    language: str = ""


@dataclass(frozen=True, slots=True)
class DocumentGraph:
    """Everything that one document contributes to the graph, as plain rows for one atomic write.

    The embeddings are in row order: ``segment_embeddings`` is (len(segments), d), ``point_embeddings`` (len(points),
    d), ``relation_embeddings`` (len(relations), d), and ``end_embeddings`` (len(ends), d) for the normalised names of
    ``ends``.
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
        """The sorted ids of the entities that its relations join; only these have embeddings and near-synonyms."""
        return list_ends(self.relations)
