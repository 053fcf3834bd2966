"""What a client can read without a tool: documents and kept questions, by address; and one prompt.

Invariant: an address holds an id or an escaped key, never a path of this machine; what is not there is said as such.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp.server.mcpserver.resources import ResourceSecurity
from mcp.types import Resource as ListedResource
from pydantic import Field

from memgraph_rag.display import show
from memgraph_rag.errors import DocumentNotFound, MemgraphRagError, QuestionNotFound
from memgraph_rag.server.explanations import explain
from memgraph_rag.server.results import KeptQuestion, StoredDocument
from memgraph_rag.server.services import Call

if TYPE_CHECKING:
    from memgraph_rag import DocumentRecord, Memory, Question
    from memgraph_rag.server.server import MemoryServer

__all__ = ["add_resources", "listed"]

T = TypeVar("T")

_LISTED = 100  # documents, and kept questions, that a client is told of by address; the newest
_JSON = "application/json"


def add_resources(server: MemoryServer) -> None:
    """Give the server its addresses and its prompt."""
    by_name = ResourceSecurity(exempt_params={"name"})  # a key may be any text; it is looked up, never opened
    server.resource(
        "memory://documents",
        name="documents",
        title="Documents",
        description="All documents that are stored, by key.",
        mime_type=_JSON,
    )(_listing(server, lambda memory: [_document_form(record) for record in memory.documents()]))
    server.resource(
        "memory://questions",
        name="questions",
        title="Kept questions",
        description="The questions that were kept with their answers, the newest first.",
        mime_type=_JSON,
    )(_listing(server, lambda memory: [_question_form(question) for question in memory.questions()]))
    server.resource(
        "memory://documents/{name}",
        name="document",
        title="A document",
        description="The whole text of a document, by its id, or its key (percent-encoded).",
        security=by_name,
    )(_document)
    server.resource(
        "memory://questions/{name}",
        name="question",
        title="A kept question",
        description="A kept question with its answer, its citations and what has changed since, by its id.",
        mime_type=_JSON,
        security=by_name,
    )(_question)
    server.prompt(
        name="answer_from_memory",
        title="Answer from memory",
        description="Answers a question from what is remembered, with quotes, or says that nothing is known.",
    )(_answer_from_memory)


def listed(memory: Memory) -> list[ListedResource]:
    """The newest documents and kept questions, as a client lists them."""
    records = sorted(memory.documents(), key=lambda record: record.added_at, reverse=True)
    return [
        *(
            ListedResource(
                uri=f"memory://documents/{record.id}", name=record.key, title=record.title or None,
                mime_type="text/plain", size=record.characters,
            )
            for record in records[:_LISTED]
        ),
        *(
            ListedResource(uri=f"memory://questions/{question.id}", name=question.text[:200], mime_type=_JSON)
            for question in memory.questions()[:_LISTED]
        ),
    ]  # fmt: skip


def _listing(server: MemoryServer, forms: Callable[[Memory], list[dict[str, Any]]]) -> Callable[[], str]:
    """A resource without a parameter gets no context from the SDK; the memory comes from the server."""
    return lambda: _read(lambda: _json(forms(server.services.memory)))


def _document(name: str, call: Call) -> str:
    return _read(lambda: call.request_context.lifespan_context.memory.get(name).text)


def _question(name: str, call: Call) -> str:
    def form() -> str:
        for question in call.request_context.lifespan_context.memory.questions(name):
            return _json(_question_form(question))
        raise QuestionNotFound(f"Expected the id or text of a kept question, got {show(name)}.")

    return _read(form)


def _answer_from_memory(
    question: Annotated[str, Field(description="What the user wants to know.")],
) -> str:
    return (
        f"{question}\n\n"
        "Answer this from memory. First call the tool recall with the question, and again with each name that the "
        "passages bring up and that matters. Answer only from these passages. Behind each statement quote the words "
        "that it rests on, with the document's key. Where passages contradict each other, say so, and prefer what was "
        "said later. If they do not answer the question, say that nothing about it is remembered; do not guess."
    )


def _document_form(record: DocumentRecord) -> dict[str, Any]:
    return StoredDocument.model_validate(record.as_dict()).model_dump()


def _question_form(question: Question) -> dict[str, Any]:
    return KeptQuestion.model_validate(question.as_dict()).model_dump()


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)


def _read(make: Callable[[], T]) -> T:
    """What is made, with our errors as the SDK's."""
    try:
        return make()
    except (DocumentNotFound, QuestionNotFound) as error:
        raise ResourceNotFoundError(explain(error)) from error
    except MemgraphRagError as error:
        raise ResourceError(explain(error)) from error
