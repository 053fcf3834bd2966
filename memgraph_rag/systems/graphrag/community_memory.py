"""Estimates of the memory that communities need: reported before the work begins, and refused if they are too large.

It works on numbers only. Invariant: an estimate is above the measured need (docs/decisions/communities.md).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from memgraph_rag.contracts import Progress
from memgraph_rag.errors import SearchMemoryExceeded

__all__ = ["MemoryNeeded"]

logger = logging.getLogger(__name__)

# bytes, to read
_OF_A_SEGMENT_READ = 5 * 1024  # without its vector
_OF_A_NUMBER_READ = 5 * 4  # of a vector: the row of the database, and copies of it
_OF_A_MENTION_READ = 700

# bytes, to find
_OF_A_PAIR = 80  # two entities that one segment names
_OF_A_SEGMENT = 400
_OF_AN_ENTITY = 1200
_OF_AN_EDGE = 360


class MemoryNeeded:
    """Reports, by log and progress, how much memory the next stage will need.

    Args:
        most_bytes: most memory for finding communities. Reading a memory needs as much as a search of it.
        progress: called at the begin and the end of each stage.
    """

    def __init__(self, most_bytes: int, progress: Progress | None) -> None:
        self._most_bytes = most_bytes
        self._progress = progress
        self._stage = ""

    def tell_reading(self, counts: Mapping[str, int], *, dimension: int) -> None:
        """Report the memory for reading the graph, from the store's counts of nodes and relationships.

        It is not compared with ``most_bytes``.
        """
        segments, mentions = counts.get("Segment", 0), counts.get("MENTIONS", 0)
        needed = segments * (_OF_A_SEGMENT_READ + dimension * _OF_A_NUMBER_READ) + mentions * _OF_A_MENTION_READ
        self._begin(f"reading {segments:,} segments and {counts.get('Entity', 0):,} entities", needed)

    def check_pairs(self, pairs: int, *, segments: int, entities: int) -> None:
        """Check that pairs of entities, segments and entities fit ``most_bytes``, before the pairs are listed.

        Raises:
            SearchMemoryExceeded: they need more than ``most_bytes``.
        """
        self._check(_bytes(pairs, segments, entities), pairs)

    def tell_finding(self, pairs: int, *, segments: int, entities: int, edges: int) -> None:
        """Announce the search for communities and the memory that it will take, by the log and by progress.

        Args:
            pairs: pairs of entities that one segment names or one relation joins.
            edges: edges of the graph of entities.

        Raises:
            SearchMemoryExceeded: pairs, segments, entities and edges together need more than ``most_bytes``.
        """
        needed = _bytes(pairs, segments, entities) + edges * _OF_AN_EDGE
        self._check(needed, pairs)
        self._begin(f"finding communities of {entities:,} entities with {edges:,} edges", needed)

    def end(self) -> None:
        """Report the end of the present stage by progress; do nothing if there is none."""
        if self._stage and self._progress is not None:
            self._progress(self._stage, 1, 1)
        self._stage = ""

    def _begin(self, what: str, needed: int) -> None:
        self.end()
        self._stage = f"{what} (about {needed / 2**20:,.0f} MiB)"
        logger.info("%s", self._stage)
        if self._progress is not None:
            self._progress(self._stage, 0, 1)

    def _check(self, needed: int, pairs: int) -> None:
        if needed > self._most_bytes:
            raise SearchMemoryExceeded(
                f"Expected a namespace whose communities fit {self._most_bytes / 2**20:,.0f} MiB of memory, got "
                f"{pairs:,} pairs of entities with something in common, which need about {needed / 2**20:,.0f} MiB. "
                f"Give the layer as CommunitiesLayer(most_bytes={needed}).",
                pairs=pairs,
                needed_bytes=needed,
            )


def _bytes(pairs: int, segments: int, entities: int) -> int:
    return pairs * _OF_A_PAIR + segments * _OF_A_SEGMENT + entities * _OF_AN_ENTITY
