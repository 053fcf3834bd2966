"""Sliding window: the window of the highest P(Yes) is what stays in the session."""

from __future__ import annotations

from itertools import pairwise

from hand_made import HandMadeSession, ids, read_all, reading_context, segment
from hypothesis import given
from hypothesis import strategies as st

from memgraph_rag.strategies.token_budget import cost
from memgraph_rag.systems.baselines.sliding_window import SlidingWindow, windows
from memgraph_rag.types import Limits, Step, StopReason

NODES = [segment(f"s{i}", index=i) for i in range(5)]
THREE_WINDOWS = SlidingWindow(window_tokens=28)  # s0 s1, s1 s2, s2 s3, s3 s4: a node costs 14


def read(
    yes: dict[str, float], *, strategy: SlidingWindow = THREE_WINDOWS, nodes=NODES, limits: Limits | None = None
) -> tuple[list[Step], HandMadeSession]:
    session = _SureOf(yes)
    return read_all(strategy, reading_context(nodes, session=session, limits=limits)), session


class _SureOf(HandMadeSession):
    """Its P(Yes) is that of the last node that was read."""

    def __init__(self, yes: dict[str, float]) -> None:
        super().__init__({"s2": 0.5})
        self._sure = yes

    def probability_of_yes(self) -> float:
        return self._sure.get(self.read[-1], 0.0)


def test_window_that_the_model_is_surest_of_is_read() -> None:
    steps, _ = read({"s2": 0.9, "s4": 0.4})
    assert ids(steps) == ["s1", "s2"]
    assert [(step.score, step.attention, step.p_yes, step.stop) for step in steps] == [
        (0.9, 0.0, None, None),
        (0.9, 0.5, 0.9, StopReason.EXHAUSTED),
    ]


def test_first_of_equal_windows_stays() -> None:
    assert ids(read({})[0]) == ["s0", "s1"]
    assert read({}, nodes=[])[0] == []
    assert read({}, strategy=SlidingWindow(window_tokens=13))[0] == [], "no segment fits"


def test_budget_holds_the_best_window_besides() -> None:
    steps, session = read({"s4": 1.0, "s1": 0.2}, limits=Limits(tokens=5 + 3 * 28))
    assert ids(steps) == ["s0", "s1"]
    assert steps[-1].stop is StopReason.MAX_TOKENS
    assert session.usage.prompt_tokens <= 5 + 3 * 28
    assert ids(read({}, limits=Limits(nodes=1))[0]) == ["s0"]


@given(st.lists(st.integers(1, 50), max_size=20), st.integers(1, 80))
def test_windows_hold_every_segment_that_fits_and_overlap(tokens: list[int], most: int) -> None:
    nodes = [segment(f"n{i}", index=i, tokens=count) for i, count in enumerate(tokens)]
    runs = list(windows(nodes, most))
    assert all(sum(map(cost, run)) <= most for run in runs)
    fitting = [node for node in nodes if cost(node) <= most]
    assert list(dict.fromkeys(node.id for run in runs for node in run)) == [node.id for node in fitting]
    for before, after in pairwise(runs):
        assert after[0] is before[-1] or cost(before[-1]) + cost(after[0]) > most
