"""The shelf: the documents of a memory with their vectors, titles and first lines, for the library's builder.

The module reads the graph by its contract, once. Invariants: results depend neither on ids, which differ between
namespaces, nor on the order of writing; echoes are left out.
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

_TITLE_CHARACTERS = 160
_DECIMALS = 6  # of compared cosines: smaller differences are ties


@dataclass(frozen=True, slots=True)
class Shelf:
    """The documents of a memory that can be arranged into a library, with their titles and embeddings.

    Attributes:
        documents: members by document id; a member's key is the document's key and the hash of its content.
        titles: titles by document id, on one line.
        segments: embeddings by segment id.
    """

    documents: dict[str, Member]
    titles: dict[str, str]
    segments: dict[str, Vector]

    @classmethod
    def read(cls, graph: MemoryGraph) -> Shelf:
        """Read all documents with at least one segment that is not an echo."""
        segments = defaultdict[str, list[IndexedSegment]](list)
        for segment in graph.list_indexed_segments(since=-1):
            if not segment.echo:
                segments[segment.document_id].append(segment)
        records = [record for record in graph.documents() if record.id in segments]
        return cls(
            {record.id: _make_member(record, segments[record.id]) for record in records},
            {record.id: as_line(record.title) for record in records},
            {segment.id: segment.embedding for own in segments.values() for segment in own},
        )

    def tree(self, overviews: Iterable[Overview]) -> LibraryTree:
        """Return the consistent part of the existing library as a tree, with all documents of the shelf at level 0.

        An overview is left out if one of its documents was forgotten or is already under another overview of that level
        (two processes may build at once), and so is every overview above it.
        """
        tree = LibraryTree()
        for member in self.documents.values():
            tree.put(0, member)
        above = {name: name for name in self.documents}  # the highest overview found above each document
        broken: set[str] = set()
        for overview in sorted(overviews, key=lambda overview: overview.level):
            below = {above.get(name, "") for name in overview.documents}
            if broken.isdisjoint(overview.documents) and below <= tree.levels[overview.level - 1].keys():
                tree.put(overview.level, self.member(overview), below)
                above |= dict.fromkeys(overview.documents, overview.id)
            else:
                broken.update(overview.documents)
        return tree

    def member(self, overview: Overview) -> Member:
        """Return an overview as a member of its level; its documents must be on the shelf."""
        return Member(overview.id, overview.key, overview.documents, self.centre(overview.documents))

    def centre(self, documents: Sequence[str]) -> Vector:
        """Return (d,) the mean vector of the documents with these ids, scaled to length 1; their order is ignored."""
        members = sorted((self.documents[document_id] for document_id in documents), key=lambda member: member.key)
        return mean_vector(np.stack([member.vector for member in members]))

    def title(self, documents: Sequence[str], centre: Vector) -> str:
        """Return the titles of these documents joined by "; ", most central first, as many as fit 160 characters.

        A title that no longer fits is skipped, and a shorter one may follow. If the first title is too long, it is cut.
        Equal titles count once, empty ones do not count.
        """
        ranked = sorted(documents, key=lambda name: (-cosine(self.documents[name].vector, centre), self.titles[name]))
        title = ""
        for text in dict.fromkeys(self.titles[name] for name in ranked):
            longer = f"{title}; {text}" if title else cut(text, _TITLE_CHARACTERS)
            if text and len(longer) <= _TITLE_CHARACTERS:
                title = longer
        return title

    def vectors(self, nodes: Sequence[Node], embedder: Embedder) -> dict[str, Vector]:
        """Return the vectors of nodes by id: stored vectors of segments, and new embeddings of all other nodes."""
        others = [node for node in nodes if node.id not in self.segments]
        rows = embedder.embed([node.text for node in others]) if others else []
        new = {node.id: row for node, row in zip(others, rows, strict=True)}
        return new | {node.id: self.segments[node.id] for node in nodes if node.id in self.segments}

    def line(self, node: Node, vector: Vector) -> Line:
        """Return the first sentence of a segment or point, after the title of its document."""
        title, text = self.titles[node.document_id], first_sentence(node.text)
        return Line(node.id, text if text.startswith(title) else ": ".join(filter(None, [title, text])), vector)


def cosine(vector: Vector, other: Vector) -> float:
    """Return the cosine of two vectors of length 1, rounded so that nearly equal cosines are ties."""
    return round(float(vector @ other), _DECIMALS)


def _make_member(record: DocumentRecord, segments: Sequence[IndexedSegment]) -> Member:
    vector = mean_vector(np.stack([segment.embedding for segment in segments]))
    return Member(record.id, f"{record.key}\n{record.sha256}", (record.id,), vector)
