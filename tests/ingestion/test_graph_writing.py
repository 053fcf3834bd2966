"""Built documents into the store: many in one transaction, and none that suffers by another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import ladybug
import pytest
from memories import FOX, RIVER, OpenMemory, options

from memgraph_rag import Document, Failure, Memory, Receipt
from memgraph_rag.errors import DocumentNotFound, MemgraphRagError, StoreError, StoreUnavailable
from memgraph_rag.types import Action, Annotation, LayerRows

NOTES = [Document(f"{text} Note {number}.", f"note {number:03}") for number, text in enumerate([FOX, RIVER] * 4)]
KEYS = [note.key for note in NOTES]


class Echoing:
    """A layer that says of each document what its first words are, and lets something happen meanwhile."""

    name, needs_language, needs_recognizer = "echoing", False, False
    requires: Sequence[str] = ()

    def __init__(self, meanwhile: Callable[[], object] = lambda: None) -> None:
        self._meanwhile = meanwhile

    def build(self, documents: Sequence[Any], **_: Any) -> list[LayerRows]:
        self._meanwhile()
        firsts = [document.segments[0] for document in documents]
        return [LayerRows(annotations=(Annotation(first.text[:20], (first.id,)),)) for first in firsts]


def actions(outcomes: Sequence[Receipt | Failure]) -> dict[str, object]:
    """By key what was done to a document, or the kind of its error."""
    return {
        (item.source if isinstance(item, Failure) else item.key): (
            type(item.error) if isinstance(item, Failure) else item.action
        )
        for item in outcomes
    }


def test_adding_a_document_takes_10_statements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They include BEGIN and COMMIT. A document takes one more if it names new entities and stored ones."""
    memory = Memory(tmp_path / "notes.lbug", **options(layers=("entities",)))
    statements: list[object] = []
    execute = ladybug.Connection.execute

    def counted(self: ladybug.Connection, query: Any, *given: Any, **options: Any) -> Any:
        statements.append(query)
        return execute(self, query, *given, **options)

    monkeypatch.setattr(ladybug.Connection, "execute", counted)
    stored = FOX * 200
    for key, title, text, most in (
        ("first", "Ann", stored, 10),
        ("stored entities", "Ann", stored, 10),
        ("new entities and stored ones", "Bob Tolland", f"{stored} Bob Tolland met Jonas Bridge.", 11),
    ):
        statements.clear()
        receipt = memory.add(Document(text, key, title=title))
        assert receipt.counts["NEXT"] > 0
        assert receipt.counts["TITLED"] > 0
        assert len(statements) <= most, (key, statements)
    memory.close()


@pytest.mark.data
def test_documents_are_deepened_in_one_transaction(open_memory: OpenMemory) -> None:
    with open_memory(layers=()) as memory:
        assert len(list(memory.add_many(NOTES))) == len(NOTES)
        before = memory._parts.store.version()
        outcomes = list(memory.deepen(layers=["entities", Echoing()]))
        assert actions(outcomes) == dict.fromkeys(KEYS, Action.DEEPENED)
        assert memory._parts.store.version() == before + 1
        for outcome in outcomes:
            assert isinstance(outcome, Receipt)
            assert outcome.counts == memory._parts.store.count_by_document([outcome.document_id])[outcome.document_id]
            assert (outcome.counts["Annotation"], outcome.counts["MENTIONS"] > 0) == (1, True)


def test_documents_with_different_missing_layers_are_stored_apart(open_memory: OpenMemory) -> None:
    with open_memory(layers=()) as memory:
        list(memory.add_many(NOTES))
        list(memory.deepen(KEYS[:3], layers=["entities"]))
        before = memory._parts.store.version()
        outcomes = list(memory.deepen(layers=["entities", Echoing()]))
        assert list(actions(outcomes)) == KEYS
        assert memory._parts.store.version() == before + 2
        assert [record.layers for record in memory.documents()] == [("echoing", "entities")] * len(NOTES)


@pytest.mark.data
def test_document_changed_while_built_fails_alone(open_memory: OpenMemory) -> None:
    with open_memory(layers=()) as memory:
        list(memory.add_many(NOTES))

        def meanwhile() -> None:
            if "note 003" in {record.key for record in memory.documents()}:
                memory.forget("note 003")
                memory.add(Document("Another text.", "note 005"))

        outcomes = list(memory.deepen(layers=[Echoing(meanwhile)]))
        expected = dict.fromkeys(KEYS, Action.DEEPENED) | dict.fromkeys(("note 003", "note 005"), DocumentNotFound)
        assert actions(outcomes) == expected
        layers = {record.key: record.layers for record in memory.documents()}
        assert layers == {key: ("echoing",) for key in KEYS if key != "note 003"} | {"note 005": ()}


@pytest.mark.parametrize("error", [StoreError, StoreUnavailable])
def test_refused_batch_is_stored_singly_on_a_reachable_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[StoreError]
) -> None:
    with Memory(tmp_path / "notes.lbug", layers=()) as memory:
        list(memory.add_many(NOTES))
        extend_many, tried = memory._parts.store.extend_many, []

        def refusing(graphs: Sequence[Any], **options: Any) -> list[Receipt]:
            tried.append([graph.document.key for graph in graphs])
            if "note 004" in tried[-1]:
                raise error("Expected another, got this.")
            return extend_many(graphs, **options)

        monkeypatch.setattr(memory._parts.store, "extend_many", refusing)
        outcomes = list(memory.deepen(layers=[Echoing()]))
    if error is StoreUnavailable:
        assert (tried, actions(outcomes)) == ([KEYS], dict.fromkeys(KEYS, StoreUnavailable))
    else:
        assert tried == [KEYS, *([key] for key in KEYS)]
        assert actions(outcomes) == dict.fromkeys(KEYS, Action.DEEPENED) | {"note 004": StoreError}


def test_failed_layer_leaves_the_metadata(tmp_path: Path) -> None:
    def fail() -> None:
        raise StoreError("no layer")

    with Memory(tmp_path / "notes.lbug", **options(layers=())) as memory:
        memory.add(FOX, key="fox", metadata={"page": 1})
        (before,) = memory.documents()
    with Memory(tmp_path / "notes.lbug", **options(layers=[Echoing(fail)])) as memory:
        with pytest.raises(StoreError, match="no layer"):
            memory.add(FOX, key="fox", metadata={"page": 2})
        assert memory.documents() == [before]
    with Memory(tmp_path / "notes.lbug", **options(layers=[Echoing()])) as memory:
        assert memory.add(FOX, key="fox", metadata={"page": 2}).action is Action.DEEPENED
        (after,) = memory.documents()
        assert (after.metadata, after.layers) == ({"page": 2}, ("echoing",))
        assert memory.add(FOX, key="fox", metadata={"page": 2}).action is Action.UNCHANGED
        assert memory.add(FOX, key="fox", metadata={"page": 3}).action is Action.DESCRIBED


def test_metadata_that_others_changed_meanwhile_are_kept(tmp_path: Path) -> None:
    with Memory(tmp_path / "notes.lbug", **options(layers=())) as memory:
        memory.add(FOX, key="fox", metadata={"page": 1})

        def change() -> None:
            memory.add(FOX, key="fox", metadata={"page": 7})

        with Memory(tmp_path / "notes.lbug", **options(layers=[Echoing(change)])) as other:
            with pytest.raises(MemgraphRagError, match="fox"):
                other.add(FOX, key="fox", metadata={"page": 2})
            assert memory.documents()[0].metadata == {"page": 7}
