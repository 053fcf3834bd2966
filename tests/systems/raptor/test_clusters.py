"""The cluster tree: its levels, its edges, and what becomes of clusters that cannot be summed up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import pytest
from tables import table

from memgraph_rag.contracts import SplitDocument
from memgraph_rag.layers.prose import as_paragraph, check_prose, goes_in_circles
from memgraph_rag.systems.raptor import clusters
from memgraph_rag.systems.raptor.clusters import ClustersLayer
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel, FakeModels, FakeRecognizer
from memgraph_rag.types import LayerRows, Prompt, Segment, make_id

NAMESPACE = "tests"


def segments(texts: Sequence[str], document_id: str = "d") -> list[Segment]:
    starts = np.cumsum([0, *map(len, texts)]).tolist()
    counts = FakeLanguageModel().count_tokens(texts)
    return [
        Segment(
            make_id(NAMESPACE, "segment", document_id, index), document_id, index, text, start, start + len(text), n
        )
        for index, (text, start, n) in enumerate(zip(texts, starts, counts, strict=False))
    ]


def distinct(count: int) -> list[Segment]:
    return segments([f"Ann{index} saw the s{index} fox. It ran to the barn w{index}. " for index in range(count)])


def build(layer: ClustersLayer, model: FakeLanguageModel, *documents: Sequence[Segment]) -> list[LayerRows]:
    models = FakeModels(model, FakeEmbedder(), FakeRecognizer())
    split = [SplitDocument(f"d{place}", "", tuple(of_one)) for place, of_one in enumerate(documents)]
    return layer.build(split, namespace=NAMESPACE, models=models)


def by_source(rows: LayerRows) -> dict[str, dict[str, float]]:
    edges: dict[str, dict[str, float]] = defaultdict(dict)
    for edge in rows.summarizes:
        edges[edge.source_id][edge.target_id] = edge.weight
    return edges


def assert_sound(rows: LayerRows, below: Sequence[Segment]) -> None:
    """Edges lead down, weights of a summary sum to 1, and from the top everything is reached."""
    level = {node.id: 0 for node in below} | {point.id: point.level for point in rows.points}
    edges = by_source(rows)
    assert set(edges) == {point.id for point in rows.points}
    for source_id, targets in edges.items():
        assert sum(targets.values()) == pytest.approx(1)
        assert all(level[target_id] < level[source_id] for target_id in targets)
    assert {point.layer for point in rows.points} <= {"clusters"}


@pytest.fixture
def in_threes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three rows that follow each other are a cluster: no UMAP, and levels that a test can foresee."""
    monkeypatch.setattr(
        clusters,
        "soft_clusters",
        lambda vectors, _: [tuple(range(start, min(start + 3, len(vectors)))) for start in range(0, len(vectors), 3)],
    )


@pytest.mark.usefixtures("in_threes")
def test_levels_are_built_until_few_nodes_are_left() -> None:
    below = distinct(27)
    (rows,) = build(ClustersLayer(few_nodes=2), FakeLanguageModel(), below)
    assert [sum(point.level == level for point in rows.points) for level in (1, 2, 3, 4)] == [9, 3, 1, 0]
    assert_sound(rows, below)
    assert rows.usage.model_calls == 13


@pytest.mark.usefixtures("in_threes")
@table(("layer", "levels"), [(ClustersLayer(), {1}), (ClustersLayer(few_nodes=2, most_levels=2), {1, 2})])
def test_building_stops_as_the_paper_does(layer, levels) -> None:
    (rows,) = build(layer, FakeLanguageModel(), distinct(27))
    assert {point.level for point in rows.points} == levels


@table("count", [0, 1, 3, 11])
def test_a_document_of_few_segments_gets_no_tree_and_says_so(count) -> None:
    (rows,) = build(ClustersLayer(), FakeLanguageModel(), distinct(count))
    assert (rows.points, rows.summarizes, rows.usage.model_calls) == ((), (), 0)
    assert rows.notes == {"too few segments for clusters": 1}


def test_few_nodes_are_one_cluster_where_a_tree_is_asked_for_all_the_same() -> None:
    below = distinct(4)
    (rows,) = build(ClustersLayer(few_nodes=1), FakeLanguageModel(), below)
    assert [(point.level, point.index) for point in rows.points] == [(1, 0)]
    assert_sound(rows, below)


@pytest.mark.usefixtures("in_threes")
def test_cluster_without_a_summary_is_counted_and_its_nodes_go_up() -> None:
    below = distinct(6)
    model = FakeLanguageModel(replies=["...", "The fox ran.", "All of it."])
    (rows,) = build(ClustersLayer(few_nodes=1, most_levels=2), model, below)
    assert_sound(rows, below)
    assert rows.notes == {"cluster without a summary": 1, "node in no summary": 3}
    assert [(point.level, point.text) for point in rows.points] == [
        (1, "The fox ran."),
        (2, "All of it."),
        (2, "Ann2 saw the s2 fox. It"),
    ]
    edges = by_source(rows)
    assert set(edges[rows.points[1].id]) == {rows.points[0].id, below[0].id, below[1].id}


@pytest.mark.usefixtures("in_threes")
def test_summary_that_copies_a_member_does_not_count() -> None:
    below = distinct(3)
    model = FakeLanguageModel(replies=[below[1].text])
    (rows,) = build(ClustersLayer(few_nodes=1), model, below)
    assert rows.points == ()
    assert rows.notes == {"summary that copies a member": 1}
    assert rows.usage.model_calls == 1, "it would write the same again"


@pytest.mark.usefixtures("in_threes")
def test_silent_model_is_not_asked_the_same_again() -> None:
    model = FakeLanguageModel(replies=["?"] * 100)
    (rows,) = build(ClustersLayer(few_nodes=1), model, distinct(9))
    assert rows.points == ()
    assert rows.notes == {"cluster without a summary": 3}
    assert rows.usage.model_calls == 3


def test_a_node_in_no_cluster_is_seen_by_the_level_above(monkeypatch) -> None:
    calls = iter([[(0, 1, 2)], [(0, 1)]])
    monkeypatch.setattr(clusters, "soft_clusters", lambda *_: next(calls))
    below = distinct(4)
    (rows,) = build(ClustersLayer(few_nodes=1), FakeLanguageModel(), below)
    assert_sound(rows, below)
    assert rows.notes["node in no summary"] == 1
    low, top = rows.points
    assert set(by_source(rows)[top.id]) == {low.id, below[3].id}


def test_nodes_of_the_same_text_are_read_once() -> None:
    below = segments(["It rained. "] * 3000)
    (rows,) = build(ClustersLayer(), FakeLanguageModel(), below)
    assert_sound(rows, below)
    assert len(rows.points) == 1
    assert rows.usage.model_calls == 1
    assert [edge.weight for edge in rows.summarizes] == pytest.approx([1 / 3000] * 3000)


def test_a_cluster_too_large_is_split_with_a_bound() -> None:
    below = distinct(9)
    tokens = below[0].tokens + 1
    model = FakeLanguageModel()
    (rows,) = build(ClustersLayer(few_nodes=4, cluster_tokens=2 * tokens), model, below)
    assert_sound(rows, below)
    assert [len(targets) for targets in by_source(rows).values()][:5] == [2, 2, 2, 2, 1]
    (alone,) = build(ClustersLayer(few_nodes=8, cluster_tokens=1), model, below)
    assert len(alone.points) == 9


@pytest.mark.slow
@pytest.mark.full("fits UMAP")
def test_a_real_clustering_of_several_documents_is_the_same_each_time() -> None:
    documents = [distinct(40), distinct(2), segments([f"Nora baked bread number {n}. " for n in range(15)], "e")]
    first = build(ClustersLayer(few_nodes=4), FakeLanguageModel(), *documents)
    assert first == build(ClustersLayer(few_nodes=4), FakeLanguageModel(), *documents)
    for rows, below in zip(first, documents, strict=True):
        assert_sound(rows, below)
    summed_up = {edge.target_id for edge in first[0].summarizes}
    assert {node.id for node in documents[0]} <= summed_up


@table(
    ("text", "complete", "kept", "notes"),
    [
        ("Tom ran. Ann sat.", True, "Tom ran. Ann sat.", {}),
        ("Summary:\n\n**Tom ran.**", True, "Tom ran.", {"preamble": 1}),
        ("Tom ran. Ann sat and th", False, "Tom ran.", {"cut off": 1}),
        ("Tom ran and th", False, "Tom ran and th", {"cut off": 1}),
        ("汤姆跑了。安坐", False, "汤姆跑了。", {"cut off": 1}),
        ("Pi is 3.14 here. Pi is 3.14 here. Pi", True, "Pi is 3.14 here.", {"repeated sentence": 1}),
        ("Note: Tom ran.", True, "Note: Tom ran.", {}),
        (" \n", True, None, {}),
        ("...", True, None, {}),
    ],
)
def test_paragraph_keeps_its_whole_sentences(text, complete, kept, notes) -> None:
    span, counted = check_prose(text, complete=complete)
    assert (text[slice(*span)] if span else None) == kept
    assert counted == notes


def test_a_list_becomes_a_paragraph_and_a_circle_is_ended() -> None:
    assert as_paragraph("Tom ran.\n- Ann sat.\n2. Bob slept.") == "Tom ran. Ann sat. Bob slept."
    assert goes_in_circles(Prompt("", ()), "Tom ran. Ann sat. Tom ran. Tom ran. ")
    assert not goes_in_circles(Prompt("", ()), "Tom ran. Tom ran. ")
