"""Sessions beside the SDK's own; a run of an agent against a llama.cpp server with the packaged 0.5B model."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llama_server
import pytest
from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, RunConfig, Runner, SessionSettings, SQLiteSession
from agents.items import ModelResponse
from agents.models.interface import Model
from agents.usage import Usage
from openai import AsyncOpenAI
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from memgraph_rag import Memory
from memgraph_rag.errors import DocumentError
from memgraph_rag.integrations.openai_agents import MemorySession, memory_tools
from memgraph_rag.models.files.catalogue import CATALOGUE

ITEMS: list[Any] = [
    {"role": "user", "content": "My fox is called Rusty."},
    {"role": "assistant", "content": [{"type": "output_text", "text": "Noted, \0 ü."}], "type": "message", "id": "m1"},
    {"type": "function_call", "name": "search_memory", "arguments": "{}", "call_id": "c1"},
    {"type": "function_call_output", "call_id": "c1", "output": "[]"},
    {"role": "user", "content": ""},
]


async def test_random_calls_have_the_outcomes_of_the_sqlite_session(memory: Memory) -> None:
    chosen = random.Random(27)
    pairs = [(MemorySession(name, memory), SQLiteSession(name)) for name in ("one", "two'/\"")]
    for _ in range(120):
        ours, theirs = chosen.choice(pairs)
        name = chosen.choices(["add", "get", "pop", "clear"], [5, 4, 3, 0.3])[0]
        if name == "add":
            items = [dict(item) for item in chosen.sample(ITEMS, chosen.randint(0, 3))]
            await ours.add_items(items)
            await theirs.add_items(items)
        elif name == "get":
            limit = chosen.choice([None, 1, 2, 5, 100])
            assert await ours.get_items(limit) == await theirs.get_items(limit)
        elif name == "pop":
            assert await ours.pop_item() == await theirs.pop_item()
        else:
            await ours.clear_session()
            await theirs.clear_session()
    for ours, theirs in pairs:
        assert await ours.get_items() == await theirs.get_items()


async def test_session_limits_is_searched_and_survives(memory: Memory) -> None:
    await MemorySession("s", memory).add_items(ITEMS)
    again = MemorySession("s", memory, session_settings=SessionSettings(limit=2))
    assert await again.get_items() == ITEMS[-2:]
    evidence = memory.search("What is the fox called?", k=1)[0]
    assert (evidence.text, evidence.segment.speaker) == ("My fox is called Rusty.", "user")
    with pytest.raises(DocumentError):
        await again.add_items([{"role": "user", "content": object()}])
    assert len(await MemorySession("s", memory).get_items()) == len(ITEMS)


async def test_two_agents_add_to_one_session_and_nothing_is_lost(memory: Memory) -> None:
    sessions = [MemorySession("s", memory) for _ in range(2)]
    await asyncio.gather(*(
        session.add_items([{"role": "user", "content": f"{name} {number}"}])
        for number in range(10)
        for name, session in zip("ab", sessions, strict=True)
    ))  # fmt: skip
    said = [item["content"] for item in await sessions[0].get_items()]
    assert sorted(said) == sorted(f"{name} {number}" for number in range(10) for name in "ab")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenAIChatCompletionsModel]:
    """The packaged 0.5B model behind a llama.cpp server of its own process."""
    parts = CATALOGUE["qwen2.5-coder-0.5b-instruct"].part_paths()
    assert parts is not None, "the packaged 0.5B model is not installed"
    weights: Path = tmp_path_factory.mktemp("weights") / "small.gguf"
    weights.write_bytes(b"".join(part.read_bytes() for part in parts))
    command = [sys.executable, llama_server.__file__, str(weights), "0", "key"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        weights.unlink()  # it is mapped
        client = AsyncOpenAI(base_url=f"{address}/v1", api_key="key", timeout=120)
        yield OpenAIChatCompletionsModel("small", openai_client=client)
        server.kill()


QUIET = RunConfig(tracing_disabled=True)


async def test_agent_of_a_real_model_remembers_the_session(memory: Memory, model: OpenAIChatCompletionsModel) -> None:
    settings = ModelSettings(temperature=0, max_tokens=60)
    session = MemorySession("s", memory)
    agent = Agent(name="helper", instructions="Answer in one short sentence.", model=model, model_settings=settings)
    await Runner.run(agent, "My name is Zebulon.", session=session, run_config=QUIET)
    result = await Runner.run(agent, "What is my name?", session=session, run_config=QUIET)
    assert "Zebulon" in result.final_output
    assert [item.get("role") for item in await session.get_items()] == ["user", "assistant"] * 2


class ScriptedModel(Model):
    """Makes the calls that it was given, one a turn, then repeats what came back of the last; the 0.5B model writes
    its calls as text, which the server does not take for calls."""

    def __init__(self, *calls: tuple[str, str]) -> None:
        self.calls = list(calls)
        self.tools: list[Any] = []

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        self.tools = kwargs["tools"]
        if self.calls:
            name, arguments = self.calls.pop(0)
            call_id = f"c{len(self.calls)}"
            output: Any = ResponseFunctionToolCall(
                type="function_call", name=name, arguments=arguments, call_id=call_id
            )
        else:
            text = ResponseOutputText(type="output_text", text=kwargs["input"][-1]["output"], annotations=[])
            output = ResponseOutputMessage(
                id="m", type="message", role="assistant", status="completed", content=[text]
            )  # fmt: skip
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


async def test_runner_carries_out_the_tools_and_the_model_reads_errors(memory: Memory) -> None:
    calls = [
        ("add_to_memory", '{"text": "Ann\'s fox is called Rusty.", "key": "fox"}'),
        ("search_memory", '{"query": "fox", "k": "many"}'),
        ("search_memory", '{"query": "What is Ann\'s fox called?"}'),
    ]
    model = ScriptedModel(*calls)
    agent = Agent(name="helper", model=model, tools=memory_tools(memory))
    result = await Runner.run(agent, "Remember my fox.", run_config=QUIET)
    assert [tool.name for tool in model.tools] == [
        "search_memory", "ask_memory", "add_to_memory", "forget_document",
    ]  # fmt: skip
    outputs = [item.output for item in result.new_items if item.type == "tool_call_output_item"]
    assert json.loads(outputs[0]) == {"key": "fox", "action": "added"}
    assert "valid integer" in json.loads(outputs[1])["error"]
    assert json.loads(result.final_output)[0]["text"] == "Ann's fox is called Rusty."
