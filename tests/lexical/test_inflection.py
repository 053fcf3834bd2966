"""Test that a pattern for verbs matches their forms, and no other words."""

from __future__ import annotations

import re

from tables import table

from memgraph_rag.lexical.inflection import verb_pattern


@table(
    ("verb", "forms"),
    [
        ("try", "try tries tried trying"),
        ("buy", "buy buys bought buying"),
        ("go", "go goes went gone going"),
        ("switch", "switch switches switched switching"),
        ("pass", "pass passes passed passing"),
        ("move", "move moves moved moving"),
        ("drop", "drop drops dropped dropping"),
    ],
)
def test_pattern_matches_forms_of_verb(verb: str, forms: str) -> None:
    pattern = re.compile(verb_pattern([verb]))
    assert [form for form in forms.split() if not pattern.fullmatch(form)] == []


@table(("verb", "word"), [("try", "trys"), ("go", "gos"), ("switch", "switchs"), ("move", "mov")])
def test_pattern_matches_no_false_form(verb: str, word: str) -> None:
    assert not re.fullmatch(verb_pattern([verb]), word)
