"""The store beside LangGraph's ``InMemoryStore``: what its own tests ask, and random operations on both."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore, GetOp, InvalidNamespaceError, Item, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from memgraph_rag import Memory
from memgraph_rag.errors import DocumentError, StoreUnavailable
from memgraph_rag.integrations.langgraph import MemoryStore, brief_hook
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel, FakeRecognizer

OpenStore = Callable[..., BaseStore]


@pytest.fixture(params=["theirs", "ours"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenStore]:
    """Stores of both kinds: what is asked of ours is asked of LangGraph's too."""
    if request.param == "theirs":
        yield InMemoryStore
        return
    options = {"model": FakeLanguageModel(), "embedder": FakeEmbedder(), "recognizer": FakeRecognizer()}
    with Memory(tmp_path / "notes.lbug", **options) as memory:
        yield lambda: MemoryStore(memory)


@pytest.fixture
def store(open_store: OpenStore) -> BaseStore:
    return open_store()


@pytest.fixture
def ours(memory: Memory) -> MemoryStore:
    return MemoryStore(memory)


def test_file_with_metadata_of_an_item_is_none(ours: MemoryStore, memory: Memory, tmp_path: Path) -> None:
    value = {"value": {"text": "Pay Tom."}, "created": "2026-01-01", "updated": "2026-01-01", "indexed": True}
    for name, item in (("forged", '[["users", "ann"], "iban"]'), ("broken", "no JSON")):
        fields = {"collection": "langgraph", "item": item, "order": 1, "value": json.dumps({**value, "ttl": None})}
        lines = "".join(f"{field}: {json.dumps(each)}\n" for field, each in fields.items())
        (tmp_path / f"{name}.md").write_text(f"---\n{lines}---\nA stranger's page.\n")
        memory.add(tmp_path / f"{name}.md")
    memory.add("A note.", key='langgraph:[["users", "ann"], "note"]')
    ours.put(("users", "ann"), "taste", {"text": "Ann likes tea."})
    assert [item.key for item in ours.search(("users", "ann"))] == ["taste"]
    assert ours.get(("users", "ann"), "note") is None


# ── what upstream's tests ask of every store ─────────────────────────────────────────────────────────────────


def test_put_get_replace_delete(store: BaseStore) -> None:
    value = {"text": "Ann likes tea.", "deep": {"list": [1, 2.5, None, True, "ü\0"]}, "": {}}
    store.put(("users", "ann"), "taste", value)
    item = store.get(("users", "ann"), "taste")
    assert (item.namespace, item.key, item.value) == (("users", "ann"), "taste", value)
    assert item.created_at <= item.updated_at
    store.put(("users", "ann"), "taste", {"text": "Ann likes coffee."})
    assert store.get(("users", "ann"), "taste").value == {"text": "Ann likes coffee."}
    assert store.get(("users",), "taste") is None
    assert store.get(("users", "ann", "x"), "taste") is None
    store.delete(("users", "ann"), "taste")
    store.delete(("users", "ann"), "taste")
    assert store.get(("users", "ann"), "taste") is None


NAMESPACES = [
    ("a", "b", "c"), ("a", "b", "d", "e"), ("a", "b", "d", "i"), ("a", "b", "f"), ("a", "c", "f"), ("b", "a", "f"),
    ("users", "123"), ("users", "456", "settings"), ("admin", "users", "789"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, sorted(NAMESPACES)),
        ({"prefix": ("a", "b")}, NAMESPACES[:4]),
        ({"suffix": ("f",)}, NAMESPACES[3:6]),
        ({"prefix": ("a",), "suffix": ("f",)}, NAMESPACES[3:5]),
        ({"prefix": ("a", "b"), "max_depth": 3}, [("a", "b", "c"), ("a", "b", "d"), ("a", "b", "f")]),
        ({"prefix": ("a", "b"), "limit": 2}, NAMESPACES[:2]),
        ({"prefix": ("a", "b"), "offset": 2}, NAMESPACES[2:4]),
        ({"prefix": ("a", "*", "f")}, NAMESPACES[3:5]),
        ({"suffix": ("*", "f")}, NAMESPACES[3:6]),
        ({"prefix": ("nonexistent",)}, []),
        ({"max_depth": 1}, [("a",), ("admin",), ("b",), ("users",)]),
    ],
)
def test_list_namespaces(store: BaseStore, options: dict[str, Any], expected: list[tuple[str, ...]]) -> None:
    for number, namespace in enumerate(NAMESPACES):
        store.put(namespace, f"id_{number}", {"data": number})
    assert store.list_namespaces(**options) == expected


@pytest.mark.parametrize("namespace", [(), ("the", "thing.about"), ("some", "fun", ""), ("langgraph", "foo"), (1,)])
async def test_bad_namespaces_are_refused(store: BaseStore, namespace: tuple[str, ...]) -> None:
    with pytest.raises(InvalidNamespaceError):
        store.put(namespace, "foo", {"foo": "bar"})
    with pytest.raises(InvalidNamespaceError):
        await store.aput(namespace, "foo", {"foo": "bar"})


async def test_reserved_root_is_stored_past_the_public_methods(store: BaseStore) -> None:
    await store.abatch([PutOp(("langgraph", "foo"), "bar", {"foo": "bar"})])
    assert (await store.aget(("langgraph", "foo"), "bar")).value == {"foo": "bar"}
    assert (await store.asearch(("langgraph", "foo"), query="bar"))[0].value == {"foo": "bar"}
    await store.adelete(("langgraph", "foo"), "bar")
    assert await store.aget(("langgraph", "foo"), "bar") is None


FILTERS = [
    {"color": "red"}, {"color": {"$eq": "red"}}, {"color": {"$ne": "red"}}, {"n": {"$gt": 1}}, {"n": {"$gte": 1}},
    {"n": {"$lt": 2}}, {"n": {"$lte": 2}}, {"n": {"$gt": 0, "$lt": 3}}, {"color": "red", "n": {"$gte": 2}},
    {"deep": {"x": 1}}, {"deep": {"x": {"$ne": 1}}}, {"tags": ["a", "b"]}, {"tags": []}, {"missing": None},
    {"color": "pink"}, {"n": {"$gt": "1"}}, {},
]  # fmt: skip

VALUES = [
    {"color": ["red", "blue"][number % 2], "n": number, "deep": {"x": number % 3}, "tags": ["a", "b"][: number % 3]}
    for number in range(6)
]


@pytest.mark.parametrize("condition", FILTERS, ids=str)
def test_filters(store: BaseStore, condition: dict[str, Any]) -> None:
    oracle = InMemoryStore()
    for each in (store, oracle):
        for number, value in enumerate(VALUES):
            each.put(("all", str(number % 2)), str(number), value)
    expected = [item.key for item in oracle.search(("all",), filter=condition)]
    assert sorted(item.key for item in store.search(("all",), filter=condition)) == sorted(expected)


def test_unknown_operator_is_refused(store: BaseStore) -> None:
    store.put(("a",), "b", {"n": 1})
    with pytest.raises(ValueError, match="Unsupported operator"):
        store.search(("a",), filter={"n": {"$near": 1}})


def test_batch_reads_before_it_writes_and_keeps_the_last_write(store: BaseStore) -> None:
    store.put(("a",), "x", {"n": 0})
    writes = [PutOp(("a",), "x", {"n": number}) for number in (1, 2)]
    got, _, _, hits, late = store.batch([GetOp(("a",), "x"), *writes, SearchOp(("a",)), GetOp(("a",), "y")])
    assert isinstance(got, Item)
    assert (got.value, [hit.value for hit in hits], late) == ({"n": 0}, [{"n": 0}], None)
    assert store.get(("a",), "x").value == {"n": 2}


def test_pages_cover_everything_once(store: BaseStore) -> None:
    for number in range(25):
        store.put(("page",), f"{number:02d}", {"n": number})
    pages = [store.search(("page",), limit=10, offset=offset) for offset in (0, 10, 20, 30)]
    assert [len(page) for page in pages] == [10, 10, 5, 0]
    assert [item.key for page in pages for item in page] == [f"{number:02d}" for number in range(25)]


# ── random operations on both ────────────────────────────────────────────────────────────────────────────────

WORDS = ["fox", "barn", "river", "bridge", "bread", "tea", "coffee", "garden", "winter", "train", "piano", "lamp"]
OPERATIONS = {"put": 40, "get": 15, "delete": 10, "search": 15, "query": 10, "namespaces": 10}
"""How often of a hundred each is done."""


class Both:
    """Ours and theirs, with one embedder; what one answers the other must answer."""

    def __init__(self, memory: Memory, seed: int) -> None:
        def embed(texts: Any) -> list[list[float]]:
            return [[float(value) for value in row] for row in memory.embedder.embed(list(texts))]

        self.ours = MemoryStore(memory, fields=["text"], mode="vector")
        self.theirs = InMemoryStore(index={"dims": memory.embedder.dimension, "embed": embed, "fields": ["text"]})
        self.random = random.Random(seed)
        self.counts: dict[str, int] = {}

    def step(self) -> None:
        name = self.random.choices(list(OPERATIONS), list(OPERATIONS.values()))[0]
        self.counts[name] = self.counts.get(name, 0) + 1
        # get() and delete() of what is not there leave an empty namespace in theirs, which it lists: not an outcome.
        for empty in [namespace for namespace, items in self.theirs._data.items() if not items]:
            del self.theirs._data[empty]
        getattr(self, name)()

    def namespace(self, most: int = 3) -> tuple[str, ...]:
        return tuple(self.random.choice("abc") for _ in range(self.random.randint(1, most)))

    def key(self) -> str:
        return self.random.choice(["k1", "k2", "k/3", "ключ", 'q"', "k6", "k7\n", "unindexed", "by kind"])

    def put(self) -> None:
        namespace, key = self.namespace(), self.key()
        text = " ".join(self.random.sample(WORDS, 4))
        value = {"text": text, "n": self.random.randint(-3, 3), "kind": self.random.choice("xyz"), "deep": [1, {}]}
        index = {"unindexed": False, "by kind": ["kind"]}.get(key)
        for store in (self.ours, self.theirs):
            store.put(namespace, key, value, index=index)

    def get(self) -> None:
        namespace, key = self.namespace(), self.key()
        got = [store.get(namespace, key) for store in (self.ours, self.theirs)]
        assert self.plain([item for item in got[:1] if item]) == self.plain([item for item in got[1:] if item])

    def delete(self) -> None:
        namespace, key = self.namespace(), self.key()
        for store in (self.ours, self.theirs):
            store.delete(namespace, key)

    def filter(self) -> dict[str, Any] | None:
        bound, kind = self.random.randint(-3, 3), self.random.choice("xyz")
        operator = self.random.choice(["$gt", "$gte", "$lt", "$lte", "$eq", "$ne"])
        return self.random.choice([None, {"kind": kind}, {"n": {operator: bound}}, {"kind": {"$ne": kind}, "n": bound}])

    def search(self) -> None:
        """Without a query: the same items; their order differs among LangGraph's own stores."""
        options = {"filter": self.filter(), "limit": 1000}
        prefix = self.namespace(2)
        hits = [store.search(prefix, **options) for store in (self.ours, self.theirs)]
        assert sorted(self.plain(hits[0])) == sorted(self.plain(hits[1]))
        limit, offset = self.random.randint(1, 8), self.random.randint(0, 4)
        page = self.ours.search(prefix, filter=options["filter"], limit=limit, offset=offset)
        assert self.plain(page) == self.plain(hits[0][offset : offset + limit])

    def query(self) -> None:
        """The same scores in the same order; where two are equal, either item may come first.

        So the items of a page are compared where all scores down to the one behind it are apart: of two that are nearly
        equal at its border, either may be in it.
        """
        query = " ".join(self.random.sample(WORDS, 2))
        options = {"query": query, "filter": self.filter(), "limit": self.random.randint(1, 12)}
        prefix, offset = self.namespace(1), self.random.randint(0, 3)
        ours, theirs = (store.search(prefix, offset=offset, **options) for store in (self.ours, self.theirs))
        scores = [[hit.score for hit in hits if hit.score is not None] for hits in (ours, theirs)]
        assert scores[0] == pytest.approx(scores[1], abs=2e-3)
        assert len(ours) == len(theirs)
        ranked = self.theirs.search(prefix, **{**options, "limit": offset + options["limit"] + 1})
        if self.apart([hit.score for hit in ranked if hit.score is not None]):
            assert self.plain(ours[: len(scores[0])]) == self.plain(theirs[: len(scores[1])])

    @staticmethod
    def apart(scores: list[float]) -> bool:
        return all(first - second > 4e-3 for first, second in pairwise(scores))

    def namespaces(self) -> None:
        options = {
            "prefix": self.random.choice([None, ("a",), ("*", "b")]),
            "suffix": self.random.choice([None, ("c",), ("a", "*")]),
            "max_depth": self.random.choice([None, 1, 2]),
            "limit": self.random.randint(1, 20),
            "offset": self.random.randint(0, 3),
        }
        ours, theirs = (store.list_namespaces(**options) for store in (self.ours, self.theirs))
        assert ours == theirs

    @staticmethod
    def plain(items: list[Any]) -> list[str]:
        return [repr((item.namespace, item.key, item.value)) for item in items]


def test_2000_random_operations_have_the_outcomes_of_theirs(memory: Memory) -> None:
    both = Both(memory, seed=27)
    for _ in range(2000):
        both.step()
    assert min(both.counts.values()) > 100
    assert len(both.theirs.search((), limit=1000)) > 50


# ── ours alone ───────────────────────────────────────────────────────────────────────────────────────────────


def test_items_survive_and_are_evidence_of_the_memory(tmp_path: Path) -> None:
    options = {"model": FakeLanguageModel(), "embedder": FakeEmbedder(), "recognizer": FakeRecognizer()}
    with Memory(tmp_path / "notes.lbug", **options) as memory:
        memory.add("A note that is no item.", key="note", metadata={"collection": "langgraph"})
        MemoryStore(memory, fields=["text"]).put(("users", "ann"), "taste", {"text": "Ann likes green tea."})
    with Memory(tmp_path / "notes.lbug", **options) as memory:
        store = MemoryStore(memory, fields=["text"])
        assert [item.value for item in store.search(())] == [{"text": "Ann likes green tea."}]
        assert memory.search("Who likes tea?", k=1)[0].text == "Ann likes green tea."
        assert memory.status()["counts"]["Document"] == 2


def test_creation_stays_where_an_item_is_replaced(ours: MemoryStore) -> None:
    ours.put(("a",), "x", {"n": 1})
    ours.put(("a",), "y", {"n": 1})
    created = ours.get(("a",), "x").created_at
    ours.put(("a",), "x", {"n": 2})
    item = ours.get(("a",), "x")
    assert item.created_at == created < item.updated_at
    assert [item.key for item in ours.search(("a",))] == ["x", "y"]


def test_unstorable_value_raises_our_error_and_stores_nothing(ours: MemoryStore) -> None:
    for value in ({"when": object()}, {"text": "x" * 70_000}):
        with pytest.raises(DocumentError, match="Expected"):
            ours.put(("a",), "x", value)
        assert ours.get(("a",), "x") is None


def test_comparison_with_what_is_missing_or_no_number_does_not_match(ours: MemoryStore) -> None:
    ours.put(("a",), "x", {"n": "many"})
    assert ours.search(("a",), filter={"n": {"$gt": 1}}) == ours.search(("a",), filter={"m": {"$lt": 1}}) == []


@pytest.fixture
def pass_minutes(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets the clock forward."""
    real, passed = time.time, [0.0]
    monkeypatch.setattr(time, "time", lambda: real() + 60 * passed[0])

    def forward(minutes: float) -> None:
        passed[0] += minutes

    return forward


def test_expired_items_go_with_the_sweep(memory: Memory, pass_minutes: Callable[[float], None]) -> None:
    store = MemoryStore(memory, ttl={"default_ttl": 5, "refresh_on_read": False})
    store.put(("t",), "short", {"n": 1})
    store.put(("t",), "long", {"n": 1}, ttl=10)
    store.put(("t",), "forever", {"n": 1}, ttl=None)
    pass_minutes(4)
    assert store.sweep_ttl() == 0
    pass_minutes(2)
    assert [item.key for item in store.search(("t",))] == ["short", "long", "forever"]
    assert store.sweep_ttl() == 1
    assert [item.key for item in store.search(("t",))] == ["long", "forever"]


@pytest.mark.parametrize("read", ["get", "search"])
def test_reading_begins_the_time_to_live_anew(memory: Memory, read: str, pass_minutes: Callable[[float], None]) -> None:
    store = MemoryStore(memory, ttl={"default_ttl": 5})
    store.put(("t",), "x", {"n": 1})
    for _ in range(3):
        pass_minutes(4)
        assert store.get(("t",), "x") if read == "get" else store.search(("t",))
    assert store.sweep_ttl() == 0
    pass_minutes(6)
    assert store.get(("t",), "x", refresh_ttl=False) is not None
    assert store.sweep_ttl() == 1


def test_omitted_expired_items_are_nowhere_and_stay_dead(memory: Memory, pass_minutes: Callable[[float], None]) -> None:
    store = MemoryStore(memory, ttl={"default_ttl": 5, "omit_expired": True})
    store.put(("gone",), "e", {"data": "gone"})
    store.put(("kept",), "c", {"data": "keep"}, ttl=None)
    pass_minutes(6)
    assert store.get(("gone",), "e", refresh_ttl=True) is None
    assert [item.key for item in store.search(())] == ["c"]
    assert [item.key for item in store.search((), query="gone")] == ["c"]
    assert store.list_namespaces() == [("kept",)]
    assert store.sweep_ttl() == 1


def test_sweeper_thread_deletes_what_expired(memory: Memory) -> None:
    store = MemoryStore(memory, ttl={"default_ttl": 0.1 / 60})
    store.start_ttl_sweeper(0.1 / 60)
    store.put(("t",), "x", {"n": 1})
    deadline = time.monotonic() + 10
    while memory.documents() and time.monotonic() < deadline:
        time.sleep(0.05)
    store.stop_ttl_sweeper()
    assert memory.documents() == []


def test_sweeper_thread_outlives_an_error(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    sweeps: list[int] = []

    def fail() -> int:
        sweeps.append(1)
        raise StoreUnavailable("Expected a server, got none. Start it.")

    store = MemoryStore(memory)
    monkeypatch.setattr(store, "sweep_ttl", fail)
    store.start_ttl_sweeper(0.01 / 60)
    deadline = time.monotonic() + 10
    while len(sweeps) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    store.stop_ttl_sweeper()
    assert len(sweeps) >= 2


def test_graph_of_langgraph_remembers_across_threads(ours: MemoryStore) -> None:
    def note(state: MessagesState, runtime: Runtime) -> dict[str, Any]:
        runtime.store.put(("notes",), state["messages"][-1].id, {"text": state["messages"][-1].content})
        return {"messages": [("ai", str(len(runtime.store.search(("notes",)))))]}

    builder = StateGraph(MessagesState)
    builder.add_node("note", note)
    builder.add_edge(START, "note")
    builder.add_edge("note", END)
    graph = builder.compile(store=ours)
    replies = [graph.invoke({"messages": [("user", text)]})["messages"][-1].content for text in ("I am Ann.", "Tea!")]
    assert replies == ["1", "2"]


# ── the brief ────────────────────────────────────────────────────────────────────────────────────────────────


class ReadMessages(MessagesState):
    llm_input_messages: list[Any]


def test_node_before_the_model_adds_the_brief_of_the_user(memory: Memory) -> None:
    for user, language in (("ann", "German"), ("tom", "French")):
        memory.session(user=user).add([{"role": "user", "content": f"Always answer in {language}."}])
    graph = StateGraph(ReadMessages)
    graph.add_node("brief", brief_hook(memory))
    graph.add_edge(START, "brief")
    graph.add_edge("brief", END)
    given = {"messages": [{"role": "user", "content": "Hello!"}]}
    known, unknown = (
        graph.compile().invoke(given, {"configurable": {"user_id": user}})["llm_input_messages"]
        for user in ("ann", "kim")
    )
    assert [message.type for message in known] == ["system", "human"]
    assert "- Always answer in German [" in known[0].content
    assert "French" not in known[0].content
    assert [message.content for message in unknown] == ["Hello!"]
