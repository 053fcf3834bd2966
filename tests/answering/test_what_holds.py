"""A question about the present is answered from the turn that holds, by a scripted judge on an embedded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from memories import options
from recording_model import RecordingModel

from memgraph_rag import Answer, Memory
from memgraph_rag.answering.what_holds import NEVER_TOLD, STRATEGY
from memgraph_rag.testing import FakeLanguageModel
from memgraph_rag.types import StopReason, TurnVerdicts

QUESTION = "How do I get to work?"
BIKE, PLAN, TRAM = "rode the Bike to work, soaked", "an E-scooter to work, maybe?", "so it's the Tram to work\nsee you"
TOLD = {"Bike": 0.8, "Tram": 0.9, "scooter": 0.2}
DAYS = ("2026-03-02", "2026-04-09", "2026-05-12")


def say(memory: Memory, *said: tuple[str, str], user: str = "ann", role: str = "user") -> None:
    turns = [{"role": role, "content": text, "time": f"{day}T08:40"} for text, day in said]
    memory.session(user=user, session=f"{user} {role}").add(turns)


@contextmanager
def opened(model: FakeLanguageModel | None = None, **changes: Any) -> Iterator[Memory]:
    model = model or FakeLanguageModel(told=TOLD)
    with Memory(":memory:", **options(layers=(), model=model, **changes)) as memory:
        yield memory


@pytest.fixture
def memory() -> Iterator[Memory]:
    """A memory in which Ann rode a bike, thought of a scooter, and took the tram."""
    with opened() as memory:
        say(memory, *zip((BIKE, PLAN, TRAM), DAYS, strict=True))
        yield memory


def quotes_exactly(memory: Memory, answer: Answer) -> bool:
    texts = {record.id: memory.get(record.key).text for record in memory.documents()}
    return all(each.quote == texts[each.document_id][each.start : each.end] for each in answer.citations)


# ── the answer ───────────────────────────────────────────────────────────────────────────────────────────────


def test_answer_names_value_day_and_value_before(memory: Memory) -> None:
    answer = memory.ask(QUESTION, user="ann")
    assert answer.text == "Tram (told on 12 May 2026); before: Bike (told on 2 March 2026)."
    assert (answer.short, answer.strategy, answer.abstained) == ("Tram", STRATEGY, False)
    assert answer.stop_reason is StopReason.ANSWERABLE


def test_detailed_answer_marks_its_citations(memory: Memory) -> None:
    answer = memory.ask(QUESTION, user="ann", style="detailed")
    assert answer.text == "Tram (told on 12 May 2026) [1]; before: Bike (told on 2 March 2026) [2]."


def test_short_answer_is_the_value_and_cites_its_turn(memory: Memory) -> None:
    answer = memory.ask(QUESTION, user="ann", style="short")
    assert (answer.text, answer.short) == ("Tram", "Tram")
    assert len(answer.citations) == 1


def test_citations_are_the_lines_of_the_values(memory: Memory) -> None:
    answer = memory.ask(QUESTION, user="ann")
    assert [each.quote.partition("): ")[2] for each in answer.citations] == ["so it's the Tram to work", BIKE]
    assert quotes_exactly(memory, answer)


def test_citation_is_the_line_that_says_the_value_not_its_time() -> None:
    with opened(FakeLanguageModel(['{"value": "12"}'], told={"tram": 0.9})) as memory:
        say(memory, ("hi there\nthe tram 12 to work\nbye 121", DAYS[2]))
        answer = memory.ask(QUESTION, user="ann")
        assert [each.quote for each in answer.citations] == ["the tram 12 to work"]
        assert quotes_exactly(memory, answer)


def test_value_over_a_line_break_is_cited_with_both_lines() -> None:
    with opened(FakeLanguageModel(['{"value": "tram to work"}'], told={"tram": 0.9})) as memory:
        say(memory, ("hi\nit's the tram\nto work\nbye", DAYS[2]))
        answer = memory.ask(QUESTION, user="ann")
        assert [each.quote for each in answer.citations] == ["it's the tram\nto work"]
        assert quotes_exactly(memory, answer)


def test_repeated_earlier_value_is_left_out() -> None:
    with opened() as memory:
        say(memory, ("the Tram to work", DAYS[0]), ("that Tram to work is late", DAYS[2]))
        answer = memory.ask(QUESTION, user="ann")
        assert answer.text == "Tram (told on 12 May 2026)."
        assert len(answer.citations) == 1


def test_model_that_ignores_the_schema_answers_by_the_line_of_the_turn() -> None:
    with opened(FakeLanguageModel(["I think you walk."], told=TOLD)) as memory:
        say(memory, (BIKE, DAYS[0]))
        assert memory.ask(QUESTION, user="ann").short == BIKE


# ── several values ───────────────────────────────────────────────────────────────────────────────────────────

LANGUAGES = "Which languages am I learning?"
LEARNT = (("my first hour of Korean", DAYS[0]), ("Italian on top of Korean", DAYS[1]), ("Korean is over", DAYS[2]))


def learning(*replies: str) -> FakeLanguageModel:
    return FakeLanguageModel(replies, told={"Korean": 0.9})


def test_list_of_values_leaves_out_ended_values() -> None:
    replies = ('{"now": ["Korean"], "over": []}', '{"now": ["Italian"], "over": []}', '{"now": [], "over": ["Korean"]}')
    with opened(learning(*replies)) as memory:
        say(memory, *LEARNT)
        answer = memory.ask(LANGUAGES, user="ann")
        assert (answer.text, answer.short) == ("Italian (told on 9 April 2026).", "Italian")
        assert [each.quote.partition("): ")[2] for each in answer.citations] == [LEARNT[1][0]]
        assert len(answer.trace) == 3


def test_question_for_several_values_lists_all_that_hold() -> None:
    replies = ('{"now": ["Korean"], "over": []}', '{"now": ["Italian", "Korean"], "over": []}')
    with opened(learning(*replies)) as memory:
        say(memory, *LEARNT[:2])
        assert memory.ask(LANGUAGES, user="ann", style="short").text == "Italian, Korean"


def test_question_about_a_noun_with_several_values_lists_all_that_hold() -> None:
    replies = ('{"now": ["Tom"], "over": []}', '{"now": ["Eve"], "over": []}')
    with opened(FakeLanguageModel(replies, told={"team": 0.9}), several="team") as memory:
        say(memory, ("Tom is on the team", DAYS[0]), ("Eve joins the team", DAYS[1]))
        assert memory.ask("Who is on my team?", user="ann", style="short").text == "Tom, Eve"


def test_list_of_values_holds_only_words_of_turns() -> None:
    with opened(learning('{"now": ["Finnish", "Korean"], "over": []}')) as memory:
        say(memory, LEARNT[0])
        assert memory.ask(LANGUAGES, user="ann", style="short").text == "Korean"


def test_usage_counts_a_list_that_held_no_value() -> None:
    with opened(learning('{"now": [], "over": ["Korean"]}', '{"value": "Korean"}')) as memory:
        say(memory, LEARNT[0])
        answer = memory.ask(LANGUAGES, user="ann", style="short")
        assert (answer.text, answer.usage.model_calls) == ("Korean", 3)  # of the judge, of the list, of the copy


def test_question_for_one_value_is_not_answered_by_a_list(memory: Memory) -> None:
    assert memory.ask("Which bus do I take to work?", user="ann", style="short").text == "Tram"


# ── what was read ────────────────────────────────────────────────────────────────────────────────────────────


def test_trace_holds_the_turns_that_were_read(memory: Memory) -> None:
    trace = memory.ask(QUESTION, user="ann").trace
    assert [step.p_yes for step in trace] == [0.8, 0.9]
    assert [step.stop for step in trace] == [None, StopReason.ANSWERABLE]
    assert trace[0].score < trace[1].score
    assert all(word in step.node.text for word, step in zip(("Bike", "Tram"), trace, strict=True))


def test_usage_holds_the_cost_of_judge_and_copying(memory: Memory) -> None:
    usage = memory.ask(QUESTION, user="ann").usage
    assert usage.model_calls == 1 + 2  # one verdict on all turns, two values
    assert memory.ask(QUESTION, user="ann").usage.model_calls == 2  # the verdicts are kept


def test_stream_ends_with_the_answer(memory: Memory) -> None:
    *_, text, answer = memory.stream(QUESTION, user="ann")
    assert isinstance(answer, Answer)
    assert text == answer.text


def test_answer_as_of_a_day_reads_only_earlier_turns(memory: Memory) -> None:
    answer = memory.ask(QUESTION, user="ann", at="2026-04-15")
    assert answer.text == "Bike (told on 2 March 2026)."


def test_kept_trace_holds_the_turns(memory: Memory) -> None:
    answer = memory.ask(QUESTION, user="ann", keep_trace=True)
    (kept,) = memory.questions()
    assert (kept.answer.text, kept.answer.strategy) == (answer.text, STRATEGY)
    assert [step.node.id for step in kept.answer.trace] == [step.node.id for step in answer.trace]


# ── what was not told ────────────────────────────────────────────────────────────────────────────────────────


def test_question_about_untold_matter_of_chats_is_refused() -> None:
    with opened() as memory:
        say(memory, (PLAN, DAYS[1]), ("nice weather at work", DAYS[2]))
        answer = memory.ask(QUESTION, user="ann")
        assert (answer.text, answer.abstained, answer.short) == (NEVER_TOLD, True, "")
        assert (answer.stop_reason, answer.citations, answer.trace) == (StopReason.NOTHING_FOUND, (), ())


def test_strategy_reads_if_a_document_is_near() -> None:
    with opened() as memory:
        say(memory, (PLAN, DAYS[1]))
        memory.add("To get to work take the ferry.", key="handbook")
        answer = memory.ask(QUESTION)
        assert answer.strategy != STRATEGY
        assert "ferry" in answer.text


def test_turn_of_the_user_outranks_a_document(memory: Memory) -> None:
    memory.add("To get to work take the ferry.", key="handbook")
    assert memory.ask(QUESTION).short == "Tram"


def test_named_strategy_answers_in_place_of_turns(memory: Memory) -> None:
    assert memory.ask(QUESTION, user="ann", strategy="walk").strategy == "walk"


def test_strategy_of_the_memory_reads() -> None:
    with opened(strategy="walk") as memory:
        say(memory, (BIKE, DAYS[0]))
        assert memory.ask(QUESTION, user="ann").strategy == "walk"


@pytest.mark.parametrize("question", ["How did I get to work before?", "How should I get to work?"])
def test_strategy_reads_for_the_past_and_for_advice(memory: Memory, question: str) -> None:
    assert memory.ask(question, user="ann").strategy != STRATEGY


def test_strategy_answers_without_a_calibrated_judge() -> None:
    with opened(FakeLanguageModel()) as memory:
        say(memory, (BIKE, DAYS[0]))
        assert memory.ask(QUESTION, user="ann").strategy != STRATEGY


# ── whose turns ──────────────────────────────────────────────────────────────────────────────────────────────


def test_turns_of_another_user_are_never_read() -> None:
    model = RecordingModel(told=TOLD)
    with opened(model) as memory:
        say(memory, (BIKE, DAYS[0]))
        say(memory, ("the Tram to work, as ever", DAYS[2]), user="tom")
        say(memory, ("You take the Tram to work", DAYS[2]), role="assistant")
        assert memory.ask(QUESTION, user="ann").text == "Bike (told on 2 March 2026)."
        assert model.judged == [BIKE]


def test_added_answer_is_no_evidence(memory: Memory) -> None:
    answer = memory.ask(QUESTION, user="ann")
    assert memory.add(answer.text, key="note").echoes > 0
    keys = {evidence.document_key for evidence in memory.search(QUESTION, k=50)}
    assert "note" not in keys
    assert memory.ask(QUESTION, user="ann").text == answer.text


class Forgetting(FakeLanguageModel):
    """Forgets all of Ann's turns while it judges them."""

    memory: Memory | None = None

    def judge_turns(self, question: str, turns: Sequence[str]) -> TurnVerdicts:
        if self.memory is not None:
            for record in self.memory.documents():
                self.memory.forget(record.key)
        return super().judge_turns(question, turns)


def test_turn_forgotten_while_judged_is_not_quoted() -> None:
    model = Forgetting(told=TOLD)
    with opened(model) as memory:
        say(memory, (BIKE, DAYS[0]))
        model.memory = memory
        answer = memory.ask(QUESTION, user="ann")
        assert (answer.text, answer.citations, answer.trace) == (NEVER_TOLD, (), ())


def test_strategy_reads_if_the_examples_do_not_fit_the_window() -> None:
    with opened(FakeLanguageModel(told=TOLD, window=800)) as memory:
        say(memory, *zip((BIKE, PLAN, TRAM), DAYS, strict=True))
        assert memory.ask(QUESTION, user="ann").strategy != STRATEGY


def test_uncalibrated_judge_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def judge_turns(self: FakeLanguageModel, question: str, turns: Sequence[str]) -> TurnVerdicts:
        asked.append(question)
        return TurnVerdicts((0.9,) * len(turns), is_calibrated=False)

    monkeypatch.setattr(FakeLanguageModel, "judge_turns", judge_turns)
    with opened() as memory:
        say(memory, *zip((BIKE, PLAN, TRAM), DAYS, strict=True))
        strategies = {memory.ask(question, user="ann").strategy for question in (QUESTION, "How do I get home?")}
    assert (asked, strategies) == ([QUESTION], {"walk"})
