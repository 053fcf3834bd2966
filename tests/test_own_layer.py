"""A layer of a user's own, written against docs/extending.md alone: from ``add`` to ``forget``, on real stores."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from memories import FOX, RIVER, OpenMemory, options

from memgraph_rag import Failure, Memory
from memgraph_rag.cli.listing import listing
from memgraph_rag.errors import DocumentError, LayerError, MemgraphRagError, SettingsError
from memgraph_rag.server.console.readings import read_around
from memgraph_rag.types import Annotation, LayerRows, Mention, Segment

ADA = "Ada Lovelace wrote the first program in 1843. She was born in 1815. Her notes were printed again in 1953."


class Years:
    """Annotates each year that a segment names, and says of the document how many there are."""

    name = "years"
    needs_language = needs_recognizer = False
    requires: Sequence[str] = ()

    def build(self, documents, *, namespace, models, progress=None):
        return [LayerRows(annotations=tuple(self._years(document))) for document in documents]

    def _years(self, document) -> Iterator[Annotation]:
        years = [(segment, year) for segment in document.segments for year in re.findall(r"\b1\d{3}\b", segment.text)]
        for segment, year in years:
            yield Annotation(
                year, (segment.id,), kind="year", properties={"decade": int(year) // 10 * 10, "sure": True}
            )
        yield Annotation(f"{len(years)} years", properties={"share": 0.5})


def annotations(memory: Memory, key: str = "ada") -> list[Annotation]:
    return [thing for thing in memory.around(key).things.values() if isinstance(thing, Annotation)]


def shown(memory: Memory) -> str:
    return "\n".join(line.plain for line in listing(memory.around("ada")))


def test_rows_are_stored_with_their_segments(open_memory: OpenMemory) -> None:
    memory = open_memory(layers=[Years(), "entities"])
    receipt = memory.add(ADA, key="ada")

    (record,) = memory.documents()
    assert record.layers == ("entities", "years")
    assert (receipt.counts["Annotation"], receipt.counts["ANNOTATES"]) == (4, 3)
    assert memory.status()["counts"]["Annotation"] == 4
    rows = annotations(memory)
    assert [(row.text, row.kind, dict(row.properties)) for row in rows] == [
        ("1843", "year", {"decade": 1840, "sure": True}),
        ("1815", "year", {"decade": 1810, "sure": True}),
        ("1953", "year", {"decade": 1950, "sure": True}),
        ("3 years", "", {"share": 0.5}),
    ]
    assert [(row.layer, row.index, row.document_id) for row in rows] == [
        ("years", index, record.id) for index in range(4)
    ]
    for row in rows[:3]:
        segment = memory.get(row.segment_ids[0])
        assert isinstance(segment, Segment)
        assert row.text in segment.text


def test_add_again_and_deepen_build_it_once(open_memory: OpenMemory) -> None:
    plain = open_memory(layers=["entities"])
    plain.add(ADA, key="ada")
    plain.add(RIVER, key="river")
    assert "Annotation" not in plain.add(ADA, key="ada").counts

    memory = open_memory(layers=["entities", Years()])
    assert memory.add(ADA, key="ada").counts["Annotation"] == 4
    outcomes = [(receipt.key, receipt.action.value) for receipt in memory.deepen(layers=["years"])]
    assert outcomes == [("ada", "unchanged"), ("river", "deepened")]
    assert [row.text for row in annotations(memory, "river")] == ["0 years"]
    before = annotations(memory)
    list(memory.deepen())
    assert annotations(memory) == before, "the layers that the memory has otherwise leave its rows"
    assert memory.documents()[0].layers == ("entities", "points", "years")
    assert memory.add(ADA + " It rained in 1900.", key="ada").counts["Annotation"] == 5
    assert not memory.maintenance.examine()


@pytest.mark.data
def test_forget_leaves_no_trace(open_memory: OpenMemory) -> None:
    memory = open_memory(layers=[Years()])
    memory.add(RIVER, key="river")
    before = memory.status()["counts"]
    memory.add(ADA, key="ada")

    assert memory.forget("ada").counts["Annotation"] == 4

    assert memory.status()["counts"] == before
    memory.forget("river")
    assert not any(memory.status()["counts"].values())


@pytest.mark.data
def test_an_archive_brings_its_rows_into_another_namespace(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory, other = open_memory(layers=[Years()]), open_memory(namespace="-other")
    memory.add(ADA, key="ada")
    assert memory.maintenance.export_to(tmp_path / "own.jsonl") == 1

    (receipt,) = other.maintenance.import_from(tmp_path / "own.jsonl")

    assert receipt.counts["ANNOTATES"] == 3
    assert [row.text for row in annotations(other)] == [row.text for row in annotations(memory)]
    assert {row.id for row in annotations(other)}.isdisjoint(row.id for row in annotations(memory))
    assert [receipt.action.value for receipt in other.maintenance.import_from(tmp_path / "own.jsonl")] == ["unchanged"]
    assert not other.maintenance.examine()


def test_tree_page_and_json_show_its_rows(open_memory: OpenMemory) -> None:
    memory = open_memory(layers=[Years()])
    memory.add(ADA, key="ada")

    drawn = shown(memory)

    assert "1843  annotation of layer years, year, decade: 1840" in drawn
    assert {"layer": "years", "kind": "year", "decade": 1840, "sure": True} in [
        node.facts for node in read_around(memory.around("ada")).nodes
    ]
    assert memory.around("ada", most=1).left_out["annotations"] == 3


def test_purge_and_reembed_keep_its_rows(tmp_path: Path) -> None:
    with Memory(tmp_path / "own.lbug", **options(layers=[Years()])) as memory:
        memory.add(ADA, key="ada")
        before = annotations(memory)
        memory.maintenance.purge()
        assert annotations(memory) == before
    with Memory(tmp_path / "own.lbug", **options(layers=[Years()])) as memory:
        memory.maintenance.reembed(replaced_embedder())
        assert annotations(memory) == before
        assert not memory.maintenance.examine()


def replaced_embedder() -> Any:
    from memgraph_rag.testing import FakeEmbedder

    return FakeEmbedder(12, name="another")


# ── what goes wrong ──────────────────────────────────────────────────────────────────────────────────────────


class Broken(Years):
    """Gives for documents about a fox whatever it is told to."""

    name = "broken"

    def __init__(self, given: Any) -> None:
        self._given = given

    def build(self, documents, *, namespace, models, progress=None):
        rows = super().build(documents, namespace=namespace, models=models)
        if not any("fox" in segment.text for document in documents for segment in document.segments):
            return rows
        if isinstance(self._given, Exception):
            raise self._given
        return self._given


def row(**fields: Any) -> list[LayerRows]:
    return [LayerRows(annotations=(replace(Annotation("text"), **fields),))]


NO_MENTION = Mention("e", "ann", "PERSON", "Ann", "s", 0, 3)

WRONG: dict[str, Any] = {
    "an exception": ValueError("no good"),
    "an error of the family": DocumentError("Expected another document. Give it."),
    "nothing": None,
    "no list": iter(()),
    "too few": [],
    "no rows": ["text"],
    "no annotation": [LayerRows(annotations=("text",))],  # pyright: ignore[reportArgumentType]
    "rows of another layer": [LayerRows(mentions=(NO_MENTION,))],
    "an empty text": row(text=" "),
    "a text that is none": row(text=3),
    "a text with half a surrogate pair": row(text="\ud800"),
    "a text with NUL": row(text="a\x00b"),
    "a property that is none": row(properties={"a": [1]}),
    "a property that is not finite": row(properties={"a": float("nan")}),
    "a property's name that is none": row(properties={3: "a"}),
    "a segment of another document": row(segment_ids=("0" * 32,)),
    "a segment twice": [
        LayerRows(annotations=(replace(Annotation("text"), segment_ids=("{first}", "{first}")),)),
    ],
}


@pytest.mark.parametrize("given", WRONG.values(), ids=WRONG)
def test_a_broken_layer_fails_its_own_document_only(tmp_path: Path, given: Any) -> None:
    with Memory(tmp_path / "own.lbug", **options(layers=["entities", Broken(given)])) as memory:
        outcomes = list(memory.add_many([RIVER, FOX, ADA]))

        assert [isinstance(outcome, Failure) for outcome in outcomes] == [False, True, False]
        failure = outcomes[1]
        assert isinstance(failure, Failure)
        assert isinstance(failure.error, MemgraphRagError)
        assert "broken" in str(failure.error) or not isinstance(failure.error, LayerError)
        assert len(memory.documents()) == 2
        before = memory.status()["counts"]
        with pytest.raises(MemgraphRagError):
            memory.add(FOX, key="fox")
        assert memory.status()["counts"] == before
        assert not memory.maintenance.examine()


class Nameless:
    needs_language = needs_recognizer = False
    requires = ()

    def build(self, documents, **_: Any) -> list[LayerRows]:
        return []


class Circle(Years):
    name = "circle"
    requires = ("years", "circle")


NO_LAYERS: dict[str, Any] = {
    "a name that is not there": ["colours"],
    "a str": "entities",
    "a number": [3],
    "a class": [Years],
    "an object that is none": [Nameless()],
    "two of one name": [Years(), Years()],
    "one that requires itself": [Circle(), Years()],
    "one that requires what is not there": [type("Needy", (Years,), {"requires": ("colours",)})()],
    "an empty name": [type("Empty", (Years,), {"name": " "})()],
    "a name that cannot be printed": [type("Odd", (Years,), {"name": "a\x1b"})()],
}


@pytest.mark.parametrize("layers", NO_LAYERS.values(), ids=NO_LAYERS)
def test_object_that_is_no_layer_is_refused_before_opening(tmp_path: Path, layers: Any) -> None:
    with pytest.raises(SettingsError, match="Expected"):
        Memory(tmp_path / "own.lbug", **options(layers=layers))
    assert not (tmp_path / "own.lbug").exists()


def test_required_layers_are_built_first(tmp_path: Path) -> None:
    order: list[str] = []

    class Told(Years):
        def __init__(self, name: str, *requires: str) -> None:
            self.name, self.requires = name, requires

        def build(self, documents, *, namespace, models, progress=None):
            order.append(self.name)
            return super().build(documents, namespace=namespace, models=models)

    with Memory(tmp_path / "own.lbug", **options(layers=[Told("b", "a", "entities"), Told("a")])) as memory:
        memory.add(ADA, key="ada")
        assert order == ["a", "b"]
        assert memory.documents()[0].layers == ("a", "b", "entities")


def test_a_layer_of_a_known_name_takes_its_place(tmp_path: Path) -> None:
    class NoNames(Years):
        name = "entities"

        def build(self, documents, *, namespace, models, progress=None):
            return [LayerRows() for _ in documents]

    with Memory(tmp_path / "own.lbug", **options(layers=[NoNames()])) as memory:
        assert "MENTIONS" not in memory.add(FOX, key="fox").counts
        assert memory.documents()[0].layers == ("entities",)


def test_annotations_of_lost_segments_are_found_and_built_again(open_memory: OpenMemory) -> None:
    memory = open_memory(layers=[Years()])
    memory.add(ADA, key="ada")
    store: Any = memory._parts.store
    store._transaction(
        "harm", lambda write: write.run("write/delete_lost_segments", node_ids=[annotations(memory)[0].segment_ids[0]])
    )

    wrong = [damage.what for damage in memory.maintenance.examine()]
    memory.maintenance.repair()

    assert "documents with annotations of missing segments" in wrong
    assert memory.documents()[0].layers == ()
    (counts,) = store.count_by_document([memory.documents()[0].id]).values()
    assert "Annotation" not in counts
