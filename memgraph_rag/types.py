"""The plain records that pass between rooms, and the ids that name them.

Frozen, without behaviour beyond what follows from their own fields; they know no database, no model and no
file. The invariant: every id is a hash of (namespace, kind, natural key), so the same content gets the same
id in every store and on every run, and a repeated write changes nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Action",
    "Answer",
    "Budget",
    "Citation",
    "Document",
    "DocumentGraph",
    "DocumentRecord",
    "Evidence",
    "Failure",
    "Generation",
    "Hit",
    "InformationPoint",
    "LayerRows",
    "Matrix",
    "Message",
    "Node",
    "Prompt",
    "Receipt",
    "Segment",
    "Step",
    "StopReason",
    "Summarizes",
    "Usage",
    "Vector",
    "as_line",
    "make_id",
]

Vector = NDArray[np.float32]
"""(d,) float32, L2-normalised."""

Matrix = NDArray[np.float32]
"""(n, d) float32."""

MetadataValue = str | int | float | bool


def make_id(namespace: str, kind: str, *natural_key: str | int) -> str:
    """The id of one node or edge: 32 hex digits of SHA-256 over namespace, kind and natural key.

    The parts are framed as JSON, so that ("a", "bc") and ("ab", "c") differ.

    >>> make_id("default", "document", "alice.txt")
    '1de8bdf62315c7a8ab0c61ad808a4f58'
    """
    framed = json.dumps([namespace, kind, *natural_key], ensure_ascii=False)
    return hashlib.sha256(framed.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def as_line(text: str) -> str:
    """The text on one line, as a model reads it: a node can then never look like two."""
    return " ".join(text.split())


# ── what a user adds ─────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message: who said what, and when (ISO 8601, where known)."""

    role: str
    content: str
    time: str | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """What a user adds: a text under a key.

    ``key`` is the user's name for it; adding other content under the same key replaces it. ``source`` is where
    the text was read from (an absolute path), empty for text that came as a string.
    """

    text: str
    key: str
    title: str = ""
    source: str = ""
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)

    @property
    def sha256(self) -> str:
        """Hash of the content: text, title and metadata (not of the key, nor of where it came from)."""
        content = json.dumps([self.text, self.title, dict(self.metadata)], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()


# ── the graph ────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Segment:
    """A contiguous raw span of a document: ``text == document.text[start:end]``. Level 0 of the summary graph.

    The segments of a document tile it: the first starts at 0, each next starts where the last ended, the last
    ends at the document's end. ``start`` and ``end`` count characters, ``tokens`` the language model's tokens.
    """

    kind: ClassVar[Literal["segment"]] = "segment"
    level: ClassVar[int] = 0

    id: str
    document_id: str
    index: int
    text: str
    start: int
    end: int
    tokens: int


@dataclass(frozen=True, slots=True)
class InformationPoint:
    """A one-sentence summary of one event, at level 1 or above; ``index`` is its place within the level."""

    kind: ClassVar[Literal["point"]] = "point"

    id: str
    document_id: str
    level: int
    index: int
    text: str
    tokens: int


Node = Segment | InformationPoint
"""Anything that can be read: a node of the summary graph."""


@dataclass(frozen=True, slots=True)
class Summarizes:
    """An edge from a higher node to a lower one; the weights of one source sum to 1."""

    source_id: str
    target_id: str
    weight: float


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """A document as the store knows it.

    ``layers`` are the layers that were built; ``model`` is the language model that built them (empty without).
    ``added_at`` is ISO 8601 in UTC and is no part of the document's identity.
    """

    id: str
    key: str
    title: str
    source: str
    sha256: str
    added_at: str
    characters: int
    segments: int
    layers: tuple[str, ...]
    model: str
    metadata: Mapping[str, MetadataValue]


@dataclass(frozen=True, slots=True)
class DocumentGraph:
    """Everything that one document contributes to the graph, as plain rows, ready for one atomic write.

    ``segment_embeddings`` is (len(segments), d) and ``point_embeddings`` is (len(points), d), in row order.
    """

    document: DocumentRecord
    segments: tuple[Segment, ...]
    segment_embeddings: Matrix
    points: tuple[InformationPoint, ...] = ()
    point_embeddings: Matrix = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    summarizes: tuple[Summarizes, ...] = ()


# ── language model ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Usage:
    """What a piece of work cost: model tokens read and written, model calls, seconds."""

    prompt_tokens: int = 0
    generated_tokens: int = 0
    model_calls: int = 0
    seconds: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.generated_tokens + other.generated_tokens,
            self.model_calls + other.model_calls,
            self.seconds + other.seconds,
        )


@dataclass(frozen=True, slots=True)
class Prompt:
    """An instruction and the inputs that it speaks of; attention is reported per input."""

    instruction: str
    inputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Generation:
    """What the model wrote to one prompt, and what it looked at while writing.

    Attributes:
        text: the decoded output.
        offsets: (T, 2) int, the characters of ``text`` that each written token covers, half open.
        attention: (T, S) float32; row t is the attention of written token t (as the query), averaged over all
            layers, heads and the tokens of each of the S inputs. PECAN, section 3.1.
        finish: why it ended.
    """

    text: str
    offsets: NDArray[np.int64]
    attention: Matrix
    finish: Literal["end", "stopped", "length"]
    usage: Usage


@dataclass(frozen=True, slots=True)
class LayerRows:
    """What a layer adds to a document's graph, what went wrong on the way (counted), and what it cost."""

    points: tuple[InformationPoint, ...] = ()
    summarizes: tuple[Summarizes, ...] = ()
    notes: Mapping[str, int] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)

    def __add__(self, other: LayerRows) -> LayerRows:
        """The rows of both."""
        return LayerRows(
            (*self.points, *other.points),
            (*self.summarizes, *other.summarizes),
            Counter(self.notes) + Counter(other.notes),
            self.usage + other.usage,
        )


# ── search and reading ───────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Hit:
    """A node that an index returned; a higher score is better, and scores of different indexes do not compare."""

    node_id: str
    score: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """A segment that bears on a query, and by which lists it was found (``why``: list name to rank from 1)."""

    segment: Segment
    document_key: str
    score: float
    why: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of one question; None is no limit. Reading ends with the step that reaches one.

    ``max_tokens`` counts what the model reads (question, nodes, probes), ``max_seconds`` reading without the answer.
    """

    max_seconds: float | None = None
    max_tokens: int | None = None
    max_nodes: int | None = None


class StopReason(str, Enum):
    """Why reading ended."""

    ANSWERABLE = "answerable"  # the model said Yes often enough
    EXHAUSTED = "exhausted"  # nothing is left to read
    WINDOW = "window"  # the next node does not fit the model's window
    MAX_NODES = "max_nodes"
    MAX_TOKENS = "max_tokens"
    MAX_SECONDS = "max_seconds"
    NOTHING_FOUND = "nothing_found"  # the memory holds nothing to read


@dataclass(frozen=True, slots=True)
class Step:
    """One node read.

    Attributes:
        score: by which it was chosen (nodes of the start set: 0).
        attention: mean attention of the node's tokens to the question's tokens, over layers and heads.
        p_yes: probability that what was read so far answers the question, asked after this node; None where the
            strategy did not ask here.
        stop: set on the step with which the strategy itself decided to end.
    """

    node: Node
    score: float
    attention: float
    p_yes: float | None = None
    stop: StopReason | None = None


@dataclass(frozen=True, slots=True)
class Citation:
    """A span that stands verbatim in a document: ``quote == document.text[start:end]``."""

    document_id: str
    document_key: str
    segment_id: str
    start: int
    end: int
    quote: str
    score: float


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer, what it rests on, and how it came about."""

    question: str
    text: str
    abstained: bool
    stop_reason: StopReason
    citations: tuple[Citation, ...]
    trace: tuple[Step, ...]
    usage: Usage
    strategy: str
    model: str


class Action(str, Enum):
    """What a write did."""

    ADDED = "added"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"
    FORGOTTEN = "forgotten"


@dataclass(frozen=True, slots=True)
class Receipt:
    """What the database holds of a document after a write (for ``forget``: what it held and no longer does).

    Attributes:
        counts: nodes and edges of the document by label or relationship type, read back after the commit.
        notes: what the model wrote that could not be used, by kind, counted.
        usage: model work of this call.
    """

    document_id: str
    key: str
    action: Action
    counts: Mapping[str, int]
    notes: Mapping[str, int] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Failure:
    """A source that ``add_many`` could not add, and why; the others went on."""

    source: str
    error: Exception
