"""Conversations stored turn by turn: nothing lost, nothing twice, nobody else's."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from memories import graph_of, options
from tables import table

from memgraph_rag import Memory, Message, Stored
from memgraph_rag.errors import DocumentError, SettingsError, StoreReadOnly
from memgraph_rag.facts.layer import extract_facts
from memgraph_rag.session import Session
from memgraph_rag.testing import FakeEmbedder
from memgraph_rag.text import session_pages
from memgraph_rag.text.files import MAX_BYTES
from memgraph_rag.text.session_pages import MOST_TURNS, Conversation, PageTurn, count_repeated
from memgraph_rag.types import DocumentGraph

HOSTILE = ["o'neil", 'a "b" \\c', "a/b", "a%2Fb", "../..", "$x {y} `z`", "ann", "Ann", "ann ", "日本", "x" * 10_000]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "notes.lbug", **options(layers=("entities",))) as memory:
        yield memory


def turn(text: str, role: str = "user", **more: Any) -> dict[str, Any]:
    return {"role": role, "content": text, **more}


def turns(count: int, start: int = 0) -> list[dict[str, Any]]:
    return [turn(f"Ann said number {n}.", time=f"2024-05-01T10:{n // 60:02}:{n % 60:02}") for n in range(start, count)]


def said(memory: Memory) -> list[str]:
    """The text of all pages, one after another."""
    pages = sorted(memory.documents(), key=lambda record: int(record.key.rpartition("/")[2]))
    return ["".join(segment.text for segment in memory._parts.store.list_segments(record.id)) for record in pages]


def without_origin(memory: Memory) -> dict[str, Any]:
    graph = graph_of(memory)
    for segment in graph["indexed"]:
        vector = [round(number, 5) for number in segment.embedding]
        object.__setattr__(segment, "embedding", vector)
    return graph


def test_sums_count_the_secrets_of_both() -> None:
    first, second = (Stored(notes={"secret: password or key": number}) for number in (1, 2))
    assert (first + second).notes == {"secret: password or key": 3}


def test_turns_one_by_one_give_the_graph_of_one_call(tmp_path: Path) -> None:
    graphs = []
    for name, size in (("a", 1), ("b", 100), ("c", 7)):
        with Memory(tmp_path / f"{name}.lbug", **options()) as memory:
            session = memory.session(user="ann", session="1")
            for start in range(0, 70, size):
                session.add(turns(min(70, start + size), start))
            graphs.append(without_origin(memory))
            assert not memory.maintenance.examine()
    assert graphs[0] == graphs[1] == graphs[2]
    assert len(graphs[0]["documents"]) == -(-70 // MOST_TURNS)


def test_page_gets_language_of_its_turns(memory: Memory) -> None:
    session = memory.session(user="ann", session="1")
    session.add([turn("Häuser?")])
    assert [record.language for record in memory.documents()] == [""]

    session.add([turn("Die alten Speicher am Hafen gehören den Fischern, und niemand darf dort wohnen.")])

    assert [record.as_dict()["language"] for record in memory.documents()] == ["de"]
    assert "Häuser?" in memory.search("Haus", mode="keywords")[0].text
    assert not memory.maintenance.examine()


def test_the_same_turn_is_stored_once(memory: Memory) -> None:
    session = memory.session(user="ann", session="1")
    assert session.add(turns(40)).added == 40
    before = graph_of(memory)

    for again in (session, memory.session(user="ann", session="1")):
        stored = again.add(turns(40))
        assert (stored.added, stored.edited, stored.unchanged, stored.documents) == (0, 0, 40, ())
        overlapping = again.add([turns(40)[3]])
        assert overlapping.unchanged == 1
    assert graph_of(memory) == before


def test_turn_said_again_is_stored_again(memory: Memory) -> None:
    session = memory.session(user="ann")

    for text in ("I live in Paris.", "I moved to Bonn.", "I live in Paris."):
        assert session.add([turn(text)]).added == 1

    assert said(memory)[0].count("Paris") == 2
    standings = [item.standing for item in session.recall("Where do I live now?")]
    assert [standing.value for standing in standings if standing and standing.state == "holds"] == ["Paris"]


@pytest.mark.parametrize(
    ("call", "added"),
    [
        (["No.", "Yes."], 0),  # the call before, again
        (["Yes.", "No.", "Yes.", "Why?"], 1),  # the whole history with one more turn
        (["Yes.", "Why?"], 1),  # an overlap of one
        (["Yes.", "Yes."], 1),
        (["No."], 1),
        (["Why?", "Yes."], 2),
    ],
)
def test_turn_without_id_and_time_is_known_at_the_end_only(memory: Memory, call: list[str], added: int) -> None:
    memory.session(user="ann").add([turn("Yes."), turn("No."), turn("Yes.")])

    stored = memory.session(user="ann").add([turn(text) for text in call])

    assert (stored.added, stored.unchanged) == (added, len(call) - added)


def test_id_decides_before_words(memory: Memory) -> None:
    session = memory.session(user="ann")
    session.add([turn("Yes.", id=1)])

    assert session.add([turn("Yes.", id=2)]).added == 1
    assert session.add([turn("No.", id=2), turn("Why?")]).edited == 1
    assert said(memory)[0] == "user: Yes.\n\nuser: No.\n\nuser: Why?\n\n"


def test_call_of_equal_turns_over_several_pages_is_whole(memory: Memory) -> None:
    same = [turn("Yes.")] * (2 * MOST_TURNS + 1)

    assert memory.session(user="ann").add(same).added == len(same)
    assert memory.session(user="ann").add(same).unchanged == len(same)


_SAID = st.lists(st.sampled_from("ab"), max_size=8).map("".join)


@given(before=_SAID, call=_SAID, stored=st.integers(0, 8))
def test_call_after_a_crash_stores_the_rest(before: str, call: str, stored: int) -> None:
    """However many turns of a call are stored when it ends, the same call again stores what one clean call would."""

    def after(session: str, said: str) -> str:
        return session + said[count_repeated(pages_of(said), pages_of(session)) :]

    def pages_of(text: str) -> list[PageTurn]:
        return [PageTurn("", letter, "user", "") for letter in text]

    clean = after(before, call)
    interrupted = clean[: len(before) + stored]

    assert after(interrupted, call) == clean


def test_an_edited_turn_takes_the_place_of_the_former(memory: Memory) -> None:
    session = memory.session(user="ann")
    session.add([turn("I live in Rome.", id="a"), turn("Nice.", "assistant", id="b"), *turns(60)])

    stored = memory.session(user="ann").add([turn("I live in Oslo, in a small red house by the sea.", id="a")])

    assert (stored.edited, stored.added) == (1, 0)
    assert said(memory)[0].startswith("user: I live in Oslo, in a small red house by the sea.\n\nassistant: Nice.\n\n")
    assert not memory.search("Rome", mode="keywords", k=99)
    assert session.add([turn("I live in Oslo, in a small red house by the sea.", id="a")]).unchanged == 1
    assert not memory.maintenance.examine()


def test_an_edit_and_its_return_are_as_before(memory: Memory) -> None:
    session = memory.session(user="ann")
    session.add([turn("I live in Rome.", id="a", time="2024-05-01"), *turns(3)])
    before = graph_of(memory)

    session.add([turn("Something longer that is cut otherwise, I think. " * 5, id="a", time="2024-05-01")])
    session.add([turn("I live in Rome.", id="a", time="2024-05-01")])

    assert graph_of(memory) == before


@table(
    "wrong",
    [
        turn(""),
        turn("  \n"),
        turn("x", ""),
        {"content": "x"},
        turn("x", id=""),
        turn("x", id=1.5),
        turn("x", time=3),
        turn("ä" * (MAX_BYTES // 2)),
        "text",
        None,
    ],
)
def test_invalid_turn_is_refused_and_nothing_is_stored(memory: Memory, wrong: Any) -> None:
    session = memory.session(user="ann")
    with pytest.raises(DocumentError, match="Expected"):
        session.add([turn("First."), wrong])
    with pytest.raises(DocumentError, match="Expected"):
        session.add(wrong)
    assert not memory.documents()
    assert session.add([]).added == 0


def test_turns_take_times_as_text_and_datetime(memory: Memory) -> None:
    session = memory.session(user="ann")
    began = datetime.now(timezone.utc) - timedelta(seconds=1)
    session.add(
        [
            turn("Later.", time="2024-05-02T10:00+02:00"),
            turn("Earlier.", time=datetime(2024, 5, 1, tzinfo=timezone.utc)),
            turn("Then.", time="1:56 pm on 8 May, 2023"),
            turn("When?", time="yesterday"),
            Message("user", "Now."),
        ]
    )
    segments = memory._parts.store.list_segments(memory.documents()[0].id)
    times = [segment.time for segment in segments]
    assert times[:3] == ["2024-05-02T10:00:00+02:00", "2024-05-01T00:00:00+00:00", "2023-05-08T13:56:00"]
    assert all(datetime.fromisoformat(time) >= began for time in times[3:])
    assert [segment.text for segment in segments[-2:]] == ["user (yesterday): When?\n\n", "user: Now.\n\n"]
    found = [evidence.text for evidence in session.recall("Later", until="2024-05-02T08:00:01")]
    assert sorted(found) == [
        "user (1:56 pm on 8 May, 2023): Then.\n\n",
        "user (2024-05-01T00:00:00+00:00): Earlier.\n\n",
        "user (2024-05-02T10:00+02:00): Later.\n\n",
    ]


@pytest.mark.full("takes a turn of a megabyte")
def test_turn_of_a_megabyte_is_stored_whole(memory: Memory) -> None:
    session = memory.session(user="ann")
    long = "The river rose above the stone bridge again. " * 23_000
    session.add([turn("Before."), turn(long, id="long"), turn("After.")])

    assert "".join(said(memory)) == f"user: Before.\n\nuser: {long}\n\nuser: After.\n\n"
    assert session.add([turn(long, id="long")]).unchanged == 1


def test_users_keep_apart_whatever_their_names(memory: Memory) -> None:
    for number, name in enumerate(HOSTILE):
        memory.session(user=name, session=name).add([turn(f"The secret is number{number}.")])

    assert len(memory.documents()) == len(HOSTILE)
    for number, name in enumerate(HOSTILE):
        session = memory.session(user=name, session=name)
        for mode in ("graph", "hybrid", "keywords", "vector"):
            texts = [evidence.text for evidence in session.recall("the secret", mode=mode)]
            assert texts == [f"user: The secret is number{number}.\n\n"]
        assert session.recall("the secret", within="session")
        assert not memory.session(user=name, session="another").recall("the secret", within="session")
        trace = session.ask("What is the secret?").trace
        assert {step.node.text for step in trace} == {f"user: The secret is number{number}.\n\n"}


@pytest.mark.data
@pytest.mark.parametrize("strategy", ["walk", "pecan", "qrmem", "top_k", "full_context"])
def test_empty_scope_matches_no_document(memory: Memory, strategy: str) -> None:
    memory.session(user="ann").add([turn("The secret is seven.")])

    assert not memory.search("secret", user="tom")
    answer = memory.ask("What is the secret?", user="tom", strategy=strategy)
    assert not answer.trace
    assert not answer.citations


@pytest.mark.parametrize("name", ["", " ", 3, "\ud800", "a\0b", "x" * 30_000, "ж" * 5_000])
def test_invalid_user_and_session_names_are_refused(memory: Memory, name: Any) -> None:
    with pytest.raises(SettingsError, match="Expected user"):
        memory.session(user=name)
    with pytest.raises(SettingsError, match="Expected session"):
        memory.session(user="ann", session=name)


def test_forgetting_a_user_takes_all_of_it_alone(memory: Memory, tmp_path: Path) -> None:
    memory.session(user="tom", session="1").add(turns(3))
    alone = graph_of(memory)
    for session in ("1", "2"):
        memory.session(user="ann", session=session).add(turns(40))
    memory.add("A note of Ann's.", key="note", metadata={"user": "ann"})

    assert len(memory.forget(user="ann", session="2")) == 2
    assert len(memory.forget(user="ann")) == 3
    assert graph_of(memory) == alone
    assert memory.forget(user="ann") == []
    for wrong in ({}, {"document": "x", "user": "ann"}, {"session": "1"}, {"user": ""}):
        with pytest.raises(SettingsError, match="Expected"):
            memory.forget(**wrong)
    assert graph_of(memory) == alone


def test_a_forgotten_session_begins_anew(memory: Memory) -> None:
    session = memory.session(user="ann")
    session.add(turns(40))
    memory.forget(user="ann")

    assert session.add(turns(2)).added == 2
    assert len(said(memory)) == 1


@pytest.mark.parametrize("name", ["ann", "a" * 182, "a" * 183])  # keys: readable, readable below page 10, hashes
def test_many_forgotten_pages_hide_no_later_page(memory: Memory, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr("memgraph_rag.text.session_pages.MOST_TURNS", 1)
    memory.session(user=name).add(turns(12))
    memory.add("Tom.", key="session/~")
    pages = [record for record in memory.documents() if record.metadata.get("user") == name]
    numbers = {int(record.key.rpartition("/")[2]): record.key for record in pages}
    assert len({key.rpartition("/")[0] for key in numbers.values()}) == (2 if len(name) == 182 else 1)
    for number in (0, 1, 2, 3, 6, 7, 8):
        memory.forget(numbers[number])

    session = memory.session(user=name)
    assert session.add(turns(12, 9)).unchanged == 3
    assert session.add(turns(13, 11)).documents == (numbers[11].removesuffix("11") + "12",)


def test_export_of_a_user_holds_that_user_alone(memory: Memory, tmp_path: Path) -> None:
    for user in ("ann", "tom"):
        memory.session(user=user).add(turns(40))

    assert memory.maintenance.export_to(tmp_path / "ann.jsonl", user="ann") == 2
    with Memory(tmp_path / "other.lbug", **options()) as other:
        list(other.maintenance.import_from(tmp_path / "ann.jsonl"))
        assert {record.metadata["user"] for record in other.documents()} == {"ann"}
        assert other.session(user="ann").add(turns(41)).added == 1


@pytest.mark.parametrize("time", [None, "2026-11-27T02:57:59.315+00:00"])
def test_import_takes_exported_session(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, time: Any
) -> None:
    session = memory.session(user="ann")
    if time:  # as sessions wrote it once
        monkeypatch.setattr(session_pages.timestamps, "read", lambda _: time)
    session.add([{"role": "user", "content": "I like tea.", **({"time": time} if time else {})}])
    monkeypatch.undo()
    assert not time or memory._parts.store.list_segments(memory.documents()[0].id)[0].time == time
    memory.maintenance.export_to(tmp_path / "all.jsonl")
    with Memory(tmp_path / "other.lbug", **options()) as other:
        list(other.maintenance.import_from(tmp_path / "all.jsonl"))
        assert graph_of(other)["nodes"].keys() == graph_of(memory)["nodes"].keys()


def test_import_takes_session_of_longest_names(memory: Memory, tmp_path: Path) -> None:
    memory.session(user="😀" * 2_499, session="ж" * 4_999).add(turns(MOST_TURNS))
    memory.maintenance.export_to(tmp_path / "all.jsonl")
    with Memory(tmp_path / "other.lbug", **options()) as other:
        assert len(list(other.maintenance.import_from(tmp_path / "all.jsonl"))) == 1


def test_the_end_builds_layers_and_later_turns_begin_a_page(memory: Memory) -> None:
    session = memory.session(user="ann")
    session.add([turn("Tom built a box.")])
    assert memory.documents()[0].layers == ("facts",)

    session.end()
    session.add([turn("Tom left.")])
    memory.session(user="ann").add([turn("Tom came.")])

    assert [record.layers for record in memory.documents()] == [("entities", "facts"), ("facts",)]
    assert [len(text.split("\n\n")) - 1 for text in said(memory)] == [1, 2]
    session.end()
    assert {record.layers for record in memory.documents()} == {("entities", "facts")}
    assert memory.session(user="nobody").end() == []


@pytest.mark.parametrize("metadata", [{}, {"user": "mallory", "session": "1", "turns": "[]"}])
def test_another_document_is_not_taken_for_a_page(memory: Memory, metadata: dict[str, str]) -> None:
    """Older versions let ``add`` store one under the key of a page."""
    (graph,) = memory._parts.store.read_graphs([memory.add("Something else.", key="x").document_id])
    memory.forget("x")
    taken = Conversation(memory.namespace, "ann", "default")
    squatting = replace(graph.document, id=taken.page_id(0), key=taken.key(0), metadata=metadata)
    segments = tuple(replace(segment, document_id=squatting.id) for segment in graph.segments)
    memory._parts.store.write(DocumentGraph(squatting, segments, graph.segment_embeddings))

    with pytest.raises(DocumentError, match="page of the session"):
        memory.session(user="ann").add([turn("Hello there.")])


def test_answer_of_the_memory_is_an_echo(tmp_path: Path) -> None:
    with Memory(tmp_path / "notes.lbug", **options(layers=())) as memory:
        session = memory.session(user="ann")
        session.add([turn("Tom built a wooden box for the fox in the barn.")])
        answer = session.ask("Who built a wooden box?")
        stored = session.add([turn(answer.text, "assistant"), turn("Thank you for that.")])
        assert stored.echoes == 1
        assert not memory.maintenance.examine()


def test_a_turn_is_read_for_facts_once(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def reading(segment: Any, words: str) -> Any:
        read.append(segment.text.strip())
        return extract_facts(segment, words)

    monkeypatch.setattr("memgraph_rag.facts.layer.extract_facts", reading)
    session = memory.session(user="ann")
    homes = [f"I live in {place}." for place in ("Hamburg", "Berlin", "Oslo")]
    for home in homes:
        session.add([turn(home)])
    assert read == [f"user: {home}" for home in homes]
    (page,) = memory.documents()
    stored = [fact.properties["value"] for fact in memory._parts.store.annotations(page.id)]
    assert stored == ["Hamburg", "Berlin", "Oslo"]


def test_session_goes_on_after_its_facts_were_removed(memory: Memory) -> None:
    session = memory.session(user="ann")
    session.add([turn("I live in Hamburg.")])
    list(memory.maintenance.remove_layer("facts"))

    assert session.add([turn("I like tea.")]).added == 1
    list(memory.maintenance.remove_layer("facts"))
    assert memory.session(user="ann").add([turn("I play chess.")]).added == 1
    assert [record.layers for record in memory.documents()] == [("facts",)]
    assert not memory.maintenance.examine()


def test_session_goes_on_after_reembedding(memory: Memory) -> None:
    session = memory.session(user="ann")
    session.add([turn("I live in Hamburg.")])
    memory.maintenance.reembed(FakeEmbedder(16, name="other"))

    assert session.add([turn("I like tea.")]).added == 1
    (page,) = memory.documents()
    vectors = memory._parts.store.read_graphs([page.id])[0].segment_embeddings
    memory.forget(user="ann")
    session.add([turn("I live in Hamburg."), turn("I like tea.")])
    (fresh,) = memory._parts.store.read_graphs([page.id])
    assert np.allclose(vectors, fresh.segment_embeddings, atol=1e-6)


def test_two_writers_of_one_session_lose_nothing(memory: Memory) -> None:
    errors: list[BaseException] = []

    def write(name: str, session: Session) -> None:
        try:
            for number in range(25):
                session.add([turn(f"{name} {number}", name)])
        except BaseException as error:  # noqa: BLE001 - it is looked at below
            errors.append(error)

    writers = [
        threading.Thread(target=write, args=(name, memory.session(user="team", session="1")))
        for name in ("ann", "tom", "eve")
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    assert errors == []
    paragraphs = [part for text in said(memory) for part in text.split("\n\n") if part]
    assert sorted(paragraphs) == sorted(f"{name}: {name} {n}" for name in ("ann", "tom", "eve") for n in range(25))
    assert [part for part in paragraphs if part.startswith("ann")] == [f"ann: ann {n}" for n in range(25)]
    assert not memory.maintenance.examine()


def test_a_crash_between_pages_is_made_good_by_a_retry(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    session = memory.session(user="ann")
    revise, calls = type(memory._parts.store).revise, []

    def crash(self: Any, *args: Any, **kwargs: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return revise(self, *args, **kwargs)

    monkeypatch.setattr(type(memory._parts.store), "revise", crash)
    with pytest.raises(KeyboardInterrupt):
        session.add(turns(70))
    assert session.add(turns(70)).added == 70 - MOST_TURNS
    assert sum(text.count("\n\n") for text in said(memory)) == 70
    assert not memory.maintenance.examine()


def test_a_memory_for_reading_takes_no_turn(tmp_path: Path) -> None:
    with Memory(tmp_path / "notes.lbug", **options()) as memory:
        memory.session(user="ann").add([turn("Tom built a box.")])
    with Memory(tmp_path / "notes.lbug", **options(read_only=True)) as memory:
        session = memory.session(user="ann")
        assert session.recall("box")
        with pytest.raises(StoreReadOnly):
            session.add([turn("More.")])
        with pytest.raises(SettingsError, match="within"):
            session.recall("box", within="world")  # type: ignore[arg-type]
        for other in ({"user": "bob"}, {"session": "another", "within": "session"}):
            with pytest.raises(SettingsError, match="of this view"):
                session.recall("box", **other)
