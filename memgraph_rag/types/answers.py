"""Searching, reading and answering: evidence, steps, citations, answers, kept questions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal

import numpy as np

from memgraph_rag.types.arrays import Vector
from memgraph_rag.types.days import RelativeDays
from memgraph_rag.types.facts import Standing
from memgraph_rag.types.generation import Usage
from memgraph_rag.types.graph import Node, Segment
from memgraph_rag.types.notebook import answer_html
from memgraph_rag.types.plain import plain_fields
from memgraph_rag.types.receipts import Action

__all__ = [
    "Answer",
    "AnswerStyle",
    "AnswerWarning",
    "Carrier",
    "Change",
    "Citation",
    "Evidence",
    "Hit",
    "Question",
    "QuestionBreadth",
    "RelevanceCurve",
    "Step",
    "StopReason",
    "WarningKind",
]


@dataclass(frozen=True, slots=True)
class Hit:
    """A node that an index returned; a higher score is better, and scores of different indexes do not compare."""

    node_id: str
    score: float
    kind: Literal["segment", "point", "overview"] = "segment"


@dataclass(frozen=True, slots=True)
class RelevanceCurve:
    """How many of the passages that a search finds are evidence, by their cosine to the query: a logistic curve.

    Attributes:
        half: the cosine at which one in two is.
        slope: how fast that grows, in log odds for a cosine of 1.
    """

    half: float
    slope: float

    def at(self, cosine: float) -> float:
        """The share at that cosine, from 0 to 1."""
        return 1.0 / (1.0 + math.exp(self.slope * (self.half - cosine)))


@dataclass(frozen=True, slots=True)
class QuestionBreadth:
    """How likely a question asks about a whole, by its vector: a logistic regression.

    Attributes:
        weights: of each component.
        bias: log odds of a question whose components are all 0.
        least: from which probability on it is taken to.
    """

    weights: tuple[float, ...]
    bias: float
    least: float

    def is_whole(self, vector: Vector) -> bool:
        """Whether that is a question about a whole."""
        odds = float(vector @ np.asarray(self.weights, vector.dtype)) + self.bias
        return odds >= math.log(self.least / (1 - self.least))


@dataclass(frozen=True, slots=True)
class Carrier:
    """An entity through which a graph search came to a segment: the query names it, or it joins two segments found.

    Attributes:
        entity: its name.
        share: of the segment's score, what came this way.
        named: whether the query names it.
        source: id of the other segment found that passed most to it; empty where the query names it.
        source_key: key of that segment's document.
    """

    entity: str
    share: float
    named: bool
    source: str = ""
    source_key: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A segment that bears on a query, or a run of neighbouring ones (search mode "segments").

    What is said of a run (rank, path, relevance, speaker, time) is said of its best segment.

    Attributes:
        segment: the segment; of a run, the one that was ranked best.
        score: by which it was ranked; no confidence, and scores of different modes do not compare.
        why: in which lists it was found: name to rank, from 1.
        path: the entities that carried it in a graph search, largest share first.
        relevance: how near it is to the query, from 0 to 1: the share of passages as near as it that are evidence. None
            where the embedder is not calibrated, and in mode "keywords", which embeds nothing.
        standing: whether what a person says there of itself still holds; None where it states nothing that is known.
        run: all segments of a run, in the order of the document and without a gap; empty where it is none.
        days: which days its relative words name ("yesterday"), by the day on which it was said.
    """

    segment: Segment
    document_key: str
    score: float
    why: Mapping[str, int]
    path: tuple[Carrier, ...] = ()
    relevance: float | None = None
    standing: Standing | None = None
    run: tuple[Segment, ...] = ()
    days: tuple[RelativeDays, ...] = ()

    @property
    def segments(self) -> tuple[Segment, ...]:
        """All that it consists of: the segments of the run, or the one segment."""
        return self.run or (self.segment,)

    @property
    def text(self) -> str:
        """What it says: ``document.text[start:end]``."""
        return "".join(segment.text for segment in self.segments)

    @property
    def start(self) -> int:
        """The character of the document at which it starts."""
        return self.segments[0].start

    @property
    def end(self) -> int:
        """The character of the document before which it ends."""
        return self.segments[-1].end

    @property
    def tokens(self) -> int:
        """Tokens of the language model, segment by segment."""
        return sum(segment.tokens for segment in self.segments)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What must be known beside its text: whether it still holds, and the days that its words name."""
        return (*([str(self.standing)] if self.standing else []), *map(str, self.days))

    def as_dict(self) -> dict[str, Any]:
        """Return the text, its place, why it was found and what must be known beside it, for JSON."""
        return {
            "text": self.text,
            "document_key": self.document_key,
            "document_id": self.segment.document_id,
            "segment_id": self.segment.id,
            "start": self.start,
            "end": self.end,
            "speaker": self.segment.speaker,
            "time": self.segment.time,
            **plain_fields(self, without=("segment", "document_key", "run")),
            "remarks": list(self.remarks),
        }


class StopReason(str, Enum):
    """Why reading ended."""

    ANSWERABLE = "answerable"  # the model said Yes often enough
    EXHAUSTED = "exhausted"  # nothing is left to read
    WINDOW = "window"  # the next node does not fit the model's window
    MAX_ROUNDS = "max_rounds"  # the strategy asked the model as often as it may
    MAX_NODES = "max_nodes"
    MAX_TOKENS = "max_tokens"  # of the call, or the strategy's own limit
    MAX_SECONDS = "max_seconds"
    ANOTHER_SPEAKER = "another_speaker"  # what is asked of one who speaks in a conversation is said by another
    NOTHING_FOUND = "nothing_found"  # the memory holds nothing to read, or nothing that is about what is asked about


@dataclass(frozen=True, slots=True)
class Step:
    """One node read.

    Attributes:
        score: by which it was chosen (nodes of the start set: 0).
        attention: mean attention of the node's tokens to the question's tokens, over layers and heads.
        p_yes: probability that what was read so far answers the question, asked after this node; None where the
            strategy did not ask here.
        stop: set on the step with which the strategy itself decided to end.
        sources: what each source of the score gave ("entry", "attention", "similarity", "relation", "names",
            "reranker", "outline"), weighted; where there are any, they sum to ``score``.
        via: the relation's description by which the node was found, or the titles of the sections that it stands under.
        reason: what the model said was missing, or to be searched for next, after this node, where it was asked; or
            what is looked for at all.
        dropped: ids of nodes that were let go, to make room, before this one was read.
    """

    node: Node
    score: float
    attention: float
    p_yes: float | None = None
    stop: StopReason | None = None
    sources: Mapping[str, float] = field(default_factory=dict[str, float])
    via: str = ""
    reason: str = ""
    dropped: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the node's id, place and text with all that is known of the step, for JSON."""
        return {
            "node_id": self.node.id,
            "kind": self.node.kind,
            "level": self.node.level,
            **plain_fields(self, without=("node",)),
            "text": self.node.text,
        }


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

    def as_dict(self) -> dict[str, Any]:
        """Return all fields, for JSON."""
        return plain_fields(self)


class WarningKind(str, Enum):
    """What a person should look at before trusting an answer."""

    UNSUPPORTED_LINK = "unsupported_link"
    """The answer holds a link that stands in no cited sentence."""
    ADDRESSES_MODEL = "addresses_model"
    """A document that was read speaks to a language model: it may be written to steer the answer."""
    UNGRADED_YES = "ungraded_yes"
    """P(Yes) in the trace is 1 or 0, as one word said: the model's server tells no log-probabilities."""


@dataclass(frozen=True, slots=True)
class AnswerWarning:
    """A sign that an answer may not be what its sources say. A hint, found by patterns; its absence proves nothing.

    Attributes:
        quote: the link, the line of the document, or the model's name.
        document_key: of the document that addresses a model; else empty.
    """

    kind: WarningKind
    quote: str
    document_key: str = ""

    def __str__(self) -> str:
        """One sentence for a person."""
        if self.kind is WarningKind.UNSUPPORTED_LINK:
            return f"The link {self.quote} stands in no cited sentence."
        if self.kind is WarningKind.UNGRADED_YES:
            return f"{self.quote} says Yes or No without a probability: its server tells no log-probabilities."
        return f"{self.document_key} addresses the model that reads it: “{self.quote}”"

    def as_dict(self) -> dict[str, Any]:
        """Return all fields, and the sentence for a person as ``text``, for JSON."""
        return {**plain_fields(self), "text": str(self)}


AnswerStyle = Literal["short", "sentence", "detailed"]
"""The form of an answer: a phrase; a sentence; a paragraph with a mark of its citation behind each sentence."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer: its evidence, how it was found, and reasons not to trust it.

    Attributes:
        text: a sentence, or what another ``AnswerStyle`` gives; of one that ``abstained``, what was looked for.
        citations: best first; of a paragraph in the order of their marks: ``[1]`` is the first.
        short: the phrase that answers (a name, a date, a number, yes or no), asked for by itself, so that it may differ
            from ``text``; empty where it ``abstained``, and in questions that were kept before there were phrases.
    """

    question: str
    text: str
    abstained: bool
    stop_reason: StopReason
    citations: tuple[Citation, ...]
    trace: tuple[Step, ...]
    usage: Usage
    strategy: str
    model: str
    warnings: tuple[AnswerWarning, ...] = ()
    short: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the answer with its citations, its whole trace and its cost, for JSON."""
        return plain_fields(self)

    def _repr_html_(self) -> str:
        """Return the answer with its citations and warnings, for a notebook."""
        return answer_html(self)


@dataclass(frozen=True, slots=True)
class Change:
    """What became of a document since a kept question was answered from it.

    Attributes:
        action: ``REPLACED``: its text has changed, so that citations quote the old one; ``DEEPENED``: only its
            information points have.
        changed_at: ISO 8601 in UTC; of several changes the last.
        reads: how many of the nodes that were read for the question were removed with it.
    """

    document_id: str
    document_key: str
    action: Action
    changed_at: str
    reads: int

    def as_dict(self) -> dict[str, Any]:
        """Return all fields, for JSON."""
        return plain_fields(self)


@dataclass(frozen=True, slots=True)
class Question:
    """A question that was kept, with its answer and all that was read for it.

    It goes with the first document forgotten of those that it rests on: answer and reasons may quote any of them. A
    document that is replaced makes it stale: the answer and its citations stay as they were, the steps that read the
    old text go. ``id`` is made of namespace and text, so that the same question, asked again, takes the place of what
    was kept of it. ``asked_at`` is ISO 8601 in UTC.

    Attributes:
        changes: of documents that it rests on, by key; none where all that was read is still there.
    """

    id: str
    asked_at: str
    answer: Answer
    changes: tuple[Change, ...] = ()

    @property
    def text(self) -> str:
        """What was asked."""
        return self.answer.question

    @property
    def is_stale(self) -> bool:
        """Whether something that was read for it is gone since, so that it is worth asking again."""
        return bool(self.changes)

    @property
    def nodes_read(self) -> int:
        """How many nodes were read for it, those that are gone among them."""
        return len(self.answer.trace) + sum(change.reads for change in self.changes)

    @property
    def standing_citations(self) -> tuple[Citation, ...]:
        """The citations of its answer whose documents were not replaced since."""
        replaced = {change.document_id for change in self.changes if change.action is Action.REPLACED}
        return tuple(cited for cited in self.answer.citations if cited.document_id not in replaced)

    def as_dict(self) -> dict[str, Any]:
        """Return all fields, what was asked as ``text``, and ``is_stale``, for JSON."""
        return {"text": self.text, "is_stale": self.is_stale, **plain_fields(self)}
