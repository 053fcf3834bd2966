"""What a store offers for a graph search that does not hold the namespace in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from memgraph_rag.types import Hit, IndexedSegment

__all__ = ["PooledGraph"]


class PooledGraph(Protocol):
    """The reads of which a pool is made: the segments among which one question is answered."""

    def segments_around(self, segment_ids: Sequence[str]) -> list[IndexedSegment]:
        """These segments and the one before and behind each in its document, by (document id, index); with echoes.

        ``siblings`` is set on each. One that does not exist is left out.
        """
        ...

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
        """The k segments to which one step of a walk over shared entities brings the most; ties by id.

        From each segment to the entities that it names (an edge of weight 1) or its title does (4), and from them back.
        What is said in a conversation takes no part, nor does an entity that a thousand segments name. The score is the
        mass.

        Args:
            masses: what is on each segment before, by id.
            entity_ids: entities that a question names: ``entity_mass`` is on them, on each the more the fewer segments
                name it.
            title_ids: likewise, only those of these that the title of some document names.
        """
        ...

    def named_by(self, entity_ids: Sequence[str]) -> list[int]:
        """How many segments mention each of these entities; 0 where there is none.

        Of one that many mention it may be how often they do. One statement.
        """
        ...

    def times_of(self, segment_ids: Sequence[str]) -> dict[str, str]:
        """For each of these segments that exists its own time, else when its document was added. One statement."""
        ...

    def first_segment_ids(self, *, k: int) -> list[str]:
        """The k smallest ids of segments. Ids are hashes, so it is a sample that stays while others come and go."""
        ...
