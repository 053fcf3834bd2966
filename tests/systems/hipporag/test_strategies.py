"""HippoRAG 1 and 2: a model's reply decides by exact mapping where a search starts; traces say what was known."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from memories import options

from memgraph_rag import Limits, Memory
from memgraph_rag.systems.hipporag import FactWalk, TriplesLayer
from memgraph_rag.systems.hipporag.strategies import HippoRag2
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel
from memgraph_rag.types import Relation, StopReason

TEXTS = {
    "lee": ("Ann Lee was born in York.", [["Ann Lee", "was born in", "York"]]),
    "york": ("York lies on the river Ouse.", [["York", "lies on", "Ouse"]]),
    "ray": ("Tom Ray sold bread in Leeds.", [["Tom Ray", "sold bread in", "Leeds"]]),
}
NAMED = "Zoe Bell kept bees in Hull."
QUESTION = "On which river was Ann Lee born?"

Opened = Callable[..., Memory]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    memories: list[Memory] = []

    def opened(said: Sequence[str] = (), *, related: bool = True) -> Memory:
        path = tmp_path / "openie.json"
        path.write_text(json.dumps([{"doc_id": key, "triples": triples} for key, (_, triples) in TEXTS.items()]))
        parts = options(
            layers=("entities", TriplesLayer(str(path))) if related else ("entities",),
            model=FakeLanguageModel(said=said),
            embedder=FakeEmbedder(64, name="fake"),
        )
        memory = Memory(tmp_path / "hippo.lbug", **parts)
        memories.append(memory)
        for key, (text, _) in TEXTS.items():
            memory.add(text, key=key)
        memory.add(NAMED, key="bell")
        return memory

    yield opened
    for memory in memories:
        memory.close()


def test_names_of_the_model_lead_along_triples(opened: Opened) -> None:
    answer = opened(["Ann Lee; Napoleon"]).ask(QUESTION, strategy="hipporag")
    assert [step.node.text for step in answer.trace[:2]] == [TEXTS["lee"][0], TEXTS["york"][0]]
    assert [list(step.sources) for step in answer.trace[:2]] == [["relation"], ["relation"]]
    assert all(sum(step.sources.values()) == pytest.approx(step.score) for step in answer.trace)
    assert answer.trace[-1].stop is answer.stop_reason is StopReason.EXHAUSTED
    assert answer.usage.model_calls > 1


@pytest.mark.parametrize("said", [["Napoleon"] * 9, ["None"], ["?"] * 9])
def test_names_that_the_question_does_not_hold_leave_it_to_the_recognizer(opened: Opened, said: list[str]) -> None:
    memory = opened(said)
    found = memory.search(QUESTION, mode="hipporag", k=5)
    assert [step.node for step in memory.ask(QUESTION, strategy="hipporag").trace] == [item.segment for item in found]


@pytest.mark.parametrize("reply", ["{}", "{}.", "Facts {}", " **{}** ", "{}, 9", "{} and {}"])
def test_facts_are_kept_by_their_numbers(opened: Opened, reply: str) -> None:
    memory = opened()
    facts: list[Relation] = []
    memory.search(QUESTION, k=1, mode=FactWalk(lambda nearest: facts.extend(nearest)))
    number = next(n for n, fact in enumerate(facts, 1) if fact.description.startswith("Ann"))
    memory.close()

    answer = opened([reply.format(number, number)]).ask(QUESTION, strategy="hipporag2")

    assert answer.trace[0].node.text == TEXTS["lee"][0]
    assert [step.via for step in answer.trace if step.via] == ["Ann Lee was born in York"]
    assert answer.trace[0].sources.keys() == {"relation"}


@pytest.mark.parametrize("said", [["None"], ["9"] * 9, ["Ann Lee was born in 1"] * 9, ["0"] * 9])
def test_a_reply_that_names_no_candidate_is_a_search_by_vectors(opened: Opened, said: list[str]) -> None:
    memory = opened(said)
    by_vectors = memory.search(QUESTION, mode="vector", k=5)
    trace = memory.ask(QUESTION, strategy="hipporag2").trace
    assert [step.node for step in trace] == [item.segment for item in by_vectors]
    assert {source for step in trace for source in step.sources} == {"similarity"}


def test_without_triples_the_trace_says_names(opened: Opened) -> None:
    memory = opened(related=False)
    for strategy in ("hipporag2", HippoRag2(filters=False)):
        answer = memory.ask("Where did Zoe Bell keep bees?", strategy=strategy)
        assert answer.trace[0].node.text == NAMED
        assert answer.trace[0].sources.keys() == {"names"}
    for citation in answer.citations:
        assert memory.get(citation.document_key).text[citation.start : citation.end] == citation.quote
    assert answer.citations


def test_budgets_and_documents_limit_the_reading(opened: Opened) -> None:
    memory = opened(["None"])
    for strategy in ("hipporag", "hipporag2"):
        assert len(memory.ask(QUESTION, strategy=strategy, limits=Limits(nodes=2)).trace) == 2
        trace = memory.ask(QUESTION, strategy=strategy, documents=["york", "ray"]).trace
        assert {step.node.text for step in trace} == {TEXTS["york"][0], TEXTS["ray"][0]}


def test_an_empty_memory_abstains(tmp_path: Path) -> None:
    with Memory(tmp_path / "empty.lbug", **options(layers=("entities",))) as memory:
        for strategy in ("hipporag", "hipporag2"):
            answer = memory.ask(QUESTION, strategy=strategy)
            assert (answer.abstained, answer.trace) == (True, ())
