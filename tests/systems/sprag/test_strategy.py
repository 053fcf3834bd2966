"""spRAG: runs are read whole, best first, each in the order of its document."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from memories import options

from memgraph_rag import Limits, Memory
from memgraph_rag.errors import SettingsError
from memgraph_rag.systems.sprag import RunParameters, Runs, Sprag
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel
from memgraph_rag.types import RelevanceCurve, StopReason

FILLER = [f"Nothing of note was written in the ledger on page {number} of it." for number in range(20)]
FOX = ["The red fox slept in the old barn.", "It rained all night long.", "In the old barn the red fox ate bread."]
QUESTION = "Did the red fox sleep in the old barn?"
SHORT = RunParameters(max_length=4, overall_max_length=6, penalty=0.3, decay=10, minimum_value=0.1)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    embedder = FakeEmbedder(64, name="fake")
    embedder.relevance_curve = RelevanceCurve(half=0.4, slope=20.0)  # pyright: ignore[reportAttributeAccessIssue]
    with Memory(tmp_path / "runs.lbug", **options(layers=("entities",), embedder=embedder)) as memory:
        memory.add(" ".join([*FILLER[:10], *FOX, *FILLER[10:]]), key="story")
        memory.add(" ".join([FOX[0], *FILLER]), key="ledger")
        yield memory


def test_runs_are_read_best_first_in_the_order_of_the_document(memory: Memory) -> None:
    runs = memory.search(QUESTION, mode=Runs(SHORT))
    answer = memory.ask(QUESTION, strategy=Sprag(SHORT))
    assert len(runs) > 1
    assert [step.node for step in answer.trace] == [segment for run in runs for segment in run.segments]
    assert [step.score for step in answer.trace] == [run.score for run in runs for _ in run.segments]
    assert answer.trace[-1].stop is answer.stop_reason is StopReason.EXHAUSTED
    for citation in answer.citations:
        assert memory.get(citation.document_key).text[citation.start : citation.end] == citation.quote
    assert answer.citations


def test_budgets_and_documents_limit_the_reading(memory: Memory) -> None:
    assert len(memory.ask(QUESTION, strategy=Sprag(SHORT), limits=Limits(nodes=2)).trace) == 2
    trace = memory.ask(QUESTION, strategy=Sprag(SHORT), documents=["ledger"]).trace
    assert {step.node.text.strip() for step in trace} >= {FOX[0]}
    assert len({step.node.document_id for step in trace}) == 1


def test_something_is_read_for_each_question(memory: Memory) -> None:
    answer = memory.ask("Who painted Guernica?", strategy=Sprag("precision"))
    assert answer.trace
    assert answer.stop_reason is not StopReason.NOTHING_FOUND


def test_queries_of_the_model_replace_the_question(tmp_path: Path) -> None:
    said = ["1. Who flooded the mill?; 1. Who flooded the mill?;  2) red fox bread; third"]
    texts = {"mill": "A storm flooded the mill.", "fox": "The red fox ate bread.", "bob": "Bob sold a boat."}
    parts = options(layers=("entities",), embedder=FakeEmbedder(64, name="fake"), model=FakeLanguageModel(said=said))
    with Memory(tmp_path / "queries.lbug", **parts) as memory:
        for key, text in texts.items():
            memory.add(text, key=key)
        trace = memory.ask("What happened?", strategy=Sprag({"documents": 1}, most_queries=2)).trace
        assert {step.node.text for step in trace} == {texts["mill"], texts["fox"]}
        assert [step.reason for step in trace] == ["Who flooded the mill?; red fox bread", ""]


def test_the_question_is_searched_if_the_model_writes_no_query(memory: Memory) -> None:
    alone = memory.ask(QUESTION, strategy=Sprag(SHORT)).trace
    memory._parts.models.language._said = (";",) * 9  # pyright: ignore[reportAttributeAccessIssue]
    assert [step.node for step in memory.ask(QUESTION, strategy=Sprag(SHORT, most_queries=3)).trace] == [
        step.node for step in alone
    ]


@pytest.mark.parametrize("runs", [RunParameters(penalty=float("nan")), RunParameters(max_length=0), "best"])
def test_parameters_that_cannot_work_are_refused_when_it_reads(memory: Memory, runs: RunParameters | str) -> None:
    with pytest.raises(SettingsError):
        memory.ask(QUESTION, strategy=Sprag(runs))
