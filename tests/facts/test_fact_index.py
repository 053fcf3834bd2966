"""Test which facts hold: the shown rivals, and the time for many facts of one speaker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from memgraph_rag.facts.fact_index import Fact, group_by_subject, standings

MOST_RIVALS = 8


def a_fact(index: int, attribute: str, value: str, *, kind: str = "value", former: str = "", at: float = 0.0) -> Fact:
    key = ("user", "ann", attribute)
    return Fact(key, kind, value, "quote", "Ann", str(at), at, f"document {index}", f"segment {index}", 0, former)


@given(st.lists(st.sampled_from("ABC"), min_size=1, max_size=60), st.booleans())
def test_rivals_are_the_first_facts_with_another_value(values: Sequence[str], are_events: bool) -> None:
    kind = "event" if are_events else "value"
    facts = [a_fact(index, "home", value, kind=kind) for index, value in enumerate(values)]
    facts.sort(key=lambda fact: fact.document_id)

    stood = standings(facts)

    if len(set(values)) > 1:  # said at one moment in different documents: all of them clash
        for fact in facts:
            others = [other.rival for other in facts if other.value != fact.value]
            assert list(stood[fact.segment_id, 0].rivals) == others[:MOST_RIVALS]
    else:
        assert all(not standing.rivals for standing in stood.values())


@given(st.lists(st.sampled_from(["Ann", "Ann Lee", "Tom", "Tom Lee"]), max_size=30))
def test_former_value_names_its_attribute_if_unique(values: Sequence[str]) -> None:
    """Each value gives up the one before; only the first names its attribute."""
    facts = [a_fact(0, "boss", "Eve"), a_fact(0, "dentist", "Max")]
    for index, (former, value) in enumerate(zip(["Eve", *values], values, strict=False), 1):
        facts.append(a_fact(index, "", value, former=former, at=float(index)))

    read = group_by_subject(facts)

    assert [fact.value for fact in read["user", "ann", "dentist"]] == ["Max"]
    assert [fact.value for fact in read["user", "ann", "boss"]] == ["Eve", *values]


def test_ended_value_holds_no_longer() -> None:
    facts = [a_fact(0, "employer", "Siemens AG"), a_fact(1, "client", "Bosch", at=1.0)]

    for attribute in ("employer", ""):
        ended = [
            *facts,
            a_fact(2, attribute, "", former="Siemens", at=2.0),
            a_fact(3, "", "", former="Siemens", at=3.0),
        ]
        stood = standings(group_by_subject(ended)["user", "ann", "employer"])
        assert [(each.state, each.value) for each in stood.values()] == [
            ("superseded", "Siemens AG"),
            ("holds", "no longer Siemens"),
        ]

    for attribute, former in (("employer", "Bosch"), ("", "Bayer"), ("employer", "Bayer")):
        others = group_by_subject([*facts, a_fact(2, attribute, "", former=former, at=2.0)])
        assert {key[2]: [fact.value for fact in of] for key, of in others.items()} == {
            "employer": ["Siemens AG"],
            "client": ["Bosch"],
        }


def test_retracted_value_never_held() -> None:
    said = [("value", "Paris"), ("value", "Bonn"), ("denial", "Bonn"), ("denial", "Rome"), ("value", "Rome")]
    facts = [a_fact(n, "home", value, kind=kind, at=float(n)) for n, (kind, value) in enumerate(said)]

    assert [fact.value for fact in group_by_subject(facts)["user", "ann", "home"]] == ["Paris", "Rome"]
    held = standings(group_by_subject(facts[:4])["user", "ann", "home"])
    assert [(standing.state, standing.value) for standing in held.values()] == [("holds", "Paris")]


def test_value_is_retracted_in_a_document_without_times() -> None:
    said = [("value", "Paris"), ("value", "Bonn"), ("denial", "Bonn"), ("denial", "Rome"), ("value", "Rome")]
    facts = [replace(a_fact(0, "home", value, kind=kind), index=n) for n, (kind, value) in enumerate(said)]

    assert [fact.value for fact in group_by_subject(facts)["user", "ann", "home"]] == ["Paris", "Rome"]
    elsewhere = [*facts[:2], replace(facts[2], document_id="another")]  # no order decides between two documents
    assert [fact.value for fact in group_by_subject(elsewhere)["user", "ann", "home"]] == ["Paris", "Bonn"]
