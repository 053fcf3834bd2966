"""Compression with fake losses: a token is less expected if no token before it is the same."""

from __future__ import annotations

from collections.abc import Sequence

import all_strategies  # noqa: F401 - with it the fakes have losses of tokens
import numpy as np
import pytest
from hand_made import reading_context, segment
from hypothesis import given
from hypothesis import strategies as st
from tables import table

from memgraph_rag.contracts import Strategy
from memgraph_rag.systems.baselines.compression import compress_in_order, divide_tokens
from memgraph_rag.systems.baselines.llmlingua import LLMLingua
from memgraph_rag.systems.baselines.llmlingua2 import LLMLingua2
from memgraph_rag.systems.baselines.longllmlingua import LongLLMLingua
from memgraph_rag.systems.baselines.selective_context import SelectiveContext
from memgraph_rag.testing import FakeSession
from memgraph_rag.types import Limits, Segment, Step, StopReason

QUESTION = "Where did the red fox sleep?"
RAIN = segment("rain", text="It rained for nine days and the river rose.", tokens=10)
FOX = segment("fox", index=1, text="Ann saw where the red fox did sleep, in a barn of Tom.", tokens=14)


class Session(FakeSession):
    """It remembers what was read."""

    texts: list[str]

    def append(self, texts: Sequence[str]):
        self.texts = [*getattr(self, "texts", []), *texts]
        return super().append(texts)


def walk(
    strategy: Strategy, segments: Sequence[Segment], limits: Limits | None = None, *, window: int = 8192
) -> tuple[list[Step], list[str]]:
    """Steps and texts of a reading. The search finds nothing: the whole document is compressed."""
    session = Session(QUESTION, window=window)
    passes = strategy.read(
        QUESTION,
        reading_context(list(segments), session=session, limits=limits),
    )
    return [step for steps in passes for step in steps], getattr(session, "texts", [])


def test_most_predictive_text_comes_first_and_whole_if_it_fits() -> None:
    steps, texts = walk(LongLLMLingua(), [RAIN, FOX])
    assert [step.node.id for step in steps] == ["fox", "rain"]
    assert texts == [FOX.text, RAIN.text]
    assert [step.stop for step in steps] == [None, StopReason.EXHAUSTED]
    assert steps[0].score > steps[1].score


def test_tokens_that_the_question_lets_expect_are_kept_in_order() -> None:
    (step,), (text,) = walk(LongLLMLingua(target_tokens=7, coarse=1.0), [RAIN, FOX])
    assert step.node.id == "fox"
    assert text == "where the red fox did sleep in", "half of the tokens: those of the question, and of what ties it"


def test_compression_keeps_less_of_less_relevant_text() -> None:
    steps, texts = walk(LongLLMLingua(target_tokens=14, spread=0.3), [RAIN, FOX])
    assert [step.node.id for step in steps] == ["fox", "rain"]
    assert len(texts[0]) / len(FOX.text) > len(texts[1]) / len(RAIN.text)
    assert walk(LongLLMLingua(), [RAIN, FOX], Limits(tokens=14))[1] == texts


def test_token_is_compared_with_the_compressed_text_before_it() -> None:
    seen: list[tuple[str, str]] = []

    def values_of(text: str, before: str):
        seen.append((text, before))
        return np.array([(0, 2), (3, 5)]), np.array([2.0, 1.0], np.float32)

    nodes = [segment(str(number), text=text) for number, text in enumerate(("ab cd", "whole", "ef gh"))]
    texts = compress_in_order([(0.0, node) for node in nodes], [0.5, 1.0, 0.5], values_of)

    assert [item.text for item in texts] == ["ab", "whole", "ef"]
    assert seen == [("ab cd", ""), ("ef gh", "ab whole")]


def test_more_lines_than_the_window_holds_end_the_reading() -> None:
    many = [segment(f"s{number}", index=number, text="It rained again.", tokens=4) for number in range(40)]
    steps, _ = walk(LLMLingua(target_tokens=160), many, window=210)
    assert 0 < len(steps) < 40


def test_llmlingua_reads_in_document_order_whatever_the_question() -> None:
    steps, texts = walk(LLMLingua(), [RAIN, FOX])
    assert texts == [RAIN.text, FOX.text]
    assert [step.stop for step in steps] == [None, StopReason.EXHAUSTED]


def test_llmlingua_keeps_the_context_least_expected_and_of_it_the_tokens() -> None:
    again = segment("again", text="It rained and it rained and it rained and rained.", tokens=10)
    (step,), (text,) = walk(LLMLingua(target_tokens=5, coarse=2.0), [again, RAIN])
    assert step.node.id == "rain", "what repeats itself is to be expected"
    assert text == "It rained for nine days", "all tokens are as surprising, so the first half stays"
    (step,), (text,) = walk(LLMLingua(target_tokens=5), [again])
    assert (step.node.id, text) == ("again", "It rained and it ."), "of what came before the first is kept"
    assert walk(LLMLingua(), [again, RAIN], Limits(tokens=5))[0][0].node.id == "rain"


def test_selective_context_keeps_phrases_of_most_information() -> None:
    text = "It rained it rained it rained. Tom found the red fox."
    assert walk(SelectiveContext(target_tokens=6), [segment("a", text=text, tokens=13)])[1] == ["It rained . Tom found"]


def test_llmlingua2_keeps_the_same_share_of_each_segment() -> None:
    _, texts = walk(LLMLingua2(target_tokens=12), [RAIN, FOX])
    assert texts == ["rained nine days river", "Ann saw where the sleep barn"]


@table("strategy", [LongLLMLingua(), LLMLingua(), LLMLingua2(), SelectiveContext()])
def test_search_without_hits_reads_no_node(strategy: Strategy) -> None:
    assert walk(strategy, []) == ([], [])


@given(st.lists(st.integers(1, 400), min_size=1, max_size=20), st.integers(1, 3000), st.floats(0, 0.5))
def test_shares_fall_and_keep_to_the_target(tokens: list[int], target: int, spread: float) -> None:
    shares = divide_tokens(tokens, target, spread)
    assert all(0 <= share <= 1 for share in shares)
    assert shares == sorted(shares, reverse=True)
    kept = sum(share * count for share, count in zip(shares, tokens, strict=True))
    assert kept == pytest.approx(min(target, sum(tokens)), abs=0.1)
