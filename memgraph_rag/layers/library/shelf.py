"""What the library's builder knows of a memory: documents with their vectors, and what they say.

It reads the graph by its contract, once. Invariants: nothing here depends on ids, which differ from namespace to
namespace, nor on the order of writing; echoes are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from memgraph_rag.contracts import Embedder, MemoryGraph
from memgraph_rag.layers.balanced_groups import mean_vector
from memgraph_rag.layers.extracts import Line, cut, first_sentence
from memgraph_rag.layers.library.tree import LibraryTree, Member
from memgraph_rag.types import DocumentRecord, IndexedSegment, Node, Overview, Vector, as_line

__all__ = ["Shelf", "cosine"]

_TITLE_CHARACTERS = 160
_DECIMALS = 6  # of cosines that are compared: what differs less is a tie


@dataclass(frozen=True, slots=True)
class Shelf:
    """The documents of a memory that can be read.

    Attributes:
        documents: by id; the key of each is the document's own, with the hash of its content.
        titles: by document id, on one line.
        segments: embeddings by segment id.
    """

    documents: dict[str, Member]
    titles: dict[str, str]
    segments: dict[str, Vector]

    @classmethod
    def of(cls, graph: MemoryGraph) -> Shelf:
        """All documents with a segment that is evidence."""
        segments = defaultdict[str, list[IndexedSegment]](list)
        for segment in graph.indexed_segments(since=-1):
            if not segment.echo:
                segments[segment.document_id].append(segment)
        records = [record for record in graph.documents() if record.id in segments]
        return cls(
            {record.id: _document(record, segments[record.id]) for record in records},
            {record.id: as_line(record.title) for record in records},
            {segment.id: segment.embedding for own in segments.values() for segment in own},
        )

    def tree(self, overviews: Iterable[Overview]) -> LibraryTree:
        """The library that is there, as far as it is one.

        Left out is an overview with a document that was forgotten since it was listed, or that lies under another one
        of that level, as where two processes built at once; and what lies over such an overview.
        """
        tree = LibraryTree()
        for member in self.documents.values():
            tree.put(0, member)
        above = {name: name for name in self.documents}  # of each document what is known to lie over it, the highest
        torn: set[str] = set()
        for overview in sorted(overviews, key=lambda overview: overview.level):
            below = {above.get(name, "") for name in overview.documents}
            if torn.isdisjoint(overview.documents) and below <= tree.levels[overview.level - 1].keys():
                tree.put(overview.level, self.member(overview), below)
                above |= dict.fromkeys(overview.documents, overview.id)
            else:
                torn.update(overview.documents)
        return tree

    def member(self, overview: Overview) -> Member:
        """An overview, as the level above it sees it."""
        return Member(overview.id, overview.key, overview.documents, self.centre(overview.documents))

    def centre(self, documents: Sequence[str]) -> Vector:
        """Mean of these documents' vectors, of length 1; the same in whatever order they are."""
        members = sorted((self.documents[document_id] for document_id in documents), key=lambda member: member.key)
        return mean_vector(np.stack([member.vector for member in members]))

    def title(self, documents: Sequence[str], centre: Vector) -> str:
        """The titles of these documents, the most central first, as many as a heading holds."""
        ranked = sorted(documents, key=lambda name: (-cosine(self.documents[name].vector, centre), self.titles[name]))
        title = ""
        for text in dict.fromkeys(self.titles[name] for name in ranked):
            longer = f"{title}; {text}" if title else cut(text, _TITLE_CHARACTERS)
            if text and len(longer) <= _TITLE_CHARACTERS:
                title = longer
        return title

    def vectors(self, nodes: Sequence[Node], embedder: Embedder) -> dict[str, Vector]:
        """The vectors of nodes of documents: stored ones of segments; of points, which no scan gives, new ones."""
        others = [node for node in nodes if node.id not in self.segments]
        rows = embedder.embed([node.text for node in others]) if others else []
        new = {node.id: row for node, row in zip(others, rows, strict=True)}
        return new | {node.id: self.segments[node.id] for node in nodes if node.id in self.segments}

    def line(self, node: Node, vector: Vector) -> Line:
        """How a segment or point begins, under the title of its document."""
        title, text = self.titles[node.document_id], first_sentence(node.text)
        return Line(node.id, text if text.startswith(title) else ": ".join(filter(None, [title, text])), vector)


def cosine(vector: Vector, other: Vector) -> float:
    """Of two vectors of length 1; what differs less than its rounding is a tie."""
    return round(float(vector @ other), _DECIMALS)


def _document(record: DocumentRecord, segments: Sequence[IndexedSegment]) -> Member:
    vector = mean_vector(np.stack([segment.embedding for segment in segments]))
    return Member(record.id, f"{record.key}\n{record.sha256}", (record.id,), vector)
