"""Test remarks on a text, whether it holds and which days it names, in results and in the model's input."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from memories import options

from memgraph_rag import Memory
from memgraph_rag.facts.remarks import write_remarks
from memgraph_rag.lexical.relative_days import relative_days
from memgraph_rag.testing import FakeLanguageModel
from memgraph_rag.types import Extent
from memgraph_rag.types.facts import DAYS


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", **options(layers=(), model=FakeLanguageModel(replies=["Berlin."]))) as memory:
        ann = memory.session(user="ann", session="1")
        ann.add([{"role": "user", "content": "I live in Paris.", "time": "2024-03-01"}])
        ann.add([{"role": "user", "content": "I moved to Berlin last week.", "time": "2024-05-12"}])
        ann.add([{"role": "assistant", "content": "You moved last week.", "time": "2024-05-12"}])
        yield memory


def test_result_has_a_remark_of_what_holds_since_when(memory: Memory) -> None:
    remarks = {item.text.partition(": ")[2].strip(): item.remarks for item in memory.search("Where do I live?")}
    assert remarks == {
        "I moved to Berlin last week.": (
            "home: since 12 May 2024: Berlin; before: Paris",
            "last week: 29 April 2024 to 5 May 2024",
        ),
        "I live in Paris.": ("home: until 12 May 2024: Paris; since then: Berlin",),
        "You moved last week.": (),
    }
    assert all("29 April" not in memory.get(record.key).text for record in memory.documents())


def test_days_are_stored_beside_the_turn(memory: Memory) -> None:
    store = memory._parts.store
    days = [note for note in store.layer_annotations("facts", since=-1) if note.kind == DAYS]
    assert [(note.text, dict(note.properties)) for note in days] == [
        ("last week", {"first": "2024-04-29", "last": "2024-05-05"})
    ]
    (segment,) = store.nodes(days[0].segment_ids)
    (shown,) = relative_days(segment.text, "2024-05-12")
    assert {"first": shown.first.isoformat(), "last": shown.last.isoformat()} == days[0].properties


def test_prompt_has_remarks_after_the_text(memory: Memory) -> None:
    asked = memory._parts.store.list_segments(memory.documents()[0].id)
    lines = write_remarks(memory._parts.search.facts, asked, Extent())
    assert lines == [
        "home: until 12 May 2024: Paris; since then: Berlin",
        "home: since 12 May 2024: Berlin; before: Paris; last week: 29 April 2024 to 5 May 2024",
        "",
    ]
    assert write_remarks(memory._parts.search.facts, asked, Extent([])) == [
        "",
        "last week: 29 April 2024 to 5 May 2024",
        "",
    ]


def test_contradictions_are_quoted(memory: Memory) -> None:
    ann = memory.session(user="ann", session="2")
    ann.add([{"role": "user", "content": "I never ate oysters.", "time": "2024-05-12"}])
    ann.add([{"role": "user", "content": "I ate oysters on Sunday.", "time": "2024-06-12"}])
    best = memory.search("Have I eaten oysters?", k=2)
    assert sorted(remark for item in best for remark in item.remarks) == [
        "contradicted by “I ate oysters on Sunday.” (12 June 2024)",
        "contradicted by “I never ate oysters.” (12 May 2024)",
    ]
