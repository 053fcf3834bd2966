"""The modes of search "hipporag" and "hipporag2": the searches of both papers over one namespace.

They know the namespace through the context of the search. Invariant: what is kept of the relations between two searches
is what the store holds when the search begins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from memgraph_rag.contracts import SearchContext
from memgraph_rag.search.segment_index import SegmentIndex
from memgraph_rag.systems.hipporag.relation_index import RelationIndex
from memgraph_rag.systems.hipporag.search import HippoSearch
from memgraph_rag.types import Evidence, Relation

__all__ = ["ChooseFacts", "FactWalk", "NameWalk"]

ChooseFacts = Callable[[Sequence[Relation]], Sequence[str] | None]
"""The ids of those of the nearest facts that bear on the question (recognition memory); None for all of them."""

_KEPT = "hipporag"


class NameWalk:
    """Finds the segments to which the names of a query lead: HippoRAG.

    Args:
        names: that the query holds; by default those that the recognizer finds there.
    """

    name = "hipporag"

    def __init__(self, names: Sequence[str] | None = None) -> None:
        self._names = names

    def find(self, query: str, context: SearchContext, /, *, k: int) -> list[Evidence]:
        """The k best segments; see ``SearchMode.find``.

        Evidence names its list "relations" or "names", by what the segment was known by. The score is what the walk
        brought to the segment; the cosine, where nothing of the query is known.

        Raises:
            SearchMemoryExceeded: the namespace is too large for memory.
        """
        with context.look() as (index, view):
            found = _search(context, index).by_names(query, view, k=k, names=self._names) if len(view.rows) else []
        return context.evidence(found)


class FactWalk:
    """Finds the segments to which the facts nearest to a query lead: HippoRAG 2.

    Args:
        choose: which of the five nearest facts count; without, all of them. It is called while nothing is locked.
    """

    name = "hipporag2"

    def __init__(self, choose: ChooseFacts | None = None) -> None:
        self._choose = choose

    def find(self, query: str, context: SearchContext, /, *, k: int) -> list[Evidence]:
        """The k best segments; as for ``NameWalk``."""
        chosen = None
        if self._choose is not None:
            with context.look() as (index, view):
                facts = _search(context, index).facts(query, view) if len(view.rows) else []
            chosen = self._choose(facts)
        with context.look() as (index, view):
            found = _search(context, index).by_facts(query, view, k=k, relations=chosen) if len(view.rows) else []
        return context.evidence(found)


def _search(context: SearchContext, index: SegmentIndex) -> HippoSearch:
    """Return the search of this namespace, which keeps its relations between two calls."""
    if _KEPT not in context.kept:
        relations = RelationIndex(context.graph, dimension=context.embedder.dimension, most_bytes=context.most_bytes)
        context.kept[_KEPT] = HippoSearch(
            index,
            relations,
            namespace=context.graph.namespace,
            embedder=context.embedder,
            recognizer=context.recognizer,
        )
    return context.kept[_KEPT]
