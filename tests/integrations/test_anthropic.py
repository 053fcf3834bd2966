"""The memory tool beside Anthropic's own on a file system: the same answers to random commands."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import httpx2
import pytest
from anthropic import Anthropic
from anthropic.lib.tools import ToolError
from anthropic.tools import BetaLocalFilesystemMemoryTool

from memgraph_rag import Memory
from memgraph_rag.integrations.anthropic import MemoryTool


@pytest.fixture
def tool(memory: Memory) -> MemoryTool:
    return MemoryTool(memory)


def outcome(tool: Any, command: dict[str, Any]) -> tuple[str, str]:
    """What the model reads of a command; errors of the file system itself have no text of their own."""
    try:
        return "answer", without_directory_sizes(tool.call(command))
    except ToolError as error:
        return "refused", str(error)
    except OSError:
        return "refused", "by the file system"


def without_directory_sizes(answer: str) -> str:
    """Directories have sizes of their own on a file system, which depend on it."""
    if not answer.startswith("Here're the files"):
        return answer
    header, root, *entries = answer.split("\n")
    lines = [root.partition("\t")[2], *(re.sub(r"^.*\t", "", line) if line.endswith("/") else line for line in entries)]
    return "\n".join([header, *lines])


class RandomCommands:
    """Commands on few paths and short texts, so that most of them meet something."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def next(self) -> dict[str, Any]:
        names = ["view", "create", "str_replace", "insert", "delete", "rename"]
        name = self.random.choices(names, [30, 30, 15, 15, 5, 10])[0]
        return {"command": name, **getattr(self, name)()}

    def path(self) -> str:
        parts = ["a", "b", "notes.txt", ".hidden", "ü x.md", "..", ".", ""]
        weights = [6, 6, 4, 1, 2, 0.5, 0.3, 0.2]
        return "/".join(["/memories", *self.random.choices(parts, weights, k=self.random.choice([0, 1, 1, 2, 2, 3]))])

    def text(self) -> str:
        pieces = ["Ann has a fox.", "fox", "\n", "\n\n", " ", "ü", "aa", "Tom bakes.\r\n"]
        return "".join(self.random.choices(pieces, k=self.random.randint(0, 6)))

    def view(self) -> dict[str, Any]:
        span = self.random.choice([None, None, [1, 2], [2, -1], [0, 1], [3, 2], [9, 12], [-4, 3]])
        return {"path": self.path(), **({} if span is None else {"view_range": span})}

    def create(self) -> dict[str, Any]:
        return {"path": self.path(), "file_text": self.text()}

    def str_replace(self) -> dict[str, Any]:
        old = self.random.choice(["fox", "a", "Ann has", "\n", "", "aa", "absent"])
        return {"path": self.path(), "old_str": old, "new_str": self.text()}

    def insert(self) -> dict[str, Any]:
        return {"path": self.path(), "insert_line": self.random.randint(-1, 6), "insert_text": self.text()}

    def delete(self) -> dict[str, Any]:
        return {"path": self.path()}

    def rename(self) -> dict[str, Any]:
        return {"old_path": self.path(), "new_path": self.path()}


@pytest.mark.parametrize("seed", [1, 2])
def test_500_random_commands_have_the_outcomes_of_theirs(tool: MemoryTool, tmp_path: Path, seed: int) -> None:
    theirs, commands = BetaLocalFilesystemMemoryTool(str(tmp_path / "files")), RandomCommands(seed)
    answered = {"answer": 0, "refused": 0}
    for _ in range(500):
        command = commands.next()
        expected, got = outcome(theirs, command), outcome(tool, command)
        assert got[0] == expected[0], command
        if expected[1] != "by the file system":
            assert got == expected, command
        answered[expected[0]] += 1
    assert min(answered.values()) > 100
    paths = [
        "/memories",
        *(f"/memories/{path.relative_to(theirs.memory_root)}" for path in theirs.memory_root.rglob("*")),
    ]
    for path in paths:
        command = {"command": "view", "path": path}
        assert outcome(tool, command) == outcome(theirs, command)


def test_a_file_is_evidence_of_the_memory_until_it_is_deleted(memory: Memory, tool: MemoryTool) -> None:
    tool.call({"command": "create", "path": "/memories/ann.md", "file_text": "Ann likes green tea."})
    assert [evidence.text for evidence in memory.search("Who likes tea?")] == ["Ann likes green tea."]
    tool.call({"command": "delete", "path": "/memories/ann.md"})
    assert memory.search("Who likes tea?") == []


def test_files_survive_and_are_apart_from_other_documents(tmp_path: Path, memory: Memory, tool: MemoryTool) -> None:
    memory.add("A note.", key="/memories/note")
    assert "note" not in tool.call({"command": "view", "path": "/memories"})
    tool.call({"command": "create", "path": "/memories/deep/ann.md", "file_text": "\n"})
    assert "1B\t/memories/deep/ann.md" in MemoryTool(memory).call({"command": "view", "path": "/memories"})
    tool.clear_all_memory()
    assert [record.key for record in memory.documents()] == ["/memories/note"]


@pytest.mark.parametrize(
    "path", ["/memoriesX", "/etc/passwd", "/memories/../etc", "memories", "", "/memories/a/../../b"]
)
def test_no_path_leads_outside(tool: MemoryTool, path: str) -> None:
    for command in ({"command": "view"}, {"command": "create", "file_text": "x"}, {"command": "delete"}):
        with pytest.raises(ToolError, match="Path"):
            tool.call({**command, "path": path})


def test_model_reads_why_path_or_text_is_refused(tool: MemoryTool) -> None:
    long_path = "/memories/" + "x" * 2000
    tool.call({"command": "create", "path": long_path, "file_text": "Ann has a fox."})
    assert "Ann has a fox." in tool.call({"command": "view", "path": long_path})
    with pytest.raises(ToolError, match="metadata"):
        tool.call({"command": "create", "path": "/memories/" + "y" * 70_000, "file_text": "x"})


def test_tool_runner_of_the_client_carries_out_what_the_model_calls(memory: Memory, tool: MemoryTool) -> None:
    """The client is real; its transport plays a model that calls the tool once and then answers."""
    bodies: list[dict[str, Any]] = []
    call = {"command": "create", "path": "/memories/ann.md", "file_text": "Ann likes green tea."}

    def reply(request: httpx2.Request) -> httpx2.Response:
        bodies.append(json.loads(request.content))
        use = {"type": "tool_use", "id": "t1", "name": "memory", "input": call}
        content = [use] if len(bodies) == 1 else [{"type": "text", "text": "Noted."}]
        reason = "tool_use" if len(bodies) == 1 else "end_turn"
        message = {
            "id": "m", "type": "message", "role": "assistant", "model": "claude", "content": content,
            "stop_reason": reason, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
        }  # fmt: skip
        return httpx2.Response(200, json=message)

    client = Anthropic(api_key="none", http_client=httpx2.Client(transport=httpx2.MockTransport(reply)))
    messages = [{"role": "user", "content": "I like green tea."}]
    runner = client.beta.messages.tool_runner(model="claude", max_tokens=100, messages=messages, tools=[tool])
    assert runner.until_done().content[0].text == "Noted."
    assert bodies[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]
    assert bodies[1]["messages"][-1]["content"][0]["content"] == "File created successfully at: /memories/ann.md"
    assert memory.get("anthropic:/memories/ann.md").text == "Ann likes green tea."
