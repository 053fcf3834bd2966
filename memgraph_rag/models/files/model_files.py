"""Errors of the libraries that read model files, converted to errors of this library.

The module does not know these libraries. transformers, safetensors, tokenizers and gguf have no common class of errors.
So every error that a damaged file causes becomes a ``ModelError``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from memgraph_rag.errors import MemgraphRagError, ModelError, convert_errors

_SHOWN = 300  # characters of a library's message


@contextmanager
def model_files(expected: str, advice: str, *, name: str, error: type[ModelError] = ModelError) -> Iterator[None]:
    """Turn any error inside the block into an error of this library.

    Errors of this library and MemoryError pass through.

    Args:
        expected: the files and their place, for the error message.
        advice: what the user can do, for the error message.
        name: the model's name, for the attribute of the error.
        error: the class of error to raise.

    Raises:
        ModelError: the files cannot be read; it has the class ``error``.
    """

    def make(exc: Exception) -> MemgraphRagError:
        said = " ".join(str(exc).split())[:_SHOWN].rstrip(".") or type(exc).__name__
        return error(f"Expected {expected}, got an error: {said}. {advice}", name=name)

    with convert_errors(make):
        yield


def require_all_weights(report: Mapping[str, Any]) -> None:
    """Raise an error if a checkpoint lacks weights of its network; transformers would use random weights.

    Args:
        report: the report of transformers about loading (``output_loading_info``).

    Raises:
        ValueError: weights are missing or have another shape.
    """
    lacking = sorted(map(str, [*report["missing_keys"], *report["mismatched_keys"]]))
    if lacking:
        raise ValueError(f"{len(lacking)} of its weights are missing, such as {lacking[0]}")
