"""The search mode "segments": runs of neighbouring segments, chosen from the results of one or several queries.

It uses the search through its context. Invariant: a run holds only segments that the search may find.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from memgraph_rag.contracts import SearchContext
from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError
from memgraph_rag.models.reranker import CrossEncoderReranker, Reranker
from memgraph_rag.systems.sprag.parameters import RunParameters, check_parameters
from memgraph_rag.systems.sprag.ranking import Candidates, Ranker
from memgraph_rag.systems.sprag.run_search import build_meta_document, join_runs
from memgraph_rag.types import Evidence


class Runs:
    """The search for the most valuable runs of neighbouring segments: relevant segment extraction of dsRAG.

    Args:
        runs: the name of a preset ("balanced", "precision", "find_all"), or parameters; some parameters by name are
            completed by those of "balanced".
        queries: further queries. They take turns with the query of the search in choosing a run.
        reranker: orders the ranked segments anew, as released; an object, or the name or folder of a cross-encoder. By
            default the calibrated cosine is the relevance.
        candidates: what is ranked: "graph" is the graph search, "dense" the cosine, as released.

    Raises:
        SettingsError: there is no such preset, a parameter is out of range, or ``candidates`` is something else.
    """

    name = "segments"

    def __init__(
        self,
        runs: RunParameters | Mapping[str, Any] | str = "balanced",
        *,
        queries: Sequence[str] = (),
        reranker: Reranker | str | None = None,
        candidates: Candidates = "graph",
    ) -> None:
        self._parameters = check_parameters(runs)
        self._queries = tuple(queries)
        if candidates not in get_args(Candidates):
            raise SettingsError(
                f"Expected candidates as one of {', '.join(get_args(Candidates))}, got {show(candidates)}. Name one of "
                "them.",
                candidates=candidates,
            )
        scorer = CrossEncoderReranker(reranker) if isinstance(reranker, str) else reranker
        self._ranker = Ranker(candidates, self._parameters.candidates, scorer)

    def find(self, query: str, context: SearchContext, /, *, k: int) -> list[Evidence]:
        """Return at most k runs (``Evidence.run``), in the order in which they were chosen; see ``SearchMode.find``.

        The further ``queries`` of the mode take turns with ``query`` in choosing a run; without them the best run is
        first. If no run is worth enough, the best one is returned: a query that finds a segment finds a run.
        """
        queries = dict.fromkeys((query, *self._queries))
        rankings = [self._ranker.rank(each, context) for each in queries]
        with context.look(query) as (index, view):
            meta = build_meta_document(rankings, index, view, documents=self._parameters.documents)
        return join_runs(rankings, meta, context.graph, k=k, parameters=self._parameters)
