"""Rows of several threads in shared passes: each gets what it gets alone, on every architecture, and its own errors."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch
from architectures import write_checkpoint
from tapes import Taped
from twins import PROMPTS

from memgraph_rag.models.engine import shared_writing
from memgraph_rag.models.engine.cuda.cuda_graphs import GraphedDecoding
from memgraph_rag.models.engine.grammar import Grammars
from memgraph_rag.models.engine.kv_cache import RowCache
from memgraph_rag.models.engine.language_model import TransformersModel
from memgraph_rag.types import Generation, Prompt

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 12}, "kinds": {"type": "array", "items": {"enum": ["Yes"]}}},
    "required": ["name", "kinds"],
    "additionalProperties": False,
}
CALLS = [
    {"prompts": PROMPTS, "max_tokens": 24},
    {"prompts": [Prompt("Say no.", ("No.",)), Prompt("Say nothing.", ())], "max_tokens": 40},
    {"prompts": PROMPTS[:2], "max_tokens": 30, "schema": SCHEMA},
]
SECONDS = 60.0  # after which a test that waits has failed


@pytest.fixture
def endless(fast, monkeypatch) -> TransformersModel:
    """A model of which every row comes to its limit, unless its schema ends it."""
    monkeypatch.setattr(fast.tokens, "ends", frozenset())
    monkeypatch.setattr(fast, "_grammars", Grammars(fast.tokens, fast._config.vocab_size))  # they know the ends
    return fast


@pytest.fixture(scope="module")
def llama(tmp_path_factory) -> TransformersModel:
    model = TransformersModel(
        write_checkpoint("llama", tmp_path_factory.mktemp("llama")), dtype="float32", device="cpu"
    )
    model.tokens.ends = frozenset()
    return model


def count_passes(model: TransformersModel, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The rows of each pass from now on."""
    passes: list[int] = []
    feed_back = model.feed_back

    def counted(fed: Sequence[Sequence[int]], *rest: object) -> tuple[torch.Tensor, torch.Tensor]:
        passes.append(len(fed))
        return feed_back(fed, *rest)

    monkeypatch.setattr(model, "feed_back", counted)
    return passes


def start_together(pool: ThreadPoolExecutor, model: TransformersModel, calls: Sequence[dict]) -> list[Future]:
    """The calls, each in a thread; no pass is run before all are there."""
    with model._writing._between:
        started = [pool.submit(model.generate, **call) for call in calls]
        wait_until(lambda: len(model._writing._calls) == len(calls))
    return started


def wait_until(is_so: Callable[[], bool]) -> None:
    pause = threading.Event()
    for _ in range(int(SECONDS / 0.005)):
        if is_so():
            return
        pause.wait(0.005)
    raise AssertionError("Expected it to come true, got none of it in time.")


def assert_same(together: Sequence[Generation], alone: Sequence[Generation]) -> None:
    for generation, other in zip(together, alone, strict=True):
        assert (generation.text, generation.finish) == (other.text, other.finish)
        np.testing.assert_array_equal(generation.offsets, other.offsets)
        np.testing.assert_allclose(generation.attention, other.attention, rtol=1e-4, atol=1e-7)
        assert replace(generation.usage, seconds=0) == replace(other.usage, seconds=0)


def assert_idle(model: TransformersModel) -> None:
    writing = model._writing
    assert (writing._calls, writing._active, writing._past.lengths, writing._past.nbytes) == ({}, [], [], 0)


@pytest.mark.parametrize("is_captured", [False, True])
def test_joint_writing_equals_single_writing(endless, monkeypatch, is_captured) -> None:
    if is_captured:
        monkeypatch.setattr(endless, "_decoding", GraphedDecoding(Taped()))
    passes = count_passes(endless, monkeypatch)
    alone = [endless.generate(**call) for call in CALLS]
    of_each_alone = len(passes)
    passes.clear()
    with ThreadPoolExecutor(len(CALLS)) as pool:
        together = [call.result(SECONDS) for call in start_together(pool, endless, CALLS)]
    for of_call, expected in zip(together, alone, strict=True):
        assert_same(of_call, expected)
    assert passes[0] == sum(len(call["prompts"]) for call in CALLS)
    assert len(passes) < 0.7 * of_each_alone
    assert_idle(endless)


def test_call_joins_a_running_batch(llama, monkeypatch) -> None:
    first, second = CALLS[:2]
    alone = [llama.generate(**call) for call in (first, second)]
    passes = count_passes(llama, monkeypatch)
    with ThreadPoolExecutor(1) as pool:
        others: list[Future] = []

        def stop(*_: object) -> bool:
            return False

        feed_back = llama.feed_back

        def begin_other(*given: object) -> tuple[torch.Tensor, torch.Tensor]:
            if len(passes) == 3 and not others:
                others.append(pool.submit(llama.generate, **second))
                wait_until(lambda: len(llama._writing._calls) == 2)
            return feed_back(*given)

        monkeypatch.setattr(llama, "feed_back", begin_other)
        assert_same(llama.generate(**first, stop=stop), alone[0])
        assert_same(others[0].result(SECONDS), alone[1])
    assert passes[:6] == [3, 3, 3, 3, 5, 5]


def test_error_of_stop_reaches_only_its_call(llama) -> None:
    quiet = {"prompts": PROMPTS[:2], "max_tokens": 60}
    alone = llama.generate(**quiet)
    threads: set[str] = set()

    def fail(*_: object) -> bool:
        threads.add(threading.current_thread().name)
        raise LookupError("of the first")

    loud = {"prompts": PROMPTS, "max_tokens": 60, "schema": {"type": "array", "items": {"enum": [[]]}}, "stop": fail}
    with ThreadPoolExecutor(2, "caller") as pool:
        first, second = start_together(pool, llama, [loud, quiet])
        assert_same(second.result(SECONDS), alone)
        with pytest.raises(LookupError, match="of the first"):
            first.result(SECONDS)
    assert len(threads) == 1
    assert_idle(llama)


def test_error_of_progress_reaches_only_its_call(llama) -> None:
    def fail(_: str, done: int, __: int) -> None:
        if done:
            raise LookupError("of the first")

    short = {"prompts": PROMPTS, "max_tokens": 4, "progress": fail}
    with ThreadPoolExecutor(2) as pool:
        first, second = start_together(pool, llama, [short, CALLS[1]])
        assert_same(second.result(SECONDS), llama.generate(**CALLS[1]))
        with pytest.raises(LookupError, match="of the first"):
            first.result(SECONDS)
    assert_idle(llama)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError()])
@pytest.mark.parametrize("is_fed", [False, True])
def test_interrupted_pass_keeps_rows_of_others(llama, monkeypatch, error, is_fed) -> None:
    alone = [llama.generate(**call) for call in CALLS]
    feed_back, passes = llama.feed_back, []

    def interrupted(*given: object) -> tuple[torch.Tensor, torch.Tensor]:
        passes.append(1)
        if len(passes) == 5:
            if is_fed:
                feed_back(*given)
            raise error
        return feed_back(*given)

    monkeypatch.setattr(llama, "feed_back", interrupted)
    with ThreadPoolExecutor(len(CALLS)) as pool:
        calls = start_together(pool, llama, CALLS)
        errors = [call.exception(SECONDS) for call in calls]
    assert sorted(map(repr, errors)) == sorted([repr(error), "None", "None"])
    for call, expected in zip(calls, alone, strict=True):
        if call.exception() is None:
            assert_same(call.result(), expected)
    assert_idle(llama)


def test_pass_runs_while_another_thread_is_busy(llama) -> None:
    alone, is_over = llama.generate(**CALLS[0]), threading.Event()
    waiting = {"prompts": PROMPTS, "max_tokens": 40, "schema": {"type": "array", "items": {"enum": [[]]}}}
    expected = llama.generate(**waiting, stop=lambda *_: False)
    with ThreadPoolExecutor(2) as pool:
        slow, quick = start_together(pool, llama, [{**waiting, "stop": lambda *_: not is_over.wait(SECONDS)}, CALLS[0]])
        assert_same(quick.result(SECONDS), alone)
        assert not slow.done()
        is_over.set()
        assert_same(slow.result(SECONDS), expected)
    assert_idle(llama)


def test_room_is_for_the_call_with_the_fewest_rows(llama, monkeypatch) -> None:
    monkeypatch.setattr(shared_writing, "_MOST_ROWS", 2)
    finished: list[str] = []
    many = {"prompts": [*PROMPTS, *PROMPTS], "max_tokens": 12, "progress": lambda *_: finished.append("many")}
    one = {"prompts": PROMPTS[:1], "max_tokens": 12, "progress": lambda *_: finished.append("one")}
    alone = [llama.generate(**call) for call in (many, one)]
    finished.clear()
    with ThreadPoolExecutor(2) as pool:
        together = [call.result(SECONDS) for call in start_together(pool, llama, [many, one])]
    for of_call, expected in zip(together, alone, strict=True):
        assert_same(of_call, expected)
    assert finished.index("one", finished.index("one") + 1) < 6
    assert_idle(llama)


def test_callback_may_write(llama) -> None:
    inner: list[Generation] = []

    def write(_: str, done: int, __: int) -> None:
        if done == 1:
            inner.extend(llama.generate(**CALLS[1]))

    outer = llama.generate(**CALLS[0], progress=write)
    assert_same(outer, llama.generate(**CALLS[0]))
    assert_same(inner, llama.generate(**CALLS[1]))
    assert_idle(llama)


def test_room_of_finished_rows_is_freed(llama, monkeypatch) -> None:
    """A long row, then many short ones: rows of the many times slots of the long one would be too much."""
    long, short = Prompt("Say.", ("word " * 600,)), [Prompt("Say.", (f"word {n}",)) for n in range(4)]
    calls = [{"prompts": [long], "max_tokens": 2}, {"prompts": short, "max_tokens": 60}]
    alone = [llama.generate(**call) for call in calls]
    monkeypatch.setattr(shared_writing, "_MOST_BATCH_TOKENS", 1500)
    trimmed = []
    trim = RowCache.trim
    monkeypatch.setattr(RowCache, "trim", lambda self: (trim(self), trimmed.append(self.count_room(0, 0))))
    with ThreadPoolExecutor(2) as pool:
        together = [call.result(SECONDS) for call in start_together(pool, llama, calls)]
    for of_call, expected in zip(together, alone, strict=True):
        assert_same(of_call, expected)
    assert trimmed
    assert_idle(llama)
