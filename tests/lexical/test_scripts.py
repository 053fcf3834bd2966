"""Kinds of text: English, other languages in Latin letters, other scripts."""

from __future__ import annotations

import pytest

from memgraph_rag.lexical.scripts import kind_of_pair, kind_of_text


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("The fox built a box.", "english"),
        ("Ann Lee lives in Warsaw", "english"),
        ("", "english"),
        ("Die Füchse bauten im Wald eine Kiste.", "latin"),
        ("Der alte Fuchs baute damals im tiefen Wald", "latin"),
        ("谁建了箱子？", "cjk"),
        ("キツネ", "cjk"),
        ("Лиса построила ящик из BMW", "cyrillic"),
        ("सियार ने डिब्बा बनाया", "devanagari"),
        ("จิ้งจอกสร้างกล่อง", "thai"),
    ],
)
def test_text_has_a_kind(text: str, kind: str) -> None:
    assert kind_of_text(text) == kind


def test_text_decides_about_questions_in_latin_letters() -> None:
    german = "Die Füchse bauten im Wald eine Kiste."
    assert kind_of_pair("Who built a box?", german) == "latin"
    assert kind_of_pair("谁建了箱子？", german) == "cjk"
    assert kind_of_pair("Wer war das?", "The fox built a box.") == "english"
