"""Test the normal form of names, and the names of a question."""

from __future__ import annotations

import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st
from tables import table

from memgraph_rag.lexical.capitalised_names import find_capitalised
from memgraph_rag.lexical.names import LONGEST_NAME, find_names, is_name, ngrams, normalise
from memgraph_rag.testing import FakeRecognizer


def found(text: str) -> list[str]:
    return [text[start:end] for start, end in find_capitalised(text)]


# ── the normal form ──────────────────────────────────────────────────────────────────────────────────────────


@table(
    ("surfaces", "normal"),
    [
        (("Ann Lee", "ANN\n  LEE", " Ann\N{NO-BREAK SPACE}Lee,", "“Ann Lee”", "Ann Lee's", "Ann Lee’s"), "ann lee"),
        (("The Beatles", "the beatles’", "Beatles'", "A Beatles"), "beatles"),
        (("Tenderness (film)", "tenderness (Film).", "the Tenderness (film)'s"), "tenderness (film)"),
        (("King’s Command (film", "King's Command (", "King's Command"), "king's command"),
        (("(Paris)", "[Paris]", "((Paris))", "Paris)"), "paris"),
        (("(500) Days of Summer",), "(500) days of summer"),
        (("O’Neill", "O'Neill", "Oʼneill's"), "o'neill"),
        (("Paris–Dakar", "Paris-Dakar", "PARIS—DAKAR"), "paris-dakar"),
        (("C++", "c++,"), "c++"),
        (("C#", "(C#)"), "c#"),
        (("Straße", "STRASSE"), "strasse"),
        (("Café", "Cafe\N{COMBINING ACUTE ACCENT}", "CAFÉ"), "café"),
        (("ﬁnland", "Finland", "Ｆｉｎｌａｎｄ", "Fin\N{SOFT HYPHEN}land", "\N{ZERO WIDTH SPACE}Finland"), "finland"),
        (("हिन्दी",), "हिन्दी"),
        (("Москва", "МОСКВА"), "москва"),
        (("U.S.", "U.S"), "u.s"),
        (("the the", "The The The"), "the"),
        (("Tikhaya Sosna",), "tikhaya sosna"),
        (("Abraham Van Helsing", "the Abraham Van Helsing"), "abraham van helsing"),
        (("Alice's Adventures in Wonderland",), "alice's adventures in wonderland"),
        (("", " ", "'s", "—", "…", "🙂", "\0", "\ud800", "x" * (LONGEST_NAME + 1), "a b " * 1_000), ""),
    ],
)  # fmt: skip
def test_forms_of_a_name_have_one_normal_form(surfaces: tuple[str, ...], normal: str) -> None:
    assert [normalise(surface) for surface in surfaces] == [normal] * len(surfaces)


ODD = st.text(alphabet=st.sampled_from("aSsT '’`()[]{}-—.,\"+#\t\n\xa0\xad\u200b\u0301\ud800\0ßİǅﬁ️の the"), max_size=40)


@given(
    st.text(max_size=60) | ODD | st.lists(st.sampled_from(["the", "a", "an", "x's", "'s", "(", ")", "y"])).map(" ".join)
)
@example("ͅ" * 3)
@example("\u1e9b\u0323")
def test_normal_form_is_stable_and_visible(surface: str) -> None:
    normal = normalise(surface)
    assert normalise(normal) == normal
    assert len(normal) <= LONGEST_NAME
    assert normal == " ".join(normal.split())
    assert not {unicodedata.category(character) for character in normal} & {"Cc", "Cf", "Cs", "Cn", "Zl", "Zp"}


@given(st.text(alphabet=st.characters(categories=["Ll", "Lu"]), min_size=1, max_size=20))
def test_case_and_surroundings_do_not_matter(word: str) -> None:
    forms = {normalise(word), normalise(word.upper().lower()), normalise(f" “the {word}’s”, ")}
    if normalise(word) == normalise(word.upper()):  # not so for some, such as the dotless i
        assert len(forms) == 1 or normalise(word) in ("a", "an", "the")


@table(("normal", "named"), [("ann", True), ("apollo 11", True), ("1984", False), ("", False), ("の", True)])
def test_name_contains_a_letter(normal: str, named: bool) -> None:
    assert is_name(normal) is named


# ── what a question names ────────────────────────────────────────────────────────────────────────────────────


def test_names_of_rules_and_recognizer_are_joined_in_order() -> None:
    recognizer = FakeRecognizer({"fox": "ANIMAL", "Lee": "PERSON"})
    question = "Did Ann Lee see the fox in 1999, or was it Lee's fox in Oslo?"
    assert find_names(question, recognizer) == ["ann lee", "lee", "fox", "oslo"]
    assert find_names("", recognizer) == find_names("what was it?", recognizer) == find_names("1999?", recognizer) == []


def test_ngrams_are_all_runs_of_words_in_normal_form() -> None:
    assert ngrams("Who plays in Tenderness (film)?", 3) == [
        "who", "who plays", "who plays in", "plays", "plays in", "plays in tenderness", "in", "in tenderness",
        "in tenderness (film)", "tenderness", "tenderness (film)", "film",
    ]  # fmt: skip
    assert ngrams("The 39 steps's end") == ["the 39 steps's end", "39 steps", "steps"][:0] + ngrams(
        "the 39 steps's end"
    )
    assert ngrams("  \n ") == []


@given(
    st.lists(st.sampled_from(["Paris", "the", "“Lee’s”", "(film)", "11", "-"]), max_size=12).map(" ".join),
    st.integers(1, 9),
)
def test_every_title_that_a_question_holds_is_an_ngram(question: str, longest: int) -> None:
    words = question.split()
    for start in range(len(words)):
        for end in range(start + 1, min(start + longest, len(words)) + 1):
            title = normalise(" ".join(words[start:end]))
            assert not is_name(title) or title in ngrams(question, longest)


def test_a_question_of_10_000_words_has_a_bounded_number_of_ngrams() -> None:
    grams = ngrams(" ".join(f"word{number}" for number in range(10_000)))
    assert 8 * 4_000 < len(grams) <= 8 * 4_096
    assert ngrams("a" * 1_000_000 + " Paris")[-1] == "paris"


# ── capitals ─────────────────────────────────────────────────────────────────────────────────────────────────


@table(
    ("text", "names"),
    [
        ("We met Ann Lee in Paris.", ["Ann Lee", "Paris"]),
        ("Rain fell on Oslo. Rain again.", ["Oslo"]),
        ("He met Ann. Ann left.", ["Ann", "Ann"]),
        ("In London the Duke of York met the Mayor of the City.", ["London", "Duke of York", "Mayor of the City"]),
        ("Which Apollo 11 astronaut was born in Ohio?", ["Apollo 11", "Ohio"]),
        ("Did Scott Derrickson know Ed Wood?", ["Scott Derrickson", "Ed Wood"]),
        ("Mr. Collins met Dr. No. Then J. R. R. Tolkien came.", ["Mr. Collins", "Dr. No", "J. R. R. Tolkien"]),
        ("The film \"Inception\" is long. \"Nonsense!\" he said.", ["Inception"]),
        ("See “Paris” and \"Look at that\".", ["Paris"]),
        ("I think I'm late, but NASA is not.", ["NASA"]),
        ("She has an iPhone and a MacBook.", ["iPhone", "MacBook"]),
        ("IT WAS A DARK NIGHT IN PARIS. We left Paris.", ["PARIS", "Paris"]),
        ("He went to Rio de Janeiro with Ludwig van Beethoven.", ["Rio de Janeiro", "Ludwig van Beethoven"]),
        ("He likes Tom and Ann.", ["Tom", "Ann"]),
        ("It is in New\nYork.\n\nAnd so on.", ["New\nYork"]),
        ("- Apples\n- Pears of Kent\n* Milk", ["Pears of Kent"]),
        ("Мы видели Льва Толстого в Москве.", ["Льва Толстого", "Москве"]),
        ("Ο ποιητής Γιώργος Σεφέρης έζησε στην Αθήνα.", ["Γιώργος Σεφέρης", "Αθήνα"]),
        ("The U.S. Senate met Ame\u0301lie.", ["U.S. Senate", "Ame\u0301lie"]),
        ("东京 と 京都", []),
        ("", []),
        (" \n ", []),
    ],
)  # fmt: skip
def test_capitalised_words_are_found_as_names(text: str, names: list[str]) -> None:
    assert found(text) == names


@given(st.text(max_size=80) | st.text(alphabet=st.sampled_from("AbI .,\n\"“”’'-of1й(Щ"), max_size=60))
def test_spans_are_in_order_and_not_empty(text: str) -> None:
    last = 0
    for start, end in find_capitalised(text):
        assert last <= start < end <= len(text)
        assert text[start:end] == text[start:end].strip()
        last = end
