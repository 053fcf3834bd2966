"""Entities follow from what names them: on every engine, after every order of writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from store_snapshot import is_as_written_once, whole_graph

from memgraph_rag.contracts import GraphStore
from memgraph_rag.stores.layer_rows import layers_in
from memgraph_rag.testing.sample_graphs import RECOGNIZER, random_units
from memgraph_rag.testing.store_suite.entities import (
    ALICE,
    find_entities,
    make_graph,
    mention,
    name_graph,
    title,
    without_embeddings,
)
from memgraph_rag.types import DocumentGraph

WORDS = ("Alice", "ALICE", "alice", "Bob", "BOB", "Eve")


TEXT = " ".join(WORDS) + " "


KEYS = "abc"


@dataclass(frozen=True)
class Turn:
    """One thing done to the document of a key."""

    verb: str
    key: str
    segments: int
    names: tuple[tuple[int, int, str], ...]  # place of the segment, of the word, and the kind
    titles: tuple[str, ...]
    levels: tuple[int, ...]


TURNS = st.lists(
    st.builds(
        Turn,
        verb=st.sampled_from(["write", "write", "forget", "extend"]),
        key=st.sampled_from(KEYS),
        segments=st.integers(1, 3),
        names=st.lists(
            st.tuples(st.integers(0, 2), st.integers(0, len(WORDS) - 1), st.sampled_from(["PERSON", "ORG", "heading"])),
            max_size=6,
        ).map(tuple),
        titles=st.lists(st.sampled_from(WORDS), max_size=2, unique_by=str.casefold).map(tuple),
        levels=st.sampled_from([(), (1,), (2, 1)]),
    ),
    max_size=8,
)


def as_graph(namespace: str, turn: Turn, segments: int) -> DocumentGraph:
    graph = make_graph(namespace, turn.key, (TEXT,) * segments, levels=turn.levels, seed=segments)
    mentions = tuple(
        mention(namespace, graph.segments[place % segments], WORDS[word], kind, at=TEXT.index(WORDS[word]))
        for place, word, kind in turn.names
    )
    named = bool(mentions or turn.titles)
    record = replace(
        graph.document,
        layers=(*(("points",) if turn.levels else ()), *(("entities",) if named else ())),
        recognizer=RECOGNIZER if named else "",
    )
    titles = tuple(title(namespace, surface) for surface in turn.titles)
    return replace(graph, document=record, mentions=mentions, titles=titles)


def extended(stored: DocumentGraph, given: DocumentGraph) -> DocumentGraph:
    """What a document is after ``given`` was laid over it."""
    if given.points:
        points = (given.points, given.point_embeddings, given.summarizes)
        stored = replace(stored, points=points[0], point_embeddings=points[1], summarizes=points[2])
    if given.mentions or given.titles:
        stored = replace(stored, mentions=given.mentions, titles=given.titles)
    layers = tuple(dict.fromkeys((*stored.document.layers, *given.document.layers)))
    record = replace(
        stored.document,
        layers=layers,
        model=given.document.model or stored.document.model,
        recognizer=given.document.recognizer or stored.document.recognizer,
    )
    return replace(stored, document=record)


def only_what_should_be_there(store: GraphStore, place: dict[str, Any], turns: Sequence[Turn], order: str) -> None:
    expected: dict[str, DocumentGraph] = {}
    for turn in turns:
        held = expected.get(turn.key)
        if turn.verb == "write":
            expected[turn.key] = as_graph(store.namespace, turn, turn.segments)
            store.write(expected[turn.key])
        elif held and turn.verb == "extend":
            given_graph = as_graph(store.namespace, turn, len(held.segments))
            expected[turn.key] = extended(held, given_graph)
            graph = without_embeddings(replace(given_graph, document=expected[turn.key].document))
            store.extend(graph, layers=sorted(layers_in(graph)))
        elif held:
            store.forget(expected.pop(turn.key).document.id)
    is_as_written_once(store, place, expected, order)


IN_A_FIXTURE = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@pytest.mark.parametrize("engine", ["ladybug"], indirect=True)
@settings(max_examples=60, deadline=None, suppress_health_check=IN_A_FIXTURE)
@given(turns=TURNS, order=st.permutations(KEYS).map("".join))
def test_entities_equal_model(store: GraphStore, place: dict[str, Any], turns: list[Turn], order: str) -> None:
    only_what_should_be_there(store, place, turns, order)


@pytest.mark.parametrize("engine", ["neo4j-5.26", "neo4j-2026"], indirect=True)
@settings(max_examples=12, deadline=None, suppress_health_check=IN_A_FIXTURE)
@given(turns=TURNS, order=st.permutations(KEYS).map("".join))
def test_entities_equal_model_on_server(
    store: GraphStore, place: dict[str, Any], turns: list[Turn], order: str
) -> None:
    only_what_should_be_there(store, place, turns, order)


def test_forgetting_document_undoes_adding_it(store: GraphStore, place: dict[str, Any]) -> None:
    first = name_graph(store.namespace, "a", [(0, "Alice", "PERSON")], texts=(ALICE,))
    second = name_graph(
        store.namespace, "b", [(0, "alice", "ORG"), (0, "alice", "ORG"), (0, "Bob", "ORG")], texts=(ALICE,),
        titles=["ALICE"], embeddings=random_units(1, seed=4),
    )  # fmt: skip
    store.write(first)
    before = whole_graph(store, place)
    store.write(second)
    assert find_entities(store, "alice")[0].name == "alice"

    store.forget(second.document.id)

    assert whole_graph(store, place) == before
