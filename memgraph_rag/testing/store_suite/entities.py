"""Tests of entities: they follow from mentions and titles, after every order of writes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from memgraph_rag.contracts import GraphStore
from memgraph_rag.errors import DocumentError, DocumentNotFound, StoreError
from memgraph_rag.testing.sample_graphs import DIMENSION, RECOGNIZER, MakeStore, entity_id
from memgraph_rag.testing.sample_graphs import make_graph as make_named_graph
from memgraph_rag.types import Action, DocumentGraph, Entity, Mention, Segment, Title, make_id

ALICE = "Alice met ALICE, alice, Bob and BOB."


def make_graph(namespace: str, key: str = "alice.txt", *arguments: Any, **options: Any) -> DocumentGraph:
    """Return a document without mentions and titles."""
    return make_named_graph(namespace, key, *arguments, **options, named=False)


def mention(namespace: str, segment: Segment, surface: str, kind: str = "PERSON", *, at: int | None = None) -> Mention:
    """Return the mention of a name in a segment's text, by default at its first place."""
    start = segment.start + (segment.text.index(surface) if at is None else at)
    name = surface.casefold()
    return Mention(entity_id(namespace, name), name, kind, surface, segment.id, start, start + len(surface))


def title(namespace: str, surface: str) -> Title:
    return Title(entity_id(namespace, surface), surface.casefold(), surface)


def name_graph(
    namespace: str,
    key: str = "alice.txt",
    names: Iterable[tuple[int, str, str]] = ((0, "Alice", "PERSON"), (1, "rabbit", "ANIMAL")),
    *,
    titles: Iterable[str] = (),
    graph: DocumentGraph | None = None,
    **options: Any,
) -> DocumentGraph:
    """Return a document with these mentions (place of the segment, surface, kind) and titles: a new one, or ``graph``.

    The mentions and titles of ``graph`` are replaced.
    """
    graph = graph or make_graph(namespace, key, **options)
    layers = tuple(dict.fromkeys((*graph.document.layers, "entities")))
    return replace(
        graph,
        document=replace(graph.document, layers=layers, recognizer=RECOGNIZER),
        mentions=tuple(mention(namespace, graph.segments[place], surface, kind) for place, surface, kind in names),
        titles=tuple(title(namespace, surface) for surface in titles),
    )


def find_entities(store: GraphStore, *names: str) -> list[Entity]:
    return store.entities([entity_id(store.namespace, name) for name in names])


def test_entity_has_most_frequent_surface(store: GraphStore) -> None:
    names = [(0, "ALICE", "heading"), (0, "alice", "PERSON"), (0, "Bob", "PERSON")]
    store.write(name_graph(store.namespace, "a", names, texts=(ALICE,), titles=["alice"]))

    assert find_entities(store, "bob", "unknown", "alice", "bob") == [
        Entity(entity_id(store.namespace, "bob"), "bob", "Bob", ("PERSON",)),
        Entity(entity_id(store.namespace, "alice"), "alice", "alice", ("PERSON", "heading", "title")),
        Entity(entity_id(store.namespace, "bob"), "bob", "Bob", ("PERSON",)),
    ]
    for key in "bc":
        store.write(name_graph(store.namespace, key, [(0, "Alice", "NORP")], texts=(ALICE,)))
    assert find_entities(store, "alice")[0].name == "Alice"  # as often as "alice", and first by code point
    assert find_entities(store, "alice")[0].kinds == ("NORP", "PERSON", "heading", "title")


@pytest.mark.parametrize("names", [("Ab", "aB", "AB"), ("\ufb00", "\U0001d400b"), ("Éa", "éa", "Zz"), ("b", "a")])
def test_equally_frequent_surfaces_sort_by_code_point(store: GraphStore, names: tuple[str, ...]) -> None:
    graph = make_graph(store.namespace, texts=(" ".join(names),))
    common_id = make_id(store.namespace, "entity", "one")
    mentions = [mention(store.namespace, graph.segments[0], name) for name in names]
    mentions = [replace(mention, entity_id=common_id, normal="one") for mention in mentions]

    store.write(replace(graph, mentions=tuple(mentions)))

    assert store.entities([common_id])[0].name == min(names)


def test_hostile_names_are_read_unchanged(store: GraphStore) -> None:
    names = ("O'Hara\\", '"quoted"', "{x} $y `z`", "شكرا", "👩‍👩‍👧", "a\u2028b", "nul\x00l", "\U0010ffff")
    graph = make_graph(store.namespace, texts=tuple(f"- {name} -" for name in names))
    mentions = [mention(store.namespace, graph.segments[place], name, f"K{name}") for place, name in enumerate(names)]
    store.write(replace(graph, mentions=tuple(mentions), titles=(title(store.namespace, names[0]),)))

    stored = store.entities([item.entity_id for item in mentions])

    assert [(item.normal, item.name, item.kinds[0]) for item in stored] == [
        (name.casefold(), name, f"K{name}") for name in names
    ]


def test_many_mentions_are_one_write(store: GraphStore) -> None:
    texts = tuple(f"Name{place} and Everybody met." for place in range(1100))
    graph = make_graph(store.namespace, texts=texts)
    mentions = [
        mention(store.namespace, segment, surface)
        for place, segment in enumerate(graph.segments)
        for surface in (f"Name{place}", "Everybody")
    ]

    counts = store.write(replace(graph, mentions=tuple(mentions))).counts

    assert (counts["MENTIONS"], store.statistics()["Entity"]) == (2200, 1101)
    assert {entity.name for entity in find_entities(store, "Name7", "Name1099", "Everybody")} == {
        "Name7",
        "Name1099",
        "Everybody",
    }
    assert store.forget(graph.document.id).counts["MENTIONS"] == 2200
    assert not any(store.statistics().values())


def test_mentions_and_titles_are_counted(store: GraphStore) -> None:
    names = [(0, "Alice", "PERSON"), (0, "ALICE", "PERSON"), (0, "Bob", "PERSON")]
    receipt = store.write(name_graph(store.namespace, "a", names, texts=(ALICE,), titles=["Alice", "Wonderland"]))
    store.write(name_graph(store.namespace, "b", names, texts=(ALICE,)))

    assert (receipt.counts["MENTIONS"], receipt.counts["TITLED"]) == (3, 2)
    assert store.count_by_document([receipt.document_id]) == {receipt.document_id: receipt.counts}
    statistics = store.statistics()
    assert (statistics["Entity"], statistics["MENTIONS"], statistics["TITLED"]) == (3, 6, 2)


def test_forget_keeps_entities_of_other_documents(store: GraphStore) -> None:
    store.write(name_graph(store.namespace, "a", [(0, "Alice", "PERSON"), (0, "Bob", "PERSON")], texts=(ALICE,)))
    other = name_graph(store.namespace, "b", [(0, "ALICE", "ORG")], texts=(ALICE,), titles=["Wonderland"])
    store.write(other)

    receipt = store.forget(other.document.id)

    assert (receipt.counts["MENTIONS"], receipt.counts["TITLED"]) == (1, 1)
    assert find_entities(store, "wonderland") == []
    assert store.statistics()["Entity"] == 2
    assert [(entity.name, entity.kinds) for entity in find_entities(store, "alice")] == [("Alice", ("PERSON",))]


def without_embeddings(graph: DocumentGraph) -> DocumentGraph:
    return replace(graph, segment_embeddings=np.zeros((0, DIMENSION), np.float32))


def test_a_document_is_extended_by_entities_and_by_points(store: GraphStore) -> None:
    bare, full = make_graph(store.namespace), make_graph(store.namespace, levels=(2, 1))
    store.write(bare)
    named = name_graph(store.namespace, graph=bare, titles=["Wonderland"])

    receipt = store.extend(without_embeddings(named), layers=["entities"])

    assert (receipt.action, receipt.key, receipt.document_id) == (Action.DEEPENED, "alice.txt", bare.document.id)
    assert store.count_by_document([bare.document.id]) == {bare.document.id: receipt.counts}
    assert (receipt.counts["MENTIONS"], store.statistics()["Entity"]) == (2, 3)
    assert store.documents() == [named.document]
    pointed = replace(
        full, document=replace(named.document, layers=("entities", "points"), model="small"), mentions=(), titles=()
    )
    receipt = store.extend(without_embeddings(pointed), layers=["points"])
    assert (receipt.counts["InformationPoint"], receipt.counts["SUMMARIZES"], receipt.counts["MENTIONS"]) == (3, 5, 2)
    assert store.documents() == [pointed.document]
    assert store.list_segments(bare.document.id) == list(bare.segments)


def test_repeated_layer_is_replaced(store: GraphStore) -> None:
    graph = name_graph(store.namespace, titles=["Wonderland"], levels=(2, 1))
    store.write(graph)

    other_names = replace(name_graph(store.namespace, names=[(2, "She", "PERSON")]), document=graph.document)
    receipt = store.extend(other_names, layers=["entities"])

    assert (receipt.counts["MENTIONS"], receipt.counts["InformationPoint"]) == (1, 3)
    assert "TITLED" not in receipt.counts
    assert find_entities(store, "alice", "rabbit", "wonderland") == []
    assert len(find_entities(store, "she")) == 1
    again = make_graph(store.namespace, levels=(1,), seed=3)
    receipt = store.extend(replace(again, document=graph.document), layers=["points"])
    assert (receipt.counts["InformationPoint"], receipt.counts["SUMMARIZES"], receipt.counts["MENTIONS"]) == (1, 3, 1)


def test_extend_refuses_unknown_document(store: GraphStore) -> None:
    graph = name_graph(store.namespace)
    with pytest.raises(DocumentNotFound):
        store.extend(graph, layers=["entities"])
    store.write(graph)
    version = store.version()

    with pytest.raises(DocumentNotFound):
        store.extend(replace(graph, document=replace(graph.document, sha256="1" * 64)), layers=["entities"])

    assert store.statistics()["MENTIONS"] == 2
    assert store.version() == version


def test_empty_layer_replaces_only_itself(store: GraphStore) -> None:
    graph = name_graph(store.namespace, titles=["Wonderland"], levels=(1,))
    store.write(graph)
    nothing = replace(graph, mentions=(), titles=(), points=(), summarizes=(), point_embeddings=np.zeros((0, 0)))

    kept = store.extend(nothing, layers=[])
    gone = store.extend(replace(nothing, document=replace(graph.document, recognizer="another")), layers=["entities"])

    assert (kept.counts["MENTIONS"], kept.counts["InformationPoint"]) == (2, 1)
    assert not {"MENTIONS", "TITLED"} & set(gone.counts)
    assert store.statistics()["Entity"] == 0
    assert store.recognizer() == "another"
    without_model = replace(nothing, document=replace(graph.document, model=""))
    assert store.extend(without_model, layers=["entities"]).counts["InformationPoint"] == 1
    assert store.documents()[0].model == "small"


def test_rows_of_unnamed_layers_are_refused(store: GraphStore) -> None:
    graph = name_graph(store.namespace, titles=["Wonderland"])
    store.write(graph)
    before = store.version()

    for layers in ([], ["points"], ["points", "relations"]):
        with pytest.raises(StoreError, match=r"Expected rows of the layers"):
            store.extend(graph, layers=layers)
        assert store.version() == before


def test_layers_of_other_segments_are_refused(store: GraphStore) -> None:
    store.write(make_graph(store.namespace))
    other = make_graph(store.namespace, texts=("Alice was tired. A rabbit ran by.", "She ran after it."))
    other = replace(other, segments=tuple(replace(segment, id=segment.id[::-1]) for segment in other.segments))

    with pytest.raises(StoreError, match="list_segments"):
        store.extend(name_graph(store.namespace, graph=other, names=[(0, "Alice", "PERSON")]), layers=["entities"])
    assert store.statistics()["Entity"] == 0


def make_broken_rows(namespace: str) -> dict[str, tuple[Mention | Title, ...]]:
    first, second, _ = make_graph(namespace).segments
    good = mention(namespace, first, "Alice")
    late = mention(namespace, second, "rabbit")
    return {
        "another segment": (replace(good, segment_id="elsewhere"),),
        "before its segment": (replace(late, start=late.start - 5, end=late.end - 5),),
        "past its segment": (replace(good, start=first.end - 2, end=first.end + 3),),
        "empty": (replace(good, surface="", end=good.start),),
        "another surface": (replace(good, surface="Alicf"),),
        "other case": (replace(good, surface="alice"),),
        "an entity of another namespace": (replace(good, entity_id=entity_id(f"{namespace}x", "alice")),),
        "two normals": (good, replace(late, entity_id=good.entity_id)),
        "two normals, by a title": (good, Title(good.entity_id, "wonderland", "Wonderland")),
    }


def test_invalid_mention_is_refused(store: GraphStore) -> None:
    for case, rows in make_broken_rows(store.namespace).items():
        graph = replace(
            make_graph(store.namespace),
            mentions=tuple(row for row in rows if isinstance(row, Mention)),
            titles=tuple(row for row in rows if isinstance(row, Title)),
        )

        with pytest.raises(StoreError):
            store.write(graph)
        assert not any(store.statistics().values()), case


def test_half_a_surrogate_pair_in_a_name_is_refused(store: GraphStore) -> None:
    graph = replace(make_graph(store.namespace), titles=(title(store.namespace, "tw\ud800o"),))
    with pytest.raises(DocumentError, match="surrogate"):
        store.write(graph)


def test_two_namespaces_share_no_entity(make_store: MakeStore) -> None:
    mine, yours = make_store(), make_store()
    for store in (mine, yours):
        store.write(name_graph(store.namespace, titles=["Wonderland"]))
    foreign = [entity_id(yours.namespace, name) for name in ("alice", "rabbit", "wonderland")]
    before = (yours.entities(foreign), yours.list_indexed_segments(since=-1)[0].entities)

    assert mine.entities(foreign) == []
    assert mine.statistics()["Entity"] == 3
    assert {entity for segment in mine.list_indexed_segments(since=-1) for entity in segment.entities}.isdisjoint(
        foreign
    )
    mine.forget(mine.documents()[0].id)
    assert (yours.entities(foreign), yours.list_indexed_segments(since=-1)[0].entities) == before
    assert len(before[0]) == 3


def test_a_segment_is_read_with_its_entities(store: GraphStore) -> None:
    graph = name_graph(
        store.namespace,
        names=[(0, "Alice", "PERSON"), (0, "Alice", "heading"), (1, "rabbit", "ANIMAL")],
        titles=["Wonderland", "Alice"],
        title="Wonderland",
    )
    said = replace(graph.segments[2], speaker="Ann", time="2026-01-02T03:04:05+00:00")
    graph = replace(graph, segments=(*graph.segments[:2], said))
    store.write(graph)

    indexed = store.list_indexed_segments(since=-1)

    assert [(item.id, item.document_id, item.index, item.text) for item in indexed] == [
        (item.id, item.document_id, item.index, item.text) for item in graph.segments
    ]
    assert [item.title for item in indexed] == ["Wonderland"] * 3
    assert [(item.speaker, item.time) for item in indexed] == [("Ann", graph.document.added_at)] * 2 + [
        ("Ann", said.time)
    ]
    ids = [entity_id(store.namespace, name) for name in ("alice", "rabbit", "wonderland")]
    assert [item.entities for item in indexed] == [(ids[0],), (ids[1],), ()]
    assert [item.titles for item in indexed] == [tuple(sorted([ids[2], ids[0]]))] * 3
    for item, vector in zip(indexed, graph.segment_embeddings, strict=True):
        assert item.embedding.dtype == np.float32
        assert item.embedding.shape == (DIMENSION,)
        assert np.array_equal(item.embedding, vector)
    assert store.list_segments(graph.document.id) == list(graph.segments)


def test_segments_come_by_document_and_index(store: GraphStore) -> None:
    for key in "abc":
        store.write(make_graph(store.namespace, key, tuple(f"{key}{place}" for place in range(12))))

    places = [(segment.document_id, segment.index) for segment in store.list_indexed_segments(since=-1)]

    assert places == sorted(places)
    assert len(places) == 36


def test_reader_sees_only_later_changes(make_store: MakeStore) -> None:
    store = make_store()
    other = make_store(store.namespace)
    graphs = [make_graph(store.namespace, key) for key in "abc"]
    versions = [store.version()]
    for graph in graphs:
        other.write(graph)
        versions.append(store.version())

    def list_changed(since: int) -> set[str]:
        return {segment.document_id for segment in store.list_indexed_segments(since=since)}

    assert versions == sorted(set(versions))
    assert [list_changed(since) for since in versions] == [
        {graph.document.id for graph in graphs[n:]} for n in range(4)
    ]
    assert store.document_ids() == sorted(graph.document.id for graph in graphs)
    assert store.count_documents() == 3
    last = store.version()
    other.write(graphs[0])
    assert list_changed(last) == {graphs[0].document.id}
    last = store.version()
    other.extend(name_graph(store.namespace, graph=graphs[1]), layers=["entities"])
    assert list_changed(last) == {graphs[1].document.id}
    last = store.version()
    other.forget(graphs[2].document.id)
    assert store.version() > last
    assert list_changed(last) == set()
    assert store.document_ids() == sorted(graph.document.id for graph in graphs[:2])


def test_recognizer_is_that_of_documents(store: GraphStore) -> None:
    bare = make_graph(store.namespace, "a")
    store.write(bare)
    assert store.recognizer() == ""
    named = name_graph(store.namespace, "b")
    store.write(named)
    assert store.recognizer() == store.documents([named.document.id])[0].recognizer == RECOGNIZER
    store.forget(named.document.id)
    assert store.recognizer() == ""
