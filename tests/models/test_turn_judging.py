"""The judge of turns for any model: verdicts are kept and checked; a model without one writes the values as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import pytest
from recording_model import NestingModel, RecordingModel
from tables import table

from memgraph_rag.contracts import LanguageModel
from memgraph_rag.errors import ModelError
from memgraph_rag.models.wrappers import turn_judging
from memgraph_rag.models.wrappers.checked_models import CheckedModel
from memgraph_rag.models.wrappers.turn_judging import TurnJudging, write_verdicts
from memgraph_rag.testing import FakeLanguageModel
from memgraph_rag.types import TurnVerdicts, Usage

QUESTION, OTHER = "How do I get to work?", "Where do I live?"
TRAM, BIKE, PLAN = "it's the tram for me now", "rode the bike again", "maybe an e-scooter"


class Judge(FakeLanguageModel):
    """Records the turns of each call; ``verdicts`` replaces what it returns."""

    def __init__(self, verdicts: Any = None, **options: Any) -> None:
        super().__init__(**options)
        self.calls: list[list[str]] = []
        self.verdicts = verdicts

    def judge_turns(self, question: str, turns: Sequence[str]) -> TurnVerdicts:
        self.calls.append(list(turns))
        return super().judge_turns(question, turns) if self.verdicts is None else self.verdicts


def judge_of(**told: float) -> tuple[Judge, TurnJudging]:
    model = Judge(told=told)
    return model, TurnJudging(model)


class Writer(RecordingModel):
    """A model without a judge of its own."""

    judge_turns: Any = None  # type: ignore[assignment]


# ── verdicts are kept ────────────────────────────────────────────────────────────────────────────────────────


def test_verdicts_are_in_the_order_of_turns() -> None:
    model, judging = judge_of(tram=0.9, bike=0.7)
    assert judging.judge_turns(QUESTION, [BIKE, PLAN, TRAM, BIKE]).probabilities == (0.7, 0.0, 0.9, 0.7)
    assert model.calls == [[BIKE, PLAN, TRAM]]  # each turn once


def test_kept_verdicts_are_not_read_again() -> None:
    model, judging = judge_of(tram=0.9, bike=0.7)
    judging.judge_turns(QUESTION, [BIKE, PLAN])
    assert judging.judge_turns(QUESTION, [TRAM, BIKE]).probabilities == (0.9, 0.7)
    assert model.calls == [[BIKE, PLAN], [TRAM]]


def test_kept_verdicts_cost_nothing_and_stay_calibrated() -> None:
    model, judging = judge_of(tram=0.9)
    first = judging.judge_turns(QUESTION, [TRAM])
    again = judging.judge_turns(QUESTION, [TRAM])
    assert (first.usage.model_calls, again.usage) == (1, Usage())
    assert again.is_calibrated
    assert len(model.calls) == 1


def test_verdict_belongs_to_its_question() -> None:
    model, judging = judge_of(tram=0.9)
    for question in (QUESTION, OTHER):
        judging.judge_turns(question, [TRAM])
    assert model.calls == [[TRAM], [TRAM]]


def test_oldest_verdicts_are_dropped_beyond_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn_judging, "_MOST_KEPT", 2)
    model, judging = judge_of(tram=0.9, bike=0.7)
    assert judging.judge_turns(QUESTION, [TRAM, BIKE, PLAN]).probabilities == (0.9, 0.7, 0.0)
    judging.judge_turns(QUESTION, [BIKE, PLAN])
    judging.judge_turns(QUESTION, [TRAM])
    assert model.calls == [[TRAM, BIKE, PLAN], [TRAM]]


@pytest.mark.parametrize(
    "verdicts",
    [
        TurnVerdicts((0.5,), True),
        TurnVerdicts((0.5, 0.5, 0.5), True),
        TurnVerdicts((0.5, math.nan), True),
        TurnVerdicts((0.5, 1.01), True),
        TurnVerdicts((-0.01, 0.5), True),
        TurnVerdicts(("yes", "no"), True),  # type: ignore[arg-type]
        TurnVerdicts((None, 0.5), True),  # type: ignore[arg-type]
        TurnVerdicts(None, True),  # type: ignore[arg-type]
        TurnVerdicts((0.5, 0.5), True, None),  # type: ignore[arg-type]
        (0.5, 0.5),
    ],
    ids=repr,
)
def test_bad_verdicts_are_refused_and_not_kept(verdicts: Any) -> None:
    model = Judge(verdicts, told={"tram": 0.9})
    judging = TurnJudging(model)
    with pytest.raises(ModelError, match=r"Expected 2 verdicts from 0 to 1 of fake-language-model, got .*judge_turns"):
        judging.judge_turns(QUESTION, [TRAM, BIKE])
    model.verdicts = None
    assert judging.judge_turns(QUESTION, [TRAM, BIKE]).probabilities == (0.9, 0.0)


def test_model_without_a_judge_writes_verdicts() -> None:
    model: LanguageModel = Writer(['{"1": "the tram", "2": "no"}'])
    for judging in (TurnJudging(model), TurnJudging(CheckedModel(Writer(['{"1": "the tram", "2": "no"}'])))):
        assert judging.judge_turns(QUESTION, [TRAM, BIKE]).probabilities == (1.0, 0.0)


# ── verdicts in writing ──────────────────────────────────────────────────────────────────────────────────────


def written(reply: str, *turns: str) -> tuple[float, ...]:
    return write_verdicts(FakeLanguageModel([reply]), QUESTION, turns).probabilities


def test_brief_names_value_of_a_turn() -> None:
    assert written('{"1": "the tram", "2": "no", "3": "BIKE."}', TRAM, PLAN, BIKE) == (1.0, 0.0, 1.0)


@table(
    ("value", "turn"),
    [
        ("no", "no car, no bike"),
        ("No.", "no car, no bike"),
        ("", BIKE),
        ("...", BIKE),
        (" ? ", BIKE),
        ("helicopter", BIKE),
    ],
)
def test_value_without_a_turn_is_not_named(value: str, turn: str) -> None:
    assert written(json.dumps({"1": value, "2": "the tram"}), turn, TRAM) == (0.0, 1.0)


@table(
    ("reply", "verdicts"),
    [
        ('{"1": "the tram", "2": "no", "3": "bike"}', (1.0, 0.0, 1.0)),
        ('{"1": "the tram", "2": "no", "3": "bike"', (1.0, 0.0, 1.0)),
        ('{"1": "the tram", "2": "no", "3": "bi', (1.0, 0.0, 1.0)),
        ('{"1": "the tram", "2": "no", "3":', (1.0, 0.0, 0.0)),
        ('{"1": "the tram", "2": "no", "', (1.0, 0.0, 0.0)),
        ('{"1": "the tram", "2', (1.0, 0.0, 0.0)),
        ('{"1": "the tram",', (1.0, 0.0, 0.0)),
    ],
)
def test_cut_reply_counts_up_to_its_end(reply: str, verdicts: tuple[float, ...]) -> None:
    assert written(reply, TRAM, PLAN, BIKE) == verdicts


@table("reply", ["", "the tram", "[1, 2]", "7", "null", '{"1": 7, "2": ["tram"]}', '{"9": "tram"}'])
def test_nonsense_reply_gives_zero_verdicts(reply: str) -> None:
    assert written(reply, TRAM, BIKE) == (0.0, 0.0)


def test_lists_in_lists_give_zero_verdicts() -> None:
    assert write_verdicts(NestingModel(), QUESTION, [TRAM, BIKE]).probabilities == (0.0, 0.0)


@table(("turns", "is_calibrated"), [(7, True), (8, False)])
def test_model_that_copies_every_message_does_not_count(turns: int, is_calibrated: bool) -> None:
    reply = json.dumps({str(number): TRAM for number in range(1, turns + 1)})
    judged = write_verdicts(FakeLanguageModel([reply]), QUESTION, [TRAM] * turns)
    assert (judged.probabilities, judged.is_calibrated) == ((1.0,) * turns, is_calibrated)


def test_all_turns_are_asked_for_in_one_call() -> None:
    model = Writer(['{"1": "no", "2": "no"}'])
    judged = write_verdicts(model, QUESTION, ["first\nsecond", BIKE])
    (prompt,) = model.prompts
    assert prompt.inputs == ("1. first second", f"2. {BIKE}")
    assert QUESTION in prompt.instruction
    assert model.schemas[0]["required"] == ["1", "2"]
    assert (judged.is_calibrated, judged.usage.model_calls) == (True, 1)
