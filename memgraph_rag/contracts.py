"""What the rooms promise one another: Protocols, no code.

It knows neither torch nor a database. The invariant: the middle rooms (text, models, layers, search,
strategies, stores) never import one another; they meet here, and in ``types``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from memgraph_rag.types import (
    Answered,
    Budget,
    DocumentGraph,
    DocumentRecord,
    Entity,
    Evidence,
    Fingerprint,
    Flaws,
    Generation,
    Hit,
    IndexedSegment,
    LayerRows,
    Matrix,
    Mention,
    Neighbour,
    Node,
    Prompt,
    Question,
    Receipt,
    Relation,
    Segment,
    Similar,
    Step,
    Summarizes,
    Title,
    Usage,
    Vector,
)

__all__ = [
    "Calibration",
    "EchoLog",
    "Embedder",
    "EntityRecognizer",
    "Extract",
    "FingerprintIndex",
    "GraphReader",
    "GraphStore",
    "GraphView",
    "GraphWriter",
    "LanguageModel",
    "Layer",
    "MendedStore",
    "Models",
    "Named",
    "Progress",
    "PurgedStore",
    "ReadingSession",
    "ReembeddedStore",
    "Search",
    "SearchMode",
    "SplitDocument",
    "Strategy",
    "TokenCounter",
]

TokenCounter = Callable[[Sequence[str]], list[int]]
"""Number of tokens of each text."""

Progress = Callable[[str, int, int], None]
"""Called with (what is being done, how many are done, how many in all)."""

Extract = Callable[[str, Sequence[Segment]], list[Relation]]
"""Looks in segments for entities and relations that bear on a question, stores them, gives the relations found."""

SearchMode = Literal["graph", "hybrid", "keywords", "vector"]


class LanguageModel(Protocol):
    """A local model whose attention can be read. Loads its weights when first needed."""

    @property
    def name(self) -> str:
        """The catalogue's name of the weights."""
        ...

    @property
    def window(self) -> int:
        """How many tokens it may hold at once."""
        ...

    @property
    def parameters(self) -> int:
        """How many weights it has; loads them."""
        ...

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, without special tokens; needs no weights."""
        ...

    def generate(
        self,
        prompts: Sequence[Prompt],
        *,
        max_tokens: int,
        stop: Callable[[Prompt, str], bool] | None = None,
        schema: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> list[Generation]:
        """Greedy continuations, in prompt order, with the attention that was paid to each input.

        Args:
            max_tokens: most tokens written to one prompt.
            stop: asked with prompt and text so far at each line end, under a schema at each end of a list or an object;
                True ends that one.
            schema: a JSON Schema that what is written is a beginning of, and follows whole unless it is cut.

        Raises:
            WindowExceeded: a prompt and ``max_tokens`` do not fit the window.
            ModelError: the schema is none.
        """
        ...

    def open_session(self, question: str) -> ReadingSession:
        """A reading session that holds the question and no node.

        Raises:
            QuestionError: the question alone does not fit the window.
        """
        ...


class Calibration(Protocol):
    """What labelled questions told of a language model's signals."""

    @property
    def yes_threshold(self) -> float:
        """A probability of Yes above this one most often means that what was read is enough."""
        ...

    @property
    def attention_weight(self) -> float:
        """How far attention may be trusted to rank nodes: from 0, not at all, to 1."""
        ...

    @property
    def unsupported_below(self) -> float:
        """A probability of Yes below this one: what was read supports no answer; 0 where Yes says nothing."""
        ...


class ReadingSession(Protocol):
    """The model's KV cache with a question and the nodes read so far. A context manager."""

    @property
    def calibration(self) -> Calibration | None:
        """The model's, if it has one: the attention that ``append`` returns then does not fall with distance."""
        ...

    @property
    def usage(self) -> Usage:
        """What this session has cost so far."""
        ...

    @property
    def tokens_left(self) -> int:
        """How many tokens of nodes still fit, with room kept for the probe and the answer."""
        ...

    def append(self, texts: Sequence[str]) -> Vector:
        """Read nodes; (n,) mean attention of each new node's tokens to the question's tokens.

        With a ``calibration`` it is relative to what is usual at that distance; else it falls with distance.

        Raises:
            WindowExceeded: they do not fit; nothing was read.
        """
        ...

    def probability_of_yes(self) -> float:
        """P(Yes) / (P(Yes) + P(No)) that what was read answers the question; leaves the cache as it was."""
        ...

    def read_ahead(self, texts: Sequence[str]) -> tuple[Vector, Vector]:
        """Read nodes, at least one, in one pass; (n,) attention as ``append`` gives, and (n,) P(Yes) after each.

        Just what ``append`` and ``probability_of_yes`` would give for one after another.

        Raises:
            WindowExceeded: they do not fit; nothing was read.
        """
        ...

    def take_back(self, nodes: int) -> None:
        """Forget the last of the nodes that were read one a call, or ahead, as if they had never been read."""
        ...

    def reply(self, request: str, *, max_tokens: int, temperature: float = 0.0, seed: int = 0) -> str:
        """What the model says to a request made behind what was read; leaves the cache as it was.

        Args:
            temperature: 0 is greedy; above, tokens are drawn, always the same ones for the same ``seed``.

        Raises:
            WindowExceeded: the request does not fit; nothing was read.
        """
        ...

    def surprise(self, text: str, *, after: str = "") -> tuple[NDArray[np.int64], Vector]:
        """How little each token of a text was to be expected behind another, apart from all that was read.

        Returns:
            (T, 2) the characters of ``text`` that each token covers, and (T,) its negative log likelihood in nats; 0
            for a token behind nothing.

        Raises:
            WindowExceeded: the two do not fit the window.
        """
        ...

    def answer(self, *, max_tokens: int) -> Iterator[str]:
        """The answer in pieces, from what was read; leaves the cache as it was."""
        ...

    def __enter__(self) -> ReadingSession: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Embedder(Protocol):
    """Texts to vectors.

    One may also have ``unrelated_below``: the cosine below which a sentence is not about a question. Where it has none,
    no answer is held back and no citation left out for being about something else. And ``relevance_curve``
    (``types.RelevanceCurve``), by which evidence says how near it is.
    """

    @property
    def name(self) -> str:
        """What the store remembers it by."""
        ...

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        ...

    def embed(self, texts: Sequence[str]) -> Matrix:
        """(n, d) float32, rows L2-normalised."""
        ...

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, without special tokens."""
        ...


@dataclass(frozen=True, slots=True, order=True)
class Named:
    """A name found in a text: characters ``[start, end)``, and what kind of thing it names, such as PERSON."""

    start: int
    end: int
    kind: str


class EntityRecognizer(Protocol):
    """Finds names in texts. Loads what it needs when first used."""

    @property
    def name(self) -> str:
        """What the store remembers it by; another version of the same model has another name."""
        ...

    def recognize(self, texts: Sequence[str]) -> list[list[Named]]:
        """The names in each text, by start; they do not overlap and are not empty. Batched: give many texts at once."""
        ...


class Models(Protocol):
    """The models that layers receive. Each is found when it is first asked for, so a layer asks for what it needs."""

    @property
    def language(self) -> LanguageModel:
        """The language model.

        Raises:
            ModelNotFound: there is none here.
        """
        ...

    @property
    def embedder(self) -> Embedder:
        """The embedding model."""
        ...

    @property
    def recognizer(self) -> EntityRecognizer:
        """What finds names."""
        ...

    def settle(self) -> None:
        """All that was built is stored: work that was kept for a retry is not needed any more."""
        ...


@dataclass(frozen=True, slots=True)
class SplitDocument:
    """A document as layers see it: its id, its title (perhaps empty) and its segments, which tile its text."""

    id: str
    title: str
    segments: tuple[Segment, ...]


class GraphReader(Protocol):
    """Reads one namespace of a graph. Every list has a fixed order: equal calls give equal lists."""

    @property
    def namespace(self) -> str:
        """The namespace that it is bound to."""
        ...

    def documents(self, ids: Sequence[str] | None = None) -> list[DocumentRecord]:
        """All documents, or those of these ids that exist; by key."""
        ...

    def document(self, id_or_key: str) -> DocumentRecord | None:
        """The document with that id, or else that key; None where there is none."""
        ...

    def named_documents(self, names: Sequence[str]) -> list[DocumentRecord | None]:
        """For each name the document with that id, or else that key; None where there is none."""
        ...

    def nodes(self, node_ids: Sequence[str]) -> list[Node]:
        """The nodes of these ids that exist, in the order of ``node_ids``."""
        ...

    def segments_of(self, document_id: str) -> list[Segment]:
        """All segments of a document, by index."""
        ...

    def top_nodes(self, document_ids: Sequence[str]) -> list[Node]:
        """The highest level of each document (its segments where it has no points), in the order given, by index.

        Without echoes, as everything below that looks for evidence.
        """
        ...

    def successors(self, node_ids: Sequence[str]) -> list[Summarizes]:
        """The SUMMARIZES edges that leave these nodes, by (source, weight falling, target)."""
        ...

    def nearest(self, vector: Vector, *, k: int, documents: Sequence[str] | None = None) -> list[Hit]:
        """The k segments of the largest cosine, or all where there are fewer; ties by id. Score: the cosine."""
        ...

    def matching(
        self, keywords: str, *, k: int, documents: Sequence[str] | None = None, stemming: bool = False
    ) -> list[Hit]:
        """The k segments that match the words best (BM25), at least one word each; ties by id.

        A word of the title counts twice. ``keywords`` is plain text, never a query language. With ``stemming``,
        "marriages" matches "marriage".
        """
        ...

    def similarities(self, vector: Vector, *, documents: Sequence[str]) -> list[Hit]:
        """The exact cosine of every segment and point of these documents, best first; ties by id."""
        ...

    def entities(self, entity_ids: Sequence[str]) -> list[Entity]:
        """The entities of these ids that exist, in the order of ``entity_ids``."""
        ...

    def expand(
        self, entity_ids: Sequence[str], *, vector: Vector | None, k: int, documents: Sequence[str] | None = None
    ) -> list[Neighbour]:
        """The k relations with an end among these entities, or among those SIMILAR_TO one of them, that are nearest.

        Best cosine first, ties by relation id; without a vector by relation id. One transaction, whatever the number
        of entities and relations, and whether there are any; a second one where the k-th and the next tie. Of an
        entity with hundreds of relations a store may compare only those that are among the nearest of all.
        """
        ...

    def nearest_relations(self, vector: Vector, *, k: int, documents: Sequence[str] | None = None) -> list[Neighbour]:
        """The k relations of the largest cosine; ties by relation id."""
        ...

    def segments_naming(
        self, entity_ids: Sequence[str], *, vector: Vector, k: int, documents: Sequence[str] | None = None
    ) -> list[Hit]:
        """The k segments of the largest cosine among those that mention one of these entities; ties by id."""
        ...

    def entities_of(self, segment_ids: Sequence[str]) -> dict[str, list[str]]:
        """For each of these segments that exists, the ids of the entities that it mentions, sorted, each once."""
        ...

    def similar(self, entity_ids: Sequence[str]) -> list[Similar]:
        """The SIMILAR_TO edges at these entities, by (source, target)."""
        ...

    def relations_of(self, document_id: str) -> list[Relation]:
        """All relations that a document states, by id."""
        ...

    def recognizer(self) -> str:
        """The recognizer that found the entities of this namespace; empty where it holds none."""
        ...

    def version(self) -> int:
        """How many writes the namespace has seen; it grows with each, by whatever process. 0 before the first."""
        ...

    def document_ids(self) -> list[str]:
        """The ids of all documents, sorted."""
        ...

    def count_documents(self) -> int:
        """How many documents there are."""
        ...

    def indexed_segments(self, *, since: int) -> list[IndexedSegment]:
        """All segments of the documents that a write later than version ``since`` stored; -1 is from the beginning.

        By (document id, index), with echoes. An embedding is never a list of Python numbers for longer than its row
        takes.
        """
        ...

    def counts(self, document_id: str) -> Mapping[str, int]:
        """Nodes and edges of one document by label and by relationship type; empty where there is no such document."""
        ...

    def statistics(self) -> Mapping[str, int]:
        """Counts of this namespace by label and by relationship type."""
        ...


class GraphView(GraphReader, Protocol):
    """What a person looks at beside what strategies read."""

    def names_with(self, part: str, *, k: int) -> list[Entity]:
        """The k entities of the shortest normalised names that hold these characters; ties by code point."""
        ...

    def mentions(self, document_id: str) -> list[Mention]:
        """All mentions of a document, by place."""
        ...

    def titles(self, document_id: str) -> list[Title]:
        """What a document's title names, by entity."""
        ...

    def mentions_of(self, entity_id: str, *, k: int) -> list[Mention]:
        """The first k mentions of an entity, by document and place."""
        ...

    def titled(self, entity_id: str, *, k: int) -> list[tuple[str, str]]:
        """(document id, surface) of the first k documents whose titles name an entity, by key."""
        ...

    def relations_at(self, entity_id: str, *, k: int) -> list[Relation]:
        """The first k relations of an entity, by id."""
        ...

    def entity_counts(self, entity_id: str) -> Mapping[str, int]:
        """How many edges of each kind an entity has, but for SIMILAR_TO; empty where there is none."""
        ...

    def questions(self, ids: Sequence[str] | None = None) -> list[Question]:
        """All kept questions, or those of these ids that exist; the newest first, ties by id."""
        ...


class GraphWriter(Protocol):
    """Writes one namespace of a graph. Each call is one transaction: all of it, or nothing."""

    def migrate(self, *, embedder: str, dimension: int) -> None:
        """Bring the schema up to date; on a new store, create it for this embedder. Repeatable.

        Raises:
            SchemaMismatch: the store was built with another embedder, or by a newer version of this library.
        """
        ...

    def write(self, graph: DocumentGraph) -> Receipt:
        """Store a document, in place of what was stored under its id; kept questions that rest on that are stale then.

        Of each the receipt counts, as of each write, how many it made stale (``Question.changes``).
        """
        ...

    def write_many(self, graphs: Sequence[DocumentGraph]) -> list[Receipt]:
        """Store documents as ``write`` does, all or none of them: one transaction, one step of the version.

        Some dozens at once cost a fraction of what they cost one by one. Each document may be among them once.
        """
        ...

    def extend(self, graph: DocumentGraph) -> Receipt:
        """Store further layers of a document that is there: points, mentions, titles and relations beside what it has.

        ``graph.segments`` are those stored already, their embeddings may be empty; ``graph.document.layers`` names
        all layers that it has afterwards. What the store holds of a layer that is given is replaced; kept questions for
        which a point was read that is replaced are stale then.

        Raises:
            DocumentNotFound: there is no document of that id with that content (``sha256``).
        """
        ...

    def describe(self, records: Sequence[DocumentRecord], *, before: Sequence[str]) -> list[str]:
        """Give documents these records' metadata and ``sha256``; nothing else of them changes.

        Args:
            before: for each the ``sha256`` that it is to have until then.

        Returns:
            The ids of those that were there with that content, sorted. Of the others nothing is changed.
        """
        ...

    def learn(self, graph: DocumentGraph) -> None:
        """Store mentions and relations beside all that a stored document has; what is there already stays as it is.

        ``graph`` is as for ``extend``, but may have some of the document's segments only; only its mentions, relations
        and their embeddings are taken, and the layers of the document stay what they were.

        Raises:
            DocumentNotFound: there is no document of that id with that content (``sha256``).
        """
        ...

    def forget(self, document_id: str) -> Receipt:
        """Remove a document and all that only it supports, and kept questions that rest on it.

        Raises:
            DocumentNotFound: there is none.
        """
        ...

    def keep(self, question: Question) -> None:
        """Store a question with its answer and its walk, in place of what was kept of it.

        Raises:
            DocumentNotFound: something that was read or cited is not stored any more, or says something else.
            StoreError: it is stale.
        """
        ...

    def forget_question(self, question_id: str) -> None:
        """Remove a kept question.

        Raises:
            QuestionNotFound: there is none.
        """
        ...


class EchoLog(Protocol):
    """Remembers which sentences were answered, by their hashes."""

    def has_answers(self) -> bool:
        """Whether any is remembered."""
        ...

    def answered(self, answer_ids: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        """Of these sentences those that were answered, with their origins."""
        ...

    def remember(self, answers: Sequence[Answered]) -> None:
        """Remember sentences; of one that is known the origins are joined. Beyond some thousands the oldest go.

        All go with the namespace's last document. No write that ``version`` counts.
        """
        ...


class FingerprintIndex(Protocol):
    """Finds documents by where they came from and by their whole text."""

    def fingerprints(self, ids: Sequence[str]) -> list[Fingerprint]:
        """The fingerprints of the documents of these ids that exist, by key."""
        ...

    def matching_fingerprints(
        self, *, sources: Sequence[str] = (), text_hashes: Sequence[str] = ()
    ) -> list[Fingerprint]:
        """Those of the documents that were read from one of these files, or have one of these texts; by key.

        One statement. What is empty matches nothing; of texts the first thousand documents.
        """
        ...


class MendedStore(Protocol):
    """A store that finds what is wrong with its graph, and puts right what can be."""

    def flaws(self) -> Flaws:
        """What is wrong, as of one moment; nothing, in a graph that only this library wrote."""
        ...

    def mend(self, vectors: Mapping[str, Vector]) -> Flaws:
        """Put right what can be put right, in one transaction (indexes before it); what was wrong.

        Args:
            vectors: embeddings of what had none, by id. What is not among them stays without.
        """
        ...


class ReembeddedStore(Protocol):
    """A store of which all embeddings, in all namespaces, can be replaced at one moment."""

    def namespaces(self) -> list[str]:
        """All namespaces of the store, sorted: an embedder is the whole store's."""
        ...

    def beside(self, namespace: str) -> GraphStore:
        """The same store, bound to another namespace. It goes with this one, and is not closed by itself."""
        ...

    def reembed(self, *, embedder: str, dimension: int, again: Callable[[DocumentGraph], DocumentGraph]) -> None:
        """Put other embeddings in place of all there are, at one moment; before it, everything goes on with the old.

        Afterwards every store that is open with the old ones, this one too, raises ``SchemaMismatch`` until it is
        opened, or migrated, with the new embedder.

        Args:
            again: a document with the new embeddings. It is asked for each document, for some more than once.

        Raises:
            StoreError: a document is damaged, or documents are written faster than they can be read.
        """
        ...


class PurgedStore(Protocol):
    """A store whose own files can be freed of what was forgotten."""

    def purge(self) -> None:
        """Rewrite the files so that nothing of what was forgotten or replaced, in any namespace, is left in them.

        Raises:
            StoreError: the store is a server, whose files are its own.
        """
        ...


class GraphStore(
    GraphView, GraphWriter, EchoLog, FingerprintIndex, MendedStore, ReembeddedStore, PurgedStore, Protocol
):
    """A database that holds graphs, bound to one namespace. May be used from several threads."""

    def graph_of(self, document_id: str) -> DocumentGraph | None:
        """All that a document contributes to the graph, ready to be written again; None where there is none.

        Raises:
            StoreError: something is stored of it that cannot be given.
        """
        ...

    @property
    def read_only(self) -> bool:
        """Whether nothing can be written by this store: every write is a ``StoreReadOnly``."""
        ...

    @property
    def schema(self) -> Mapping[str, Any]:
        """``version``, ``embedder`` and ``dimension`` as stored; empty before ``migrate``."""
        ...

    def close(self) -> None:
        """Let go of the database; a second call does nothing."""
        ...


class Search(Protocol):
    """Finds segments without a language model."""

    def find(
        self,
        query: str,
        *,
        k: int,
        mode: SearchMode = "graph",
        documents: Sequence[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> list[Evidence]:
        """The k best segments, best first, ties by id.

        Args:
            documents: ids of documents; None is all.
            since: not before this time (of the message, else of the document).
            until: before this time.
        """
        ...

    def named_in(self, question: str) -> list[str]:
        """The ids of the entities of this memory that a question names, in the order in which it names them."""
        ...

    def said_by_another(self, question: str, *, documents: Sequence[str] | None = None) -> tuple[str, str] | None:
        """The one speaker of a conversation whom a question names, and who says instead what it asks about.

        None where nobody else does, or where not all of these documents (ids; None is all) are conversations.
        """
        ...

    def names_held(self, question: str, texts: Sequence[str]) -> dict[str, bool]:
        """Each name that a question tells, as it writes it, and whether one of the texts holds it."""
        ...

    def names_meant(self, names: Sequence[str], texts: Sequence[str]) -> list[str]:
        """The names in the texts that are spelt nearly as these, which none of them holds; each once."""
        ...


class Layer(Protocol):
    """Derives one part of the graph from the segments. Never sees a database."""

    name: str
    needs_language: bool
    """Whether it asks for the language model: the costly layers do."""

    def build(
        self,
        documents: Sequence[SplitDocument],
        *,
        namespace: str,
        models: Models,
        progress: Progress | None = None,
    ) -> list[LayerRows]:
        """The rows of each document, in order; the model work of all of them runs together."""
        ...


class Strategy(Protocol):
    """A way to read the graph for a question."""

    @property
    def name(self) -> str:
        """The name that users choose it by."""
        ...

    def read(
        self,
        question: str,
        *,
        graph: GraphReader,
        search: Search,
        session: ReadingSession,
        embedder: Embedder,
        budget: Budget,
        documents: Sequence[str] | None = None,
        extract: Extract | None = None,
    ) -> Iterator[tuple[Step, ...]]:
        """Read nodes into the session, telling after each forward pass the steps that it took.

        Whoever drives it checks the budget between two passes and may stop asking at any time; the session then
        holds what was told, and nothing else. The strategy itself keeps one pass within ``budget``.
        ``documents`` are ids; None means all. ``extract`` is None where what is read must not be written to.
        """
        ...
