"""What was said within a time, as ids: what a search or a reading of that time is held to.

It knows the index of a namespace, no store and no model. Invariant: a segment is among it just where a search of
that time may give it; what was written after the index was read is not among it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeVar

from memgraph_rag.search.index import NamespaceIndex
from memgraph_rag.types import Extent, Hit, InformationPoint, Node, Segment

__all__ = ["AsOf", "Within", "as_of", "best_hits", "best_within"]

_GROWTH = 4  # how many times as many are asked for, where too few of them count

Item = TypeVar("Item")

Within = Callable[[Sequence[str]], Collection[str]]
"""Which of these segments count, by id."""


@dataclass(frozen=True, slots=True)
class AsOf:
    """A namespace as far as it was said within a time.

    Attributes:
        extent: the time.
        segments: ids of those that were said then.
        documents: ids of those that have such segments.
        whole: of these, ids of those that have no other ones. What rests on a document, and not on single segments of
            it, is known only then: of a point's edges the lightest are dropped, so they do not tell all that it says.
    """

    extent: Extent
    segments: frozenset[str]
    documents: frozenset[str]
    whole: frozenset[str]

    def goes_on(self, document_id: str) -> bool:
        """Whether some segments of a document were said within the time, and others not."""
        return document_id in self.documents and document_id not in self.whole

    def may_read(self, node: Node) -> bool:
        """Whether all that the node says was said within the time."""
        if isinstance(node, Segment):
            return node.id in self.segments
        if isinstance(node, InformationPoint):
            return node.document_id in self.whole
        return self.whole.issuperset(node.documents)


def as_of(index: NamespaceIndex, extent: Extent) -> AsOf:
    """Return what the index holds that was said within the extent's time.

    The caller holds the index's lock, and has refreshed it.
    """
    said = list(index.said_within(extent))
    return AsOf(
        extent,
        segments=frozenset(segment_id for _, segment_ids, _ in said for segment_id in segment_ids),
        documents=frozenset(document_id for document_id, _, _ in said),
        whole=frozenset(document_id for document_id, _, is_whole in said if is_whole),
    )


def best_within(fetch: Callable[[int], list[Item]], k: int, may_count: Callable[[Item], bool]) -> list[Item]:
    """The k best that count, where ``fetch(n)`` gives the n best of all.

    >>> best_within(lambda count: list(range(count)), 3, lambda number: number % 5 == 4)
    [4, 9, 14]
    """
    return _best_among(fetch, k, lambda items: [item for item in items if may_count(item)])


def best_hits(fetch: Callable[[int], list[Hit]], k: int, within: Within | None) -> list[Hit]:
    """The k best segments that count, where ``fetch(n)`` gives the n best; all count where ``within`` is None."""
    if within is None:
        return fetch(k)

    def counting_of(hits: list[Hit]) -> list[Hit]:
        ids = within([hit.node_id for hit in hits])
        return [hit for hit in hits if hit.node_id in ids]

    return _best_among(fetch, k, counting_of)


def _best_among(
    fetch: Callable[[int], list[Item]], k: int, counting_of: Callable[[list[Item]], list[Item]]
) -> list[Item]:
    count = k
    while True:
        items = fetch(count)
        counting = counting_of(items)
        if len(counting) >= k or len(items) < count:
            return counting[:k]
        count *= _GROWTH
