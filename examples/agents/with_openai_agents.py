"""OpenAI Agents SDK: a session, and the memory's tools for an agent."""

from __future__ import annotations

import asyncio

from agents import Agent

from memgraph_rag import Memory
from memgraph_rag.integrations.openai_agents import MemorySession, memory_tools


async def main(memory: Memory) -> None:
    """Fill a session; a run takes both: ``await Runner.run(agent, "Hello!", session=session)``."""
    session = MemorySession("ann", memory)
    await session.add_items([{"role": "user", "content": "My fox is called Rusty."}])
    agent = Agent(name="helper", tools=memory_tools(memory, ["search", "add"]))
    print(await session.get_items())
    print([tool.name for tool in agent.tools])


if __name__ == "__main__":
    with Memory("agents.lbug") as memory:
        asyncio.run(main(memory))
