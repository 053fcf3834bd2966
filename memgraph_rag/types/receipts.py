"""What became of a document: added, replaced, forgotten, or failed, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from memgraph_rag.types.generation import Usage
from memgraph_rag.types.plain import plain_fields

__all__ = ["Action", "Failure", "Receipt"]


class Action(str, Enum):
    """What a write did."""

    ADDED = "added"
    REPLACED = "replaced"
    DESCRIBED = "described"
    """Its metadata are others; all that was built of it stayed."""
    UNCHANGED = "unchanged"
    DEEPENED = "deepened"
    FORGOTTEN = "forgotten"


@dataclass(frozen=True, slots=True)
class Receipt:
    """What the database holds of a document after a write (for ``forget``: what it held and no longer does).

    Attributes:
        counts: nodes and edges of the document by label or relationship type, read back after the commit.
        notes: what could not be used of what the model wrote, or of the messages' times, or built, by kind, counted.
        usage: model work of this call.
        echoes: segments of the document that say again what the memory itself answered, and so are no evidence.
        stale_questions: kept questions of which the write took away something that was read (``Question.changes``).
        forgotten_questions: kept questions that ``forget`` removed with the document that they rest on.
        same_as: keys of other documents with the same text, sorted; those of older versions are not recognised.
    """

    document_id: str
    key: str
    action: Action
    counts: Mapping[str, int]
    notes: Mapping[str, int] = field(default_factory=dict[str, int])
    usage: Usage = field(default_factory=Usage)
    echoes: int = 0
    stale_questions: int = 0
    forgotten_questions: int = 0
    same_as: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return all fields, for JSON."""
        return plain_fields(self)


@dataclass(frozen=True, slots=True)
class Failure:
    """A source that ``add_many`` could not add, and why; the others went on."""

    source: str
    error: Exception

    def as_dict(self) -> dict[str, Any]:
        """Return the source, the name of the error's class as ``error`` and its message, for JSON."""
        return {"source": self.source, "error": type(self.error).__name__, "message": str(self.error)}
