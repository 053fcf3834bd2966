"""A token counter for a language model that does not import transformers, which takes seconds.

The module knows the ``tokenizers`` library. It stores the tokenizer that ``Tokens`` makes from a model's files next to
these files. Invariant: it counts the same as ``Tokens.count``.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tokenizers import Tokenizer

from memgraph_rag.contracts import TokenCounter

_FILE = "counting_tokenizer.json"


def open_token_counter(folder: Path) -> TokenCounter:
    """Return the token counter of a model in a folder of the cache; it counts without special tokens.

    The first call stores a tokenizer file in the folder. If this file is missing or damaged, transformers opens the
    tokenizer.
    """
    file = folder / _FILE
    with suppress(Exception):  # the file is missing or damaged; the library has no class of error for this
        return _Counter(file)
    from memgraph_rag.models.engine.tokens import Tokens

    tokens = Tokens(folder)
    with suppress(OSError):
        _write_file(tokens.to_json(), file)
    return tokens.count


class _Counter:
    def __init__(self, file: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(file))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True  # control tokens in a text become ordinary tokens

    def __call__(self, texts: Sequence[str]) -> list[int]:
        return [len(encoding) for encoding in self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]


def _write_file(written: str, file: Path) -> None:
    """Write the tokenizer in one step, because another process may read the file at the same time."""
    scratch = file.with_name(f"{file.name}.{os.getpid()}-{threading.get_ident()}")
    try:
        scratch.write_text(written, encoding="utf-8")
        scratch.replace(file)
    finally:
        scratch.unlink(missing_ok=True)
