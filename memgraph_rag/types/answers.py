"""The records of searching, reading and answering: evidence, steps, citations, answers, kept questions."""

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
from memgraph_rag.types.plain import Plain, plain_fields
from memgraph_rag.types.receipts import Action


@dataclass(frozen=True, slots=True)
class Hit:
    """A node that an index returned. A higher score is better; scores of different indexes are not comparable."""

    node_id: str
    score: float
    kind: Literal["segment", "point", "overview"] = "segment"


@dataclass(frozen=True, slots=True)
class RelevanceCurve:
    """The share of passages that are evidence, as a logistic function of their cosine to the query.

    Attributes:
        half: the cosine at which half of the passages are evidence.
        slope: the change of the log odds for a change of the cosine by 1.
    """

    half: float
    slope: float

    def read(self, cosine: float) -> float:
        """Return the share of passages with this cosine that are evidence, from 0 to 1."""
        return 1.0 / (1.0 + math.exp(self.slope * (self.half - cosine)))


@dataclass(frozen=True, slots=True)
class QuestionBreadth:
    """A logistic regression on a question's vector: how likely does it ask about the whole memory ("Which themes …")?

    Attributes:
        weights: one weight per component of the vector.
        bias: the log odds of a vector whose components are all 0.
        least: the least probability at which a question counts as asking about the whole memory.
    """

    weights: tuple[float, ...]
    bias: float
    least: float

    def is_whole(self, vector: Vector) -> bool:
        """Return whether the question with this vector asks about the whole memory."""
        odds = float(vector @ np.asarray(self.weights, vector.dtype)) + self.bias
        return odds >= math.log(self.least / (1 - self.least))


@dataclass(frozen=True, slots=True)
class Carrier:
    """An entity that led a graph search to a segment: the query names it, or another found segment mentions it.

    Attributes:
        entity: the name of the entity.
        share: the part of the segment's score that came through this entity.
        named: whether the query names the entity.
        source: id of the other found segment that passed the most score to the entity; empty if the query names it.
        source_key: key of the document of that segment.
    """

    entity: str
    share: float
    named: bool
    source: str = ""
    source_key: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A segment that bears on a query, or a run of adjacent segments (search mode "segments").

    The rank, path, relevance, speaker and time of a run are those of its best segment.

    Attributes:
        segment: the segment; of a run, its best segment.
        score: the score that decided the rank. It is no confidence; scores of different modes are not comparable.
        why: the name of each list that contains the segment, and the segment's rank in the list, from 1.
        path: the entities through which a graph search reached the segment, the largest share of the score first.
        relevance: the share of passages with the same cosine to the query that are evidence, from 0 to 1. None if the
            embedder is not calibrated, and in mode "keywords", which embeds nothing.
        standing: whether the speaker's statement about itself still holds; None if the segment has no known statement.
        run: all segments of a run, in document order and without a gap; empty for a single segment.
        days: the days that relative words of the text name ("yesterday"), counted from the day of the text.
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
        """The segments of the run, or the single segment."""
        return self.run or (self.segment,)

    @property
    def text(self) -> str:
        """The text of all segments: ``document.text[start:end]``."""
        return "".join(segment.text for segment in self.segments)

    @property
    def start(self) -> int:
        """The first character of the document that belongs to the evidence."""
        return self.segments[0].start

    @property
    def end(self) -> int:
        """The end of the evidence: the first character of the document after it."""
        return self.segments[-1].end

    @property
    def tokens(self) -> int:
        """The sum of the segments' tokens, counted by the language model."""
        return sum(segment.tokens for segment in self.segments)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Facts that complete the text for a reader: whether it still holds, then the days that its words name.

        Empty if neither is known.
        """
        return (*([str(self.standing)] if self.standing else []), *map(str, self.days))

    def as_dict(self) -> dict[str, Any]:
        """Return the text, its position, score, relevance, standing, days and remarks, and the reasons, for JSON.

        ``segment_id``, ``speaker`` and ``time`` are those of the best segment. The segments of a run are not listed.
        """
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
    """Why the reading ended."""

    ANSWERABLE = "answerable"  # the model said Yes often enough
    EXHAUSTED = "exhausted"  # no node is left to read
    WINDOW = "window"  # the next node does not fit the model's window
    MAX_ROUNDS = "max_rounds"  # the strategy has asked the model the largest permitted number of times
    MAX_NODES = "max_nodes"
    MAX_TOKENS = "max_tokens"  # the limit of the call, or the strategy's own limit
    MAX_SECONDS = "max_seconds"
    ANOTHER_SPEAKER = "another_speaker"  # the question names one speaker, and another speaker said what it asks about
    NOTHING_FOUND = "nothing_found"  # the memory is empty, or no node is about the subject of the question


@dataclass(frozen=True, slots=True)
class Step:
    """One node that was read.

    Attributes:
        score: the score by which the strategy chose the node; 0 for nodes of the start set.
        attention: mean attention of the node's tokens to the question's tokens, over layers and heads.
        p_yes: probability that the nodes read so far answer the question, measured after this node; None if the
            strategy did not measure it here.
        stop: the reason to stop, on the step after which the strategy ended the reading; else None.
        sources: the weighted part of each source of the score ("entry", "attention", "similarity", "relation", "names",
            "reranker", "outline"). The parts, if there are any, sum to ``score``.
        via: the description of the relation that led to the node, or the titles of the sections above it.
        reason: what the model said was missing after this node, or what the strategy searches for.
        dropped: ids of the nodes that were removed from the session to make room for this node.
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
        """Return the node's id, document, kind, level and text, and all fields of the step, for JSON."""
        return {
            "node_id": self.node.id,
            "document_id": self.node.document_id,
            "kind": self.node.kind,
            "level": self.node.level,
            **plain_fields(self, without=("node",)),
            "text": self.node.text,
        }


@dataclass(frozen=True, slots=True)
class Citation(Plain):
    """A verbatim span of a document: ``quote == document.text[start:end]``.

    Attributes:
        score: how well the quote supports the answer (``Quotes.cite``).
        place: "page 3" of a PDF, "Slide 3: …" or "Sheet: …"; empty for other documents.
    """

    document_id: str
    document_key: str
    segment_id: str
    start: int
    end: int
    quote: str
    score: float
    place: str = ""


@dataclass(frozen=True, slots=True)
class Part(Plain):
    """A part of a question that was asked by itself ("Who directed Solaris?"), with the value that was found.

    Attributes:
        value: the shortest phrase that answers the part; empty if nothing was found.
        citations: the sentences that the value rests on; sentences that contain the value come first.
        nodes_read: how many nodes of the trace were read when the part was answered.
    """

    question: str
    value: str
    citations: tuple[Citation, ...] = ()
    nodes_read: int = 0


class WarningKind(str, Enum):
    """The kinds of warnings that a person should check before trusting an answer."""

    UNSUPPORTED_LINK = "unsupported_link"
    """The answer contains a link that no cited sentence contains."""
    ADDRESSES_MODEL = "addresses_model"
    """A document that was read speaks to a language model. It may be written to steer the answer."""
    UNGRADED_YES = "ungraded_yes"
    """P(Yes) in the trace is only 1 or 0: the model's server returns no log-probabilities."""
    LACKING_LAYER = "lacking_layer"
    """The strategy reads a layer that was not built: the answer does not show what the strategy can do."""


@dataclass(frozen=True, slots=True)
class AnswerWarning:
    """A sign that an answer may not be what its sources say. Patterns find it; its absence proves nothing.

    Attributes:
        quote: the link, the line of the document, the name of the model, or the name of the layer.
        document_key: key of the document that addresses a model, or of the first that lacks the layer; else empty.
    """

    kind: WarningKind
    quote: str
    document_key: str = ""

    def __str__(self) -> str:
        """Return one sentence for a person."""
        if self.kind is WarningKind.UNSUPPORTED_LINK:
            return f"No cited sentence contains the link {self.quote}."
        if self.kind is WarningKind.UNGRADED_YES:
            return f"{self.quote} says Yes or No without a probability: its server returns no log-probabilities."
        if self.kind is WarningKind.LACKING_LAYER:
            where = self.document_key or "this memory"
            command = f"memgraph-rag deepen --layers {self.quote}"
            return f"The strategy reads the layer {self.quote}, which {where} lacks. {command} tells what it costs."
        return f"{self.document_key} addresses the model that reads it: “{self.quote}”"

    def as_dict(self) -> dict[str, Any]:
        """Return all fields, and the sentence for a person as ``text``, for JSON."""
        return {**plain_fields(self), "text": str(self)}


PlanKind = Literal["direct", "compare", "elapsed", "hop"]
"""How a question was answered.

"direct": as it is. "compare": from values of two things, which code compares. "elapsed": from two dates, between which
code counts the time. "hop": the names of its phrases were asked first.
"""


AnswerStyle = Literal["short", "sentence", "detailed"]
"""The form of an answer: a phrase, a sentence, or a paragraph with a citation mark after each sentence."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer with its evidence, its trace, and reasons not to trust it.

    Attributes:
        text: the answer in its ``AnswerStyle``; if the answer ``abstained``, what was searched for.
        citations: best first; for a paragraph, in the order of their marks: ``[1]`` is the first.
        short: the answer as a phrase (a name, a date, a number, yes or no). The model is asked for it separately, so it
            may differ from ``text``. Empty if the answer ``abstained``, and in questions kept by older versions.
        parts: the parts that were asked by themselves, in order, also if no answer came of them; the last part of hops
            is the question with all names.
        plan: how the answer came about.
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
    parts: tuple[Part, ...] = ()
    plan: PlanKind = "direct"

    def as_dict(self) -> dict[str, Any]:
        """Return the answer with its citations, its whole trace and its cost, for JSON."""
        return plain_fields(self)

    def _repr_html_(self) -> str:
        """Return the answer with its citations and warnings as HTML, for a notebook."""
        return answer_html(self)


@dataclass(frozen=True, slots=True)
class Change(Plain):
    """A change of a document after a kept question was answered from it.

    Attributes:
        action: ``REPLACED``: the document was written again, so that citations may quote an old text. ``DEEPENED``:
            only information points changed, or an overview that rests on the document was deleted.
        changed_at: time of the last change, ISO 8601 in UTC.
        reads: how many of the nodes that were read for the question were removed by the change.
    """

    document_id: str
    document_key: str
    action: Action
    changed_at: str
    reads: int


@dataclass(frozen=True, slots=True)
class Question:
    """A kept question with its answer and its trace.

    Forgetting any document that the question rests on deletes the question, because answer and reasons may quote it.
    Replacing a document makes the question stale: the answer and its citations stay, and the steps that read the old
    text are removed. ``id`` follows from namespace and text, so that asking the same question again replaces the kept
    one. ``asked_at`` is ISO 8601 in UTC.

    Attributes:
        changes: later changes of the documents that the question rests on, by key; empty if none was replaced and all
            nodes read still exist.
    """

    id: str
    asked_at: str
    answer: Answer
    changes: tuple[Change, ...] = ()

    @property
    def text(self) -> str:
        """The text of the question."""
        return self.answer.question

    @property
    def is_stale(self) -> bool:
        """Whether a document on which the question rests was replaced, or a node that was read no longer exists.

        Asking again may give another answer.
        """
        return bool(self.changes)

    @property
    def nodes_read(self) -> int:
        """The number of nodes that were read for the question, including nodes that no longer exist."""
        return len(self.answer.trace) + sum(change.reads for change in self.changes)

    @property
    def standing_citations(self) -> tuple[Citation, ...]:
        """The citations of the answer whose documents were not replaced since, in the order of the answer."""
        replaced = {change.document_id for change in self.changes if change.action is Action.REPLACED}
        return tuple(cited for cited in self.answer.citations if cited.document_id not in replaced)

    def as_dict(self) -> dict[str, Any]:
        """Return all fields, the question as ``text``, and ``is_stale``, for JSON."""
        return {"text": self.text, "is_stale": self.is_stale, **plain_fields(self)}
