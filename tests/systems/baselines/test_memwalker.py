"""MemWalker on a tree where the right way is known: down, back up, and where it ends."""

from __future__ import annotations

from collections.abc import Sequence

from hand_made import HandMadeGraph, HandMadeSession, ids, read_all, reading_context, segment
from hypothesis import given
from hypothesis import strategies as st

from memgraph_rag.systems.baselines.memwalker import MemWalker
from memgraph_rag.types import Annotation, Segment, Step, StopReason

SEGMENTS = [segment(f"s{number}", index=number) for number in range(6)]
TREE = [
    *(Annotation(f"part {number}", (f"s{number}",), "summary", {"level": 1, "parent": parent})
      for number, parent in ((0, 3), (1, 3), (2, 4))),
    Annotation("left", (), "summary", {"level": 2, "parent": 5}),
    Annotation("right", (), "summary", {"level": 2, "parent": 5}),
    Annotation("root", (), "summary", {"level": 3, "parent": -1}),
]  # fmt: skip
"""Parts 0 and 1 are below "left", part 2 below "right"."""
YES, NO = "-2 in a barn", "-1 it is not told"


class GraphWithTree(HandMadeGraph):
    """A graph in which document ``d`` has a tree."""

    def __init__(self, nodes: Sequence[Segment], tree: Sequence[Annotation]) -> None:
        super().__init__(nodes)
        self._tree = tree

    def annotations(self, document_id: str) -> list[Annotation]:
        own = self._tree if document_id == "d" else ()
        stored = [(item.text, item.segment_ids, item.kind, item.properties) for item in own]
        other = Annotation("A header.", (), layer="context", document_id=document_id)
        return [
            other,
            *(Annotation(*fields, f"a{i}", document_id, "memory_tree", i) for i, fields in enumerate(stored)),
        ]


def walk(
    session: HandMadeSession,
    strategy: MemWalker | None = None,
    *,
    nodes: Sequence[Segment] = SEGMENTS[:3],
    tree: Sequence[Annotation] = TREE,
    documents: Sequence[str] | None = None,
) -> list[Step]:
    context = reading_context(nodes, graph=GraphWithTree(nodes, tree), session=session, documents=documents)
    return read_all(strategy or MemWalker(), context)


def test_walk_follows_model_until_a_text_answers() -> None:
    session = HandMadeSession(yes=[0.4], replies=["The left tells of foxes. Action: 1", "Action: 2", YES])
    (step,) = walk(session)

    assert (step.node.id, step.p_yes, step.stop, step.reason) == ("s1", 0.4, StopReason.ANSWERABLE, "part 1")
    assert "1. left\n2. right\n" in session.requests[0][0]
    assert "1. part 0\n2. part 1\n" in session.requests[1][0]
    assert "root\nleft\n" in session.requests[1][0], "the working memory"


def test_memwalker_goes_back_up_from_text_without_answer() -> None:
    session = HandMadeSession(replies=["1", "1", NO, NO, NO])
    steps = walk(session)

    assert ids(steps) == ["s0", "s1", "s2"], "a single way is taken without a question"
    assert steps[-1].stop is None
    assert len(session.requests) == 5


def test_model_turns_back_where_no_summary_helps() -> None:
    session = HandMadeSession(replies=["Action: 1", "Neither. Action: -1", YES])

    assert ids(walk(session)) == ["s2"]
    assert walk(HandMadeSession(replies=["Action: -1"])) == []


def test_unreadable_action_is_asked_again_then_the_first_way_is_taken() -> None:
    session = HandMadeSession(replies=["7", "the second", "2", YES])
    assert ids(walk(session)) == ["s2"]
    assert [warmth for _, warmth, _ in session.requests] == [0.0, 0.7, 0.7, 0.0]
    assert ids(walk(HandMadeSession()))[0] == "s0"


def test_parts_of_the_paper_can_be_left_out() -> None:
    session = HandMadeSession(replies=["1", "2", YES])
    walk(session, MemWalker(tells_reason=False, keeps_summaries=False))

    assert not any("root" in request or "compare" in request for request, *_ in session.requests)
    assert set(MemWalker.ablations) == {"without_reasoning", "without_working_memory"}


def test_walk_ends_after_most_texts() -> None:
    steps = walk(HandMadeSession(), MemWalker(leaves=2))
    assert ids(steps) == ["s0", "s1"]
    assert steps[-1].stop is StopReason.MAX_ROUNDS


def test_text_that_does_not_fit_is_not_read() -> None:
    assert ids(walk(HandMadeSession(window=2 * 14 + 2))) == ["s0", "s1"]
    assert walk(HandMadeSession(window=3)) == []


def test_part_of_several_segments_is_read_at_once() -> None:
    tree = [Annotation("all", ("s0", "s1"), "summary", {"level": 1, "parent": -1})]
    first, second = walk(HandMadeSession(replies=[YES]), tree=tree)

    assert (first.node.id, first.stop, second.node.id, second.stop) == ("s0", None, "s1", StopReason.ANSWERABLE)


def test_document_without_a_tree_is_walked_by_first_words() -> None:
    nodes = [segment(f"e{number}", "e", index=number) for number in range(9)]
    session = HandMadeSession(replies=["2", "1", YES])

    assert ids(walk(session, nodes=nodes)) == ["e5"]
    assert "1. text of e0\n2. text of e5\n" in session.requests[0][0]


def test_documents_have_a_node_above_them() -> None:
    nodes = [*SEGMENTS[:3], segment("e0", "e")]
    session = HandMadeSession(replies=["2", YES])

    assert ids(walk(session, nodes=nodes)) == ["e0"]
    assert "1. root\n2. text of e0\n" in session.requests[0][0]
    assert ids(walk(HandMadeSession(), nodes=nodes, documents=["e"])) == ["e0"]
    assert walk(HandMadeSession(), nodes=[]) == []


@given(st.lists(st.integers(-1, 9), max_size=40))
def test_whatever_is_said_each_part_is_read_at_most_once(numbers: list[int]) -> None:
    read = ids(walk(HandMadeSession(replies=[str(number) for number in numbers]), tree=[], nodes=SEGMENTS))
    assert len(read) == len(set(read))
