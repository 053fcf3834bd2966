"""Plans that a language model writes hold words of their question only."""

from __future__ import annotations

import pytest
from planning_models import COMPARISON, HOP, PlanningModel, write_plan
from tables import table

from memgraph_rag.answering.question_plans.plan_makers import ModelPlans
from memgraph_rag.errors import ModelError
from memgraph_rag.types import Usage


@table(
    ("question", "reply", "hop", "things"),
    [
        ("Where did the director of Solaris die?", write_plan(**HOP), "the director of Solaris", None),
        ("Where did the director of Stalker die?", write_plan(**HOP), None, None),
        ("the director of Solaris?", write_plan(**HOP), None, None),
        ("Who is older, Ann Lee or Bo Ray?", write_plan(**COMPARISON), None, ("Ann Lee", "Bo Ray")),
        ("Who is older, Ann Lee or Tom?", write_plan(**COMPARISON), None, None),
        ("Who is older, Ann Lee or Bo Ray?", write_plan(**COMPARISON | {"ask": "When?"}), None, None),
        ("Who is older, Ann Lee or Bo Ray?", write_plan(**COMPARISON | {"ask": "Is {} {old}?"}), None, None),
        ("Who is older, Ann Lee or Bo Ray?", write_plan(**COMPARISON | {"things": ["Ann Lee"]}), None, None),
        ("Who is Ann Lee?", write_plan(), None, None),
        ("Who is Ann Lee?", "no JSON", None, None),
        ("Who is Ann Lee?", "{}", None, None),
    ],
)
def test_model_plans_with_words_of_the_question_only(question: str, reply: str, hop: str | None, things) -> None:
    plans = ModelPlans(PlanningModel(reply))
    found, comparison = plans.find_hop(question, [], values=(), without=()), plans.find_comparison(question, list)
    assert (found and found.phrase, comparison and comparison.things) == (hop, things)
    assert plans.usage == Usage(9, 5, 1), "each question is sent once"


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("no JSON", "wrote none"),
        ("{}", "wrote none"),
        ("[" * 99_999, "wrote none"),
        (ModelError("The server is gone."), "is gone"),
    ],
)
def test_failure_of_planner_is_logged(reply: str | ModelError, reason: str, caplog: pytest.LogCaptureFixture) -> None:
    assert ModelPlans(PlanningModel(reply)).find_hop("Who is Ann Lee?", [], values=(), without=()) is None
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert reason in record.getMessage()


def test_phrase_that_was_tried_is_not_tried_again() -> None:
    plans = ModelPlans(PlanningModel(write_plan(**HOP)))
    question = "Where did the director of Solaris die?"
    assert plans.find_hop(question, [], values=(), without=["the director of Solaris"]) is None
