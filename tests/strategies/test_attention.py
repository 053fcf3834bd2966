"""Test strategies with a session without attention: they refuse with advice, or read without attention."""

from __future__ import annotations

import pytest
from hand_made import HandMadeSession, reading_context, segment
from tables import table

from memgraph_rag.contracts import ReadingContext
from memgraph_rag.errors import StrategyError
from memgraph_rag.strategies import find_strategy, list_known_strategies

STRATEGIES = tuple(list_known_strategies())

NEED_ATTENTION = {"pecan", "llmlingua", "longllmlingua", "selective_context"}


def context(*, attends: bool) -> ReadingContext:
    nodes = [segment("s0", "d", index=0), segment("s1", "d", index=1)]
    return reading_context(nodes, session=HandMadeSession(yes=[0.9], attends=attends))


@table("name", sorted(NEED_ATTENTION))
def test_strategy_that_needs_attention_refuses_without_it(name: str) -> None:
    with pytest.raises(StrategyError, match=r'reader="auto".*strategy="walk"') as caught:
        next(iter(find_strategy(name).read("Where is the fox?", context(attends=False))))
    assert caught.value.strategy == name


@table("name", ["walk", "top_k", "full_context", "qrmem"])
def test_strategy_without_need_of_attention_reads(name: str) -> None:
    steps = next(iter(find_strategy(name).read("Where is the fox?", context(attends=False))))
    assert [step.attention for step in steps] == [0.0] * len(steps)
