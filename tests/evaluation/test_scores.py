"""Scores by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tables import table

from memgraph_rag.evaluation.dataset import read_folder
from memgraph_rag.evaluation.outcomes import Outcome
from memgraph_rag.evaluation.scores import (
    bleu,
    containment,
    exact_match,
    f1,
    find_chosen_option,
    rouge_l,
    score_outcome,
)

OPTIONS = ("A boy", "A girl", "Nobody at all", "A boy and a girl")


@table(
    ("said", "place"),
    [
        ("B", 1),
        ("B.", 1),
        ("(C) Nobody", 2),
        ("D: both", 3),
        ("Answer: B because she ran", 1),
        ("The correct answer is C", 2),
        ("A girl ran.", 1),
        ("It was nobody at all.", 2),
        ("A", 0),
        ("E", None),
        ("", None),
        ("Rain.", None),
    ],
)
def test_a_reply_names_an_option(said: str, place: int | None):
    assert find_chosen_option(said, OPTIONS) == place


def test_text_scores_compare_words_without_case_and_articles():
    assert f1("the red fox", "A fox!") == pytest.approx(2 / 3)
    assert (f1("", "fox"), f1("", "")) == (0, 0)
    assert (exact_match("The Fox.", "fox"), exact_match("a fox ran", "fox")) == (1, 0)
    assert (containment("A red fox ran", "the fox"), containment("foxes", "fox"), containment("x", "the")) == (1, 0, 0)
    assert rouge_l("the fox ran home", "the fox home") == pytest.approx(6 / 7)


def test_bleu_counts_n_grams_that_a_sentence_can_have():
    assert bleu("the fox ran home", "the fox ran home") == bleu("Fox", "Fox") == pytest.approx(1)
    assert bleu("the fox ran off", "the fox ran home") == pytest.approx((3 / 4 * 2 / 3 * 1 / 2 * 1 / 2) ** 0.25)
    assert bleu("", "fox") == 0


def test_an_answer_is_scored_by_what_the_question_has(story: Path):
    folder = read_folder(story)
    answered, choice, unanswerable = folder.questions
    given = Outcome("", "story", "q1", "pecan", ((("s", 60, 70), 0), (("s", 0, 40), 0)), answer="In the shed.")
    scores = score_outcome(folder, answered, given)
    assert {name: scores[name] for name in ("F1", "EM", "containment")} == dict.fromkeys(
        ("F1", "EM", "containment"), (1, 1)
    )
    assert scores["citation precision"] == (1, 2)
    assert scores["refused"] == (0, 1)
    long = replace(given, answer=f"Well, I think that it is {given.answer}.", short=given.answer)
    assert {name: score_outcome(folder, answered, long)[name] for name in ("F1", "EM", "containment")} == dict.fromkeys(
        ("F1", "EM", "containment"), (1, 1)
    ), "of the phrase, and of the sentence"
    assert score_outcome(folder, answered, replace(long, short=""))["EM"] == (0, 1)
    assert (score_outcome(folder, answered, long)["ROUGE-L"], score_outcome(folder, answered, long)["BLEU-4"]) == (
        score_outcome(folder, answered, given)["ROUGE-L"], score_outcome(folder, answered, given)["BLEU-4"],
    )  # fmt: skip
    summary = replace(answered, answers=(f"{long.answer} {long.answer} {long.answer}",))
    assert score_outcome(folder, summary, long)["ROUGE-L"][0] > 0.4, "of the sentence, where references are long"
    assert score_outcome(folder, choice, replace(given, answer="B"))["accuracy of 2"] == (1, 1)
    assert "F1" not in score_outcome(folder, choice, given)
    refused = replace(given, answer="Nothing in memory", abstained=True)
    assert score_outcome(folder, answered, refused)["containment"] == (0, 1), "what is said when refusing is no answer"
    assert "citation precision" not in score_outcome(folder, answered, refused)
    assert score_outcome(folder, answered, replace(given, error="ModelError: too long"))["F1"] == (0, 1)
    assert score_outcome(folder, unanswerable, refused)["abstention F1"] == (2, 2)
    assert score_outcome(folder, unanswerable, given)["abstention F1"] == (0, 1)


def test_abstention_f1_is_that_of_the_sums(story: Path):
    """One right, one missed, two refused that had an answer: precision 1/3, recall 1/2."""
    folder = read_folder(story)
    answered, _, unanswerable = folder.questions
    given = Outcome("", "story", "", "pecan", (), answer="Yes.")
    refused = replace(given, abstained=True)
    asked = [(unanswerable, refused), (unanswerable, given), (answered, refused), (answered, refused)]
    pairs = [score_outcome(folder, question, outcome)["abstention F1"] for question, outcome in asked]
    above, below = (sum(column) for column in zip(*pairs, strict=True))
    assert above / below == pytest.approx(2 * (1 / 3) * (1 / 2) / (1 / 3 + 1 / 2))


def test_a_citation_of_a_turn_counts_for_the_turn_in_which_it_begins(talk: Path):
    folder = read_folder(talk)
    photo = folder.questions[0]
    start = {name: at for at, name in folder.turns["s1"]}["t2"]
    given = Outcome("", "talk", "0", "pecan", ((("s1", start + 5, start + 9), 0), (("s1", 0, 3), 0)), answer="A mill.")
    assert score_outcome(folder, photo, given)["citation precision"] == (1, 2)
