"""``Memory`` searched while it is written, by time, metadata and turns, on real stores."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime

import pytest
from memories import FOX, RIVER, OpenMemory

from memgraph_rag import (
    Document,
    Memory,
    Receipt,
)
from memgraph_rag.errors import (
    SettingsError,
)
from memgraph_rag.testing import FakeEmbedder
from memgraph_rag.types import RelevanceCurve


@pytest.mark.data
def test_search_sees_at_once_what_another_memory_wrote(open_memory: OpenMemory) -> None:
    writer, other = open_memory(), open_memory()
    writer.add(FOX, key="fox")
    assert {evidence.document_key for evidence in other.search("fox in the barn")} == {"fox"}
    writer.add(RIVER, key="river")
    assert other.search("stone bridge over the river", k=1)[0].document_key == "river"
    writer.forget("fox")
    assert {evidence.document_key for evidence in other.search("fox in the barn", k=50)} == {"river"}


class Counting(FakeEmbedder):
    """Counts the texts that it embeds."""

    texts = 0

    def embed(self, texts):
        self.texts += len(texts)
        return super().embed(texts)


def test_a_memory_that_is_opened_again_builds_nothing_to_search(open_memory: OpenMemory) -> None:
    with open_memory() as memory:
        memory.add(FOX, key="fox")
        before = memory.search("fox in the barn")
    counting = Counting(8, name="fake")
    with open_memory(embedder=counting) as memory:
        assert memory.search("fox in the barn") == before
        memory.search("fox in the barn")
        assert counting.texts == 1, "the question, once"


def test_a_thousand_documents_are_added_while_another_memory_searches(open_memory: OpenMemory) -> None:
    adding, searching = (open_memory(layers=("entities",)) for _ in range(2))
    adding.add("Ann met Tom.", key="first")
    seen = [0]
    with ThreadPoolExecutor(1) as pool:
        documents = (Document(f"Person{number} met Ann in Town{number % 7}.", f"d{number}") for number in range(1000))
        added = pool.submit(lambda: list(adding.add_many(documents)))
        while not added.done():
            results = searching.search("Whom did Ann meet?", k=2000)
            assert results
            seen.append(len(results))
        assert all(isinstance(outcome, Receipt) for outcome in added.result())
    assert seen == sorted(seen), "what was found once is not lost again"
    assert len(searching.search("Whom did Ann meet?", k=2000)) == 1001


def test_metadata_and_times_limit_a_search(memory: Memory) -> None:
    memory.add(FOX, key="fox", metadata={"year": 1900, "date": "1900-01-02"})
    memory.add(RIVER, key="river", metadata={"year": 1950, "date": "1950-01-02"})
    for limits, expected in (
        ({"where": {"year": 1900}}, {"fox"}),
        ({"where": {"year": 1900, "date": "1950-01-02"}}, set()),
        ({"since": "1950-01-02"}, {"river"}),
        ({"until": date(1950, 1, 2)}, {"fox"}),
        ({"since": datetime(1900, 1, 1), "until": "1960-01-01T00:00Z"}, {"fox", "river"}),
        ({"documents": ["river"], "where": {"year": 1900}}, set()),
    ):
        assert {evidence.document_key for evidence in memory.search("what happened", k=50, **limits)} == expected
    for mode in ("hybrid", "keywords", "vector", "hipporag2"):
        evidence_list = memory.search("The river rose above the bridge and the fox", k=3, mode=mode, until="1950-01-01")
        assert [evidence.document_key for evidence in evidence_list] == ["fox"] * 3, mode
    for wrong in ({"since": "last week"}, {"until": 5}, {"where": ["year"]}, {"since": "1950", "mode": "vector"}):
        with pytest.raises(SettingsError):
            memory.search("what happened", **wrong)


def test_a_search_leaves_out_what_is_not_near_enough(memory: Memory) -> None:
    memory.add(FOX, key="fox")
    memory.add(RIVER, key="river")
    with pytest.raises(SettingsError, match="an embedder with a relevance_curve"):
        memory.search("red fox", min_relevance=0.1)
    memory.embedder.relevance_curve = RelevanceCurve(half=0.3, slope=20.0)  # pyright: ignore[reportAttributeAccessIssue]
    for mode in ("graph", "hybrid", "vector"):
        everything = memory.search("Who found the red fox?", mode=mode)
        nearest = max(evidence.relevance or 0 for evidence in everything)
        kept = memory.search("Who found the red fox?", mode=mode, min_relevance=nearest)
        assert kept == [evidence for evidence in everything if evidence.relevance == nearest] != everything
        assert memory.search("Who found the red fox?", mode=mode, min_relevance=0) == everything
        assert memory.search("Who found the red fox?", mode=mode, min_relevance=1) == []
    with pytest.raises(SettingsError, match="keywords"):
        memory.search("red fox", mode="keywords", min_relevance=0.1)
    for wrong in (-0.1, 1.1, True, "0.5", float("nan")):
        with pytest.raises(SettingsError, match="a number from 0 to 1"):
            memory.search("red fox", min_relevance=wrong)  # pyright: ignore[reportArgumentType]


def test_a_conversation_is_found_by_its_turns(memory: Memory) -> None:
    memory.add(
        [
            {"role": "Ann", "content": "Where were you?", "time": "2024-05-01T10:00"},
            {"role": "Ben", "content": "At the dentist, all morning.", "time": "2024-05-01T10:01"},
        ],
        key="chat",
    )
    segments = memory._parts.store.list_segments(memory.documents()[0].id)
    assert [(segment.speaker, segment.time) for segment in segments] == [
        ("Ann", "2024-05-01T10:00:00"),
        ("Ben", "2024-05-01T10:01:00"),
    ]
    results = memory.search("dentist", since="2024-05-01T10:01")
    assert [evidence.segment.speaker for evidence in results] == ["Ben"]
