"""Microsoft Agent Framework: a context provider."""

from __future__ import annotations

import asyncio

from agent_framework import AgentSession, Message, SessionContext

from memgraph_rag import Memory
from memgraph_rag.integrations.agent_framework import MemoryContextProvider


async def main(memory: Memory) -> None:
    """What a run does around the model; an agent takes ``context_providers=[provider]``."""
    provider = MemoryContextProvider(memory, where={"person": "ann"})
    for text in ("My fox is called Rusty.", "What is the fox called?"):
        session, context = AgentSession(), SessionContext(input_messages=[Message(role="user", contents=[text])])
        await provider.before_run(agent=None, session=session, context=context, state={})
        print(*(message.text for message in context.get_messages()))
        await provider.after_run(agent=None, session=session, context=context, state={})


if __name__ == "__main__":
    with Memory("agents.lbug") as memory:
        asyncio.run(main(memory))
