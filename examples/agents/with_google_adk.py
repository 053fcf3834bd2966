"""Google ADK: a memory service."""

from __future__ import annotations

import asyncio

from google.adk.memory.memory_entry import MemoryEntry
from google.genai.types import Content, Part

from memgraph_rag import Memory
from memgraph_rag.integrations.google_adk import MemoryService


async def main(memory: Memory) -> None:
    """Add a memory and search for it; a runner takes ``memory_service=service``."""
    service = MemoryService(memory)
    entry = MemoryEntry(author="user", content=Content(role="user", parts=[Part(text="My fox is called Rusty.")]))
    await service.add_memory(app_name="app", user_id="ann", memories=[entry])
    response = await service.search_memory(app_name="app", user_id="ann", query="What is the fox called?")
    print(response.memories[0].author, response.memories[0].content.parts[0].text)


if __name__ == "__main__":
    with Memory("agents.lbug") as memory:
        asyncio.run(main(memory))
