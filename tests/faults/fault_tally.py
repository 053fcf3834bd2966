"""What a run of faults came to, in the four numbers that are promised."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Tally:
    """Counts of one kind of fault.

    Attributes:
        tried: faults that were made.
        lost: what should have been there afterwards and was not, or an error of another kind than promised.
        left_over: what should not have been there afterwards and was: half a document, one too many, a file.
        leaked: what came from another namespace, or was forgotten and could be read.
    """

    tried: int = 0
    lost: int = 0
    left_over: int = 0
    leaked: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.tried + other.tried,
            self.lost + other.lost,
            self.left_over + other.left_over,
            self.leaked + other.leaked,
        )

    @property
    def is_clean(self) -> bool:
        return not (self.lost or self.left_over or self.leaked)

    def __str__(self) -> str:
        return f"{self.tried} tried, {self.lost} lost, {self.left_over} left over, {self.leaked} leaked"
