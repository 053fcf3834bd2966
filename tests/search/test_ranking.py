"""Test the features by which candidates are ordered, against values computed by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from tables import table

from memgraph_rag.lexical.bm25 import KeywordIndex
from memgraph_rag.lexical.text_table import TextList
from memgraph_rag.search.ranking import (
    FEATURES,
    TURN_FEATURES,
    TURN_WEIGHTS,
    WEIGHTS,
    Start,
    features,
    shares,
    standard,
    turn_features,
)
from memgraph_rag.search.segment_index import RowIds, Said, View
from memgraph_rag.search.vectors import RowVectors

TITLES = ["Red Harbour (film)", "Lund, Sweden", "Otto Brandt", "Rain"]
TEXTS = ["A silent film by Otto Brandt, shot in Lund.", "A town with a harbour.", "He grew up in Lund.", "It rained."]
PLACES = np.arange(4)


@pytest.fixture
def words() -> KeywordIndex:
    index = KeywordIndex()
    index.append((title, text, "") for title, text in zip(TITLES, TEXTS, strict=True))
    return index


@pytest.fixture
def view() -> View:
    vectors = np.array([[1, 0], [0, 1], [0.6, 0.8], [-1, 0]], np.float32)
    none = np.full(4, -1)
    ids = RowIds(TextList("abcd"), np.arange(4, dtype=np.uint64), PLACES)
    return View(PLACES, ids, RowVectors.encode(vectors), none, none, np.ones(4, np.int64), sparse.csr_matrix((4, 0)))


def told(view: View, words: KeywordIndex, question: str) -> dict[str, list[float]]:
    """Return each feature of all four candidates by name; the starts are the film and the director."""
    cosines = np.array([0.5, 0.1, 0.3, 0.1])
    start = Start(words.terms(question), cosines, np.array([0.4, 0.1, 0.2, 0.0]), (0, 2))
    figures = features(view, words, [*TITLES, TITLES[0], TITLES[2]], start, PLACES)
    assert figures.shape == (4, len(FEATURES)) == (4, len(WEIGHTS))
    return dict(zip(FEATURES, figures.T.tolist(), strict=True))


def test_each_feature_of_passage_has_its_value(view: View, words: KeywordIndex) -> None:
    figures = told(view, words, "red town harbour")
    assert figures["meaning"] == pytest.approx(standard(np.array([0.5, 0.1, 0.3, 0.1])).tolist())
    assert figures["second walk"][:3] == pytest.approx(np.log([1, 0.25, 0.5]).tolist(), abs=1e-4)
    assert figures["second walk"][3] == pytest.approx(np.log(1e-6)), "no mass is as little as almost none"
    red, town, harbour = words.rarity(words.terms("red town harbour"), PLACES)[[0, 2, 1]]
    whole = red + town + harbour
    assert figures["words"] == pytest.approx([(red + harbour) / whole, (town + harbour) / whole, 0, 0])
    assert figures["new to first"] == pytest.approx([0, town / whole, 0, 0])
    assert figures["new to second"] == pytest.approx(figures["words"]), "the second start holds none of them"
    assert figures["like second"] == pytest.approx([0.6, 0.8, 1.0, -0.6], abs=5e-5)
    lund, director = words.joint_rarity([words.terms("Lund"), words.terms(TITLES[2])], PLACES)
    assert 0 < lund < director
    named = [0, lund, director, 0]
    assert figures["named by first"] == pytest.approx(named), "whatever stands behind the comma; not the film itself"
    assert figures["named by second"] == pytest.approx([0, lund, 0, 0])
    assert figures["title asked for"] == pytest.approx([1, 0, 0, 0]), "without what stands in parentheses"


def test_words_of_a_question_in_another_language_count_less(view: View, words: KeywordIndex) -> None:
    terms, cosines, mass = words.terms("red town harbour"), np.array([0.5, 0.1, 0.3, 0.1]), np.full(4, 0.1)
    titles = [*TITLES, TITLES[0], TITLES[2]]
    whole, third = (
        features(view, words, titles, Start(terms, cosines, mass, (0, 2), word_weight=share), PLACES)
        for share in (1, 1 / 3)
    )
    of_words = [name in ("words", "new to first", "new to second") for name in FEATURES]
    assert third == pytest.approx(np.where(of_words, whole / 3, whole))


def test_a_question_without_known_words_and_documents_without_titles(view: View, words: KeywordIndex) -> None:
    start = Start(words.terms("zebra"), np.ones(4), np.zeros(4), (0, 0))
    figures = features(view, words, [""] * 6, start, PLACES)
    assert np.isfinite(figures).all()
    assert not figures[:, [0, 2, 3, 4, 6, 7, 8]].any()


def test_words_outside_the_view_do_not_count(words: KeywordIndex) -> None:
    terms = words.terms("town harbour rained")
    assert (words.rarity(terms, np.array([3])) > 0).sum() == 1
    assert words.rarity(terms, np.zeros(0, np.int64)).tolist() == [0, 0, 0]


def test_shares_sum_to_one_whatever_the_scores() -> None:
    given = shares(np.array([1000.0, 999.0, -1000.0]))
    assert given.sum() == pytest.approx(1)
    assert given[0] == pytest.approx(np.e * given[1])


def talk(*speakers: str, with_machine: bool = False) -> tuple[View, Said]:
    """A question, an answer, a word."""
    none = np.full(3, -1)
    before, after = np.array([-1, 0, 1]), np.array([1, 2, -1])
    ids = RowIds(TextList("abc"), np.arange(3, dtype=np.uint64), np.arange(3))
    vectors = RowVectors.encode(np.eye(3, dtype=np.float32))
    view = View(np.arange(3), ids, vectors, before, after, none * -3, sparse.csr_matrix((3, 0)))
    asks = np.array([True, False, False])
    names = ("", *dict.fromkeys(speakers))
    said_by = np.array([names.index(speaker) for speaker in speakers])
    said = Said(names, said_by, np.arange(3), np.array([3, 6, 1]), asks, np.full(3, with_machine))
    assert said.speaker_names(np.arange(3)) == list(speakers)
    return view, said


COSINES, BM25 = np.array([0.1, 0.2, 0.6]), np.array([0.0, 3.0, 0.0])


def turn_figures(view: View, said: Said, question: str) -> dict[str, list[float]]:
    figures = turn_features(view, said, question, COSINES, BM25)
    assert figures.shape == (3, len(TURN_FEATURES)) == (3, len(TURN_WEIGHTS))
    return dict(zip(TURN_FEATURES, figures.T.tolist(), strict=True))


def test_each_figure_of_a_turn_among_people() -> None:
    view, said = talk("Ann Lee", "Tom", "Ann Lee")
    figures = turn_figures(view, said, "What did Tom tell me of Ann's sister?")
    assert figures["meaning"] == pytest.approx(standard(COSINES).tolist())
    assert figures["meaning around"] == pytest.approx(standard(np.array([0.15, 0.3, 0.4])).tolist())
    assert figures["words around"] == pytest.approx(standard(np.array([1.5, 1.0, 1.5])).tolist())
    assert figures["length"] == pytest.approx(np.log([4, 7, 2]).tolist())
    assert figures["asks"] == [1, 0, 0]
    assert figures["speaker asked for"] == [0, 1, 0], "the whole name must be there"
    assert turn_figures(view, said, "Did Ann Lee's fox run?")["speaker asked for"] == [1, 0, 1]
    assert figures["human"] == figures["human's length"] == [0, 0, 0], "no machine takes part"


@table(
    ("question", "asked", "humans"),
    [
        ("How many foxes did I count?", [1, 0, 1], [1, 0, 1]),
        ("Which trap did you suggest to me?", [0, 1, 0], [1, 0, 1]),
        ("Can you summarize what I did?", [0, 0, 0], [0, 0, 0]),
        ("Which trap is best?", [0, 0, 0], [1, 0, 1]),
        ("Which trap did the user buy?", [1, 0, 1], [1, 0, 1]),
    ],
)
def test_each_figure_of_a_turn_in_a_chat_with_a_machine(question: str, asked: list[int], humans: list[int]) -> None:
    figures = turn_figures(*talk("user", "assistant", "user", with_machine=True), question)
    assert figures["speaker asked for"] == asked
    assert figures["human"] == humans
    lengths = np.log([4, 7, 2])
    expected = (lengths - lengths[[0, 2]].mean()) * humans
    assert figures["human's length"] == pytest.approx(expected.tolist())
    assert figures["length"] == figures["asks"] == [0, 0, 0], "these are figures of talk among people"


def test_places_are_numbered_by_their_ids_also_where_ids_begin_alike():
    texts = ["same head b", "other", "same head a"]
    heads = np.array([int.from_bytes(text.encode()[:8].ljust(8, b"\0"), "big") for text in texts], np.uint64)
    ids = RowIds(TextList(texts), heads, np.arange(3))
    assert np.argsort(ids.number_by_id(np.arange(3))).tolist() == [1, 2, 0]
    assert len(set(ids.number_by_id(np.array([0, 0, 1])).tolist())) == 2
