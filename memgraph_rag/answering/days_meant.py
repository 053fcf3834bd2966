"""Replace the time in an answer to "When …?" by the day that it means.

A model copies the time of a turn ("2023-05-08T13:56") although the turn says "yesterday", and shortens "Alexander the
Great died in 323 BC" to the name. The module knows texts and times, no model. Invariant: the sentence of an answer that
names no time of a turn stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from memgraph_rag.answering.answer_style import WrittenAnswer
from memgraph_rag.lexical.relative_days import relative_days
from memgraph_rag.lexical.timestamps import format_day
from memgraph_rag.types import Segment

_WHEN = re.compile(r"\W*(?:when|(?:on |in )?(?:what|which) (?:day|date|month|year)|since when)\b", re.IGNORECASE)
_TIME = re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?(?!\d)")
_DATE = re.compile(
    r"\b(?:\d{1,2} )?(?:(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* (?:\d{1,2}, )?)?"
    r"(?:\d{4}\b(?! BC)|\d{1,4} BCE?\b)"
)


def asks_when(question: str) -> bool:
    """Return whether a question asks for the time of something."""
    return _WHEN.match(question) is not None


def tell_days(written: WrittenAnswer, segments: Sequence[Segment]) -> WrittenAnswer:
    """Return an answer with days in words, as the first cited turn with a time means them.

    A short form that is only the subject of the sentence ("Ann Lee") is replaced by the date that follows it. Relative
    words of the short form ("last week") are replaced by their days. The day of the turn itself is replaced by the day
    that the cited sentence names ("yesterday"), if it names one.

    Args:
        segments: the segments that were read for the answer.
    """
    written = replace(written, short=_copy_date(written.text, written.short))
    times = {segment.id: segment.time for segment in segments if segment.time}
    cited = next((each for each in written.citations if each.segment_id in times), None)
    if cited is None or not written.short:
        return written
    time = times[cited.segment_id]
    if own := relative_days(written.short, time):
        return replace(written, short=own[0].days)
    meant = relative_days(cited.quote, time)
    own_day = format_day(time)

    def write_day_in_words(text: str) -> str:
        text = _TIME.sub(lambda match: format_day(match[0]) or match[0], text)
        return text.replace(own_day, meant[0].days) if meant else text

    return replace(
        written,
        text=write_day_in_words(written.text),
        unmarked=write_day_in_words(written.unmarked),
        short=write_day_in_words(written.short),
    )


def _copy_date(sentence: str, phrase: str) -> str:
    """Return the first date of a sentence if the phrase is the beginning of the sentence without a date.

    >>> _copy_date("Alexander died in 323 BC.", "Alexander"), _copy_date("Ann left for 300 days.", "Ann")
    ('323 BC', 'Ann')
    """
    subject, rest = sentence[: len(phrase)], sentence[len(phrase) :]
    date = _DATE.search(rest) if phrase and subject == phrase and not re.search(r"\d", phrase) else None
    return date[0] if date else phrase
