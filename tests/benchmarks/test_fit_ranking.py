"""Fitting the weights of the ranking: it finds what tells gold from others, and a whole run with fakes."""

from __future__ import annotations

import json
from pathlib import Path

import fit_ranking
import numpy as np
import pytest
from memories import fakes

from memgraph_rag.search.ranking import FEATURES, TURN_FEATURES, TURN_WEIGHTS, WHOEVER


def test_the_figure_that_tells_gets_the_weight() -> None:
    rng = np.random.default_rng(1)
    asked = []
    for _ in range(60):
        figures = rng.normal(size=(12, 3))
        gold = int(rng.integers(12))
        figures[gold, 1] += 3
        asked.append(
            fit_ranking.Asked("made up", "one", figures, [str(place) for place in range(12)], frozenset({str(gold)}))
        )
    weights = fit_ranking.fit(asked, 1.0)
    assert weights[1] > 5 * abs(weights[[0, 2]]).max()
    weaker = fit_ranking.fit(asked, 100.0)
    assert 0 < weaker[1] < weights[1]
    right = np.mean([question.recalls(weights)[0] for question in asked])
    assert right > np.mean([question.recalls(None)[0] for question in asked]) + 40


def test_a_folder_becomes_rows_and_weights(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("Ann Lee", "Tom Ray", "Oak Hill", "Red Fox", "Blue Mill", "Old Bridge")
    docs = [
        {"doc_id": f"d{place}", "title": name, "text": f"{name} is near {names[(place + 1) % 6]}."}
        for place, name in enumerate(names)
    ]
    questions = [
        {"question": f"What is near what is near {name}?", "evidence_doc_ids": [f"d{place}", f"d{(place + 1) % 6}"]}
        for place, name in enumerate(names)
    ]
    for file, rows in (("docs", docs), ("questions", questions)):
        (tmp_path / f"{file}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    assert fit_ranking.main([str(tmp_path)], **fakes()) == 0
    printed = capsys.readouterr().out.splitlines()
    assert any(line.startswith("| all (6) | held-out folds | ") for line in printed)
    assert [line.split(":")[0] for line in printed if ": " in line] == list(FEATURES)
    assert fit_ranking.main([str(tmp_path / "none")], **fakes()) == 1


def test_a_question_is_refused_where_another_said_it(capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(2)
    asked = []
    for number in range(60):
        figures = rng.normal(size=(4, len(TURN_FEATURES)))
        figures[0, 0] += 40  # what is meant is said by Ann
        named = "Tom" if number % 3 == 0 else "Ann"
        figures[:, ~WHOEVER] = np.array([named == "Ann", named == "Tom"] * 2)[:, None]
        asked.append(
            fit_ranking.Asked(
                "made up", f"talk {number % 2}", figures, list("abcd"), frozenset("a"), (5, 10),
                f"What did {named} say?", ["Ann", "Tom"] * 2, named == "Tom",
            )
        )  # fmt: skip
    assert [question.is_refused(TURN_WEIGHTS) for question in asked] == [question.unanswerable for question in asked]
    fit_ranking.tell(asked, 10.0)
    shown = capsys.readouterr().out
    assert "Said by another (20 of 60 unanswerable): precision 100.0" in shown
    assert "answerable ones refused 0.0" in shown
