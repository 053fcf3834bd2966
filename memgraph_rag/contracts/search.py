"""The contracts of a search and of a search mode, which find segments without a language model."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, Protocol

from memgraph_rag.contracts.graph_reads import SearchedGraph
from memgraph_rag.contracts.models import Embedder, EntityRecognizer
from memgraph_rag.types import Evidence

MODES = ("graph", "hybrid", "keywords", "vector")
"""The search modes of the core. Systems add others."""

SearchSpace = Literal["auto", "memory", "database"]
"""Where a graph search looks: the whole namespace in memory, or a pool that the database returns for each question."""


class SearchContext(Protocol):
    """Everything that a search mode works with: the part of one namespace that the call may see."""

    @property
    def graph(self) -> SearchedGraph:
        """The namespace, for reading."""
        ...

    @property
    def embedder(self) -> Embedder:
        """The embedder of the graph's vectors."""
        ...

    @property
    def recognizer(self) -> EntityRecognizer:
        """Finds names in a query."""
        ...

    @property
    def most_bytes(self) -> int:
        """The approximate memory, in bytes, that the search of one namespace may use."""
        ...

    @property
    def kept(self) -> MutableMapping[str, Any]:
        """Values that modes keep for this namespace between searches, each under its own name; use within ``look``."""
        ...

    def look(self, query: str | None = None) -> AbstractContextManager[tuple[Any, Any]]:
        """Return (segment index, view) of ``search.segment_index``, locked as long as the context is open.

        The index holds all segments of the namespace, the view those that the call's scope allows.

        Args:
            query: if the namespace is too large for memory, the index holds only segments near to this query, which
                the database chooses.

        Raises:
            SearchMemoryExceeded: the namespace is too large for memory, and there is no query.
        """
        ...

    def rank_segments(self, query: str, *, k: int, mode: str = "graph") -> list[Evidence]:
        """Search the same part of the namespace by a mode of the core; return its k best segments, best first."""
        ...

    def evidence(self, matches: Sequence[Any]) -> list[Evidence]:
        """Read the segments of matches (``search.graph.SegmentMatch``) from the store; return them as evidence.

        A match whose segment was forgotten is left out.
        """
        ...


class SearchMode(Protocol):
    """A way to find segments, from a system or a user. It may name the layers that it ``requires``, as a strategy."""

    @property
    def name(self) -> str:
        """The name by which users choose the mode."""
        ...

    def find(self, query: str, context: SearchContext, /, *, k: int) -> list[Evidence]:
        """Return the k best segments that the context's view contains; best first, ties by id."""
        ...


class Search(Protocol):
    """Finds segments without a language model, among those that the caller may see."""

    def find(
        self, query: str, *, k: int, mode: str | SearchMode = "graph", documents: Sequence[str] | None = None
    ) -> list[Evidence]:
        """Return the k best segments, best first, ties by id.

        Args:
            mode: a mode, or the name of one: of ``MODES`` or of an installed system.
            documents: ids of the documents to search; None searches all that the caller may see. A document that the
                caller may not see is not searched.

        Raises:
            SettingsError: there is no mode with this name.
        """
        ...

    def find_named_entities(self, question: str) -> list[str]:
        """Return the ids of the known entities that a question names, in the order of the question.

        A name matches by its normal form. A name inside a longer known name is left out.
        """
        ...

    def find_speaker_mismatch(self, question: str) -> tuple[str, str] | None:
        """Return (the speaker that a question names, the other speaker who probably said what it asks about).

        None if the question does not name exactly one speaker or speaks of its asker ("I", "my"), if no other speaker
        probably said it, if a speaker is a machine ("assistant"), or if some searchable document is not a conversation.

        Raises:
            SearchMemoryExceeded: the namespace is too large for memory, and only memory may be searched.
        """
        ...

    def check_names(self, question: str, texts: Sequence[str]) -> dict[str, bool]:
        """Return each name of a question, as the question spells it, with whether one of the texts contains it.

        Empty if the question is not English. Abbreviations, and a name inside a longer name, are left out.
        """
        ...

    def find_similar_names(self, names: Sequence[str], texts: Sequence[str]) -> list[str]:
        """Return the names in the texts that are spelt almost, but not exactly, like one of these names; each once.

        Each given name adds at most one, in the order given. A given name that a text contains adds none.
        """
        ...
