"""MeMWalker on a summary graph where the right way is known: down, back up, and where it ends."""

from __future__ import annotations

from collections.abc import Sequence

from hand_made import HandMadeGraph, HandMadeSearch, HandMadeSession, OneVector, ids, point, segment
from hypothesis import given
from hypothesis import strategies as st
from tables import table

from memgraph_rag.contracts import ReadingContext
from memgraph_rag.systems.baselines.memwalker import MemWalker
from memgraph_rag.types import Limits, Node, Step, StopReason, Summarizes

NODES: list[Node] = [
    point("left", level=2, index=0),
    point("right", level=2, index=1),
    point("low", index=0),
    point("lower", index=1),
    *(segment(f"s{number}", index=number) for number in range(4)),
]
EDGES = [
    Summarizes("left", "low", 1.0),
    Summarizes("right", "low", 0.4),
    Summarizes("right", "lower", 0.6),
    Summarizes("low", "s0", 0.7),
    Summarizes("low", "s1", 0.3),
    Summarizes("lower", "s2", 0.9),
    Summarizes("lower", "s3", 0.1),
]


def walk(
    session: HandMadeSession,
    strategy: MemWalker | None = None,
    *,
    nodes: Sequence[Node] = NODES,
    edges: Sequence[Summarizes] = EDGES,
    documents: Sequence[str] | None = None,
) -> list[Step]:
    passes = (strategy or MemWalker()).read(
        "Where is the fox?",
        ReadingContext(
            graph=HandMadeGraph(nodes, edges),
            search=HandMadeSearch([node for node in nodes if node.level == 0]),
            session=session,
            embedder=OneVector(),
            limits=Limits(),
            documents=documents,
        ),
    )
    steps = [step for of_pass in passes for step in of_pass]
    assert session.read == [step.node.id for step in steps], "told, and no more"
    return steps


def test_it_goes_where_the_model_says_until_a_text_answers() -> None:
    session = HandMadeSession(yes=[0.9], replies=["2", "The first. 1", "2."])
    steps = walk(session)
    assert ids(steps) == ["right", "lower", "s3"]
    assert [step.p_yes for step in steps] == [None, None, 0.9], "only a text is asked of"
    assert [step.stop for step in steps] == [None, None, StopReason.ANSWERABLE]
    assert "1. text of lower\n2. text of low\n" in session.requests[1][0], "by weight"


def test_a_text_that_does_not_answer_sends_it_back_and_all_is_read_once() -> None:
    steps = walk(HandMadeSession(replies=["1", "1", "1", "1"]))
    assert ids(steps) == ["left", "low", "s0", "s1", "right", "lower", "s2", "s3"], "low stands below both"
    assert steps[-1].stop is StopReason.EXHAUSTED


def test_unlisted_number_is_asked_again_then_the_first_node_is_read() -> None:
    session = HandMadeSession(yes=[0.9], replies=["7", "the second", "2"])
    assert ids(walk(session))[0] == "right"
    assert [warmth for _, warmth, _ in session.requests[:3]] == [0.0, 0.7, 0.7]
    assert ids(walk(HandMadeSession(yes=[0.9])))[0] == "left"


def test_of_many_the_best_of_each_handful_meet_again() -> None:
    many = [segment(f"s{number}", index=number) for number in range(7)]
    session = HandMadeSession(yes=[0.9], replies=["3", "2", "2"])
    assert ids(walk(session, MemWalker(shown=3), nodes=many, edges=[])) == ["s4"]
    assert "1. text of s2\n2. text of s4\n3. text of s6\n" in session.requests[2][0]


def test_it_ends_after_so_many_texts() -> None:
    steps = walk(HandMadeSession(), MemWalker(leaves=2))
    assert ids(steps) == ["left", "low", "s0", "s1"]
    assert steps[-1].stop is StopReason.MAX_ROUNDS


def test_what_does_not_fit_is_not_read() -> None:
    steps = walk(HandMadeSession(window=3 * 14 + 2))
    assert ids(steps) == ["left", "low", "s0"]
    assert steps[-1].stop is StopReason.WINDOW
    assert walk(HandMadeSession(window=3)) == []


def test_a_list_is_no_longer_than_the_window() -> None:
    session = HandMadeSession(window=128 + 20, yes=[0.9] * 9)
    walk(session)
    assert session.requests == []


def test_an_empty_memory_gives_nothing_to_read() -> None:
    assert walk(HandMadeSession(), nodes=[], edges=[]) == []


def test_only_the_documents_asked_for() -> None:
    nodes = [segment("a", "d1"), segment("b", "d2")]
    assert ids(walk(HandMadeSession(), nodes=nodes, edges=[], documents=["d2"])) == ["b"]


@given(
    st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20),
    st.lists(st.integers(0, 9), max_size=40),
    st.integers(1, 3),
)
def test_whatever_is_said_each_node_is_read_at_most_once(
    pairs: list[tuple[int, int]], numbers: list[int], shown: int
) -> None:
    edges = [Summarizes(NODES[a].id, NODES[b].id, 0.5) for a, b in pairs if NODES[a].level > NODES[b].level]
    read = ids(walk(HandMadeSession(replies=[str(number) for number in numbers]), MemWalker(shown=shown), edges=edges))
    assert len(read) == len(set(read))
    assert {"left", "right"} <= set(read), "there is always a way"


@table("shown", [1, 8])
def test_one_node_is_read_without_a_question(shown: int) -> None:
    session = HandMadeSession()
    assert ids(walk(session, MemWalker(shown=shown), nodes=[segment("only")], edges=[])) == ["only"]
    assert session.requests == []
