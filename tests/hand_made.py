"""A graph and a reading session whose every number is given: what strategies and searches are tried on.

No store and no model stands behind them, so that a test can say what must come out. They keep to the contracts
``GraphReader`` and ``ReadingSession``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np

from memgraph_rag.contracts import Calibration, ReadingContext, SearchMode, Strategy
from memgraph_rag.errors import WindowExceeded
from memgraph_rag.types import (
    Annotation,
    DocumentRecord,
    Entity,
    Evidence,
    Hit,
    InformationPoint,
    Limits,
    Matrix,
    Neighbour,
    Node,
    Overview,
    PointLayer,
    Relation,
    Segment,
    Step,
    Summarizes,
    Usage,
    Vector,
)


def ids(steps: Sequence[Step]) -> list[str]:
    """The nodes of a trace, in the order in which they were read."""
    return [step.node.id for step in steps]


def segment(node_id: str, document_id: str = "d", *, index: int = 0, text: str = "", tokens: int = 10) -> Segment:
    text = text or f"text of {node_id}"
    return Segment(node_id, document_id, index, text, 0, len(text), tokens)


def point(
    node_id: str,
    document_id: str = "d",
    *,
    level: int = 1,
    index: int = 0,
    tokens: int = 10,
    layer: PointLayer = "points",
) -> InformationPoint:
    return InformationPoint(node_id, document_id, level, index, f"text of {node_id}", tokens, layer)


def relation(source_id: str, target_id: str, segment_id: str, description: str = "") -> Relation:
    description = description or f"{source_id} met {target_id} in {segment_id}"
    return Relation(f"{source_id}-{target_id}@{segment_id}", source_id, target_id, description, segment_id)


class HandMadeGraph:
    """A ``GraphReader`` over the nodes, edges, cosines and word lists that it is given.

    Args:
        similarity: the cosine of each node, and of each relation by its id, to any question.
        words: what ``find_matching`` returns for any words, best first.
        mentions: the entities that each segment names; those of its relations are named by it too.
        relations: between entities, whose names are their ids.
        kinds: of entities, by id; none where none is given.
        titles: of documents, by id; none where none is given.
    """

    namespace = "tests"

    def __init__(
        self,
        nodes: Sequence[Node],
        edges: Sequence[Summarizes] = (),
        *,
        similarity: Mapping[str, float] | None = None,
        words: Sequence[Hit] = (),
        mentions: Mapping[str, Sequence[str]] | None = None,
        relations: Sequence[Relation] = (),
        kinds: Mapping[str, tuple[str, ...]] | None = None,
        titles: Mapping[str, str] | None = None,
    ) -> None:
        self._kinds = kinds or {}
        self._titles = titles or {}
        self.relations = list(relations)
        self.calls: Counter[str] = Counter()
        self._mentions = {node_id: set(named) for node_id, named in (mentions or {}).items()}
        self._nodes = {node.id: node for node in nodes}
        self._edges = sorted(edges, key=lambda edge: (edge.source_id, -edge.weight, edge.target_id))
        self._cosine = dict(similarity or {})
        self._similarity = dict.fromkeys(self._nodes, 0.0) | self._cosine
        self._words = words

    def version(self) -> int:
        return 1

    def layer_annotations(self, layer: str, *, since: int = -1) -> list[Annotation]:
        return []

    def documents(self, ids: Sequence[str] | None = None) -> list[DocumentRecord]:
        self.calls["documents"] += 1
        held = sorted({node.document_id for node in self._nodes.values()} - {""})
        return [
            DocumentRecord(held_id, f"{held_id}.txt", self._titles.get(held_id, ""), "", "", "", 0, 0, (), "", {})
            for held_id in held
            if ids is None or held_id in ids
        ]

    def count_documents(self) -> int:
        return len(self.documents())

    def document(self, id_or_key: str) -> DocumentRecord | None:
        return next((record for record in self.documents() if id_or_key in (record.id, record.key)), None)

    def nodes(self, node_ids: Sequence[str]) -> list[Node]:
        return [self._nodes[node_id] for node_id in node_ids if node_id in self._nodes]

    def list_segments(self, document_id: str) -> list[Segment]:
        segments = [
            node for node in self._nodes.values() if isinstance(node, Segment) and node.document_id == document_id
        ]
        return sorted(segments, key=lambda node: node.index)

    def top_nodes(self, document_ids: Sequence[str], *, layer: PointLayer = "points") -> list[Node]:
        top: list[Node] = []
        for document_id in document_ids:
            own = [node for node in self._of_layer(layer) if node.document_id == document_id]
            highest = max(node.level for node in own)
            top += sorted((node for node in own if node.level == highest), key=lambda node: node.index)
        return top

    def _of_layer(self, layer: PointLayer) -> list[Segment | InformationPoint]:
        nodes = [node for node in self._nodes.values() if not isinstance(node, Overview)]
        return [node for node in nodes if isinstance(node, Segment) or node.layer == layer]

    def successors(self, node_ids: Sequence[str]) -> list[Summarizes]:
        return [edge for edge in self._edges if edge.source_id in node_ids]

    def overviews(self, layer: str, *, documents: Sequence[str] | None = None) -> list[Overview]:
        self.calls["overviews"] += 1
        nodes = [node for node in self._nodes.values() if isinstance(node, Overview) and layer == node.layer]
        inside = [node for node in nodes if documents is None or set(documents).issuperset(node.documents)]
        return sorted(inside, key=lambda node: (-node.level, node.layer, node.key))

    def find_nearest(self, vector: Vector, *, k: int, documents: Sequence[str] | None = None) -> list[Hit]:
        hits = self.similarities(vector, documents=documents or [record.id for record in self.documents()])
        return [hit for hit in hits if self._nodes[hit.node_id].level == 0][:k]

    def find_matching(self, keywords: str, *, k: int, documents: Sequence[str] | None = None) -> list[Hit]:
        return [hit for hit in self._words if documents is None or self._nodes[hit.node_id].document_id in documents][
            :k
        ]

    def similarities(self, vector: Vector, *, documents: Sequence[str], layer: PointLayer = "points") -> list[Hit]:
        hits = [
            Hit(node.id, self._similarity[node.id], node.kind)
            for node in self._of_layer(layer)
            if node.document_id in documents
        ]
        return sorted(hits, key=lambda hit: (-hit.score, hit.node_id))

    def entities(self, entity_ids: Sequence[str]) -> list[Entity]:
        return [Entity(entity_id, entity_id, entity_id, self._kinds.get(entity_id, ())) for entity_id in entity_ids]

    def list_mentioned_entities(self, segment_ids: Sequence[str]) -> dict[str, list[str]]:
        self.calls["list_mentioned_entities"] += 1
        return {
            segment_id: sorted(self._named_by(segment_id)) for segment_id in segment_ids if segment_id in self._nodes
        }

    def segments_naming(
        self, entity_ids: Sequence[str], *, vector: Vector, k: int, documents: Sequence[str] | None = None
    ) -> list[Hit]:
        self.calls["segments_naming"] += 1
        hits = self.find_nearest(vector, k=len(self._nodes), documents=documents)
        return [hit for hit in hits if self._named_by(hit.node_id) & set(entity_ids)][:k]

    def expand(
        self, entity_ids: Sequence[str], *, vector: Vector | None, k: int, documents: Sequence[str] | None = None
    ) -> list[Neighbour]:
        self.calls["expand"] += 1
        at = [fact for fact in self.relations if {fact.source_id, fact.target_id} & set(entity_ids)]
        inside = [fact for fact in at if documents is None or self._nodes[fact.segment_id].document_id in documents]
        scored = [Neighbour(fact, fact.source_id, fact.target_id, self._cosine.get(fact.id, 0.0)) for fact in inside]
        return sorted(scored, key=lambda neighbour: (-neighbour.score, neighbour.relation.id))[:k]

    def _named_by(self, segment_id: str) -> set[str]:
        stated = [fact for fact in self.relations if fact.segment_id == segment_id]
        return self._mentions.get(segment_id, set()) | {
            end for fact in stated for end in (fact.source_id, fact.target_id)
        }

    def count_by_document(self, document_ids: Sequence[str]) -> Mapping[str, Mapping[str, int]]:
        raise NotImplementedError

    def statistics(self) -> Mapping[str, int]:
        raise NotImplementedError


class HandMadeSearch:
    """A ``Search`` that finds what it is given, in that order, in whatever mode.

    Args:
        named: the entities that a text names: those of these whose id is a word of it.
    """

    def __init__(self, segments: Sequence[Segment] = (), *, named: Sequence[str] = ()) -> None:
        self._found = segments
        self._named = named
        self.queries: list[str] = []

    def find_named_entities(self, question: str) -> list[str]:
        said = re.findall(r"\w+", question)
        return sorted((name for name in self._named if name in said), key=said.index)

    def find_speaker_mismatch(self, question: str) -> None:
        return None

    def check_names(self, question: str, texts: Sequence[str]) -> dict[str, bool]:
        return {name: any(name in text for text in texts) for name in self._named if name in question}

    def find_similar_names(self, names: Sequence[str], texts: Sequence[str]) -> list[str]:
        return []

    def find(
        self,
        query: str,
        *,
        k: int,
        mode: str | SearchMode = "hybrid",
        documents: Sequence[str] | None = None,
    ) -> list[Evidence]:
        self.queries.append(query)
        segments = [node for node in self._found if documents is None or node.document_id in documents][:k]
        name = mode if isinstance(mode, str) else mode.name
        return [
            Evidence(node, f"{node.document_id}.txt", 1.0 / rank, {name: rank}) for rank, node in enumerate(segments, 1)
        ]


class HandMadeSession:
    """A ``ReadingSession`` with a given attention for each text and a given series of P(Yes); a node costs its tokens.

    Args:
        attention: by the id at the end of a node's text.
        yes: what each probe returns; 0 when they are used up.
        window: how many tokens of nodes fit.
        tokens: of each node, by id; 10 where none is given.
        calibration: what it says of itself.
        replies: what it says to each request, one after another; nothing when they are used up.
        attends: whether it tells attention.
    """

    is_graded = True

    def __init__(
        self,
        attention: Mapping[str, float] | None = None,
        *,
        yes: Sequence[float] = (),
        window: int = 1_000_000,
        tokens: Mapping[str, int] | None = None,
        calibration: Calibration | None = None,
        replies: Sequence[str] = (),
        attends: bool = True,
    ) -> None:
        self.calibration = calibration
        self.attends = attends
        self.requests: list[tuple[str, float, int]] = []
        self._replies = list(replies)
        self._attention = attention or {}
        self._yes = list(yes)
        self._probes = 0
        self._tokens = tokens or {}
        self.tokens_left = window
        self.usage = Usage(prompt_tokens=5)
        self.read: list[str] = []
        self.judged: list[str] = []
        self.level = 0.5
        self._before: list[tuple[int, int]] = []

    def ignore_calibration(self) -> None:
        self.calibration = None

    def append(self, texts: Sequence[str]) -> Vector:
        ids = [text.rsplit(maxsplit=1)[-1] for text in texts]
        cost = sum(self._tokens.get(node_id, 10) + 4 for node_id in ids)
        if cost > self.tokens_left:
            raise WindowExceeded(f"Expected at most {self.tokens_left} tokens, got {cost}.")
        self.tokens_left -= cost
        self.usage += Usage(prompt_tokens=cost)
        self._before.append((len(self.read), self._probes))
        self.read += ids
        return np.array([self._attention.get(node_id, 0.0) for node_id in ids], np.float32)

    def probability_of_yes(self) -> float:
        self._probes += 1
        return self._yes[self._probes - 1] if self._probes <= len(self._yes) else 0.0

    def take_back(self, calls: int) -> None:
        for _ in range(calls):
            length, self._probes = self._before.pop()
            self.tokens_left += sum(self._tokens.get(node_id, 10) + 4 for node_id in self.read[length:])
            del self.read[length:]

    def judge(self, request: str) -> float:
        self.judged.append(request)
        return self.level

    def reply(self, request: str, *, max_tokens: int, temperature: float = 0.0, seed: int = 0) -> str:
        self.requests.append((request, temperature, seed))
        return self._replies.pop(0) if self._replies else ""

    def answer(self, *, max_tokens: int) -> Iterator[str]:
        yield from ()

    def __enter__(self) -> HandMadeSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


@dataclass(frozen=True)
class Known:
    """What a session says of itself: a ``Calibration``."""

    yes_threshold: float = 0.5
    attention_weight: float = 1.0
    unsupported_below: float = 0.0


class OneVector:
    """An ``Embedder`` for graphs whose cosines are given."""

    name = "one-vector"
    dimension = 1

    def embed(self, texts: Sequence[str]) -> Matrix:
        return np.ones((len(texts), 1), np.float32)


def reading_context(
    nodes: Sequence[Node] = (),
    *,
    graph: HandMadeGraph | None = None,
    search: HandMadeSearch | None = None,
    session: HandMadeSession | None = None,
    limits: Limits | None = None,
    **given: Any,
) -> ReadingContext:
    """A context over these nodes, whose segments a search finds; ``given`` are further fields of it."""
    return ReadingContext(
        graph=graph or HandMadeGraph(nodes),
        search=search or HandMadeSearch([node for node in nodes if isinstance(node, Segment)]),
        session=session or HandMadeSession(),
        limits=limits or Limits(),
        **{"embedder": OneVector(), **given},
    )


def read_all(strategy: Strategy, context: ReadingContext, question: str = "Where is the fox?") -> list[Step]:
    """The steps of all passes of a strategy. The session read their nodes, and nothing else."""
    steps = [step for steps in strategy.read(question, context) for step in steps]
    assert isinstance(context.session, HandMadeSession)
    assert context.session.read == ids(steps), "the session holds what was yielded, and nothing else"
    return steps
