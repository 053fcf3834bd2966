"""Methods as coroutines: the loop goes on, they give what the plain ones give, and what is cancelled is closed."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from memories import FOX, QUESTION, RIVER, options

from memgraph_rag import Answer, Failure, Memory, Receipt
from memgraph_rag.asynchronous import (
    AsyncMaintenance,
    AsyncMemory,
    AsyncScopedMemory,
    AsyncSession,
    _wrap_in_async_iterator,
)
from memgraph_rag.errors import DocumentError, QuestionError, SettingsError
from memgraph_rag.maintenance.maintenance import Maintenance
from memgraph_rag.scoped import ScopedMemory
from memgraph_rag.session import Session
from memgraph_rag.testing import FakeLanguageModel


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "notes.lbug", **options()) as opened:
        yield opened


def public(kind: type) -> dict[str, Any]:
    return {name: member for name, member in vars(kind).items() if not name.startswith("_") and callable(member)}


async def all_of(items: AsyncIterator[object]) -> list[object]:
    return [item async for item in items]


def test_async_methods_return_what_plain_methods_return(memory: Memory) -> None:
    async def use() -> tuple[Receipt, list[object], list[object], Answer, list[object]]:
        receipt = await AsyncMemory(memory).add(FOX, key="fox")
        outcomes = await all_of(AsyncMemory(memory).add_many([RIVER]))
        return (
            receipt,
            outcomes,
            await AsyncMemory(memory).search(QUESTION, k=2),
            await AsyncMemory(memory).ask(QUESTION, strategy="top_k"),
            await all_of(AsyncMemory(memory).stream(QUESTION)),
        )

    receipt, outcomes, found, answer, streamed = asyncio.run(use())
    assert memory.add(FOX, key="fox").document_id == receipt.document_id
    assert [type(outcome) for outcome in outcomes] == [Receipt]
    assert found == memory.search(QUESTION, k=2)
    again = memory.ask(QUESTION, strategy="top_k")
    assert (answer.text, answer.citations) == (again.text, again.citations)
    assert [type(item) for item in streamed] == [type(item) for item in memory.stream(QUESTION)]


def test_the_loop_goes_on_while_the_model_reads(tmp_path: Path) -> None:
    class Slow(FakeLanguageModel):
        def open_session(self, question):  # type: ignore[no-untyped-def]
            time.sleep(0.3)
            return super().open_session(question)

    async def use(memory: Memory) -> int:
        memory.add(FOX, key="fox")
        asked, turns = asyncio.create_task(AsyncMemory(memory).ask(QUESTION)), 0
        while not asked.done():
            await asyncio.sleep(0.01)
            turns += 1
        assert (await asked).citations
        return turns

    with Memory(tmp_path / "notes.lbug", **options(model=Slow())) as memory:
        assert asyncio.run(use(memory)) > 5


def test_errors_are_those_of_the_plain_methods(memory: Memory) -> None:
    async def use() -> None:
        with pytest.raises(DocumentError):
            await AsyncMemory(memory).add("")
        with pytest.raises(QuestionError):
            await all_of(AsyncMemory(memory).stream(" "))
        (outcome,) = await all_of(AsyncMemory(memory).add_many([""]))
        assert isinstance(outcome, Failure)

    asyncio.run(use())


def test_many_questions_at_once_are_answered_as_one_by_one(memory: Memory) -> None:
    memory.add(FOX, key="fox")
    memory.add(RIVER, key="river")
    questions = ["Who built a wooden box?", "Who lost his boat?"] * 4

    async def use() -> list[Answer]:
        return await asyncio.gather(*(AsyncMemory(memory).ask(question) for question in questions))

    assert [answer.text for answer in asyncio.run(use())] == [memory.ask(question).text for question in questions]


class Items:
    """Numbers, made slowly; knows when it was closed, and whether two were ever made at once."""

    def __init__(self) -> None:
        self.closed, self.making, self.at_once = threading.Event(), 0, 0

    def each(self, count: int) -> Iterator[int]:
        try:
            for number in range(count):
                self.making += 1
                self.at_once = max(self.at_once, self.making)
                time.sleep(0.02)
                self.making -= 1
                yield number
        finally:
            self.closed.set()


class Numbers:
    """``Items``, awaited."""

    def __init__(self, made: Items) -> None:
        self.wrapped = made

    each = _wrap_in_async_iterator(Items.each)


def test_iteration_that_is_cancelled_is_closed_behind_its_item() -> None:
    made = Items()

    async def use() -> list[int]:
        taken: list[int] = []

        async def take() -> None:
            async for number in Numbers(made).each(1000):
                taken.append(number)

        task = asyncio.create_task(take())
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return taken

    taken = asyncio.run(use())
    assert made.closed.wait(5)
    assert taken == list(range(len(taken)))
    assert len(taken) < 1000
    assert made.at_once == 1


def test_iteration_that_is_left_is_closed() -> None:
    made = Items()

    async def use() -> None:
        items = Numbers(made).each(1000)
        assert await anext(items) == 0
        await items.aclose()  # type: ignore[attr-defined]

    asyncio.run(use())
    assert made.closed.wait(5)


@pytest.mark.parametrize(
    ("awaited", "plain"),
    [
        (AsyncMemory, Memory),
        (AsyncScopedMemory, ScopedMemory),
        (AsyncSession, Session),
        (AsyncMaintenance, Maintenance),
    ],
)
def test_methods_have_the_signatures_of_the_plain_ones(awaited: type, plain: type) -> None:
    methods = public(plain)
    assert set(public(awaited)) == set(methods)
    for name, method in public(awaited).items():
        if name not in ("forget", "scoped", "session"):
            assert inspect.signature(method) == inspect.signature(methods[name])
            assert method.__doc__ == methods[name].__doc__


def test_block_leaves_a_memory_open_that_it_was_given(memory: Memory) -> None:
    async def use() -> None:
        async with AsyncMemory(memory) as awaited:
            await awaited.add(FOX, key="fox")

    asyncio.run(use())
    assert [record.key for record in memory.documents()] == ["fox"]


def test_memory_is_opened_and_closed_by_its_block(tmp_path: Path) -> None:
    async def use() -> list[object]:
        memory = AsyncMemory(tmp_path / "notes.lbug", **options())
        with pytest.raises(SettingsError, match="Expected an open memory"):
            await memory.add(FOX)
        async with memory:
            ann = memory.scoped(user="ann")
            receipt = await ann.add(FOX, key="fox")
            await ann.session().add([{"role": "user", "content": "I found a wooden box."}])
            damages = await memory.maintenance.examine()
            found = await ann.search(QUESTION)
            return [receipt.key, damages, bool(found), len(await ann.forget()), await memory.documents()]

    assert asyncio.run(use()) == ["fox", [], True, 2, []]
