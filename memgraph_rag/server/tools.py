"""The seven tools of the server: their descriptions for models, and their functions, which call ``Memory``.

They know ``Memory`` and the context of a call. Invariants: a description says when to use the tool and when to use
another. Arguments are limited here or checked by ``Memory``. A tool that is not a coroutine runs in its own thread.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any, Literal

from anyio import to_thread
from mcp.server.mcpserver.resolve import AcceptedElicitation, Elicit, ElicitationResult, Resolve
from mcp.types import ToolAnnotations
from pydantic import BaseModel, Field

from memgraph_rag import Answer, AsyncMemory, Limits, Memory, Step, __version__
from memgraph_rag.display import show
from memgraph_rag.errors import DocumentError, DocumentNotFound, SettingsError
from memgraph_rag.server.console.readings import find_question
from memgraph_rag.server.results import (
    Answered,
    Briefed,
    DocumentList,
    Forgotten,
    Passage,
    Recalled,
    Remembered,
    Status,
    StoredDocument,
    Surroundings,
)
from memgraph_rag.server.services import Call, Services, find_services
from memgraph_rag.types import Part

PAGE_OF_LOOK = "ui://memgraph_rag"
"""The address of the page that hosts of MCP Apps show beside a result of ``look``."""

_MOST_PAGE = 500
_MOST_LOOK = 200

Metadata = dict[str, bool | int | float | str]
Names = Annotated[list[str] | None, Field(description="Use only these documents (keys or ids). Default: all.")]
User = Annotated[str, Field(description="Use only the words and documents of this user. Default: all users.")]
Session = Annotated[str, Field(description="Use only this conversation. Default: all conversations.")]

Mode = Annotated[
    Literal["graph", "hybrid", "keywords", "vector", "segments", "hipporag", "hipporag2"],
    Field(
        description="graph for nearly everything; keywords for an exact word, a number or a code; segments for "
        "longer passages, if an answer needs the text around a sentence; hipporag and hipporag2 for the published "
        "methods that follow names and relations."
    ),
]


class ChatMessage(BaseModel):
    """A message of a conversation."""

    role: str = Field(description='The speaker: "user", "assistant", or a name.')
    content: str
    time: str = Field("", description="The time of the message, ISO 8601 (2026-05-01T10:00); empty if unknown.")


def remember(
    *,
    call: Call,
    text: Annotated[str, Field(description="The text to remember, plain or Markdown.")] = "",
    messages: Annotated[
        list[ChatMessage] | None, Field(description="A conversation in order, instead of a text.")
    ] = None,
    key: Annotated[
        str, Field(description="A name for the document. The same key again replaces it. Default: a generated key.")
    ] = "",
    title: Annotated[str, Field(description="A title that names the subject; it helps to find the document.")] = "",
    metadata: Annotated[
        Metadata | None, Field(description='Values to filter by, such as {"project": "mill", "date": "2026-05-01"}.')
    ] = None,
    user: Annotated[str, Field(description="The owner, if several users share the memory.")] = "",
    session: Annotated[str, Field(description="The conversation to which the document belongs.")] = "",
) -> Remembered:
    """Store a text or a conversation as one document. Background layers may be built after it returns.

    Raises:
        DocumentError: both or neither of text and messages are given, or an error of ``Memory.add``.
    """
    source = _source(text, messages)
    owned_metadata = _add_owner(metadata, user=user, session=session)
    return store(call, source, key=key or None, title=title or None, metadata=owned_metadata)


def store(call: Call, source: str | Path | Sequence[Mapping[str, Any]], **options: Any) -> Remembered:
    """Store a source in the caller's memory, and queue the layers that are built in the background.

    Args:
        options: further arguments of ``Memory.add``, whose errors are raised.
    """
    services = find_services(call)
    memory = services.memory
    receipt = memory.add(source, **options)
    following = services.memories.follow(memory, receipt)
    return Remembered.model_validate({**receipt.as_dict(), "layers_to_follow": following})


def _add_owner(metadata: Metadata | None, **owner: str) -> Metadata | None:
    """Return the metadata with the user and the session that are not empty; None if there are no metadata.

    Raises:
        SettingsError: the metadata name another user or session.
    """
    owner_fields = {name: value for name, value in owner.items() if value}
    for name, value in owner_fields.items():
        if (other := (metadata or {}).get(name, value)) != value:
            raise SettingsError(f"Expected one {name}, got {show(value)} and {show(other)}. Name it once.")
    return {**(metadata or {}), **owner_fields} or None


def _source(text: str, messages: list[ChatMessage] | None) -> str | list[dict[str, Any]]:
    """Return the text or the messages, and raise ``DocumentError`` unless exactly one of them is given."""
    if bool(text.strip()) == bool(messages):
        got = "both" if messages else "neither"
        raise DocumentError(
            f"Expected text or messages, got {got}. Pass one of them; call remember twice to store both."
        )
    return [message.model_dump() for message in messages] if messages else text


def recall(
    *,
    call: Call,
    query: Annotated[str, Field(description="A question or a sentence in the user's words; names help most.")],
    k: Annotated[int, Field(description="The largest number of passages.", ge=1, le=100)] = 8,
    max_tokens: Annotated[
        int,
        Field(description="The most tokens of all passages together. The best passage is always returned.", ge=1),
    ] = 3000,
    mode: Mode = "graph",
    documents: Names = None,
    user: User = "",
    session: Session = "",
    where: Annotated[
        Metadata | None, Field(description="Use only documents whose metadata have all these values.")
    ] = None,
    since: Annotated[
        str, Field(description="Return only passages from this time on: 2026-05-01 or 2026-05-01T10:00.")
    ] = "",
    until: Annotated[str, Field(description="Return only passages from before this time.")] = "",
    at: Annotated[
        str,
        Field(
            description="Return what was true on this day or at this time: later passages are left out. Do not combine "
            "with until."
        ),
    ] = "",
    min_relevance: Annotated[
        float | None,
        Field(description="Leave out passages with a lower relevance (0 to 1); 0.1 drops most other subjects."),
    ] = None,
    judge: Annotated[
        bool,
        Field(
            strict=True,
            description="If the query asks how something is now, let a language model find the user's message that "
            "says it, and return it first. It takes a second or more.",
        ),
    ] = False,
) -> Recalled:
    """Search, and return passages, best first, until the next would exceed ``max_tokens``, and the relevant wishes.

    The best passage is always returned. Later passages are left out even if they would fit.
    """
    memory = find_services(call).memory
    scope = scope_fields(documents=documents, user=user, session=session, where=where, since=since, until=until, at=at)
    evidence = memory.search(query, k=k, mode=mode, min_relevance=min_relevance, judge=judge, **scope)
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
    """Return the times of documents by key; documents that were forgotten meanwhile are left out."""
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
    question: Annotated[str, Field(description="A complete question in the user's words.")],
    style: Annotated[
        Literal["short", "sentence", "detailed"],
        Field(description="A phrase, a sentence, or a paragraph with the numbers [n] of its citations."),
    ] = "sentence",
    documents: Names = None,
    user: User = "",
    session: Session = "",
    where: Annotated[
        Metadata | None, Field(description="Use only documents whose metadata have all these values.")
    ] = None,
    since: Annotated[str, Field(description="Read only passages from this day or time on.")] = "",
    at: Annotated[
        str,
        Field(description="Answer as of this day or time: later passages are not read. Do not combine with keep."),
    ] = "",
    strategy: Annotated[str, Field(description="The way to read, such as walk or pecan. Default: as it fits.")] = "",
    max_seconds: Annotated[
        float | None, Field(description="The reading ends after the step that reaches it. Default: no limit.", gt=0)
    ] = None,
    max_nodes: Annotated[int | None, Field(description="The most nodes to read. Default: no limit.", ge=1)] = None,
    keep: Annotated[
        bool,
        Field(
            description="Store the question with its answer and the passages read, as a resource under "
            "memory://questions.",
            strict=True,
        ),
    ] = False,
) -> Answered:
    """Answer a question, and report each step as progress. A cancelled call stops after the current step."""
    read, progress, is_writing = 0, 0, False
    items = stream_answer(
        find_services(call),
        question,
        style=style,
        documents=documents,
        user=user,
        session=session,
        where=where,
        since=since,
        at=at,
        strategy=strategy,
        max_seconds=max_seconds,
        max_nodes=max_nodes,
        keep=keep,
    )
    async with aclosing(items):
        async for item in items:
            if isinstance(item, Answered):
                return item
            if isinstance(item, Step):
                read, progress = read + 1, progress + 1
                await call.report_progress(progress, message=f"read {read}: {' '.join(item.node.text.split())[:80]}")
            elif isinstance(item, Part):
                progress += 1
                await call.report_progress(progress, message=f"{item.question} {item.value or 'nothing found'}"[:100])
            elif not is_writing:
                is_writing = True
                await call.report_progress(progress + 1, message="writing the answer")
    raise AssertionError("a stream ends with an answer")


async def stream_answer(
    services: Services,
    question: str,
    *,
    keep: bool = False,
    max_seconds: float | None = None,
    max_nodes: int | None = None,
    **options: Any,
) -> AsyncGenerator[Step | Part | str | Answered, None]:
    """Answer a question; yield steps and parts, then pieces of the text (none in a refusal), then the answer.

    Args:
        options: further arguments of ``Memory.stream``. An empty one counts as missing.
    """
    memory = await to_thread.run_sync(lambda: services.memory)  # opening it takes seconds
    given = {name: value for name, value in options.items() if value not in ("", None)}
    limits = Limits(seconds=max_seconds, nodes=max_nodes)
    items = AsyncMemory(memory).stream(question, limits=limits, keep_trace=keep, **given)
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
    """The user's answer to the question whether to forget something."""

    forget: bool = Field(description="Yes: forget it permanently.")


Name = Annotated[str, Field(description="The key or id of a document, or the text or id of a kept question.")]
Kind = Annotated[Literal["document", "question"], Field(description="Whether name is a document or a kept question.")]
Owner = Annotated[str, Field(description="Instead of name: forget all words and documents of this user.")]
OfSession = Annotated[str, Field(description="With user: forget only this conversation of the user.")]


def confirm(
    call: Call, name: str = "", kind: str = "document", user: str = "", session: str = ""
) -> Confirmation | Elicit[Confirmation]:
    """Return the question for the user, or a confirmation that says yes if the client cannot ask.

    Raises:
        MemgraphRagError: the document, the question or the user's documents do not exist.
    """
    memory = find_services(call).memory
    if user or session:
        what = _describe_all(memory, name, user, session)
    elif kind == "question":
        what = f"the kept question “{find_question(memory, name).text[:120]}”"
    else:
        (record,) = memory.documents(documents=[name])
        title = f" “{record.title[:120]}”" if record.title else ""
        what = f"{record.key[:120]}{title} ({record.characters:,} characters, stored {record.added_at})"
    if not _can_elicit(call):
        return Confirmation(forget=True)
    return Elicit(f"Forget {what}? This cannot be undone.", Confirmation)


def _describe_all(memory: Memory, name: str, user: str, session: str) -> str:
    """Return words for all documents of a user, or of a session of the user.

    Raises:
        SettingsError: a name is given too, or no user is given.
        DocumentNotFound: the user or the session has no documents.
    """
    if name or not user:
        got = "both" if name else "a session without a user"
        raise SettingsError(f"Expected name, or user and perhaps session, got {got}. Name one of them.")
    number = len(memory.documents(user=user, session=session or None))
    whose = f"the user {show(user)}" + (f" in the session {show(session)}" if session else "")
    if not number:
        raise DocumentNotFound(f"Expected documents of {whose}, got none. Name another user or session.")
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
    """Remove a document, a question or a user's documents; remove nothing if the user refused or gave no answer."""
    memory = find_services(call).memory
    if not (isinstance(confirmation, AcceptedElicitation) and confirmation.data.forget):
        refused_kind = "user" if user else kind
        return Forgotten(name=name or user, kind=refused_kind, forgotten=False, documents=0, segments=0, questions=0)
    if user:
        return Forgotten.make(user, "user", memory.forget(user=user, session=session or None))
    if kind == "question":
        memory.forget(question=name)
        return Forgotten.make(name, kind)
    receipt = memory.forget(name)
    return Forgotten.make(receipt.key, kind, [receipt])


def list_documents(
    *,
    call: Call,
    after: Annotated[
        str, Field(description="Return only documents with greater keys: next_after of the previous page.")
    ] = "",
    contains: Annotated[str, Field(description="Return only documents whose key or title contains this text.")] = "",
    user: User = "",
    session: Session = "",
    where: Annotated[
        Metadata | None, Field(description="Return only documents whose metadata have all these values.")
    ] = None,
    since: Annotated[str, Field(description="Return only documents from this day or time on.")] = "",
    until: Annotated[str, Field(description="Return only documents from before this day or time.")] = "",
    limit: Annotated[int, Field(description="The most documents of a page.", ge=1, le=_MOST_PAGE)] = 50,
) -> DocumentList:
    """Return the first ``limit`` documents with keys greater than ``after``, sorted by key, and the number of all."""
    memory = find_services(call).memory
    scope = scope_fields(user=user, session=session, where=where, since=since, until=until)
    records = memory.scoped(**scope).documents(after=after, limit=limit + 1, contains=contains)
    page = records[:limit]
    return DocumentList(
        documents=[StoredDocument.model_validate(record.as_dict()) for record in page],
        total=memory.status()["counts"]["Document"],
        next_after=page[-1].key if len(records) > limit else "",
    )


def look(
    *,
    call: Call,
    name: Annotated[str, Field(description="The key of a document, the name of a person, place or thing, or an id.")],
    kind: Annotated[
        Literal["document", "entity", "question", "overview"] | None,
        Field(description="The kind of the thing, if things of several kinds have this name."),
    ] = None,
    most: Annotated[int, Field(description="The most neighbours of each kind.", ge=1, le=_MOST_LOOK)] = 20,
) -> Surroundings:
    """Return the neighbourhood of a thing in the graph, with at most ``most`` passages; ``left_out`` counts others."""
    neighbourhood = find_services(call).memory.around(name, kind=kind, most=most)
    form = Surroundings.model_validate(neighbourhood.as_dict())
    if (unseen := len(form.passages) - most) > 0:
        form.left_out["passages"] = form.left_out.get("passages", 0) + unseen
        del form.passages[most:]
    return form


def status(*, call: Call) -> Status:
    """Return the counts of the caller's namespace, and the state of its background work."""
    services = find_services(call)
    memory = services.memory
    stats, backlog = memory.status(), services.memories.backlog(memory.namespace)
    records = memory.documents() if backlog.layers else []
    following = {layer: sum(layer not in record.layers for record in records) for layer in backlog.layers}
    known = {*backlog.layers, *(record.id for record in records)}  # an error may name what is forgotten since
    backlog.failures = {name: error for name, error in backlog.failures.items() if name in known}
    return Status.make(
        stats["counts"],
        backlog,
        documents_without=following | stats.get("documents_without", {}),
        namespace=memory.namespace,
        version=__version__,
        embedder=memory.embedder.name,
        read_only=memory.settings.read_only,
    )


def brief(
    *,
    call: Call,
    max_tokens: Annotated[int, Field(description="The most tokens of the text.", ge=1)] = 600,
    about: Annotated[str, Field(description="A subject; only lines that bear on it.")] = "",
    user: User = "",
    session: Session = "",
    at: Annotated[str, Field(description="Return the brief of this day: later passages are left out.")] = "",
) -> Briefed:
    """Return what to know before a conversation; see ``Memory.brief``."""
    scope = scope_fields(user=user, session=session, at=at)
    written = find_services(call).memory.brief(max_tokens=max_tokens, about=about or None, **scope)
    return Briefed.model_validate(written.as_dict())


def scope_fields(**fields: Any) -> dict[str, Any]:
    """Return the fields of a scope, None for each that is missing. An empty list stays: it matches no document."""
    return {name: None if value == "" else value for name, value in fields.items()}


def _can_elicit(call: Call) -> bool:
    """Return whether the client can show forms. Older clients declare this by an empty ``elicitation: {}``."""
    capabilities = call.client_capabilities
    elicitation = capabilities.elicitation if capabilities is not None else None
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


@dataclass(frozen=True, slots=True)
class ToolEntry:
    """A tool as clients see it. ``page`` is the address of the page that hosts of MCP Apps show beside its result."""

    function: Callable[..., Any]
    title: str
    description: str
    annotations: ToolAnnotations
    page: str = ""


def hints(*, reads: bool = False, destroys: bool = False, repeats: bool = True) -> ToolAnnotations:
    """Return the hints of a tool to clients: whether it only reads, whether it destroys, whether it may be repeated."""
    return ToolAnnotations(
        read_only_hint=reads, destructive_hint=destroys, idempotent_hint=repeats, open_world_hint=False
    )


TOOLS = (
    ToolEntry(
        remember,
        "Remember",
        "Store information for later conversations: facts about the user, their work and their decisions, a text, or "
        "a conversation (messages). Use it when the user asks you to remember something, or when it will matter "
        "later. Do not store your own conclusions. It returns when the text is stored and can be found. The same text "
        "again changes nothing; another text with the same key replaces the stored text.",
        hints(destroys=True),
    ),
    ToolEntry(
        recall,
        "Recall",
        "Search the memory. Returns passages word for word, each with its document, its position and its time, best "
        "first. Use it before you answer a question to which earlier conversations or stored documents may be "
        "relevant. It is fast and calls no model; you read the passages and answer. If passages contradict each "
        "other, the later passage is usually right. No passages means that nothing is known. For an answer with exact "
        "citations use ask.",
        hints(reads=True),
    ),
    ToolEntry(
        ask,
        "Ask",
        "Let the memory's own local model read and answer a question with citations. It takes seconds to minutes: use "
        "it only if the answer needs several documents together, or exact citations; otherwise use recall. If "
        "abstained is true, the memory does not hold the answer.",
        hints(),
    ),
    ToolEntry(
        forget,
        "Forget",
        "Remove a document, a kept question, or all documents of a user permanently, with everything that depends on "
        "them alone. Use it only when the user wants something forgotten. To correct something, call remember with "
        "the new text and the same key instead. If the client can ask, the user is asked first.",
        hints(destroys=True, repeats=False),
    ),
    ToolEntry(
        list_documents,
        "List documents",
        "List the stored documents, sorted by key, with title, size and time. Use it to find a key for forget or for "
        "the argument documents of recall. To search for a subject use recall.",
        hints(reads=True),
    ),
    ToolEntry(
        look,
        "Look around",
        "Show the graph around one thing: for a person, a place or a thing, the documents and passages that name it, "
        "and its relations; for a document, its names and summaries. Use it to explore from a name that you know. To "
        "search by meaning use recall.",
        hints(reads=True),
        page=PAGE_OF_LOOK,
    ),
    ToolEntry(
        status,
        "Status",
        "Return how much is stored, in which namespace, and which layers are still being built in the background.",
        hints(reads=True),
    ),
)
"""All tools, in the order in which clients list them."""

BRIEF = ToolEntry(
    brief,
    "Brief",
    "Return what to know before a conversation: what holds, wishes, open ends, decisions, and what was spoken of last, "
    "each line with its place. No model is called.",
    hints(reads=True),
)
"""A tool over plain HTTP alone. Over MCP the brief is a resource, so that clients list seven tools."""
