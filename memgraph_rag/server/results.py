"""The declared schemas of what the tools give back: clients of MCP and of HTTP read them.

They know no record but by its plain form: a schema that names a record takes what the record's ``as_dict()`` gives, and
keeps the keys that it declares. It leaves out the path of a document's file, and what a model would pay for and cannot
use: ids of segments, scores, the text of all that was read. Spans count characters of the document's text,
``[start, end)``; times are ISO 8601.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field

if TYPE_CHECKING:
    from memgraph_rag import Receipt
    from memgraph_rag.server.background import Backlog

__all__ = [
    "Answered",
    "DocumentList",
    "Forgotten",
    "KeptQuestion",
    "Passage",
    "Problem",
    "Recalled",
    "Remembered",
    "Status",
    "StoredDocument",
    "Surroundings",
]


class Problem(BaseModel):
    """Why a call failed. Source: RFC 9457."""

    title: str = Field(description="The kind of the error.")
    status: int
    detail: str = Field(description="What was expected, what came, what to do.")


class Cost(BaseModel):
    """What a piece of work cost (``Usage``)."""

    prompt_tokens: int
    generated_tokens: int
    model_calls: int
    seconds: float


class Remembered(BaseModel):
    """What the memory holds of a document now (``Receipt``)."""

    document_id: str
    key: str = Field(description="By this name the document can be recalled, replaced (remember again) or forgotten.")
    action: str = Field(description="added, replaced, described (only its metadata changed) or unchanged.")
    counts: dict[str, int] = Field(description="Its nodes and edges in the graph, by kind: Segment are its passages.")
    notes: dict[str, int] = Field(description="What could not be used of it, by kind.")
    usage: Cost
    echoes: int = Field(description="Passages that only repeat what this memory answered: kept, but no evidence.")
    stale_questions: int = Field(description="Kept questions whose answers rest on the text that was replaced.")
    forgotten_questions: int
    same_as: list[str] = Field(description="Keys of other documents with the same text.")
    layers_to_follow: list[str] = Field(description="What is still being built of it; the tool status tells how far.")


class Link(BaseModel):
    """A name through which a passage was reached (``Carrier``)."""

    entity: str
    source_key: str = Field(description="Key of the document that led here by this name; empty: the query has it.")


class Passage(BaseModel):
    """A passage as it stands in a document (``Evidence``)."""

    text: str
    document_key: str
    start: int
    end: int = Field(description="It is the characters [start, end) of the document's text.")
    speaker: str = Field(description="Who said it, in a conversation; else empty.")
    time: str = Field(description="When it was said, in a conversation; else empty: see document_times.")
    path: list[Link] = Field(description="The names that led to it.")
    relevance: float | None = Field(description="How near it is to the query, 0 to 1; null where it is not known.")
    remarks: list[str] = Field(
        description="Whether what is said there still holds, what superseded it and when, and the days that its words "
        "name (yesterday, last week)."
    )


class Recalled(BaseModel):
    """Passages that bear on a query, best first."""

    passages: list[Passage]
    document_times: dict[str, str] = Field(
        description="Of each document that a passage stands in, by key: the time or date in its metadata, else when it "
        "was stored."
    )
    tokens: int = Field(description="Of these passages, as the memory counts them.")
    left_out: int = Field(description="Passages that were found and did not fit into max_tokens.")
    wishes: list[str] = Field(
        description="Instructions and preferences of the user that bear on the query, newest first: serve these."
    )


class Quote(BaseModel):
    """A span that stands verbatim in a document (``Citation``)."""

    document_key: str
    start: int
    end: int
    quote: str


class Caution(BaseModel):
    """Why a person should look before trusting an answer (``AnswerWarning``)."""

    kind: str
    quote: str
    document_key: str
    text: str = Field(description="The whole sentence.")


class StoredAnswer(BaseModel):
    """An answer with what it rests on (``Answer``), without the text of all that was read."""

    question: str
    text: str
    abstained: bool = Field(description="True: nothing that was read answers the question; text says what was sought.")
    stop_reason: str
    citations: list[Quote]
    usage: Cost
    strategy: str
    model: str
    warnings: list[Caution]
    short: str = Field(description="The phrase that answers: a name, a date, a number, yes or no.")


class Answered(StoredAnswer):
    """An answer with what it rests on, and where it is kept."""

    nodes_read: int
    kept_as: str = Field(description="Where the kept question can be read, as a resource; empty where it is not kept.")


class DocumentChange(BaseModel):
    """What became of a document that a kept question rests on (``Change``)."""

    document_id: str
    document_key: str
    action: str
    changed_at: str
    reads: int = Field(description="How many of the nodes that were read for the question went with it.")


class KeptQuestion(BaseModel):
    """A question that was kept with its answer (``Question``)."""

    text: str
    is_stale: bool = Field(description="Whether something that was read for it is gone since.")
    id: str
    asked_at: str
    answer: StoredAnswer
    changes: list[DocumentChange]


class Forgotten(BaseModel):
    """What became of a wish to forget."""

    name: str = Field(description="The document's key, the question, or the user.")
    kind: Literal["document", "question", "user"]
    forgotten: bool = Field(description="False: the user was asked and said no; it is still there.")
    documents: int = Field(description="How many documents went.")
    segments: int = Field(description="How many passages went.")
    questions: int = Field(description="How many kept questions went, themselves or because they rest on it.")

    @classmethod
    def of(
        cls, name: str, kind: Literal["document", "question", "user"], receipts: Sequence[Receipt] = ()
    ) -> Forgotten:
        """What went by these receipts; of a kept question there are none."""
        return cls(
            name=name,
            kind=kind,
            forgotten=bool(receipts) or kind == "question",
            documents=len(receipts),
            segments=sum(receipt.counts.get("Segment", 0) for receipt in receipts),
            questions=sum(receipt.forgotten_questions for receipt in receipts) + (kind == "question"),
        )


class StoredDocument(BaseModel):
    """A document as the memory lists it (``DocumentRecord``), without the path that it was read from."""

    id: str
    key: str
    title: str
    sha256: str
    added_at: str
    characters: int
    segments: int
    layers: list[str]
    model: str
    metadata: dict[str, str | int | float | bool]
    recognizer: str
    echoes: int


class DocumentList(BaseModel):
    """A page of the documents, by key."""

    documents: list[StoredDocument]
    total: int = Field(description="How many there are in all.")
    next_after: str = Field(description="Give this as after for the next page; empty: this is the last.")


class Edge(BaseModel):
    """An edge of the graph (``Tie``), by the names of its ends."""

    kind: str
    weight: float
    text: str = Field(description="What a relation says, or how the text spells a name.")
    source: str
    target: str


class Extract(BaseModel):
    """Text that mentions a thing, or that belongs to it (``Segment``)."""

    document_id: str
    text: str
    speaker: str
    time: str


class Surroundings(BaseModel):
    """What is tied to a document, a name or a kept question (``Neighbourhood``)."""

    type: str = Field(description="document, entity, question or overview.")
    name: str
    ties: list[Edge]
    passages: list[Extract] = Field(description="Text that mentions it, or that belongs to it, in order.")
    left_out: dict[str, int] = Field(description="How many more there are, by what they are.")


class BackgroundWork(BaseModel):
    """The costly layers that follow what was remembered."""

    layers: list[str]
    waiting: int = Field(description="Documents that wait for them.")
    doing: str
    built: int = Field(description="Documents that were built since the server began.")
    failures: dict[str, str] = Field(description="Ids of documents, with why they could not be built.")


class Status(BaseModel):
    """What the memory holds and how it works."""

    namespace: str
    version: str
    documents: int
    segments: int
    entities: int
    questions: int = Field(description="Questions that were kept with their answers.")
    counts: dict[str, int] = Field(description="Nodes and edges by kind.")
    embedder: str
    read_only: bool
    documents_without: dict[str, int] = Field(
        description="Of each layer that follows, how many documents lack it: 0 when all is built. The store says so, "
        "whichever process builds."
    )
    background: BackgroundWork

    @classmethod
    def of(cls, counts: Mapping[str, int], backlog: Backlog, **facts: Any) -> Status:
        """Counts by label, and what is still to be built."""
        return cls(
            documents=counts.get("Document", 0),
            segments=counts.get("Segment", 0),
            entities=counts.get("Entity", 0),
            questions=counts.get("Question", 0),
            counts=dict(counts),
            background=BackgroundWork(
                layers=list(backlog.layers),
                waiting=backlog.waiting,
                doing=backlog.doing,
                built=backlog.built,
                failures=backlog.failures,
            ),
            **facts,
        )
