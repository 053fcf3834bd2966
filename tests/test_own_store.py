"""The store of a stranger's own passes the published suite, and a memory works with it."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest
from memories import FOX, RIVER, options
from own_graph import Database
from own_store import OwnStore

from memgraph_rag import Memory
from memgraph_rag.testing.sample_graphs import DIMENSION, EMBEDDER, MakeStore
from memgraph_rag.testing.store_suite import *  # noqa: F403


@pytest.fixture
def make_store() -> MakeStore:
    """Opens stores on one database, each with a fresh namespace unless one is named."""
    database = Database()

    def make(namespace: str | None = None) -> OwnStore:
        store = OwnStore(database, namespace=namespace or uuid.uuid4().hex)
        store.migrate(embedder=EMBEDDER, dimension=DIMENSION)
        return store

    return make


def test_memory_works_with_an_own_store(tmp_path: Path) -> None:
    database = Database()
    with Memory(OwnStore(database, namespace="own"), **options(layers=["entities", "points", "relations"])) as memory:
        receipt = memory.add(FOX, key="fox")
        memory.add(RIVER, key="river")
        answer = memory.ask("Who built a wooden box?", keep_trace=True)

        assert receipt.counts["InformationPoint"] > 1
        assert answer.citations
        assert memory.search("wooden box", k=1)[0].document_key == "fox"
        assert memory.questions("Who built a wooden box?")[0].answer.text == answer.text
        assert memory.around("fox").things
        assert memory.maintenance.export_to(tmp_path / "own.jsonl") == 2
        assert not memory.maintenance.examine()
        assert memory.forget("fox").counts["InformationPoint"] == receipt.counts["InformationPoint"]
    with Memory(tmp_path / "file.lbug", **options()) as other:
        assert [receipt.key for receipt in other.maintenance.import_from(tmp_path / "own.jsonl")] == ["fox", "river"]
