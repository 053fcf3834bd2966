"""What people said of themselves, and whether it holds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

from memgraph_rag.types.days import written_day
from memgraph_rag.types.plain import plain_fields

__all__ = ["Rival", "Standing"]


@dataclass(frozen=True, slots=True)
class Rival:
    """Another statement about the same thing: its segment, value, sentence, and when it was said (ISO 8601)."""

    segment_id: str
    value: str
    quote: str
    said: str

    def __str__(self) -> str:
        """The quotation with its day.

        >>> str(Rival("s", "never", "I never ate oysters.", "2024-05-12T10:00:00"))
        '“I never ate oysters.” (12 May 2024)'
        """
        return f"“{self.quote}”{_bracketed(self.said)}"


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether a statement of a person about itself holds, beside its other statements about the same thing.

    Attributes:
        state: "holds": nothing newer was said; "superseded": a newer value was; "contradicted": another value without
            an order between the two.
        attribute: what it is about, in one form ("home", "favourite colour", "eat oysters").
        speaker: who said it.
        since: when the value was said first, without another one in between (ISO 8601).
        until: when the next value was said; empty while it holds.
        occurrences: how often the value was said since, without another one in between.
        rivals: of "holds" what it superseded, the newest first; of "superseded" what holds now; of "contradicted" what
            contradicts it.
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
        """What holds since when, and what held before, in a phrase.

        >>> before = Rival("s", "Paris", "I live in Paris.", "2023-01-01")
        >>> str(Standing("holds", "home", "Berlin", "user", "2024-05-12", rivals=(before,)))
        'home: since 12 May 2024: Berlin; before: Paris'
        """
        if self.state == "contradicted":
            return f"contradicted by {', '.join(map(str, self.rivals))}"
        if self.state == "superseded":
            newer = f"; since then: {self.rivals[0].value}" if self.rivals else ""
            return f"{self.attribute}: until {_day(self.until)}: {self.value}{newer}"
        former = list(dict.fromkeys(rival.value for rival in self.rivals if rival.value != self.value))
        before = f"; before: {', '.join(former[:_MOST_NAMED])}" if former else ""
        return f"{self.attribute}: since {_day(self.since)}: {self.value}{before}"

    def as_dict(self) -> dict[str, Any]:
        """Return all fields, for JSON."""
        return plain_fields(self)


_MOST_NAMED = 3  # former values


def _day(moment: str) -> str:
    """The day of an ISO 8601 moment as people write it; what is no such moment stays as it is."""
    try:
        return written_day(date.fromisoformat(moment[:10]))
    except ValueError:
        return moment or "an unknown day"


def _bracketed(moment: str) -> str:
    return f" ({_day(moment)})" if moment else ""
