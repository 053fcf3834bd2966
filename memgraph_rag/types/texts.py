"""Texts that every store and every tokenizer accepts."""

from __future__ import annotations

import re

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")  # NUL and halves of surrogate pairs


def is_storable(text: str) -> bool:
    """Return whether every store and every tokenizer accepts the text unchanged."""
    return not _UNSTORABLE.search(text)


def make_storable(text: str) -> str:
    """Return the text as a plain str, with U+FFFD in place of each character that no store accepts."""
    return _UNSTORABLE.sub("\ufffd", text)
