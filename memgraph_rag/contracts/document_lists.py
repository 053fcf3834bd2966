"""What a store says of many documents at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from memgraph_rag.types import DocumentRecord, Mention, Section, Segment

__all__ = ["DocumentLists"]


class DocumentLists(Protocol):
    """Records, counts and parts of documents; one statement for all of a call."""

    def named_documents(self, names: Sequence[str]) -> list[DocumentRecord | None]:
        """For each name the document with that id, or else that key; None where there is none."""
        ...

    def documents_after(self, key: str, *, k: int) -> list[DocumentRecord]:
        """The first k documents whose keys stand behind this one, by key, in the order of Unicode's numbers."""
        ...

    def counts_of(self, document_ids: Sequence[str]) -> Mapping[str, Mapping[str, int]]:
        """For each of these, nodes and edges by label and by relationship type; empty where there is none."""
        ...

    def segments_in(self, document_ids: Sequence[str]) -> Mapping[str, list[Segment]]:
        """For each of these documents its segments, by index; empty where there is none."""
        ...

    def sections_in(self, document_ids: Sequence[str]) -> Mapping[str, list[Section]]:
        """For each of these documents its outline, by index."""
        ...

    def mentions_in(self, document_ids: Sequence[str]) -> Mapping[str, list[Mention]]:
        """For each of these documents its mentions, by place."""
        ...
