"""The language model of a layer that can do without one.

It knows the models by their contract. Invariant: that there is none is no error.
"""

from __future__ import annotations

from memgraph_rag.contracts import LanguageModel, Models
from memgraph_rag.errors import ModelNotFound

__all__ = ["language_of"]


def language_of(models: Models) -> LanguageModel | None:
    """The language model, where there is one."""
    try:
        return models.language
    except ModelNotFound:
        return None
