"""Anthropic: the memory tool, whose files are documents."""

from __future__ import annotations

from memgraph_rag import Memory
from memgraph_rag.integrations.anthropic import MemoryTool


def main(memory: Memory) -> None:
    """Carry out what Claude would call; a client takes ``tools=[tool]`` in ``beta.messages.tool_runner``."""
    tool = MemoryTool(memory)
    print(tool.call({"command": "create", "path": "/memories/pets.md", "file_text": "Ann's fox is called Rusty."}))
    print(tool.call({"command": "view", "path": "/memories/pets.md"}))
    print(memory.search("What is the fox called?", k=1)[0].document_key)


if __name__ == "__main__":
    with Memory("agents.lbug") as memory:
        main(memory)
