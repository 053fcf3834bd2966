"""Methods as coroutines: the loop goes on, they give what the plain ones give, and what is cancelled is closed."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from memories import FOX, QUESTION, RIVER, options

from memgraph_rag import Answer, Failure, Memory, Receipt
from memgraph_rag.errors import DocumentError, QuestionError
from memgraph_rag.operations.asynchronous import awaited, iterated
from memgraph_rag.testing import FakeLanguageModel


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "notes.lbug", **options()) as opened:
        yield opened


async def all_of(items: AsyncIterator[object]) -> list[object]:
    return [item async for item in items]


def test_what_comes_is_what_the_plain_methods_give(memory: Memory) -> None:
    async def use() -> tuple[Receipt, list[object], list[object], Answer, list[object]]:
        receipt = await memory.aadd(FOX, key="fox")
        outcomes = await all_of(memory.aadd_many([RIVER]))
        return (
            receipt,
            outcomes,
            await memory.asearch(QUESTION, k=2),
            await memory.aask(QUESTION, strategy="top_k"),
            await all_of(memory.astream(QUESTION)),
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
        asked, turns = asyncio.create_task(memory.aask(QUESTION)), 0
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
            await memory.aadd("")
        with pytest.raises(QuestionError):
            await all_of(memory.astream(" "))
        (outcome,) = await all_of(memory.aadd_many([""]))
        assert isinstance(outcome, Failure)

    asyncio.run(use())


def test_many_questions_at_once_are_answered_as_one_by_one(memory: Memory) -> None:
    memory.add(FOX, key="fox")
    memory.add(RIVER, key="river")
    questions = ["Who built a wooden box?", "Who lost his boat?"] * 4

    async def use() -> list[Answer]:
        return await asyncio.gather(*(memory.aask(question) for question in questions))

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


def test_iteration_that_is_cancelled_is_closed_behind_its_item() -> None:
    made = Items()

    async def use() -> list[int]:
        taken: list[int] = []

        async def take() -> None:
            async for number in iterated(made.each)(1000):
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
        items = iterated(made.each)(1000)
        assert await anext(items) == 0
        await items.aclose()  # type: ignore[attr-defined]

    asyncio.run(use())
    assert made.closed.wait(5)


def test_name_signature_and_docstring_are_those_of_the_method() -> None:
    assert inspect.signature(Memory.aask) == inspect.signature(Memory.ask)
    assert inspect.signature(iterated(Items.each)) == inspect.signature(Items.each)
    assert Memory.asearch.__doc__ == Memory.search.__doc__
    assert inspect.iscoroutinefunction(awaited(Memory.ask))
    assert inspect.iscoroutinefunction(Memory.aask)
