"""What a reading reaches from the tops of the library: overview below overview, then the nodes of documents.

It knows graph and embedder by their contracts. Invariants: only what lies directly below a read overview is reached;
each overview is embedded once; a library is left alone where only some documents may be read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from memgraph_rag.contracts import ReadingContext
from memgraph_rag.types import Hit, Node, Overview, Vector

__all__ = ["LibraryFrontier"]

_LAYER = "library"


class LibraryFrontier:
    """The overviews and documents that were reached so far; first the tops. Without a library it is empty, and false.

    Args:
        wanted: what everything reached is compared with.

    Attributes:
        tops: the overviews that lie under no other: the root, or several while the library is stale.
    """

    def __init__(self, context: ReadingContext, wanted: Vector) -> None:
        self._graph = context.graph
        self._embedder = context.embedder
        self._wanted = wanted
        overviews = context.graph.overviews(_LAYER) if context.documents is None else []
        self._levels = defaultdict[int, list[Overview]](list)
        for overview in overviews:
            self._levels[overview.level].append(overview)
        self._vectors: dict[str, Vector] = {}
        self._documents: dict[str, None] = {}
        self.tops = _tops(overviews)
        self._covered = {document_id for top in self.tops for document_id in top.documents}
        self._lacking = len(self.lacking(record.id for record in self._graph.documents())) if self.tops else 0
        self._reach(self.tops)

    def __bool__(self) -> bool:
        return bool(self.tops)

    @property
    def is_stale(self) -> bool:
        """Whether documents are not in the library."""
        return self._lacking > 0

    @property
    def note(self) -> str:
        """What a trace says of the library, and of how many documents are not in it where it is stale."""
        stale = f", stale: {self._lacking} document{'s are' if self._lacking > 1 else ' is'} not in it"
        return f"the library{stale if self._lacking else ''}"

    def lacking(self, documents: Iterable[str]) -> list[str]:
        """Those of these documents on which no overview rests."""
        return [document_id for document_id in documents if document_id not in self._covered]

    def look_for(self, wanted: Vector) -> None:
        """Compare with this from now on."""
        self._wanted = wanted

    def descend(self, nodes: Sequence[Node]) -> bool:
        """Reach what lies directly below the overviews of the library among these nodes; whether there are any."""
        overviews = [node for node in nodes if isinstance(node, Overview) and node.layer == _LAYER]
        for overview in overviews:
            if overview.level == 1:
                self._documents |= dict.fromkeys(overview.documents)
            below = set(overview.documents)
            self._reach([lower for lower in self._levels[overview.level - 1] if below.issuperset(lower.documents)])
        return bool(overviews)

    def hits(self) -> list[Hit]:
        """The cosine of everything reached, whether it was read or not."""
        overviews = [Hit(name, float(vector @ self._wanted), "overview") for name, vector in self._vectors.items()]
        documents = list(self._documents)
        return overviews + (self._graph.similarities(self._wanted, documents=documents) if documents else [])

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
