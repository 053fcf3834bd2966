"""What a system's mode searches with (``contracts.SearchContext``): one namespace, within the bounds of one call.

Invariant: all that it gives lies within the documents and the time of the call.
"""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from memgraph_rag.contracts import Embedder, EntityRecognizer, SearchedGraph
from memgraph_rag.search.graph import Found
from memgraph_rag.search.segment_index import SegmentIndex, View
from memgraph_rag.types import Evidence

__all__ = ["ModeContext"]


class _Look(Protocol):
    def __call__(self, query: str | None = None) -> AbstractContextManager[tuple[SegmentIndex, View]]: ...


class _Ranked(Protocol):
    def __call__(self, query: str, *, k: int) -> list[Evidence]: ...


class _WithSegments(Protocol):
    def __call__(self, matches: Sequence[Found]) -> list[Evidence]: ...


@dataclass(frozen=True, slots=True)
class ModeContext:
    """See ``contracts.SearchContext``, which says what each attribute is."""

    graph: SearchedGraph
    embedder: Embedder
    recognizer: EntityRecognizer
    most_bytes: int
    kept: MutableMapping[str, Any]
    look: _Look
    ranked: _Ranked
    evidence: _WithSegments
