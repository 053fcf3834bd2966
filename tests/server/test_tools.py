"""What an agent does with a memory, through the SDK's own client in both eras of the protocol."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, get_args

import pytest
from mcp import Client
from mcp.types import ElicitResult
from mcp_agents import IN_ONE_ERA, in_loop
from memories import FOX, QUESTION, RIVER

from memgraph_rag.contracts import SearchMode
from memgraph_rag.server.server import MemoryServer
from memgraph_rag.server.tools import TOOLS
from memgraph_rag.testing import FakeLanguageModel
from memgraph_rag.types import TurnVerdicts

TALK = [
    {"role": "Ann", "content": "I live in Hamburg, near the harbour.", "time": "2026-03-01T10:00"},
    {"role": "Tom", "content": "The harbour is loud at night.", "time": "2026-03-01T10:01"},
]


@in_loop
async def test_seven_tools_with_schemas_and_hints(connect) -> None:
    async with connect() as agent:
        tools = {tool.name: tool for tool in (await agent.client.list_tools()).tools}
    assert list(tools) == ["remember", "recall", "ask", "forget", "list_documents", "look", "status"]
    for tool in tools.values():
        assert tool.title
        assert len(tool.description) > 80
        assert tool.input_schema["additionalProperties"] is False
        assert all("description" in field for field in tool.input_schema["properties"].values())
        assert tool.output_schema["type"] == "object"
        assert tool.annotations.open_world_hint is False
    hints = {name: tool.annotations for name, tool in tools.items()}
    reading = {"recall", "list_documents", "look", "status"}
    assert {name for name, hint in hints.items() if hint.read_only_hint} == reading
    assert {name for name, hint in hints.items() if hint.destructive_hint} == {"remember", "forget"}
    assert {name for name, hint in hints.items() if not hint.idempotent_hint} == {"forget"}
    assert tools["recall"].input_schema["required"] == ["query"]


def test_tool_descriptions_name_other_tools() -> None:
    names = {entry.function.__name__ for entry in TOOLS}
    assert all(any(name in entry.description for name in names) for entry in TOOLS if entry.title != "Status")


@in_loop
async def test_recall_returns_remembered_text_with_its_position(connect, memory) -> None:
    async with connect() as agent:
        stored = await agent("remember", text=FOX, key="fox", title="The fox", metadata={"date": "2026-05-01"})
        again = await agent("remember", text=FOX, key="fox", title="The fox", metadata={"date": "2026-05-01"})
        found = await agent("recall", query=QUESTION, k=2)
    assert (stored["action"], again["action"]) == ("added", "unchanged")
    (record,) = memory.documents()
    assert (stored["document_id"], stored["counts"]["Segment"]) == (record.id, record.segments)
    assert stored["counts"]["MENTIONS"] == memory.status()["counts"]["MENTIONS"]
    assert [passage["text"] for passage in found["passages"]] == [
        FOX[passage["start"] : passage["end"]] for passage in found["passages"]
    ]
    assert found["passages"][0]["document_key"] == "fox"
    assert found["document_times"] == {"fox": "2026-05-01"}
    forms = [item.as_dict() for item in memory.search(QUESTION, k=2)]
    keys = {"text", "document_key", "start", "end", "speaker", "time", "relevance", "remarks"}
    assert [{key: passage[key] for key in keys} for passage in found["passages"]] == [
        {key: form[key] for key in keys} for form in forms
    ]


@IN_ONE_ERA
@in_loop
async def test_recall_tells_the_names_that_led_to_a_passage(connect, memory) -> None:
    memory.add("Ann Lee carried the parcel to Bristol.", key="parcel")
    memory.add("In Bristol the winter was long.", key="winter")
    async with connect() as agent:
        found = await agent("recall", query="What did Ann Lee carry?", k=9)
    paths = {passage["document_key"]: passage["path"] for passage in found["passages"]}
    expected = {
        item.document_key: [link.entity for link in item.path] for item in memory.search("What did Ann Lee carry?")
    }
    assert {key: [link["entity"] for link in path] for key, path in paths.items()} == expected
    assert any(paths.values())


@in_loop
async def test_messages_keep_who_said_what_and_when(connect) -> None:
    async with connect() as agent:
        await agent("remember", messages=TALK, key="talk")
        found = await agent("recall", query="Who lives in Hamburg?", k=1, mode="keywords")
        later = await agent("recall", query="harbour", since="2026-03-01T10:01")
    assert (found["passages"][0]["speaker"], found["passages"][0]["time"]) == ("Ann", "2026-03-01T10:00:00")
    assert {passage["speaker"] for passage in later["passages"]} == {"Tom"}


@IN_ONE_ERA
@in_loop
async def test_recall_searches_in_every_mode(connect, memory) -> None:
    memory.add(FOX, key="fox")
    async with connect() as agent:
        for mode in get_args(SearchMode):
            found = await agent("recall", query=QUESTION, mode=mode)
            assert found["passages"] or mode == "segments", mode


@IN_ONE_ERA
@in_loop
async def test_recall_stays_within_its_budget(connect, memory) -> None:
    memory.add(FOX, key="fox")
    async with connect() as agent:
        everything = await agent("recall", query="fox", k=5)
        little = await agent("recall", query="fox", k=5, max_tokens=40)
        least = await agent("recall", query="fox", k=5, max_tokens=1)
    assert everything["left_out"] == 0
    assert little["tokens"] <= 40
    assert len(little["passages"]) + little["left_out"] == len(everything["passages"])
    assert (len(least["passages"]), least["left_out"]) == (1, len(everything["passages"]) - 1)


@IN_ONE_ERA
@in_loop
async def test_recall_judges_turns_only_if_asked(connect, memory, monkeypatch) -> None:
    said = (("how do I get to work, the bike", "2026-05-02"), ("soaked at the tram stop", "2026-05-12"))
    memory.session(user="ann").add([{"role": "user", "content": text, "time": day} for text, day in said])
    monkeypatch.setattr(FakeLanguageModel, "judge_turns", lambda *_: TurnVerdicts((0.1, 0.9), True))
    async with connect() as agent:
        plain = await agent("recall", query="How do I get to work?")
        judged = await agent("recall", query="How do I get to work?", judge=True)
    assert "bike" in plain["passages"][0]["text"]
    assert "tram" in judged["passages"][0]["text"]


@IN_ONE_ERA
@in_loop
async def test_recall_returns_remarks_and_wishes(connect, memory) -> None:
    said = (
        ("I live in Paris.", "2024-03-01"),
        ("I moved to Berlin.", "2024-05-12"),
        ("Always be brief.", "2024-05-13"),
    )
    memory.session(user="ann").add([{"role": "user", "content": text, "time": day} for text, day in said])
    async with connect() as agent:
        recalled = await agent("recall", query="Where do I live?")
        then = await agent("recall", query="Where do I live?", at="2024-05-11")
    assert [passage["text"].partition(": ")[2].strip() for passage in then["passages"]] == ["I live in Paris."]
    assert then["wishes"] == []
    assert recalled["passages"][0]["remarks"] == ["home: since 12 May 2024: Berlin; before: Paris"]
    assert recalled["wishes"] == ["Always be brief"]


@IN_ONE_ERA
@in_loop
async def test_recall_can_be_held_to_documents_and_metadata(connect, memory) -> None:
    memory.add(FOX, key="fox", metadata={"year": 1901})
    memory.add(RIVER, key="river", metadata={"year": 1902})
    async with connect() as agent:
        by_key = await agent("recall", query="The fox at the river", documents=["river"])
        by_year = await agent("recall", query="The fox at the river", where={"year": 1901})
        nothing = await agent("recall", query="The fox at the river", where={"year": 1})
    assert {passage["document_key"] for passage in by_key["passages"]} == {"river"}
    assert {passage["document_key"] for passage in by_year["passages"]} == {"fox"}
    assert nothing == {"passages": [], "document_times": {}, "tokens": 0, "left_out": 0, "wishes": []}


@in_loop
async def test_ask_tells_of_its_steps_and_cites(connect, memory) -> None:
    memory.add(FOX, key="fox")
    told: list[tuple[float, str | None]] = []

    async def on_progress(progress: float, _: float | None, message: str | None) -> None:
        told.append((progress, message))

    async with connect() as agent:
        result = await agent.client.call_tool("ask", {"question": QUESTION}, progress_callback=on_progress)
    answer = result.structured_content
    assert answer is not None
    assert "Tom" in answer["text"]
    assert not answer["abstained"]
    (quote, *_) = answer["citations"]
    assert quote["quote"] == FOX[quote["start"] : quote["end"]]
    assert [progress for progress, _ in told] == list(range(1, answer["nodes_read"] + 2))
    assert told[-1][1] == "writing the answer"
    assert answer["kept_as"] == ""


@IN_ONE_ERA
@in_loop
async def test_ask_as_of_a_day_reads_nothing_later(connect, memory) -> None:
    memory.add("Tom built a wooden box.", key="early", metadata={"date": "2024-01-01"})
    memory.add("Ann built a wooden box in Oslo.", key="late", metadata={"date": "2024-06-01"})
    async with connect() as agent:
        answer = await agent("ask", question=QUESTION, at="2024-05-31")
        refused = await agent.client.call_tool("ask", {"question": QUESTION, "at": "2024-05-31", "keep": True})
    assert answer["nodes_read"] == 1
    assert {citation["document_key"] for citation in answer["citations"]} == {"early"}
    assert refused.is_error
    assert "keep_trace without at" in refused.content[0].text


@IN_ONE_ERA
@in_loop
async def test_ask_abstains_in_an_empty_memory(connect, memory) -> None:
    memory.add(RIVER, key="river")
    async with connect() as agent:
        answer = await agent("ask", question="Who painted the Mona Lisa?")
    assert answer["abstained"]
    assert answer["citations"] == []


class WaitingModel(FakeLanguageModel):
    """Reads nothing until it is released, and counts the nodes that it began to read."""

    def __init__(self) -> None:
        super().__init__(yes=[0.0] * 500)
        self.read = 0
        self.released = threading.Event()

    def open_session(self, question: str) -> Any:
        session = super().open_session(question)
        append = session.append

        def wait(texts: Any) -> Any:
            self.read += len(texts)
            assert self.released.wait(60)
            return append(texts)

        session.append = wait
        return session


@in_loop
async def test_cancelled_ask_stops_reading(connect, open_memories) -> None:
    model = WaitingModel()
    served = open_memories(model=model)
    served.get("ann").add("\n\n".join(f"{FOX} {number}." for number in range(8)), key="foxes")
    async with connect(served) as agent:
        asked = asyncio.create_task(agent("ask", question=QUESTION))
        while not model.read and not asked.done():  # the first question of a process imports modules
            await asyncio.sleep(0.01)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        read = model.read
        await asyncio.sleep(0.2)  # the server learns of it
        model.released.set()
        await asyncio.sleep(0.3)  # for the steps that would follow
        assert 1 <= read == model.read
        assert (await agent("status"))["documents"] == 1


@in_loop
async def test_forget_removes_where_no_one_can_be_asked(connect, memory) -> None:
    memory.add(FOX, key="fox")
    async with connect() as agent:
        gone = await agent("forget", name="fox")
        again = await agent.refused("forget", name="fox")
        found = await agent("recall", query="fox")
    assert (gone["forgotten"], gone["segments"]) == (True, 5)
    assert again.startswith("DocumentNotFound: Expected the key or id of a document")
    assert "list_documents" in again
    assert found["passages"] == []


@pytest.mark.parametrize(
    ("action", "content", "is_gone"),
    [
        ("accept", {"forget": True}, True),
        ("accept", {"forget": False}, False),
        ("decline", None, False),
        ("cancel", None, False),
    ],
)
@in_loop
async def test_forget_does_what_the_user_says(connect, memory, action, content, is_gone) -> None:
    memory.add(FOX, key="fox", title="The fox")
    asked: list[str] = []

    async def answer(_: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action=action, content=content)

    async with connect(elicitation_callback=answer) as agent:
        result = await agent("forget", name="fox")
        missing = await agent.refused("forget", name="hare")
    assert result["forgotten"] is is_gone
    assert [record.key for record in memory.documents()] == ([] if is_gone else ["fox"])
    (message,) = asked  # not of what is not there
    assert message.startswith("Forget fox “The fox” (363 characters, stored 2")
    assert "'hare'" in missing


@in_loop
async def test_kept_question_is_read_and_forgotten(connect, memory) -> None:
    memory.add(FOX, key="fox")
    async with connect() as agent:
        answer = await agent("ask", question=QUESTION, keep=True)
        page = await agent.client.read_resource(answer["kept_as"])
        assert (await agent("status"))["questions"] == 1
        gone = await agent("forget", name=QUESTION, kind="question")
        again = await agent.refused("forget", name=QUESTION, kind="question")
    assert QUESTION in page.contents[0].text
    nothing_else = {"documents": 0, "segments": 0}
    assert gone == {"name": QUESTION, "kind": "question", "forgotten": True, "questions": 1} | nothing_else
    assert again.startswith("QuestionNotFound: ")


@in_loop
async def test_documents_of_one_user_are_found_and_forgotten_alone(connect, memory) -> None:
    memory.session(user="tom").add([{"role": "user", "content": "Always answer in metric units."}])
    async with connect() as agent:
        for user, session, place in (
            ("ann", "spring", "Hamburg"),
            ("ann", "summer", "Berlin"),
            ("tom", "spring", "Oslo"),
        ):
            said = [{"role": "user", "content": f"I live in {place}.", "time": "2026-03-01"}]
            await agent("remember", messages=said, user=user, session=session)

        async def sessions(tool: str = "recall", **held: str) -> set[Any]:
            found = await agent(tool, **{"query" if tool == "recall" else "question": "Where do I live?"}, **held)
            keys = {item["document_key"] for item in found["passages" if tool == "recall" else "citations"]}
            return {record.metadata["session"] for record in memory.documents(documents=sorted(keys))}

        assert await sessions(user="ann") == {"spring", "summer"}
        assert await sessions(user="ann", session="summer") == {"summer"}
        assert await sessions("ask", user="ann", session="summer") == {"summer"}
        wishes = [(await agent("recall", query="How far is it?", user=user))["wishes"] for user in ("ann", "tom")]
        gone = await agent("forget", user="ann", session="spring")
        rest = await agent("forget", user="ann")
        assert "Expected documents of the user 'ann', got none." in await agent.refused("forget", user="ann")
    assert wishes == [[], ["Always answer in metric units"]]
    assert [(said["kind"], said["name"], said["documents"]) for said in (gone, rest)] == [("user", "ann", 1)] * 2
    assert {record.metadata["user"] for record in memory.documents()} == {"tom"}


@IN_ONE_ERA
@in_loop
async def test_documents_come_in_pages(connect, memory) -> None:
    for number in range(5):
        memory.add(f"Note {number}: {FOX}", key=f"note {number}")
    async with connect() as agent:
        pages, after = [], ""
        while not pages or after:
            page = await agent("list_documents", limit=2, after=after)
            after = page["next_after"]
            pages.append([document["key"] for document in page["documents"]])
    assert pages == [["note 0", "note 1"], ["note 2", "note 3"], ["note 4"]]
    assert page["total"] == 5


@IN_ONE_ERA
@in_loop
async def test_look_shows_what_a_name_is_tied_to(connect, memory) -> None:
    memory.add(FOX, key="fox")
    async with connect() as agent:
        ann = await agent("look", name="Ann", most=1)
        fox = await agent("look", name="fox", kind="document")
        nothing = await agent.refused("look", name="Anm")
    assert (ann["name"], ann["type"]) == ("Ann", "entity")
    assert ann["left_out"]["mentions"] == 2
    assert {tie["kind"] for tie in ann["ties"]} == {"HAS_SEGMENT", "MENTIONS"}
    assert fox["type"] == "document"
    assert "".join(passage["text"] for passage in fox["passages"]) == FOX
    assert "Similar names: 'Ann'" in nothing


@IN_ONE_ERA
@in_loop
async def test_status_counts_what_the_store_counts(connect, memory) -> None:
    memory.add(FOX, key="fox")
    async with connect() as agent:
        status = await agent("status")
    assert status["counts"] == memory.status()["counts"]
    assert (status["namespace"], status["documents"], status["segments"]) == ("ann", 1, 5)
    assert status["background"] == {"layers": [], "waiting": 0, "doing": "", "built": 0, "failures": {}}


@in_loop
async def test_resources_are_documents_and_kept_questions(connect, memory) -> None:
    key = "/home/ann/../fox notes?#%.txt"
    memory.add(FOX, key=key)
    memory.ask(QUESTION, keep_trace=True)
    from urllib.parse import quote

    async with connect() as agent:
        listed = {resource.name: resource.uri for resource in (await agent.client.list_resources()).resources}
        texts = {name: (await agent.client.read_resource(uri)).contents[0].text for name, uri in listed.items()}
        by_key = await agent.client.read_resource(f"memory://documents/{quote(key, safe='')}")
        with pytest.raises(Exception, match="DocumentNotFound: Expected the key or id"):
            await agent.client.read_resource("memory://documents/hare")
        with pytest.raises(Exception, match="QuestionNotFound: Expected the id or text"):
            await agent.client.read_resource("memory://questions/hare")
        templates = (await agent.client.list_resource_templates()).resource_templates
    assert list(listed) == ["documents", "questions", "brief", "look", key, QUESTION]
    assert texts["brief"] == memory.brief().text
    assert texts[key] == by_key.contents[0].text == FOX
    assert '"is_stale": false' in texts[QUESTION]
    assert [template.uri_template for template in templates] == [
        "memory://documents/{name}",
        "memory://questions/{name}",
        "ui://memgraph_rag/{name}",
    ]


@in_loop
async def test_prompt_asks_for_quotes_from_memory(connect) -> None:
    async with connect() as agent:
        (prompt,) = (await agent.client.list_prompts()).prompts
        rendered = await agent.client.get_prompt(prompt.name, {"question": QUESTION})
    assert prompt.description
    (message,) = rendered.messages
    assert message.content.text.startswith(f"{QUESTION}\n\n")
    assert "recall" in message.content.text


@in_loop
async def test_calls_are_counted_by_tool_and_outcome(memories) -> None:
    server = MemoryServer(memories, caller_namespace=lambda: "ann")
    async with Client(server) as client:
        await client.call_tool("status", {})
        await client.call_tool("forget", {"name": "nobody"})
    figures = server.services.metrics.text().decode()
    assert 'call_seconds_count{outcome="ok",tool="status",way="mcp"} 1.0' in figures
    assert 'call_seconds_count{outcome="DocumentNotFound",tool="forget",way="mcp"} 1.0' in figures
