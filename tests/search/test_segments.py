"""Test segment search: the order, scores and reasons of each mode, on a graph with given lists."""

from __future__ import annotations

import math

import pytest
from hand_made import HandMadeGraph, OneVector, point, segment
from memories import fakes
from tables import table

from memgraph_rag import Memory
from memgraph_rag.errors import SettingsError
from memgraph_rag.search.segments import SegmentSearch
from memgraph_rag.testing import FakeEmbedder, FakeRecognizer
from memgraph_rag.types import Extent, Hit, RelevanceCurve

GRAPH = HandMadeGraph(
    [segment("s1", "d"), segment("s2", "d", index=1), segment("s3", "e"), segment("s4", "e", index=1), point("p", "d")],
    similarity={"s1": 0.1, "s2": 0.9, "s3": 0.5, "s4": 0.5, "p": 1.0},
    words=[Hit("s3", 7.5), Hit("s1", 2.0)],
)
SEARCH = SegmentSearch(GRAPH, OneVector(), FakeRecognizer())


def test_vector_search_ranks_segments_by_cosine_and_ties_by_id() -> None:
    results = SEARCH.find("fox", k=10, mode="vector")
    assert [(evidence.segment.id, evidence.score) for evidence in results] == [
        ("s2", 0.9),
        ("s3", 0.5),
        ("s4", 0.5),
        ("s1", 0.1),
    ]
    assert [dict(evidence.why) for evidence in results] == [{"vector": rank} for rank in (1, 2, 3, 4)]
    assert [evidence.document_key for evidence in results] == ["d.txt", "e.txt", "e.txt", "d.txt"]


def test_keyword_search_returns_what_matches_only() -> None:
    results = SEARCH.find("fox", k=10, mode="keywords")
    assert [(evidence.segment.id, evidence.score) for evidence in results] == [("s3", 7.5), ("s1", 2.0)]
    assert [dict(evidence.why) for evidence in results] == [{"keywords": 1}, {"keywords": 2}]


def test_hybrid_search_fuses_the_ranks_of_both_and_says_so() -> None:
    results = SEARCH.find("fox", k=10, mode="hybrid")
    expected = {"s3": 1 / 11 + 1 / 12, "s1": 1 / 12 + 1 / 14, "s2": 1 / 11, "s4": 1 / 13}
    assert {evidence.segment.id: evidence.score for evidence in results} == pytest.approx(expected)
    assert [evidence.segment.id for evidence in results] == ["s3", "s1", "s2", "s4"]
    assert dict(results[0].why) == {"keywords": 1, "vector": 2}
    assert dict(results[3].why) == {"vector": 3}


def test_evidence_has_relevance_with_a_calibrated_embedder() -> None:
    assert {evidence.relevance for evidence in SEARCH.find("fox", k=10, mode="vector")} == {None}
    embedder = OneVector()
    embedder.relevance_curve = RelevanceCurve(half=0.5, slope=10.0)
    search = SegmentSearch(GRAPH, embedder, FakeRecognizer())
    expected = {"s2": 1 / (1 + math.exp(-4)), "s3": 0.5, "s4": 0.5, "s1": 1 / (1 + math.exp(4))}
    for mode in ("vector", "hybrid"):
        results = search.find("fox", k=10, mode=mode)
        assert {evidence.segment.id: evidence.relevance for evidence in results} == pytest.approx(expected)
    assert {evidence.relevance for evidence in search.find("fox", k=10, mode="keywords")} == {None}


def test_evidence_holds_its_text() -> None:
    results = SEARCH.find("fox", k=9, mode="vector")
    assert [evidence.text for evidence in results] == [evidence.segment.text for evidence in results] != []


def test_path_names_entities_of_the_question_or_joining_segments(tmp_path) -> None:
    with Memory(tmp_path / "x.lbug", embedder=FakeEmbedder(), recognizer=FakeRecognizer(), model=None) as memory:
        memory.add("Red Harbour is a film by Otto Brandt about sailors.", key="film")
        memory.add("Otto Brandt grew up in Lund.", key="director")
        memory.add("Nobody slept in Oslo.", key="oslo")
        by_key = {evidence.document_key: evidence for evidence in memory.search("Who made Red Harbour?")}
        assert [(link.entity, link.named) for link in by_key["film"].path] == [
            ("Red Harbour", True),
            ("Otto Brandt", False),
        ]
        assert [(link.entity, link.source_key) for link in by_key["director"].path] == [("Otto Brandt", "film")]
        assert by_key["oslo"].path == ()  # it alone names Oslo
        (alone,) = memory.search("Who made Red Harbour?", documents=["director"])
        assert alone.path == ()


def test_k_cuts_after_the_fusion() -> None:
    for k in (1, 2, 3):
        assert SEARCH.find("fox", k=k, mode="hybrid") == SEARCH.find("fox", k=10, mode="hybrid")[:k]


def test_documents_limit_every_mode() -> None:
    for mode, expected in (("hybrid", ["s1", "s2"]), ("keywords", ["s1"]), ("vector", ["s2", "s1"])):
        assert [
            evidence.segment.id for evidence in SEARCH.find("fox", k=10, mode=mode, extent=Extent(["d"]))
        ] == expected


def test_an_empty_graph_has_no_evidence() -> None:
    empty = SegmentSearch(HandMadeGraph([]), OneVector(), FakeRecognizer())
    assert [empty.find("fox", k=5, mode=mode) for mode in ("hybrid", "keywords", "vector")] == [[], [], []]


@table("mode", ["graphs", "", None, ["hybrid"]])
def test_unknown_mode_is_refused_with_known_names(mode: object) -> None:
    with pytest.raises(SettingsError, match="graph, hybrid, keywords, vector") as raised:
        SEARCH.find("fox", k=5, mode=mode)
    assert raised.value.mode == mode


# ── what a question names ────────────────────────────────────────────────────────────────────────────────────


def test_longest_names_of_a_question_keep_its_order(tmp_path) -> None:
    with Memory(
        tmp_path / "names.lbug",
        **fakes(),
        layers=("entities",),
    ) as memory:
        memory.add("Ann Lee met Tom in Warsaw.", key="a")
        memory.add("It was shown in May.", key="b", title="my cousin from warsaw")

        def named(question: str) -> list[str]:
            return [
                entity.name
                for entity in memory._parts.store.entities(memory._parts.search.find_named_entities(question))
            ]

        assert named("Did Tom or Ann Lee or Zoe see Warsaw?") == ["Tom", "Ann Lee", "Warsaw"]
        assert named("Who made my cousin from warsaw?") == ["my cousin from warsaw"]
        assert named("Who was it?") == []
        memory.forget("a")
        assert named("Did Tom see Warsaw?") == []
