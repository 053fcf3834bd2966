"""The scorecard: figures, differences to the best of the others, what building costs and when it is paid."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memgraph_rag.evaluation.dataset import Folder, Question
from memgraph_rag.evaluation.outcomes import Building, Outcome
from memgraph_rag.evaluation.report import Scorecard
from memgraph_rag.evaluation.table_report import compare_with_paper
from memgraph_rag.evaluation.tables import find_table
from memgraph_rag.types import Document

COUNT = 12
QUESTIONS = [
    Question(f"q{n}", f"Who ran {n}?", documents=("d",), answers=("Tom",), spans=(("d", 0, 3),)) for n in range(COUNT)
]
FOLDER = Folder("run", "span", [Document("Tom ran.", key="d")], QUESTIONS, {})


def outcomes(method: str, right: int, *, tokens: int, metric_text: str = "Tom", **more: object) -> list[Outcome]:
    """So many right answers, the others wrong."""
    outcome = Outcome(
        "", "run", "", method, ((("d", 0, 8), 0),), prompt_tokens=tokens, model_calls=2, seconds=1.5,
        nodes=4, node_tokens=80, tera_flops=tokens / 500,
    )  # fmt: skip
    return [
        replace(outcome, question=f"q{n}", answer=metric_text if n < right else "Ann", **more) for n in range(COUNT)
    ]


def scorecard(**right: int) -> Scorecard:
    tokens = {"pecan": 500, "full_context": 3000}
    of = [
        outcome
        for method, count in right.items()
        for outcome in outcomes(method, count, tokens=tokens.get(method, 800))
    ]
    return Scorecard(FOLDER, of, [Building("run", 1, 4, 4000, 1000, 7, 60.0, 10.0)], ours=("pecan",))


def test_ours_is_compared_with_the_best_of_the_others_by_question() -> None:
    card = scorecard(pecan=11, full_context=4, top_k=2)
    difference = card.difference("pecan", "F1")
    assert difference is not None
    assert difference.best == "full_context"
    assert difference.interval.value == pytest.approx(100 * 7 / 12)
    assert difference.is_significant
    close = scorecard(pecan=5, full_context=4).difference("pecan", "F1")
    assert close is not None
    assert not close.is_significant
    assert scorecard(pecan=5).difference("pecan", "F1") is None, "there are no others"


def test_rows_have_figure_and_cost() -> None:
    rows = {(row["strategy"], row["metric"]): row for row in scorecard(pecan=6, full_context=3).rows()}
    row = rows["pecan", "EM"]
    assert (row["dataset"], row["value"], row["n"]) == ("run", 50.0, COUNT)
    assert row["low"] < 50 < row["high"]
    assert (row["prompt_tokens"], row["seconds"], row["model_calls"]) == (500.0, 1.5, 2.0)
    assert (row["nodes"], row["node_tokens"], row["tera_flops"]) == (4.0, 80.0, 1.0)
    assert rows["pecan", "citation precision"]["value"] == 100
    assert not any(metric.startswith("abstention") for _, metric in rows), "every question has an answer"


def test_questions_that_pay_for_building_are_counted() -> None:
    card = scorecard(pecan=6, full_context=3, top_k=3)
    assert card.questions_to_pay("pecan") == pytest.approx(5000 / 2500)
    assert card.questions_to_pay("full_context") is None
    table = card.markdown()
    assert "After 2.0 questions on a document, pecan has saved the tokens of building, compared with" in table
    assert "Building, a document: 4,000 tokens read, 1,000 written, 7.0 model calls, 60.0 s, 10.0 TFLOP." in table
    assert scorecard(pecan=6).questions_to_pay("pecan") is None, "the whole was not read"
    nothing = Scorecard(FOLDER, outcomes("pecan", 3, tokens=5), [], ours=("pecan",))
    assert nothing.building() is None


def test_errors_are_reported_and_count_as_wrong() -> None:
    failed = [replace(outcome, error="ModelError: x") for outcome in outcomes("pecan", COUNT, tokens=5)]
    card = Scorecard(FOLDER, failed, [], ours=("pecan",))
    figure = card.figure("pecan", "F1")
    assert figure is not None
    assert figure.value == 0
    assert "pecan: 12 questions ended in an error." in card.markdown()
    assert "pecan: 12 questions ended in an error." in compare_with_paper(find_table("pecan-2"), [card], None)


def test_unknown_costs_are_shown_as_unknown() -> None:
    unknown = outcomes("pecan", 3, tokens=5, nodes=None, node_tokens=None, tera_flops=None)
    card = Scorecard(FOLDER, unknown, [Building("run", 1, 4, 4000, 1000, 7, 60.0, notes={"cut": 2})], ours=("pecan",))
    assert {row["tera_flops"] for row in card.rows()} == {row["nodes"] for row in card.rows()} == {None}
    assert "| – | – | 5 | 0 | 2.0 | 1.5 | – |" in card.markdown()
    assert "60.0 s, – TFLOP. Notes: 2 × cut." in card.markdown()


def test_error_costs_no_operations() -> None:
    known, failed = outcomes("pecan", 3, tokens=500), outcomes("pecan", 0, tokens=0, error="ModelError: x")
    failed = [replace(outcome, nodes=None, node_tokens=None, tera_flops=None) for outcome in failed]
    cost = Scorecard(FOLDER, [*known[:6], *failed[6:]], [], ours=()).cost("pecan")
    assert (cost.nodes, cost.tera_flops) == (2.0, 0.5)
