"""What a layer must offer: rows that it derives from segments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from memgraph_rag.contracts.graph_reads import MemoryGraph
from memgraph_rag.contracts.models import Models, Progress
from memgraph_rag.types import LayerRows, OverviewRows, Section, Segment

__all__ = ["Layer", "LearningLayer", "MemoryLayer", "SplitDocument", "WillingLayer"]


@dataclass(frozen=True, slots=True)
class SplitDocument:
    """A document as layers see it: its id, its title (perhaps empty) and its segments, which tile its text.

    ``sections`` is its outline, for layers that require ``outline``, or name it in ``uses`` (they take it where it is
    there); empty for the others.
    """

    id: str
    title: str
    segments: tuple[Segment, ...]
    sections: tuple[Section, ...] = ()


class Layer(Protocol):
    """Derives one part of the graph from the segments. Never sees a database.

    The layers ``points``, ``entities``, ``relations`` and ``outline`` give rows of their own kinds. Every other layer
    gives annotations (``types.Annotation``).
    """

    @property
    def name(self) -> str:
        """The name under which documents say that they have it."""
        ...

    @property
    def needs_language(self) -> bool:
        """Whether it asks for the language model: the costly layers do."""
        ...

    @property
    def needs_recognizer(self) -> bool:
        """Whether it asks for the recognizer of names."""
        ...

    @property
    def requires(self) -> Sequence[str]:
        """Names of the layers that a document must have for this one; they are built before it."""
        ...

    def build(
        self,
        documents: Sequence[SplitDocument],
        *,
        namespace: str,
        models: Models,
        progress: Progress | None = None,
    ) -> list[LayerRows]:
        """The rows of each document, in order; the model work of all of them runs together."""
        ...


@runtime_checkable
class LearningLayer(Layer, Protocol):
    """A layer that can look for what bears on a question, while it is asked."""

    def extract(
        self, question: str, documents: Sequence[SplitDocument], *, namespace: str, models: Models
    ) -> list[LayerRows]:
        """What bears on a question in some segments of each document, ready for ``GraphWriter.learn``."""
        ...


@runtime_checkable
class WillingLayer(Layer, Protocol):
    """A layer that uses the language model where there is one, and builds what it can where there is none.

    Its ``needs_language`` is false.
    """

    def uses_language(self, document: SplitDocument) -> bool:
        """Whether it would ask the model about this document."""
        ...


class MemoryLayer(Protocol):
    """Derives overviews, which rest on several documents each, from the whole graph. It writes nothing itself."""

    @property
    def spans_documents(self) -> Literal[True]:
        """Tells it from a layer of documents."""
        ...

    @property
    def name(self) -> str:
        """The layer of its overviews."""
        ...

    @property
    def needs_language(self) -> bool:
        """Whether it asks for the language model."""
        ...

    @property
    def requires(self) -> Sequence[str]:
        """Names of the layers of documents that are built before it."""
        ...

    def build(self, graph: MemoryGraph, *, models: Models, progress: Progress | None = None) -> Iterator[OverviewRows]:
        """What lacks, part by part, the lower levels first; nothing where nothing lacks.

        Each part is stored in one transaction before the next is asked for, so that after an interruption the next call
        goes on from there. Work is in proportion to what lacks, not to what is there.
        """
        ...
