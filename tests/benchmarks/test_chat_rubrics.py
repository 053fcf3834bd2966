"""The benchmark of rubrics: a whole run over made-up chats and outcomes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import chat_rubrics
import pytest
from question_folders import write

from memgraph_rag.evaluation.outcomes import Outcome, Outcomes

TEXT = "Ann: The deadline is 3 May, and the budget 900 euros. Tom: The red fox is 4 years old and sleeps in the barn."
DEADLINE = {
    "qid": "q1",
    "type": "knowledge_update",
    "question": "When is the deadline, and how large is the budget?",
    "answers": ["The deadline is 3 May and the budget is 900 euros."],
    "rubric": ["LLM response should state: 3 May", "LLM response should mention: a budget of 900 euros"],
}
FOX = {
    "qid": "q2",
    "type": "knowledge_update",
    "question": "How old is the fox?",
    "answers": ["It is 4 years."],
    "rubric": ["LLM response should state: 4 years"],
}
NOTHING = {"qid": "q3", "question": "Who left?", "rubric": ["there is no information"], "unanswerable": True}


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    return write(
        tmp_path / "chats", docs=[{"doc_id": "d", "title": "Chat", "text": TEXT}], questions=[DEADLINE, FOX, NOTHING]
    )


def outcome(question: str, method: str, answer: str, *, quote: str = "") -> Outcome:
    start = TEXT.index(quote)
    found = ((("d", start, start + len(quote)), 0),) if quote else ()
    return Outcome(f"{method} {question}", "chats", question, method, found, answer)


def rows(output: str) -> dict[str, list[str]]:
    table = (line.strip("| ").split(" | ") for line in output.splitlines() if line.startswith("|"))
    return {first: rest for first, *rest in table}


def test_items_are_said_by_the_answer_or_by_what_it_cites(
    chats: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = Outcomes(tmp_path / "out")
    kept.keep(outcome("q1", "walk", "The deadline is 3 May.", quote="the budget 900 euros"))
    kept.keep(outcome("q2", "walk", "It is 4 years old."))
    kept.keep(outcome("q3", "walk", "There is no information."))
    kept.keep(outcome("q1", "top_k", "The deadline is near."))
    kept.keep(replace(outcome("q2", "top_k", "It is 4 years old."), abstained=True))
    assert chat_rubrics.main([str(chats), str(tmp_path / "out")]) == 0
    table = rows(capsys.readouterr().out)
    assert [cell.split()[0] for cell in table["walk (2)"]] == ["75.0", "100.0"]
    assert [cell.split()[0] for cell in table["top_k (2)"]] == ["0.0", "0.0"]
    assert [cell.split()[0] for cell in table["less top_k (2)"]] == ["+75.0", "+100.0"]
    assert table["knowledge_update"] == ["100 (2)", "0 (2)"]


def test_questions_without_a_rubric_are_refused(
    paragraphs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert chat_rubrics.main([str(paragraphs), str(tmp_path / "out")]) == 1
    assert "Expected questions with a rubric in paragraphs, got none." in capsys.readouterr().err
