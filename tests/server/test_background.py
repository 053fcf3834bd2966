"""Costly layers follow what was remembered; what fails, is forgotten or is interrupted on the way."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from mcp_agents import IN_ONE_ERA, in_loop
from memories import FOX, RIVER

from memgraph_rag import Action, Failure, Receipt
from memgraph_rag.errors import DocumentNotFound, ModelUnavailable
from memgraph_rag.server.background import Deepener
from memgraph_rag.server.memories import Memories
from memgraph_rag.testing import FakeLanguageModel

SOON = 20.0


class HeldModel(FakeLanguageModel):
    """Writes nothing before it is let go; tells of each fiftieth of a second that it waits.

    Attributes:
        asked: how many prompts it was given at a time.
    """

    def __init__(self) -> None:
        super().__init__()
        self.started, self.let_go = threading.Event(), threading.Event()
        self.asked: list[int] = []

    def generate(self, prompts: Any, *, progress: Any = None, **more: Any) -> Any:
        self.asked.append(len(prompts))
        self.started.set()
        while not self.let_go.wait(0.02):
            if progress is not None:
                progress("summarising", 0, len(prompts))
        return super().generate(prompts, progress=progress, **more)


class BrokenModel(FakeLanguageModel):
    """Its server is away where a text speaks of a river."""

    def generate(self, prompts: Any, **more: Any) -> Any:
        if any("river" in text for prompt in prompts for text in prompt.inputs):
            raise ModelUnavailable("Expected an answer of the model's server, got none. Start it.")
        return super().generate(prompts, **more)


@IN_ONE_ERA
@in_loop
async def test_remember_returns_before_its_points_are_built(connect, open_memories) -> None:
    model = HeldModel()
    served = open_memories(later=("points",), model=model)
    async with connect(served) as agent:
        stored = await agent("remember", text=FOX, key="fox")
        assert model.started.wait(SOON)
        found = await agent("recall", query="fox")
        working = await agent("status")
        model.let_go.set()
        assert served.wait(SOON)
        done = await agent("status")
    assert stored["layers_to_follow"] == ["points"]
    assert found["passages"]
    assert working["counts"]["InformationPoint"] == 0
    assert (working["background"]["layers"], working["background"]["waiting"]) == (["points"], 1)
    assert working["background"]["doing"].startswith("summarising")
    assert done["counts"]["InformationPoint"] > 0
    assert (done["background"]["waiting"], done["background"]["built"]) == (0, 1)


@IN_ONE_ERA
@in_loop
async def test_status_counts_documents_that_lack_a_layer(connect, open_memories) -> None:
    open_memories().get("ann").add(RIVER, key="river")  # by a process whose backlog this server does not know
    served = open_memories(later=("points",), model=BrokenModel())
    async with connect(served) as agent:
        await agent("remember", text=FOX, key="fox")
        assert served.wait(SOON)
        status = await agent("status")
    assert status["documents_without"] == {"points": 1}


@IN_ONE_ERA
@in_loop
async def test_failed_document_is_reported_and_stops_no_other(connect, open_memories) -> None:
    served = open_memories(later=("points",), model=BrokenModel())
    async with connect(served) as agent:
        river = await agent("remember", text=RIVER, key="river")
        await agent("remember", text=FOX, key="fox")
        assert served.wait(SOON)
        background = (await agent("status"))["background"]
        await agent("forget", name="river")
        after = (await agent("status"))["background"]
    assert after["failures"] == {}, "an error may name the key of a document that is forgotten"
    assert background["built"] == 1
    assert list(background["failures"]) == [river["document_id"]]
    assert background["failures"][river["document_id"]].startswith("ModelUnavailable: ")


@IN_ONE_ERA
@in_loop
async def test_forgotten_document_is_not_built(connect, open_memories) -> None:
    model = HeldModel()
    served = open_memories(later=("points",), model=model)
    async with connect(served) as agent:
        await agent("remember", text=FOX, key="fox")
        assert model.started.wait(SOON)
        await agent("remember", text=RIVER, key="river")
        await agent("forget", name="river")
        model.let_go.set()
        assert served.wait(SOON)
        status = await agent("status")
    assert (status["documents"], status["background"]["failures"]) == (1, {})


@IN_ONE_ERA
@in_loop
async def test_closing_waits_for_no_model_and_the_next_server_resumes(connect, open_memories) -> None:
    alone, together = HeldModel(), HeldModel()
    served = open_memories(later=("points",), model=alone)
    async with connect(served) as agent:
        await agent("remember", text=FOX, key="fox")
        assert alone.started.wait(SOON)
        await agent("remember", text=RIVER, key="river")
    closes_soon(served)
    again = open_memories(later=("points",), model=together)
    again.get("ann")
    assert together.started.wait(SOON)
    assert again.backlog("ann").waiting == 2
    closes_soon(again)
    assert (alone.asked, together.asked) == ([1], [2])
    resumed = open_memories(later=("points",))
    memory = resumed.get("ann")
    assert resumed.wait(SOON)
    assert [record.layers for record in memory.documents()] == [("entities", "points")] * 2


def closes_soon(served: Memories) -> None:
    began = time.monotonic()
    served.close()
    assert time.monotonic() - began < 4


@IN_ONE_ERA
@in_loop
async def test_documents_that_wait_are_built_together(connect, open_memories) -> None:
    model = HeldModel()
    served = open_memories(later=("points",), model=model)
    async with connect(served) as agent:
        await agent("remember", text=FOX, key="fox")
        assert model.started.wait(SOON)
        for key in ("river", "other river", "changed"):
            await agent("remember", text=RIVER, key=key)
        model.let_go.set()
        assert served.wait(SOON)
        status = await agent("status")
    assert model.asked[0] == 1
    assert {3} & set(model.asked), model.asked
    assert (status["background"]["built"], status["background"]["failures"]) == (4, {})


@IN_ONE_ERA
@in_loop
async def test_document_that_goes_while_it_is_built_is_no_failure(connect, open_memories) -> None:
    model = HeldModel()
    served = open_memories(later=("points",), model=model)
    async with connect(served) as agent:
        for key in ("first", "second", "third"):
            await agent("remember", text=FOX, key=key)
        assert model.started.wait(SOON)
        await agent("forget", name="first")
        await agent("forget", name="second")
        model.let_go.set()
        assert served.wait(SOON)
        status = await agent("status")
    assert (status["background"]["waiting"], status["background"]["failures"]) == (0, {})
    assert (status["background"]["built"], status["counts"]["Document"]) == (1, 1)


def test_namespaces_are_counted_apart(open_memories) -> None:
    served = open_memories(later=("points",))
    ann, tom = served.get("ann"), served.get("tom")
    served.follow(ann, ann.add(FOX))
    assert served.wait(SOON)
    assert (served.backlog("ann").built, served.backlog("tom").built) == (1, 0)
    assert tom.status()["counts"]["InformationPoint"] == 0


# ── groups, of a memory that does as it is told ──────────────────────────────────────────────────────────────


def receipt(name: str, segments: int = 1) -> Receipt:
    return Receipt(name, f"key of {name}", Action.ADDED, {"Segment": segments})


class Told:
    """A memory whose documents are built when that is let happen.

    Attributes:
        groups: what was to be built together, as it was asked.
    """

    def __init__(self, namespace: str = "ann") -> None:
        self.namespace = namespace
        self.goes_on, self.steps = threading.Event(), threading.Semaphore(0)
        self.groups: list[list[str]] = []
        self.errors: dict[str, Exception] = {}  # of documents, by id
        self.crashes: dict[str, Exception] = {}  # of all that is built with such a document
        self.gone: set[str] = set()

    def deepen(self, documents: Sequence[str], **_: object) -> Iterator[Receipt | Failure]:
        self.groups.append(list(documents))
        if self.gone & set(documents):
            raise DocumentNotFound("Gone.")
        assert self.goes_on.wait(SOON)
        for name in sorted(documents):
            if name in self.crashes:
                raise self.crashes[name]
            yield Failure(f"key of {name}", self.errors[name]) if name in self.errors else receipt(name)
            assert self.steps.acquire(timeout=SOON)

    def let_go(self) -> None:
        """Build all that was asked and will be."""
        self.goes_on.set()
        self.steps.release(1000)


@pytest.fixture
def deepener() -> Iterator[Deepener]:
    deepener = Deepener(("points",))
    yield deepener
    assert deepener.close()


def follow(deepener: Deepener, memory: Told, *names: str, segments: int = 1) -> None:
    for name in names:
        deepener.follow(memory, receipt(name, segments))  # type: ignore[arg-type]


def soon(holds: Callable[[], bool]) -> bool:
    end = time.monotonic() + SOON
    while not holds() and time.monotonic() < end:
        time.sleep(0.01)
    return holds()


def test_backlog_is_reported_after_each_outcome(deepener: Deepener) -> None:
    memory = Told()
    memory.errors = {"b": ModelUnavailable("Away.")}
    follow(deepener, memory, "first")
    assert soon(lambda: bool(memory.groups))
    follow(deepener, memory, "a", "b", "c")
    follow(deepener, memory, "a")  # waits already
    assert deepener.backlog("ann").waiting == 4
    memory.goes_on.set()
    memory.steps.release()
    seen = []
    for _ in range(3):
        assert soon(lambda: len(seen) + 2 == sum(backlog_of(deepener)[1:])), seen
        seen.append(backlog_of(deepener))
        memory.steps.release()
    assert deepener.wait(SOON)
    assert memory.groups == [["first"], ["a", "b", "c"]]
    assert seen == [(2, 2, 0), (1, 2, 1), (0, 3, 1)]
    assert deepener.backlog("ann").failures == {"b": "ModelUnavailable: Away."}


def backlog_of(deepener: Deepener) -> tuple[int, int, int]:
    backlog = deepener.backlog("ann")
    return backlog.waiting, backlog.built, len(backlog.failures)


@pytest.mark.parametrize("error", [RuntimeError("out of range"), DocumentNotFound("Gone just now.")])
def test_failed_group_is_built_one_by_one(deepener: Deepener, error: Exception) -> None:
    memory = Told()
    memory.crashes = {"b": error}
    follow(deepener, memory, "first")
    assert soon(lambda: bool(memory.groups))
    follow(deepener, memory, "a", "b", "c", "d")
    memory.let_go()
    assert deepener.wait(SOON)
    assert memory.groups == [["first"], ["a", "b", "c", "d"], ["b"], ["c"], ["d"]]
    failures = {} if isinstance(error, DocumentNotFound) else {"b": "RuntimeError: out of range"}
    assert (deepener.backlog("ann").built, deepener.backlog("ann").failures) == (4, failures)


def test_forgotten_document_does_not_stop_its_group(deepener: Deepener) -> None:
    memory = Told()
    memory.gone = {"b", "lost"}
    follow(deepener, memory, "first")
    assert soon(lambda: bool(memory.groups))
    follow(deepener, memory, "a", "b", "c")
    memory.let_go()
    assert deepener.wait(SOON)
    follow(deepener, memory, "lost")
    assert deepener.wait(SOON)
    assert memory.groups == [["first"], ["a", "b", "c"], ["a"], ["b"], ["c"], ["lost"]]
    assert backlog_of(deepener) == (0, 3, 0)


def test_group_is_of_one_memory_and_of_bounded_size(deepener: Deepener) -> None:
    ann, tom = Told("ann"), Told("tom")
    follow(deepener, ann, "first")
    assert soon(lambda: bool(ann.groups))
    follow(deepener, ann, "short")
    follow(deepener, tom, "his")
    follow(deepener, ann, "book", segments=5000)
    names = [f"note {number:02}" for number in range(20)]
    follow(deepener, ann, *names)
    for memory in (ann, tom):
        memory.let_go()
    assert deepener.wait(SOON)
    assert ann.groups == [["first"], ["short"], ["book"], names[:8], names[8:16], names[16:]]
    assert tom.groups == [["his"]]
