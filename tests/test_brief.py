"""The brief of a memory: what is in it, what is not, its places, its size, and its scope."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from memories import options

from memgraph_rag import AsyncMemory, Memory
from memgraph_rag.errors import QuestionError, SettingsError
from memgraph_rag.facts.plans import due_day, finishes, plans

TALK = [
    ("user", "My name is Ann. I live in Berlin. Always answer in metric units.", "2026-05-01T10:00"),
    ("user", "Okay, let's use SQLite for the shop. I still need to call Tom. The deadline is on June 3.", "2026-05-02"),
    ("assistant", "Good. I still need to know your shoe size.", "2026-05-02T10:01"),
    ("user", "I must pay the rent by next Friday.", "2026-05-03"),
    ("user", "I moved to Oslo. I called Tom. I went to the museum yesterday.", "2026-05-12"),
    ("user", "Let's switch to Postgres for the shop.", "2026-05-13"),
]


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    with Memory(":memory:", **options(embedder="auto", layers=())) as opened:
        turns = [{"role": role, "content": text, "time": time} for role, text, time in TALK]
        opened.session(user="ann", session="one").add(turns)
        opened.session(user="tom", session="two").add(
            [{"role": "user", "content": "My cat is called Mia.", "time": "2026-05-13"}]
        )
        yield opened


def test_brief_holds_what_holds_and_what_is_open(memory: Memory) -> None:
    brief = memory.brief(user="ann", at="2026-05-14")
    texts = {
        section: [line.text for line in brief.lines if line.section == section]
        for section in ("holds", "wish", "open", "decision", "deed")
    }
    assert texts == {
        "holds": ["home: Oslo (since 12 May 2026)", "name: Ann (since 1 May 2026)"],
        "wish": ["Always answer in metric units"],
        "open": ["2 May 2026: The deadline is on June 3. (due 3 June 2026)"],
        "decision": ["13 May 2026: Let's switch to Postgres for the shop."],
        "deed": [
            "12 May 2026: I went to the museum yesterday. (yesterday: 11 May 2026)",
            "12 May 2026: I called Tom.",
        ],
    }
    assert brief.lines[0].said == "2026-05-12"
    assert "shoe" not in brief.text
    assert "Mia" not in brief.text


def test_each_line_cites_its_words(memory: Memory) -> None:
    brief = memory.brief(at="2026-05-14")
    quotes = [memory.get(line.document_key).text[line.start : line.end] for line in brief.lines]
    assert "I moved to Oslo." in quotes
    assert all(quote.strip() == quote and len(quote) > 8 for quote in quotes)
    assert brief.text.count("[") == len(brief.lines)
    assert {line[2:] for line in brief.text.splitlines()[-2:]} == {"session/ann/one/0", "session/tom/two/0"}


def test_deed_finishes_the_task_with_the_same_verb_and_object() -> None:
    said = [
        (
            "user",
            "I need to renew my passport. I need to book the flight to Rome. I must water the plants.",
            "2026-05-01",
        ),
        (
            "user",
            "I renewed my passport today. I went to Rome last year. I watered the plants on Monday.",
            "2026-05-02",
        ),
        ("Tom", "I watered the plants.", "2026-05-03"),
        ("user", "I must water the plants again.", "2026-05-03"),
    ]
    with Memory(":memory:", **options(embedder="auto", layers=())) as memory:
        memory.session(user="ann").add([{"role": role, "content": text, "time": day} for role, text, day in said])
        lines = memory.brief(user="ann", at="2026-05-04").lines
    tasks = [line.text.partition(": ")[2] for line in lines if line.section == "open"]
    assert tasks == ["I must water the plants again.", "I need to book the flight to Rome."]


def test_brief_of_an_earlier_day_is_that_of_the_day(memory: Memory) -> None:
    text = memory.scoped(user="ann").brief(at="2026-05-04").text
    assert "home: Berlin" in text
    assert "use SQLite" in text
    assert "I still need to call Tom." in text
    assert "due 8 May 2026" in text
    assert "Oslo" not in text


@pytest.mark.parametrize("most", [1, 40, 120, 600])
def test_brief_has_at_most_the_asked_tokens(memory: Memory, most: int) -> None:
    text = memory.brief(max_tokens=most, at="2026-05-14").text
    assert memory.embedder.count_tokens([text])[0] <= most
    assert bool(text) == (most > 1)


def test_long_turn_without_spaces_is_in_the_brief() -> None:
    with Memory(":memory:", **options(layers=(), segment_tokens=1000)) as opened:
        opened.session(user="ann", session="one").add([{"role": "user", "content": "昨天我们去了海边" * 40}])
        assert 240 in {line.end - line.start for line in opened.brief().lines}


def test_brief_about_a_subject_leaves_others_out(memory: Memory) -> None:
    text = memory.brief(about="the database of the shop", at="2026-05-14").text
    assert "Postgres" in text
    assert "museum" not in text.partition("Spoken of last")[0]


def test_empty_memory_has_an_empty_brief_and_wrong_arguments_raise() -> None:
    with Memory(":memory:", **options()) as empty:
        assert empty.brief().text == ""
        with pytest.raises(SettingsError, match="max_tokens"):
            empty.brief(max_tokens=0)
        with pytest.raises(QuestionError):
            empty.brief(about=" ")


def test_awaited_brief_is_the_same(memory: Memory) -> None:
    assert asyncio.run(AsyncMemory(memory).brief(at="2026-05-14")) == memory.brief(at="2026-05-14")


def test_plans_are_read_from_clauses_that_state_them() -> None:
    found = {
        "Let's go with httpx instead of requests.": ["decision"],
        "We decided to ship on Monday.": ["decision"],
        "I need to renew my passport.": ["task"],
        "I'll visit Tom next week.": ["task"],
        "I'll do that.": [],
        "I fixed the login bug.": ["done"],
        "Should we use Rust?": [],
        "The weather is nice.": [],
    }
    assert {text: [plan.kind for plan in plans(text)] for text in found} == found


def test_plan_is_due_on_the_last_day_that_it_names() -> None:
    assert str(due_day("I must send it by 2026-06-01", "2026-05-12")) == "2026-06-01"
    assert str(due_day("The exam is on March 3", "2026-05-12")) == "2027-03-03"
    assert due_day("The exam is on March 3", "9999-12-31") is None  # the calendar has no later one
    assert str(due_day("The exam is on February 29", "2023-03-01")) == "2024-02-29"
    assert str(due_day("The exam is on February 29", "2096-03-01")) == "2104-02-29"
    assert due_day("I must send it", "2026-05-12") is None
    assert due_day("I need to answer Tom's mail from yesterday", "2026-05-12") is None, "it stays open"
    assert due_day("I must renew the pass that expired on 2026-04-01", "2026-05-12") is None
    assert str(due_day("The exam on 2026-05-11 is over", "2026-05-12")) == "2026-05-11"
    assert not finishes("I fixed the login bug", "I need to renew my passport")


def test_task_after_a_similar_deed_is_open_without_times() -> None:
    said = ["I booked the flight to Rome.", "I still need to book the flight to Oslo.", "I must call Tom."]
    said.append("I called Tom.")
    with Memory(":memory:", **options(layers=("facts",))) as opened:
        opened.add([{"role": "user", "content": text} for text in said])
        quotes = [line.text.rpartition(": ")[2] for line in opened.brief().lines if line.section == "open"]
        assert quotes == [said[1]]


def test_deadline_is_open_in_the_brief_of_its_day() -> None:
    with Memory(":memory:", **options(layers=("facts",))) as opened:
        opened.add([{"role": "user", "content": "The deadline is on June 3.", "time": "2026-05-02"}])
        days = [day for day in ("2026-06-02", "2026-06-03", "2026-06-04") if "(due 3 June" in opened.brief(at=day).text]
        opened.brief(until="0001-01-01")
    assert days == ["2026-06-02", "2026-06-03"]
