"""What a question teaches: found in the segments given, stored with its document, told to who asked."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from memories import fakes

from memgraph_rag.answering.update_graph import Learning
from memgraph_rag.errors import DocumentNotFound, StoreError
from memgraph_rag.ingestion.graph_building import embed_relations
from memgraph_rag.layers.relations import RelationsLayer
from memgraph_rag.memory import Memory
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel, FakeModels
from memgraph_rag.types import DocumentGraph

TEXT = "Ann Lee married Tom Ray in the red mill. Later he sailed to Leeds."
REPLY = json.dumps({"names": [], "relations": [["Ann Lee", "red mill", "Ann Lee married in the red mill."]]})


class Taught:
    """A store that remembers what it was taught."""

    def __init__(self, store) -> None:
        self._store = store
        self.graphs: list[DocumentGraph] = []

    def __getattr__(self, name: str):
        return getattr(self._store, name)

    def learn(self, graph: DocumentGraph) -> None:
        self.graphs.append(graph)


@pytest.fixture
def memory(tmp_path: Path):
    with Memory(tmp_path / "notes.lbug", layers=("entities",), **fakes()) as memory:
        yield memory


def learning(memory: Memory, *replies: str) -> tuple[Learning, Taught]:
    store = Taught(memory._parts.store)
    models = FakeModels(FakeLanguageModel(replies))
    return Learning(store, models, RelationsLayer()), store  # type: ignore[arg-type]


def test_extracted_relations_are_stored_and_returned(memory):
    receipt = memory.add(TEXT, key="a")
    segments = memory._parts.store.list_segments(receipt.document_id)
    learn, store = learning(memory, REPLY)
    (relation,) = learn("Where did Ann marry?", [*segments, *segments])
    (graph,) = store.graphs
    assert graph.document.id == receipt.document_id
    assert graph.relations == (relation,)
    assert [mention.surface for mention in graph.mentions] == ["red mill"]
    embedder = FakeEmbedder()
    np.testing.assert_array_equal(graph.relation_embeddings, embedder.embed([relation.description]))
    names = {relation.source_id: "ann lee", relation.target_id: "red mill"}
    np.testing.assert_array_equal(graph.end_embeddings, embedder.embed([names[end] for end in graph.ends]))


def test_reply_without_relations_stores_no_graph(memory):
    receipt = memory.add(TEXT, key="a")
    learn, store = learning(memory, '{"names": [], "relations": []}')
    assert learn("Where?", memory._parts.store.list_segments(receipt.document_id)) == []
    assert learn("Where?", []) == []
    assert store.graphs == []


def test_document_without_entities_is_unchanged(tmp_path):
    with Memory(tmp_path / "notes.lbug", layers=(), **fakes()) as memory:
        receipt = memory.add(TEXT, key="a")
        learn, store = learning(memory, REPLY)
        assert learn("Where?", memory._parts.store.list_segments(receipt.document_id)) == []
        assert store.graphs == []


@pytest.mark.parametrize("error", [DocumentNotFound, StoreError])
def test_refused_relation_keeps_the_answer_and_other_relations(memory, caplog, error):
    ids = [memory.add(TEXT, key=key).document_id for key in ("a", "b")]
    segments = [segment for document_id in ids for segment in memory._parts.store.list_segments(document_id)]
    learn, store = learning(memory, REPLY, REPLY)

    def refusing(graph: DocumentGraph) -> None:
        if graph.document.key == "a":
            raise error("expected 64 MiB of free space; there are 3")
        store.graphs.append(graph)

    store.learn = refusing
    relations = learn("Where did Ann marry?", segments)

    (graph,) = store.graphs
    assert (graph.document.key, graph.relations) == ("b", tuple(relations))
    assert [(record.levelname, error.__name__ in record.message) for record in caplog.records] == [("WARNING", True)]


def test_graphs_without_relations_get_no_vectors(memory):
    assert embed_relations([], {}, FakeEmbedder()) == []
    receipt = memory.add(TEXT, key="a")
    (graph,) = embed_relations(
        [DocumentGraph(memory._parts.store.document(receipt.document_id), (), np.zeros((0, 64), np.float32))],
        {},
        FakeEmbedder(),
    )
    assert len(graph.relation_embeddings) == len(graph.end_embeddings) == 0


def test_relations_of_given_segments_are_learnt(memory):
    text = " ".join([TEXT, *("It rained in Leeds, and nobody sailed anywhere on that day." for _ in range(60))])
    receipt = memory.add(text, key="a")
    segments = memory._parts.store.list_segments(receipt.document_id)
    assert len(segments) > 1
    learn = Learning(memory._parts.store, FakeModels(FakeLanguageModel([REPLY])), RelationsLayer())

    (relation,) = learn("Where did Ann marry?", segments[:1])

    (held,) = memory._parts.store.read_graphs([receipt.document_id])
    assert held.relations == (relation,)
    assert list(held.segments) == list(segments)


class Listening(RelationsLayer):
    """Relations that remember the summary and the sections of each document that they read."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[tuple[str, list[str]]] = []

    def _make_accounts(self, documents, *more):
        self.heard += [(document.summary, [section.title for section in document.sections]) for document in documents]
        return super()._make_accounts(documents, *more)


def test_extraction_reads_summary_and_sections_of_each_document(tmp_path: Path):
    text = "# One\n\nAnn Lee met Tom Ray in York. It rained.\n\n# Two\n\n" + "Tom Ray sailed to Leeds. " * 30
    layer = Listening()
    with Memory(
        tmp_path / "notes.lbug", layers=("entities", "points", "outline", layer), segment_tokens=60, **fakes()
    ) as memory:
        store = memory._parts.store
        receipts = [memory.add(text, key="a"), memory.add("Ann Lee met Tom Ray.", key="b")]
        points = [node for node in store.top_nodes([receipts[0].document_id]) if node.level]
        told = (" ".join(point.text for point in points), ["One", "Two"])
        assert points
        assert layer.heard == [told, ("", [""])], "rows of layers that are built before"
        segments = [store.list_segments(receipt.document_id)[0] for receipt in receipts]
        layer.heard.clear()
        Learning(store, memory._parts.models, layer)("Whom did Ann Lee meet?", segments)
        assert sorted(layer.heard, reverse=True) == [told, ("", [""])], "stored rows"


def test_deepening_reads_the_stored_summary(tmp_path: Path):
    text = "Ann Lee met Tom Ray in York. It rained. " + "Tom Ray sailed to Leeds. " * 30
    layer = Listening()
    with Memory(tmp_path / "notes.lbug", layers=("entities", "points"), segment_tokens=60, **fakes()) as memory:
        receipt = memory.add(text, key="a")
        list(memory.deepen(layers=[layer]))
        points = [node.text for node in memory._parts.store.top_nodes([receipt.document_id]) if node.level]
    assert points
    assert layer.heard == [(" ".join(points), [])]
