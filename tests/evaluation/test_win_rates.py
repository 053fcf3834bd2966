"""Win rates by a judge, and questions about a corpus, with models whose replies are known."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from memgraph_rag.errors import ModelError, SettingsError
from memgraph_rag.evaluation.corpus_questions import corpus_questions
from memgraph_rag.evaluation.dataset import Question
from memgraph_rag.evaluation.outcomes import Outcome
from memgraph_rag.evaluation.win_rates import CRITERIA, AnswerPair, pair_answers, win_rate
from memgraph_rag.testing import FakeLanguageModel
from memgraph_rag.types import Document, Generation, Prompt

PAIRS = [AnswerPair(f"Why {number}?", "Because of rain and of wind.", "Rain.") for number in range(4)]


class Watched(FakeLanguageModel):
    """A model that keeps the prompts and the schema of its calls."""

    def __init__(self, replies: Sequence[object]) -> None:
        super().__init__([reply if isinstance(reply, str) else json.dumps(reply) for reply in replies])
        self.calls: list[list[Prompt]] = []

    def generate(self, prompts: Sequence[Prompt], **options: Any) -> list[Generation]:
        self.calls.append(list(prompts))
        assert options["schema"]["additionalProperties"] is False
        return super().generate(prompts, **options)


def judge(*winners: object) -> Watched:
    return Watched([{"reason": "It says more.", "winner": winner} for winner in winners])


def test_pair_is_won_only_in_both_orders():
    rate = win_rate(judge("1", "2", "1", "1", "1", "2", "tie", "tie"), PAIRS, "comprehensiveness")
    assert (rate.share.value, rate.unusable) == ((1 + 0.5 + 1 + 0.5) / 4, 0)
    assert rate.share.low < 0.75 < rate.share.high
    rate = win_rate(judge("1", "2", "1", "1", "2", "1", "tie", "tie"), PAIRS, "comprehensiveness")
    assert rate.share.value == (1 + 0.5 + 0 + 0.5) / 4


def test_judge_that_prefers_first_place_gives_ties():
    rate = win_rate(judge(*["1"] * 8), PAIRS, "diversity")
    assert rate.share == (0.5, 0.5, 0.5)


def test_tie_in_one_order_only_is_a_tie():
    assert win_rate(judge("1", "tie", "1", "2"), PAIRS[:2], "diversity").share.value == 0.75


def test_equal_answers_are_a_tie_without_the_judge():
    model = judge("1", "2")
    rate = win_rate(model, [PAIRS[0], AnswerPair("Why?", "Rain.", "Rain.")], "diversity")
    assert (rate.share.value, len(model.calls[0])) == (0.75, 2)


def test_unusable_replies_count_nowhere_else():
    replies = [{"winner": 1}, {"winner": 2}, "1", {"winner": "2"}, {"winner": "1"}, {"winner": "both"}]
    rate = win_rate(Watched([*replies, {"winner": "1"}, {"winner": "2"}]), PAIRS, "directness")
    assert (rate.unusable, rate.share.value) == (2, 1.0)


def test_judge_reads_both_orders_and_the_criterion():
    model = judge("1", "2", "1", "2")
    win_rate(model, PAIRS[:2], "empowerment")
    (prompts,) = model.calls
    assert [prompt.inputs for prompt in prompts[:2]] == [
        ("Answer 1:\nBecause of rain and of wind.\n", "Answer 2:\nRain.\n"),
        ("Answer 1:\nRain.\n", "Answer 2:\nBecause of rain and of wind.\n"),
    ]
    assert all(CRITERIA["empowerment"] in prompt.instruction for prompt in prompts)
    assert "Why 0?" in prompts[0].instruction


def test_unknown_criterion_and_too_few_verdicts_are_refused():
    with pytest.raises(SettingsError, match="comprehensiveness, diversity, empowerment, directness, got 'length'"):
        win_rate(judge(), PAIRS, "length")
    with pytest.raises(ModelError, match="on at least 2 pairs, got 1 of 2"):
        win_rate(judge("1", "2", "both", "1"), PAIRS[:2], "diversity")


def test_pairs_are_of_questions_that_both_answered():
    def outcome(question: str, method: str, **fields: Any) -> Outcome:
        return Outcome("key", "set", question, method, (), answer=f"{method} on {question}", **fields)

    questions = [Question("1", "One?"), Question("2", "Two?"), Question("3", "Three?")]
    walk = [outcome("3", "walk"), outcome("1", "walk"), outcome("2", "walk", error="StoreError")]
    top_k = [outcome(each.id, "top_k") for each in questions]
    assert pair_answers(questions, walk, top_k) == [
        AnswerPair("One?", "walk on 1", "top_k on 1"),
        AnswerPair("Three?", "walk on 3", "top_k on 3"),
    ]


def test_corpus_questions_come_from_people_and_tasks():
    documents = [Document("The mill is old. It turns.", "a", title="Mill"), Document("A fox ran\nhome.", "b")]
    model = Watched(
        [
            {"items": ["a miller", "a hunter", "one too many"]},
            {"items": ["buy a mill"]},
            {"items": ["find foxes", "watch  foxes"]},
            {"items": ["Which mills are old?", "What do mills share?"]},
            {"items": ["which MILLS are old?", "Where are foxes?"]},
            "no JSON",
        ]
    )
    asked = corpus_questions(model, documents, people=2, tasks=2, questions=2)
    assert [(each.id, each.text, each.type, each.documents) for each in asked] == [
        ("global-0", "Which mills are old?", "global", None),
        ("global-1", "What do mills share?", "global", None),
        ("global-2", "Where are foxes?", "global", None),
    ]
    people, tasks, questions = model.calls
    assert people[0].inputs == ("- Mill: The mill is old.", "- A fox ran")
    assert ["a miller" in tasks[0].task, "a hunter" in tasks[1].task] == [True, True]
    assert "watch foxes" in questions[2].task


def test_description_of_large_corpus_is_spread_and_bounded():
    documents = [Document("word " * 30 + ".", str(number), title=str(number)) for number in range(1_000)]
    model = Watched([{"items": ["a miller"]}, {"items": ["mill"]}, {"items": ["Why?"]}])
    corpus_questions(model, documents)
    lines = model.calls[0][0].inputs
    assert sum(model.count_tokens(lines)) <= 1_100
    assert lines[0].startswith("- 0:")
    assert int(lines[-1][2:5]) > 900


def test_model_without_questions_is_refused():
    with pytest.raises(ModelError, match="Expected questions of fake-language-model, got none"):
        corpus_questions(Watched(["no JSON"]), [Document("The mill is old.", "a")])
