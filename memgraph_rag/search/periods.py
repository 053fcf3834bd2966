"""The segments and documents of a time span, as ids. A search or a reading of that time is limited to them.

The module knows the index of a namespace. It knows no store and no model. Invariant: the ids contain a segment exactly
if a search of that time may return the segment. Segments written after the last refresh of the index are missing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeVar

from memgraph_rag.search.index import NamespaceIndex
from memgraph_rag.types import Extent, Hit, InformationPoint, Node, Segment

_GROWTH = 4  # factor of the next fetch, after a fetch with too few items that count

Item = TypeVar("Item")

Within = Callable[[Sequence[str]], Collection[str]]
"""A filter: it receives ids of segments, and returns the ids that may be results."""


@dataclass(frozen=True, slots=True)
class AsOf:
    """The part of a namespace that was said within a time span.

    Attributes:
        segments: ids of the segments that were said in the time span.
        documents: ids of the documents that have such a segment.
        whole: ids of the documents whose segments were all said in the time span. A point or overview counts only if
            all its documents are in this set: points store only their strongest edges, so the edges do not name all
            segments that a point sums up.
    """

    segments: frozenset[str]
    documents: frozenset[str]
    whole: frozenset[str]

    def is_partial(self, document_id: str) -> bool:
        """Return whether some segments of a document were said within the time span and others were not."""
        return document_id in self.documents and document_id not in self.whole

    def may_read(self, node: Node) -> bool:
        """Return whether a question about the time span may read a node: all that it says was said within the span.

        A segment must be in ``segments``. All documents of a point or an overview must be in ``whole``. An echo may not
        be read, because the index does not hold it.
        """
        if isinstance(node, Segment):
            return node.id in self.segments
        if isinstance(node, InformationPoint):
            return node.document_id in self.whole
        return self.whole.issuperset(node.documents)


def select_period(index: NamespaceIndex, extent: Extent) -> AsOf:
    """Return the ids of all segments and documents of an index that were said within the extent's time span.

    The documents of the extent are not applied. A segment without a time counts with the time at which its document was
    added. The caller holds the index's lock and has refreshed the index.
    """
    spans = list(index.group_by_time(extent))
    return AsOf(
        segments=frozenset(segment_id for _, segment_ids, _ in spans for segment_id in segment_ids),
        documents=frozenset(document_id for document_id, _, _ in spans),
        whole=frozenset(document_id for document_id, _, is_whole in spans if is_whole),
    )


def find_best(fetch: Callable[[int], list[Item]], k: int, select: Callable[[list[Item]], list[Item]]) -> list[Item]:
    """Return the k best items that ``select`` keeps, best first; fewer if ``fetch`` has no more.

    ``fetch(n)`` returns the n best items of all. It is called again with a larger n until k items are kept.

    >>> find_best(lambda count: list(range(count)), 3, lambda numbers: numbers[4::5])
    [4, 9, 14]
    """
    count = k
    while True:
        items = fetch(count)
        kept = select(items)
        if len(kept) >= k or len(items) < count:
            return kept[:k]
        count *= _GROWTH


def fetch_best(fetch: Callable[[int], list[Hit]], k: int, within: Within | None) -> list[Hit]:
    """Return the k best hits that the filter ``within`` keeps, as ``find_best`` does; without a filter, the k best."""
    if within is None:
        return fetch(k)

    def select(hits: list[Hit]) -> list[Hit]:
        ids = within([hit.node_id for hit in hits])
        return [hit for hit in hits if hit.node_id in ids]

    return find_best(fetch, k, select)
