"""Sections with their CONTAINS edges, the rows of the layer ``outline``.

Invariant: the sections of a document are the complete outline that follows from their starts and levels. Their edges to
segments are the leaves of the outline.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, ClassVar

from pydantic import Field
from typing_extensions import NotRequired, TypedDict, override

from memgraph_rag.stores.layer_rows.archived import Ids, Number, Places
from memgraph_rag.stores.layer_rows.kind import DocumentWrite, RowKind, require
from memgraph_rag.stores.shared import rows
from memgraph_rag.stores.shared.graph_reads import Run, read_sections
from memgraph_rag.types import DocumentGraph, Heading, Leaf, Section, list_leaves, make_sections


class ArchivedSections(TypedDict):
    """Sections as (start, end, level, title, is abstract); absent if there are none."""

    sections: NotRequired[list[tuple[Number, Number, Annotated[Number, Field(ge=1)], str, bool]]]


class SectionRows(RowKind):
    """Checks, stores, reads and archives sections and their CONTAINS edges."""

    layer: ClassVar[str] = "outline"
    fields: ClassVar[tuple[str, ...]] = ("sections",)

    @override
    def check(self, graph: DocumentGraph, *, namespace: str) -> None:
        sections, document_id = graph.sections, graph.document.id
        if not sections:
            return
        length = max((segment.end for segment in graph.segments if not segment.echo), default=0)
        headings = (Heading(item.start, item.level, item.title, item.is_abstract) for item in sections)
        expected = make_sections(namespace, document_id, headings, length=length)
        require(
            graph,
            {
                "an outline from the beginning on": sections[0].start == 0,
                "sections in the order of the document": all(a.start <= b.start for a, b in pairwise(sections)),
                "sections that begin in the evidence": all(section.start < length for section in sections),
                "sections whose ids, ends and parents follow from where they begin": sections == expected,
            },
        )

    @override
    def texts(self, graph: DocumentGraph) -> Iterable[str]:
        return [text for section in graph.sections for text in (section.id, section.title)]

    @override
    def segment_ids(self, graph: DocumentGraph) -> Iterable[str]:
        return [leaf.segment_id for leaf in _leaves(graph)]

    @override
    def counts(self, graph: DocumentGraph) -> Mapping[str, int]:
        children = sum(bool(section.parent_id) for section in graph.sections)
        return {"Section": len(graph.sections), "CONTAINS": children + len(_leaves(graph))}

    @override
    def create(self, write: DocumentWrite, graphs: Sequence[DocumentGraph]) -> None:
        leaves = [leaf for graph in graphs for leaf in _leaves(graph)]
        sections = [section for graph in graphs for section in graph.sections]
        write.create("write/create_sections", _columns(sections, leaves))
        children = [section for section in sections if section.parent_id]
        of_sections = [(item.parent_id, item.id, item.start, item.end) for item in children]
        of_segments = [(leaf.section_id, leaf.segment_id, leaf.start, leaf.end) for leaf in leaves]
        write.create("write/link_sections_to_sections", _edge_columns(of_sections))
        write.create("write/link_sections_to_segments", _edge_columns(of_segments))

    @override
    def remove(self, write: DocumentWrite, document_ids: Sequence[str]) -> None:
        write.run("write/delete_sections", document_ids=document_ids)

    @override
    def remove_layers(self, write: DocumentWrite, document_ids: Sequence[str], layers: Collection[str]) -> None:
        self.remove(write, document_ids)

    @override
    def read(self, run: Run, document_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        stored = read_sections(run, document_ids)
        return {document_id: {"sections": tuple(sections)} for document_id, sections in stored.items()}

    @override
    def encode(self, graph: DocumentGraph, places: Places) -> dict[str, Any]:
        if not graph.sections:  # a version without sections can then read the archive
            return {}
        encoded = [[item.start, item.end, item.level, item.title, item.is_abstract] for item in graph.sections]
        return {"sections": encoded}

    @override
    def decode(self, archived: Mapping[str, Any], ids: Ids) -> dict[str, Any]:
        encoded = archived.get("sections", ())
        headings = [Heading(start, level, title, is_abstract) for start, _, level, title, is_abstract in encoded]
        length = max((end for _, end, *_ in encoded), default=0)
        return {"sections": make_sections(ids.namespace, ids.document, headings, length=length)}


def _leaves(graph: DocumentGraph) -> list[Leaf]:
    return list_leaves(graph.sections, graph.segments)


def _columns(sections: Sequence[Section], leaves: Sequence[Leaf]) -> rows.Columns:
    """Return sections as columns. ``parts`` counts the edges that leave a section: a check finds lost edges by it."""
    parts = dict.fromkeys((section.id for section in sections), 0)
    for parent_id in (*(leaf.section_id for leaf in leaves), *(item.parent_id for item in sections if item.parent_id)):
        parts[parent_id] += 1
    names = ("id", "document_id", "index", "level", "title", "start", "end", "parent_id", "is_abstract")
    captions = [rows.caption(item.name) for item in sections]
    return rows.field_columns(sections, *names) | {"name": captions, "parts": list(parts.values())}


def _edge_columns(edges: Sequence[tuple[str, str, int, int]]) -> rows.Columns:
    names = ("source_id", "target_id", "start", "end")
    return {name: [edge[place] for edge in edges] for place, name in enumerate(names)}
