"""Test which clauses speak of the speaker, and which of these may hold now."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tables import table

from memgraph_rag.facts.grammar.own_clauses import may_hold, own_clauses


@table(
    ("text", "own"),
    [
        ("Finally settled the lawyer question for myself: Okafor it is.", 1),
        ("Woke up in my new place in Lisbon.", 1),
        ("Practising the harp every evening now.", 1),
        ("My boss swears by Bergen as home.", 0),
        ("Our neighbours' dog is Rex.", 0),
        ("My brother sold me his car.", 1),
        ("Rain is falling on Lisbon.", 0),
        ("Which lawyer should I take?", 0),
    ],
)
def test_clauses_with_the_speaker_in_them(text: str, own: int) -> None:
    assert len(list(own_clauses(text))) == own


@table(
    ("clause", "may"),
    [
        ("If anyone asks about my accountant, the answer is Quist from today on", True),
        ("my keys are those of a flat in Rome", True),
        ("Years back Sofie used to be my coach", False),
        ("I once had Sofie as my coach", False),
        ("I don't have a coach", False),
        ("I read something about my coach", False),
        ("my sister's coach is Sofie", False),
        ("I might take Sofie as my coach", False),
    ],
)
def test_clauses_that_may_hold_now(clause: str, may: bool) -> None:
    assert may_hold(clause) is may


@given(st.text(alphabet="I my was Rex?.,' \n", max_size=200))
def test_own_clauses_are_places_in_the_text(text: str) -> None:
    places = [(clause.start, clause.end) for clause in own_clauses(text)]
    assert all(0 <= start < end <= len(text) for start, end in places)
