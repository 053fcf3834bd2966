"""A node's neighbourhood, and what is wrong with a graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memgraph_rag.types.answers import Question
from memgraph_rag.types.documents import DocumentRecord
from memgraph_rag.types.graph import Annotation, Entity, InformationPoint, Mention, Segment
from memgraph_rag.types.overviews import Overview
from memgraph_rag.types.plain import plain_fields, plain_value
from memgraph_rag.types.sections import Section

__all__ = ["Damage", "Flaws", "Neighbourhood", "Thing", "Tie", "type_of"]


Thing = DocumentRecord | Segment | InformationPoint | Entity | Annotation | Section | Overview | Question
"""Anything that has a node of its own in the graph."""

_MOST_NAME = 120  # characters


def type_of(thing: Thing) -> str:
    """Return "document", "segment", "point", "entity", "annotation", "section", "overview" or "question"."""
    if isinstance(thing, (Segment, InformationPoint, Overview)):
        return thing.kind
    return type(thing).__name__.removesuffix("Record").lower()


def _name_of(thing: Thing) -> str:
    """Return a document's key, a name, or the beginning of a text; an id where the thing has none of them."""
    texts = (getattr(thing, attribute, "") for attribute in ("key", "name", "text"))
    if isinstance(thing, Overview):  # its key is a hash
        texts = (thing.title, thing.text)
    name = next(filter(None, texts), thing.id)
    return name if len(name) <= _MOST_NAME else f"{name[: _MOST_NAME - 1]}…"


@dataclass(frozen=True, slots=True)
class Tie:
    """An edge between two things, or several of one kind taken together.

    Attributes:
        kind: the relationship type.
        weight: of SUMMARIZES and SIMILAR_TO theirs; of READ the score; of MENTIONS how often.
        text: what a relation says, or a mention's first surface form.
        order: of READ, from 1.
    """

    kind: str
    source_id: str
    target_id: str
    weight: float = 1.0
    text: str = ""
    order: int = 0


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """What surrounds one thing in the graph, for a person to look at: bounded, and it says what was left out.

    Attributes:
        things: by id, the centre first; both ends of each tie are among them.
        passages: text to be read beside it, in order: of a document all, of an entity what mentions it, of a question
            what was read and then what was cited.
        mentions: those that stand in the passages.
        left_out: how many more there are, by what they are.
    """

    centre: Thing
    things: Mapping[str, Thing]
    ties: tuple[Tie, ...]
    passages: tuple[Segment, ...]
    mentions: tuple[Mention, ...]
    left_out: Mapping[str, int]

    def as_dict(self) -> dict[str, Any]:
        """Return the centre whole, of other things type and name, and ties with the names of their ends, for JSON."""
        things = {node_id: {"type": type_of(thing), "name": _name_of(thing)} for node_id, thing in self.things.items()}
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


@dataclass(frozen=True, slots=True)
class Flaws:
    """What is wrong with the graph of a namespace: ids, sorted. All are empty in a graph that only this library wrote.

    Attributes:
        lost_segments: segments whose document is missing.
        parted_segments: segments whose document is there, without an edge to them.
        incomplete: documents of which segments are missing.
        unchained: documents whose segments do not follow each other as they should.
        lost_points: points whose document is missing.
        loose_points: documents with points that sum up nothing.
        lost_annotations: annotations whose document is missing.
        loose_annotations: documents with annotations of segments that are missing.
        lost_sections: sections whose document is missing.
        loose_sections: documents with sections of which parts are missing.
        torn_overviews: overviews that lack a document, an entity or a node below them.
        lost_relations: relations whose segment, or one of whose entities, is missing.
        lone_entities: entities without a mention or a title.
        miswritten: entities whose name or kinds do not follow from their mentions and titles.
        loose_similar: entities without a relation that have near-synonyms or an embedding.
        torn_questions: questions that lack a document, or a read node, without a change that says so.
        unembedded_segments: segments without an embedding; likewise points, relations, and entities with a relation.
        indexes: of the database, by name, that are missing or cannot be used.
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
        """Whether anything is wrong."""
        return self != Flaws()


@dataclass(frozen=True, slots=True)
class Damage:
    """A kind of damage to a graph.

    Attributes:
        what: in words.
        number: how often it was found.
        keys: of the documents that it concerns, where it can be told.
        remedy: what ``repair`` does about it; where it cannot mend it, what the user can do.
        is_mendable: whether ``repair`` mends it.
    """

    what: str
    number: int
    keys: tuple[str, ...]
    remedy: str
    is_mendable: bool = True
