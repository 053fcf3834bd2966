"""Passages that hold a query word for word, or whose heading says the same, come first."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from tables import table

from memgraph_rag.search.verbatim import order_verbatim
from memgraph_rag.types import Evidence, Segment


def _results(*texts: str) -> list[Evidence]:
    return [
        Evidence(Segment(str(place), "d", place, text, 0, len(text), 9), "d", 1.0 / (place + 1), {})
        for place, text in enumerate(texts)
    ]


def _order(query: str, *texts: str) -> list[int]:
    return [int(item.segment.id) for item in order_verbatim(query, _results(*texts))]


@table(
    ("query", "texts", "order"),
    [
        ("The keeper of the mill", ["A mill and its keeper.", "Ann is the keeper, of the mill!"], [1, 0]),
        ("mill keeper", ["A keeper.", "The mill keeper is Ann."], [0, 1]),
        ("Mill `keepers`", ["The mill keepers are two.", "# Mill keepers { #keepers }\n\nTwo."], [1, 0]),
        ("all the mill keepers", ["# Mills", "So all the mill keepers left.", "# All the mill keepers"], [2, 1, 0]),
        ("the **old** mill keeper", ["None.", "See the [old](a.md) mill keeper."], [1, 0]),
        ("How do I test a mill?", ["A mill, tested.", "## Testing the mills"], [1, 0]),
        ("Wie teste ich Mühlen?", ["Mühlen.", "## Mühlen testen"], [1, 0]),
        ("Testing a mill", ["# Tests of mills", "# Testing a mill"], [1, 0]),
        ("What is the mill?", ["# The old mill", "# Rain"], [0, 1]),
        ("守塔人再也", ["暴风雨", "守塔人再也点不亮那盏灯"], [1, 0]),
        ("the mill keep", ["Rain.", "The mill keeper."], [0, 1]),
        ("?", ["?", "a"], [0, 1]),
    ],
)
def test_passages_that_hold_the_query_come_first(query: str, texts: list[str], order: list[int]) -> None:
    assert _order(query, *texts) == order


def test_turn_that_only_asks_the_query_is_not_moved() -> None:
    """A user asks a second time: the first question is a stored turn, which tells nothing."""
    texts = [
        "user (2026-11-28T10:00:00+00:00): Bella fears thunder.",
        "user (2026-11-28T10:01:00+00:00): What does Bella fear?",
    ]
    turns = [replace(item, segment=replace(item.segment, speaker="user")) for item in _results(*texts)]

    assert order_verbatim("What does Bella fear?", turns) == turns


def test_scores_belong_to_places() -> None:
    ordered = order_verbatim("keeper of the mill", _results("Rain.", "Sun.", "A keeper of the mill."))
    assert [item.score for item in ordered] == [1.0, 1 / 2, 1 / 3]
    assert [item.segment.id for item in ordered] == ["2", "0", "1"]


@given(st.lists(st.sampled_from(["rain", "the old mill", "# The old mill\n", "snow"]), max_size=20))
def test_other_passages_keep_their_order(texts: list[str]) -> None:
    order = _order("the old mill", *texts)
    others = [place for place in order if "mill" not in texts[place]]
    assert sorted(order) == list(range(len(texts)))
    assert others == sorted(others)
