"""The retriever in LangChain's own tests of retrievers, and what stands in its documents."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.runnables import RunnableLambda
from langchain_tests.integration_tests import RetrieversIntegrationTests

from memgraph_rag import Memory
from memgraph_rag.errors import QuestionError
from memgraph_rag.integrations.langchain import MemoryRetriever

NOTES = {
    "fox": "Ann found a red fox in the old barn.",
    "river": "The river rose above the stone bridge in autumn.",
    "mill": "The miller sold tickets for the new bridge.",
    "bread": "Tom bakes bread with rye flour every Sunday.",
}


@pytest.fixture(scope="module", autouse=True)
def notes(minilm_memory: Memory) -> None:
    for key, text in NOTES.items():
        minilm_memory.add(text, key=key, metadata={"kind": "note", "long": len(text) > 45})
    TestUpstream.memory = minilm_memory


class TestUpstream(RetrieversIntegrationTests):
    memory: Memory

    @property
    def retriever_constructor(self) -> type[MemoryRetriever]:
        return MemoryRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"memory": self.memory}

    @property
    def retriever_query_example(self) -> str:
        return "Who found the fox?"


def test_documents_quote_the_memory_at_their_place(minilm_memory: Memory) -> None:
    documents = MemoryRetriever(memory=minilm_memory, k=2).invoke("Who found the fox?")
    assert documents[0].page_content == NOTES["fox"]
    for document in documents:
        place = document.metadata
        assert minilm_memory.get(place["document_key"]).text[place["start"] : place["end"]] == document.page_content
        assert 0 <= place["relevance"] <= 1


def test_metadata_limit_what_is_searched(minilm_memory: Memory) -> None:
    retriever = MemoryRetriever(memory=minilm_memory, k=10, where={"long": False})
    assert {document.metadata["document_key"] for document in retriever.invoke("bread")} == {"fox", "mill", "bread"}
    retriever = MemoryRetriever(memory=minilm_memory, k=10, documents=["river"], mode="vector")
    assert [document.metadata["document_key"] for document in retriever.invoke("bread")] == ["river"]


async def test_async_chain_and_batch_find_the_same(minilm_memory: Memory) -> None:
    chain = MemoryRetriever(memory=minilm_memory, k=1) | RunnableLambda(lambda documents: documents[0].page_content)
    asked = ["Who found the fox?", "Who bakes bread?"]
    assert chain.batch(asked) == await chain.abatch(asked) == [NOTES["fox"], NOTES["bread"]]


def test_empty_query_is_our_error(minilm_memory: Memory) -> None:
    with pytest.raises(QuestionError):
        MemoryRetriever(memory=minilm_memory).invoke("  ")
