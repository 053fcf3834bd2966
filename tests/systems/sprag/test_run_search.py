"""Runs of segments out of a whole memory: exact spans, no gap, and what a search may not find is in none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from memories import options
from scipy.special import betainc, expit
from tables import table

from memgraph_rag import Evidence, Memory
from memgraph_rag.errors import ModelNotFound, SettingsError
from memgraph_rag.systems.sprag.mode import Runs
from memgraph_rag.systems.sprag.parameters import RunParameters
from memgraph_rag.systems.sprag.ranking import Candidates, Ranked
from memgraph_rag.systems.sprag.run_search import build_meta_document, join_runs
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel
from memgraph_rag.types import RelevanceCurve, Vector

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


def test_run_joins_neighbours_and_the_text_between(memory: Memory) -> None:
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


@table("runs", ["balanced", "precision", "find_all", {"minimum_value": 99.0}])
def test_each_question_finds_the_best_segment(memory: Memory, runs: object) -> None:
    memory.add(" ".join(FILLER), key="ledger")
    question = "Who painted Guernica?"
    best = memory.search(question, k=1)[0]
    assert best.relevance is not None
    assert best.relevance < 0.1
    found = memory.search(question, mode=Runs(runs))  # pyright: ignore[reportArgumentType]
    assert_exact(memory, found)
    assert best.segment in found[0].run


def test_further_queries_find_runs_of_their_own_and_extend_the_length(memory: Memory) -> None:
    memory.add(STORY, key="story")
    memory.add(" ".join([*FILLER[:9], "The blue boat of Bob sank in the river.", *FILLER[9:]]), key="boat")
    parameters = replace(SHORT, overall_max_length=3, overall_max_length_extension=1)
    (only,) = memory.search(QUESTION, mode=Runs(parameters))
    found = memory.search(QUESTION, mode=Runs(parameters, queries=["Where did the blue boat of Bob sink?"]))
    assert [item.document_key for item in found] == ["story", "boat"]
    assert found[0] == only
    assert sum(len(item.run) for item in found) == 4
    assert memory.search(QUESTION, mode=Runs(parameters, queries=[QUESTION])) == [only]


class Scores:
    """A reranker that knows one text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def score(self, question: str, texts: Sequence[str]) -> Vector:
        assert question == QUESTION
        return np.array([9.0 if self.text in text else -9.0 for text in texts], np.float32)


@table("candidates", ["graph", "dense"])
def test_a_reranker_decides_the_order_and_the_relevance(memory: Memory, candidates: Candidates) -> None:
    memory.add(STORY, key="story")
    (found,) = memory.search(QUESTION, mode=Runs(SHORT, reranker=Scores("page 7"), candidates=candidates))
    assert FILLER[7] in found.text
    assert found.score == pytest.approx(float(betainc(0.4, 0.4, expit(9.0))) - SHORT.penalty, abs=1e-6)


def test_a_reranker_is_loaded_by_its_folder(memory: Memory, tmp_path: Path) -> None:
    memory.add(STORY, key="story")
    with pytest.raises(ModelNotFound, match="Expected a cross-encoder"):
        memory.search(QUESTION, mode=Runs(reranker=str(tmp_path)))


def test_dense_candidates_are_ranked_by_the_cosine(memory: Memory) -> None:
    memory.add(STORY, key="story")
    nearest = memory.search(QUESTION, k=1, mode="vector")[0]
    found = memory.search(QUESTION, k=1, mode=Runs({"max_length": 1}, candidates="dense"))[0]
    assert (found.run, found.why) == ((nearest.segment,), nearest.why)
    with pytest.raises(SettingsError, match="graph, dense"):
        Runs(candidates="sparse")  # pyright: ignore[reportArgumentType]


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
        assert found


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
        rankings = [[Ranked(item, 0.9) for item in ranked]]
        meta = build_meta_document(rankings, index, index.view(), documents=200)
    found = join_runs(rankings, meta, memory._parts.store, k=10, parameters=SHORT)
    assert_exact(memory, found)
    assert found
    assert gone not in {item.document_key for item in found}
