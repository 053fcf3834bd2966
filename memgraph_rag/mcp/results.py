"""What the tools give back, as models of which clients get the JSON schema.

It knows the public records. Invariant: these shapes are a promise; a field may be added, none changes its meaning or
goes away. Spans count characters of the document's text, ``[start, end)``; times are ISO 8601.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field

if TYPE_CHECKING:
    from memgraph_rag import Answer, DocumentRecord, Evidence, Receipt
    from memgraph_rag.mcp.background import Backlog
    from memgraph_rag.types import Neighbourhood, Thing

__all__ = [
    "Answered",
    "DocumentList",
    "Forgotten",
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


class Remembered(BaseModel):
    """What the memory holds of a document now."""

    key: str = Field(description="By this name the document can be recalled, replaced (remember again) or forgotten.")
    document_id: str
    action: str = Field(description="added, replaced, described (only its metadata changed) or unchanged.")
    segments: int = Field(description="Into how many passages it was cut.")
    mentions: int = Field(description="How often it mentions a name.")
    echoes: int = Field(description="Passages that only repeat what this memory answered: kept, but no evidence.")
    same_as: list[str] = Field(description="Keys of other documents with the same text.")
    stale_questions: int = Field(description="Kept questions whose answers rest on the text that was replaced.")
    layers_to_follow: list[str] = Field(description="What is still being built of it; the tool status tells how far.")

    @classmethod
    def of(cls, receipt: Receipt, *, to_follow: tuple[str, ...]) -> Remembered:
        """What a receipt says."""
        return cls(
            key=receipt.key,
            document_id=receipt.document_id,
            action=receipt.action.value,
            segments=receipt.counts.get("Segment", 0),
            mentions=receipt.counts.get("MENTIONS", 0),
            echoes=receipt.echoes,
            same_as=list(receipt.same_as),
            stale_questions=receipt.stale_questions,
            layers_to_follow=list(to_follow),
        )


class Link(BaseModel):
    """A name through which a passage was reached."""

    name: str
    from_document: str = Field(description="Key of the document that led here by this name; empty: the query has it.")


class Passage(BaseModel):
    """A passage as it stands in a document."""

    document: str = Field(description="Key of its document.")
    start: int
    end: int = Field(description="It is the characters [start, end) of the document's text.")
    text: str
    speaker: str = Field(description="Who said it, in a conversation; else empty.")
    time: str = Field(description="When it was said, or the time or date in its metadata; empty: not known.")
    stored_at: str = Field(description="When its document was stored, ISO 8601 in UTC.")
    relevance: float | None = Field(description="How near it is to the query, 0 to 1; null where it is not known.")
    path: list[Link] = Field(description="The names that led to it.")
    remarks: list[str] = Field(
        description="Whether what is said there still holds, what superseded it and when, and the days that its words "
        "name (yesterday, last week)."
    )

    @classmethod
    def of(cls, evidence: Evidence, record: DocumentRecord | None) -> Passage:
        """What was found, with what is known of its document."""
        segment = evidence.segment
        metadata = record.metadata if record else {}
        return cls(
            document=evidence.document_key,
            start=evidence.start,
            end=evidence.end,
            text=evidence.text,
            speaker=segment.speaker,
            time=segment.time or str(metadata.get("time") or metadata.get("date") or ""),
            stored_at=record.added_at if record else "",
            relevance=None if evidence.relevance is None else round(float(evidence.relevance), 3),
            path=[Link(name=carrier.entity, from_document=carrier.source_key) for carrier in evidence.path],
            remarks=list(evidence.remarks),
        )


class Recalled(BaseModel):
    """Passages that bear on a query, best first."""

    passages: list[Passage]
    tokens: int = Field(description="Of these passages, as the memory counts them.")
    left_out: int = Field(description="Passages that were found and did not fit into max_tokens.")
    wishes: list[str] = Field(
        description="Instructions and preferences of the user that bear on the query, newest first: serve these."
    )


class Quote(BaseModel):
    """A span that stands verbatim in a document."""

    document: str
    start: int
    end: int
    quote: str


class Answered(BaseModel):
    """An answer with what it rests on."""

    text: str
    short: str = Field(description="The phrase that answers: a name, a date, a number, yes or no.")
    abstained: bool = Field(description="True: nothing that was read answers the question; text says what was sought.")
    citations: list[Quote]
    warnings: list[str] = Field(description="Why a person should look before trusting it.")
    stop_reason: str
    nodes_read: int
    seconds: float
    kept_as: str = Field(description="Where the kept question can be read, as a resource; empty where it is not kept.")

    @classmethod
    def of(cls, answer: Answer, *, kept_as: str = "") -> Answered:
        """The answer without its walk."""
        return cls(
            text=answer.text,
            short=answer.short,
            abstained=answer.abstained,
            citations=[
                Quote(document=cited.document_key, start=cited.start, end=cited.end, quote=cited.quote)
                for cited in answer.citations
            ],
            warnings=[str(warning) for warning in answer.warnings],
            stop_reason=answer.stop_reason.value,
            nodes_read=len(answer.trace),
            seconds=round(answer.usage.seconds, 3),
            kept_as=kept_as,
        )


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
    """A document as the memory lists it."""

    key: str
    document_id: str
    title: str
    characters: int
    segments: int
    stored_at: str
    layers: list[str]
    metadata: dict[str, str | int | float | bool]

    @classmethod
    def of(cls, record: DocumentRecord) -> StoredDocument:
        """What the store says of it; the path that a file was read from stays with the user."""
        return cls(
            key=record.key,
            document_id=record.id,
            title=record.title,
            characters=record.characters,
            segments=record.segments,
            stored_at=record.added_at,
            layers=list(record.layers),
            metadata=dict(record.metadata),
        )


class DocumentList(BaseModel):
    """A page of the documents, by key."""

    documents: list[StoredDocument]
    total: int = Field(description="How many there are in all.")
    next_after: str = Field(description="Give this as after for the next page; empty: this is the last.")


class Tie(BaseModel):
    """An edge of the graph, by the captions of its ends."""

    kind: str
    source: str
    target: str
    text: str = Field(description="What a relation says, or how the text spells a name.")
    weight: float


class Surroundings(BaseModel):
    """What is tied to a document, a name or a kept question."""

    name: str
    kind: str
    ties: list[Tie]
    passages: list[str] = Field(description="Text that mentions it, or that belongs to it, in order.")
    left_out: dict[str, int] = Field(description="How many more there are, by what they are.")

    @classmethod
    def of(cls, neighbourhood: Neighbourhood, *, most: int) -> Surroundings:
        """A neighbourhood in words, with at most so many passages."""
        things = neighbourhood.things
        passages = [segment.text for segment in neighbourhood.passages]
        left_out = dict(neighbourhood.left_out)
        if len(passages) > most:
            left_out["passages"] = left_out.get("passages", 0) + len(passages) - most
        return cls(
            name=caption(neighbourhood.centre),
            kind=type(neighbourhood.centre).__name__.removesuffix("Record").lower(),
            ties=[
                Tie(
                    kind=tie.kind,
                    source=caption(things[tie.source_id]),
                    target=caption(things[tie.target_id]),
                    text=tie.text,
                    weight=round(float(tie.weight), 3),
                )
                for tie in neighbourhood.ties
            ],
            passages=passages[:most],
            left_out=left_out,
        )


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


_MOST_CAPTION = 120  # characters


def caption(thing: Thing) -> str:
    """What a thing is called: a key, a name, or the beginning of its text."""
    for attribute in ("key", "name", "text"):
        if value := getattr(thing, attribute, ""):
            return value if len(value) <= _MOST_CAPTION else f"{value[: _MOST_CAPTION - 1]}…"
    return thing.id
