"""The memory block in LlamaIndex's own ``Memory``; the retriever in a query engine."""

from __future__ import annotations

import pytest
from llama_index.core.llms import ChatMessage, MockLLM
from llama_index.core.memory import Memory as ChatMemory
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import get_response_synthesizer

from memgraph_rag import Memory
from memgraph_rag.integrations.llama_index import LongTermMemoryBlock, MemoryRetriever


def words(text: str) -> list[str]:
    """Counts tokens: LlamaIndex's own counter downloads its vocabulary."""
    return text.split()


def chat_memory(block: LongTermMemoryBlock, session: str = "s1") -> ChatMemory:
    return ChatMemory.from_defaults(
        session_id=session, token_limit=60, token_flush_size=10, chat_history_token_ratio=0.3, memory_blocks=[block],
        tokenizer_fn=words,
    )  # fmt: skip


FILLER = [f"Today the weather in town number {number} was mild and nothing else happened there." for number in range(6)]


async def test_block_in_a_real_memory_recalls_what_left_the_window(memory: Memory) -> None:
    chat = chat_memory(LongTermMemoryBlock(memory=memory, k=2))
    for text in ["My fox is called Rusty and he sleeps in the barn.", *FILLER]:
        await chat.aput_messages(
            [ChatMessage(role="user", content=text), ChatMessage(role="assistant", content="Fine.")]
        )
    await chat.aput(ChatMessage(role="user", content="Who sleeps in the barn?"))
    messages = await chat.aget()
    assert messages[0].role == "system"
    assert "user" in messages[0].content
    assert "My fox is called Rusty and he sleeps in the barn." in messages[0].content
    assert all("Rusty" not in message.content for message in messages[1:])
    assert messages[-1].content == "Who sleeps in the barn?"
    record = memory.search("Rusty", k=1)[0]
    assert (record.text, record.segment.speaker) == ("My fox is called Rusty and he sleeps in the barn.", "user")


async def test_block_holds_to_its_metadata_and_repeats_nothing_in_sight(memory: Memory) -> None:
    ann, tom = (LongTermMemoryBlock(memory=memory, where={"person": name}) for name in ("ann", "tom"))
    await ann.aput([ChatMessage(role="user", content="My fox is called Rusty.")], session_id="s")
    await tom.aput([ChatMessage(role="user", content="My fox is called Reynard.")], session_id="s")
    asked = [ChatMessage(role="user", content="What is my fox called?")]
    assert "Rusty" in await ann.aget(asked)
    assert "Rusty" not in await tom.aget(asked)
    assert await ann.aget([ChatMessage(role="user", content="My fox is called Rusty.")]) == ""
    assert await ann.aget() == await ann.aget([]) == ""


async def test_block_stores_a_message_once_and_can_be_cut(memory: Memory) -> None:
    block = LongTermMemoryBlock(memory=memory)
    for _ in range(2):
        await block.aput([ChatMessage(role="user", content="I like tea."), ChatMessage(role="user", content=" ")])
    assert len(memory.documents()) == 1
    assert await block.atruncate("- a b c\n- d e f", 1) == "- a b c"
    assert await block.atruncate("- a b c", 100) is None


@pytest.fixture(scope="module")
def notes(minilm_memory: Memory) -> Memory:
    minilm_memory.add("Ann found a red fox in the old barn.", key="fox")
    minilm_memory.add("The river rose above the stone bridge in autumn.", key="river")
    return minilm_memory


async def test_retriever_finds_the_same_in_both_ways(notes: Memory) -> None:
    retriever = MemoryRetriever(notes, k=1)
    (node,) = retriever.retrieve("Who found the fox?")
    assert (node.text, node.metadata["document_key"], node.score > 0) == (
        "Ann found a red fox in the old barn.",
        "fox",
        True,
    )
    assert await retriever.aretrieve("Who found the fox?") == [node]
    assert MemoryRetriever(notes, documents=["river"]).retrieve("fox")[0].metadata["document_key"] == "river"


def test_query_engine_reads_what_the_retriever_gives(notes: Memory) -> None:
    synthesizer = get_response_synthesizer(llm=MockLLM(), response_mode="compact")
    engine = RetrieverQueryEngine(MemoryRetriever(notes, k=1), response_synthesizer=synthesizer)
    response = engine.query("Who found the fox?")
    assert "Ann found a red fox in the old barn." in str(response)  # the mock repeats its prompt
    assert "segment_id" not in str(response)
