"""What surrounds a thing: found by its name, bounded, and telling what it leaves out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from all_strategies import STRATEGIES
from memories import FOX, LONG, RIVER, options
from tables import table

from memgraph_rag import Action, Document, Memory, Receipt
from memgraph_rag.errors import DocumentNotFound, QuestionNotFound, SettingsError, StrategyError
from memgraph_rag.strategies.qrmem import Qrmem
from memgraph_rag.types import Entity, InformationPoint, Neighbourhood, Segment

MET = "Ann met Tom at the old mill. Tom gave Ann a wooden box. Tom Miller saw Ann. The Miller lent Tom a boat."

QUESTION = "Who gave Ann a wooden box?"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    layers = ("entities", "points", "relations")
    with Memory(tmp_path / "notes.lbug", cache_dir=tmp_path, **options(layers=layers)) as opened:
        opened.add(MET, key="met.txt", title="Ann")
        opened.add(RIVER, key="river.txt")
        yield opened


def names(neighbourhood: Neighbourhood) -> set[str]:
    return {thing.name for thing in neighbourhood.things.values() if isinstance(thing, Entity)}


def kinds(neighbourhood: Neighbourhood) -> set[str]:
    return {tie.kind for tie in neighbourhood.ties}


def assert_whole(neighbourhood: Neighbourhood) -> None:
    """Both ends of each tie are there, and each mention stands where it says."""
    assert next(iter(neighbourhood.things)) == neighbourhood.centre.id
    assert {end for tie in neighbourhood.ties for end in (tie.source_id, tie.target_id)} <= neighbourhood.things.keys()
    segments = {segment.id: segment for segment in neighbourhood.passages}
    for mention in neighbourhood.mentions:
        segment = segments[mention.segment_id]
        assert segment.text[mention.start - segment.start : mention.end - segment.start] == mention.surface


def test_neighbourhood_of_a_document_has_all_its_rows(memory: Memory) -> None:
    neighbourhood = memory.around("met.txt")

    assert_whole(neighbourhood)
    assert neighbourhood == memory.around(neighbourhood.centre.id)
    assert "".join(segment.text for segment in neighbourhood.passages) == MET
    assert {"Ann", "Tom", "Tom Miller"} <= names(neighbourhood)
    assert kinds(neighbourhood) == {"HAS_SEGMENT", "SUMMARIZES", "MENTIONS", "TITLED", "RELATES_TO"}
    assert neighbourhood.left_out == {}
    assert {segment.document_id for segment in neighbourhood.passages} == {neighbourhood.centre.id}


def test_neighbourhood_of_an_entity_has_mentions_and_relations(memory: Memory) -> None:
    neighbourhood = memory.around("ann")

    assert isinstance(neighbourhood.centre, Entity)
    assert_whole(neighbourhood)
    assert "Tom" in names(neighbourhood)
    assert {"MENTIONS", "RELATES_TO", "HAS_SEGMENT", "TITLED"} <= kinds(neighbourhood)
    assert {mention.entity_id for mention in neighbourhood.mentions} == {neighbourhood.centre.id}
    assert all("Ann" in segment.text for segment in neighbourhood.passages)
    assert neighbourhood == memory.around("Ann", kind="entity") == memory.around(neighbourhood.centre.id)


def test_neighbourhood_of_question_lists_read_nodes_in_order(memory: Memory) -> None:
    answer = memory.ask(QUESTION, strategy="pecan", keep_trace=True)
    (kept,) = memory.questions(QUESTION)
    assert kept is not None
    assert [kept] == memory.questions(f"  {QUESTION}\n") == memory.questions(kept.id) == memory.questions()
    assert kept.answer == answer

    neighbourhood = memory.around(QUESTION)

    assert neighbourhood.centre == kept
    assert_whole(neighbourhood)
    read = sorted((tie.order, tie.target_id) for tie in neighbourhood.ties if tie.kind == "READ")
    assert [node_id for _, node_id in read] == [step.node.id for step in answer.trace]
    assert any(isinstance(thing, InformationPoint) for thing in neighbourhood.things.values())
    assert {citation.segment_id for citation in answer.citations} <= {segment.id for segment in neighbourhood.passages}


def test_stale_question_shows_remaining_nodes_only(memory: Memory) -> None:
    answer = memory.ask(QUESTION, strategy="full_context", keep_trace=True)
    assert {citation.document_key for citation in answer.citations} == {"met.txt"}
    assert {step.node.document_id for step in answer.trace} == {record.id for record in memory.documents()}

    receipt = memory.add("Nobody met anybody at all, and nothing was given.", key="met.txt")

    assert (receipt.action, receipt.stale_questions) == (Action.REPLACED, 1)
    (kept,) = memory.questions(QUESTION)
    assert kept is not None
    assert (kept.answer.text, kept.answer.citations) == (answer.text, answer.citations)
    assert (kept.is_stale, kept.standing_citations, kept.nodes_read) == (True, (), len(answer.trace))
    assert [(change.document_key, change.action) for change in kept.changes] == [("met.txt", Action.REPLACED)]
    neighbourhood = memory.around(QUESTION)
    assert_whole(neighbourhood)
    river = memory.documents()[1]
    assert {segment.document_id for segment in neighbourhood.passages} == {river.id}
    assert memory.maintenance.examine() == []

    memory.ask(QUESTION, keep_trace=True)
    (again,) = memory.questions(QUESTION)
    assert again is not None
    assert not again.is_stale
    assert memory.forget("met.txt").forgotten_questions == 1
    assert memory.questions() == []


def test_question_without_changed_evidence_is_unchanged(memory: Memory) -> None:
    memory.ask(QUESTION, documents=["met.txt"], keep_trace=True)
    kept = memory.questions()
    receipts = [
        memory.add(MET, key="met.txt", title="Ann"),
        memory.add(MET, key="met.txt", title="Ann", metadata={"tag": "a"}),
        memory.add(FOX, key="river.txt"),
        *memory.deepen(),
    ]
    assert [receipt.stale_questions for receipt in receipts if isinstance(receipt, Receipt)] == [0] * len(receipts)
    assert memory.questions() == kept
    assert receipts[2].action is Action.REPLACED


def test_question_without_kept_trace_is_not_found(memory: Memory) -> None:
    memory.ask(QUESTION)
    assert (memory.questions(), memory.questions(QUESTION), memory.questions("")) == ([], [], [])
    assert memory.questions(3) == []  # type: ignore[arg-type]
    with pytest.raises(QuestionNotFound, match=r"questions\(\)"):
        memory.forget(question=QUESTION)
    with pytest.raises(DocumentNotFound):
        memory.around(QUESTION)
    memory.ask(QUESTION, keep_trace=True)
    memory.forget(question=QUESTION)
    assert memory.questions() == []


def test_stream_keeps_its_trace_at_the_end(memory: Memory) -> None:
    items = memory.stream(QUESTION, keep_trace=True)
    next(items)
    items.close()  # type: ignore[attr-defined]
    assert memory.questions() == []
    *_, last = memory.stream(QUESTION, keep_trace=True)
    assert [question.answer for question in memory.questions()] == [last]


def test_question_of_a_document_replaced_meanwhile_is_not_kept(memory: Memory) -> None:
    items = memory.stream(QUESTION, keep_trace=True)
    next(items)
    memory.add(FOX, key="met.txt")
    with pytest.raises(DocumentNotFound, match="ask again"):
        list(items)
    assert memory.questions() == []


def test_trace_with_quotes_outside_read_nodes_is_refused(memory: Memory) -> None:
    with pytest.raises(StrategyError, match="quotes only text that it reads"):
        memory.ask(QUESTION, strategy=Qrmem("GES"), keep_trace=True)
    assert memory.questions() == []


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_whole_trace_of_each_strategy_is_kept(memory: Memory, strategy: str) -> None:
    answer = memory.ask(QUESTION, strategy=strategy, keep_trace=True)
    assert [question.answer for question in memory.questions()] == [answer]
    said = {step.node.document_id for step in answer.trace} | {citation.document_id for citation in answer.citations}
    for document_id in said:
        memory.forget(document_id)
        assert memory.questions() == []


def test_question_to_an_empty_memory_is_kept(tmp_path: Path) -> None:
    with Memory(tmp_path / "empty.lbug", **options()) as memory:
        memory.ask(QUESTION, keep_trace=True)
        neighbourhood = memory.around(QUESTION)
        assert (len(neighbourhood.things), neighbourhood.ties, neighbourhood.passages) == (1, (), ())


@table(
    ("name", "near"),
    [
        *(("met.tx", ["met.txt"]), ("Anm", ["Ann"]), ("river", ["river.txt"]), ("Mr. Tom Miller", ["Tom Miller"])),
        *(("xyzzy", []), ("", []), ("!!", [])),
    ],
)
def test_unknown_name_is_refused_with_similar_names(memory: Memory, name: str, near: list[str]) -> None:
    with pytest.raises(DocumentNotFound, match="Expected the key or id of a document") as raised:
        memory.around(name)
    assert [suggestion for suggestion in raised.value.near if suggestion in near] == near
    assert all(repr(suggestion) in str(raised.value) for suggestion in near)


def test_part_of_a_name_finds_its_entity_or_lists_candidates(memory: Memory) -> None:
    assert memory.around("tom mil").centre == memory.around("Tom Miller").centre
    with pytest.raises(DocumentNotFound, match="Several names contain it") as raised:
        memory.around("mill")
    assert {"Tom Miller", "Miller"} <= set(raised.value.near)


def test_ambiguous_name_finds_the_document_first(memory: Memory) -> None:
    memory.add("Nobody.", key="Ann")
    assert memory.around("Ann") != memory.around("Ann", kind="entity")
    assert isinstance(memory.around("Ann", kind="entity").centre, Entity)
    with pytest.raises(DocumentNotFound):
        memory.around("Ann", kind="question")


@table("wrong", [{"kind": "node"}, {"most": 0}, {"most": True}, {"most": "many"}])
def test_wrong_arguments_are_refused(memory: Memory, wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        memory.around("Ann", **wrong)


def test_large_neighbourhood_is_bounded_and_counts_the_rest(memory: Memory) -> None:
    memory.add(LONG, key="long")
    neighbourhood = memory.around("long", most=3)

    assert_whole(neighbourhood)
    held = memory._parts.store.count_by_document([neighbourhood.centre.id])[neighbourhood.centre.id]
    assert neighbourhood.left_out["segments"] == held["Segment"] - 3
    assert neighbourhood.left_out["points"] > 0
    assert sum(isinstance(thing, Segment) for thing in neighbourhood.things.values()) == 3
    assert "".join(segment.text for segment in neighbourhood.passages) == LONG
    memory.ask(QUESTION, strategy="full_context", keep_trace=True)
    asked = memory.around(QUESTION, most=3)
    assert_whole(asked)
    orders = [tie.order for tie in asked.ties if tie.kind == "READ"]
    assert orders[:3] == [1, 2, 3]
    assert len(orders) <= 6, "what was cited is there too"
    assert asked.left_out["nodes read"] == memory.status()["counts"]["READ"] - len(orders)


def test_an_entity_in_1_000_segments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memgraph_rag.inspection.neighbourhood._MOST_CHARACTERS", 40_000)
    text = " ".join(f"Alice met Bob {number} times on the long road home." for number in range(1_000))
    with Memory(tmp_path / "many.lbug", **options(layers=("entities",), segment_tokens=20)) as memory:
        memory.add(Document(text, "many"))
        assert memory.status()["counts"]["Segment"] >= 900

        neighbourhood = memory.around("Alice")
        whole = memory.around("many")

    assert_whole(neighbourhood)
    assert len(neighbourhood.things) <= 3 * 40 + 3
    assert neighbourhood.left_out["mentions"] == 1_000 - 40
    assert_whole(whole)
    assert len(whole.things) <= 3 * 40 + 1
    assert sum(len(segment.text) for segment in whole.passages) <= 40_000
    assert whole.left_out["passages"] > 0
