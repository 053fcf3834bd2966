"""Parts of users' own that do not keep their contracts: one error that names the part, and a store that is whole."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from memories import graph_of, options
from tables import table

from memgraph_rag import Memory
from memgraph_rag.contracts import Named
from memgraph_rag.errors import LayerError, ModelError, StrategyError
from memgraph_rag.models.wrappers.checked_models import CheckedEmbedder, CheckedModel, CheckedRecognizer
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel, FakeRecognizer
from memgraph_rag.types import Annotation, Generation, LayerRows, OverviewRows, Prompt, Step, Usage

TEXT = "Tom met Ann in Rome. Bob ran home. " * 4


class OddEmbedder(FakeEmbedder):
    """Gives what ``change`` makes of its vectors, while it is on."""

    change: Callable[[Any], Any] | None = None

    def embed(self, texts: Sequence[str]) -> Any:
        vectors = super().embed(texts)
        return vectors if self.change is None else self.change(vectors)


def stop(_: object) -> Any:
    return next(iter(()))


# ── an embedder ──────────────────────────────────────────────────────────────────────────────────────────────

NO_VECTORS: dict[str, Callable[[Any], Any]] = {
    "not a number": lambda v: v * np.nan,
    "infinite": lambda v: np.full_like(v, np.inf),
    "zero": lambda v: v * 0,
    "beyond float32": lambda v: v.astype(np.float64) * 1e300,
    "too few": lambda v: v[:-1],
    "too many": lambda v: np.vstack([v, v]),
    "wide": lambda v: np.hstack([v, v]),
    "narrow": lambda v: v[:, :8],
    "flat": lambda v: v.reshape(-1),
    "deep": lambda v: v[:, None],
    "ragged": lambda v: [[1.0], [1.0, 2.0], *v.tolist()],
    "nothing": lambda _: None,
    "text": lambda _: "x",
    "texts": lambda v: v.astype(str),
    "objects": lambda v: v.astype(object),
    "complex": lambda v: v.astype(complex),
    "truth values": lambda v: v > 0,
    "stop": stop,
}

VECTORS: dict[str, Callable[[Any], Any]] = {
    "lists": lambda v: v.tolist(),
    "float64": lambda v: v.astype(np.float64),
    "float16": lambda v: v.astype(np.float16),
    "whole numbers": lambda v: np.rint(v * 100).astype(int),
    "long": lambda v: v * np.float32(1e18),
    "in columns": np.asfortranarray,
}

EMBEDDING: dict[str, Callable[[Memory], object]] = {
    "add": lambda memory: memory.add(TEXT, key="new"),
    "graph": lambda memory: memory.search("Tom"),
    "vector": lambda memory: memory.search("Tom", mode="vector"),
    "hybrid": lambda memory: memory.search("Tom", mode="hybrid"),
    "segments": lambda memory: memory.search("Tom", mode="segments"),
    "hipporag": lambda memory: memory.search("Tom", mode="hipporag"),
    "ask": lambda memory: memory.ask("Who met Ann?"),
    "pecan": lambda memory: memory.ask("Who met Ann?", strategy="pecan"),
    "reembed": lambda memory: memory.maintenance.reembed(memory.embedder),
}


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Memory, OddEmbedder]]:
    embedder = OddEmbedder()
    more = options(embedder=embedder, layers=("entities", "points"), cache_dir=tmp_path_factory.mktemp("cache"))
    with Memory(tmp_path_factory.mktemp("odd") / "notes.lbug", **more) as memory:
        memory.add(TEXT, key="old")
        yield memory, embedder


REFUSED = r"^Expected .* from the embedder 'fake-embedder', got .*\. Correct"


@table("kind", NO_VECTORS)
def test_invalid_vectors_are_refused(kind: str) -> None:
    embedder = OddEmbedder()
    embedder.change = NO_VECTORS[kind]
    with pytest.raises(ModelError, match=REFUSED):
        CheckedEmbedder(embedder).embed(["Tom met Ann.", "It rained."])


@table("kind", ["not a number", "ragged"])
@table("call", EMBEDDING)
def test_call_refuses_invalid_vectors(odd: tuple[Memory, OddEmbedder], call: str, kind: str) -> None:
    memory, embedder = odd
    before = graph_of(memory)
    embedder.change = NO_VECTORS[kind]
    try:
        with pytest.raises(ModelError, match=REFUSED):
            EMBEDDING[call](memory)
    finally:
        embedder.change = None
    assert graph_of(memory) == before
    assert memory.maintenance.examine() == []


@table("kind", VECTORS)
def test_vectors_of_other_types_become_unit_vectors(kind: str) -> None:
    embedder = OddEmbedder()
    usual = embedder.embed(["Tom met Ann.", "It rained."])
    embedder.change = VECTORS[kind]
    rows = CheckedEmbedder(embedder).embed(["Tom met Ann.", "It rained."])
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, usual, atol=0.02)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)


def test_embedding_no_texts_returns_no_rows() -> None:
    embedder = OddEmbedder()
    embedder.change = lambda _: pytest.fail("it was asked")
    assert CheckedEmbedder(embedder).embed([]).shape == (0, 64)


@pytest.mark.parametrize("dimension", [0, -1, 2.5, None, "64", True], ids=repr)
def test_invalid_dimension_is_refused(tmp_path: Path, dimension: Any) -> None:
    embedder = FakeEmbedder()
    embedder.dimension = dimension
    with pytest.raises(ModelError, match="a dimension of at least 1 from the embedder"):
        Memory(tmp_path / "notes.lbug", **options(embedder=embedder))


def test_own_error_of_the_embedder_is_raised(odd: tuple[Memory, OddEmbedder]) -> None:
    memory, embedder = odd
    embedder.change = lambda _: 1 / 0
    try:
        with pytest.raises(ZeroDivisionError):
            memory.search("Tom")
    finally:
        embedder.change = None


@table("counts", [None, 5, [], [1, 2, 3], [-1], ["1"], [1.5]])
def test_invalid_token_counts_are_refused(counts: Any) -> None:
    embedder, model = FakeEmbedder(), FakeLanguageModel()
    embedder.count_tokens = model.count_tokens = lambda _: counts
    for part in (CheckedEmbedder(embedder), CheckedModel(model)):
        with pytest.raises(ModelError, match=r"^Expected .*tokens"):
            part.count_tokens(["one"])


def test_memory_returns_the_given_parts(tmp_path: Path) -> None:
    embedder, model, recognizer = FakeEmbedder(), FakeLanguageModel(), FakeRecognizer()
    parts = options(embedder=embedder, model=model) | {"recognizer": recognizer}
    with Memory(tmp_path / "notes.lbug", **parts) as memory:
        assert memory.embedder is embedder
        assert memory.language_model is model
        assert memory.recognizer is recognizer


@table("again", [copy.copy, copy.deepcopy, lambda part: pickle.loads(pickle.dumps(part))])
def test_wrapper_is_copied_and_pickled(again: Callable[[Any], Any]) -> None:
    embedder = FakeEmbedder()
    embedder.unrelated_below = 0.5  # pyright: ignore[reportAttributeAccessIssue] - what a contract leaves to choice
    other = again(CheckedEmbedder(embedder))
    assert (other.name, other.unrelated_below) == ("fake-embedder", 0.5)
    assert not hasattr(other, "most_tokens")


# ── a recognizer ─────────────────────────────────────────────────────────────────────────────────────────────


class OddRecognizer(FakeRecognizer):
    def __init__(self, change: Callable[[list[list[Named]]], Any]) -> None:
        super().__init__()
        self.change = change

    def recognize(self, texts: Sequence[str]) -> Any:
        return self.change(super().recognize(texts))


def each(named: object) -> Callable[[list[list[Named]]], Any]:
    return lambda lists: [[named] for _ in lists]


NO_NAMES = {
    "before the text": each(Named(-5, 3, "X")),
    "behind the text": each(Named(0, 10**6, "X")),
    "backwards": each(Named(5, 2, "X")),
    "empty": each(Named(1, 1, "X")),
    "text": each("Tom"),
    "tuple": each((0, 3, "X")),
    "float": each(Named(0.0, 3.0, "X")),  # type: ignore[arg-type]
    "no kind": each(Named(0, 3, None)),  # type: ignore[arg-type]
    "long kind": each(Named(0, 3, "K" * 10**6)),
    "unstorable kind": each(Named(0, 3, "a\0\ud800")),
    "too few": lambda lists: lists[:-1],
    "too many": lambda lists: [*lists, []],
    "nothing": lambda _: None,
    "numbers": lambda lists: [5 for _ in lists],
    "stop": stop,
}


@pytest.fixture
def odd_names(tmp_path: Path) -> Iterator[tuple[Memory, OddRecognizer]]:
    recognizer = OddRecognizer(list)
    with Memory(tmp_path / "notes.lbug", **options(layers=("entities",), recognizer=recognizer)) as memory:
        yield memory, recognizer


@table("kind", NO_NAMES)
def test_invalid_names_are_refused(odd_names: tuple[Memory, OddRecognizer], kind: str) -> None:
    memory, recognizer = odd_names
    recognizer.change = NO_NAMES[kind]
    with pytest.raises(ModelError, match=r"^Expected .* from the recognizer 'fake-recognizer', got .*\. Correct"):
        memory.add(TEXT)
    assert not memory.documents()
    assert memory.maintenance.examine() == []


def test_names_of_numpy_and_generators_are_names() -> None:
    def change(lists: list[list[Named]]) -> Any:
        for names in lists:
            yield reversed([Named(np.int64(each.start), np.int64(each.end), each.kind) for each in names])  # type: ignore[arg-type]

    assert CheckedRecognizer(OddRecognizer(change)).recognize([TEXT]) == FakeRecognizer().recognize([TEXT])


# ── a language model ─────────────────────────────────────────────────────────────────────────────────────────


class OddModel(FakeLanguageModel):
    def __init__(self, change: Callable[[list[Generation]], Any]) -> None:
        super().__init__()
        self.change = change

    def generate(self, prompts: Sequence[Prompt], **more: Any) -> Any:
        return self.change(super().generate(prompts, **more))

    def read_written(self, prompts: Sequence[Prompt], texts: Sequence[str]) -> Any:
        return self.change(super().read_written(prompts, texts))


def changed(**fields: Any) -> Callable[[list[Generation]], Any]:
    """Each generation with these fields, of which some follow from what was there."""
    return lambda written: [
        replace(each, **{name: value(each) if callable(value) else value for name, value in fields.items()})
        for each in written
    ]


NO_GENERATIONS: dict[str, Callable[[list[Generation]], Any]] = {
    "nothing": lambda _: None,
    "too few": lambda written: written[:-1],
    "texts": lambda written: [each.text for each in written],
    "text is a number": changed(text=5),
    "text is none": changed(text=None),
    "attention is not a number": changed(attention=lambda each: each.attention * np.nan),
    "attention is below 0": changed(attention=lambda each: -each.attention - 1),
    "attention of another shape": changed(attention=np.ones((1, 9), np.float32)),
    "attention is a list": changed(attention=[[1.0]]),
    "offsets beyond the text": changed(offsets=lambda each: each.offsets * 100),
    "offsets of another shape": changed(offsets=lambda each: each.offsets[:, 0]),
    "offsets are none": changed(offsets=None),
    "usage is none": changed(usage=None),
    "usage is text": changed(usage=Usage("a", "b")),  # type: ignore[arg-type]
    "stop": stop,
}


@pytest.fixture
def odd_generations(tmp_path: Path) -> Iterator[tuple[Memory, OddModel]]:
    model = OddModel(list)
    with Memory(tmp_path / "notes.lbug", **options(model=model, layers=("points",))) as memory:
        yield memory, model


@table("kind", NO_GENERATIONS)
def test_invalid_generations_are_refused(odd_generations: tuple[Memory, OddModel], kind: str) -> None:
    memory, model = odd_generations
    model.change = NO_GENERATIONS[kind]
    with pytest.raises(ModelError, match=r"^Expected .* from the language model 'fake-.*', got .*\. Correct"):
        memory.add(TEXT)
    assert not memory.documents()
    assert memory.maintenance.examine() == []


def test_plug_in_reader_is_checked(tmp_path: Path) -> None:
    reader = OddModel(NO_GENERATIONS["attention is not a number"])
    more = options(model=FakeLanguageModel(), layers=("points",)) | {"reader": reader}
    with Memory(tmp_path / "notes.lbug", **more) as memory, pytest.raises(ModelError, match="attention"):
        memory.add(TEXT)


@pytest.mark.parametrize("layer", ["points", "context", "outline", "relations"])
def test_text_of_model_can_be_stored(tmp_path: Path, layer: str) -> None:
    model = OddModel(changed(text=lambda each: "\0\ud800" + each.text[2:]))
    with Memory(tmp_path / "notes.lbug", **options(model=model, layers=("entities", layer))) as memory:
        memory.add(f"# A\n\n{TEXT}")
        assert memory.maintenance.examine() == []


# ── a strategy ───────────────────────────────────────────────────────────────────────────────────────────────


class OddStrategy:
    name = "mine"

    def __init__(self, read: Callable[[], Any]) -> None:
        self._read = read

    def read(self, question: str, context: object) -> Any:
        return self._read()


@pytest.mark.parametrize(
    "read",
    [
        lambda: None,
        lambda: 5,
        lambda: [1],
        lambda: "abc",
        lambda: iter(["x"]),
        lambda: iter([()]),
        lambda: iter([("x",)]),
        lambda: iter([(Step(None, 0.0, 0.0),)]),  # type: ignore[arg-type]
        lambda: next(iter(())),
    ],
    ids=["nothing", "number", "numbers", "text", "texts", "empty", "no step", "no node", "stop"],
)
def test_invalid_steps_are_refused(odd: tuple[Memory, OddEmbedder], read: Callable[[], Any]) -> None:
    with pytest.raises(StrategyError, match=r"^Expected tuples of .* from strategy 'mine', got .*\. Correct"):
        odd[0].ask("Who met Ann?", strategy=OddStrategy(read))


# ── a layer ──────────────────────────────────────────────────────────────────────────────────────────────────


class OddLayer:
    name = "mine"
    needs_language = False
    needs_recognizer = False
    requires = ()

    def __init__(self) -> None:
        self.make: Callable[[Any], Any] = list

    def build(self, documents: Sequence[Any], **_: object) -> Any:
        return self.make(documents)


def annotated(**fields: Any) -> Callable[[Any], Any]:
    """An annotation of the first segment of each document, with these fields."""
    return lambda documents: [
        LayerRows(
            annotations=(
                Annotation(
                    **{"text": "a", "segment_ids": (each.segments[0].id,), "kind": "k", "properties": {}, **fields}
                ),
            )
        )
        for each in documents
    ]


def rows(**fields: Any) -> Callable[[Any], Any]:
    return lambda documents: [LayerRows(**fields) for _ in documents]


@pytest.fixture
def odd_rows(tmp_path: Path) -> Iterator[tuple[Memory, OddLayer]]:
    layer = OddLayer()
    with Memory(tmp_path / "notes.lbug", **options(layers=("entities", layer))) as memory:
        yield memory, layer


@table(
    "make",
    [
        lambda _: None,
        lambda _: [],
        lambda _: [5],
        stop,
        *(rows(**{name: value}) for name in ("points", "mentions", "sections") for value in (None, 5, (5,))),
        *(rows(annotations=value) for value in (None, 5, "a", (5,), iter(()))),
        *(rows(notes=value) for value in (None, 5, {"a": "b"})),
        *(rows(usage=value) for value in (None, 5, Usage("a", "b"))),  # type: ignore[arg-type]
        *(annotated(text=value) for value in (None, 5, "", "a\0", "\ud800")),
        *(annotated(kind=value) for value in (None, 5, "\ud800")),
        *(annotated(segment_ids=value) for value in (None, 5, "abc", [[1]], ("nobody",))),
        *(annotated(properties=value) for value in (None, 5, {1: 2}, {"a": [1]}, {"a": float("nan")}, {"a": "\ud800"})),
    ],
)
def test_invalid_rows_are_refused(odd_rows: tuple[Memory, OddLayer], make: Callable[[Any], Any]) -> None:
    memory, layer = odd_rows
    layer.make = make
    with pytest.raises(LayerError, match=r"^Expected .*layer 'mine', got .*\. Correct"):
        memory.add(TEXT)
    assert not memory.documents()
    assert memory.maintenance.examine() == []


def overviews(**fields: Any) -> Callable[[Any], Any]:
    return lambda _: [OverviewRows(**fields)]


class OddMemoryLayer(OddLayer):
    spans_documents = True

    def build(self, graph: Any, **_: object) -> Any:
        return self.make(graph)


@pytest.fixture
def odd_overviews(tmp_path: Path) -> Iterator[tuple[Memory, OddMemoryLayer]]:
    layer = OddMemoryLayer()
    with Memory(tmp_path / "notes.lbug", **options(layers=("entities", layer))) as memory:
        memory.add(TEXT)
        yield memory, layer


@table(
    "make",
    [
        lambda _: None,
        lambda _: 5,
        lambda _: [5],
        lambda _: [None],
        stop,
        *(overviews(**{name: value}) for name in ("overviews", "summarizes", "removed") for value in (None, 5, (5,))),
        overviews(removed=("\ud800",)),
        overviews(usage=None),
    ],
)
def test_invalid_overview_rows_are_refused(
    odd_overviews: tuple[Memory, OddMemoryLayer], make: Callable[[Any], Any]
) -> None:
    memory, layer = odd_overviews
    layer.make = make
    *_, failure = memory.deepen()
    assert isinstance(failure.error, LayerError)  # pyright: ignore[reportAttributeAccessIssue]
    assert memory.maintenance.examine() == []
