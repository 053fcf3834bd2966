"""``Memory`` from end to end on real stores, with models that need no weights."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from memories import FOX, LONG, QUESTION, RIVER, OpenMemory, embedder, graph_of, options

from memgraph_rag import Action, Document, Failure, Memory, Message, Receipt
from memgraph_rag.errors import (
    DocumentError,
    DocumentNotFound,
    MemgraphRagError,
    ModelError,
    ModelNotFound,
    SchemaMismatch,
    SettingsError,
    StoreError,
)
from memgraph_rag.ingestion.build_pool import LocalPool
from memgraph_rag.ingestion.sources import GroupSize
from memgraph_rag.models.model_loader import FoundModels
from memgraph_rag.stores import open_store
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel, FakeRecognizer
from memgraph_rag.types import Generation, MetadataValue, Usage

# ── adding and forgetting ────────────────────────────────────────────────────────────────────────────────────


def test_the_receipt_says_what_the_store_then_holds(memory: Memory) -> None:
    receipt = memory.add(FOX, key="fox")
    assert (receipt.key, receipt.action) == ("fox", Action.ADDED)
    owned = {name: number for name, number in memory.status()["counts"].items() if number and name != "Entity"}
    assert receipt.counts == owned, "entities are shared, so no document counts them as its own"
    assert receipt.counts["MENTIONS"] > 3
    assert receipt.counts["Segment"] > 3
    assert receipt.counts["InformationPoint"] > 1
    assert receipt.usage.model_calls >= 1
    held = graph_of(memory)
    segments = sorted((node for node in held["nodes"].values() if node.level == 0), key=lambda node: node.index)
    assert "".join(segment.text for segment in segments) == FOX
    assert all(segment.text == FOX[segment.start : segment.end] for segment in segments)
    assert len(held["nodes"]) == receipt.counts["Segment"] + receipt.counts["InformationPoint"]
    assert len(held["edges"]) == receipt.counts["SUMMARIZES"]
    points = {node.id for node in held["nodes"].values() if node.level > 0}
    sums = {name: sum(weight for (source, _), weight in held["edges"].items() if source == name) for name in points}
    assert sums == pytest.approx(dict.fromkeys(points, 1.0))


def test_same_content_changes_nothing(memory: Memory) -> None:
    first = memory.add(FOX, key="fox")
    before = graph_of(memory)
    again = memory.add(FOX, key="fox")
    assert (again.action, again.counts, again.usage) == (Action.UNCHANGED, first.counts, Usage())
    assert graph_of(memory) == before


@pytest.mark.data
def test_other_content_replaces_its_key(memory: Memory) -> None:
    memory.add(FOX, key="story", metadata={"year": 1900})
    receipt = memory.add(RIVER, key="story", metadata={})
    assert receipt.action is Action.REPLACED
    replaced = graph_of(memory)
    memory.forget("story")
    assert memory.add(RIVER, key="story").action is Action.ADDED
    assert graph_of(memory) == replaced


def test_other_metadata_leave_all_that_was_built(memory: Memory) -> None:
    memory.add(FOX, key="fox", title="The Fox", metadata={"year": 1900})
    before = {**graph_of(memory), "documents": None}

    receipt = memory.add(FOX, key="fox", metadata={"year": 1901, "shelf": "Ä"})

    assert (receipt.action, receipt.usage) == (Action.DESCRIBED, Usage())
    assert {**graph_of(memory), "documents": None} == before
    (held,) = memory.documents()
    assert (held.title, held.metadata) == ("The Fox", {"year": 1901, "shelf": "Ä"})
    assert memory.add(FOX, key="fox", title="The Fox", metadata=held.metadata).action is Action.UNCHANGED
    assert memory.add(FOX, key="fox", metadata={}).action is Action.DESCRIBED
    assert memory.documents()[0].metadata == {}
    outcomes = list(memory.add_many([Document(FOX, "fox", title="The Fox", metadata={"shelf": 1}), RIVER]))
    assert [outcome.action for outcome in outcomes if isinstance(outcome, Receipt)] == [
        Action.DESCRIBED,
        Action.ADDED,
    ]


@pytest.mark.data
def test_parts_that_are_not_given_again_stay(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "fox.txt"
    path.write_text(FOX)
    memory.add(path, key="fox", title="The Fox", metadata={"year": 1900})
    assert memory.add(path, key="fox").action is Action.UNCHANGED
    path.write_text(RIVER)
    assert memory.add(path, key="fox").action is Action.REPLACED
    (held,) = memory.documents()
    assert (held.title, held.metadata) == ("fox", {"year": 1900}), "another text may have another title"


@pytest.mark.parametrize("metadata", [{"date": "1900-01-02"}, {"echo": True}])
def test_metadata_that_segments_are_made_with_replace_the_document(
    memory: Memory, metadata: dict[str, MetadataValue]
) -> None:
    memory.add(FOX, key="fox")
    assert memory.add(FOX, key="fox", metadata=metadata).action is Action.REPLACED
    held = graph_of(memory)
    memory.forget("fox")
    memory.add(FOX, key="fox", metadata=metadata)
    assert graph_of(memory) == held


@pytest.mark.data
def test_forgetting_one_of_two_documents_leaves_the_other_unchanged(memory: Memory) -> None:
    memory.add(FOX, key="fox")
    alone = graph_of(memory)
    added = memory.add(RIVER, key="river")
    gone = memory.forget("river")
    assert (gone.action, gone.counts, gone.document_id) == (Action.FORGOTTEN, added.counts, added.document_id)
    assert graph_of(memory) == alone


@pytest.mark.data
def test_forgetting_through_another_memory_clears_an_unfinished_build(open_memory: OpenMemory, tmp_path: Path) -> None:
    left = Generation("A fox.", np.zeros((1, 2), np.int64), np.zeros((1, 1), np.float32), "end", Usage())
    memory = open_memory(cache_dir=tmp_path / "cache")
    memory.add(FOX, key="fox")
    memory._parts.journal.keep("a", left)
    with Memory(memory._parts.store, cache_dir=tmp_path / "cache", **options()) as other:
        other.forget("fox")
    assert not list((tmp_path / "cache" / "journal").iterdir())


@pytest.mark.data
def test_forgotten_text_leaves_no_trace(memory: Memory) -> None:
    receipt = memory.add(FOX, key="fox")
    node_ids = list(graph_of(memory)["nodes"])
    memory.forget(receipt.document_id)
    assert memory.documents() == []
    assert not any(memory.status()["counts"].values())
    assert memory._parts.store.nodes(node_ids) == []
    assert [memory.search("fox", mode=mode) for mode in ("hybrid", "keywords", "vector")] == [[], [], []]
    assert memory.ask("Who found the fox?").abstained
    with pytest.raises(DocumentNotFound) as raised:
        memory.forget("fox")
    assert raised.value.key == "fox"


@pytest.mark.data
def test_one_bad_source_does_not_stop_the_others(memory: Memory, tmp_path: Path) -> None:
    sources = [
        FOX,
        tmp_path / "missing.txt",
        " \n",
        None,
        FOX,
        Document(RIVER, "river"),
        [Message("user", "Hello Ann.")],
    ]
    outcomes = list(memory.add_many(sources))
    assert [getattr(outcome, "action", None) for outcome in outcomes] == [
        Action.ADDED,
        None,
        None,
        None,
        Action.UNCHANGED,
        Action.ADDED,
        Action.ADDED,
    ]
    assert all(isinstance(outcome, Failure) and isinstance(outcome.error, DocumentError) for outcome in outcomes[1:4])
    assert [outcome.source for outcome in outcomes[1:4]] == [str(tmp_path / "missing.txt"), " \n", "None"]
    held = {record.id for record in memory.documents()}
    assert held == {outcome.document_id for outcome in outcomes if isinstance(outcome, Receipt)}


class Choking(FakeLanguageModel):
    """Cannot summarise what holds the word poison."""

    def generate(self, prompts, **options):
        if any("poison" in text for prompt in prompts for text in prompt.inputs):
            raise ModelError("Expected something to eat, got poison.")
        return super().generate(prompts, **options)


class ChokingOn(FakeRecognizer):
    """Finds no names in texts one of which holds this word, but raises."""

    def __init__(self, word: str) -> None:
        super().__init__()
        self._word = word

    def recognize(self, texts):
        if any(self._word in text for text in texts):
            raise ModelError(f"Expected names, got {self._word}.")
        return super().recognize(texts)


@pytest.mark.data
def test_refused_document_does_not_stop_the_others_of_its_group(open_memory: OpenMemory) -> None:
    memory = open_memory(model=Choking())
    bad = Document(FOX.replace("milk", "poison"), "bad")
    fox, failure, river = memory.add_many([Document(FOX, "fox"), bad, Document(RIVER, "river")])
    assert (fox.action, river.action) == (Action.ADDED, Action.ADDED)
    assert (failure.source, type(failure.error)) == ("bad", ModelError)
    assert [record.key for record in memory.documents()] == ["fox", "river"]
    together = graph_of(memory)
    for key, text in (("fox", FOX), ("river", RIVER)):
        memory.forget(key)
        memory.add(text, key=key)
    assert graph_of(memory) == together, "each is what it would be alone"


@pytest.mark.data
def test_documents_added_together_equal_those_added_one_by_one(open_memory: OpenMemory) -> None:
    memory = open_memory()
    documents = [Document(FOX, "fox"), Document("One sentence.", "short"), Document(RIVER, "river")]
    assert len(list(memory.add_many(documents))) == 3
    together = graph_of(memory)
    for document in documents:
        memory.forget(document.key)
        memory.add(document)
    assert graph_of(memory) == together


@pytest.mark.parametrize("layers", [("entities",), ("entities", "points")])
def test_groups_are_reported_in_order_and_compared_with_the_store(
    open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch, layers: tuple[str, ...]
) -> None:
    monkeypatch.setattr(LocalPool, "group_size", GroupSize(documents=2, characters=200_000))
    memory = open_memory(layers=layers, recognizer=ChokingOn("poison"))
    stories = {"a": FOX, "b": RIVER, "c": FOX.replace("milk", "poison"), "d": RIVER[::-1], "e": FOX[::-1]}
    sources = [Document(stories[key], key) for key in "abcadee"] + [Document(RIVER, "a"), Document(FOX, "b")]
    outcomes = [(outcome.key, outcome.action.value) if isinstance(outcome, Receipt) else outcome.source
            for outcome in memory.add_many(sources)]  # fmt: skip
    assert outcomes == [
        ("a", "added"), ("b", "added"), "c", ("a", "unchanged"), ("d", "added"), ("e", "added"), ("e", "unchanged"),
        ("a", "replaced"), ("b", "replaced"),
    ]  # fmt: skip
    held = graph_of(memory)
    for key, text in (("a", RIVER), ("b", FOX), ("d", stories["d"]), ("e", stories["e"])):
        memory.forget(key)
        memory.add(text, key=key)
    assert graph_of(memory) == held


@pytest.mark.data
@pytest.mark.parametrize("at_once", [False, True])
def test_a_key_taken_by_another_file_is_refused(memory: Memory, tmp_path: Path, at_once: bool) -> None:
    files = [tmp_path / folder / "notes.txt" for folder in ("one", "two")]
    for file, text in zip(files, (FOX, RIVER), strict=True):
        file.parent.mkdir()
        file.write_text(text, "utf-8")
    if at_once:
        sources = [Document(file.read_text("utf-8"), "notes", source=str(file)) for file in files]
        first, second = memory.add_many(sources)
    else:
        first = memory.add(files[0], key="notes")
        (second,) = memory.add_many([Document(RIVER, "notes", source=str(files[1]))])
        with pytest.raises(DocumentError, match="got another file"):
            memory.add(files[1], key="notes")
    assert first.action is Action.ADDED
    assert isinstance(second.error, DocumentError)
    assert str(files[0]) in str(second.error)
    assert [record.source for record in memory.documents()] == [str(files[0])]
    assert memory.add(files[1], key="notes of two").action is Action.ADDED


def test_the_same_content_from_another_place_changes_nothing(memory: Memory, tmp_path: Path) -> None:
    files = [tmp_path / folder / "notes.txt" for folder in ("one", "two")]
    for file in files:
        file.parent.mkdir()
        file.write_text(FOX, "utf-8")
    assert memory.add(files[0], key="notes").action is Action.ADDED
    assert memory.add(files[1], key="notes").action is Action.UNCHANGED


def built_at_once(open_memory: OpenMemory) -> dict[str, Any]:
    """The graph with all layers, of a document that is then forgotten."""
    memory = open_memory()
    memory.add(FOX, key="fox")
    graph = graph_of(memory)
    memory.forget("fox")
    return graph


def test_second_add_builds_missing_layers(open_memory: OpenMemory) -> None:
    at_once = built_at_once(open_memory)
    bare = open_memory(layers=())
    assert bare.add(FOX, key="fox").counts.get("InformationPoint", 0) == 0
    assert bare.ask(QUESTION).citations, "segments alone can be read"
    full = open_memory()
    assert full.add(FOX, key="fox").action is Action.DEEPENED
    assert full.documents()[0].layers == ("entities", "points")
    assert graph_of(full)["nodes"] == at_once["nodes"]
    assert graph_of(full)["edges"] == at_once["edges"]
    assert graph_of(full)["counts"] == at_once["counts"]
    assert bare.add(FOX, key="fox").action is Action.UNCHANGED, "what is there already need not be taken away"


@pytest.mark.data
def test_deepening_goes_on_where_it_was_interrupted(open_memory: OpenMemory) -> None:
    cheap = open_memory(layers=("entities",))
    for key, text in (("fox", FOX), ("river", RIVER)):
        assert cheap.add(text, key=key).usage == Usage(), "no language model is asked"
    assert {record.layers for record in cheap.documents()} == {("entities",)}
    assert cheap.search("Who opened the garden gate?", k=1)[0].document_key == "fox"
    first, *_ = cheap.deepen()
    assert (first.key, first.action) == ("fox", Action.DEEPENED)
    assert first.counts["InformationPoint"] > 0
    rest = list(cheap.deepen())
    assert [outcome.action for outcome in rest] == [Action.UNCHANGED, Action.UNCHANGED], (
        "documents of one group go together"
    )
    assert {record.layers for record in cheap.documents()} == {("entities", "points")}


def test_some_documents_are_deepened_by_some_layers(open_memory: OpenMemory) -> None:
    bare = open_memory(layers=())
    for key, text in (("fox", FOX), ("river", RIVER)):
        bare.add(text, key=key)
    (receipt,) = bare.deepen(["river"], layers=["entities"])
    assert (receipt.key, receipt.action) == ("river", Action.DEEPENED)
    assert {record.key: record.layers for record in bare.documents()} == {"fox": (), "river": ("entities",)}
    assert bare.status()["counts"]["MENTIONS"] > 0
    with pytest.raises(SettingsError, match="entities"):
        bare.deepen(layers=["walls"])
    with pytest.raises(DocumentNotFound):
        bare.deepen(["unknown"])


def test_a_memory_without_a_language_model_adds_and_searches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memgraph_rag.models.files.catalogue.find_spec", lambda _: None)
    parts = {"embedder": embedder(), "recognizer": FakeRecognizer()}
    with Memory(tmp_path / "notes.lbug", **parts) as memory:
        memory.add(FOX, key="fox")
        assert memory.search("Who built a wooden box?", k=1)[0].document_key == "fox"
        with pytest.raises(ModelNotFound):
            memory.deepen()
    with (
        Memory(tmp_path / "other.lbug", layers=["points"], **parts) as memory,
        pytest.raises(ModelNotFound),
    ):
        memory.add(FOX, key="fox")


def test_stored_and_unreadable_sources_load_no_language_model(tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(FoundModels, "_open_language", lambda self: opened.append(self) or FakeLanguageModel())
    with Memory(tmp_path / "notes.lbug", **{**options(), "model": str(tmp_path), "layers": ()}) as memory:
        memory.add(FOX, key="fox")
        assert len(opened) == 1
    with Memory(tmp_path / "notes.lbug", **{**options(), "model": str(tmp_path), "layers": ()}) as memory:
        assert memory.add(FOX, key="fox").action is Action.UNCHANGED
        with pytest.raises(DocumentError):
            memory.add(tmp_path / "missing.txt")
        assert len(opened) == 1


def test_a_namespace_keeps_its_recognizer(open_memory: OpenMemory) -> None:
    open_memory().add(FOX, key="fox")
    with pytest.raises(SettingsError, match="fake-recognizer"):
        open_memory(recognizer=FakeRecognizer(name="another"))


class Interrupted(FakeLanguageModel):
    """The user presses Ctrl-C when the last of some levels is to be written."""

    levels_left = 100

    def generate(self, prompts, **options):
        self.levels_left -= 1
        if self.levels_left == 0:
            raise KeyboardInterrupt
        return super().generate(prompts, **options)


@pytest.mark.data
def test_ctrl_c_while_building_leaves_the_store_as_before(open_memory: OpenMemory) -> None:
    model = Interrupted()
    memory = open_memory(model=model)
    memory.add(RIVER, key="a")
    before = graph_of(memory)
    model.levels_left = 2
    with pytest.raises(KeyboardInterrupt):
        memory.add(LONG, key="a")
    assert graph_of(memory) == before
    model.levels_left = 100
    assert memory.add(LONG, key="a").action is Action.REPLACED
    assert {node.level for node in graph_of(memory)["nodes"].values()} == {0, 1, 2}


@pytest.mark.data
def test_a_write_that_fails_leaves_the_store_as_before(
    open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = open_memory()
    memory.add(RIVER, key="a")
    before = graph_of(memory)
    wrong = FakeEmbedder(4)
    monkeypatch.setattr(memory.embedder, "embed", wrong.embed)
    with pytest.raises(MemgraphRagError):
        memory.add(FOX, key="a")
    monkeypatch.undo()
    assert graph_of(memory) == before


# ── opening and closing ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.data
def test_reopened_memory_has_its_documents(open_memory: OpenMemory) -> None:
    memory = open_memory()
    memory.add(FOX, key="fox")
    before = graph_of(memory)
    memory.close()
    assert graph_of(open_memory()) == before


USES: Sequence[Callable[[Memory], object]] = (
    lambda memory: memory.add(FOX),
    lambda memory: next(iter(memory.add_many([FOX]))).error,
    lambda memory: memory.ask(QUESTION),
    lambda memory: memory.search("fox"),
    lambda memory: memory.get("x"),
    lambda memory: memory.documents(),
    lambda memory: memory.forget("fox"),
    lambda memory: memory.status(),
)


def test_a_closed_memory_says_so(memory: Memory) -> None:
    memory.add(FOX, key="fox")
    memory.close()
    memory.close()
    for use in USES:
        try:
            outcome = use(memory)
        except MemgraphRagError as error:
            outcome = error
        assert isinstance(outcome, StoreError)
        assert "closed" in str(outcome)


def test_memory_alone_takes_its_place_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MEMGRAPH_RAG_STORE", str(tmp_path / "here.lbug"))
    monkeypatch.setenv("MEMGRAPH_RAG_NAMESPACE", "mine")
    with Memory(model=FakeLanguageModel(), embedder=embedder(), recognizer=FakeRecognizer()) as memory:
        assert memory.namespace == "mine"
        memory.add(FOX, key="fox")
    with Memory(tmp_path / "here.lbug", namespace="mine", **options()) as memory:
        assert [record.key for record in memory.documents()] == ["fox"]


def test_memory_alone_has_a_file_in_the_users_data_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("MEMGRAPH_RAG_STORE", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr("platformdirs.user_data_dir", lambda name: str(tmp_path / name))
    with Memory(model=FakeLanguageModel(), embedder=embedder(), recognizer=FakeRecognizer()) as memory:
        memory.add(FOX, key="fox")
    assert (tmp_path / "memgraph_rag" / "memory.lbug").is_file()


@pytest.mark.parametrize("other", [FakeEmbedder(8, name="other"), FakeEmbedder(16, name="fake")])
def test_a_store_built_with_another_embedder_is_refused(tmp_path: Path, other: FakeEmbedder) -> None:
    place = tmp_path / "notes.lbug"
    with Memory(place, **options()) as memory:
        memory.add(FOX, key="fox")
        before = graph_of(memory)
    with pytest.raises(SchemaMismatch, match="fake"):
        Memory(place, **options(embedder=other))
    program = f"import ladybug; ladybug.Database({str(place)!r}).close()"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0, "the file is let go"
    with Memory(place, **options()) as memory:
        assert graph_of(memory) == before


def test_an_open_store_is_used_and_left_open(tmp_path: Path) -> None:
    store = open_store(tmp_path / "notes.lbug", namespace="mine")
    with Memory(store, **options()) as memory:
        memory.add(FOX, key="fox")
    assert [record.key for record in store.documents()] == ["fox"]
    with pytest.raises(SettingsError, match="mine"):
        Memory(store, namespace="yours", **options())
    store.close()


def test_progress_reports_work_of_models(tmp_path: Path) -> None:
    reports: list[tuple[str, int, int]] = []
    with Memory(tmp_path / "notes.lbug", **options(progress=lambda *what: reports.append(what))) as memory:
        receipt = memory.add(FOX, key="fox")
    segments = receipt.counts["Segment"]
    assert ("embedding", segments, segments) in reports
    assert ("finding names", segments, segments) in reports
    assert any(what == "summarising, level 1" and done == total for what, done, total in reports)
