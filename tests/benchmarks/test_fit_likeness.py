"""Fitting the weights of likeness: it finds what made the labels, and scores by the weights given."""

from __future__ import annotations

import fit_likeness
import numpy as np
import pytest
from logistic import fit_logistic
from matters import HALVES, acquaintances

from memgraph_rag import Memory
from memgraph_rag.facts.likeness import BIAS, FIGURES, WEIGHTS, Candidates, probabilities
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel, FakeRecognizer

FAKES = {"model": FakeLanguageModel(), "embedder": FakeEmbedder(), "recognizer": FakeRecognizer()}


def test_weights_that_made_the_labels_are_found() -> None:
    rng = np.random.default_rng(1)
    figures = rng.normal(size=(6000, 2))
    labels = (rng.random(6000) < 1 / (1 + np.exp(1 - figures @ [2.0, 0.0]))).astype(float)
    weights, bias = fit_logistic(figures, labels)
    assert [*weights, bias] == pytest.approx([2.0, 0.0, -1.0], abs=0.15)
    pulled, _ = fit_logistic(figures, labels, penalty=1000.0)
    assert 0 < pulled[0] < weights[0]


def test_weights_of_all_six_figures_are_found() -> None:
    rng = np.random.default_rng(2)
    asked = []
    for _ in range(400):
        earlier = np.tri(12, k=-1, dtype=bool) & (rng.random((12, 12)) < 0.2)
        candidates = Candidates([], [], rng.normal(size=(12, 5)) / 4, earlier)
        labels = rng.random(12) < probabilities(candidates, WEIGHTS, BIAS)
        asked.append(fit_likeness.Asked(candidates, labels.astype(float)))
    weights, bias = fit_likeness.fit(asked, 0.0)
    assert [*weights, bias] == pytest.approx([*WEIGHTS, BIAS], abs=1.2)


def test_score_is_that_of_the_weights_given() -> None:
    people = acquaintances(HALVES[0])[:1]
    with Memory(":memory:", layers=(), **FAKES) as memory:
        for person in people:
            memory.session(user=person.name).add(person.turns)
        none = np.zeros(len(FIGURES))
        plain = fit_likeness.score(memory, people, lambda _: (none, -50.0))
        latest = fit_likeness.score(memory, people, lambda _: (none, 50.0))
    assert [len(right) for right in plain.values()] == [8, 8]
    assert any((plain[measured] != latest[measured]).any() for measured in fit_likeness.MEASURES)


def test_run_prints_weights_and_both_halves(capsys: pytest.CaptureFixture[str]) -> None:
    assert fit_likeness.main(["--people", "2"], layers=(), **FAKES) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in printed[: len(FIGURES) + 1]] == [*FIGURES, "bias"]
    assert [line.split(" | ")[1] for line in printed if line.startswith("| everyday")] == [
        *["packaged"] * 2, *["of the other people"] * 2, *["packaged"] * 2, *["fitted"] * 2
    ]  # fmt: skip
