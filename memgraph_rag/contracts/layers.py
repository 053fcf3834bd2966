"""What a layer must offer: rows that it derives from segments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from memgraph_rag.contracts.models import Models, Progress
from memgraph_rag.types import LayerRows, Segment

__all__ = ["Layer", "SplitDocument"]


@dataclass(frozen=True, slots=True)
class SplitDocument:
    """A document as layers see it: its id, its title (perhaps empty) and its segments, which tile its text."""

    id: str
    title: str
    segments: tuple[Segment, ...]


class Layer(Protocol):
    """Derives one part of the graph from the segments. Never sees a database."""

    name: str
    needs_language: bool
    """Whether it asks for the language model: the costly layers do."""

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
