"""Functions that join search results to runs of neighbouring segments (mode "segments").

They use a ranking of segments, and the index for the segments between them, but no model. Invariants: a run is a
contiguous part of its document, of segments that the search may find; the best segment of a run is in the ranking.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

from memgraph_rag.contracts import NodeReader
from memgraph_rag.search.segment_index import SegmentIndex, View
from memgraph_rag.systems.sprag.parameters import RunParameters
from memgraph_rag.systems.sprag.runs import Run, best_runs, segment_values
from memgraph_rag.types import Evidence, Segment

__all__ = ["MetaDocument", "join_runs", "meta_document_of"]

_SPREAD = 0.4
"""Both parameters of the Beta distribution through which dsRAG spreads the score of its reranker over 0 to 1."""

_UNKNOWN_RELEVANCE = 0.8
"""Relevance of every ranked segment if the embedder is not calibrated, as in dsRAG without a reranker."""


@dataclass(frozen=True, slots=True)
class MetaDocument:
    """The segments of several documents in one sequence. Each document is cut after its last ranked segment.

    Attributes:
        ids: (n,) ids of the segments.
        stretches: (n,) the number of the contiguous stretch to which each segment belongs.
    """

    ids: tuple[str, ...]
    stretches: NDArray[np.int64]


def meta_document_of(ranked: Sequence[Evidence], index: SegmentIndex, view: View, *, documents: int) -> MetaDocument:
    """Return the segments of the documents of the first results. The caller must hold the lock of the index.

    The documents come in the order of the results, each up to its last ranked segment. Segments outside the view are
    left out.

    Args:
        documents: number of first results whose documents are taken.
    """
    ids: list[str] = []
    stretches: list[int] = []
    ranked_ids = {item.segment.id for item in ranked}
    for document_id in dict.fromkeys(item.segment.document_id for item in ranked[:documents]):
        own_ids, indexes = index.segments_of(view, document_id)
        last = max((place for place, own_id in enumerate(own_ids) if own_id in ranked_ids), default=-1)
        # Echoes, and segments outside the searched time, are in no view: the text has a gap at such a segment.
        opens = np.diff(indexes[: last + 1], prepend=-2) != 1
        stretches += (np.cumsum(opens) + (stretches[-1] if stretches else 0)).tolist()
        ids += map(str, own_ids[: last + 1])
    return MetaDocument(tuple(ids), np.array(stretches, np.int64))


def join_runs(
    ranked: Sequence[Evidence], meta: MetaDocument, graph: NodeReader, *, k: int, parameters: RunParameters
) -> list[Evidence]:
    """Return at most k runs, best first. A run with a segment that was forgotten meanwhile is left out.

    A run is the evidence of its best ranked segment, with ``run`` and the run's value as score.
    """
    ranks = {item.segment.id: rank for rank, item in enumerate(ranked)}
    values = segment_values(
        [ranks.get(segment_id) for segment_id in meta.ids],
        [_relevance(ranked[ranks[segment_id]]) if segment_id in ranks else 0.0 for segment_id in meta.ids],
        [len(ranked[ranks[segment_id]].segment.text) if segment_id in ranks else 0 for segment_id in meta.ids],
        parameters=parameters,
    )
    runs = best_runs(values, meta.stretches, parameters=parameters)[:k]
    segments = {item.segment.id: item.segment for item in ranked} | _between(runs, meta, ranks, graph)
    found = (_joined(run, meta.ids[run.start : run.end], segments, ranked, ranks) for run in runs)
    return [item for item in found if item is not None]


def _relevance(item: Evidence) -> float:
    """Return the calibrated relevance, spread over 0 to 1 as dsRAG spreads the score of its reranker.

    Without the spread, only half of the questions get a run (docs/decisions/search-modes.md).
    """
    return _UNKNOWN_RELEVANCE if item.relevance is None else float(betainc(_SPREAD, _SPREAD, item.relevance))


def _between(
    runs: Iterable[Run], meta: MetaDocument, ranks: Mapping[str, int], graph: NodeReader
) -> dict[str, Segment]:
    """Read the segments of runs that are not in the ranking, and return them by id."""
    missing = [segment_id for run in runs for segment_id in meta.ids[run.start : run.end] if segment_id not in ranks]
    return {node.id: node for node in graph.nodes(missing) if isinstance(node, Segment)} if missing else {}


def _joined(
    run: Run,
    ids: Sequence[str],
    segments: Mapping[str, Segment],
    ranked: Sequence[Evidence],
    ranks: Mapping[str, int],
) -> Evidence | None:
    if any(segment_id not in segments for segment_id in ids):
        return None
    best = ranked[min(ranks[segment_id] for segment_id in ids if segment_id in ranks)]
    return replace(best, score=run.value, run=tuple(segments[segment_id] for segment_id in ids))
