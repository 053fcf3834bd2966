"""An estimate of a text's number of tokens, for models without a local tokenizer.

The module does not know a model. Invariant: the same text always has the same estimate, so that a document is always
cut in the same way.

Measured against Qwen's tokenizer (estimate ÷ tokens): *Alice* 1.30, Python 1.47, Russian 1.19, Chinese 1.55, German
0.95, with long compounds 0.82, Hindi 0.94, numbers 0.92.
"""

from __future__ import annotations

import re

_PIECE = re.compile(r"[A-Za-z]{1,4}|[\u0590-\u1dff\u2e80-\U0010ffff]|[^\W\d_]{1,2}|\d|_+|[^\w\s]|\n")


def estimate_tokens(text: str) -> int:
    """Return the estimated number of tokens of a text.

    One token is a run of up to four letters from a to z, or of up to two other Latin, Greek or Cyrillic letters, or a
    run of underscores, or a single other letter, digit, sign or line end. Other white space counts nothing.
    """
    return sum(1 for _ in _PIECE.finditer(text))
