"""Layers of the memory: built part by part, refused where they are none, taken away, carried by archives."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from meetings import open_meetings
from memories import options
from own_memory_layer import Pairs

from memgraph_rag import Limits, Memory
from memgraph_rag.cli.listing import listing
from memgraph_rag.contracts import MemoryGraph
from memgraph_rag.errors import DocumentError, LayerError, SettingsError
from memgraph_rag.layers.library import library
from memgraph_rag.server.console.readings import read_around
from memgraph_rag.systems.graphrag.communities import CommunitiesLayer
from memgraph_rag.testing import FakeEmbedder
from memgraph_rag.types import Action, Document, Failure, Overview, OverviewRows, Receipt


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "notes.lbug", cache_dir=tmp_path, **options(layers=["entities"])) as memory:
        list(memory.add_many(Document(f"Note {number} says {number}.", key=f"n{number}") for number in range(5)))
        yield memory


def overviews(memory: Memory) -> list[Overview]:
    return memory._parts.store.overviews("pairs")


def test_plug_in_layer_is_built_once(memory: Memory) -> None:
    (receipt,) = memory.deepen(layers=[Pairs()])

    assert isinstance(receipt, Receipt)
    assert (receipt.key, receipt.action, receipt.counts) == ("pairs", Action.DEEPENED, {"Overview": 2})
    assert len(overviews(memory)) == 2
    assert memory.status()["documents_without"] == {"pairs": 1}
    (again,) = memory.deepen(layers=[Pairs()])
    assert isinstance(again, Receipt)
    assert again.action is Action.UNCHANGED
    assert not memory.maintenance.examine()


def test_forgetting_deletes_only_overviews_of_the_document(memory: Memory) -> None:
    list(memory.deepen(layers=[Pairs()]))
    gone, kept = sorted(overviews(memory), key=lambda item: item.documents)

    memory.forget(gone.documents[0])

    assert overviews(memory) == [kept]


def test_document_forgotten_while_built_is_in_no_overview(memory: Memory) -> None:
    third = memory._parts.store.document_ids()[2]
    forgetting = iter([lambda: memory.forget(third)])

    (receipt,) = memory.deepen(layers=[Pairs(before_second=lambda: next(forgetting, lambda: None)())])

    assert isinstance(receipt, Receipt)
    assert receipt.notes == {}, "what was left out is built then"
    assert all(third not in overview.documents for overview in overviews(memory))
    assert len(overviews(memory)) == 2


def test_receipt_tells_of_writes_during_a_build(memory: Memory) -> None:
    class Busy(Pairs):
        def build(self, graph: MemoryGraph, **options: Any) -> Iterator[OverviewRows]:
            yield from super().build(graph, **options)
            memory.add("New.", key=f"new{graph.version()}")

    (receipt,) = memory.deepen(layers=[Busy()])

    assert isinstance(receipt, Receipt)
    assert receipt.notes == {"others wrote all the while: deepen again": 1}
    assert memory.status()["counts"]["Document"] <= 9


@pytest.mark.parametrize("before_part", range(1, 6))
def test_last_of_two_concurrent_builds_leaves_a_whole_layer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before_part: int
) -> None:
    monkeypatch.setattr(library, "_AT_ONCE", 2)
    parts = itertools.count(1)

    def meanwhile(stage: str, done: int, total: int) -> None:
        if stage.startswith("library") and next(parts) == before_part:
            list(memory.deepen(layers=["library"]))

    made = options(layers=["entities"], progress=meanwhile)
    with Memory(tmp_path / "notes.lbug", cache_dir=tmp_path, **made) as memory:
        list(memory.add_many(Document(f"Note {number} says {number}.", key=f"n{number}") for number in range(80)))

        list(memory.deepen(layers=["library"]))

        assert next(parts) > before_part
        held = Counter(
            (item.level, name) for item in memory._parts.store.overviews("library") for name in item.documents
        )
        assert {level for level, _ in held} == {1, 2}
        assert set(held.values()) == {1}, "each document lies under one overview of each level"
        assert not memory.maintenance.examine()


def test_interrupted_build_keeps_stored_overviews(memory: Memory) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(memory.deepen(layers=[Pairs(before_second=interrupt)]))
    assert len(overviews(memory)) == 1

    list(memory.deepen(layers=[Pairs()]))
    assert len(overviews(memory)) == 2


def test_error_of_a_layer_names_the_layer(memory: Memory) -> None:
    def fail() -> None:
        raise RuntimeError("no ink")

    (failure,) = memory.deepen(layers=[Pairs(before_second=fail)])

    assert isinstance(failure, Failure)
    assert isinstance(failure.error, LayerError)
    assert "no ink" in str(failure.error)
    assert "pairs" in str(failure.error)


def test_overviews_of_another_layer_are_refused(memory: Memory) -> None:
    (failure,) = memory.deepen(layers=[Pairs(layer="others")])

    assert isinstance(failure, Failure)
    assert "others" in str(failure.error)
    assert memory._parts.store.overview_ids() == []


def test_layer_of_the_memory_can_be_removed(memory: Memory) -> None:
    list(memory.deepen(layers=[Pairs()]))

    (receipt,) = memory.maintenance.remove_layer("pairs")

    assert isinstance(receipt, Receipt)
    assert receipt.action is Action.DEEPENED
    assert overviews(memory) == []
    assert "documents_without" not in memory.status()


def test_an_object_without_build_is_no_layer(memory: Memory) -> None:
    class Empty:
        name = "empty"
        spans_documents = True

    with pytest.raises(SettingsError, match="Expected a layer"):
        memory.deepen(layers=[Empty()])  # pyright: ignore[reportArgumentType]


def test_a_memory_builds_its_own_layers_by_deepen(tmp_path: Path) -> None:
    with Memory(tmp_path / "notes.lbug", cache_dir=tmp_path, **options(layers=["entities", Pairs()])) as memory:
        list(memory.add_many(Document(f"Note {number}.", key=f"n{number}") for number in range(2)))
        assert overviews(memory) == [], "add builds layers of documents alone"

        receipts = [item for item in memory.deepen() if isinstance(item, Receipt)]

        assert receipts[-1].key == "pairs"
        assert len(overviews(memory)) == 1


def test_an_archive_carries_overviews_into_another_namespace(memory: Memory, tmp_path: Path) -> None:
    list(memory.deepen(layers=[Pairs()]))
    memory.maintenance.export_to(tmp_path / "notes.jsonl")

    with Memory(tmp_path / "other.lbug", namespace="other", **options(layers=["entities"])) as other:
        assert len(list(other.maintenance.import_from(tmp_path / "notes.jsonl"))) == 5
        assert sorted(item.text for item in overviews(other)) == sorted(item.text for item in overviews(memory))
        below = other._parts.store.successors([item.id for item in overviews(other)])
        assert len(other._parts.store.nodes([edge.target_id for edge in below])) == 4
        assert not other.maintenance.examine()
        assert other.status()["counts"] == memory.status()["counts"]
        other.maintenance.export_to(tmp_path / "again.jsonl")

    first, again = ((tmp_path / name).read_bytes().splitlines()[:-1] for name in ("notes.jsonl", "again.jsonl"))
    assert sorted(first) == sorted(again)


def test_archived_overview_of_missing_nodes_is_refused(memory: Memory, tmp_path: Path) -> None:
    list(memory.deepen(layers=[Pairs()]))
    path = tmp_path / "notes.jsonl"
    memory.maintenance.export_to(path)
    head, *lines, foot = path.read_bytes().splitlines(keepends=True)
    kept = [line for line in lines if b'"overview":' in line]
    hashes = hashlib.sha256(b"".join(json.loads(line)["sha256"].encode() for line in kept)).hexdigest()
    foot = json.dumps({"documents": 0, "overviews": len(kept), "sha256": hashes}).encode() + b"\n"
    path.write_bytes(b"".join([head, *kept, foot]))

    with pytest.raises(DocumentError, match="repeated or incomplete"):
        list(memory.maintenance.import_from(path))


def test_reembedding_keeps_overviews(memory: Memory) -> None:
    list(memory.deepen(layers=[Pairs()]))
    before, counts = overviews(memory), memory.status()["counts"]

    memory.maintenance.reembed(FakeEmbedder(16, name="wider"))

    assert overviews(memory) == before
    assert memory.status()["counts"] == counts
    assert len(memory._parts.store.successors([before[0].id])) == 2
    assert not memory.maintenance.examine()


def test_purge_removes_each_word_of_a_forgotten_overview(memory: Memory, tmp_path: Path) -> None:
    list(memory.add_many([Document("The zyzzyva sings.", key="z"), Document("A quokka sings.", key="q")]))
    list(memory.deepen(layers=[Pairs()]))
    assert any("zyzzyva" in item.text for item in overviews(memory))

    memory.forget("z")
    memory.maintenance.purge()

    assert b"zyzzyva" not in (tmp_path / "notes.lbug").read_bytes()
    assert all("zyzzyva" not in item.text for item in overviews(memory))


def test_overview_is_found_by_the_name_of_its_layer(memory: Memory) -> None:
    list(memory.deepen(layers=[Pairs()]))

    around = memory.around("pairs")

    assert isinstance(around.centre, Overview)
    assert memory.around(around.centre.id, kind="overview").centre == memory.get(around.centre.id) == around.centre
    assert {tie.kind for tie in around.ties} == {"SUMMARIZES", "RESTS_ON", "HAS_SEGMENT"}
    assert len(around.passages) == 2
    assert "SUMMARIZES" in [line.plain for line in listing(around)]
    assert {"layer": "pairs", "level": around.centre.level} in [node.facts for node in read_around(around).nodes]


def test_pages_and_lists_show_title_and_text_of_overviews(tmp_path: Path) -> None:
    with open_meetings(tmp_path / "m.lbug") as memory:
        list(memory.deepen(layers=[CommunitiesLayer(with_model=False)]))
        around = memory.around("communities")
        low = next(item for item in memory._parts.store.overviews("communities") if item.level == 1)
    lines = [line.plain for line in listing(around)]

    assert isinstance(around.centre, Overview)
    assert {"layer": "communities", "level": around.centre.level} in [node.facts for node in read_around(around).nodes]
    assert f"    {low.title}  communities 1 over {len(low.documents)} documents" in lines
    members = lines[lines.index("entity") + 1 :]
    assert {
        name for name in ("Ann", "Bergen", "Tromso") if any(line.startswith(f"    {name}  ") for line in members)
    } == {"Ann", "Bergen", "Tromso"}


def test_deepen_builds_the_layers_of_the_memory_last(tmp_path: Path) -> None:
    with Memory(tmp_path / "notes.lbug", cache_dir=tmp_path, **options(layers=["entities", Pairs()])) as memory:
        list(memory.add_many(Document(f"Note {number}.", key=f"n{number}") for number in range(2)))

        assert list(memory.deepen(limits=Limits(seconds=1e-9))) == []
        *_, last = memory.deepen(limits=Limits(seconds=1000))
        assert isinstance(last, Receipt)
        assert (last.key, last.action) == ("pairs", Action.DEEPENED)


def test_question_about_everything_reads_overviews(memory: Memory) -> None:
    question = "What do all these notes say?"
    assert memory.ask(question).strategy == "walk"
    list(memory.deepen(layers=["library"]))

    answer = memory.ask(question)

    assert answer.strategy == "overviews"
    assert answer.trace[0].node.kind == "overview"
    assert all(
        memory.get(cited.document_key).text[cited.start : cited.end] == cited.quote for cited in answer.citations
    )
    assert memory.ask("Who wrote note 3?").strategy == "walk"
    assert memory.ask(question, strategy="top_k").strategy == "top_k"
