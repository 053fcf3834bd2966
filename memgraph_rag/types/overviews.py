"""Texts that rest on several documents: the points of a library, the reports of communities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from memgraph_rag.types.plain import plain_fields


@dataclass(frozen=True, slots=True)
class Span:
    """A range of characters of a document, ``document.text[start:end]``, within one segment."""

    segment_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Finding:
    """One statement of a report, with the spans that support it."""

    text: str
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Overview:
    """A text that rests on several documents: a point of the ``library``, or the report of a community.

    A change or the removal of any of its documents deletes it, so that every stored overview is up to date.

    Attributes:
        layer: the layer of the memory that built it.
        key: a hash of its origin, the same in every namespace, by which a layer finds existing overviews.
        level: 1 for an overview of nodes of documents; higher levels summarise overviews.
        documents: ids of all documents on which it rests, directly or through the nodes below it; sorted.
        entities: ids of the entities that it is about, sorted; for a report, the members of the community.
        findings: its single statements, with exact spans.
        rating: its importance within its layer, from 0 to 10; 0 if it was not rated.
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
