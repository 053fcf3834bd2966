"""What a search must offer: segments without a language model."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Protocol

from memgraph_rag.types import Cues, Evidence, Relation, RunParameters

__all__ = ["Search", "SearchMode", "SearchSpace"]


SearchMode = Literal["graph", "hybrid", "keywords", "vector", "segments", "hipporag", "hipporag2"]

SearchSpace = Literal["auto", "memory", "database"]
"""Where a graph search looks: the whole namespace in memory, or what the database draws for each question."""


class Search(Protocol):
    """Finds segments without a language model."""

    def find(
        self,
        query: str,
        *,
        k: int,
        mode: SearchMode = "graph",
        documents: Sequence[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        runs: RunParameters | str | None = None,
        cues: Cues | None = None,
    ) -> list[Evidence]:
        """The k best segments, best first, ties by id; in mode "segments" at most k runs of them.

        Args:
            documents: ids of documents; None is all.
            since: not before this time (of the message, else of the document).
            until: before this time.
            runs: in mode "segments", how runs are chosen: the name of a preset, or parameters.
            cues: in modes "hipporag" and "hipporag2", what a language model said of the query.
        """
        ...

    def nearest_relations(
        self,
        query: str,
        *,
        documents: Sequence[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> list[Relation]:
        """The relations nearest to a query, best first: those from which mode "hipporag2" starts; at most five.

        Documents and time are as for ``find``.
        """
        ...

    def named_in(self, question: str) -> list[str]:
        """The ids of the entities of this memory that a question names, in the order in which it names them."""
        ...

    def said_by_another(
        self,
        question: str,
        *,
        documents: Sequence[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> tuple[str, str] | None:
        """The one speaker of a conversation whom a question names, and who says instead what it asks about.

        None where nobody else does, or where not all of these documents are conversations. Documents and time are as
        for ``find``.
        """
        ...

    def names_held(self, question: str, texts: Sequence[str]) -> dict[str, bool]:
        """Each name that a question tells, as it writes it, and whether one of the texts holds it."""
        ...

    def names_meant(self, names: Sequence[str], texts: Sequence[str]) -> list[str]:
        """The names in the texts that are spelt nearly as these, which none of them holds; each once."""
        ...
