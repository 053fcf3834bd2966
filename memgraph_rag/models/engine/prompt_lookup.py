"""Guesses of the next tokens: what followed the last two where they stood together before.

It knows tokens and no weights. Invariant: what is guessed stood behind the same two tokens, where they last did.

Source: prompt lookup decoding (Saxena, 2023). What is written about a text repeats what the text says.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["PromptLookup"]


class PromptLookup:
    """The tokens so far, read or written."""

    def __init__(self, ids: Iterable[int] = ()) -> None:
        self._ids: list[int] = []
        self._followed: dict[tuple[int, ...], int] = {}  # two tokens, and where a third last came next
        self.extend(ids)

    def extend(self, ids: Iterable[int]) -> None:
        """The next tokens."""
        for token in ids:
            if len(self._ids) > 1:
                self._followed[self._last_two()] = len(self._ids)
            self._ids.append(token)

    def guess(self, most: int) -> list[int]:
        """At most so many tokens that may well come next."""
        place = self._followed.get(self._last_two())
        return [] if place is None else self._ids[place : place + most]

    def _last_two(self) -> tuple[int, ...]:
        return tuple(self._ids[-2:])
