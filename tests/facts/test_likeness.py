"""Test that the newest of the statements about one matter comes first, without reading a value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from memories import options

from memgraph_rag import Memory
from memgraph_rag.facts.likeness import CANDIDATES, find_candidates
from memgraph_rag.facts.told import find_told
from memgraph_rag.search.graph import SegmentMatch
from memgraph_rag.types import Evidence, Segment

QUESTION = "How do I get to the lab?"
BUS, BIKE, LUNCH = "I take the bus to the lab.", "So it's the bike to the lab now.", "Lunch was good."


@pytest.fixture
def memory() -> Iterator[Memory]:
    """A memory with the packaged embedder, because the test depends on its vectors."""
    parts = options(layers=())
    del parts["embedder"]
    with Memory(":memory:", **parts) as memory:
        yield memory


def results(*said: tuple[str, str, float], speaker: str = "user") -> tuple[list[Evidence], dict]:
    """Return texts with their day in May and their cosine to the question, best first."""
    items, found = [], {}
    for place, (text, moment, cosine) in enumerate(said):
        time = f"2026-05-{moment}T10:00" if moment else ""
        segment = Segment(f"s{place}", "d", place, f"{speaker}: {text}", 0, 9, 9, speaker=speaker, time=time)
        vector = np.array([cosine, (1 - cosine**2) ** 0.5, 0.0], np.float32)
        items.append(Evidence(segment, "d", 1.0, {}))
        found[segment.id] = SegmentMatch(segment.id, 1.0, {}, (), cosine, vector)
    return items, found


def newest(*said: tuple[str, str, float], question: str = QUESTION, speaker: str = "user") -> str | None:
    told = find_told(question, *results(*said, speaker=speaker), {})
    best = told.newest if told else None
    return best.segment.text.partition(": ")[2] if best else None


OTHERS: Sequence[tuple[str, str, float]] = [(LUNCH, "20", 0.05), ("It rained.", "21", 0.02), ("Fine.", "22", 0.01)]


def test_later_of_two_statements_holds() -> None:
    assert newest((BUS, "01", 0.8), (BIKE, "12", 0.75), *OTHERS) == BIKE
    assert newest((BIKE, "01", 0.75), (BUS, "12", 0.8), *OTHERS) == BUS


def test_a_quoted_statement_supersedes_nothing() -> None:
    assert newest((BUS, "01", 0.8), (f"> {BIKE}", "12", 0.75), *OTHERS) == BUS


def test_later_statement_of_another_attribute_supersedes_nothing() -> None:
    assert newest((BUS, "01", 0.8), *OTHERS) == BUS


def test_turn_of_machine_or_without_time_is_no_candidate() -> None:
    assert newest((BUS, "01", 0.8), *OTHERS, speaker="assistant") is None
    assert newest((BUS, "", 0.8)) is None


def test_later_question_hides_no_statement() -> None:
    assert newest((QUESTION, "12", 1.0), (BUS, "01", 0.8), *OTHERS) == BUS


def test_request_may_hold_a_statement() -> None:
    request = "Now I bike to the lab, can you draw a map?"
    assert newest((request, "12", 0.8), (BUS, "01", 0.8), *OTHERS) == request


def test_candidates_are_the_nearest_by_cosine() -> None:
    said = [(f"Text {number}.", "03", number / 40) for number in range(30)]
    candidates = find_candidates(QUESTION, *results(*said), {})
    assert candidates is not None
    assert list(candidates.texts) == [f"Text {number}." for number in range(29, 9, -1)]
    assert len(candidates.texts) == CANDIDATES


def test_a_question_that_names_a_speaker_has_no_answer_by_likeness() -> None:
    assert newest((BUS, "01", 0.8), *OTHERS, question="How does Ann get to the lab?", speaker="Ann") is None


def test_results_without_vectors_change_nothing() -> None:
    items, found = results((BUS, "01", 0.8), *OTHERS)
    assert find_told(QUESTION, items, {key: SegmentMatch(key, 1.0, {}) for key in found}, {}) is None
    assert find_told(QUESTION, [], {}, {}) is None


def test_another_user_supersedes_nothing() -> None:
    items, found = results((BUS, "01", 0.8), *OTHERS)
    theirs, more = results((BIKE, "30", 0.79))
    (other,) = theirs
    other = Evidence(replace(other.segment, id="t0", document_id="e"), "e", 1.0, {})
    known = {**found, "t0": more["s0"]}
    told = find_told(QUESTION, [*items, other], known, {"d": "ann", "e": "tom"})
    assert told is not None
    assert told.newest is not None
    assert told.newest.segment.document_id == "d"


def say(memory: Memory, text: str, day: str) -> None:
    memory.session(user="ann", session=day).add([{"role": "user", "content": text, "time": day}])


def test_search_puts_last_statement_first_without_rule(memory: Memory) -> None:
    say(memory, "The red bus takes me to the lab.", "2026-05-12")
    say(memory, "Sold my bus pass, so these days I cycle to the lab.", "2026-05-20")
    for number in range(8):
        say(memory, f"It rained on the {number} of them.", f"2026-06-0{number + 1}")

    assert "cycle" in memory.search("How do I get to the lab?", user="ann", k=1)[0].text
    assert "red bus" in memory.search("How do I get to the lab?", user="ann", k=1, at="2026-05-15")[0].text
    assert "red bus" in memory.search("Which bus took me to the lab before?", user="ann", k=1)[0].text


def test_comparison_by_likeness_reads_nothing_more(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    say(memory, "The red bus takes me to the lab.", "2026-05-12")
    say(memory, "My bank is Wise.", "2026-05-13")
    memory.search("lab", user="ann", k=1)  # reads what was written
    reads: Counter[str] = Counter()
    for name in ("version", "documents", "nodes"):
        monkeypatch.setattr(
            memory._parts.search._graph, name, counted(reads, name, getattr(memory._parts.search._graph, name))
        )

    memory.search("How do I get to the lab?", user="ann", k=1)
    of_now = Counter(reads)
    reads.clear()
    memory.search("How did I get to the lab before?", user="ann", k=1)
    assert of_now == reads


def counted(reads: Counter[str], name: str, read: Callable[..., Any]) -> Callable[..., Any]:
    def counting(*given: Any, **more: Any) -> Any:
        reads[name] += 1
        return read(*given, **more)

    return counting
