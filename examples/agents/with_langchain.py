"""LangChain: a retriever in a chain."""

from __future__ import annotations

from langchain_core.runnables import RunnableLambda

from memgraph_rag import Memory
from memgraph_rag.integrations.langchain import MemoryRetriever


def main(memory: Memory) -> None:
    """Add a note and ask a chain for it."""
    memory.add("Ann's fox is called Rusty.", key="fox")
    chain = MemoryRetriever(memory=memory, k=3) | RunnableLambda(lambda documents: documents[0].page_content)
    print(chain.invoke("What is the fox called?"))


if __name__ == "__main__":
    with Memory("agents.lbug") as memory:
        main(memory)
