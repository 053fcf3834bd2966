"""LongRefiner on documents whose scores are known: which passages and sections are read, and in which order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hand_made import HandMadeGraph, HandMadeSession, reading_context
from hypothesis import given
from hypothesis import strategies as st
from tables import table

from memgraph_rag.errors import StrategyError
from memgraph_rag.models.reranker import Reranker
from memgraph_rag.strategies import find_strategy
from memgraph_rag.systems.longrefiner.outline_tree import OutlineTree
from memgraph_rag.systems.longrefiner.strategy import LongRefiner
from memgraph_rag.types import Heading, Limits, Section, Segment, Step, StopReason, make_sections


def document(document_id: str, count: int, *, tokens: int = 16) -> list[Segment]:
    """Segments ``d0``, ``d1`` … of ten characters each."""
    return [
        Segment(f"{document_id}{index}", document_id, index, f"passage {document_id}{index}"[:10].ljust(10),
                10 * index, 10 * index + 10, tokens)
        for index in range(count)
    ]  # fmt: skip


class OutlinedGraph(HandMadeGraph):
    """A graph of documents with outlines."""

    def __init__(self, segments: Sequence[Segment], outlines: Mapping[str, Sequence[Heading]], **more) -> None:
        super().__init__(segments, **more)
        self._outlines = outlines

    def sections(self, document_id: str) -> list[Section]:
        length = max(item.end for item in self.list_segments(document_id))
        return list(make_sections("n", document_id, self._outlines.get(document_id, ()), length=length))


class Scores:
    """A reranker of given scores, by the text's last word."""

    name = "scores"

    def __init__(self, **scores: float) -> None:
        self._scores = scores

    def score(self, question: str, texts: Sequence[str]):
        return np.array([self._scores.get(text.split()[-1], 0.0) for text in texts], np.float32)


class Heard(HandMadeSession):
    """A session that keeps what it read."""

    texts: tuple[str, ...] | list[str] = ()

    def append(self, texts: Sequence[str]):
        self.texts = [*self.texts, *texts]
        return super().append(texts)


OUTLINE = [
    Heading(0, 1, "", is_abstract=True),
    Heading(10, 1, "Fire"),
    Heading(30, 2, "Cause"),
    Heading(50, 1, "After"),
]
"""Of a document of seven segments: one, two, two, two."""


def read(
    session: HandMadeSession,
    *,
    segments: Sequence[Segment] = document("d", 7),
    outlines: Mapping[str, Sequence[Heading]] = {"d": OUTLINE},
    limits: Limits | None = None,
    reranker: Reranker | None = None,
    similarity: Mapping[str, float] | None = None,
    question: str = "Why?",
    **options: Any,
) -> list[Step]:
    graph = OutlinedGraph(segments, outlines, similarity=similarity)
    context = reading_context(segments, graph=graph, session=session, limits=limits)
    strategy = LongRefiner(reranker=reranker, **{"most_tokens": 60} | options)
    return [step for steps in strategy.read(question, context) for step in steps]


def ids(steps: Sequence[Step]) -> list[str]:
    return [step.node.id for step in steps]


def test_best_passages_are_read_in_document_order() -> None:
    steps = read(HandMadeSession(replies=["None"]), reranker=Scores(d6=9.0, d1=8.0, d4=7.0))

    assert ids(steps) == ["d1", "d4", "d6"], "three of 20 tokens each"
    assert steps[-1].stop is StopReason.EXHAUSTED
    assert [step.via for step in steps] == ["Fire", "Fire / Cause", "After"]
    for step in steps:
        assert step.score == pytest.approx(sum(step.sources.values()))
        assert step.sources.keys() == {"reranker", "outline"}


def test_abstract_can_be_picked() -> None:
    session = HandMadeSession(replies=["1"])
    session.level = 1.0
    (step,) = read(session, most_tokens=20, reranker=Scores(d1=0.5))

    assert step.node.id == "d0"
    assert "1. abstract\n2. Fire\n3.   Cause\n4. After\n" in session.requests[0][0]


def test_document_without_titles_is_not_asked_about() -> None:
    session = HandMadeSession()
    read(session, outlines={"d": [Heading(0, 1, "", is_abstract=True)]}, reranker=Scores())

    assert session.requests == []


def test_bm25_scores_passages_by_their_words() -> None:
    steps = read(HandMadeSession(replies=["None"]), question="Where is d5?", scorer="bm25", most_tokens=20)

    assert ids(steps) == ["d5"]
    assert steps[0].sources.keys() == {"keywords", "outline"}


def test_scorer_is_chosen_by_name() -> None:
    steps = read(HandMadeSession(replies=["None"]), scorer="embedder", reranker=Scores(d1=9.0),
                 similarity={"d5": 0.9}, most_tokens=20)  # fmt: skip

    assert ids(steps) == ["d5"]
    for options in ({"scorer": "reranker"}, {"scorer": "colbert"}):
        with pytest.raises(StrategyError, match="Expected a scorer out of bm25, embedder, reranker"):
            find_strategy("longrefiner", **options)
    assert find_strategy("longrefiner", reranker="a/folder").name == "longrefiner"


def test_a_chosen_section_is_read_whole() -> None:
    session = HandMadeSession(replies=["4"])
    session.level = 1.0
    steps = read(session, reranker=Scores(d1=1.0))

    assert ids(steps) == ["d1", "d5", "d6"], "the section's mean is 0, and 1 more as the model picked it"
    assert steps[0].reason == "whole sections, with probability 1.00"


def test_local_question_ignores_selected_sections() -> None:
    session = HandMadeSession(replies=["4"])
    session.level = 0.0

    assert ids(read(session, most_tokens=20, reranker=Scores(d1=1.0))) == ["d1"]


def test_nodes_below_a_section_share_its_score() -> None:
    tree = OutlineTree()
    tree.add(make_sections("n", "d", OUTLINE, length=70), document("d", 7))
    fire = next(place for place, section in enumerate(tree.sections) if section and section.title == "Fire")
    scores = tree.global_scores([fire])

    shares = {tree.passages[place].segment.id: score for place, score in enumerate(scores) if place in tree.passages}
    assert shares == pytest.approx({"d0": 0, "d1": 1 / 3, "d2": 1 / 3, "d3": 1 / 6, "d4": 1 / 6, "d5": 0, "d6": 0})


def test_a_sections_local_score_is_the_mean_below_it() -> None:
    tree = OutlineTree()
    tree.add(make_sections("n", "d", OUTLINE, length=70), document("d", 7))
    of_passages = dict(zip(tree.passages, [0.0, 4.0, 2.0, 3.0, 1.0, 8.0, 8.0], strict=True))
    titled = {section.title: place for place, section in enumerate(tree.sections) if section}
    scores = tree.local_scores(of_passages)

    assert scores[titled["Cause"]] == pytest.approx(2 / 8)
    assert scores[titled["Fire"]] == pytest.approx((4 + 2 + 2) / 3 / 8)
    assert scores[titled["After"]] == 1.0


def test_documents_without_an_outline_take_part() -> None:
    segments = [*document("a", 2), *document("d", 7)]
    session = HandMadeSession(replies=["None"])
    steps = read(session, segments=segments, reranker=Scores(a1=9.0, d3=8.0))

    assert {"a1", "d3"} <= set(ids(steps))
    assert len(session.requests) == 1, "only a document with titles is asked about"


def test_without_a_reranker_cosines_are_the_local_scores() -> None:
    steps = read(HandMadeSession(replies=["None"]), similarity={"d2": 0.9, "d5": 0.8, "d6": 0.7})

    assert ids(steps) == ["d2", "d5", "d6"]
    assert steps[0].sources.keys() == {"similarity", "outline"}


def test_a_segment_of_which_parts_are_read_is_one_step() -> None:
    outline = [Heading(0, 1, "A"), Heading(3, 1, "B"), Heading(6, 1, "C")]
    session = Heard(replies=["1, 3"])
    session.level = 1.0
    steps = read(session, most_tokens=16, segments=document("d", 1), outlines={"d": outline},
                 reranker=Scores())  # fmt: skip

    assert ids(steps) == ["d0"]
    assert session.texts == ["pas e d0"], "of 'passage d0', without the middle"


@table(
    ("name", "judged", "requests"),
    [
        ("", 1, 1),
        ("without_structure", 0, 0),
        ("without_query_analysis", 0, 1),
        ("without_global_selection", 0, 0),
    ],
)
def test_an_ablation_leaves_one_part_out(name: str, judged: int, requests: int) -> None:
    session = HandMadeSession(replies=["None"])
    left_out = LongRefiner.ablations[name] if name else {}
    segments = document("d", 7, tokens=400)
    steps = read(session, segments=segments, reranker=Scores(d1=1.0), most_tokens=2048, **left_out)

    assert (len(session.judged), len(session.requests)) == (judged, requests)
    assert len(steps) == 5, "of 404 tokens each, within 2,048"


def test_model_is_not_asked_if_all_fits() -> None:
    session = HandMadeSession()

    assert ids(read(session, reranker=Scores(), most_tokens=2048)) == [f"d{index}" for index in range(7)]
    assert (session.judged, session.requests) == ([], [])


@table("replies", [["no idea"] * 5, ["99, 0"] * 5, [""] * 5])
def test_invalid_section_numbers_select_no_section(replies: list[str]) -> None:
    steps = read(HandMadeSession(replies=replies), reranker=Scores(d1=1.0))

    assert all(step.sources["outline"] == 0 for step in steps)


def test_budgets_of_nodes_and_tokens_are_kept() -> None:
    two = read(HandMadeSession(), limits=Limits(nodes=2), reranker=Scores(d3=2.0, d6=1.9), most_tokens=2048)
    assert ids(two) == ["d3", "d6"]
    assert len(read(HandMadeSession(), limits=Limits(tokens=50), reranker=Scores(), most_tokens=2048)) <= 2
    assert read(HandMadeSession(window=10), reranker=Scores(), most_tokens=2048) == []


@given(
    st.lists(st.tuples(st.integers(0, 69), st.integers(1, 4)), max_size=8).map(sorted),
    st.lists(st.floats(0, 1), min_size=7, max_size=7),
    st.sets(st.integers(0, 20)),
    st.integers(0, 160),
    st.integers(0, 8),
)
def test_selection_fits_and_keeps_the_order(
    starts: list[tuple[int, int]], local: list[float], chosen: set[int], tokens: int, segments: int
) -> None:
    tree = OutlineTree()
    headings = [Heading(0, 1, "top"), *(Heading(start, level, "t") for start, level in starts)]
    tree.add(make_sections("n", "d", headings, length=70), document("d", 7))
    of_passages = {place: local[passage.segment.index] for place, passage in tree.passages.items()}
    scores = tree.local_scores(of_passages) + tree.global_scores(chosen)
    taken = tree.select(scores, most_tokens=tokens, most_segments=segments)

    assert taken == sorted(set(taken))
    assert sum(tree.passages[place].tokens for place in taken) <= tokens
    assert len({tree.passages[place].segment.id for place in taken}) <= segments
    spans = [(tree.passages[place].start, tree.passages[place].end) for place in tree.passages]
    assert [place for span in spans for place in range(*span)] == list(range(70))
