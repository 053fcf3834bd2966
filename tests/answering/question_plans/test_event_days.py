"""The day of an event, from the sentences of a conversation that tell it."""

from __future__ import annotations

from tables import table

from memgraph_rag.answering.question_plans.event_days import find_event_day
from memgraph_rag.types import Citation

SAID = "2026-03-15T12:00"


def cite(quote: str) -> Citation:
    return Citation("d", "chat", "s", 0, len(quote), quote, 0.9)


def find(event: str, *quotes: str) -> str:
    found = find_event_day(event, [(cite(f"ann ({SAID}): {quote}"), SAID) for quote in quotes])
    return f"{found.day} {found.citation.quote[len(f'ann ({SAID}): ') :]}" if found else ""


@table(
    ("event", "quote", "day"),
    [
        ("I postponed the reunion", "I had to postpone the reunion on April 2 for a budget due May 8.", "2026-04-02"),
        ("finishing the first draft", "Outline by April 20, 2027, and first draft by May 15, 2027.", "2027-05-15"),
        ("the reunion in the park", "See you at the park reunion on 28 December!", "2025-12-28"),
        ("the reunion", "We were at the reunion with everybody.", "2026-03-15"),
        ("the swim", "Yesterday it rained, the swim was yesterday, the run is on March 20.", "2026-03-14"),
        ("the swim", "The swim was two weeks ago.", "2026-03-01"),
    ],
)
def test_day_nearest_to_words_of_the_event_is_its_day(event: str, quote: str, day: str) -> None:
    assert find(event, quote) == f"{day} {quote}"


def test_sentence_with_most_words_of_the_event_tells_its_day() -> None:
    quotes = ["The review is on May 3.", "The final code review was done on April 9.", "Code review again on May 5."]
    assert find("the final code review", *quotes) == f"2026-04-09 {quotes[1]}"


def test_sentence_with_a_day_goes_before_one_without() -> None:
    quotes = ["Plan the peer review.", "The peer review is planned for April 2."]
    assert find("I planned the peer review", *quotes) == f"2026-04-02 {quotes[1]}"


@table("quote", ["Thanks for the reminder on May 3.", "The budget is due on May 3.", "2026-05-03T10:00"])
def test_sentence_about_something_else_tells_no_day(quote: str) -> None:
    assert find("my meeting with the professor", quote) == ""


def test_turn_without_a_time_tells_no_day() -> None:
    assert find_event_day("the reunion", [(cite("The reunion is on May 3."), "")]) is None
