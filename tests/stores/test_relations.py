"""Relations and near-synonyms: on every engine, after every order of writes."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from store_snapshot import is_as_written_once, whole_graph

from memgraph_rag.contracts import GraphStore
from memgraph_rag.errors import DocumentNotFound, StoreError
from memgraph_rag.stores.layer_rows import list_layers
from memgraph_rag.stores.neo4j.connection import Execute, Neo4jConnection
from memgraph_rag.testing.sample_graphs import (
    DIMENSION,
    MakeStore,
    make_graph,
    make_relations,
    name_vectors,
    unit,
)
from memgraph_rag.testing.store_suite.relations import MEETING, ids, make_related, relation_ids, with_open_mentions
from memgraph_rag.types import OPEN_KIND, Action, DocumentGraph


def test_a_write_replaces_relations(store: GraphStore, place: dict[str, Any]) -> None:
    second = make_related(store.namespace, texts=("Bob saw Zoe.",))
    store.write(second)
    expected = whole_graph(store, place)
    store.write(make_related(store.namespace))

    receipt = store.write(second)

    assert (receipt.action, receipt.counts["RELATES_TO"]) == (Action.REPLACED, 1)
    assert whole_graph(store, place) == expected


def test_forgetting_takes_relations_and_what_follows(store: GraphStore, place: dict[str, Any]) -> None:
    first, second = (
        make_related(store.namespace, "a"),
        make_related(store.namespace, "b", ("Alice met Alicia, Bob and Zoe.",)),
    )
    store.write(first)
    before = whole_graph(store, place)
    store.write(second)

    receipt = store.forget(second.document.id)

    assert receipt.counts["RELATES_TO"] == 3
    assert whole_graph(store, place) == before
    store.forget(first.document.id)
    assert whole_graph(store, place) == ([], [])
    assert not any(store.statistics().values())


def test_an_entity_that_is_only_mentioned_has_no_embedding(store: GraphStore, place: dict[str, Any]) -> None:
    bare = make_graph(store.namespace, "a", ("Alice met Bob.",))
    store.write(bare)
    before = whole_graph(store, place)
    other = make_related(store.namespace, "b", ("Alice met Bob.",))
    store.write(other)
    assert any("embedding" in line for line in whole_graph(store, place)[0] if '"Entity"' in line)

    store.forget(other.document.id)

    assert whole_graph(store, place) == before


def test_layers_leave_each_others_mentions(store: GraphStore, place: dict[str, Any]) -> None:
    named = make_graph(store.namespace, "a", MEETING)
    opened = with_open_mentions(make_related(store.namespace, "a"))
    opened = replace(opened, document=replace(opened.document, layers=("entities", "relations")))
    store.write(replace(opened, mentions=(*named.mentions, *opened.mentions)))
    both = whole_graph(store, place)

    assert store.extend(replace(named, document=opened.document), layers=["entities"]).counts["MENTIONS"] == 14
    assert whole_graph(store, place) == both
    assert store.extend(opened, layers=["relations"]).counts["MENTIONS"] == 14
    assert whole_graph(store, place) == both
    nothing = replace(named, mentions=(), document=replace(opened.document, recognizer="another"))
    without = store.extend(nothing, layers=["entities"])
    assert (without.counts["MENTIONS"], without.counts["RELATES_TO"]) == (7, 4)
    fewer = make_related(store.namespace, "a", ("Alice met Bob.", *MEETING[1:]))
    fewer = replace(fewer, relations=fewer.relations[:1], relation_embeddings=fewer.relation_embeddings[:1])
    fewer = replace(fewer, end_embeddings=name_vectors(fewer, {}), document=opened.document)
    assert store.extend(with_open_mentions(fewer), layers=["relations"]).counts["RELATES_TO"] == 1


def test_relations_without_mentioned_ends_are_deleted(store: GraphStore, place: dict[str, Any]) -> None:
    graph = make_related(store.namespace, "a")
    fewer = replace(graph, mentions=tuple(mention for mention in graph.mentions if mention.normal != "bob"))
    kept = [place for place, relation in enumerate(graph.relations) if "Bob" not in relation.description]
    fewer = replace(
        fewer,
        relations=tuple(graph.relations[place] for place in kept),
        relation_embeddings=graph.relation_embeddings[kept],
    )
    fewer = replace(fewer, end_embeddings=name_vectors(fewer, {}))
    store.write(fewer)
    expected = whole_graph(store, place)
    store.write(graph)

    names_only = replace(fewer, relations=(), relation_embeddings=np.zeros((0, 0), np.float32))
    receipt = store.extend(names_only, layers=["entities"])

    assert receipt.counts["RELATES_TO"] == 2
    assert whole_graph(store, place) == expected


def test_learning_adds_to_stored_rows(store: GraphStore, place: dict[str, Any]) -> None:
    full = make_related(store.namespace, "a")
    store.write(full)
    expected = whole_graph(store, place)
    bare = replace(
        full,
        mentions=full.mentions[:2],
        relations=(),
        relation_embeddings=np.zeros((0, 0), np.float32),
        end_embeddings=np.zeros((0, 0), np.float32),
    )
    store.write(bare)
    version = store.version()

    store.learn(replace(full, segment_embeddings=np.zeros((0, DIMENSION), np.float32)))

    assert whole_graph(store, place) == expected
    assert store.version() == version + 1
    assert {row.document_id for row in store.list_indexed_segments(since=version)} == {full.document.id}
    store.learn(full)
    assert whole_graph(store, place) == expected
    with pytest.raises(DocumentNotFound):
        store.learn(replace(full, document=replace(full.document, sha256="1" * 64)))
    store.forget(full.document.id)
    with pytest.raises(DocumentNotFound):
        store.learn(full)
    assert whole_graph(store, place) == ([], [])


@pytest.mark.parametrize("verb", ["extend", "learn"])
def test_relation_with_unmentioned_end_is_refused(store: GraphStore, place: dict[str, Any], verb: str) -> None:
    full = make_related(store.namespace, "a")
    stored = make_graph(store.namespace, "a", MEETING)
    store.write(replace(stored, mentions=stored.mentions[1:]))
    before = whole_graph(store, place), store.version()
    record = replace(full.document, layers=("entities", "relations"))
    nameless = replace(full, document=record, mentions=(), titles=())

    with pytest.raises(StoreError, match="mention"):
        lay_over(store, verb, nameless)

    assert (whole_graph(store, place), store.version()) == before
    store.write(stored)
    lay_over(store, verb, nameless)
    assert store.statistics()["RELATES_TO"] == 4


def test_two_namespaces_never_see_each_others_relations(make_store: MakeStore, place: dict[str, Any]) -> None:
    mine, yours = make_store(), make_store()
    graphs = [make_related(store.namespace, texts=("Alice met Alicia.", *MEETING)) for store in (mine, yours)]
    yours.write(graphs[1])
    before = whole_graph(yours, place)
    foreign, document = list(graphs[1].ends), graphs[1].document.id

    assert mine.expand(foreign, vector=unit(1), k=99) == []
    assert mine.expand(foreign, vector=unit(1), k=99, documents=[document]) == []
    mine.write(graphs[0])
    own = {relation.id for relation in graphs[0].relations}
    assert set(relation_ids(mine.expand([*foreign, *graphs[0].ends], vector=unit(1), k=99))) == own
    assert mine.expand(foreign, vector=unit(1), k=99) == mine.expand(foreign, vector=None, k=99) == []
    assert mine.segments_naming(foreign, vector=unit(1), k=99) == mine.list_similar(foreign) == []
    assert mine.list_relations(document) == []
    assert mine.expand(list(graphs[0].ends), vector=unit(1), k=9, documents=[document]) == []
    assert mine.list_mentioned_entities([graphs[1].segments[0].id]) == {}
    assert mine.statistics()["SIMILAR_TO"] == yours.statistics()["SIMILAR_TO"]
    mine.forget(graphs[0].document.id)
    assert whole_graph(yours, place) == before


@pytest.mark.parametrize("engine", ["neo4j-5.26", "neo4j-2026"], indirect=True)
def test_an_expansion_is_one_transaction(store: GraphStore, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = (*(f"Everybody met Name{n}." for n in range(300)), *("Everybody met Somebody." for _ in range(300)))
    store.write(make_related(store.namespace, texts=texts))
    store.write(make_graph(store.namespace, "b", ("Zoe left.",)))
    asked: list[str] = []
    read = Neo4jConnection.read

    def noted(connection: Neo4jConnection, operation: str, work: Callable[[Execute], object]) -> object:
        asked.append(operation)
        return read(connection, operation, work)

    monkeypatch.setattr(Neo4jConnection, "read", noted)
    for names, count in ((["zoe"], 0), (["nobody"], 0), (["name7"], 1), (["everybody", "name7"], 9), (["somebody"], 9)):
        for vector in (unit(1), None):
            asked.clear()
            assert len(store.expand(ids(store, *names), vector=vector, k=9)) == count
            assert len(asked) == 1


@pytest.mark.parametrize("engine", ["neo4j-5.26", "neo4j-2026"], indirect=True)
def test_node_without_edges_is_no_torn_read(store: GraphStore, caplog: pytest.LogCaptureFixture) -> None:
    """A null is what a statement gives of something that was deleted under it, and is asked for again."""
    caplog.set_level(logging.DEBUG, "memgraph_rag")
    graph = make_graph(store.namespace, "b", ("nobody left.", "Zoe left."))
    store.write(graph)

    named = store.list_mentioned_entities([segment.id for segment in graph.segments])

    assert list(named.values()) == [[], ids(store, "zoe")]
    assert store.list_similar(ids(store, "zoe")) == []
    assert not [record for record in caplog.records if "will be retried" in record.getMessage()]


WORDS = ("Alice", "Alicia", "Bob", "Bobby", "Eve")


SENTENCE = " ".join(WORDS) + " "


KEYS = "abc"


@dataclass(frozen=True)
class Turn:
    """One thing done to the document of a key."""

    verb: str
    key: str
    pairs: tuple[tuple[int, int], ...]
    are_open: bool


TURNS = st.lists(
    st.builds(
        Turn,
        verb=st.sampled_from(["write", "write", "forget", "extend", "learn"]),
        key=st.sampled_from(KEYS),
        pairs=st.lists(
            st.tuples(st.integers(0, len(WORDS) - 1), st.integers(0, len(WORDS) - 1)).filter(
                lambda pair: pair[0] != pair[1]
            ),
            max_size=4,
            unique=True,
        ).map(tuple),
        are_open=st.booleans(),
    ),
    max_size=8,
)


NAMES = {  # cosines from 0.6 to 0.95
    name.casefold(): unit(*row)
    for name, row in zip(WORDS, ((1, 0), (1, 0.5), (0.6, 0.8), (0.3, 1), (0.9, 0.1, 0.4)), strict=True)
}


def as_graph(namespace: str, turn: Turn) -> DocumentGraph:
    """A document of one segment that states these pairs of words, and mentions those only."""
    graph = make_graph(namespace, turn.key, (SENTENCE,), seed=1)
    wanted = {WORDS[place].casefold() for pair in turn.pairs for place in pair}
    kind = OPEN_KIND if turn.are_open else "NAME"
    mentions = tuple(replace(mention, kind=kind) for mention in graph.mentions if mention.normal in wanted)
    record = replace(graph.document, recognizer="same", layers=("entities", "relations"))
    pairs = [(WORDS[source], WORDS[target]) for source, target in turn.pairs]
    return make_relations(namespace, replace(graph, mentions=mentions, document=record), pairs=pairs, vectors=NAMES)


def joined(graph: DocumentGraph, other: DocumentGraph) -> DocumentGraph:
    """The first with the relations and mentions that only the second has."""
    new = [place for place, relation in enumerate(other.relations) if relation not in graph.relations]
    rows = [matrix for matrix in (graph.relation_embeddings, other.relation_embeddings[new]) if len(matrix)]
    both = replace(
        graph,
        mentions=tuple(dict.fromkeys((*graph.mentions, *other.mentions))),
        relations=(*graph.relations, *(other.relations[place] for place in new)),
        relation_embeddings=np.concatenate(rows) if rows else np.zeros((0, 0), np.float32),
    )
    return replace(both, end_embeddings=name_vectors(both, NAMES))


def kept(graph: DocumentGraph, *, are_open: bool) -> DocumentGraph:
    """What of a document stays where one layer is built again: no relation whose ends are not mentioned any more."""
    mentions = tuple(mention for mention in graph.mentions if (mention.kind == OPEN_KIND) != are_open)
    named = {mention.entity_id for mention in mentions}
    places = [
        place
        for place, relation in enumerate(graph.relations)
        if {relation.source_id, relation.target_id} <= named and not are_open
    ]
    left = replace(
        graph,
        mentions=mentions,
        relations=tuple(graph.relations[place] for place in places),
        relation_embeddings=graph.relation_embeddings[places],
    )
    return replace(left, end_embeddings=name_vectors(left, NAMES))


def laid_over(held: DocumentGraph, graph: DocumentGraph) -> DocumentGraph:
    """What a document is after ``graph`` was laid over it: relations come with it, so that layer is given."""
    if graph.relations:
        held = kept(held, are_open=True)
    if any(mention.kind != OPEN_KIND for mention in graph.mentions):
        held = kept(held, are_open=False)
    return joined(held, graph)


def lay_over(store: GraphStore, verb: str, graph: DocumentGraph) -> None:
    """Let a store extend a document, or learn of it."""
    if verb == "learn":
        store.learn(graph)
    else:
        store.extend(graph, layers=sorted(list_layers(graph)))


def only_what_follows(store: GraphStore, place: dict[str, Any], turns: list[Turn], order: str) -> None:
    expected: dict[str, DocumentGraph] = {}
    for turn in turns:
        graph, held = as_graph(store.namespace, turn), expected.get(turn.key)
        if turn.verb == "write":
            expected[turn.key] = graph
            store.write(graph)
        elif held and turn.verb == "forget":
            store.forget(expected.pop(turn.key).document.id)
        elif held:
            expected[turn.key] = joined(held, graph) if turn.verb == "learn" else laid_over(held, graph)
            lay_over(store, turn.verb, graph)
    is_as_written_once(store, place, expected, order)


IN_A_FIXTURE = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@pytest.mark.parametrize("engine", ["ladybug"], indirect=True)
@settings(max_examples=40, suppress_health_check=IN_A_FIXTURE)
@given(turns=TURNS, order=st.permutations(KEYS).map("".join))
def test_relations_equal_model(store: GraphStore, place: dict[str, Any], turns: list[Turn], order: str) -> None:
    only_what_follows(store, place, turns, order)


@pytest.mark.parametrize("engine", ["neo4j-5.26", "neo4j-2026"], indirect=True)
@settings(max_examples=6, suppress_health_check=IN_A_FIXTURE)
@given(turns=TURNS, order=st.permutations(KEYS).map("".join))
def test_relations_equal_model_on_server(
    store: GraphStore, place: dict[str, Any], turns: list[Turn], order: str
) -> None:
    only_what_follows(store, place, turns, order)
