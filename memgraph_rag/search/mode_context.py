"""The context of a system's search mode (``contracts.SearchContext``): one namespace and the limits of one call.

Invariant: everything that the context returns is within the documents and the time span of the call.
"""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from memgraph_rag.contracts import Embedder, EntityRecognizer, SearchedGraph
from memgraph_rag.search.graph import SegmentMatch
from memgraph_rag.search.segment_index import SegmentIndex, View
from memgraph_rag.types import Evidence

__all__ = ["ModeContext"]


class _Look(Protocol):
    def __call__(self, query: str | None = None) -> AbstractContextManager[tuple[SegmentIndex, View]]: ...


class _Ranked(Protocol):
    def __call__(self, query: str, *, k: int, mode: str = "graph") -> list[Evidence]: ...


class _AddSegments(Protocol):
    def __call__(self, matches: Sequence[SegmentMatch]) -> list[Evidence]: ...


@dataclass(frozen=True, slots=True)
class ModeContext:
    """The context of one call; ``contracts.SearchContext`` documents each attribute."""

    graph: SearchedGraph
    embedder: Embedder
    recognizer: EntityRecognizer
    most_bytes: int
    kept: MutableMapping[str, Any]
    look: _Look
    ranked: _Ranked
    evidence: _AddSegments
