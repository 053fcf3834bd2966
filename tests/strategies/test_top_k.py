"""Test flat retrieval: the results of a search are read in order until the window is full."""

from __future__ import annotations

import pytest
from hand_made import HandMadeSession, read_all, reading_context, segment
from tables import table

from memgraph_rag.errors import StrategyError
from memgraph_rag.strategies import DEFAULT, find_strategy, list_known_strategies
from memgraph_rag.strategies.top_k import TopK
from memgraph_rag.types import Step, StopReason

STRATEGIES = tuple(list_known_strategies())

FOUND = [segment(f"s{i}", f"d{i % 2}") for i in (4, 2, 3, 0, 1, 5)]


def read(strategy: TopK, *, segments=FOUND, window: int = 1_000_000, documents=None) -> list[Step]:
    session = HandMadeSession({"s4": 0.5, "s2": 0.25}, window=window)
    return read_all(strategy, reading_context(segments, session=session, documents=documents))


def test_the_k_best_are_read_best_first_with_score_and_attention() -> None:
    steps = read(TopK(k=3))
    assert [(step.node.id, step.score, step.attention) for step in steps] == [
        ("s4", 1.0, 0.5),
        ("s2", 1 / 2, 0.25),
        ("s3", 1 / 3, 0.0),
    ]
    assert [step.stop for step in steps] == [None, None, StopReason.EXHAUSTED]
    assert [step.p_yes for step in steps] == [None] * 3


def test_reading_stops_before_a_node_that_does_not_fit() -> None:
    steps = read(TopK(), window=14 * 2 + 13)
    assert [step.node.id for step in steps] == ["s4", "s2"]
    assert steps[-1].stop is StopReason.WINDOW


def test_nothing_is_read_where_nothing_fits_or_nothing_is_found() -> None:
    assert read(TopK(), window=13) == []
    assert read(TopK(), segments=[]) == []


def test_search_is_limited_to_documents() -> None:
    assert [step.node.id for step in read(TopK(), documents=["d1"])] == ["s3", "s1", "s5"]


@table("name", STRATEGIES)
def test_strategy_has_the_name_of_its_registration(name: str) -> None:
    assert find_strategy(name).name == name


def test_default_strategy_exists() -> None:
    assert DEFAULT in STRATEGIES


@table("name", ["", "walk-on", "PECAN", None, 3, ["pecan"]])
def test_unknown_strategy_is_refused_with_known_names(name: object) -> None:
    with pytest.raises(StrategyError, match="walk, pecan, qrmem") as raised:
        find_strategy(name)
    assert raised.value.name == name


def test_strategy_object_is_returned_unchanged() -> None:
    own = TopK("graph")
    assert find_strategy(own) is own
