"""Vectors for what is stored already, put in place by statements.

It knows no engine, and begins no transaction. Invariant: near-synonyms follow from the vectors of names alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from memgraph_rag.stores.shared import relation_rows, relation_writes
from memgraph_rag.stores.shared.graph_reads import Run
from memgraph_rag.stores.shared.relation_writes import FindNear
from memgraph_rag.stores.shared.rows import Create
from memgraph_rag.types import Vector

__all__ = ["Vectors", "embed"]


@dataclass(frozen=True, slots=True)
class Vectors:
    """Vectors by id.

    Attributes:
        documents: those whose rows are to be read again by who keeps them in memory.
        relations: each with the entity from which it leads.
        names: those of entities.
    """

    documents: list[str] = field(default_factory=list)
    segments: dict[str, Vector] = field(default_factory=dict)
    points: dict[str, Vector] = field(default_factory=dict)
    relations: dict[str, tuple[str, Vector]] = field(default_factory=dict)
    names: dict[str, Vector] = field(default_factory=dict)


def embed(run: Run, create: Create, find_near: FindNear, vectors: Vectors) -> None:
    """Store them, and tie near-synonyms by them."""
    for name, of_nodes in (("write/embed_segments", vectors.segments), ("write/embed_points", vectors.points)):
        create(name, relation_rows.embedded_columns(list(of_nodes), list(of_nodes.values())))
    columns = relation_rows.embedded_columns(
        list(vectors.relations), [vector for _, vector in vectors.relations.values()]
    )
    create("write/embed_relations", columns | {"source_id": [source for source, _ in vectors.relations.values()]})
    if vectors.names:
        run("write/delete_similar", entity_ids=sorted(vectors.names))
        relation_writes.embed_names(run, create, find_near, sorted(vectors.names), vectors.names)
    if vectors.documents:
        run("write/touch_documents", document_ids=list(vectors.documents))
