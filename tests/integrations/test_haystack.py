"""The document store in Haystack's own tests of document stores; the retriever in a pipeline."""

from __future__ import annotations

from pathlib import Path

import pytest
from haystack import Document, Pipeline
from haystack.dataclasses import ByteStream, SparseEmbedding
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack.testing.document_store import DocumentStoreBaseExtendedTests

from memgraph_rag import Memory
from memgraph_rag.errors import DocumentError, SettingsError
from memgraph_rag.integrations.haystack import MemoryDocumentStore, MemoryRetriever


@pytest.fixture
def document_store(memory: Memory) -> MemoryDocumentStore:
    return MemoryDocumentStore(memory)


class TestUpstream(DocumentStoreBaseExtendedTests):
    @pytest.fixture
    def document_store(self, memory: Memory) -> MemoryDocumentStore:
        return MemoryDocumentStore(memory)

    # They are for stores whose delete_all_documents() can make an index anew, and skip others.
    test_delete_all_documents_without_recreate_index = None
    test_delete_all_documents_with_recreate_index = None

    def test_write_documents(self, document_store: MemoryDocumentStore) -> None:
        document = Document(content="test doc")
        assert document_store.write_documents([document]) == 1
        with pytest.raises(DuplicateDocumentError):
            document_store.write_documents([document])
        assert document_store.filter_documents() == [document]


WHOLE = [
    Document(content="Ann has a fox.\n\n  ", meta={"a": [1, {"b": None}], "content": "clash", "when": "2026-01-01"}),
    Document(content=None, blob=ByteStream(b"\x00\xff", meta={"x": 1}, mime_type="image/png")),
    Document(content="", embedding=[0.1, -1e-300, 3.0]),
    Document(content=" \n"),
    Document(content="NUL \0 and half \ud800", id="id/with 'quotes' \0"),
    Document(content="sparse", sparse_embedding=SparseEmbedding([1, 5], [0.5, 0.25]), score=0.5),
    Document(content="long " * 3000, embedding=[float(number) / 7 for number in range(3072)]),
]


@pytest.mark.parametrize("document", WHOLE, ids=lambda document: repr(document.content)[:12])
def test_a_document_is_read_as_it_was_written(document_store: MemoryDocumentStore, document: Document) -> None:
    document_store.write_documents([document])
    assert document_store.filter_documents() == [document]
    document_store.delete_documents([document.id])
    assert document_store.count_documents() == 0


def test_a_duplicate_among_others_writes_nothing(document_store: MemoryDocumentStore) -> None:
    first, second = Document(content="one"), Document(content="two")
    document_store.write_documents([first])
    with pytest.raises(DuplicateDocumentError):
        document_store.write_documents([second, first])
    assert document_store.filter_documents() == [first]
    assert document_store.write_documents([second, first], policy=DuplicatePolicy.SKIP) == 1
    assert document_store.filter_documents() == [first, second]


def test_other_documents_of_the_memory_are_not_seen(memory: Memory, document_store: MemoryDocumentStore) -> None:
    memory.add("A note.", key="note")
    document_store.write_documents([Document(content="Ann has a fox.")])
    assert document_store.count_documents() == 1
    document_store.delete_all_documents()
    assert [record.key for record in memory.documents()] == ["note"]


def test_too_large_meta_are_our_error(document_store: MemoryDocumentStore) -> None:
    with pytest.raises(DocumentError, match="65,536"):
        document_store.write_documents([Document(content="a", meta={"long": "x" * 70_000})])
    with pytest.raises(SettingsError):
        MemoryDocumentStore()


NOTES = {
    "fox": "Ann found a red fox in the old barn.",
    "river": "The river rose above the stone bridge in autumn.",
    "bread": "Tom bakes bread with rye flour every Sunday.",
}


def test_retriever_in_a_pipeline(minilm_memory: Memory) -> None:
    store = MemoryDocumentStore(minilm_memory)
    store.write_documents([Document(content=text, meta={"name": name}) for name, text in NOTES.items()])
    pipeline = Pipeline()
    pipeline.add_component("retriever", MemoryRetriever(store, top_k=2))
    result = pipeline.run({"retriever": {"query": "Who found the fox?"}})["retriever"]["documents"]
    assert (result[0].meta["name"], len(result)) == ("fox", 2)
    assert result[0].score >= result[1].score > 0
    filters = {"field": "meta.name", "operator": "in", "value": ["river", "bread"]}
    result = pipeline.run({"retriever": {"query": "Who found the fox?", "filters": filters, "top_k": 5}})
    assert {document.meta["name"] for document in result["retriever"]["documents"]} == {"river", "bread"}


def test_pipeline_is_saved_and_opened_again(tmp_path: Path) -> None:
    place = {"store": str(tmp_path / "notes.lbug"), "namespace": "ann"}
    store = MemoryDocumentStore(**place)
    store.write_documents([Document(content="Ann has a fox.")])
    pipeline = Pipeline()
    pipeline.add_component("retriever", MemoryRetriever(store, filters={}, top_k=3, mode="keywords"))
    saved = pipeline.dumps()
    store.memory.close()
    again = Pipeline.loads(saved, allowed_modules=[MemoryRetriever.__module__])
    assert again.run({"retriever": {"query": "fox"}})["retriever"]["documents"][0].content == "Ann has a fox."
    retriever = again.get_component("retriever")
    assert (retriever.top_k, retriever.mode) == (3, "keywords")
    retriever.document_store.memory.close()


async def test_async_run_finds_the_same(document_store: MemoryDocumentStore) -> None:
    document_store.write_documents([Document(content="Ann has a fox.")])
    retriever = MemoryRetriever(document_store)
    assert await retriever.run_async("fox") == retriever.run("fox")
