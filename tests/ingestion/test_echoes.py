"""A memory does not bear itself out: its own answers, added again, are marked and are no evidence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from all_strategies import STRATEGIES
from memories import FOX, RIVER, graph_of, options

from memgraph_rag import Answer, Memory
from memgraph_rag.ingestion import given_answers
from memgraph_rag.testing import FakeLanguageModel

QUESTION = "Who built a wooden box?"
INVENTED = "The box was the work of Ann's brother, who liked to carve. He gave it to her for the fox."


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "notes.lbug", **options(model=FakeLanguageModel(answer=INVENTED))) as memory:
        memory.add(FOX, key="fox")
        memory.add(RIVER, key="river")
        yield memory


def found(memory: Memory, query: str = QUESTION) -> set[str]:
    """The documents that any way of searching or reading comes to."""
    modes: Any = ("graph", "hybrid", "keywords", "vector")
    keys = {evidence.document_key for mode in modes for evidence in memory.search(query, mode=mode, k=99)}
    documents = {record.id: record.key for record in memory.documents()}
    for strategy in STRATEGIES:
        answer = memory.ask(query, strategy=strategy)
        keys |= {documents[step.node.document_id] for step in answer.trace}
        keys |= {citation.document_key for citation in answer.citations}
    return keys


def test_added_answer_is_marked_and_is_no_evidence(memory: Memory) -> None:
    answer = memory.ask(QUESTION)
    assert answer.text == INVENTED

    receipt = memory.add(answer.text, key="note")

    assert receipt.echoes == receipt.counts["Segment"] > 0
    assert {name for name in receipt.counts if receipt.counts[name]} <= {"Document", "Segment", "HAS_SEGMENT", "NEXT"}
    assert {record.key: record.echoes for record in memory.documents()} == {
        "fox": 0,
        "river": 0,
        "note": receipt.echoes,
    }
    assert found(memory) == {"fox", "river"}
    assert list(memory.deepen())
    assert found(memory) == {"fox", "river"}
    assert memory.add(answer.text, key="note").echoes == receipt.echoes, "unchanged"


def test_text_from_outside_the_memory_is_evidence(memory: Memory) -> None:
    memory.ask(QUESTION)
    text = "A carpenter in the city built a wooden box for the mayor. It was sold in autumn."
    assert memory.add(text, key="note").echoes == 0
    assert "note" in found(memory)


def test_copied_answer_is_marked_as_echo(tmp_path: Path) -> None:
    with Memory(tmp_path / "notes.lbug", **options()) as memory:
        memory.add(FOX, key="fox")
        answer = memory.ask(QUESTION)
        assert answer.text in FOX
        assert memory.add(answer.text, key="note").echoes == 1
        assert found(memory) == {"fox"}


def test_a_document_stays_evidence_when_its_sentences_were_answered(tmp_path: Path) -> None:
    with Memory(tmp_path / "notes.lbug", **options()) as memory:
        memory.add(FOX, key="fox")
        before = graph_of(memory)
        for question in (QUESTION, "What had the fox?", "Who opened the garden gate?"):
            assert memory.ask(question).text in FOX
        assert memory.add(f"{FOX} The end of it.", key="fox").echoes == 0
        assert memory.add(f"{FOX} And more.", key="fox, second edition").echoes == 0
        memory.forget("fox, second edition")
        assert memory.add(FOX, key="fox").echoes == 0
        assert graph_of(memory) == before


NOTE = "Tom built a wooden box for the fox."


@pytest.mark.parametrize("text", [NOTE, f"{NOTE}\n"], ids=["as it was", "with a line end"])
@pytest.mark.parametrize("order", ["forget, add", "add, forget"])
def test_a_renamed_document_is_evidence(tmp_path: Path, order: str, text: str) -> None:
    with Memory(tmp_path / "notes.lbug", **options()) as memory:
        memory.add(RIVER, key="river")
        memory.add(NOTE, key="old name")
        assert memory.ask(QUESTION, documents=["old name"]).text == NOTE
        for step in order.split(", "):
            if step == "forget":
                memory.forget("old name")
            else:
                assert memory.add(text, key="new name").echoes == 0
        assert "new name" in found(memory)


def test_forget_clears_the_answers_of_this_process(memory: Memory) -> None:
    answer = memory.ask(QUESTION).text
    memory.forget("river")
    assert memory.add(answer, key="note").echoes == 0


def test_forget_of_a_user_clears_the_answers_of_this_process(memory: Memory) -> None:
    memory.add("Tom sold his boat in spring.", key="boat", metadata={"user": "tom"})
    answer = memory.ask(QUESTION).text
    memory.forget(user="tom")
    assert memory.add(answer, key="note").echoes == 0


def test_answer_begun_before_forget_is_not_known(memory: Memory) -> None:
    asked = memory.stream(QUESTION)
    next(asked)
    memory.forget("river")
    *_, answer = asked
    assert isinstance(answer, Answer)
    assert memory.add(answer.text, key="note").echoes == 0


def test_labelled_answer_is_an_echo(memory: Memory) -> None:
    assert memory.add(f"Answer: {memory.ask(QUESTION).text}", key="note").echoes == 2


def test_answer_of_a_closed_memory_is_evidence_unless_kept(tmp_path: Path) -> None:
    for keep_trace in (False, True):
        path = tmp_path / f"{keep_trace}.lbug"
        with Memory(path, **options(model=FakeLanguageModel(answer=INVENTED))) as memory:
            memory.add(FOX, key="fox")
            answer = memory.ask(QUESTION, keep_trace=keep_trace).text
        with Memory(path, **options()) as memory:
            assert (memory.add(answer, key="note").echoes > 0) == keep_trace


def test_kept_answer_is_an_echo_until_its_document_is_forgotten(tmp_path: Path) -> None:
    with Memory(tmp_path / "notes.lbug", **options()) as memory, Memory(tmp_path / "notes.lbug", **options()) as other:
        memory.add(FOX, key="fox")
        memory.add(RIVER, key="river")
        answer = memory.ask(QUESTION, documents=["fox"], keep_trace=True).text
        assert other.add(answer, key="note").echoes == 1
        memory.forget("note")
        memory.forget("fox")
        assert other.add(answer, key="note").echoes == 0


@pytest.mark.parametrize("fresh", [False, True], ids=["same process", "opened again"])
def test_document_of_a_kept_answer_stays_evidence_when_replaced(tmp_path: Path, fresh: bool) -> None:
    with Memory(tmp_path / "notes.lbug", **options()) as memory:
        memory.add(FOX, key="fox")
        answer = memory.ask(QUESTION, keep_trace=True).text
        if not fresh:
            assert memory.add(answer, key="note").echoes == 1
        memory.add(RIVER, key="fox")
        assert memory._parts.store.questions()[0].is_stale
    with Memory(tmp_path / "notes.lbug", **options()) as memory:
        assert memory.add(FOX, key="fox").echoes == 0
        assert memory.add(answer, key="note 2").echoes == 1


@pytest.mark.parametrize("strategy", ["top_k", "pecan"], ids=["its segment is read", "its point is read"])
def test_document_removed_while_read_is_evidence_when_added_again(tmp_path: Path, strategy: str) -> None:
    text = "Tom built a wooden box for the fox."
    with Memory(tmp_path / "notes.lbug", **options()) as memory:
        memory.add(RIVER, key="river")
        memory.add(text, key="fox")
        asked = memory.stream(QUESTION, strategy=strategy, documents=["fox"])
        next(asked)  # read, and not answered yet
        memory.forget("fox")
        *_, answer = asked
        assert isinstance(answer, Answer)
        assert answer.text == text
        assert memory.add(text, key="fox").echoes == 0


@pytest.mark.parametrize("strategy", ["full_context", "pecan"])
def test_document_is_no_echo_of_itself(tmp_path: Path, strategy: str) -> None:
    text = " ".join(f"In year {number} the miller bought boat {number} in the city." for number in range(40))
    last = "In year 39 the miller bought boat 39 in the city."
    model = FakeLanguageModel(answer=last)
    with Memory(tmp_path / "notes.lbug", **options(model=model)) as memory:
        memory.add(RIVER, key="river")
        memory.add(text, key="boats")
        answer = memory.ask("What did the miller buy?", strategy=strategy, documents=["boats"])
        assert (answer.text, len(answer.trace) > 16) == (last, True)
        memory.forget("boats")
        assert memory.add(last, key="boats").echoes == 0


def test_in_a_conversation_the_assistants_turn_is_an_echo(memory: Memory) -> None:
    said = [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": memory.ask(QUESTION).text}]
    asked = {"role": "user", "content": "And who gave the fox milk and bread in those three weeks?"}

    receipt = memory.add([*said, asked], key="chat")

    segments = memory._parts.store.list_segments(receipt.document_id)
    assert [segment.echo for segment in segments if segment.speaker == "user"] == [False] * sum(
        segment.speaker == "user" for segment in segments
    )
    assert all(segment.echo for segment in segments if segment.speaker == "assistant")
    assert 0 < receipt.echoes < receipt.counts["Segment"]
    assert memory.add([*said, asked, asked], key="chat").echoes == receipt.echoes, "as it grows"


def test_words_of_a_user_keep_their_owner_as_the_conversation_grows(tmp_path: Path) -> None:
    turns = [
        {"role": "user", "content": "I keep my wooden box in the old barn."},
        {"role": "assistant", "content": "Good to know."},
        {"role": "user", "content": "My brother Tom lives in Rome these days."},
    ]
    with Memory(tmp_path / "notes.lbug", **options(layers=("entities",))) as memory:
        memory.add(turns, key="chat")
        answer = memory.ask("Where do I keep my wooden box?")
        assert "old barn" in answer.text
        turns.append({"role": "assistant", "content": answer.text.removeprefix("user: ")})
        receipt = memory.add(turns, key="chat")
        assert [segment.echo for segment in memory._parts.store.list_segments(receipt.document_id)] == [
            False,
            False,
            False,
            True,
        ]


def test_caller_may_declare_an_echo(memory: Memory) -> None:
    answer = memory.ask(QUESTION).text
    assert memory.add(answer, key="kept", metadata={"echo": False}).echoes == 0
    assert memory.add("Tom built the box, I think.", key="mine", metadata={"echo": True}).echoes == 1
    assert found(memory) == {"fox", "river", "kept"}


def test_many_are_marked_together(memory: Memory) -> None:
    from memgraph_rag import Document

    answer = memory.ask(QUESTION).text
    receipts = list(memory.add_many([Document(answer, "a"), Document(RIVER[::-1], "b"), Document(answer.upper(), "c")]))
    assert [receipt.echoes > 0 for receipt in receipts] == [True, False, True]  # type: ignore[union-attr]


def test_ask_writes_nothing(memory: Memory, tmp_path: Path) -> None:
    memory.close()
    path = tmp_path / "notes.lbug"
    before = path.read_bytes()
    with Memory(path, **options()) as again:
        version = again._parts.store.version()
        assert not again.ask(QUESTION).abstained
        assert again._parts.store.version() == version
    assert path.read_bytes() == before
    assert not [left for left in tmp_path.iterdir() if left.suffix == ".wal"]


def test_oldest_answers_are_dropped(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(given_answers, "_MOST_SENTENCES", 2)
    first = memory.ask(QUESTION).text
    memory._parts.answers.add("The miller lost two boats to the flood. He bought another one in Rome.", [], begun=0)
    assert memory.add(first, key="note").echoes == 0
