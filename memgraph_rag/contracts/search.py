"""What a search must offer, and what a mode of it must: segments without a language model."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, Protocol

from memgraph_rag.contracts.graph_reads import SearchedGraph
from memgraph_rag.contracts.models import Embedder, EntityRecognizer
from memgraph_rag.types import Evidence

__all__ = ["MODES", "Search", "SearchContext", "SearchMode", "SearchSpace"]

MODES = ("graph", "hybrid", "keywords", "vector")
"""The modes of search that the core brings; further ones come with systems."""

SearchSpace = Literal["auto", "memory", "database"]
"""Where a graph search looks: the whole namespace in memory, or what the database draws for each question."""


class SearchContext(Protocol):
    """All that a mode searches with: one namespace, as far as a call may see it."""

    @property
    def graph(self) -> SearchedGraph:
        """The namespace, for reading."""
        ...

    @property
    def embedder(self) -> Embedder:
        """As the graph was embedded."""
        ...

    @property
    def recognizer(self) -> EntityRecognizer:
        """Finds names in a query."""
        ...

    @property
    def most_bytes(self) -> int:
        """About how much memory the search of one namespace may take."""
        ...

    @property
    def kept(self) -> MutableMapping[str, Any]:
        """What modes keep of this namespace between searches, each under a name of its own; read it within ``look``."""
        ...

    def look(self, query: str | None = None) -> AbstractContextManager[tuple[Any, Any]]:
        """The index of segments and the view of it that may be searched (``search.segment_index``), locked meanwhile.

        Args:
            query: with a query, a namespace that is too large for memory gives the pool that the database draws for it.

        Raises:
            SearchMemoryExceeded: the namespace is too large for memory, and there is no query.
        """
        ...

    def ranked(self, query: str, *, k: int) -> list[Evidence]:
        """The k best segments of a graph search, within the same bounds."""
        ...

    def evidence(self, matches: Sequence[Any]) -> list[Evidence]:
        """Return the matches (``search.graph.SegmentMatch``) as evidence, without forgotten segments."""
        ...


class SearchMode(Protocol):
    """A way to find segments that a system, or a user, brings."""

    @property
    def name(self) -> str:
        """The name that users choose it by."""
        ...

    def find(self, query: str, context: SearchContext, /, *, k: int) -> list[Evidence]:
        """The k best segments, best first, ties by id, out of what the context's view may find."""
        ...


class Search(Protocol):
    """Finds segments without a language model, among those that the caller may see."""

    def find(
        self,
        query: str,
        *,
        k: int,
        mode: str | SearchMode = "graph",
        documents: Sequence[str] | None = None,
    ) -> list[Evidence]:
        """The k best segments, best first, ties by id.

        Args:
            mode: the name of one of ``MODES`` or of a system's, or a mode.
            documents: ids of documents; None is all that may be searched.
        """
        ...

    def named_in(self, question: str) -> list[str]:
        """The ids of the entities of this memory that a question names, in the order in which it names them."""
        ...

    def said_by_another(self, question: str) -> tuple[str, str] | None:
        """The one speaker of a conversation whom a question names, and who says instead what it asks about.

        None where nobody else does, or where not all documents that may be searched are conversations.
        """
        ...

    def names_held(self, question: str, texts: Sequence[str]) -> dict[str, bool]:
        """Each name that a question tells, as it writes it, and whether one of the texts holds it."""
        ...

    def names_meant(self, names: Sequence[str], texts: Sequence[str]) -> list[str]:
        """The names in the texts that are spelt nearly as these, which none of them holds; each once."""
        ...
