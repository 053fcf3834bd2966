"""Tests of stored questions: they are read back unchanged, and become stale or are deleted with their documents."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone

import pytest

from memgraph_rag.contracts import GraphStore
from memgraph_rag.errors import DocumentNotFound, QuestionNotFound, StoreError
from memgraph_rag.testing.sample_graphs import MakeStore, make_graph, make_question, random_units
from memgraph_rag.testing.store_suite.writes import HOSTILE
from memgraph_rag.types import Action, Change, Question, question_id

TEXTS = tuple(f"Sentence {number}." for number in range(50))


def test_empty_namespace_has_no_questions(store: GraphStore) -> None:
    assert store.questions() == store.questions([]) == store.questions(["x"]) == []
    with pytest.raises(QuestionNotFound):
        store.forget_question("x")


def test_stored_question_is_read_unchanged(store: GraphStore) -> None:
    graph = make_graph(store.namespace, levels=(2, 1))
    store.write(graph)
    counts, version = store.count_by_document([graph.document.id]), store.version()
    nodes = [graph.segments[1], graph.points[2], graph.segments[0], graph.points[0], graph.segments[1]]
    question = make_question(store.namespace, nodes)

    store.keep(question)

    assert store.questions() == store.questions([question.id, "x"]) == [question]
    assert (store.statistics()["Question"], store.statistics()["READ"]) == (1, 5)
    assert store.count_by_document([graph.document.id]) == counts, "a document does not own what was asked of it"
    assert store.version() == version + 1
    assert store.list_indexed_segments(since=version) == []


def test_question_may_read_many_nodes_or_no_node(store: GraphStore) -> None:
    graph = make_graph(store.namespace, texts=TEXTS, levels=(40,))
    store.write(graph)
    long = make_question(store.namespace, [*graph.segments, *graph.points], "Long?")
    none = make_question(store.namespace, [], "None?", asked_at="2026-11-21T11:00:00+00:00")
    for question in (long, none):
        store.keep(question)

    assert store.questions() == [none, long]
    assert store.questions([long.id]) == [long]


@pytest.mark.parametrize("text", HOSTILE)
def test_question_keeps_hostile_text(store: GraphStore, text: str) -> None:
    graph = make_graph(store.namespace, texts=(text, text, text))
    store.write(graph)
    question = make_question(store.namespace, graph.segments, text, words=text)

    store.keep(question)

    assert store.questions() == [question]


def test_a_question_with_half_a_surrogate_pair_is_refused(store: GraphStore) -> None:
    graph = make_graph(store.namespace)
    store.write(graph)
    with pytest.raises(StoreError, match="surrogate"):
        store.keep(make_question(store.namespace, graph.segments, words="tw\ud800o"))
    assert store.questions() == []


def test_repeated_question_replaces_first(store: GraphStore) -> None:
    graph = make_graph(store.namespace)
    store.write(graph)
    store.keep(make_question(store.namespace, graph.segments))
    again = make_question(store.namespace, graph.segments[:2], words="nobody", asked_at="2026-11-21T12:00:00+00:00")

    for _ in range(2):
        store.keep(again)

        assert store.questions() == [again]
        assert (store.statistics()["Question"], store.statistics()["READ"]) == (1, 2)


def test_deleting_document_deletes_its_questions(store: GraphStore) -> None:
    first, other = make_graph(store.namespace, "one", levels=(1,)), make_graph(store.namespace, "other")
    of_point = make_question(store.namespace, first.points, "Of a point?")
    of_both = make_question(store.namespace, [*first.segments, *other.segments], "Of both?")
    of_other = make_question(store.namespace, other.segments, "Of the other?")
    for graph in (first, other):
        store.write(graph)
    for question in (of_point, of_both, of_other):
        store.keep(question)

    assert store.forget(first.document.id).forgotten_questions == 2

    assert store.questions() == [of_other]
    assert (store.statistics()["Question"], store.statistics()["READ"]) == (1, 3)


def make_stale(question: Question, *changes: Change) -> Question:
    """Return a question as it is after these changes. Each change removes all steps in its document."""
    gone = {change.document_id for change in changes}
    steps = tuple(step for step in question.answer.trace if step.node.document_id not in gone)
    return replace(question, answer=replace(question.answer, trace=steps), changes=changes)


def read_changes(store: GraphStore, question: Question) -> list[tuple[str, Action, int]]:
    """Return the document key, the action and the number of lost reads of each change of a stored question."""
    (kept,) = store.questions([question.id])
    return [(change.document_key, change.action, change.reads) for change in kept.changes]


@pytest.mark.parametrize("together", [False, True])
def test_a_replaced_document_makes_its_questions_stale(store: GraphStore, together: bool) -> None:
    first, other = make_graph(store.namespace, "one", levels=(1,)), make_graph(store.namespace, "other")
    of_point = make_question(store.namespace, first.points, "Of a point?")
    of_both = make_question(store.namespace, [*first.segments, *other.segments], "Of both?")
    of_other = make_question(store.namespace, other.segments, "Of the other?")
    for graph in (first, other):
        store.write(graph)
    for question in (of_point, of_both, of_other):
        store.keep(question)
    edited = make_graph(store.namespace, "one", ("Bob slept.",))
    before = datetime.now(timezone.utc).replace(microsecond=0)

    receipts = store.write_many([make_graph(store.namespace, "new"), edited]) if together else [store.write(edited)]

    assert [first.stale_questions for first in receipts] == ([0, 2] if together else [2])
    kept = {question.text: question for question in store.questions()}
    changed_at = kept["Of both?"].changes[0].changed_at
    assert before <= datetime.fromisoformat(changed_at) <= datetime.now(timezone.utc)
    change = Change(first.document.id, "one", Action.REPLACED, changed_at, 3)
    assert kept["Of both?"] == make_stale(of_both, change)
    assert (kept["Of both?"].is_stale, kept["Of both?"].nodes_read) == (True, 6)
    assert (kept["Of both?"].standing_citations, kept["Of both?"].answer.citations) == ((), of_both.answer.citations)
    assert kept["Of a point?"] == make_stale(of_point, replace(change, reads=1))
    assert kept["Of the other?"] == of_other
    assert not of_other.is_stale
    assert (store.statistics()["Question"], store.statistics()["READ"]) == (3, 6)
    assert not store.flaws()


def test_stale_question_changes_only_with_another_document(store: GraphStore) -> None:
    first, other = make_graph(store.namespace, "one"), make_graph(store.namespace, "other")
    question = make_question(store.namespace, [*first.segments, *other.segments])
    store.write_many([first, other])
    store.keep(question)
    versions = [make_graph(store.namespace, "one", (text,)) for text in ("Bob slept.", "Bob woke.")]
    assert store.write(versions[0]).stale_questions == 1
    kept = store.questions()

    assert store.write(versions[1]).stale_questions == 0
    assert store.describe([replace(other.document, metadata={"who": "Ann"})], before=["0" * 64])
    assert store.questions() == kept

    assert store.write(make_graph(store.namespace, "other", ("Eve slept.",))).stale_questions == 1
    assert read_changes(store, question) == [("one", Action.REPLACED, 3), ("other", Action.REPLACED, 3)]
    assert store.questions()[0].answer.trace == ()
    assert not store.flaws()


def test_one_write_replaces_all_documents_of_question(store: GraphStore) -> None:
    graphs = [make_graph(store.namespace, key) for key in ("one", "other")]
    question = make_question(store.namespace, [node for graph in graphs for node in graph.segments])
    store.write_many(graphs)
    store.keep(question)

    receipts = store.write_many([make_graph(store.namespace, key, ("Bob slept.",)) for key in ("other", "one")])

    assert [receipt.stale_questions for receipt in receipts] == [1, 1]
    assert read_changes(store, question) == [("one", Action.REPLACED, 3), ("other", Action.REPLACED, 3)]
    assert not store.flaws()


@pytest.mark.parametrize("edited", ["one", "other"])
def test_deleting_document_deletes_stale_questions(store: GraphStore, edited: str) -> None:
    first, other = make_graph(store.namespace, "one"), make_graph(store.namespace, "other")
    of_both = make_question(store.namespace, [*first.segments, *other.segments], "Of both?")
    of_other = make_question(store.namespace, other.segments, "Of the other?")
    store.write_many([first, other])
    for question in (of_both, of_other):
        store.keep(question)
    store.write(make_graph(store.namespace, edited, ("Bob slept.",)))

    assert store.forget(first.document.id).forgotten_questions == 1

    assert [question.text for question in store.questions()] == ["Of the other?"]
    assert store.forget(other.document.id).forgotten_questions == 1
    assert not any(store.statistics().values())


def test_cited_segment_makes_question_stale(store: GraphStore) -> None:
    """A question that cites a segment under a point quotes its document, although the segment was not read."""
    graph = make_graph(store.namespace, levels=(1,))
    store.write(graph)
    asked = make_question(store.namespace, graph.segments)
    store.keep(replace(asked, answer=replace(asked.answer, trace=())))

    assert store.write(make_graph(store.namespace, texts=("Bob slept.",))).stale_questions == 1
    assert read_changes(store, asked) == [("alice.txt", Action.REPLACED, 0)]
    assert store.forget(graph.document.id).forgotten_questions == 1
    assert store.questions() == []


def test_repeated_stale_question_is_fresh(store: GraphStore) -> None:
    store.write(graph := make_graph(store.namespace))
    store.keep(make_question(store.namespace, graph.segments))
    store.write(edited := make_graph(store.namespace, texts=("Bob slept.",)))
    (kept,) = store.questions()
    with pytest.raises(StoreError, match="Ask it again"):
        store.keep(kept)

    store.keep(again := make_question(store.namespace, edited.segments))

    assert store.questions() == [again]
    store.write(graph)
    store.forget_question(again.id)
    assert (store.questions(), store.statistics()["Question"]) == ([], 0)


def test_many_questions_become_stale_at_once(store: GraphStore) -> None:
    store.write(graph := make_graph(store.namespace, texts=TEXTS))
    questions = [make_question(store.namespace, graph.segments[:place], f"No. {place}?") for place in range(1, 41)]
    for question in questions:
        store.keep(question)

    assert store.write(make_graph(store.namespace, texts=("Bob slept.",))).stale_questions == 40

    lost = {question.text: question.changes[0].reads for question in store.questions()}
    assert lost == {question.text: len(question.answer.trace) for question in questions}
    assert store.statistics()["READ"] == 0
    assert not store.flaws()


def test_replaced_points_make_questions_stale(store: GraphStore) -> None:
    flat = make_graph(store.namespace)
    tall = make_graph(store.namespace, levels=(2,))
    store.write(flat)
    of_segments = make_question(store.namespace, flat.segments, "Of segments?")
    store.keep(of_segments)
    assert store.extend(tall, layers=["entities", "points"]).stale_questions == 0
    of_points = make_question(store.namespace, [*tall.segments, *tall.points], "Of points?")
    store.keep(of_points)
    store.learn(tall)
    assert not any(question.is_stale for question in store.questions())

    receipt = store.extend(replace(tall, point_embeddings=random_units(2, seed=9)), layers=["entities", "points"])

    assert receipt.stale_questions == 1
    assert read_changes(store, of_segments) == []
    assert read_changes(store, of_points) == [("alice.txt", Action.DEEPENED, 2)]
    (kept,) = store.questions([of_points.id])
    assert [step.node for step in kept.answer.trace] == list(tall.segments)
    assert kept.standing_citations == of_points.answer.citations
    anew = replace(tall, point_embeddings=random_units(2, seed=8))
    assert store.extend(anew, layers=["entities", "points"]).stale_questions == 0

    assert store.write(make_graph(store.namespace, texts=("Bob slept.",))).stale_questions == 2
    assert read_changes(store, of_points) == [("alice.txt", Action.REPLACED, 5)]
    assert store.forget(flat.document.id).forgotten_questions == 2
    assert not any(store.statistics().values())


def test_question_about_replaced_document_is_refused(store: GraphStore) -> None:
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


def test_namespaces_have_separate_questions(make_store: MakeStore) -> None:
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
    mine.write(make_graph(mine.namespace, texts=("Bob slept.",)))
    assert (mine.questions()[0].is_stale, yours.questions()) == (True, [held])
    mine.forget(graphs[0].document.id)
    assert (mine.questions(), yours.questions()) == ([], [held])
