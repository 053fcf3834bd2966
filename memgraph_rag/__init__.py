"""Long-term memory for applications, in Neo4j or in one file: documents become a graph that a local model walks.

    from memgraph_rag import Memory

    with Memory("notes.lbug") as memory:
        memory.add("Ada Lovelace wrote the first program in 1843.")
        print(memory.ask("Who wrote the first program?").text)

Importing this loads neither torch nor a database driver.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memgraph_rag.errors import DocumentChanged, MemgraphRagError
    from memgraph_rag.layers.openie import OpenIE
    from memgraph_rag.memory import Memory
    from memgraph_rag.operations.session import Session, Stored
    from memgraph_rag.settings import Settings
    from memgraph_rag.text.loading import load
    from memgraph_rag.types import (
        Action,
        Annotation,
        Answer,
        AnswerWarning,
        Carrier,
        Change,
        Citation,
        Damage,
        Document,
        DocumentPage,
        DocumentRecord,
        Entity,
        Evidence,
        Failure,
        InformationPoint,
        LayerRows,
        Message,
        Question,
        Receipt,
        RelativeDays,
        Rival,
        Section,
        Segment,
        Standing,
        Step,
        StopReason,
        Tool,
        Turn,
        Usage,
        WarningKind,
    )

_HOME = {
    "Action": "types",
    "Annotation": "types",
    "Answer": "types",
    "AnswerWarning": "types",
    "Carrier": "types",
    "Change": "types",
    "Citation": "types",
    "Damage": "types",
    "Document": "types",
    "DocumentChanged": "errors",
    "DocumentPage": "types",
    "DocumentRecord": "types",
    "Entity": "types",
    "Evidence": "types",
    "Failure": "types",
    "InformationPoint": "types",
    "LayerRows": "types",
    "MemgraphRagError": "errors",
    "Memory": "memory",
    "Message": "types",
    "OpenIE": "layers.openie",
    "Question": "types",
    "Receipt": "types",
    "RelativeDays": "types",
    "Rival": "types",
    "Section": "types",
    "Segment": "types",
    "Session": "operations.session",
    "Settings": "settings",
    "Standing": "types",
    "Step": "types",
    "StopReason": "types",
    "Stored": "operations.session",
    "Tool": "types",
    "Turn": "types",
    "Usage": "types",
    "WarningKind": "types",
    "load": "text.loading",
}

__all__ = [
    "Action",
    "Annotation",
    "Answer",
    "AnswerWarning",
    "Carrier",
    "Change",
    "Citation",
    "Damage",
    "Document",
    "DocumentChanged",
    "DocumentPage",
    "DocumentRecord",
    "Entity",
    "Evidence",
    "Failure",
    "InformationPoint",
    "LayerRows",
    "MemgraphRagError",
    "Memory",
    "Message",
    "OpenIE",
    "Question",
    "Receipt",
    "RelativeDays",
    "Rival",
    "Section",
    "Segment",
    "Session",
    "Settings",
    "Standing",
    "Step",
    "StopReason",
    "Stored",
    "Tool",
    "Turn",
    "Usage",
    "WarningKind",
    "load",
]

try:
    __version__ = version("memgraph_rag")
except PackageNotFoundError:  # a bare checkout
    __version__ = "0"


def __getattr__(name: str) -> Any:
    """A public name, imported at its first use, so that importing the package stays cheap."""
    if name in _HOME:
        return getattr(import_module(f"memgraph_rag.{_HOME[name]}"), name)
    raise AttributeError(f"module 'memgraph_rag' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
