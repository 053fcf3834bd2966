"""Memories of odd sizes and shapes with the layers of the memory: built once, asked, changed, and built on.

Short forms of what was run once with 50,000 segments (docs/decisions/memory-layers.md).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memgraph_rag import Memory, Receipt
from memgraph_rag.systems.graphrag.communities import CommunitiesLayer
from memgraph_rag.systems.graphrag.entity_graph import MOST_NAMED
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel, FakeRecognizer
from memgraph_rag.types import Action, Document

PEOPLE = [f"P{number}x" for number in range(200)]
LAYERS = ("library", CommunitiesLayer(with_model=False))


def nobody(number: int) -> str:
    return f"It rained on day {number}. Nobody was out."


def alone(number: int) -> str:
    return f"{PEOPLE[number // 10]} slept on day {number}."


def around_one(number: int) -> str:
    return f"{PEOPLE[0]} met {PEOPLE[1 + number % 199]} on day {number}."


def all_with_all(number: int) -> str:
    return f"{', '.join(PEOPLE[(number * 7 + place) % 200] for place in range(MOST_NAMED))} met on day {number}."


@pytest.mark.parametrize(
    ("text_of", "documents", "linked"),
    [(around_one, 1, 11), (nobody, 30, 0), (alone, 30, 0), (around_one, 30, 200), (all_with_all, 30, 200)],
    ids=["one document", "nobody", "each alone", "a star", "all with all"],
)
def test_a_memory_of_any_shape_is_built_once(
    tmp_path: Path, text_of: Callable[[int], str], documents: int, linked: int
) -> None:
    recognizer = FakeRecognizer(dict.fromkeys(PEOPLE, "NAME"))
    parts = {"model": FakeLanguageModel(), "embedder": FakeEmbedder(), "recognizer": recognizer}
    with Memory(tmp_path / "m.lbug", layers=["entities"], segment_tokens=20, **parts) as memory:
        texts = ("\n\n".join(map(text_of, range(first, first + 10))) for first in range(0, 10 * documents, 10))
        list(memory.add_many(Document(text, key=f"d{number}") for number, text in enumerate(texts)))

        built = deepen(memory)
        assert ("Overview" in built["library"].counts, bool(built["library"].notes)) == (documents > 1, documents == 1)
        assert ("Overview" in built["communities"].counts) == bool(linked)
        assert_whole(memory, linked)
        assert all(receipt.action is Action.UNCHANGED for receipt in deepen(memory).values())
        for strategy in ("overviews", "graphrag_global", "graphrag_local"):
            answer = memory.ask("What happened on day 7?", strategy=strategy)
            assert answer.trace, strategy

        memory.forget("d0")
        deepen(memory)
        assert_whole(memory, linked if documents > 1 else 0)
        assert all(receipt.action is Action.UNCHANGED for receipt in deepen(memory).values())


def deepen(memory: Memory) -> dict[str, Receipt]:
    """The receipts of the layers of the memory, by name."""
    outcomes = [outcome for outcome in memory.deepen(layers=LAYERS) if not getattr(outcome, "document_id", "")]
    assert all(isinstance(outcome, Receipt) for outcome in outcomes), outcomes
    return {outcome.key: outcome for outcome in outcomes if isinstance(outcome, Receipt)}


def assert_whole(memory: Memory, linked: int) -> None:
    """Each document lies under the library's root; one community holds all entities that have to do with another."""
    assert memory.maintenance.examine() == []
    ids = set(memory._parts.store.document_ids())
    library, communities = (memory._parts.store.overviews(layer) for layer in ("library", "communities"))
    assert (set(library[0].documents) if library else set()) == (ids if len(ids) > 1 else set())
    assert len(communities[0].entities if communities else ()) == linked
    assert sum(len(item.entities) for item in communities if item.level == 1) == linked
