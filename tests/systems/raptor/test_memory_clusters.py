"""A memory with the layer ``clusters``: built at once or later, beside points, read, shown, moved and forgotten."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from memories import LONG, QUESTION, options

from memgraph_rag import Document, Memory
from memgraph_rag.cli.listing import listing
from memgraph_rag.server.console.readings import read_around
from memgraph_rag.stores.layer_rows import POINTS
from memgraph_rag.stores.layer_rows.archived import Ids
from memgraph_rag.systems.raptor.clusters import ClustersLayer
from memgraph_rag.testing import FakeLanguageModel
from memgraph_rag.types import InformationPoint, Receipt

BOTH = ["entities", "points", ClustersLayer(few_nodes=3)]


@pytest.fixture
def open_file(tmp_path: Path) -> Callable[..., Memory]:
    return lambda name="m", **changes: Memory(tmp_path / f"{name}.lbug", **options(layers=BOTH, **changes))


@pytest.fixture(autouse=True)
def _in_fours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four nodes that follow each other are a cluster: UMAP has tests of its own."""
    monkeypatch.setattr(
        "memgraph_rag.systems.raptor.clusters.soft_clusters",
        lambda vectors, _: [tuple(range(at, min(at + 4, len(vectors)))) for at in range(0, len(vectors), 4)],
    )


def summaries(memory: Memory) -> dict[str, Any]:
    """The tree of every document by place, with what each node sums up."""
    store, trees = memory._parts.store, {}
    for record in store.documents():
        (graph,) = store.read_graphs([record.id])
        place = {node.id: (node.level, node.index) for node in (*graph.segments, *graph.points)}
        trees[record.key] = {
            (point.level, point.index): (
                point.text,
                sorted(
                    (place[edge.target_id], round(edge.weight, 6))
                    for edge in graph.summarizes
                    if edge.source_id == point.id
                ),
            )
            for point in graph.points
            if point.layer == "clusters"
        }
    return trees


def test_clusters_are_built_with_points_and_each_strategy_reads_its_own(open_file) -> None:
    with open_file() as memory:
        counts = memory.add(LONG, key="long").counts
        assert counts["ClusterSummary"] > 2
        assert counts["InformationPoint"] > 2
        layers = {
            strategy: {
                step.node.layer
                for step in memory.ask(QUESTION, strategy=strategy).trace
                if isinstance(step.node, InformationPoint)
            }
            for strategy in ("raptor", "raptor_traversal", "pecan", "walk")
        }
        assert layers["raptor"] == layers["raptor_traversal"] == {"clusters"}
        assert layers["pecan"] == {"points"}
        assert layers["walk"] <= {"points"}
        answer = memory.ask(QUESTION, strategy="raptor", keep_trace=True)
        assert answer.citations
        assert all(LONG[cited.start : cited.end] == cited.quote for cited in answer.citations)
        assert not memory._parts.store.flaws()


def test_clusters_built_later_are_those_built_at_once(open_file, tmp_path) -> None:
    with open_file("at_once") as at_once:
        at_once.add(LONG, key="long")
        expected = summaries(at_once)
    with Memory(tmp_path / "later.lbug", **options(layers=["entities"])) as bare:
        bare.add(LONG, key="long")
    with open_file("later") as later:
        (receipt,) = list(later.deepen(layers=[BOTH[2]]))
        assert isinstance(receipt, Receipt)
        assert receipt.counts.get("InformationPoint", 0) == 0
        assert summaries(later) == expected
        list(later.deepen(layers=["points"]))
        assert summaries(later) == expected


def test_an_archive_holds_both_layers(open_file, tmp_path) -> None:
    archive = tmp_path / "all.jsonl"
    with open_file("one") as memory:
        memory.add(LONG, key="long")
        memory.maintenance.export_to(archive)
        expected, counts = summaries(memory), memory.status()["counts"]
        memory.forget("long")
        assert not any(memory.status()["counts"].values())
    with open_file("two") as memory:
        list(memory.maintenance.import_from(archive))
        assert (summaries(memory), memory.status()["counts"]) == (expected, counts)


def test_archived_clusters_of_which_a_part_is_missing_are_refused() -> None:
    archived = {"points": [], "point_embeddings": [[0, 0], ""], "summarizes": [], "clusters": [], "cluster_edges": []}
    with pytest.raises(ValueError, match="got none of cluster_embeddings"):
        POINTS.decode(archived, Ids("namespace", "key"))


def test_list_and_page_show_summaries_with_their_segments(open_file) -> None:
    with open_file() as memory:
        memory.add(LONG, key="long")
        around = memory.around("long")
    lines = [line.plain for line in listing(around)]
    assert any(line.endswith("  summary 1.0") for line in lines)
    (tie,) = (line for line in lines if line.startswith("    summary 1.0 → "))
    assert tie.startswith("    summary 1.0 → segment ")
    assert {"layer": "clusters", "level": 1, "index": 0} in [node.facts for node in read_around(around).nodes]


BAD = {
    "one segment": "Ann ran.",
    "one sentence": "word " * 20_000,
    "identical paragraphs": "It rained all day.\n\n" * 3000,
    "chinese": "汤姆在旧谷仓里发现了一只红狐狸。" * 40,
}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_odd_text_is_stored_whole_with_a_receipt(open_file, text) -> None:
    with open_file() as memory:
        receipt = memory.add(Document(text, key="bad"))
        segments = memory._parts.store.list_segments(receipt.document_id)
        assert "".join(segment.text for segment in segments) == text
        assert receipt.counts.get("ClusterSummary", 0) or receipt.notes["too few segments for clusters"] == 1
        assert memory.ask("Who ran?", strategy="raptor").trace
        assert not memory._parts.store.flaws()


def test_a_model_that_breaks_forms_leaves_all_else(open_file) -> None:
    model = FakeLanguageModel(replies=["??"] * 1000)
    with open_file(model=model) as memory:
        receipt = memory.add(LONG, key="long")
        assert receipt.notes["cluster without a summary"] > 1
        assert receipt.counts.get("ClusterSummary", 0) == 0
        assert receipt.counts["MENTIONS"] > 0
        assert [record.layers for record in memory.documents()] == [("clusters", "entities", "points")]
