"""Statements of people about themselves, and whether they still hold."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Literal

from memgraph_rag.types.days import format_long_day
from memgraph_rag.types.plain import Plain

FACTS = "facts"
"""The name of the layer of facts."""

DAYS = "days"
"""The kind of its annotations that resolve relative days ("last week"). All other kinds are statements."""


@dataclass(frozen=True, slots=True)
class Rival:
    """Another statement about the same attribute: its segment, value, sentence and time (ISO 8601)."""

    segment_id: str
    value: str
    quote: str
    said: str

    def __str__(self) -> str:
        """Return the quotation with its day.

        >>> str(Rival("s", "never", "I never ate oysters.", "2024-05-12T10:00:00"))
        '“I never ate oysters.” (12 May 2024)'
        """
        return f"“{self.quote}”{_bracket_day(self.said)}"


@dataclass(frozen=True, slots=True)
class Standing(Plain):
    """Whether a person's statement about itself still holds, given its other statements about the same attribute.

    Attributes:
        state: "holds": there is no newer value. "superseded": there is a newer value. "contradicted": there is another
            value, and the two have no order in time.
        attribute: what the statement is about, in a normal form ("home", "favourite colour", "eat oysters").
        speaker: the person who made the statement.
        since: time of the first statement of this value without another value in between (ISO 8601).
        until: time of the first statement of the next value; empty while the statement holds.
        rivals: for "holds", the superseded statements, the newest first; for "superseded", the statement that holds
            now; for "contradicted", the contradicting statements.
        occurrences: how often the value was stated since, without another value in between.
    """

    state: Literal["holds", "superseded", "contradicted"]
    attribute: str
    value: str
    speaker: str
    since: str
    until: str = ""
    rivals: tuple[Rival, ...] = ()
    occurrences: int = 1

    def __str__(self) -> str:
        """Return a phrase: what holds since when, and what held before.

        >>> before = Rival("s", "Paris", "I live in Paris.", "2023-01-01")
        >>> str(Standing("holds", "home", "Berlin", "user", "2024-05-12", rivals=(before,)))
        'home: since 12 May 2024: Berlin; before: Paris'
        """
        if self.state == "contradicted":
            return f"contradicted by {', '.join(map(str, self.rivals))}"
        if self.state == "superseded":
            newer = f"; since then: {self.rivals[0].value}" if self.rivals else ""
            return f"{self.attribute}: until {_format_day(self.until)}: {self.value}{newer}"
        former = list(dict.fromkeys(rival.value for rival in self.rivals if rival.value != self.value))
        before = f"; before: {', '.join(former[:_MOST_NAMED])}" if former else ""
        return f"{self.attribute}: since {_format_day(self.since)}: {self.value}{before}"


_MOST_NAMED = 3  # former values


@dataclass(frozen=True, slots=True)
class Statement(Plain):
    """A statement of a person about itself, with its place in a document.

    Attributes:
        kind: "value", "event", "instruction" or "preference".
        user: the user of the document; empty if it has none.
        said: when it was said (ISO 8601).
        start, end: the characters of the document that hold the quotation.
        standing: whether it still holds; None for instructions and preferences.
    """

    kind: str
    user: str
    speaker: str
    attribute: str
    value: str
    quote: str
    said: str
    document_id: str
    document_key: str
    start: int
    end: int
    standing: Standing | None = None


def _format_day(moment: str) -> str:
    """Return the day of an ISO 8601 time as people write it; return any other text unchanged."""
    try:
        return format_long_day(date.fromisoformat(moment[:10]))
    except ValueError:
        return moment or "an unknown day"


def _bracket_day(moment: str) -> str:
    return f" ({_format_day(moment)})" if moment else ""
