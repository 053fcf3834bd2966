"""The schemas of the results of tools, which clients of MCP and HTTP read.

A schema that names a record reads the dict of the record's ``as_dict()``, and keeps the keys that it declares. Schemas
leave out the path of a document's file, and data that costs tokens and does not help a model: ids of segments, scores,
and the text of all nodes that were read. Spans count characters of the document's text, ``[start, end)``. Times are
ISO 8601.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field

if TYPE_CHECKING:
    from memgraph_rag import Receipt


class Problem(BaseModel):
    """The reason why a call failed. Source: RFC 9457."""

    title: str = Field(description="The class of the error.")
    status: int
    detail: str = Field(description="What was expected, what was received, and what to do.")


class Failure(BaseModel):
    """A call that failed by no fault of its caller."""

    at: str
    operation: str
    title: str
    detail: str


class Cost(BaseModel):
    """The cost of a call of models (``Usage``)."""

    prompt_tokens: int
    generated_tokens: int
    model_calls: int
    seconds: float


class Remembered(BaseModel):
    """The stored state of a document (``Receipt``)."""

    document_id: str
    key: str = Field(description="The name with which the document can be recalled, replaced or forgotten.")
    action: str = Field(description="added, replaced, described (only its metadata changed) or unchanged.")
    counts: dict[str, int] = Field(description="Numbers of its nodes and edges, by kind. Segment counts its passages.")
    notes: dict[str, int] = Field(description="Numbers of items that could not be used, by kind.")
    usage: Cost
    echoes: int = Field(description="Passages that repeat an earlier answer of this memory. They are never evidence.")
    stale_questions: int = Field(description="Kept questions whose answers depend on the replaced text.")
    forgotten_questions: int
    same_as: list[str] = Field(description="Keys of other documents with the same text.")
    layers_to_follow: list[str] = Field(description="Layers that are still being built; see the tool status.")


class Link(BaseModel):
    """A name through which a passage was reached (``Carrier``)."""

    entity: str
    source_key: str = Field(description="Key of the document that has this name too; empty if the query has the name.")


class Passage(BaseModel):
    """A passage of a document, word for word (``Evidence``)."""

    text: str
    document_key: str
    start: int
    end: int = Field(description="The passage is the characters [start, end) of the document's text.")
    speaker: str = Field(description="The speaker in a conversation; empty for other documents.")
    time: str = Field(description="The time in a conversation; empty for other documents: see document_times.")
    path: list[Link] = Field(description="The names through which the passage was found.")
    relevance: float | None = Field(description="Relevance to the query, 0 to 1; null if unknown.")
    remarks: list[str] = Field(
        description="Whether the statements are still true, what superseded them and when, and the dates of words "
        "such as yesterday or last week."
    )


class Recalled(BaseModel):
    """Passages that are relevant to a query, best first."""

    passages: list[Passage]
    document_times: dict[str, str] = Field(
        description="The time of each document of a passage, by key: the time or date in its metadata, or the time of "
        "storing."
    )
    tokens: int = Field(description="The tokens of these passages, as the memory counts them.")
    left_out: int = Field(description="The number of found passages that did not fit into max_tokens.")
    wishes: list[str] = Field(
        description="Instructions and preferences of the user that are relevant to the query, newest first: follow "
        "them."
    )


class BriefedLine(BaseModel):
    """A line of a brief with the place that it rests on (``BriefLine``)."""

    section: str = Field(description="holds, wish, open, decision, deed or last.")
    text: str
    document_key: str
    start: int
    end: int
    said: str = Field(description="The time of the quotation; empty if unknown.")


class Briefed(BaseModel):
    """What to know before a conversation (``Brief``)."""

    text: str = Field(description="All lines as Markdown, with their sources; empty if nothing is known.")
    lines: list[BriefedLine]


class Quote(BaseModel):
    """A verbatim span of a document (``Citation``)."""

    document_key: str
    start: int
    end: int
    quote: str
    place: str = Field(default="", description="The page, slide or sheet of the quote; empty for other documents.")


class Caution(BaseModel):
    """A reason to check an answer before trusting it (``AnswerWarning``)."""

    kind: str
    quote: str
    document_key: str
    text: str = Field(description="The whole sentence.")


class AskedPart(BaseModel):
    """A part of a question that was asked by itself (``Part``)."""

    question: str
    value: str = Field(description="The shortest phrase that answers the part; empty if nothing was found.")
    citations: list[Quote]
    nodes_read: int = Field(description="The number of nodes that were read when the part was answered.")


class StoredAnswer(BaseModel):
    """An answer with its citations (``Answer``), without the text of all nodes that were read."""

    question: str
    text: str
    abstained: bool = Field(description="True if the memory does not hold the answer; text says what was searched for.")
    stop_reason: str
    citations: list[Quote]
    usage: Cost
    strategy: str
    model: str
    warnings: list[Caution]
    short: str = Field(description="The answer as a phrase: a name, a date, a number, yes or no.")
    parts: list[AskedPart] = Field(description="The parts into which the question was taken, in order; may be empty.")
    plan: str = Field(description="How the question was taken apart: direct (not at all), compare, elapsed or hop.")


class Answered(StoredAnswer):
    """An answer with its citations, and the resource of the kept question."""

    nodes_read: int
    kept_as: str = Field(description="The resource of the kept question; empty if it was not kept.")


class DocumentChange(BaseModel):
    """A change of a document that was read for a kept question (``Change``)."""

    document_id: str
    document_key: str
    action: str
    changed_at: str
    reads: int = Field(description="The number of nodes that were read for the question and are gone now.")


class KeptQuestion(BaseModel):
    """A question that was stored with its answer (``Question``)."""

    text: str
    is_stale: bool = Field(description="Whether a document that was read for it was replaced later.")
    id: str
    asked_at: str
    answer: StoredAnswer
    changes: list[DocumentChange]


class Forgotten(BaseModel):
    """What the tool ``forget`` removed: a document, a kept question, or a user's documents, with counts."""

    name: str = Field(description="The key of the document, the question, or the user.")
    kind: Literal["document", "question", "user"]
    forgotten: bool = Field(description="False if the user was asked and refused; nothing was removed.")
    documents: int = Field(description="The number of removed documents.")
    segments: int = Field(description="The number of removed passages.")
    questions: int = Field(description="The number of removed kept questions, including those of removed documents.")

    @classmethod
    def make(
        cls, name: str, kind: Literal["document", "question", "user"], receipts: Sequence[Receipt] = ()
    ) -> Forgotten:
        """Return the result for the receipts of removed documents. A kept question has no receipts.

        A document or a user without receipts counts as not forgotten.
        """
        return cls(
            name=name,
            kind=kind,
            forgotten=bool(receipts) or kind == "question",
            documents=len(receipts),
            segments=sum(receipt.counts.get("Segment", 0) for receipt in receipts),
            questions=sum(receipt.forgotten_questions for receipt in receipts) + (kind == "question"),
        )


class StoredDocument(BaseModel):
    """The record of a document (``DocumentRecord``), without the path of its file."""

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
    language: str = Field(description="ISO 639-1; empty if unknown.")


class DocumentList(BaseModel):
    """A page of the documents, sorted by key."""

    documents: list[StoredDocument]
    total: int = Field(description="The number of all documents.")
    next_after: str = Field(description="The argument after for the next page; empty on the last page.")


class Edge(BaseModel):
    """An edge of the graph (``Tie``), with the names of its ends."""

    kind: str
    weight: float
    text: str = Field(description="The description of a relation, or the spelling of a name in the text.")
    source: str
    target: str


class Extract(BaseModel):
    """A text that mentions a thing or belongs to it (``Segment``)."""

    document_id: str
    text: str
    speaker: str
    time: str


class Surroundings(BaseModel):
    """The graph around a document, an entity, a kept question or an overview (``Neighbourhood``)."""

    type: str = Field(description="document, entity, question or overview.")
    name: str
    ties: list[Edge]
    passages: list[Extract] = Field(description="Texts that mention it or belong to it, in order.")
    left_out: dict[str, int] = Field(description="The numbers of further neighbours, by kind.")


class BackgroundWork(BaseModel):
    """The state of the expensive layers that are built in the background."""

    layers: list[str]
    waiting: int = Field(description="The number of documents that wait for these layers.")
    doing: str = Field(description="The current step in words; empty if nothing is built for this namespace.")
    built: int = Field(description="The number of documents that were built since the server started.")
    failures: dict[str, str] = Field(description="The last errors, by the id of a document or the name of a layer.")


class Status(BaseModel):
    """The content of the memory and the state of the server."""

    namespace: str
    version: str
    documents: int
    segments: int
    entities: int
    questions: int = Field(description="The number of kept questions.")
    counts: dict[str, int] = Field(description="The numbers of nodes and edges, by kind.")
    embedder: str
    read_only: bool
    documents_without: dict[str, int] = Field(
        description="The number of documents that lack each background layer: 0 when all are built, by any process."
    )
    background: BackgroundWork

    @classmethod
    def make(cls, counts: Mapping[str, int], background: BackgroundWork, **facts: Any) -> Status:
        """Return the status for counts by label (0 if missing) and the background work; ``facts`` are other fields."""
        return cls(
            documents=counts.get("Document", 0),
            segments=counts.get("Segment", 0),
            entities=counts.get("Entity", 0),
            questions=counts.get("Question", 0),
            counts=dict(counts),
            background=background,
            **facts,
        )
