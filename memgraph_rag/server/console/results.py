"""The schemas of the results of console operations, which programs over HTTP read.

They are complete where those of the tools are short: with ids, scores and spans, because no model pays for them.
A record that is shown whole is the record itself. Invariant: no result has the path of a file of this machine, but
those of the owner's operations.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from memgraph_rag.server.results import DocumentChange, Failure, Passage, StoredAnswer, StoredDocument
from memgraph_rag.server.tokens import Grant
from memgraph_rag.types import Carrier, Check, Standing, Statement, Tie


class FoundPassage(Passage):
    """A passage with the ids of its document and segment, and the reasons for its rank, from ``Evidence``."""

    document_id: str
    segment_id: str
    score: float
    why: dict[str, int] = Field(description="The rank, from 1, in each list that has the passage, by the list's name.")
    path: list[Carrier]  # pyright: ignore[reportIncompatibleVariableOverride] - the same names, with more of each
    standing: Standing | None


class Found(BaseModel):
    """Passages with the reasons for their rank, best first."""

    passages: list[FoundPassage]


class Part(BaseModel):
    """A segment of a document: characters [start, end) of its text."""

    id: str
    start: int
    end: int
    speaker: str
    time: str
    echo: bool = Field(description="Whether it repeats an answer of this memory, and so is no evidence.")


class Point(BaseModel):
    """A summary of segments or of other points (``InformationPoint``)."""

    id: str
    level: int
    layer: str
    text: str


class Heading(BaseModel):
    """A section of a document (``Section``)."""

    level: int
    title: str
    start: int
    end: int


class Name(BaseModel):
    """A name in the text of a document (``Mention``)."""

    normal: str
    kind: str
    start: int
    end: int


class Stated(BaseModel):
    """A relation of two names that a document states."""

    source: str
    target: str
    text: str


class WholeDocument(BaseModel):
    """A document with its text and what the layers found in it."""

    record: StoredDocument
    text: str
    segments: list[Part]
    sections: list[Heading]
    points: list[Point]
    names: list[Name]
    relations: list[Stated]
    left_out: dict[str, int] = Field(description="The numbers of further things, by kind.")


class GraphNode(BaseModel):
    """A node of the graph, with the beginning of its text."""

    id: str
    type: str
    name: str
    text: str
    facts: dict[str, Any] = Field(description="More of it, by name; which names depends on the type.")


class Graph(BaseModel):
    """The graph around a thing, with the ids of its nodes (``Neighbourhood``)."""

    centre: str = Field(description="The id of the thing in the middle.")
    nodes: list[GraphNode]
    edges: list[Tie]
    left_out: dict[str, int]


class Statements(BaseModel):
    """Statements by user, speaker and attribute, oldest first; then instructions and preferences."""

    statements: list[Statement]
    left_out: int = Field(description="The number of further statements.")


class KeptLine(BaseModel):
    """A kept question in a list."""

    id: str
    text: str
    asked_at: str
    is_stale: bool
    abstained: bool
    answer: str


class KeptQuestions(BaseModel):
    """The kept questions, newest first."""

    questions: list[KeptLine]


class WalkedStep(BaseModel):
    """A node that was read for an answer (``Step``)."""

    node_id: str
    document_id: str
    document_key: str = Field(description="The key of its document; empty for an overview.")
    kind: str
    level: int
    score: float
    attention: float
    p_yes: float | None
    stop: str | None
    via: str
    reason: str
    text: str


class WalkedAnswer(StoredAnswer):
    """An answer with all that was read for it."""

    trace: list[WalkedStep]


class WalkedQuestion(BaseModel):
    """A kept question with its walk (``Question``)."""

    id: str
    text: str
    asked_at: str
    is_stale: bool
    answer: WalkedAnswer
    changes: list[DocumentChange]


class FailureList(BaseModel):
    """The last failures of the server, newest first."""

    failures: list[Failure]


class Checks(BaseModel):
    """All checks of ``memgraph-rag doctor``."""

    checks: list[Check]


class Tokens(BaseModel):
    """The tokens that are not revoked, oldest first."""

    tokens: list[Grant]
    made: str = Field("", description="The secret of a token that this call created. It is shown once.")
