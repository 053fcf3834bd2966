"""What models and clients get wrong, and what is done to harm: each is a sentence to act on, and the server goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from mcp import MCPError
from mcp_agents import IN_ONE_ERA, in_loop
from memories import FOX

from memgraph_rag import Memory
from memgraph_rag.errors import StoreLocked
from memgraph_rag.server.memories import Memories

WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("recall", {}, "got query: Field required"),
    ("recall", {"query": ""}, "QuestionError: Expected a question, got an empty text."),
    ("recall", {"query": 7}, "query: Input should be a valid string (got 7)"),
    ("recall", {"query": "fox", "k": "many"}, "k: Input should be a valid integer"),
    ("recall", {"query": "fox", "k": 0}, "k: Input should be greater than or equal to 1 (got 0)"),
    ("recall", {"query": "fox", "k": 10**30}, "k: Input should be less than or equal to 100"),
    ("recall", {"query": "fox", "limit": 3}, "limit: Extra inputs are not permitted (got 3)"),
    (
        "recall",
        {"query": "fox", "mode": "magic"},
        "mode: Input should be 'graph', 'hybrid', 'keywords', 'vector', 'segments', 'hipporag' or 'hipporag2'",
    ),
    ("recall", {"query": "fox", "since": "yesterday"}, "SettingsError: Expected since as ISO 8601"),
    ("recall", {"query": "fox", "documents": ["hare"]}, "DocumentNotFound: Expected the key or id of a document"),
    ("recall", {"query": "fox", "documents": "hare"}, "documents: Input should be a valid list (got 'hare')"),
    ("recall", {"query": "fox", "where": {"a": ["b"]}}, "where.a"),
    ("recall", {"query": "fox", "where": {"\x1b" + "a" * 1_000_000: None}}, "where.\\x1baaa"),
    ("recall", {"query": "fox " * 10_000}, "QuestionError: Expected a question of at most 20,000 characters"),
    ("remember", {}, "DocumentError: Expected text or messages, got neither."),
    ("remember", {"text": " \n"}, "DocumentError: Expected text or messages, got neither."),
    ("remember", {"text": "a", "messages": [{"role": "a", "content": "b"}]}, "got both. Pass one of them"),
    ("remember", {"messages": []}, "got neither"),
    ("remember", {"messages": [{"role": "user"}]}, "messages.0.content: Field required"),
    ("remember", {"messages": [{"role": "", "content": "b"}]}, "DocumentError: Expected the role of message 0"),
    ("remember", {"text": "A fox.", "key": "k" * 513}, "DocumentError: "),
    ("remember", {"text": "A fox.", "title": "t" * 1_001}, "DocumentError: "),
    ("remember", {"text": "A fox.", "metadata": {"a": {"b": 1}}}, "metadata.a"),
    ("remember", {"text": "A fox.", "metadata": {"a": "x" * 70_000}}, "DocumentError: "),
    ("ask", {"question": " "}, "QuestionError: Expected a question, got an empty text."),
    ("ask", {"question": "Who?", "style": "poem"}, "style: Input should be 'short', 'sentence' or 'detailed'"),
    ("ask", {"question": "Who?", "max_seconds": -1}, "max_seconds: Input should be greater than 0"),
    ("forget", {"name": ""}, "DocumentNotFound: "),
    ("forget", {"name": "hare\x00\ud800"}, "DocumentNotFound: "),
    ("forget", {}, "DocumentNotFound: "),
    ("forget", {"name": "fox", "user": "ann"}, "Expected name, or user and perhaps session, got both."),
    ("forget", {"session": "spring"}, "got a session without a user"),
    (
        "remember",
        {"text": "A fox.", "user": "ann", "metadata": {"user": "tom"}},
        "Expected one user, got 'ann' and 'tom'",
    ),
    ("recall", {"query": "fox", "user": " "}, "Expected user as a name"),
    ("forget", {"name": "x", "kind": "all"}, "kind: Input should be 'document' or 'question'"),
    ("look", {"name": "\n"}, "DocumentNotFound: "),
    ("list_documents", {"limit": 0}, "limit: Input should be greater than or equal to 1"),
    ("remember_all", {"text": "A fox."}, "Expected a tool out of ask, forget, list_documents"),
]


@in_loop
async def test_wrong_arguments_are_explained_to_the_model(connect, memory) -> None:
    memory.add(FOX, key="fox")
    async with connect() as agent:
        for tool, arguments, part in WRONG:
            text = await agent.refused(tool, **arguments)
            assert part in text, (tool, arguments, text)
            assert "Error executing tool" not in text
            assert "Traceback" not in text
            assert len(text) < 1_200
        assert (await agent("status"))["documents"] == 1


@in_loop
async def test_unknown_prompt_and_missing_question_are_explained(connect) -> None:
    async with connect() as agent:
        with pytest.raises(MCPError, match="Expected a prompt out of answer_from_memory, got 'poem'"):
            await agent.client.get_prompt("poem")
        with pytest.raises(MCPError, match="question"):
            await agent.client.get_prompt("answer_from_memory")


@IN_ONE_ERA
@in_loop
async def test_crash_tells_its_kind_and_nothing_of_its_text(connect, memory, monkeypatch) -> None:
    def crash(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("the password is 1234")

    monkeypatch.setattr(Memory, "search", crash)
    async with connect() as agent:
        text = await agent.refused("recall", query="fox")
        assert text.startswith("Expected no failure within the server, got ZeroDivisionError. The server's log")
        assert "1234" not in text
        assert (await agent("status"))["documents"] == 0


@IN_ONE_ERA
@in_loop
async def test_text_of_a_megabyte_is_stored_whole(connect, memory) -> None:
    text = "A line of a long book, which nobody reads to its end. It goes on.\n" * 15_000
    async with connect() as agent:
        stored = await agent("remember", text=text, key="book")
        page = await agent.client.read_resource(f"memory://documents/{stored['document_id']}")
    assert page.contents[0].text == text


@IN_ONE_ERA
@in_loop
async def test_json_and_odd_characters_are_text(connect, memory) -> None:
    texts = ['{"a": [1, 2]}', "[]", "null", "42", "\u202eabc\u202c {{x}} %s ${HOME} <|im_end|>", "🦊 " * 40]
    async with connect() as agent:
        for number, text in enumerate(texts):
            await agent("remember", text=text, key=f"{number}")
            page = await agent.client.read_resource(f"memory://documents/{number}")
            assert page.contents[0].text == text


@IN_ONE_ERA
@in_loop
async def test_lists_that_come_as_a_str_are_lists(connect, memory) -> None:
    """Some clients send what is no str as JSON within one."""
    memory.add(FOX, key="fox")
    async with connect() as agent:
        found = await agent("recall", query="fox", documents='["fox"]', k="2")
        await agent("remember", messages='[{"role": "Ann", "content": "It rained."}]', key="talk")
    assert len(found["passages"]) == 2
    assert {record.key for record in memory.documents()} == {"fox", "talk"}


@IN_ONE_ERA
@in_loop
async def test_read_only_memory_refuses_to_change(connect, memories, open_memories) -> None:
    memories.get("ann").add(FOX, key="fox")
    memories.close()
    async with connect(open_memories(read_only=True)) as agent:
        assert (await agent("recall", query="fox"))["passages"]
        for tool, arguments in [("remember", {"text": "A hare."}), ("forget", {"name": "fox"})]:
            text = await agent.refused(tool, **arguments)
            assert text.startswith("StoreReadOnly: ")
            assert "This server is read-only" in text


@IN_ONE_ERA
@in_loop
async def test_locked_store_is_tried_again_by_the_next_call(connect, open_memories) -> None:
    served: Memories = open_memories()
    free, opening = [False], served._open_namespace

    def open_namespace(namespace: str, *, progress: Callable[[str, int, int], None]) -> Memory:
        if not free[0]:
            raise StoreLocked("Expected a file that no other process has open, got notes.lbug.")
        return opening(namespace, progress=progress)

    served._open_namespace = open_namespace
    async with connect(served) as agent:
        text = await agent.refused("recall", query="fox")
        assert text.startswith("StoreLocked: Expected a file")
        assert "memgraph-rag serve" in text
        assert [resource.name for resource in (await agent.client.list_resources()).resources] == [
            "documents",
            "questions",
            "brief",
            "look",
        ]
        free[0] = True
        assert (await agent("recall", query="fox"))["passages"] == []


@IN_ONE_ERA
@in_loop
async def test_document_that_is_forgotten_meanwhile_hurts_no_recall(connect, memory, monkeypatch) -> None:
    memory.add(FOX, key="fox")
    memory.add("The fox ran.", key="run")
    search = Memory.search

    def forgetful(self: Memory, query: str, **more: Any) -> Any:
        evidence = search(self, query, **more)
        if len(self.documents()) == 2:
            self.forget("run")
        return evidence

    monkeypatch.setattr(Memory, "search", forgetful)
    async with connect() as agent:
        found = await agent("recall", query="fox", k=10)
    assert {passage["document_key"] for passage in found["passages"]} == {"fox", "run"}
    assert list(found["document_times"]) == ["fox"]


@IN_ONE_ERA
@in_loop
async def test_two_agents_write_one_document_and_each_write_is_whole(connect, memories) -> None:
    texts = [f"{FOX} Told by {name}." for name in ("Ann", "Tom")]
    async with connect() as first, connect() as second:
        await asyncio.gather(
            *(agent("remember", text=text, key="fox") for agent, text in zip((first, second), texts, strict=True)),
        )
        page = await first.client.read_resource("memory://documents/fox")
    assert page.contents[0].text in texts


@pytest.mark.parametrize("kind", ["document", "question"])
@IN_ONE_ERA
@in_loop
async def test_hostile_name_opens_no_file(connect, memory, kind) -> None:
    async with connect() as agent:
        for name in ("/etc/passwd", "../../etc/passwd", "%2e%2e%2fetc", "a\x00b"):
            with pytest.raises(Exception, match=r"NotFound|Unknown resource"):
                await agent.client.read_resource(f"memory://{kind}s/{name}")
