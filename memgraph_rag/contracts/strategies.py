"""The contract of a strategy, which decides which nodes of the graph are read for a question."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from memgraph_rag.contracts.graph_reads import GraphReader
from memgraph_rag.contracts.models import Embedder, ReadingSession
from memgraph_rag.contracts.search import Search
from memgraph_rag.types import Limits, Node, Relation, Segment, Step

Extract = Callable[[str, Sequence[Segment]], list[Relation]]
"""Extracts the entities and relations of segments that bear on a question, stores them, and returns the relations."""

Remark = Callable[[Sequence[Node]], list[str]]
"""Returns a remark for each node ("last week: 4 to 10 May 2026") that the model reads with it; empty for no remark."""


def _no_remarks(nodes: Sequence[Node]) -> list[str]:
    return [""] * len(nodes)


@dataclass(frozen=True, slots=True)
class ReadingContext:
    """Everything that a strategy reads with.

    Attributes:
        graph: the namespace, for reading.
        search: finds segments without a language model.
        session: the reading session, which holds the question. Nodes are appended to it.
        embedder: the embedder of the graph's vectors.
        limits: of the whole reading. The driver checks them between two passes; the strategy keeps each single pass
            within them.
        documents: ids of the documents that may be read; None means all.
        extract: extracts relations from segments and stores them; None if the store is read-only.
        remark: returns the remarks that the model reads with nodes.
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
    """A way to choose and read nodes of the graph for a question.

    A strategy may have two more attributes. ``requires`` names the layers that it reads: ``evaluate`` builds them, and
    ``ask`` says which are missing. ``follows_paper``, if true, leaves it to the strategy alone whether the question is
    answered: the library's own rules of refusal do not apply (``answering.refusal``).
    """

    @property
    def name(self) -> str:
        """The name by which users choose the strategy."""
        ...

    def read(self, question: str, context: ReadingContext, /) -> Iterator[tuple[Step, ...]]:
        """Read nodes into the session, and yield the steps of each forward pass.

        The driver checks the limits between two passes and may stop at any time. The session then holds exactly the
        nodes of the yielded steps.
        """
        ...
