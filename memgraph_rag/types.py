"""The plain records that pass between rooms, and the ids that name them.

Frozen, without behaviour beyond what follows from their own fields; they know no database, no model and no
file. The invariant: every id is a hash of (namespace, kind, natural key), so the same content gets the same
id in every store and on every run, and a repeated write changes nothing.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "OPEN_KIND",
    "Action",
    "Answer",
    "AnswerWarning",
    "Answered",
    "Budget",
    "Carrier",
    "Change",
    "Citation",
    "Damage",
    "Document",
    "DocumentGraph",
    "DocumentRecord",
    "Entity",
    "Evidence",
    "Failure",
    "Fingerprint",
    "Flaws",
    "Generation",
    "Hit",
    "IndexedSegment",
    "InformationPoint",
    "LayerRows",
    "Matrix",
    "Mention",
    "Message",
    "Neighbour",
    "Neighbourhood",
    "Node",
    "Prompt",
    "Question",
    "Receipt",
    "Relation",
    "RelevanceCurve",
    "Segment",
    "Similar",
    "Step",
    "StopReason",
    "Summarizes",
    "Thing",
    "Tie",
    "Title",
    "Turn",
    "Usage",
    "Vector",
    "WarningKind",
    "as_line",
    "ends_of",
    "entity_id",
    "make_id",
    "question_id",
    "relation_id",
    "text_hash",
    "text_id",
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


def entity_id(namespace: str, normal: str) -> str:
    """The id of the entity whose name has that normal form."""
    return make_id(namespace, "entity", normal)


def relation_id(namespace: str, segment_id: str, source_id: str, target_id: str, description: str) -> str:
    """The id of what a segment states about two entities."""
    return make_id(namespace, "relation", segment_id, source_id, target_id, description)


def question_id(namespace: str, text: str) -> str:
    """The id of the kept question of that text."""
    return make_id(namespace, "question", text)


def text_hash(text: str) -> str:
    """SHA-256 of a document's text without the white space around it, whatever its title and key.

    >>> text_hash("Rain fell.") == text_hash("Rain fell. ")
    True
    """
    return hashlib.sha256(text.strip().encode("utf-8", "surrogatepass")).hexdigest()


def text_id(namespace: str, text_sha256: str) -> str:
    """The id of a whole text, whichever document holds it: an origin of answered sentences."""
    return make_id(namespace, "text", text_sha256)


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
class Turn:
    """One chat message within the text of its conversation: characters ``[start, end)``.

    The turns of a document tile its text: the first starts at 0, each next starts where the last ended, the last ends
    at the text's end. So the blank lines between two messages belong to the one before. ``time`` is ISO 8601, or empty
    where the message had none that can be read as such.
    """

    start: int
    end: int
    speaker: str
    time: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """What a user adds: a text under a key.

    ``key`` is the user's name for it; adding other content under the same key replaces it. ``source`` is where
    the text was read from (an absolute path), empty for text that came as a string. ``turns`` are the messages of a
    conversation, in order; a text that is none has none.
    """

    text: str
    key: str
    title: str = ""
    source: str = ""
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)
    turns: tuple[Turn, ...] = ()

    @property
    def sha256(self) -> str:
        """Hash of the content: text, title, metadata and turns (not of the key, nor of where it came from)."""
        content: list[object] = [self.text, self.title, dict(self.metadata)]
        if self.turns:  # only then, so that a document without keeps the hash it had before there were turns
            content.append([[turn.start, turn.end, turn.speaker, turn.time] for turn in self.turns])
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


# ── the graph ────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Segment:
    """A contiguous raw span of a document: ``text == document.text[start:end]``. Level 0 of the summary graph.

    The segments of a document tile it: the first starts at 0, each next starts where the last ended, the last
    ends at the document's end. ``start`` and ``end`` count characters, ``tokens`` the language model's tokens. An
    ``echo`` says again what the memory itself answered: it is kept and shown, but is no evidence, and no layer is
    built of it.
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
    speaker: str = ""
    time: str = ""
    echo: bool = False


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
class Mention:
    """An entity named in a segment: ``surface == document.text[start:end]``, within the segment's span.

    ``normal`` is the entity's normalised name, of which its id is made; ``kind`` is the recognizer's, such as
    PERSON, or "heading" where a heading names it.
    """

    entity_id: str
    normal: str
    kind: str
    surface: str
    segment_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Title:
    """The entity that a document's title names; ``normal`` is the entity's normalised name."""

    entity_id: str
    normal: str
    surface: str


OPEN_KIND = "open"
"""The kind of a mention that the relations layer found: by it the mentions of that layer are told from NER's."""


@dataclass(frozen=True, slots=True)
class Relation:
    """One open, descriptive sentence about a pair of entities, tied to the segment that states it.

    Both entities have a mention in that segment. The ends have an order for the identity only: ``source_id`` is the
    entity that the description names first. ``id`` is made of (segment, source, target, description).
    """

    id: str
    source_id: str
    target_id: str
    description: str
    segment_id: str


def ends_of(relations: Iterable[Relation]) -> tuple[str, ...]:
    """The ids of the entities that relations join, sorted, each once."""
    return tuple(sorted({end for relation in relations for end in (relation.source_id, relation.target_id)}))


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A relation as an expansion step sees it: with the names of its ends, and how near it is to what is looked for.

    Attributes:
        score: cosine of the relation's embedding and the vector that was given; 0 where none was.
    """

    relation: Relation
    source: str
    target: str
    score: float


@dataclass(frozen=True, slots=True)
class Similar:
    """Two entities of near-synonymous names, ``source_id < target_id``; ``score`` is their names' cosine.

    A function of the two names alone, so that it does not depend on what else was added, or when.
    """

    source_id: str
    target_id: str
    score: float


@dataclass(frozen=True, slots=True)
class Entity:
    """A thing that documents name, one for each normalised name in a namespace.

    Everything here follows from its mentions and titles: ``name`` is the surface form that is most frequent (ties:
    the first by code point), ``kinds`` are all kinds, sorted. It lives as long as one of them.
    """

    id: str
    normal: str
    name: str
    kinds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IndexedSegment:
    """What the graph search holds in memory of a segment.

    ``entities`` are the ids of those that it mentions, ``titles`` of those that its document's title names, each once,
    sorted. ``time`` is the segment's own, else when its document was added.
    """

    id: str
    document_id: str
    index: int
    title: str
    text: str
    speaker: str
    time: str
    embedding: Vector
    entities: tuple[str, ...]
    titles: tuple[str, ...]
    echo: bool = False


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """A document as the store knows it.

    ``layers`` are the layers that were built; ``model`` is the language model and ``recognizer`` the recognizer of
    entities that built them (empty without).
    ``added_at`` is ISO 8601 in UTC and is no part of the document's identity. ``echoes`` counts the segments that say
    again what the memory itself answered.
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
    recognizer: str = ""
    echoes: int = 0


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What tells a stored document from others: the file it was read from, and the hash of its text (``text_hash``).

    Either is empty where it is not known: ``source`` of text that came as a str, ``text_sha256`` of what an older
    version stored.
    """

    document_id: str
    key: str
    source: str
    text_sha256: str


@dataclass(frozen=True, slots=True)
class DocumentGraph:
    """Everything that one document contributes to the graph, as plain rows, ready for one atomic write.

    ``segment_embeddings`` is (len(segments), d), ``point_embeddings`` (len(points), d), ``relation_embeddings``
    (len(relations), d), in row order; ``end_embeddings`` (len(ends), d) are those of the normalised names of ``ends``.
    """

    document: DocumentRecord
    segments: tuple[Segment, ...]
    segment_embeddings: Matrix
    points: tuple[InformationPoint, ...] = ()
    point_embeddings: Matrix = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    summarizes: tuple[Summarizes, ...] = ()
    mentions: tuple[Mention, ...] = ()
    titles: tuple[Title, ...] = ()
    relations: tuple[Relation, ...] = ()
    relation_embeddings: Matrix = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    end_embeddings: Matrix = field(default_factory=lambda: np.zeros((0, 0), np.float32))

    @property
    def ends(self) -> tuple[str, ...]:
        """The ids of the entities that its relations join, sorted: those that have an embedding and near-synonyms."""
        return ends_of(self.relations)


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
    """An instruction and the inputs that it speaks of; attention is reported per input.

    ``task`` is said behind the inputs: prompts that differ in it alone begin with the same tokens.
    """

    instruction: str
    inputs: tuple[str, ...]
    task: str = ""


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
    mentions: tuple[Mention, ...] = ()
    titles: tuple[Title, ...] = ()
    relations: tuple[Relation, ...] = ()
    notes: Mapping[str, int] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)

    def __add__(self, other: LayerRows) -> LayerRows:
        """The rows of both."""
        return LayerRows(
            (*self.points, *other.points),
            (*self.summarizes, *other.summarizes),
            (*self.mentions, *other.mentions),
            (*self.titles, *other.titles),
            (*self.relations, *other.relations),
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
    """A segment that bears on a query.

    Attributes:
        score: by which it was ranked; no confidence, and scores of different modes do not compare.
        why: in which lists it was found: name to rank, from 1.
        path: the entities that carried it in a graph search, largest share first.
        relevance: how near it is to the query, from 0 to 1: the share of passages as near as it that are evidence. None
            where the embedder is not calibrated, and in mode "keywords", which embeds nothing.
    """

    segment: Segment
    document_key: str
    score: float
    why: Mapping[str, int]
    path: tuple[Carrier, ...] = ()
    relevance: float | None = None

    @property
    def text(self) -> str:
        """What the segment says."""
        return self.segment.text


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
    MAX_ROUNDS = "max_rounds"  # the strategy asked the model as often as it may
    MAX_NODES = "max_nodes"
    MAX_TOKENS = "max_tokens"  # the budget's, or the strategy's own limit
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
        sources: what each source of the score gave ("entry", "attention", "similarity", "relation"), weighted; where
            there are any, they sum to ``score``.
        via: the relation's description by which the node was found, where it was found by one.
        reason: what the model said was missing, or to be searched for next, after this node, where it was asked.
        dropped: ids of nodes that were let go, to make room, before this one was read.
    """

    node: Node
    score: float
    attention: float
    p_yes: float | None = None
    stop: StopReason | None = None
    sources: Mapping[str, float] = field(default_factory=dict)
    via: str = ""
    reason: str = ""
    dropped: tuple[str, ...] = ()


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


class WarningKind(str, Enum):
    """What a person should look at before trusting an answer."""

    UNSUPPORTED_LINK = "unsupported_link"
    """The answer holds a link that stands in no cited sentence."""
    ADDRESSES_MODEL = "addresses_model"
    """A document that was read speaks to a language model: it may be written to steer the answer."""


@dataclass(frozen=True, slots=True)
class AnswerWarning:
    """A sign that an answer may not be what its sources say. A hint, found by patterns; its absence proves nothing.

    Attributes:
        quote: the link, or the line of the document.
        document_key: of the document that addresses a model; empty for a link.
    """

    kind: WarningKind
    quote: str
    document_key: str = ""

    def __str__(self) -> str:
        """One sentence for a person."""
        if self.kind is WarningKind.UNSUPPORTED_LINK:
            return f"The link {self.quote} stands in no cited sentence."
        return f"{self.document_key} addresses the model that reads it: “{self.quote}”"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer, what it rests on, how it came about, and what speaks against trusting it."""

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


@dataclass(frozen=True, slots=True)
class Answered:
    """A sentence that was answered, by the hash of its words; the sentence itself is kept nowhere.

    ``origins`` are ids of who said it before the memory did: a document and its whole text (``text_id``), in a
    conversation a speaker. For these it is no echo.
    """

    id: str
    origins: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """What became of a document since a kept question was answered from it.

    Attributes:
        action: ``REPLACED``, its text is another, so that citations quote what it said before; ``DEEPENED``, only its
            information points are others.
        changed_at: ISO 8601 in UTC; of several changes the last.
        reads: how many of the nodes read for the question are gone with it.
    """

    document_id: str
    document_key: str
    action: Action
    changed_at: str
    reads: int


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


Thing = DocumentRecord | Segment | InformationPoint | Entity | Question
"""Anything that has a node of its own in the graph."""


@dataclass(frozen=True, slots=True)
class Tie:
    """An edge between two things, or several of one kind taken together.

    Attributes:
        kind: the relationship type.
        weight: of SUMMARIZES and SIMILAR_TO theirs; of READ the score; of MENTIONS how often.
        text: what a relation says, or a mention's first surface form.
        order: of READ, from 1.
    """

    kind: str
    source_id: str
    target_id: str
    weight: float = 1.0
    text: str = ""
    order: int = 0


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """What surrounds one thing in the graph, for a person to look at: bounded, and it says what was left out.

    Attributes:
        things: by id, the centre first; both ends of each tie are among them.
        passages: text to be read beside it, in order: of a document all, of an entity what mentions it, of a question
            what was read and then what was cited.
        mentions: those that stand in the passages.
        left_out: how many more there are, by what they are.
    """

    centre: Thing
    things: Mapping[str, Thing]
    ties: tuple[Tie, ...]
    passages: tuple[Segment, ...]
    mentions: tuple[Mention, ...]
    left_out: Mapping[str, int]


class Action(str, Enum):
    """What a write did."""

    ADDED = "added"
    REPLACED = "replaced"
    DESCRIBED = "described"
    """Its metadata are others; all that was built of it stayed."""
    UNCHANGED = "unchanged"
    DEEPENED = "deepened"
    FORGOTTEN = "forgotten"


@dataclass(frozen=True, slots=True)
class Receipt:
    """What the database holds of a document after a write (for ``forget``: what it held and no longer does).

    Attributes:
        counts: nodes and edges of the document by label or relationship type, read back after the commit.
        notes: what could not be used of what the model wrote, or of the messages' times, by kind, counted.
        usage: model work of this call.
        echoes: segments of the document that say again what the memory itself answered, and so are no evidence.
        stale_questions: kept questions of which the write took away something that was read (``Question.changes``).
        forgotten_questions: kept questions that ``forget`` removed with the document that they rest on.
        same_as: keys of other documents with the same text, sorted; those of older versions are not recognised.
    """

    document_id: str
    key: str
    action: Action
    counts: Mapping[str, int]
    notes: Mapping[str, int] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    echoes: int = 0
    stale_questions: int = 0
    forgotten_questions: int = 0
    same_as: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Flaws:
    """What is wrong with the graph of a namespace: ids, sorted. Nothing, in a graph that only this library wrote.

    Attributes:
        lost_segments: whose document is not there.
        parted_segments: whose document is there, and does not hold them.
        incomplete: documents of which segments are missing.
        unchained: documents whose segments do not follow each other as they should.
        lost_points: whose document is not there.
        loose_points: documents with points that sum up nothing.
        lost_relations: of a segment, or between entities, that are not there.
        lone_entities: that nothing names.
        miswritten: entities that say another thing of themselves than their mentions and titles do.
        loose_similar: entities with near-synonyms or an embedding that no relation joins.
        torn_questions: of which something that was read is gone without a change that says so, or a document.
        unembedded_segments: likewise points and relations, and entities that a relation joins.
        indexes: of the database, by name, that are missing or cannot be used.
    """

    lost_segments: tuple[str, ...] = ()
    parted_segments: tuple[str, ...] = ()
    incomplete: tuple[str, ...] = ()
    unchained: tuple[str, ...] = ()
    lost_points: tuple[str, ...] = ()
    loose_points: tuple[str, ...] = ()
    lost_relations: tuple[str, ...] = ()
    lone_entities: tuple[str, ...] = ()
    miswritten: tuple[str, ...] = ()
    loose_similar: tuple[str, ...] = ()
    torn_questions: tuple[str, ...] = ()
    unembedded_segments: tuple[str, ...] = ()
    unembedded_points: tuple[str, ...] = ()
    unembedded_relations: tuple[str, ...] = ()
    unembedded_entities: tuple[str, ...] = ()
    indexes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything is wrong."""
        return self != Flaws()


@dataclass(frozen=True, slots=True)
class Damage:
    """One kind of thing that is wrong with a graph.

    Attributes:
        what: in words.
        number: how many there are.
        keys: of the documents that it concerns, where it can be told.
        remedy: what ``repair`` does about it; where it cannot be mended, what there is to do.
        is_mendable: whether ``repair`` puts it right.
    """

    what: str
    number: int
    keys: tuple[str, ...]
    remedy: str
    is_mendable: bool = True


@dataclass(frozen=True, slots=True)
class Failure:
    """A source that ``add_many`` could not add, and why; the others went on."""

    source: str
    error: Exception
