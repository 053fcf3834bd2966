"""LlamaIndex: a block of an agent's memory, and a retriever."""

from __future__ import annotations

import asyncio

from llama_index.core.llms import ChatMessage
from llama_index.core.memory import Memory as ChatMemory

from memgraph_rag import Memory
from memgraph_rag.integrations.llama_index import LongTermMemoryBlock, MemoryRetriever


async def main(memory: Memory) -> None:
    """Let messages leave the short-term memory, and recall one; an agent takes ``memory=chat``."""
    block = LongTermMemoryBlock(memory=memory, k=3)
    chat = ChatMemory.from_defaults(token_limit=40, token_flush_size=10, memory_blocks=[block], tokenizer_fn=str.split)
    for text in ["My fox is called Rusty.", *(f"It rained on day {day} of this long month." for day in range(9))]:
        await chat.aput(ChatMessage(role="user", content=text))
    await chat.aput(ChatMessage(role="user", content="What is my fox called?"))
    print("Rusty" in (await chat.aget())[0].content)
    print(MemoryRetriever(memory, k=1).retrieve("What is the fox called?")[0].text)


if __name__ == "__main__":
    with Memory("agents.lbug") as memory:
        asyncio.run(main(memory))
