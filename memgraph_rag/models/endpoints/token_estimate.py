"""How many tokens a text has, about, where its tokenizer is not here.

It knows no model. Invariant: the same text always counts the same, so that a document is cut the same way tomorrow.

Measured against Qwen's tokenizer (estimate ÷ tokens): *Alice* 1.30, Python 1.47, Russian 1.19, Chinese 1.55, German
0.95, with long compounds 0.82, Hindi 0.94, numbers 0.92.
"""

from __future__ import annotations

import re

__all__ = ["estimated_tokens"]

_PIECE = re.compile(r"[A-Za-z]{1,4}|[\u0590-\u1dff\u2e80-\U0010ffff]|[^\W\d_]{1,2}|\d|_+|[^\w\s]|\n")


def estimated_tokens(text: str) -> int:
    """Runs of up to four Latin letters or two Greek or Cyrillic ones, and all other letters, digits and signs."""
    return sum(1 for _ in _PIECE.finditer(text))
