"""The overviews and documents of the library that a reading has reached, from the top overviews downwards.

The module knows graph and embedder by their contracts. Invariants: only nodes directly below a read overview are
reached; each overview is embedded once; the library is not used if only some documents may be read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from memgraph_rag.contracts import ReadingContext
from memgraph_rag.types import Hit, Node, Overview, Vector

__all__ = ["LibraryFrontier"]

_LAYER = "library"


class LibraryFrontier:
    """The overviews and documents that a reading has reached so far, at first the tops. Without a library it is falsy.

    Args:
        wanted: the query's embedding, with which everything reached is compared.

    Attributes:
        tops: the overviews without a parent: the root, or several while the library is stale.
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
        self.tops = _find_tops(overviews)
        self._covered = {document_id for top in self.tops for document_id in top.documents}
        self._missing_count = len(self.lacking(record.id for record in self._graph.documents())) if self.tops else 0
        self._reach(self.tops)

    def __bool__(self) -> bool:
        return bool(self.tops)

    @property
    def is_stale(self) -> bool:
        """Whether the library lacks documents of the memory; False without a library."""
        return self._missing_count > 0

    @property
    def note(self) -> str:
        """The text about the library in a trace, with the number of missing documents if the library is stale."""
        stale = f", stale: {self._missing_count} document{'s are' if self._missing_count > 1 else ' is'} not in it"
        return f"the library{stale if self._missing_count else ''}"

    def lacking(self, documents: Iterable[str]) -> list[str]:
        """Return, in order, those of the given document ids that no overview of the library covers.

        Without a library all are returned.
        """
        return [document_id for document_id in documents if document_id not in self._covered]

    def look_for(self, wanted: Vector) -> None:
        """Let ``hits`` compare with this embedding from now on, also what was reached before."""
        self._wanted = wanted

    def descend(self, nodes: Sequence[Node]) -> bool:
        """Reach the overviews directly below each library overview in ``nodes``; return whether ``nodes`` holds one.

        An overview of level 1 reaches its documents with all their nodes. Nodes of other layers are ignored.
        """
        overviews = [node for node in nodes if isinstance(node, Overview) and node.layer == _LAYER]
        for overview in overviews:
            if overview.level == 1:
                self._documents |= dict.fromkeys(overview.documents)
            below = set(overview.documents)
            self._reach([lower for lower in self._levels[overview.level - 1] if below.issuperset(lower.documents)])
        return bool(overviews)

    def hits(self) -> list[Hit]:
        """Return the cosine of every reached overview and of every node of a reached document, read or unread.

        The overviews come first, in the order in which they were reached. Empty without a library.
        """
        overviews = [Hit(name, float(vector @ self._wanted), "overview") for name, vector in self._vectors.items()]
        documents = list(self._documents)
        return overviews + (self._graph.similarities(self._wanted, documents=documents) if documents else [])

    def _reach(self, overviews: Sequence[Overview]) -> None:
        new = [overview for overview in overviews if overview.id not in self._vectors]
        if new:
            rows = self._embedder.embed([f"{overview.title}\n{overview.text}" for overview in new])
            self._vectors |= zip((overview.id for overview in new), rows, strict=True)


def _find_tops(overviews: Sequence[Overview]) -> list[Overview]:
    """Return the overviews without a parent. A document belongs to at most one overview of each level.

    Args:
        overviews: sorted by level, the highest first.
    """
    covered: set[str] = set()
    tops: list[Overview] = []
    for overview in overviews:
        if covered.isdisjoint(overview.documents):
            tops.append(overview)
            covered.update(overview.documents)
    return tops
