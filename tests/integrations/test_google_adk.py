"""The memory service in a runner of ADK, and what its own in-memory service promises."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.events.event import Event
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools import load_memory
from google.genai.types import Content, FunctionCall, Part

from memgraph_rag import Memory
from memgraph_rag.integrations.google_adk import BriefTool, MemoryService

APP = {"app_name": "app", "user_id": "ann"}


@pytest.fixture
def service(memory: Memory) -> MemoryService:
    return MemoryService(memory)


def event(id_: str, text: str, author: str = "user") -> Event:
    return Event(
        id=id_, author=author, timestamp=1_780_000_000.0, content=Content(role="user", parts=[Part(text=text)])
    )


async def found(service: MemoryService, query: str, **scope: str) -> list[str]:
    response = await service.search_memory(query=query, **{**APP, **scope})
    return [entry.content.parts[0].text for entry in response.memories]


async def test_entries_say_who_said_it_when(service: MemoryService) -> None:
    await service.add_events_to_memory(**APP, session_id="s", events=[event("e1", "I like green tea.")])
    (entry,) = (await service.search_memory(**APP, query="Who likes tea?")).memories
    assert (entry.id, entry.author, entry.timestamp) == ("e1", "user", "2026-05-28T20:26:40+00:00")
    assert entry.content == Content(role="user", parts=[Part(text="I like green tea.")])


async def test_users_and_apps_see_only_their_own(memory: Memory, service: MemoryService) -> None:
    memory.add("Tea is green, says a note.", key="note")
    for app, user in (("app", "ann"), ("app", "tom"), ("other", "ann")):
        text = f"The tea of {user} in {app}."
        await service.add_events_to_memory(app_name=app, user_id=user, events=[event("e", text)])
    assert await found(service, "tea") == ["The tea of ann in app."]
    assert await found(service, "tea", user_id="tom") == ["The tea of tom in app."]
    assert await found(service, "tea", user_id="'; MATCH (n) DETACH DELETE n //") == []


async def test_a_session_added_again_is_stored_once_and_follows_its_events(service: MemoryService) -> None:
    sessions = InMemorySessionService()
    session = await sessions.create_session(**APP, session_id="s")
    for number in range(3):
        await sessions.append_event(session, event(f"e{number}", f"Tea number {number}."))
    session = await sessions.get_session(**APP, session_id="s")
    for _ in range(2):
        await service.add_session_to_memory(session)
        assert len(await found(service, "tea")) == 3
    session.events.pop()
    await service.add_session_to_memory(session)
    assert sorted(await found(service, "tea")) == ["Tea number 0.", "Tea number 1."]


async def test_deleted_memory_stays_deleted_when_its_session_returns(service: MemoryService) -> None:
    events = [event("e1", "I like green tea."), event("e2", "I like black tea.")]
    await service.add_events_to_memory(**APP, session_id="s", events=events)
    await service.delete_memory(**APP, memory_id="e1")
    await service.delete_memory(**{**APP, "user_id": "tom"}, memory_id="e2")
    await service.add_events_to_memory(**APP, session_id="s", events=events)
    assert await found(service, "tea") == ["I like black tea."]


async def test_memories_without_id_author_or_readable_time(service: MemoryService) -> None:
    content = Content(parts=[Part(text="Ann likes tea.")])
    await service.add_memory(**APP, memories=[MemoryEntry(content=content, timestamp="yesterday")] * 2)
    assert await found(service, "tea") == ["Ann likes tea."] * 2
    assert await found(service, "  ") == []


async def test_long_memory_keeps_out_no_other(memory: Memory) -> None:
    service = MemoryService(memory, k=2)
    long = " ".join(f"The tea of day {day} was green tea, and the green tea was hot." for day in range(400))
    events = [event("long", long), event("short", "Tea?")]
    await service.add_events_to_memory(**APP, session_id="s", events=events)
    assert sorted(map(len, await found(service, "green tea"))) == [4, len(long)]


class ScriptedModel(BaseLlm):
    """Calls ADK's tool load_memory once, then says what came back."""

    model: str = "scripted"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        last: Any = llm_request.contents[-1].parts[0]
        if last.function_response:
            part = Part(text=str(last.function_response.response))
        else:
            part = Part(function_call=FunctionCall(name="load_memory", args={"query": last.text}))
        yield LlmResponse(content=Content(role="model", parts=[part]))


async def test_runner_with_load_memory_finds_an_earlier_session(service: MemoryService) -> None:
    sessions = InMemorySessionService()
    agent = LlmAgent(name="helper", model=ScriptedModel(), tools=[load_memory])
    runner = Runner(app_name="app", agent=agent, session_service=sessions, memory_service=service)
    await service.add_events_to_memory(**APP, session_id="old", events=[event("e1", "My fox is called Rusty.")])
    await sessions.create_session(**APP, session_id="new")
    message = Content(role="user", parts=[Part(text="What is my fox called?")])
    events = [each async for each in runner.run_async(user_id="ann", session_id="new", new_message=message)]
    assert "My fox is called Rusty." in events[-1].content.parts[0].text


class InstructedModel(BaseLlm):
    """Says the instructions that it was given."""

    model: str = "instructed"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        said = str(llm_request.config.system_instruction)
        yield LlmResponse(content=Content(role="model", parts=[Part(text=said)]))


async def test_runner_with_the_brief_tells_the_model_what_its_user_wished(
    memory: Memory, service: MemoryService
) -> None:
    sessions = InMemorySessionService()
    agent = LlmAgent(name="helper", model=InstructedModel(), tools=[BriefTool(memory)])
    runner = Runner(app_name="app", agent=agent, session_service=sessions, memory_service=service)
    for user, language in (("ann", "German"), ("tom", "French")):
        wish = event(user, f"Always answer in {language}.")
        await service.add_events_to_memory(app_name="app", user_id=user, session_id="old", events=[wish])
    await sessions.create_session(**APP, session_id="new")
    message = Content(role="user", parts=[Part(text="Hello!")])
    events = [each async for each in runner.run_async(user_id="ann", session_id="new", new_message=message)]
    instructions = events[-1].content.parts[0].text
    assert "Always answer in German." in instructions
    assert "French" not in instructions
