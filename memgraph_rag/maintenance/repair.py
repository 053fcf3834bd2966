"""Finds damage to a memory, describes it in words, and repairs it.

It contains no Cypher: the store finds the flaws and repairs them. Invariant: missing embeddings are computed outside of
the transaction that repairs, from the same texts that were embedded when the document was added.
"""

from __future__ import annotations

from collections.abc import Sequence

from memgraph_rag.contracts import Embedder, GraphStore
from memgraph_rag.ingestion.segment_vectors import embed_segments
from memgraph_rag.types import CONTEXT, Damage, Flaws, Vector

_WORDS = {
    "lost_segments": ("segments of a missing document", "removed"),
    "parted_segments": ("segments that are not linked to their document", "linked again"),
    "incomplete": (
        "documents with missing segments",
        "their text is lost: forget them (memgraph-rag forget KEY), then add them again",
    ),
    "unchained": ("documents whose segments are not linked in order", "linked again by their positions"),
    "lost_points": ("points of a missing document", "removed"),
    "loose_points": (
        "documents with points that summarise no node",
        "all points of the document removed; memgraph-rag deepen builds them again",
    ),
    "lost_annotations": ("annotations of a missing document", "removed"),
    "loose_annotations": (
        "documents with annotations of missing segments",
        "all annotations of that layer removed; deepen with the layer builds them again",
    ),
    "lost_sections": ("sections of a missing document", "removed"),
    "loose_sections": (
        "documents with sections of missing parts",
        "the whole outline removed; deepen with the layer builds it again",
    ),
    "torn_overviews": ("overviews of missing nodes", "removed; deepen builds them again"),
    "lost_relations": ("relations of a missing segment or entity", "removed"),
    "lone_entities": ("entities that no node mentions", "removed"),
    "miswritten": ("entities that differ from their mentions", "written again from mentions and titles"),
    "loose_similar": ("entities with near-synonyms or an embedding, but without a relation", "unlinked"),
    "torn_questions": ("kept questions with missing nodes that no recorded change explains", "removed"),
    "unembedded_segments": ("segments without a valid embedding", "embedded"),
    "unembedded_points": ("points without a valid embedding", "embedded"),
    "unembedded_relations": ("relations without a valid embedding", "embedded"),
    "unembedded_entities": (
        "entities of relations without a valid embedding",
        "embedded and linked to near-synonyms",
    ),
    "indexes": ("indexes of the database that are missing or failed", "built again"),
}
_OF_DOCUMENTS = ("incomplete", "unchained", "loose_points", "loose_annotations", "loose_sections")
_UNMENDABLE = ("incomplete",)


def examine(store: GraphStore) -> list[Damage]:
    """Return the damage of a store, one item for each kind, and change nothing; an empty list for a sound store."""
    return _describe_flaws(store, store.flaws())


def repair(store: GraphStore, embedder: Embedder) -> list[Damage]:
    """Repair the damage of a store, and return all damage that was found, one item for each kind.

    The list includes damage that cannot be repaired (``Damage.is_mendable``). It is empty for a sound store.
    """
    flaws = store.flaws()
    if not flaws:
        return []
    damages = _describe_flaws(store, flaws)
    vectors = _embed_missing(store, embedder, flaws)
    mended = store.mend(vectors)
    return damages if mended == flaws else _describe_flaws(store, mended)


def _describe_flaws(store: GraphStore, flaws: Flaws) -> list[Damage]:
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


def _embed_missing(store: GraphStore, embedder: Embedder, flaws: Flaws) -> dict[str, Vector]:
    """Return new embeddings of the nodes without a valid embedding, by node id."""
    texts = {node.id: node.text for node in store.nodes(flaws.unembedded_points)}
    relation_ids = set(flaws.unembedded_relations)
    documents = store.document_ids() if relation_ids else ()
    relations = (relation for document_id in documents for relation in store.list_relations(document_id))
    texts |= {relation.id: relation.description for relation in relations if relation.id in relation_ids}
    texts |= {entity.id: entity.normal for entity in store.entities(flaws.unembedded_entities)}
    vectors = embedder.embed(list(texts.values())) if texts else ()
    return dict(zip(texts, vectors, strict=True)) | _segment_vectors(store, embedder, flaws.unembedded_segments)


def _segment_vectors(store: GraphStore, embedder: Embedder, segment_ids: Sequence[str]) -> dict[str, Vector]:
    """Return new embeddings of segments by id, each computed together with its document's title and context."""
    vectors: dict[str, Vector] = {}
    for record in store.documents(sorted({node.document_id for node in store.nodes(segment_ids)})):
        segments = store.list_segments(record.id)
        context = store.annotations(record.id) if CONTEXT in record.layers else None
        (embedded,) = embed_segments(embedder.embed, [(record.title, segments, context)])
        vectors |= {segment.id: vector for segment, vector in zip(segments, embedded, strict=True)}
    return {segment_id: vectors[segment_id] for segment_id in segment_ids if segment_id in vectors}
