"""Mentions and titles, the rows of the layer ``entities``, and the entities that follow from them.

The layer ``relations`` also finds mentions, of the kind ``OPEN_KIND``. They are deleted with that layer, but checked,
stored, read and archived here. Invariants: the fields of an entity follow from its mentions and titles, and it is
deleted with the last of them. The text at the position of a mention is its surface.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from typing_extensions import TypedDict, override

from memgraph_rag.display import show
from memgraph_rag.errors import StoreError
from memgraph_rag.stores.layer_rows.archived import Ids, Number, Places
from memgraph_rag.stores.layer_rows.kind import DocumentWrite, RowKind, require
from memgraph_rag.stores.shared import rows
from memgraph_rag.stores.shared.graph_reads import Run, read_mentions, read_titles
from memgraph_rag.types import OPEN_KIND, DocumentGraph, Mention, Title, entity_id


class ArchivedNames(TypedDict):
    """Mentions as (segment, start, end, surface, normal, kind), titles as (normal, surface)."""

    mentions: list[tuple[Number, Number, Number, str, str, str]]
    titles: list[tuple[str, str]]


class NameRows(RowKind):
    """Checks, stores, reads and archives mentions and titles, and updates the entities that they name."""

    layer: ClassVar[str] = "entities"
    fields: ClassVar[tuple[str, ...]] = ("mentions", "titles")

    @override
    def list_layers(self, graph: DocumentGraph) -> set[str]:
        has_rows = graph.titles or any(mention.kind != OPEN_KIND for mention in graph.mentions)
        return {self.layer} if has_rows else set()

    @override
    def check(self, graph: DocumentGraph, *, namespace: str) -> None:
        named = (*graph.mentions, *graph.titles)
        require(
            graph,
            {
                "names of at least one character": all(item.normal.strip() and item.surface.strip() for item in named),
                "each entity once in the title": rows.are_distinct(item.entity_id for item in graph.titles),
            },
        )
        _check_ids(graph, namespace)
        _check_places(graph)

    @override
    def texts(self, graph: DocumentGraph) -> Iterable[str]:
        texts = [text for named in (*graph.mentions, *graph.titles) for text in (named.normal, named.surface)]
        return texts + [mention.kind for mention in graph.mentions]

    @override
    def segment_ids(self, graph: DocumentGraph) -> Iterable[str]:
        return [mention.segment_id for mention in graph.mentions]

    @override
    def counts(self, graph: DocumentGraph) -> Mapping[str, int]:
        return {"MENTIONS": len(graph.mentions), "TITLED": len(graph.titles)}

    @override
    def create(self, write: DocumentWrite, graphs: Sequence[DocumentGraph]) -> None:
        """Store mentions and titles, then create or update the entities that they affect.

        The node of an entity holds the count of each written form. So the cost of a write depends only on the mentions
        that it adds and removes, not on all mentions of its entities.
        """
        new_writings, removed = rows.writings(graphs), write.removed_writings
        touched = sorted(
            entity for entity in new_writings.keys() | removed.keys() if new_writings.get(entity) != removed.get(entity)
        )
        surface_rows = write.run("read/find_surfaces", entity_ids=touched) if touched else []
        normals = {named.entity_id: named.normal for graph in graphs for named in (*graph.mentions, *graph.titles)}
        normals |= {row["id"]: row["normal"] for row in surface_rows}
        stored = {row["id"]: rows.decode_surfaces(row) for row in surface_rows}
        none: Counter[tuple[str, str]] = Counter()
        writings = {
            entity: stored.get(entity, none) - removed.get(entity, none) + new_writings.get(entity, none)
            for entity in touched
        }
        new = {entity: writing for entity, writing in writings.items() if writing and entity not in stored}
        known = {entity: writing for entity, writing in writings.items() if writing and entity in stored}
        write.unnamed += [entity for entity, writing in writings.items() if not writing]
        write.removed_writings = {}
        write.create("write/create_entities", rows.entity_columns(new, normals))
        write.create("write/save_entities", rows.entity_columns(known, normals))
        write.create("write/link_names", rows.name_columns(graphs))

    @override
    def remove(self, write: DocumentWrite, document_ids: Sequence[str]) -> None:
        """Count the written forms of entities in the documents; the edges are deleted with segments and documents."""
        surface_rows = write.run("read/count_surfaces", document_ids=document_ids)
        rows.add_writings(write.removed_writings, rows.decode_writings(surface_rows))

    @override
    def remove_layers(self, write: DocumentWrite, document_ids: Sequence[str], layers: Collection[str]) -> None:
        if remove_mentions(write, document_ids, lambda kind: kind != OPEN_KIND):
            write.run("write/delete_mentions", document_ids=document_ids, kind=OPEN_KIND)
            write.run("write/delete_titles", document_ids=document_ids)

    @override
    def read(self, run: Run, document_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        mentions, titles = read_mentions(run, document_ids), read_titles(run, document_ids)
        return {
            document_id: {"mentions": tuple(mentions[document_id]), "titles": tuple(titles[document_id])}
            for document_id in document_ids
        }

    @override
    def encode(self, graph: DocumentGraph, places: Places) -> dict[str, Any]:
        return {
            "mentions": [
                [places.segments[item.segment_id], item.start, item.end, item.surface, item.normal, item.kind]
                for item in graph.mentions
            ],
            "titles": [[item.normal, item.surface] for item in graph.titles],
        }

    @override
    def decode(self, archived: Mapping[str, Any], ids: Ids) -> dict[str, Any]:
        titles = [Title(ids.entity(normal), normal, surface) for normal, surface in archived["titles"]]
        return {
            "mentions": tuple(
                Mention(ids.entity(normal), normal, kind, surface, ids.node(0, segment), start, end)
                for segment, start, end, surface, normal, kind in archived["mentions"]
            ),
            "titles": tuple(sorted(titles, key=lambda title: (title.entity_id, title.surface))),
        }


def remove_mentions(write: DocumentWrite, document_ids: Sequence[str], is_wanted: Callable[[str], bool]) -> bool:
    """Note the mentions and titles of documents that the caller will delete; return whether there are any.

    Args:
        is_wanted: receives the kind of a mention, or ``TITLE_KIND``; returns whether it will be deleted.
    """
    surface_rows = write.run("read/count_surfaces", document_ids=document_ids)
    writings = rows.decode_writings(row for row in surface_rows if is_wanted(row["kind"]))
    rows.add_writings(write.removed_writings, writings)
    return bool(writings)


def _check_ids(graph: DocumentGraph, namespace: str) -> None:
    for named in (*graph.mentions, *graph.titles):
        if named.entity_id != entity_id(namespace, named.normal):  # else two namespaces could share an entity
            raise StoreError(
                f"Expected the id of entity {show(named.normal)} to be made of namespace {show(namespace)} and that "
                f"name, got {named.entity_id} in document {show(graph.document.key)}. Use entity_id(namespace, "
                "normal).",
                entity_id=named.entity_id,
                normal=named.normal,
            )


def _check_places(graph: DocumentGraph) -> None:
    segments = {segment.id: segment for segment in graph.segments}
    for mention in graph.mentions:
        segment = segments.get(mention.segment_id)
        if segment is None or not segment.start <= mention.start < mention.end <= segment.end:
            where = "a missing segment" if segment is None else f"[{segment.start}, {segment.end})"
            raise StoreError(
                f"Expected mentions within the segments of document {show(graph.document.key)}, got "
                f"{show(mention.surface)} at [{mention.start}, {mention.end}) in {where}. Count the document's "
                "characters.",
                mention=mention,
            )
        if segment.text[mention.start - segment.start : mention.end - segment.start] != mention.surface:
            raise StoreError(
                f"Expected the surface of a mention in the text of document {show(graph.document.key)}, got "
                f"{show(mention.surface)} at [{mention.start}, {mention.end}), where the text differs. Count the "
                "document's characters.",
                mention=mention,
            )
