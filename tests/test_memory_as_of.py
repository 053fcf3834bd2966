"""``ask(at=…)``: whatever a strategy reads, nothing that was said later comes through, by words, titles or layers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import Any

import pytest
from all_strategies import STRATEGIES
from memories import OpenMemory, options

from memgraph_rag import Answer, Memory
from memgraph_rag.contracts import Strategy
from memgraph_rag.errors import SettingsError
from memgraph_rag.strategies.qrmem import Qrmem
from memgraph_rag.testing import FakeLanguageModel
from memgraph_rag.testing.fakes import FakeSession
from memgraph_rag.types import InformationPoint, Overview

MARK = "Zanzibar"
"""A word of everything that is said later, and of nothing else."""

QUESTION = "Who built a wooden box for Ann?"
AT = "2024-03-31"
LAYERS = ("entities", "facts", "outline", "points", "clusters", "relations")


class Overhearing(FakeLanguageModel):
    """Keeps all that its sessions were given to read, or were asked."""

    def __init__(self, **scripted: Any) -> None:
        super().__init__(**scripted)
        self.heard: list[str] = []

    def open_session(self, question: str) -> FakeSession:
        session = super().open_session(question)
        for name in ("append", "judge", "reply", "answer"):
            setattr(session, name, self._overheard(getattr(session, name)))
        return session

    def _overheard(self, method: Any) -> Any:
        def call(*texts: str | Sequence[str], **options: Any) -> Any:
            self.heard += [repr((texts, options))]
            return method(*texts, **options)

        return call


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    """Five documents said before, four after, and a session that goes on over the moment; with every layer."""
    with Memory(":memory:", **options(layers=LAYERS, model=Overhearing())) as memory:
        for day in range(1, 6):
            text = f"# Box {day}\n\nTom built a wooden box for Ann in Oslo. Ann kept it on day {day}. It was red."
            memory.add(text, key=f"early-{day}", title=f"Box {day}", metadata={"date": f"2024-01-0{day}"})
        for day in range(1, 5):
            text = f"# {MARK}\n\nBen of {MARK} built a wooden box for Ann. Ann kept it in {MARK} on day {day}."
            memory.add(text, key=f"late-{day}", title=MARK, metadata={"date": f"2024-06-0{day}"})
        ann = memory.session(user="ann", session="1")
        for place, month in (("Hamburg", 1), ("Berlin", 3), (MARK, 6)):
            said = {"role": "user", "content": f"I live in {place} with a wooden box.", "time": f"2024-0{month}-31"}
            ann.add([said | {"time": f"2024-0{month}-30"}])
        list(memory.deepen(layers=LAYERS))
        list(memory.deepen(layers=["communities", "library"]))
        yield memory


def leaks(memory: Memory, answer: Answer) -> list[str]:
    """What of an answer, and of all that the model was given, is of later."""
    model = memory.language_model
    assert isinstance(model, Overhearing)
    heard, model.heard = model.heard, []
    assert heard
    return [text for text in (*heard, repr(answer)) if MARK in text]


@pytest.mark.parametrize("strategy", [*STRATEGIES, Qrmem("TE"), Qrmem("GES")])
def test_no_strategy_reads_what_was_said_later(memory: Memory, strategy: str | Strategy) -> None:
    for question in (QUESTION, "Where do I live now, with a box?"):
        answer = memory.ask(question, strategy=strategy, at=AT)
        assert leaks(memory, answer) == []
        assert answer.trace


def test_strategies_leak_without_a_moment(memory: Memory) -> None:
    leaking = [name for name in STRATEGIES if leaks(memory, memory.ask(QUESTION, strategy=name))]
    assert len(leaking) > len(STRATEGIES) / 2, "else the test above could find nothing"


def test_layers_count_where_their_documents_do(memory: Memory) -> None:
    kinds = {
        type(step.node)
        for name in ("pecan", "graphrag_global", "overviews")
        for step in memory.ask(QUESTION, strategy=name, at="2024-07-01").trace
    }
    assert {InformationPoint, Overview} <= kinds, "all was said by then"
    early = memory.ask(QUESTION, strategy="pecan", at=AT, documents=["early-1"])
    assert InformationPoint in {type(step.node) for step in early.trace}
    page = memory.documents()[-1].key
    partly = memory.ask("Where do I live?", strategy="full_context", at=AT, documents=[page])
    assert [step.node.text.split()[5] for step in partly.trace] == ["Hamburg", "Berlin"]


def test_remarks_say_what_held_then(memory: Memory) -> None:
    model = memory.language_model
    assert isinstance(model, Overhearing)
    model.heard = []
    memory.ask("Where do I live?", at=AT, user="ann")
    assert any("[home: since 30 March 2024: Berlin" in text and "before: Hamburg" in text for text in model.heard)
    assert leaks(memory, memory.ask("Where do I live?", at="2024-07-01", user="ann")), "by then it was said"


def test_moment_before_all_turns_has_no_facts(memory: Memory) -> None:
    for strategy in STRATEGIES:
        answer = memory.ask(QUESTION, strategy=strategy, at="2023-12-31")
        assert (answer.abstained, answer.trace, answer.citations) == (True, (), ())
        assert MARK not in answer.text


def test_question_that_cannot_be_kept_truly_is_refused(memory: Memory) -> None:
    with pytest.raises(SettingsError, match="Expected at"):
        memory.ask(QUESTION, at="noon")
    with pytest.raises(SettingsError, match="keep_trace without at"):
        memory.ask(QUESTION, at=AT, keep_trace=True)


@pytest.mark.data
def test_neither_engine_reads_later_words(open_memory: OpenMemory) -> None:
    with open_memory(layers=LAYERS, model=Overhearing()) as memory:
        for day, place in (("2024-01-05", "Oslo"), ("2024-06-05", MARK)):
            text = f"# Box\n\nTom built a wooden box for Ann in {place}. Ann kept it in {place}."
            memory.add(text, key=place, title=place, metadata={"date": day})
        ann = memory.session(user="ann", session="1")
        for day, place in (("2024-01-30", "Hamburg"), ("2024-03-30", "Berlin"), ("2024-06-30", MARK)):
            ann.add([{"role": "user", "content": f"I live in {place} with a wooden box.", "time": day}])
        list(memory.deepen(layers=LAYERS))
        for strategy in ("walk", "top_k", "pecan", "qrmem", "hipporag2"):
            answer = memory.ask(QUESTION, strategy=strategy, at=AT)
            assert leaks(memory, answer) == []
            assert answer.trace
        best = memory.search("Where do I live?", user="ann", at=AT, k=1)[0]
        assert best.standing is not None
        assert (best.standing.value.split()[0], best.standing.state) == ("Berlin", "holds")
        assert leaks(memory, memory.ask("Where do I live?", at="2024-07-01", user="ann")), "by then it was said"


ENDS = ["9999-12-31", "9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59-14:00", date.max, datetime.max]


@pytest.mark.parametrize("at", ENDS, ids=str)
def test_as_of_the_last_day_is_as_of_now(memory: Memory, at: str | date) -> None:
    assert memory.search("wooden box", at=at) == memory.search("wooden box")
    assert memory.scoped(at=at).wishes("wooden box") == memory.scoped().wishes("wooden box")
    ann = memory.session(user="ann", session="1")
    assert ann.recall("wooden box", at=at) == ann.recall("wooden box")
    assert memory.ask(QUESTION, at=at).text == memory.ask(QUESTION).text
    search = memory.tools()[0]
    assert search.function({"query": "wooden box", "at": str(at)[:10]}) == search.function({"query": "wooden box"})


@pytest.mark.parametrize("at", ["0001-01-01", "0001-01-01T00:00:00+14:00", date.min, datetime.min], ids=str)
def test_day_before_all_turns_has_no_evidence(memory: Memory, at: str | date) -> None:
    assert memory.search("wooden box", at=at) == []
    assert memory.ask(QUESTION, at=at).citations == ()
