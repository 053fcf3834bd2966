"""Tests of overviews: they are stored and read back, left out if invalid, and deleted with their sources."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from memgraph_rag.contracts import GraphStore
from memgraph_rag.errors import StoreError
from memgraph_rag.testing.sample_graphs import MakeStore, make_graph, make_question, make_relations
from memgraph_rag.types import Action, DocumentGraph, Finding, Overview, OverviewRows, Span, Summarizes, overview_id

TEXT = 'A "text" -- {curly} $dollar `tick` \\back // شكرا'


def overview(namespace: str, key: str, graphs: list[DocumentGraph], level: int = 1, **fields: Any) -> Overview:
    """Return an overview of these documents and of all entities that they name."""
    documents = tuple(sorted(graph.document.id for graph in graphs))
    entities = tuple(sorted({mention.entity_id for graph in graphs for mention in graph.mentions}))
    span = Span(graphs[0].segments[0].id, 0, 5)
    whole = Overview(
        overview_id(namespace, "library", key), "library", key, level, "Title", TEXT, 7, documents, entities,
        (Finding(TEXT, (span,)), Finding("Nothing bears it out.")), 7.5,
    )  # fmt: skip
    return replace(whole, **fields)


def edges(source: Overview, *targets: Any) -> tuple[Summarizes, ...]:
    return tuple(Summarizes(source.id, target.id, 1 / len(targets)) for target in targets)


@pytest.fixture
def three(store: GraphStore) -> list[DocumentGraph]:
    """Three stored documents with points on two levels; their keys are a, b and c."""
    graphs = [make_graph(store.namespace, key, levels=(2, 1)) for key in ("a", "b", "c")]
    store.write_many(graphs)
    return graphs


@pytest.fixture
def tree(store: GraphStore, three: list[DocumentGraph]) -> tuple[Overview, Overview, OverviewRows]:
    """An overview of a point and a segment of two documents, a root over it and the third document, and their rows.

    Both are stored.
    """
    first, second, third = three
    low = overview(store.namespace, "low", [first, second])
    root = overview(store.namespace, "root", three, level=2)
    below = (*edges(low, first.points[-1], second.segments[0]), *edges(root, low, third.points[-1]))
    rows = OverviewRows((root, low), below)
    assert store.write_overviews(rows, as_of=store.version()) == sorted([low.id, root.id])
    return low, root, rows


def test_overviews_are_read_unchanged(store: GraphStore, tree: tuple[Overview, Overview, OverviewRows]) -> None:
    low, root, rows = tree

    assert store.overviews("library") == [root, low]
    assert store.overview_ids() == [low.id, root.id]
    assert store.overviews("communities") == []
    assert store.nodes([low.id, "x", root.id]) == [low, root]
    by_source = sorted(rows.summarizes, key=lambda edge: (edge.source_id, -edge.weight, edge.target_id))
    assert store.successors([root.id, low.id]) == by_source
    counts = store.statistics()
    assert (counts["Overview"], counts["RESTS_ON"]) == (2, 5)
    assert counts["HAS_MEMBER"] == len(low.entities) + len(root.entities)
    assert all("Overview" not in counted for counted in store.count_by_document(low.documents).values()), (
        "no document owns it"
    )


def test_overviews_are_read_within_documents(store: GraphStore, tree: tuple[Overview, Overview, OverviewRows]) -> None:
    low, root, _ = tree

    assert store.overviews("library", documents=low.documents) == [low]
    assert store.overviews("library", documents=low.documents[:1]) == store.overviews("library", documents=[]) == []
    assert store.overviews("library", documents=[*root.documents, "x"]) == [root, low]


def test_repeated_overviews_change_nothing(store: GraphStore, tree: tuple[Overview, Overview, OverviewRows]) -> None:
    counts = store.statistics()

    assert store.write_overviews(tree[2], as_of=store.version()) == sorted(item.id for item in tree[:2])
    assert store.statistics() == counts
    assert store.overviews("library") == [tree[1], tree[0]]


@pytest.mark.parametrize("change", ["forget", "write", "extend"])
def test_changed_document_deletes_overviews(
    store: GraphStore, three: list[DocumentGraph], tree: tuple[Overview, Overview, OverviewRows], change: str
) -> None:
    low, root, _ = tree
    third = three[2]
    if change == "forget":
        store.forget(third.document.id)
    elif change == "write":
        store.write(third)
    else:
        store.extend(replace(third, mentions=(), titles=()), layers=["points"])

    assert store.overviews("library") == [low], "what does not rest on it stays"
    assert store.nodes([root.id]) == []
    store.forget(low.documents[0])
    assert store.overview_ids() == []
    counts = store.statistics()
    assert counts["Overview"] == counts["RESTS_ON"] == counts["HAS_MEMBER"] == 0


def test_removed_overviews_go_with_their_edges(
    store: GraphStore, tree: tuple[Overview, Overview, OverviewRows]
) -> None:
    low, root, _ = tree

    assert store.write_overviews(OverviewRows(removed=(root.id, "x")), as_of=0) == []
    assert store.overviews("library") == [low]
    assert store.successors([root.id]) == []


def test_deleting_overview_deletes_parents(store: GraphStore, tree: tuple[Overview, Overview, OverviewRows]) -> None:
    low, _, _ = tree

    assert store.write_overviews(OverviewRows(removed=(low.id,)), as_of=0) == []
    assert store.overview_ids() == []


def test_overview_of_deleted_overview_is_left_out(
    store: GraphStore, three: list[DocumentGraph], tree: tuple[Overview, Overview, OverviewRows]
) -> None:
    low, root, rows = tree
    above = overview(store.namespace, "above", three, level=3)
    store.write_overviews(OverviewRows(removed=(low.id,)), as_of=0)
    over_it = tuple(edge for edge in rows.summarizes if edge.source_id == root.id)

    assert store.write_overviews(OverviewRows((above, root), (*over_it, *edges(above, root))), as_of=99) == []
    assert store.overview_ids() == []
    assert store.flaws().torn_overviews == ()


def test_invalid_overviews_are_left_out(store: GraphStore, three: list[DocumentGraph]) -> None:
    first, second, third = three
    before = store.version()
    store.write(third)
    namespace = store.namespace
    low = overview(namespace, "low", [first, second])
    changed = overview(namespace, "changed", [second, third])
    over_it = overview(namespace, "over it", three, level=2)
    rows = OverviewRows((low, changed, over_it), (*edges(low, first.segments[0]), *edges(over_it, changed, low)))

    assert store.write_overviews(rows, as_of=before) == [low.id]
    store.forget(second.document.id)
    assert store.write_overviews(rows, as_of=store.version()) == []
    assert store.overview_ids() == []


def test_overviews_stay_when_relations_are_learned(store: GraphStore) -> None:
    graph = make_graph(store.namespace, texts=("Alice met Bob.", "They ran."))
    store.write(graph)
    low = overview(store.namespace, "low", [graph])
    store.write_overviews(OverviewRows((low,), edges(low, *graph.segments)), as_of=store.version())

    store.learn(make_relations(store.namespace, graph))

    assert store.overviews("library") == [low], "what is learned takes nothing away"


def test_overviews_stay_within_their_namespace(
    make_store: MakeStore, store: GraphStore, tree: tuple[Overview, Overview, OverviewRows]
) -> None:
    other = make_store()

    assert other.overview_ids() == other.nodes([tree[0].id]) == other.successors([tree[0].id]) == []
    assert other.write_overviews(OverviewRows(removed=(tree[0].id,)), as_of=99) == []
    assert store.overviews("library") == [tree[1], tree[0]]


REFUSED: dict[str, dict[str, Any]] = {
    "another id": {"id": "0" * 32},
    "no text": {"text": " "},
    "no document": {"documents": ()},
    "a document twice": {"documents": ("a", "a")},
    "half a surrogate pair": {"title": "\ud800"},
}


def test_a_broken_overview_is_refused(store: GraphStore, three: list[DocumentGraph]) -> None:
    for case, change in REFUSED.items():
        with pytest.raises(StoreError, match="Expected"):
            store.write_overviews(OverviewRows((overview(store.namespace, "low", three, **change),)), as_of=9)
        assert store.overview_ids() == [], case


def test_weights_of_an_overview_sum_to_1(store: GraphStore, three: list[DocumentGraph]) -> None:
    low = overview(store.namespace, "low", three)
    heavy = Summarizes(low.id, three[0].segments[0].id, 0.7)
    with pytest.raises(StoreError, match="sum to 1"):
        store.write_overviews(OverviewRows((low,), (heavy,)), as_of=9)


def test_deleted_overview_makes_question_stale(
    store: GraphStore, three: list[DocumentGraph], tree: tuple[Overview, Overview, OverviewRows]
) -> None:
    low, root, _ = tree
    question = make_question(store.namespace, [root, low, three[0].segments[0]])
    store.keep(question)
    assert store.questions() == [question]

    store.write(three[2])

    (stale,) = store.questions()
    assert [step.node for step in stale.answer.trace] == [low, three[0].segments[0]]
    assert [(change.document_id, change.action, change.reads) for change in stale.changes] == [
        (three[2].document.id, Action.REPLACED, 1)
    ]
    store.forget(three[1].document.id)
    assert store.questions() == [], "it rests on all that its overviews do"
