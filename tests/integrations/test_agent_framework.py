"""The context provider in a run of an agent, whose model is scripted and writes down what it reads."""

from __future__ import annotations

from typing import Any

import pytest
from agent_framework import Agent, BaseChatClient, ChatResponse, Message

from memgraph_rag import Memory
from memgraph_rag.integrations.agent_framework import MemoryContextProvider


class ScriptedClient(BaseChatClient):
    """Answers "Noted." and keeps the messages and the instructions that it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[list[Message]] = []
        self.instructions: list[str] = []

    def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **_: Any) -> Any:
        self.read.append(list(messages))
        self.instructions.append(str(options.get("instructions") or ""))

        async def answer() -> ChatResponse:
            return ChatResponse(messages=[Message(role="assistant", contents=["Noted."])], response_id="r")

        return answer()


@pytest.fixture
def client() -> ScriptedClient:
    return ScriptedClient()


def texts(messages: list[Message]) -> list[str]:
    return [message.text for message in messages]


async def test_agent_recalls_in_a_new_session_what_an_earlier_one_holds(memory: Memory, client: ScriptedClient) -> None:
    agent = Agent(client=client, name="helper", context_providers=[MemoryContextProvider(memory, k=3)])
    await agent.run("My fox is called Rusty.", session=agent.create_session())
    assert texts(client.read[0]) == ["My fox is called Rusty."]
    await agent.run("What is my fox called?", session=agent.create_session())
    recalled, question = texts(client.read[1])
    assert "My fox is called Rusty." in recalled
    assert question == "What is my fox called?"
    assert {record.text for record in memory.search("fox", k=9)} >= {
        "My fox is called Rusty.",
        "What is my fox called?",
    }
    assert memory.search("Noted", k=1)[0].segment.speaker == "helper"


async def test_session_keeps_the_brief_of_its_first_run(memory: Memory, client: ScriptedClient) -> None:
    agent = Agent(client=client, context_providers=[MemoryContextProvider(memory, where={"person": "ann"})])
    await agent.run("Always answer in German.", session=agent.create_session())
    memory.add("Tom has a fox.", key="note")
    session = agent.create_session()
    for question in ("Hello!", "How are you?"):
        await agent.run(question, session=session)
    first, second, third = client.instructions
    assert first == ""
    assert "Always answer in German." in second
    assert "Tom" not in second
    assert third == second


async def test_provider_holds_to_its_metadata(memory: Memory, client: ScriptedClient) -> None:
    for name, fox in (("ann", "Rusty"), ("tom", "Reynard")):
        provider = MemoryContextProvider(memory, where={"person": name})
        agent = Agent(client=client, context_providers=[provider])
        await agent.run(f"My fox is called {fox}.", session=agent.create_session())
        await agent.run("What is my fox called?", session=agent.create_session())
    assert "Rusty" in "".join(texts(client.read[1]))
    assert "Rusty" not in "".join(texts(client.read[3]))
    assert "Reynard" in "".join(texts(client.read[3]))


async def test_unknown_brief_adds_no_message(memory: Memory, client: ScriptedClient) -> None:
    agent = Agent(client=client, context_providers=[MemoryContextProvider(memory)])
    await agent.run("Hello!", session=agent.create_session())
    assert texts(client.read[0]) == ["Hello!"]
    assert len(memory.documents()) == 2
