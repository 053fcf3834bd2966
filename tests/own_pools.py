"""A store of a stranger's own: what a search that holds no namespace in memory reads. Plain, and slow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from own_graph import OwnGraph, by_score

from memgraph_rag.types import Hit, IndexedSegment

Weights = dict[str, float]


class OwnPools(OwnGraph):
    """Implements ``contracts.PooledGraph`` and ``contracts.IndexKeeper``."""

    def segments_around(self, segment_ids: Sequence[str]) -> list[IndexedSegment]:
        segments = self.indexed_segments(since=-1)
        wanted = {(segment.document_id, segment.index) for segment in segments if segment.id in segment_ids}
        sizes = {name: len(graph.segments) for name, graph in self._state.graphs.items()}
        return [
            replace(segment, siblings=sizes[segment.document_id])
            for segment in segments
            if any((segment.document_id, segment.index + step) in wanted for step in (-1, 0, 1))
        ]

    def linked_segments(
        self,
        masses: Mapping[str, float],
        *,
        entity_ids: Sequence[str] = (),
        title_ids: Sequence[str] = (),
        entity_mass: float = 0.0,
        k: int,
        documents: Sequence[str] | None = None,
    ) -> list[Hit]:
        segments = [segment for segment in self.indexed_segments(since=-1) if not segment.speaker]
        on_entities: Weights = defaultdict(float)
        names: dict[str, Weights] = defaultdict(dict)
        for segment in segments:
            weights = dict.fromkeys(segment.entities, 1.0) | dict.fromkeys(segment.titles, 4.0)
            for entity_id, weight in weights.items():
                on_entities[entity_id] += masses.get(segment.id, 0.0) * weight / sum(weights.values())
                if not segment.echo and (documents is None or segment.document_id in documents):
                    names[entity_id][segment.id] = weight
        titled = {entity_id for segment in segments for entity_id in segment.titles}
        named = names.keys() & {*entity_ids, *(titled & {*title_ids})}
        rarity = {entity_id: 1 / len(names[entity_id]) for entity_id in named}
        for entity_id in named:
            on_entities[entity_id] += entity_mass * rarity[entity_id] / sum(rarity.values())
        scores: Weights = defaultdict(float)
        for entity_id, weights in names.items():
            for segment_id, weight in weights.items():
                scores[segment_id] += on_entities[entity_id] * weight / sum(weights.values())
        return by_score(((segment_id, round(score, 12)) for segment_id, score in scores.items() if score), k)

    def named_by(self, entity_ids: Sequence[str]) -> list[int]:
        segments = self.indexed_segments(since=-1)
        return [sum(entity_id in segment.entities for segment in segments) for entity_id in entity_ids]

    def times_of(self, segment_ids: Sequence[str]) -> dict[str, str]:
        return {segment.id: segment.time for segment in self.indexed_segments(since=-1) if segment.id in segment_ids}

    def first_segment_ids(self, *, k: int) -> list[str]:
        return sorted(segment.id for segment in self.indexed_segments(since=-1) if not segment.echo)[:k]

    def kept_index(self) -> Path | None:
        return None

    def keep_index(self, write: Callable[[Path], None], *, version: int, nbytes: int) -> None:
        """Nothing."""
