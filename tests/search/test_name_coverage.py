"""Test which names a question holds, and whether a text holds them."""

from __future__ import annotations

from tables import table

from memgraph_rag.search.name_coverage import check_names, correct_name, select_checked_part


@table(
    ("question", "asked"),
    [
        ("When did Tom call?", "When did Tom call?"),
        ("Who is the CEO of Acme in the USA?", "Who is the   of Acme in the  ?"),
        ("Which EPs did Ann buy?", "Which   did Ann buy?"),
        ("Who hid it?\nA. Tom\nB. Ann", "Who hid it?"),
        ("Say who hid it\nA. Tom\nB. Ann", "Say who hid it"),
        ("Wer leitet die Abteilung?", ""),
        ("¿Quién es la hermana de Ana?", ""),
        ("Did the Foxes or Ann and Tom win?", "Did the Foxes , Ann , Tom win?"),
        ("Tom?", ""),
        ("", ""),
    ],
)
def test_names_count_in_english_without_choices_and_abbreviations(question: str, asked: str) -> None:
    assert select_checked_part(question) == asked


@table(
    ("name", "text", "is_held"),
    [
        ("tom", "Tom hid it.", True),
        ("tom", "A tomato.", False),
        ("tom brown", "Brown met Tom.", True),
        ("tom brown", "Tom hid it.", False),
        ("aschenbrodel", "Aschenbrödel is a ballet.", True),
        ("wi-fi", "Reset the wifi.", True),
        ("d.p. varma", "Produced by D. P. Varma.", True),
        ("gothais", "A town near Gotha.", False),
        ("johnathan", "Jonathan had a mission.", True),
        ("anna", "Hanna had a mission.", False),
        ("duke of york", "York had a duke.", True),
        ("doctor meyer", "Ask Dr. Meyer.", True),
        ("king of hearts", "The Queen's hearts.", True),
        ("j. r. r. tolkien", "John Ronald Reuel Tolkien wrote it.", True),
        ("j.", "Jane left.", None),
        ("左近", "左近が来た。", True),
        ("左近", "誰も来ない。", False),
        ("", "Tom", None),
        ("the", "Tom", None),
        ("...", "Tom", None),
    ],
)
def test_name_is_covered_whole_or_by_words_of_one_text(name: str, text: str, is_held: bool | None) -> None:
    assert check_names([name], ["", text, "Nothing else."]).get(name) == is_held
    assert not any(check_names([name], []).values())


def test_words_of_a_name_are_needed_in_one_text() -> None:
    assert check_names(["tom brown"], ["Tom hid it.", "Brown found it."]) == {"tom brown": False}


def test_document_as_a_question_has_few_names() -> None:
    names = [f"somebody{number} elsewhere{number}" for number in range(10_000)]
    texts = [" ".join(f"someone{row}{number}" for number in range(200)) for row in range(256)]
    is_held = check_names(names, texts)
    assert list(is_held) == names[:32]
    assert not any(is_held.values())


@table(
    ("name", "texts", "expected"),
    [
        ("Fledhusen", ["He lives in Fledhusum."], "Fledhusum"),
        ("Jens Petersson", ["Jens was there.", "Ask Petersen."], "Jens Petersen"),
        ("McDonold", ["Ask McDonald."], "McDonald"),
        ("Bob", ["Rob was there."], ""),
        ("Eve Petersson", ["Ask Petersen."], ""),
        ("Tom Foxx", ["Tom saw Foxes."], ""),
        ("Petersen", ["Ask Petersen."], ""),
        ("Gardens", ["in the garden"], ""),  # nobody's name
    ],
)
def test_misspelt_name_is_corrected_from_texts(name: str, texts: list[str], expected: str) -> None:
    assert correct_name(name, texts) == expected
