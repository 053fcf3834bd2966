"""Layers built beside one another: the same graph as one after another, the same errors, and an end that is an end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from memories import FOX, LONG, RIVER, OpenMemory, graph_of

from memgraph_rag.errors import LayerError
from memgraph_rag.models.interruption import check_interruption
from memgraph_rag.operations.layers_together import build_together, waves
from memgraph_rag.testing import FakeLanguageModel
from memgraph_rag.types import Annotation, Document, Generation, LayerRows, Prompt

SECONDS = 30.0
LAYERS = ("entities", "points", "relations")


class Sharing(FakeLanguageModel):
    """Says that several threads had better ask at once, and counts how many do."""

    shares_passes = True

    def __init__(self, *, together: int) -> None:
        super().__init__()
        self.threads: set[str] = set()
        self._met = threading.Barrier(together)

    def generate(self, prompts: Sequence[Prompt], **more: Any) -> list[Generation]:
        if threading.current_thread().name not in self.threads:
            self.threads.add(threading.current_thread().name)
            self._met.wait(SECONDS)
        return super().generate(prompts, **more)


class Plain:
    """A layer that writes one annotation, or does what it is told to."""

    needs_language = True
    needs_recognizer = False

    def __init__(self, name: str, *, requires: Sequence[str] = (), work: Callable[[], None] = lambda: None) -> None:
        self.name, self.requires, self._work = name, requires, work

    def build(self, documents: Sequence[Any], *, models: Any, progress: Any, **_: Any) -> list[LayerRows]:
        models.language.generate([Prompt(self.name, ("Rain.",))], max_tokens=5, progress=progress)
        self._work()
        return [LayerRows(annotations=(Annotation(self.name, "a kind"),)) for _ in documents]


def fail_with(error: Exception) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail


def test_layers_written_together_give_the_graph_of_one_after_another(open_memory: OpenMemory) -> None:
    stories = [Document(FOX, "fox"), Document(RIVER, "river"), Document(LONG, "long")]
    model = Sharing(together=2)
    graphs, receipts = [], []
    for language in (FakeLanguageModel(), model):
        memory = open_memory(model=language, layers=LAYERS)
        receipts.append([(receipt.counts, receipt.notes) for receipt in memory.add_many(stories)])
        graphs.append(graph_of(memory))
        for story in stories:
            memory.forget(story.key or "")
    assert graphs[0] == graphs[1]
    assert receipts[0] == receipts[1]
    assert len(model.threads) == 2


def test_progress_is_told_in_the_callers_thread(open_memory: OpenMemory) -> None:
    told: list[tuple[str, str, int, int]] = []
    memory = open_memory(
        model=Sharing(together=2), layers=LAYERS,
        progress=lambda *event: told.append((threading.current_thread().name, *event)),
    )  # fmt: skip
    memory.add(FOX)
    assert {thread for thread, *_ in told} == {threading.current_thread().name}
    assert {"summarising, level 1", "finding relations"} <= {what for _, what, *_ in told}


def test_a_limit_of_tokens_keeps_layers_apart(open_memory: OpenMemory) -> None:
    model = Sharing(together=1)
    memory = open_memory(model=model, layers=LAYERS)
    list(memory.add_many([Document(FOX, "fox")], max_tokens=10_000))
    assert model.threads == {threading.current_thread().name}


@pytest.mark.parametrize("slow", [0, 1])
def test_the_first_error_in_the_order_of_layers_is_raised(open_memory: OpenMemory, slow: int) -> None:
    others = threading.Event()
    works = [fail_with(ValueError("of a")), fail_with(ValueError("of b"))]

    def wait_then(work: Callable[[], None]) -> Callable[[], None]:
        return lambda: (others.wait(SECONDS), work())[-1]

    def then_let_go(work: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            try:
                work()
            finally:
                others.set()

        return run

    works = [wait_then(work) if place == slow else then_let_go(work) for place, work in enumerate(works)]
    layers = [Plain(name, work=work) for name, work in zip("ab", works, strict=True)]
    memory = open_memory(model=Sharing(together=2), layers=layers)
    with pytest.raises(LayerError, match="of a"):
        memory.add(FOX)


def test_an_error_ends_what_comes_behind() -> None:
    ended = threading.Event()

    def write_for_ever() -> None:
        try:
            while not ended.wait(0.001):
                check_interruption()
        finally:
            ended.set()

    layers = [Plain("a", work=fail_with(ValueError("of a"))), Plain("b", work=write_for_ever)]
    with pytest.raises(ValueError, match="of a"):
        build_together(layers, lambda layer, _: layer._work(), None)
    assert ended.is_set()


def test_an_interruption_of_the_caller_ends_all() -> None:
    ended: list[str] = []

    def build(layer: Any, progress: Any) -> None:
        progress(layer.name, 0, 1)
        try:
            while True:
                check_interruption()
        finally:
            ended.append(layer.name)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_together([Plain("a"), Plain("b")], build, interrupt)
    assert sorted(ended) == ["a", "b"]


def test_layers_wait_for_what_they_take() -> None:
    layers = [Plain("a"), Plain("b"), Plain("c", requires=["a"]), Plain("d"), Plain("e", requires=["c"])]
    layers[3].uses = ["b"]
    assert [[layer.name for layer in wave] for wave in waves(layers)] == [["a", "b"], ["c", "d"], ["e"]]
    assert waves([]) == []
