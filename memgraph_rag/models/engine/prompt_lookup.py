"""Guesses of the next tokens: the tokens that followed the last occurrence of the same two tokens.

The module knows tokens, but no weights. Invariant: a guess is a copy of tokens that have followed the last two tokens
before.

Source: prompt lookup decoding (Saxena, 2023). A text about another text repeats its words.
"""

from __future__ import annotations

from collections.abc import Iterable


class PromptLookup:
    """Guesses the next tokens of a text from all its earlier tokens, read or written."""

    def __init__(self, ids: Iterable[int] = ()) -> None:
        self._ids: list[int] = []
        self._followed: dict[tuple[int, ...], int] = {}  # two tokens, and the last position after them
        self.extend(ids)

    def extend(self, ids: Iterable[int]) -> None:
        """Add the next tokens, read or written, after all earlier ones."""
        for token in ids:
            if len(self._ids) > 1:
                self._followed[self._take_last_two()] = len(self._ids)
            self._ids.append(token)

    def guess(self, most: int) -> list[int]:
        """Return at most ``most`` tokens that followed the last two tokens when they occurred before; maybe none."""
        place = self._followed.get(self._take_last_two())
        return [] if place is None else self._ids[place : place + most]

    def _take_last_two(self) -> tuple[int, ...]:
        return tuple(self._ids[-2:])
