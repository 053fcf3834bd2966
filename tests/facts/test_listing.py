"""Test that statements are listed with their place and with what holds, within a scope."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from memories import options

from memgraph_rag import Memory


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", **options(layers=("facts",))) as memory:
        for user, day, words in (
            ("ann", "2024-01-01", "I live in Paris."),
            ("ann", "2024-05-12", "I moved from Paris to Berlin."),
            ("ann", "2024-06-01", "Always answer in metric units."),
            ("tom", "2024-06-01", "I live in Rome."),
        ):
            memory.session(user=user).add([{"role": "user", "content": words, "time": day}])
        yield memory


def test_statements_come_with_standing_and_wishes_last(memory: Memory) -> None:
    listed = memory.scoped(user="ann").statements()
    assert [(each.attribute, each.value, each.standing.state if each.standing else each.kind) for each in listed] == [
        ("home", "Paris", "superseded"),
        ("home", "Berlin", "holds"),
        ("", "Always answer in metric units", "instruction"),
    ]


def test_statement_quotes_its_place(memory: Memory) -> None:
    for each in memory.scoped().statements():
        assert memory.get(each.document_id).text[each.start : each.end] == each.quote


def test_listing_in_a_scope_leaves_out_other_and_later_turns(memory: Memory) -> None:
    assert {each.user for each in memory.scoped().statements()} == {"ann", "tom"}
    before = memory.scoped(user="ann", at="2024-02-01").statements()
    assert [(each.value, each.standing.state) for each in before if each.standing] == [("Paris", "holds")]
    memory.forget(user="ann")
    assert {each.user for each in memory.scoped().statements()} == {"tom"}
