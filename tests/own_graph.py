"""The reads of a stranger's own store: graphs in dictionaries, everything computed anew at each call.

Written against docs/extending.md alone, to see that the contract and its suite suffice; slow, plain and short, so it is
also what the fast stores can be compared with. Invariant: a namespace's state is one value, replaced at once.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from memgraph_rag.errors import SchemaMismatch, StoreError, StoreReadOnly
from memgraph_rag.lexical.bm25 import KeywordIndex
from memgraph_rag.lexical.name_similarity import least_cosine
from memgraph_rag.stores import BaseStore
from memgraph_rag.types import (
    DocumentGraph,
    DocumentRecord,
    Entity,
    Hit,
    Mention,
    Neighbour,
    Node,
    Overview,
    PointLayer,
    Question,
    Segment,
    Similar,
    Summarizes,
    Vector,
)


@dataclass(frozen=True)
class State:
    """All of one namespace."""

    graphs: Mapping[str, DocumentGraph] = field(default_factory=dict)
    versions: Mapping[str, int] = field(default_factory=dict)
    questions: Mapping[str, Question] = field(default_factory=dict)
    answers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    overviews: Mapping[str, tuple[Overview, tuple[Summarizes, ...]]] = field(default_factory=dict)
    version: int = 0


@dataclass
class Database:
    """What several stores share: namespaces, and the embedder that all of it was embedded with."""

    states: dict[str, State] = field(default_factory=dict)
    schema: dict[str, Any] = field(default_factory=dict)
    lock: Any = field(default_factory=threading.RLock)


def by_score(scores: Iterable[tuple[str, float]], k: int | None = None) -> list[Hit]:
    hits = [Hit(node_id, float(score)) for node_id, score in scores]
    return sorted(hits, key=lambda hit: (-hit.score, hit.node_id))[:k]


def checked(vector: Vector) -> Vector:
    if not np.isfinite(vector).all() or not vector.any():
        raise StoreError("Expected a vector of finite numbers, not all 0, got another. Embed a text.")
    return vector


class OwnGraph(BaseStore):
    """The reads that a store must have; all others are inherited."""

    def __init__(self, database: Database, *, namespace: str, read_only: bool = False) -> None:
        self._database = database
        self._namespace = namespace
        self._read_only = read_only
        self._closed = False
        self._opened_as: dict[str, Any] = {}

    # ── state ────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def _state(self) -> State:
        if self._closed:
            raise StoreError("The store is closed. Open it again.")
        if self._opened_as and self._opened_as != self._database.schema:
            raise SchemaMismatch("The store was embedded anew while it was open. Open it again.")
        return self._database.states.get(self._namespace, State())

    def _put(self, state: State, *, counted: bool = True) -> None:
        if self._read_only:
            raise StoreReadOnly("The store was opened for reading only. Open it again without read_only.")
        version = state.version + counted
        self._database.states[self._namespace] = replace(state, version=version)

    @property
    def namespace(self) -> str:
        return self._namespace

    @property
    def read_only(self) -> bool:
        return self._read_only

    @property
    def schema(self) -> Mapping[str, Any]:
        return dict(self._database.schema)

    def close(self) -> None:
        self._closed = True

    def migrate(self, *, embedder: str, dimension: int) -> None:
        wanted = {"version": 1, "embedder": embedder, "dimension": dimension}
        if self._database.schema and self._database.schema != wanted:
            raise SchemaMismatch(f"Expected {self._database.schema}, got {wanted}. Use that embedder.")
        self._opened_as = self._database.schema = wanted

    # ── documents and nodes ──────────────────────────────────────────────────────────────────────────────

    def _within(self, documents: Sequence[str] | None) -> list[DocumentGraph]:
        graphs = self._state.graphs
        return [graphs[name] for name in graphs if documents is None or name in documents]

    def documents(self, ids: Sequence[str] | None = None) -> list[DocumentRecord]:
        return sorted((graph.document for graph in self._within(ids)), key=lambda record: record.key)

    def nodes(self, node_ids: Sequence[str]) -> list[Node]:
        known: dict[str, Node] = {name: overview for name, (overview, _) in self._state.overviews.items()}
        known |= {node.id: node for graph in self._within(None) for node in (*graph.segments, *graph.points)}
        return [known[node_id] for node_id in node_ids if node_id in known]

    def segments_of(self, document_id: str) -> list[Segment]:
        return [segment for graph in self._within([document_id]) for segment in graph.segments]

    def top_nodes(self, document_ids: Sequence[str], *, layer: PointLayer = "points") -> list[Node]:
        graphs = [graph for name in dict.fromkeys(document_ids) for graph in self._within([name])]
        return [node for graph in graphs for node in top(graph, layer)]

    def successors(self, node_ids: Sequence[str]) -> list[Summarizes]:
        edges = [edge for graph in self._within(None) for edge in graph.summarizes if edge.source_id in node_ids]
        edges += [edge for name, (_, below) in self._state.overviews.items() for edge in below if name in node_ids]
        return sorted(edges, key=lambda edge: (edge.source_id, -edge.weight, edge.target_id))

    # ── search ───────────────────────────────────────────────────────────────────────────────────────────

    def _evidence(self, documents: Sequence[str] | None) -> Iterator[tuple[DocumentGraph, Segment, Vector]]:
        for graph in self._within(documents):
            for segment, vector in zip(graph.segments, graph.segment_embeddings, strict=True):
                if not segment.echo:
                    yield graph, segment, vector

    def nearest(self, vector: Vector, *, k: int, documents: Sequence[str] | None = None) -> list[Hit]:
        checked(vector)
        return by_score(((segment.id, row @ vector) for _, segment, row in self._evidence(documents)), k)

    def matching(self, keywords: str, *, k: int, documents: Sequence[str] | None = None) -> list[Hit]:
        index, rows = KeywordIndex(), list(self._evidence(None))
        index.append(
            (graph.document.title or graph.document.key, segment.text, graph.document.language)
            for graph, segment, _ in rows
        )
        scores = index.scores(index.terms(keywords), np.arange(len(rows)))
        wanted = [documents is None or graph.document.id in documents for graph, _, _ in rows]
        return by_score(
            (
                (segment.id, score)
                for (_, segment, _), score, fits in zip(rows, scores, wanted, strict=True)
                if fits and score > 0
            ),
            k,
        )

    def similarities(self, vector: Vector, *, documents: Sequence[str], layer: PointLayer = "points") -> list[Hit]:
        checked(vector)
        hits = [Hit(segment.id, float(row @ vector)) for _, segment, row in self._evidence(documents)]
        for graph in self._within(documents):
            for point, row in zip(graph.points, graph.point_embeddings, strict=True):
                if point.layer == layer:
                    hits.append(Hit(point.id, float(row @ vector), "point"))
        return sorted(hits, key=lambda hit: (-hit.score, hit.node_id))

    # ── entities and relations ───────────────────────────────────────────────────────────────────────────

    def _writings(self) -> dict[str, tuple[str, Counter[tuple[str, str]]]]:
        """Of each entity its normal form, and how often it is written how."""
        written: dict[str, tuple[str, Counter[tuple[str, str]]]] = {}
        for graph in self._within(None):
            for item in (*graph.mentions, *graph.titles):
                kind = item.kind if isinstance(item, Mention) else "title"
                written.setdefault(item.entity_id, (item.normal, Counter()))[1][item.surface, kind] += 1
        return written

    def _known_entities(self) -> dict[str, Entity]:
        known = {}
        for entity_id, (normal, written) in self._writings().items():
            surfaces: Counter[str] = Counter()
            for (surface, _), number in written.items():
                surfaces[surface] += number
            name = min(surfaces, key=lambda surface: (-surfaces[surface], surface))
            known[entity_id] = Entity(entity_id, normal, name, tuple(sorted({kind for _, kind in written})))
        return known

    def entities(self, entity_ids: Sequence[str]) -> list[Entity]:
        known = self._known_entities()
        return [known[entity_id] for entity_id in entity_ids if entity_id in known]

    def entities_of(self, segment_ids: Sequence[str]) -> dict[str, list[str]]:
        named: dict[str, set[str]] = defaultdict(set)
        for graph in self._within(None):
            for mention in graph.mentions:
                named[mention.segment_id].add(mention.entity_id)
        stored = {node.id for node in self.nodes(segment_ids)}
        return {segment_id: sorted(named[segment_id]) for segment_id in segment_ids if segment_id in stored}

    def _pairs(self) -> list[Similar]:
        """All near-synonyms: entities that relations join, by the cosine of their names."""
        vectors: dict[str, Vector] = {}
        for graph in self._within(None):
            vectors |= dict(zip(graph.ends, graph.end_embeddings, strict=False))
        normal = {entity_id: written[0] for entity_id, written in self._writings().items()}
        ids = sorted(vectors)
        return [
            Similar(entity, other, score)
            for place, entity in enumerate(ids)
            for other in ids[place + 1 :]
            if (score := float(vectors[entity] @ vectors[other])) >= least_cosine(normal[entity], normal[other])
        ]

    def similar(self, entity_ids: Sequence[str]) -> list[Similar]:
        return [pair for pair in self._pairs() if pair.source_id in entity_ids or pair.target_id in entity_ids]

    def expand(
        self, entity_ids: Sequence[str], *, vector: Vector | None, k: int, documents: Sequence[str] | None = None
    ) -> list[Neighbour]:
        if vector is not None:
            checked(vector)
        near = {end for pair in self.similar(entity_ids) for end in (pair.source_id, pair.target_id)}
        wanted, names = {*entity_ids} | near, self._known_entities()
        neighbours = [
            Neighbour(
                relation,
                names[relation.source_id].name,
                names[relation.target_id].name,
                0.0 if vector is None else float(row @ vector),
            )
            for graph in self._within(documents)
            for relation, row in zip(graph.relations, graph.relation_embeddings, strict=False)
            if {relation.source_id, relation.target_id} & wanted
        ]
        return sorted(neighbours, key=lambda item: (-item.score, item.relation.id))[: max(k, 0)]

    def written_documents(self, *, since: int = -1) -> list[DocumentRecord]:
        versions = self._state.versions
        return [record for record in self.documents() if versions[record.id] > since]

    def overview_ids(self) -> list[str]:
        overviews = [item for item, _ in self._state.overviews.values()]
        return [item.id for item in sorted(overviews, key=lambda item: (item.level, item.layer, item.key))]

    def version(self) -> int:
        return self._state.version

    def questions(self, ids: Sequence[str] | None = None) -> list[Question]:
        kept = [item for name, item in self._state.questions.items() if ids is None or name in ids]
        return sorted(sorted(kept, key=lambda item: item.id), key=lambda item: item.asked_at, reverse=True)


def top(graph: DocumentGraph, layer: PointLayer) -> list[Node]:
    points = [point for point in graph.points if point.layer == layer]
    if points and layer == "clusters":
        summed_up = {edge.target_id for edge in graph.summarizes}
        return sorted((p for p in points if p.id not in summed_up), key=lambda p: (-p.level, p.index))
    highest = max((point.level for point in points), default=0)
    if highest:
        return [point for point in points if point.level == highest]
    return [segment for segment in graph.segments if not segment.echo]
