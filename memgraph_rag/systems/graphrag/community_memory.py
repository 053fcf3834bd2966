"""How much memory communities take: told before it is taken, and refused where it is too much.

It knows numbers only. Measured on 25 November 2026 with Python 3.11, numpy 2 and graspologic-native 1.3: of what
is told, the process took 78 to 83 % to read a memory from Ladybug, and 46 to 86 % to find its communities
(docs/decisions/communities.md).
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
    """Tells, by the log and by progress, what the next stage will take.

    Args:
        most_bytes: what finding communities may take. To read a memory takes what a search of it does.
    """

    def __init__(self, most_bytes: int, progress: Progress | None) -> None:
        self._most_bytes = most_bytes
        self._progress = progress
        self._stage = ""

    def tell_reading(self, counts: Mapping[str, int], *, dimension: int) -> None:
        """Tell of all that is read, by the store's counts of nodes and relationships."""
        segments, mentions = counts.get("Segment", 0), counts.get("MENTIONS", 0)
        needed = segments * (_OF_A_SEGMENT_READ + dimension * _OF_A_NUMBER_READ) + mentions * _OF_A_MENTION_READ
        self._begin(f"reading {segments:,} segments and {counts.get('Entity', 0):,} entities", needed)

    def check_pairs(self, pairs: int, *, segments: int, entities: int) -> None:
        """Refuse more pairs than fit, before they are listed.

        Raises:
            SearchMemoryExceeded: they do not.
        """
        self._check(_bytes(pairs, segments, entities), pairs)

    def tell_finding(self, pairs: int, *, segments: int, entities: int, edges: int) -> None:
        """Tell of the communities of so many entities.

        Raises:
            SearchMemoryExceeded: their edges take too much.
        """
        needed = _bytes(pairs, segments, entities) + edges * _OF_AN_EDGE
        self._check(needed, pairs)
        self._begin(f"finding communities of {entities:,} entities with {edges:,} edges", needed)

    def end(self) -> None:
        """The stage that was told of last is over."""
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
