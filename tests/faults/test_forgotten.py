"""Forgotten means gone: from every query, every journal, and after ``purge`` from every file."""

from __future__ import annotations

import os
import signal
import stat
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from fault_kills import PATIENCE_S, context
from fault_remains import files_with
from fault_world import KEYS, TEXTS, Place, World, open_journaled

from memgraph_rag import Memory
from memgraph_rag.errors import StoreError
from memgraph_rag.stores.ladybug import file as ladybug_file

SECRETS = ("Zanzibar", "Quixote", "seventeen elephants", "Wellington")

SECRET_TEXT = "Zanzibar has seventeen elephants. Quixote counted them. " * 40 + "Wellington was not there."

KEPT = "Who sold the first tickets?"

embedded = pytest.mark.parametrize("engine", ["ladybug"], indirect=True)


def fill(memory: Memory) -> None:
    """Documents that share names with what is then forgotten, and some that replace others."""
    for key in KEYS:
        memory.add(TEXTS[key, 1], key=key)
    memory.add(SECRET_TEXT, key="Zanzibar.txt", title="Quixote", metadata={"who": "Wellington"})
    memory.add(f"{TEXTS['ann', 1]} Quixote came by.", key="ann")
    memory.add("The diary of Wellington.", key="diary")
    memory.ask("Who counted the elephants?", documents=["Zanzibar.txt"], keep_trace=True)
    memory.ask("What is it that Quixote did?", documents=["ann"], keep_trace=True)
    memory.ask("What else did Quixote do?", documents=["ann", "mill"], strategy="full_context", keep_trace=True)
    memory.ask(KEPT, documents=["mill"], keep_trace=True)


def forget(memory: Memory) -> None:
    """Nothing of the secrets is left, neither of what was replaced first nor in questions that were stale meanwhile."""
    memory.forget("Zanzibar.txt")
    assert memory.add(TEXTS["ann", 2], key="ann").stale_questions == 2
    assert any("Quixote" in repr(question) for question in memory.questions() if question.is_stale)
    assert memory.forget("ann").forgotten_questions == 2
    memory.add(TEXTS["ann", 2], key="ann")
    memory.add("An empty diary.", key="diary")


def test_no_query_finds_forgotten_text(place: Place) -> None:
    memory, _ = open_journaled(place)
    with memory:
        fill(memory)
        for mode in ("graph", "hybrid", "keywords", "vector"):
            assert memory.search("Quixote and Wellington", mode=mode)  # type: ignore[arg-type]
        forget(memory)
        for mode in ("graph", "hybrid", "keywords", "vector"):
            results = memory.search("Zanzibar Quixote Wellington elephants", mode=mode, k=50)  # type: ignore[arg-type]
            assert not [evidence for evidence in results if any(word in evidence.segment.text for word in SECRETS)]
        assert [question.text for question in memory.questions()] == [KEPT]
        assert not [record for record in memory.documents() if any(word in repr(record) for word in SECRETS)]
        nodes, edges = World(place).graph(memory)
        assert not [line for line in nodes + edges if any(word.casefold() in line.casefold() for word in SECRETS)]
    assert files_with(place.cache, *SECRETS) == []


def test_stale_question_keeps_only_quotes_of_replaced_text(place: Place) -> None:
    memory, _ = open_journaled(place)
    with memory:
        memory.add(f"{TEXTS['mill', 1]} Wellington was not there.", key="mill")
        asked = memory.ask(KEPT, documents=["mill"], strategy="full_context", keep_trace=True)
        assert any("Wellington" in step.node.text for step in asked.trace)
        assert "Wellington" not in repr((asked.text, asked.citations))
        memory.add(TEXTS["mill", 2], key="mill")
        assert [question.is_stale for question in memory.questions()] == [True]
        nodes, edges = World(place).graph(memory)
        assert not [line for line in nodes + edges if "wellington" in line.casefold()]
        assert [line for line in nodes if asked.citations[0].quote in line]
        memory.forget("mill")
        assert World(place).graph(memory) == ([], [])


def test_forget_clears_unfinished_entries_of_the_journal(place: Place) -> None:
    memory, model = open_journaled(place)

    def interrupt() -> None:
        raise KeyboardInterrupt

    with memory:
        memory.add("A fox.", key="fox")
        model.told = interrupt
        with pytest.raises(KeyboardInterrupt):
            memory.add(SECRET_TEXT, key="secret")
        assert list((place.cache / "journal").iterdir())
        memory.forget("fox")
    assert not list((place.cache / "journal").iterdir())


@embedded
def test_purge_leaves_no_byte_of_forgotten_text(place: Place) -> None:
    folder = Path(place.address["address"]).parent
    memory, _ = open_journaled(place)
    other, _ = open_journaled(Place(place.address, "other", place.cache))
    with memory, other:
        other.add(TEXTS["mill", 1], key="mill")
        fill(memory)
        forget(memory)
        graphs = [World(own_place).graph(held) for own_place, held in ((place, memory), (place, other))]
        version, kept = memory._parts.store.version(), memory.questions(KEPT)
        assert kept
        assert any(step.p_yes is None for step in kept[0].answer.trace)
        assert files_with(folder, *SECRETS), "else there is nothing to purge, and this shows nothing"

        memory.maintenance.purge()

        assert files_with(folder, *SECRETS) == []
        assert [World(own_place).graph(held) for own_place, held in ((place, memory), (place, other))] == graphs
        assert memory._parts.store.version() == version
        assert memory.questions(KEPT) == kept
        kept_files = {f"notes.lbug{suffix}" for suffix in ("", ".wal", ".in_use")}
        assert {path.name for path in folder.glob("notes.lbug*")} <= kept_files
        assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in folder.glob("notes.lbug*"))
        assert memory.ask("Who opened the new bridge?").citations
        memory.add("Zoe came later.", key="zoe")
        assert other.search("miller")[0].document_key == "mill"
    assert files_with(folder, *SECRETS) == []
    again, _ = open_journaled(place)
    with again:
        assert again._parts.store.document("zoe")


@embedded
def test_purge_leaves_no_byte_of_a_forgotten_user(place: Place) -> None:
    folder = Path(place.address["address"]).parent
    said = [{"role": "user", "content": "I moved to Zanzibar.", "time": "2024-05-01"}]
    memory, _ = open_journaled(place)
    with memory:
        for user in ("Quixote", "tom"):
            session = memory.session(user=user)
            session.add(said if user == "Quixote" else [{"role": "user", "content": "I live in Rome."}])
        assert memory.search("Where do I live?", user="Quixote")[0].standing
        memory.forget(user="Quixote")
        assert files_with(folder, "Zanzibar", "Quixote"), "else there is nothing to purge, and this shows nothing"
        memory.maintenance.purge()
        assert files_with(folder, "Zanzibar", "Quixote") == []
        assert memory.search("Where do I live?", user="tom")
    assert files_with(folder, "Zanzibar", "Quixote") == []


@embedded
def test_failed_purge_leaves_the_file_unchanged(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    memory, _ = open_journaled(place)
    with memory:
        fill(memory)
        graph = World(place).graph(memory)
        with monkeypatch.context() as patch:
            patch.setattr("memgraph_rag.stores.ladybug.rewrite._copy", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                memory.maintenance.purge()
        with monkeypatch.context() as patch:
            patch.setattr(ladybug_file, "_lock", lambda _: False)
            with pytest.raises(StoreError, match="another process that opened it"):
                memory.maintenance.purge()
        assert World(place).graph(memory) == graph
        assert not list(Path(place.address["address"]).parent.glob("*.rewriting*"))
        memory.maintenance.purge()
        assert World(place).graph(memory) == graph


def purge_in_a_child(place: Place, sender: Connection) -> None:
    memory, _ = open_journaled(place)
    sender.send("begin")
    memory.maintenance.purge()
    sender.send("end")
    os._exit(0)


@embedded
def test_killed_purge_leaves_the_same_graph(place: Place) -> None:
    memory, _ = open_journaled(place)
    with memory:
        fill(memory)
        forget(memory)
        graph = World(place).graph(memory)
    made, folder = context(), Path(place.address["address"]).parent
    for moment in range(0, 8, 2):
        listening, sender = made.Pipe(duplex=False)
        child = made.Process(target=purge_in_a_child, args=(place, sender))
        child.start()
        sender.close()
        assert listening.recv() == "begin"
        listening.poll(0.02 * moment)
        os.kill(child.pid, signal.SIGKILL)
        child.join(PATIENCE_S)
        memory, _ = open_journaled(place)
        with memory:
            assert not list(folder.glob("*.rewriting*"))
            assert World(place).graph(memory) == graph
            memory.add(f"{moment}", key="moment")
            memory.forget("moment")
            assert World(place).graph(memory) == graph


def stop_while_filling(place: Place, sender: Connection) -> None:
    """Be killed when the new file holds everything and stands beside the old one."""
    memory, _ = open_journaled(place)
    ladybug_file._replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    memory.maintenance.purge()


@embedded
def test_next_opening_removes_files_of_killed_purge(place: Place) -> None:
    folder = Path(place.address["address"]).parent
    memory, _ = open_journaled(place)
    with memory:
        fill(memory)
    for neighbour in ("notes.lbug.rewriting_plan.txt", "notes.lbug.rewriting.txt"):
        (folder / neighbour).write_text("mine")
    child = context().Process(target=stop_while_filling, args=(place, None))
    child.start()
    child.join(PATIENCE_S)
    assert child.exitcode == -signal.SIGKILL
    assert "notes.lbug.rewriting" in files_with(folder, *SECRETS), "else nothing is left, and this shows nothing"

    memory, _ = open_journaled(place)
    with memory:
        assert [name for name in files_with(folder, *SECRETS) if "rewriting" in name] == []
        forget(memory)
        memory.maintenance.purge()
        assert files_with(folder, *SECRETS) == []
    left = {path.name for path in folder.glob("notes.lbug.*")}
    assert {"notes.lbug.rewriting_plan.txt", "notes.lbug.rewriting.txt"} <= left
    assert not any(name.endswith(("rewriting", "wal", "shadow")) for name in left)


@pytest.mark.parametrize("engine", ["neo4j-2026"], indirect=True)
def test_purge_on_a_server_names_the_page_on_its_logs(place: Place) -> None:
    memory, _ = open_journaled(place)
    with memory, pytest.raises(StoreError, match=r"docs/security\.md"):
        memory.maintenance.purge()
