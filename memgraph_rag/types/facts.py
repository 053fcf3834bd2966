"""What people said of themselves, and whether it holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Rival", "Standing"]


@dataclass(frozen=True, slots=True)
class Rival:
    """Another statement about the same thing: its segment, value, sentence, and when it was said (ISO 8601)."""

    segment_id: str
    value: str
    quote: str
    said: str


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
