"""Tests of writing documents: what is written is read back unchanged, replaced, and deleted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from memgraph_rag.contracts import GraphStore
from memgraph_rag.errors import DocumentError, DocumentNotFound, SchemaMismatch, StoreError
from memgraph_rag.testing.sample_graphs import DIMENSION, EMBEDDER, MakeStore, make_graph, random_units, unit
from memgraph_rag.types import Action, Summarizes, make_id

EVERYTHING = {
    "Document": 1, "Segment": 3, "InformationPoint": 3, "HAS_SEGMENT": 3, "NEXT": 2, "SUMMARIZES": 5, "MENTIONS": 3,
    "TITLED": 1,
}  # fmt: skip
"""The counts of a graph with one document: titled "Alice", with three segments and with points on two levels."""


NOTHING = dict.fromkeys(
    [
        *EVERYTHING,
        "ClusterSummary",
        "Annotation",
        "ANNOTATES",
        "Section",
        "CONTAINS",
        "Entity",
        "RELATES_TO",
        "SIMILAR_TO",
        "Question",
        "READ",
        "Overview",
        "RESTS_ON",
        "HAS_MEMBER",
    ],
    0,
)


HOSTILE = (
    'He said "it\'s" -- {curly} [square] (round) $dollar `tick` \\back \\u0041 \\n // no comment /* nor this */',
    "emoji 👩‍👩‍👧 🏳️‍🌈, combining é, right to left \u202e شكرا עברית, null \x00 bell \x07 escape \x1b",
    "separators \u2028 \u2029 \x85, marks \ufeff \uffff",
    "'}) DETACH DELETE n // \r\n\t +namespace_id:* AND OR NOT text:[a TO z] ~2 ^9 ?* \U0010ffff",
)


def snapshot(store: GraphStore) -> dict[str, Any]:
    """Return what most reads of a store give, for a comparison before and after a write.

    Annotations, sections, overviews and kept questions are not in it; points below the top only as edges and hits.
    """
    documents = store.documents()
    ids = [document.id for document in documents]
    nodes = store.top_nodes(ids) + [segment for document_id in ids for segment in store.list_segments(document_id)]
    return {
        "documents": documents,
        "nodes": nodes,
        "successors": store.successors([node.id for node in nodes]),
        "similarities": store.similarities(unit(1), documents=ids),
        "statistics": store.statistics(),
        "indexed": [
            {**{name: getattr(row, name) for name in INDEXED}, "embedding": row.embedding.tolist()}
            for row in store.list_indexed_segments(since=-1)
        ],
        "entities": store.entities(list_entity_ids(store)),
        "relations": [store.list_relations(document_id) for document_id in ids],
        "similar": store.list_similar(list_entity_ids(store)),
    }


INDEXED = ("id", "document_id", "index", "title", "text", "speaker", "time", "entities", "titles")


def list_entity_ids(store: GraphStore) -> list[str]:
    """Return the ids of the entities that stored segments and titles name, each once, sorted."""
    rows = store.list_indexed_segments(since=-1)
    return sorted({entity_id for row in rows for entity_id in (*row.entities, *row.titles)})


def test_schema_holds_embedder_and_dimension(make_store: MakeStore) -> None:
    store = make_store()

    assert store.schema["embedder"] == EMBEDDER
    assert store.schema["dimension"] == DIMENSION
    assert store.schema["version"] >= 1
    store.migrate(embedder=EMBEDDER, dimension=DIMENSION)
    assert set(store.schema) == {"version", "embedder", "dimension"}


@pytest.mark.parametrize(("embedder", "dimension"), [("another", DIMENSION), (EMBEDDER, DIMENSION + 1)])
def test_another_embedder_is_refused(store: GraphStore, embedder: str, dimension: int) -> None:
    with pytest.raises(SchemaMismatch, match=EMBEDDER):
        store.migrate(embedder=embedder, dimension=dimension)


def test_an_empty_namespace_holds_nothing(store: GraphStore) -> None:
    assert store.documents() == []
    assert store.documents([]) == store.documents(["x"]) == []
    assert store.document("x") is None
    assert store.list_documents_after("", k=3) == []
    assert store.nodes([]) == store.nodes(["x"]) == []
    assert store.list_segments("x") == []
    assert store.top_nodes([]) == store.top_nodes(["x"]) == []
    assert store.successors([]) == store.successors(["x"]) == []
    assert store.find_nearest(unit(1), k=3) == store.find_nearest(unit(1), k=3, documents=["x"]) == []
    assert store.find_matching("rabbit", k=3) == store.find_matching("rabbit", k=3, documents=["x"]) == []
    assert store.similarities(unit(1), documents=["x"]) == []
    assert (store.count_by_document([]), store.count_by_document(["x"])) == ({}, {"x": {}})
    assert store.statistics() == NOTHING
    assert store.entities([]) == store.entities(["x"]) == store.document_ids() == []
    assert store.list_indexed_segments(since=-1) == store.list_indexed_segments(since=0) == []
    assert (store.recognizer(), store.version(), store.count_documents()) == ("", 0, 0)
    assert store.write_many([]) == []


def test_written_document_is_read_back(store: GraphStore) -> None:
    graph = make_graph(store.namespace, levels=(2, 1), title="Alice", metadata={"a": 1, "b": 0.1, "c": True, "d": "e"})

    receipt = store.write(graph)

    assert (receipt.document_id, receipt.key, receipt.action) == (graph.document.id, "alice.txt", Action.ADDED)
    assert receipt.counts == EVERYTHING
    assert store.count_by_document([graph.document.id]) == {graph.document.id: EVERYTHING}
    assert store.statistics() == NOTHING | EVERYTHING | {"Entity": 3}
    assert store.documents() == store.documents([graph.document.id, "x"]) == [graph.document]
    assert store.document(graph.document.id) == store.document("alice.txt") == graph.document
    assert store.list_segments(graph.document.id) == list(graph.segments)
    assert store.top_nodes([graph.document.id]) == [point for point in graph.points if point.level == 2]


def test_nodes_keep_order_of_ids(store: GraphStore) -> None:
    graph = make_graph(store.namespace, levels=(2,))
    store.write(graph)
    wanted = [graph.points[1], graph.segments[2], graph.points[0], graph.segments[0], graph.segments[2]]

    assert store.nodes([node.id for node in wanted] + ["x"]) == wanted


def test_top_nodes_are_segments_without_points(store: GraphStore) -> None:
    flat, tall = make_graph(store.namespace, "flat"), make_graph(store.namespace, "tall", levels=(2, 1))
    for graph in (flat, tall):
        store.write(graph)

    assert store.top_nodes([tall.document.id, flat.document.id]) == [tall.points[2], *flat.segments]
    assert store.top_nodes([flat.document.id, "x", tall.document.id]) == [*flat.segments, tall.points[2]]


def test_weights_keep_value_and_order(store: GraphStore) -> None:
    numbers = (0.1, 1 / 3, np.nextafter(1 / 3, 1), 5e-324, 1 - 2**-53, 0.1, 0.1)
    graph = make_graph(
        store.namespace, texts=tuple(f"text {number}." for number in numbers), levels=(1,), weights=lambda i: numbers[i]
    )
    store.write(graph)

    edges = store.successors([graph.points[0].id])

    assert edges == sorted(graph.summarizes, key=lambda edge: (edge.source_id, -edge.weight, edge.target_id))


def test_hostile_text_is_read_unchanged(store: GraphStore) -> None:
    graph = make_graph(
        store.namespace, HOSTILE[-1], HOSTILE, title=HOSTILE[0], metadata={HOSTILE[0]: HOSTILE[1], "\x00": "\x00"}
    )

    store.write(graph)

    assert store.documents() == [graph.document] == [store.document(HOSTILE[-1])]
    assert store.list_segments(graph.document.id) == list(graph.segments)
    for text in HOSTILE:
        store.find_matching(text, k=3)
        assert store.document(text + "x") is None
    assert [hit.node_id for hit in store.find_matching("שלום עברית", k=3)] == [graph.segments[1].id]


def test_half_a_surrogate_pair_is_refused(store: GraphStore) -> None:
    with pytest.raises(DocumentError, match="surrogate"):
        store.write(make_graph(store.namespace, texts=("one", "tw\ud800o")))
    assert store.statistics() == NOTHING


def test_a_document_without_segments(store: GraphStore) -> None:
    graph = make_graph(store.namespace, texts=())

    assert store.write(graph).counts == {"Document": 1}
    assert store.documents() == [graph.document]
    assert store.find_nearest(unit(1), k=1) == store.find_matching("rabbit", k=1) == []


def test_a_large_document_is_one_write(store: GraphStore) -> None:
    texts = tuple(f"Sentence {number}." for number in range(1300))
    graph = make_graph(store.namespace, texts=texts, levels=(130, 13))

    counts = store.write(graph).counts

    assert (counts["Segment"], counts["NEXT"], counts["SUMMARIZES"]) == (1300, 1299, 1430)
    assert [segment.text for segment in store.list_segments(graph.document.id)] == list(texts)


def test_a_repeated_write_changes_nothing(store: GraphStore) -> None:
    graph = make_graph(store.namespace, levels=(2, 1))
    store.write(graph)
    before = snapshot(store)

    assert store.write(graph).action is Action.REPLACED
    assert snapshot(store) == before


def test_write_replaces_document(make_store: MakeStore) -> None:
    store, fresh = make_store(), make_store()
    store.write(make_graph(store.namespace, texts=tuple("abcdef"), levels=(3, 2, 1)))

    receipt = store.write(make_graph(store.namespace, levels=(1,), seed=7))

    assert receipt.action is Action.REPLACED
    fresh.write(make_graph(fresh.namespace, levels=(1,), seed=7))
    assert store.statistics() == fresh.statistics() == {**NOTHING, **receipt.counts, "Entity": 3}
    assert [node.text for node in snapshot(store)["nodes"]] == [node.text for node in snapshot(fresh)["nodes"]]


def test_describe_changes_only_metadata(make_store: MakeStore) -> None:
    store, other = make_store(), make_store()
    graphs = {each: make_graph(each.namespace, levels=(2, 1), title="Alice") for each in (store, other)}
    for each, graph in graphs.items():
        each.write(graph)
    held = graphs[store].document
    before = snapshot(store)
    tagged = replace(held, metadata={"tag": "it's \\ $1 {}", "n": 3}, sha256="b" * 64)
    lost = replace(tagged, id=make_id(store.namespace, "document", "not there"))

    assert store.describe([lost, tagged], before=[held.sha256] * 2) == [held.id]
    assert store.describe([replace(tagged, metadata={})], before=[held.sha256]) == [], "it is not that any more"
    assert store.describe([], before=[]) == []

    assert store.documents() == [tagged]
    assert snapshot(store)["nodes"] == before["nodes"]
    assert [graph.document for graph in store.read_graphs([held.id])] == [tagged]
    store.describe([graphs[other].document], before=[graphs[other].document.sha256])
    assert other.describe([tagged], before=[tagged.sha256]) == [], "it is another namespace's"
    assert store.documents() == [tagged]
    assert other.documents() == [graphs[other].document]
    with pytest.raises(DocumentError, match="half a surrogate pair"):
        store.describe([replace(tagged, metadata={"tag": "\ud800"})], before=[tagged.sha256])


def test_forget_deletes_everything(store: GraphStore) -> None:
    alice, bob = (make_graph(store.namespace, key, levels=(2, 1), title="Alice") for key in "ab")
    store.write(alice)
    before = snapshot(store)
    store.write(bob)

    receipt = store.forget(bob.document.id)

    assert (receipt.action, receipt.key, receipt.counts) == (Action.FORGOTTEN, "b", EVERYTHING)
    assert snapshot(store) == before
    assert store.count_by_document([bob.document.id, alice.document.id]) == {
        bob.document.id: {},
        alice.document.id: EVERYTHING,
    }
    assert store.nodes([node.id for node in (*bob.segments, *bob.points)]) == []
    assert len(store.find_matching("rabbit", k=9)) == 1
    store.forget(alice.document.id)
    assert store.statistics() == NOTHING


def test_forget_refuses_unknown_document(store: GraphStore) -> None:
    store.write(make_graph(store.namespace))

    with pytest.raises(DocumentNotFound, match=r"documents\(\)"):
        store.forget("alice.txt")  # a key is no id
    assert store.statistics()["Document"] == 1


def test_an_edge_out_of_the_document_is_refused(store: GraphStore) -> None:
    graph = make_graph(store.namespace, levels=(1,))
    loose = Summarizes(graph.points[0].id, make_id(store.namespace, "segment", "elsewhere", 0), 0.5)

    with pytest.raises(StoreError, match="both ends"):
        store.write(replace(graph, summarizes=(*graph.summarizes, loose)))
    assert store.statistics() == NOTHING


def test_edge_to_same_or_higher_level_is_refused(store: GraphStore) -> None:
    graph = make_graph(store.namespace, levels=(2, 1))
    for target in graph.points[:3]:  # itself, beside it, above it
        edge = Summarizes(graph.points[0].id, target.id, 0.5)
        with pytest.raises(StoreError, match="lower level") as refused:
            store.write(replace(graph, summarizes=(*graph.summarizes, edge)))
        assert refused.value.edge == edge
        assert store.statistics() == NOTHING


def test_embeddings_of_another_shape_are_refused(store: GraphStore) -> None:
    with pytest.raises(StoreError, match=r"\(3, 8\)"):
        store.write(make_graph(store.namespace, embeddings=random_units(3, dimension=9)))
    assert store.statistics() == NOTHING


def test_a_vector_without_direction_is_refused(store: GraphStore) -> None:
    vectors = [np.full((3, DIMENSION), number, np.float32) for number in (0.0, float("nan"), float("inf"))]
    for bad in vectors:
        with pytest.raises(StoreError, match="finite"):
            store.write(make_graph(store.namespace, embeddings=bad))
    store.write(make_graph(store.namespace))

    for bad in vectors:
        with pytest.raises(StoreError, match="finite"):
            store.find_nearest(bad[0], k=1)
        with pytest.raises(StoreError, match="finite"):
            store.similarities(bad[0], documents=[store.documents()[0].id])


def test_reopened_store_holds_document(make_store: MakeStore) -> None:
    store = make_store()
    graph = make_graph(store.namespace, levels=(2, 1))
    store.write(graph)
    before = snapshot(store)
    store.close()

    assert snapshot(make_store(store.namespace)) == before


def test_namespaces_never_see_each_other(make_store: MakeStore) -> None:
    mine, yours = make_store(), make_store()
    graphs = [make_graph(store.namespace, levels=(2, 1), title="Secret") for store in (mine, yours)]
    entities = [mention.entity_id for mention in graphs[1].mentions]
    mine.write(graphs[0])
    yours.write(graphs[1])
    before = snapshot(yours)
    foreign = graphs[1]
    ids = [node.id for node in (*foreign.segments, *foreign.points)]
    document_id = foreign.document.id

    assert mine.documents([document_id]) == []
    assert mine.document(document_id) is None
    assert (
        mine.nodes(ids)
        == mine.successors(ids)
        == mine.list_segments(document_id)
        == mine.top_nodes([document_id])
        == []
    )
    assert mine.similarities(unit(1), documents=[document_id]) == []
    assert mine.count_by_document([document_id]) == {document_id: {}}
    assert mine.statistics() == NOTHING | EVERYTHING | {"Entity": 4}
    assert mine.entities(entities) == []
    assert {row.document_id for row in mine.list_indexed_segments(since=-1)} == {graphs[0].document.id}
    assert mine.document_ids() == [graphs[0].document.id]
    own = {segment.id for segment in graphs[0].segments}
    assert {hit.node_id for hit in mine.find_nearest(unit(1), k=99)} == own
    assert {hit.node_id for hit in mine.find_matching("secret", k=99)} == own
    assert mine.find_nearest(unit(1), k=9, documents=[document_id]) == []
    assert mine.find_matching("rabbit", k=9, documents=[document_id]) == []
    with pytest.raises(DocumentNotFound):
        mine.forget(document_id)
    mine.forget(graphs[0].document.id)
    assert snapshot(yours) == before


def test_closed_store_raises(make_store: MakeStore) -> None:
    store = make_store()
    graph = make_graph(store.namespace)
    store.close()
    store.close()

    for use in (store.documents, store.statistics, lambda: store.write(graph), lambda: store.forget("x")):
        with pytest.raises(StoreError, match="closed"):
            use()
    with pytest.raises(StoreError, match="closed"):
        store.find_matching("rabbit", k=1)


@pytest.mark.parametrize("metadata", [{"user": "bob"}, {}, {"user": "ann", "session": "1"}])
def test_document_of_another_owner_is_not_replaced(store: GraphStore, metadata: dict[str, Any]) -> None:
    """The store refuses to replace a document that another user or session has written."""
    graph = make_graph(store.namespace, "note", metadata={"user": "ann"})
    store.write(graph)
    before = snapshot(store)
    taken, other = (make_graph(store.namespace, key, ("Mine. ",), metadata=metadata) for key in ("note", "other"))

    for write in (lambda: store.write(taken), lambda: store.write_many([other, taken])):
        with pytest.raises(DocumentError, match="Expected the user and session"):
            write()

    assert snapshot(store) == before
    hers = make_graph(store.namespace, "note", ("Hers. ",), metadata={"user": "ann"})
    assert store.write(hers).action is Action.REPLACED
