"""Test reading from the root of a library: the reached nodes, their order, and the notes in the trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hand_made import HandMadeGraph, HandMadeSearch, HandMadeSession, ids, segment

from memgraph_rag.contracts import ReadingContext, Strategy
from memgraph_rag.strategies.candidates import Weights
from memgraph_rag.strategies.library_frontier import LibraryFrontier
from memgraph_rag.strategies.pecan import Pecan
from memgraph_rag.strategies.support import segments_under
from memgraph_rag.strategies.walk import Walk
from memgraph_rag.types import Hit, Matrix, Node, Overview, Step, Summarizes, Vector

QUESTION = "What swims in the sea?"
WANTED = np.array([1.0, 0.0], np.float32)


class SeaAndLand:
    """Embeds a text of the sea as one vector, and every other as a vector at right angles."""

    name = "sea-and-land"
    dimension = 2

    def embed(self, texts: Sequence[str]) -> Matrix:
        return np.array([[1, 0] if "sea" in text else [0, 1] for text in texts], np.float32)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]


def overview(name: str, level: int, documents: Sequence[str], text: str = "") -> Overview:
    return Overview(name, "library", name, level, f"title of {name}", text or f"text of {name}", 10, tuple(documents))


ROOT = overview("root", 2, ["d1", "d2", "d3", "d4"])
SEA = overview("sea", 1, ["d1", "d2"], "What the sea holds.")
LAND = overview("land", 1, ["d3", "d4"])
SEGMENTS = [segment(f"s{number}", f"d{number}") for number in range(1, 5)]
EDGES = [Summarizes("root", "sea", 0.5), Summarizes("root", "land", 0.5)] + [
    Summarizes(lower, f"s{number}", 0.5) for lower, numbers in (("sea", (1, 2)), ("land", (3, 4))) for number in numbers
]
COSINES = {"s1": 0.9, "s2": 0.4, "s3": 0.1, "s4": 0.1, "s5": 0.2}


def context(nodes: Sequence[Node], *, entry: Sequence[str] = (), documents: Sequence[str] | None = None, **options):
    segments = {node.id: node for node in SEGMENTS} | {node.id: node for node in nodes if node.level == 0}
    return ReadingContext(
        graph=HandMadeGraph(nodes, EDGES, similarity={name: COSINES.get(name, 0.0) for name in segments}),
        search=HandMadeSearch([segments[name] for name in entry]),  # pyright: ignore[reportArgumentType]
        session=HandMadeSession({}, tokens={node.id: node.tokens for node in nodes}, **options),
        embedder=SeaAndLand(),
        documents=documents,
    )


def passes(strategy: Strategy, reading: ReadingContext) -> list[tuple[Step, ...]]:
    return list(strategy.read(QUESTION, reading))


WHOLE = [ROOT, SEA, LAND, *SEGMENTS]


# ── what is reached ──────────────────────────────────────────────────────────────────────────────────────────


def test_overviews_and_documents_are_reached_one_by_one() -> None:
    frontier = LibraryFrontier(context(WHOLE), WANTED)

    assert frontier
    assert frontier.tops == [ROOT]
    assert {hit.node_id: hit.score for hit in frontier.hits()} == {"root": 0.0}
    assert frontier.descend([ROOT, SEGMENTS[0]])
    assert {hit.node_id: hit.score for hit in frontier.hits()} == {"root": 0.0, "sea": 1.0, "land": 0.0}
    assert frontier.descend([SEA])
    assert {hit.node_id for hit in frontier.hits()} == {"root", "sea", "land", "s1", "s2"}
    assert not frontier.descend(SEGMENTS)
    frontier.look_for(np.array([0.0, 1.0], np.float32))
    assert {hit.node_id: hit.score for hit in frontier.hits() if hit.kind == "overview"} == {
        "root": 1.0, "sea": 0.0, "land": 1.0,
    }  # fmt: skip


def test_frontier_without_library_reaches_nothing() -> None:
    for reading in (context(SEGMENTS), context(WHOLE, documents=["d1", "d2", "d3", "d4"])):
        frontier = LibraryFrontier(reading, WANTED)
        assert not frontier
        assert (frontier.tops, frontier.hits(), frontier.is_stale) == ([], [], False)
        assert not frontier.descend(SEGMENTS)


def test_a_stale_library_has_several_tops() -> None:
    fresh = segment("s5", "d5")
    frontier = LibraryFrontier(context([SEA, LAND, *SEGMENTS, fresh]), WANTED)

    assert frontier.tops == [LAND, SEA]
    assert frontier.lacking(["d1", "d5"]) == ["d5"]
    assert frontier.is_stale
    assert frontier.note == "the library, stale: 1 document is not in it"
    other = LibraryFrontier(context([SEA, *SEGMENTS]), WANTED)
    assert other.note == "the library, stale: 2 documents are not in it"
    assert LibraryFrontier(context(WHOLE), WANTED).note == "the library"


def test_frontier_ignores_overviews_of_other_layers() -> None:
    report = replace(ROOT, layer="communities")

    assert not LibraryFrontier(context([report, *SEGMENTS]), WANTED)
    assert not LibraryFrontier(context(WHOLE), WANTED).descend([report])


# ── PECAN ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_pecan_starts_at_the_root_and_walks_down() -> None:
    steps = passes(Pecan(), context(WHOLE))

    assert ids(steps[0]) == ["root"]
    assert steps[0][0].via == "the library"
    order = [step.node.id for of_pass in steps for step in of_pass]
    assert sorted(order) == sorted(node.id for node in WHOLE), "all of it, each once"
    assert order.index("sea") < order.index("land")


def test_pecan_reaches_documents_only_below_what_it_read() -> None:
    many = [segment(f"x{number}", f"e{number}") for number in range(9)]
    low = overview("low", 1, [node.document_id for node in many])
    top = overview("top", 3, [*ROOT.documents, *low.documents])
    middle = overview("middle", 2, low.documents)
    steps = passes(Pecan(), context([top, ROOT, SEA, LAND, middle, low, *SEGMENTS, *many], entry=["s3"]))
    order = [step.node.id for of_pass in steps for step in of_pass]

    assert ids(steps[0]) == ["top"]
    assert order.index("root") < order.index("sea") < order.index("s1")
    assert order.index("low") < order.index("x0")
    assert order.index("s3") < order.index("sea"), "found by the search, so it waits for no overview"


def test_cosines_of_what_a_search_found_are_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    reading = context(WHOLE, entry=["s3"])
    asked: list[list[str]] = []
    graph: Any = reading.graph
    similarities = graph.similarities

    def recorded(vector: Vector, *, documents: Sequence[str], **options: Any) -> list[Hit]:
        asked.append(list(documents))
        return similarities(vector, documents=documents, **options)

    monkeypatch.setattr(graph, "similarities", recorded)
    passes(Walk(), reading)

    assert len(asked) > 1
    assert asked.count(["d3"]) == 1


def test_pecan_reads_documents_outside_the_library_as_before() -> None:
    fresh = segment("s5", "d5")
    steps = passes(Pecan(), context([*WHOLE, fresh]))

    assert ids(steps[0]) == ["root", "s5"]
    assert [step.via for step in steps[0]] == ["the library, stale: 1 document is not in it", ""]


def test_pecan_starts_with_as_few_tokens_over_many_documents() -> None:
    few, many = [
        [overview("root", 2, [node.document_id for node in nodes]), *nodes]
        for nodes in ([segment(f"s{number}", f"d{number}") for number in range(count)] for count in (10, 2000))
    ]
    found = [node.id for node in few[1:]]
    started = [next(iter(Pecan().read(QUESTION, context(nodes, entry=found)))) for nodes in (few, many)]

    assert ids(started[0]) == ids(started[1]) == ["root"]
    assert len(passes(Pecan(), context(few[1:], entry=found))[0]) == 8, "without a library, what a search finds"


# ── the walk ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_walk_begins_with_what_search_finds() -> None:
    entry = ["s3", "s4", "s2", "s1"]
    with_library = passes(Walk(), context(WHOLE, entry=entry))
    without = passes(Walk(), context(SEGMENTS, entry=entry))

    assert ids(with_library[0]) == ids(without[0]) == ["s3", "s4", "s2"]
    assert not any(step.via for step in with_library[0])


def test_walk_may_choose_overviews() -> None:
    weights = Weights(entry=0.1)
    nodes = [replace(ROOT, text="All of the sea and the land."), *WHOLE[1:]]
    steps = passes(Walk(weights, start_nodes=1), context(nodes, entry=["s3"]))
    order = [step.node.id for of_pass in steps for step in of_pass]

    assert order[:2] == ["root", "sea"]
    assert steps[0][0].via == "the library"
    assert order.index("s1") > 1


def test_walk_says_that_the_library_is_stale() -> None:
    fresh = segment("s5", "d5")
    steps = passes(Walk(), context([*WHOLE, fresh], entry=["s3", "s5"]))

    assert [step.via for step in steps[0]][:2] == ["the library, stale: 1 document is not in it", ""]


# ── citations ────────────────────────────────────────────────────────────────────────────────────────────────


def test_overviews_rest_on_the_segments_below_them() -> None:
    graph = context(WHOLE).graph

    weights = {node.id: weight for node, weight in segments_under([Step(ROOT, 0.0, 1.0)], graph)}

    assert weights == pytest.approx(dict.fromkeys(["s1", "s2", "s3", "s4"], 0.25))


def test_support_of_root_cites_heaviest_segments() -> None:
    nodes = [segment(f"s{number}", f"d{number}") for number in range(3000)]
    root = overview("root", 1, [node.document_id for node in nodes])
    total = 3000 * 3001 / 2
    edges = [Summarizes("root", node.id, (place + 1) / total) for place, node in enumerate(nodes)]
    supported = segments_under([Step(root, 0.0, 1.0)], HandMadeGraph([root, *nodes], edges), most=3)

    assert [node.id for node, _ in supported] == ["s2999", "s2998", "s2997"]
