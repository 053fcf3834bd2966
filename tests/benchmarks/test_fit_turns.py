"""Fitting the judge of turns on made-up states: it finds what made the labels, and prints the figures of a hand."""

from __future__ import annotations

from datetime import date
from types import SimpleNamespace
from typing import Any

import fit_turns
import numpy as np
import pytest
import torch
from histories import TUNED, join_histories, read_histories

from memgraph_rag import Memory
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel, FakeRecognizer
from memgraph_rag.types import TurnVerdicts

FAKES = {"embedder": FakeEmbedder(), "recognizer": FakeRecognizer()}


class Stateful(FakeLanguageModel):
    """Gives its calibration states of three numbers: of each turn its length, 1, and whether it names a bike."""

    turn_calibration: Any = None

    def judge_turns(self, question: str, turns: Any) -> TurnVerdicts:
        states = torch.tensor([[len(turn), 1.0, float("bike" in turn)] for turn in turns])
        return TurnVerdicts(tuple(self.turn_calibration.probabilities(states).tolist()), True)


def asked(hand: str = "ann", size: str = "one", *, states: Any = (), labels: Any = (), right: Any = ()) -> Any:
    return fit_turns.Asked(hand, size, True, np.array(states, float), np.array(labels, float), np.array(right, float))


def test_weights_that_made_the_labels_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit_turns, "PENALTY", 0.0)
    rng = np.random.default_rng(1)
    states = rng.normal(3.0, 5.0, size=(6000, 2))
    labels = rng.random(6000) < 1 / (1 + np.exp(1 - states @ [0.4, 0.0]))
    weights, bias = fit_turns.fit([asked(states=states[:3000], labels=labels[:3000]),
                                   asked(states=states[3000:], labels=labels[3000:])])  # fmt: skip
    assert [*weights, bias] == pytest.approx([0.4, 0.0, -1.0], abs=0.1)


def test_turn_of_many_counts_less() -> None:
    assert [fit_turns.share_of(hand, size) for hand, size in (("a", "one"), ("a", "ten"), ("matters", "one"))] == [
        1.0, 0.2, 0.3
    ]  # fmt: skip


def test_outcome_is_the_logistic_of_the_states() -> None:
    of = fit_turns.outcome(asked(states=[[0.0], [1.0]], labels=[0, 1], right=[0, 1]), np.array([2.0]), -1.0)
    assert of.likely.tolist() == pytest.approx([1 / (1 + np.e), np.e / (1 + np.e)])


def test_figures_count_newest_values_and_untold_ones(capsys: pytest.CaptureFixture[str]) -> None:
    outcomes = [
        fit_turns.Outcome("one", True, np.array([0.9, 0.8]), np.array([1.0, 1.0]), np.array([0.0, 1.0])),
        fit_turns.Outcome("one", True, np.array([0.9, 0.1]), np.array([0.0, 1.0]), np.array([0.0, 1.0])),
        fit_turns.Outcome("one", True, np.array([0.1, 0.2]), np.array([0.0, 0.0]), np.array([0.0, 0.0])),
        fit_turns.Outcome("one", True, np.array([0.7, 0.2]), np.array([0.0, 0.0]), np.array([0.0, 0.0])),
    ]
    fit_turns.tell("ann", outcomes)
    printed = capsys.readouterr().out
    assert printed.startswith("ann")
    assert "one newest 50.0 % of 2" in printed
    assert "never told and refused 1 of 2" in printed
    assert "  told and refused 0 of 2" in printed


def test_turns_of_histories_are_collected_with_their_labels() -> None:
    histories = next(iter(read_histories(TUNED).values()))[:3]
    model = Stateful()
    with Memory(":memory:", model=model, layers=(), **FAKES) as memory:
        collected = list(fit_turns.collect(memory, model, 1, "a", histories))  # type: ignore[arg-type]
    now = [each for each in collected if each.is_now]
    assert len(now) == 3
    assert {each.size for each in collected} == {"one"}
    assert all(each.states.shape == (len(each.labels), 3) for each in collected)
    assert [int(each.labels.sum()) for each in now] == [len(each.stating) for each in histories]
    assert all(each.right.any() for each in now)


def test_joined_histories_are_ten() -> None:
    histories = next(iter(read_histories(TUNED).values()))[:2]
    with Memory(":memory:", model=Stateful(), layers=(), **FAKES) as memory:
        assert fit_turns.add_users(memory, join_histories(histories, fit_turns.TEN)) == "ten"
        assert len({record.key.split("/")[1] for record in memory.documents()}) == 1  # a user


def test_people_of_matters_are_histories_with_one_right_turn() -> None:
    matters = fit_turns.of_matters()
    assert matters
    for each in matters:
        assert len(each.right_now) == len(each.right_then) == 1
        assert each.right_now <= each.stating
        assert date.fromisoformat(each.day[:10])


def test_recording_keeps_states_and_judges_nothing() -> None:
    recording = fit_turns.Recording(3)
    states = torch.ones(2, 4)
    assert recording.probabilities(states).tolist() == [0.0, 0.0]
    assert recording.states[0] is states


def test_words_of_a_turn_have_no_speaker_and_time() -> None:
    turn: Any = SimpleNamespace(segment=SimpleNamespace(text="user (2026-05-12T08:40): the tram (line 4): full\n"))
    assert fit_turns.words_of(turn) == "the tram (line 4): full"
