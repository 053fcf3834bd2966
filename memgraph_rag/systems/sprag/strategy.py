"""The strategy ``sprag`` (now dsRAG): read the most valuable runs of neighbouring segments, best run first.

It knows search and session by their contracts. Invariant: within a run, segments are read in the order of the document.

Differences from the released code: the graph search ranks the segments; the calibrated relevance of a segment replaces
the score of a hosted reranker (``run_search``); the only query is the question itself, as in the released default
without its query writer.

Source: dsRAG 0.5.6, ``dsrag/rse.py`` and ``dsrag/knowledge_base.py`` (``query``). There is no paper.
"""

from __future__ import annotations

from collections.abc import Iterator

from memgraph_rag.contracts import ReadingContext
from memgraph_rag.strategies.flat import read_in_order
from memgraph_rag.systems.sprag.mode import Runs
from memgraph_rag.systems.sprag.parameters import RunParameters
from memgraph_rag.types import Step

__all__ = ["Sprag"]

_MOST_RUNS = 1_000  # in effect all runs: their total length is limited


class Sprag:
    """A strategy that reads the best runs of a search in mode "segments".

    Args:
        runs: the name of a preset ("balanced", "precision", "find_all"), or parameters.

    Raises:
        SettingsError: there is no such preset, or a parameter is out of range.
    """

    name = "sprag"
    requires = ("context",)
    follows_paper = True

    def __init__(self, runs: RunParameters | str = "balanced") -> None:
        self._mode = Runs(runs)

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """Yield one step for each segment, run after run, the best run first, until the window is full.

        See ``Strategy.read``. Without a run that is worth enough, nothing is yielded.
        """
        found = context.search.find(question, k=_MOST_RUNS, mode=self._mode, documents=context.documents)
        scored = [(segment, run.score) for run in found for segment in run.segments]
        yield from read_in_order(scored, context)
