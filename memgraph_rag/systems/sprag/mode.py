"""The search mode "segments": runs of neighbouring segments, chosen from the results of a graph search.

It uses the search through its context. Invariant: a run holds only segments that the search may find.
"""

from __future__ import annotations

from memgraph_rag.contracts import SearchContext
from memgraph_rag.systems.sprag.parameters import RunParameters
from memgraph_rag.systems.sprag.run_search import join_runs, meta_document_of
from memgraph_rag.systems.sprag.runs import checked_parameters
from memgraph_rag.types import Evidence

__all__ = ["Runs"]


class Runs:
    """The search for the most valuable runs of neighbouring segments: relevant segment extraction of dsRAG.

    Args:
        runs: the name of a preset ("balanced", "precision", "find_all"), or parameters.

    Raises:
        SettingsError: there is no such preset, or a parameter is out of range.
    """

    name = "segments"

    def __init__(self, runs: RunParameters | str = "balanced") -> None:
        self._parameters = checked_parameters(runs)

    def find(self, query: str, context: SearchContext, /, *, k: int) -> list[Evidence]:
        """Return at most k runs (``Evidence.run``), best first; see ``SearchMode.find``.

        The list is empty if no segment is near enough to the query.
        """
        ranked = context.ranked(query, k=self._parameters.candidates)
        with context.look(query) as (index, view):
            meta = meta_document_of(ranked, index, view, documents=self._parameters.documents)
        return join_runs(ranked, meta, context.graph, k=k, parameters=self._parameters)
