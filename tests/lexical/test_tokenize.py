"""Test how texts of all scripts become words and terms."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import table

from memgraph_rag.lexical import tokenize
from memgraph_rag.lexical.bm25 import MOST_STEMMERS, KeywordIndex
from memgraph_rag.lexical.tokenize import WORD, index_terms, is_lone_letter, query_terms, stemmer_name, words

MIXED = "aZ09_'’.,-é ñß𝒳ÅİıΣ\u0301\u0940\u0e31Жщकषिท้มันか゚ガー漢字𠀀한글ខ្មែរ לּא"


@table(
    ("text", "expected"),
    [
        ("में पैंथर्स डिफ़ेंस", ["में", "पैंथर्स", "डिफ़ेंस"]),
        ("سُجلت الأهداف", ["سُجلت", "الأهداف"]),
        ("Cafe\u0301 au lait", ["café", "au", "lait"]),
        ("İstanbul’da 1,000 kişi", ["istanbul'da", "1,000", "kişi"]),
        ("東京都3件のバグ", ["東京", "京都", "3", "件の", "のバ", "バグ"]),
        ("ทีมรับ", ["ทีม", "มรั", "รับ"]),
        ("ខ្មែរ ລາວ", ["ខ្មែ", "មែរ", "ລາ", "າວ"]),
        ("猫 和 FastAPI框架", ["猫", "和", "fastapi", "框架"]),
        ("한국어 문서", ["한국어", "문서"]),
    ],
)
def test_text_is_cut_into_words_of_its_script(text: str, expected: list[str]) -> None:
    assert words(text) == [unicodedata.normalize("NFC", word) for word in expected]


@given(st.text(alphabet=MIXED, max_size=40))
def test_fast_patterns_find_same_words(text: str) -> None:
    lower = text.lower().replace("’", "'")  # as ``words`` does before

    if lower.isascii():
        assert tokenize._ASCII_WORD.findall(lower) == WORD.findall(lower)
    if not tokenize._NOT_PLAIN.search(lower):
        assert tokenize._PLAIN_WORD.findall(lower) == WORD.findall(lower)


@given(st.text(alphabet=MIXED, max_size=40), st.sampled_from(["", "de", "ar", "hi", "tr", "zh"]))
def test_terms_can_be_quoted(text: str, language: str) -> None:
    for term in index_terms(text, stemmer_name(language)):
        assert not set(term) & set(' "\\*?:()') or not term


def test_query_has_terms_of_each_language() -> None:
    assert query_terms("Wie alt sind die Häuser?", ["german", "porter"])["häuser"] == ["haus", "hauser"]
    assert query_terms("the of and", ["german", "porter"]) == {}
    assert is_lone_letter("窗")
    assert not is_lone_letter("窗户")
    assert not is_lone_letter("a")


def test_row_is_found_in_its_language_only() -> None:
    index = KeywordIndex()
    index.append([("", "Die alten Häuser", "de"), ("", "Many houses", "en"), ("Häuser", "nothing else", "")])
    rows = np.arange(3)

    assert (index.scores(index.terms("Haus"), rows) > 0).tolist() == [True, False, False]
    assert (index.scores(index.terms("house"), rows) > 0).tolist() == [False, True, False]
    assert len(index.terms("Häuser", rows[:1])) == len(index.terms("Häuser", rows[2:])) == 1
    assert index.find_held(["haus", "house", "hus"], rows) == {"haus", "house"}
    assert "houses" in index.vocabulary(rows), "words, not stems: a misspelt name is corrected by them"
    assert index.rate_known("Wie alt ist das Haus am See?", rows) == 2 / 6, "alt and Haus; am is a stop word"
    assert index.rate_known("Haus", rows[1:2]) == 0, "no other row counts"
    assert index.rate_known("窗", rows) == index.rate_known("the", rows) == 1, "a lone letter, a stop word"
    index.append([("", "A house", "en")])
    assert "house" in index.vocabulary(np.arange(4)), "the shortest, whatever the order of the rows"


def test_query_has_stems_of_most_frequent_languages() -> None:
    index = KeywordIndex()
    index.append([("", "x", language) for language in ("de", "de", "es", "es", "fr", "fr", "", "zh", "ru")])

    assert index.stemmers() == sorted(["german", "spanish", "french", "porter"])
    assert len(index.stemmers()) == MOST_STEMMERS


def test_lone_letter_is_found_within_pairs() -> None:
    index = KeywordIndex()
    index.append([("", "暴风雨打破了窗户。", "zh"), ("", "黑豹队的防守", "zh")])

    assert (index.scores(index.terms("窗"), np.arange(2)) > 0).tolist() == [True, False]


def test_rows_elsewhere_do_not_change_terms() -> None:
    index = KeywordIndex()
    index.append([("", "The last boat", "en"), ("", "Many boats", "en"), ("", "Schwere Lasten am Hafen", "de")])
    english = np.arange(2)

    assert index.stemmers(english) == ["porter"]
    assert len(index.terms("Lasten", english)) == 0
    assert (index.scores(index.terms("Lasten"), np.arange(3)) > 0).tolist() == [True, False, True]


def test_postings_give_the_scores_of_a_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [
        ("", f"Otto saw {number % 7} foxes on day{number}. {'Rain. ' * (number % 3)}", "en") for number in range(60)
    ]
    scanned = KeywordIndex()
    scanned.append(texts)
    monkeypatch.setattr("memgraph_rag.lexical.bm25.MOST_UNPOSTED", 5)
    posted = KeywordIndex()
    for first in range(0, 60, 4):
        posted.append(texts[first : first + 4])
    restored = KeywordIndex()
    restored.restore(posted.pack())

    for rows in (np.arange(60), np.arange(1, 60, 3)):
        for query in ("foxes rain", "day59 Otto", "day3", "nothing"):
            expected = scanned.scores(scanned.terms(query), rows)
            assert 0 < len(posted._counts) < len(scanned._counts), "some rows have postings, the last ones have none"
            for index in (posted, restored):
                np.testing.assert_allclose(index.scores(index.terms(query), rows), expected)
    assert sorted(restored.vocabulary(rows, "f")) == ["foxes"]
