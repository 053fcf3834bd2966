"""The layer ``triples``: every triple is kept with its passage, leads a walk there, and is no relation of the graph."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from memories import options
from tables import table

from memgraph_rag import Memory
from memgraph_rag.contracts import SearchMode, SplitDocument
from memgraph_rag.errors import DocumentError, SearchMemoryExceeded, SettingsError
from memgraph_rag.plugins import find_parts
from memgraph_rag.systems.hipporag import FactWalk, NameWalk, TriplesLayer
from memgraph_rag.systems.hipporag.phrases import Phrase, find_synonyms, phrase_form, read_facts
from memgraph_rag.systems.hipporag.relation_index import RelationIndex
from memgraph_rag.systems.hipporag.strategies import HippoRag, HippoRag2
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel, FakeModels
from memgraph_rag.types import Annotation, Relation, Segment, entity_id

LEE = "Ann Lee was born in York. She wrote four books about bees."
OUSE = "The Ouse flows through the city. It floods in spring."
TRIPLES = {
    "lee": [["Ann Lee", "was born in", "York"], ["Ann Lee", "is an author of", "4 volumes"], ["Ann Lee", "wrote"]],
    "ouse": [["Ouse", "flows through", "York"], ["OUSE", "flows through", "york"]],  # York is not in the text
}


@pytest.fixture
def path(tmp_path: Path) -> str:
    file = tmp_path / "openie.json"
    file.write_text(json.dumps([{"doc_id": key, "triples": triples} for key, triples in TRIPLES.items()]))
    return str(file)


def opened(folder: Path, *layers: object, replies: Sequence[str] = (), **changes: object) -> Memory:
    parts = options(
        layers=("entities", *layers),
        model=FakeLanguageModel(replies),
        embedder=FakeEmbedder(64, name="fake"),
        segment_tokens=300,
        **changes,
    )
    return Memory(folder / "m.lbug", **parts)


def lines(memory: Memory, key: str) -> list[str]:
    (document,) = (record for record in memory.documents() if record.key == key)
    return [item.text for item in memory._parts.store.annotations(document.id)]


def test_triple_that_the_text_does_not_confirm_is_kept(tmp_path: Path, path: str) -> None:
    with opened(tmp_path, TriplesLayer(path)) as memory:
        receipt = memory.add(LEE, key="lee")
        assert lines(memory, "lee") == ["Ann Lee was born in York", "Ann Lee is an author of 4 volumes"]
        assert dict(receipt.notes) == {"triple that is none": 1}
        assert (receipt.counts.get("RELATES_TO", 0), receipt.counts["Annotation"]) == (0, 2)
        store = memory._parts.store
        assert {mention.surface for mention in store.mentions(receipt.document_id)} == {"Ann Lee", "York"}
        assert memory.maintenance.examine() == []


@table("mode", (NameWalk(), FactWalk(), "hipporag", "hipporag2"))
def test_triple_leads_to_a_passage_without_the_name(tmp_path: Path, path: str, mode: str | SearchMode) -> None:
    with opened(tmp_path, TriplesLayer(path)) as memory:
        memory.add(LEE, key="lee")
        memory.add(OUSE, key="ouse")
        memory.add("Bees dance in the hive.", key="bees")
        found = memory.search("Which river is in the birthplace of Ann Lee?", mode=mode, k=3)
        assert [item.document_key for item in found[:2]] == ["lee", "ouse"]
        assert all("relations" in item.why for item in found[:2])


def test_the_default_search_does_not_read_triples(tmp_path: Path, path: str) -> None:
    question, orders = "Which river is in the birthplace of Ann Lee?", []
    for number, layers in enumerate(((), (TriplesLayer(path),))):
        folder = tmp_path / str(number)
        folder.mkdir()
        with opened(folder, *layers) as memory:
            memory.add(LEE, key="lee")
            memory.add(OUSE, key="ouse")
            orders.append([(item.document_key, item.score, dict(item.why)) for item in memory.search(question)])
    assert orders[0] == orders[1]


def test_forgotten_and_removed_triples_lead_nowhere(tmp_path: Path, path: str) -> None:
    with opened(tmp_path, TriplesLayer(path)) as memory:
        memory.add(LEE, key="lee")
        memory.add(OUSE, key="ouse")
        facts: list[Relation] = []
        memory.search("York?", mode=FactWalk(lambda nearest: facts.extend(nearest)))
        assert {fact.description for fact in facts} == {
            "Ann Lee was born in York", "Ann Lee is an author of 4 volumes", "Ouse flows through York",
        }  # fmt: skip
        memory.forget("lee")
        facts.clear()
        memory.search("York?", mode=FactWalk(lambda nearest: facts.extend(nearest)))
        assert [fact.description for fact in facts] == ["Ouse flows through York"]
        assert len(list(memory.maintenance.remove_layer("triples"))) == 1
        facts.clear()
        found = memory.search("York?", mode=FactWalk(lambda nearest: facts.extend(nearest)))
        assert (facts, "relations" in found[0].why) == ([], False)


def test_triples_beyond_the_memory_are_refused(tmp_path: Path, path: str) -> None:
    with opened(tmp_path, TriplesLayer(path)) as memory:
        memory.add(LEE, key="lee")
        search = memory._parts.search
        index = RelationIndex(search._graph, FakeEmbedder(64, name="fake"), most_bytes=2_000)
        with pytest.raises(SearchMemoryExceeded, match="2 triples"):
            index.refresh()
        assert (index.version, len(index.relations)) == (-1, 0)


def test_a_triple_belongs_to_the_segment_with_most_of_its_words(tmp_path: Path) -> None:
    texts = ["Ann Lee lived quietly in the old mill for years.", "Tom Ray repaired the broken bridge after the flood."]
    triples = [["Tom Ray", "repaired", "bridge"], ["Ann Lee", "lived in", "mill"]]
    path = tmp_path / "openie.json"
    path.write_text(json.dumps([{"doc_id": "a", "triples": triples}]))
    with opened(tmp_path, TriplesLayer(str(path))) as memory:
        receipt = memory.add([{"role": "x", "content": text} for text in texts], key="a")
        store = memory._parts.store
        segments = {segment.id: segment.text for segment in store.list_segments(receipt.document_id)}
        placed = {
            item.text: segments[item.segment_ids[0]].strip()[3:] for item in store.annotations(receipt.document_id)
        }
    assert placed == {"Tom Ray repaired bridge": texts[1], "Ann Lee lived in mill": texts[0]}


def test_the_model_lists_names_first_and_then_triples(tmp_path: Path) -> None:
    replies = [
        json.dumps({"names": ["Ann Lee", "York"]}),
        json.dumps({"triples": [["Ann Lee", "was born in", "York"], ["Ann Lee", "wrote", "books"], ["", "a", "b"],
                                ["subject", "relation", "object"]]}),
    ]  # fmt: skip
    with opened(tmp_path, "triples", replies=replies) as memory:
        receipt = memory.add(LEE, key="lee")
        assert lines(memory, "lee") == ["Ann Lee was born in York", "Ann Lee wrote books"]
        assert receipt.usage.model_calls == 2
        assert dict(receipt.notes) == {"triple that is none": 1, "triple without a word of the text": 1}


@given(st.lists(st.text(max_size=40) | st.sampled_from(["{", '{"triples": [["a", "b", "c"], ["d"']), max_size=4))
def test_no_reply_of_model_raises_an_error(replies: list[str]) -> None:
    document = SplitDocument("d", "", (Segment("s", "d", 0, LEE, 0, len(LEE), 16),))
    models = FakeModels(FakeLanguageModel(replies))
    (rows,) = TriplesLayer().build([document], namespace="n", models=models)
    for item in rows.annotations:
        assert item.segment_ids == ("s",)
        assert item.text == " ".join(map(str, item.properties.values()))


def test_the_layer_takes_a_file_or_the_model() -> None:
    assert find_parts("layers")["triples"] is TriplesLayer
    assert TriplesLayer().needs_language
    with pytest.raises(DocumentError, match="Expected an OpenIE file"):
        TriplesLayer("nothing.json")


@table("make", (NameWalk, FactWalk, HippoRag, HippoRag2))
def test_other_edges_are_refused(make: type) -> None:
    with pytest.raises(SettingsError, match="released, once"):
        make(edges="twice")


# ── phrases ──────────────────────────────────────────────────────────────────────────────────────────────────


def triple(*parts: str, segment: str = "s") -> Annotation:
    names = ("subject", "relation", "object")
    return Annotation(" ".join(parts), (segment,), "triple", dict(zip(names, parts, strict=True)), f"{parts}", "d")


def test_phrases_are_compared_as_in_the_released_code() -> None:
    assert phrase_form(" The “Mad Hatter's” ") == "the  mad hatter s"
    assert phrase_form("Zürich_Süd") == "zürich süd"
    assert phrase_form("—") == ""


def test_a_fact_of_a_segment_counts_once() -> None:
    same = [triple("Ann", "met", "Bob"), triple("ANN", "met", "Bob."), triple("Ann", "met", "Bob", segment="t")]
    facts = list(read_facts([*same, triple("Ann", "—", "Bob")], "n"))
    assert [fact.relation.segment_id for fact in facts] == ["s", "t"]
    assert facts[0].text == "('ann', 'met', 'bob')"
    assert facts[0].relation.source_id == entity_id("n", "ann")


def test_near_synonyms_are_the_phrases_of_a_cosine_from_080() -> None:
    angles = np.arccos([1.0, 0.81, 0.79])
    rows = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    forms = {"a": "first", "b": "second", "c": "of"}
    names = {name.id: dict(name.similar) for name in find_synonyms(forms, rows, {"k": Phrase("k", rows[0])})}
    assert names["a"].keys() == {"b", "k"}
    assert names["a"]["b"] == pytest.approx(0.81, abs=1e-6)
    assert names["c"] == {}  # too short to have any
    assert {"a", "c", "k"} == names["b"].keys()
