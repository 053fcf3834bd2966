"""Sample documents for tests of a store, with made-up embeddings.

The module knows only the record types. Invariant: equal arguments make equal documents.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from memgraph_rag.contracts import GraphStore
from memgraph_rag.types import (
    Answer,
    AnswerWarning,
    Citation,
    DocumentGraph,
    DocumentRecord,
    InformationPoint,
    Matrix,
    Mention,
    Node,
    Question,
    Relation,
    Segment,
    Step,
    StopReason,
    Summarizes,
    Title,
    Usage,
    Vector,
    WarningKind,
    make_id,
    question_id,
)

EMBEDDER, DIMENSION = "fake", 8

RECOGNIZER = "fake-recognizer"

NAME = re.compile(r"\b[A-Z]\w*")

MakeStore = Callable[..., GraphStore]


def unit(*numbers: float) -> np.ndarray:
    """Return a vector of length 1 whose first numbers are in the ratio of ``numbers``; the others are 0."""
    vector = np.zeros(DIMENSION, np.float32)
    vector[: len(numbers)] = numbers
    return vector / np.linalg.norm(vector)


def random_units(count: int, *, seed: int = 0, dimension: int = DIMENSION) -> Matrix:
    """Return (count, dimension) random vectors of length 1, the same for the same seed."""
    matrix = np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def entity_id(namespace: str, name: str) -> str:
    """Return the id of the entity with a name, the same for each spelling in upper and lower case."""
    return make_id(namespace, "entity", name.casefold())


def make_mentions(namespace: str, segments: Sequence[Segment], kind: str) -> tuple[Mention, ...]:
    """Return a mention for each capitalised word, in order. Words that differ only in case name the same entity.

    Two capitalised words in a row are two mentions.
    """
    matches = [(segment, match) for segment in segments for match in NAME.finditer(segment.text)]
    return tuple(
        Mention(
            entity_id(namespace, match[0]),
            match[0].casefold(),
            kind,
            match[0],
            segment.id,
            segment.start + match.start(),
            segment.start + match.end(),
        )
        for segment, match in matches
    )


def make_titles(namespace: str, title: str) -> tuple[Title, ...]:
    """Return a title for each capitalised word, each once, in order; empty for an empty title."""
    names = dict.fromkeys(NAME.findall(title))
    return tuple(Title(entity_id(namespace, name), name.casefold(), name) for name in names)


def make_graph(
    namespace: str,
    key: str = "alice.txt",
    texts: tuple[str, ...] = ("Alice was tired.", "A rabbit ran by.", "She ran after it."),
    *,
    title: str = "",
    metadata: dict[str, Any] | None = None,
    embeddings: Matrix | None = None,
    levels: tuple[int, ...] = (),
    weights: Callable[[int], float] = lambda place: 1 / (place + 3),
    kind: str = "NAME",
    named: bool = True,
    time: str = "",
    seed: int = 0,
) -> DocumentGraph:
    """Return a document with a segment for each text, said by "Ann", and with points if ``levels`` ask for them.

    Args:
        levels: the number of points on level 1, 2 ….
        weights: the weight of an edge from a point, by its place.
        kind: the kind of the mentions; each capitalised word is mentioned.
        named: False for a document without mentions and titles.
        time: the time of each segment.
        seed: seed of the embeddings.
    """
    document_id = make_id(namespace, "document", key)
    starts = np.cumsum([0, *map(len, texts)]).tolist()
    segments = tuple(
        Segment(
            make_id(namespace, "segment", key, index),
            document_id,
            index,
            text,
            start,
            start + len(text),
            3,
            "Ann",
            time,
        )
        for index, (text, start) in enumerate(zip(texts, starts, strict=False))
    )
    points: list[InformationPoint] = []
    edges: list[Summarizes] = []
    below: tuple[Segment | InformationPoint, ...] = segments
    for level, wanted in enumerate(levels, 1):
        count = wanted if below else 0
        row = tuple(
            InformationPoint(
                make_id(namespace, "point", key, level, index), document_id, level, index, f"point {level}.{index}", 4
            )
            for index in range(count)
        )
        edges += [
            Summarizes(row[place % count].id, below[place % len(below)].id, weights(len(edges) + place))
            for place in range(max(count, len(below)))
        ]
        points += row
        below = row
    record = DocumentRecord(
        id=document_id,
        key=key,
        title=title,
        source=f"/books/{key}",
        sha256="0" * 64,
        added_at="2026-11-21T10:00:00+00:00",
        characters=starts[-1],
        segments=len(segments),
        layers=(*(["entities"] if named else []), *(["points"] if levels else [])),
        model="small" if levels else "",
        metadata=metadata or {},
        recognizer=RECOGNIZER if named else "",
        language="en",
    )
    if embeddings is None:
        embeddings = random_units(len(segments), seed=seed)
    return DocumentGraph(
        record,
        segments,
        embeddings,
        tuple(points),
        random_units(len(points), seed=seed + 1),
        tuple(edges),
        make_mentions(namespace, segments, kind) if named else (),
        make_titles(namespace, title) if named else (),
    )


def make_question(
    namespace: str,
    nodes: Sequence[Node],
    text: str = "Who ran?",
    *,
    words: str = "a rabbit",
    asked_at: str = "2026-11-21T10:00:00+00:00",
) -> Question:
    """Return a question for which these nodes were read, each with other figures.

    It cites the first segment among the nodes, and nothing without a segment. Without nodes the answer abstained, and
    it has no warnings.
    """
    last = len(nodes) - 1
    trace = tuple(
        Step(
            node,
            score=1 / (place + 3),
            attention=0.1 * place,
            p_yes=None if place % 2 else 1 / (place + 2),
            stop=StopReason.ANSWERABLE if place == last else None,
            sources={"entry": 1 / (place + 3), "attention": 0.0} if place else {},
            via=f"{words} is with {words}" if place == 1 else "",
            reason=words if place == 2 else "",
            dropped=tuple(dropped_node.id for dropped_node in nodes[: place - 2]),
        )
        for place, node in enumerate(nodes)
    )
    cited = next((node for node in nodes if isinstance(node, Segment)), None)
    citations = (
        ()
        if cited is None
        else (Citation(cited.document_id, words, cited.id, cited.start + 1, cited.start + 4, cited.text[1:4], 0.1),)
    )
    answer = Answer(
        text,
        words,
        not nodes,
        StopReason.ANSWERABLE,
        citations,
        trace,
        Usage(3, 2, 1, 0.1),
        "walk",
        "small",
        tuple(AnswerWarning(kind, words, "key") for kind in WarningKind) if nodes else (),
        words[:3] if nodes else "",
    )
    return Question(question_id(namespace, text), asked_at, answer)


def make_relations(
    namespace: str,
    graph: DocumentGraph,
    *,
    pairs: Iterable[tuple[str, str]] | None = None,
    names: Mapping[str, str] | None = None,
    vectors: Mapping[str, Vector] | None = None,
) -> DocumentGraph:
    """Return a copy of a document with relations, by default between each name and the next name in a segment.

    Args:
        pairs: the pairs of names to relate instead, all in the first segment.
        names: normal forms of surfaces that differ from the surface in lower case.
        vectors: embeddings of normal forms; the other forms get random vectors, always the same.
    """
    renamed = {
        entity_id(namespace, surface): (entity_id(namespace, normal), normal)
        for surface, normal in (names or {}).items()
    }
    mentions = tuple(
        replace(mention, entity_id=renamed[mention.entity_id][0], normal=renamed[mention.entity_id][1])
        if mention.entity_id in renamed
        else mention
        for mention in graph.mentions
    )
    pairs_of_segments = [
        (segment, name, other)
        for segment in graph.segments
        for name, other in pairwise(NAME.findall(segment.text))
        if name.casefold() != other.casefold()
    ]
    if pairs is not None:
        pairs_of_segments = [(graph.segments[0], name, other) for name, other in pairs]
    relations = []
    for segment, name, other in pairs_of_segments:
        ends = [(names or {}).get(surface, surface) for surface in (name, other)]
        text = f"{name} is with {other}."
        relations.append(
            Relation(
                make_id(segment.id, *ends, text),
                entity_id(namespace, ends[0]),
                entity_id(namespace, ends[1]),
                text,
                segment.id,
            )
        )
    graph = replace(
        graph,
        mentions=mentions,
        relations=tuple(relations),
        relation_embeddings=np.array([_random_unit(relation.id) for relation in relations], np.float32).reshape(
            -1, DIMENSION
        ),
    )
    return replace(graph, end_embeddings=name_vectors(graph, vectors or {}))


def name_vectors(graph: DocumentGraph, vectors: Mapping[str, Vector]) -> Matrix:
    """Return (n, d) the embeddings of the names at the ends of a document's relations, in the order of ``graph.ends``.

    A normal form that ``vectors`` does not have gets a random vector, always the same.
    """
    normals = {mention.entity_id: mention.normal for mention in graph.mentions}
    rows = [vectors.get(normals[end], _random_unit(normals[end])) for end in graph.ends]
    return np.array(rows, np.float32).reshape(-1, DIMENSION)


def _random_unit(text: str) -> Vector:
    row = np.random.default_rng(list(text.encode())).normal(size=DIMENSION).astype(np.float32)
    return np.asarray(row / np.linalg.norm(row), np.float32)
