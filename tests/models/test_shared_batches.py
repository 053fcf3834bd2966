"""Passes of several threads as one: each gets what it would get alone, on every architecture, and its own errors."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait

import numpy as np
import pytest
import torch

from memgraph_rag.contracts import ReadingSession
from memgraph_rag.models.engine.attention import AttentionMeter, Spans
from memgraph_rag.models.engine.kv_cache import RowCache
from memgraph_rag.models.engine.shared_batches import Pass, SharedPasses

QUESTIONS = ["What did Peter eat?", "Who went down the lane to gather blackberries, and when was that?", "Why?"]
NODES = [
    "Flopsy, Mopsy and Cotton-tail went down the lane to gather blackberries.",
    "Peter ate lettuces.",
    "Mrs. Rabbit bought a loaf of brown bread and five currant buns, and took a basket and her umbrella.",
]


def read(session: ReadingSession, first: int) -> list[object]:
    """Everything that one session says, of nodes in an order of its own."""
    nodes = NODES[first:] + NODES[:first]
    values: list[object] = [session.append(nodes[:2]), session.append(nodes[2:]), session.probability_of_yes()]
    return [*values, "".join(session.answer(max_tokens=8)), session.tokens_left, session.usage.prompt_tokens]


def test_joint_passes_equal_single_passes(fast, twin, monkeypatch):
    batches: list[int] = []
    run = fast._passes._run

    def counted(passes: Sequence[Pass]) -> Sequence[torch.Tensor]:
        batches.append(len(passes))
        return run(passes)

    sessions = [fast.open_session(question) for question in QUESTIONS]
    assert all(session._cache.get_seq_length() for session in sessions), "each has read its question by itself"
    monkeypatch.setattr(fast._passes, "_run", counted)
    with ThreadPoolExecutor(len(sessions)) as pool:
        with fast._passes.turn:  # let go when all wait, so that at least the first pass is shared
            working = [pool.submit(read, session, first) for first, session in enumerate(sessions)]
            wait_for(fast._passes, len(sessions), working)
        readings = [future.result() for future in working]
    assert batches[0] == len(QUESTIONS)
    for reading, question, first in zip(readings, QUESTIONS, range(len(QUESTIONS)), strict=True):
        with twin.open_session(question) as plain:
            expected = read(plain, first)
        for value, other in zip(reading, expected, strict=True):
            if isinstance(value, str):
                assert value == other
            else:
                np.testing.assert_allclose(value, other, rtol=1e-4, atol=1e-8)


def test_branches_do_not_attend_to_each_other(fast):
    """Two texts behind a prefix, in one pass under ``Pass.among``, against each behind a prefix of its own."""
    prefix, *branches = (fast.tokens.nodes([text])[0] for text in NODES)
    question = Spans([[(0, len(prefix))]], length=len(prefix), device=fast.device)

    def read_behind_prefix(ids: Sequence[int], **options) -> tuple[torch.Tensor, torch.Tensor]:
        cache, meter = RowCache(), AttentionMeter(question)
        fast.read(Pass(prefix, cache))
        logits = fast.read(Pass(ids, cache, meter, logits_of=range(len(ids)), **options))
        return logits, meter.mean()[0]

    branch_of = torch.repeat_interleave(torch.arange(2), torch.tensor([len(branch) for branch in branches]))
    together = read_behind_prefix([*branches[0], *branches[1]], among=(branch_of[:, None] == branch_of).tril())
    alone = [torch.cat(parts) for parts in zip(*map(read_behind_prefix, branches), strict=True)]
    for got, expected in zip(together, alone, strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)


def wait_for(shared: SharedPasses, count: int, working: Sequence[Future]) -> None:
    """Until so many passes wait for their turn."""
    for _ in range(2_000):
        if len(shared._gathered) == count:
            return
        assert not any(future.done() for future in working)
        time.sleep(0.005)
    raise AssertionError(f"{len(shared._gathered)} passes wait, not {count}")


def wanted(tokens: int) -> Pass:
    return Pass(list(range(tokens)), RowCache())


def shared_by(run: Callable[[Sequence[Pass]], Sequence[torch.Tensor]], *passes: Pass) -> list[Future]:
    """What became of passes that waited together."""
    shared = SharedPasses(run)
    with ThreadPoolExecutor(len(passes)) as pool:
        with shared.turn:
            working = []
            for number, pass_ in enumerate(passes, 1):
                working.append(pool.submit(shared, pass_))
                wait_for(shared, number, [])
        wait(working, timeout=20)
    assert shared._gathered == []
    return working


def test_failed_call_harms_no_other_call():
    def run(passes: Sequence[Pass]) -> list[torch.Tensor]:
        if any(len(pass_.ids) == 2 for pass_ in passes):
            raise RuntimeError("two")
        return [torch.tensor(len(pass_.ids)) for pass_ in passes]

    first, second, third = shared_by(run, wanted(1), wanted(2), wanted(3))
    assert (int(first.result()), int(third.result())) == (1, 3)
    with pytest.raises(RuntimeError, match="two"):
        second.result()


def test_interruption_leaves_other_calls_queued():
    calls: list[list[int]] = []

    def run(passes: Sequence[Pass]) -> list[torch.Tensor]:
        calls.append([len(pass_.ids) for pass_ in passes])
        if len(calls) == 1:
            raise KeyboardInterrupt
        return [torch.tensor(len(pass_.ids)) for pass_ in passes]

    ended = shared_by(run, wanted(1), wanted(2), wanted(3))
    errors = [future.exception() for future in ended]
    assert sum(isinstance(error, KeyboardInterrupt) for error in errors) == 1
    results = [int(future.result()) for future, error in zip(ended, errors, strict=True) if error is None]
    interrupted = next(place for place, error in enumerate(errors, 1) if error is not None)
    assert results == [number for number in (1, 2, 3) if number != interrupted]
    assert calls[0] == [1, 2, 3]


def test_joint_pass_has_token_limit():
    sizes: list[int] = []

    def run(passes: Sequence[Pass]) -> list[torch.Tensor]:
        sizes.append(sum(len(pass_.ids) for pass_ in passes))
        return [torch.tensor(0) for _ in passes]

    for future in shared_by(run, wanted(1500), wanted(400), wanted(3000), wanted(10), wanted(2000)):
        future.result()
    assert sizes == [1900, 3000, 2010]
