"""A memory with a library, on each engine: built, read from its root, and kept while documents come and go."""

from __future__ import annotations

from pathlib import Path

import pytest
from memories import OpenMemory, options

from memgraph_rag import Memory
from memgraph_rag.testing import FakeEmbedder
from memgraph_rag.types import Action, Document, Overview, Receipt

NOTES = [
    Document(
        f"The {thing} of house {number} was built by Tom{number}. Nobody else had built one.", f"n{number:02}", thing
    )
    for number in range(24)
    for thing in [("box", "boat", "bridge", "barn")[number % 4]]
]


def overviews(memory: Memory) -> list[Overview]:
    return memory._parts.store.overviews("library")


def shape(memory: Memory) -> list[tuple[str, int, str, str]]:
    return [(overview.key, overview.level, overview.title, overview.text) for overview in overviews(memory)]


def deepened(memory: Memory) -> int:
    """How many overviews ``deepen`` wrote."""
    (receipt,) = memory.deepen(layers=["library"])
    assert isinstance(receipt, Receipt)
    return receipt.counts.get("Overview", 0)


@pytest.mark.data
def test_library_is_the_same_in_each_store(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = open_memory(**options(layers=["entities"]))
    list(memory.add_many(NOTES))

    assert deepened(memory) == len(overviews(memory)) == 3
    assert deepened(memory) == 0
    with Memory(tmp_path / "twin.lbug", cache_dir=tmp_path, **options(layers=["entities"])) as twin:
        list(twin.add_many(reversed(NOTES)))
        list(twin.deepen(layers=["library"]))
        assert shape(twin) == shape(memory), "in whatever order documents come, and under whatever ids"


def test_one_document_makes_no_library(open_memory: OpenMemory) -> None:
    memory = open_memory(**options(layers=["entities"]))
    memory.add(NOTES[0])

    (receipt,) = memory.deepen(layers=["library"])

    assert receipt == Receipt("", "library", Action.UNCHANGED, {}, notes={"too few documents for a library": 1})


def test_questions_about_the_whole_read_from_the_root(open_memory: OpenMemory) -> None:
    memory = open_memory(**options(layers=["entities"]))
    texts = {receipt.document_id: note.text for receipt, note in zip(memory.add_many(NOTES), NOTES, strict=True)}
    deepened(memory)

    answer = memory.ask("What are the main topics of all notes about who built a house?", keep_trace=True)

    assert answer.trace[0].node == overviews(memory)[0]
    assert answer.citations
    for citation in answer.citations:
        assert texts[citation.document_id][citation.start : citation.end] == citation.quote


def test_question_about_whole_memory_is_answered_by_dissimilar_texts(tmp_path: Path) -> None:
    embedder = FakeEmbedder(256)
    with Memory(tmp_path / "notes.lbug", **{**options(layers=["entities"]), "embedder": embedder}) as memory:
        list(memory.add_many(NOTES))
        deepened(memory)
        embedder.unrelated_below = 1.1  # above every cosine

        assert memory.ask("Who built the boat of house 1?").abstained
        assert not memory.ask("What are the main topics of all notes about who built a house?").abstained


def test_a_stale_library_is_built_on(open_memory: OpenMemory) -> None:
    memory = open_memory(**options(layers=["entities"]))
    list(memory.add_many(NOTES))
    deepened(memory)

    memory.add("A windmill was built by Ann Example.", key="new")
    assert memory.status()["documents_without"] == {"library": 1}
    assert deepened(memory) == 2, "its group and the root"

    assert memory.forget("new").action == Action.FORGOTTEN
    assert deepened(memory) == 2
    assert memory.status()["documents_without"] == {"library": 0}
    words = "".join(overview.title + overview.text for overview in overviews(memory))
    assert "windmill" not in words
    assert "Example" not in words
