"""Overviews on their way into an archive: in order, some at a time, and none that went meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from memgraph_rag.contracts import GraphStore
from memgraph_rag.ingestion import all_overviews
from memgraph_rag.ingestion.memory_layers import count_uncovered_documents, list_built_memory_layers
from memgraph_rag.maintenance import archive_overviews
from memgraph_rag.maintenance.archive import Archive, export_documents
from memgraph_rag.maintenance.archive_overviews import encode_all
from memgraph_rag.stores import open_store
from memgraph_rag.testing import FakeEmbedder
from memgraph_rag.testing.sample_graphs import DIMENSION, EMBEDDER, make_graph
from memgraph_rag.testing.store_suite.overviews import edges, overview
from memgraph_rag.types import OverviewRows


@pytest.fixture
def store() -> GraphStore:
    """With two overviews of two documents each, and one over both and a fifth document."""
    store = open_store(":memory:", namespace="n")
    store.migrate(embedder=EMBEDDER, dimension=DIMENSION)
    graphs = [make_graph("n", key, levels=(2, 1)) for key in "abcde"]
    store.write_many(graphs)
    one, other, root = (overview("n", "1", graphs[:2]), overview("n", "2", graphs[2:4]), overview("n", "0", graphs, 2))
    below = [edges(one, graphs[0].points[-1], graphs[1].segments[0]), edges(other, *graphs[2].points[:1])]
    below += [edges(root, one, other, graphs[4].points[-1])]
    store.write_overviews(OverviewRows((root, other, one), tuple(edge for some in below for edge in some)), as_of=9)
    return store


@pytest.fixture
def one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(all_overviews, "OVERVIEWS_TOGETHER", 1)
    monkeypatch.setattr(archive_overviews, "_RECORDS_TOGETHER", 1)


def test_lowest_overviews_come_first_with_their_nodes(store: GraphStore) -> None:
    encoded = list(encode_all(store, None, as_of=store.version()))

    assert [(row["level"], row["key"]) for row in encoded] == [(1, "1"), (1, "2"), (2, "0")]
    assert [row["documents"] for row in encoded] == [["a", "b"], ["c", "d"], [*"abcde"]]
    assert [[key for key, *_ in row["nodes"]] for row in encoded] == [["a", "b"], ["c"], ["e"]]
    assert [[key for _, key, _ in row["overviews"]] for row in encoded] == [[], [], ["1", "2"]]


def test_overviews_read_in_small_batches_are_the_same(store: GraphStore, request: pytest.FixtureRequest) -> None:
    together = list(encode_all(store, None, as_of=store.version()))
    request.getfixturevalue("one_at_a_time")
    assert list(encode_all(store, None, as_of=store.version())) == together
    assert list(encode_all(store, store.document_ids()[:0], as_of=store.version())) == []


def test_export_reads_no_layer_whole(store: GraphStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "overviews", None)
    assert len(list(encode_all(store, None, as_of=store.version()))) == 3
    assert count_uncovered_documents(store) == {"library": 0}
    assert list_built_memory_layers(store) == ["library"]


@pytest.mark.usefixtures("one_at_a_time")
def test_overview_removed_meanwhile_is_left_out(store: GraphStore) -> None:
    encoded = encode_all(store, None, as_of=store.version())
    assert next(encoded)["key"] == "1"

    store.forget(make_graph("n", "e").document.id)

    assert [row["key"] for row in encoded] == ["2"], "what lay over the forgotten document is gone"


def test_documents_written_meanwhile_have_no_overview_in_it(
    store: GraphStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A document is added, and another replaced, behind the last document of the archive; a library goes over both."""
    list_overviews = store.overview_ids

    def after_others_deepened() -> list[str]:
        for key in ("a", "new"):
            graph = make_graph("n", key, levels=(3, 1))
            store.write(graph)
            over = overview("n", f"of {key}", [graph])
            store.write_overviews(OverviewRows((over,), edges(over, *graph.points[:3])), as_of=store.version())
        return list_overviews()

    monkeypatch.setattr(store, "overview_ids", after_others_deepened)
    path = tmp_path / "notes.jsonl"

    assert export_documents(store, path, FakeEmbedder(DIMENSION, name=EMBEDDER)) == 5
    archive = Archive(path)
    assert archive.verify(embedder=EMBEDDER, dimension=DIMENSION, check=lambda _: None) == 5
    (left,) = archive.read_overviews(namespace="n")
    assert left.overviews[0].key == "2", "what rests on neither"
    assert {item.key for item in store.overviews("library")} == {"2", "of a", "of new"}
