"""The day that an answer to "When …?" means, from the time of the turn that is cited for it."""

from __future__ import annotations

from tables import table

from memgraph_rag.answering.answer_style import WrittenAnswer
from memgraph_rag.answering.days_meant import asks_when, tell_days
from memgraph_rag.types import Citation, Segment

SAID = "Ann (2023-05-08T13:56): "


def answer_from(quote: str, said: str, *, time: str = "2023-05-08T13:56") -> WrittenAnswer:
    segment = Segment("s", "d", 0, SAID + quote, 0, len(SAID + quote), 9, speaker="Ann", time=time)
    citation = Citation("d", "chat", "s", 0, len(segment.text), segment.text, 0.9)
    return tell_days(WrittenAnswer(f"Ann went on {said}.", f"Ann went on {said}.", said, (citation,)), [segment])


@table(
    ("quote", "said", "day"),
    [
        ("I went to the club yesterday.", "2023-05-08T13:56", "7 May 2023"),
        ("I went to the club yesterday.", "8 May 2023", "7 May 2023"),
        ("I went to the club.", "2023-05-08T13:56", "8 May 2023"),
        ("I went to the club.", "2023-05-08", "8 May 2023"),
        ("I went to the club last month.", "last month", "April 2023"),
        ("I went to the club on 3 May 2023, yesterday I slept.", "3 May 2023", "3 May 2023"),
        ("I went to the club.", "in spring", "in spring"),
    ],
)
def test_answer_gives_the_day_that_a_turn_means(quote: str, said: str, day: str) -> None:
    written = answer_from(quote, said)
    assert written.short == day
    assert written.text == f"Ann went on {day}." or said == "last month"


def test_answer_from_a_text_without_time_is_unchanged() -> None:
    assert answer_from("I went yesterday.", "2023-05-08", time="").short == "2023-05-08"


@table(
    ("sentence", "phrase", "date"),
    [
        ("Alexander the Great died in 323 BC.", "Alexander the Great", "323 BC"),
        ("Vatican City became a country on 11 February 1929.", "Vatican City", "11 February 1929"),
        ("Ann left on May 3, 1950.", "Ann", "May 3, 1950"),
        ("Ann left in spring.", "Ann", "Ann"),
        ("Ann left in 1950.", "Bo", "Bo"),
        ("1950 was her year, not 1951.", "1950", "1950"),
    ],
)
def test_phrase_without_a_date_is_replaced_by_the_date_of_its_sentence(sentence: str, phrase: str, date: str) -> None:
    assert tell_days(WrittenAnswer(sentence, sentence, phrase), []).short == date


@table(
    ("question", "is_asked"),
    [("When did Ann go?", True), ("On which day did Ann go?", True), ("Who went when it rained?", False)],
)
def test_question_for_a_time_is_recognised_by_its_beginning(question: str, *, is_asked: bool) -> None:
    assert asks_when(question) is is_asked
