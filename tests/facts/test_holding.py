"""Test that what holds now comes before what it superseded; past, foreign and later statements do not count."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from memories import options
from tables import table

from memgraph_rag import Memory
from memgraph_rag.errors import SettingsError
from memgraph_rag.types import Evidence

MODES: tuple[Any, ...] = ("graph", "hybrid", "keywords", "vector")


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", **options(layers=())) as memory:
        yield memory


def say(memory: Memory, *texts: str, day: str, user: str = "ann", session: str = "1", role: str = "user") -> None:
    turns = [{"role": role, "content": text, "time": day} for text in texts]
    memory.session(user=user, session=session).add(turns)


def texts(evidence: list[Evidence]) -> list[str]:
    return [item.text.partition(": ")[2].strip() for item in evidence]


@pytest.mark.parametrize("mode", MODES)
def test_newest_value_comes_first(memory: Memory, mode: Any) -> None:
    say(memory, "I moved to Berlin.", day="2024-05-12", session="b")
    say(memory, "I live in Hamburg.", "Do I live well?", day="2024-03-01", session="a")
    say(memory, "You live in Hamburg, I see.", day="2024-06-01", role="assistant")

    best = memory.search("Where do I live now?", mode=mode, user="ann")

    assert texts(best)[0] == "I moved to Berlin."
    assert "I live in Hamburg." in texts(best)
    standing = best[0].standing
    assert standing is not None
    assert (standing.state, standing.value, standing.since, standing.until) == ("holds", "Berlin", "2024-05-12", "")
    assert [(rival.value, rival.said) for rival in standing.rivals] == [("Hamburg", "2024-03-01")]
    former = best[texts(best).index("I live in Hamburg.")].standing
    assert former is not None
    assert (former.state, former.until, former.rivals[0].quote) == ("superseded", "2024-05-12", "I moved to Berlin.")
    assert [item.score for item in best] == sorted((item.score for item in best), reverse=True)


def test_newer_value_replaces_no_value_of_another_attribute(memory: Memory) -> None:
    say(memory, "I moved to Berlin. Tom carried the piano.", day="2024-05-12")
    say(memory, "I live in Lisbon now.", day="2024-08-01")
    assert texts(memory.search("Who carried the piano?", mode="graph"))[0].endswith("carried the piano.")


@table("several", ["", "bike, phone"])
def test_newer_value_supersedes_none_of_a_noun_with_several_values(several: str) -> None:
    with Memory(":memory:", **options(layers=(), several=several or ())) as memory:
        say(memory, "My bike is a Brompton.", day="2024-03-01", session="a")
        say(memory, "My bike is a Gazelle.", day="2024-05-12", session="b")
        standings = [item.standing for item in memory.search("my bike", user="ann")]
    assert [standing is None for standing in standings] == [bool(several)] * 2


def test_holding_as_of_a_day_ignores_later_turns(memory: Memory) -> None:
    for place, day in (("Hamburg", "2024-03-01"), ("Berlin", "2024-05-12"), ("Oslo", "2024-08-01")):
        say(memory, f"I live in {place}.", day=f"{day}T10:00")

    for at, place in (("2024-03-01", "Hamburg"), ("2024-05-11", "Hamburg"), ("2024-05-12", "Berlin")):
        best = memory.search("Where do I live?", at=at, k=1)
        assert texts(best) == [f"I live in {place}."]
        assert best[0].standing is not None
        assert best[0].standing.state == "holds"
    assert memory.search("Where do I live?", at="2024-02-01") == []
    with pytest.raises(SettingsError, match="both"):
        memory.search("Where do I live?", at="2024-02-01", until="2024-02-01")
    with pytest.raises(SettingsError, match="Expected at"):
        memory.search("Where do I live?", at="noon")


def test_statement_outside_results_is_added(memory: Memory) -> None:
    say(memory, *[f"Where do I live and live and live, number {n}?" for n in range(60)], day="2024-03-02")
    say(memory, "I relocated to Zzyzx.", day="2024-05-12")

    best = memory.search("Where do I live?", k=1, mode="keywords")
    assert texts(best) == ["I relocated to Zzyzx."]


def test_question_about_past_keeps_order(memory: Memory) -> None:
    say(memory, "My job is baker.", day="2024-03-01")
    say(memory, "My job is now plumber, something entirely else.", day="2024-05-01")

    assert texts(memory.search("What was my job before?", mode="keywords"))[0] == "My job is baker."
    assert texts(memory.search("What is my job?", mode="keywords"))[0].startswith("My job is now plumber")


def test_statement_of_another_user_or_speaker_supersedes_nothing(memory: Memory) -> None:
    say(memory, "I live in Hamburg.", day="2024-03-01", user="ann")
    say(memory, "I live in Berlin.", day="2024-05-12", user="tom")
    say(memory, "I live in Rome.", day="2024-06-12", user="ann", role="Eve")

    for user, place in (("ann", "Hamburg"), ("tom", "Berlin")):
        (item,) = (e for e in memory.search("Where do I live?", user=user) if place in e.text)
        assert item.standing is not None
        assert (item.standing.state, item.standing.rivals) == ("holds", ())
    assert texts(memory.search("Where does Eve live?", user="ann"))[0] == "I live in Rome."


def test_repeated_value_counts_its_occurrences(memory: Memory) -> None:
    for month in range(1, 11):
        say(memory, "My car is a Volvo.", day=f"2024-{month:02}-01")
    say(memory, "You drive a Volvo.", day="2024-11-01", role="assistant")
    best = memory.search("What is my car?", k=10)
    stood = [(item.standing.state, item.standing.since, item.standing.occurrences) for item in best if item.standing]
    assert stood == [("holds", "2024-01-01", 10)] * 10
    assert all(item.standing.rivals == () for item in best if item.standing)

    say(memory, "I replaced my car with a Fiat.", day="2024-12-01")
    (now,) = memory.search("What is my car?", k=1)
    assert now.standing is not None
    assert (now.standing.value, now.standing.occurrences) == ("a Fiat", 1)


def test_turns_are_ordered_by_their_time(memory: Memory) -> None:
    for place, day in (("Oslo", "2024-08-01"), ("Hamburg", "2024-03-01"), ("Berlin", "2024-05-12")):
        say(memory, f"I live in {place}.", day=day)
    best = memory.search("Where do I live?", k=3)
    assert str(best[0].standing) == "home: since 1 August 2024: Oslo; before: Berlin, Hamburg"
    assert texts(memory.search("Where do I live?", k=1, at="2024-04-01")) == ["I live in Hamburg."]


def test_switch_supersedes_the_former_value(memory: Memory) -> None:
    say(memory, "I live in Hamburg.", "My dentist is Dr. Vogel.", day="2024-03-01")
    say(memory, "My editor is Vogel Studio.", day="2024-03-01", user="tom")
    say(memory, "I switched from Vogel to Dr. Novak.", day="2024-05-12", session="b")

    best = memory.search("Who is my dentist?", user="ann", k=3)
    assert texts(best)[:2] == ["I switched from Vogel to Dr. Novak.", "My dentist is Dr. Vogel."]
    assert str(best[0].standing) == "dentist: since 12 May 2024: Dr. Novak; before: Dr. Vogel"
    assert str(best[1].standing) == "dentist: until 12 May 2024: Dr. Vogel; since then: Dr. Novak"
    assert texts(memory.search("Who is my dentist?", user="ann", k=1, at="2024-04-01")) == ["My dentist is Dr. Vogel."]
    editor = memory.search("What is my editor?", user="tom", k=1)[0]
    assert str(editor.standing) == "editor: since 1 March 2024: Vogel Studio"


def test_end_without_a_new_value_supersedes_the_value(memory: Memory) -> None:
    say(memory, "I work for Siemens.", day="2024-03-01")
    say(memory, "I quit my job at Siemens.", day="2024-05-12", session="b")
    best = memory.search("Where do I work?", k=2)
    assert texts(best) == ["I quit my job at Siemens.", "I work for Siemens."]
    assert str(best[0].standing) == "employer: since 12 May 2024: no longer Siemens; before: Siemens"
    say(memory, "I work for Bosch.", day="2024-08-01", session="c")
    best = memory.search("Where do I work?", k=1)
    assert str(best[0].standing) == "employer: since 1 August 2024: Bosch; before: no longer Siemens, Siemens"


def test_switch_of_a_named_thing_gives_its_former_value(memory: Memory) -> None:
    say(memory, "I switched my phone from a Nokia to a Pixel.", day="2024-05-12")
    best = memory.search("Which phone do I have?", k=1)
    assert str(best[0].standing) == "phone: since 12 May 2024: a Pixel; before: a Nokia"


def test_journey_or_unknown_value_supersedes_nothing(memory: Memory) -> None:
    say(
        memory,
        "I live in Bonn.",
        "My bank is Monzo.",
        "My favourite drink is Cola.",
        "My team is Cola.",
        day="2024-03-01",
    )
    for text in ("I drove from Bonn to Berlin.", "I went from Bonn to Rome.", "I switched from Wise to Nordea.",
                 "I switched from Cola to Fanta."):  # fmt: skip
        say(memory, text, day="2024-05-12", session=text)
    for question, value in (
        ("Where do I live?", "Bonn"),
        ("Which bank do I use?", "Monzo"),
        ("What is my team?", "Cola"),
    ):
        standing = memory.search(question, k=1)[0].standing
        assert standing is not None
        assert (standing.state, standing.value, standing.rivals) == ("holds", value, ())


def test_contradiction_cites_both_quotes(memory: Memory) -> None:
    say(memory, "I never ate oysters.", day="2024-05-12")
    say(memory, *[f"I like the sea, number {n}." for n in range(30)], day="2024-05-20")
    say(memory, "I ate oysters last week.", day="2024-06-12")
    say(memory, "My team is Falcons.", day="2024-06-12", session="a")
    say(memory, "My team is Wolves.", day="2024-06-12", session="b")

    pair = memory.search("Have I ever eaten oysters?", k=2, mode="keywords")
    assert sorted(texts(pair)) == ["I ate oysters last week.", "I never ate oysters."]
    for item in (*pair, *memory.search("What is my team?", k=2)):
        assert item.standing is not None
        assert item.standing.state == "contradicted"
        assert len(item.standing.rivals) == 1
    assert sorted(texts(memory.search("What is my team?", k=2))) == ["My team is Falcons.", "My team is Wolves."]


@pytest.mark.parametrize(
    "other",
    [
        "I went to Chile.",
        "My brother went to Peru.",
        "I might have been to Peru if I had money.",
        "I drew a map of Peru.",
    ],
)
def test_other_object_person_or_verb_contradicts_nothing(memory: Memory, other: str) -> None:
    say(memory, "I have never been to Peru.", day="2024-05-12")
    say(memory, other, day="2024-06-12")
    assert not any(item.standing and item.standing.rivals for item in memory.search("Have I been to Peru?"))


def test_deed_of_another_user_or_of_a_machine_contradicts_nothing(memory: Memory) -> None:
    say(memory, "I have never been to Peru.", day="2024-05-12")
    say(memory, "I went to Peru.", day="2024-06-12", user="tom")
    say(memory, "I went to Peru.", day="2024-06-13", role="assistant", session="2")
    assert not any(item.standing and item.standing.rivals for item in memory.search("Have I been to Peru?"))


def test_forgotten_or_edited_statement_supersedes_nothing(memory: Memory) -> None:
    say(memory, "I live in Hamburg.", day="2024-03-01", session="a")
    session = memory.session(user="ann", session="b")
    session.add([{"role": "user", "content": "I moved to Berlin.", "time": "2024-05-12", "id": 1}])
    assert texts(memory.search("Where do I live?", k=1)) == ["I moved to Berlin."]

    session.add([{"role": "user", "content": "I bought bread.", "time": "2024-05-12", "id": 1}])
    best = memory.search("Where do I live?", k=1)
    assert texts(best) == ["I live in Hamburg."]
    assert best[0].standing is not None
    assert best[0].standing.rivals == ()

    session.add([{"role": "user", "content": "I moved to Berlin.", "time": "2024-05-12", "id": 1}])
    assert texts(memory.search("Where do I live?", k=1)) == ["I moved to Berlin."]
    memory.forget(user="ann", session="b")
    assert texts(memory.search("Where do I live?", k=1)) == ["I live in Hamburg."]


def test_chat_added_whole_has_facts(memory: Memory) -> None:
    chat = [{"role": "user", "content": f"I live in {place}.", "time": day} for place, day in
            (("Hamburg", "2024-03-01"), ("Berlin", "2024-05-12"))]  # fmt: skip
    memory.add(chat, key="chat")
    assert all(item.standing is None for item in memory.search("Where do I live?"))
    list(memory.deepen(layers=["facts"]))
    assert texts(memory.search("Where do I live?"))[0] == "I live in Berlin."
