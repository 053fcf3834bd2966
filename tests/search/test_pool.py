"""Test graph search over a pool from the database: its results against the search in memory, and its reads."""

from __future__ import annotations

import hashlib
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from memories import fakes

from memgraph_rag import Document, Memory
from memgraph_rag.errors import SearchMemoryExceeded
from memgraph_rag.search import pool
from memgraph_rag.types import Extent

NAMES = ("Otto", "Zoe", "Lund", "Oslo", "Harbour", "Ann", "Bob")
PLACES = range(30)


def opened(path: Path, **options: Any) -> Memory:
    return Memory(path, **fakes(), **options)


@pytest.fixture
def tales(tmp_path: Path) -> Path:
    """Thirty short documents over a few names, of different days."""
    with opened(tmp_path / "tales.lbug") as memory:
        for place in PLACES:
            first, second = NAMES[place % 7], NAMES[(place * 3 + 1) % 7]
            text = f"{first} went to see {second} on the hill number {place}."
            memory.add(Document(text, key=f"{place}", metadata={"time": f"2024-05-{place + 1:02}"}))
    return tmp_path / "tales.lbug"


def keys(memory: Memory, question: str, **options: Any) -> list[str]:
    return [evidence.document_key for evidence in memory.search(question, k=10, **options)]


def test_pool_of_everything_equals_the_namespace(tales: Path) -> None:
    with opened(tales, search="memory") as memory:
        expected = [keys(memory, question) for question in ("Whom did Otto see?", "hill number 7")]
    with opened(tales, search="database") as memory:
        assert [keys(memory, question) for question in ("Whom did Otto see?", "hill number 7")] == expected
        assert len(memory._parts.search.index) == 0


def test_namespace_above_memory_is_searched_in_database(tales: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memgraph_rag.search.index._BYTES_PER_SEGMENT", 2**20)
    with opened(tales, search_memory_mib=1) as memory:
        assert len(keys(memory, "Whom did Otto see?")) == 10
        with pytest.raises(SearchMemoryExceeded):
            memory.search("Whom did Otto see?", mode="hipporag")
    with opened(tales, search_memory_mib=1, search="memory") as memory, pytest.raises(SearchMemoryExceeded):
        memory.search("Whom did Otto see?")


def test_six_reads_make_a_pool(tales: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, count in (("LISTED", 3), ("LINKED", 3), ("BACKGROUND", 5)):
        monkeypatch.setattr(pool, name, count)
    with opened(tales, search="database") as memory:
        memory.search("warm")
        reads: list[str] = []
        store = memory._parts.store
        for name in ("version", "find_nearest", "find_matching", "find_linked_segments", "segments_around",
                     "first_segment_ids", "count_naming_segments", "list_segment_times", "list_indexed_segments",
                     "nodes", "documents", "entities"):  # fmt: skip
            read = getattr(store, name)
            monkeypatch.setattr(
                store,
                name,
                lambda *given, _read=read, _name=name, **more: (reads.append(_name), _read(*given, **more))[1],
            )
        memory.search("Whom did Otto see in Lund?")
        reads = [read for read in reads if read != "version"]
        assert sorted(reads[:2]) == ["find_matching", "find_nearest"], "beside one another"
        drawn = ["find_linked_segments", "find_linked_segments", "segments_around", "count_naming_segments"]
        assert reads[2:] == [*drawn, "nodes", "documents", "entities"]
        assert 3 <= len(memory._parts.search._pools.read("Whom did Otto see in Lund?")) < len(PLACES)


def test_pool_keeps_to_documents_and_times(tales: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "LISTED", 2)
    since, until = (datetime(2024, 5, day, tzinfo=timezone.utc) for day in (10, 13))
    with opened(tales, search="database") as memory:
        for mode in ("graph", "hybrid", "vector"):
            assert set(keys(memory, "Whom did Otto see?", documents=["3", "7"], mode=mode)) == {"3", "7"}
            within = memory._parts.search.find(
                "Whom did Otto see?", k=9, mode=mode, extent=Extent(since=since, until=until)
            )
            assert {evidence.document_key for evidence in within} <= {"9", "10", "11"}
            assert len(within) >= 2
        assert (
            memory._parts.search.find(
                "Whom did Otto see?", k=9, extent=Extent(until=datetime(2020, 1, 1, tzinfo=timezone.utc))
            )
            == []
        )


def test_background_counts_no_forgotten_document(tales: Path) -> None:
    with opened(tales, search="database") as memory:
        forgotten = keys(memory, "Whom did Otto see?")[0]
        ids = {evidence.segment.id for evidence in memory.search("Otto", documents=[forgotten])}
        reader = memory._parts.search._pools
        assert ids <= set(reader._background.rows.view().ids)
        memory.forget(forgotten)
        assert forgotten not in keys(memory, "Whom did Otto see?")
        assert not ids & set(reader._background.rows.view().ids)


def test_smallest_ids_estimate_number_of_segments() -> None:
    ids = sorted(hashlib.sha256(f"{number}".encode()).hexdigest()[:32] for number in range(20_000))
    assert pool._estimate_segments(ids[:7]) == 7
    assert pool._estimate_segments(ids[: pool.BACKGROUND]) == pytest.approx(20_000, rel=0.2)


def test_large_namespace_is_searched_by_rarest_words(tales: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "FEWEST_WORDS", 1)
    with opened(tales, search="database") as memory:
        looked_for: list[str] = []
        matching = memory._parts.store.find_matching
        monkeypatch.setattr(
            memory._parts.store,
            "find_matching",
            lambda words, **given: (looked_for.append(words), matching(words, **given))[1],
        )
        question = "Which hill near Lund did Otto see?"
        for weighed in (1_000, 20, 0):
            monkeypatch.setattr(pool, "WEIGHED", weighed)
            memory._parts.search._pools._last = None
            assert len(keys(memory, question)) == 10
        assert looked_for[0] == question
        assert {"near"} < set(looked_for[1].split()) <= {"near", "lund", "otto"}
        assert looked_for[2] == "near"
        assert len(keys(memory, "Who went to the hill on 3 May 2024?")) == 10
        assert looked_for[3] == "Who went to the hill on 3 May 2024?"


def test_degrees_are_read_for_entities_of_best_segments(tales: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, count in (("COUNTED", 1), ("BACKGROUND", 1)):
        monkeypatch.setattr(pool, name, count)
    with opened(tales, search="database") as memory:
        counted: list[str] = []
        named_by = memory._parts.store.count_naming_segments
        memory.search("warm")
        monkeypatch.setattr(
            memory._parts.store, "count_naming_segments", lambda ids: (counted.extend(ids), named_by(ids))[1]
        )
        read = memory._parts.search._pools.read("Whom did Otto see in Lund?")
        assert set(counted) < set(read.entity_ids)
        assert read.named_by is not None
        assert read.named_by[[*read.find_columns(counted).values()]].tolist() == named_by(counted)
