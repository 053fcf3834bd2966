"""Relations, the rows of the layer ``relations``, and the mentions that this layer found.

Invariants: the segment of a relation mentions both of its entities. An entity has an embedding and near-synonyms if and
only if a relation joins it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, ClassVar

from typing_extensions import TypedDict, override

from memgraph_rag.display import show
from memgraph_rag.errors import StoreError
from memgraph_rag.stores.layer_rows.archived import Ids, Number, Packed, Places, pack, unpack
from memgraph_rag.stores.layer_rows.kind import DocumentWrite, Embedded, RowKind
from memgraph_rag.stores.layer_rows.names import remove_mentions
from memgraph_rag.stores.shared import relation_writes, rows
from memgraph_rag.stores.shared.graph_reads import Run, read_mentions, read_relations
from memgraph_rag.types import OPEN_KIND, DocumentGraph, Relation, list_ends, relation_id


class ArchivedRelations(TypedDict):
    """Relations as (segment, source, target, description); entities by their normalised names."""

    relations: list[tuple[Number, str, str, str]]
    relation_embeddings: Packed
    ends: list[str]
    end_embeddings: Packed


class RelationRows(RowKind):
    """Checks, stores, reads and archives relations and their embeddings."""

    layer: ClassVar[str] = "relations"
    fields: ClassVar[tuple[str, ...]] = ("relations",)

    @override
    def list_layers(self, graph: DocumentGraph) -> set[str]:
        has_rows = graph.relations or any(mention.kind == OPEN_KIND for mention in graph.mentions)
        return {self.layer} if has_rows else set()

    @override
    def check(self, graph: DocumentGraph, *, namespace: str) -> None:
        segments = {segment.id for segment in graph.segments}
        numbers = Counter(relation.id for relation in graph.relations)
        for relation in graph.relations:
            wrong = (
                ("the id of another relation" if numbers[relation.id] > 1 else "")
                or ("a missing segment" if relation.segment_id not in segments else "")
                or ("the same entity at both ends" if relation.source_id == relation.target_id else "")
                or ("no description" if not relation.description.strip() else "")
            )
            if wrong:
                raise StoreError(
                    f"Expected relations of two entities each, stated by segments of document "
                    f"{show(graph.document.key)}, got {show(relation.description)} ({relation.id}) with {wrong}. "
                    "Correct the relation, or leave it out.",
                    relation=relation,
                )

    @override
    def texts(self, graph: DocumentGraph) -> Iterable[str]:
        return [text for relation in graph.relations for text in (relation.id, relation.description)]

    @override
    def segment_ids(self, graph: DocumentGraph) -> Iterable[str]:
        return [relation.segment_id for relation in graph.relations]

    @override
    def counts(self, graph: DocumentGraph) -> Mapping[str, int]:
        return {"RELATES_TO": len(graph.relations)}

    @override
    def list_embedded(self, graph: DocumentGraph) -> Sequence[Embedded]:
        return [
            Embedded("relations", graph.relations, graph.relation_embeddings),
            Embedded("names of relations' ends", graph.ends, graph.end_embeddings),
        ]

    @override
    def create(self, write: DocumentWrite, graphs: Sequence[DocumentGraph]) -> None:
        relation_writes.save_relations(write.run, write.create, write.find_near, graphs, write.parted)
        write.parted = set()

    @override
    def remove(self, write: DocumentWrite, document_ids: Sequence[str]) -> None:
        write.parted |= relation_writes.delete_relations(write.run, document_ids)

    @override
    def remove_layers(self, write: DocumentWrite, document_ids: Sequence[str], layers: Collection[str]) -> None:
        self.remove(write, document_ids)
        if remove_mentions(write, document_ids, lambda kind: kind == OPEN_KIND):
            write.run("write/delete_open_mentions", document_ids=document_ids, kind=OPEN_KIND)

    def remove_unnamed(self, write: DocumentWrite, graphs: Sequence[DocumentGraph]) -> None:
        """Delete stored relations with an entity that their segment does not mention any more; refuse such new ones.

        Raises:
            StoreError: the segment of a new relation does not mention both entities.
        """
        document_ids = [graph.document.id for graph in graphs]
        named = read_mention_pairs(write.run, document_ids)
        for graph in graphs:
            relation_writes.check_mentions(graph, named)
        unnamed = [
            relation
            for of_document in read_relations(write.run, document_ids).values()
            for relation in of_document
            if not {(relation.segment_id, relation.source_id), (relation.segment_id, relation.target_id)} <= named
        ]
        write.parted |= relation_writes.delete_relations(write.run, document_ids, unnamed)

    @override
    def read(self, run: Run, document_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        stored = read_relations(run, document_ids)
        ends = list_ends(relation for relations in stored.values() for relation in relations)
        embedding_rows = run("read/list_relation_embeddings", document_ids=list(document_ids)) if ends else []
        embedded = rows.group_by_document(embedding_rows, document_ids)
        end_rows = run("read/list_end_embeddings", entity_ids=list(ends)) if ends else []
        embedded_ends = {row["id"]: row for row in end_rows}
        return {
            document_id: {
                "relations": tuple(relations),
                "relation_embeddings": rows.decode_embeddings(embedded[document_id]),
                "end_embeddings": rows.decode_embeddings(
                    embedded_ends[end] for end in list_ends(relations) if end in embedded_ends
                ),
            }
            for document_id, relations in stored.items()
        }

    @override
    def encode(self, graph: DocumentGraph, places: Places) -> dict[str, Any]:
        names = places.names
        return {
            "relations": [
                [places.segments[item.segment_id], names[item.source_id], names[item.target_id], item.description]
                for item in graph.relations
            ],
            "relation_embeddings": pack(graph.relation_embeddings),
            "ends": [names[end] for end in graph.ends],
            "end_embeddings": pack(graph.end_embeddings),
        }

    @override
    def decode(self, archived: Mapping[str, Any], ids: Ids) -> dict[str, Any]:
        relations = [_relation(ids, *row) for row in archived["relations"]]
        by_id = sorted(range(len(relations)), key=lambda place: relations[place].id)
        end_ids = [ids.entity(normal) for normal in archived["ends"]]
        in_order = sorted(range(len(end_ids)), key=end_ids.__getitem__)  # the order of ids depends on the namespace
        if [end_ids[place] for place in in_order] != list(list_ends(relations)):
            raise ValueError("the embedded names are not those of the relations' ends")
        return {
            "relations": tuple(relations[place] for place in by_id),
            "relation_embeddings": unpack(archived["relation_embeddings"])[by_id],
            "end_embeddings": unpack(archived["end_embeddings"])[in_order],
        }


def read_mention_pairs(run: Run, document_ids: Sequence[str]) -> set[tuple[str, str]]:
    """Return (segment id, entity id) of all mentions of these documents."""
    mentions = chain.from_iterable(read_mentions(run, document_ids).values())
    return {(mention.segment_id, mention.entity_id) for mention in mentions}


def _relation(ids: Ids, segment: int, source: str, target: str, description: str) -> Relation:
    segment_id = ids.node(0, segment)
    ends = ids.entity(source), ids.entity(target)
    return Relation(relation_id(ids.namespace, segment_id, *ends, description), *ends, description, segment_id)
