"""``Memory`` from end to end on real stores, with models that need no weights."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from memories import FOX, LONG, RIVER, OpenMemory, embedder, graph_of, options

from memgraph_rag import (
    Action,
    Answer,
    Document,
    Failure,
    InformationPoint,
    Memory,
    Message,
    Receipt,
    Segment,
    Step,
    StopReason,
    Usage,
)
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
from memgraph_rag.operations.model_loader import FoundModels
from memgraph_rag.stores import open_store
from memgraph_rag.strategies import STRATEGIES
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel, FakeRecognizer
from memgraph_rag.types import Generation, MetadataValue, RelevanceCurve

QUESTION = "Who built a wooden box?"


@pytest.fixture
def file_memory(tmp_path: Path) -> Iterator[Memory]:
    """For what does not depend on the store."""
    with Memory(tmp_path / "notes.lbug", **options()) as memory:
        yield memory


# ── adding and forgetting ────────────────────────────────────────────────────────────────────────────────────


def test_the_receipt_says_what_the_store_then_holds(memory: Memory) -> None:
    receipt = memory.add(FOX, key="fox")
    assert (receipt.key, receipt.action) == ("fox", Action.ADDED)
    owned = {name: number for name, number in memory.stats()["counts"].items() if number and name != "Entity"}
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


def test_the_same_content_again_changes_nothing(memory: Memory) -> None:
    first = memory.add(FOX, key="fox")
    before = graph_of(memory)
    again = memory.add(FOX, key="fox")
    assert (again.action, again.counts, again.usage) == (Action.UNCHANGED, first.counts, Usage())
    assert graph_of(memory) == before


def test_other_content_under_the_same_key_takes_its_place(memory: Memory) -> None:
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


def test_what_is_not_given_again_stays(memory: Memory, tmp_path: Path) -> None:
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


def test_forgetting_one_of_two_leaves_the_other_as_it_was_alone(memory: Memory) -> None:
    memory.add(FOX, key="fox")
    alone = graph_of(memory)
    added = memory.add(RIVER, key="river")
    gone = memory.forget("river")
    assert (gone.action, gone.counts, gone.document_id) == (Action.FORGOTTEN, added.counts, added.document_id)
    assert graph_of(memory) == alone


def test_forgetting_through_another_memory_clears_an_unfinished_build(open_memory: OpenMemory, tmp_path: Path) -> None:
    left = Generation("A fox.", np.zeros((1, 2), np.int64), np.zeros((1, 1), np.float32), "end", Usage())
    memory = open_memory(cache_dir=tmp_path / "cache")
    memory.add(FOX, key="fox")
    memory._journal.keep("a", left)
    with Memory(memory._store, cache_dir=tmp_path / "cache", **options()) as other:
        other.forget("fox")
    assert not list((tmp_path / "cache" / "journal").iterdir())


def test_nothing_is_left_of_what_is_forgotten(memory: Memory) -> None:
    receipt = memory.add(FOX, key="fox")
    node_ids = list(graph_of(memory)["nodes"])
    memory.forget(receipt.document_id)
    assert memory.documents() == []
    assert not any(memory.stats()["counts"].values())
    assert [memory.get(node_id) for node_id in node_ids] == [None] * len(node_ids)
    assert [memory.search("fox", mode=mode) for mode in ("hybrid", "keywords", "vector")] == [[], [], []]
    assert memory.ask("Who found the fox?").abstained
    with pytest.raises(DocumentNotFound) as raised:
        memory.forget("fox")
    assert raised.value.key == "fox"


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


def test_a_document_that_the_model_refuses_does_not_stop_those_beside_it(open_memory: OpenMemory) -> None:
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
    monkeypatch.setattr("memgraph_rag.operations.sources._GROUP_DOCUMENTS", 2)
    memory = open_memory(layers=layers, recognizer=ChokingOn("poison"))
    stories = {"a": FOX, "b": RIVER, "c": FOX.replace("milk", "poison"), "d": RIVER[::-1], "e": FOX[::-1]}
    sources = [Document(stories[key], key) for key in "abcadee"] + [Document(RIVER, "a"), Document(FOX, "b")]
    told = [(outcome.key, outcome.action.value) if isinstance(outcome, Receipt) else outcome.source
            for outcome in memory.add_many(sources)]  # fmt: skip
    assert told == [
        ("a", "added"), ("b", "added"), "c", ("a", "unchanged"), ("d", "added"), ("e", "added"), ("e", "unchanged"),
        ("a", "replaced"), ("b", "replaced"),
    ]  # fmt: skip
    held = graph_of(memory)
    for key, text in (("a", RIVER), ("b", FOX), ("d", stories["d"]), ("e", stories["e"])):
        memory.forget(key)
        memory.add(text, key=key)
    assert graph_of(memory) == held


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
        with pytest.raises(DocumentError, match="taken by another file"):
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


def test_layers_that_are_missing_are_built_when_it_is_added_again(open_memory: OpenMemory) -> None:
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
    assert bare.stats()["counts"]["MENTIONS"] > 0
    with pytest.raises(SettingsError, match="entities"):
        bare.deepen(layers=["walls"])
    with pytest.raises(DocumentNotFound):
        bare.deepen(["unknown"])


def test_a_memory_without_a_language_model_adds_and_searches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none_here(*_: object, **__: object) -> None:
        raise ModelNotFound("none")

    monkeypatch.setattr("memgraph_rag.models.catalogue.find_language_model", none_here)
    with Memory(tmp_path / "notes.lbug", layers=("entities",), **{**options(), "model": None}) as memory:
        memory.add(FOX, key="fox")
        assert memory.search("Who built a wooden box?", k=1)[0].document_key == "fox"
    with Memory(tmp_path / "other.lbug", **{**options(), "model": None}) as memory, pytest.raises(ModelNotFound):
        memory.add(FOX, key="fox")


def test_what_is_stored_already_or_cannot_be_read_opens_no_language_model(tmp_path, monkeypatch):
    monkeypatch.setattr("memgraph_rag.models.catalogue.find_language_model", lambda *_, **__: ("small", str(tmp_path)))
    opened = []
    monkeypatch.setattr(FoundModels, "_open_language", lambda self: opened.append(self) or FakeLanguageModel())
    with Memory(tmp_path / "notes.lbug", **{**options(), "model": None}, layers=()) as memory:
        memory.add(FOX, key="fox")
        assert len(opened) == 1
    with Memory(tmp_path / "notes.lbug", **{**options(), "model": None}, layers=()) as memory:
        assert memory.add(FOX, key="fox").action is Action.UNCHANGED
        with pytest.raises(DocumentError):
            memory.add(tmp_path / "missing.txt")
        assert len(opened) == 1


def test_a_namespace_keeps_its_recognizer(open_memory: OpenMemory) -> None:
    open_memory().add(FOX, key="fox")
    with pytest.raises(SettingsError, match="fake-recognizer"):
        open_memory(recognizer=FakeRecognizer(name="another"))


def test_search_sees_at_once_what_another_memory_wrote(open_memory: OpenMemory) -> None:
    one, other = open_memory(), open_memory()
    one.add(FOX, key="fox")
    assert {found.document_key for found in other.search("fox in the barn")} == {"fox"}
    one.add(RIVER, key="river")
    assert other.search("stone bridge over the river", k=1)[0].document_key == "river"
    one.forget("fox")
    assert {found.document_key for found in other.search("fox in the barn", k=50)} == {"river"}


class Counting(FakeEmbedder):
    """Counts the texts that it embeds."""

    texts = 0

    def embed(self, texts):
        self.texts += len(texts)
        return super().embed(texts)


def test_a_memory_that_is_opened_again_builds_nothing_to_search(open_memory: OpenMemory) -> None:
    with open_memory() as memory:
        memory.add(FOX, key="fox")
        before = memory.search("fox in the barn")
    counting = Counting(8, name="fake")
    with open_memory(embedder=counting) as memory:
        assert memory.search("fox in the barn") == before
        memory.search("fox in the barn")
        assert counting.texts == 2, "the questions"


def test_a_thousand_documents_are_added_while_another_memory_searches(open_memory: OpenMemory) -> None:
    adding, searching = (open_memory(layers=("entities",)) for _ in range(2))
    adding.add("Ann met Tom.", key="first")
    seen = [0]
    with ThreadPoolExecutor(1) as pool:
        documents = (Document(f"Person{number} met Ann in Town{number % 7}.", f"d{number}") for number in range(1000))
        added = pool.submit(lambda: list(adding.add_many(documents)))
        while not added.done():
            found = searching.search("Whom did Ann meet?", k=2000)
            assert found
            seen.append(len(found))
        assert all(isinstance(outcome, Receipt) for outcome in added.result())
    assert seen == sorted(seen), "what was found once is not lost again"
    assert len(searching.search("Whom did Ann meet?", k=2000)) == 1001


def test_metadata_and_times_limit_a_search(memory: Memory) -> None:
    memory.add(FOX, key="fox", metadata={"year": 1900, "date": "1900-01-02"})
    memory.add(RIVER, key="river", metadata={"year": 1950, "date": "1950-01-02"})
    for limits, expected in (
        ({"where": {"year": 1900}}, {"fox"}),
        ({"where": {"year": 1900, "date": "1950-01-02"}}, set()),
        ({"since": "1950-01-02"}, {"river"}),
        ({"until": date(1950, 1, 2)}, {"fox"}),
        ({"since": datetime(1900, 1, 1), "until": "1960-01-01T00:00Z"}, {"fox", "river"}),
        ({"documents": ["river"], "where": {"year": 1900}}, set()),
    ):
        assert {found.document_key for found in memory.search("what happened", k=50, **limits)} == expected
    for wrong in ({"since": "last week"}, {"until": 5}, {"where": ["year"]}, {"since": "1950", "mode": "vector"}):
        with pytest.raises(SettingsError):
            memory.search("what happened", **wrong)


def test_a_search_leaves_out_what_is_not_near_enough(memory: Memory) -> None:
    memory.add(FOX, key="fox")
    memory.add(RIVER, key="river")
    with pytest.raises(SettingsError, match="an embedder with a relevance_curve"):
        memory.search("red fox", min_relevance=0.1)
    memory.embedder.relevance_curve = RelevanceCurve(half=0.3, slope=20.0)  # pyright: ignore[reportAttributeAccessIssue]
    for mode in ("graph", "hybrid", "vector"):
        everything = memory.search("Who found the red fox?", mode=mode)
        nearest = max(one.relevance or 0 for one in everything)
        kept = memory.search("Who found the red fox?", mode=mode, min_relevance=nearest)
        assert kept == [one for one in everything if one.relevance == nearest] != everything
        assert memory.search("Who found the red fox?", mode=mode, min_relevance=0) == everything
        assert memory.search("Who found the red fox?", mode=mode, min_relevance=1) == []
    with pytest.raises(SettingsError, match="keywords"):
        memory.search("red fox", mode="keywords", min_relevance=0.1)
    for wrong in (-0.1, 1.1, True, "0.5", float("nan")):
        with pytest.raises(SettingsError, match="a number from 0 to 1"):
            memory.search("red fox", min_relevance=wrong)  # pyright: ignore[reportArgumentType]


def test_a_conversation_is_found_by_its_turns(memory: Memory) -> None:
    memory.add(
        [
            {"role": "Ann", "content": "Where were you?", "time": "2024-05-01T10:00"},
            {"role": "Ben", "content": "At the dentist, all morning.", "time": "2024-05-01T10:01"},
        ],
        key="chat",
    )
    segments = memory._store.segments_of(memory.documents()[0].id)
    assert [(one.speaker, one.time) for one in segments] == [
        ("Ann", "2024-05-01T10:00:00"),
        ("Ben", "2024-05-01T10:01:00"),
    ]
    found = memory.search("dentist", since="2024-05-01T10:01")
    assert [one.segment.speaker for one in found] == ["Ben"]


class Interrupted(FakeLanguageModel):
    """The user presses Ctrl-C when the last of some levels is to be written."""

    levels_left = 100

    def generate(self, prompts, **options):
        self.levels_left -= 1
        if self.levels_left == 0:
            raise KeyboardInterrupt
        return super().generate(prompts, **options)


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


# ── asking ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_an_answer_cites_what_stands_verbatim_in_its_document(memory: Memory, strategy: str) -> None:
    texts = {"fox": FOX, "river": RIVER}
    for key, text in texts.items():
        memory.add(text, key=key)
    answer = memory.ask(QUESTION, strategy=strategy)
    assert answer.strategy == strategy
    assert not answer.abstained
    assert "wooden box" in answer.text
    assert answer.citations
    for citation in answer.citations:
        text = texts[citation.document_key]
        assert text[citation.start : citation.end] == citation.quote
        segment = memory.get(citation.segment_id)
        assert segment.start <= citation.start < citation.end <= segment.end
    assert "wooden box" in answer.citations[0].quote
    assert [memory.get(step.node.id) for step in answer.trace] == [step.node for step in answer.trace]
    assert len({step.node.id for step in answer.trace}) == len(answer.trace)
    assert all(step.stop is None for step in answer.trace[:-1])
    assert len({step.attention for step in answer.trace}) > 1
    assert answer.usage.prompt_tokens > sum(step.node.tokens for step in answer.trace)
    assert answer.usage.generated_tokens > 0


def test_the_same_question_gets_the_same_answer(memory: Memory) -> None:
    memory.add(FOX, key="fox")
    answers = [memory.ask(QUESTION) for _ in range(3)]
    same = [replace(answer, usage=replace(answer.usage, seconds=0.0)) for answer in answers]
    assert same[0] == same[1] == same[2]


def test_both_stores_give_the_same_graph_and_the_same_trace(memory: Memory, tmp_path: Path) -> None:
    with Memory(tmp_path / "other.lbug", namespace=memory.namespace, **options()) as other:
        for each in (memory, other):
            each.add(FOX, key="fox")
            each.add(LONG, key="long")
        assert graph_of(memory) == graph_of(other)
        for strategy in ("pecan", "top_k_vector", "full_context"):
            one, two = (each.ask(QUESTION, strategy=strategy) for each in (memory, other))
            assert [step.node for step in one.trace] == [step.node for step in two.trace]
            assert [step.score for step in one.trace] == pytest.approx([step.score for step in two.trace], abs=1e-6)
            assert (one.text, one.stop_reason) == (two.text, two.stop_reason)
            assert [citation.quote for citation in one.citations] == [citation.quote for citation in two.citations]
        for query in (QUESTION, "stone bridge", "What did Tom build for the fox?"):
            assert memory.search(query, k=50) == other.search(query, k=50)


def test_a_stream_is_steps_then_text_then_the_answer(memory: Memory) -> None:
    memory.add(FOX, key="fox")
    items = list(memory.stream(QUESTION))
    kinds = [Step if isinstance(item, Step) else type(item) for item in items]
    steps, pieces = kinds.count(Step), kinds.count(str)
    assert kinds == [Step] * steps + [str] * pieces + [Answer]
    assert pieces > 1
    answer = items[-1]
    assert tuple(items[:steps]) == answer.trace
    assert "".join(items[steps:-1]).strip() == answer.text
    assert replace(answer, usage=Usage()) == replace(memory.ask(QUESTION), usage=Usage())


def test_a_stream_may_be_left_at_any_time(file_memory: Memory) -> None:
    file_memory.add(FOX, key="fox")
    stream = file_memory.stream(QUESTION)
    assert isinstance(next(stream), Step)
    stream.close()
    assert file_memory.ask(QUESTION).citations


def test_an_empty_memory_abstains(memory: Memory) -> None:
    answer = memory.ask(QUESTION)
    assert answer.abstained
    assert answer.stop_reason is StopReason.NOTHING_FOUND
    assert (answer.citations, answer.trace) == ((), ())
    assert list(memory.stream(QUESTION))[:-1] == []
    assert memory.search(QUESTION) == []


def test_an_answer_that_the_model_leaves_empty_is_an_abstention(open_memory: OpenMemory) -> None:
    memory = open_memory(model=FakeLanguageModel(answer=" \n"))
    memory.add(FOX, key="fox")
    answer = memory.ask(QUESTION)
    assert (answer.abstained, answer.citations) == (True, ())
    assert answer.trace


NEVER = [0.0] * 100


def test_reading_goes_on_until_everything_is_read(open_memory: OpenMemory) -> None:
    memory = open_memory(model=FakeLanguageModel(yes=NEVER))
    memory.add(FOX, key="fox")
    answer = memory.ask(QUESTION)
    assert answer.stop_reason is StopReason.EXHAUSTED
    assert {step.node.id for step in answer.trace} == set(graph_of(memory)["nodes"])


def test_reading_ends_with_the_step_that_reaches_a_limit(tmp_path: Path) -> None:
    model = FakeLanguageModel(yes=NEVER, answer="Tom built a wooden box.")
    with Memory(tmp_path / "notes.lbug", **options(model=model)) as memory:
        memory.add(FOX, key="fox")
        everything = memory.ask(QUESTION)
        by_nodes = memory.ask(QUESTION, max_nodes=6)
        assert (len(by_nodes.trace), by_nodes.stop_reason) == (6, StopReason.MAX_NODES)
        assert by_nodes.trace == everything.trace[:6]

        limit = 120
        by_tokens = memory.ask(QUESTION, max_tokens=limit)
        assert by_tokens.stop_reason is StopReason.MAX_TOKENS
        assert 0 < len(by_tokens.trace) < len(everything.trace)
        reading = list(memory.stream(QUESTION, max_tokens=limit, max_nodes=len(by_tokens.trace) - 1))
        assert reading[-1].stop_reason is StopReason.MAX_NODES, "one step less was below the limit"

        by_seconds = memory.ask(QUESTION, max_seconds=1e-9)
        assert by_seconds.stop_reason is StopReason.MAX_SECONDS
        assert by_seconds.trace == everything.trace[: len(by_seconds.trace)]
        assert all(answer.citations for answer in (by_nodes, by_tokens, by_seconds))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_keeps_to_the_number_of_nodes(file_memory: Memory, strategy: str) -> None:
    file_memory.add(FOX, key="fox")
    answer = file_memory.ask("What about the whale?", strategy=strategy, max_nodes=1)
    assert len(answer.trace) <= 1
    assert not answer.trace or answer.stop_reason in {StopReason.MAX_NODES, StopReason.EXHAUSTED}


def test_limits_of_the_settings_hold_unless_the_question_has_its_own(tmp_path: Path) -> None:
    with Memory(tmp_path / "notes.lbug", **options(model=FakeLanguageModel(yes=NEVER), max_nodes=5)) as memory:
        memory.add(FOX, key="fox")
        assert len(memory.ask(QUESTION).trace) == 5
        assert len(memory.ask(QUESTION, max_nodes=7).trace) == 7


def test_a_small_window_ends_reading(tmp_path: Path) -> None:
    with Memory(tmp_path / "notes.lbug", **options(model=FakeLanguageModel(yes=NEVER, window=512))) as memory:
        memory.add(f"{FOX} {RIVER} {FOX.upper()} {RIVER.upper()}", key="all")
        assert memory.ask(QUESTION, strategy="pecan").stop_reason is StopReason.WINDOW


# ── searching and looking ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("mode", ["graph", "hybrid", "keywords", "vector"])
def test_search_finds_segments_in_every_mode(memory: Memory, mode: str) -> None:
    memory.add(FOX, key="fox")
    memory.add(RIVER, key="river")
    found = memory.search("stone bridge river", k=3, mode=mode)
    assert 0 < len(found) <= 3
    assert [evidence.score for evidence in found] == sorted((evidence.score for evidence in found), reverse=True)
    for evidence in found:
        assert evidence.segment.text in {"fox": FOX, "river": RIVER}[evidence.document_key]
        assert set(evidence.why) <= {
            "keywords",
            "vector",
            *(("graph", "second step", "second walk") * (mode == "graph")),
        }
    if mode != "vector":  # eight numbers hold little meaning
        assert "stone bridge" in found[0].segment.text
    limited = memory.search("stone bridge river", k=3, mode=mode, documents=["fox"])
    assert {evidence.document_key for evidence in limited} <= {"fox"}
    assert mode == "keywords" or len(limited) == 3


def test_k_is_full_where_there_are_enough_segments(memory: Memory) -> None:
    receipt = memory.add(FOX, key="fox")
    assert len(memory.search("fox", k=4)) == 4
    assert len(memory.search("fox", k=100)) == receipt.counts["Segment"]


def test_nodes_documents_and_numbers_can_be_looked_at(memory: Memory) -> None:
    memory.add(RIVER, key="river", title="The River", metadata={"year": 1902, "true": True, "note": "ü"})
    fox = memory.add(FOX, key="fox")
    assert [record.key for record in memory.documents()] == ["fox", "river"]
    river = memory.documents()[1]
    assert (river.title, river.characters, dict(river.metadata)) == (
        "The River",
        len(RIVER),
        {"year": 1902, "true": True, "note": "ü"},
    )
    assert river.model == "fake-language-model"
    kinds = {type(memory.get(node_id)) for node_id in graph_of(memory)["nodes"]}
    assert kinds == {Segment, InformationPoint}
    assert memory.get("nobody") is None
    stats = memory.stats()
    assert stats["counts"]["Document"] == 2
    assert stats["counts"]["Segment"] == river.segments + fox.counts["Segment"]
    assert (stats["schema"]["embedder"], stats["schema"]["dimension"]) == ("fake", 8)


def test_documents_limit_a_question_by_key_or_id(memory: Memory) -> None:
    fox = memory.add(FOX, key="fox")
    memory.add(RIVER, key="river")
    for named in (["fox"], [fox.document_id], ["fox", fox.document_id, "fox"]):
        answer = memory.ask("What happened to the bridge?", documents=named, strategy="full_context")
        assert {step.node.document_id for step in answer.trace} == {fox.document_id}
        assert len(answer.trace) == fox.counts["Segment"], "each document is read once"
    with pytest.raises(DocumentNotFound, match="whale"):
        memory.ask(QUESTION, documents=["fox", "whale"])
    with pytest.raises(SettingsError, match="list of keys"):
        memory.ask(QUESTION, documents="fox")
    assert memory.ask(QUESTION, documents=[]).stop_reason is StopReason.NOTHING_FOUND


def test_namespaces_are_walls(open_memory: OpenMemory) -> None:
    mine, yours = open_memory(namespace="-mine"), open_memory(namespace="-yours")
    receipt = mine.add(FOX, key="fox")
    assert yours.documents() == []
    assert yours.search("fox") == []
    assert yours.ask(QUESTION).abstained
    assert yours.get(next(iter(graph_of(mine)["nodes"]))) is None
    with pytest.raises(DocumentNotFound):
        yours.forget(receipt.document_id)
    yours.add(RIVER, key="fox")
    before = graph_of(mine)
    yours.forget("fox")
    assert graph_of(mine) == before


# ── threads ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_two_threads_may_ask_while_a_third_adds(memory: Memory) -> None:
    memory.add(FOX, key="fox")
    alone = memory.ask(QUESTION, documents=["fox"]).trace
    together = threading.Barrier(3)

    def ask(_: int) -> list[tuple[Step, ...]]:
        together.wait(10)
        return [memory.ask(QUESTION, documents=["fox"]).trace for _ in range(5)]

    def add() -> list[Action]:
        together.wait(10)
        return [memory.add(RIVER + f" {number}", key=f"river {number}").action for number in range(5)]

    with ThreadPoolExecutor(3) as threads:
        adding = threads.submit(add)
        asked = list(threads.map(ask, range(2)))
        assert adding.result() == [Action.ADDED] * 5
    assert asked == [[alone] * 5] * 2
    assert len(memory.documents()) == 6


# ── opening and closing ──────────────────────────────────────────────────────────────────────────────────────


def test_what_is_added_is_there_when_it_is_opened_again(open_memory: OpenMemory) -> None:
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
    lambda memory: memory.stats(),
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


def test_progress_is_told_of_models_work(tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    with Memory(tmp_path / "notes.lbug", **options(progress=lambda *what: told.append(what))) as memory:
        receipt = memory.add(FOX, key="fox")
    segments = receipt.counts["Segment"]
    assert ("embedding", segments, segments) in told
    assert ("finding names", segments, segments) in told
    assert any(what == "summarising, level 1" and done == total for what, done, total in told)
