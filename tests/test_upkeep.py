"""A memory that was damaged by somebody else says so, and is put right."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from memories import FOX, RIVER, graph_of, options

from memgraph_rag import Memory
from memgraph_rag.errors import StoreReadOnly

TURNS = [{"role": "user", "content": FOX}, {"role": "Ann", "content": RIVER}]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    layers = ("entities", "points", "relations")
    with Memory(tmp_path / "notes.lbug", **options(layers=layers)) as memory:
        memory.add(FOX, key="fox", title="A Red Fox")
        memory.add(TURNS, key="chat")
        yield memory


def harm(memory: Memory, text: str) -> None:
    file: Any = memory._store._file  # type: ignore[attr-defined]
    file.transaction(lambda execute: execute(text, {}))


def embeddings(memory: Memory) -> dict[str, Any]:
    """Those of everything that has one, by id."""
    file: Any = memory._store._file  # type: ignore[attr-defined]
    found: dict[str, Any] = {}
    for pattern in ("(n:Segment)", "(n:InformationPoint)", "(n:Entity)", "(:Entity)-[n:RELATES_TO]->(:Entity)"):
        for row in file.read(f"MATCH {pattern} RETURN n.id AS id, n.embedding AS embedding", {}):
            found[row["id"]] = row["embedding"]
    return found


def test_a_whole_memory_is_whole(memory: Memory) -> None:
    assert memory.examine() == memory.repair() == []


def test_lost_embeddings_are_made_again_as_they_were(memory: Memory) -> None:
    before, graph = embeddings(memory), graph_of(memory)
    for what in ("(n:Segment)", "(n:InformationPoint)", "(n:Entity)", "(:Entity)-[n:RELATES_TO]->(:Entity)"):
        harm(memory, f"MATCH {what} SET n.embedding = NULL")
    assert {damage.what.split()[-1] for damage in memory.examine()} == {"embedding"}

    mended = memory.repair()

    assert sum(damage.number for damage in mended) == sum(vector is not None for vector in before.values())
    after = embeddings(memory)
    assert after.keys() == before.keys()
    for one, vector in before.items():
        assert (vector is None) == (after[one] is None)
        if vector is not None:
            np.testing.assert_allclose(after[one], vector, atol=1e-6)
    assert memory.examine() == []
    assert graph_of(memory)["counts"] == graph["counts"]
    assert memory.search("red fox")


def test_a_search_sees_what_was_mended(memory: Memory) -> None:
    assert memory.search("red fox", k=1)[0].document_key in ("fox", "chat")
    harm(memory, "MATCH (d:Document {key: 'fox'}) DETACH DELETE d")
    assert memory.examine()
    memory.repair()
    assert {one.document_key for one in memory.search("red fox", k=99)} == {"chat"}


def test_what_cannot_be_mended_says_what_to_do(memory: Memory) -> None:
    harm(memory, "MATCH (d:Document {key: 'fox'})-[:HAS_SEGMENT]->(s:Segment {`index`: 1}) DETACH DELETE s")
    memory.repair()
    (left,) = memory.examine()
    assert (left.is_mendable, left.keys) == (False, ("fox",))
    assert "forget" in left.remedy
    memory.forget("fox")
    memory.add(FOX, key="fox", title="A Red Fox")
    assert memory.examine() == []


def test_points_that_went_are_built_again(memory: Memory) -> None:
    before = graph_of(memory)
    harm(memory, "MATCH (d:Document {key: 'fox'}) MATCH (p:InformationPoint)-[r:SUMMARIZES]->() "
         "WHERE p.document_id = d.id DELETE r")  # fmt: skip
    (damage,) = memory.repair()
    assert damage.keys == ("fox",)
    assert [receipt.key for receipt in memory.deepen() if receipt.action.value == "deepened"] == ["fox"]  # type: ignore[union-attr]
    assert graph_of(memory) == before


def test_a_memory_that_only_reads_answers_and_refuses_all_else(memory: Memory, tmp_path: Path) -> None:
    before = graph_of(memory)
    memory.close()
    with Memory(tmp_path / "notes.lbug", read_only=True, **options(layers=("relations",))) as reader:
        assert reader.ask("Who built a wooden box?", strategy="qrmem").text
        assert reader.search("red fox")
        assert reader.examine() == []
        assert reader.export_to(tmp_path / "all.jsonl") == 2
        for write in (
            lambda: reader.add("x"),
            lambda: reader.add_many(["x"]),
            lambda: reader.deepen(),
            lambda: reader.forget("fox"),
            lambda: reader.import_from(tmp_path / "all.jsonl"),
            lambda: reader.purge(),
            lambda: reader.repair(),
        ):
            with pytest.raises(StoreReadOnly, match="read_only"):
                write()
        assert graph_of(reader) == before
