"""What a reading reaches from the tops of the library: overview below overview, then the nodes of documents.

It knows graph and embedder by their contracts. Invariants: only what lies directly below a read overview is reached;
each overview is embedded once; a library is left alone where only some documents may be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memgraph_rag.contracts import ReadingContext
from memgraph_rag.types import Hit, Node, Overview, Vector

__all__ = ["LibraryFrontier"]

_LAYER = "library"


class LibraryFrontier:
    """The overviews and documents that were reached so far; first the tops of the library."""

    def __init__(self, context: ReadingContext) -> None:
        self._graph = context.graph
        self._embedder = context.embedder
        overviews = context.graph.overviews(_LAYER) if context.documents is None else []
        self._by_level: dict[int, list[Overview]] = {}
        for overview in overviews:
            self._by_level.setdefault(overview.level, []).append(overview)
        self._vectors: dict[str, Vector] = {}
        self._documents: dict[str, None] = {}
        self.tops = _tops(overviews)
        self._covered = {document_id for top in self.tops for document_id in top.documents}
        self._reach(self.tops)

    def __bool__(self) -> bool:
        return bool(self.tops)

    def lacking(self, documents: Iterable[str]) -> list[str]:
        """Those of these documents on which no overview rests."""
        return [document_id for document_id in documents if document_id not in self._covered]

    def descend(self, nodes: Sequence[Node]) -> bool:
        """Reach what lies directly below the overviews of the library among these nodes; whether there are any."""
        overviews = [node for node in nodes if isinstance(node, Overview) and node.layer == _LAYER]
        for overview in overviews:
            below = set(overview.documents)
            if overview.level == 1:
                self._documents |= dict.fromkeys(overview.documents)
            self._reach([lower for lower in self._by_level.get(overview.level - 1, ()) if below.issuperset(lower.documents)])
        return bool(overviews)

    def hits(self, vector: Vector) -> list[Hit]:
        """The cosine of everything reached, whether it was read or not."""
        scored = [Hit(name, float(own @ vector), "overview") for name, own in self._vectors.items()]
        documents = list(self._documents)
        return scored + (self._graph.similarities(vector, documents=documents) if documents else [])

    def _reach(self, overviews: Sequence[Overview]) -> None:
        new = [overview for overview in overviews if overview.id not in self._vectors]
        if new:
            rows = self._embedder.embed([f"{overview.title}\n{overview.text}" for overview in new])
            self._vectors |= zip((overview.id for overview in new), rows, strict=True)


def _tops(overviews: Sequence[Overview]) -> list[Overview]:
    """Those that lie under no other; of each level a document lies under one at most.

    Args:
        overviews: the highest level first.
    """
    covered: set[str] = set()
    tops: list[Overview] = []
    for overview in overviews:
        if covered.isdisjoint(overview.documents):
            tops.append(overview)
            covered.update(overview.documents)
    return tops
