"""Texts that every store and every tokenizer takes."""

from __future__ import annotations

import re

__all__ = ["is_storable", "storable"]

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")  # NUL and halves of surrogate pairs


def is_storable(text: str) -> bool:
    """Whether every store and every tokenizer takes the text as it is."""
    return not _UNSTORABLE.search(text)


def storable(text: str) -> str:
    """Return the text, as a plain str, with U+FFFD for each character that no store takes."""
    return _UNSTORABLE.sub("\ufffd", text)
