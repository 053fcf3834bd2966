"""Kept questions, on every engine: as they were, and gone with what they quote."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from store_samples import MakeStore, make_graph, make_question, random_units
from test_conformance import HOSTILE

from memgraph_rag.contracts import GraphStore
from memgraph_rag.errors import DocumentNotFound, QuestionNotFound, StoreError
from memgraph_rag.types import question_id

TEXTS = tuple(f"Sentence {number}." for number in range(50))


def test_an_empty_namespace_keeps_none(store: GraphStore) -> None:
    assert store.questions() == store.questions([]) == store.questions(["x"]) == []
    with pytest.raises(QuestionNotFound):
        store.forget_question("x")


def test_a_question_is_read_as_it_was_kept(store: GraphStore) -> None:
    graph = make_graph(store.namespace, levels=(2, 1))
    store.write(graph)
    counts, version = store.counts(graph.document.id), store.version()
    nodes = [graph.segments[1], graph.points[2], graph.segments[0], graph.points[0], graph.segments[1]]
    question = make_question(store.namespace, nodes)

    store.keep(question)

    assert store.questions() == store.questions([question.id, "x"]) == [question]
    assert (store.statistics()["Question"], store.statistics()["READ"]) == (1, 5)
    assert store.counts(graph.document.id) == counts, "a document does not own what was asked of it"
    assert store.version() == version + 1
    assert store.indexed_segments(since=version) == []


def test_a_long_walk_and_none_at_all(store: GraphStore) -> None:
    graph = make_graph(store.namespace, texts=TEXTS, levels=(40,))
    store.write(graph)
    long = make_question(store.namespace, [*graph.segments, *graph.points], "Long?")
    none = make_question(store.namespace, [], "None?", asked_at="2026-11-21T11:00:00+00:00")
    for question in (long, none):
        store.keep(question)

    assert store.questions() == [none, long]
    assert store.questions([long.id]) == [long]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_words_come_back_as_they_were(store: GraphStore, text: str) -> None:
    graph = make_graph(store.namespace, texts=(text, text, text))
    store.write(graph)
    question = make_question(store.namespace, graph.segments, text, words=text)

    store.keep(question)

    assert store.questions() == [question]


def test_half_a_surrogate_pair_is_refused(store: GraphStore) -> None:
    graph = make_graph(store.namespace)
    store.write(graph)
    with pytest.raises(StoreError, match="surrogate"):
        store.keep(make_question(store.namespace, graph.segments, words="tw\ud800o"))
    assert store.questions() == []


def test_asked_again_it_is_replaced(store: GraphStore) -> None:
    graph = make_graph(store.namespace)
    store.write(graph)
    store.keep(make_question(store.namespace, graph.segments))
    again = make_question(store.namespace, graph.segments[:2], words="nobody", asked_at="2026-11-21T12:00:00+00:00")

    for _ in range(2):
        store.keep(again)

        assert store.questions() == [again]
        assert (store.statistics()["Question"], store.statistics()["READ"]) == (1, 2)


def test_a_question_goes_with_each_document_that_was_read(store: GraphStore) -> None:
    one, other = make_graph(store.namespace, "one", levels=(1,)), make_graph(store.namespace, "other")
    of_point = make_question(store.namespace, one.points, "Of a point?")
    of_both = make_question(store.namespace, [*one.segments, *other.segments], "Of both?")
    of_other = make_question(store.namespace, other.segments, "Of the other?")
    forgets: list[Callable[[], Any]] = [
        lambda: store.forget(one.document.id),
        lambda: store.write(make_graph(store.namespace, "one", texts=("Bob slept.",))),
        lambda: store.write_many([make_graph(store.namespace, "new"), make_graph(store.namespace, "one", seed=4)]),
    ]
    for forget in forgets:
        store.write(one)
        store.write(other)
        for question in (of_point, of_both, of_other):
            store.keep(question)

        forget()

        assert store.questions() == [of_other]
        assert (store.statistics()["Question"], store.statistics()["READ"]) == (1, 3)


def test_points_that_are_replaced_take_their_readers_with_them(store: GraphStore) -> None:
    flat = make_graph(store.namespace)
    tall = make_graph(store.namespace, levels=(2,))
    store.write(flat)
    of_segments = make_question(store.namespace, flat.segments, "Of segments?")
    store.keep(of_segments)
    store.extend(tall)
    of_points = make_question(store.namespace, tall.points, "Of points?")
    store.keep(of_points)
    store.learn(tall)
    assert {one.text for one in store.questions()} == {"Of segments?", "Of points?"}

    store.extend(replace(tall, point_embeddings=random_units(2, seed=9)))

    assert store.questions() == [of_segments]


def test_what_was_replaced_while_it_was_asked_is_not_kept(store: GraphStore) -> None:
    graph = make_graph(store.namespace)
    store.write(graph)
    asked = make_question(store.namespace, graph.segments[:1])
    cited = replace(
        asked, answer=replace(asked.answer, trace=())
    )  # as under a point: what is cited was not read itself
    store.write(make_graph(store.namespace, texts=("Bob slept.",)))

    for question in (asked, cited):
        with pytest.raises(DocumentNotFound, match="ask again"):
            store.keep(question)
    store.forget(graph.document.id)
    with pytest.raises(DocumentNotFound, match="ask again"):
        store.keep(asked)

    assert (store.questions(), store.statistics()["READ"]) == ([], 0)


def test_a_question_can_be_forgotten(store: GraphStore) -> None:
    graph = make_graph(store.namespace)
    store.write(graph)
    questions = [make_question(store.namespace, graph.segments, text) for text in ("One?", "Two?")]
    for question in questions:
        store.keep(question)

    store.forget_question(questions[0].id)

    assert store.questions() == questions[1:]
    with pytest.raises(QuestionNotFound, match=r"questions\(\)"):
        store.forget_question(questions[0].id)


def test_namespaces_keep_their_own(make_store: MakeStore) -> None:
    mine, yours = make_store(), make_store()
    graphs = [make_graph(store.namespace) for store in (mine, yours)]
    for store, graph in zip((mine, yours), graphs, strict=True):
        store.write(graph)
        store.keep(make_question(store.namespace, graph.segments))
    (held,) = yours.questions()

    assert mine.questions([held.id]) == []
    with pytest.raises(QuestionNotFound):
        mine.forget_question(held.id)
    with pytest.raises(StoreError, match="made of namespace"):
        mine.keep(held)
    foreign = replace(held, id=question_id(mine.namespace, held.text))
    with pytest.raises(DocumentNotFound):
        mine.keep(foreign)
    mine.forget(graphs[0].document.id)
    assert (mine.questions(), yours.questions()) == ([], [held])


def test_a_keep_that_fails_leaves_what_was_there(store: GraphStore, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = make_graph(store.namespace)
    store.write(graph)
    held = make_question(store.namespace, graph.segments)
    store.keep(held)
    with monkeypatch.context() as patch:
        patch.setattr("memgraph_rag.stores.question_rows.read_columns", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            store.keep(make_question(store.namespace, graph.segments[:1]))

    assert store.questions() == [held]
