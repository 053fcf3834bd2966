"""``Memory`` asked and searched from end to end, on real stores, with models that need no weights."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from all_strategies import STRATEGIES
from memories import FOX, QUESTION, RIVER, OpenMemory, graph_of, options

from memgraph_rag import Answer, InformationPoint, Limits, Memory, Segment, Step, StopReason
from memgraph_rag.errors import (
    DocumentNotFound,
    SettingsError,
)
from memgraph_rag.strategies.walk import Walk
from memgraph_rag.testing import FakeLanguageModel
from memgraph_rag.types import Usage

# ── asking ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_an_answer_cites_what_stands_verbatim_in_its_document(memory: Memory, strategy: str) -> None:
    texts = {"fox": FOX, "river": RIVER}
    for key, text in texts.items():
        memory.add(text, key=key)
    answer = memory.ask(QUESTION, strategy=strategy)
    assert answer.strategy == strategy
    assert not answer.abstained
    assert "wooden box" in answer.text
    assert answer.citations
    for citation in answer.citations:
        text = texts[citation.document_key]
        assert text[citation.start : citation.end] == citation.quote
        segment = memory.get(citation.segment_id)
        assert segment.start <= citation.start < citation.end <= segment.end
    assert "wooden box" in answer.citations[0].quote
    assert [memory.get(step.node.id) for step in answer.trace] == [step.node for step in answer.trace]
    assert len({step.node.id for step in answer.trace}) == len(answer.trace)
    assert all(step.stop is None for step in answer.trace[:-1])
    assert len({step.attention for step in answer.trace}) > 1
    assert answer.usage.prompt_tokens > sum(step.node.tokens for step in answer.trace)
    assert answer.usage.generated_tokens > 0


def test_the_same_question_gets_the_same_answer(memory: Memory) -> None:
    memory.add(FOX, key="fox")
    answers = [memory.ask(QUESTION) for _ in range(3)]
    same = [replace(answer, usage=replace(answer.usage, seconds=0.0)) for answer in answers]
    assert same[0] == same[1] == same[2]


def test_a_stream_is_steps_then_text_then_the_answer(memory: Memory) -> None:
    memory.add(FOX, key="fox")
    items = list(memory.stream(QUESTION))
    kinds = [Step if isinstance(item, Step) else type(item) for item in items]
    steps, pieces = kinds.count(Step), kinds.count(str)
    assert kinds == [Step] * steps + [str] * pieces + [Answer]
    assert pieces > 1
    answer = items[-1]
    assert tuple(items[:steps]) == answer.trace
    assert "".join(items[steps:-1]).strip() == answer.text
    assert replace(answer, usage=Usage()) == replace(memory.ask(QUESTION), usage=Usage())


def test_a_stream_may_be_left_at_any_time(file_memory: Memory) -> None:
    file_memory.add(FOX, key="fox")
    stream = file_memory.stream(QUESTION)
    assert isinstance(next(stream), Step)
    stream.close()
    assert file_memory.ask(QUESTION).citations


def test_an_empty_memory_abstains(memory: Memory) -> None:
    answer = memory.ask(QUESTION)
    assert answer.abstained
    assert answer.stop_reason is StopReason.NOTHING_FOUND
    assert (answer.citations, answer.trace) == ((), ())
    assert list(memory.stream(QUESTION))[:-1] == []
    assert memory.search(QUESTION) == []


def test_an_answer_that_the_model_leaves_empty_is_an_abstention(open_memory: OpenMemory) -> None:
    memory = open_memory(model=FakeLanguageModel(answer=" \n"))
    memory.add(FOX, key="fox")
    answer = memory.ask(QUESTION)
    assert (answer.abstained, answer.citations) == (True, ())
    assert answer.trace


NEVER = [0.0] * 100
TO_THE_END = Walk(most_segments=99)


def test_reading_goes_on_until_everything_is_read(open_memory: OpenMemory) -> None:
    memory = open_memory(model=FakeLanguageModel(yes=NEVER), strategy=TO_THE_END)
    memory.add(FOX, key="fox")
    answer = memory.ask(QUESTION)
    assert answer.stop_reason is StopReason.EXHAUSTED
    assert {step.node.id for step in answer.trace} == set(graph_of(memory)["nodes"])


def test_reading_ends_with_the_step_that_reaches_a_limit(tmp_path: Path) -> None:
    model = FakeLanguageModel(yes=NEVER, answer="Tom built a wooden box.")
    with Memory(tmp_path / "notes.lbug", **options(model=model, strategy=TO_THE_END)) as memory:
        memory.add(FOX, key="fox")
        everything = memory.ask(QUESTION)
        by_nodes = memory.ask(QUESTION, limits=Limits(nodes=6))
        assert (len(by_nodes.trace), by_nodes.stop_reason) == (6, StopReason.MAX_NODES)
        assert by_nodes.trace == everything.trace[:6]

        limit = 120
        by_tokens = memory.ask(QUESTION, limits=Limits(tokens=limit))
        assert by_tokens.stop_reason is StopReason.MAX_TOKENS
        assert 0 < len(by_tokens.trace) < len(everything.trace)
        reading = list(memory.stream(QUESTION, limits=Limits(tokens=limit, nodes=len(by_tokens.trace) - 1)))
        assert reading[-1].stop_reason is StopReason.MAX_NODES, "one step less was below the limit"

        by_seconds = memory.ask(QUESTION, limits=Limits(seconds=1e-9))
        assert by_seconds.stop_reason is StopReason.MAX_SECONDS
        assert by_seconds.trace == everything.trace[: len(by_seconds.trace)]
        assert all(answer.citations for answer in (by_nodes, by_tokens, by_seconds))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_keeps_to_the_number_of_nodes(file_memory: Memory, strategy: str) -> None:
    file_memory.add(FOX, key="fox")
    answer = file_memory.ask("What about the whale?", strategy=strategy, limits=Limits(nodes=1))
    assert len(answer.trace) <= 1
    assert not answer.trace or answer.stop_reason in {StopReason.MAX_NODES, StopReason.EXHAUSTED}


def test_a_small_window_ends_reading(tmp_path: Path) -> None:
    with Memory(tmp_path / "notes.lbug", **options(model=FakeLanguageModel(yes=NEVER, window=512))) as memory:
        memory.add(f"{FOX} {RIVER} {FOX.upper()} {RIVER.upper()}", key="all")
        assert memory.ask(QUESTION, strategy="pecan").stop_reason is StopReason.WINDOW


# ── searching and looking ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("mode", ["graph", "hybrid", "keywords", "vector"])
def test_search_finds_segments_in_every_mode(memory: Memory, mode: str) -> None:
    memory.add(FOX, key="fox")
    memory.add(RIVER, key="river")
    results = memory.search("stone bridge river", k=3, mode=mode)
    assert 0 < len(results) <= 3
    assert [evidence.score for evidence in results] == sorted((evidence.score for evidence in results), reverse=True)
    for evidence in results:
        assert evidence.segment.text in {"fox": FOX, "river": RIVER}[evidence.document_key]
        assert set(evidence.why) <= {
            "keywords",
            "vector",
            *(("graph", "second step", "second walk") * (mode == "graph")),
        }
    if mode != "vector":  # eight numbers hold little meaning
        assert "stone bridge" in results[0].segment.text
    limited = memory.search("stone bridge river", k=3, mode=mode, documents=["fox"])
    assert {evidence.document_key for evidence in limited} <= {"fox"}
    assert mode == "keywords" or len(limited) == 3


def test_k_is_full_where_there_are_enough_segments(memory: Memory) -> None:
    receipt = memory.add(FOX, key="fox")
    assert len(memory.search("fox", k=4)) == 4
    assert len(memory.search("fox", k=100)) == receipt.counts["Segment"]


def test_nodes_documents_and_numbers_can_be_looked_at(memory: Memory) -> None:
    memory.add(RIVER, key="river", title="The River", metadata={"year": 1902, "true": True, "note": "ü"})
    fox = memory.add(FOX, key="fox")
    assert [record.key for record in memory.documents()] == ["fox", "river"]
    river = memory.documents()[1]
    assert (river.title, river.characters, dict(river.metadata)) == (
        "The River",
        len(RIVER),
        {"year": 1902, "true": True, "note": "ü"},
    )
    assert river.model == "fake-language-model"
    kinds = {type(memory.get(node_id)) for node_id in graph_of(memory)["nodes"]}
    assert kinds == {Segment, InformationPoint}
    stats = memory.status()
    assert stats["counts"]["Document"] == 2
    assert stats["counts"]["Segment"] == river.segments + fox.counts["Segment"]
    assert (stats["schema"]["embedder"], stats["schema"]["dimension"]) == ("fake", 8)


def test_documents_limit_a_question_by_key_or_id(memory: Memory) -> None:
    fox = memory.add(FOX, key="fox")
    memory.add(RIVER, key="river")
    for named in (["fox"], [fox.document_id], ["fox", fox.document_id, "fox"]):
        answer = memory.ask("What happened to the bridge?", documents=named, strategy="full_context")
        assert {step.node.document_id for step in answer.trace} == {fox.document_id}
        assert len(answer.trace) == fox.counts["Segment"], "each document is read once"
    with pytest.raises(DocumentNotFound, match="whale"):
        memory.ask(QUESTION, documents=["fox", "whale"])
    with pytest.raises(SettingsError, match="list of keys"):
        memory.ask(QUESTION, documents="fox")
    assert memory.ask(QUESTION, documents=[]).stop_reason is StopReason.NOTHING_FOUND
