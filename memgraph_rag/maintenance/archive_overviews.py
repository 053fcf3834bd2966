"""Encodes and decodes overviews for an archive, with names and positions in place of ids.

Without ids an overview can go into another namespace. It knows no file. Invariants: decoding an encoded overview
returns an equal overview. An overview is accepted only if the archive holds all nodes and documents it depends on. Only
a small part of these is in memory at a time.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pydantic import ConfigDict, TypeAdapter
from typing_extensions import TypedDict

from memgraph_rag.contracts import GraphStore
from memgraph_rag.display import show
from memgraph_rag.errors import StoreError
from memgraph_rag.ingestion.all_overviews import all_overviews
from memgraph_rag.stores.layer_rows.archived import Finite, Ids, Number
from memgraph_rag.stores.shared.overview_writes import check_overviews
from memgraph_rag.types import (
    DocumentGraph,
    Finding,
    Overview,
    OverviewRows,
    PointLayer,
    Segment,
    Span,
    Summarizes,
    entity_id,
    overview_id,
)


class _Encoded(TypedDict):
    """An overview as one line: keys name documents, normal forms name entities, (document key, index) name segments."""

    __pydantic_config__ = ConfigDict(strict=True, extra="forbid")  # pyright: ignore[reportGeneralTypeIssues]

    layer: str
    key: str
    level: Number
    title: str
    text: str
    tokens: Number
    rating: Finite
    documents: list[str]
    entities: list[str]
    findings: list[tuple[str, list[tuple[str, Number, Number, Number]]]]
    nodes: list[tuple[str, PointLayer, Number, Number, Finite]]
    overviews: list[tuple[str, str, Finite]]


OVERVIEW_FORM = TypeAdapter(_Encoded)

_DOCUMENT, _SEGMENT, _OTHER = "document", "segment", "other"  # kinds of ids; other: a point, an entity, an overview

_CACHED_KIB = 16_384

_RECORDS_TOGETHER = 1_000

_SCALARS = ("layer", "key", "level", "title", "text", "tokens", "rating")


def encode_all(store: GraphStore, document_ids: Sequence[str] | None, *, as_of: int) -> Iterator[dict[str, Any]]:
    """Yield the encoded overviews that depend only on these documents (None: on any), the lowest level first.

    An overview that is removed during the reading is left out, together with the overviews above it.

    Args:
        as_of: a version of the namespace. An overview of a document that was written after it is left out, because the
            document itself may have been read before that write.
    """
    allowed = None if document_ids is None else frozenset(document_ids)
    version, written = as_of, frozenset[str]()
    for overviews in all_overviews(store):
        encoded = list(
            _encode(store, [item for item in overviews if allowed is None or allowed.issuperset(item.documents)])
        )
        if (now := store.version()) != version:  # read after the overviews and their nodes
            version, written = now, frozenset(record.id for record in store.list_written_documents(since=as_of))
        yield from (row for overview, row in encoded if written.isdisjoint(overview.documents))


def _encode(store: GraphStore, overviews: Sequence[Overview]) -> Iterator[tuple[Overview, dict[str, Any]]]:
    """Yield each overview that is still stored, together with its encoded form."""
    overview_ids = [overview.id for overview in overviews]
    below: dict[str, list[Summarizes]] = defaultdict(list)
    for edge in store.successors(overview_ids):
        below[edge.source_id].append(edge)
    spans = (span.segment_id for overview in overviews for finding in overview.findings for span in finding.spans)
    targets = (edge.target_id for edges in below.values() for edge in edges)
    nodes = {node.id: node for node in store.nodes(list(dict.fromkeys([*spans, *targets])))}
    keys = _keys(store, sorted({document_id for overview in overviews for document_id in overview.documents}))
    members = {entity for overview in overviews for entity in overview.entities}
    normals = {entity.id: entity.normal for entity in store.entities(sorted(members))}
    unchanged = store.nodes(overview_ids)  # read after their nodes: a write that removes a node removes its overviews
    for overview in (overview for overview in overviews if overview in unchanged):
        edges = [(nodes[edge.target_id], edge.weight) for edge in below[overview.id]]
        yield (
            overview,
            {
                **{name: getattr(overview, name) for name in _SCALARS},
                "documents": sorted(keys[document_id] for document_id in overview.documents),
                "entities": sorted(normals[member] for member in overview.entities),
                "findings": [
                    [finding.text, [_place(span, nodes[span.segment_id], keys) for span in finding.spans]]
                    for finding in overview.findings
                ],
                "nodes": sorted(
                    [keys[node.document_id], getattr(node, "layer", "points"), node.level, node.index, weight]
                    for node, weight in edges
                    if not isinstance(node, Overview)
                ),
                "overviews": sorted(
                    [node.layer, node.key, weight] for node, weight in edges if isinstance(node, Overview)
                ),
            },
        )


def _keys(store: GraphStore, document_ids: Sequence[str]) -> dict[str, str]:
    """Return the keys of documents by id. Records are read in parts, because all records may not fit into memory."""
    starts = range(0, len(document_ids), _RECORDS_TOGETHER)
    parts = (document_ids[start : start + _RECORDS_TOGETHER] for start in starts)
    return {record.id: record.key for part in parts for record in store.documents(part)}


def _place(span: Span, node: object, keys: dict[str, str]) -> list[Any]:
    assert isinstance(node, Segment)
    return [keys[node.document_id], node.index, span.start, span.end]


def decode(encoded: _Encoded, namespace: str) -> OverviewRows:
    """Return an encoded overview with its edges. All ids are made for ``namespace``, from the names in the archive."""
    own_id = overview_id(namespace, encoded["layer"], encoded["key"])
    scalars: dict[str, Any] = {name: encoded[name] for name in _SCALARS}
    overview = Overview(
        id=own_id,
        documents=tuple(sorted(Ids(namespace, key).document for key in encoded["documents"])),
        entities=tuple(sorted(entity_id(namespace, normal) for normal in encoded["entities"])),
        findings=tuple(
            Finding(text, tuple(Span(Ids(namespace, key).node(0, at), start, end) for key, at, start, end in spans))
            for text, spans in encoded["findings"]
        ),
        **scalars,
    )
    edges = [
        Summarizes(own_id, Ids(namespace, key).node(level, index, layer=layer), weight)
        for key, layer, level, index, weight in encoded["nodes"]
    ]
    edges += [Summarizes(own_id, overview_id(namespace, *lower), weight) for *lower, weight in encoded["overviews"]]
    return OverviewRows((overview,), tuple(edges))


class ArchivedIds:
    """The ids, in the namespace "", of the documents, segments, points, entities and overviews read so far.

    They are in an SQLite file without a name, with a cache of some MiB; the ids of large archives do not fit into
    memory.
    """

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None)
        for statement in (
            "PRAGMA journal_mode = OFF",
            f"PRAGMA cache_size = {-_CACHED_KIB}",
            "CREATE TABLE ids (id TEXT PRIMARY KEY, kind TEXT, first INTEGER, last INTEGER) WITHOUT ROWID",
        ):
            self._database.execute(statement)

    def close(self) -> None:
        """Delete the file of ids. The object cannot be used any more."""
        self._database.close()

    def has_document(self, document_id: str) -> bool:
        """Return whether the document with this id was added before; False for an id of another kind."""
        return self._characters(document_id, _DOCUMENT) is not None

    def add(self, graph: DocumentGraph) -> None:
        """Add the ids of a document, its segments, its points and its entities."""
        others = {point.id for point in graph.points}
        others |= {item.entity_id for item in (*graph.mentions, *graph.titles)}
        self._note((segment.id, _SEGMENT, segment.start, segment.end) for segment in graph.segments)
        self._note((other, _OTHER, 0, 0) for other in sorted(others))
        self._note([(graph.document.id, _DOCUMENT, 0, 0)])

    def check(self, rows: OverviewRows) -> None:
        """Check that all documents and nodes of an overview were added before, then add its id.

        Raises:
            StoreError: a document or a node is missing, the overview comes twice, or it cannot be stored.
        """
        check_overviews(rows, namespace="")
        (overview,) = rows.overviews
        spans = [span for finding in overview.findings for span in finding.spans]
        is_complete = (
            all(map(self.has_document, overview.documents))
            and all(self._characters(member, _OTHER) for member in overview.entities)
            and all(self._characters(edge.target_id, _SEGMENT, _OTHER) for edge in rows.summarizes)
            and all(
                (place := self._characters(span.segment_id, _SEGMENT))
                and place[0] <= span.start <= span.end <= place[1]
                for span in spans
            )
            and not self._characters(overview.id, _OTHER)
        )
        if not is_complete:
            raise StoreError(
                "Expected each overview once, after its documents, nodes and entities, got a repeated or incomplete "
                f"overview of layer {show(overview.layer)}. Export the memory again."
            )
        self._note([(overview.id, _OTHER, 0, 0)])

    def _note(self, rows: Iterable[tuple[str, str, int, int]]) -> None:
        self._database.execute("BEGIN")
        self._database.executemany("INSERT OR IGNORE INTO ids VALUES (?, ?, ?, ?)", rows)
        self._database.execute("COMMIT")

    def _characters(self, node_id: str, *kinds: str) -> tuple[int, int] | None:
        """Return the start and end of a segment in its document, (0, 0) for another kind of node; None if not added."""
        row = self._database.execute("SELECT kind, first, last FROM ids WHERE id = ?", (node_id,)).fetchone()
        return (row[1], row[2]) if row is not None and row[0] in kinds else None


def join_overviews(parts: Iterable[OverviewRows]) -> OverviewRows:
    """Return the overviews and edges of several parts as one, in order; all other fields are empty."""
    listed = list(parts)
    return OverviewRows(
        tuple(overview for part in listed for overview in part.overviews),
        tuple(edge for part in listed for edge in part.summarizes),
    )
