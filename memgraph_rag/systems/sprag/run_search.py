"""Functions that join search results to runs of neighbouring segments (mode "segments").

They use a ranking of segments for each query, and the index for the segments between them, but no model. Invariants: a
run is a contiguous part of its document, of segments that the search may find; the best segment of a run is in a
ranking; if a ranking has a segment that is still stored, there is a run.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from memgraph_rag.contracts import NodeReader
from memgraph_rag.search.segment_index import SegmentIndex, View
from memgraph_rag.systems.sprag.parameters import RunParameters
from memgraph_rag.systems.sprag.ranking import Ranked
from memgraph_rag.systems.sprag.runs import Run, choose_best_runs, segment_values
from memgraph_rag.types import Evidence, Segment


@dataclass(frozen=True, slots=True)
class MetaDocument:
    """The segments of several documents in one sequence. Each document is cut after its last ranked segment.

    Attributes:
        ids: (n,) ids of the segments.
        stretches: (n,) the number of the contiguous stretch to which each segment belongs.
    """

    ids: tuple[str, ...]
    stretches: NDArray[np.int64]


def build_meta_document(
    rankings: Sequence[Sequence[Ranked]], index: SegmentIndex, view: View, *, documents: int
) -> MetaDocument:
    """Return the segments of the documents of the first results. The caller must hold the lock of the index.

    The documents come in the order of the results, each up to its last ranked segment. Segments outside the view are
    left out.

    Args:
        rankings: a ranking for each query.
        documents: number of first results of each ranking whose documents are taken.
    """
    ids: list[str] = []
    stretches: list[int] = []
    ranked_ids = {item.segment.id for ranked in rankings for item, _ in ranked}
    first = (item.segment.document_id for ranked in rankings for item, _ in ranked[:documents])
    for document_id in dict.fromkeys(first):
        own_ids, indexes = index.list_document_rows(view, document_id)
        last = max((place for place, own_id in enumerate(own_ids) if own_id in ranked_ids), default=-1)
        # Echoes, and segments outside the searched time, are in no view: the text has a gap at such a segment.
        opens = np.diff(indexes[: last + 1], prepend=-2) != 1
        stretches += (np.cumsum(opens) + (stretches[-1] if stretches else 0)).tolist()
        ids += map(str, own_ids[: last + 1])
    return MetaDocument(tuple(ids), np.array(stretches, np.int64))


def join_runs(
    rankings: Sequence[Sequence[Ranked]], meta: MetaDocument, graph: NodeReader, *, k: int, parameters: RunParameters
) -> list[Evidence]:
    """Return at most k runs, in the order of choice. A run with a segment that was forgotten meanwhile is left out.

    A run is the evidence of its best ranked segment, with ``run`` and the run's value as score. If no run is worth
    ``minimum_value``, the most valuable one is returned, or the best ranked segment if each value is negative.
    """
    if not meta.ids:
        return []
    values = _values(rankings, meta, parameters)
    runs = choose_best_runs(values, meta.stretches, parameters=parameters)
    runs = runs or _choose_run(rankings, meta, values, parameters)
    best: dict[str, tuple[int, Evidence]] = {}
    for rank, item in ((rank, item) for ranked in rankings for rank, (item, _) in enumerate(ranked)):
        if item.segment.id not in best or rank < best[item.segment.id][0]:
            best[item.segment.id] = rank, item
    segments = {name: item.segment for name, (_, item) in best.items()} | _read_gaps(runs[:k], meta, best, graph)
    found = (_join_run(run, meta.ids[run.start : run.end], segments, best) for run in runs[:k])
    return [item for item in found if item is not None]


def _choose_run(
    rankings: Sequence[Sequence[Ranked]],
    meta: MetaDocument,
    values: Sequence[NDArray[np.float64]],
    parameters: RunParameters,
) -> list[Run]:
    """Return the most valuable run, whatever it is worth; without any, the best ranked segment of ``meta`` alone."""
    any_value = replace(parameters, minimum_value=-np.inf)
    runs = choose_best_runs(values, meta.stretches, parameters=any_value)[:1]
    first = next((item.segment.id for ranked in rankings for item, _ in ranked if item.segment.id in meta.ids), None)
    if runs or first is None:
        return runs
    place = meta.ids.index(first)
    return [Run(place, place + 1, float(max(own[place] for own in values)))]


def _values(
    rankings: Sequence[Sequence[Ranked]], meta: MetaDocument, parameters: RunParameters
) -> list[NDArray[np.float64]]:
    """Return for each query (n,) the values of the segments."""
    values = []
    for ranked in rankings:
        ranks = {item.segment.id: rank for rank, (item, _) in enumerate(ranked)}
        own = [ranked[ranks[name]] if name in ranks else None for name in meta.ids]
        values.append(
            segment_values(
                [ranks.get(name) for name in meta.ids],
                [each.relevance if each else 0.0 for each in own],
                [len(each.item.segment.text) if each else 0 for each in own],
                parameters=parameters,
            )
        )
    return values


def _read_gaps(runs: Iterable[Run], meta: MetaDocument, known: Container[str], graph: NodeReader) -> dict[str, Segment]:
    """Read the segments of runs that are not in a ranking, and return them by id."""
    missing = [segment_id for run in runs for segment_id in meta.ids[run.start : run.end] if segment_id not in known]
    return {node.id: node for node in graph.nodes(missing) if isinstance(node, Segment)} if missing else {}


def _join_run(
    run: Run,
    ids: Sequence[str],
    segments: Mapping[str, Segment],
    best: Mapping[str, tuple[int, Evidence]],
) -> Evidence | None:
    if any(segment_id not in segments for segment_id in ids):
        return None
    _, item = min((best[segment_id] for segment_id in ids if segment_id in best), key=lambda ranked: ranked[0])
    return replace(item, score=run.value, run=tuple(segments[segment_id] for segment_id in ids))
