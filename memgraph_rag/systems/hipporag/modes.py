"""The modes of search "hipporag" and "hipporag2": the searches of both papers over one namespace.

They read the namespace through the context of the search. The triples stay in memory between searches. Invariant: at
the start of each search they equal the stored triples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from memgraph_rag.contracts import SearchContext
from memgraph_rag.search.segment_index import SegmentIndex
from memgraph_rag.systems.hipporag.name_graph import Edges, check_edges
from memgraph_rag.systems.hipporag.relation_index import RelationIndex
from memgraph_rag.systems.hipporag.search import HippoSearch
from memgraph_rag.types import Evidence, Relation

ChooseFacts = Callable[[Sequence[Relation]], Sequence[str] | None]
"""Takes the nearest facts and returns the ids of the facts that are relevant to the question; None means all facts.

HippoRAG 2 calls this step recognition memory.
"""

_KEPT = "hipporag"


class NameWalk:
    """The search of HippoRAG: a walk that starts at the names in the query.

    Args:
        names: the names in the query; by default the recognizer finds them.
        edges: how edges among names count: "released" or "once" (``name_graph.Edges``).

    Raises:
        SettingsError: ``edges`` is something else.
    """

    name = "hipporag"
    requires = ("triples",)

    def __init__(self, names: Sequence[str] | None = None, *, edges: Edges = "released") -> None:
        self._names = names
        self._edges: Edges = check_edges(edges)

    def find(self, query: str, context: SearchContext, /, *, k: int) -> list[Evidence]:
        """Return the k best segments, best first; see ``SearchMode.find``.

        ``Evidence.why`` has the rank under "relations" for a segment with triples, and under "names" for
        a segment without. The score is the mass that the walk brought to the segment. Segments that it did not
        reach fill the list up to k, by cosine; their score is 0. If no name of the query is known, all segments are
        ordered by the cosine, which is the score.

        Raises:
            SearchMemoryExceeded: the namespace is too large for memory.
        """
        with context.look() as (index, view):
            search = _search(context, index)
            found = search.rank_names(query, view, k=k, names=self._names, edges=self._edges) if len(view.rows) else []
        return context.evidence(found)


class FactWalk:
    """The search of HippoRAG 2: a walk that starts at the facts nearest to the query.

    Args:
        choose: chooses among the five nearest facts; by default all five count. It is called without a lock.
        edges: as for ``NameWalk``.

    Raises:
        SettingsError: ``edges`` is something else.
    """

    name = "hipporag2"
    requires = ("triples",)

    def __init__(self, choose: ChooseFacts | None = None, *, edges: Edges = "released") -> None:
        self._choose = choose
        self._edges: Edges = check_edges(edges)

    def find(self, query: str, context: SearchContext, /, *, k: int) -> list[Evidence]:
        """Return the k best segments, best first; see ``NameWalk.find``.

        The score is the cosine if the walk has no start: no fact counts and no name of the query is known, or
        ``choose`` was asked and chose none of the facts.
        """
        chosen = None
        if self._choose is not None:
            with context.look() as (index, view):
                facts = _search(context, index).facts(query, view, edges=self._edges) if len(view.rows) else []
            chosen = self._choose(facts)
        with context.look() as (index, view):
            search = _search(context, index)
            found = search.rank_facts(query, view, k=k, relations=chosen, edges=self._edges) if len(view.rows) else []
        return context.evidence(found)


def _search(context: SearchContext, index: SegmentIndex) -> HippoSearch:
    """Return the search of this namespace. It keeps its triples in memory between calls."""
    if _KEPT not in context.kept:
        relations = RelationIndex(context.graph, context.embedder, most_bytes=context.most_bytes)
        context.kept[_KEPT] = HippoSearch(
            index,
            relations,
            namespace=context.graph.namespace,
            embedder=context.embedder,
            recognizer=context.recognizer,
        )
    return context.kept[_KEPT]
