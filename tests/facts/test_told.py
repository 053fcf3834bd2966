"""What a person told of a question: code orders the turns in time, and a later plan hides no statement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from memories import options

from memgraph_rag import Memory
from memgraph_rag.facts.told import LEAST_TOLD, Told, find_told
from memgraph_rag.search.graph import SegmentMatch
from memgraph_rag.testing import FakeLanguageModel
from memgraph_rag.types import Evidence, Scope, Segment, TurnVerdicts, Usage

QUESTION = "How do I get to work?"
BIKE, PLAN, TRAM, SISTER = "rode the bike again", "tempted by an e-scooter", "it's the tram now", "my sister drives"


class Judge:
    """Judges by words, and records what it was asked."""

    def __init__(self, **likely: float) -> None:
        self.likely = likely
        self.asked: list[tuple[str, Sequence[str]]] = []

    def judge_turns(self, question: str, turns: Sequence[str]) -> TurnVerdicts:
        self.asked.append((question, turns))
        numbers = [max([p for word, p in self.likely.items() if word in turn], default=0.0) for turn in turns]
        return TurnVerdicts(tuple(numbers), True, Usage(7, 0, 1))


def turn(place: int, text: str, day: int, *, speaker: str = "user", document: str = "d", time: str = "") -> Evidence:
    time = time or f"2026-05-{day:02}T10:00"
    segment = Segment(f"{document}{place}", document, place, f"{speaker}: {text}", 0, 9, 9, speaker=speaker, time=time)
    return Evidence(segment, document, 1.0, {})


def matches(turns: Sequence[Evidence]) -> dict[str, SegmentMatch]:
    """The first turn is the nearest to the question, and so on."""
    found = {}
    for place, each in enumerate(turns):
        cosine = 0.9 - 0.05 * place
        vector = np.array([cosine, (1 - cosine**2) ** 0.5], np.float32)
        found[each.segment.id] = SegmentMatch(each.segment.id, 1.0, {}, (), cosine, vector)
    return found


def told_by(turns: Sequence[Evidence], judge: Judge, users: Mapping[str, str] | None = None) -> Told:
    told = find_told(QUESTION, turns, matches(turns), users or {}, judge)
    assert told is not None
    return told


def words(turns: Sequence[Evidence]) -> list[str]:
    return [each.segment.text.partition(": ")[2] for each in turns]


def newest(turns: Sequence[Evidence], **likely: float) -> str | None:
    best = told_by(turns, Judge(**likely)).newest
    return words([best])[0] if best else None


# ── time ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_turns_are_in_the_order_of_time_with_their_verdicts() -> None:
    turns = [turn(0, TRAM, 12), turn(1, BIKE, 2), turn(2, PLAN, 9)]
    told = told_by(turns, Judge(tram=0.9, bike=0.8, scooter=0.1))
    assert words(told.turns) == [BIKE, PLAN, TRAM]
    assert told.likely.tolist() == [0.8, 0.1, 0.9]


def test_turns_of_one_moment_keep_the_order_of_their_document() -> None:
    told = told_by([turn(2, TRAM, 5), turn(0, BIKE, 5), turn(1, PLAN, 5)], Judge())
    assert words(told.turns) == [BIKE, PLAN, TRAM]


def test_later_statement_holds() -> None:
    assert newest([turn(0, BIKE, 2), turn(1, TRAM, 12)], bike=0.9, tram=0.8) == TRAM
    assert newest([turn(0, BIKE, 12), turn(1, TRAM, 2)], bike=0.8, tram=0.9) == BIKE


def test_later_plan_hides_no_statement() -> None:
    plans = [turn(number, PLAN, 12 + number) for number in range(1, 6)]
    assert newest([turn(0, BIKE, 2), *plans], bike=0.8, scooter=0.2) == BIKE


def test_doubtful_later_turn_weighs_less() -> None:
    """By the verdicts as they are, 0.6 of the later turn would win against 0.9 times 0.4."""
    assert newest([turn(0, BIKE, 2), turn(1, TRAM, 12)], bike=0.9, tram=0.5) == BIKE
    assert newest([turn(0, BIKE, 2), turn(1, TRAM, 12)], bike=0.9, tram=0.7) == TRAM


# ── what was told ────────────────────────────────────────────────────────────────────────────────────────────


def test_unlikely_turns_give_no_newest_turn() -> None:
    turns = [turn(0, PLAN, 2), turn(1, SISTER, 12)]
    told = told_by(turns, Judge(scooter=LEAST_TOLD - 0.01, sister=0.3))
    assert (told.is_told, told.newest) == (False, None)
    assert told_by(turns, Judge(scooter=LEAST_TOLD)).is_told


def test_empty_list_of_turns_has_no_newest_turn() -> None:
    told = Told((), np.zeros(0), is_judged=True)
    assert (told.is_told, told.newest, told.holding.tolist()) == (False, None, [])


def test_earlier_statements_are_those_before_a_turn() -> None:
    turns = [turn(0, BIKE, 2), turn(1, PLAN, 5), turn(2, "by bus", 7), turn(3, TRAM, 12), turn(4, "train", 20)]
    told = told_by(turns, Judge(bike=0.8, scooter=0.4, bus=0.6, tram=0.9, train=0.9))
    assert words(told.list_earlier(told.turns[3])) == ["by bus", BIKE]
    assert told.list_earlier(told.turns[0]) == []


def test_judge_reads_own_words_without_speaker() -> None:
    judge = Judge(bike=0.9)
    told_by([turn(0, f'{BIKE}\n> it says "walk"', 2)], judge)
    assert judge.asked == [(QUESTION, [BIKE])]


def test_cost_and_calibration_are_those_of_the_judge() -> None:
    told = told_by([turn(0, BIKE, 2)], Judge(bike=0.9))
    assert (told.usage, told.is_judged, told.is_calibrated) == (Usage(7, 0, 1), True, True)


def test_cosines_decide_without_a_judge() -> None:
    turns = [turn(0, "I ride the bike to work", 2), turn(1, "now I take the tram to work", 12)]
    told = find_told(QUESTION, turns, matches(turns), {})
    assert told is not None
    assert (told.is_judged, told.usage) == (False, Usage())
    assert 0 < told.likely.min() < told.likely.max() < 1


# ── one person ───────────────────────────────────────────────────────────────────────────────────────────────


def test_only_turns_of_the_assistants_user_are_judged() -> None:
    judge = Judge(tram=0.9, bike=0.9)
    turns = [turn(0, TRAM, 12, speaker="Tom"), turn(1, TRAM, 13, speaker="assistant"), turn(2, BIKE, 2)]
    assert words(told_by(turns, judge).turns) == [BIKE]
    assert judge.asked[0][1] == [BIKE]


def test_person_is_the_speaker_of_the_nearest_turn_among_people() -> None:
    turns = [turn(0, BIKE, 2, speaker="Ann"), turn(1, TRAM, 12, speaker="Tom"), turn(2, "soaked", 3, speaker="ann")]
    assert words(told_by(turns, Judge()).turns) == [BIKE, "soaked"]


def test_turns_of_another_user_are_never_judged() -> None:
    judge = Judge(tram=0.9, bike=0.9)
    turns = [turn(0, BIKE, 2), turn(0, TRAM, 12, document="e")]
    assert words(told_by(turns, judge, {"d": "ann", "e": "tom"}).turns) == [BIKE]
    assert judge.asked[0][1] == [BIKE]
    assert words(told_by(turns, judge, {"d": "ann", "e": "ann"}).turns) == [BIKE, TRAM]


def test_turn_without_a_time_is_not_judged() -> None:
    assert words(told_by([turn(0, BIKE, 2), turn(1, TRAM, 2, time="some day")], Judge()).turns) == [BIKE]


def test_judge_is_not_asked_without_turns_of_a_person() -> None:
    judge, turns = Judge(tram=0.9), [turn(0, TRAM, 12, speaker="assistant")]
    assert find_told(QUESTION, turns, matches(turns), {}, judge) is None
    assert judge.asked == []


# ── how likely each holds ────────────────────────────────────────────────────────────────────────────────────

LIKELY = st.lists(st.floats(0, 1), min_size=1, max_size=20)


@given(likely=LIKELY, is_judged=st.booleans())
def test_at_most_one_turn_holds(likely: list[float], is_judged: bool) -> None:
    holding = Told([], np.array(likely), is_judged).holding
    assert (holding >= 0).all()
    assert holding.sum() <= 1 + 1e-9


@given(likely=st.lists(st.floats(0, 0.99) | st.just(1.0), min_size=1, max_size=20), is_judged=st.booleans())
def test_newest_of_certain_statements_holds(likely: list[float], is_judged: bool) -> None:
    certain = [place for place, p in enumerate(likely) if p == 1.0]
    turns = [turn(place, str(place), 1) for place in range(len(likely))]
    told = Told(turns, np.array(likely), is_judged)
    if certain:
        assert told.holding[: certain[-1]].sum() == 0  # hidden by the last
        assert sum(told.holding[certain[-1] :]) == pytest.approx(1.0)
        if max(likely[certain[-1] + 1 :], default=0.0) < 0.1 and len(likely) - certain[-1] < 5:
            assert told.newest == turns[certain[-1]]


# ── in a memory ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def memory() -> Iterator[Memory]:
    model = FakeLanguageModel(told={"bike": 0.8, "tram": 0.9})
    with Memory(":memory:", **options(layers=(), model=model)) as memory:
        for user, said in (("ann", [(BIKE, "02"), (PLAN, "05"), (TRAM, "12")]), ("tom", [("tram, as ever", "30")])):
            chat = memory.session(user=user)
            chat.add([{"role": "user", "content": text, "time": f"2026-05-{day}T10:00"} for text, day in said])
        yield memory


def told_in(memory: Memory, **scope: str) -> tuple[Told | None, bool]:
    parts = memory._parts
    return parts.search.find_told(QUESTION, parts.resolve_extent(Scope(**scope)), lambda: parts.models.turn_judge)  # type: ignore[arg-type]


def test_value_of_a_day_comes_from_its_turns(memory: Memory) -> None:
    told, _ = told_in(memory, user="ann", at="2026-05-08")
    assert told is not None
    assert told.newest is not None
    assert told.newest.segment.text.strip().endswith(BIKE)
    assert not any(TRAM in text for text in words(told.turns))


def test_only_turns_of_the_user_count(memory: Memory) -> None:
    told, are_turns = told_in(memory, user="ann")
    assert told is not None
    assert [text.strip() for text in words(told.turns)] == [BIKE, PLAN, TRAM]
    assert are_turns


def test_similar_document_is_no_candidate_turn(memory: Memory) -> None:
    memory.add("How to get to work: a handbook of the office.", key="handbook")
    assert not told_in(memory)[1]


def test_question_about_the_past_needs_no_model(memory: Memory) -> None:
    parts = memory._parts
    asked = "How did I get to work before?"
    assert parts.search.find_told(asked, parts.resolve_extent(Scope()), Judge) == (None, False)
