"""A token counter for a language model that does not import transformers, which takes seconds.

The module knows the ``tokenizers`` library, and one file with a tokenizer. Invariant: it counts the same as
``Tokens.count`` of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from tokenizers import Tokenizer

from memgraph_rag.contracts import TokenCounter
from memgraph_rag.private_files import write_private


def open_token_counter(file: Path, make: Callable[[], str]) -> TokenCounter:
    """Return the token counter of a model; it counts without special tokens.

    Args:
        file: the file of the tokenizer. If it is missing or damaged, it is written anew.
        make: returns the tokenizer as a JSON text, in the form of the ``tokenizers`` library.
    """
    with suppress(Exception):  # the file is missing or damaged; the library has no class of error for this
        return _Counter(Tokenizer.from_file(str(file)))
    written = make()
    with suppress(OSError):
        write_private(file, written.encode())
    return _Counter(Tokenizer.from_str(written))


class _Counter:
    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True  # control tokens in a text become ordinary tokens

    def __call__(self, texts: Sequence[str]) -> list[int]:
        return [len(encoding) for encoding in self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]
