"""``Memory.tools``: schemas and functions for models that call functions, whatever a model writes."""

from __future__ import annotations

import importlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from memories import FOX, options
from tables import table

from memgraph_rag import Memory
from memgraph_rag.errors import SettingsError, StoreError
from memgraph_rag.integrations.requirements import framework

NAMES = ["search_memory", "ask_memory", "add_to_memory", "forget_document"]
ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with Memory(tmp_path_factory.mktemp("tools") / "notes.lbug", **options(layers=("entities",))) as memory:
        memory.add(FOX, key="fox")
        yield memory


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.sampled_from(["query", "k", "since", "until", "at", "question", "document", "other"])


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(["search_memory", "forget_document"]), arguments=st.dictionaries(FIELDS, JSON, max_size=4))
def test_any_object_gives_a_result_or_a_sentence(shared: Memory, name: str, arguments: dict[str, Any]) -> None:
    tool = {tool.name: tool for tool in shared.tools()}[name]
    result = json.loads(tool.run(json.dumps(arguments)))
    if isinstance(result, dict) and "error" in result:
        assert re.match(r"Expected .+, got .+", result["error"], re.DOTALL)
    else:
        assert all(passage["text"] in FOX for passage in result)
    assert [record.key for record in shared.documents()] == ["fox"]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(written=st.text(max_size=60) | JSON.map(json.dumps))
def test_any_text_of_a_model_is_answered_with_json(shared: Memory, written: str) -> None:
    for tool in shared.tools(("search", "forget")):
        result = json.loads(tool.run(written))
        assert isinstance(result, list) or "error" in result


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.text(min_size=1, max_size=200).filter(str.strip),
    key=st.none() | st.text("abcü /'\"", min_size=1, max_size=9),
)
def test_added_document_stays_until_it_is_forgotten(shared: Memory, text: str, key: str | None) -> None:
    add, forget = shared.tools(("add", "forget"))
    added = json.loads(add.run({"text": text, "key": key}))
    if "error" in added:
        assert not (key or "x").strip() or key == "fox"
        return
    assert shared.get(added["key"]).text == re.sub("[\0\ud800-\udfff]", "\ufffd", text)
    assert json.loads(forget.run({"document": added["key"]}))["action"] == "forgotten"
    assert [record.key for record in shared.documents()] == ["fox"]


def test_schemas_hold_what_strict_servers_ask_for(shared: Memory) -> None:
    for tool in shared.tools():
        function = tool.for_openai()["function"]
        schema = function["parameters"]
        assert (schema["type"], schema["additionalProperties"]) == ("object", False)
        assert set(schema["required"]) <= set(schema["properties"])
        assert all(
            field["type"] in ("string", "integer") and field["description"] for field in schema["properties"].values()
        )
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", function["name"])
        anthropic = tool.for_anthropic()
        assert (anthropic["name"], anthropic["input_schema"]) == (function["name"], schema)
        schema.clear()
        assert tool.for_openai()["function"]["parameters"]


def test_names_choose_the_tools(shared: Memory) -> None:
    assert [tool.name for tool in shared.tools()] == NAMES
    assert [tool.name for tool in shared.tools(("forget", "search"))] == ["forget_document", "search_memory"]
    for names in (["remember"], "search"):
        with pytest.raises(SettingsError, match="Expected names as some of 'search', 'ask', 'add', 'forget'"):
            shared.tools(names)  # type: ignore[arg-type]


def test_search_and_ask_quote_the_memory(shared: Memory) -> None:
    search, ask = shared.tools(("search", "ask"))
    passage = search(query="Who built a wooden box?", k=1)[0]
    assert shared.get(passage["document_key"]).text[passage["start"] : passage["end"]] == passage["text"]
    answer = ask(question="Who built a wooden box?")
    assert all(quote["quote"] in FOX for quote in answer["citations"])
    assert [answer["abstained"], ask(question="Who is Zebulon Quark?")["abstained"]] == [False, True]
    with pytest.raises(SettingsError, match="It takes question"):
        ask(query="Who?")


async def run_in_thread(tool: Any) -> str:
    return await tool.arun({"query": "fox", "k": 1})


def test_arun_gives_the_same(shared: Memory) -> None:
    import asyncio

    (search,) = shared.tools(("search",))
    assert asyncio.run(run_in_thread(search)) == search.run({"query": "fox", "k": 1})


def test_a_store_that_fails_is_no_text_for_the_model(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "notes.lbug", **options())
    (search,) = memory.tools(("search",))
    memory.close()
    with pytest.raises(StoreError):
        search.run({"query": "fox"})


# ── adapters whose framework is not installed ────────────────────────────────────────────────────────────────

ADAPTERS = {
    "langchain": "langchain_core", "langgraph": "langgraph", "haystack": "haystack", "llama_index": "llama_index",
    "openai_agents": "agents", "anthropic": "anthropic", "google_adk": "google.adk",
    "agent_framework": "agent_framework",
}  # fmt: skip


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_missing_framework_is_our_error_with_its_extra(adapter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, ADAPTERS[adapter], None)
    monkeypatch.delitem(sys.modules, f"memgraph_rag.integrations.{adapter}", raising=False)
    extra = adapter.replace("_", "-")
    with pytest.raises(SettingsError, match=re.escape(f'pip install "memgraph_rag[{extra}]"')):
        importlib.import_module(f"memgraph_rag.integrations.{adapter}")
    assert re.search(rf"^{extra} = \[", (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)


def test_python_that_is_too_old_is_our_error() -> None:
    block = framework("Some Framework", extra="some", python=(3, 99))
    with pytest.raises(SettingsError, match=r"Expected Python 3\.99 or newer for Some Framework, got 3\."):
        block.__enter__()


def test_each_adapter_has_its_tests_and_its_example() -> None:
    for folder, prefix in ((ROOT / "tests" / "integrations", "test_"), (ROOT / "examples" / "agents", "with_")):
        assert set(ADAPTERS) <= {path.stem.removeprefix(prefix) for path in folder.glob("*.py")}


def test_no_example_hides_the_package_that_it_shows() -> None:
    """A script's own folder comes first where Python looks for packages."""
    packages = {package.partition(".")[0] for package in ADAPTERS.values()} | set(ADAPTERS)
    assert packages & {path.stem for path in (ROOT / "examples" / "agents").glob("*.py")} == set()


def test_example_of_function_calling_runs(file_memory: Memory, capsys: pytest.CaptureFixture[str]) -> None:
    source = (ROOT / "examples" / "agents" / "function_calling.py").read_text("utf-8")
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(source, "function_calling.py", "exec"), names)
    names["main"](file_memory)
    assert "Ann's fox is called Rusty." in capsys.readouterr().out.splitlines()[-1]


def test_search_gives_the_wishes_that_bear_on_it() -> None:
    said = ("Always answer in metric units.", *(f"I saw {number} trees." for number in range(9)))
    with Memory(":memory:", **options(layers=())) as memory:
        memory.session(user="ann").add([{"role": "user", "content": text, "time": "2024-03-01"} for text in said])
        (search,) = memory.tools(("search",))
        found = json.loads(search.run({"query": "How many trees?", "k": 2}))
        every = json.loads(search.run({"query": "How many trees?", "k": 50}))
        before = json.loads(search.run({"query": "How many trees?", "k": 2, "at": "2024-02-01"}))
    assert [len(found), len(every), before] == [3, 10, []]
    assert found[-1]["remarks"] == ["instruction: since 1 March 2024: Always answer in metric units"]


def test_passages_tell_what_was_superseded() -> None:
    with Memory(":memory:", **options(layers=())) as memory:
        said = (("I live in Paris.", "2024-03-01"), ("I moved to Berlin.", "2024-05-12"))
        memory.session(user="ann").add([{"role": "user", "content": text, "time": day} for text, day in said])
        (search,) = memory.tools(("search",))
        found = json.loads(search.run({"query": "Where do I live?"}))
        then = json.loads(search.run({"query": "Where do I live?", "at": "2024-05-11"}))
    assert [passage["remarks"] for passage in then] == [["home: since 1 March 2024: Paris"]]
    assert [passage["remarks"] for passage in found] == [
        ["home: since 12 May 2024: Berlin; before: Paris"],
        ["home: until 12 May 2024: Paris; since then: Berlin"],
    ]


def test_tools_of_a_user_neither_find_nor_change_what_is_not_theirs() -> None:
    with Memory(":memory:", **options(layers=())) as memory:
        memory.add("I live in Oslo. Always answer in metric units.", key="home", metadata={"user": "tom"})
        search, _, add, forget = memory.tools(user="ann", session="spring")
        assert json.loads(search.run({"query": "Where do I live?"})) == []
        assert "another key" in json.loads(add.run({"text": "I live in Paris.", "key": "home"}))["error"]
        assert "of this view, got 'home'" in json.loads(forget.run({"document": "home"}))["error"]
        own = json.loads(add.run({"text": "I live in Paris.", "key": "mine"}))["key"]
        again = json.loads(add.run({"text": "I live in Rome.", "key": "mine"}))
        found = json.loads(search.run({"query": "Where do I live?"}))
        (of_tom,) = memory.tools(("search",), user="tom")
        of_other = json.loads(of_tom.run({"query": "Where do I live?"}))
        (record,) = memory.documents(documents=[own])
        assert json.loads(forget.run({"document": own}))["action"] == "forgotten"
        left = [record.key for record in memory.documents()]
    assert (own, again["action"]) == ("mine", "replaced")
    assert ["Rome" in passage["text"] for passage in found] == [True]
    assert ["Oslo" in passage["text"] for passage in of_other] == [True]
    assert (record.metadata, left) == ({"user": "ann", "session": "spring"}, ["home"])


@table("name", ["", " ", 3])
def test_tools_with_a_wrong_user_are_refused(name: object) -> None:
    with (
        Memory(":memory:", **options(layers=())) as memory,
        pytest.raises(SettingsError, match="Expected user as a name"),
    ):
        memory.tools(user=name)  # pyright: ignore[reportArgumentType]
