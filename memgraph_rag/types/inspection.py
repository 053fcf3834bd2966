"""The neighbourhood of a node, the flaws of a graph, and the checks of an installation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from memgraph_rag.types.answers import Question
from memgraph_rag.types.arrays import Matrix, Vector
from memgraph_rag.types.documents import DocumentRecord, shorten
from memgraph_rag.types.graph import Annotation, Entity, InformationPoint, Mention, Segment
from memgraph_rag.types.overviews import Overview
from memgraph_rag.types.plain import plain_fields, plain_value
from memgraph_rag.types.sections import Section

Thing = DocumentRecord | Segment | InformationPoint | Entity | Annotation | Section | Overview | Question
"""Any record that has a node of its own in the graph."""

_MOST_NAME = 120  # characters


def get_type(thing: Thing) -> str:
    """Return "document", "segment", "point", "entity", "annotation", "section", "overview" or "question"."""
    if isinstance(thing, (Segment, InformationPoint, Overview)):
        return thing.kind
    return type(thing).__name__.removesuffix("Record").lower()


def _name(thing: Thing) -> str:
    """Return a document's key, a name, or the beginning of a text; the id of a thing without any of them."""
    texts = (getattr(thing, attribute, "") for attribute in ("key", "name", "text"))
    if isinstance(thing, Overview):  # its key is a hash
        texts = (thing.title, thing.text)
    name = next(filter(None, texts), thing.id)
    return shorten(name, _MOST_NAME)


@dataclass(frozen=True, slots=True)
class Tie:
    """An edge between two things, or several edges of one kind between them.

    Attributes:
        kind: the relationship type.
        weight: the edge's weight for SUMMARIZES and SIMILAR_TO; the score for READ; the number of mentions for
            MENTIONS.
        text: the description of a relation, or the surface form of the first mention.
        order: the place in the trace for READ, from 1.
    """

    kind: str
    source_id: str
    target_id: str
    weight: float = 1.0
    text: str = ""
    order: int = 0


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The surroundings of one thing in the graph, for a person. They are bounded, and count what they leave out.

    Attributes:
        things: the things by id, the centre first. They contain both ends of each tie.
        passages: segments to read with the centre, in order: all of a document; those that mention an entity; those
            read for a question, then those cited.
        mentions: the mentions in the passages.
        left_out: how many more things and ties there are, by kind.
    """

    centre: Thing
    things: Mapping[str, Thing]
    ties: tuple[Tie, ...]
    passages: tuple[Segment, ...]
    mentions: tuple[Mention, ...]
    left_out: Mapping[str, int]

    def as_dict(self) -> dict[str, Any]:
        """Return the centre, the things, the ties, the passages, the mentions and what is left out, for JSON.

        The centre is whole (``centre``). Each thing has only its type and a name, which may be cut. A tie also has the
        names of both ends.
        """
        things = {node_id: {"type": get_type(thing), "name": _name(thing)} for node_id, thing in self.things.items()}
        return {
            **things[self.centre.id],
            "centre": plain_value(self.centre),
            "things": things,
            "ties": [
                {**plain_fields(tie), "source": things[tie.source_id]["name"], "target": things[tie.target_id]["name"]}
                for tie in self.ties
            ],
            **plain_fields(self, without=("centre", "things", "ties")),
        }


@dataclass(frozen=True, slots=True, eq=False)
class MemoryMap:
    """The documents and names of a memory at places in a plane, those with the most edges first.

    Attributes:
        version: the version of the memory that the map shows.
        ids: (n,) ids of the nodes: documents, then entities.
        names: (n,) keys of documents and names of entities.
        documents: the number of documents.
        positions: (n, 2) places of the nodes, about within the unit circle.
        sizes: (n,) how many names a document has; how many documents name an entity.
        edges: (m, 2) the places in ``ids`` of a document and of an entity that it names.
        left_out: the numbers of documents and entities that are not on the map.
    """

    version: int
    ids: tuple[str, ...]
    names: tuple[str, ...]
    documents: int
    positions: Matrix
    sizes: Vector
    edges: NDArray[np.uint32]
    left_out: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Flaws:
    """The flaws of a namespace's graph: sorted ids by kind. A graph that only this library wrote has none.

    Attributes:
        lost_segments: segments whose document is missing.
        parted_segments: segments without an edge from their document, which exists.
        incomplete: documents with missing segments.
        unchained: documents whose segments are not chained in their order.
        lost_points: points whose document is missing.
        loose_points: documents with points that summarise no node.
        lost_annotations: annotations whose document is missing.
        loose_annotations: documents with annotations of missing segments.
        lost_sections: sections whose document is missing.
        loose_sections: documents with sections that lack parts.
        torn_overviews: overviews that lack a document, an entity or a node below them.
        lost_relations: relations that lack their segment or one of their entities.
        lone_entities: entities without a mention or a title.
        miswritten: entities whose name or kinds do not follow from their mentions and titles.
        loose_similar: entities without a relation that have near-synonyms or an embedding.
        torn_questions: questions that lack a document or a read node, without a change that records it.
        unembedded_segments: segments without an embedding; the other three fields: points, relations, and entities with
            a relation.
        indexes: names of database indexes that are missing or unusable.
    """

    lost_segments: tuple[str, ...] = ()
    parted_segments: tuple[str, ...] = ()
    incomplete: tuple[str, ...] = ()
    unchained: tuple[str, ...] = ()
    lost_points: tuple[str, ...] = ()
    loose_points: tuple[str, ...] = ()
    lost_annotations: tuple[str, ...] = ()
    loose_annotations: tuple[str, ...] = ()
    lost_sections: tuple[str, ...] = ()
    loose_sections: tuple[str, ...] = ()
    torn_overviews: tuple[str, ...] = ()
    lost_relations: tuple[str, ...] = ()
    lone_entities: tuple[str, ...] = ()
    miswritten: tuple[str, ...] = ()
    loose_similar: tuple[str, ...] = ()
    torn_questions: tuple[str, ...] = ()
    unembedded_segments: tuple[str, ...] = ()
    unembedded_points: tuple[str, ...] = ()
    unembedded_relations: tuple[str, ...] = ()
    unembedded_entities: tuple[str, ...] = ()
    indexes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Return whether there is any flaw."""
        return self != Flaws()


@dataclass(frozen=True, slots=True)
class Damage:
    """One kind of damage to a graph.

    Attributes:
        what: the damage, in words.
        number: how many times it occurs.
        keys: keys of the affected documents, if they are known.
        remedy: what ``repair`` does about it; if it cannot repair it, what the user can do.
        is_mendable: whether ``repair`` repairs it.
    """

    what: str
    number: int
    keys: tuple[str, ...]
    remedy: str
    is_mendable: bool = True


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check of ``memgraph-rag doctor``.

    Attributes:
        part: name of the checked part.
        state: "ok", "warn" (it works with a limit) or "fail".
        found: a description of the part as it is.
        advice: how to fix it; empty if there is nothing to do.
    """

    part: str
    state: Literal["ok", "warn", "fail"]
    found: str
    advice: str = ""
