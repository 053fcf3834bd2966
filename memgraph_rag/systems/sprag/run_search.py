"""Search results joined to runs of neighbouring segments (mode "segments").

It knows a ranking of segments, the index for what stands between them, and no model. Invariants: a run is a piece of
its document without a gap, of segments that the search may find; its best segment is one of the ranking.
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
"""Of every ranked segment, where the embedder is not calibrated: that of dsRAG without a reranker."""


@dataclass(frozen=True, slots=True)
class MetaDocument:
    """The segments of the documents looked at, document behind document, each cut behind its last ranked segment.

    Attributes:
        ids: (n,) of segments.
        stretches: (n,) the number of the stretch without gaps to which each belongs.
    """

    ids: tuple[str, ...]
    stretches: NDArray[np.int64]


def meta_document_of(ranked: Sequence[Evidence], index: SegmentIndex, view: View, *, documents: int) -> MetaDocument:
    """The documents of the first results. The caller holds the index's lock.

    Args:
        documents: how many of the first results name a document.
    """
    ids: list[str] = []
    stretches: list[int] = []
    ranked_ids = {item.segment.id for item in ranked}
    for document_id in dict.fromkeys(item.segment.document_id for item in ranked[:documents]):
        own_ids, indexes = index.segments_of(view, document_id)
        last = max((place for place, own_id in enumerate(own_ids) if own_id in ranked_ids), default=-1)
        # An echo, or what is out of the time searched, is in no view: the text has a gap there.
        opens = np.diff(indexes[: last + 1], prepend=-2) != 1
        stretches += (np.cumsum(opens) + (stretches[-1] if stretches else 0)).tolist()
        ids += map(str, own_ids[: last + 1])
    return MetaDocument(tuple(ids), np.array(stretches, np.int64))


def join_runs(
    ranked: Sequence[Evidence], meta: MetaDocument, graph: NodeReader, *, k: int, parameters: RunParameters
) -> list[Evidence]:
    """At most k runs, best first; one in which a segment was forgotten meanwhile is left out."""
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
    """The calibrated relevance in the place of the reranker's score, spread as that is.

    Unspread it gives a run to every second question only (docs/decisions/search-modes.md).
    """
    return _UNKNOWN_RELEVANCE if item.relevance is None else float(betainc(_SPREAD, _SPREAD, item.relevance))


def _between(
    runs: Iterable[Run], meta: MetaDocument, ranks: Mapping[str, int], graph: NodeReader
) -> dict[str, Segment]:
    """The segments of runs that are not ranked, by id."""
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
