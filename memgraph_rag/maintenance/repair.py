"""Damage to a memory: described in words, and mended.

It holds no statement: the store finds damage, and mends what can be mended. Invariant: embedding is done outside
the transaction that mends, from the same texts as when the document was added.
"""

from __future__ import annotations

from collections.abc import Sequence

from memgraph_rag.contracts import Embedder, GraphStore
from memgraph_rag.ingestion.segment_vectors import embed_segments
from memgraph_rag.types import CONTEXT, Damage, Flaws, Vector

__all__ = ["examine", "repair"]

_WORDS = {
    "lost_segments": ("segments of a document that is not there", "removed"),
    "parted_segments": ("segments that their document does not hold", "tied to it again"),
    "incomplete": (
        "documents of which segments are missing",
        "their text is gone: forget them (memgraph-rag forget KEY), then add them again",
    ),
    "unchained": ("documents whose segments do not follow each other", "chained again by their places"),
    "lost_points": ("points of a document that is not there", "removed"),
    "loose_points": (
        "documents with points that sum up nothing",
        "all their points removed; memgraph-rag deepen builds them again",
    ),
    "lost_annotations": ("annotations of a document that is not there", "removed"),
    "loose_annotations": (
        "documents with annotations of segments that are not there",
        "all annotations of that layer removed; deepen with the layer builds them again",
    ),
    "lost_sections": ("sections of a document that is not there", "removed"),
    "loose_sections": (
        "documents with sections of which parts are not there",
        "their whole outline removed; deepen with the layer builds it again",
    ),
    "torn_overviews": ("overviews of which something is gone that they rest on", "removed; deepen builds them again"),
    "lost_relations": ("relations of a segment or an entity that is not there", "removed"),
    "lone_entities": ("entities that nothing names", "removed"),
    "miswritten": ("entities that say another thing than what names them", "written anew from mentions and titles"),
    "loose_similar": ("entities tied to near-synonyms, or embedded, without a relation", "untied"),
    "torn_questions": ("kept questions of which something is gone that they rest on, and no change says so", "removed"),
    "unembedded_segments": ("segments without a valid embedding", "embedded"),
    "unembedded_points": ("points without a valid embedding", "embedded"),
    "unembedded_relations": ("relations without a valid embedding", "embedded"),
    "unembedded_entities": (
        "names of relations' ends without a valid embedding",
        "embedded and tied to near-synonyms",
    ),
    "indexes": ("indexes of the database that are missing or failed", "made again"),
}
_OF_DOCUMENTS = ("incomplete", "unchained", "loose_points", "loose_annotations", "loose_sections")
_UNMENDABLE = ("incomplete",)


def examine(store: GraphStore) -> list[Damage]:
    """What is wrong, kind by kind."""
    return _told(store, store.flaws())


def repair(store: GraphStore, embedder: Embedder) -> list[Damage]:
    """Put right what can be put right; what was wrong, kind by kind, with what cannot be mended."""
    flaws = store.flaws()
    if not flaws:
        return []
    damages = _told(store, flaws)
    vectors = _vectors(store, embedder, flaws)
    mended = store.mend(vectors)
    return damages if mended == flaws else _told(store, mended)


def _told(store: GraphStore, flaws: Flaws) -> list[Damage]:
    keys = {record.id: record.key for record in store.documents()} if flaws else {}
    return [
        Damage(
            what,
            len(ids),
            tuple(sorted(keys[node_id] for node_id in ids if node_id in keys)) if name in _OF_DOCUMENTS else (),
            remedy,
            is_mendable=name not in _UNMENDABLE,
        )
        for name, (what, remedy) in _WORDS.items()
        if (ids := getattr(flaws, name))
    ]


def _vectors(store: GraphStore, embedder: Embedder, flaws: Flaws) -> dict[str, Vector]:
    """The embeddings of what has none, by id."""
    texts = {node.id: node.text for node in store.nodes(flaws.unembedded_points)}
    wanted = set(flaws.unembedded_relations)
    documents = store.document_ids() if wanted else ()
    relations = (relation for document_id in documents for relation in store.relations_of(document_id))
    texts |= {relation.id: relation.description for relation in relations if relation.id in wanted}
    texts |= {entity.id: entity.normal for entity in store.entities(flaws.unembedded_entities)}
    vectors = embedder.embed(list(texts.values())) if texts else ()
    return dict(zip(texts, vectors, strict=True)) | _segment_vectors(store, embedder, flaws.unembedded_segments)


def _segment_vectors(store: GraphStore, embedder: Embedder, segment_ids: Sequence[str]) -> dict[str, Vector]:
    """The embeddings of these segments, in the context of their documents."""
    vectors: dict[str, Vector] = {}
    for record in store.documents(sorted({node.document_id for node in store.nodes(segment_ids)})):
        segments = store.segments_of(record.id)
        context = store.annotations(record.id) if CONTEXT in record.layers else None
        embedded = embed_segments(embedder.embed, record.title, segments, context)
        vectors |= {segment.id: vector for segment, vector in zip(segments, embedded, strict=True)}
    return {segment_id: vectors[segment_id] for segment_id in segment_ids if segment_id in vectors}
