"""Stores vectors for nodes and relations that exist already.

The module knows no engine and begins no transaction. Invariant: near-synonyms depend on the vectors of names only.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from memgraph_rag.stores.shared import relation_rows, relation_writes
from memgraph_rag.stores.shared.graph_reads import Run
from memgraph_rag.stores.shared.relation_writes import FindNear
from memgraph_rag.stores.shared.rows import Create
from memgraph_rag.types import Vector


@dataclass(frozen=True, slots=True)
class Vectors:
    """New vectors of stored segments, points, relations and names, by id.

    Attributes:
        documents: documents that searches with an index in memory must read again.
        relations: the source entity and the vector of each relation.
        names: the vectors of entities' names.
    """

    documents: list[str] = field(default_factory=list)
    segments: dict[str, Vector] = field(default_factory=dict)
    points: dict[str, Vector] = field(default_factory=dict)
    relations: dict[str, tuple[str, Vector]] = field(default_factory=dict)
    names: dict[str, Vector] = field(default_factory=dict)


def embed(run: Run, create: Create, find_near: FindNear, vectors: Vectors) -> None:
    """Store vectors of existing nodes and relations, and link the given names anew to their near-synonyms.

    The documents in ``vectors.documents`` count as written. The other arguments are functions of the engine.
    """
    for name, of_nodes in (("write/embed_segments", vectors.segments), ("write/embed_points", vectors.points)):
        create(name, relation_rows.make_embedding_columns(list(of_nodes), list(of_nodes.values())))
    columns = relation_rows.make_embedding_columns(
        list(vectors.relations), [vector for _, vector in vectors.relations.values()]
    )
    create("write/embed_relations", columns | {"source_id": [source for source, _ in vectors.relations.values()]})
    if vectors.names:
        run("write/delete_similar", entity_ids=sorted(vectors.names))
        relation_writes.embed_names(run, create, find_near, sorted(vectors.names), vectors.names)
    if vectors.documents:
        run("write/touch_documents", document_ids=list(vectors.documents))
