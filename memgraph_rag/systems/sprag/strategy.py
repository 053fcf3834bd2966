"""The strategy ``sprag`` (now dsRAG): read the most valuable runs of neighbouring segments, in the order of choice.

It knows search and session by their contracts. Invariant: within a run, segments are read in the order of the document.

Differences from the released code: by default the graph search ranks the segments, and their calibrated relevance
replaces the score of a hosted reranker; both are arguments.

Source: dsRAG 0.5.6, ``dsrag/rse.py``, ``dsrag/knowledge_base.py`` (``query``) and ``dsrag/auto_query.py``. There is no
paper.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from memgraph_rag.contracts import ReadingContext, ReadingSession
from memgraph_rag.models.reranker import Reranker
from memgraph_rag.strategies.flat import Chosen, read_in_order
from memgraph_rag.strategies.reflection import ask
from memgraph_rag.systems.sprag.mode import Runs
from memgraph_rag.systems.sprag.parameters import RunParameters
from memgraph_rag.systems.sprag.ranking import Candidates
from memgraph_rag.types import Step

_MOST_RUNS = 1_000  # in effect all runs: their total length is limited
_TOKENS_OF_QUERY = 32
_LONGEST_QUERY = 200  # characters
_MARK = re.compile(r"^\W*(?:\d+\s*[.):]\s*)?")
_REQUEST = (
    "Write search queries for the facts that are needed to answer the question: one query for each fact, at most "
    "{most} in all, each specific enough to be searched alone. Do not answer the question. Reply with the queries "
    "only, separated by semicolons."
)


class Sprag:
    """A strategy that reads the best runs of a search in mode "segments".

    Args:
        runs: as for ``Runs``.
        reranker: as for ``Runs``.
        candidates: as for ``Runs``; the released code has "dense".
        most_queries: most queries that the model writes in place of the question (auto-query; the released code writes
            up to 5 where it is used). With 0, and if the model writes none, the question is the only query.

    Raises:
        SettingsError: as for ``Runs``.
    """

    name = "sprag"
    requires = ("context",)
    follows_paper = True

    def __init__(
        self,
        runs: RunParameters | Mapping[str, Any] | str = "balanced",
        *,
        reranker: Reranker | str | None = None,
        candidates: Candidates = "graph",
        most_queries: int = 0,
    ) -> None:
        self._options: dict[str, Any] = {"runs": runs, "reranker": reranker, "candidates": candidates}
        self._mode = Runs(**self._options)
        self._most_queries = most_queries

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """Read the best runs of segments until the window is full, and yield one step for each segment.

        The first step tells the model's search queries as its ``reason``. See ``Strategy.read``.
        """
        queries = _write_queries(context.session, self._most_queries) if self._most_queries else []
        mode = Runs(**self._options, queries=queries[1:]) if queries else self._mode
        query = queries[0] if queries else question
        found = context.search.find(query, k=_MOST_RUNS, mode=mode, documents=context.documents)
        chosen = [Chosen(segment, run.score) for run in found for segment in run.segments]
        yield from read_in_order(chosen, context, reason="; ".join(queries))


def _write_queries(session: ReadingSession, most: int) -> list[str]:
    """Return the queries of the model, each once; empty if it writes none."""

    def parse(reply: str) -> list[str]:
        parts = (_MARK.sub("", part).strip(" \"'") for part in reply.split(";"))
        return [part for part in dict.fromkeys(parts) if 1 < len(part) <= _LONGEST_QUERY][:most]

    reply = ask(
        session,
        _REQUEST.format(most=most),
        max_tokens=_TOKENS_OF_QUERY * most,
        is_usable=lambda text: bool(parse(text)),
    )
    return parse(reply)
