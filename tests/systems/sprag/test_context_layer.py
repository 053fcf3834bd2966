"""The layer ``context`` in a memory: segments are embedded under it, and as before once it is taken away."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from memories import FOX, RIVER, OpenMemory, options

from memgraph_rag import Failure, Memory, Receipt
from memgraph_rag.errors import DocumentNotFound, SettingsError, StoreReadOnly
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel
from memgraph_rag.types import Action, Annotation

NOTES = f"# Foxes\n\n{FOX}\n\n## Rivers\n\n{RIVER}\n"
REPLIES = ["This document is about: animals.", "This section is about: one fox.", "This section is about: a flood."]


def vectors(memory: Memory, key: str = "notes") -> np.ndarray:
    (graph,) = memory._parts.store.read_graphs([memory.documents(documents=[key])[0].id])
    return graph.segment_embeddings


def headers(memory: Memory, key: str = "notes") -> list[str]:
    return [item.text for item in memory.around(key).things.values() if isinstance(item, Annotation)]


def language(*replies: str) -> FakeLanguageModel:
    return FakeLanguageModel(replies or REPLIES)


def deepened(memory: Memory) -> list[Receipt | Failure]:
    return list(memory.deepen(layers=["context"]))


def test_context_layer_gives_same_graph_at_once_or_later(open_memory: OpenMemory) -> None:
    at_once = open_memory(layers=["entities", "context"], model=language(), namespace="a")
    at_once.add(NOTES, key="notes", title="Wild things")
    later = open_memory(layers=["entities"], model=language(), namespace="b")
    later.add(NOTES, key="notes", title="Wild things")
    plain = vectors(later)

    (receipt,) = deepened(later)

    assert isinstance(receipt, Receipt)
    assert (receipt.action, receipt.counts["Annotation"]) == (Action.DEEPENED, 3)
    assert headers(later) == headers(at_once)
    assert headers(later)[0] == "Wild things\nThis document is about: animals."
    assert np.array_equal(vectors(later), vectors(at_once))
    assert not np.allclose(vectors(later), plain)
    assert [outcome.action for outcome in deepened(later) if isinstance(outcome, Receipt)] == [Action.UNCHANGED]


def test_taken_away_all_is_as_before(open_memory: OpenMemory) -> None:
    memory = open_memory(layers=["entities"], model=language(*REPLIES, *REPLIES))
    memory.add(NOTES, key="notes", title="Wild things")
    memory.add(RIVER, key="river")
    plain, found = vectors(memory), memory.search("a flood")
    first, second = deepened(memory)
    assert isinstance(first, Receipt)
    assert isinstance(second, Receipt)
    assert memory.search("a flood") != found

    removed = list(memory.maintenance.remove_layer("context", ["notes", "river"]))

    assert [type(outcome) for outcome in removed] == [Receipt, Receipt]
    assert "Annotation" not in memory._parts.store.count_by_document([first.document_id])[first.document_id]
    assert [record.layers for record in memory.documents()] == [("entities",)] * 2
    assert np.array_equal(vectors(memory), plain)
    assert memory.search("a flood") == found
    assert [
        outcome.action for outcome in memory.maintenance.remove_layer("context") if isinstance(outcome, Receipt)
    ] == [
        Action.UNCHANGED,
        Action.UNCHANGED,
    ]


def test_search_finds_words_of_the_header(open_memory: OpenMemory) -> None:
    memory = open_memory(layers=["entities", "context"], model=language("This document is about: zoology."))
    memory.add(RIVER, key="river")
    memory.add(FOX, key="fox")
    assert memory.search("zoology", k=1, mode="vector")[0].document_key == "river"
    assert all("zoology" not in item.text for item in memory.search("zoology"))


def test_layer_survives_reembedding_archives_and_replacement(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = open_memory(layers=["entities", "context"], model=language(*REPLIES, "This document is about: rain."))
    memory.add(NOTES, key="notes", title="Wild things")
    before = vectors(memory)
    memory.maintenance.export_to(tmp_path / "archive.jsonl")
    with Memory(tmp_path / "copy.lbug", **options()) as copy:
        list(copy.maintenance.import_from(tmp_path / "archive.jsonl"))
        assert headers(copy) == headers(memory)
        assert np.array_equal(vectors(copy), before)
        copy.maintenance.reembed(FakeEmbedder(8, name="fake again"))
        assert np.allclose(vectors(copy), before)
    memory.add(RIVER, key="notes", title="Rain")
    assert headers(memory) == ["Rain\nThis document is about: rain."]
    memory.forget("notes")
    assert not memory.status()["counts"].get("Annotation")


def test_conversation_gets_no_header_and_keeps_its_vectors(open_memory: OpenMemory) -> None:
    memory = open_memory(layers=["entities"], model=language("", ""))
    turns = [{"role": "Ann", "content": "# I ran. " * 12, "time": "2024-05-01T10:00"}]
    memory.add(turns, key="notes")
    plain = vectors(memory)
    (receipt,) = deepened(memory)
    assert isinstance(receipt, Receipt)
    assert headers(memory) == []
    assert not np.allclose(vectors(memory), plain)


@pytest.mark.parametrize("layer", ["entities", "points", "relations", "", None, 3])
def test_layer_that_others_need_is_not_removed(open_memory: OpenMemory, layer: str) -> None:
    memory = open_memory(layers=["entities"])
    memory.add(FOX, key="fox")
    with pytest.raises(SettingsError):
        memory.maintenance.remove_layer(layer)
    with pytest.raises(DocumentNotFound):
        memory.maintenance.remove_layer("context", ["nowhere"])
    assert memory.documents()[0].layers == ("entities",)


def test_read_only_memory_refuses_to_remove_a_layer(tmp_path: Path) -> None:
    with Memory(tmp_path / "x.lbug", **options(layers=["entities"])) as memory:
        memory.add(FOX, key="fox")
    with Memory(tmp_path / "x.lbug", **options(), read_only=True) as memory, pytest.raises(StoreReadOnly):
        memory.maintenance.remove_layer("context")


def test_a_new_text_is_not_built_with_the_outline_of_the_old_one(tmp_path: Path) -> None:
    with Memory(tmp_path / "notes.lbug", **options(model=language(), layers=("entities", "outline"))) as memory:
        memory.add(NOTES, key="notes")
    new = f"{RIVER}\n\n# Otters\n\n{FOX}\n"
    graphs = []
    for file in ("notes.lbug", "new.lbug"):
        with Memory(tmp_path / file, **options(model=language(), layers=("context",))) as memory:
            assert memory.add(new, key="notes").action in (Action.REPLACED, Action.ADDED)
            graphs.append((headers(memory), vectors(memory).tolist()))
    assert graphs[0] == graphs[1]
