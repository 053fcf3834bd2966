"""Runs of segments out of a whole memory: exact spans, no gap, and what a search may not find is in none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from memories import options

from memgraph_rag import Evidence, Memory
from memgraph_rag.errors import SettingsError
from memgraph_rag.systems.sprag.mode import Runs
from memgraph_rag.systems.sprag.parameters import RunParameters
from memgraph_rag.systems.sprag.run_search import join_runs, meta_document_of
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel
from memgraph_rag.types import RelevanceCurve

FILLER = [f"Nothing of note was written in the ledger on page {number} of it." for number in range(40)]
FOX = [
    "The red fox slept in the old barn of Ann.",
    "It rained on the roof of that place all night long.",
    "In the old barn the red fox ate the bread of Ann.",
]
INVENTED = "It slept in the hay, where Ann had put a blanket for it."
STORY = " ".join([*FILLER[:20], *FOX, *FILLER[20:]])
QUESTION = "Did the red fox sleep in the old barn of Ann?"
SHORT = RunParameters(max_length=4, overall_max_length=6, penalty=0.3, decay=10, minimum_value=0.1)
GREEDY = RunParameters(penalty=0.01, minimum_value=-1, max_length=10**6)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    embedder = FakeEmbedder(64, name="fake")
    embedder.relevance_curve = RelevanceCurve(half=0.4, slope=20.0)  # pyright: ignore[reportAttributeAccessIssue]
    parts = options(layers=("entities",), embedder=embedder, model=FakeLanguageModel(answer=INVENTED))
    with Memory(tmp_path / "runs.lbug", **parts) as memory:
        yield memory


def assert_exact(memory: Memory, found: list[Evidence]) -> None:
    """Each run is a piece of its document; no two overlap."""
    covered: set[tuple[str, int]] = set()
    for item in found:
        assert item.text == memory.get(item.document_key).text[item.start : item.end]
        assert item.segment in item.run
        assert [segment.index for segment in item.run] == list(range(item.run[0].index, item.run[-1].index + 1))
        assert item.tokens == sum(segment.tokens for segment in item.run)
        own = {(item.document_key, segment.index) for segment in item.run}
        assert not covered & own
        covered |= own
    assert [item.score for item in found] == sorted((item.score for item in found), reverse=True)


def test_a_run_joins_neighbours_over_what_stands_between(memory: Memory) -> None:
    memory.add(STORY, key="story")
    found = memory.search(QUESTION, mode=Runs(SHORT))
    assert_exact(memory, found)
    assert found[0].text.strip() == " ".join(FOX)
    best = memory.search(QUESTION, k=1)[0]
    assert (found[0].segment, found[0].why, found[0].relevance) == (best.segment, best.why, best.relevance)
    assert found[0].as_dict()["end"] == found[0].end == memory.get("story").text.index(FOX[-1]) + len(FOX[-1]) + 1


def test_k_is_the_most_runs(memory: Memory) -> None:
    for number in range(3):
        memory.add(f"{STORY} That was on day {number}.", key=f"story {number}")
    found = memory.search(QUESTION, mode=Runs(SHORT))
    assert len(found) == 2
    assert memory.search(QUESTION, k=1, mode=Runs(SHORT)) == found[:1]
    (only,) = memory.search(QUESTION, mode=Runs(SHORT), documents=["story 1"], k=1)
    assert only.document_key == "story 1"


def test_what_is_not_near_enough_is_in_no_run(memory: Memory) -> None:
    memory.add(" ".join(FILLER), key="ledger")
    assert memory.search("Who painted Guernica?", mode="segments") == []
    assert memory.search("Who painted Guernica?")


def test_no_run_reaches_out_of_the_time(memory: Memory) -> None:
    days = ("2024-05-01T10:00", "2024-05-02T10:00", "2024-05-03T10:00")
    memory.add([{"role": "Ann", "content": text, "time": day} for text, day in zip(FOX, days, strict=True)], key="chat")
    (whole,) = memory.search(QUESTION, mode=Runs(GREEDY))
    assert_exact(memory, [whole])
    assert whole.text == memory.get("chat").text
    (before,) = memory.search(QUESTION, mode=Runs(GREEDY), until="2024-05-03")
    assert_exact(memory, [before])
    assert {segment.time[:10] for segment in before.run} == {"2024-05-01", "2024-05-02"}


def test_no_run_reaches_over_an_echo(memory: Memory) -> None:
    memory.add(STORY, key="story")
    assert memory.ask(QUESTION, documents=["story"]).text == INVENTED
    chat = [("user", FOX[0]), ("assistant", INVENTED), ("user", FOX[2])]
    receipt = memory.add([{"role": role, "content": text} for role, text in chat], key="chat")
    assert 0 < receipt.echoes < receipt.counts["Segment"]
    found = memory.search(QUESTION, mode=Runs(GREEDY), documents=["chat"])
    assert_exact(memory, found)
    assert len(found) == 2
    assert not any(segment.echo for item in found for segment in item.run)


def test_parameters_that_cannot_work_are_refused(memory: Memory) -> None:
    memory.add(STORY, key="story")
    with pytest.raises(SettingsError, match="balanced, precision, find_all"):
        memory.search(QUESTION, mode=Runs("best"))
    with pytest.raises(SettingsError, match="penalty"):
        memory.search(QUESTION, mode=Runs(RunParameters(penalty=-1)))


@pytest.mark.parametrize(
    "text",
    [
        "The red fox slept.",
        "The red fox slept in the barn and " * 2_000 + "woke.",
        "\n\n".join(["The red fox slept in the old barn of Ann."] * 300),
        "红狐狸睡在安的旧谷仓里。雨下了九天九夜。河水漫过了石桥。" * 20,
    ],
    ids=["one segment", "one sentence", "identical paragraphs", "chinese"],
)
def test_texts_of_any_shape_have_exact_runs(memory: Memory, text: str) -> None:
    memory.add(text, key="shape")
    for runs in ("balanced", "find_all", GREEDY):
        found = memory.search("红狐狸睡在哪里? Did the red fox sleep?", mode=Runs(runs), k=1_000)
        assert_exact(memory, found)
        assert found or runs is not GREEDY


def test_an_empty_memory_has_no_runs(memory: Memory) -> None:
    assert memory.search(QUESTION, mode="segments") == []


def test_a_document_forgotten_since_it_was_ranked_is_in_no_run(memory: Memory) -> None:
    for number in range(3):
        memory.add(f"{STORY} That was on day {number}.", key=f"story {number}")
    ranked = memory.search(QUESTION, k=200)
    gone = ranked[0].document_key
    memory.forget(gone)
    index = memory._parts.search.index
    with index.lock:
        index.refresh()
        meta = meta_document_of(ranked, index, index.view(), documents=200)
    found = join_runs(ranked, meta, memory._parts.store, k=10, parameters=SHORT)
    assert_exact(memory, found)
    assert found
    assert gone not in {item.document_key for item in found}
