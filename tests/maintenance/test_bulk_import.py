"""An archive in bulk into a Neo4j of its own: the same graph as by ordinary import, or nothing and a clear error."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from meetings import NAMES, open_meetings
from memories import FOX, embedder, options
from past_the_store import run_cypher
from store_snapshot import whole_graph
from test_own_layer import ADA, Years

from memgraph_rag import Memory
from memgraph_rag.errors import SchemaMismatch, SettingsError, StoreError
from memgraph_rag.stores import open_store
from memgraph_rag.stores.neo4j import server as neo4j_server
from memgraph_rag.stores.neo4j.file_import import import_files
from memgraph_rag.stores.neo4j.server import RunningServer, local_server
from memgraph_rag.testing import FakeEmbedder
from memgraph_rag.testing.sample_graphs import DIMENSION, EMBEDDER, make_graph, make_relations
from memgraph_rag.testing.store_suite.clusters import with_clusters

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),  # servers stop and start
    pytest.mark.skipif(sys.platform == "win32", reason="a local Neo4j runs elsewhere"),
]

NAMESPACE = "bulk"

IN_ARCHIVE = ("SIMILAR_TO", "CONTAINS", "ANNOTATES", "Overview", "InformationPoint", "ClusterSummary")

OUTLINED = "# Foxes\n\nAnn found a red fox in Oslo.\n\n## Their food\n\nThey fed it milk; and bread.\n"
ODD = ' He said "no"; then,\n\n\\ back\x1c\r\n and \u2028 "" \'a\' nothing. \U0001f98a '


def _weight(edge: int) -> float:
    """Of two points on a segment each, and one on both."""
    return 1.0 if edge < 2 else 0.5


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a memory with every kind of rows, among them lists that are empty and texts that CSV could break."""
    folder = tmp_path_factory.mktemp("archive")
    store = open_store(folder / "notes.lbug", namespace=NAMESPACE)
    store.migrate(embedder=EMBEDDER, dimension=DIMENSION)
    near = np.eye(1, DIMENSION, dtype=np.float32)[0]
    for key, texts, names in (
        ("first", ("Alice met Bob.", "Bob met Carol."), {}),
        ("second", ("Liddell met Dan.", "Dan met Eve."), {"Liddell": "alice liddell"}),
    ):
        graph = make_graph(NAMESPACE, key, texts, title="Eve", levels=(2, 1), weights=_weight)
        vectors = {"alice liddell": near, "alice": near}
        store.write(make_relations(NAMESPACE, graph, names=names, vectors=vectors))
    alone = 1  # the edge of the point that is on one of the three segments
    summed = make_graph(NAMESPACE, "clustered", levels=(2, 1), weights=lambda edge: 1.0 if edge == alone else 0.5)
    store.write(with_clusters(NAMESPACE, summed))
    with open_meetings(store, embedder=embedder()) as memory:
        list(memory.deepen(layers=["relations", "library", "communities"]))
        memory.add(ODD, key='"odd"; \\ ', title='Tom, "Ann"\nand Eve', metadata={"x": 0.1, "ä": "\n;"})
        list(memory.deepen(layers=["library"]))
        with Memory(store, **options(layers=["outline", Years()], recognizer=NAMES)) as other:
            other.add(OUTLINED, key="outlined")
            other.add(ADA, key="ada")
        with Memory(store, **options(layers=[], recognizer=NAMES)) as other:
            other.add(FOX, key="bare")
        assert all(memory.status()["counts"][name] for name in IN_ARCHIVE)
        assert {record.layers for record in memory.documents()} >= {()}
        memory.maintenance.export_to(folder / "made.jsonl")
    store.close()
    with Memory(folder / "again.lbug", namespace=NAMESPACE, **options(recognizer=NAMES)) as memory:
        list(
            memory.maintenance.import_from(folder / "made.jsonl")
        )  # with the ids that an import makes, by which relations are sorted
        memory.maintenance.export_to(folder / "all.jsonl")
    return folder / "all.jsonl"


@pytest.fixture(scope="module", params=["5.26", "2026"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server of its own with an empty database, which the tests of this module use in the order of the file."""
    from conftest import VERSIONS, refuse

    home = tmp_path_factory.mktemp("neo4j") / "home"
    try:
        yield neo4j_server.start(home, version=VERSIONS[request.param], bolt_port=0, http_port=0)
    except (SettingsError, StoreError) as exc:
        refuse(str(exc))
    finally:
        neo4j_server.stop(home)


def place_of(server: RunningServer) -> dict[str, Any]:
    return {"address": server.bolt_uri, "user": server.user, "password": server.password}


def opened(server: RunningServer, **changes: Any) -> Memory:
    where = {"neo4j": {"user": server.user, "password": server.password}, "namespace": NAMESPACE}
    return Memory(server.bolt_uri, **where, **options(**{"recognizer": NAMES, **changes}))


def found(memory: Memory) -> list[Any]:
    """What searches of each mode find, with scores."""
    return [
        [(hit.document_key, hit.start, hit.score) for hit in memory.search(query, mode=mode, k=5)]
        for mode in ("graph", "hybrid", "keywords", "vector")
        for query in ("Who met Ann in Oslo?", "Alice Liddell", "wooden boxes")
    ]


def test_failed_import_leaves_the_database(server: RunningServer, archive: Path, tmp_path: Path) -> None:
    with opened(server) as memory:
        files = memory.maintenance.write_bulk_files(archive, tmp_path / "files")
        schema = memory.status()["schema"]
    (tmp_path / "files" / "nodes-Segment.csv").write_text("id:ID\n1\n")

    with pytest.raises(StoreError, match=r"got exit status \d+: .* The database is as it was"):
        import_files(server, files)

    store = open_store(**place_of(server), namespace=NAMESPACE)
    assert store.schema == schema
    assert store.statistics()["Document"] == 0
    store.close()


def test_bulk_import_equals_ordinary_import(server: RunningServer, archive: Path, tmp_path: Path) -> None:
    with opened(server) as memory:
        files = memory.maintenance.write_bulk_files(archive, tmp_path / "files")
    running = local_server(server.bolt_uri, server.home)
    assert running
    import_files(running, files)

    with opened(server) as memory:
        graph, counts = whole_graph(memory._parts.store, place_of(server)), memory.status()["counts"]
        assert files.documents == counts["Document"]
        assert files.segments == counts["Segment"]
        assert files.entities == counts["Entity"]
        assert memory.maintenance.examine() == []
        memory.maintenance.export_to(tmp_path / "again.jsonl")
        hits = found(memory)
        with pytest.raises(StoreError, match="Expected an empty database"):
            memory.maintenance.write_bulk_files(archive, tmp_path / "more")
        memory.add("Zoe met Ann in Oslo.", key="one more")
        memory.forget("one more")
        assert whole_graph(memory._parts.store, place_of(server)) == graph, "it is written to as to any other"
    assert (tmp_path / "again.jsonl").read_bytes() == archive.read_bytes()

    run_cypher(place_of(server), "MATCH (n) WHERE NOT n:Schema DETACH DELETE n")
    with opened(server) as memory:
        list(memory.maintenance.import_from(archive))
        assert whole_graph(memory._parts.store, place_of(server)) == graph
        assert memory.status()["counts"] == counts
        assert found(memory) == hits


def test_other_embedder_is_refused_after_the_import(server: RunningServer) -> None:
    with pytest.raises(SchemaMismatch):
        opened(server, embedder=FakeEmbedder(DIMENSION, name="another"))
