"""Haystack: a document store and a retriever in a pipeline."""

from __future__ import annotations

from haystack import Document, Pipeline

from memgraph_rag import Memory
from memgraph_rag.integrations.haystack import MemoryDocumentStore, MemoryRetriever


def main(memory: Memory) -> None:
    """Write a document and run a pipeline over it."""
    store = MemoryDocumentStore(memory)
    store.write_documents([Document(content="Ann's fox is called Rusty.", meta={"kind": "pet"})])
    pipeline = Pipeline()
    pipeline.add_component("retriever", MemoryRetriever(store, top_k=3))
    result = pipeline.run({"retriever": {"query": "What is the fox called?"}})
    print(result["retriever"]["documents"][0].content)


if __name__ == "__main__":
    with Memory("agents.lbug") as memory:
        main(memory)
