"""spRAG, today dsRAG: the runs of neighbouring segments that are worth most, read in the order of their worth.

It knows search and session by their contracts. Invariant: within a run, segments are read in the order of the document.

Otherwise than the released code: what is ranked is what the graph search finds, and the calibrated relevance of a
segment to the question stands in for the score of a hosted reranker (``run_search``); one query, the question
itself, as the released default has it without its query writer.

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

_MOST_RUNS = 1_000  # all: how many there are is limited by their length together


class Sprag:
    """Reads the best runs of a search in mode "segments".

    Args:
        runs: how they are chosen: the name of a preset ("balanced", "precision", "find_all"), or parameters.

    Raises:
        SettingsError: no such preset, or a parameter that cannot work.
    """

    name = "sprag"

    def __init__(self, runs: RunParameters | str = "balanced") -> None:
        self._mode = Runs(runs)

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """One step a segment; see ``Strategy.read``."""
        found = context.search.find(question, k=_MOST_RUNS, mode=self._mode, documents=context.documents)
        scored = [(segment, run.score) for run in found for segment in run.segments]
        yield from read_in_order(scored, context)
