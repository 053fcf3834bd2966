"""Fitting the weights of likeness: it finds what made the labels, and prints the figures of each hand."""

from __future__ import annotations

from pathlib import Path

import fit_likeness
import numpy as np
import pytest
from fit_turns import hands_of
from histories import TUNED, read_histories
from logistic import fit_logistic
from memories import fakes

from memgraph_rag.facts.likeness import BIAS, FIGURES, WEIGHTS, Candidates, estimate_probabilities


def test_weights_that_made_the_labels_are_found() -> None:
    rng = np.random.default_rng(1)
    figures = rng.normal(size=(6000, 2))
    labels = (rng.random(6000) < 1 / (1 + np.exp(1 - figures @ [2.0, 0.0]))).astype(float)
    weights, bias = fit_logistic(figures, labels)
    assert [*weights, bias] == pytest.approx([2.0, 0.0, -1.0], abs=0.15)
    pulled, _ = fit_logistic(figures, labels, penalty=1000.0)
    assert 0 < pulled[0] < weights[0]


def test_weights_of_all_figures_are_found() -> None:
    rng = np.random.default_rng(2)
    asked = []
    for _ in range(600):
        earlier = np.tri(12, k=-1, dtype=bool) & (rng.random((12, 12)) < 0.2)
        figures = rng.normal(size=(12, len(FIGURES) - 1))
        candidates = Candidates([], [], [], figures, earlier)
        labels = (rng.random(12) < estimate_probabilities(candidates, WEIGHTS, BIAS)).astype(float)
        asked.append(fit_likeness.Asked("ann", "one", True, candidates, labels, labels))
    weights, bias = fit_likeness.fit(asked, 0.0)
    assert [*weights, bias] == pytest.approx([*WEIGHTS, BIAS], abs=1.2)


def asked_of(hand: str) -> fit_likeness.Asked:
    """Two candidates of one figure each; the first is the later one."""
    figures = np.zeros((2, len(FIGURES) - 1))
    candidates = Candidates([], [], [(2.0, 0), (1.0, 0)], figures, np.zeros((2, 2), bool))
    return fit_likeness.Asked(hand, "one", True, candidates, np.array([1.0, 0.0]), np.array([1.0, 0.0]))


def test_outcome_is_in_the_order_of_time() -> None:
    outcome = fit_likeness._outcome(asked_of("ann"), (np.zeros(len(FIGURES)), 0.0))
    assert outcome.likely.tolist() == [0.5, 0.5]
    assert outcome.labels.tolist() == [0.0, 1.0]
    assert outcome.right.tolist() == [0.0, 1.0]


def test_run_prints_weights_and_each_hand(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    hands = dict(list(read_histories(TUNED).items())[:2])
    monkeypatch.setattr(fit_likeness, "hands_of", lambda _: hands)
    assert fit_likeness.main(["--most", "4"], layers=(), **fakes()) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in printed[:2]] == list(hands)
    assert all("AUC" in line and "one newest" in line for line in printed[:2])
    assert [line.split(":")[0] for line in printed[2:]] == [*FIGURES, "bias"]


def test_files_of_further_hands_are_read(tmp_path: Path) -> None:
    path = tmp_path / "zoe" / "histories.jsonl"
    path.parent.mkdir()
    line = TUNED.read_text("utf-8").splitlines()[0]
    path.write_text(line + "\n", "utf-8")
    hands = hands_of([path])
    assert list(hands)[-1] == "zoe"
    assert len(hands["zoe"]) == 1


def test_run_ends_where_the_memory_cannot_be_opened(capsys: pytest.CaptureFixture[str]) -> None:
    assert fit_likeness.main(["--most", "1"], store="bolt://", **fakes()) == 1
    assert "Error: " in capsys.readouterr().err
