"""Test which clauses speak of the speaker."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tables import table

from memgraph_rag.facts.grammar.own_clauses import own_clauses


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


@given(st.text(alphabet="I my was Rex?.,' \n", max_size=200))
def test_own_clauses_are_places_in_the_text(text: str) -> None:
    places = [(clause.start, clause.end) for clause in own_clauses(text)]
    assert all(0 <= start < end <= len(text) for start, end in places)
