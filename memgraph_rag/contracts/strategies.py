"""What a strategy must offer: a way to read the graph for a question."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from memgraph_rag.contracts.graph_reads import GraphReader
from memgraph_rag.contracts.models import Embedder, ReadingSession
from memgraph_rag.contracts.search import Search
from memgraph_rag.types import Limits, Node, Relation, Segment, Step

__all__ = ["Extract", "ReadingContext", "Remark", "Strategy"]


Extract = Callable[[str, Sequence[Segment]], list[Relation]]
"""Looks in segments for entities and relations that bear on a question, stores them, gives the relations found."""

Remark = Callable[[Sequence[Node]], list[str]]
"""What is to be read beside each node ("last week: 4 to 10 May 2026"); empty where there is nothing to say."""


def _no_remarks(nodes: Sequence[Node]) -> list[str]:
    return [""] * len(nodes)


@dataclass(frozen=True, slots=True)
class ReadingContext:
    """All that a strategy reads with.

    Attributes:
        graph: the namespace, for reading.
        search: finds segments without a language model.
        session: the language model with the question in its KV cache; what is read is appended to it.
        embedder: as the graph was embedded.
        limits: of the whole reading. Its driver checks them between two passes; the strategy keeps each single
            pass within them.
        documents: ids of the documents that may be read; None means all.
        extract: looks for relations in segments and stores them; None where nothing may be written.
        remark: says what is to be read beside nodes.
    """

    graph: GraphReader
    search: Search
    session: ReadingSession
    embedder: Embedder
    limits: Limits = field(default_factory=Limits)
    documents: Sequence[str] | None = None
    extract: Extract | None = None
    remark: Remark = _no_remarks


class Strategy(Protocol):
    """A way to read the graph for a question."""

    @property
    def name(self) -> str:
        """The name that users choose it by."""
        ...

    def read(self, question: str, context: ReadingContext, /) -> Iterator[tuple[Step, ...]]:
        """Read nodes into the session, yielding after each forward pass the steps that it took.

        The driver checks the limits between two passes and may stop at any time; the session then holds the nodes of
        the steps that were yielded, and nothing else.
        """
        ...
