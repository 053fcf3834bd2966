"""Test what a question about a whole memory reads: top overviews, nearest overviews, passages in turns; or the walk."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hand_made import HandMadeGraph, ids, reading_context, segment

from memgraph_rag.strategies.overviews import Overviews
from memgraph_rag.types import Matrix, Node, Overview, Step, Summarizes

NEAR = {"one": 0.2, "two": 0.9, "three": 0.5, "community": 0.1}


class Nearness:
    """Embeds an overview so that its cosine to a question is the one in ``NEAR``."""

    name = "nearness"
    dimension = 2

    def embed(self, texts: Sequence[str]) -> Matrix:
        cosines = np.array([NEAR.get(text, 1.0) for text in texts])
        return np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1).astype(np.float32)


def overview(key: str, level: int, documents: str, *, layer: str = "library", tokens: int = 10) -> Overview:
    return Overview(key, layer, key, level, "", key, tokens, tuple(documents))


NODES: list[Node] = [
    segment("s0", index=0),
    segment("s1", index=1),
    overview("root", 2, "abc"),
    overview("one", 1, "a"),
    overview("two", 1, "b"),
    overview("three", 1, "c"),
    overview("community", 1, "ab", layer="communities"),
]
EDGES = [Summarizes("root", name, 1 / 3) for name in ("one", "two", "three")]


def read(strategy: Overviews, nodes: Sequence[Node] = NODES, documents: Sequence[str] | None = None) -> list[Step]:
    context = reading_context(nodes, graph=HandMadeGraph(nodes, EDGES), embedder=Nearness(), documents=documents)
    return [step for steps in strategy.read("Which themes are there?", context) for step in steps]


def test_overviews_and_passages_take_turns() -> None:
    steps = read(Overviews())

    assert ids(steps) == ["root", "s0", "two", "s1", "three", "one"], "and no communities where there is a library"
    scores = [round(step.score, 3) for step in steps if step.node.kind == "overview"]
    assert scores == [0.0, 0.9, 0.5, 0.2], "a top is read whatever it says, then the nearest"


def test_reading_ends_with_budget() -> None:
    assert ids(read(Overviews(budget_tokens=50))) == ["root", "s0", "two"]
    assert ids(read(Overviews(budget_tokens=1))) == ["root"], "something is read"


def test_tops_take_a_third_of_budget() -> None:
    tops = [node for node in NODES if node.id != "root"]

    assert ids(read(Overviews(budget_tokens=50), tops)) == ["one", "s0", "two"], (
        "one of three equal ones, then the nearest"
    )


def test_a_layer_is_chosen_by_name() -> None:
    assert ids(read(Overviews(["communities"]))) == ["community", "s0", "s1"]


def test_communities_are_read_where_there_is_no_library() -> None:
    assert ids(read(Overviews(), [*NODES[:2], NODES[-1]])) == ["community", "s0", "s1"]


def test_overviews_read_only_allowed_documents() -> None:
    assert ids(read(Overviews(), documents=["a", "b"])) == ["one", "two"], "the tops of what is left"


def test_memory_without_overviews_is_walked() -> None:
    steps = read(Overviews(), NODES[:2])
    assert ids(steps) == ["s0", "s1"]
    assert steps[0].via == "the walk: no overview of the library or of the communities"

    steps = read(Overviews(["library"]), [*NODES[:2], NODES[-1]])
    assert ids(steps) == ["s0", "s1"]
    assert steps[0].via == "the walk: no overview of the library"
