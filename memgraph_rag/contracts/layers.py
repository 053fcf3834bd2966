"""The contract of a layer, which derives rows of the graph from segments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from memgraph_rag.contracts.graph_reads import MemoryGraph
from memgraph_rag.contracts.models import LanguageModel, Models, Progress
from memgraph_rag.types import LayerRows, OverviewRows, Section, Segment, Usage


@dataclass(frozen=True, slots=True)
class SplitDocument:
    """A document as layers receive it: id, title (may be empty) and segments, which tile its text.

    ``sections`` is the outline of the document, for a layer that names ``outline`` in ``requires`` or in ``uses``
    (layers that it takes if the document has them); otherwise it is empty. ``summary`` is the text of the top-level
    information points, for a layer that names ``points`` there; otherwise it is empty.
    """

    id: str
    title: str
    segments: tuple[Segment, ...]
    sections: tuple[Section, ...] = ()
    summary: str = ""


class Layer(Protocol):
    """Derives one part of the graph from segments. A layer never uses a database.

    The layers ``points``, ``entities``, ``relations`` and ``outline`` return rows of their own kinds. Every other layer
    returns annotations (``types.Annotation``).
    """

    @property
    def name(self) -> str:
        """The name of the layer in the records of documents."""
        ...

    @property
    def needs_language(self) -> bool:
        """Whether the layer uses the language model. Such layers are expensive."""
        ...

    @property
    def needs_recognizer(self) -> bool:
        """Whether the layer uses the entity recognizer."""
        ...

    @property
    def requires(self) -> Sequence[str]:
        """Names of the layers that a document must have for this layer. They are built first."""
        ...

    def build(
        self, documents: Sequence[SplitDocument], *, namespace: str, models: Models, progress: Progress | None = None
    ) -> list[LayerRows]:
        """Return the rows of each document, in order; empty rows for a document without a result.

        The model work of all documents runs in shared batches. Nothing is stored.
        """
        ...


@runtime_checkable
class LearningLayer(Layer, Protocol):
    """A layer that can also extract rows for a question, while the question is answered."""

    def extract(
        self, question: str, documents: Sequence[SplitDocument], *, namespace: str, models: Models
    ) -> list[LayerRows]:
        """Return the rows that bear on a question: a ``LayerRows`` for each document, in order.

        The rows are ready for ``GraphWriter.learn``, which stores mentions and relations only.
        """
        ...


@runtime_checkable
class WillingLayer(Layer, Protocol):
    """A layer that uses the language model if there is one, and builds what it can without one.

    Its ``needs_language`` is false.
    """

    def uses_language(self, document: SplitDocument) -> bool:
        """Return whether the layer would use the language model for this document."""
        ...


@runtime_checkable
class EstimatingLayer(Layer, Protocol):
    """A layer that estimates what the language model will read and write for it."""

    def estimate_usage(self, document: SplitDocument, language: LanguageModel) -> Usage:
        """Return the expected tokens and calls for a document, without seconds. The model only counts tokens."""
        ...


class MemoryLayer(Protocol):
    """Derives overviews from the whole graph; each rests on several documents. A memory layer writes nothing itself."""

    @property
    def spans_documents(self) -> Literal[True]:
        """True. It distinguishes a layer of the memory from a layer of documents."""
        ...

    @property
    def name(self) -> str:
        """The name of the layer, which its overviews carry."""
        ...

    @property
    def needs_language(self) -> bool:
        """Whether the layer uses the language model."""
        ...

    @property
    def requires(self) -> Sequence[str]:
        """Names of the layers of documents that are built before this layer."""
        ...

    def build(self, graph: MemoryGraph, *, models: Models, progress: Progress | None = None) -> Iterator[OverviewRows]:
        """Yield the missing overviews in parts, the lower levels first; nothing if no overview is missing.

        The caller stores each part in one transaction before it asks for the next, so that the next call resumes after
        an interruption. The work grows with the missing overviews, not with the stored overviews.
        """
        ...
