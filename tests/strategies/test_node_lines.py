"""Test that a node is read after its document's title if the title fits, and never in part."""

from __future__ import annotations

from dataclasses import replace

from hand_made import HandMadeGraph, HandMadeSearch, HandMadeSession, OneVector, point, segment
from hypothesis import example, given
from hypothesis import strategies as st
from tables import table

from memgraph_rag.contracts import ReadingContext
from memgraph_rag.lexical.markdown import strip_markup
from memgraph_rag.strategies.node_lines import NodeLines
from memgraph_rag.strategies.token_budget import cost
from memgraph_rag.types import Limits, Node

TITLES = {"a": "The Barn", "b": "The\nRiver", "c": ""}
BARN = segment("s0", "a", text="A fox slept there.\nIt was red.")


def lines_over(nodes: list[Node], *, window: int = 10_000, limits: Limits | None = None) -> NodeLines:
    return NodeLines(lines_context(nodes, window=window, limits=limits))


def lines_context(nodes: list[Node], *, window: int, limits: Limits | None = None) -> ReadingContext:
    graph = HandMadeGraph(nodes, titles=TITLES)
    search = HandMadeSearch([])
    session = HandMadeSession({}, window=window)
    return ReadingContext(graph, search, session, OneVector(), limits or Limits())


def test_node_is_read_under_its_title_on_one_line() -> None:
    nodes = [BARN, point("p0", "b"), segment("s2", "c", text="No title.")]
    assert lines_over(nodes).write(nodes) == [
        "The Barn: A fox slept there. It was red.",
        "The River: text of p0",
        "No title.",
    ]


def test_adjacent_nodes_of_document_share_one_title() -> None:
    nodes = [BARN, point("p0", "a"), segment("s2", "b", text="Water."), segment("s3", "a", text="Hay.")]
    lines = lines_over(nodes)
    expected = ["The Barn: A fox slept there. It was red.", "text of p0", "The River: Water.", "The Barn: Hay."]
    assert lines.write(nodes) == expected
    one_by_one = [lines.write([node], after=before)[0] for before, node in zip([None, *nodes], nodes, strict=False)]
    assert one_by_one == expected


def test_shorter_text_is_read_under_the_same_title() -> None:
    assert lines_over([BARN]).write([BARN], texts=["A fox\nslept."]) == ["The Barn: A fox slept."]


@table("text", ["The Barn\n\nA fox.", "# The barn\nA fox.", "**The Barn** is old."])
def test_text_that_begins_with_its_title_gets_no_second_one(text: str) -> None:
    node = segment("s0", "a", text=text)
    assert lines_over([node]).write([node]) == [" ".join(text.replace("**", "").split())]


@table("text", ["The Barnacle is old.", "In The Barn.", "The"])
def test_text_that_begins_otherwise_gets_its_title(text: str) -> None:
    node = segment("s0", "a", text=text)
    assert lines_over([node]).write([node]) == [f"The Barn: {text}"]


@table(
    ("text", "line"),
    [
        ("Ann (8 May 2023): I saw a fox.", "Ann (8 May 2023): I saw a fox."),
        ("It slept in the hay.", "Ann, 8 May 2023: It slept in the hay."),
    ],
)
def test_rest_of_a_long_turn_is_read_under_speaker_and_day(text: str, line: str) -> None:
    node = replace(segment("s0", "a", text=text), speaker="Ann", time="2023-05-08T13:56:00")
    assert lines_over([node]).write([node]) == [line]


def test_title_is_left_out_if_window_or_budget_is_full() -> None:
    needed = cost(BARN) + len("The Barn: ")
    bare = ["A fox slept there. It was red."]
    titled = ["The Barn: " + bare[0]]
    assert lines_over([BARN], window=needed).write([BARN]) == titled
    assert lines_over([BARN], window=needed - 1).write([BARN]) == bare
    before = HandMadeSession({}).usage.prompt_tokens
    assert lines_over([BARN], limits=Limits(tokens=before + needed)).write([BARN]) == titled
    assert lines_over([BARN], limits=Limits(tokens=before + needed - 1)).write([BARN]) == bare


def test_remarks_follow_text_if_they_fit() -> None:
    def lines(window: int) -> list[str]:
        context = lines_context([BARN], window=window)
        return NodeLines(replace(context, remark=lambda nodes: ["last\nweek: May"] * len(nodes))).write([BARN])

    needed = cost(BARN) + len("The Barn: ")
    behind = " [last week: May]"
    assert lines(needed + len(behind)) == [f"The Barn: A fox slept there. It was red.{behind}"]
    assert lines(needed + len(behind) - 1) == ["The Barn: A fox slept there. It was red."]


def test_titles_are_looked_up_once_a_document() -> None:
    nodes: list[Node] = [BARN, segment("s1", "b")]
    graph = HandMadeGraph(nodes, titles=TITLES)
    lines = NodeLines(ReadingContext(graph, HandMadeSearch([]), HandMadeSession({}), OneVector()))
    for _ in range(3):
        lines.write(nodes)
    assert graph.calls["documents"] == 1


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.text(min_size=1).filter(str.strip)), max_size=6), st.integers(0, 200)
)
@example([("a", "`0`")], 0)
def test_lines_hold_the_whole_nodes_and_fit(contents: list[tuple[str, str]], window: int) -> None:
    nodes: list[Node] = [
        segment(f"s{number}", document_id, text=text, tokens=len(text.encode()))
        for number, (document_id, text) in enumerate(contents)
    ]
    lines = lines_over(nodes, window=window).write(nodes)
    plain_texts = (strip_markup(node.text, TITLES[node.document_id]) for node in nodes)
    assert all(line.endswith(" ".join(text.split())) for text, line in zip(plain_texts, lines, strict=True))
    bytes_of_bullets = 3
    if sum(map(cost, nodes)) <= window:
        assert sum(len(line.encode()) + bytes_of_bullets for line in lines) <= window
