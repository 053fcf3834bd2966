"""Texts that rest on several documents: the points of a library, the reports of communities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from memgraph_rag.types.plain import plain_fields

__all__ = ["Finding", "Overview", "Span"]


@dataclass(frozen=True, slots=True)
class Span:
    """Some characters of a document, ``document.text[start:end]``, within one segment."""

    segment_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a report says, with the spans that bear it out."""

    text: str
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Overview:
    """A text that rests on several documents: a point of the ``library``, or the report of a community.

    It goes with any of its documents, and whenever one of them changes: what is there is true of them all.

    Attributes:
        layer: the layer of the memory that built it.
        key: a hash of what it was made of, the same in every namespace. A layer sees by it what is there already.
        level: 1 lies over nodes of documents, a higher one over overviews.
        documents: ids of all documents on which it rests, also through what lies below it; sorted.
        entities: ids of the entities that it is about, sorted; a community's members.
        findings: what it says in particular, with the exact spans.
        rating: how much it matters within its layer, from 0 to 10; 0 where nobody said.
    """

    kind: ClassVar[Literal["overview"]] = "overview"
    document_id: ClassVar[str] = ""

    id: str
    layer: str
    key: str
    level: int
    title: str
    text: str
    tokens: int
    documents: tuple[str, ...]
    entities: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    rating: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return kind and all fields, for JSON."""
        return {"kind": self.kind, **plain_fields(self)}
