"""The ranking of segments for one query, and how relevant each segment is, before runs are made of them.

It uses the search through its context, and a reranker through its contract. Invariants: a ranking holds only segments
that the search may find, each once; a relevance is from 0 to 1.

Source: dsRAG 0.5.6, ``dsrag/knowledge_base.py`` (``_get_all_ranked_results``) and ``dsrag/reranker.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import betainc, expit

from memgraph_rag.contracts import SearchContext
from memgraph_rag.models.reranker import Reranker
from memgraph_rag.types import Evidence

Candidates = Literal["graph", "dense"]
"""What is ranked: the results of the graph search, or, as in the released code, the segments of the largest cosines."""

_MODERATE = 0.8
"""Relevance of every ranked segment if there is no reranker and the embedder is not calibrated.

It is the value of dsRAG's ``NoReranker(ignore_absolute_relevance=True)``.
"""

_SPREAD = 0.4
"""Both parameters of the Beta distribution through which dsRAG spreads the score of its reranker over 0 to 1."""


class Ranked(NamedTuple):
    """A segment of a ranking with its relevance, from 0 to 1."""

    item: Evidence
    relevance: float


@dataclass(frozen=True, slots=True)
class Ranker:
    """How segments are ranked.

    Attributes:
        candidates: which segments are ranked.
        most: number of segments that are ranked.
        reranker: orders them anew; None keeps their order.
    """

    candidates: Candidates
    most: int
    reranker: Reranker | None

    def rank(self, query: str, context: SearchContext) -> list[Ranked]:
        """Return the segments for a query with their relevance, best first.

        The relevance is the logistic function of the reranker's score, else the calibrated cosine; both are spread over
        0 to 1 as dsRAG spreads the score of its reranker. Without a reranker and a calibration it is 0.8.
        """
        found = context.rank_segments(query, k=self.most, mode="vector" if self.candidates == "dense" else "graph")
        if self.reranker is None or not found:
            return [Ranked(item, _MODERATE if item.relevance is None else _stretch(item.relevance)) for item in found]
        scores = np.asarray(self.reranker.score(query, [item.segment.text for item in found]), np.float64)
        order = np.argsort(-scores, kind="stable")
        return [Ranked(found[place], _stretch(float(expit(scores[place])))) for place in order]


def _stretch(score: float) -> float:
    return float(betainc(_SPREAD, _SPREAD, score))
