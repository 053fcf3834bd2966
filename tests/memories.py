"""Stories for tests of ``Memory``, and what a memory holds, as plain values that can be compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from memgraph_rag import Memory
from memgraph_rag.errors import ModelNotFound
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel, FakeRecognizer

OpenMemory = Callable[..., Memory]

FOX = (
    "Ann found a red fox in the old barn. The fox had a broken leg. Ann carried it home through the snow. "
    "Her brother Tom built a wooden box for it. They fed it milk and bread for three weeks. "
    "In spring the fox could run again. Tom opened the garden gate one morning. The fox ran into the forest. "
    "It never came back to the barn. Ann kept the wooden box for many years."
)

QUESTION = "Who built a wooden box?"

RIVER = (
    "It rained for nine days and nine nights. The river rose above the stone bridge. The miller lost his boat. "
    "Nobody in the village was hurt. The mayor ordered a higher bridge. A mason from the city drew the plans. "
    "The new bridge was opened in autumn. The miller sold the first tickets."
)

RACES = [
    {"role": "Ann", "content": "I ran the charity race on Sunday."},
    {"role": "Ann", "content": "The charity race was long and I was so proud."},
    {"role": "Tom", "content": "Hm."},
    {"role": "Ann", "content": "Well."},
    {"role": "Tom", "content": "I baked bread in the old kitchen."},
    {"role": "Tom", "content": "The bread from the old kitchen was good."},
]
"""What each does is said in turns beside one another: neighbours count."""

LONG = "\n\n".join(f"Chapter {number}. {story}" for number, story in enumerate([FOX, RIVER, FOX[::-1], RIVER[::-1]], 1))
"""Too long for one batch: its points have points."""


class WithoutLanguage:
    """The ``Models`` of a layer where no language model is installed."""

    def __init__(self, embedder: FakeEmbedder | None = None) -> None:
        self.embedder = embedder or FakeEmbedder()
        self.recognizer = FakeRecognizer()

    @property
    def language(self) -> FakeLanguageModel:
        raise ModelNotFound("Expected a language model, got none. Install one.")

    def settle(self) -> None:
        pass


def embedder() -> FakeEmbedder:
    """The one that the shared Neo4j servers of the tests are built with (``memgraph_rag.testing.sample_graphs``)."""
    return FakeEmbedder(8, name="fake")


def fakes() -> dict[str, Any]:
    """Return the models of a ``Memory`` that needs no weights."""
    return {"model": FakeLanguageModel(), "embedder": FakeEmbedder(), "recognizer": FakeRecognizer()}


def options(**changes: Any) -> dict[str, Any]:
    """Arguments of a ``Memory`` that needs no weights, cuts a story into several segments, and builds points."""
    return {
        "layers": ("entities", "points"),
        "model": FakeLanguageModel(),
        "embedder": embedder(),
        "recognizer": FakeRecognizer(),
        "segment_tokens": 20,
        "batch_tokens": 512,
        **changes,
    }


def graph_of(memory: Memory) -> dict[str, Any]:
    """Everything a memory holds but the times of adding."""
    store = memory._parts.store
    records = store.documents()
    segments = [segment for record in records for segment in store.list_segments(record.id)]
    nodes = {node.id: node for node in (*segments, *store.top_nodes([record.id for record in records]))}
    edges, frontier = [], sorted(nodes)
    while frontier:
        successors = store.successors(frontier)
        edges += successors
        new = {edge.target_id for edge in successors} - set(nodes)
        nodes |= {node.id: node for node in store.nodes(sorted(new))}
        frontier = sorted(new)
    return {
        "documents": [replace(record, added_at="") for record in records],
        "nodes": nodes,
        "edges": {(edge.source_id, edge.target_id): round(edge.weight, 9) for edge in edges},
        "indexed": [
            replace(segment, embedding=segment.embedding.tolist(), time="")
            for segment in store.list_indexed_segments(since=-1)
        ],
        "entities": store.entities(
            sorted(
                {
                    entity
                    for segment in store.list_indexed_segments(since=-1)
                    for entity in (*segment.entities, *segment.titles)
                }
            )
        ),
        "counts": memory.status()["counts"],
    }
