"""A memory that was damaged by somebody else says so, and is put right."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from memories import FOX, RIVER, graph_of, options

from memgraph_rag import Memory
from memgraph_rag.contracts import SearchMode
from memgraph_rag.errors import SchemaMismatch, SettingsError, StoreError, StoreReadOnly
from memgraph_rag.maintenance import reembed
from memgraph_rag.strategies.top_k import TopK
from memgraph_rag.testing import FakeEmbedder
from memgraph_rag.types import Matrix

TURNS = [{"role": "user", "content": FOX}, {"role": "Ann", "content": RIVER}]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    layers = ("entities", "points", "relations")
    with Memory(tmp_path / "notes.lbug", **options(layers=layers)) as memory:
        memory.add(FOX, key="fox", title="A Red Fox")
        memory.add(TURNS, key="chat")
        yield memory


def harm(memory: Memory, text: str) -> None:
    file: Any = memory._parts.store._file  # type: ignore[attr-defined]
    file.transaction(lambda execute: execute(text, {}))


def embeddings(memory: Memory) -> dict[str, Any]:
    """Those of everything that has one, by id."""
    file: Any = memory._parts.store._file  # type: ignore[attr-defined]
    vectors: dict[str, Any] = {}
    for pattern in ("(n:Segment)", "(n:InformationPoint)", "(n:Entity)", "(n:RelationEmbedding)"):
        for row in file.read(f"MATCH {pattern} RETURN n.id AS id, n.embedding AS embedding", {}):
            vectors[row["id"]] = row["embedding"]
    return vectors


def test_sound_memory_has_no_damage(memory: Memory) -> None:
    assert memory.maintenance.examine() == memory.maintenance.repair() == []


def test_repair_restores_lost_embeddings(memory: Memory) -> None:
    before, graph = embeddings(memory), graph_of(memory)
    for what in ("(n:Segment)", "(n:InformationPoint)", "(n:Entity)", "(n:RelationEmbedding)"):
        harm(memory, f"MATCH {what} SET n.embedding = NULL")
    assert {damage.what.split()[-1] for damage in memory.maintenance.examine()} == {"embedding"}

    mended = memory.maintenance.repair()

    assert sum(damage.number for damage in mended) == sum(vector is not None for vector in before.values())
    after = embeddings(memory)
    assert after.keys() == before.keys()
    for element_id, vector in before.items():
        assert (vector is None) == (after[element_id] is None)
        if vector is not None:
            np.testing.assert_allclose(after[element_id], vector, atol=1e-6)
    assert memory.maintenance.examine() == []
    assert graph_of(memory)["counts"] == graph["counts"]
    assert memory.search("red fox")


def test_a_lost_embedding_of_a_segment_breaks_nothing(memory: Memory, tmp_path: Path) -> None:
    harm(memory, "MATCH (d:Document {key: 'fox'})-[:HAS_SEGMENT]->(n:Segment {`index`: 0}) SET n.embedding = NULL")
    (damage,) = memory.maintenance.examine()
    assert damage.what == "segments without a valid embedding"
    for mode in get_args(SearchMode):
        assert memory.search("red fox", mode=mode)
    assert memory.search("red fox", mode="keywords", k=1)[0].document_key == "fox"
    for strategy in ("walk", "pecan", "qrmem", TopK("vector")):
        assert memory.ask("Who built a wooden box?", strategy=strategy).text
    with pytest.raises(StoreError, match=r"'fox'.*memgraph-rag doctor --repair"):
        memory.maintenance.export_to(tmp_path / "all.jsonl")
    assert not list(tmp_path.glob("all.jsonl*"))
    memory.maintenance.repair()
    assert memory.maintenance.export_to(tmp_path / "all.jsonl") == 2


def test_search_reads_the_repaired_graph(memory: Memory) -> None:
    assert memory.search("red fox", k=1)[0].document_key in ("fox", "chat")
    harm(memory, "MATCH (d:Document {key: 'fox'}) DETACH DELETE d")
    assert memory.maintenance.examine()
    memory.maintenance.repair()
    assert {evidence.document_key for evidence in memory.search("red fox", k=99)} == {"chat"}


def test_unrepairable_damage_says_what_to_do(memory: Memory) -> None:
    harm(memory, "MATCH (d:Document {key: 'fox'})-[:HAS_SEGMENT]->(s:Segment {`index`: 1}) DETACH DELETE s")
    memory.maintenance.repair()
    (left,) = memory.maintenance.examine()
    assert (left.is_mendable, left.keys) == (False, ("fox",))
    assert "forget" in left.remedy
    memory.forget("fox")
    memory.add(FOX, key="fox", title="A Red Fox")
    assert memory.maintenance.examine() == []


def test_repair_rebuilds_lost_points(memory: Memory) -> None:
    before = graph_of(memory)
    harm(memory, "MATCH (d:Document {key: 'fox'}) MATCH (p:InformationPoint)-[r:SUMMARIZES]->() "
         "WHERE p.document_id = d.id DELETE r")  # fmt: skip
    (damage,) = memory.maintenance.repair()
    assert damage.keys == ("fox",)
    assert [receipt.key for receipt in memory.deepen() if receipt.action.value == "deepened"] == ["fox"]  # type: ignore[union-attr]
    assert graph_of(memory) == before


def test_read_only_memory_answers_and_refuses_writes(memory: Memory, tmp_path: Path) -> None:
    before = graph_of(memory)
    memory.close()
    with Memory(tmp_path / "notes.lbug", read_only=True, **options(layers=("relations",))) as reader:
        assert reader.ask("Who built a wooden box?", strategy="qrmem").text
        assert reader.search("red fox")
        assert reader.maintenance.examine() == []
        assert reader.maintenance.export_to(tmp_path / "all.jsonl") == 2
        for write in (
            lambda: reader.add("x"),
            lambda: reader.add_many(["x"]),
            lambda: reader.deepen(),
            lambda: reader.forget("fox"),
            lambda: reader.maintenance.import_from(tmp_path / "all.jsonl"),
            lambda: reader.maintenance.purge(),
            lambda: reader.maintenance.repair(),
        ):
            with pytest.raises(StoreReadOnly, match="read_only"):
                write()
        assert graph_of(reader) == before


@pytest.mark.parametrize("dimension", [8, 24])
def test_reembed_replaces_the_embedder(memory: Memory, tmp_path: Path, dimension: int) -> None:
    other = FakeEmbedder(dimension, name="other")
    before = graph_of(memory)
    assert memory.search("red fox")

    assert memory.maintenance.reembed(other) == 2

    assert memory.embedder is other
    assert memory.status()["schema"]["embedder"] == "other"
    assert memory.status()["schema"]["dimension"] == dimension
    for mode in ("graph", "hybrid", "vector"):
        assert memory.search("red fox", mode=mode)  # type: ignore[arg-type]
    assert memory.ask("Who built a wooden box?").text
    memory.add(RIVER, key="river")
    layers = ("entities", "points", "relations")
    with Memory(tmp_path / "fresh.lbug", **options(layers=layers, embedder=other)) as fresh:
        fresh.add(FOX, key="fox", title="A Red Fox")
        fresh.add(TURNS, key="chat")
        fresh.add(RIVER, key="river")
        assert graph_of(fresh) == graph_of(memory) != before
    assert memory.maintenance.examine() == []
    memory.close()
    with pytest.raises(SchemaMismatch):
        Memory(tmp_path / "notes.lbug", **options())
    with Memory(tmp_path / "notes.lbug", **options(embedder=other)) as again:
        assert again.search("red fox")


class Dying(FakeEmbedder):
    """Embeds so many times, then no more."""

    def __init__(self, times: int) -> None:
        super().__init__(24, name="other")
        self.left, self.embedded = times, 0

    def embed(self, texts: Sequence[str]) -> Matrix:
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        self.embedded += len(texts)
        return super().embed(texts)


def test_interrupted_reembedding_keeps_finished_embeddings(memory: Memory, tmp_path: Path) -> None:
    before, kept = graph_of(memory), tmp_path / "cache" / "reembedding"
    with Memory(memory._parts.store, cache_dir=tmp_path / "cache", **options()) as other:
        with pytest.raises(KeyboardInterrupt):
            other.maintenance.reembed(Dying(3))
        assert graph_of(memory) == before
        assert other.search("red fox")
        (file,) = kept.iterdir()
        assert file.stat().st_mode & 0o77 == 0
        assert b"fox" not in file.read_bytes()
        with file.open("ab") as torn:
            torn.write(b"half a row")
        whole = Dying(10_000)
        assert other.maintenance.reembed(whole) == 2
        assert not list(kept.iterdir())
        assert other.maintenance.examine() == []
    assert whole.embedded > 0
    with Memory(tmp_path / "notes.lbug", **options(embedder=whole)) as opened:
        first = Dying(10_000)
        first.name = "third"
        opened.maintenance.reembed(first)
    assert whole.embedded < first.embedded


def test_forget_removes_vectors_of_an_unfinished_reembed(memory: Memory, tmp_path: Path) -> None:
    with Memory(memory._parts.store, cache_dir=tmp_path / "cache", **options()) as other:
        with pytest.raises(KeyboardInterrupt):
            other.maintenance.reembed(Dying(3))
        assert list((tmp_path / "cache" / "reembedding").iterdir())
        other.forget("fox")
        assert not list((tmp_path / "cache" / "reembedding").iterdir())


def test_error_names_an_unusable_cache(memory: Memory, tmp_path: Path) -> None:
    before, other = graph_of(memory), FakeEmbedder(24, name="other")
    (tmp_path / "file").touch()
    message = rf"{tmp_path}.*MEMGRAPH_RAG_CACHE_DIR"
    with (
        Memory(memory._parts.store, cache_dir=tmp_path / "file", **options()) as opened,
        pytest.raises(SettingsError, match=message),
    ):
        opened.maintenance.reembed(other)
    vectors = reembed._ScratchVectors(other, tmp_path / "cache")
    (tmp_path / "cache").rmdir()
    with pytest.raises(SettingsError, match=message):
        vectors.embed([FOX])
    assert graph_of(memory) == before


def test_all_namespaces_get_the_new_embeddings(memory: Memory, tmp_path: Path) -> None:
    with Memory(tmp_path / "notes.lbug", namespace="yours", **options()) as yours:
        yours.add(RIVER, key="river")
        memory.maintenance.reembed(FakeEmbedder(24, name="other"))
        with pytest.raises(SchemaMismatch, match="embedded anew"):
            yours.search("the miller")
    with Memory(
        tmp_path / "notes.lbug", namespace="yours", **options(embedder=FakeEmbedder(24, name="other"))
    ) as yours:
        assert yours.search("the miller")[0].document_key == "river"
        assert yours.maintenance.examine() == []


def test_searches_continue_during_reembed(memory: Memory) -> None:
    counts: list[int] = []

    class Searching(FakeEmbedder):
        def embed(self, texts: Sequence[str]) -> Matrix:
            if threading.current_thread() is threading.main_thread() and len(counts) < 3:
                counts.append(len(memory.search("red fox", k=3)))
            return super().embed(texts)

    memory.maintenance.reembed(Searching(24, name="other"))
    assert counts == [3, 3, 3]


@pytest.mark.parametrize(
    "write",
    [
        lambda memory: memory.add("Ann was overtaken.", key="late"),
        lambda memory: memory.session(user="ann").add([{"role": "user", "content": "I was overtaken.", "id": 1}]),
    ],
)
def test_write_that_reembed_overtakes_is_refused(tmp_path: Path, write: Callable[[Memory], Any]) -> None:
    """Its vectors are those of the former embedder, and may have the same length."""

    class Overtaken(FakeEmbedder):
        def embed(self, texts: Sequence[str]) -> Matrix:
            if memory.embedder is self and any("overtaken" in text for text in texts):
                memory.maintenance.reembed(FakeEmbedder(8, name="other"))
            return super().embed(texts)

    with Memory(tmp_path / "notes.lbug", **options(embedder=Overtaken(8), layers=("entities",))) as memory:
        memory.add(FOX, key="fox", metadata={"user": "ann"})
        assert memory.search("red fox", user="ann")
        with pytest.raises(SchemaMismatch, match="embedded anew"):
            write(memory)
        assert len(memory.documents()) == 1

        write(memory)
        assert len(memory.documents()) == 2
        assert len(memory.search("red fox", user="ann")) > 1
        assert memory.maintenance.examine() == []
