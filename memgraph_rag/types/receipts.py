"""The result of a write: a document was added, replaced, deepened or forgotten, or it failed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from memgraph_rag.types.generation import Usage
from memgraph_rag.types.plain import Plain


class Action(str, Enum):
    """The effect of a write on a document."""

    ADDED = "added"
    REPLACED = "replaced"
    DESCRIBED = "described"
    """The metadata changed; all layers stayed as they were."""
    UNCHANGED = "unchanged"
    DEEPENED = "deepened"
    FORGOTTEN = "forgotten"


@dataclass(frozen=True, slots=True)
class Receipt(Plain):
    """The content of the database for a document after a write; after ``forget``, the content before.

    Attributes:
        counts: nodes and edges of the document by label or relationship type, read back after the commit.
        notes: the number of problems by kind: unusable output of the model, unreadable times, layers that failed.
        usage: model work of this call.
        echoes: segments of the document that repeat an earlier answer of the memory, and so are no evidence.
        stale_questions: kept questions for which the write removed a node that was read (``Question.changes``).
        forgotten_questions: kept questions that ``forget`` deleted with the document that they rest on.
        same_as: keys of other documents with the same text, sorted; documents of old versions are not compared.
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


@dataclass(frozen=True, slots=True)
class Failure:
    """A source that ``add_many`` could not add, and the error. Sources without a failure were added."""

    source: str
    error: Exception

    def as_dict(self) -> dict[str, Any]:
        """Return the source, the class name of the error as ``error``, and its message, for JSON."""
        return {"source": self.source, "error": type(self.error).__name__, "message": str(self.error)}
