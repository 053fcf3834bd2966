"""Errors of the libraries that read a model's files, as one of ours.

It knows no library. Files come from anywhere, and whatever a damaged one makes of transformers, safetensors,
tokenizers or gguf (none of them has one class of errors, tokenizers has none at all) is a ``ModelError``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from memgraph_rag.errors import MemgraphRagError, ModelError

__all__ = ["model_files", "require_all_weights"]

_SHOWN = 300  # characters of what a library says


@contextmanager
def model_files(expected: str, advice: str, *, name: str, error: type[ModelError] = ModelError) -> Iterator[None]:
    """Turn whatever is raised while files are read into an error of ours.

    Args:
        expected: what is read, and where.
        advice: what to do.
        error: the kind of error to raise.

    Raises:
        ModelError: they cannot be read.
    """
    try:
        yield
    except (MemgraphRagError, MemoryError):
        raise
    except Exception as exc:  # the libraries have no common class of errors; tokenizers raises a bare Exception
        said = " ".join(str(exc).split())[:_SHOWN].rstrip(".") or type(exc).__name__
        raise error(f"Expected {expected}, got an error: {said}. {advice}", name=name) from exc


def require_all_weights(report: Mapping[str, Any]) -> None:
    """Refuse a checkpoint without all weights of its network: transformers would make the rest up.

    Args:
        report: what transformers says of a load (``output_loading_info``).

    Raises:
        ValueError: some are missing, or of another shape.
    """
    lacking = sorted(map(str, [*report["missing_keys"], *report["mismatched_keys"]]))
    if lacking:
        raise ValueError(f"{len(lacking)} of its weights are missing, such as {lacking[0]}")
