"""A layer of the memory of a stranger's own: an overview over each two documents.

Written against docs/extending.md alone. Invariant: an overview says what the top of its two documents says, and nothing
else, so that a test sees whether it is true still.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal

from memgraph_rag.contracts import MemoryGraph, Models, Progress
from memgraph_rag.types import Overview, OverviewRows, Summarizes, overview_id


class Pairs:
    """Over each two documents that follow each other by their ids.

    Args:
        before_second: is called when the second pair is about to be built.
        layer: of the overviews; another than ``name`` is wrong.
    """

    name = "pairs"
    needs_language = False
    requires: tuple[str, ...] = ()
    spans_documents: Literal[True] = True

    def __init__(self, *, before_second: Callable[[], Any] = lambda: None, layer: str = "pairs") -> None:
        self._before_second = before_second
        self._layer = layer

    def build(self, graph: MemoryGraph, *, models: Models, progress: Progress | None = None) -> Iterator[OverviewRows]:
        there = {overview.key for overview in graph.overviews(self.name)}
        ids = graph.document_ids()
        for place, both in enumerate(zip(ids[::2], ids[1::2], strict=False)):
            key = "+".join(both)
            if key in there:
                continue
            if place == 1:
                self._before_second()
            segments = graph.top_nodes(both)
            text = " ".join(segment.text for segment in segments)
            made_id = overview_id(graph.namespace, self._layer, key)
            overview = Overview(made_id, self._layer, key, 1, "Two", text, 9, both)
            yield OverviewRows(
                (overview,), tuple(Summarizes(made_id, segment.id, 1 / len(segments)) for segment in segments)
            )
