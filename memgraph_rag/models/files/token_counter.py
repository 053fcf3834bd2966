"""Counts a language model's tokens without transformers, which takes seconds to import.

It knows the ``tokenizers`` library, and what ``Tokens`` makes of a model's files: that is kept beside them, once.
Invariant: it counts what ``Tokens.count`` counts.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tokenizers import Tokenizer

from memgraph_rag.contracts import TokenCounter

__all__ = ["open_token_counter"]

_FILE = "counting_tokenizer.json"


def open_token_counter(folder: Path) -> TokenCounter:
    """The counter of a model whose folder is ours to write to; the first time, and where it is not, by transformers."""
    file = folder / _FILE
    with suppress(Exception):  # there is none, or a damaged one, for which the library has no class of error
        return _Counter(file)
    from memgraph_rag.models.engine.tokens import Tokens

    tokens = Tokens(folder)
    with suppress(OSError):
        _keep(tokens.serialised(), file)
    return tokens.count


class _Counter:
    def __init__(self, file: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(file))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True  # a control token in a text is the characters that spell it

    def __call__(self, texts: Sequence[str]) -> list[int]:
        return [len(encoding) for encoding in self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]


def _keep(written: str, file: Path) -> None:
    """In one step: another process may read it just now."""
    scratch = file.with_name(f"{file.name}.{os.getpid()}-{threading.get_ident()}")
    try:
        scratch.write_text(written, encoding="utf-8")
        scratch.replace(file)
    finally:
        scratch.unlink(missing_ok=True)
