"""LangGraph: a store for long-term memory across threads."""

from __future__ import annotations

from memgraph_rag import Memory
from memgraph_rag.integrations.langgraph import MemoryStore


def main(memory: Memory) -> None:
    """Store an item and find it by meaning; a graph takes the store by ``builder.compile(store=store)``."""
    store = MemoryStore(memory, fields=["text"])
    store.put(("users", "ann"), "fox", {"text": "Ann's fox is called Rusty.", "kind": "pet"})
    (item,) = store.search(("users",), query="What is the fox called?", filter={"kind": "pet"})
    print(item.namespace, item.value["text"])


if __name__ == "__main__":
    with Memory("agents.lbug") as memory:
        main(memory)
