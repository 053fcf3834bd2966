"""The seven tools: what a model reads about each, and what each does with ``Memory``.

They know ``Memory`` and the context of a call. Invariants: descriptions say when to use a tool and when another;
arguments are bounded here or refused by ``Memory``; a tool that is no coroutine runs in a thread of its own.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from itertools import accumulate
from typing import Annotated, Any, Literal

from anyio import to_thread
from mcp.server.mcpserver.resolve import AcceptedElicitation, Elicit, ElicitationResult, Resolve
from mcp.types import ToolAnnotations
from pydantic import BaseModel, Field

from memgraph_rag import Answer, AsyncMemory, Limits, Memory, Step, __version__
from memgraph_rag.display import show
from memgraph_rag.errors import DocumentError, DocumentNotFound, QuestionNotFound, SettingsError
from memgraph_rag.server.results import (
    Answered,
    DocumentList,
    Forgotten,
    Passage,
    Recalled,
    Remembered,
    Status,
    StoredDocument,
    Surroundings,
)
from memgraph_rag.server.services import Call, Services

__all__ = ["TOOLS", "Confirmation", "ToolEntry", "asked", "confirm"]

_MOST_PAGE = 500
_MOST_LOOK = 200

Metadata = dict[str, bool | int | float | str]
Names = Annotated[list[str] | None, Field(description="Only these documents, by key or id; all by default.")]
User = Annotated[str, Field(description="Only what this user said, or what was remembered as theirs; by default all.")]
Session = Annotated[str, Field(description="Only what belongs to this conversation; by default all.")]


class ChatMessage(BaseModel):
    """A message of a conversation."""

    role: str = Field(description='Who said it: "user", "assistant", or a name.')
    content: str
    time: str = Field("", description="When it was said, ISO 8601 (2026-05-01T10:00); empty where it is not known.")


def remember(
    *,
    call: Call,
    text: Annotated[str, Field(description="What to remember, as plain text or Markdown.")] = "",
    messages: Annotated[
        list[ChatMessage] | None, Field(description="A conversation instead of a text, in order.")
    ] = None,
    key: Annotated[
        str, Field(description="A name of your own for it; the same key again replaces it. By default one is made.")
    ] = "",
    title: Annotated[str, Field(description="A title that says what it is about; it helps to find it.")] = "",
    metadata: Annotated[
        Metadata | None, Field(description='Facts to filter by, such as {"project": "mill", "date": "2026-05-01"}.')
    ] = None,
    user: Annotated[str, Field(description="Whose it is, where several users share the memory.")] = "",
    session: Annotated[str, Field(description="The conversation that it belongs to.")] = "",
) -> Remembered:
    """Check what came and store it as one document."""
    source = _source(text, messages)
    services = _services(call)
    memory = services.memory
    described = _of_scope(metadata, user=user, session=session)
    receipt = memory.add(source, key=key or None, title=title or None, metadata=described)
    following = services.memories.follow(memory, receipt)
    return Remembered.model_validate({**receipt.as_dict(), "layers_to_follow": following})


def _of_scope(metadata: Metadata | None, **scope: str) -> Metadata | None:
    """The metadata with user and session, where these are given."""
    given = {name: value for name, value in scope.items() if value}
    for name, value in given.items():
        if (other := (metadata or {}).get(name, value)) != value:
            raise SettingsError(f"Expected one {name}, got {show(value)} and {show(other)}. Name it once.")
    return {**(metadata or {}), **given} or None


def _source(text: str, messages: list[ChatMessage] | None) -> str | list[dict[str, Any]]:
    if bool(text.strip()) == bool(messages):
        got = "both" if messages else "neither"
        raise DocumentError(f"Expected text or messages, got {got}. Give one of them; remember twice to store both.")
    return [message.model_dump() for message in messages] if messages else text


def recall(
    *,
    call: Call,
    query: Annotated[str, Field(description="A question or a sentence in the user's words; names help most.")],
    k: Annotated[int, Field(description="Most passages.", ge=1, le=100)] = 8,
    max_tokens: Annotated[
        int, Field(description="Most tokens of all passages together; the best always comes.", ge=1)
    ] = 3000,
    mode: Annotated[
        Literal["graph", "hybrid", "keywords", "vector", "segments", "hipporag", "hipporag2"],
        Field(
            description="graph for nearly everything; keywords for an exact word, a number or a code; segments for "
            "passages of several segments each, where an answer needs what stands around it; hipporag and hipporag2 "
            "for what is linked by names and relations, as published."
        ),
    ] = "graph",
    documents: Names = None,
    user: User = "",
    session: Session = "",
    where: Annotated[Metadata | None, Field(description="Only documents whose metadata hold all of these.")] = None,
    since: Annotated[str, Field(description="Only what is not older: 2026-05-01 or 2026-05-01T10:00.")] = "",
    until: Annotated[str, Field(description="Only what is older.")] = "",
    at: Annotated[
        str, Field(description="What held on this day or at this time: later words are left out. Without until.")
    ] = "",
    min_relevance: Annotated[
        float | None, Field(description="Leave out what is less near to the query; 0.1 drops what is off the subject.")
    ] = None,
) -> Recalled:
    """Search, and cut what was found to the budget."""
    memory = _services(call).memory
    scope: dict[str, Any] = {
        "documents": documents, "user": user or None, "session": session or None, "where": where,
        "since": since or None, "until": until or None, "at": at or None,
    }  # fmt: skip
    evidence = memory.search(query, k=k, mode=mode, min_relevance=min_relevance, **scope)
    totals = list(accumulate(item.tokens for item in evidence))
    fitting = max(sum(total <= max_tokens for total in totals), min(1, len(totals)))
    kept = evidence[:fitting]
    wishes = memory.scoped(**scope).wishes(query)
    return Recalled(
        passages=[Passage.model_validate(item.as_dict()) for item in kept],
        document_times=_times(memory, {item.segment.document_id for item in kept}),
        tokens=totals[fitting - 1] if kept else 0,
        left_out=len(evidence) - fitting,
        wishes=[wish.standing.value for wish in wishes if wish.standing],
    )


def _times(memory: Memory, ids: set[str]) -> dict[str, str]:
    """When the documents of these ids are from, by key; those that somebody has forgotten meanwhile are left out."""
    try:
        records = memory.documents(documents=sorted(ids))
    except DocumentNotFound:
        records = [record for record in memory.documents() if record.id in ids]
    return {
        record.key: str(record.metadata.get("time") or record.metadata.get("date") or record.added_at)
        for record in records
    }


async def ask(
    *,
    call: Call,
    question: Annotated[str, Field(description="A whole question in the user's words.")],
    style: Annotated[
        Literal["short", "sentence", "detailed"],
        Field(description="A phrase, a sentence, or a paragraph with marks [n] of its citations."),
    ] = "sentence",
    documents: Names = None,
    user: User = "",
    session: Session = "",
    at: Annotated[
        str, Field(description="As of this day or time: the answer rests on nothing that was said later. Without keep.")
    ] = "",
    max_seconds: Annotated[
        float | None, Field(description="Reading ends with the step that reaches it; none by default.", gt=0)
    ] = None,
    keep: Annotated[
        bool,
        Field(
            description="Keep question, answer and what was read, as a resource under memory://questions.", strict=True
        ),
    ] = False,
) -> Answered:
    """Walk the memory, telling of each step; a call that is cancelled stops behind the step in work."""
    read, is_writing = 0, False
    items = asked(
        _services(call),
        question,
        style=style,
        documents=documents,
        user=user,
        session=session,
        at=at,
        max_seconds=max_seconds,
        keep=keep,
    )
    async with aclosing(items):
        async for item in items:
            if isinstance(item, Answered):
                return item
            if isinstance(item, Step):
                read += 1
                await call.report_progress(read, message=f"read {read}: {' '.join(item.node.text.split())[:80]}")
            elif not is_writing:
                is_writing = True
                await call.report_progress(read + 1, message="writing the answer")
    raise AssertionError("a stream ends with an answer")


async def asked(
    services: Services,
    question: str,
    *,
    user: str = "",
    session: str = "",
    at: str = "",
    keep: bool = False,
    max_seconds: float | None = None,
    **options: Any,
) -> AsyncGenerator[Step | str | Answered, None]:
    """What happens while a question is asked: each step, pieces of the answer's text, and last the answer.

    Args:
        options: further arguments of ``Memory.stream``.
    """
    memory = await to_thread.run_sync(lambda: services.memory)  # opening it takes seconds
    held: dict[str, Any] = {"user": user or None, "session": session or None, "at": at or None}
    items = AsyncMemory(memory).stream(question, limits=Limits(seconds=max_seconds), keep_trace=keep, **held, **options)
    async with aclosing(items):  # pyright: ignore[reportArgumentType] - it is a generator
        async for item in items:
            if isinstance(item, Answer):
                kept = await to_thread.run_sync(memory.questions, question) if keep else []
                kept_as = f"memory://questions/{kept[0].id}" if kept else ""
                form = {**item.as_dict(), "nodes_read": len(item.trace), "kept_as": kept_as}
                yield Answered.model_validate(form)
            else:
                yield item


class Confirmation(BaseModel):
    """What the user says to a question before something is forgotten."""

    forget: bool = Field(description="Yes: forget it for good.")


Name = Annotated[str, Field(description="Key or id of a document, or text or id of a kept question.")]
Kind = Annotated[Literal["document", "question"], Field(description="Whether name is a document or a kept question.")]
Owner = Annotated[str, Field(description="Instead of name: all that this user said, or that was remembered as theirs.")]
OfSession = Annotated[str, Field(description="With user: of theirs only this conversation.")]


def confirm(
    call: Call, name: str = "", kind: str = "document", user: str = "", session: str = ""
) -> Confirmation | Elicit[Confirmation]:
    """The question to the user, where the client can ask it; what is not there is refused before."""
    memory = _services(call).memory
    if user or session:
        what = _all_of(memory, name, user, session)
    elif kind == "question":
        kept = memory.questions(name)
        if not kept:
            raise QuestionNotFound(f"Expected the text or id of a kept question, got {show(name)}.")
        what = f"the kept question “{kept[0].text[:120]}”"
    else:
        (record,) = memory.documents(documents=[name])
        title = f" “{record.title[:120]}”" if record.title else ""
        what = f"{record.key[:120]}{title} ({record.characters:,} characters, stored {record.added_at})"
    if not _can_elicit(call):
        return Confirmation(forget=True)
    return Elicit(f"Forget {what}? It cannot be brought back.", Confirmation)


def _all_of(memory: Memory, name: str, user: str, session: str) -> str:
    """A user's documents, or those of a session of theirs, in words.

    Raises:
        SettingsError: something else is named too, or no user.
        DocumentNotFound: there are none.
    """
    if name or not user:
        got = "both" if name else "a session of nobody"
        raise SettingsError(f"Expected name, or user and perhaps session, got {got}. Name one of them.")
    number = len(memory.documents(user=user, session=session or None))
    whose = f"the user {show(user)}" + (f" in the session {show(session)}" if session else "")
    if not number:
        raise DocumentNotFound(f"Expected documents of {whose}, got none. Nothing is stored of them.")
    return f"all {number:,} documents of {whose}"


def forget(
    *,
    call: Call,
    confirmation: Annotated[ElicitationResult[Confirmation], Resolve(confirm)],
    name: Name = "",
    kind: Kind = "document",
    user: Owner = "",
    session: OfSession = "",
) -> Forgotten:
    """Remove it, unless the user said no."""
    memory = _services(call).memory
    if not (isinstance(confirmation, AcceptedElicitation) and confirmation.data.forget):
        asked_of = "user" if user else kind
        return Forgotten(name=name or user, kind=asked_of, forgotten=False, documents=0, segments=0, questions=0)
    if user:
        return Forgotten.of(user, "user", memory.forget(user=user, session=session or None))
    if kind == "question":
        memory.forget(question=name)
        return Forgotten.of(name, kind)
    receipt = memory.forget(name)
    return Forgotten.of(receipt.key, kind, [receipt])


def list_documents(
    *,
    call: Call,
    after: Annotated[str, Field(description="Only keys behind this one: next_after of the page before.")] = "",
    limit: Annotated[int, Field(description="Most documents of a page.", ge=1, le=_MOST_PAGE)] = 50,
) -> DocumentList:
    """A page of the documents."""
    memory = _services(call).memory
    records = memory.documents(after=after, limit=limit + 1)
    page = records[:limit]
    return DocumentList(
        documents=[StoredDocument.model_validate(record.as_dict()) for record in page],
        total=memory.status()["counts"]["Document"],
        next_after=page[-1].key if len(records) > limit else "",
    )


def look(
    *,
    call: Call,
    name: Annotated[str, Field(description="A document's key, the name of a person, place or thing, or an id.")],
    kind: Annotated[
        Literal["document", "entity", "question", "overview"] | None,
        Field(description="Where the name could be several."),
    ] = None,
    most: Annotated[int, Field(description="Most of each kind.", ge=1, le=_MOST_LOOK)] = 20,
) -> Surroundings:
    """What is tied to a thing in the graph."""
    neighbourhood = _services(call).memory.around(name, kind=kind, most=most)
    form = Surroundings.model_validate(neighbourhood.as_dict())
    if (unseen := len(form.passages) - most) > 0:
        form.left_out["passages"] = form.left_out.get("passages", 0) + unseen
        del form.passages[most:]
    return form


def status(*, call: Call) -> Status:
    """What the store says of itself, and what is still being built."""
    services = _services(call)
    memory = services.memory
    stats, backlog = memory.status(), services.memories.backlog(memory.namespace)
    records = memory.documents() if backlog.layers else []
    following = {layer: sum(layer not in record.layers for record in records) for layer in backlog.layers}
    return Status.of(
        stats["counts"],
        backlog,
        documents_without=following | stats.get("documents_without", {}),
        namespace=memory.namespace,
        version=__version__,
        embedder=memory.embedder.name,
        read_only=memory.settings.read_only,
    )


def _services(call: Call) -> Services:
    return call.request_context.lifespan_context


def _can_elicit(call: Call) -> bool:
    """Whether the client has said that it shows forms; a bare ``elicitation: {}`` is from before there were others."""
    capabilities = call.client_capabilities
    elicitation = capabilities.elicitation if capabilities is not None else None
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


@dataclass(frozen=True, slots=True)
class ToolEntry:
    """A tool as clients see it."""

    function: Callable[..., Any]
    title: str
    description: str
    annotations: ToolAnnotations


def _hints(*, reads: bool = False, destroys: bool = False, repeats: bool = True) -> ToolAnnotations:
    """All of them act on this memory only, so none has an open world."""
    return ToolAnnotations(
        read_only_hint=reads, destructive_hint=destroys, idempotent_hint=repeats, open_world_hint=False
    )


TOOLS = (
    ToolEntry(
        remember,
        "Remember",
        "Store something for later conversations: what the user says about themselves, their work and their "
        "decisions, a text to keep, or a conversation (messages). Use it when the user asks you to remember, or when "
        "something will matter later; not for what you merely worked out. It returns as soon as the text is stored "
        "and can be found. The same text again changes nothing; other text under the same key replaces it.",
        _hints(destroys=True),
    ),
    ToolEntry(
        recall,
        "Recall",
        "Find what was stored about something: passages in their own words, each with its document, its place there "
        "and its time, best first. Use it before you answer anything that earlier conversations or stored documents "
        "may bear on. It is quick and asks no model; you read the passages and answer. Where passages contradict each "
        "other, the later time usually holds. No passages means: nothing is known.",
        _hints(reads=True),
    ),
    ToolEntry(
        ask,
        "Ask",
        "Let the memory's own local model read for a question and answer it with citations. It takes seconds to "
        "minutes: use it where the answer must be put together from several places, or must carry exact citations; "
        "for all else use recall. If abstained is true, nothing stored answers the question.",
        _hints(),
    ),
    ToolEntry(
        forget,
        "Forget",
        "Remove a document, a kept question, or all of a user, for good, with all that rests on it alone. Use it only "
        "when the user wants something forgotten; to correct something, remember the new text under the same key "
        "instead. The user is asked first where the client can ask.",
        _hints(destroys=True, repeats=False),
    ),
    ToolEntry(
        list_documents,
        "List documents",
        "The documents that are stored, by key, with title, size and time. Use it to find a key for forget or for "
        "recall's documents; to find out what is known about a subject use recall.",
        _hints(reads=True),
    ),
    ToolEntry(
        look,
        "Look around",
        "What surrounds one thing in the memory's graph: for a person, a place or a thing the documents and passages "
        "that name it and its relations; for a document its names and summaries. Use it to explore from a name that "
        "you know; to search by meaning use recall.",
        _hints(reads=True),
    ),
    ToolEntry(
        status,
        "Status",
        "How much is stored, in which namespace, and what is still being built in the background.",
        _hints(reads=True),
    ),
)
"""In the order in which clients list them."""
