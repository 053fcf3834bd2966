"""Overviews in an archive: by names and places instead of ids, so that they may go into another namespace.

It knows no file. Invariants: what is packed and unpacked is the same; an overview passes only where all on which it
rests is among the documents of the archive; of what overviews rest on, little is in memory at a time.
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

__all__ = ["OVERVIEW_FORM", "ArchivedIds", "decode", "encode_all", "joined"]


class _Encoded(TypedDict):
    """An overview; documents by key, entities by normal form, segments by (key of their document, index)."""

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
    """All overviews that rest on no other documents than these, the lowest level first, in the form of an archive.

    One that goes while they are read is left out, and with it what lies over it.

    Args:
        as_of: version of the namespace. What rests on a document that was written later is left out: the document may
            have been read before that.
    """
    allowed = None if document_ids is None else frozenset(document_ids)
    version, written = as_of, frozenset[str]()
    for overviews in all_overviews(store):
        encoded = list(
            _encoded(store, [item for item in overviews if allowed is None or allowed.issuperset(item.documents)])
        )
        if (now := store.version()) != version:  # after all that was read of them
            version, written = now, frozenset(record.id for record in store.written_documents(since=as_of))
        yield from (row for overview, row in encoded if written.isdisjoint(overview.documents))


def _encoded(store: GraphStore, overviews: Sequence[Overview]) -> Iterator[tuple[Overview, dict[str, Any]]]:
    """Those of these overviews that are still there, each with its form."""
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
    unchanged = store.nodes(overview_ids)  # after what they rest on: a write that takes that away takes these too
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
    """The keys of these documents by id, of which many have no room in memory as whole records."""
    starts = range(0, len(document_ids), _RECORDS_TOGETHER)
    parts = (document_ids[start : start + _RECORDS_TOGETHER] for start in starts)
    return {record.id: record.key for part in parts for record in store.documents(part)}


def _place(span: Span, node: object, keys: dict[str, str]) -> list[Any]:
    assert isinstance(node, Segment)
    return [keys[node.document_id], node.index, span.start, span.end]


def decode(encoded: _Encoded, namespace: str) -> OverviewRows:
    """The overview with its edges, and the ids that they have in a namespace."""
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
    """The ids, in the namespace "", of all that an archive was seen to hold so far.

    They are in a file that has no name, of which some MiB are in memory: of a million segments they would take 500.
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
        """Remove them."""
        self._database.close()

    def has_document(self, document_id: str) -> bool:
        """Whether that document was noted."""
        return self._characters(document_id, _DOCUMENT) is not None

    def add(self, graph: DocumentGraph) -> None:
        """Note what a document holds."""
        others = {point.id for point in graph.points}
        others |= {item.entity_id for item in (*graph.mentions, *graph.titles)}
        self._note((segment.id, _SEGMENT, segment.start, segment.end) for segment in graph.segments)
        self._note((other, _OTHER, 0, 0) for other in sorted(others))
        self._note([(graph.document.id, _DOCUMENT, 0, 0)])

    def check(self, rows: OverviewRows) -> None:
        """Refuse an overview of which something is not among these; else note it.

        Raises:
            StoreError: it rests on something else, or could not be stored.
        """
        check_overviews(rows, namespace="")
        (overview,) = rows.overviews
        spans = [span for finding in overview.findings for span in finding.spans]
        known = (
            all(map(self.has_document, overview.documents))
            and all(self._characters(member, _OTHER) for member in overview.entities)
            and all(self._characters(edge.target_id, _SEGMENT, _OTHER) for edge in rows.summarizes)
            and all(_lies_in(span, self._characters(span.segment_id, _SEGMENT)) for span in spans)
            and not self._characters(overview.id, _OTHER)
        )
        if not known:
            raise StoreError(
                "Expected overviews of documents, nodes and entities that the archive holds before them, each once, "
                f"got another, of layer {show(overview.layer)}. Export the memory again."
            )
        self._note([(overview.id, _OTHER, 0, 0)])

    def _note(self, noted: Iterable[tuple[str, str, int, int]]) -> None:
        self._database.execute("BEGIN")
        self._database.executemany("INSERT OR IGNORE INTO ids VALUES (?, ?, ?, ?)", noted)
        self._database.execute("COMMIT")

    def _characters(self, node_id: str, *kinds: str) -> tuple[int, int] | None:
        """The characters of a segment of that id, or of what else is of one of these kinds; None where nothing is."""
        row = self._database.execute("SELECT kind, first, last FROM ids WHERE id = ?", (node_id,)).fetchone()
        return (row[1], row[2]) if row is not None and row[0] in kinds else None


def _lies_in(span: Span, characters: tuple[int, int] | None) -> bool:
    return characters is not None and characters[0] <= span.start <= span.end <= characters[1]


def joined(parts: Iterable[OverviewRows]) -> OverviewRows:
    """The rows of several parts as one."""
    listed = list(parts)
    return OverviewRows(
        tuple(overview for part in listed for overview in part.overviews),
        tuple(edge for part in listed for edge in part.summarizes),
    )
